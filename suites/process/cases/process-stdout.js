console.log(process.stdout.fd, process.stderr.fd, process.stdout.isTTY, process.stdout.columns, process.stdout.writable);
console.log(process.stdout.write("text\n", () => console.log("written")));
process.stdout.write(new Uint8Array([65, 66, 10]));
process.stdout.write("4344", "hex");
process.stdout.write(Buffer.from("EF\n"));
process.stdout.write("\n", "utf8", (error) => console.log("written with", error));
for (const args of [[1], [null], [undefined], [{}], ["text", "no-encoding"]]) {
  try {
    process.stdout.write(...args);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
process.stderr.write("to stderr\n");
console.log("sync");
