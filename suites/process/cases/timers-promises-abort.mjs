import { scheduler, setImmediate, setTimeout } from "node:timers/promises";

const show = (error) => console.log(error.name, error.code, error.message, error.cause?.name ?? error.cause);
const controller = new AbortController();
const { signal } = controller;
const waits = [
  setTimeout(100000, 1, { signal }), setImmediate(1, { signal }), scheduler.wait(100000, { signal }),
];
controller.abort();
for (const wait of waits) await wait.catch(show);
await setTimeout(1, 1, { signal: AbortSignal.abort("why") }).catch(show);
await setImmediate(1, { signal: AbortSignal.abort("why") }).catch(show);
console.log(await setTimeout(1, "in time", { signal: new AbortController().signal }));
