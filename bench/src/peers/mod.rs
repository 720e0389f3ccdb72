//! One module for each peer, and what they all implement.

mod calloop;
mod floor;
mod libuv;
mod mainspring;
mod mio;
pub mod node;
mod smol;
mod tokio;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use self::calloop::Calloop;
pub use self::floor::Floor;
pub use self::libuv::Libuv;
pub use self::mainspring::{Mainspring, MainspringExact, MainspringMillisecond, MainspringTimerfd};
pub use self::mio::Mio;
pub use self::smol::Smol;
pub use self::tokio::{TokioFuture, TokioTask};

/// A loop whose timers can be set and cancelled.
pub trait Peer {
    /// What cancels a timer.
    type Id;

    fn new() -> Self;

    /// Sets a timer for each delay, each with a [`Capture`]. At the end the loop knows all of them.
    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>);

    /// Cancels the timers in the order of `ids`, and turns the loop once. At the end it has dropped
    /// what they captured.
    fn drain(&mut self, ids: &mut Vec<Self::Id>);
}

/// A loop that can be run until its timers have fired.
pub trait Fires: Peer {
    /// Whether firing before the deadline is an error. Some peers round it to milliseconds.
    const NEVER_EARLY: bool = false;

    /// Sets a timer for each deadline, each with a [`Capture`].
    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>);

    /// Returns when all of them have fired.
    fn run(&mut self, tally: &Tally);

    /// Runs timers one after the other, each set when the one before has fired.
    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>);
}

/// What a timer's callback captures, three words, and uses when it runs.
pub struct Capture {
    tally: Rc<Tally>,
    deadline: Instant,
}

const _: () = assert!(size_of::<Capture>() == 3 * size_of::<usize>());

impl Capture {
    fn new(deadline: Instant, tally: &Rc<Tally>) -> Self {
        Self { tally: Rc::clone(tally), deadline }
    }

    fn from_now(delay: Duration, tally: &Rc<Tally>) -> Self {
        Self::new(Instant::now() + delay, tally)
    }

    fn fire(&self) {
        let now = Instant::now();
        let late = match now.checked_duration_since(self.deadline) {
            Some(late) => late.as_nanos() as i64,
            None => -((self.deadline - now).as_nanos() as i64),
        };
        self.tally.late.borrow_mut().push(late);
    }
}

/// What the timers of a run did.
pub struct Tally {
    expected: usize,
    /// When those captures are made that never fire.
    begin: Instant,
    /// How late each one was, in nanoseconds, in the order of firing.
    late: RefCell<Vec<i64>>,
}

impl Tally {
    /// For as many timers as shall fire.
    pub fn new(expected: usize) -> Rc<Self> {
        let late = RefCell::new(Vec::with_capacity(expected));
        Rc::new(Self { expected, begin: Instant::now(), late })
    }

    /// Whether all have fired.
    fn done(&self) -> bool {
        self.late.borrow().len() >= self.expected
    }

    /// Takes how late they were, sorted.
    pub fn take(&self) -> Vec<i64> {
        let mut late = self.late.take();
        assert_eq!(late.len(), self.expected, "each timer fires once");
        late.sort_unstable();
        late
    }
}

/// What a callback captures in workloads where it never runs; here no clock is read for it.
fn idle_capture(tally: &Rc<Tally>) -> Capture {
    Capture::new(tally.begin, tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `fill` sets and `drain` does not cancel is really waiting in the loop, and fires.
    fn fires<P: Fires>() {
        let mut peer = P::new();
        let tally = Tally::new(1_000);
        let mut ids = Vec::new();
        peer.fill(&[Duration::from_millis(20); 2_000], &tally, &mut ids);
        let kept = ids.split_off(1_000);
        peer.drain(&mut ids);
        peer.run(&tally);
        drop(kept);
        assert_eq!(tally.take().len(), 1_000);
        drop(peer);
        assert_eq!(Rc::strong_count(&tally), 1);
    }

    #[test]
    fn timers_fire_unless_they_are_cancelled() {
        fires::<Floor>();
        fires::<Mainspring>();
        fires::<MainspringTimerfd>();
        fires::<MainspringExact>();
        fires::<MainspringMillisecond>();
        fires::<TokioTask>();
        fires::<Smol>();
        fires::<Libuv>();
        fires::<Mio>();
        fires::<Calloop>();
    }
}
