const fs = require("node:fs");
fs.appendFileSync("log", "a");
fs.appendFileSync("log", Buffer.from("b"));
fs.appendFile("log", "c", (error) => {
  console.log(error);
  fs.promises.appendFile("log", "d").then((value) => {
    console.log(value, fs.readFileSync("log", "utf8"));
    fs.appendFileSync("log", "e", { flag: "w" });
    console.log(fs.readFileSync("log", "utf8"));
  });
});
