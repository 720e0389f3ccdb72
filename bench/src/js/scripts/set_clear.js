const count = Number(process.argv[2]);
const begin = performance.now();
for (let i = 0; i < count; i++) clearTimeout(setTimeout(() => {}, 0));
console.log(`ns each\t${((performance.now() - begin) * 1e6) / count}`);
