const fs = require("node:fs");
fs.writeFileSync("bad", Buffer.from([0x61, 0xc3, 0x28, 0xf0, 0x9f, 0x92, 0x62, 0xed, 0xa0, 0x80, 0xff]));
const text = fs.readFileSync("bad", "utf8");
console.log([...text].map((c) => c.codePointAt(0).toString(16)).join(" "));
console.log([...fs.readFileSync("bad").toString()].length);
fs.writeFileSync("bom", "\ufeffx");
console.log(fs.readFileSync("bom", "utf8").length);
