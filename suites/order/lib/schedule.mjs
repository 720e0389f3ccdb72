// When things happen in a script, as far as the generator has to know it.
//
// Node's order of timers is certain only if they are far apart, or have the same delay and are started one
// after the other. So time is cut into slots, wide enough for a busy machine, and every slot belongs to the
// timers that one delay and one moment of start lead to. What a slot's callbacks may start besides is the
// slot's mode: an immediate and a timer of 1 ms that are pending at once run in an order nobody knows.

const SLOTS = 9;

const MODES = [
  [4, "immediates"], // Any number of immediates.
  [2, "zero"], // Any number of timers of 1 ms.
  [2, "serial"], // Either, one at a time.
  [1, "none"],
];

// Where code runs: the slot, its mode, and the turn of the loop. `free` is whether a callback that throws
// leaves the rest of its turn in a certain order.
export const place = (time, mode, free) => ({ time, mode, free, turn: { taken: false, throws: false } });

// Code that may run at several times, or at one that is not known: it starts neither timers nor immediates.
export const NOWHERE = place(null, "none", false);

export class Schedule {
  #random;
  #slotMs;
  #used = new Set([0]);
  #shared = new Map();

  constructor(random, slotMs) {
    this.#random = random;
    this.#slotMs = slotMs;
  }

  start() {
    const mode = this.#random.weighted(MODES);
    return place(0, mode, certainAfterThrow(mode));
  }

  #isFree(time) {
    return time <= SLOTS && !this.#used.has(time);
  }

  // A slot for one timer that `from` starts, or undefined if none is left: {delay, place}.
  single(from) {
    if (from.time === null) {
      return undefined;
    }
    const free = [];
    for (let time = from.time + 1; time <= SLOTS; time += 1) {
      if (this.#isFree(time)) {
        free.push(time);
      }
    }
    if (free.length === 0) {
      return undefined;
    }
    // The near ones, so that there is time left for what these start.
    const time = free[Math.min(this.#random.below(free.length), this.#random.below(free.length))];
    this.#used.add(time);
    const mode = this.#random.weighted(MODES);
    return { delay: (time - from.time) * this.#slotMs, place: place(time, mode, certainAfterThrow(mode)) };
  }

  // A slot for several timers, which all start at the time of `from` and have the same delay.
  shared(from) {
    const known = this.#shared.get(from.time);
    if (known) {
      return known;
    }
    const slot = this.single(from);
    if (slot) {
      slot.place = place(slot.place.time, "none", false);
      this.#shared.set(from.time, slot);
    }
    return slot;
  }

  // The period of an interval that fires `count` times.
  interval(from, count) {
    if (from.time === null) {
      return undefined;
    }
    for (let period = 1; period <= 3; period += 1) {
      const times = Array.from({ length: count }, (_, i) => from.time + (i + 1) * period);
      if (times.every((time) => this.#isFree(time))) {
        times.forEach((time) => this.#used.add(time));
        return period * this.#slotMs;
      }
    }
    return undefined;
  }

  // A part of a slot, in milliseconds.
  part(tenths) {
    return (this.#slotMs * tenths) / 10;
  }

  // Whether a timer of this delay may be started again at `from`. If so, its slot is taken.
  again(from, delay) {
    const time = from.time + delay / this.#slotMs;
    if (from.time === null || !this.#isFree(time)) {
      return false;
    }
    this.#used.add(time);
    return true;
  }
}

function certainAfterThrow(mode) {
  return mode === "immediates" || mode === "none";
}

// Whether code at `cx` may start an immediate or, with "zero", a timer of 1 ms.
export function mayStart(cx, what) {
  return cx.mode === what || (cx.mode === "serial" && !cx.turn.taken);
}

// Whether a tick at `cx` may throw. Of two in one turn, Node treats the second in a way of its own.
export function mayThrowInTick(cx) {
  const may = cx.free && !cx.turn.throws;
  cx.turn.throws ||= may;
  return may;
}

// Notes that it did, and gives the place where the callback runs.
export function starts(cx) {
  cx.turn.taken = true;
  return place(cx.time, cx.mode, cx.free);
}
