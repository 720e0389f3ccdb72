//! The state of a loop, and the word that it shares with the wake protocol.
//!
//! # Bits
//!
//! | bits | name       | meaning                                                               |
//! |------|------------|-----------------------------------------------------------------------|
//! | 0–7  |            | [`LoopState`] as a number                                             |
//! | 8    | `NOTIFIED` | with Sleeping only: a wake is on its way, others elide theirs         |
//! | 9    | `POLLING`  | with Sleeping only: the sleep is ended through the poller's wake      |
//! | 10   | `FORCED`   | with Terminating and Terminated: drop what is queued, do not run it   |
//!
//! # Transitions
//!
//! | from                    | to          | by whom, how                                         |
//! |-------------------------|-------------|------------------------------------------------------|
//! | Awake                   | Running     | the first drive of the loop, CAS                     |
//! | Running                 | Sleeping    | the loop, before it blocks, CAS                      |
//! | Sleeping                | + NOTIFIED  | the one producer that will signal, CAS               |
//! | Sleeping (any)          | Running     | the loop, after it blocked, CAS                      |
//! | Awake, Running, Sleeping| Terminating | whoever begins termination, CAS                      |
//! | Terminating, Terminated | + FORCED    | whoever runs out of patience, CAS                    |
//! | Terminating             | Terminated  | the loop at its end; its beginner if it never ran    |
//!
//! Claiming the right to signal and seeing that the loop sleeps are one step, so there is at most
//! one wake for each sleep, however many producers race (WK-3). Because the flag lives in the word
//! that the loop itself replaces on waking, it cannot outlast the sleep that it belongs to (WK-4).
//!
//! # Orderings
//!
//! Transitions are AcqRel, so that what a thread did before one is seen by whoever observes it.
//! Those of the sleep protocol rely on the fences in [`crate::sleep`] instead.

use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::Error;
use crate::safety::Safety;
use crate::sync::{AtomicU32, Ordering};

/// What a loop is doing.
///
/// The numbers are stable.
///
/// ```
/// use mainspring::{EventLoop, LoopState};
///
/// let event_loop = EventLoop::new()?;
/// assert_eq!(event_loop.state(), LoopState::Awake);
/// assert_eq!(LoopState::Terminating as u8, 5);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum LoopState {
    /// Built, and not driven yet.
    Awake = 0,
    /// At its end: nothing runs any more. Final.
    Terminated = 1,
    /// Blocked until something happens.
    Sleeping = 2,
    /// Driven before and not blocked: running callbacks, or waiting for the next `turn`.
    Running = 4,
    /// Shutting down: refuses external tasks, drains what it has.
    Terminating = 5,
}

impl LoopState {
    fn from_bits(word: u32) -> Self {
        match word & STATE {
            0 => Self::Awake,
            1 => Self::Terminated,
            2 => Self::Sleeping,
            4 => Self::Running,
            _ => Self::Terminating,
        }
    }

    /// Whether termination has begun.
    ///
    /// ```
    /// use mainspring::LoopState;
    ///
    /// assert!(!LoopState::Sleeping.is_ending());
    /// assert!(LoopState::Terminating.is_ending());
    /// ```
    #[must_use]
    pub fn is_ending(self) -> bool {
        matches!(self, Self::Terminating | Self::Terminated)
    }
}

impl fmt::Display for LoopState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Awake => "awake",
            Self::Terminated => "terminated",
            Self::Sleeping => "sleeping",
            Self::Running => "running",
            Self::Terminating => "terminating",
        })
    }
}

const STATE: u32 = 0xff;
const NOTIFIED: u32 = 1 << 8;
const POLLING: u32 = 1 << 9;
const FORCED: u32 = 1 << 10;

const AWAKE: u32 = LoopState::Awake as u32;
const TERMINATED: u32 = LoopState::Terminated as u32;
const SLEEPING: u32 = LoopState::Sleeping as u32;
const RUNNING: u32 = LoopState::Running as u32;
const TERMINATING: u32 = LoopState::Terminating as u32;

/// The primitive that a sleep blocks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// The loop's thread is parked.
    Park,
    /// The loop waits in the poller.
    Poll,
}

impl Via {
    fn of(word: u32) -> Self {
        if word & POLLING == 0 { Self::Park } else { Self::Poll }
    }
}

/// What [`StateWord::terminate`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The state before.
    pub(crate) from: LoopState,
    /// The sleep that the caller must end.
    pub(crate) signal: Option<Via>,
}

/// The state word, alone on its cache lines.
#[derive(Debug)]
pub(crate) struct StateWord {
    word: CachePadded<AtomicU32>,
    /// Who is asked about transitions, in the maximum-safety profile.
    safety: Option<Arc<Safety>>,
}

impl StateWord {
    pub(crate) fn new(safety: Option<Arc<Safety>>) -> Self {
        Self { word: CachePadded::new(AtomicU32::new(AWAKE)), safety }
    }

    pub(crate) fn safety(&self) -> Option<&Arc<Safety>> {
        self.safety.as_ref()
    }

    #[inline]
    pub(crate) fn load(&self) -> LoopState {
        LoopState::from_bits(self.word.load(Ordering::Acquire))
    }

    /// Whether no termination has begun, for the loop between two callbacks.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.word.load(Ordering::Relaxed) == RUNNING
    }

    /// Whether termination has begun, by one bit that only Terminating and Terminated have.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        const {
            assert!(TERMINATED == 1 && TERMINATING & 1 == 1);
            assert!((AWAKE | SLEEPING | RUNNING | NOTIFIED | POLLING | FORCED) & 1 == 0);
        }
        self.word.load(Ordering::Acquire) & 1 != 0
    }

    /// Whether what is queued shall be dropped.
    #[inline]
    pub(crate) fn is_forced(&self) -> bool {
        self.word.load(Ordering::Acquire) & FORCED != 0
    }

    fn replace(&self, from: u32, to: u32) -> Result<u32, u32> {
        let replace = || self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        match &self.safety {
            None => replace(),
            Some(safety) => {
                safety.change(LoopState::from_bits(from), LoopState::from_bits(to), replace)
            }
        }
    }

    /// Goes from one state to another, or tries to.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn force(&self, from: LoopState, to: LoopState) {
        assert!(self.replace(from as u32, to as u32).is_ok());
    }

    /// Begins in a state.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn set(&self, state: LoopState) {
        self.word.store(state as u32, Ordering::Relaxed);
    }

    /// Awake → Running.
    pub(crate) fn claim(&self) -> Result<(), Error> {
        match self.replace(AWAKE, RUNNING).map_err(LoopState::from_bits) {
            Ok(_) => Ok(()),
            Err(found) if found.is_ending() => Err(Error::Terminated),
            Err(_) => Err(Error::AlreadyRunning),
        }
    }

    /// Running → Sleeping. False if termination came first.
    pub(crate) fn fall_asleep(&self, via: Via) -> bool {
        let polling = if via == Via::Poll { POLLING } else { 0 };
        self.replace(RUNNING, SLEEPING | polling).is_ok()
    }

    /// Sleeping → Running, notified or not. Leaves any other state alone (D01).
    pub(crate) fn wake_up(&self) {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & STATE == SLEEPING {
            match self.replace(word, RUNNING) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Whether the present sleep has been ended by somebody else. For the loop, which has published that.
    pub(crate) fn is_signalled(&self) -> bool {
        self.word.load(Ordering::Acquire) & (STATE | NOTIFIED) != SLEEPING
    }

    /// Claims the one signal that ends the present sleep, if there is a sleep without one.
    #[inline]
    pub(crate) fn notify(&self) -> Option<Via> {
        let word = self.word.load(Ordering::Relaxed);
        if word & (STATE | NOTIFIED) == SLEEPING { self.claim_signal(word) } else { None }
    }

    #[cold]
    fn claim_signal(&self, mut word: u32) -> Option<Via> {
        while word & (STATE | NOTIFIED) == SLEEPING {
            match self.replace(word, word | NOTIFIED) {
                Ok(_) => return Some(Via::of(word)),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Takes back a claim on the signal that could not be sent, so that others may claim it.
    pub(crate) fn withdraw_signal(&self) {
        let word = self.word.load(Ordering::Relaxed);
        if word & (STATE | NOTIFIED) == SLEEPING | NOTIFIED {
            // If this fails, the sleep has ended for another reason, and the claim with it.
            let _ = self.replace(word, word & !NOTIFIED);
        }
    }

    /// Awake, Running or Sleeping → Terminating; with `force` also for a termination that is under
    /// way. The caller must send the signal that it is told to.
    pub(crate) fn terminate(&self, force: bool) -> Ending {
        let forced = if force { FORCED } else { 0 };
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let from = LoopState::from_bits(word);
            let to = match from {
                LoopState::Terminating | LoopState::Terminated => word | forced,
                _ => TERMINATING | forced,
            };
            if to == word {
                return Ending { from, signal: None };
            }
            match self.replace(word, to) {
                Ok(_) => {
                    let unsignalled = word & (STATE | NOTIFIED) == SLEEPING;
                    return Ending { from, signal: unsignalled.then(|| Via::of(word)) };
                }
                Err(now) => word = now,
            }
        }
    }

    /// Terminating → Terminated, for good.
    pub(crate) fn finish(&self) {
        // Terminated is the part of Terminating's bits that stays.
        const { assert!(TERMINATING & TERMINATED == TERMINATED) };
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.replace(word, word & !(TERMINATING ^ TERMINATED)) {
            word = now;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: ST-1
    #[test]
    fn the_numbers_are_those_of_the_ruling() {
        let numbers = [
            LoopState::Awake as u8,
            LoopState::Terminated as u8,
            LoopState::Sleeping as u8,
            LoopState::Running as u8,
            LoopState::Terminating as u8,
        ];
        assert_eq!(numbers, [0, 1, 2, 4, 5]);
    }

    // spec: ST-5
    #[test]
    fn the_state_word_has_128_bytes_to_itself() {
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            let state = StateWord::new(None);
            assert_eq!(align_of_val(&state.word), 128);
            assert_eq!(size_of_val(&state.word), 128);
        }
    }

    // spec: ST-2, D04
    #[test]
    fn of_many_claims_exactly_one_wins() {
        let word = StateWord::new(None);
        let won = std::thread::scope(|scope| {
            let claims: Vec<_> = (0..8).map(|_| scope.spawn(|| word.claim())).collect();
            claims.into_iter().map(|c| c.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(won.iter().filter(|claim| claim.is_ok()).count(), 1);
        assert!(won.iter().all(|claim| matches!(claim, Ok(()) | Err(Error::AlreadyRunning))));
    }

    // spec: ST-3, ST-4, D01, F-4
    #[test]
    fn waking_up_never_overwrites_a_termination() {
        let word = StateWord::new(None);
        word.claim().unwrap();
        assert!(word.fall_asleep(Via::Park));
        let began = word.terminate(false);
        assert_eq!(began, Ending { from: LoopState::Sleeping, signal: Some(Via::Park) });
        word.wake_up();
        assert_eq!(word.load(), LoopState::Terminating);
        assert!(!word.fall_asleep(Via::Park), "a terminating loop does not sleep");
        word.finish();
        word.wake_up();
        assert_eq!(word.load(), LoopState::Terminated);
        assert_eq!(word.terminate(true), Ending { from: LoopState::Terminated, signal: None });
        assert_eq!(word.load(), LoopState::Terminated, "terminated is final");
        assert!(matches!(word.claim(), Err(Error::Terminated)));
    }

    // spec: WK-3
    #[test]
    fn one_sleep_has_one_signal_also_when_it_is_ended_by_termination() {
        let word = StateWord::new(None);
        assert_eq!(word.notify(), None, "awake");
        word.claim().unwrap();
        assert_eq!(word.notify(), None, "running");
        word.fall_asleep(Via::Poll);
        assert_eq!(word.notify(), Some(Via::Poll));
        assert_eq!(word.notify(), None, "a second producer elides");
        assert_eq!(word.terminate(false).signal, None, "the signal is on its way already");
    }

    // spec: ST-1
    #[test]
    fn force_is_added_to_a_termination_that_is_under_way() {
        let word = StateWord::new(None);
        word.claim().unwrap();
        assert_eq!(word.terminate(false).from, LoopState::Running);
        assert!(!word.is_forced());
        assert_eq!(word.terminate(true).from, LoopState::Terminating);
        assert!(word.is_forced());
        assert_eq!(word.terminate(false).from, LoopState::Terminating);
        assert!(word.is_forced(), "patience does not come back");
        assert_eq!(word.terminate(true).from, LoopState::Terminating);
        assert!(word.is_forced(), "force twice is force");
    }

    // spec: WK-3, WK-4
    #[test]
    fn a_sleep_is_signalled_from_the_claim_to_its_withdrawal_or_end() {
        for via in [Via::Park, Via::Poll] {
            let word = StateWord::new(None);
            word.claim().unwrap();
            assert!(word.fall_asleep(via));
            assert!(!word.is_signalled(), "nobody has claimed the signal");
            assert_eq!(word.notify(), Some(via));
            assert!(word.is_signalled());
            word.withdraw_signal();
            assert!(!word.is_signalled(), "the claim was taken back");
            assert_eq!(word.notify(), Some(via), "another one can have it");
            word.wake_up();
            assert!(word.is_signalled(), "the sleep is over");
            assert!(word.fall_asleep(via));
            assert!(!word.is_signalled(), "a claim does not outlast its sleep");
            word.terminate(false);
            assert!(word.is_signalled(), "by termination");
        }
    }

    // spec: ST-1
    #[test]
    fn each_state_is_displayed_by_its_name() {
        use LoopState::{Awake, Running, Sleeping, Terminated, Terminating};
        let states = [Awake, Terminated, Sleeping, Running, Terminating];
        let names = states.map(|state| state.to_string());
        assert_eq!(names, ["awake", "terminated", "sleeping", "running", "terminating"]);
    }
}
