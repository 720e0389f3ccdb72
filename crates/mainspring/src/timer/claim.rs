//! Who decides what becomes of a timer: one atomic word for each slot.
//!
//! # The word
//!
//! | bits | meaning |
//! |---|---|
//! | 0, 1 | the state, see below |
//! | 2 | REFERENCED: the timer keeps `run_until_idle` from returning |
//! | 3 | INTERVAL: the slot is kept when the timer fires |
//! | 8.. | the generation: how often the slot was used before |
//!
//! | state | meaning | may become |
//! |---|---|---|
//! | FREE | no timer; whoever owns the free slot owns the word | ARMED |
//! | ARMED | will fire | FREE (fired, or cleared by the loop), RUNNING, CLEARED |
//! | RUNNING | an interval whose callback is on the stack | ARMED, CLEARED |
//! | CLEARED | will not fire; its callback is still to be dropped by the loop | FREE |
//!
//! From ARMED and RUNNING a timer gets away by one compare-and-swap of the whole word, whoever does it. So
//! of a firing and any number of attempts to clear it exactly one succeeds, each knows whether it did, and
//! an id of an older generation never succeeds. On the way to FREE the generation is counted up.
//!
//! # Orderings
//!
//! All data of a slot but this word belongs to the loop's thread, so the word need not publish anything.
//! Transitions are AcqRel all the same, so that what a thread did before it cleared a timer is seen by
//! whoever finds it cleared.

use crate::sync::{AtomicU64, Ordering};
use crate::timer::id::GENERATIONS;

const STATE: u64 = 0b11;
const FREE: u64 = 0;
const ARMED: u64 = 1;
const RUNNING: u64 = 2;
const CLEARED: u64 = 3;

const REFERENCED: u64 = 1 << 2;
const INTERVAL: u64 = 1 << 3;
const GENERATION_SHIFT: u32 = 8;

/// Whether a timer fires once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Timeout,
    Interval,
}

/// What a transition found, where it matters to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) referenced: bool,
    /// The interval's callback is on the stack.
    pub(crate) running: bool,
}

/// The word of a slot. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Claim(AtomicU64);

fn generation_of(word: u64) -> u32 {
    (word >> GENERATION_SHIFT) as u32
}

fn is_alive(word: u64, generation: u32) -> bool {
    generation_of(word) == generation && matches!(word & STATE, ARMED | RUNNING)
}

impl Claim {
    /// The word of a free slot.
    pub(crate) fn new(generation: u32) -> Self {
        Self(AtomicU64::new(u64::from(generation) << GENERATION_SHIFT | FREE))
    }

    #[inline]
    fn replace(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// The generation of the timer that is or will be in the slot.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        generation_of(self.0.load(Ordering::Relaxed))
    }

    /// FREE → ARMED, by the owner of the free slot. Returns the generation.
    #[inline]
    pub(crate) fn arm(&self, kind: Kind) -> u32 {
        let word = self.0.load(Ordering::Relaxed);
        debug_assert_eq!(word & 0xff, FREE);
        let kind = if kind == Kind::Interval { INTERVAL } else { 0 };
        self.0.store(word | ARMED | REFERENCED | kind, Ordering::Release);
        generation_of(word)
    }

    /// ARMED → FREE or, for an interval, RUNNING: by the loop, which is about to run the callback.
    /// None if it was cleared.
    #[inline]
    pub(crate) fn fire(&self) -> Option<(Kind, Taken)> {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & STATE == ARMED {
            let (kind, to) = if word & INTERVAL == 0 {
                (Kind::Timeout, next_generation(word))
            } else {
                (Kind::Interval, word ^ ARMED ^ RUNNING)
            };
            match self.replace(word, to) {
                Ok(_) => {
                    let referenced = word & REFERENCED != 0;
                    return Some((kind, Taken { referenced, running: false }));
                }
                Err(now) => word = now,
            }
        }
        None
    }

    /// RUNNING → ARMED, by the loop after an interval's callback. False if it was cleared.
    pub(crate) fn rearm(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & STATE == RUNNING {
            match self.replace(word, word ^ RUNNING ^ ARMED) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// ARMED → FREE, RUNNING → CLEARED: by the loop. None if there is no such timer.
    #[inline]
    pub(crate) fn clear(&self, generation: u32) -> Option<Taken> {
        self.end(generation, next_generation)
    }

    /// ARMED or RUNNING → CLEARED: by another thread. None if there is no such timer.
    #[inline]
    pub(crate) fn clear_remotely(&self, generation: u32) -> Option<Taken> {
        self.end(generation, |word| word | CLEARED)
    }

    #[inline]
    fn end(&self, generation: u32, armed_becomes: impl Fn(u64) -> u64) -> Option<Taken> {
        let mut word = self.0.load(Ordering::Relaxed);
        while is_alive(word, generation) {
            let running = word & STATE == RUNNING;
            let to = if running { word | CLEARED } else { armed_becomes(word) };
            match self.replace(word, to) {
                Ok(_) => return Some(Taken { referenced: word & REFERENCED != 0, running }),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Sets or resets REFERENCED. Returns whether that changed it, or none if there is no such timer.
    pub(crate) fn refer(&self, generation: u32, referenced: bool) -> Option<bool> {
        let mut word = self.0.load(Ordering::Relaxed);
        while is_alive(word, generation) {
            let to = if referenced { word | REFERENCED } else { word & !REFERENCED };
            if to == word {
                return Some(false);
            }
            match self.replace(word, to) {
                Ok(_) => return Some(true),
                Err(now) => word = now,
            }
        }
        None
    }

    /// The timer that is referenced, if there is one: its generation and its kind.
    pub(crate) fn referenced(&self) -> Option<(u32, Kind)> {
        let word = self.0.load(Ordering::Acquire);
        let kind = if word & INTERVAL == 0 { Kind::Timeout } else { Kind::Interval };
        let is_so = is_alive(word, generation_of(word)) && word & REFERENCED != 0;
        is_so.then_some((generation_of(word), kind))
    }

    /// Whether there is such a timer, and it does not run right now.
    pub(crate) fn is_armed(&self, generation: u32) -> bool {
        let word = self.0.load(Ordering::Acquire);
        word & STATE == ARMED && generation_of(word) == generation
    }

    /// Whether such a timer was cleared by another thread, or while it ran, and is still to be dropped.
    pub(crate) fn is_cleared(&self, generation: u32) -> bool {
        let word = self.0.load(Ordering::Acquire);
        word & STATE == CLEARED && generation_of(word) == generation
    }

    /// CLEARED → FREE, by the loop.
    pub(crate) fn release(&self) {
        let word = self.0.load(Ordering::Relaxed);
        debug_assert_eq!(word & STATE, CLEARED);
        // Nobody else has a transition from CLEARED.
        self.0.store(next_generation(word), Ordering::Release);
    }

    /// Any state → FREE, at the end of the loop or for a timer that nobody was told about. Tells whether
    /// there was a referenced timer that nobody had cleared.
    pub(crate) fn abandon(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & STATE != FREE {
            match self.replace(word, next_generation(word)) {
                Ok(_) => return word & STATE != CLEARED && word & REFERENCED != 0,
                Err(now) => word = now,
            }
        }
        false
    }

    /// As if the slot had been used so often.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn set_generation(&self, generation: u32) {
        self.0.store(u64::from(generation) << GENERATION_SHIFT | FREE, Ordering::Relaxed);
    }

    /// Whether the slot's last generation is over.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.generation() >= GENERATIONS
    }
}

/// The word of the slot when its timer is gone.
fn next_generation(word: u64) -> u64 {
    ((word >> GENERATION_SHIFT) + 1) << GENERATION_SHIFT | FREE
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const REFERENCED_AND_WAITING: Taken = Taken { referenced: true, running: false };

    #[test]
    fn a_timeout_is_gone_when_it_fires_and_its_id_is_stale() {
        let claim = Claim::new(7);
        assert_eq!(claim.arm(Kind::Timeout), 7);
        assert_eq!(claim.fire(), Some((Kind::Timeout, REFERENCED_AND_WAITING)));
        assert_eq!(claim.clear(7), None);
        assert_eq!(claim.arm(Kind::Timeout), 8);
        assert_eq!(claim.clear(7), None, "a stale id does not clear the next timer");
        assert_eq!(claim.clear_remotely(7), None);
        assert_eq!(claim.refer(7, false), None);
        assert_eq!(claim.clear(8), Some(REFERENCED_AND_WAITING));
    }

    #[test]
    fn what_another_thread_cleared_does_not_fire() {
        let claim = Claim::new(0);
        claim.arm(Kind::Timeout);
        assert_eq!(claim.clear_remotely(0), Some(REFERENCED_AND_WAITING));
        assert_eq!(claim.clear_remotely(0), None, "once");
        assert_eq!(claim.clear(0), None);
        assert_eq!(claim.fire(), None);
        assert!(claim.is_cleared(0));
        assert!(!claim.is_cleared(1), "another timer");
        claim.release();
        assert!(!claim.is_cleared(0));
        assert_eq!(claim.arm(Kind::Timeout), 1);
    }

    #[test]
    fn an_interval_keeps_its_generation_until_it_is_cleared() {
        let claim = Claim::new(0);
        claim.arm(Kind::Interval);
        assert_eq!(claim.fire().unwrap().0, Kind::Interval);
        assert!(claim.rearm());
        assert_eq!(claim.fire().unwrap().0, Kind::Interval);
        assert_eq!(claim.clear(0), Some(Taken { referenced: true, running: true }));
        assert_eq!(claim.clear(0), None);
        assert!(!claim.rearm());
        assert!(claim.is_cleared(0));
    }

    #[test]
    fn a_reference_is_changed_once() {
        let claim = Claim::new(0);
        claim.arm(Kind::Interval);
        assert_eq!(claim.refer(0, true), Some(false));
        assert_eq!(claim.refer(0, false), Some(true));
        assert_eq!(claim.refer(0, false), Some(false));
        let (_, taken) = claim.fire().unwrap();
        assert!(!taken.referenced);
        assert!(claim.rearm());
        assert!(!claim.clear_remotely(0).unwrap().referenced, "it stays so");
    }

    // spec: TM-8
    #[test]
    fn the_last_generation_is_followed_by_none() {
        let claim = Claim::new(GENERATIONS - 1);
        assert!(!claim.is_exhausted());
        claim.arm(Kind::Timeout);
        claim.fire();
        assert!(claim.is_exhausted());
    }

    #[test]
    fn a_timer_is_armed_unless_it_runs_or_is_gone() {
        let claim = Claim::new(3);
        assert!(!claim.is_armed(3), "nothing was set");
        claim.arm(Kind::Interval);
        assert!(claim.is_armed(3));
        assert!(!claim.is_armed(2), "a stale id");
        claim.fire();
        assert!(!claim.is_armed(3), "it runs");
        claim.rearm();
        assert!(claim.is_armed(3));
        claim.clear_remotely(3);
        assert!(!claim.is_armed(3), "it was cleared");
    }

    #[test]
    fn what_keeps_a_loop_alive_is_a_referenced_timer_that_nobody_cleared() {
        for kind in [Kind::Timeout, Kind::Interval] {
            let claim = Claim::new(3);
            assert_eq!(claim.referenced(), None, "nothing was set");
            claim.arm(kind);
            assert_eq!(claim.referenced(), Some((3, kind)));
            claim.refer(3, false);
            assert_eq!(claim.referenced(), None, "it is there and not referenced");
            claim.refer(3, true);
            claim.clear_remotely(3);
            assert_eq!(claim.referenced(), None, "it was cleared");
        }
    }

    #[test]
    fn what_is_abandoned_is_counted_if_it_was_referenced_and_a_free_slot_stays_as_it_is() {
        let claim = Claim::new(5);
        assert!(!claim.abandon(), "nothing was set");
        assert_eq!(claim.generation(), 5);
        claim.arm(Kind::Timeout);
        assert!(claim.abandon());
        assert_eq!(claim.arm(Kind::Timeout), 6);
        claim.refer(6, false);
        assert!(!claim.abandon(), "not referenced");
        assert_eq!(claim.arm(Kind::Timeout), 7);
        claim.clear_remotely(7);
        assert!(!claim.abandon(), "counted by who cleared it");
        assert_eq!(claim.generation(), 8);
    }
}
