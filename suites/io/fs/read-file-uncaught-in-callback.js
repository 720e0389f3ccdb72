require("node:fs").readFile("missing", (error) => {
  console.log(error.code);
  process.on("uncaughtException", (error) => console.log("uncaught", error.message));
  throw new Error("from callback");
});
