//! The sleep protocol: two producers and the loop, over both primitives.
//!
//! Proved: whatever was made visible before a notification is found by the loop, which never sleeps
//! through it (loom reports a deadlock if it does); there is at most one signal for each sleep;
//! termination ends any sleep, and is never overwritten; changing the primitive between two sleeps
//! loses nothing; what holds for a loop that polls holds for a host that waits for it; closing the source while signals are on their way neither blocks nor revives it.
//!
//! Exhaustive for two producers and a loop that parks, for two producers and one
//! sleep in the poller, and, in the test that is ignored by default, for as many sleeps
//! there as it takes; up to five preemptions otherwise. Bounded: two producers, at
//! most three pieces of work.

use loom::thread;
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::{Arc, mpsc};

use super::{Bound, explore};
use crate::LoopState;
use crate::inbox::{Inbox, Outlet};
use crate::probe::Point;
use crate::sleep::Sleep;
use crate::state::Via;
use crate::sync::{AtomicUsize, Ordering};
use crate::sys::Events;

/// What the threads of a model share.
struct Shared {
    sleep: Sleep,
    /// Work in its barest form: a count. No ordering comes with it, so only the fences make it
    /// visible.
    work: AtomicUsize,
}

/// For a loop on the current thread, which runs. Each signal must have a sleep of its own.
fn awake() -> Sleep {
    let sleep = Sleep::new(None);
    drop(sleep.open_source().unwrap());
    sleep.state.claim().unwrap();
    let (sleeps, signals) = (Counter::new(0), Counter::new(0));
    sleep.probes.set(move |point| match point {
        Point::SleepPublished => drop(sleeps.fetch_add(1, Count)),
        Point::SignalClaimed => {
            let (sleeps, signals) = (sleeps.load(Count), signals.fetch_add(1, Count) + 1);
            assert!(signals <= sleeps, "{signals} signals for {sleeps} sleeps");
        }
        _ => {}
    });
    sleep
}

/// Sleeps once.
fn block(sleep: &Sleep, via: Via, has_work: impl FnOnce() -> bool) {
    match via {
        Via::Park => sleep.park(None, has_work),
        Via::Poll => {
            let poller = sleep.poller().unwrap();
            sleep.poll(&poller, &mut Events::new(), None, has_work).map(drop)
        }
    }
    .unwrap();
}

impl Shared {
    fn new() -> Self {
        Self { sleep: awake(), work: AtomicUsize::new(0) }
    }

    /// The work so far.
    fn work(&self) -> usize {
        self.work.load(Ordering::Relaxed)
    }

    /// Sends one piece of work.
    fn send(&self) {
        self.work.fetch_add(1, Ordering::Relaxed);
        self.sleep.notify();
    }
}

/// Runs `looper` on the main thread, with `others` beside it.
///
/// Nobody is joined: loom waits for all threads anyway, and each one that need not be modelled makes
/// the rest smaller. What is left to the last thread to drop has nothing in it.
fn race<const N: usize>(looper: impl FnOnce(&Shared), others: [fn(&Shared); N]) {
    let shared = Arc::new(Shared::new());
    for other in others {
        let shared = Arc::clone(&shared);
        thread::spawn(move || other(&shared));
    }
    looper(&shared);
}

/// A loop that sleeps until two pieces of work have come; `via` gives the primitive for its nth sleep.
fn receive(shared: &Shared, via: fn(usize) -> Via) {
    for sleep in 0.. {
        let seen = shared.work();
        if seen == 2 {
            return;
        }
        block(&shared.sleep, via(sleep), || shared.work() != seen);
    }
}

/// Two producers with a piece of work each, and a loop that wants both: it sleeps up to three times.
fn both(via: fn(usize) -> Via) {
    race(|shared| receive(shared, via), [Shared::send, Shared::send]);
}

/// Two producers with a piece of work each, and one sleep: it ends, and then there is work.
fn one_sleep(via: Via) {
    let looper = |shared: &Shared| {
        block(&shared.sleep, via, || shared.work() != 0);
        assert_ne!(shared.work(), 0, "a sleep without a reason to end");
        assert_eq!(shared.sleep.state.load(), LoopState::Running);
    };
    race(looper, [Shared::send, Shared::send]);
}

// spec: WK-1, WK-2, WK-3, WK-7, D03, F-2, F-3
#[test]
fn a_parked_loop_never_sleeps_through_a_piece_of_work() {
    explore("sleep: park, 2 producers, one sleep", Bound::None, || one_sleep(Via::Park));
    explore("sleep: park, 2 producers", Bound::None, || both(|_| Via::Park));
}

// spec: WK-1, WK-2, WK-3, WK-5, WK-7, D03, F-2, F-3
#[test]
fn a_polling_loop_never_sleeps_through_a_piece_of_work() {
    explore("sleep: poll, 2 producers, one sleep", Bound::None, || one_sleep(Via::Poll));
    explore("sleep: poll, 2 producers", Bound::Preemptions(4), || both(|_| Via::Poll));
}

/// A guest's sleep: the loop publishes it, and the host waits for the poller.
fn be_guest(sleep: &Sleep, has_work: impl FnOnce() -> bool) {
    if sleep.doze(has_work) {
        sleep.poller().unwrap().wait(&mut Events::new(), None).unwrap();
        sleep.state.wake_up();
    }
}

// spec: BX-2, WK-1, WK-2, WK-3, WK-7, F-2
#[test]
fn a_host_never_waits_through_a_piece_of_work_for_its_guest() {
    explore("sleep: guest, 2 producers, one sleep", Bound::Preemptions(4), || {
        let looper = |shared: &Shared| {
            be_guest(&shared.sleep, || shared.work() != 0);
            assert_ne!(shared.work(), 0, "a sleep without a reason to end");
            assert_eq!(shared.sleep.state.load(), LoopState::Running);
        };
        race(looper, [Shared::send, Shared::send]);
    });
    explore("sleep: guest, 2 producers", Bound::Preemptions(3), || {
        let looper = |shared: &Shared| {
            let mut seen = 0;
            while seen != 2 {
                be_guest(&shared.sleep, || shared.work() != seen);
                seen = shared.work();
            }
        };
        race(looper, [Shared::send, Shared::send]);
    });
    explore("sleep: guest, producer, shutdown", Bound::Preemptions(4), || {
        let looper = |shared: &Shared| {
            while !shared.sleep.state.is_ending() {
                let seen = shared.work();
                be_guest(&shared.sleep, || shared.work() != seen || shared.sleep.state.is_ending());
            }
        };
        let end = |shared: &Shared| _ = shared.sleep.terminate(false);
        race(looper, [Shared::send, end]);
    });
}

// spec: WK-6, WK-7, F-21
#[test]
fn changing_the_primitive_between_two_sleeps_loses_nothing() {
    explore("sleep: park then poll, 2 producers", Bound::Preemptions(3), || {
        both(|n| if n % 2 == 0 { Via::Park } else { Via::Poll });
    });
    explore("sleep: poll then park, 2 producers", Bound::Preemptions(3), || {
        both(|n| if n % 2 == 0 { Via::Poll } else { Via::Park });
    });
}

/// One producer that comes back: its second signal must not be elided in favour of its first.
fn again(via: fn(usize) -> Via) {
    let producer = |shared: &Shared| {
        shared.send();
        shared.send();
    };
    race(|shared| receive(shared, via), [producer]);
}

// spec: WK-3, WK-4, WK-5, F-3
#[test]
fn the_second_sleep_is_ended_as_well_as_the_first() {
    explore("sleep: park, 1 producer twice", Bound::None, || again(|_| Via::Park));
    explore("sleep: poll, 1 producer twice", Bound::Preemptions(5), || again(|_| Via::Poll));
}

/// With the real entrance: producers that send so many values each.
///
/// The loop has a thread of its own, and the main thread joins all: it must be the one to drop the
/// inbox, and a signal that comes late must not meet a thread that joins.
fn inbox(via: Via, counts: [usize; 2]) {
    let (give, take) = mpsc::channel();
    let looper = thread::spawn(move || {
        let shared = Arc::new((awake(), Inbox::new(usize::MAX, 1, false)));
        let producers = [0, 1].map(|producer| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for number in 0..counts[producer] {
                    shared
                        .1
                        .push((producer, number), |value| value, || None, |value, ()| value)
                        .unwrap();
                    shared.0.notify();
                }
            })
        });
        give.send((Arc::clone(&shared), producers)).unwrap();
        let (sleep, inbox) = &*shared;
        let outlet = Outlet::new();
        let mut next = [0; 2];
        while next != counts {
            // SAFETY: this is the only consumer.
            if let Some((producer, number)) = unsafe { outlet.pop(inbox) } {
                assert_eq!(number, next[producer], "each producer's order");
                next[producer] += 1;
            } else {
                block(sleep, via, || inbox.is_ready());
            }
        }
    });
    looper.join().unwrap();
    let (shared, producers) = take.recv().unwrap();
    for producer in producers {
        producer.join().unwrap();
    }
    assert_eq!(shared.1.len(), 0);
}

// spec: WK-1, WK-2, WK-3, WK-7, D03, F-2, IN-8
#[test]
fn a_loop_gets_every_task_that_was_sent_whichever_way_it_sleeps() {
    explore("sleep: park, inbox, 1 + 1", Bound::Preemptions(3), || inbox(Via::Park, [1, 1]));
    explore("sleep: poll, inbox, 1 + 1", Bound::Preemptions(3), || inbox(Via::Poll, [1, 1]));
}

// spec: WK-1, WK-2, WK-3, WK-7, D03, F-2, F-23, IN-8
#[test]
fn a_loop_gets_every_task_also_through_the_overflow() {
    explore("sleep: poll, inbox, 2 + 1", Bound::Preemptions(2), || inbox(Via::Poll, [2, 1]));
}

/// A loop that runs until it is terminated.
fn run(shared: &Shared, via: Via) {
    while !shared.sleep.state.load().is_ending() {
        let seen = shared.work();
        block(&shared.sleep, via, || shared.work() != seen);
    }
}

/// A producer, somebody who terminates, and a loop that runs until then.
fn terminated(via: Via) {
    let looper = |shared: &Shared| {
        run(shared, via);
        assert_eq!(shared.sleep.state.load(), LoopState::Terminating);
        shared.sleep.state.finish();
        assert_eq!(shared.sleep.state.load(), LoopState::Terminated);
    };
    let terminate = |shared: &Shared| {
        assert!(!shared.sleep.terminate(false).from.is_ending());
        assert!(shared.sleep.state.load().is_ending(), "not overwritten");
    };
    race(looper, [Shared::send, terminate]);
}

// spec: ST-3, D01, F-4, WK-3
#[test]
fn termination_ends_any_sleep_and_is_never_overwritten() {
    explore("sleep: park, terminate", Bound::Preemptions(4), || terminated(Via::Park));
    explore("sleep: poll, terminate", Bound::Preemptions(4), || terminated(Via::Poll));
}

/// Two threads that terminate: exactly one begins it.
fn terminated_twice(via: Via) {
    let began = Arc::new(Counter::new(0));
    let shared = Arc::new(Shared::new());
    for _ in 0..2 {
        let (shared, began) = (Arc::clone(&shared), Arc::clone(&began));
        thread::spawn(move || {
            if !shared.sleep.terminate(false).from.is_ending() {
                assert_eq!(began.fetch_add(1, Count), 0, "begun twice");
            }
        });
    }
    run(&shared, via);
    assert_eq!(shared.sleep.state.load(), LoopState::Terminating);
    assert_eq!(began.load(Count), 1);
}

// spec: SD-2, F-4, F-7
#[test]
fn of_two_that_terminate_exactly_one_begins_it() {
    explore("sleep: park, terminate twice", Bound::None, || terminated_twice(Via::Park));
    explore("sleep: poll, terminate twice", Bound::Preemptions(4), || terminated_twice(Via::Poll));
}

// spec: WK-8, F-20
#[test]
fn a_source_that_is_closed_while_signals_are_on_their_way_stays_closed() {
    explore("sleep: poll, close the source", Bound::Preemptions(3), || {
        let looper = |shared: &Shared| {
            run(shared, Via::Poll);
            shared.sleep.state.finish();
            shared.sleep.close_source();
            assert!(shared.sleep.open_source().is_err(), "closed for good");
            shared.sleep.notify();
            assert_eq!(shared.sleep.state.load(), LoopState::Terminated);
        };
        race(
            looper,
            [Shared::send, |shared| {
                shared.sleep.terminate(false);
            }],
        );
    });
}

// spec: WK-1, WK-2, WK-3, WK-7, D03
#[test]
#[ignore = "takes many minutes"]
fn every_interleaving_of_two_producers_and_a_polling_loop() {
    explore("sleep: poll, 2 producers, all", Bound::None, || both(|_| Via::Poll));
}
