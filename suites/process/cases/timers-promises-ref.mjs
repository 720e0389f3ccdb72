import { setTimeout } from "node:timers/promises";

setTimeout(1, "unreferenced", { ref: false }).then(console.log);
setTimeout(100000, undefined, { ref: false }).then(() => console.log("never"));
await setTimeout(10);
