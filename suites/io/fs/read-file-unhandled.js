require("node:fs/promises").readFile("missing");
process.on("exit", (code) => console.log("exit", code));
