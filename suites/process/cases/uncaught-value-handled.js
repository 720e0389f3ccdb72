process.on("uncaughtException", (value, origin) => console.log(value, origin));
setTimeout(() => {
  throw null;
}, 1);
setTimeout(() => {
  throw undefined;
}, 2);
setTimeout(() => {
  throw "text";
}, 3);
