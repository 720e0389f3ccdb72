const fs = require("node:fs");
fs.writeFileSync("file", "");
fs.mkdirSync("dir");
const tries = [["dir"], ["file"], ["no/such"], ["file/x"], ["file", { recursive: true }], ["file/x/y", { recursive: true }],
  ["z", { recursive: 1 }], ["z", { mode: "bad" }], [5], ["z", "bad"], ["", { recursive: true }], ["a\0"]];
for (const args of tries) {
  try {
    console.log(fs.mkdirSync(...args));
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
