//! mainspring: tasks that are submitted, and microtasks. All options are the defaults, except that there is no
//! bound to the tasks that wait, as there is none for the others.

use mainspring::{Cx, EventLoop, FastPathMode, Handle};

use super::{Chains, Here, Loop};
use crate::tasks::tally::Link;

/// A loop that has no descriptors parks its thread. Made to poll, it waits as one does that has some.
pub struct Tasks<const POLLS: bool> {
    event_loop: EventLoop,
}

pub type Mainspring = Tasks<false>;
pub type MainspringPolling = Tasks<true>;

impl<const POLLS: bool> Loop for Tasks<POLLS> {
    type Poster = Handle;

    fn new() -> Self {
        let mode = if POLLS { FastPathMode::Disabled } else { FastPathMode::Auto };
        let builder = EventLoop::builder().fast_path(mode).high_water_mark(usize::MAX);
        Self { event_loop: builder.build().unwrap() }
    }

    fn poster(&self) -> Handle {
        self.event_loop.handle()
    }

    fn post(handle: &Handle, task: impl FnOnce() + Send + 'static) {
        assert!(handle.submit(move |_| task()).is_ok());
    }

    fn stop(handle: &Handle) {
        assert!(handle.submit(Cx::shutdown).is_ok());
    }

    fn run(&mut self) {
        self.event_loop.run().unwrap();
    }
}

impl Here for Cx {
    fn run(first: impl FnOnce(&Self) + 'static) {
        let event_loop = EventLoop::new().unwrap();
        Here::post(event_loop.cx(), first);
        event_loop.run_until_idle().unwrap();
    }

    fn post(&self, task: impl FnOnce(&Self) + 'static) {
        assert!(self.submit(task).is_ok());
    }
}

pub struct Microtasks;
pub struct NextTicks;

/// They differ in how a link is queued.
macro_rules! chains {
    ($peer:ident, $queue:ident) => {
        impl Chains for $peer {
            fn run(first: Link) {
                fn queue(cx: &Cx, link: Link) {
                    cx.$queue(move |cx| {
                        if let Some(next) = link.next() {
                            queue(cx, next);
                        }
                    });
                }
                let event_loop = EventLoop::new().unwrap();
                queue(event_loop.cx(), first);
                event_loop.run_until_idle().unwrap();
            }
        }
    };
}

chains!(Microtasks, queue_microtask);
chains!(NextTicks, next_tick);
