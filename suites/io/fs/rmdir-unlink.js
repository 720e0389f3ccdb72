const fs = require("node:fs");
fs.mkdirSync("a/b", { recursive: true });
fs.writeFileSync("f", "");
const show = (f) => {
  try {
    console.log(f());
  } catch (error) {
    console.log(error.message);
  }
};
show(() => fs.rmdirSync("a"));
show(() => fs.rmdirSync("f"));
show(() => fs.rmdirSync("a/b"));
show(() => fs.unlinkSync("a"));
show(() => fs.unlinkSync("f"));
show(() => fs.unlinkSync("f"));
fs.rmdir("a", (error) => {
  console.log(error);
  fs.unlink("gone", (error) => console.log(error.message));
});
