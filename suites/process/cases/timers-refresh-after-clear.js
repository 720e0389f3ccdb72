const timeout = setTimeout(() => console.log("never"), 1);
clearTimeout(timeout);
timeout.refresh();
const interval = setInterval(() => {
  console.log("once");
  clearInterval(interval);
  interval.refresh();
}, 1);
