//! Threads that submit, to both lanes, in bursts, some of them larger than what the loop takes.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use mainspring::{Cx, Handle, Promise, Refusal, SubmitError};

use super::run::{Run, Sabotage};
use crate::ledger::{Account, EXTERNAL, INTERNAL, MICROTASKS, PANICS, PROMISES, REMOTE_TIMEOUTS};
use crate::random::Random;

const BURST: u64 = 300;
/// More than the high-water mark.
const FLOOD: u64 = 15_000;
const PAUSE: Duration = Duration::from_millis(5);

/// One of the threads, until the run is over.
pub(crate) fn produce(run: &Run, handle: &Handle, seed: u64) {
    let mut random = Random::new(seed);
    while !run.is_over() {
        let burst = if random.is_one_in(100) { FLOOD } else { random.within(1..2 * BURST) };
        for number in 0..burst {
            submit(run, handle, number);
        }
        others(handle, &mut random);
        if run.sabotage == Some(Sabotage::Leak) {
            Box::leak(vec![1u8; 8 << 10].into_boxed_slice());
        }
        thread::sleep(PAUSE);
    }
}

/// An external task, which comes back for as long as there are too many.
fn submit(run: &Run, handle: &Handle, number: u64) {
    let ticket = EXTERNAL.issue();
    let mut task = move |cx: &Cx| {
        ticket.run();
        if number.is_multiple_of(64) {
            let ticket = MICROTASKS.issue();
            cx.queue_microtask(|_| ticket.run());
        }
    };
    if run.sabotage == Some(Sabotage::Lose) && number == 100 {
        std::mem::forget(task);
        return;
    }
    loop {
        match handle.submit(task) {
            Ok(()) => return,
            Err(error) if error.reason() == Refusal::Overloaded => {
                EXTERNAL.note_refused();
                task = error.into_task();
                thread::sleep(Duration::from_micros(200));
            }
            Err(error) => return given_up(&EXTERNAL, error),
        }
    }
}

/// The loop has ended before the load, which it should not, and says so.
fn given_up<F>(account: &Account, error: SubmitError<F>) {
    account.note_told();
    drop(error.into_task());
}

/// What else other threads may ask of a loop.
fn others(handle: &Handle, random: &mut Random) {
    for _ in 0..random.within(1..50) {
        let ticket = INTERNAL.issue();
        if let Err(error) = handle.submit_internal(|_| ticket.run()) {
            given_up(&INTERNAL, error);
        }
        let ticket = MICROTASKS.issue();
        if let Err(error) = handle.queue_microtask(|_| ticket.run()) {
            given_up(&MICROTASKS, error);
        }
    }
    for _ in 0..random.within(1..20) {
        set_timer(handle, random);
        let (promise, resolver) = Promise::with_resolvers(handle);
        let ticket = PROMISES.issue();
        promise.then(|_, _: u64| ticket.run());
        resolver.resolve(random.next());
    }
    if random.is_one_in(50) {
        PANICS.note_issued();
        // Not by `panic!`, which would say so at length.
        if handle.submit_internal(|_| resume_unwind(Box::new("on purpose"))).is_err() {
            PANICS.note_executed();
        }
    }
}

/// One that may be cleared, too early or too late: the loop tells.
fn set_timer(handle: &Handle, random: &mut Random) {
    let ticket = REMOTE_TIMEOUTS.issue();
    let delay = random.milliseconds(0..20);
    match handle.set_timeout(delay, |_| ticket.run()) {
        Ok(id) => {
            if random.is_one_in(2) && handle.clear_timeout(id) {
                REMOTE_TIMEOUTS.note_told();
            }
        }
        Err(error) => given_up(&REMOTE_TIMEOUTS, error),
    }
}
