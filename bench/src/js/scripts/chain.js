const count = Number(process.argv[2]);
const begin = performance.now();
let promise = Promise.resolve(0);
for (let i = 0; i < count; i++) promise = promise.then((n) => n + 1);
promise.then((n) => {
  if (n !== count) throw new Error(`${n} of ${count}`);
  console.log(`ns each\t${((performance.now() - begin) * 1e6) / count}`);
});
