// A small generator of random numbers, the same on every engine.
export class Random {
  #state;

  constructor(seed) {
    this.#state = (seed * 0x9e3779b1) >>> 0;
    for (let i = 0; i < 4; i += 1) {
      this.#next();
    }
  }

  #next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let word = this.#state;
    word = Math.imul(word ^ (word >>> 15), word | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return (word ^ (word >>> 14)) >>> 0;
  }

  // An integer from 0 to below `limit`.
  below(limit) {
    return this.#next() % limit;
  }

  between(low, high) {
    return low + this.below(high - low + 1);
  }

  chance(percent) {
    return this.below(100) < percent;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  // Picks from [[weight, value], ...].
  weighted(rows) {
    let rest = this.below(rows.reduce((sum, [weight]) => sum + weight, 0));
    return rows.find(([weight]) => (rest -= weight) < 0)[1];
  }
}
