//! What promises cost in memory, and that they give it back: counted by the allocator.

mod common;
#[path = "common/counting.rs"]
mod counting;
#[path = "common/promises.rs"]
mod promising;
use std::thread;
use std::time::Duration;

use common::turn_until_quiet;
use common::wakers::CountingWaker;
use counting::{allocations, bytes, count, counted};
use mainspring::{EventLoop, Handle, Promise, PromiseState};
use promising::{Oops, poll};

/// Does something on another thread, which is counted, too.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    // What belongs to the thread itself is made and dropped by different threads.
    count(false);
    let result = thread::scope(|scope| {
        scope
            .spawn(|| {
                count(true);
                let result = f();
                count(false);
                result
            })
            .join()
            .unwrap()
    });
    count(true);
    result
}

/// A burst.
const BURST: usize = 1_000_000;

/// So many of each kind that is to be tested; fewer without optimisation, where all would take minutes.
const MANY: usize = if cfg!(debug_assertions) { BURST / 20 } else { BURST };

/// What may be left of it.
const LEFT: isize = 64 * 1024;

/// What the queues for other threads keep for ever, once they were full: twice 65 chunks of 7 KiB.
const SPARES: isize = 2 * 65 * 7 * 1024 + 2 * 65 * 8;

/// The steady state: so many at a time, so often.
const BATCH: usize = 10_000;
const BATCHES: usize = if cfg!(debug_assertions) { 30 } else { 1_000 };

/// Turns the loop until no more than `LEFT` bytes are left. A tick looks at about 20 entries of the
/// registry, so after a fifth of a burst it has looked at all of it, several times.
#[track_caller]
fn assert_given_back(event_loop: &EventLoop, before: isize, what: &str) {
    turn_until_quiet(event_loop);
    for _ in 0..BURST / 5 {
        if bytes() - before < LEFT {
            return;
        }
        event_loop.turn(Duration::ZERO).unwrap();
    }
    panic!("{} bytes are left: {what}", bytes() - before);
}

/// Lets the queues have what they keep for ever, which is not much.
fn warm_up(event_loop: &EventLoop) {
    for _ in 0..50_000 {
        event_loop.cx().queue_microtask(|_| ());
    }
    turn_until_quiet(event_loop);
}

flavours! {
    // spec: RG-1, RG-2, RG-3, F-16
    #[test]
    fn a_burst_of_pending_promises_gives_its_memory_back() {
        counted(|| {
            let event_loop = EventLoop::new().unwrap();
            let cx = event_loop.cx();
            P::resolve(&at(cx), 1).then(|_, value| value);
            warm_up(&event_loop);
            let mut burst: Vec<Option<(P<u64>, R<u64>)>> = Vec::with_capacity(BURST);
            let before = bytes();
            for (what, count) in [
                ("resolved", BURST),
                ("rejected", MANY),
                ("abandoned", MANY),
                ("dropped", MANY),
                ("resolved", MANY),
            ] {
                for _ in 0..count {
                    burst.push(Some(P::with_resolvers(&at(cx))));
                }
                let each = (bytes() - before) as f64 / count as f64;
                println!("{each:.1} bytes for a pending promise");
                if what == "dropped" {
                    // In an order that is bad for stacks and for halves.
                    for start in 0..7 {
                        burst.iter_mut().skip(start).step_by(7).for_each(|slot| *slot = None);
                    }
                }
                for (promise, resolver) in burst.drain(..).flatten() {
                    match what {
                        "resolved" => _ = resolver.resolve(7),
                        "rejected" => {
                            promise.catch(|_, _| 1);
                            resolver.reject(Oops(1));
                        }
                        _ => drop(resolver),
                    }
                }
                assert_given_back(&event_loop, before, what);
            }
        });
    }

    // spec: RG-1, RG-2, RG-3, RG-4, F-16
    #[test]
    fn survivors_of_a_burst_do_not_keep_its_memory_and_are_still_listed() {
        counted(|| {
            let event_loop = EventLoop::new().unwrap();
            let cx = event_loop.cx();
            P::resolve(&at(cx), 1).then(|_, value| value);
            warm_up(&event_loop);
            let mut burst: Vec<(P<u64>, R<u64>)> = Vec::with_capacity(MANY);
            let mut survivors = Vec::with_capacity(100);
            let before = bytes();
            for round in 0..2 {
                for _ in 0..MANY {
                    burst.push(P::with_resolvers(&at(cx)));
                }
                for (i, pair) in burst.drain(..).enumerate() {
                    if i % (MANY / 40) == 7 + round {
                        survivors.push(pair);
                    } else if i % 2 == 0 {
                        pair.1.resolve(7);
                    }
                }
                assert_given_back(&event_loop, before, "with survivors");
            }
            // Their number is small again, and grows again.
            for _ in 0..1_000 {
                burst.push(P::with_resolvers(&at(cx)));
            }
            survivors[0].1.resolve(1);
            event_loop.cx().close();
            event_loop.turn(Duration::ZERO).unwrap();
            assert_eq!(survivors.len(), 80);
            assert_eq!(survivors[0].0.state(), PromiseState::Fulfilled);
            for (promise, _) in survivors.iter().skip(1).chain(&burst) {
                assert_eq!(promise.state(), PromiseState::Rejected);
            }
        });
    }

    // spec: RG-1, RG-3, F-16
    #[test]
    fn promises_for_ever_do_not_grow() {
        counted(|| {
            let event_loop = EventLoop::builder().microtask_budget(None).build().unwrap();
            let cx = event_loop.cx();
            let mut batch: Vec<R<u64>> = Vec::with_capacity(BATCH);
            let mut before = 0;
            for round in 0..BATCHES {
                if round == 10 {
                    before = bytes();
                }
                for i in 0..BATCH {
                    let (promise, resolver) = P::with_resolvers(&at(cx));
                    if i % 2 == 0 {
                        promise.then(|_, value| value + 1);
                    }
                    batch.push(resolver);
                }
                for (i, resolver) in batch.drain(..).enumerate() {
                    if i % 5 != 0 {
                        resolver.resolve(i as u64);
                    }
                }
                event_loop.turn(Duration::ZERO).unwrap();
            }
            turn_until_quiet(&event_loop);
            assert!(bytes() - before < LEFT, "{} bytes more", bytes() - before);
        });
    }

    // spec: RG-1, RG-3, F-16
    #[test]
    fn promises_that_are_settled_at_once_do_not_grow_between_two_ticks() {
        // Without any tick that could clean up.
        counted(|| {
            let event_loop = EventLoop::new().unwrap();
            let before = bytes();
            for i in 0..MANY as u64 {
                let (promise, resolver) = P::with_resolvers(&at(event_loop.cx()));
                resolver.resolve(i);
                assert_eq!(promise.state(), PromiseState::Fulfilled);
                drop(P::resolve(&at(event_loop.cx()), i));
            }
            assert_given_back(&event_loop, before, "settled at once");
        });
    }

    // spec: D14, PR-1
    #[test]
    fn a_link_is_one_allocation_and_settling_is_none() {
        counted(|| {
            let event_loop = EventLoop::builder().microtask_budget(None).build().unwrap();
            let links = 1_000;
            for round in 0..5 {
                let start = allocations();
                let (promise, resolver) = P::with_resolvers(&at(event_loop.cx()));
                let mut last: P<usize> = promise;
                for _ in 0..links {
                    last = last.then(move |_, value| value + round);
                }
                let attached = allocations();
                resolver.resolve(1);
                let resolved = allocations();
                turn_until_quiet(&event_loop);
                let ran = allocations();
                assert_eq!(last.state(), PromiseState::Fulfilled);
                if round > 1 {
                    let made = attached - start;
                    println!("{made} allocations for {links} links");
                    assert!(made <= links + 4, "{made} for {links} links");
                    assert_eq!(resolved - attached, 0, "by resolve");
                    assert_eq!(ran - resolved, 0, "by running the handlers");
                }
            }
        });
    }

    // spec: D14, PR-1
    #[test]
    fn a_branch_is_one_allocation_and_settling_is_none() {
        counted(|| {
            let event_loop = EventLoop::builder().microtask_budget(None).build().unwrap();
            let branches = 1_000;
            for round in 0..5 {
                let start = allocations();
                let (promise, resolver) = P::with_resolvers(&at(event_loop.cx()));
                for _ in 0..branches {
                    promise.then(move |_, value: usize| value + round);
                }
                let attached = allocations();
                resolver.resolve(1);
                let resolved = allocations();
                turn_until_quiet(&event_loop);
                let ran = allocations();
                if round > 1 {
                    let made = attached - start;
                    // A list that grows is allowed to do so.
                    assert!(made <= branches + 16, "{made} for {branches} branches");
                    assert_eq!(resolved - attached, 0, "by resolve");
                    assert_eq!(ran - resolved, 0, "by running the handlers");
                }
            }
        });
    }

    // spec: PR-5, PR-8
    #[test]
    fn polling_for_ever_does_not_grow() {
        counted(|| {
            let event_loop = EventLoop::new().unwrap();
            let (promise, resolver) = P::<i32>::with_resolvers(&at(event_loop.cx()));
            let mut future = promise;
            let mut check = |polls: usize, limit: isize| {
                let before = bytes();
                for i in 0..polls {
                    // With the same waker, and with others.
                    let (_, waker) = CountingWaker::new();
                    assert!(poll(&mut future, &waker).is_pending());
                    if i % 2 == 0 {
                        assert!(poll(&mut future, &waker).is_pending());
                    }
                }
                assert!(bytes() - before <= limit, "{} bytes more", bytes() - before);
            };
            check(10, 4_096);
            check(100_000, 256);
            drop(resolver);
        });
    }

    // spec: PR-7
    #[test]
    fn unhandled_rejections_for_ever_do_not_grow() {
        counted(|| {
            let event_loop = EventLoop::builder()
                .microtask_budget(None)
                .on_unhandled_rejection(|_, _| ())
                .on_rejection_handled(|_, _| ())
                .build()
                .unwrap();
            let cx = event_loop.cx();
            let mut before = 0;
            for round in 0..BATCHES.min(200) {
                if round == 10 {
                    before = bytes();
                }
                for i in 0..1_000 {
                    let promise = P::<i32>::reject(&at(cx), Oops(i));
                    match i % 4 {
                        0 => _ = promise.catch(|_, _| 0),
                        1 => _ = promise.then(|_, value| value),
                        2 => _ = cx.set_immediate(move |_| _ = promise.catch(|_, _| 0)),
                        _ => {}
                    }
                }
                event_loop.turn(Duration::ZERO).unwrap();
            }
            turn_until_quiet(&event_loop);
            assert!(bytes() - before < LEFT, "{} bytes more", bytes() - before);
        });
    }

    // spec: PR-8, SD-6, F-28
    #[test]
    fn the_end_of_a_loop_gives_everything_back() {
        counted(|| {
            let cycle = || {
                let event_loop = EventLoop::new().unwrap();
                let cx = event_loop.cx();
                let mut kept = vec![];
                for _ in 0..1_000 {
                    // Adopted by each other; owned by their own handlers; derived, combined.
                    let (a, ra) = P::<i32>::with_resolvers(&at(cx));
                    let (b, rb) = P::<i32>::with_resolvers(&at(cx));
                    ra.adopt(&b);
                    rb.adopt(&a);
                    let (own, resolver) = P::<i32>::with_resolvers(&at(cx));
                    let this = own.clone();
                    own.then(move |_, value| {
                        resolver.resolve(value);
                        this.state()
                    });
                    let all = P::all(&at(cx), [a.clone(), b, own]);
                    let race = P::<i32>::race(&at(cx), []);
                    all.finally(|_| ()).then(|_, values| values.len());
                    kept.push((a, all, race));
                }
                turn_until_quiet(&event_loop);
                // Some that were never looked at.
                let (promise, resolver) = P::<i32>::with_resolvers(&at(cx));
                let this = promise.clone();
                promise.then(move |_, _| drop((resolver, this)));
                drop(event_loop);
                assert!(kept.iter().all(|kept| kept.1.state() == PromiseState::Rejected));
            };
            cycle();
            let before = bytes();
            for _ in 0..10 {
                cycle();
            }
            assert!(bytes() - before < 512, "{} bytes more", bytes() - before);
        });
    }
}

/// Drives the loop until `f`, on another thread, has returned.
fn while_driven<R: Send>(event_loop: &EventLoop, f: impl FnOnce(&Handle) -> R + Send) -> R {
    let handle = event_loop.handle();
    count(false);
    let result = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            count(true);
            let result = f(&handle);
            count(false);
            result
        });
        count(true);
        while !worker.is_finished() {
            event_loop.turn(Duration::ZERO).unwrap();
        }
        count(false);
        worker.join().unwrap()
    });
    count(true);
    result
}

// spec: RG-1, RG-2, RG-3, F-16, PR-4
#[test]
fn a_burst_that_another_thread_settles_and_drops_gives_its_memory_back() {
    counted(|| {
        let event_loop = EventLoop::new().unwrap();
        let handle = event_loop.handle();
        // What is there for other threads is made at their first use.
        elsewhere(|| {
            Promise::resolve(&handle, 1).then(|_, value| value);
            drop(Promise::<i32>::with_resolvers(&handle));
        });
        warm_up(&event_loop);
        let mut burst = Vec::with_capacity(MANY);
        let before = bytes();
        for what in ["made here", "made there", "driven"] {
            let make = || (0..MANY).map(|_| Promise::<u64>::with_resolvers(&handle));
            let settle = |pairs: &mut Vec<(Promise<u64>, mainspring::Resolver<u64>)>| {
                for (i, (promise, resolver)) in pairs.drain(..).enumerate() {
                    match i % 4 {
                        0 => _ = resolver.resolve(7),
                        1 => drop(promise),
                        2 => {
                            promise.then(|_, value| value);
                            resolver.resolve(8);
                        }
                        _ => drop(resolver),
                    }
                }
            };
            match what {
                "made here" => {
                    burst.extend(make());
                    elsewhere(|| settle(&mut burst));
                }
                "made there" => {
                    elsewhere(|| burst.extend(make()));
                    settle(&mut burst);
                }
                _ => while_driven(&event_loop, |_| {
                    burst.extend(make());
                    settle(&mut burst);
                }),
            }
            assert_given_back(&event_loop, before + SPARES, what);
        }
    });
}

// spec: RG-1, RG-3, F-16, PR-4
#[test]
fn promises_of_another_thread_for_ever_do_not_grow() {
    counted(|| {
        let event_loop = EventLoop::new().unwrap();
        warm_up(&event_loop);
        let mut before = 0;
        for round in 0..20 {
            if round == 2 {
                before = bytes();
            }
            while_driven(&event_loop, |handle| {
                for i in 0..MANY / 20 {
                    let (promise, resolver) = Promise::with_resolvers(handle);
                    let derived = promise.then(|_, value: usize| value);
                    if i % 3 == 0 {
                        resolver.resolve(i);
                    }
                    drop((resolver, promise));
                    if i % 1_000 == 0 {
                        // Lets the loop catch up.
                        let _ = derived.wait(promising::PATIENCE);
                    }
                }
            });
            turn_until_quiet(&event_loop);
        }
        assert_given_back(&event_loop, before + SPARES, "of another thread");
    });
}

// spec: PR-6, PR-8
#[test]
fn waits_that_time_out_do_not_grow() {
    counted(|| {
        let event_loop = EventLoop::new().unwrap();
        let (promise, resolver) = Promise::<i32>::with_resolvers(&event_loop.handle());
        let promise = &promise;
        elsewhere(|| {
            for _ in 0..10 {
                assert!(promise.wait(Duration::ZERO).is_err());
            }
            let before = bytes();
            for _ in 0..50_000 {
                assert!(promise.wait(Duration::from_nanos(1)).is_err());
                assert!(promise.wait(Duration::ZERO).is_err());
            }
            assert!(bytes() - before <= 256, "{} bytes more", bytes() - before);
        });
        drop(resolver);
    });
}

// spec: D14, PR-4
#[test]
fn settling_from_another_thread_allocates_nothing() {
    counted(|| {
        let event_loop = EventLoop::builder().microtask_budget(None).build().unwrap();
        let handle = event_loop.handle();
        for round in 0..4 {
            let mut resolvers = Vec::with_capacity(1_000);
            for _ in 0..1_000 {
                let (promise, resolver) = Promise::with_resolvers(&handle);
                promise.then(|_, value: usize| value + 1);
                resolvers.push(resolver);
            }
            let made = elsewhere(|| {
                let before = allocations();
                for resolver in &resolvers {
                    resolver.resolve(1);
                }
                allocations() - before
            });
            let before = allocations();
            turn_until_quiet(&event_loop);
            let ran = allocations() - before;
            if round > 1 {
                assert_eq!((made, ran), (0, 0));
            }
        }
    });
}
