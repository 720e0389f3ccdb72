//! Abort controllers and signals.

mod common;

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use common::timers::{MS, automatic, elsewhere, manual, tick};
use common::{Log, OnDrop, Tracker, Variant, panic_of, turn_until_quiet};
use mainspring::{
    AbortController, AbortError, AbortListener, AbortSignal, Cx, Error, EventLoop, PanicPolicy,
    Phase, Rejection, TimeoutError,
};

suite![
    listeners_are_called_within_the_abort_in_order_and_once,
    a_listener_of_an_aborted_signal_is_dropped_and_not_called,
    a_listener_that_is_removed_is_dropped_and_not_called,
    a_listener_removed_by_an_earlier_one_is_not_called,
    a_listener_is_removed_from_its_own_signal_only,
    all_dependents_are_aborted_before_the_first_listener_is_called,
    listeners_of_the_source_come_before_those_of_its_dependents,
    a_panic_of_a_listener_is_reported_and_the_others_are_called,
    a_propagated_panic_leaves_the_abort_when_all_others_were_called,
    what_later_listeners_panic_with_is_dropped,
    an_abort_on_another_thread_calls_the_listeners_as_internal_tasks,
    a_listener_can_be_removed_while_the_abort_is_on_its_way,
    the_listeners_of_two_loops_are_called_on_their_own_threads,
    a_dropped_controller_drops_the_listeners,
    a_controller_dropped_elsewhere_drops_the_listeners_on_the_loops_thread,
    a_dependent_with_a_listener_works_on_without_being_held,
    a_dependent_with_a_listener_is_freed_when_its_last_source_is_gone,
    a_dependent_is_freed_when_its_last_listener_is_removed,
    a_listener_that_owns_its_signal_is_dropped_with_the_controller,
    the_end_of_the_loop_drops_the_listeners,
    a_terminated_loop_takes_no_listeners,
    an_abort_after_the_loop_is_gone_does_nothing_more,
    a_listener_may_use_signals_in_any_way,
    destructors_of_listeners_may_use_signals_in_any_way,
    a_timeout_aborts_when_its_time_has_come_and_not_before,
    a_timeout_does_not_keep_the_loop_alive,
    a_dropped_timeout_clears_its_timer,
    a_timeout_dropped_on_another_thread_clears_its_timer,
    a_timeout_with_a_listener_works_on_without_being_held,
    a_timeout_works_on_for_a_signal_that_depends_on_it,
    a_timeout_is_over_with_its_loop,
    a_timeout_refused_by_the_loop_is_an_error,
    a_timeout_aborts_in_the_timer_phase,
];

const _: () = {
    const fn is_shared<T: Send + Sync + Clone + Unpin + 'static>() {}
    const fn is_send<T: Send + Sync>() {}
    is_shared::<AbortSignal>();
    is_send::<AbortController>();
};

/// What a listener is told, in a log.
fn notes(log: &Log<String>, name: &str) -> impl FnOnce(&Cx, &Rejection) + 'static {
    let (log, name) = (log.clone(), name.to_owned());
    move |_, reason| log.push(format!("{name}: {reason}"))
}

fn text(signal: &AbortSignal) -> Option<String> {
    signal.reason().map(|reason| reason.to_string())
}

fn reason(text: &'static str) -> Rejection {
    Rejection::from_value(text)
}

// spec: JS-1
#[test]
fn the_first_abort_wins() {
    let controller = AbortController::new();
    let signal = controller.signal();
    assert!(!signal.aborted());
    assert!(signal.reason().is_none());
    assert!(signal.throw_if_aborted().is_ok());
    let first = reason("first");
    controller.abort_with(first.clone());
    controller.abort_with(reason("second"));
    controller.abort();
    assert!(signal.aborted());
    assert!(signal.reason().unwrap().ptr_eq(&first), "the very reason");
    assert!(signal.throw_if_aborted().unwrap_err().ptr_eq(&first));
}

// spec: JS-1
#[test]
fn signals_that_are_aborted_already_or_never() {
    assert!(AbortSignal::abort().reason().unwrap().is::<AbortError>());
    assert_eq!(text(&AbortSignal::aborted_with(reason("why"))).as_deref(), Some("why"));
    let never = AbortSignal::never();
    assert!(!never.aborted() && !AbortSignal::default().aborted());
    assert!(never.throw_if_aborted().is_ok());
    let controller = AbortController::default();
    controller.abort();
    assert!(controller.signal().reason().unwrap().is::<AbortError>());
}

// spec: JS-1
#[test]
fn clones_are_the_same_signal_and_others_are_not() {
    let controller = AbortController::new();
    assert_eq!(controller.signal(), controller.signal().clone());
    assert_ne!(controller.signal(), AbortController::new().signal());
    assert_ne!(AbortSignal::any([&controller.signal()]), controller.signal());
    assert!(format!("{controller:?}").contains("aborted: false"));
}

// spec: JS-1
#[test]
fn a_dropped_controller_aborts_nothing() {
    let controller = AbortController::new();
    let signal = controller.signal();
    let either = AbortSignal::any([&signal]);
    drop(controller);
    assert!(!signal.aborted() && !either.aborted());
    assert!(!AbortSignal::any([&signal, &either]).aborted());
}

// spec: JS-1
#[test]
fn any_is_aborted_at_once_with_the_reason_of_the_first_that_is() {
    let controller = AbortController::new();
    let (first, second) = (reason("first"), reason("second"));
    let signals = [
        AbortSignal::never(),
        controller.signal(),
        AbortSignal::aborted_with(first.clone()),
        AbortSignal::aborted_with(second),
    ];
    let any = AbortSignal::any(&signals);
    assert!(any.reason().unwrap().ptr_eq(&first));
    controller.abort();
    assert!(any.reason().unwrap().ptr_eq(&first), "it stays");
    assert!(!AbortSignal::any([]).aborted());
}

// spec: JS-1
#[test]
fn any_follows_the_first_of_its_signals_whatever_comes_later() {
    let controllers: Vec<_> = (0..3).map(|_| AbortController::new()).collect();
    let signals: Vec<_> = controllers.iter().map(AbortController::signal).collect();
    let any = AbortSignal::any(signals.iter().chain(&signals));
    let of_any = AbortSignal::any([&any, &AbortSignal::never()]);
    controllers[1].abort_with(reason("one"));
    controllers[0].abort_with(reason("zero"));
    for signal in [&any, &of_any] {
        assert_eq!(text(signal).as_deref(), Some("one"));
    }
    assert!(!signals[2].aborted(), "sources are not touched");
}

// spec: JS-1
#[test]
fn a_dependent_of_a_dropped_dependent_depends_on_the_sources() {
    let controller = AbortController::new();
    let middle = AbortSignal::any([&controller.signal()]);
    let last = AbortSignal::any([&AbortSignal::any([&middle])]);
    drop(middle);
    controller.abort();
    assert!(last.aborted());
}

// spec: JS-1
#[test]
fn what_was_done_before_an_abort_is_seen_by_whoever_sees_it() {
    for _ in 0..200 {
        let controller = AbortController::new();
        let any = AbortSignal::any([&controller.signal()]);
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let thread = thread::spawn(move || {
            while !any.aborted() {
                thread::yield_now();
            }
            assert!(any.reason().is_some());
            assert!(seen.load(Ordering::Relaxed));
        });
        done.store(true, Ordering::Relaxed);
        controller.abort();
        thread.join().unwrap();
    }
}

// spec: JS-1
#[test]
fn of_many_threads_that_abort_one_wins_and_all_see_the_same_reason() {
    const THREADS: usize = 4;
    for _ in 0..200 {
        let controllers: Vec<_> = (0..THREADS).map(|_| AbortController::new()).collect();
        let signals: Vec<_> = controllers.iter().map(AbortController::signal).collect();
        let shared = Arc::new(AbortController::new());
        let any = AbortSignal::any(&signals);
        let start = Arc::new(Barrier::new(THREADS));
        let threads: Vec<_> = controllers
            .into_iter()
            .map(|own| {
                let (start, any) = (Arc::clone(&start), any.clone());
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    start.wait();
                    let late = AbortSignal::any([&any, &shared.signal()]);
                    own.abort_with(Rejection::from_value(thread::current().id()));
                    shared.abort_with(Rejection::from_value(thread::current().id()));
                    assert!(late.aborted());
                    (any.reason().unwrap(), shared.signal().reason().unwrap())
                })
            })
            .collect();
        let reasons: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        for (own, common) in &reasons {
            assert!(own.ptr_eq(&reasons[0].0) && common.ptr_eq(&reasons[0].1));
        }
    }
}

// spec: JS-1
fn listeners_are_called_within_the_abort_in_order_and_once(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let controller = AbortController::new();
    for name in ["a", "b", "c"] {
        controller.signal().add_listener(event_loop.cx(), notes(&log, name));
    }
    controller.abort_with(reason("why"));
    assert_eq!(log.take(), ["a: why", "b: why", "c: why"]);
    controller.abort_with(reason("again"));
    turn_until_quiet(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: JS-1
fn a_listener_of_an_aborted_signal_is_dropped_and_not_called(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    for signal in [AbortSignal::abort(), AbortSignal::never()] {
        let token = tracker.token();
        let listener = signal.add_listener(event_loop.cx(), move |_, _| {
            let _token = token;
            unreachable!();
        });
        assert_eq!(tracker.alive(), 0);
        assert!(!signal.remove_listener(listener));
    }
    turn_until_quiet(&event_loop);
}

// spec: JS-1
fn a_listener_that_is_removed_is_dropped_and_not_called(variant: Variant) {
    let event_loop = variant.build();
    let (log, tracker) = (Log::new(), Tracker::new());
    let controller = AbortController::new();
    let signal = controller.signal();
    signal.add_listener(event_loop.cx(), notes(&log, "first"));
    let token = tracker.token();
    let listener = signal.add_listener(event_loop.cx(), move |_, _| _ = &token);
    signal.add_listener(event_loop.cx(), notes(&log, "last"));
    assert_eq!(tracker.alive(), 1);
    assert!(signal.remove_listener(listener));
    assert_eq!(tracker.alive(), 0);
    controller.abort_with(reason("why"));
    assert_eq!(log.take(), ["first: why", "last: why"]);
}

// spec: JS-1
fn a_listener_removed_by_an_earlier_one_is_not_called(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let controller = AbortController::new();
    let signal = controller.signal();
    let later = Rc::new(Cell::new(None::<AbortListener>));
    let (theirs, inner) = (signal.clone(), Rc::clone(&later));
    signal.add_listener(event_loop.cx(), move |_, _| {
        assert!(theirs.remove_listener(inner.take().unwrap()));
    });
    later.set(Some(signal.add_listener(event_loop.cx(), |_, _| unreachable!())));
    signal.add_listener(event_loop.cx(), notes(&log, "last"));
    controller.abort_with(reason("why"));
    assert_eq!(log.take(), ["last: why"]);
}

// spec: JS-1
fn a_listener_is_removed_from_its_own_signal_only(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let (one, other) = (AbortController::new(), AbortController::new());
    let listener = one.signal().add_listener(event_loop.cx(), notes(&log, "one"));
    assert!(!other.signal().remove_listener(listener));
    one.abort_with(reason("why"));
    assert_eq!(log.take(), ["one: why"]);
}

// spec: JS-1
fn all_dependents_are_aborted_before_the_first_listener_is_called(variant: Variant) {
    let event_loop = variant.build();
    let controller = AbortController::new();
    let dependents: Vec<_> =
        (0..3).map(|_| AbortSignal::any([&controller.signal(), &AbortSignal::never()])).collect();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (inner, theirs) = (Rc::clone(&seen), dependents.clone());
    controller.signal().add_listener(event_loop.cx(), move |_, _| {
        inner.borrow_mut().extend(theirs.iter().map(AbortSignal::aborted));
    });
    controller.abort();
    assert_eq!(*seen.borrow(), [true; 3]);
}

// spec: JS-1
fn listeners_of_the_source_come_before_those_of_its_dependents(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let controller = AbortController::new();
    let first = AbortSignal::any([&controller.signal()]);
    let second = AbortSignal::any([&first]);
    second.add_listener(event_loop.cx(), notes(&log, "second"));
    first.add_listener(event_loop.cx(), notes(&log, "first"));
    controller.signal().add_listener(event_loop.cx(), notes(&log, "source"));
    second.add_listener(event_loop.cx(), notes(&log, "second again"));
    controller.abort_with(reason("x"));
    assert_eq!(log.take(), ["source: x", "first: x", "second: x", "second again: x"]);
}

// spec: JS-1, FA-1
fn a_panic_of_a_listener_is_reported_and_the_others_are_called(variant: Variant) {
    let (log, reports) = (Log::new(), Log::new());
    let hook = reports.clone();
    let event_loop = variant
        .builder()
        .on_uncaught(move |_, panic| {
            hook.push((panic.phase(), panic.message().unwrap().to_owned()));
        })
        .build()
        .unwrap();
    let controller = AbortController::new();
    let either = AbortSignal::any([&controller.signal()]);
    for signal in [&controller.signal(), &either] {
        signal.add_listener(event_loop.cx(), |_, _| panic!("expected"));
        signal.add_listener(event_loop.cx(), notes(&log, "called"));
    }
    let inner = log.clone();
    event_loop.cx().queue_microtask(move |_| {
        controller.abort_with(reason("x"));
        inner.push("returned".to_owned());
    });
    turn_until_quiet(&event_loop);
    assert_eq!(log.take(), ["called: x", "called: x", "returned"]);
    let report = (Phase::Microtasks, "expected".to_owned());
    assert_eq!(reports.take(), [report.clone(), report]);
}

// spec: JS-1, FA-3
fn a_propagated_panic_leaves_the_abort_when_all_others_were_called(variant: Variant) {
    let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
    let log = Log::new();
    let controller = AbortController::new();
    let either = AbortSignal::any([&controller.signal()]);
    for (signal, text) in [(&controller.signal(), "first"), (&either, "second")] {
        signal.add_listener(event_loop.cx(), move |_, _| panic!("{text}"));
        signal.add_listener(event_loop.cx(), notes(&log, "called"));
    }
    let inner = log.clone();
    event_loop
        .cx()
        .submit(move |_| {
            controller.abort_with(reason("x"));
            inner.push("returned".to_owned());
        })
        .unwrap();
    assert_eq!(panic_of(|| event_loop.turn(Duration::ZERO)).as_deref(), Some("first"));
    assert_eq!(log.take(), ["called: x", "called: x"]);
    turn_until_quiet(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: JS-1, FA-3
fn what_later_listeners_panic_with_is_dropped(variant: Variant) {
    let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
    let (controller, tracker) = (AbortController::new(), Tracker::new());
    for _ in 0..3 {
        let payload = Cell::new(Some(tracker.token()));
        let listener =
            move |_: &Cx, _: &Rejection| resume_unwind(Box::new(payload.take().unwrap()));
        controller.signal().add_listener(event_loop.cx(), listener);
    }
    event_loop.cx().submit(move |_| controller.abort()).unwrap();
    assert_eq!(panic_of(|| event_loop.turn(Duration::ZERO)).as_deref(), Some("not text"));
    assert_eq!(tracker.alive(), 0);
}

// spec: JS-1, MT-1
fn an_abort_on_another_thread_calls_the_listeners_as_internal_tasks(variant: Variant) {
    let reports = Log::new();
    let hook = reports.clone();
    let event_loop =
        variant.builder().on_uncaught(move |_, panic| hook.push(panic.phase())).build().unwrap();
    let log = Log::new();
    let controller = AbortController::new();
    let signal = controller.signal();
    let inner = log.clone();
    signal.add_listener(event_loop.cx(), move |cx, _| {
        inner.push("a".to_owned());
        cx.queue_microtask(move |_| inner.push("microtask".to_owned()));
    });
    signal.add_listener(event_loop.cx(), |_, _| panic!("expected"));
    signal.add_listener(event_loop.cx(), notes(&log, "b"));
    elsewhere(|| controller.abort_with(reason("x")));
    assert!(signal.aborted(), "at once");
    assert_eq!(log.len(), 0, "not on that thread");
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["a", "microtask", "b: x"]);
    assert_eq!(reports.take(), [Phase::Internal]);
}

// spec: JS-1
fn a_listener_can_be_removed_while_the_abort_is_on_its_way(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    let controller = AbortController::new();
    let signal = controller.signal();
    let token = tracker.token();
    let listener = signal.add_listener(event_loop.cx(), move |_, _| {
        let _token = token;
        unreachable!();
    });
    elsewhere(|| controller.abort());
    assert!(signal.remove_listener(listener), "it has not been called");
    assert_eq!(tracker.alive(), 0);
    turn_until_quiet(&event_loop);
}

// spec: JS-1, SH-5
fn the_listeners_of_two_loops_are_called_on_their_own_threads(variant: Variant) {
    let controller = AbortController::new();
    let event_loop = variant.build();
    let (handle, thread) = variant.spawn_running();
    let called = Arc::new(AtomicUsize::new(0));
    let (signal, theirs) = (controller.signal(), Arc::clone(&called));
    let added = Arc::new(Barrier::new(2));
    let ready = Arc::clone(&added);
    handle
        .submit(move |cx| {
            let home = thread::current().id();
            signal.add_listener(cx, move |cx, _| {
                assert_eq!(thread::current().id(), home);
                theirs.fetch_add(1, Ordering::SeqCst);
                cx.shutdown();
            });
            ready.wait();
        })
        .unwrap();
    added.wait();
    let home = thread::current().id();
    let ours = Arc::clone(&called);
    controller.signal().add_listener(event_loop.cx(), move |_, _| {
        assert_eq!(thread::current().id(), home);
        ours.fetch_add(10, Ordering::SeqCst);
    });
    elsewhere(|| controller.abort());
    thread.join().unwrap().unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(called.load(Ordering::SeqCst), 11);
}

// spec: JS-1
fn a_dropped_controller_drops_the_listeners(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    let controller = AbortController::new();
    let signal = controller.signal();
    let token = tracker.token();
    let listener = signal.add_listener(event_loop.cx(), move |_, _| _ = &token);
    drop(signal.clone());
    assert_eq!(tracker.alive(), 1);
    drop(controller);
    assert_eq!(tracker.alive(), 0);
    assert!(!signal.remove_listener(listener));
}

// spec: JS-1, SH-3
fn a_controller_dropped_elsewhere_drops_the_listeners_on_the_loops_thread(variant: Variant) {
    let event_loop = variant.build();
    let dropped_on = Rc::new(Cell::new(None));
    let controller = AbortController::new();
    let inner = Rc::clone(&dropped_on);
    let guard = OnDrop(move || inner.set(Some(thread::current().id())));
    controller.signal().add_listener(event_loop.cx(), move |_, _| _ = &guard);
    elsewhere(move || drop(controller));
    assert_eq!(dropped_on.get(), None);
    turn_until_quiet(&event_loop);
    assert_eq!(dropped_on.get(), Some(thread::current().id()));
}

// spec: JS-1
fn a_dependent_with_a_listener_works_on_without_being_held(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let (one, other) = (AbortController::new(), AbortController::new());
    AbortSignal::any([&AbortSignal::any([&one.signal(), &other.signal()])])
        .add_listener(event_loop.cx(), notes(&log, "called"));
    drop(one);
    other.abort_with(reason("x"));
    assert_eq!(log.take(), ["called: x"]);
}

// spec: JS-1
fn a_dependent_with_a_listener_is_freed_when_its_last_source_is_gone(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    let (one, other) = (AbortController::new(), AbortController::new());
    let either = AbortSignal::any([&one.signal(), &other.signal()]);
    let token = tracker.token();
    either.add_listener(event_loop.cx(), move |_, _| _ = &token);
    drop(either);
    // A signal of the source is left, but nobody who could abort it.
    let signal = one.signal();
    drop(one);
    assert_eq!(tracker.alive(), 1);
    drop(other);
    assert_eq!(tracker.alive(), 0);
    assert!(!signal.aborted());
}

// spec: JS-1
fn a_dependent_is_freed_when_its_last_listener_is_removed(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let timeout = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    let either = AbortSignal::any([&timeout]);
    let listener = either.add_listener(event_loop.cx(), |_, _| ());
    assert!(either.remove_listener(listener));
    drop((timeout, either));
    // It would have kept the timeout alive, and that its timer.
    assert_eq!(event_loop.next_deadline(), None);
    clock.advance(MS);
    tick(&event_loop);
}

// spec: JS-1
fn a_listener_that_owns_its_signal_is_dropped_with_the_controller(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    let controller = AbortController::new();
    for signal in [controller.signal(), AbortSignal::any([&controller.signal()])] {
        let (owned, token) = (signal.clone(), tracker.token());
        signal.add_listener(event_loop.cx(), move |_, _| _ = (&owned, &token));
    }
    assert_eq!(tracker.alive(), 2);
    drop(controller);
    assert_eq!(tracker.alive(), 0);
}

// spec: JS-1, SD-6
fn the_end_of_the_loop_drops_the_listeners(variant: Variant) {
    let tracker = Tracker::new();
    let controller = AbortController::new();
    let signal = controller.signal();
    for _ in 0..3 {
        let event_loop = variant.build();
        let (cx, token, owned) = (event_loop.cx().clone(), tracker.token(), signal.clone());
        let either = AbortSignal::any([&signal]);
        either.add_listener(event_loop.cx(), move |_, _| _ = (&cx, &token, &owned));
        let token = tracker.token();
        signal.add_listener(event_loop.cx(), move |_, _| _ = &token);
        assert_eq!(tracker.alive(), 2);
        drop(event_loop);
        assert_eq!(tracker.alive(), 0);
    }
    controller.abort();
}

// spec: JS-1, ST-1
fn a_terminated_loop_takes_no_listeners(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    event_loop.cx().close();
    let controller = AbortController::new();
    let token = tracker.token();
    let listener = controller.signal().add_listener(event_loop.cx(), move |_, _| {
        let _token = token;
        unreachable!();
    });
    assert_eq!(tracker.alive(), 0);
    controller.abort();
    assert!(!controller.signal().remove_listener(listener));
}

// spec: JS-1
fn an_abort_after_the_loop_is_gone_does_nothing_more(variant: Variant) {
    let event_loop = variant.build();
    let (here, there) = (AbortController::new(), AbortController::new());
    let mut listeners = Vec::new();
    for controller in [&here, &there] {
        let signal = controller.signal();
        listeners.push(signal.add_listener(event_loop.cx(), |_, _| unreachable!()));
    }
    drop(event_loop);
    here.abort();
    elsewhere(|| there.abort());
    assert!(here.signal().aborted() && there.signal().aborted());
    assert!(listeners.into_iter().all(|listener| !here.signal().remove_listener(listener)));
}

// spec: JS-1
fn a_listener_may_use_signals_in_any_way(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let controller = Rc::new(AbortController::new());
    let other = AbortController::new();
    other.signal().add_listener(event_loop.cx(), notes(&log, "other"));
    let either = AbortSignal::any([&controller.signal(), &other.signal()]);
    either.add_listener(event_loop.cx(), notes(&log, "either"));
    let (inner, ours) = (log.clone(), Rc::clone(&controller));
    controller.signal().add_listener(event_loop.cx(), move |cx, _| {
        ours.abort_with(reason("again"));
        ours.signal().add_listener(cx, |_, _| unreachable!());
        assert!(AbortSignal::any([&ours.signal()]).aborted());
        other.abort_with(reason("y"));
        drop(other);
        drop(ours);
        inner.push("done".to_owned());
    });
    controller.signal().add_listener(event_loop.cx(), notes(&log, "next"));
    controller.abort_with(reason("x"));
    assert_eq!(log.take(), ["other: y", "done", "next: x", "either: x"]);
}

// spec: JS-1
fn destructors_of_listeners_may_use_signals_in_any_way(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let controller = Rc::new(AbortController::new());
    let signal = controller.signal();
    let (cx, inner, ours) = (event_loop.cx().clone(), log.clone(), Rc::clone(&controller));
    let guard = OnDrop(move || {
        assert!(!ours.signal().aborted());
        ours.signal().add_listener(&cx, notes(&inner, "late"));
        ours.abort_with(reason("by a destructor"));
        panic!("expected");
    });
    let listener = signal.add_listener(event_loop.cx(), move |_, _| _ = &guard);
    signal.add_listener(event_loop.cx(), notes(&log, "other"));
    assert!(signal.remove_listener(listener));
    assert_eq!(log.take(), ["other: by a destructor", "late: by a destructor"]);
}

// spec: JS-1
fn a_timeout_aborts_when_its_time_has_come_and_not_before(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let signal = AbortSignal::timeout(event_loop.cx(), 10 * MS).unwrap();
    signal.add_listener(event_loop.cx(), notes(&log, "listener"));
    clock.advance(10 * MS - Duration::from_nanos(1));
    tick(&event_loop);
    assert!(!signal.aborted());
    clock.advance(Duration::from_nanos(1));
    tick(&event_loop);
    assert!(signal.reason().unwrap().is::<TimeoutError>());
    assert_eq!(log.take(), [format!("listener: {TimeoutError}")]);
}

// spec: JS-1, TM-11
fn a_timeout_does_not_keep_the_loop_alive(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let signal = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    signal.add_listener(event_loop.cx(), |_, _| ());
    event_loop.run_until_idle().unwrap();
    assert_eq!((clock.elapsed(), signal.aborted()), (Duration::ZERO, false));
    event_loop.cx().set_timeout(2 * MS, |_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(signal.aborted());
}

// spec: JS-1
fn a_dropped_timeout_clears_its_timer(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let signal = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    let clone = signal.clone();
    drop(signal);
    assert!(event_loop.next_deadline().is_some());
    drop(clone);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: JS-1
fn a_timeout_dropped_on_another_thread_clears_its_timer(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let signal = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    elsewhere(move || drop(signal));
    tick(&event_loop);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: JS-1
fn a_timeout_with_a_listener_works_on_without_being_held(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let signal = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    signal.add_listener(event_loop.cx(), notes(&log, "called"));
    drop(signal);
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.len(), 1);
}

// spec: JS-1
fn a_timeout_works_on_for_a_signal_that_depends_on_it(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let controller = AbortController::new();
    let either = || {
        let timeout = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
        AbortSignal::any([&timeout, &controller.signal()])
    };
    let held = either();
    let log = Log::new();
    either().add_listener(event_loop.cx(), notes(&log, "called"));
    drop(either());
    clock.advance(MS);
    tick(&event_loop);
    assert!(held.reason().unwrap().is::<TimeoutError>());
    assert_eq!(log.len(), 1);
    let held = either();
    controller.abort();
    assert!(held.aborted());
    assert_eq!(event_loop.next_deadline(), None, "the timer is of no use any more");
}

// spec: JS-1, SD-6
fn a_timeout_is_over_with_its_loop(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let other = variant.build();
    let tracker = Tracker::new();
    let signal = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    let either = AbortSignal::any([&signal]);
    for signal in [&signal, &either] {
        // They wait on a loop that goes on.
        let (token, owned) = (tracker.token(), signal.clone());
        signal.add_listener(other.cx(), move |_, _| _ = (&token, &owned));
    }
    assert_eq!(tracker.alive(), 2);
    drop(event_loop);
    assert_eq!(tracker.alive(), 0);
    assert!(!signal.aborted() && !either.aborted());
}

// spec: JS-1
fn a_timeout_refused_by_the_loop_is_an_error(variant: Variant) {
    let event_loop = variant.build();
    let refused = AbortSignal::timeout(event_loop.cx(), Duration::MAX);
    assert!(matches!(refused, Err(Error::DeadlineOutOfRange)));
    event_loop.cx().close();
    let refused = AbortSignal::timeout(event_loop.cx(), MS);
    assert!(matches!(refused, Err(Error::Terminated)));
}

// spec: JS-1, FA-1
fn a_timeout_aborts_in_the_timer_phase(variant: Variant) {
    let reports = Log::new();
    let hook = reports.clone();
    let clock = mainspring::VirtualClock::new();
    let event_loop: EventLoop = variant
        .builder()
        .clock(&clock)
        .on_uncaught(move |_, panic| hook.push(panic.phase()))
        .build()
        .unwrap();
    let signal = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    signal.add_listener(event_loop.cx(), |_, _| panic!("expected"));
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(reports.take(), [Phase::Timers]);
}
