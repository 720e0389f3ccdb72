//! Signals: controllers, timeouts, any of several; listeners that are called, and that are removed; futures that are
//! given up.

use std::cell::RefCell;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mainspring::{AbortController, AbortSignal, Cx};

use super::run::Run;
use crate::ledger::{ABORTS, FUTURES};
use crate::random::Random;

const EVERY: Duration = Duration::from_millis(10);
const LISTENERS: usize = 5;

pub(crate) fn start(cx: &Cx, run: &Arc<Run>) {
    let random = RefCell::new(Random::new(9));
    super::every(cx, run, EVERY, move |cx| {
        let random = &mut *random.borrow_mut();
        listen(cx, random);
        wait(cx, random);
    });
}

/// All listeners but one are called.
fn listen(cx: &Cx, random: &mut Random) {
    let controller = AbortController::new();
    let Ok(timeout) = AbortSignal::timeout(cx, random.milliseconds(0..200)) else { return };
    let either = AbortSignal::any([&controller.signal(), &timeout]);
    for signal in [controller.signal(), timeout, either] {
        for number in 0..LISTENERS {
            let ticket = ABORTS.issue();
            let listener = signal.add_listener(cx, |_, _| ticket.run());
            if number == 2 && signal.remove_listener(listener) {
                ABORTS.note_told();
            }
        }
    }
    let abort = move |_: &Cx| controller.abort();
    let set = cx.set_timeout(random.milliseconds(0..200), abort);
    assert!(set.is_ok(), "the loop has not ended");
}

/// One future that is given up after a while, one that another one aborts, and one that waits for a signal.
fn wait(cx: &Cx, random: &mut Random) {
    let patience = random.milliseconds(0..100);
    let (ticket, context) = (FUTURES.issue(), cx.clone());
    cx.spawn_local(async move {
        let outcome = context.timeout(patience, pending::<()>()).await;
        assert!(outcome.is_err(), "nothing happens");
        ticket.run();
    });

    let (ticket, context) = (FUTURES.issue(), cx.clone());
    let endless = cx.spawn_local(pending::<()>());
    cx.spawn_local(async move {
        context.sleep(patience).await;
        endless.abort();
        assert!(endless.await.is_err(), "it was aborted");
        ticket.run();
    });

    let Ok(signal) = AbortSignal::timeout(cx, patience) else { return };
    let (ticket, context) = (FUTURES.issue(), cx.clone());
    cx.spawn_local(async move {
        context.aborted(&signal).await;
        context.yield_now().await;
        ticket.run();
    });
}
