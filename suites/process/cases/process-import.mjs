import process, { env, nextTick } from "node:process";

console.log(process === globalThis.process, nextTick === process.nextTick, env === process.env);
