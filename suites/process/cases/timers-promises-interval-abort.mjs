import { setInterval } from "node:timers/promises";

const controller = new AbortController();
let count = 0;
try {
  for await (const value of setInterval(1, "value", { signal: controller.signal })) {
    console.log(value);
    if (++count === 2) controller.abort();
  }
} catch (error) {
  console.log(error.name, error.code, error.cause.name);
}
try {
  await setInterval(1, "value", { signal: AbortSignal.abort("why") }).next();
} catch (error) {
  console.log(error.name, error.code, error.cause);
}
