const count = Number(process.argv[2]);
let left = count;
const begin = performance.now();
function fire() {
  if (--left === 0) console.log(`ns each\t${((performance.now() - begin) * 1e6) / count}`);
}
for (let i = 0; i < count; i++) setTimeout(fire, 0);
