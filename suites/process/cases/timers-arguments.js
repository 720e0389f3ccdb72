const show = (...args) => console.log(args);
process.nextTick(show);
process.nextTick(show, undefined, 1, 2, 3, 4);
setTimeout(() => {
  setImmediate(show);
  setImmediate(show, undefined, 1, 2, 3, 4);
  setTimeout(show, 1);
  setTimeout(show, 1, undefined);
  setTimeout(show, 1, 1, "two", [3], 4, 5, 6);
  let count = 0;
  const interval = setInterval((...args) => {
    show(...args);
    if (++count === 2) clearInterval(interval);
  }, 1, "a", "b");
}, 1);
