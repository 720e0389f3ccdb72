setTimeout((...args) => console.log(args), 1);
setTimeout((...args) => console.log(args), 1, undefined);
setTimeout((...args) => console.log(args), 1, 1, "two", [3], 4, 5, 6);
setImmediate((...args) => console.log(args));
setImmediate((...args) => console.log(args), undefined, 1, 2, 3, 4);
process.nextTick((...args) => console.log(args));
process.nextTick((...args) => console.log(args), undefined, 1, 2, 3, 4);
let count = 0;
const interval = setInterval((...args) => {
  console.log(args);
  if (++count === 2) clearInterval(interval);
}, 1, "a", "b");
