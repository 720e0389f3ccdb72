let runs = 0;
const interval = setInterval(() => {
  console.log("run", ++runs);
  Promise.resolve().then(() => console.log("microtask", runs));
  if (runs === 3) clearInterval(interval);
}, 1);
