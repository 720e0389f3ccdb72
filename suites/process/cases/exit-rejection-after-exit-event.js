process.on("exit", (code) => {
  console.log("exit", code);
  Promise.reject(new Error("late"));
});
