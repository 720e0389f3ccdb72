import { setTimeout } from "node:timers/promises";

const log = [];
const { signal } = new AbortController();
const chain = async (name, wait) => {
  await wait;
  log.push(name);
};
const rounds = async () => {
  for (let round = 0; round < 8; round++) {
    log.push(round);
    await undefined;
  }
};
globalThis.setTimeout(rounds, 1);
await Promise.all([chain("plain", setTimeout(1)), chain("with a signal", setTimeout(1, undefined, { signal }))]);
console.log(log.join(" "));
