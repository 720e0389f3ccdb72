import { scheduler, setImmediate, setTimeout } from "node:timers/promises";

console.log(await setTimeout(1, "value"), await setTimeout(), await setImmediate("immediate"));
console.log(await scheduler.wait(1), await scheduler.yield());
console.log(setTimeout.length, setImmediate.length, scheduler.wait.length);
