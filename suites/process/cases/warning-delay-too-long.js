setTimeout(() => console.log("timeout"), 2 ** 31);
const interval = setInterval(() => {
  console.log("interval");
  clearInterval(interval);
}, 2 ** 40);
setTimeout(() => console.log("infinite"), Infinity);
setTimeout(() => console.log("negative"), -5);
setTimeout(() => console.log("NaN"), NaN);
setTimeout(() => console.log("text"), "abc");
