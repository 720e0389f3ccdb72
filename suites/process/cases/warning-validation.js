const calls = [
  [1], [null], [undefined], [{}], [true], ["a", 1], ["a", true], ["a", null], ["a", []], ["a", "Type", 1],
  ["a", { type: 1 }], ["a", { code: 1 }],
];
for (const args of calls) {
  try {
    process.emitWarning(...args);
    console.log("accepted", args);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
