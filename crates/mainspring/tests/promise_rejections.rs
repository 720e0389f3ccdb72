//! Which rejections are reported as unhandled, when, and how often.

mod common;
#[path = "common/promises.rs"]
mod promising;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::wakers::CountingWaker;
use common::{Kind, SharedLog, panic_of};
use mainspring::{Cx, Error, LocalPromise, PanicPolicy, Promise, PromiseId, PromiseState};
use promising::{Bench, Oops, PATIENCE, describe, poll};

/// Notes a text among the reports.
fn note(reports: &SharedLog<String>, text: &str) -> impl FnOnce(&Cx) + Send + 'static {
    let (reports, text) = (reports.clone(), text.to_owned());
    move |_| reports.push(text)
}

flavours! {
    // spec: PR-7, F-29
    #[test]
    fn an_unhandled_rejection_is_reported_once_at_the_end_of_the_checkpoint() {
        for kind in Kind::ALL {
            let bench = Bench::new();
            let reports = bench.reports.clone();
            let kept = Arc::new(Mutex::new(None));
            let slot = Arc::clone(&kept);
            kind.queue(bench.cx(), move |cx| {
                let promise = P::<i32>::reject(&at(cx), Oops(1));
                let later = reports.clone();
                cx.queue_microtask(move |cx| {
                    later.push("microtask".to_owned());
                    cx.next_tick(note(&later, "next tick"));
                });
                reports.push("callback".to_owned());
                slot.lock().unwrap().replace(promise);
            });
            if !matches!(kind, Kind::NextTick | Kind::Microtask) {
                kind.queue(bench.cx(), note(&bench.reports, "next"));
            }
            bench.settle();
            bench.settle();
            let mut expected = vec!["callback", "microtask", "next tick", "unhandled oops 1"];
            if !matches!(kind, Kind::NextTick | Kind::Microtask) {
                expected.push("next");
            }
            assert_eq!(bench.reports.take(), expected, "{kind:?}");
            let promise = kept.lock().unwrap().take().unwrap();
            assert_eq!(bench.unhandled.take(), [promise.id()]);
        }
    }

    // spec: PR-7
    #[test]
    fn a_rejection_outside_of_any_callback_is_reported_in_the_next_tick() {
        let bench = Bench::new();
        let promise = P::<i32>::reject(&at(bench.cx()), Oops(1));
        let (other, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        resolver.reject(Oops(2));
        bench.assert_silent();
        bench.turn(Duration::ZERO).unwrap();
        assert_eq!(bench.reports.take(), ["unhandled oops 1", "unhandled oops 2"]);
        bench.settle();
        bench.assert_silent();
        assert_eq!(bench.unhandled.take(), [promise.id(), other.id()]);
    }

    // spec: PR-7, F-29
    #[test]
    fn a_handler_attached_in_the_same_checkpoint_suppresses_the_report() {
        let bench = Bench::new();
        bench.task(|cx| {
            let promise = P::<i32>::reject(&at(cx), Oops(1));
            // Long after, but in the same checkpoint.
            fn later<F: FnOnce(&Cx) + 'static>(cx: &Cx, hops: u32, f: F) {
                cx.queue_microtask(move |cx| match hops {
                    0 => f(cx),
                    _ if hops.is_multiple_of(3) => cx.next_tick(move |cx| later(cx, hops - 1, f)),
                    _ => later(cx, hops - 1, f),
                });
            }
            later(cx, 100, move |_| _ = promise.catch(|_, _| 0));
        });
        bench.assert_silent();
    }

    // spec: PR-7, F-29
    #[test]
    fn handled_rejections_are_never_reported() {
        let bench = Bench::new();
        let cx = bench.cx();
        let bad = || P::<i32>::reject(&at(cx), Oops(1));
        bad().catch(|_, _| 0);
        bad().try_catch(|_, _| Ok::<_, Oops>(0));
        bad().or_else(|cx, _| P::resolve(&at(cx), 0));
        bad().handle(|_, _| Ok::<_, Oops>(0));
        bad().then(|_, value| value).catch(|_, _| 0);
        bad().finally(|_| ()).catch(|_, _| 0);
        bad().then(|_, value| value).finally(|_| ()).then(|_, value| value).catch(|_, _| 0);
        // Handlers that were there before it was rejected.
        let (promise, resolver) = P::<i32>::with_resolvers(&at(cx));
        promise.catch(|_, _| 0);
        resolver.reject(Oops(1));
        bench.settle();
        let (promise, resolver) = P::<i32>::with_resolvers(&at(cx));
        promise.then(|_, value| value).catch(|_, _| 0);
        bench.settle();
        resolver.reject(Oops(1));
        bench.settle();
        // Another handler of one that was handled.
        promise.catch(|_, _| 0);
        bench.settle();
        bench.assert_silent();
    }

    // spec: PR-7, F-29
    #[test]
    fn a_then_without_a_rejection_handler_is_none() {
        let bench = Bench::new();
        let promise = P::<i32>::reject(&at(bench.cx()), Oops(1));
        let derived = promise.then(|_, value| value);
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 1"]);
        assert_eq!(bench.unhandled.take(), [derived.id()]);
        // Down a chain it is the last one.
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        let last = promise
            .then(|_, value| value)
            .try_then(|_, value| Ok::<_, Error>(value))
            .and_then(|cx, value| P::resolve(&at(cx), value))
            .finally(|_| ())
            .then(|_, value| value);
        bench.settle();
        resolver.reject(Oops(2));
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 2"]);
        assert_eq!(bench.unhandled.take(), [last.id()]);
    }

    // spec: PR-7, F-29
    #[test]
    fn each_branch_is_reported_for_itself() {
        let bench = Bench::new();
        let promise = P::<i32>::reject(&at(bench.cx()), Oops(1));
        let branches = [
            promise.then(|_, value| value),
            promise.finally(|_| ()),
            promise.then(|_, value| value),
        ];
        promise.catch(|_, _| 0);
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 1"; 3]);
        // `finally` takes longer.
        let expected = [branches[0].id(), branches[2].id(), branches[1].id()];
        assert_eq!(bench.unhandled.take(), expected);
    }

    // spec: PR-7, F-29
    #[test]
    fn reports_come_in_the_order_of_the_rejections() {
        let bench = Bench::new();
        let (promises, resolvers): (Vec<_>, Vec<_>) =
            (0..10).map(|_| P::<i32>::with_resolvers(&at(bench.cx()))).unzip();
        for i in [3, 1, 4, 5, 9, 2, 6, 8, 7, 0] {
            resolvers[i].reject(Oops(i as i32));
        }
        // Handled in time, in the middle.
        promises[5].catch(|_, _| 0);
        promises[0].catch(|_, _| 0);
        promises[3].catch(|_, _| 0);
        bench.settle();
        let expected: Vec<_> =
            [1, 4, 9, 2, 6, 8, 7].iter().map(|i| format!("unhandled oops {i}")).collect();
        assert_eq!(bench.reports.take(), expected);
    }

    // spec: PR-7, F-29
    #[test]
    fn ten_thousand_are_all_reported_once() {
        let bench = Bench::new();
        let mut expected = vec![];
        let mut promises = vec![];
        for i in 0..10_000 {
            let promise = P::<i32>::reject(&at(bench.cx()), Oops(i));
            if i % 3 == 0 {
                promise.catch(|_, _| 0);
            } else {
                expected.push(promise.id());
            }
            promises.push(promise);
        }
        bench.settle();
        bench.settle();
        assert_eq!(bench.unhandled.take(), expected);
        for promise in &promises {
            promise.catch(|_, _| 0);
        }
        bench.settle();
        let mut handled = bench.handled.take();
        handled.sort_by_key(|id| expected.iter().position(|other| other == id));
        assert_eq!(handled, expected);
    }

    // spec: PR-7
    #[test]
    fn a_late_handler_is_reported_once_with_the_same_id() {
        let bench = Bench::new();
        let promise = P::<i32>::reject(&at(bench.cx()), Oops(1));
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 1"]);
        bench.assert_silent();
        let outcome = outcome(&promise);
        bench.settle();
        outcome.assert("err oops 1");
        assert_eq!(bench.reports.take(), ["handled"]);
        assert_eq!(bench.handled.take(), bench.unhandled.take());
        promise.catch(|_, _| 0);
        bench.settle();
        bench.assert_silent();
    }

    // spec: PR-7, F-29
    #[test]
    fn a_late_then_handles_the_first_and_leaves_the_derived_one() {
        let bench = Bench::new();
        let promise = P::<i32>::reject(&at(bench.cx()), Oops(1));
        bench.settle();
        bench.reports.take();
        bench.unhandled.take();
        let derived = promise.then(|_, value| value);
        bench.settle();
        let mut reports = bench.reports.take();
        reports.sort();
        assert_eq!(reports, ["handled", "unhandled oops 1"]);
        assert_eq!(bench.handled.take(), [promise.id()]);
        assert_eq!(bench.unhandled.take(), [derived.id()]);
    }

    // spec: PR-7, F-29
    #[test]
    fn a_promise_that_is_gone_is_reported_all_the_same() {
        let bench = Bench::new();
        drop(P::<i32>::reject(&at(bench.cx()), Oops(1)));
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        drop(promise);
        resolver.reject(Oops(2));
        drop(resolver);
        P::resolve(&at(bench.cx()), 1).try_then(|_, _| Err::<(), _>(Oops(3)));
        bench.settle();
        let expected = ["unhandled oops 1", "unhandled oops 2", "unhandled oops 3"];
        assert_eq!(bench.reports.take(), expected);
    }

    // spec: PR-2, PR-7, F-29
    #[test]
    fn adoption_passes_the_duty_on() {
        let bench = Bench::new();
        let inner = P::<i32>::reject(&at(bench.cx()), Oops(1));
        let (outer, resolver) = P::with_resolvers(&at(bench.cx()));
        resolver.adopt(&inner);
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 1"]);
        assert_eq!(bench.unhandled.take(), [outer.id()]);
        // Too late is too late for both.
        let inner = P::<i32>::reject(&at(bench.cx()), Oops(2));
        let (outer, resolver) = P::with_resolvers(&at(bench.cx()));
        outer.catch(|_, _| 0);
        bench.settle();
        assert_eq!(bench.unhandled.take(), [inner.id()]);
        resolver.adopt(&inner);
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 2", "handled"]);
        assert_eq!(bench.handled.take(), [inner.id()]);
    }

    // spec: PR-7, PR-2
    #[test]
    fn a_cycle_is_reported_like_any_rejection() {
        let bench = Bench::new();
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        resolver.adopt(&promise);
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled cycle"]);
    }

    // spec: PR-7, FA-1, F-29
    #[test]
    fn a_panic_is_reported_once() {
        let bench = Bench::new();
        // The hook for panics was told of this one.
        P::resolve(&at(bench.cx()), 1).then(|_, _| panic!("oh")).then(|_, ()| ());
        // But not of this one.
        P::try_(&at(bench.cx()), || -> Result<i32, Oops> { panic!("at once") });
        bench.settle();
        assert_eq!(bench.reports.take(), ["uncaught microtasks oh", "unhandled panic at once"]);
    }

    // spec: PR-7, MT-3, F-29
    #[test]
    fn a_breach_of_the_budget_does_not_end_the_checkpoint_for_rejections() {
        let bench = Bench::with(|builder| builder.microtask_budget(5));
        let reports = bench.reports.clone();
        bench
            .cx()
            .submit(move |cx| {
                let (handled, unhandled) =
                    (P::<i32>::reject(&at(cx), Oops(1)), P::<i32>::reject(&at(cx), Oops(2)));
                for i in 0..23 {
                    cx.queue_microtask(note(&reports, &i.to_string()));
                }
                let reports = reports.clone();
                cx.queue_microtask(move |_| {
                    reports.push("last".to_owned());
                    handled.catch(|_, _| 0);
                    drop(unhandled);
                });
            })
            .unwrap();
        bench.settle();
        let mut expected: Vec<_> = (0..23).map(|i| i.to_string()).collect();
        expected.extend(["last".to_owned(), "unhandled oops 2".to_owned()]);
        assert_eq!(bench.reports.take(), expected);
    }

    // spec: PR-7, FA-2
    #[test]
    fn without_hooks_nothing_happens() {
        for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
            let bench = Bench::of(common::builder().panic_policy(policy).build().unwrap());
            let promise = P::<i32>::reject(&at(bench.cx()), Oops(1));
            bench.settle();
            let outcome = outcome(&promise);
            bench.settle();
            outcome.assert("err oops 1");
            assert_eq!(promise.state(), PromiseState::Rejected);
        }
    }

    // spec: PR-7, FA-2
    #[test]
    fn a_hook_that_panics_does_not_keep_the_others_from_being_reported() {
        let log = SharedLog::new();
        let (told, uncaught, handled) = (log.clone(), log.clone(), log.clone());
        let bench = Bench::of(
            common::builder()
                .on_unhandled_rejection(move |_, rejection| {
                    let text = describe(rejection.reason().as_error());
                    told.push(text.clone());
                    assert!(text != "oops 1", "the hook");
                })
                .on_rejection_handled(move |_, _| {
                    handled.push("handled".to_owned());
                    panic!("the other hook");
                })
                .on_uncaught(move |_, panic| uncaught.push(panic.message().unwrap().to_owned()))
                .build()
                .unwrap(),
        );
        let promises: Vec<_> = (0..3).map(|i| P::<i32>::reject(&at(bench.cx()), Oops(i))).collect();
        bench.cx().submit(note(&log, "task")).unwrap();
        bench.settle();
        assert_eq!(log.take(), ["oops 0", "oops 1", "the hook", "oops 2", "task"]);
        for promise in &promises {
            promise.catch(|_, _| 0);
        }
        bench.settle();
        assert_eq!(log.take(), ["handled", "the other hook"].repeat(3));
        // The hooks are still there.
        let promise = P::<i32>::reject(&at(bench.cx()), Oops(1));
        bench.settle();
        promise.catch(|_, _| 0);
        bench.settle();
        assert_eq!(log.take(), ["oops 1", "the hook", "handled", "the other hook"]);
    }

    // spec: PR-7, FA-3
    #[test]
    fn under_propagate_a_panicking_hook_loses_no_report() {
        let log = SharedLog::new();
        let told = log.clone();
        let bench = Bench::of(
            common::builder()
                .panic_policy(PanicPolicy::Propagate)
                .on_unhandled_rejection(move |_, rejection| {
                    told.push(describe(rejection.reason().as_error()));
                    panic!("the hook");
                })
                .build()
                .unwrap(),
        );
        for i in 0..3 {
            drop(P::<i32>::reject(&at(bench.cx()), Oops(i)));
        }
        for _ in 0..10 {
            if let Some(text) = panic_of(|| bench.run_until_idle().unwrap()) {
                assert_eq!(text, "the hook");
            }
        }
        assert_eq!(log.take(), ["oops 0", "oops 1", "oops 2"]);
    }

    // spec: PR-7
    #[test]
    fn a_hook_may_use_promises() {
        let log = SharedLog::new();
        let (told, handled) = (log.clone(), log.clone());
        let promise = Rc::new(Cell::new(None::<P<i32>>));
        let reported = Rc::clone(&promise);
        let bench = Bench::of(
            common::builder()
                .on_unhandled_rejection(move |cx, rejection| {
                    let text = describe(rejection.reason().as_error());
                    told.push(text.clone());
                    if text == "oops 1" {
                        // Handles it too late, rejects others, and queues microtasks.
                        let promise = reported.take().unwrap();
                        let notes = told.clone();
                        promise.catch(move |_, _| {
                            notes.push("catch".to_owned());
                            0
                        });
                        drop(P::<i32>::reject(&at(cx), Oops(2)));
                        P::<i32>::reject(&at(cx), Oops(3)).catch(|_, _| 0);
                        let notes = told.clone();
                        P::resolve(&at(cx), 5).then(move |_, _| notes.push("then".to_owned()));
                    }
                })
                .on_rejection_handled(move |_, _| handled.push("handled".to_owned()))
                .build()
                .unwrap(),
        );
        promise.set(Some(P::reject(&at(bench.cx()), Oops(1))));
        bench.settle();
        let mut log = log.take();
        assert_eq!(log.remove(0), "oops 1");
        log.sort();
        assert_eq!(log, ["catch", "handled", "oops 2", "then"]);
    }

    // spec: PR-7, F-29
    #[test]
    fn a_future_handles_what_it_is_polled_for() {
        let bench = Bench::new();
        let (_, waker) = CountingWaker::new();
        // Polled while it was pending.
        let (promise, resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        let mut future = promise.clone();
        assert!(poll(&mut future, &waker).is_pending());
        resolver.reject(Oops(1));
        bench.settle();
        let Poll::Ready(result) = poll(&mut future, &waker) else { panic!("still pending") };
        assert_eq!(show(&result), "err oops 1");
        bench.settle();
        // Polled after it was rejected, but in time.
        let mut future = P::<i32>::reject(&at(bench.cx()), Oops(1));
        let _ = poll(&mut future, &waker);
        bench.settle();
        let Poll::Ready(result) = poll(&mut future, &waker) else { panic!("still pending") };
        assert_eq!(show(&result), "err oops 1");
        bench.settle();
        bench.assert_silent();
        // Too late.
        let mut future = P::<i32>::reject(&at(bench.cx()), Oops(2));
        bench.settle();
        let _ = poll(&mut future, &waker);
        bench.settle();
        let Poll::Ready(result) = poll(&mut future, &waker) else { panic!("still pending") };
        assert_eq!(show(&result), "err oops 2");
        bench.settle();
        assert_eq!(bench.reports.take(), ["unhandled oops 2", "handled"]);
    }

    // spec: PR-7, F-29
    #[test]
    fn new_promises_are_not_taken_for_those_that_were_reported() {
        let bench = Bench::new();
        for round in 0..100 {
            drop(P::<i32>::reject(&at(bench.cx()), Oops(round)));
            bench.settle();
            // Some of these may get the memory, or the number, of the one that is gone.
            for i in 0..50 {
                let promise = P::<i32>::reject(&at(bench.cx()), Oops(i));
                promise.catch(|_, _| 0);
                P::resolve(&at(bench.cx()), 1).then(|_, value| value);
            }
            bench.settle();
            assert_eq!(bench.reports.take(), [format!("unhandled oops {round}")]);
        }
    }

    // spec: PR-7
    #[test]
    fn the_reason_that_is_reported_is_the_very_same() {
        let seen = Rc::new(Cell::new(false));
        let reason = Reason::new(Oops(1));
        let (same, expected) = (Rc::clone(&seen), mainspring::LocalRejection::from(reason.clone()));
        let bench = Bench::of(
            common::builder()
                .on_unhandled_rejection(move |_, rejection| {
                    assert_eq!(rejection.reason().downcast_ref(), Some(&Oops(1)));
                    same.set(rejection.reason().ptr_eq(&expected));
                })
                .build()
                .unwrap(),
        );
        drop(P::<i32>::reject(&at(bench.cx()), reason).then(|_, value| value));
        bench.settle();
        assert!(seen.get());
    }
}

// spec: PR-7, PR-4, F-29
#[test]
fn a_rejection_on_another_thread_is_reported_once() {
    let bench = Bench::new();
    let handle = bench.handle();
    let ids: Vec<PromiseId> = thread::spawn(move || {
        let promise = Promise::<i32>::reject(&handle, Oops(1));
        let (other, resolver) = Promise::<i32>::with_resolvers(&handle);
        resolver.reject(Oops(2));
        let (handled, resolver) = Promise::<i32>::with_resolvers(&handle);
        handled.catch(|_, _| 0);
        resolver.reject(Oops(3));
        let derived = Promise::<i32>::reject(&handle, Oops(4)).then(|_, value| value);
        vec![promise.id(), other.id(), derived.id()]
    })
    .join()
    .unwrap();
    bench.assert_silent();
    bench.settle();
    bench.settle();
    assert_eq!(bench.reports.take(), ["unhandled oops 1", "unhandled oops 2", "unhandled oops 4"]);
    assert_eq!(bench.unhandled.take(), ids);
}

// spec: PR-7, PR-4, F-29
#[test]
fn a_handler_attached_by_another_thread_in_time_suppresses_the_report() {
    let bench = Bench::new();
    bench.task(|cx| {
        let promise = Promise::<i32>::reject(&cx.handle(), Oops(1));
        thread::spawn(move || _ = promise.catch(|_, _| 0)).join().unwrap();
        // Rejected there, handled here.
        let handle = cx.handle();
        let promise =
            thread::spawn(move || Promise::<i32>::reject(&handle, Oops(2))).join().unwrap();
        cx.queue_microtask(move |_| _ = promise.catch(|_, _| 0));
    });
    bench.assert_silent();
}

// spec: PR-7, PR-4
#[test]
fn a_late_handler_of_another_thread_is_reported_once_on_the_thread_of_the_loop() {
    let home = thread::current().id();
    let log = SharedLog::new();
    let (reported, handled) = (log.clone(), log.clone());
    let bench = Bench::of(
        common::builder()
            .on_unhandled_rejection(move |_, _| reported.push(thread::current().id() == home))
            .on_rejection_handled(move |_, _| handled.push(thread::current().id() == home))
            .build()
            .unwrap(),
    );
    let handle = bench.handle();
    let promise = thread::spawn(move || Promise::<i32>::reject(&handle, Oops(1))).join().unwrap();
    bench.settle();
    assert_eq!(log.take(), [true]);
    thread::spawn(move || {
        promise.catch(|_, _| 0);
        promise.catch(|_, _| 0);
    })
    .join()
    .unwrap();
    bench.settle();
    assert_eq!(log.take(), [true]);
}

// spec: PR-6, PR-7, F-29
#[test]
fn a_channel_and_a_waiter_handle_a_rejection() {
    let bench = Bench::new();
    // A channel that was there before, and one that comes in time.
    let (promise, resolver) = Promise::<i32>::with_resolvers(&bench.handle());
    let receiver = promise.to_channel();
    resolver.reject(Oops(1));
    bench.settle();
    assert!(receiver.recv_timeout(PATIENCE).unwrap().is_err());
    let receiver = Promise::<i32>::reject(&bench.handle(), Oops(1)).to_channel();
    bench.settle();
    assert!(receiver.recv_timeout(PATIENCE).unwrap().is_err());
    bench.assert_silent();
    // One that nobody listens to any more was still asked for.
    let (promise, resolver) = Promise::<i32>::with_resolvers(&bench.handle());
    drop(promise.to_channel());
    resolver.reject(Oops(1));
    bench.settle();
    bench.assert_silent();
    // A waiter of a promise that was rejected before, in time.
    bench.task(|cx| {
        let promise = Promise::<i32>::reject(&cx.handle(), Oops(1));
        // It need not be long: to ask is what counts.
        let _ = thread::spawn(move || promise.wait(Duration::ZERO)).join().unwrap();
    });
    bench.assert_silent();
    // Too late.
    let promise = Promise::<i32>::reject(&bench.handle(), Oops(2));
    bench.settle();
    assert_eq!(bench.reports.take(), ["unhandled oops 2"]);
    let receiver = promise.to_channel();
    bench.settle();
    assert!(receiver.recv_timeout(PATIENCE).unwrap().is_err());
    assert_eq!(bench.reports.take(), ["handled"]);
}

// spec: PR-7, F-29
#[test]
fn converting_a_promise_passes_the_duty_on() {
    let bench = Bench::new();
    let local = Promise::<i32>::reject(&bench.handle(), Oops(1)).to_local(bench.cx());
    let shared = LocalPromise::<i32>::reject(bench.cx(), Oops(2)).to_shared();
    bench.settle();
    let mut reports = bench.reports.take();
    reports.sort();
    assert_eq!(reports, ["unhandled oops 1", "unhandled oops 2"]);
    local.catch(|_, _| 0);
    shared.catch(|_, _| 0);
    bench.settle();
    assert_eq!(bench.reports.take(), ["handled", "handled"]);
}

// spec: PR-7, PR-4, F-29
#[test]
fn threads_that_reject_and_handle_at_the_same_time_are_reported_consistently() {
    // Whatever the race gives: reported once or never, and `handled` exactly for those that were reported.
    let bench = Bench::new();
    let handle = bench.handle();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let handle = handle.clone();
            thread::spawn(move || {
                for i in 0..2_000 {
                    let (promise, resolver) = Promise::<i32>::with_resolvers(&handle);
                    resolver.reject(Oops(i));
                    if i % 2 == 0 {
                        thread::yield_now();
                    }
                    promise.catch(|_, _| 0);
                }
            })
        })
        .collect();
    while workers.iter().any(|worker| !worker.is_finished()) {
        bench.turn(Duration::ZERO).unwrap();
    }
    for worker in workers {
        worker.join().unwrap();
    }
    bench.settle();
    let (mut unhandled, mut handled) = (bench.unhandled.take(), bench.handled.take());
    let count = unhandled.len();
    let key = |id: &PromiseId| format!("{id:?}");
    unhandled.sort_by_key(key);
    handled.sort_by_key(key);
    assert_eq!(handled, unhandled, "{count} of 6000");
}
