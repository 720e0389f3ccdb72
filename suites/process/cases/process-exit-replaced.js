process.exit = (code) => console.log("replaced", code);
process.exit(2);
