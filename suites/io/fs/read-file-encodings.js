const fs = require("node:fs");
fs.writeFileSync("bytes", Buffer.from([0, 127, 128, 255, 0xe2, 0x82, 0xac, 0x41]));
for (const encoding of ["latin1", "binary", "hex", "base64", "base64url", "ascii", "utf16le", "ucs2", "utf8"]) {
  console.log(encoding, JSON.stringify(fs.readFileSync("bytes", encoding)));
}
console.log(fs.readFileSync("bytes", { encoding: null }));
