process.reallyExit = (code) => console.log("really", code);
process.exit(2);
console.log("after");
process.exit(3);
