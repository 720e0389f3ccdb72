const fsp = require("node:fs/promises");
(async () => {
  const names = Array.from({ length: 200 }, (_, i) => `f${i}`);
  await Promise.all(names.map((name) => fsp.writeFile(name, name.repeat(100))));
  const texts = await Promise.all(names.map((name) => fsp.readFile(name, "utf8")));
  console.log(texts.every((text, i) => text === names[i].repeat(100)), (await fsp.readdir(".")).length);
  await Promise.all(names.map((name) => fsp.unlink(name)));
  console.log((await fsp.readdir(".")).length);
})();
