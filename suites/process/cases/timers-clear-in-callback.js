const a = setTimeout(() => {
  console.log("a");
  clearTimeout(a);
  clearTimeout(b);
}, 1);
const b = setTimeout(() => console.log("never"), 1);
setTimeout(() => console.log("c"), 1);
