console.log(process.getBuiltinModule("timers") === require("timers"));
console.log(process.getBuiltinModule("node:events") === require("events"));
console.log(process.getBuiltinModule("internal/errors"), process.getBuiltinModule("no-such"));
try {
  process.getBuiltinModule(1);
} catch (error) {
  console.log(error.name, error.code, error.message);
}
