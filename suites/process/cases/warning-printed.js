process.emitWarning("plain");
process.emitWarning("typed", "SomeWarning");
process.emitWarning("coded", "SomeWarning", "CODE1");
process.emitWarning("with detail", { type: "Detailed", code: "CODE2", detail: "first line\nsecond line" });
process.emitWarning(new Error("an error"));
process.emitWarning(Object.assign(new Error("own"), { name: "OwnWarning", code: "CODE3" }));
