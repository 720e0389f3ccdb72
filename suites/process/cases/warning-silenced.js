console.log(process.listenerCount("warning"));
process.removeAllListeners("warning");
process.emitWarning("silent");
