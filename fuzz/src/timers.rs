//! Timers against a sorted list: set, cleared, given another deadline and fired in any order, also by callbacks, while
//! time jumps to where something changes.

mod looped;
mod store;

use std::collections::BTreeSet;

use crate::source::Source;

/// See the [module documentation](self).
// spec: TM-1, TM-2, TM-4, TM-6, TM-7, TM-9, TM-10, TM-11, TM-12, R11, F-13, F-14, F-17
pub fn check(data: &[u8]) {
    let source = Source::new(data);
    if source.below(2) == 0 { store::run(&source) } else { looped::run(source) }
}

/// A timer in the order of firing: deadline, order of insertion, and which it is.
type Key = (i64, u64, usize);

/// What should be set.
#[derive(Default)]
struct Sorted {
    order: u64,
    /// What was there when the phase began.
    waiting: BTreeSet<Key>,
    /// What was added since: it does not fire in the same phase.
    fresh: BTreeSet<Key>,
}

impl Sorted {
    fn insert(&mut self, deadline: i64, which: usize) -> Key {
        self.order += 1;
        let key = (deadline, self.order, which);
        self.fresh.insert(key);
        key
    }

    fn remove(&mut self, key: Key) {
        assert!(self.waiting.remove(&key) || self.fresh.remove(&key), "{key:?} is not set");
    }

    fn begin(&mut self) {
        self.waiting.append(&mut self.fresh);
    }

    /// Takes out what fires next at this time.
    fn fire(&mut self, now: i64) -> Key {
        let first = self.waiting.pop_first().expect("something is set");
        assert!(first.0 <= now, "it fires early: {first:?} at {now}");
        first
    }

    fn assert_nothing_due(&self, now: i64) {
        let left = self.waiting.first();
        assert!(left.is_none_or(|key| key.0 > now), "{left:?} is due at {now} and was left");
    }

    fn next(&self) -> Option<i64> {
        self.waiting.first().into_iter().chain(self.fresh.first()).map(|key| key.0).min()
    }

    fn len(&self) -> usize {
        self.waiting.len() + self.fresh.len()
    }
}

/// A distance in time: of any magnitude, with the edges of granules, buckets and levels among them.
fn distance(source: &Source) -> i64 {
    let bits = source.below(62);
    let edge = 1_i64 << bits;
    match source.below(6) {
        0 => 0,
        1 => edge - 1,
        2 => edge,
        3 => edge + 1,
        4 => 1_000_000 * source.below(8) as i64,
        _ => (source.number() % edge as u64) as i64,
    }
}
