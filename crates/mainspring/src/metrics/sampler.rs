//! Which of many events are measured: all of them while they are few, and then ever fewer.
//!
//! To read the clock twice and to take a sample in costs more than many a callback. So the rate of samples is
//! bounded, and the distance between two of them is random around what follows from that, so that it does not
//! fall into step with what is measured.

use std::cell::Cell;

/// Samples in a second, at the most.
const RATE: u64 = 50_000;

/// How long a rate is observed before it is acted upon, in nanoseconds.
pub(super) const PERIOD: i64 = 1_000_000;

/// The greatest distance between two samples.
const MAX_STRIDE: u64 = 4096;

/// What the distance between two samples has to be for so many events in that time.
pub(super) fn stride(events: u64, nanoseconds: i64) -> u32 {
    let seconds = nanoseconds.max(1) as f64 / 1e9;
    let stride = events as f64 / seconds / RATE as f64;
    (stride as u64).clamp(1, MAX_STRIDE) as u32
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Sampler {
    /// Events until one is measured; zero while one is.
    left: Cell<u32>,
    stride: Cell<u32>,
    /// Events that the present sample stands for.
    weight: Cell<u32>,
    /// When the event began that is measured.
    pub(super) from: Cell<i64>,
    /// Events so far.
    pub(super) events: Cell<u64>,
    /// What that was when the stride was last looked at, and when that was.
    seen: Cell<u64>,
    since: Cell<i64>,
    random: Cell<u32>,
    /// Whether each event is measured.
    is_complete: bool,
}

impl Sampler {
    /// One that measures each event, or not.
    pub(super) fn new(seed: u32, is_complete: bool) -> Self {
        Self {
            left: Cell::new(1),
            stride: Cell::new(1),
            weight: Cell::new(1),
            from: Cell::new(0),
            events: Cell::new(0),
            seen: Cell::new(0),
            since: Cell::new(0),
            random: Cell::new(seed.wrapping_mul(0x9E37_79B9) | 1),
            is_complete,
        }
    }

    /// There is one more event. Tells whether it is to be measured.
    #[inline]
    pub(super) fn begins(&self) -> bool {
        self.events.set(self.events.get() + 1);
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left == 0
    }

    /// Whether the present event is measured.
    #[inline]
    pub(super) fn is_measuring(&self) -> bool {
        self.left.get() == 0
    }

    /// How many events the one stands for that is measured.
    pub(super) fn weight(&self) -> u32 {
        self.weight.get()
    }

    /// The present event was measured.
    pub(super) fn measured(&self) {
        let stride = self.stride.get();
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.random.set(random);
        let left = if stride == 1 { 1 } else { 1 + random % (2 * stride - 1) };
        self.left.set(left);
        self.weight.set(left);
    }

    /// Adjusts the distance to the rate of events.
    pub(super) fn adapt(&self, now: i64) {
        let passed = now - self.since.get();
        if passed >= PERIOD && !self.is_complete {
            self.stride.set(stride(self.events.get() - self.seen.get(), passed));
            self.seen.set(self.events.get());
            self.since.set(now);
        }
    }
}
