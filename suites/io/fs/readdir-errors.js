const fs = require("node:fs");
fs.writeFileSync("file", "");
for (const args of [["file"], ["missing"], ["missing", { recursive: true }], [".", { encoding: "x" }], [".", 5], [null]]) {
  try {
    fs.readdirSync(...args);
    console.log("fine");
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
fs.readdir("file", (error) => console.log(error.message));
