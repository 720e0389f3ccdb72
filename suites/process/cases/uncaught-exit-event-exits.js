process.on("exit", () => process.exit(4));
throw new Error("is not shown");
