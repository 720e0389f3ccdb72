const fs = require("node:fs");
const { writeFileSync } = fs;
writeFileSync("a.txt", "grüße\n");
console.log(fs.readFileSync("a.txt"), fs.readFileSync("a.txt", "utf8"), fs.readFileSync("a.txt", { encoding: "utf-8" }));
fs.readFile("a.txt", (error, data) => {
  console.log("callback", error, data);
  fs.readFile("a.txt", "utf8", (error, text) => {
    console.log("callback text", error, JSON.stringify(text));
    fs.promises.readFile("a.txt", "utf8").then((text) => console.log("promise", JSON.stringify(text)));
  });
});
