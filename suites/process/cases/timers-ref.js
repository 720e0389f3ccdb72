const timeout = setTimeout(() => {}, 1);
console.log(timeout.hasRef(), timeout.unref() === timeout, timeout.hasRef());
console.log(timeout.ref() === timeout, timeout.hasRef());
const immediate = setImmediate(() => {
  console.log(immediate.hasRef());
});
console.log(immediate.hasRef(), immediate.unref() === immediate, immediate.hasRef());
console.log(immediate.ref() === immediate, immediate.hasRef());
