import { scheduler, setImmediate, setInterval, setTimeout } from "node:timers/promises";

const show = (error) => console.log(error.name, error.code, error.message);
for (const options of [1, null, [], "x", { signal: 1 }, { signal: {} }, { ref: 1 }, { ref: "yes" }]) {
  await setTimeout(1, 1, options).catch(show);
  await setImmediate(1, options).catch(show);
  await setInterval(1, 1, options).next().catch(show);
}
await setTimeout("1").catch(show);
await setInterval("1").next().catch(show);
await scheduler.wait("1").catch(show);
try {
  scheduler.wait.call({}, 1);
} catch (error) {
  show(error);
}
try {
  new scheduler.constructor();
} catch (error) {
  show(error);
}
