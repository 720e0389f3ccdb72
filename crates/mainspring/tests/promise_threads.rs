//! Promises that several threads use: resolvers, handlers, channels, waiters, futures.

mod common;
#[path = "common/promises.rs"]
mod promising;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::wakers::CountingWaker;
use common::{SharedLog, Tracker, Variant, turn_until_quiet, wait_until, wait_until_sleeping};
use mainspring::{
    Deadline, Error, Handle, LocalPromise, LoopState, Promise, PromiseState, Rejection, Resolver,
    WaitError,
};
use promising::{Bench, Counted, Oops, PATIENCE, block_on, describe, poll};

suite! {
    a_resolver_wakes_a_loop_that_sleeps,
    a_handler_attached_to_a_settled_promise_wakes_a_loop_that_sleeps,
    handlers_run_on_the_thread_of_the_loop_in_the_order_of_attachment,
    threads_that_attach_in_turns_keep_their_common_order,
    threads_that_attach_at_the_same_time_keep_their_own_order,
    the_first_of_many_resolvers_wins,
    every_waiter_is_given_the_value,
    a_wait_ends_in_time,
    a_thousand_promises_cross_the_threads_both_ways,
    futures_are_driven_by_an_executor_on_another_thread,
}

fn ok<T>(value: T) -> Result<T, Error> {
    Ok(value)
}

// spec: PR-4, PR-1
fn a_resolver_wakes_a_loop_that_sleeps(variant: Variant) {
    for fulfilled in [true, false] {
        let (handle, thread) = variant.spawn_running();
        let (promise, resolver) = Promise::with_resolvers(&handle);
        let log = SharedLog::new();
        let notes = log.clone();
        promise.handle(move |cx, result: Result<i32, Rejection>| {
            notes.push(result.is_ok());
            cx.shutdown();
            ok(())
        });
        wait_until_sleeping(&handle);
        assert!(if fulfilled { resolver.resolve(1) } else { resolver.reject(Oops(1)) });
        thread.join().unwrap().unwrap();
        assert_eq!(log.take(), [fulfilled]);
    }
}

// spec: PR-4, PR-1
fn a_handler_attached_to_a_settled_promise_wakes_a_loop_that_sleeps(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let promise = Promise::resolve(&handle, 1);
    promise.to_channel().recv_timeout(PATIENCE).unwrap().unwrap();
    wait_until_sleeping(&handle);
    promise.then(|cx, _| cx.shutdown());
    thread.join().unwrap().unwrap();
}

// spec: PR-1
fn handlers_run_on_the_thread_of_the_loop_in_the_order_of_attachment(variant: Variant) {
    // The first attached by another thread, the second by the loop's, and so on; before and after it is
    // settled, which is done by the one or by the other.
    for settled_by in ["the loop's thread before", "another thread before", "loop", "another"] {
        let event_loop = variant.build();
        let home = thread::current().id();
        let log = SharedLog::new();
        let (promise, resolver) = Promise::with_resolvers(&event_loop.handle());
        let elsewhere = |f: Box<dyn FnOnce() + Send>| thread::spawn(f).join().unwrap();
        let resolver = Arc::new(resolver);
        let settle = {
            let resolver = Arc::clone(&resolver);
            move || assert!(resolver.resolve(1))
        };
        match settled_by {
            "the loop's thread before" => settle.clone()(),
            "another thread before" => elsewhere(Box::new(settle.clone())),
            _ => {}
        }
        for i in 0..40 {
            let (log, promise) = (log.clone(), promise.clone());
            let attach = move || {
                promise.then(move |_, _: i32| {
                    assert_eq!(thread::current().id(), home);
                    log.push(i);
                });
            };
            // In pairs and alternating.
            if [0, 2, 5, 6].contains(&(i % 8)) {
                elsewhere(Box::new(attach));
            } else {
                attach();
            }
        }
        match settled_by {
            "loop" => settle(),
            "another" => elsewhere(Box::new(settle)),
            _ => {}
        }
        assert_eq!(log.take(), []);
        turn_until_quiet(&event_loop);
        let expected: Vec<_> = (0..40).collect();
        assert_eq!(log.take(), expected, "settled by {settled_by}");
    }
}

// spec: PR-1
fn threads_that_attach_in_turns_keep_their_common_order(variant: Variant) {
    const TURNS: usize = 3_000;
    // The loop runs meanwhile, and attaches, too. In the middle the promise is settled, by a different one
    // in each round.
    for settles in 0..3 {
        let (handle, thread) = variant.spawn_running();
        let log = SharedLog::new();
        let (promise, resolver) = Promise::with_resolvers(&handle);
        let resolver = Arc::new(resolver);
        let turn = Arc::new(AtomicUsize::new(0));
        let step = {
            let (promise, log) = (promise.clone(), log.clone());
            let (turn, resolver) = (Arc::clone(&turn), Arc::clone(&resolver));
            // Whether it was the last turn.
            move |who: usize| {
                let now = turn.load(Ordering::SeqCst);
                if now % 3 != who || now >= TURNS {
                    thread::yield_now();
                    return now >= TURNS;
                }
                if now / 3 == TURNS / 6 && who == settles {
                    assert!(resolver.resolve(1));
                }
                let log = log.clone();
                promise.then(move |_, _: i32| log.push(now));
                turn.store(now + 1, Ordering::SeqCst);
                false
            }
        };
        let others: Vec<_> = (1..3)
            .map(|who| {
                let step = step.clone();
                thread::spawn(move || while !step(who) {})
            })
            .collect();
        fn on_the_loop(cx: &mainspring::Cx, step: impl Fn(usize) -> bool + 'static) {
            if !step(0) {
                cx.set_immediate(move |cx| on_the_loop(cx, step));
            }
        }
        handle.submit(move |cx| on_the_loop(cx, step)).unwrap();
        for other in others {
            other.join().unwrap();
        }
        let last = promise.then(|_, _| ());
        last.wait(PATIENCE).unwrap();
        handle.shutdown(PATIENCE).unwrap();
        thread.join().unwrap().unwrap();
        let expected: Vec<_> = (0..TURNS).collect();
        assert_eq!(log.take(), expected);
    }
}

// spec: PR-1, PR-4
fn threads_that_attach_at_the_same_time_keep_their_own_order(variant: Variant) {
    const EACH: usize = 10_000;
    let (handle, thread) = variant.spawn_running();
    for _ in 0..5 {
        let log = SharedLog::new();
        let (promise, resolver) = Promise::with_resolvers(&handle);
        let start = Arc::new(Barrier::new(3));
        let threads: Vec<_> = (0..2)
            .map(|who| {
                let (promise, log, start) = (promise.clone(), log.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    for i in 0..EACH {
                        let log = log.clone();
                        promise.then(move |_, _: i32| log.push((who, i)));
                    }
                })
            })
            .collect();
        start.wait();
        resolver.resolve(1);
        for thread in threads {
            thread.join().unwrap();
        }
        promise.then(|_, _| ()).wait(PATIENCE).unwrap();
        let log = log.take();
        assert_eq!(log.len(), 2 * EACH);
        for who in 0..2 {
            let of_one = log.iter().filter(|entry| entry.0 == who).map(|entry| entry.1);
            assert!(of_one.eq(0..EACH));
        }
    }
    handle.shutdown(PATIENCE).unwrap();
    thread.join().unwrap().unwrap();
}

// spec: PR-2, PR-4
fn the_first_of_many_resolvers_wins(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    for round in 0..200 {
        let (promise, resolver) = Promise::<i32>::with_resolvers(&handle);
        let (other, _other_resolver) = Promise::<i32>::with_resolvers(&handle);
        let outcome = promising::shared::outcome(&promise);
        let resolver = Arc::new(resolver);
        let start = Arc::new(Barrier::new(4));
        let threads: Vec<_> = (0..4)
            .map(|who| {
                let (resolver, start) = (Arc::clone(&resolver), Arc::clone(&start));
                let other = other.clone();
                thread::spawn(move || {
                    start.wait();
                    match who {
                        // Adoption in some rounds only: it is pending for ever.
                        0 if round % 4 == 0 => resolver.adopt(&other),
                        0 | 1 => resolver.resolve(who),
                        _ => resolver.reject(Oops(who)),
                    }
                })
            })
            .collect();
        let won: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        let expected = match won.iter().position(|won| *won).unwrap() {
            0 if round % 4 == 0 => {
                assert_eq!(promise.state(), PromiseState::Pending);
                continue;
            }
            who @ 0..2 => format!("ok {who}"),
            who => format!("err oops {who}"),
        };
        let _ = promise.then(|_, _| ()).wait(PATIENCE);
        outcome.assert(&expected);
    }
    handle.shutdown(PATIENCE).unwrap();
    thread.join().unwrap().unwrap();
}

// spec: PR-6
fn every_waiter_is_given_the_value(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (good, resolver) = Promise::with_resolvers(&handle);
    let (bad, failing) = Promise::<u8>::with_resolvers(&handle);
    let started = Arc::new(AtomicUsize::new(0));
    let waiters: Vec<_> = (0..6)
        .map(|i| {
            let promise = if i % 2 == 0 { good.clone() } else { bad.clone() };
            let started = Arc::clone(&started);
            thread::spawn(move || {
                started.fetch_add(1, Ordering::SeqCst);
                match i / 2 {
                    0 => promise.wait(PATIENCE),
                    1 => promise.wait(Instant::now() + PATIENCE),
                    _ => promise.wait(Deadline::NEVER),
                }
            })
        })
        .collect();
    wait_until(|| started.load(Ordering::SeqCst) == 6);
    resolver.resolve(5_u8);
    failing.reject(Oops(6));
    for (i, waiter) in waiters.into_iter().enumerate() {
        match (i % 2, waiter.join().unwrap()) {
            (0, Ok(5)) => {}
            (1, Err(WaitError::Rejected(reason))) => {
                assert_eq!(reason.downcast_ref(), Some(&Oops(6)));
            }
            (_, other) => panic!("{other:?}"),
        }
    }
    // Settled already, and again.
    for _ in 0..2 {
        assert!(matches!(good.wait(PATIENCE), Ok(5)));
        assert!(matches!(bad.wait(PATIENCE), Err(WaitError::Rejected(_))));
        assert!(matches!(good.clone().wait(PATIENCE), Ok(5)));
    }
    handle.shutdown(PATIENCE).unwrap();
    thread.join().unwrap().unwrap();
}

// spec: PR-6
fn a_wait_ends_in_time(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (promise, resolver) = Promise::with_resolvers(&handle);
    for time in [Duration::ZERO, Duration::from_millis(5)] {
        let before = Instant::now();
        let result = promise.wait(time);
        assert!(matches!(result, Err(WaitError::TimedOut)), "{result:?}");
        assert!(before.elapsed() >= time);
    }
    let past = Instant::now();
    assert!(matches!(promise.wait(past), Err(WaitError::TimedOut)));
    // It is as it was.
    resolver.resolve(1);
    assert_eq!(promise.wait(PATIENCE).unwrap(), 1);
    handle.shutdown(PATIENCE).unwrap();
    thread.join().unwrap().unwrap();
}

// spec: PR-4, PR-5, PR-6
fn a_thousand_promises_cross_the_threads_both_ways(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (sender, receiver) = channel::<(usize, Resolver<usize>)>();
    let worker = thread::spawn(move || {
        for (i, resolver) in receiver {
            match i % 3 {
                0 => assert!(resolver.resolve(i)),
                1 => assert!(resolver.reject(Oops(i as i32))),
                _ => drop(resolver),
            }
        }
    });
    let mut results = vec![];
    for i in 0..1_000 {
        let (promise, resolver) = Promise::with_resolvers(&handle);
        sender.send((i, resolver)).unwrap();
        let derived = promise
            .then(|_, value| value + 1)
            .and_then(|cx, value| Promise::resolve(&cx.handle(), value))
            .finally(|_| ());
        results.push((derived.to_channel(), derived));
    }
    drop(sender);
    for (i, (channel, promise)) in results.into_iter().enumerate() {
        let result = channel.recv_timeout(PATIENCE).unwrap();
        let expected = match i % 3 {
            0 => format!("ok {}", i + 1),
            1 => format!("err oops {i}"),
            _ => "err abandoned".to_owned(),
        };
        assert_eq!(promising::shared::show(&result), expected);
        let again = match promise.wait(PATIENCE) {
            Ok(value) => Ok(value),
            Err(WaitError::Rejected(reason)) => Err(reason),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(promising::shared::show(&again), expected);
        let awaited = block_on(promise, i % 2 == 0);
        assert_eq!(promising::shared::show(&awaited), expected);
    }
    worker.join().unwrap();
    handle.shutdown(PATIENCE).unwrap();
    thread.join().unwrap().unwrap();
}

// spec: PR-5
fn futures_are_driven_by_an_executor_on_another_thread(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    for fresh in [false, true] {
        let (first, resolve_first) = Promise::with_resolvers(&handle);
        let (second, resolve_second) = Promise::<i32>::with_resolvers(&handle);
        let (third, abandoned) = Promise::<i32>::with_resolvers(&handle);
        let (sender, steps) = channel();
        let task = thread::spawn(move || {
            block_on(
                async move {
                    let value: i32 = first.await.unwrap();
                    sender.send(()).unwrap();
                    let reason = second.await.unwrap_err();
                    sender.send(()).unwrap();
                    let abandoned = third.then(|_, value| value).await.unwrap_err();
                    (value, describe(reason.as_error()), describe(abandoned.as_error()))
                },
                fresh,
            )
        });
        resolve_first.resolve(1);
        steps.recv_timeout(PATIENCE).unwrap();
        resolve_second.reject(Oops(2));
        steps.recv_timeout(PATIENCE).unwrap();
        drop(abandoned);
        let (value, reason, abandoned) = task.join().unwrap();
        assert_eq!((value, &*reason, &*abandoned), (1, "oops 2", "abandoned"));
    }
    handle.shutdown(PATIENCE).unwrap();
    thread.join().unwrap().unwrap();
}

// spec: PR-6, D19
#[test]
fn each_call_gives_a_fresh_channel() {
    let bench = Bench::new();
    let (promise, resolver) = Promise::with_resolvers(&bench.handle());
    let early: Vec<_> = (0..3).map(|_| promise.to_channel()).collect();
    for channel in &early {
        assert_eq!(channel.try_recv().unwrap_err(), TryRecvError::Empty);
    }
    // One that is gone is not an error.
    drop(promise.to_channel());
    let sender = thread::spawn(move || resolver.resolve(5));
    assert!(sender.join().unwrap());
    bench.settle();
    let late: Vec<_> = (0..3).map(|_| promise.to_channel()).collect();
    drop(promise.to_channel());
    bench.settle();
    for channel in early.iter().chain(&late) {
        assert_eq!(channel.recv_timeout(PATIENCE).unwrap().unwrap(), 5);
        // One message, and then nothing.
        assert_eq!(channel.recv_timeout(PATIENCE).unwrap_err(), RecvTimeoutError::Disconnected);
    }
    // Rejected, and abandoned.
    let channel = Promise::<i32>::reject(&bench.handle(), Oops(1)).to_channel();
    let (promise, resolver) = Promise::<i32>::with_resolvers(&bench.handle());
    let abandoned = promise.to_channel();
    drop((promise, resolver));
    bench.settle();
    let reason = channel.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(describe(reason.as_error()), "oops 1");
    let reason = abandoned.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(describe(reason.as_error()), "abandoned");
    bench.assert_silent();
}

// spec: PR-6, PR-8
#[test]
fn a_channel_keeps_the_promise_but_nobody_has_to_listen() {
    let bench = Bench::new();
    let (value, counts) = Counted::new();
    let (promise, resolver) = Promise::with_resolvers(&bench.handle());
    let channel = promise.to_channel();
    drop(promise);
    resolver.resolve(value);
    drop(resolver);
    bench.settle();
    let received = channel.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!((counts.clones(), counts.alive()), (0, 1));
    drop(received);
    assert_eq!(counts.alive(), 0);
    let (value, counts) = Counted::new();
    let channel = Promise::resolve(&bench.handle(), value).to_channel();
    drop(channel);
    bench.settle();
    assert_eq!(counts.alive(), 0);
}

// spec: PR-6, ST-6
#[test]
fn waiting_is_refused_on_the_thread_of_the_loop() {
    let bench = Bench::new();
    let (promise, resolver) = Promise::<i32>::with_resolvers(&bench.handle());
    // Between two turns, where nobody else would drive the loop.
    let result = promise.wait(PATIENCE);
    assert!(matches!(result, Err(WaitError::OnLoopThread)), "{result:?}");
    let log = SharedLog::new();
    let (notes, inner) = (log.clone(), promise.clone());
    bench.task(move |cx| {
        notes.push(matches!(inner.wait(Deadline::NEVER), Err(WaitError::OnLoopThread)));
        let notes = notes.clone();
        cx.queue_microtask(move |_| {
            notes.push(matches!(inner.wait(Deadline::NEVER), Err(WaitError::OnLoopThread)));
        });
    });
    assert_eq!(log.take(), [true, true]);
    resolver.resolve(1);
    bench.settle();
    // The thread of another loop may wait.
    let promise = promise.clone();
    let waited = thread::spawn(move || {
        let other = common::builder().build().unwrap();
        let log = SharedLog::new();
        let notes = log.clone();
        other.cx().submit(move |_| notes.push(promise.wait(PATIENCE).unwrap())).unwrap();
        other.run_until_idle().unwrap();
        log.take()
    });
    while !waited.is_finished() {
        bench.turn(Duration::from_millis(1)).unwrap();
    }
    assert_eq!(waited.join().unwrap(), [1]);
}

// spec: PR-8, PR-6
#[test]
fn a_waiter_is_told_that_the_resolver_is_gone() {
    let bench = Bench::new();
    let (promise, resolver) = Promise::<i32>::with_resolvers(&bench.handle());
    let started = Arc::new(AtomicBool::new(false));
    let begun = Arc::clone(&started);
    let waiter = thread::spawn(move || {
        begun.store(true, Ordering::SeqCst);
        promise.wait(PATIENCE)
    });
    wait_until(|| started.load(Ordering::SeqCst));
    drop(resolver);
    // Waiting for the promise itself takes no turn of the loop, but may.
    while !waiter.is_finished() {
        bench.turn(Duration::from_millis(1)).unwrap();
    }
    match waiter.join().unwrap() {
        Err(WaitError::Rejected(reason)) => assert_eq!(describe(reason.as_error()), "abandoned"),
        other => panic!("{other:?}"),
    }
    bench.settle();
    bench.assert_silent();
}

// spec: PR-5
#[test]
fn only_the_last_waker_counts_and_each_future_has_its_own() {
    let bench = Bench::new();
    let (promise, resolver) = Promise::with_resolvers(&bench.handle());
    let (mut one, mut two) = (promise.clone(), promise.clone());
    let (stale, stale_waker) = CountingWaker::new();
    let (first, first_waker) = CountingWaker::new();
    let (second, second_waker) = CountingWaker::new();
    for _ in 0..10 {
        assert!(poll(&mut one, &stale_waker).is_pending());
        assert!(poll(&mut two, &second_waker).is_pending());
    }
    for _ in 0..10 {
        assert!(poll(&mut one, &first_waker).is_pending());
    }
    bench.settle();
    assert_eq!((stale.count(), first.count(), second.count()), (0, 0, 0));
    resolver.resolve(1);
    bench.settle();
    assert_eq!((first.count(), second.count()), (1, 1));
    assert_eq!(stale.count(), 0);
    for future in [&mut one, &mut two] {
        assert!(matches!(poll(future, &first_waker), Poll::Ready(Ok(1))));
    }
    // A waker is not kept longer than it is needed.
    drop((stale_waker, first_waker, second_waker));
    for waker in [&stale, &first, &second] {
        assert_eq!(Arc::strong_count(waker), 1);
    }
}

// spec: PR-5, PR-8
#[test]
fn a_future_that_is_dropped_releases_its_waker() {
    let bench = Bench::new();
    let (promise, resolver) = Promise::<i32>::with_resolvers(&bench.handle());
    let (counting, waker) = CountingWaker::new();
    for _ in 0..100 {
        let mut future = promise.clone();
        assert!(poll(&mut future, &waker).is_pending());
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&counting), 1);
    resolver.resolve(1);
    bench.settle();
    assert_eq!(counting.count(), 0);
}

// spec: PR-5
#[test]
fn a_local_promise_is_a_future_too() {
    let bench = Bench::new();
    let (promise, resolver) = LocalPromise::with_resolvers(bench.cx());
    let (counting, waker) = CountingWaker::new();
    let mut future = promise.then(|_, value: i32| value + 1);
    assert!(poll(&mut future, &waker).is_pending());
    bench.task(move |_| _ = resolver.resolve(1));
    assert_eq!(counting.count(), 1);
    assert!(matches!(poll(&mut future, &waker), Poll::Ready(Ok(2))));
    let (dropped, waker) = CountingWaker::new();
    let (promise, _resolver) = LocalPromise::<i32>::with_resolvers(bench.cx());
    let mut future = promise.clone();
    assert!(poll(&mut future, &waker).is_pending());
    drop((future, waker));
    assert_eq!(Arc::strong_count(&dropped), 1);
}

// spec: PR-5
#[test]
fn a_waker_may_use_the_promise_that_wakes_it() {
    struct Nosy {
        promise: Promise<i32>,
        other: Mutex<Option<Resolver<i32>>>,
        log: SharedLog<String>,
    }
    impl Wake for Nosy {
        fn wake(self: Arc<Self>) {
            self.log.push(format!("{:?}", self.promise.state()));
            self.promise.then(|_, value| value);
            let (_, waker) = CountingWaker::new();
            let mut future = self.promise.clone();
            drop(poll(&mut future, &waker));
            drop(future);
            if let Some(resolver) = self.other.lock().unwrap().take() {
                resolver.resolve(1);
            }
        }
    }
    let bench = Bench::new();
    let log = SharedLog::new();
    let (promise, resolver) = Promise::with_resolvers(&bench.handle());
    let (other, other_resolver) = Promise::with_resolvers(&bench.handle());
    let nosy = Arc::new(Nosy {
        promise: promise.clone(),
        other: Mutex::new(Some(other_resolver)),
        log: log.clone(),
    });
    let waker = Waker::from(Arc::clone(&nosy));
    let mut future = promise.clone();
    assert!(poll(&mut future, &waker).is_pending());
    drop(waker);
    thread::spawn(move || resolver.resolve(1)).join().unwrap();
    bench.settle();
    assert_eq!(log.take(), ["Fulfilled"]);
    assert_eq!(other.state(), PromiseState::Fulfilled);
}

// spec: PR-4, PR-8
#[test]
fn values_and_closures_are_dropped_once_whoever_drops_the_last_handle() {
    let tracker = Tracker::new();
    let event_loop = common::builder().build().unwrap();
    let handle: Handle = event_loop.handle();
    let workers: Vec<_> = (0..3)
        .map(|who| {
            let (handle, tracker) = (handle.clone(), tracker.clone());
            thread::spawn(move || {
                for i in 0..3_000 {
                    let (promise, resolver) = Promise::with_resolvers(&handle);
                    let token = tracker.token();
                    let derived = promise.then(move |_, value: Arc<common::Token>| {
                        drop(token);
                        value
                    });
                    let value = Arc::new(tracker.token());
                    // Settled and dropped in various orders, while the loop works on them.
                    match (i + who) % 4 {
                        0 => {
                            drop(promise);
                            resolver.resolve(value);
                        }
                        1 => {
                            resolver.resolve(value);
                            drop(derived);
                            continue;
                        }
                        2 => {
                            resolver.resolve(value);
                            let _ = derived.to_channel();
                        }
                        _ => {
                            drop(resolver);
                            drop(derived);
                        }
                    }
                }
            })
        })
        .collect();
    while workers.iter().any(|worker| !worker.is_finished()) {
        event_loop.turn(Duration::ZERO).unwrap();
    }
    for worker in workers {
        worker.join().unwrap();
    }
    turn_until_quiet(&event_loop);
    assert_eq!(tracker.alive(), 0);
    assert_ne!(handle.state(), LoopState::Terminated);
}
