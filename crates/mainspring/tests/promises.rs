//! Promises: their states, their handlers, adoption, panics, and what becomes of values and closures.

mod common;
#[path = "common/promises.rs"]
mod promising;
use std::cell::{Cell, RefCell};
use std::panic::panic_any;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{SharedLog, Token, Tracker, panic_of, turn_until_quiet};
use mainspring::{
    Cx, Diagnostic, Error, Handle, LocalPromise, LocalRejection, LocalResolver, PanicPolicy,
    Panicked, Promise, PromiseState, Rejection, Resolver,
};
use promising::{Bench, Counted, Oops, on_a_small_stack};

/// As many links as a chain may well have; without optimisation so many that a recursion, if there is one,
/// still overflows a small stack several times over.
const MANY: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

flavours! {
    // spec: PR-1
    #[test]
    fn no_handler_runs_synchronously() {
        let bench = Bench::new();
        let ran = Arc::new(AtomicUsize::new(0));
        // The three states when the handlers are attached.
        let (pending, resolver) = P::with_resolvers(&at(bench.cx()));
        let promises =
            [P::resolve(&at(bench.cx()), 1), P::reject(&at(bench.cx()), Oops(1)), pending];
        for promise in &promises {
            let count = || {
                let ran = Arc::clone(&ran);
                move || _ = ran.fetch_add(1, Ordering::SeqCst)
            };
            let f = count();
            promise.then(move |_, _: i32| f());
            let f = count();
            promise.try_then(move |_, _: i32| {
                f();
                Ok::<_, Error>(())
            });
            let f = count();
            promise.and_then(move |cx, value: i32| {
                f();
                P::resolve(&at(cx), value)
            });
            let f = count();
            promise.catch(move |_, _| {
                f();
                1
            });
            let f = count();
            promise.try_catch(move |_, _| {
                f();
                Ok::<_, Error>(1)
            });
            let f = count();
            promise.or_else(move |cx, _| {
                f();
                P::resolve(&at(cx), 1)
            });
            let f = count();
            promise.finally(move |_| f());
            let f = count();
            promise.try_finally(move |_| {
                f();
                Ok::<_, Error>(())
            });
            let f = count();
            promise.handle(move |_, _| {
                f();
                Ok::<_, Error>(())
            });
            assert_eq!(ran.load(Ordering::SeqCst), 0);
        }
        resolver.resolve(1);
        assert_eq!(ran.load(Ordering::SeqCst), 0, "nor by resolve");
        bench.settle();
        // Three each for the own kind, and three for both.
        assert_eq!(ran.load(Ordering::SeqCst), 18);
    }

    // spec: PR-1
    #[test]
    fn handlers_of_all_kinds_run_in_the_order_of_their_attachment() {
        for fulfilled in [true, false] {
            let bench = Bench::new();
            let log = SharedLog::new();
            let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
            let mut expected = vec![];
            for i in 0..60 {
                let (log, promise) = (log.clone(), promise.clone());
                if i % 5 > 2 || (i % 5 < 2) == fulfilled {
                    expected.push(i);
                }
                match i % 5 {
                    0 => _ = promise.then(move |_, _: i32| log.push(i)),
                    1 => {
                        _ = promise.and_then(move |cx, value| {
                            log.push(i);
                            P::resolve(&at(cx), value)
                        })
                    }
                    2 => {
                        _ = promise.catch(move |_, _| {
                            log.push(i);
                            0
                        })
                    }
                    3 => _ = promise.finally(move |_| log.push(i)),
                    _ => {
                        _ = promise.handle(move |_, _| {
                            log.push(i);
                            Ok::<_, Error>(())
                        })
                    }
                }
            }
            if fulfilled {
                resolver.resolve(1);
            } else {
                resolver.reject(Oops(1));
            }
            bench.settle();
            assert_eq!(log.take(), expected);
        }
    }

    // spec: PR-1
    #[test]
    fn ten_thousand_handlers_of_one_promise_run_in_order() {
        let bench = Bench::new();
        let log = SharedLog::new();
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        for i in 0..10_000 {
            let log = log.clone();
            promise.then(move |_, value: u32| log.push((i, value)));
        }
        resolver.resolve(7);
        bench.settle();
        assert!(log.take().into_iter().eq((0..10_000).map(|i| (i, 7))));
    }

    // spec: PR-1, MT-1
    #[test]
    fn what_handlers_attach_runs_in_the_same_checkpoint() {
        let bench = Bench::new();
        let log = SharedLog::new();
        let notes = log.clone();
        bench
            .cx()
            .submit(move |cx| {
                P::resolve(&at(cx), 0).then(move |cx, value| {
                    notes.push(value);
                    let (other, resolver) = P::with_resolvers(&at(cx));
                    let deeper = notes.clone();
                    other.then(move |cx, value: i32| {
                        deeper.push(value);
                        P::resolve(&at(cx), 2).then(move |_, value| deeper.push(value));
                    });
                    resolver.resolve(1);
                });
            })
            .unwrap();
        bench.cx().submit(log.note(100)).unwrap();
        bench.settle();
        assert_eq!(log.take(), [0, 1, 2, 100]);
    }

    // spec: PR-1, MT-3
    #[test]
    fn handlers_count_for_the_budget_of_a_checkpoint() {
        let breaches = SharedLog::new();
        let told = breaches.clone();
        let bench = Bench::with(|builder| {
            builder.microtask_budget(10).on_diagnostic(move |_, diagnostic| {
                if let Diagnostic::MicrotaskBudget { pending, .. } = diagnostic {
                    told.push(pending);
                }
            })
        });
        let log = SharedLog::new();
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        for i in 0..25 {
            let log = log.clone();
            promise.then(move |_, ()| log.push(i));
        }
        let notes = log.clone();
        bench
            .cx()
            .submit(move |_| {
                resolver.resolve(());
                notes.push(-1);
            })
            .unwrap();
        bench.settle();
        let expected: Vec<_> = (-1..25).collect();
        assert_eq!(log.take(), expected);
        // Whoever was put off last is in the second of them.
        assert_eq!(breaches.take().len(), 2);
    }

    // spec: PR-1
    #[test]
    fn the_state_is_what_happened_first() {
        let bench = Bench::new();
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        assert_eq!(promise.state(), PromiseState::Pending);
        assert!(resolver.resolve(1));
        assert_eq!(promise.state(), PromiseState::Fulfilled);
        assert!(!resolver.reject(Oops(1)));
        assert_eq!(promise.state(), PromiseState::Fulfilled);
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        assert!(resolver.reject(Oops(1)));
        assert_eq!(promise.state(), PromiseState::Rejected);
        assert!(!resolver.resolve(1));
        assert_eq!(promise.state(), PromiseState::Rejected);
        promise.catch(|_, _| 0);
        assert_eq!(P::resolve(&at(bench.cx()), 1).state(), PromiseState::Fulfilled);
        let rejected = P::<i32>::reject(&at(bench.cx()), Oops(1));
        assert_eq!(rejected.state(), PromiseState::Rejected);
        rejected.catch(|_, _| 0);
        // A derived one is settled by its handler, which is run later.
        let derived = P::resolve(&at(bench.cx()), 1).then(|_, value| value);
        assert_eq!(derived.state(), PromiseState::Pending);
        bench.settle();
        assert_eq!(derived.state(), PromiseState::Fulfilled);
    }

    // spec: PR-7
    #[test]
    fn ids_are_the_same_for_clones_and_differ_for_others() {
        let bench = Bench::new();
        let mut all: Vec<P<i32>> = vec![];
        for i in 0..1_000 {
            all.push(P::resolve(&at(bench.cx()), i));
            all.push(all[all.len() - 1].then(|_, value| value));
            let (pending, resolver) = P::with_resolvers(&at(bench.cx()));
            resolver.adopt(&all[all.len() - 1]);
            all.push(pending);
        }
        bench.settle();
        let ids: Vec<_> = all.iter().map(P::id).collect();
        assert!(all.iter().zip(&ids).all(|(promise, id)| promise.clone().id() == *id));
        let different: std::collections::HashSet<_> = ids.iter().copied().collect();
        assert_eq!(different.len(), 3_000);
    }

    // spec: PR-2
    #[test]
    fn the_first_call_wins_whatever_the_others_are() {
        let firsts = ["resolve", "reject", "adopt fulfilled", "adopt rejected", "adopt pending"];
        for first in firsts {
            for later in firsts {
                let bench = Bench::new();
                let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
                let (pending, last) = P::with_resolvers(&at(bench.cx()));
                let call = |how: &str, value: i32| match how {
                    "resolve" => resolver.resolve(value),
                    "reject" => resolver.reject(Oops(value)),
                    "adopt fulfilled" => resolver.adopt(&P::resolve(&at(bench.cx()), value)),
                    "adopt rejected" => {
                        let inner = P::reject(&at(bench.cx()), Oops(value));
                        inner.catch(|_, _| 0);
                        resolver.adopt(&inner)
                    }
                    _ => resolver.adopt(&pending),
                };
                let outcome = outcome(&promise);
                assert!(call(first, 1), "{first}");
                assert!(!call(later, 2), "{first}, {later}");
                bench.settle();
                assert!(!call(later, 3), "{first}, {later}");
                if first == "adopt pending" {
                    outcome.assert_none();
                    assert_eq!(promise.state(), PromiseState::Pending);
                    last.resolve(1);
                    assert!(!call(later, 4), "{first}, {later}");
                    bench.settle();
                }
                outcome.assert(if first.contains("reject") { "err oops 1" } else { "ok 1" });
                bench.assert_silent();
            }
        }
    }

    // spec: PR-2
    #[test]
    fn a_promise_resolved_with_itself_is_rejected() {
        let bench = Bench::new();
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        assert!(resolver.adopt(&promise.clone()));
        assert_eq!(promise.state(), PromiseState::Rejected, "at once");
        assert!(!resolver.resolve(1));
        let direct = outcome(&promise);

        // The handler of a derived promise returns that very promise.
        let slot = Arc::new(Mutex::new(None::<P<i32>>));
        let myself = Arc::clone(&slot);
        let derived = P::resolve(&at(bench.cx()), 1)
            .and_then(move |_, _| myself.lock().unwrap().take().unwrap());
        slot.lock().unwrap().replace(derived.clone());
        let by_and_then = outcome(&derived);
        bench.settle();
        direct.assert("err cycle");
        by_and_then.assert("err cycle");
        bench.assert_silent();
    }

    // spec: PR-2
    #[test]
    fn a_recovery_that_returns_its_own_promise_is_rejected() {
        let bench = Bench::new();
        let slot = Arc::new(Mutex::new(None::<P<i32>>));
        let myself = Arc::clone(&slot);
        let derived = P::<i32>::reject(&at(bench.cx()), Oops(1))
            .or_else(move |_, _| myself.lock().unwrap().take().unwrap());
        slot.lock().unwrap().replace(derived.clone());
        let outcome = outcome(&derived);
        bench.settle();
        outcome.assert("err cycle");
        bench.assert_silent();
    }

    // spec: PR-2
    #[test]
    fn two_promises_resolved_with_each_other_stay_pending() {
        // As in JavaScript, where only direct self-resolution is an error.
        let bench = Bench::new();
        let (a, ra) = P::<i32>::with_resolvers(&at(bench.cx()));
        let (b, rb) = P::<i32>::with_resolvers(&at(bench.cx()));
        assert!(ra.adopt(&b));
        assert!(rb.adopt(&a));
        bench.settle();
        assert_eq!((a.state(), b.state()), (PromiseState::Pending, PromiseState::Pending));
    }

    // spec: PR-2
    #[test]
    fn an_adopter_takes_over_the_outcome() {
        let bench = Bench::new();
        let (inner, resolver) = P::with_resolvers(&at(bench.cx()));
        let (failing, failing_resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        let mut adopters = vec![];
        let mut outcomes = vec![];
        for inner in [&inner, &failing] {
            let mut inner = inner.clone();
            for _ in 0..5 {
                let (outer, resolver) = P::with_resolvers(&at(bench.cx()));
                resolver.adopt(&inner);
                outcomes.push(outcome(&outer));
                adopters.push(outer.clone());
                inner = outer;
            }
        }
        bench.settle();
        assert!(adopters.iter().all(|adopter| adopter.state() == PromiseState::Pending));
        resolver.resolve(5);
        let reason = Reason::new(Oops(6));
        failing_resolver.reject(reason.clone());
        bench.settle();
        for (i, outcome) in outcomes.iter().enumerate() {
            outcome.assert(if i < 5 { "ok 5" } else { "err oops 6" });
        }
        let same = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&same);
        adopters[9].catch(move |_, other| {
            seen.store(reason.ptr_eq(&other), Ordering::SeqCst);
            0
        });
        bench.settle();
        assert!(same.load(Ordering::SeqCst), "the very same reason");
        bench.assert_silent();
    }

    // spec: PR-1, PR-2
    #[test]
    fn each_handler_does_what_it_says() {
        let bench = Bench::new();
        let cx = bench.cx();
        let good = || P::resolve(&at(cx), 1);
        let bad = || P::<i32>::reject(&at(cx), Oops(1));
        let outcomes = [
            (outcome(&good().then(|_, value| value + 1)), "ok 2"),
            (outcome(&bad().then(|_, value| value + 1)), "err oops 1"),
            (outcome(&good().try_then(|_, value| Ok::<_, Oops>(value + 1))), "ok 2"),
            (outcome(&good().try_then(|_, value| Err::<i32, _>(Oops(value + 1)))), "err oops 2"),
            (outcome(&bad().try_then(|_, value| Ok::<_, Oops>(value))), "err oops 1"),
            (outcome(&good().and_then(|cx, value| P::resolve(&at(cx), value + 1))), "ok 2"),
            (outcome(&good().and_then(|cx, _| P::<i32>::reject(&at(cx), Oops(2)))), "err oops 2"),
            (outcome(&bad().and_then(|cx, value| P::resolve(&at(cx), value))), "err oops 1"),
            (outcome(&good().catch(|_, _| 3)), "ok 1"),
            (outcome(&bad().catch(|_, _| 3)), "ok 3"),
            (outcome(&good().try_catch(|_, _| Ok::<_, Oops>(3))), "ok 1"),
            (outcome(&bad().try_catch(|_, _| Ok::<_, Oops>(3))), "ok 3"),
            (outcome(&bad().try_catch(|_, _| Err(Oops(3)))), "err oops 3"),
            (outcome(&good().or_else(|cx, _| P::resolve(&at(cx), 3))), "ok 1"),
            (outcome(&bad().or_else(|cx, _| P::resolve(&at(cx), 3))), "ok 3"),
            (outcome(&bad().or_else(|cx, _| P::reject(&at(cx), Oops(3)))), "err oops 3"),
            (outcome(&good().finally(|_| ())), "ok 1"),
            (outcome(&bad().finally(|_| ())), "err oops 1"),
            (outcome(&good().try_finally(|_| Ok::<_, Oops>(()))), "ok 1"),
            (outcome(&bad().try_finally(|_| Ok::<_, Oops>(()))), "err oops 1"),
            (outcome(&good().try_finally(|_| Err(Oops(4)))), "err oops 4"),
            (outcome(&bad().try_finally(|_| Err(Oops(4)))), "err oops 4"),
            (outcome(&good().handle(|_, result| Ok::<_, Oops>(result.unwrap() + 1))), "ok 2"),
            (
                outcome(&bad().handle(|_, result| {
                    Err::<i32, _>(*result.unwrap_err().downcast_ref::<Oops>().unwrap())
                })),
                "err oops 1",
            ),
            (outcome(&bad().handle(|_, _| Ok::<_, Oops>(5))), "ok 5"),
        ];
        bench.settle();
        for (i, (outcome, expected)) in outcomes.iter().enumerate() {
            assert_eq!(outcome.get(), [*expected], "case {i}");
        }
        bench.assert_silent();
    }

    // spec: PR-1
    #[test]
    fn a_question_mark_in_a_handler_rejects() {
        let bench = Bench::new();
        let parse = |text: &'static str| {
            P::resolve(&at(bench.cx()), text)
                .try_then(|_, text| -> Result<i32, Reason> { Ok(text.parse::<i32>()?) })
        };
        let (good, bad) = (outcome(&parse("5")), outcome(&parse("five")));
        bench.settle();
        good.assert("ok 5");
        bad.assert("err invalid digit found in string");
    }

    // spec: PR-2
    #[test]
    fn the_very_same_reason_passes_down_a_chain() {
        let bench = Bench::new();
        let reason = Reason::from_value("why");
        let same = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&same);
        let expected = reason.clone();
        P::<i32>::reject(&at(bench.cx()), reason)
            .then(|_, value| value)
            .finally(|_| ())
            .try_then(|_, value| Ok::<_, Error>(value))
            .and_then(|cx, value| P::resolve(&at(cx), value))
            .catch(move |_, reason| {
                assert_eq!(reason.value::<&str>(), Some(&"why"));
                seen.store(reason.ptr_eq(&expected), Ordering::SeqCst);
                0
            });
        bench.settle();
        assert!(same.load(Ordering::SeqCst));
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn try_calls_its_function_at_once() {
        let bench = Bench::new();
        let called = Cell::new(0);
        let good = P::try_(&at(bench.cx()), || {
            called.set(called.get() + 1);
            Ok::<_, Oops>(5)
        });
        let bad = P::try_(&at(bench.cx()), || {
            called.set(called.get() + 1);
            Err::<i32, _>(Oops(5))
        });
        let panicking = P::try_(&at(bench.cx()), || -> Result<i32, Oops> {
            called.set(called.get() + 1);
            panic!("at once")
        });
        assert_eq!(called.get(), 3);
        assert_eq!(good.state(), PromiseState::Fulfilled);
        assert_eq!(bad.state(), PromiseState::Rejected);
        assert_eq!(panicking.state(), PromiseState::Rejected);
        let outcomes = [&good, &bad, &panicking].map(outcome);
        bench.settle();
        outcomes[0].assert("ok 5");
        outcomes[1].assert("err oops 5");
        outcomes[2].assert("err panic at once");
        bench.assert_silent();
    }

    // spec: PR-3
    #[test]
    fn the_payload_of_a_panic_in_try_can_be_taken_once() {
        let bench = Bench::new();
        let promise = P::try_(&at(bench.cx()), || -> Result<(), Oops> { panic_any(5_u8) });
        let taken = SharedLog::new();
        for _ in 0..2 {
            let taken = taken.clone();
            promise.catch(move |_, reason| {
                let panic = reason.downcast_ref::<Panicked>().unwrap();
                assert_eq!(panic.message(), None);
                taken.push(panic.take_payload().map(|payload| *payload.downcast::<u8>().unwrap()));
            });
        }
        bench.settle();
        assert_eq!(taken.take(), [Some(5), None]);
    }

    // spec: FA-1, PR-1
    #[test]
    fn a_panicking_handler_rejects_what_was_derived_and_is_reported() {
        let bench = Bench::new();
        let cx = bench.cx();
        let (good, resolver) = P::with_resolvers(&at(cx));
        let (bad, failing) = P::<i32>::with_resolvers(&at(cx));
        let outcomes = [
            outcome(&good.then(|_, _| -> i32 { panic!("0") })),
            outcome(&good.try_then(|_, _| -> Result<i32, Oops> { panic!("1") })),
            outcome(&good.and_then(|_, _| -> P<i32> { panic!("2") })),
            outcome(&good.finally(|_| panic!("3"))),
            outcome(&good.try_finally(|_| -> Result<(), Oops> { panic!("4") })),
            outcome(&good.handle(|_, _| -> Result<i32, Oops> { panic!("5") })),
            outcome(&bad.catch(|_, _| panic!("6"))),
            outcome(&bad.try_catch(|_, _| -> Result<i32, Oops> { panic!("7") })),
            outcome(&bad.or_else(|_, _| panic!("8"))),
            outcome(&bad.finally(|_| panic!("9"))),
        ];
        let after = outcome(&good);
        resolver.resolve(1);
        failing.reject(Oops(1));
        bench.settle();
        for (i, outcome) in outcomes.iter().enumerate() {
            outcome.assert(&format!("err panic {i}"));
        }
        after.assert("ok 1");
        let expected: Vec<_> = (0..10).map(|i| format!("uncaught microtasks {i}")).collect();
        assert_eq!(bench.reports.take(), expected);
    }

    // spec: FA-3
    #[test]
    fn under_propagate_the_panic_leaves_the_turn_and_the_rest_is_delivered() {
        let bench = Bench::with(|builder| builder.panic_policy(PanicPolicy::Propagate));
        let log = SharedLog::new();
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        let mut derived = vec![];
        for i in 0..6 {
            let log = log.clone();
            derived.push(promise.then(move |_, _: i32| {
                log.push(i);
                assert!(i % 2 == 0, "handler {i}");
                i
            }));
        }
        let outcomes: Vec<_> = derived.iter().map(outcome).collect();
        resolver.resolve(1);
        let mut panics = vec![];
        for _ in 0..10 {
            if let Some(text) = panic_of(|| bench.run_until_idle().unwrap()) {
                panics.push(text);
            }
        }
        assert_eq!(panics, ["handler 1", "handler 3", "handler 5"]);
        assert_eq!(log.take(), [0, 1, 2, 3, 4, 5]);
        for (i, outcome) in outcomes.iter().enumerate() {
            outcome.assert(&match i % 2 {
                0 => format!("ok {i}"),
                _ => format!("err panic handler {i}"),
            });
        }
        bench.assert_silent();
    }

    // spec: FA-1
    #[test]
    fn a_value_whose_clone_panics_takes_nothing_down() {
        #[derive(Debug)]
        struct Fragile(Arc<AtomicBool>);
        impl Clone for Fragile {
            fn clone(&self) -> Self {
                assert!(!self.0.swap(false, Ordering::SeqCst), "clone");
                Self(Arc::clone(&self.0))
            }
        }
        let bench = Bench::new();
        let fuse = Arc::new(AtomicBool::new(false));
        let promise = P::resolve(&at(bench.cx()), Fragile(Arc::clone(&fuse)));
        let derived: Vec<_> = (0..3).map(|i| promise.then(move |_, _| i)).collect();
        let outcomes: Vec<_> = derived.iter().map(outcome).collect();
        fuse.store(true, Ordering::SeqCst);
        bench.settle();
        let outcomes: Vec<_> = outcomes.iter().flat_map(|outcome| outcome.get()).collect();
        assert_eq!(outcomes, ["err panic clone", "ok 1", "ok 2"]);
        assert_eq!(bench.reports.take(), ["uncaught microtasks clone"]);
        let later = outcome(&promise.then(|_, _| 3));
        bench.settle();
        later.assert("ok 3");
    }

    // spec: PR-8
    #[test]
    fn a_value_that_is_read_once_is_moved() {
        let bench = Bench::new();
        let (value, counts) = Counted::new();
        // Pending when the handler is attached.
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        promise.then(|_, value: Counted| value).then(|_, value| value).then(|_, value| drop(value));
        drop(promise);
        resolver.resolve(value);
        drop(resolver);
        bench.settle();
        assert_eq!((counts.clones(), counts.alive()), (0, 0));
        // Settled before.
        let (value, counts) = Counted::new();
        P::resolve(&at(bench.cx()), value).then(|_, value| value).then(|_, value| drop(value));
        bench.settle();
        assert_eq!((counts.clones(), counts.alive()), (0, 0));
        // Through all that passes it on.
        let (value, counts) = Counted::new();
        P::resolve(&at(bench.cx()), value)
            .catch(|_, _| unreachable!())
            .finally(|_| ())
            .and_then(|cx, value| P::resolve(&at(cx), value))
            .try_then(|_, value| Ok::<_, Error>(value))
            .handle(|_, value| value.map(drop));
        bench.settle();
        assert_eq!((counts.clones(), counts.alive()), (0, 0));
    }

    // spec: PR-8
    #[test]
    fn a_value_is_cloned_for_each_reader_but_the_last() {
        let bench = Bench::new();
        let (value, counts) = Counted::new();
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        for _ in 0..3 {
            promise.then(|_, value: Counted| drop(value));
        }
        drop(promise);
        resolver.resolve(value);
        drop(resolver);
        bench.settle();
        assert_eq!((counts.clones(), counts.alive()), (2, 0));
        // With a handle, anybody might ask for it later.
        let (value, counts) = Counted::new();
        let promise = P::resolve(&at(bench.cx()), value);
        for _ in 0..3 {
            promise.then(|_, value| drop(value));
        }
        bench.settle();
        assert_eq!((counts.clones(), counts.alive()), (3, 1));
        drop(promise);
        assert_eq!((counts.clones(), counts.alive()), (3, 0));
    }

    // spec: PR-8
    #[test]
    fn nobody_reads_a_value_for_a_handler_that_does_not_take_it() {
        let bench = Bench::new();
        let (value, counts) = Counted::new();
        let promise = P::resolve(&at(bench.cx()), value);
        bench.settle();
        assert_eq!((counts.clones(), counts.alive()), (0, 1));
        drop(promise);
        assert_eq!((counts.clones(), counts.alive()), (0, 0));
    }

    // spec: PR-8
    #[test]
    fn closures_are_dropped_when_it_is_known_that_they_are_not_called() {
        let bench = Bench::new();
        let tracker = Tracker::new();
        let (good, resolver) = P::with_resolvers(&at(bench.cx()));
        let (bad, failing) = P::<i32>::with_resolvers(&at(bench.cx()));
        let mut derived = vec![];
        for _ in 0..10 {
            let token = tracker.token();
            derived.push(good.catch(move |_, _| {
                drop(token);
                0
            }));
            let token = tracker.token();
            derived.push(bad.then(move |_, value| {
                drop(token);
                value
            }));
            let token = tracker.token();
            derived.push(good.then(move |_, value: i32| {
                drop(token);
                value
            }));
            let token = tracker.token();
            derived.push(bad.finally(move |_| drop(token)));
        }
        assert_eq!(tracker.alive(), 40);
        resolver.resolve(1);
        failing.reject(Oops(1));
        bench.settle();
        assert_eq!(tracker.alive(), 0);
    }

    // spec: PR-8
    #[test]
    fn values_that_come_too_late_are_dropped_at_once() {
        let bench = Bench::new();
        let tracker = Tracker::new();
        let (promise, resolver) = P::<Arc<Token>>::with_resolvers(&at(bench.cx()));
        assert!(resolver.resolve(Arc::new(tracker.token())));
        assert!(!resolver.resolve(Arc::new(tracker.token())));
        assert!(!resolver.reject(Reason::from_value(tracker.token())));
        assert_eq!(tracker.alive(), 1);
        drop(promise);
        drop(resolver);
        bench.settle();
        assert_eq!(tracker.alive(), 0);
    }

    // spec: PR-8
    #[test]
    fn an_unused_resolver_rejects_when_it_is_dropped() {
        let bench = Bench::new();
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        let direct = outcome(&promise);
        let derived = outcome(&promise.then(|_, value| value).finally(|_| ()));
        let (adopter, adopting) = P::with_resolvers(&at(bench.cx()));
        adopting.adopt(&promise);
        drop(adopting);
        let adopted = outcome(&adopter);
        let combined = outcome(&P::all(&at(bench.cx()), [promise.clone()]));
        bench.settle();
        direct.assert_none();
        drop(resolver);
        assert_eq!(promise.state(), PromiseState::Rejected);
        direct.assert_none();
        bench.settle();
        for outcome in [direct, derived, adopted, combined] {
            outcome.assert("err abandoned");
        }
        // One that nobody looks at is no rejection that anybody forgot.
        drop(P::<i32>::with_resolvers(&at(bench.cx())));
        let (kept, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        drop(resolver);
        bench.settle();
        assert_eq!(kept.state(), PromiseState::Rejected);
        bench.assert_silent();
    }

    // spec: PR-8, PR-2
    #[test]
    fn dropping_a_resolver_that_was_used_changes_nothing() {
        let bench = Bench::new();
        let (inner, last) = P::with_resolvers(&at(bench.cx()));
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        resolver.adopt(&inner);
        drop(resolver);
        let outcome = outcome(&promise);
        bench.settle();
        assert_eq!(promise.state(), PromiseState::Pending);
        last.resolve(1);
        drop(last);
        bench.settle();
        outcome.assert("ok 1");
    }

    // spec: PR-8
    #[test]
    fn the_resolver_alone_keeps_the_handlers() {
        let bench = Bench::new();
        let log = SharedLog::new();
        let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
        let notes = log.clone();
        // Neither this promise nor the derived ones are held by anybody.
        promise.then(move |_, value: i32| value + 1).then(move |_, value| notes.push(value));
        drop(promise);
        bench.settle();
        resolver.resolve(1);
        drop(resolver);
        bench.settle();
        assert_eq!(log.take(), [2]);
    }

    // spec: PR-8
    #[test]
    fn a_pending_promise_dropped_with_its_resolver_releases_everything() {
        let bench = Bench::new();
        let tracker = Tracker::new();
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        let token = tracker.token();
        promise
            .then(move |_, value| {
                drop(token);
                value
            })
            .catch(|_, _| 0);
        let (token, reason) = (tracker.token(), SharedLog::new());
        let seen = reason.clone();
        promise.catch(move |_, reason| {
            drop(token);
            seen.push(promising::describe(reason.as_error()));
            0
        });
        drop(promise);
        drop(resolver);
        bench.settle();
        assert_eq!(tracker.alive(), 0);
        assert_eq!(reason.take(), ["abandoned"]);
        bench.assert_silent();
    }

    // spec: PR-8
    #[test]
    fn a_handler_that_owns_the_resolver_of_its_own_promise_is_released_with_the_loop() {
        let tracker = Tracker::new();
        let mut bench = Bench::new();
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        let token = tracker.token();
        promise.then(move |_, _| drop((resolver, token)));
        drop(promise);
        bench.settle();
        assert_eq!(tracker.alive(), 1);
        bench.drop_loop();
        assert_eq!(tracker.alive(), 0);
    }

    // spec: PR-8
    #[test]
    fn a_chain_of_a_million_links_settles_in_constant_stack() {
        on_a_small_stack(|| {
            let bench = Bench::new();
            for kind in ["fulfilled", "rejected"] {
                let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
                let mut last: P<usize> = promise;
                for _ in 0..MANY {
                    last = last.then(|_, value| value + 1);
                }
                let outcome = outcome(&last);
                drop(last);
                if kind == "fulfilled" {
                    resolver.resolve(0);
                } else {
                    resolver.reject(Oops(1));
                }
                bench.settle();
                let expected = if kind == "fulfilled" { &format!("ok {MANY}") } else { "err oops 1" };
                outcome.assert(expected);
            }
            bench.assert_silent();
        });
    }

    // spec: PR-8
    #[test]
    fn a_chain_of_a_million_links_is_dropped_in_constant_stack() {
        on_a_small_stack(|| {
            let bench = Bench::new();
            let tracker = Tracker::new();
            let (promise, resolver) = P::with_resolvers(&at(bench.cx()));
            let mut last: P<usize> = promise;
            for i in 0..MANY {
                let token = (i % 1_000 == 0).then(|| tracker.token());
                last = last.then(move |_, value| {
                    drop(token);
                    value
                });
            }
            drop(last);
            drop(resolver);
            bench.settle();
            assert_eq!(tracker.alive(), 0);
        });
    }

    // spec: PR-8
    #[test]
    fn a_million_adoptions_in_a_row_settle_in_constant_stack() {
        on_a_small_stack(|| {
            let bench = Bench::new();
            for resolve in [true, false] {
                let (mut last, resolver) = P::<usize>::with_resolvers(&at(bench.cx()));
                for _ in 0..MANY {
                    let (next, adopting) = P::with_resolvers(&at(bench.cx()));
                    assert!(adopting.adopt(&last));
                    last = next;
                }
                // From the one that was adopted first to the last, and the reverse of that.
                bench.settle();
                let outcome = outcome(&last);
                drop(last);
                if resolve {
                    resolver.resolve(5);
                }
                drop(resolver);
                bench.settle();
                outcome.assert(if resolve { "ok 5" } else { "err abandoned" });
            }
        });
    }
}

// spec: PR-4
#[test]
fn a_local_promise_needs_no_send() {
    let bench = Bench::new();
    let value = Rc::new(Cell::new(0));
    let (promise, resolver) = LocalPromise::with_resolvers(bench.cx());
    let seen = Rc::clone(&value);
    let derived = promise.then(move |_, shared: Rc<Cell<i32>>| {
        seen.set(seen.get() + 1);
        Rc::ptr_eq(&seen, &shared)
    });
    let ok = Rc::new(RefCell::new(vec![]));
    let log = Rc::clone(&ok);
    derived.then(move |_, same| log.borrow_mut().push(same));
    resolver.resolve(Rc::clone(&value));
    // A reason that is not `Send` either.
    let reason = Rc::new("reason");
    let (log, same) = (Rc::clone(&ok), Rc::clone(&reason));
    LocalPromise::<()>::reject(bench.cx(), LocalRejection::from_value(Rc::clone(&reason)))
        .catch(move |_, reason| log.borrow_mut().push(Rc::ptr_eq(reason.value().unwrap(), &same)));
    bench.settle();
    assert_eq!(*ok.borrow(), [true, true]);
    assert_eq!(value.get(), 1);
    drop((promise, resolver));
    bench.settle();
    assert_eq!(Rc::strong_count(&value), 1);
}

// spec: PR-4
#[test]
fn a_promise_is_send_and_sync_if_its_value_is_send() {
    fn is_send_and_sync<T: Send + Sync>() {}
    // Not `Sync`.
    is_send_and_sync::<Promise<Cell<i32>>>();
    is_send_and_sync::<Resolver<Cell<i32>>>();
    is_send_and_sync::<Promise<i32>>();
    is_send_and_sync::<Rejection>();
    let bench = Bench::new();
    let log = SharedLog::new();
    let notes = log.clone();
    let promise = Promise::resolve(&bench.handle(), Cell::new(5));
    promise.then(move |_, value| notes.push(value.get()));
    promise.then(|_, value| value.set(6));
    bench.settle();
    assert_eq!(log.take(), [5]);
}

// spec: PR-4
#[test]
fn a_local_promise_is_not_send_nor_sync() {
    // Compiles only if exactly one of the implementations applies.
    trait AmbiguousIfSend<A> {
        fn check() {}
    }
    impl<T: ?Sized> AmbiguousIfSend<()> for T {}
    impl<T: ?Sized + Send> AmbiguousIfSend<u8> for T {}
    trait AmbiguousIfSync<A> {
        fn check() {}
    }
    impl<T: ?Sized> AmbiguousIfSync<()> for T {}
    impl<T: ?Sized + Sync> AmbiguousIfSync<u8> for T {}
    <LocalPromise<i32> as AmbiguousIfSend<_>>::check();
    <LocalResolver<i32> as AmbiguousIfSend<_>>::check();
    <LocalRejection as AmbiguousIfSend<_>>::check();
    <LocalPromise<i32> as AmbiguousIfSync<_>>::check();
    <LocalResolver<i32> as AmbiguousIfSync<_>>::check();
    <Promise<Rc<i32>> as AmbiguousIfSend<_>>::check();
    <Promise<Rc<i32>> as AmbiguousIfSync<_>>::check();
}

// spec: PR-4
#[test]
fn a_shared_promise_becomes_local_and_the_reverse() {
    use promising::{local, shared};
    let bench = Bench::new();
    let (promise, resolver) = Promise::with_resolvers(&bench.handle());
    let (failing, failing_resolver) = Promise::<i32>::with_resolvers(&bench.handle());
    let outcomes = [
        local::outcome(&promise.to_local(bench.cx())),
        local::outcome(&failing.to_local(bench.cx())),
    ];
    thread::spawn(move || {
        resolver.resolve(1);
        failing_resolver.reject(Oops(2));
    })
    .join()
    .unwrap();
    bench.settle();
    outcomes[0].assert("ok 1");
    outcomes[1].assert("err oops 2");

    let (promise, resolver) = LocalPromise::with_resolvers(bench.cx());
    let (failing, failing_resolver) = LocalPromise::<i32>::with_resolvers(bench.cx());
    let (foreign, foreign_resolver) = LocalPromise::<i32>::with_resolvers(bench.cx());
    let outcomes =
        [&promise, &failing, &foreign].map(|promise| shared::outcome(&promise.to_shared()));
    resolver.resolve(1);
    // The reason of the tests is `Send`, but a local rejection does not know.
    failing_resolver.reject(Rejection::new(Oops(2)));
    foreign_resolver.reject(LocalRejection::from_value("text"));
    bench.settle();
    outcomes[0].assert("ok 1");
    outcomes[1].assert("err oops 2");
    outcomes[2].assert("err text");
    bench.assert_silent();

    // A reason that can be sent is the very same on the other side.
    let reason = Rejection::new(Oops(3));
    let expected = reason.clone();
    let ok = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ok);
    Promise::<i32>::reject(&bench.handle(), reason).to_local(bench.cx()).to_shared().catch(
        move |_, reason| {
            seen.store(reason.ptr_eq(&expected), Ordering::SeqCst);
            0
        },
    );
    bench.settle();
    assert!(ok.load(Ordering::SeqCst));
    bench.assert_silent();
}

// spec: SH-3, SH-5
#[test]
fn a_promise_of_another_loop_can_be_adopted() {
    let one = Bench::new();
    let other = common::builder().build().unwrap();
    let (inner, resolver) = Promise::with_resolvers(&other.handle());
    let (outer, outer_resolver) = Promise::with_resolvers(&one.handle());
    assert!(outer_resolver.adopt(&inner));
    let outcome = promising::shared::outcome(&outer);
    one.settle();
    turn_until_quiet(&other);
    resolver.resolve(5);
    // One after the other, as both are on this thread.
    for _ in 0..5 {
        turn_until_quiet(&other);
        one.settle();
    }
    outcome.assert("ok 5");
}

// spec: PR-1
#[test]
fn handlers_are_given_the_context_of_their_loop() {
    fn state(handle: &Handle, cx: &Cx) -> bool {
        handle.state() == cx.state() && mainspring::current().is_ok()
    }
    let bench = Bench::new();
    let handle = bench.handle();
    let outcome = promising::shared::outcome(
        &Promise::resolve(&handle.clone(), ()).then(move |cx, ()| state(&handle, cx)),
    );
    bench.settle();
    outcome.assert("ok true");
}
