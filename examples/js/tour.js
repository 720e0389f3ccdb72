// What runs when, and some of what there is: cargo run --release -- run examples/js/tour.js
const net = require("node:net");
const { once } = require("node:events");
const { setTimeout: sleep } = require("node:timers/promises");

console.log("1 the script, to its end");
setTimeout(() => console.log("6 a timer"), 50);
setImmediate(() => {
  console.log("4 an immediate");
  queueMicrotask(() => console.log("5 its microtask, before anything else"));
});
process.nextTick(() => console.log("2 next tick"));
Promise.resolve().then(() => console.log("3 a promise"));

async function main() {
  await sleep(60);
  const server = net.createServer((socket) => socket.end("hello from a socket"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = net.connect(server.address().port, "127.0.0.1").setEncoding("utf8");
  console.log("7", (await once(client, "data"))[0]);
  await once(server.close(), "close");

  try {
    await sleep(3_600_000, undefined, { signal: AbortSignal.timeout(10) });
  } catch (error) {
    console.log("8", error.name, "because of", error.cause.name);
  }
  console.log("9", { alive: mainspring.whyAlive(), done: new Set([true]) });
}

main();
process.on("exit", (code) => console.log("exit", code));
