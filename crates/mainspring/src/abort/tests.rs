//! Algorithms, and what signals know of each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use super::core::Core;
use crate::{AbortController, AbortSignal, EventLoop, Rejection};

/// Something that tells how many there are.
fn token(of: &Arc<()>) -> Arc<()> {
    Arc::clone(of)
}

fn alive(of: &Arc<()>) -> usize {
    Arc::strong_count(of) - 1
}

fn core(signal: &AbortSignal) -> &Arc<Core> {
    signal.0.as_ref().unwrap()
}

// spec: JS-1
#[test]
fn a_source_forgets_each_dependent_that_is_dropped() {
    let (source, other) = (AbortController::new(), AbortController::new());
    let held = AbortSignal::any([&source.signal()]);
    for _ in 0..10_000 {
        drop(AbortSignal::any([&source.signal(), &other.signal(), &held]));
    }
    assert_eq!(source.signal().dependents(), 1);
    assert_eq!(other.signal().dependents(), 0);
    drop(held);
    assert_eq!(source.signal().dependents(), 0);
}

// spec: JS-1
#[test]
fn a_source_forgets_a_dependent_that_another_one_aborted() {
    let source = AbortController::new();
    let mut aborted = Vec::new();
    for _ in 0..10 {
        let other = AbortController::new();
        aborted.push(AbortSignal::any([&other.signal(), &source.signal()]));
        assert_eq!(source.signal().dependents(), 1);
        other.abort();
        assert_eq!(source.signal().dependents(), 0);
        aborted.push(AbortSignal::any([&source.signal(), &other.signal()]));
        assert_eq!(source.signal().dependents(), 0);
    }
    assert!(aborted.iter().all(AbortSignal::aborted));
}

// spec: JS-1
#[test]
fn a_source_is_forgotten_when_its_controller_is_gone() {
    let (source, other) = (AbortController::new(), AbortController::new());
    let signal = source.signal();
    let either = AbortSignal::any([&signal, &other.signal()]);
    drop(source);
    assert_eq!(Arc::strong_count(core(&signal)), 1);
    drop((other, signal));
    assert_eq!(Arc::strong_count(core(&either)), 1);
}

// spec: JS-1
#[test]
fn a_signal_forgets_the_listeners_of_a_loop_that_has_ended() {
    let controller = AbortController::new();
    let signal = controller.signal();
    for _ in 0..10 {
        let event_loop = EventLoop::new().unwrap();
        signal.add_listener(event_loop.cx(), |_, _| unreachable!());
        assert_eq!(core(&signal).listeners(), 1);
    }
    assert_eq!(core(&signal).listeners(), 0);
}

// spec: JS-1, PF-3
#[test]
fn algorithms_run_in_order_before_the_listeners_when_all_are_marked() {
    let event_loop = EventLoop::new().unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let controller = AbortController::new();
    let either = AbortSignal::any([&controller.signal()]);
    for (signal, name) in [(&either, "either"), (&controller.signal(), "source")] {
        let inner = Arc::clone(&log);
        signal.add_listener(event_loop.cx(), move |_, _| {
            inner.lock().unwrap().push(format!("{name} listener"));
        });
        for i in 0..2 {
            let (inner, either) = (Arc::clone(&log), either.clone());
            let algorithm = move |reason: &Rejection| {
                assert!(either.aborted());
                inner.lock().unwrap().push(format!("{name} {i} {reason}"));
            };
            assert!(signal.add_algorithm(algorithm).is_some());
        }
    }
    controller.abort_with(Rejection::from_value("x"));
    let expected = [
        "source 0 x",
        "source 1 x",
        "source listener",
        "either 0 x",
        "either 1 x",
        "either listener",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}

// spec: JS-1, PF-3
#[test]
fn an_algorithm_that_is_removed_is_dropped_and_not_run() {
    let of = Arc::new(());
    let controller = AbortController::new();
    let signal = controller.signal();
    let first = token(&of);
    let id = signal.add_algorithm(move |_| drop(first)).unwrap();
    assert_eq!(alive(&of), 1);
    assert!(signal.remove_algorithm(id));
    assert_eq!(alive(&of), 0);
    let id = signal.add_algorithm(|_| ()).unwrap();
    controller.abort();
    assert!(!signal.remove_algorithm(id));
}

// spec: JS-1, PF-3
#[test]
fn an_algorithm_of_a_signal_that_is_aborted_or_never_will_be_is_dropped() {
    let of = Arc::new(());
    let first = token(&of);
    assert!(AbortSignal::abort().add_algorithm(move |_| drop(first)).is_none());
    let never = AbortSignal::never();
    let second = token(&of);
    assert!(never.add_algorithm(move |_| drop(second)).is_none());
    assert_eq!(alive(&of), 0);
    let controller = AbortController::new();
    let (signal, third) = (controller.signal(), token(&of));
    let id = signal.add_algorithm(move |_| drop(third)).unwrap();
    drop(controller);
    assert_eq!(alive(&of), 0);
    assert!(signal.remove_algorithm(id), "it will not run");
}

// spec: JS-1
#[test]
fn an_algorithm_may_remove_the_next_one() {
    let controller = AbortController::new();
    let signal = controller.signal();
    let next = Arc::new(Mutex::new(None));
    let (theirs, inner) = (signal.clone(), Arc::clone(&next));
    signal.add_algorithm(move |_| {
        let id = inner.lock().unwrap().take().unwrap();
        assert!(theirs.remove_algorithm(id));
        assert!(theirs.add_algorithm(|_| unreachable!()).is_none());
    });
    *next.lock().unwrap() = signal.add_algorithm(|_| unreachable!());
    controller.abort();
    assert!(next.lock().unwrap().is_none());
}

// spec: JS-1, FA-1
#[test]
fn an_algorithm_that_panics_does_not_get_far() {
    let ran = Arc::new(AtomicUsize::new(0));
    let controller = AbortController::new();
    for _ in 0..3 {
        let ran = Arc::clone(&ran);
        controller.signal().add_algorithm(move |_| {
            ran.fetch_add(1, Ordering::SeqCst);
            std::panic::resume_unwind(Box::new(ran));
        });
    }
    controller.abort();
    assert_eq!(ran.load(Ordering::SeqCst), 3);
    assert_eq!(Arc::strong_count(&ran), 1, "what they panicked with is dropped");
}

// spec: JS-1, PF-3
#[test]
fn whoever_removes_an_algorithm_is_told_the_truth() {
    for _ in 0..2_000 {
        let controller = AbortController::new();
        let signal = AbortSignal::any([&controller.signal()]);
        let ran = Arc::new(AtomicUsize::new(0));
        let inner = Arc::clone(&ran);
        let algorithm = move |_: &Rejection| _ = inner.fetch_add(1, Ordering::SeqCst);
        let id = signal.add_algorithm(algorithm).unwrap();
        let start = Arc::new(Barrier::new(2));
        let go = Arc::clone(&start);
        let thread = thread::spawn(move || {
            go.wait();
            controller.abort();
        });
        start.wait();
        let will_not_run = signal.remove_algorithm(id);
        thread.join().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), usize::from(!will_not_run));
    }
}

// spec: JS-1
#[test]
fn a_timeout_with_an_algorithm_works_on_without_being_held() {
    let clock = crate::VirtualClock::new();
    let event_loop = EventLoop::builder().clock(&clock).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let inner = Arc::clone(&ran);
    let second = Duration::from_secs(1);
    let signal = AbortSignal::timeout(event_loop.cx(), second).unwrap();
    signal.add_algorithm(move |_| _ = inner.fetch_add(1, Ordering::SeqCst)).unwrap();
    drop(signal);
    clock.advance(second);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}
