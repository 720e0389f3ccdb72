const { stdout, stderr } = process;
console.log(stdout.fd, stderr.fd, stdout.isTTY, stdout.columns, stdout.writable);
console.log(stdout.write("text\n", () => console.log("written")));
stdout.write(new Uint8Array([65, 66, 10]));
stdout.write("4344", "hex");
stdout.write(Buffer.from("EF\n"));
stdout.write("\n", "utf8", (error) => console.log("written with", error));
for (const args of [[1], [null], [undefined], [{}], ["text", "no-encoding"]]) {
  try {
    stdout.write(...args);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
stderr.write("to stderr\n");
console.log("sync");
