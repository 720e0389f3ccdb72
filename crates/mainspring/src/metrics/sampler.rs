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
    /// Events that the present sample stands for: the last one of them is measured.
    weight: Cell<u32>,
    /// When the event began that is measured.
    pub(super) from: Cell<i64>,
    /// Events before those.
    before: Cell<u64>,
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
            before: Cell::new(0),
            seen: Cell::new(0),
            since: Cell::new(0),
            random: Cell::new(seed.wrapping_mul(0x9E37_79B9) | 1),
            is_complete,
        }
    }

    /// There is one more event. Tells whether it is to be measured, or up to so many events are left until one is.
    #[inline]
    pub(super) fn begins(&self, gate: u32) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left <= gate
    }

    /// How many events there were.
    pub(super) fn events(&self) -> u64 {
        self.before.get() + u64::from(self.weight.get() - self.left.get())
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
        self.before.set(self.before.get() + u64::from(self.weight.get()));
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
            let stride = stride(self.events() - self.seen.get(), passed);
            self.stride.set(stride);
            // Not for as long as the old distance would take at the new rate.
            let excess = self.left.get().saturating_sub(stride);
            self.left.set(self.left.get() - excess);
            self.weight.set(self.weight.get() - excess);
            self.seen.set(self.events());
            self.since.set(now);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// The numbers of the events that are measured, of so many.
    fn measured(sampler: &Sampler, events: u32) -> Vec<u32> {
        let is_measured = |_: &u32| {
            let begins = sampler.begins(0);
            if begins {
                sampler.measured();
            }
            begins
        };
        (0..events).filter(is_measured).collect()
    }

    // spec: MX-2
    #[test]
    fn what_is_rare_is_measured_each_time() {
        let sampler = Sampler::new(1, false);
        assert_eq!(measured(&sampler, 100).len(), 100);
        sampler.adapt(SECOND);
        assert_eq!(measured(&sampler, 40_000).len(), 40_000);
        sampler.adapt(2 * SECOND);
        assert_eq!(measured(&sampler, 10).len(), 10, "40,000 in a second are not too many");
        assert_eq!(sampler.events(), 40_110);
    }

    // spec: MX-1, MX-2
    #[test]
    fn what_is_frequent_is_measured_50_000_times_a_second_at_random() {
        let sampler = Sampler::new(1, false);
        sampler.adapt(SECOND);
        measured(&sampler, 5_000_000);
        sampler.adapt(2 * SECOND);
        let found = measured(&sampler, 5_000_000);
        assert!((48_000..52_000).contains(&found.len()), "{}", found.len());
        for period in [2, 3, 10, 64, 100] {
            // Not in step with anything: each rest is as frequent as any other.
            let mut rests = vec![0_u32; period];
            found.iter().for_each(|event| rests[*event as usize % period] += 1);
            let fair = found.len() as f64 / period as f64;
            let spread = 6.0 * fair.sqrt();
            assert!(rests.iter().all(|rest| (f64::from(*rest) - fair).abs() < spread), "{rests:?}");
        }
    }

    // spec: MX-2
    #[test]
    fn a_sample_stands_for_those_since_the_one_before() {
        let sampler = Sampler::new(7, false);
        sampler.adapt(SECOND);
        measured(&sampler, 10_000_000);
        sampler.adapt(2 * SECOND);
        measured(&sampler, 10_000);
        let mut weight = 0;
        let (mut events, mut last) = (0, 0);
        for event in 1..=1_000_000_u32 {
            if sampler.begins(0) {
                weight += sampler.weight();
                (events, last) = (event, sampler.weight());
                sampler.measured();
            }
        }
        assert!(weight.abs_diff(events) <= last.max(1_000), "{weight} for {events}");
    }

    // spec: MX-4
    #[test]
    fn for_a_trace_everything_is_measured() {
        let sampler = Sampler::new(1, true);
        measured(&sampler, 10_000_000);
        sampler.adapt(SECOND);
        assert_eq!(measured(&sampler, 1_000).len(), 1_000);
    }
}
