//! mainspring: a timer is a callback given to the loop's context.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mainspring::{Cx, EventLoop, FastPathMode, TimerId};

use super::{Capture, Fires, Peer, Tally, idle_capture};

/// With the default options a loop that waits for nothing but threads and timers parks; made to poll, it
/// waits with a timerfd, as one does that has descriptors.
pub struct Loop<const POLLS: bool> {
    event_loop: EventLoop,
}

pub type Mainspring = Loop<false>;
pub type MainspringTimerfd = Loop<true>;

impl<const POLLS: bool> Peer for Loop<POLLS> {
    type Id = TimerId;

    fn new() -> Self {
        let mode = if POLLS { FastPathMode::Disabled } else { FastPathMode::Auto };
        Self { event_loop: EventLoop::builder().fast_path(mode).build().unwrap() }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        let cx = self.event_loop.cx();
        for &delay in delays {
            let capture = idle_capture(tally);
            ids.push(cx.set_timeout(delay, move |_| capture.fire()).unwrap());
        }
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        let cx = self.event_loop.cx();
        for id in ids.drain(..) {
            assert!(cx.clear_timeout(id));
        }
        self.event_loop.turn(Duration::ZERO).unwrap();
    }
}

impl<const POLLS: bool> Fires for Loop<POLLS> {
    const NEVER_EARLY: bool = true;

    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>) {
        let cx = self.event_loop.cx();
        for &deadline in deadlines {
            let capture = Capture::new(deadline, tally);
            cx.set_timeout_at(deadline, move |_| capture.fire()).unwrap();
        }
    }

    fn run(&mut self, _: &Tally) {
        self.event_loop.run_until_idle().unwrap();
    }

    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>) {
        link(self.event_loop.cx(), delay, tally);
        self.event_loop.run_until_idle().unwrap();
    }
}

fn link(cx: &Cx, delay: Duration, tally: &Rc<Tally>) {
    if tally.done() {
        return;
    }
    let capture = Capture::from_now(delay, tally);
    cx.set_timeout(delay, move |cx| {
        capture.fire();
        link(cx, delay, &capture.tally);
    })
    .unwrap();
}
