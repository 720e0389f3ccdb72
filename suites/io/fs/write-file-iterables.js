const fsp = require("node:fs/promises");
(async () => {
  await fsp.writeFile("a", ["x", "y", Buffer.from("z")]);
  console.log(await fsp.readFile("a", "utf8"));
  await fsp.writeFile("a", (async function* () {
    yield "one ";
    await null;
    yield "two";
  })());
  console.log(await fsp.readFile("a", "utf8"));
  await fsp.writeFile("a", (function* () { yield 1; })()).catch((error) => console.log(error.code));
})();
