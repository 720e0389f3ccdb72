// Warnings go where messages of the script go.
const lines = [];
process.emitWarning("printed");
setImmediate(() => {
  const { write } = process.stderr;
  process.stderr.write = (text) => lines.push(text.replace(/\(\w+:\d+\)/, "(process)"));
  process.emitWarning("captured", "SomeWarning", "CODE");
  console.group();
  process.emitWarning("of two\nlines");
  setImmediate(() => {
    process.stderr.write = write;
    console.groupEnd();
    console.log(lines);
    console.error = () => {};
    process.emitWarning("not by a console.error that came later");
  });
});
