// Some of what there is: promises, timers, abort signals, events, sockets, values, and why the loop is alive:
// cargo run --release -- run examples/js/parts.js

import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const say = (what, ...values) => console.log(what.padEnd(9), ...values);

// Three sleepers, one clock: it takes as long as the longest of them.
const naps = [30, 10, 20].map((ms) => sleep(ms, `${ms} ms`));
say("race", await Promise.race(naps));
say("all", await Promise.all(naps));

// A signal ends what nobody waits for any more.
const controller = new AbortController();
const nap = sleep(60_000, undefined, { signal: controller.signal });
setImmediate(() => controller.abort(new Error("woken up")));
await nap.catch(({ name, cause }) => say("abort", name, "because of:", cause.message));
await sleep(60_000, undefined, { signal: AbortSignal.timeout(5) }).catch(({ cause }) => say("timeout", cause.name));

// Events, as in a browser.
const target = new EventTarget();
target.addEventListener("greet", ({ detail }) => say("event", "hello,", detail), { once: true });
target.dispatchEvent(new CustomEvent("greet", { detail: "world" }));
say("again", target.dispatchEvent(new CustomEvent("greet", { detail: "nobody" })));

// A server and its client, on one thread.
const server = createServer((socket) => socket.on("data", (data) => socket.end(`${data}`.toUpperCase())));
await once(server.listen(0, "127.0.0.1"), "listening");
const client = connect(server.address().port, "127.0.0.1");
client.write("there and back");
const [answer] = await once(client, "data");
say("socket", `${answer}`);
server.close();

// Values are shown as in Node.
say("values", new Map([["set", new Set([1, 2])]]), [Promise.resolve(42), Symbol("s"), 10n ** 20n]);

// What keeps the loop from ending.
await once(server, "close");
await new Promise(setImmediate);
setTimeout(() => say("last", "nothing is left to do"), 10);
say("alive", globalThis.mainspring?.whyAlive());
