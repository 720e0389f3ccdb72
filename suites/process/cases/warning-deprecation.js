process.emitWarning("old", "DeprecationWarning", "DEP1");
process.noDeprecation = true;
process.emitWarning("not shown", "DeprecationWarning");
process.noDeprecation = false;
process.throwDeprecation = true;
process.on("uncaughtException", (error) => console.log("thrown", error.name, error.message));
process.emitWarning("thrown", "DeprecationWarning");
