const list = [1];
process.nextTick((given, ...more) => console.log(given === list, given, more), list, 2, 3);
list.push("changed");
