function caller() {
  process.emitWarning("here");
}
process.removeAllListeners("warning");
process.on("warning", (warning) => console.log(warning.stack.split("\n")[1].includes("caller")));
caller();
