//! The whole loop: the real `EventLoop::run`, driven by handles on other threads.
//!
//! Proved: every task that was accepted ran exactly once, in its producer's order, whichever way the
//! loop sleeps and however the shutdown falls between; `run` returns; both of two shutdowns return;
//! a shutdown that races with the first drive either finishes the loop or is finished by it. The same of a
//! loop that checks itself, which finds nothing wrong.
//!
//! Up to three preemptions with one other thread, up to two with two.
//! Bounded: at most four calls by others in a model. The rings have two slots.

use loom::thread::{self, JoinHandle};
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::{Arc, Mutex, mpsc};

use super::{Bound, explore};
use crate::{Deadline, Error, EventLoop, FastPathMode, Handle, LoopState, Profile, Shutdown};

/// What was accepted and what was run, by producer and number.
#[derive(Default)]
struct Log {
    accepted: Counter,
    ran: Mutex<Vec<(usize, usize)>>,
}

impl Log {
    /// The task with this name.
    fn task(
        self: &Arc<Self>,
        producer: usize,
        number: usize,
    ) -> impl FnOnce(&crate::Cx) + Send + use<> {
        let log = Arc::clone(self);
        move |_| log.ran.lock().unwrap().push((producer, number))
    }

    fn accept<T>(&self, result: Result<(), T>) -> bool {
        if result.is_ok() {
            self.accepted.fetch_add(1, Count);
        }
        result.is_ok()
    }

    /// Accepted equals executed, in each producer's order.
    fn check(&self) {
        let ran = self.ran.lock().unwrap();
        assert_eq!(ran.len(), self.accepted.load(Count), "accepted equals executed: {ran:?}");
        for (i, later) in ran.iter().enumerate() {
            for earlier in &ran[..i] {
                assert_ne!(earlier, later, "once");
                assert!(earlier.0 != later.0 || earlier.1 < later.1, "in order: {ran:?}");
            }
        }
    }
}

type Producer = fn(&Handle, &Arc<Log>);

/// Runs a loop on a thread of its own, and the producers beside it, until all have ended.
fn with_loop(mode: FastPathMode, producers: Vec<Producer>) -> (Result<(), Error>, Arc<Log>) {
    with_loop_of(Profile::Performance, mode, producers)
}

fn with_loop_of(
    profile: Profile,
    mode: FastPathMode,
    producers: Vec<Producer>,
) -> (Result<(), Error>, Arc<Log>) {
    let log = Arc::new(Log::default());
    let (give, take) = mpsc::channel();
    let thread = {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            let event_loop = EventLoop::builder().profile(profile).fast_path(mode).build().unwrap();
            let threads: Vec<JoinHandle<()>> = producers
                .into_iter()
                .map(|producer| {
                    let (handle, log) = (event_loop.handle(), Arc::clone(&log));
                    thread::spawn(move || producer(&handle, &log))
                })
                .collect();
            give.send((event_loop.handle(), threads)).unwrap();
            let result = event_loop.run();
            assert_eq!(event_loop.state(), LoopState::Terminated);
            result
        })
    };
    let result = thread.join().unwrap();
    let (handle, threads) = take.recv().unwrap();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(handle.state(), LoopState::Terminated);
    assert_eq!(handle.pending(), 0);
    drop(handle);
    (result, log)
}

/// Ends the loop from one of its own callbacks, so that the model need not tell a loop that was
/// driven from one that was not.
fn end_from_inside(handle: &Handle) {
    handle.submit_internal(|cx| cx.shutdown()).unwrap();
}

fn submit_then_end(handle: &Handle, log: &Arc<Log>) {
    log.accept(handle.submit(log.task(0, 0)));
    end_from_inside(handle);
}

// spec: WK-1, WK-2, WK-7, F-1, F-2, F-33
#[test]
fn a_loop_runs_what_one_thread_submits_and_ends() {
    for (name, mode) in [
        ("loop: parks, 1 producer", FastPathMode::Auto),
        ("loop: polls, 1 producer", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(3), move || {
            let (result, log) = with_loop(mode, vec![submit_then_end]);
            result.unwrap();
            log.check();
            assert_eq!(log.accepted.load(Count), 1, "it was submitted before the end");
        });
    }
}

// spec: SF-3, WK-1, WK-2, WK-7, SD-1
#[test]
fn a_loop_that_checks_itself_runs_what_others_submit_and_ends() {
    let models: [(&str, FastPathMode, &'static [Producer]); 5] = [
        ("loop: safe, parks, 1 producer", FastPathMode::Auto, &[submit_then_end]),
        ("loop: safe, polls, 1 producer", FastPathMode::Disabled, &[submit_then_end]),
        ("loop: safe, parks, submit races with the end", FastPathMode::Auto, &[end, submit]),
        ("loop: safe, parks, shutdown races with run", FastPathMode::Auto, &[shutdown]),
        ("loop: safe, parks, submits and shuts down", FastPathMode::Auto, &[submit_then_shutdown]),
    ];
    for (name, mode, producers) in models {
        explore(name, Bound::Preemptions(2), move || {
            check_shut_down(with_loop_of(Profile::MaximumSafety, mode, producers.to_vec()));
        });
    }
}

fn every_lane_then_end(handle: &Handle, log: &Arc<Log>) {
    log.accept(handle.queue_microtask(log.task(0, 0)));
    log.accept(handle.submit(log.task(1, 0)));
    end_from_inside(handle);
}

// spec: WK-1, WK-2, WK-7, SD-1, F-1, F-5, F-33
#[test]
fn a_loop_runs_what_comes_through_every_lane_and_ends() {
    explore("loop: parks, every lane", Bound::Preemptions(2), || {
        let (result, log) = with_loop(FastPathMode::Auto, vec![every_lane_then_end]);
        result.unwrap();
        log.check();
        assert_eq!(log.accepted.load(Count), 2);
    });
}

fn end(handle: &Handle, _: &Arc<Log>) {
    end_from_inside(handle);
}

fn submit(handle: &Handle, log: &Arc<Log>) {
    log.accept(handle.submit(log.task(1, 0)));
}

fn submit_internal(handle: &Handle, log: &Arc<Log>) {
    log.accept(handle.submit_internal(log.task(2, 0)));
}

fn queue_microtask(handle: &Handle, log: &Arc<Log>) {
    log.accept(handle.queue_microtask(log.task(3, 0)));
}

// spec: IN-4, IN-8, WK-3, WK-7, SD-1, F-33
#[test]
fn what_was_accepted_while_another_thread_ends_the_loop_runs_exactly_once() {
    let park = FastPathMode::Auto;
    let poll = FastPathMode::Disabled;
    let models: [(&str, FastPathMode, &'static [Producer]); 4] = [
        ("loop: parks, submit races with the end", park, &[end, submit]),
        ("loop: polls, submit races with the end", poll, &[end, submit]),
        ("loop: parks, internal races with the end", park, &[end, submit_internal]),
        ("loop: parks, microtask races with the end", park, &[end, queue_microtask]),
    ];
    for (name, mode, producers) in models {
        explore(name, Bound::Preemptions(2), move || {
            let (result, log) = with_loop(mode, producers.to_vec());
            result.unwrap();
            log.check();
        });
    }
}

fn shutdown(handle: &Handle, log: &Arc<Log>) {
    match handle.shutdown(Deadline::NEVER) {
        // The first; a loop that was never driven drops what it has.
        Ok(Shutdown::Finished { dropped }) => drop(log.accepted.fetch_sub(dropped, Count)),
        Err(Error::Terminated) => {}
        other => unreachable!("{other:?}"),
    }
    assert_eq!(handle.state(), LoopState::Terminated);
    assert!(handle.submit(|_| ()).is_err());
    assert!(handle.submit_internal(|_| ()).is_err());
}

fn submit_then_shutdown(handle: &Handle, log: &Arc<Log>) {
    log.accept(handle.submit(log.task(0, 0)));
    shutdown(handle, log);
}

/// `run` of a loop that others shut down.
fn check_shut_down((result, log): (Result<(), Error>, Arc<Log>)) {
    assert!(matches!(result, Ok(()) | Err(Error::Terminated)), "{result:?}");
    log.check();
}

// spec: SD-2, SD-3, ST-2, F-6, F-33
#[test]
fn a_shutdown_that_races_with_the_first_drive_ends_the_loop_either_way() {
    for (name, mode) in [
        ("loop: parks, shutdown races with run", FastPathMode::Auto),
        ("loop: polls, shutdown races with run", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(3), move || {
            check_shut_down(with_loop(mode, vec![submit_then_shutdown]));
        });
    }
}

// spec: SD-1, IN-2, F-33
#[test]
fn what_was_accepted_while_another_thread_shuts_the_loop_down_is_run_or_counted() {
    for (name, mode) in [
        ("loop: parks, submit races with shutdown", FastPathMode::Auto),
        ("loop: polls, submit races with shutdown", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(2), move || {
            check_shut_down(with_loop(mode, vec![shutdown, submit]));
        });
    }
}

// spec: SD-2, F-7
#[test]
fn both_of_two_shutdowns_return() {
    explore("loop: parks, 2 shutdowns", Bound::Preemptions(2), || {
        check_shut_down(with_loop(FastPathMode::Auto, vec![shutdown, shutdown]));
    });
}

fn switch(mode: FastPathMode, handle: &Handle, log: &Arc<Log>) {
    handle.set_fast_path(mode).unwrap();
    log.accept(handle.submit(log.task(0, 0)));
    end_from_inside(handle);
}

// spec: WK-6, F-21
#[test]
fn switching_the_mode_loses_nothing() {
    explore("loop: parks, then polls", Bound::Preemptions(2), || {
        let producer: Producer = |handle, log| switch(FastPathMode::Disabled, handle, log);
        let (result, log) = with_loop(FastPathMode::Auto, vec![producer]);
        result.unwrap();
        log.check();
    });
    explore("loop: polls, then parks", Bound::Preemptions(2), || {
        let producer: Producer = |handle, log| switch(FastPathMode::Auto, handle, log);
        let (result, log) = with_loop(FastPathMode::Disabled, vec![producer]);
        result.unwrap();
        log.check();
    });
}

fn switch_and_submit(handle: &Handle, log: &Arc<Log>) {
    // Refused once the loop has terminated.
    let _ = handle.set_fast_path(FastPathMode::Disabled);
    log.accept(handle.submit_internal(log.task(4, 0)));
}

// spec: SD-1, F-21, F-33
#[test]
fn switching_the_mode_while_the_loop_ends_loses_nothing() {
    explore("loop: parks, then polls, races with the end", Bound::Preemptions(1), || {
        let (result, log) = with_loop(FastPathMode::Auto, vec![end, switch_and_submit]);
        result.unwrap();
        log.check();
    });
}
