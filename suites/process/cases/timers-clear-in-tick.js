setTimeout(() => {
  console.log("a");
  process.nextTick(() => clearTimeout(b));
}, 1);
const b = setTimeout(() => console.log("never"), 1);
