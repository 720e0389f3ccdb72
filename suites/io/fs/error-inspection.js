const fs = require("node:fs");
const firstLine = (text) => text.split("\n")[0];
try {
  fs.readFileSync("missing");
} catch (error) {
  console.log(String(error), firstLine(error.stack), JSON.stringify(error));
  console.log(Object.getOwnPropertyDescriptor(error, "code"), error.hasOwnProperty("dest"));
}
try {
  fs.mkdirSync(1);
} catch (error) {
  console.log(String(error), firstLine(error.stack), JSON.stringify(error));
}
