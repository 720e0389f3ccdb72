//! Abort signals: what happens when some are aborted, made, dropped and listened to at the same time.
//!
//! Proved: of several who abort, one wins, and all see its reason, also through a signal that depends on
//! both; whoever sees a signal aborted sees what was done before; an algorithm runs at most once, exactly if
//! nobody was told that it was removed, and is dropped exactly once; a signal that is made while one of its
//! sources is aborted is aborted in the end; no source remembers a signal that is gone or aborted.
//!
//! Exhaustive. Bounded: two other threads, one call by each.

use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;

use super::{Bound, explore};
use crate::{AbortController, AbortSignal, Rejection};

/// Adds an algorithm that counts how often it is run in tens, and that it is dropped in ones.
fn counting(signal: &AbortSignal, counter: &Arc<Counter>) -> crate::abort::AlgorithmId {
    struct Dropped(Arc<Counter>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Count);
        }
    }
    let dropped = Dropped(Arc::clone(counter));
    signal.add_algorithm(move |_| _ = dropped.0.fetch_add(10, Count)).unwrap()
}

#[test]
fn of_two_who_abort_one_wins() {
    explore("abort: of two who abort one wins", Bound::None, || {
        let counter = Arc::new(Counter::new(0));
        let controllers = [AbortController::new(), AbortController::new()].map(Arc::new);
        let signals = [0, 1].map(|i: usize| controllers[i].signal());
        let either = AbortSignal::any(&signals);
        counting(&either, &counter);
        let threads = [0, 1].map(|i: usize| {
            let (own, either) = (Arc::clone(&controllers[i]), either.clone());
            thread::spawn(move || {
                own.abort_with(Rejection::from_value(i));
                either.reason().unwrap()
            })
        });
        let seen = threads.map(|thread| thread.join().unwrap());
        assert!(seen[0].ptr_eq(&seen[1]));
        assert_eq!(counter.load(Count), 11);
        assert!(signals.iter().all(|signal| signal.dependents() == 0));
    });
}

// Loom's threads take what is not `Send`, and loom checks how it is used.
#[expect(clippy::arc_with_non_send_sync)]
#[test]
fn who_sees_it_aborted_sees_what_was_done_before() {
    explore("abort: what was done before is seen", Bound::None, || {
        let controller = AbortController::new();
        let either = AbortSignal::any([&controller.signal()]);
        let cell = Arc::new(UnsafeCell::new(0));
        let (theirs, seen) = (either.clone(), Arc::clone(&cell));
        let thread = thread::spawn(move || {
            if theirs.aborted() {
                // SAFETY: loom checks that nobody writes to it meanwhile.
                assert_eq!(seen.with(|value| unsafe { *value }), 1);
                assert!(theirs.reason().is_some());
            }
        });
        // SAFETY: as above.
        cell.with_mut(|value| unsafe { *value = 1 });
        controller.abort();
        thread.join().unwrap();
    });
}

#[test]
fn one_that_is_made_meanwhile_is_aborted_too() {
    explore("abort: made while it is aborted", Bound::None, || {
        let controllers = [AbortController::new(), AbortController::new()].map(Arc::new);
        let signals = [0, 1].map(|i: usize| controllers[i].signal());
        let either = AbortSignal::any(&signals);
        let ours = Arc::clone(&controllers[0]);
        let thread = thread::spawn(move || ours.abort());
        let made = AbortSignal::any([&either, &signals[1]]);
        thread.join().unwrap();
        assert!(made.aborted());
        assert!(signals.iter().all(|signal| signal.dependents() == 0));
    });
}

#[test]
fn who_removes_an_algorithm_is_told_the_truth() {
    explore("abort: an algorithm is removed", Bound::None, || {
        let counter = Arc::new(Counter::new(0));
        let controller = Arc::new(AbortController::new());
        let either = AbortSignal::any([&controller.signal()]);
        let id = counting(&either, &counter);
        let theirs = Arc::clone(&controller);
        let thread = thread::spawn(move || theirs.abort());
        let will_not_run = either.remove_algorithm(id);
        thread.join().unwrap();
        assert_eq!(counter.load(Count), if will_not_run { 1 } else { 11 });
    });
}

#[test]
fn an_algorithm_is_added_to_be_run_or_refused() {
    explore("abort: an algorithm is added", Bound::None, || {
        let counter = Arc::new(Counter::new(0));
        let controller = Arc::new(AbortController::new());
        let signal = controller.signal();
        let theirs = Arc::clone(&controller);
        let thread = thread::spawn(move || theirs.abort());
        let inner = Arc::clone(&counter);
        let added = signal.add_algorithm(move |_| _ = inner.fetch_add(1, Count));
        thread.join().unwrap();
        assert_eq!(counter.load(Count), usize::from(added.is_some()));
    });
}

#[test]
fn the_last_controller_to_go_lets_the_rest_go() {
    explore("abort: both controllers go", Bound::None, || {
        let counter = Arc::new(Counter::new(0));
        let controllers = [AbortController::new(), AbortController::new()];
        let signals = [0, 1].map(|i: usize| controllers[i].signal());
        let either = AbortSignal::any(&signals);
        counting(&either, &counter);
        let threads = controllers.map(|controller| thread::spawn(move || drop(controller)));
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(Count), 1);
        assert!(signals.iter().all(|signal| signal.dependents() == 0));
        assert!(!either.aborted());
    });
}

#[test]
fn one_goes_while_the_other_aborts() {
    explore("abort: one goes, the other aborts", Bound::None, || {
        let counter = Arc::new(Counter::new(0));
        let (one, other) = (AbortController::new(), Arc::new(AbortController::new()));
        let signals = [one.signal(), other.signal()];
        let either = AbortSignal::any(&signals);
        counting(&either, &counter);
        let theirs = Arc::clone(&other);
        let thread = thread::spawn(move || theirs.abort());
        drop(one);
        thread.join().unwrap();
        assert!(either.aborted());
        assert_eq!(counter.load(Count), 11);
        assert!(signals.iter().all(|signal| signal.dependents() == 0));
    });
}

#[test]
fn a_signal_that_is_dropped_meanwhile_is_forgotten() {
    explore("abort: dropped while it is aborted", Bound::None, || {
        let controllers = [AbortController::new(), AbortController::new()].map(Arc::new);
        let signals = [0, 1].map(|i: usize| controllers[i].signal());
        let either = AbortSignal::any(&signals);
        let theirs = Arc::clone(&controllers[0]);
        let thread = thread::spawn(move || theirs.abort());
        drop(either);
        thread.join().unwrap();
        assert!(signals.iter().all(|signal| signal.dependents() == 0));
    });
}
