//! `all`, `all_settled`, `any`, `race`.

mod common;
#[path = "common/promises.rs"]
mod promising;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use common::timers::Random;
use common::{SharedLog, Tracker, panic_of};
use mainspring::{AggregateError, Error, EventLoop, LocalPromise, Promise, PromiseState};
use promising::{Bench, Counted, Oops, PATIENCE, describe};

/// A value that panics when it is dropped.
#[derive(Clone)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

flavours! {
    // spec: PR-3
    #[test]
    fn of_nothing() {
        let bench = Bench::new();
        let cx = bench.cx();
        let all = P::<i32>::all(&at(cx), []);
        let all_settled = P::<i32>::all_settled(&at(cx), []);
        let any = P::<i32>::any(&at(cx), []);
        let race = P::<i32>::race(&at(cx), []);
        assert_eq!(all.state(), PromiseState::Fulfilled, "at once");
        assert_eq!(all_settled.state(), PromiseState::Fulfilled, "at once");
        assert_eq!(any.state(), PromiseState::Rejected, "at once");
        let errors = SharedLog::new();
        let log = errors.clone();
        any.catch(move |_, reason| {
            log.push(reason.downcast_ref::<AggregateError<Reason>>().unwrap().errors().len());
            0
        });
        let (all, all_settled) = (outcome(&all), outcome(&all_settled));
        let raced = outcome(&race);
        bench.settle();
        all.assert("ok []");
        all_settled.assert("ok []");
        assert_eq!(errors.take(), [0]);
        // For ever, as in JavaScript.
        assert_eq!(race.state(), PromiseState::Pending);
        raced.assert_none();
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn all_gives_the_values_in_the_order_of_the_inputs() {
        let bench = Bench::new();
        let mut random = Random(88_172_645_463_325_252);
        for round in 0..20 {
            let count = round * 5;
            let mut resolvers = vec![];
            let inputs: Vec<_> = (0..count)
                .map(|i| {
                    let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
                    resolvers.push((i, resolver));
                    promise
                })
                .collect();
            let all = P::all(&at(bench.cx()), inputs);
            let outcome = outcome(&all);
            while !resolvers.is_empty() {
                outcome.assert_none();
                let next = random.next() as usize % resolvers.len();
                let (i, resolver) = resolvers.swap_remove(next);
                resolver.resolve(i);
                if random.next().is_multiple_of(3) {
                    bench.settle();
                }
            }
            bench.settle();
            let expected: Vec<_> = (0..count).collect();
            outcome.assert(&format!("ok {expected:?}"));
        }
    }

    // spec: PR-3
    #[test]
    fn a_value_that_was_gathered_and_panics_when_dropped_does_not_disturb_the_end_of_the_loop() {
        let event_loop = EventLoop::new().unwrap();
        let cx = event_loop.cx();
        let (one, resolver) = P::with_resolvers(&at(cx));
        let (two, _pending) = P::with_resolvers(&at(cx));
        let all = P::all(&at(cx), [two, one]);
        resolver.resolve(Bomb);
        drop(resolver);
        event_loop.run_until_idle().unwrap();
        assert_eq!(all.state(), PromiseState::Pending);
        drop(event_loop);
        assert_eq!(all.state(), PromiseState::Rejected);
    }

    // spec: PR-3, F-29
    #[test]
    fn all_rejects_at_the_first_rejection_and_handles_the_others() {
        let bench = Bench::new();
        let mut resolvers = vec![];
        let inputs: Vec<P<i32>> = (0..4)
            .map(|_| {
                let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
                resolvers.push(resolver);
                promise
            })
            .collect();
        let all = P::all(&at(bench.cx()), inputs);
        let outcome = outcome(&all);
        resolvers[2].resolve(2);
        bench.settle();
        outcome.assert_none();
        resolvers[3].reject(Oops(3));
        bench.settle();
        outcome.assert("err oops 3");
        resolvers[0].reject(Oops(0));
        bench.settle();
        resolvers[1].reject(Oops(1));
        bench.settle();
        outcome.assert("err oops 3");
        bench.assert_silent();
    }

    // spec: PR-3, F-29
    #[test]
    fn an_unhandled_rejection_of_a_combination_is_reported_once() {
        let bench = Bench::new();
        let all =
            P::all(&at(bench.cx()), (0..3).map(|i| P::<i32>::reject(&at(bench.cx()), Oops(i))));
        let inputs = (3..5).map(|i| P::<i32>::reject(&at(bench.cx()), Oops(i)));
        let race = P::race(&at(bench.cx()), inputs);
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 0", "unhandled oops 3"]);
        assert_eq!(bench.unhandled.take(), [all.id(), race.id()]);
    }

    // spec: PR-3
    #[test]
    fn all_settled_never_rejects() {
        let bench = Bench::new();
        let (late, resolver) = P::with_resolvers(&at(bench.cx()));
        let (abandoned, dropped) = P::<i32>::with_resolvers(&at(bench.cx()));
        let inputs =
            [P::resolve(&at(bench.cx()), 0), P::reject(&at(bench.cx()), Oops(1)), late, abandoned];
        let log = SharedLog::new();
        let notes = log.clone();
        P::all_settled(&at(bench.cx()), inputs).then(move |_, results| {
            notes.push(results.iter().map(show).collect::<Vec<_>>());
        });
        bench.settle();
        drop(dropped);
        bench.settle();
        assert!(log.take().is_empty());
        resolver.reject(Oops(2));
        bench.settle();
        assert_eq!(log.take(), [["ok 0", "err oops 1", "err oops 2", "err abandoned"]]);
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn any_gives_the_first_value_and_handles_all_rejections() {
        let bench = Bench::new();
        let mut resolvers = vec![];
        let inputs: Vec<P<i32>> = (0..4)
            .map(|_| {
                let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
                resolvers.push(resolver);
                promise
            })
            .collect();
        let any = P::any(&at(bench.cx()), inputs);
        let outcome = outcome(&any);
        resolvers[0].reject(Oops(0));
        bench.settle();
        outcome.assert_none();
        resolvers[2].resolve(2);
        bench.settle();
        outcome.assert("ok 2");
        resolvers[1].reject(Oops(1));
        resolvers[3].resolve(3);
        bench.settle();
        outcome.assert("ok 2");
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn any_rejects_with_all_errors_in_the_order_of_the_inputs() {
        let bench = Bench::new();
        let mut resolvers = vec![];
        let inputs: Vec<P<i32>> = (0..5)
            .map(|_| {
                let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
                resolvers.push(resolver);
                promise
            })
            .collect();
        let reasons: Vec<_> = (0..5).map(|i| Reason::new(Oops(i))).collect();
        let expected = reasons.clone();
        let log = SharedLog::new();
        let notes = log.clone();
        P::any(&at(bench.cx()), inputs).catch(move |_, reason| {
            let error = reason.downcast_ref::<AggregateError<Reason>>().unwrap();
            let errors = error.errors();
            notes.push(errors.iter().map(|reason| describe(reason.as_error())).collect::<Vec<_>>());
            assert!(errors.iter().zip(&expected).all(|(one, other)| one.ptr_eq(other)));
            assert!(!error.to_string().is_empty());
            0
        });
        for i in [3, 1, 4, 0, 2] {
            assert!(log.take().is_empty());
            resolvers[i].reject(reasons[i].clone());
            bench.settle();
        }
        assert_eq!(log.take(), [["oops 0", "oops 1", "oops 2", "oops 3", "oops 4"]]);
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn race_takes_the_first_outcome() {
        let bench = Bench::new();
        for fulfilled in [true, false] {
            let (a, first) = P::with_resolvers(&at(bench.cx()));
            let (b, second) = P::with_resolvers(&at(bench.cx()));
            let outcome = outcome(&P::race(&at(bench.cx()), [a, b]));
            if fulfilled {
                second.resolve(2);
            } else {
                second.reject(Oops(2));
            }
            first.resolve(1);
            bench.settle();
            outcome.assert(if fulfilled { "ok 2" } else { "err oops 2" });
        }
        // Of those that are settled already it is the first in order.
        let inputs = [P::resolve(&at(bench.cx()), 3), P::reject(&at(bench.cx()), Oops(4))];
        let forward = outcome(&P::race(&at(bench.cx()), inputs.clone()));
        let backward = outcome(&P::race(&at(bench.cx()), inputs.into_iter().rev()));
        bench.settle();
        forward.assert("ok 3");
        backward.assert("err oops 4");
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn the_same_promise_may_be_given_many_times() {
        let bench = Bench::new();
        let (good, resolver) = P::with_resolvers(&at(bench.cx()));
        let (bad, failing) = P::<i32>::with_resolvers(&at(bench.cx()));
        let many = |promise: &P<i32>| vec![promise.clone(); 3];
        let outcomes = [
            outcome(&P::all(&at(bench.cx()), many(&good))),
            outcome(&P::any(&at(bench.cx()), many(&good))),
            outcome(&P::race(&at(bench.cx()), many(&good))),
            outcome(&P::all(&at(bench.cx()), many(&bad))),
            outcome(&P::race(&at(bench.cx()), many(&bad))),
        ];
        let log = SharedLog::new();
        let notes = log.clone();
        P::any(&at(bench.cx()), many(&bad)).catch(move |_, reason| {
            notes.push(reason.downcast_ref::<AggregateError<Reason>>().unwrap().errors().len());
            0
        });
        let notes = log.clone();
        P::all_settled(&at(bench.cx()), many(&bad))
            .then(move |_, results| notes.push(results.len()));
        resolver.resolve(7);
        failing.reject(Oops(8));
        bench.settle();
        let expected = ["ok [7, 7, 7]", "ok 7", "ok 7", "err oops 8", "err oops 8"];
        for (outcome, expected) in outcomes.iter().zip(expected) {
            outcome.assert(expected);
        }
        assert_eq!(log.take(), [3, 3]);
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn inputs_that_are_settled_already() {
        let bench = Bench::new();
        let all = P::all(&at(bench.cx()), (0..5).map(|i| P::resolve(&at(bench.cx()), i)));
        // Handlers run later also here.
        assert_eq!(all.state(), PromiseState::Pending);
        let any = P::any(&at(bench.cx()), (0..5).map(|i| P::resolve(&at(bench.cx()), i)));
        assert_eq!(any.state(), PromiseState::Pending);
        let (all, any) = (outcome(&all), outcome(&any));
        bench.settle();
        all.assert("ok [0, 1, 2, 3, 4]");
        any.assert("ok 0");
    }

    // spec: PR-3
    #[test]
    fn combinations_of_combinations() {
        let bench = Bench::new();
        let (a, ra) = P::with_resolvers(&at(bench.cx()));
        let (b, rb) = P::with_resolvers(&at(bench.cx()));
        let inner = P::all(&at(bench.cx()), [a.clone(), b.clone()]);
        let outer = P::all(&at(bench.cx()), [inner.clone(), inner.clone()]);
        let race = P::race(&at(bench.cx()), [inner, P::all(&at(bench.cx()), [b, a])]);
        let (outer, race) = (outcome(&outer), outcome(&race));
        rb.resolve(2);
        bench.settle();
        ra.resolve(1);
        bench.settle();
        outer.assert("ok [[1, 2], [1, 2]]");
        race.assert("ok [1, 2]");
    }

    // spec: PR-3, PR-8
    #[test]
    fn a_combination_that_nobody_holds_works_on() {
        let bench = Bench::new();
        let log = SharedLog::new();
        let (a, ra) = P::with_resolvers(&at(bench.cx()));
        let (b, rb) = P::with_resolvers(&at(bench.cx()));
        let notes = log.clone();
        P::all(&at(bench.cx()), [a, b]).then(move |_, values: Vec<i32>| notes.push(values));
        bench.settle();
        ra.resolve(1);
        rb.resolve(2);
        drop((ra, rb));
        bench.settle();
        assert_eq!(log.take(), [[1, 2]]);
    }

    // spec: PR-3, PR-8
    #[test]
    fn values_of_a_combination_are_moved_and_dropped_once() {
        let bench = Bench::new();
        let ((a, one), (b, two)) = (Counted::new(), Counted::new());
        let inputs = [P::resolve(&at(bench.cx()), a), P::resolve(&at(bench.cx()), b)];
        let all = P::all(&at(bench.cx()), inputs).then(|_, values| assert_eq!(values.len(), 2));
        bench.settle();
        assert_eq!((one.clones(), two.clones()), (0, 0));
        assert_eq!((one.alive(), two.alive()), (0, 0));
        assert_eq!(all.state(), PromiseState::Fulfilled);

        // The values that a rejected `all` had until then are released, and those that come later.
        let ((a, one), (b, two)) = (Counted::new(), Counted::new());
        let (late, resolver) = P::with_resolvers(&at(bench.cx()));
        let inputs = [P::resolve(&at(bench.cx()), a), P::reject(&at(bench.cx()), Oops(1)), late];
        let all = P::all(&at(bench.cx()), inputs);
        all.catch(|_, _| vec![]);
        bench.settle();
        resolver.resolve(b);
        drop(resolver);
        bench.settle();
        assert_eq!((one.alive(), two.alive()), (0, 0));
        drop(all);

        // What lost the race.
        let ((a, one), (b, two)) = (Counted::new(), Counted::new());
        let inputs = [P::resolve(&at(bench.cx()), a), P::resolve(&at(bench.cx()), b)];
        P::race(&at(bench.cx()), inputs).then(|_, value| drop(value));
        let inputs = [P::<Counted>::reject(&at(bench.cx()), Oops(1))];
        P::any(&at(bench.cx()), inputs).catch(|_, _| Counted::new().0);
        bench.settle();
        assert_eq!((one.alive(), two.alive()), (0, 0));
        assert_eq!((one.clones(), two.clones()), (0, 0));
    }

    // spec: PR-3, PR-8
    #[test]
    fn a_combination_dropped_while_pending_releases_what_it_has() {
        let bench = Bench::new();
        let tracker = Tracker::new();
        let (pending, resolver) = P::<Arc<common::Token>>::with_resolvers(&at(bench.cx()));
        let first = P::resolve(&at(bench.cx()), Arc::new(tracker.token()));
        let all = P::all(&at(bench.cx()), [first, pending]);
        bench.settle();
        drop(all);
        drop(resolver);
        bench.settle();
        assert_eq!(tracker.alive(), 0);
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn an_iterator_that_panics_leaves_the_loop_as_it_was() {
        let bench = Bench::new();
        let tracker = Tracker::new();
        for kind in 0..4 {
            let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
            let token = tracker.token();
            let given = promise.clone();
            let inputs = (0..3).map(move |i| {
                let _token = &token;
                assert!(i < 2, "the iterator");
                given.clone()
            });
            let text = panic_of(|| match kind {
                0 => drop(P::all(&at(bench.cx()), inputs)),
                1 => drop(P::all_settled(&at(bench.cx()), inputs)),
                2 => drop(P::any(&at(bench.cx()), inputs)),
                _ => drop(P::race(&at(bench.cx()), inputs)),
            });
            assert_eq!(text.as_deref(), Some("the iterator"));
            assert_eq!(tracker.alive(), 0);
            let outcome = outcome(&promise);
            resolver.resolve(kind);
            bench.settle();
            outcome.assert(&format!("ok {kind}"));
            bench.assert_silent();
        }
    }

    // spec: PR-3
    #[test]
    fn ten_thousand_inputs() {
        let bench = Bench::new();
        let mut resolvers = vec![];
        let inputs: Vec<_> = (0..10_000)
            .map(|_| {
                let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
                resolvers.push(resolver);
                promise
            })
            .collect();
        let sum = P::all(&at(bench.cx()), inputs.clone())
            .then(|_, values| values.into_iter().map(u64::from).sum::<u64>());
        let count = P::all_settled(&at(bench.cx()), inputs).then(|_, results| results.len());
        let (sum, count) = (outcome(&sum), outcome(&count));
        for (i, resolver) in resolvers.iter().enumerate().rev() {
            resolver.resolve(i as u32);
        }
        bench.settle();
        sum.assert("ok 49995000");
        count.assert("ok 10000");
    }
}

// spec: PR-3, PR-4
#[test]
fn local_values_need_not_be_send() {
    let bench = Bench::new();
    let value = Rc::new(Cell::new(1));
    let (promise, resolver) = LocalPromise::with_resolvers(bench.cx());
    let sum = Rc::clone(&value);
    LocalPromise::all(bench.cx(), [promise.clone(), promise]).then(
        move |_, values: Vec<Rc<Cell<i32>>>| {
            assert!(Rc::ptr_eq(&values[0], &values[1]));
            sum.set(sum.get() + 1);
        },
    );
    resolver.resolve(Rc::clone(&value));
    drop(resolver);
    bench.settle();
    assert_eq!(value.get(), 2);
    assert_eq!(Rc::strong_count(&value), 1);
}

// spec: PR-3, PR-4
#[test]
fn inputs_settled_by_many_threads() {
    let bench = Bench::new();
    let handle = bench.handle();
    for round in 0..50_usize {
        let start = Arc::new(Barrier::new(5));
        let mut promises = vec![];
        let mut threads = vec![];
        for i in 0..4 {
            let (mine, resolvers): (Vec<_>, Vec<_>) =
                (0..25).map(|_| Promise::with_resolvers(&handle)).unzip();
            promises.extend(mine);
            let start = Arc::clone(&start);
            threads.push(thread::spawn(move || {
                start.wait();
                for (j, resolver) in resolvers.into_iter().enumerate() {
                    resolver.resolve(i * 25 + j);
                }
            }));
        }
        // Some are settled before, some meanwhile, some after.
        start.wait();
        if round % 2 == 0 {
            thread::yield_now();
        }
        let all = Promise::all(&handle, promises.clone());
        let settled = Promise::all_settled(&handle, promises.clone());
        let race = Promise::race(&handle, promises.clone());
        let any = Promise::any(&handle, promises);
        let outcomes = [
            promising::shared::outcome(&all),
            promising::shared::outcome(
                &settled
                    .then(|_, results| results.into_iter().map(Result::unwrap).collect::<Vec<_>>()),
            ),
        ];
        let firsts = [promising::shared::outcome(&race), promising::shared::outcome(&any)];
        for thread in threads {
            thread.join().unwrap();
        }
        bench.settle();
        let expected: Vec<_> = (0..100).collect();
        for outcome in outcomes {
            outcome.assert(&format!("ok {expected:?}"));
        }
        for outcome in firsts {
            assert_eq!(outcome.get().len(), 1);
        }
    }
}

// spec: PR-3, PR-4
#[test]
fn a_combination_made_on_another_thread() {
    let bench = Bench::new();
    let handle = bench.handle();
    let done = Arc::new(AtomicBool::new(false));
    let finished = Arc::clone(&done);
    let thread = thread::spawn(move || {
        let (a, ra) = Promise::with_resolvers(&handle);
        let all = Promise::all(&handle, [a, Promise::resolve(&handle, 2)]);
        ra.resolve(1);
        let result = all.wait(PATIENCE).unwrap();
        let empty = Promise::<i32>::all(&handle, []).wait(PATIENCE).unwrap();
        let error = Promise::<i32>::any(&handle, []).wait(PATIENCE).unwrap_err();
        finished.store(true, Ordering::SeqCst);
        handle.shutdown(PATIENCE).unwrap();
        (result, empty, error)
    });
    bench.run().unwrap();
    let (result, empty, error) = thread.join().unwrap();
    assert!(done.load(Ordering::SeqCst));
    assert_eq!(result, [1, 2]);
    assert!(empty.is_empty());
    let mainspring::WaitError::Rejected(reason) = error else { panic!("{error:?}") };
    assert!(reason.is::<AggregateError>());
    assert!(!reason.is::<Error>());
}
