queueMicrotask(() => {
  console.log("microtask");
  throw new Error("microtask");
});
queueMicrotask(() => console.log("never"));
