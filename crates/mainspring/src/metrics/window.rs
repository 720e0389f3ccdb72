//! How many there were per second, in the last ten seconds.
//!
//! The window is 100 buckets of 100 ms: the one that the present is in, and the 99 before. It is rolled on by
//! whole buckets, and what was counted is divided by the time from the begin of the oldest one to the present:
//! between 9.9 and 10 seconds, or less if the window is not that old. It is never taken to be younger than
//! one bucket, so that a few in the first moment are not thousands per second.

use super::words::words;

/// How long a bucket is, in nanoseconds.
const BUCKET: i64 = 100_000_000;

/// Buckets before the present one.
const PAST: usize = 99;

/// See the [module documentation](self). Times are nanoseconds of a monotonic clock; one that is before the
/// present bucket is taken to be in it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// When the first bucket began.
    pub(super) start: i64,
    /// When the present bucket ends.
    pub(super) end: i64,
    /// What is in the present bucket.
    pub(super) present: u64,
    /// What is in those before, as a ring.
    pub(super) past: [u64; PAST],
    /// Where the oldest of them is.
    pub(super) oldest: usize,
    /// What is in all of them.
    pub(super) sum: u64,
}

// The parts that change only when the present bucket does come last.
words!(Window: end, start, present, sum, oldest, past);

impl Window {
    pub(crate) const fn new(now: i64) -> Self {
        let end = now.saturating_add(BUCKET);
        Self { start: now, end, present: 0, past: [0; PAST], oldest: 0, sum: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, now: i64, count: u64) {
        if now >= self.end {
            self.roll(now);
        }
        self.present += count;
    }

    pub(crate) fn per_second(&self, now: i64) -> f64 {
        let now = now.max(self.end.saturating_sub(BUCKET));
        let steps = self.steps(now);
        let gone: u64 = self.leaving().take(steps).map(|place| self.past[place]).sum();
        let count = if steps > PAST { 0 } else { self.sum - gone + self.present };
        let end = self.end_after(now);
        let begin = end.saturating_sub(BUCKET * (PAST as i64 + 1)).max(self.start);
        count as f64 * 1e9 / now.saturating_sub(begin).max(BUCKET) as f64
    }

    /// Makes the bucket that `now` is in the present one.
    #[cold]
    fn roll(&mut self, now: i64) {
        let steps = self.steps(now);
        if steps > PAST {
            *self = Self { start: self.start, end: self.end_after(now), ..Self::new(now) };
            return;
        }
        for place in self.leaving().take(steps) {
            let latest = std::mem::take(&mut self.present);
            self.sum = self.sum - self.past[place] + latest;
            self.past[place] = latest;
        }
        self.oldest = (self.oldest + steps) % PAST;
        self.end = self.end_after(now);
    }

    /// The places of the ring, in the order in which they leave the window.
    fn leaving(&self) -> impl Iterator<Item = usize> + use<> {
        (self.oldest..PAST).chain(0..self.oldest)
    }

    /// By how many buckets `now` is after the present one.
    fn steps(&self, now: i64) -> usize {
        if now < self.end {
            return 0;
        }
        usize::try_from(now.abs_diff(self.end) / BUCKET as u64 + 1).unwrap_or(usize::MAX)
    }

    /// When the bucket that `now` is in ends.
    fn end_after(&self, now: i64) -> i64 {
        if now < self.end {
            return self.end;
        }
        let into = (now.abs_diff(self.end) % BUCKET as u64) as i64;
        now.saturating_add(BUCKET - into)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MILLI: i64 = 1_000_000;
    const SECOND: i64 = 1_000 * MILLI;

    /// A clock does not begin with zero, nor with a bucket.
    const START: i64 = 123_456_789;

    /// One in each millisecond, from the start until just before `end`.
    fn one_per_milli(end: i64) -> Window {
        let mut window = Window::new(START);
        for now in (START..end).step_by(MILLI as usize) {
            window.add(now, 1);
        }
        window
    }

    // spec: MX-2
    #[test]
    fn nothing_is_zero_at_any_time() {
        let window = Window::new(START);
        for now in [i64::MIN, 0, START, START + 1, START + SECOND, START + 3_600 * SECOND, i64::MAX]
        {
            assert_eq!(window.per_second(now), 0.0);
        }
    }

    // spec: MX-2
    #[test]
    fn in_the_first_bucket_the_rate_is_that_of_a_whole_one() {
        let mut window = Window::new(START);
        window.add(START, 3);
        assert_eq!(window.per_second(START), 30.0);
        assert_eq!(window.per_second(START + 1), 30.0);
        assert_eq!(window.per_second(START + 100 * MILLI), 30.0);
        assert_eq!(window.per_second(START + 200 * MILLI), 15.0);
    }

    // spec: MX-2
    #[test]
    fn a_young_window_is_divided_by_its_age() {
        let mut window = Window::new(START);
        window.add(START + 50 * MILLI, 10);
        window.add(START + 250 * MILLI, 20);
        assert_eq!(window.per_second(START + 500 * MILLI), 60.0);
        assert_eq!(window.per_second(START + SECOND), 30.0);
        assert_eq!(window.per_second(START + 10 * SECOND - 1), 30e9 / (10 * SECOND - 1) as f64);
    }

    // spec: MX-2
    #[test]
    fn a_constant_rate_is_found_at_every_age() {
        for end in [100, 150, 999, 1_000, 9_899, 9_900, 9_999, 10_000, 10_050, 12_345, 60_000] {
            let now = START + end * MILLI;
            assert_eq!(one_per_milli(now).per_second(now), 1_000.0, "after {end} ms");
        }
    }

    // spec: MX-2
    #[test]
    fn a_bucket_counts_until_it_is_ten_seconds_old() {
        let mut window = Window::new(START);
        window.add(START, 99);
        window.add(START + 100 * MILLI, 198);
        let at = START + 10 * SECOND;
        assert_eq!(window.per_second(at - 1), 297e9 / (10 * SECOND - 1) as f64);
        assert_eq!(window.per_second(at), 198.0 / 9.9, "the first one is gone");
        assert_eq!(window.per_second(at + 100 * MILLI - 1), 198e9 / (10 * SECOND - 1) as f64);
        assert_eq!(window.per_second(at + 100 * MILLI), 0.0);

        window.add(at, 0);
        assert_eq!(window.per_second(at), 198.0 / 9.9, "the same if it was rolled on");
        window.add(at + 100 * MILLI, 0);
        assert_eq!(window.per_second(at + 100 * MILLI), 0.0);
    }

    // spec: MX-2
    #[test]
    fn a_gap_of_any_length_empties_the_window() {
        let end = START + 20 * SECOND;
        for (gap, kept) in [(0, 9_900), (9_700, 200), (9_800, 100), (9_900, 0), (10_000, 0)]
            .into_iter()
            .chain([10_100, 3_600_000, 1_000_000_000_000].map(|gap| (gap, 0)))
        {
            let mut window = one_per_milli(end);
            let now = end + gap * MILLI;
            assert_eq!(window.per_second(now), f64::from(kept) / 9.9, "before the next, {gap} ms");
            window.add(now, 99);
            assert_eq!(window.per_second(now), f64::from(99 + kept) / 9.9, "after {gap} ms");
            assert_eq!(window.per_second(now + 10 * SECOND), 0.0);
        }
    }

    // spec: MX-2
    #[test]
    fn time_that_stands_still_or_goes_back_loses_nothing() {
        let mut window = Window::new(START);
        let now = START + 2 * SECOND;
        window.add(now, 10);
        window.add(now, 10);
        window.add(now - 1, 10);
        window.add(now - SECOND, 10);
        window.add(i64::MIN, 10);
        assert_eq!(window.per_second(now), 25.0);
        assert_eq!(window.per_second(now - SECOND), 25.0, "as of the begin of the bucket");
        assert_eq!(window.per_second(i64::MIN), 25.0);
    }

    // spec: MX-2
    #[test]
    fn the_ends_of_time_are_not_passed() {
        let mut window = Window::new(i64::MIN);
        window.add(i64::MIN, 1);
        window.add(i64::MAX, 1);
        window.add(i64::MAX, 1);
        assert!(window.per_second(i64::MAX).is_finite());
        let mut window = Window::new(i64::MAX);
        window.add(i64::MAX, 5);
        assert_eq!(window.per_second(i64::MAX), 50.0);
    }

    /// All that was added, with the number of its bucket.
    struct Model {
        present: i64,
        added: Vec<(i64, u64)>,
    }

    impl Model {
        fn add(&mut self, now: i64, count: u64) {
            self.present = self.present.max((now - START) / BUCKET);
            self.added.push((self.present, count));
        }

        fn per_second(&self, now: i64) -> f64 {
            let now = (now - START).max(self.present * BUCKET);
            let oldest = (now / BUCKET - 99).max(0);
            let inside = self.added.iter().filter(|(bucket, _)| *bucket >= oldest);
            let count: u64 = inside.map(|(_, count)| count).sum();
            count as f64 * 1e9 / (now - oldest * BUCKET).max(BUCKET) as f64
        }
    }

    // spec: MX-2
    #[test]
    fn a_model_that_keeps_everything_agrees() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        for _ in 0..30 {
            let mut window = Window::new(START);
            let mut model = Model { present: 0, added: Vec::new() };
            let mut now = START;
            for _ in 0..300 {
                now += match random(20) {
                    0 => -(random(200) as i64 * MILLI),
                    1 => random(15_000) as i64 * MILLI,
                    2 => BUCKET * random(102) as i64,
                    3 => 0,
                    _ => random(250) as i64 * MILLI,
                };
                now = now.max(START);
                let count = random(1_000);
                window.add(now, count);
                model.add(now, count);
                for later in [0, 1, 99, 100, 9_899, 9_900, 9_999, 10_000, random(12_000) as i64] {
                    let then = now + later * MILLI;
                    assert_eq!(window.per_second(then), model.per_second(then), "{then}");
                }
            }
        }
    }
}
