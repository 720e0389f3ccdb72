//! What becomes of promises when their loop ends.

mod common;
#[path = "common/promises.rs"]
mod promising;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::wakers::CountingWaker;
use common::{OnDrop, SharedLog, Tracker, wait_until};
use mainspring::{
    Cx, Deadline, Error, EventLoop, Handle, LoopState, Promise, PromiseState, WaitError,
};
use promising::{Bench, Oops, PATIENCE, describe, on_a_small_stack, poll};

/// As many links as a chain may well have; without optimisation so many that a recursion, if there is one,
/// still overflows a small stack several times over.
const MANY: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// How often threads use promises while a loop ends. Each time takes long without optimisation.
const ROUNDS: u64 = if cfg!(debug_assertions) { 10 } else { 30 };

/// A way for a loop to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Shutdown,
    ShutdownByAnotherThread,
    Close,
    CloseByAnotherThread,
    Drop,
    ShutdownBeforeItWasDriven,
    CloseBeforeItWasDriven,
    DropBeforeItWasDriven,
}

impl End {
    const ALL: [Self; 8] = [
        Self::Shutdown,
        Self::ShutdownByAnotherThread,
        Self::Close,
        Self::CloseByAnotherThread,
        Self::Drop,
        Self::ShutdownBeforeItWasDriven,
        Self::CloseBeforeItWasDriven,
        Self::DropBeforeItWasDriven,
    ];

    fn is_driven(self) -> bool {
        use End::*;
        !matches!(self, ShutdownBeforeItWasDriven | CloseBeforeItWasDriven | DropBeforeItWasDriven)
    }

    /// Lets the loop go through some ticks, if it is one that was driven.
    fn settle(self, bench: &Bench) {
        if self.is_driven() {
            bench.settle();
        }
    }

    /// Ends the loop.
    fn carry_out(self, bench: &mut Bench) {
        let handle = bench.handle();
        match self {
            Self::Shutdown => {
                bench.cx().submit(|cx| cx.shutdown()).unwrap();
                bench.run().unwrap();
            }
            Self::Close => {
                bench.cx().submit(|cx| cx.close()).unwrap();
                bench.run().unwrap();
            }
            Self::ShutdownByAnotherThread => {
                let handle = handle.clone();
                let thread = thread::spawn(move || drop(handle.shutdown(PATIENCE)));
                run(bench);
                thread.join().unwrap();
            }
            Self::CloseByAnotherThread => {
                let handle = handle.clone();
                let thread = thread::spawn(move || handle.close());
                run(bench);
                thread.join().unwrap();
            }
            Self::Drop | Self::DropBeforeItWasDriven => bench.drop_loop(),
            Self::ShutdownBeforeItWasDriven => {
                let handle = handle.clone();
                thread::spawn(move || handle.shutdown(Deadline::NEVER)).join().unwrap().unwrap();
                // What is the loop thread's own is for that thread to release.
                bench.drop_loop();
            }
            Self::CloseBeforeItWasDriven => {
                bench.cx().close();
                bench.drop_loop();
            }
        }
        assert_eq!(handle.state(), LoopState::Terminated);
    }
}

/// Runs the loop to its end, which another thread may have begun.
fn run(event_loop: &EventLoop) {
    match event_loop.run() {
        Ok(()) | Err(Error::Terminated) => {}
        Err(error) => panic!("{error}"),
    }
}

flavours! {
    /// What a promise of a loop that has ended came to.
    #[track_caller]
    fn assert_terminated<T: Clone + std::fmt::Debug + Send + 'static>(promise: &P<T>, what: &str) {
        assert_eq!(promise.state(), PromiseState::Rejected, "{what}");
        let (_, waker) = CountingWaker::new();
        match poll(&mut promise.clone(), &waker) {
            Poll::Ready(result) => assert_eq!(show(&result), "err terminated", "{what}"),
            Poll::Pending => panic!("{what} is pending"),
        }
    }

    // spec: RG-4, F-28, SD-1, SD-3, SD-4
    #[test]
    fn every_pending_promise_is_rejected() {
        for end in End::ALL {
            let mut bench = Bench::new();
            let cx = bench.cx();
            let tracker = Tracker::new();
            let called = Arc::new(AtomicUsize::new(0));
            let count = || {
                let (token, called) = (tracker.token(), Arc::clone(&called));
                move || {
                    let _token = &token;
                    called.fetch_add(1, Ordering::SeqCst);
                }
            };
            let (pending, resolver) = P::<i32>::with_resolvers(&at(cx));
            let f = count();
            let then = pending.then(move |_, value| {
                f();
                value
            });
            let f = count();
            let catch = pending.catch(move |_, _| {
                f();
                0
            });
            let f = count();
            let finally = then.finally(move |_| f());
            let f = count();
            let and_then = pending.and_then(move |cx, value| {
                f();
                P::resolve(&at(cx), value)
            });
            let f = count();
            let handle = finally.handle(move |_, _| {
                f();
                Ok::<_, Error>(1)
            });
            let waits = P::resolve(&at(cx), 1);
            let inner = pending.clone();
            let adopts_by_handler = waits.and_then(move |_, _| inner);
            let (adopter, adopting) = P::with_resolvers(&at(cx));
            adopting.adopt(&pending);
            let (second, adopting) = P::with_resolvers(&at(cx));
            adopting.adopt(&adopter);
            let settled = P::resolve(&at(cx), 5);
            let failed = P::reject(&at(cx), Oops(5));
            let inputs = || [pending.clone(), settled.clone(), failed.clone()];
            let all = P::all(&at(cx), [settled.clone(), pending.clone()]);
            let all_settled = P::all_settled(&at(cx), inputs());
            let any = P::any(&at(cx), [failed.clone(), adopter.clone()]);
            let race = P::race(&at(cx), [pending.clone(), then.clone()]);
            let race_of_none = P::<i32>::race(&at(cx), []);
            let nested = P::all(&at(cx), [all.clone()]);
            end.settle(&bench);
            end.carry_out(&mut bench);

            for (promise, what) in [
                (&pending, "pending"),
                (&then, "then"),
                (&catch, "catch"),
                (&finally, "finally"),
                (&and_then, "and_then"),
                (&handle, "handle"),
                (&adopts_by_handler, "adopts_by_handler"),
                (&adopter, "adopter"),
                (&second, "second"),
                (&any, "any"),
                (&race, "race"),
                (&race_of_none, "race of none"),
            ] {
                assert_terminated(promise, &format!("{what}, {end:?}"));
            }
            assert_terminated(&all, &format!("all, {end:?}"));
            assert_terminated(&nested, &format!("nested, {end:?}"));
            assert_eq!(all_settled.state(), PromiseState::Rejected, "{end:?}");
            // What was settled stays as it is.
            assert_eq!(settled.state(), PromiseState::Fulfilled);
            assert_eq!(failed.state(), PromiseState::Rejected);
            assert!(!resolver.resolve(1));
            assert_eq!(called.load(Ordering::SeqCst), 0, "{end:?}");
            assert_eq!(tracker.alive(), 0, "{end:?}");
            bench.reports.take();
        }
    }

    // spec: RG-4, F-28
    #[test]
    fn the_end_is_not_reported_as_an_unhandled_rejection() {
        for end in End::ALL {
            let mut bench = Bench::new();
            let (pending, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
            let derived = pending.then(|_, value| value);
            end.settle(&bench);
            end.carry_out(&mut bench);
            assert_terminated(&derived, "derived");
            drop((pending, derived, resolver));
            bench.assert_silent();
        }
    }

    // spec: RG-4, PR-5
    #[test]
    fn futures_are_woken_by_the_end() {
        for end in End::ALL {
            let mut bench = Bench::new();
            let (pending, _resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
            let derived = pending.then(|_, value| value);
            let (one, waker_of_one) = CountingWaker::new();
            let (two, waker_of_two) = CountingWaker::new();
            let (mut first, mut second) = (pending.clone(), derived.clone());
            assert!(poll(&mut first, &waker_of_one).is_pending());
            assert!(poll(&mut second, &waker_of_two).is_pending());
            end.settle(&bench);
            assert_eq!((one.count(), two.count()), (0, 0));
            end.carry_out(&mut bench);
            assert_eq!((one.count(), two.count()), (1, 1), "{end:?}");
            for future in [&mut first, &mut second] {
                let Poll::Ready(result) = poll(future, &waker_of_one) else { panic!("{end:?}") };
                assert_eq!(show(&result), "err terminated");
            }
        }
    }

    // spec: RG-4, F-28
    #[test]
    fn what_is_made_later_is_rejected_at_once() {
        for end in End::ALL {
            let mut bench = Bench::new();
            let cx = bench.cx().clone();
            let settled = P::resolve(&at(&cx), 1);
            let failed = P::<i32>::reject(&at(&cx), Oops(1));
            failed.catch(|_, _| 0);
            end.settle(&bench);
            end.carry_out(&mut bench);
            let tracker = Tracker::new();
            let (promise, resolver) = P::<i32>::with_resolvers(&at(&cx));
            assert_terminated(&promise, "made later");
            assert!(!resolver.resolve(1));
            let token = tracker.token();
            assert_terminated(&settled.then(move |_, _| drop(token)), "then");
            let token = tracker.token();
            assert_terminated(
                &failed.catch(move |_, _| {
                    drop(token);
                    0
                }),
                "catch",
            );
            let token = tracker.token();
            assert_terminated(&promise.finally(move |_| drop(token)), "finally");
            assert_eq!(tracker.alive(), 0);
            assert_terminated(&P::all(&at(&cx), [settled.clone()]), "all");
            assert_terminated(&P::race(&at(&cx), [settled.clone()]), "race");
            let (promise, resolver) = P::<i32>::with_resolvers(&at(&cx));
            assert!(!resolver.adopt(&settled));
            assert_terminated(&promise, "adopts later");
        }
    }

    // spec: SD-1, PR-1
    #[test]
    fn a_graceful_shutdown_runs_the_handlers_of_what_is_settled() {
        let bench = Bench::new();
        let log = SharedLog::new();
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        let notes = log.clone();
        promise.then(move |cx, value: i32| {
            notes.push(value);
            let notes = notes.clone();
            // Made while it is terminating.
            P::resolve(&at(cx), value + 1).finally(|_| ()).then(move |_, value| notes.push(value));
        });
        bench
            .cx()
            .submit(move |cx| {
                cx.shutdown();
                resolver.resolve(1);
            })
            .unwrap();
        bench.run().unwrap();
        assert_eq!(log.take(), [1, 2]);
    }

    // spec: SD-4, F-28
    #[test]
    fn handlers_that_were_queued_when_the_loop_was_closed_are_dropped() {
        let bench = Bench::new();
        let tracker = Tracker::new();
        let derived = Arc::new(Mutex::new(vec![]));
        let (kept, inner) = (Arc::clone(&derived), tracker.clone());
        bench
            .cx()
            .submit(move |cx| {
                let promise = P::resolve(&at(cx), 1);
                for _ in 0..10 {
                    let callback = inner.callback();
                    kept.lock().unwrap().push(promise.then(move |cx, _| callback(cx)));
                }
                cx.close();
            })
            .unwrap();
        bench.run().unwrap();
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
        for promise in derived.lock().unwrap().iter() {
            assert_terminated(promise, "queued");
        }
    }

    // spec: F-28, PR-2
    #[test]
    fn promises_that_adopted_each_other_end_with_the_loop() {
        for end in End::ALL {
            let mut bench = Bench::new();
            let (a, ra) = P::<i32>::with_resolvers(&at(bench.cx()));
            let (b, rb) = P::<i32>::with_resolvers(&at(bench.cx()));
            ra.adopt(&b);
            rb.adopt(&a);
            let derived = a.then(|_, value| value);
            end.settle(&bench);
            end.carry_out(&mut bench);
            for promise in [&a, &b, &derived] {
                assert_terminated(promise, &format!("{end:?}"));
            }
        }
    }

    // spec: RG-4, F-28
    #[test]
    fn a_chain_of_a_million_links_ends_with_the_loop_in_constant_stack() {
        for end in [End::Close, End::Drop, End::ShutdownBeforeItWasDriven] {
            on_a_small_stack(move || {
                let mut bench = Bench::new();
                let tracker = Tracker::new();
                let (first, resolver) = P::<usize>::with_resolvers(&at(bench.cx()));
                let mut last = first;
                for i in 0..MANY {
                    let token = (i % 1_000 == 0).then(|| tracker.token());
                    last = last.then(move |_, value| {
                        drop(token);
                        value
                    });
                }
                end.settle(&bench);
                end.carry_out(&mut bench);
                assert_terminated(&last, "the last link");
                assert_eq!(tracker.alive(), 0);
                drop((last, resolver));
            });
        }
    }

    // spec: RG-4, F-28
    #[test]
    fn a_million_adoptions_end_with_the_loop_in_constant_stack() {
        for end in [End::Close, End::Drop, End::DropBeforeItWasDriven] {
            on_a_small_stack(move || {
                let mut bench = Bench::new();
                let (mut last, resolver) = P::<usize>::with_resolvers(&at(bench.cx()));
                for _ in 0..MANY {
                    let (next, adopting) = P::with_resolvers(&at(bench.cx()));
                    adopting.adopt(&last);
                    last = next;
                }
                end.settle(&bench);
                end.carry_out(&mut bench);
                assert_terminated(&last, "the last adopter");
                drop((last, resolver));
            });
        }
    }

    // spec: RG-4, F-28
    #[test]
    fn deeply_nested_combinations_end_with_the_loop_in_constant_stack() {
        for end in [End::Close, End::Drop] {
            on_a_small_stack(move || {
                let mut bench = Bench::new();
                let (mut last, resolver) = P::<usize>::with_resolvers(&at(bench.cx()));
                for i in 0..MANY / 10 {
                    last = match i % 3 {
                        0 => P::race(&at(bench.cx()), [last.clone(), last]),
                        1 => P::any(&at(bench.cx()), [last]),
                        _ => P::all(&at(bench.cx()), [last]).then(|_, values| values[0]),
                    };
                }
                end.settle(&bench);
                end.carry_out(&mut bench);
                assert_terminated(&last, "the last combination");
                drop((last, resolver));
            });
        }
    }

    // spec: F-28, FA-1
    #[test]
    fn captures_that_misbehave_when_they_are_dropped_do_not_keep_the_loop_from_ending() {
        for end in End::ALL {
            let mut bench = Bench::new();
            let cx = bench.cx().clone();
            let (pending, _resolver) = P::<i32>::with_resolvers(&at(&cx));
            let mut derived = vec![];
            // One panics, one uses promises, one is well-behaved.
            let bomb = OnDrop(|| assert!(thread::panicking(), "a destructor"));
            derived.push(pending.then(move |_, value| {
                let _bomb = &bomb;
                value
            }));
            let (other, other_resolver) = P::<i32>::with_resolvers(&at(&cx));
            derived.push(other.then(|_, value| value));
            let (handle, mut other_resolver) = (cx.handle(), Some(other_resolver));
            let late = Arc::new(Mutex::new(None));
            let slot = Arc::clone(&late);
            let busy = OnDrop(move || {
                if let Some(resolver) = other_resolver.take() {
                    resolver.resolve(1);
                    drop(resolver);
                    let (promise, resolver) = Promise::<i32>::with_resolvers(&handle);
                    promise.then(|_, value| value);
                    resolver.resolve(1);
                    slot.lock().unwrap().replace(promise);
                }
            });
            derived.push(pending.then(move |_, value| {
                let _busy = &busy;
                value
            }));
            let tracker = Tracker::new();
            let token = tracker.token();
            derived.push(pending.then(move |_, value| {
                drop(token);
                value
            }));
            end.settle(&bench);
            end.carry_out(&mut bench);
            assert_eq!(tracker.alive(), 0, "{end:?}");
            for (i, promise) in derived.iter().enumerate() {
                assert_eq!(promise.state(), PromiseState::Rejected, "{end:?}, {i}");
            }
            assert!(late.lock().unwrap().is_some(), "{end:?}");
            drop(cx);
        }
    }
}

// spec: RG-4, RG-1, F-28
#[test]
fn a_crowd_made_by_another_thread_ends_with_the_loop() {
    // More than one tick can take note of; some of them settled, and some made after that tick.
    for end in End::ALL {
        for ticks in 0..3 {
            let mut bench = Bench::new();
            let make = |count: usize| {
                let handle = bench.handle();
                let make = move || -> Vec<_> {
                    (0..count).map(|_| Promise::<usize>::with_resolvers(&handle)).collect()
                };
                thread::spawn(make).join().unwrap()
            };
            let mut crowd = make(20_000);
            for (i, (_, resolver)) in crowd.iter().enumerate() {
                if i % 3 == 0 {
                    resolver.resolve(i);
                }
            }
            if end.is_driven() {
                for _ in 0..ticks {
                    bench.turn(Duration::ZERO).unwrap();
                }
            }
            crowd.extend(make(100));
            end.carry_out(&mut bench);
            for (i, (promise, _)) in crowd.iter().enumerate() {
                let is_settled = i < 20_000 && i % 3 == 0;
                let expected =
                    if is_settled { PromiseState::Fulfilled } else { PromiseState::Rejected };
                assert_eq!(promise.state(), expected, "{i}, {end:?}, {ticks} ticks");
            }
        }
    }
}

// spec: RG-4, PR-6
#[test]
fn waiters_and_channels_are_told_of_the_end() {
    for end in End::ALL {
        let mut bench = Bench::new();
        let (promise, resolver) = Promise::<i32>::with_resolvers(&bench.handle());
        let derived = promise.then(|_, value| value);
        let channels = [promise.to_channel(), derived.to_channel()];
        let started = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = [promise.clone(), derived.clone()]
            .into_iter()
            .map(|promise| {
                let started = Arc::clone(&started);
                thread::spawn(move || {
                    started.fetch_add(1, Ordering::SeqCst);
                    promise.wait(PATIENCE)
                })
            })
            .collect();
        wait_until(|| started.load(Ordering::SeqCst) == 2);
        end.settle(&bench);
        end.carry_out(&mut bench);
        for channel in channels {
            let reason = channel.recv_timeout(PATIENCE).unwrap().unwrap_err();
            assert_eq!(describe(reason.as_error()), "terminated", "{end:?}");
        }
        for waiter in waiters {
            match waiter.join().unwrap() {
                Err(WaitError::Rejected(reason)) => {
                    assert_eq!(describe(reason.as_error()), "terminated", "{end:?}");
                }
                other => panic!("{other:?}, {end:?}"),
            }
        }
        // Asked after the end.
        let reason = promise.to_channel().recv_timeout(PATIENCE).unwrap().unwrap_err();
        assert_eq!(describe(reason.as_error()), "terminated", "{end:?}");
        let result = thread::spawn(move || promise.wait(PATIENCE)).join().unwrap();
        assert!(matches!(result, Err(WaitError::Rejected(_))), "{end:?}");
        assert!(!resolver.resolve(1));
    }
}

// spec: RG-4, F-28, PR-4
#[test]
fn nobody_hangs_when_threads_use_promises_while_the_loop_ends() {
    for round in 0..ROUNDS {
        let event_loop = common::builder().build().unwrap();
        let handle = event_loop.handle();
        let running = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..3)
            .map(|kind| {
                let (handle, running) = (handle.clone(), Arc::clone(&running));
                thread::spawn(move || busy(kind, &handle, &running))
            })
            .collect();
        let closer = {
            let (handle, running) = (handle.clone(), Arc::clone(&running));
            thread::spawn(move || {
                wait_until(|| running.load(Ordering::SeqCst) == 3);
                for _ in 0..round * 10 {
                    thread::yield_now();
                }
                match round % 2 {
                    0 => handle.close(),
                    // Until then all is run that the threads go on to bring.
                    _ => drop(handle.shutdown(Duration::from_millis(20))),
                }
            })
        };
        run(&event_loop);
        closer.join().unwrap();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// Uses promises until the loop has ended.
fn busy(kind: u32, handle: &Handle, running: &AtomicUsize) {
    let mut pending = vec![];
    running.fetch_add(1, Ordering::SeqCst);
    loop {
        let ended = handle.state() == LoopState::Terminated;
        let (promise, resolver) = Promise::with_resolvers(handle);
        let derived = promise.then(|_, value: i32| value).finally(|_: &Cx| ());
        let all = Promise::all(handle, [promise.clone(), derived]);
        match kind {
            0 => {
                resolver.resolve(1);
                match all.wait(PATIENCE) {
                    Ok(values) => assert_eq!(values, [1, 1]),
                    Err(WaitError::Rejected(reason)) => {
                        assert_eq!(describe(reason.as_error()), "terminated");
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            1 => {
                let receiver = all.to_channel();
                drop(resolver);
                let reason = receiver.recv_timeout(PATIENCE).unwrap().unwrap_err();
                let reason = describe(reason.as_error());
                assert!(reason == "abandoned" || reason == "terminated", "{reason}");
            }
            _ if pending.len() < 200 => pending.push((all, resolver)),
            _ => thread::yield_now(),
        }
        if ended {
            break;
        }
    }
    for (promise, resolver) in pending {
        match promise.wait(PATIENCE) {
            Err(WaitError::Rejected(reason)) => {
                assert_eq!(describe(reason.as_error()), "terminated");
            }
            other => panic!("{other:?}"),
        }
        drop(resolver);
    }
}

// spec: RG-4, F-28
#[test]
fn a_wait_that_begins_after_the_end_returns_at_once() {
    let handle = common::builder().build().unwrap().handle();
    let (promise, _resolver) = Promise::<i32>::with_resolvers(&handle);
    let result = thread::spawn(move || promise.wait(Duration::ZERO)).join().unwrap();
    assert!(matches!(result, Err(WaitError::Rejected(_))), "{result:?}");
}
