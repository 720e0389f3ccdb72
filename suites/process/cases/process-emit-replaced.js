const { emit } = process;
process.emit = function (event, ...args) {
  if (event === "beforeExit" || event === "exit") console.log("emit", event, args);
  return emit.call(this, event, ...args);
};
process.on("exit", () => console.log("listener"));
