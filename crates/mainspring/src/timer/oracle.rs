//! The store against a sorted list: random insertions, removals, re-arms and clock jumps.

use std::collections::{BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::timer::page::Directory;
use crate::timer::slots::Slots;
use crate::timer::store::Store;

/// Times at which something changes: the edges of granules, of buckets and halves of each level, and of
/// the range.
fn edges(now: i64) -> Vec<i64> {
    let mut edges = vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    edges.extend([now.saturating_sub(1), now, now.saturating_add(1)]);
    for level in 0..5 {
        let bits = 18 + 11 * level;
        if bits >= 63 {
            continue;
        }
        let start = now >> bits;
        for step in [0, 1, 2, 2_047, 2_048, 2_049, 4_095, 4_096] {
            if let Some(edge) = (start + step).checked_mul(1 << bits) {
                edges.extend([edge.saturating_sub(1), edge, edge.saturating_add(1)]);
            }
        }
    }
    edges
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A distance in time: all magnitudes are equally likely.
    fn distance(&mut self) -> i64 {
        let bits = self.below(63);
        (self.next() & ((1 << bits) - 1)) as i64
    }

    fn deadline(&mut self, now: i64) -> i64 {
        match self.below(8) {
            0 => {
                let edges = edges(now);
                edges[self.below(edges.len() as u64) as usize]
            }
            1 => now.saturating_sub(self.distance()),
            // Many with the same deadline.
            2 => now.saturating_add(1_000_000 * self.below(4) as i64),
            3 => now.saturating_add(self.below(300_000) as i64),
            _ => now.saturating_add(self.distance()),
        }
    }
}

/// The store, and what it should be.
struct Bench {
    directory: Directory,
    slots: Slots,
    store: Store,
    now: i64,
    order: u64,
    /// (deadline, order of insertion, slot)
    sorted: BTreeSet<(i64, u64, u32)>,
    /// What was inserted since the phase began.
    fresh: BTreeSet<(i64, u64, u32)>,
    live: Vec<u32>,
    keys: HashMap<u32, (i64, u64, u32)>,
}

impl Bench {
    fn new(now: i64) -> Self {
        Self {
            directory: Directory::new(),
            slots: Slots::new(),
            store: Store::new(now),
            now,
            order: 0,
            sorted: BTreeSet::new(),
            fresh: BTreeSet::new(),
            live: Vec::new(),
            keys: HashMap::new(),
        }
    }

    fn note(&mut self, index: u32, deadline: i64) {
        self.order += 1;
        let key = (deadline, self.order, index);
        self.fresh.insert(key);
        self.keys.insert(index, key);
    }

    fn forget(&mut self, index: u32) {
        let key = self.keys.remove(&index).unwrap();
        assert!(self.sorted.remove(&key) || self.fresh.remove(&key));
    }

    fn insert(&mut self, deadline: i64) {
        let index = self.slots.take(&self.directory).unwrap();
        self.store.insert(&self.slots, index, deadline);
        self.live.push(index);
        self.note(index, deadline);
    }

    fn remove(&mut self, nth: usize) {
        let index = self.live.swap_remove(nth);
        let page = self.slots.page_of(index);
        self.store.remove(&self.slots, page, index);
        self.slots.give_back(index, &self.directory);
        self.forget(index);
    }

    fn rearm(&mut self, nth: usize, deadline: i64) {
        let index = self.live[nth];
        let page = self.slots.page_of(index);
        self.store.remove(&self.slots, page, index);
        self.store.insert(&self.slots, index, deadline);
        self.forget(index);
        self.note(index, deadline);
    }

    /// A phase at `now`, in which callbacks do more of the same.
    fn fire(&mut self, random: &mut Random) {
        self.sorted.append(&mut self.fresh);
        self.store.begin(&self.slots, self.now);
        while let Some((key, _)) = self.store.pop_due(&self.slots, self.now) {
            let index = key.index;
            let first = self.sorted.pop_first().expect("something is due");
            assert_eq!(first, self.keys[&index], "the order of firing");
            assert!(first.0 <= self.now, "never early");
            self.keys.remove(&index);
            let nth = self.live.iter().position(|live| *live == index).unwrap();
            self.live.swap_remove(nth);
            self.slots.give_back(index, &self.directory);
            if random.below(8) == 0 {
                let deadline = random.deadline(self.now);
                self.insert(deadline);
            }
            if random.below(8) == 0 && !self.live.is_empty() {
                let nth = random.below(self.live.len() as u64) as usize;
                match random.below(2) {
                    0 => self.remove(nth),
                    _ => self.rearm(nth, random.deadline(self.now)),
                }
            }
        }
        let left = self.sorted.first();
        assert!(
            left.is_none_or(|(deadline, ..)| *deadline > self.now),
            "nothing due is left: {left:?}"
        );
    }

    fn check_next(&mut self) {
        let next = self.store.next(&self.slots);
        let earliest = self.sorted.first().into_iter().chain(self.fresh.first()).min();
        match (next, earliest) {
            (None, None) => {}
            (Some(next), Some((deadline, ..))) if self.keys.len() <= 64 => {
                assert_eq!(next, *deadline, "exact when there are few");
            }
            (Some(next), Some((deadline, ..))) => assert!(next <= *deadline, "never too late"),
            other => panic!("{other:?}"),
        }
    }

    fn jump(&mut self, random: &mut Random) {
        let to = match random.below(6) {
            0 => self.now.saturating_add(random.distance() >> 20),
            1 => {
                let mut edges = edges(self.now);
                if random.below(256) != 0 {
                    // Seldom to the end of the range: that is the end of the program.
                    edges.retain(|edge| *edge < self.now.saturating_add(1 << 46));
                }
                edges[random.below(edges.len() as u64) as usize]
            }
            2 => self
                .sorted
                .first()
                .map_or(self.now, |key| key.0.min(self.now.saturating_add(1 << 46))),
            3 => self.now,
            _ => self.now.saturating_add(random.below(2_000_000) as i64),
        };
        // The real clock is far from the end of its range.
        self.now = self.now.max(to.min(i64::MAX - 1));
    }
}

/// One random program. `most` bounds the number of timers that are alive together.
/// Returns how many steps it took.
fn run(seed: u64, steps: u64, most: usize) -> u64 {
    let mut random = Random(seed | 1);
    let start = [0, 1, 12_345_678_901_234, i64::MAX / 2][random.below(4) as usize];
    let mut bench = Bench::new(start);
    let mut taken = 0;
    for _ in 0..steps {
        taken += 1;
        match random.below(16) {
            0..=7 if bench.live.len() < most => {
                let deadline = random.deadline(bench.now);
                bench.insert(deadline);
            }
            8..=10 if !bench.live.is_empty() => {
                let nth = random.below(bench.live.len() as u64) as usize;
                bench.remove(nth);
            }
            11 | 12 if !bench.live.is_empty() => {
                let nth = random.below(bench.live.len() as u64) as usize;
                let deadline = random.deadline(bench.now);
                bench.rearm(nth, deadline);
            }
            13 => bench.check_next(),
            14 => {
                bench.jump(&mut random);
                bench.fire(&mut random);
            }
            _ => {}
        }
        // So that the end of the range is not where most programs are.
        if bench.now > i64::MAX - (1 << 50) && random.below(64) == 0 {
            break;
        }
    }
    bench.now = i64::MAX;
    for _ in 0..100 {
        bench.fire(&mut Random(1));
    }
    while !bench.live.is_empty() {
        bench.remove(0);
    }
    assert_eq!(bench.store.next(&bench.slots), None);
    assert!(bench.sorted.is_empty() && bench.fresh.is_empty());
    taken
}

fn run_all(programs: u64, steps: u64, most: usize) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let mut taken = 0;
    for program in 0..programs {
        // Half of the programs are the same every time.
        let seed = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(program + 1);
        let seed = if program % 2 == 0 { seed } else { seed ^ time };
        let result = std::panic::catch_unwind(|| run(seed, steps, most));
        let Ok(more) = result else {
            panic!("failed with seed {seed:#x}, steps {steps}, most {most}");
        };
        taken += more;
    }
    assert!(taken >= programs * steps / 4, "most programs do not end early: {taken} steps");
}

// spec: TM-1, TM-2, TM-6, TM-9, R11
#[test]
fn few_timers_agree_with_a_sorted_list() {
    run_all(4_000, 300, 20);
}

// spec: TM-1, TM-2, TM-6, TM-9, R11
#[test]
fn many_timers_agree_with_a_sorted_list() {
    run_all(60, 30_000, 3_000);
}

/// Tens of millions of steps: `cargo test --release -p mainspring --lib oracle -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn very_many_timers_agree_with_a_sorted_list() {
    run_all(100_000, 300, 20);
    run_all(2_000, 30_000, 3_000);
    run_all(40, 1_000_000, 30_000);
}
