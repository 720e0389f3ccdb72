const log = [];
const refreshed = setTimeout(() => {
  log.push("refreshed");
  console.log(log);
}, 30);
setTimeout(() => {
  log.push("refresh");
  console.log(refreshed.refresh() === refreshed);
}, 15);
setTimeout(() => log.push("other"), 35);
