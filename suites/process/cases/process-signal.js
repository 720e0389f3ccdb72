process.on("SIGUSR2", (name, number) => {
  console.log(name, number);
  clearInterval(alive);
});
const alive = setInterval(() => {}, 1000);
console.log(process.kill(process.pid, "SIGUSR2"));
