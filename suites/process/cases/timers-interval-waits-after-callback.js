let runs = 0;
const interval = setInterval(() => {
  console.log("interval", ++runs);
  const end = Date.now() + 12;
  while (Date.now() < end);
  setTimeout(() => console.log("timeout", runs), 1);
  if (runs === 3) clearInterval(interval);
}, 5);
