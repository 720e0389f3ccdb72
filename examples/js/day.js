// A day of a watchman, who looks at the clock every hour. With --virtual-time it takes no time at all.

import { setInterval, setTimeout as sleep } from "node:timers/promises";

const began = Date.now();
const hours = () => (Date.now() - began) / 3600_000;

for await (const _ of setInterval(3600_000)) {
  if (hours() % 6 === 0) console.log(`${hours()} o'clock, and all is well`);
  if (hours() === 18) break;
}
await sleep(6 * 3600_000);
console.log(`after ${hours()} hours: good morning`);
