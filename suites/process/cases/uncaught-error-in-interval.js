setInterval(() => {
  throw new Error("interval");
}, 1);
