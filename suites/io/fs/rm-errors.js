const fs = require("node:fs");
fs.mkdirSync("dir");
const show = (error) => console.log(error.name, error.code, error.message, error.syscall, error.path, error.errno);
const tries = [["missing"], ["dir"], ["dir", { force: true }], ["dir", { recursive: 1 }], ["x", 5], [5], ["x", { maxRetries: -1 }],
  ["x", { retryDelay: "1" }]];
for (const args of tries) {
  try {
    fs.rmSync(...args);
  } catch (error) {
    show(error);
  }
}
fs.rm("missing", (error) => {
  show(error);
  fs.rm("dir", (error) => {
    show(error);
    fs.promises.rm("dir").catch(show);
  });
});
