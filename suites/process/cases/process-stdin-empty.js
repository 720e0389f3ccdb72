process.stdin.on("data", () => console.log("data"));
process.stdin.on("end", () => console.log("end"));
console.log(process.stdin.fd);
