const usage = process.memoryUsage();
console.log(Object.keys(usage).sort(), Object.values(usage).every(Number.isInteger));
console.log(usage.rss > usage.heapUsed, process.memoryUsage.rss() > 0);
