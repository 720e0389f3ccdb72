const count = Number(process.argv[2]);
(async () => {
  const begin = performance.now();
  for (let i = 0; i < count; i++) await i;
  console.log(`ns each\t${((performance.now() - begin) * 1e6) / count}`);
})();
