//! mainspring: a timer is a callback given to the loop's context.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mainspring::{Cx, EventLoop, FastPathMode, TimerId};

use super::{Capture, Fires, Peer, Tally, idle_capture};

/// With the default options a loop that waits for nothing but threads and timers parks; made to poll, it
/// waits with a timerfd, as one does that has descriptors. How far apart it wakes for timers that follow each
/// other closely is an option: 100 µs by default.
pub struct Loop<const POLLS: bool, const SLACK: u64> {
    event_loop: EventLoop,
}

/// In microseconds, the default of the library.
const SLACK: u64 = 100;

pub type Mainspring = Loop<false, SLACK>;
pub type MainspringTimerfd = Loop<true, SLACK>;
pub type MainspringExact = Loop<false, 0>;
pub type MainspringMillisecond = Loop<false, 1_000>;

impl<const POLLS: bool, const SLACK: u64> Peer for Loop<POLLS, SLACK> {
    type Id = TimerId;

    fn new() -> Self {
        let mode = if POLLS { FastPathMode::Disabled } else { FastPathMode::Auto };
        let slack = Duration::from_micros(SLACK);
        let builder = EventLoop::builder().fast_path(mode).timer_slack(slack);
        Self { event_loop: builder.build().unwrap() }
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

impl<const POLLS: bool, const SLACK: u64> Fires for Loop<POLLS, SLACK> {
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
