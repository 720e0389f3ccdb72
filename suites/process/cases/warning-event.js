process.on("warning", (warning) => {
  console.log(warning.name, warning.message, warning.code, warning.detail, warning instanceof Error);
});
process.emitWarning("one", "Type", "Code");
process.emitWarning("two", { type: "Other", detail: "detail" });
console.log("emitted later");
Promise.resolve().then(() => console.log("microtask"));
