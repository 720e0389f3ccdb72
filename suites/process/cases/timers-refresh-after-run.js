let runs = 0;
const timeout = setTimeout(() => console.log("run", ++runs, timeout._destroyed), 1);
setTimeout(() => {
  console.log(timeout._destroyed);
  timeout.refresh();
  console.log(timeout._destroyed);
}, 5);
