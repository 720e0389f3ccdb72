process.stdin.on("data", () => console.log("data"));
process.stdin.on("end", () => console.log("end"));
process.stdin.on("close", () => console.log("close"));
console.log(process.stdin.fd);
