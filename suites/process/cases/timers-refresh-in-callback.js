let runs = 0;
const timeout = setTimeout(() => {
  console.log("run", ++runs);
  if (runs < 3) timeout.refresh();
}, 1);
