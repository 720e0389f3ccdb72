//! mio, which has no timers: what people write around it, a sorted map of deadlines, the first of which is the
//! timeout of the next poll.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use super::{Capture, Fires, Peer, Tally, idle_capture};

/// How many events are taken at once.
const EVENTS: usize = 1024;

pub struct Mio {
    poll: Poll,
    events: Events,
    /// The number tells those apart that have the same deadline.
    timers: BTreeMap<(Instant, u64), Capture>,
    numbers: u64,
}

impl Mio {
    fn set(&mut self, deadline: Instant, capture: Capture) -> (Instant, u64) {
        let key = (deadline, self.numbers);
        self.numbers += 1;
        self.timers.insert(key, capture);
        key
    }

    /// Waits for events, or for the first timer, and runs the timers that are due.
    fn turn(&mut self) {
        let first = self.timers.first_key_value();
        let timeout = first.map(|(key, _)| key.0.saturating_duration_since(Instant::now()));
        self.poll(timeout);
        let now = Instant::now();
        while let Some(first) = self.timers.first_entry()
            && first.key().0 <= now
        {
            first.remove().fire();
        }
    }

    fn poll(&mut self, timeout: Option<Duration>) {
        match self.poll.poll(&mut self.events, timeout) {
            // Whoever calls this looks at the clock, and comes again.
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            result => result.unwrap(),
        }
        assert!(self.events.is_empty(), "nothing is registered");
    }
}

impl Peer for Mio {
    type Id = (Instant, u64);

    fn new() -> Self {
        let (poll, events) = (Poll::new().unwrap(), Events::with_capacity(EVENTS));
        Self { poll, events, timers: BTreeMap::new(), numbers: 0 }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        for &delay in delays {
            ids.push(self.set(Instant::now() + delay, idle_capture(tally)));
        }
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        for key in ids.drain(..) {
            assert!(self.timers.remove(&key).is_some());
        }
        self.poll(Some(Duration::ZERO));
    }
}

impl Fires for Mio {
    const NEVER_EARLY: bool = true;

    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>) {
        for &deadline in deadlines {
            self.set(deadline, Capture::new(deadline, tally));
        }
    }

    fn run(&mut self, tally: &Tally) {
        while !tally.done() {
            self.turn();
        }
    }

    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>) {
        while !tally.done() {
            let capture = Capture::from_now(delay, tally);
            self.set(capture.deadline, capture);
            while !self.timers.is_empty() {
                self.turn();
            }
        }
    }
}
