const fs = require("node:fs");
fs.writeFileSync("a", "one");
console.log(fs.readFileSync("a", { flag: "r" }).toString(), fs.readFileSync("a", { flag: "r+" }).toString());
console.log(fs.readFileSync("new", { flag: "a+", encoding: "utf8" }) === "", fs.existsSync("new"));
for (const flag of ["wx", "bogus", 1.5, "R"]) {
  try {
    console.log(fs.readFileSync("a", { flag }).toString());
  } catch (error) {
    console.log(flag, error.name, error.code, error.message);
  }
}
