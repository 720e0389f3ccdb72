// Which globals are seen when the global object is enumerated, before and after they are used.
const seen = () => Object.keys(globalThis).filter((name) => name !== "fetch").sort();
console.log(seen());
for (const name of Object.getOwnPropertyNames(globalThis)) typeof globalThis[name];
console.log(seen().length);
globalThis.structuredClone = 1;
globalThis.AbortSignal = 2;
console.log(seen().length, structuredClone, AbortSignal);
