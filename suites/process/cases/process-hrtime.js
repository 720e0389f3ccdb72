const start = process.hrtime();
const bigint = process.hrtime.bigint();
const [seconds, nanoseconds] = process.hrtime(start);
console.log(start.length, seconds, nanoseconds >= 0 && nanoseconds < 1e9, process.hrtime.bigint() > bigint);
console.log(process.hrtime.length, process.hrtime.name, process.hrtime.bigint.name);
for (const time of ["x", [], [1], [1, 2, 3], null, 1]) {
  try {
    process.hrtime(time);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
console.log(process.uptime() > 0, process.uptime() < 60);
