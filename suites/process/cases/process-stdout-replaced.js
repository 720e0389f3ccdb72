const lines = [];
const { write } = process.stdout;
process.stdout.write = (text) => lines.push(text);
console.log("captured");
process.stdout.write("also captured\n");
process.stdout.write = write;
console.log(lines);
