const timeout = setTimeout(() => {
  console.log("run");
  if (timeout._repeat) clearInterval(timeout);
  timeout._repeat = 1;
}, 1);
