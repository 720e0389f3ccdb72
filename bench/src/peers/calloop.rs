//! calloop: a timer is an event source with a callback.

use std::rc::Rc;
use std::time::{Duration, Instant};

use calloop::timer::{TimeoutAction, Timer};
use calloop::{EventLoop, RegistrationToken};

use super::{Capture, Fires, Peer, Tally, idle_capture};

pub struct Calloop {
    event_loop: EventLoop<'static, ()>,
}

impl Calloop {
    fn insert(&self, timer: Timer, capture: Capture) -> RegistrationToken {
        let callback = move |_, _: &mut (), _: &mut ()| {
            capture.fire();
            TimeoutAction::Drop
        };
        self.event_loop.handle().insert_source(timer, callback).unwrap()
    }
}

impl Peer for Calloop {
    type Id = RegistrationToken;

    fn new() -> Self {
        Self { event_loop: EventLoop::try_new().unwrap() }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        for &delay in delays {
            ids.push(self.insert(Timer::from_duration(delay), idle_capture(tally)));
        }
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        let handle = self.event_loop.handle();
        for token in ids.drain(..) {
            handle.remove(token);
        }
        self.event_loop.dispatch(Duration::ZERO, &mut ()).unwrap();
    }
}

impl Fires for Calloop {
    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>) {
        for &deadline in deadlines {
            self.insert(Timer::from_deadline(deadline), Capture::new(deadline, tally));
        }
    }

    fn run(&mut self, tally: &Tally) {
        while !tally.done() {
            self.event_loop.dispatch(None, &mut ()).unwrap();
        }
    }

    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>) {
        let mut capture = Capture::from_now(delay, tally);
        let callback = move |_, _: &mut (), _: &mut ()| {
            capture.fire();
            if capture.tally.done() {
                return TimeoutAction::Drop;
            }
            capture.deadline = Instant::now() + delay;
            TimeoutAction::ToDuration(delay)
        };
        self.event_loop.handle().insert_source(Timer::from_duration(delay), callback).unwrap();
        self.run(tally);
    }
}
