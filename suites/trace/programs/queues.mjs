// A little of every queue.
import { readFile } from 'node:fs/promises';

let rounds = 0;

function round() {
    rounds += 1;
    process.nextTick(() => {});
    queueMicrotask(() => queueMicrotask(() => {}));
    Promise.resolve(rounds).then(() => {});
    setImmediate(() => setTimeout(() => {}, 1));
    if (rounds < 20) {
        setTimeout(round, 2);
    }
}

round();
await readFile(new URL(import.meta.url));
await Promise.all(Array.from({ length: 50 }, (_, index) => new Promise(resolve => setTimeout(resolve, index % 7))));
