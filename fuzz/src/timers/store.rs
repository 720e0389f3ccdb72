//! The store by itself.

use mainspring::fuzzing::Timers;

use crate::source::Source;

use super::{Key, Sorted, distance};

const STEPS: usize = 2_000;

struct Bench {
    timers: Timers,
    sorted: Sorted,
    now: i64,
    /// What is set, with its slot.
    live: Vec<(u32, Key)>,
    made: usize,
}

impl Bench {
    fn deadline(&self, source: &Source) -> i64 {
        let distance = distance(source);
        match source.below(8) {
            0 => self.now.saturating_sub(distance),
            1 => *source.pick(&[i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]),
            // The same for many.
            2 => (self.now | ((1 << 18) - 1)).saturating_add(1),
            _ => self.now.saturating_add(distance),
        }
    }

    fn insert(&mut self, source: &Source) {
        let deadline = self.deadline(source);
        let key = self.sorted.insert(deadline, self.made);
        self.made += 1;
        self.live.push((self.timers.insert(deadline), key));
    }

    fn remove(&mut self, nth: usize) {
        let (index, key) = self.live.swap_remove(nth);
        self.timers.remove(index);
        self.sorted.remove(key);
    }

    fn step(&mut self, source: &Source) {
        match source.below(6) {
            0..=2 => {
                for _ in 0..*source.pick(&[1, 1, 1, 1, 2, 20, 300]) {
                    self.insert(source);
                }
            }
            3 if !self.live.is_empty() => self.remove(source.below(self.live.len())),
            4 if !self.live.is_empty() => {
                let nth = source.below(self.live.len());
                let deadline = self.deadline(source);
                let (index, key) = self.live[nth];
                self.timers.rearm(index, deadline);
                self.sorted.remove(key);
                self.live[nth].1 = self.sorted.insert(deadline, key.2);
            }
            _ => self.check_next(),
        }
    }

    fn check_next(&mut self) {
        match (self.timers.next(), self.sorted.next()) {
            (next, earliest) if self.sorted.len() <= 64 => {
                assert_eq!(next, earliest, "exact when there are few");
            }
            (Some(next), Some(earliest)) => assert!(next <= earliest, "never too late"),
            other => panic!("{other:?}"),
        }
    }

    /// A phase, in which callbacks do more of the same.
    fn fire(&mut self, source: &Source) {
        self.sorted.begin();
        self.timers.begin(self.now);
        while let Some(index) = self.timers.pop_due(self.now) {
            let nth = self.live.iter().position(|live| live.0 == index).expect("it is set");
            let (_, key) = self.live.swap_remove(nth);
            assert_eq!(self.sorted.fire(self.now), key, "the order of firing");
            if source.one_in(4) {
                self.step(source);
            }
        }
        self.sorted.assert_nothing_due(self.now);
    }
}

pub(super) fn run(source: &Source) {
    let now = *source.pick(&[0, 1, 12_345_678_901_234, i64::MAX / 2, i64::MAX - (1 << 40)]);
    let mut bench =
        Bench { timers: Timers::new(now), sorted: Sorted::default(), now, live: vec![], made: 0 };
    for _ in 0..STEPS {
        if source.is_over() || bench.made > 4_000 {
            break;
        }
        match source.below(4) {
            0 => {
                let to = match source.below(3) {
                    0 => bench.sorted.next().unwrap_or(bench.now),
                    _ => bench.now.saturating_add(distance(source)),
                };
                // The real clock is far from the end of its range.
                bench.now = bench.now.max(to.min(i64::MAX - 1));
                bench.fire(source);
            }
            _ => bench.step(source),
        }
    }
    bench.now = i64::MAX;
    // What callbacks add is for the next phase, and the input has an end.
    while bench.sorted.len() != 0 && !source.is_over() {
        bench.fire(source);
    }
    while !bench.live.is_empty() {
        bench.remove(0);
    }
    assert_eq!(bench.timers.next(), None, "nothing is left");
}
