//! Functions that block, on the loop's workers: some succeed, some fail, some panic, some are given up.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mainspring::{AbortController, AbortSignal, Cx, Rejection};

use super::run::Run;
use crate::ledger::{BLOCKING, OUTCOMES};
use crate::random::Random;

const EVERY: Duration = Duration::from_millis(10);
const JOBS: usize = 6;

pub(crate) fn start(cx: &Cx, run: &Arc<Run>) {
    let random = RefCell::new(Random::new(3));
    super::every(cx, run, EVERY, move |cx| {
        for _ in 0..JOBS {
            offload(cx, &mut random.borrow_mut());
        }
    });
}

fn offload(cx: &Cx, random: &mut Random) {
    let (job, outcome) = (BLOCKING.issue(), OUTCOMES.issue());
    let (time, ending) = (Duration::from_micros(random.within(0..1500)), random.within(0..20));
    let controller = AbortController::new();
    let is_aborted = ending < 4;
    let signal = if is_aborted { controller.signal() } else { AbortSignal::never() };
    let work = move |signal: &AbortSignal| {
        job.run();
        thread::sleep(time);
        match ending {
            4 => Err(Rejection::from_value("it failed")),
            5 => resume_unwind(Box::new("on purpose")),
            _ => signal.throw_if_aborted().map(|()| time.as_micros()),
        }
    };
    cx.promisify(&signal, work).handle(move |_, result| {
        outcome.run();
        assert!(result.is_err() || !matches!(ending, 4 | 5), "that cannot succeed");
        Ok::<(), Rejection>(())
    });
    match ending {
        0 => controller.abort(),
        1..4 => {
            let abort = move |_: &Cx| controller.abort();
            let set = cx.set_timeout(Duration::from_micros(random.within(0..3000)), abort);
            assert!(set.is_ok(), "the loop has not ended");
        }
        _ => {}
    }
}
