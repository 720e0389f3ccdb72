//! Defects of promises that were there once, and must not come back.

mod common;
#[path = "common/promises.rs"]
mod promising;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::wakers::CountingWaker;
use common::{OnDrop, SharedLog, Tracker, must_return, panic_of, wait_until};
use mainspring::{
    Cx, Deadline, Diagnostic, LocalPromise, LoopState, Panicked, Promise, PromiseState, Shutdown,
    WaitError,
};
use promising::{Bench, Oops, PATIENCE, describe, poll};

/// More often than anything is done that is to have an end.
const FOR_EVER: usize = 1_000_000;

flavours! {
    // What settled because an earlier promise did was looked up in a table that was gone, and the process was
    // aborted by a recursion without end.
    // spec: RG-4, F-28
    #[test]
    fn a_promise_that_ends_because_an_earlier_one_does_ends_once() {
        for is_driven in [false, true] {
            let mut bench = Bench::new();
            let (first, _resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
            let all = P::all(&at(bench.cx()), [first.clone()]);
            let of_all = P::all(&at(bench.cx()), [first.clone()]).then(|_, values| values.len());
            let (adopter, adopting) = P::with_resolvers(&at(bench.cx()));
            adopting.adopt(&first);
            let of_adopter = adopter.then(|_, value| value);
            drop((adopter, first));
            if is_driven {
                bench.settle();
            }
            bench.drop_loop();
            for state in [all.state(), of_all.state(), of_adopter.state()] {
                assert_eq!(state, PromiseState::Rejected);
            }
            bench.assert_silent();
        }
    }

    // They kept each other alive, and as neither was listed, the end of the loop did not reach them.
    // spec: RG-4, PR-8, F-28
    #[test]
    fn derived_promises_that_follow_each_other_end_with_the_loop_and_are_freed() {
        let mut bench = Bench::new();
        let tracker = Tracker::new();
        let slot = Arc::new(Mutex::new(None::<P<i32>>));
        let later = Arc::clone(&slot);
        let one = P::resolve(&at(bench.cx()), 1)
            .and_then(move |_, _| later.lock().unwrap().take().unwrap());
        let back = one.clone();
        let two = P::resolve(&at(bench.cx()), 1).and_then(move |_, _| back);
        slot.lock().unwrap().replace(two.clone());
        let token = tracker.token();
        one.then(move |_, _| drop(token));
        bench.settle();
        assert_eq!((one.state(), two.state()), (PromiseState::Pending, PromiseState::Pending));
        drop(two);
        bench.drop_loop();
        assert_eq!(one.state(), PromiseState::Rejected);
        assert_eq!(tracker.alive(), 0);
    }

    // The checkpoint went on for as long as the hook left one more rejection.
    // spec: PR-7, MT-3
    #[test]
    fn a_hook_that_leaves_rejections_does_not_starve_timers() {
        let calls = Rc::new(Cell::new(0));
        let count = Rc::clone(&calls);
        let event_loop = common::builder()
            .on_unhandled_rejection(move |cx, _| {
                count.set(count.get() + 1);
                if count.get() < FOR_EVER {
                    drop(P::<()>::reject(&at(cx), Oops(1)));
                }
            })
            .build()
            .unwrap();
        let bench = Bench::of(event_loop);
        drop(P::<()>::reject(&at(bench.cx()), Oops(1)));
        bench.cx().set_timeout(Duration::from_millis(1), |cx| cx.close()).unwrap();
        bench.run().unwrap();
        assert!(calls.get() < FOR_EVER, "the timer came last");
    }

    // The same, for what is to stop the loop.
    // spec: PR-7, TK-7, F-32
    #[test]
    fn a_hook_that_leaves_rejections_can_be_stopped() {
        let calls = Rc::new(Cell::new(0));
        let asked = Rc::new(Cell::new(0));
        let (count, stop) = (Rc::clone(&calls), Rc::clone(&asked));
        let event_loop = common::builder()
            .on_unhandled_rejection(move |cx, _| {
                count.set(count.get() + 1);
                // The shutdown that follows runs everything there is.
                if stop.get() < 3 && count.get() < FOR_EVER {
                    drop(P::<()>::reject(&at(cx), Oops(1)));
                }
            })
            .build()
            .unwrap();
        let bench = Bench::of(event_loop);
        drop(P::<()>::reject(&at(bench.cx()), Oops(1)));
        bench
            .run_until_aborted(move || {
                asked.set(asked.get() + 1);
                asked.get() == 3
            })
            .unwrap();
        assert!(calls.get() < FOR_EVER, "nobody asked");
    }

    // A handler of a race of nothing waits for as long as somebody has the race, and not longer.
    // spec: PR-3, PR-8
    #[test]
    fn what_was_derived_from_a_race_of_none_is_rejected_when_the_race_is_gone() {
        let bench = Bench::new();
        let race = P::<i32>::race(&at(bench.cx()), []);
        let derived = race.then(|_, value| value);
        let outcome = outcome(&derived);
        bench.settle();
        outcome.assert_none();
        drop(race);
        bench.settle();
        outcome.assert("err abandoned");
    }

    // All wakers that a promise was ever polled with were kept until it settled.
    // spec: PR-5
    #[test]
    fn only_the_last_waker_is_kept() {
        let bench = Bench::new();
        let (mut promise, _resolver) = P::<i32>::with_resolvers(&at(bench.cx()));
        let wakers: Vec<_> = (0..1_000).map(|_| CountingWaker::new().0).collect();
        for waker in &wakers {
            assert!(poll(&mut promise, &Waker::from(Arc::clone(waker))).is_pending());
        }
        let kept = wakers.iter().filter(|waker| Arc::strong_count(waker) > 1).count();
        assert_eq!(kept, 1);
    }

    // A report did not count as something that the turn had done.
    // spec: PR-7
    #[test]
    fn a_turn_that_reports_a_rejection_does_not_block() {
        let bench = Bench::new();
        drop(P::<()>::reject(&at(bench.cx()), Oops(1)));
        let start = Instant::now();
        bench.turn(PATIENCE).unwrap();
        assert!(start.elapsed() < PATIENCE / 2);
        assert_eq!(bench.reports.take(), ["unhandled oops 1"]);
    }

    // A rejection was counted as a callback, though it was handled.
    // spec: PR-7
    #[test]
    fn a_rejection_that_was_handled_is_not_pending_beside_its_handler() {
        let bench = Bench::new();
        bench.turn(Duration::ZERO).unwrap();
        let promise = P::<()>::reject(&at(bench.cx()), Oops(1));
        promise.catch(|_, _| ());
        assert_eq!(bench.handle().pending(), 1);
    }

    // Reports waited for the end of the microtasks, and so did the memory of the promises.
    // spec: PR-7, MT-3, F-29
    #[test]
    fn a_rejection_is_reported_in_spite_of_microtasks_without_end() {
        fn again(cx: &Cx) {
            cx.queue_microtask(again);
        }
        let bench = Bench::with(|builder| builder.microtask_budget(100).on_diagnostic(|_, _| ()));
        again(bench.cx());
        drop(P::<()>::reject(&at(bench.cx()), Oops(1)));
        for _ in 0..100 {
            bench.turn(Duration::ZERO).unwrap();
        }
        assert_eq!(bench.reports.take(), ["unhandled oops 1"]);
    }

    // They came in the order of their occurrence; those of shared promises a tick late.
    // spec: PR-7
    #[test]
    fn a_late_handler_is_reported_before_new_rejections_as_in_node() {
        let bench = Bench::new();
        let late = P::<()>::reject(&at(bench.cx()), Oops(1));
        bench.settle();
        bench
            .cx()
            .submit(move |cx| {
                drop(P::<()>::reject(&at(cx), Oops(2)));
                late.catch(|_, _| ());
            })
            .unwrap();
        bench.turn(Duration::ZERO).unwrap();
        assert_eq!(bench.reports.take(), ["unhandled oops 1", "handled", "unhandled oops 2"]);
    }

    // A rejection that is in the queue was taken for work that the budget had put off.
    // spec: PR-7, MT-3
    #[test]
    fn a_budget_that_just_suffices_is_not_breached_by_a_rejection() {
        let diagnostics = SharedLog::new();
        let log = diagnostics.clone();
        let bench = Bench::with(move |builder| {
            builder.microtask_budget(10).on_diagnostic(move |_, diagnostic| {
                if let Diagnostic::MicrotaskBudget { pending, .. } = diagnostic {
                    log.push(pending);
                }
            })
        });
        bench.task(|cx| {
            let promise = P::<()>::reject(&at(cx), Oops(1));
            promise.catch(|_, _| ());
            for _ in 0..9 {
                cx.queue_microtask(|_| ());
            }
        });
        assert!(!diagnostics.take().contains(&0), "nothing is pending");
        bench.assert_silent();
    }
}

// Only the promise of the other loop could settle it.
// spec: RG-4, F-28
#[test]
fn a_promise_that_follows_one_of_another_loop_ends_with_its_own() {
    let other = Bench::new();
    let (foreign, _resolver) = Promise::<i32>::with_resolvers(&other.handle());
    let mut bench = Bench::new();
    let mut derived = Promise::resolve(&bench.handle(), 1).and_then(move |_, _| foreign);
    bench.settle();
    let (woken, waker) = CountingWaker::new();
    assert!(poll(&mut derived, &waker).is_pending());
    bench.drop_loop();
    assert_eq!(woken.count(), 1);
    let result = thread::spawn(move || derived.wait(PATIENCE)).join().unwrap();
    match result {
        Err(WaitError::Rejected(reason)) => {
            assert_eq!(describe(reason.as_error()), "terminated");
        }
        other => panic!("{other:?}"),
    }
}

/// What the readers of [`Exclusive`] know of each other.
#[derive(Default)]
struct Reads {
    /// Threads that are about to read, or have done so.
    announced: AtomicUsize,
    /// Those that do.
    inside: AtomicUsize,
    overlapped: AtomicBool,
}

/// A value that only one thread may read at a time, which takes long.
struct Exclusive(Arc<Reads>, Cell<usize>);

impl Clone for Exclusive {
    fn clone(&self) -> Self {
        let reads = &self.0;
        if reads.inside.fetch_add(1, Ordering::SeqCst) > 0 {
            reads.overlapped.store(true, Ordering::SeqCst);
        }
        wait_until(|| reads.announced.load(Ordering::SeqCst) == 2);
        // Gives the other one the opportunity, which it must not take.
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(5) {
            self.1.set(self.1.get() + 1);
            thread::yield_now();
        }
        reads.inside.fetch_sub(1, Ordering::SeqCst);
        Self(Arc::clone(reads), Cell::new(0))
    }
}

// The thread of a loop that was never driven read without the lock while another thread was about to complete
// the end of the loop, and then read, too.
// spec: PR-4, SD-3
#[test]
fn a_value_is_read_by_one_thread_at_a_time_while_another_one_ends_the_loop() {
    for _ in 0..20 {
        let bench = Bench::new();
        let handle = bench.handle();
        let reads = Arc::<Reads>::default();
        let promise = Promise::resolve(&handle, Exclusive(Arc::clone(&reads), Cell::new(0)));
        // The more there is to drop, the longer the loop is about to end.
        let fill = handle.clone();
        must_return(move || {
            for _ in 0..20_000 {
                fill.queue_microtask(|_| ()).unwrap();
            }
        });
        thread::scope(|scope| {
            scope.spawn(|| {
                handle.close();
                reads.announced.fetch_add(1, Ordering::SeqCst);
                let _ = promise.to_channel();
            });
            while handle.state() != LoopState::Terminated {
                std::hint::spin_loop();
            }
            reads.announced.fetch_add(1, Ordering::SeqCst);
            let _ = promise.to_channel();
        });
        assert!(!reads.overlapped.load(Ordering::SeqCst), "two threads read it at once");
    }
}

/// A value that cannot be cloned so many times.
struct Fragile(Arc<AtomicUsize>);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        assert!(left.is_err(), "expected by the test");
        Self(Arc::clone(&self.0))
    }
}

// The copy was made on delivery, and nobody was told if that panicked.
// spec: PR-6, FA-1, F-8
#[test]
fn whoever_waits_for_a_value_whose_clone_panics_is_told() {
    let bench = Bench::new();
    let handle = bench.handle();
    let promise = Promise::resolve(&handle, Fragile(Arc::new(AtomicUsize::new(1))));
    let kept = promise.clone();
    let waiter = thread::spawn(move || {
        let result = kept.wait(PATIENCE).map(drop);
        handle.close();
        result
    });
    bench.run().unwrap();
    match waiter.join().unwrap() {
        Err(WaitError::Rejected(reason)) => assert!(reason.is::<Panicked>(), "{reason}"),
        other => panic!("{other:?}"),
    }
    drop(promise);
}

// The outcome was taken out of its place to be copied, and not put back.
// spec: PR-6
#[test]
fn a_clone_that_panics_in_a_wait_does_not_lose_the_outcome() {
    let bench = Bench::new();
    let handle = bench.handle();
    let panics = Arc::new(AtomicUsize::new(0));
    let promise = Promise::resolve(&handle, Fragile(Arc::clone(&panics)));
    let waiter = thread::spawn(move || {
        let first = promise.wait(PATIENCE).is_ok();
        panics.store(1, Ordering::SeqCst);
        let second = panic_of(|| promise.wait(PATIENCE).is_ok());
        let third = promise.wait(PATIENCE).is_ok();
        handle.close();
        (first, second.is_some(), third)
    });
    bench.run().unwrap();
    assert_eq!(waiter.join().unwrap(), (true, true, true));
}

// It was counted if another thread ended a loop that was never driven, and else not.
// spec: PR-7, SD-3
#[test]
fn a_rejection_is_not_a_callback_that_was_dropped() {
    let bench = Bench::new();
    let promise = LocalPromise::<()>::reject(bench.cx(), Oops(1));
    let handle = bench.handle();
    let shutdown = thread::spawn(move || handle.shutdown(Deadline::NEVER)).join().unwrap();
    assert_eq!(shutdown.unwrap(), Shutdown::Finished { dropped: 0 });
    drop(promise);
}

// The crate's own reasons became texts on the way.
// spec: PR-4, PR-7
#[test]
fn the_reasons_of_the_crate_keep_their_type_when_a_promise_becomes_shared() {
    let bench = Bench::new();
    let cx = bench.cx();
    let (abandoned, resolver) = LocalPromise::<i32>::with_resolvers(cx);
    drop(resolver);
    let (cycle, resolver) = LocalPromise::<i32>::with_resolvers(cx);
    resolver.adopt(&cycle);
    let panicked = LocalPromise::resolve(cx, 1).then(|_, _| -> i32 { panic!("expected") });
    let unheard = abandoned.to_shared();
    let channels: Vec<_> = [abandoned, cycle, panicked]
        .iter()
        .map(|promise| promise.to_shared().to_channel())
        .collect();
    bench.settle();
    let reasons: Vec<_> = channels
        .iter()
        .map(|channel| describe(channel.recv().unwrap().unwrap_err().as_error()))
        .collect();
    assert_eq!(reasons, ["abandoned", "cycle", "panic expected"]);
    // Nobody asked for this one, but that is no error.
    assert_eq!(unheard.state(), PromiseState::Rejected);
    assert_eq!(bench.reports.take(), ["uncaught microtasks expected"]);
}

// What it waited for was to be delivered when the destructor had returned.
// spec: PR-6, F-28
#[test]
fn a_destructor_may_wait_for_a_settled_promise_of_a_loop_that_has_ended() {
    let mut bench = Bench::new();
    let settled = Promise::resolve(&bench.handle(), 5);
    let other = Promise::resolve(&bench.handle(), 1);
    bench.drop_loop();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let waits = OnDrop(move || sender.send(settled.wait(PATIENCE / 2)).unwrap());
        // Dropped at once.
        other.then(move |_, _| drop(waits));
    });
    assert_eq!(receiver.recv_timeout(PATIENCE).unwrap().unwrap(), 5);
}

/// A value whose clone waits for a promise.
struct Waits(Promise<i32>);

impl Clone for Waits {
    fn clone(&self) -> Self {
        assert_eq!(self.0.wait(PATIENCE).unwrap(), 5);
        Self(self.0.clone())
    }
}

// After the end, values are read under a lock, which was taken again.
// spec: PR-6, F-28
#[test]
fn a_clone_may_wait_for_another_promise_of_a_loop_that_has_ended() {
    let mut bench = Bench::new();
    let inner = Promise::resolve(&bench.handle(), 5);
    let kept = inner.clone();
    let outer = Promise::resolve(&bench.handle(), Waits(inner));
    bench.drop_loop();
    let second = outer.clone();
    assert!(must_return(move || outer.wait(PATIENCE).is_ok()));
    drop((kept, second));
}

/// A waker that panics.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("expected by the test");
    }
}

// It was woken before the threads, which then were not.
// spec: PR-5, PR-6, FA-1
#[test]
fn a_waker_that_panics_does_not_keep_a_thread_waiting() {
    let bench = Bench::new();
    let (mut promise, resolver) = Promise::with_resolvers(&bench.handle());
    assert!(poll(&mut promise, &Waker::from(Arc::new(Bomb))).is_pending());
    let handle = bench.handle();
    let waits = Arc::new(AtomicBool::new(false));
    let begins = Arc::clone(&waits);
    let waiter = thread::spawn(move || {
        let start = Instant::now();
        begins.store(true, Ordering::SeqCst);
        let result = promise.wait(PATIENCE);
        handle.close();
        (result, start.elapsed())
    });
    wait_until(|| waits.load(Ordering::SeqCst));
    // Most likely it sleeps then. If it does not yet, it need not be woken.
    thread::sleep(Duration::from_millis(20));
    resolver.resolve(1);
    bench.run().unwrap();
    let (result, time) = waiter.join().unwrap();
    assert_eq!(result.unwrap(), 1);
    assert!(time < PATIENCE / 2, "it was not woken");
}
