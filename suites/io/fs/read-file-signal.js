const fsp = require("node:fs/promises");
const fs = require("node:fs");
(async () => {
  await fsp.writeFile("a", "x".repeat(100000));
  const controller = new AbortController();
  const reading = fsp.readFile("a", { signal: controller.signal });
  controller.abort();
  await reading.catch((error) => console.log(error.name, error.code, error.message, error.cause.name));
  await fsp.readFile("a", { signal: AbortSignal.abort("why") }).catch((error) => console.log(error.name, error.cause));
  await fsp.writeFile("b", "x", { signal: AbortSignal.abort() }).catch((error) => console.log(error.name));
  console.log(fs.existsSync("b"));
  fs.readFile("a", { signal: AbortSignal.abort() }, (error) => console.log("callback", error.name));
  console.log("after");
  const other = new AbortController();
  const text = await fsp.readFile("a", { encoding: "utf8", signal: other.signal });
  other.abort();
  console.log(text.length);
  await fsp.readFile("a", { signal: {} }).catch((error) => console.log(error.code, error.message));
})();
