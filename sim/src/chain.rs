//! Work that never ends by itself: a timer or the end of the loop has to come through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainspring::{Cx, LoopState, sim};

use crate::execute::Place;

/// How long each piece of it takes. Otherwise no timer would become due where the clock stands still.
const LINK: Duration = Duration::from_micros(20);

/// What makes itself again and again.
#[derive(Clone)]
struct Link {
    is_micro: bool,
    /// The loop ends all the same, so nothing else has to end it.
    is_forced: bool,
    is_over: Arc<AtomicBool>,
}

impl Link {
    fn run(self, cx: &Cx) {
        let is_ending = !self.is_forced && cx.state() != LoopState::Running;
        if self.is_over.load(Ordering::Relaxed) || is_ending {
            return;
        }
        sim::sleep(LINK);
        self.queue(cx);
    }

    /// If it is refused, that is its end.
    fn queue(self, cx: &Cx) {
        let (is_micro, is_forced) = (self.is_micro, self.is_forced);
        let next = move |cx: &Cx| self.run(cx);
        if is_micro {
            drop(cx.try_queue_microtask(next));
        } else if is_forced {
            // The internal lane has no budget: nothing but the end of the loop comes through.
            drop(cx.submit_internal(next));
        } else {
            drop(cx.submit(next));
        }
    }
}

impl Place {
    pub(crate) fn chain(&self, cx: &Cx, is_micro: bool, micros: u32) {
        let mut state = self.world.lock();
        state.is_flooded |= is_micro;
        let is_forced = state.is_forced;
        drop(state);
        let is_over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_over);
        let delay = Duration::from_micros(micros.into());
        if cx.set_timeout(delay, move |_| own.store(true, Ordering::Relaxed)).is_ok() {
            Link { is_micro, is_forced, is_over }.queue(cx);
        }
    }
}
