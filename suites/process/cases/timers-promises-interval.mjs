import { setInterval } from "node:timers/promises";

let count = 0;
for await (const value of setInterval(1, "value")) {
  console.log(value);
  if (++count === 3) break;
}
const iterator = setInterval(1, "other");
console.log(await iterator.next());
console.log(await iterator.return("end"));
console.log(await iterator.next());
