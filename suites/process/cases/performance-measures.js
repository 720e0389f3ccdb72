// What `performance.measure` takes for a start, an end and a duration, and what it refuses.
performance.mark("m", { startTime: 4 });

const show = (what, run) => {
  try {
    const { startTime, duration } = run();
    console.log(what, startTime, duration);
  } catch ({ name, code, message }) {
    console.log(what, name, code, message);
  }
};

for (const startTime of [2, -0, -1, NaN, Infinity, "2"]) {
  show(["mark", startTime], () => performance.mark("other", { startTime }));
}

const starts = [undefined, null, "m", "never", 3, -1, NaN, Infinity, true, [], () => 1, Symbol.iterator];
const ends = [null, "m", "never", 9, -1, NaN, Infinity, Symbol.iterator];
for (const start of starts) show(["start", start], () => performance.measure("x", start, 9));
for (const end of ends) show(["end", end], () => performance.measure("x", undefined, end));

for (const start of starts) show(["{ start, end }", start], () => performance.measure("x", { start, end: 9 }));
for (const end of ends) show(["{ end }", end], () => performance.measure("x", { end }));
for (const duration of [2, -2, NaN, Infinity, "m", "never"]) {
  show(["{ start, duration }", duration], () => performance.measure("x", { start: 1, duration }));
  show(["{ end, duration }", duration], () => performance.measure("x", { end: 9, duration }));
}

const all = { start: 1, end: 2, duration: 1 };
show("all", () => performance.measure("x", all));
for (const name of Object.keys(all)) {
  show([name, "and an end"], () => performance.measure("x", { [name]: all[name] }, 9));
}
console.log(performance.getEntriesByType("measure").length);
