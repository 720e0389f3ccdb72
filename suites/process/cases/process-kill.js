console.log(process.kill(process.pid, 0));
for (const args of [[], ["x"], [1.5], [process.pid, "SIGNONE"], [process.pid, 1000], [2 ** 22 + 5, 0]]) {
  try {
    process.kill(...args);
  } catch (error) {
    console.log(error.name, error.code, error.message, error.syscall);
  }
}
