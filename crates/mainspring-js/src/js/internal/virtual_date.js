"use strict";

// `Date`, by the clock of the loop.
const System = Date;

function VirtualDate(...args) {
  if (new.target === undefined) return new System(host.wallTime()).toString();
  return Reflect.construct(System, args.length === 0 ? [host.wallTime()] : args, new.target);
}

const hidden = { writable: true, enumerable: false, configurable: true };
Object.defineProperties(VirtualDate, {
  ...Object.getOwnPropertyDescriptors(System),
  now: {
    value: {
      now() {
        return Math.floor(host.wallTime());
      },
    }.now,
    ...hidden,
  },
});
Object.defineProperty(System.prototype, "constructor", { value: VirtualDate, ...hidden });
Object.defineProperty(globalThis, "Date", { value: VirtualDate, ...hidden });
