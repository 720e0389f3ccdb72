const fsp = require("node:fs/promises");
(async () => {
  await fsp.mkdir("dir");
  for (const path of ["missing", "dir", "\0"]) {
    await fsp.readFile(path).catch((error) => console.log(error.message, Object.keys(error).join(), error.code));
  }
  const results = await Promise.allSettled([fsp.readFile("x"), fsp.readFile("y"), fsp.stat("z")]);
  console.log(results.map((one) => `${one.status} ${one.reason.message}`));
})();
