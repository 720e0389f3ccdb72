//! Which of many events are measured: all of them while they are few, and then ever fewer of them.
//!
//! To read the clock twice and to take a sample in costs more than many a callback. So the rate of samples is
//! bounded, and the distance between two of them is random around what follows from that, so that it does not
//! fall into step with what is measured.

use std::cell::Cell;

/// Samples in a second, at the most.
const RATE: u64 = 10_000;

/// So many are measured in any case, so that what is over soon is exact.
pub(super) const BURST: u64 = 2048;

/// After so many samples in a period the distance between them is doubled: the rate is not what it was.
pub(super) const SURPRISE: u32 = 32;

/// How long a rate is observed before it is acted upon, in nanoseconds.
pub(super) const PERIOD: i64 = 1_000_000;

/// The greatest distance between two samples.
pub(super) const MAX_STRIDE: u64 = 4096;

/// How long it takes until a distance is halved if there are no events any more, in nanoseconds: what comes in bursts is not
/// taken for rare at the beginning of each.
const HALF_LIFE: i64 = 50_000_000;

/// What the distance between two samples has to be for so many events in that time, when it was so great before.
pub(super) fn stride(before: u32, events: u64, nanoseconds: i64) -> u32 {
    let seconds = nanoseconds.max(1) as f64 / 1e9;
    let stride = events as f64 / seconds / RATE as f64;
    let floor = f64::from(before) * (-nanoseconds as f64 / HALF_LIFE as f64).exp2();
    stride.max(floor).clamp(1.0, MAX_STRIDE as f64) as u32
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
    /// Samples since then.
    taken: Cell<u32>,
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
            taken: Cell::new(0),
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

    /// How many events it is until one is measured, if they are counted elsewhere.
    pub(super) fn left(&self) -> u32 {
        self.left.get()
    }

    /// There were so many events, none of which is measured.
    pub(super) fn skip(&self, events: u64) {
        let passed = events.min(u64::from(self.left.get().saturating_sub(1)));
        self.left.set(self.left.get() - passed as u32);
        self.before.set(self.before.get() + events - passed);
    }

    /// There were so many events, the last one of which is measured.
    pub(super) fn skip_to(&self, events: u64) {
        self.skip(events - 1);
        self.weight.set(self.weight.get() - (self.left.get() - 1));
        self.left.set(0);
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
        let stride = self.next_stride();
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.random.set(random);
        let left = if stride == 1 { 1 } else { 1 + random % (2 * stride - 1) };
        self.left.set(left);
        self.weight.set(left);
    }

    /// The distance to the next sample.
    fn next_stride(&self) -> u32 {
        let taken = self.taken.get() + 1;
        self.taken.set(taken);
        if taken.is_multiple_of(SURPRISE) && !self.is_young() {
            self.stride.set((2 * self.stride.get()).min(MAX_STRIDE as u32));
        }
        self.stride.get()
    }

    /// Whether everything is measured, however much it is.
    fn is_young(&self) -> bool {
        self.is_complete || self.events() < BURST
    }

    /// Adjusts the distance to the rate of events.
    pub(super) fn adapt(&self, now: i64) {
        let passed = now - self.since.get();
        if passed >= PERIOD && !self.is_complete {
            let recent = self.events() - self.seen.get();
            let stride =
                if self.is_young() { 1 } else { stride(self.stride.get(), recent, passed) };
            self.stride.set(stride);
            self.taken.set(0);
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

    /// The numbers of the events that are measured, of so many, which are that many in a millisecond.
    fn measured(sampler: &Sampler, events: u32, in_period: u32) -> Vec<u32> {
        let is_measured = |event: &u32| {
            let begins = sampler.begins(0);
            if begins {
                sampler.measured();
            }
            if event % in_period == in_period - 1 {
                sampler.adapt(sampler.since.get() + PERIOD);
            }
            begins
        };
        (0..events).filter(is_measured).collect()
    }

    // spec: MX-2
    #[test]
    fn what_is_rare_is_measured_each_time() {
        let sampler = Sampler::new(1, false);
        assert_eq!(measured(&sampler, 100_000, 9).len(), 100_000);
        assert_eq!(sampler.events(), 100_000);
    }

    // spec: MX-2
    #[test]
    fn what_is_over_soon_is_measured_each_time() {
        let sampler = Sampler::new(1, false);
        assert_eq!(measured(&sampler, 2_000, 1_000).len(), 2_000);
        assert_eq!(sampler.events(), 2_000);
    }

    // spec: MX-1, MX-2
    #[test]
    fn what_is_frequent_is_measured_10_000_times_a_second_at_random() {
        let sampler = Sampler::new(1, false);
        measured(&sampler, 100_000, 5_000);
        let found = measured(&sampler, 5_000_000, 5_003);
        assert!((9_600..10_400).contains(&found.len()), "{}", found.len());
        for period in [2, 3, 10, 64, 100] {
            // Not in step with anything: each rest is as frequent as any other.
            let mut rests = vec![0_u32; period];
            found.iter().for_each(|event| rests[*event as usize % period] += 1);
            let fair = found.len() as f64 / period as f64;
            let spread = 6.0 * fair.sqrt();
            assert!(rests.iter().all(|rest| (f64::from(*rest) - fair).abs() < spread), "{rests:?}");
        }
    }

    // spec: MX-1
    #[test]
    fn a_burst_after_a_pause_is_not_measured_as_a_whole() {
        let sampler = Sampler::new(1, false);
        measured(&sampler, 100_000, 5_000);
        for _ in 0..10 {
            sampler.adapt(sampler.since.get() + 10 * PERIOD);
            let found = measured(&sampler, 20_000, 20_000);
            assert!(found.len() < 500, "{}", found.len());
        }
        // But in a while everything is.
        for _ in 0..100 {
            sampler.adapt(sampler.since.get() + 10 * PERIOD);
        }
        assert_eq!(measured(&sampler, 10, 1).len(), 10);
    }

    // spec: MX-2
    #[test]
    fn a_sample_stands_for_those_since_the_one_before() {
        let sampler = Sampler::new(7, false);
        measured(&sampler, 100_000, 10_000);
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
        assert_eq!(measured(&sampler, 1_000_000, 10_000).len(), 1_000_000);
    }
}
