//! The sleep protocol: two producers and the loop, over both primitives.
//!
//! Proved: whatever was made visible before a notification is found by the loop, which never sleeps
//! through it (loom reports a deadlock if it does); there is at most one signal for each sleep;
//! termination ends any sleep, and is never overwritten; changing the primitive between two sleeps
//! loses nothing; closing the source while signals are on their way neither blocks nor revives it.
//!
//! Bounded: two producers, one or two pieces of work each.

use loom::thread::{self, JoinHandle};
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

/// What the threads of a model share.
struct Shared {
    sleep: Sleep,
    /// Work in its barest form: a count. No ordering comes with it, so only the fences make it
    /// visible.
    work: AtomicUsize,
    /// Work as the loop has it.
    inbox: Inbox<(usize, usize)>,
    published: Arc<Counter>,
    signalled: Arc<Counter>,
}

impl Shared {
    /// For a loop on the current thread, which runs.
    fn new(poll: bool) -> Self {
        let sleep = Sleep::new();
        if poll {
            sleep.open_source().unwrap();
        }
        sleep.state.claim().unwrap();
        let (published, signalled) = (Arc::new(Counter::new(0)), Arc::new(Counter::new(0)));
        let counters = (Arc::clone(&published), Arc::clone(&signalled));
        sleep.probes.set(move |point| match point {
            Point::SleepPublished => drop(counters.0.fetch_add(1, Count)),
            Point::SignalClaimed => drop(counters.1.fetch_add(1, Count)),
            _ => {}
        });
        Self {
            sleep,
            work: AtomicUsize::new(0),
            inbox: Inbox::new(usize::MAX, 1),
            published,
            signalled,
        }
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

/// Runs `looper` on a thread of its own, with `others` beside it, until all have ended; then `after`
/// on the main thread.
fn with_loop(
    poll: bool,
    looper: impl FnOnce(&Shared) + 'static,
    others: Vec<Box<dyn FnOnce(&Shared)>>,
    after: impl FnOnce(&Shared),
) {
    let (give, take) = mpsc::channel();
    let thread = thread::spawn(move || {
        let shared = Arc::new(Shared::new(poll));
        let threads: Vec<JoinHandle<()>> = others
            .into_iter()
            .map(|other| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || other(&shared))
            })
            .collect();
        give.send((Arc::clone(&shared), threads)).unwrap();
        looper(&shared);
    });
    thread.join().unwrap();
    let (shared, threads) = take.recv().unwrap();
    for thread in threads {
        thread.join().unwrap();
    }
    after(&shared);
    let (published, signalled) = (shared.published.load(Count), shared.signalled.load(Count));
    assert!(signalled <= published, "{signalled} signals for {published} sleeps");
}

/// A loop that sleeps until so much work has come; `via` gives the primitive for its nth sleep.
fn receive(shared: &Shared, wanted: usize, via: fn(usize) -> Via) {
    for sleep in 0.. {
        let seen = shared.work();
        if seen >= wanted {
            return;
        }
        shared.sleep.sleep(via(sleep), None, || shared.work() != seen).unwrap();
    }
}

/// Two producers with a piece of work each.
fn two(wanted: usize, via: fn(usize) -> Via) {
    with_loop(
        true,
        move |shared| receive(shared, wanted, via),
        vec![Box::new(Shared::send), Box::new(Shared::send)],
        |shared| assert_eq!(shared.sleep.state.load(), LoopState::Running),
    );
}

// spec: WK-1, WK-2, WK-3, WK-7, D03, F-2, F-3
#[test]
fn a_parked_loop_never_sleeps_through_a_piece_of_work() {
    explore("sleep: park, first of 2 producers", Bound::None, || two(1, |_| Via::Park));
    explore("sleep: park, 2 producers", Bound::Preemptions(3), || two(2, |_| Via::Park));
}

// spec: WK-1, WK-2, WK-3, WK-5, WK-7, D03, F-2, F-3
#[test]
fn a_polling_loop_never_sleeps_through_a_piece_of_work() {
    explore("sleep: poll, first of 2 producers", Bound::None, || two(1, |_| Via::Poll));
    explore("sleep: poll, 2 producers", Bound::Preemptions(3), || two(2, |_| Via::Poll));
}

// spec: WK-6, WK-7, F-21
#[test]
fn changing_the_primitive_between_two_sleeps_loses_nothing() {
    explore("sleep: park then poll, 2 producers", Bound::Preemptions(3), || {
        two(2, |n| if n % 2 == 0 { Via::Park } else { Via::Poll });
    });
    explore("sleep: poll then park, 2 producers", Bound::Preemptions(3), || {
        two(2, |n| if n % 2 == 0 { Via::Poll } else { Via::Park });
    });
}

/// One producer that comes back: its second signal must not be elided in favour of its first.
fn again(via: fn(usize) -> Via) {
    with_loop(
        true,
        move |shared| receive(shared, 2, via),
        vec![Box::new(|shared| {
            shared.send();
            shared.send();
        })],
        |_| {},
    );
}

// spec: WK-3, WK-4, WK-5, F-3
#[test]
fn the_second_sleep_is_ended_as_well_as_the_first() {
    explore("sleep: park, 1 producer twice", Bound::None, || again(|_| Via::Park));
    explore("sleep: poll, 1 producer twice", Bound::Preemptions(4), || again(|_| Via::Poll));
}

/// With the real entrance: producers that send so many values each.
fn inbox(via: Via, counts: [usize; 2]) {
    let producer = move |producer: usize| -> Box<dyn FnOnce(&Shared)> {
        Box::new(move |shared| {
            for number in 0..counts[producer] {
                shared.inbox.push((producer, number), |value| value).unwrap();
                shared.sleep.notify();
            }
        })
    };
    with_loop(
        true,
        move |shared| {
            let outlet = Outlet::new();
            let mut next = [0; 2];
            while next != counts {
                // SAFETY: this is the only consumer.
                if let Some((producer, number)) = unsafe { outlet.pop(&shared.inbox) } {
                    assert_eq!(number, next[producer], "each producer's order");
                    next[producer] += 1;
                } else if shared.inbox.is_ready() {
                    // The overflow waits for a push into the ring that is not complete yet.
                    thread::yield_now();
                } else {
                    shared.sleep.sleep(via, None, || shared.inbox.is_ready()).unwrap();
                }
            }
        },
        vec![producer(0), producer(1)],
        |shared| assert_eq!(shared.inbox.len(), 0),
    );
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
        shared.sleep.sleep(via, None, || shared.work() != seen).unwrap();
    }
}

/// A producer, somebody who terminates, and a loop that runs until then.
fn terminated(via: Via, force: bool) {
    with_loop(
        true,
        move |shared| {
            run(shared, via);
            assert_eq!(shared.sleep.state.load(), LoopState::Terminating);
            shared.sleep.state.finish();
        },
        vec![
            Box::new(Shared::send),
            Box::new(move |shared| {
                let began = shared.sleep.terminate(force);
                assert!(!began.from.is_ending());
                assert!(shared.sleep.state.load().is_ending(), "not overwritten");
            }),
        ],
        move |shared| {
            assert_eq!(shared.sleep.state.load(), LoopState::Terminated);
            assert_eq!(shared.sleep.state.is_forced(), force);
        },
    );
}

// spec: ST-3, D01, F-4, WK-3
#[test]
fn termination_ends_any_sleep_and_is_never_overwritten() {
    explore("sleep: park, terminate", Bound::Preemptions(3), || terminated(Via::Park, false));
    explore("sleep: poll, terminate", Bound::Preemptions(3), || terminated(Via::Poll, true));
}

// spec: SD-2, F-4, F-7
#[test]
fn of_two_that_terminate_exactly_one_begins_it() {
    explore("sleep: park, terminate twice", Bound::None, || {
        let began = Arc::new(Counter::new(0));
        let terminate = || -> Box<dyn FnOnce(&Shared)> {
            let began = Arc::clone(&began);
            Box::new(move |shared| {
                if !shared.sleep.terminate(false).from.is_ending() {
                    began.fetch_add(1, Count);
                }
            })
        };
        with_loop(
            false,
            |shared| run(shared, Via::Park),
            vec![terminate(), terminate()],
            |shared| assert_eq!(shared.sleep.state.load(), LoopState::Terminating),
        );
        assert_eq!(began.load(Count), 1);
    });
}

// spec: WK-8, F-20
#[test]
fn a_source_that_is_closed_while_signals_are_on_their_way_stays_closed() {
    explore("sleep: poll, close the source", Bound::Preemptions(3), || {
        with_loop(
            true,
            |shared| {
                run(shared, Via::Poll);
                shared.sleep.state.finish();
                shared.sleep.close_source();
                assert!(shared.sleep.open_source().is_err(), "closed for good");
            },
            vec![Box::new(Shared::send), Box::new(|shared| _ = shared.sleep.terminate(false))],
            |shared| {
                shared.sleep.notify();
                assert_eq!(shared.sleep.state.load(), LoopState::Terminated);
            },
        );
    });
}
