//! What the tests of timers share.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{Cx, EventLoop, PanicPolicy, TimerId, VirtualClock};

use super::{Log, Variant};

pub const MS: Duration = Duration::from_millis(1);
pub const HOUR: Duration = Duration::from_secs(3_600);
pub const YEAR: Duration = Duration::from_secs(31_556_952);

/// A loop whose time is moved by the test. A failed assertion in a callback leaves the turn.
pub fn manual(variant: Variant) -> (VirtualClock, EventLoop) {
    let clock = VirtualClock::new();
    let event_loop =
        variant.builder().clock(&clock).panic_policy(PanicPolicy::Propagate).build().unwrap();
    (clock, event_loop)
}

/// A loop that never waits for time to pass.
pub fn automatic(variant: Variant) -> (VirtualClock, EventLoop) {
    let clock = VirtualClock::auto();
    let event_loop =
        variant.builder().clock(&clock).panic_policy(PanicPolicy::Propagate).build().unwrap();
    (clock, event_loop)
}

pub fn tick(event_loop: &EventLoop) {
    event_loop.turn(Duration::ZERO).unwrap();
}

/// A callback for an interval that does nothing but to be noted.
pub fn notes<T: Clone + 'static>(log: &Log<T>, entry: T) -> impl FnMut(&Cx) + 'static {
    let log = log.clone();
    move |_| log.push(entry.clone())
}

/// An id for a callback that is made before the id is.
#[derive(Clone, Default)]
pub struct Slot(Rc<Cell<Option<TimerId>>>);

impl Slot {
    pub fn set(&self, id: TimerId) {
        self.0.set(Some(id));
    }

    pub fn get(&self) -> TimerId {
        self.0.get().expect("the id is there before the callback runs")
    }
}

/// A generator of numbers that are the same in each run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Runs `f` on another thread, and waits for it.
pub fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(f).join().unwrap())
}
