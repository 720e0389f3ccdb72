process.env.NUMBER = 1;
process.env.UNDEFINED = undefined;
process.env.NULL = null;
process.env.OBJECT = {};
const { NUMBER, UNDEFINED, NULL, OBJECT } = process.env;
console.log([NUMBER, UNDEFINED, NULL, OBJECT], process.env.MISSING);
console.log("NUMBER" in process.env, delete process.env.NUMBER, "NUMBER" in process.env, delete process.env.MISSING);
console.log(Object.keys(process.env).includes("NULL"), Object.hasOwn(process.env, "NULL"));
for (const change of [
  () => (process.env.SYMBOL = Symbol("s")),
  () => (process.env[Symbol("key")] = 1),
  () => Object.defineProperty(process.env, "DEFINED", { value: 1 }),
  () => Object.defineProperty(process.env, "DEFINED", { get: () => 1, configurable: true, enumerable: true }),
]) {
  try {
    change();
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
Object.defineProperty(process.env, "DEFINED", { value: 1, writable: true, configurable: true, enumerable: true });
console.log(Object.getOwnPropertyDescriptor(process.env, "DEFINED"));
console.log(process.env[Symbol("other")], Symbol("other") in process.env, process.env.toString());
console.log({ ...process.env }.DEFINED, JSON.parse(JSON.stringify(process.env)).NULL);
