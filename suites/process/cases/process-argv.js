console.log(process.argv.length, process.argv[0] === process.execPath, process.argv[1] === __filename);
console.log(process.execArgv, typeof process.argv0, typeof process.title);
process.argv.push("more");
console.log(process.argv.at(-1));
process.argv = ["replaced"];
console.log(process.argv);
