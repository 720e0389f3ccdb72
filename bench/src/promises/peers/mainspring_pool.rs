//! mainspring: a promise of what another thread returns.

use std::convert::Infallible;

use mainspring::{AbortSignal, Cx, EventLoop};

use super::{Offload, Step, THREADS};

/// Whether its workers are as many as those of the others, or as many as it likes.
pub struct Offloads<const LIMITED: bool> {
    event_loop: EventLoop,
}

pub type MainspringOffload = Offloads<true>;
pub type MainspringDefault = Offloads<false>;

impl<const LIMITED: bool> Offload for Offloads<LIMITED> {
    fn new() -> Self {
        let builder = EventLoop::builder();
        let builder = if LIMITED { builder.max_workers(THREADS) } else { builder };
        Self { event_loop: builder.build().unwrap() }
    }

    fn round_trips(&mut self, jobs: usize, in_flight: usize, step: Step) {
        for _ in 0..in_flight {
            give(self.event_loop.cx(), step, jobs);
        }
        self.event_loop.run_until_idle().unwrap();
    }
}

/// Gives the next job away, if there is one.
fn give(cx: &Cx, step: Step, jobs: usize) {
    let Some(number) = step.tally().next(jobs) else { return };
    cx.promisify(&AbortSignal::never(), move |_| Ok::<_, Infallible>(step.job(number))).then(
        move |cx, value| {
            step.end(value);
            give(cx, step, jobs);
        },
    );
}
