const fs = require("node:fs");
for (const data of [{}, 1, null, undefined, true, [1], Symbol("x"), new ArrayBuffer(2)]) {
  try {
    fs.writeFileSync("a", data);
    console.log("written");
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
fs.writeFile("no/such", "x", (error) => console.log(error.message));
fs.promises.writeFile("no/such", "x").catch((error) => console.log(error.message));
try {
  fs.writeFileSync("a", "x", { flag: "wx" });
  fs.writeFileSync("a", "x", { flag: "wx" });
} catch (error) {
  console.log(error.message);
}
