const count = Number(process.argv[2]);
let left = count;
const begin = performance.now();
function run() {
  if (--left === 0) console.log(`ns each\t${((performance.now() - begin) * 1e6) / count}`);
  else process.nextTick(run);
}
process.nextTick(run);
