import { setInterval } from "node:timers/promises";

let count = 0;
for await (const value of setInterval(2, "value")) {
  console.log(value, ++count);
  if (count === 3) break;
  const end = Date.now() + 5;
  while (Date.now() < end);
}
