//! Loops inside programs: turn by turn, several at once, one inside another, until idle, until aborted.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::{Hook, Kind, Log, Tracker, Variant, must_return, wait_until, wait_until_sleeping};
use mainspring::{Cx, Deadline, Error, EventLoop, LoopState, Shutdown};

suite![
    a_loop_can_be_driven_turn_by_turn_inside_another,
    a_turn_is_one_tick,
    every_callback_is_given_the_context_of_its_loop,
    the_current_loop_is_known_in_callbacks_and_hooks_only,
    loops_on_different_threads_are_independent,
    loops_on_one_thread_take_turns,
    a_callback_can_run_another_loop_to_its_end,
    a_callback_of_an_inner_loop_cannot_drive_the_outer_one,
    a_callback_of_an_inner_loop_can_queue_on_the_outer_one,
    a_callback_can_shut_down_another_loop_of_its_thread_without_waiting,
    a_panic_that_leaves_an_inner_loop_is_one_of_the_outer_callback,
    an_idle_loop_returns_at_once_and_can_be_driven_again,
    everything_queued_runs_before_the_loop_is_idle,
    a_guard_keeps_the_loop_from_becoming_idle,
    what_was_submitted_before_the_guard_was_dropped_runs,
    a_guard_of_a_callback_keeps_the_loop_from_becoming_idle,
    a_wake_does_not_keep_the_loop_from_becoming_idle,
    a_shutdown_ends_a_loop_that_is_kept_alive,
    a_condition_that_holds_at_once_still_lets_what_is_queued_run,
    a_condition_is_asked_again_after_a_wake,
    a_condition_is_released_when_its_run_is_over,
    a_condition_does_not_outlive_its_run,
    a_context_can_be_kept_and_used_between_turns,
    no_call_on_a_handle_waits_for_the_loop,
];

// spec: SH-5
fn a_loop_can_be_driven_turn_by_turn_inside_another(variant: Variant) {
    let tracker = Tracker::new();
    let inner = Rc::new(variant.build());
    let outer = variant.build();
    fn pump(cx: &Cx, inner: Rc<EventLoop>) {
        if inner.turn(Duration::ZERO).unwrap().ready {
            cx.set_immediate(move |cx| pump(cx, inner));
        }
    }
    let left = Rc::new(Cell::new(10));
    Kind::Immediate.chain(inner.cx(), move || left.replace(left.get() - 1) > 1);
    inner.cx().submit(tracker.callback()).unwrap();
    outer.cx().submit(move |cx| pump(cx, inner)).unwrap();
    outer.run_until_idle().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (1, 0));
}

// spec: TK-5, IN-5
fn a_turn_is_one_tick(variant: Variant) {
    let event_loop = variant.builder().external_budget(1).build().unwrap();
    let log = Log::new();
    for i in 0..3 {
        event_loop.cx().submit(log.note(i)).unwrap();
        event_loop.cx().set_immediate(log.note(10 + i));
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [0, 10, 11, 12]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [1]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [2]);
}

fn handle_number(cx: &Cx) -> usize {
    // Each loop of a test has a different number of guards' worth of pending immediates, so that
    // contexts can be told apart by what they report.
    cx.handle().pending()
}

// spec: SH-4
fn every_callback_is_given_the_context_of_its_loop(variant: Variant) {
    let (a, b) = (variant.build(), variant.build());
    let log = Log::new();
    for (name, event_loop) in [("a", &a), ("b", &b)] {
        for kind in Kind::ALL {
            let log = log.clone();
            kind.queue(event_loop.cx(), move |cx| {
                // What is queued through the context is for the loop that gave it.
                let noted = log.clone();
                cx.queue_close(move |_| noted.push((name, kind)));
            });
        }
    }
    a.run_until_idle().unwrap();
    let of_a = log.take();
    assert_eq!((of_a.len(), handle_number(a.cx()), handle_number(b.cx())), (6, 0, 6));
    assert!(of_a.iter().all(|entry| entry.0 == "a"));
    b.run_until_idle().unwrap();
    assert!(log.take().iter().all(|entry| entry.0 == "b"));
}

// spec: SH-4
fn the_current_loop_is_known_in_callbacks_and_hooks_only(variant: Variant) {
    assert!(matches!(mainspring::current(), Err(Error::NotRunning)));
    let tracker = Tracker::new();
    let event_loop = variant.build();
    assert!(mainspring::current().is_err(), "it is not driven yet");
    for kind in Kind::ALL {
        let tracker = tracker.clone();
        kind.queue(event_loop.cx(), move |_| {
            mainspring::current().unwrap().submit(tracker.callback()).unwrap();
        });
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.ran(), 6);
    assert!(mainspring::current().is_err());
    for hook in Hook::ALL {
        let seen = Rc::new(Cell::new(false));
        let flag = Rc::clone(&seen);
        let event_loop = hook
            .set(variant.builder(), move |_| {
                let cx = mainspring::current().unwrap();
                flag.set(true);
                cx.close();
            })
            .build()
            .unwrap();
        hook.provoke(event_loop.cx());
        if hook == Hook::BeforeExit {
            event_loop.run_until_idle().unwrap();
        } else {
            event_loop.run().unwrap();
        }
        assert!(seen.get(), "{hook:?}");
        assert!(matches!(mainspring::current(), Err(Error::NotRunning)), "{hook:?}");
    }
    // Another thread has none of its own.
    let event_loop = variant.build();
    let unknown = Rc::new(Cell::new(false));
    let flag = Rc::clone(&unknown);
    let task = move |_: &Cx| {
        flag.set(thread::spawn(|| mainspring::current().is_err()).join().unwrap());
    };
    event_loop.cx().submit(task).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(unknown.get());
}

// spec: SH-5, SH-1
fn loops_on_different_threads_are_independent(variant: Variant) {
    let loops: Vec<_> = (0..4).map(|_| variant.spawn_running()).collect();
    let (sender, receiver) = mpsc::channel();
    for (i, (handle, thread)) in loops.iter().enumerate() {
        let (sender, owner) = (sender.clone(), thread.thread().id());
        handle.submit(move |_| sender.send((i, thread::current().id() == owner)).unwrap()).unwrap();
    }
    let mut seen: Vec<_> = (0..4).map(|_| receiver.recv().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, [(0, true), (1, true), (2, true), (3, true)], "each on its own thread");
    // The end of one is not that of the others.
    let mut loops = loops.into_iter();
    let (first, thread) = loops.next().unwrap();
    first.shutdown(Deadline::NEVER).unwrap();
    thread.join().unwrap().unwrap();
    for (handle, thread) in loops {
        assert!(!handle.state().is_ending());
        let tracker = Tracker::new();
        handle.submit(tracker.callback()).unwrap();
        handle.shutdown(Deadline::NEVER).unwrap();
        thread.join().unwrap().unwrap();
        assert_eq!(tracker.ran(), 1);
    }
}

// spec: SH-5
fn loops_on_one_thread_take_turns(variant: Variant) {
    let loops: Vec<_> = (0..3).map(|_| variant.build()).collect();
    let log = Log::new();
    for round in 0..3 {
        for (i, event_loop) in loops.iter().enumerate() {
            // A task for the next loop, through its handle, on this very thread.
            let next = loops[(i + 1) % 3].handle();
            let log = log.clone();
            event_loop
                .cx()
                .submit(move |_| {
                    log.push((round, i));
                    next.submit(|_| ()).unwrap();
                })
                .unwrap();
        }
        for event_loop in &loops {
            event_loop.turn(Duration::ZERO).unwrap();
        }
    }
    let expected = (0..3).flat_map(|round| (0..3).map(move |i| (round, i)));
    assert!(log.take().into_iter().eq(expected));
}

// spec: SH-4, SH-5
fn a_callback_can_run_another_loop_to_its_end(variant: Variant) {
    let outer = variant.build();
    let log = Log::new();
    let l = log.clone();
    outer
        .cx()
        .submit(move |cx| {
            cx.queue_microtask(l.note("microtask of outer"));
            let inner = variant.build();
            let (a, b) = (l.clone(), l.clone());
            inner
                .cx()
                .submit(move |_| {
                    let current = mainspring::current().unwrap();
                    current.queue_microtask(a.note("microtask of inner"));
                    current.set_immediate(|cx| cx.shutdown());
                })
                .unwrap();
            inner.run().unwrap();
            assert_eq!((inner.state(), cx.state()), (LoopState::Terminated, LoopState::Running));
            drop(inner);
            // Now it is the outer one again.
            mainspring::current().unwrap().queue_microtask(b.note("second microtask of outer"));
            b.push("task of outer");
        })
        .unwrap();
    outer.run_until_idle().unwrap();
    assert_eq!(
        log.take(),
        ["microtask of inner", "task of outer", "microtask of outer", "second microtask of outer",]
    );
    assert!(mainspring::current().is_err());
}

// spec: ST-6, SH-5
fn a_callback_of_an_inner_loop_cannot_drive_the_outer_one(variant: Variant) {
    must_return(move || {
        let outer = Rc::new(variant.build());
        let weak = Rc::downgrade(&outer);
        let refused = Rc::new(Cell::new(0));
        let counted = Rc::clone(&refused);
        outer
            .cx()
            .submit(move |_| {
                let inner = variant.build();
                inner
                    .cx()
                    .submit(move |_| {
                        let outer = weak.upgrade().unwrap();
                        let results = [
                            outer.run(),
                            outer.turn(None).map(drop),
                            outer.run_until_idle(),
                            outer.run_until_aborted(|| true),
                        ];
                        for result in results {
                            assert!(matches!(result, Err(Error::ReentrantRun)));
                            counted.set(counted.get() + 1);
                        }
                    })
                    .unwrap();
                inner.run_until_idle().unwrap();
            })
            .unwrap();
        outer.run_until_idle().unwrap();
        assert_eq!(refused.get(), 4);
    });
}

// spec: SH-5, IN-8
fn a_callback_of_an_inner_loop_can_queue_on_the_outer_one(variant: Variant) {
    let outer = variant.build();
    let log = Log::new();
    let l = log.clone();
    outer
        .cx()
        .submit(move |outer| {
            let (outer, inner) = (outer.clone(), variant.build());
            inner
                .cx()
                .submit(move |_| {
                    outer.queue_microtask(l.note("microtask"));
                    outer.next_tick(l.note("next tick"));
                    outer.submit(l.note("task")).unwrap();
                    l.push("inner");
                })
                .unwrap();
            inner.run_until_idle().unwrap();
        })
        .unwrap();
    outer.run_until_idle().unwrap();
    assert_eq!(log.take(), ["inner", "next tick", "microtask", "task"]);
}

// spec: SD-5, F-26
fn a_callback_can_shut_down_another_loop_of_its_thread_without_waiting(variant: Variant) {
    must_return(move || {
        let (a, b) = (variant.build(), variant.build());
        b.turn(Duration::ZERO).unwrap();
        let tracker = Tracker::new();
        b.cx().submit(tracker.callback()).unwrap();
        let handle = b.handle();
        let begun = Rc::new(Cell::new(None));
        let told = Rc::clone(&begun);
        a.cx().submit(move |_| told.set(handle.shutdown(Deadline::NEVER).ok())).unwrap();
        a.run_until_idle().unwrap();
        assert_eq!(begun.get(), Some(Shutdown::Begun));
        b.run().unwrap();
        assert_eq!((tracker.ran(), b.state()), (1, LoopState::Terminated));
    });
}

// spec: FA-3, SH-5
fn a_panic_that_leaves_an_inner_loop_is_one_of_the_outer_callback(variant: Variant) {
    let log = Log::new();
    let caught = log.clone();
    let outer = variant
        .builder()
        .on_uncaught(move |cx, panic| {
            caught.push(panic.message().unwrap().to_owned());
            // The outer loop is the current one again.
            mainspring::current().unwrap().queue_microtask(|_| ());
            assert_eq!(cx.handle().pending(), 1);
        })
        .build()
        .unwrap();
    outer
        .cx()
        .submit(move |_| {
            let policy = mainspring::PanicPolicy::Propagate;
            let inner = variant.builder().panic_policy(policy).build().unwrap();
            inner.cx().submit(|_| panic!("inner")).unwrap();
            let _ = inner.run();
        })
        .unwrap();
    outer.run_until_idle().unwrap();
    assert_eq!(log.take(), ["inner"]);
}

// spec: ST-1
fn an_idle_loop_returns_at_once_and_can_be_driven_again(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    for i in 0..5 {
        event_loop.run_until_idle().unwrap();
        assert_eq!((tracker.ran(), event_loop.state()), (i, LoopState::Running));
        Kind::ALL[i].queue(event_loop.cx(), tracker.callback());
    }
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    assert_eq!(tracker.ran(), 5);
}

// spec: TK-5, MT-1
fn everything_queued_runs_before_the_loop_is_idle(variant: Variant) {
    // From each kind to each other, in every order of two.
    for first in Kind::ALL {
        for second in Kind::ALL {
            let tracker = Tracker::new();
            let event_loop = variant.build();
            let inner = tracker.clone();
            first.queue(event_loop.cx(), move |cx| {
                let last = inner.clone();
                second.queue(cx, move |cx| first.queue(cx, last.callback()));
            });
            event_loop.run_until_idle().unwrap();
            assert_eq!(tracker.ran(), 1, "{first:?}, {second:?}");
            assert_eq!(event_loop.handle().pending(), 0);
        }
    }
}

// spec: SH-2
fn a_guard_keeps_the_loop_from_becoming_idle(variant: Variant) {
    let (sender, receiver) = mpsc::channel();
    let (handle, thread) = variant.spawn(
        |builder| builder,
        move |event_loop| {
            let guard = event_loop.handle().keep_alive();
            sender.send(guard).unwrap();
            event_loop.run_until_idle()
        },
    );
    let guard = receiver.recv().unwrap();
    let tracker = Tracker::new();
    for i in 1..=10 {
        wait_until_sleeping(&handle);
        handle.submit(tracker.callback()).unwrap();
        wait_until(|| tracker.ran() == i);
    }
    drop(guard);
    thread.join().unwrap().unwrap();
}

// spec: SH-2, F-2
fn what_was_submitted_before_the_guard_was_dropped_runs(variant: Variant) {
    for i in 0..500 {
        let event_loop = variant.build();
        let (handle, guard) = (event_loop.handle(), event_loop.handle().keep_alive());
        let tracker = Tracker::new();
        let sent = tracker.clone();
        let producer = thread::spawn(move || {
            match i % 3 {
                0 => handle.submit(sent.callback()).unwrap(),
                1 => handle.submit_internal(sent.callback()).unwrap(),
                _ => handle.queue_microtask(sent.callback()).unwrap(),
            }
            drop(guard);
        });
        event_loop.run_until_idle().unwrap();
        assert_eq!(tracker.ran(), 1);
        producer.join().unwrap();
    }
}

// spec: SH-2
fn a_guard_of_a_callback_keeps_the_loop_from_becoming_idle(variant: Variant) {
    let event_loop = variant.build();
    let done = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&done);
    event_loop
        .cx()
        .submit(move |cx| {
            let (handle, guard) = (cx.handle(), cx.handle().keep_alive());
            thread::spawn(move || {
                wait_until_sleeping(&handle);
                handle
                    .submit(move |_| {
                        told.store(true, Ordering::SeqCst);
                        drop(guard);
                    })
                    .unwrap();
            });
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(done.load(Ordering::SeqCst));
}

// spec: TK-3
fn a_wake_does_not_keep_the_loop_from_becoming_idle(variant: Variant) {
    must_return(move || {
        let event_loop = variant.build();
        for _ in 0..10 {
            event_loop.handle().wake();
            event_loop.run_until_idle().unwrap();
        }
    });
}

// spec: SD-1, SD-4
fn a_shutdown_ends_a_loop_that_is_kept_alive(variant: Variant) {
    for close in [false, true] {
        let (handle, thread) = variant.spawn(
            |builder| builder,
            |event_loop| {
                let _guard = event_loop.handle().keep_alive();
                event_loop.run_until_idle()
            },
        );
        wait_until_sleeping(&handle);
        if close {
            handle.close();
        } else {
            handle.shutdown(Deadline::NEVER).unwrap();
        }
        thread.join().unwrap().unwrap();
        assert_eq!(handle.state(), LoopState::Terminated);
    }
}

// spec: TK-7, SD-1
fn a_condition_that_holds_at_once_still_lets_what_is_queued_run(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), tracker.callback());
    }
    event_loop.run_until_aborted(|| true).unwrap();
    assert_eq!((tracker.ran(), event_loop.state()), (6, LoopState::Terminated));
    assert!(matches!(event_loop.run_until_aborted(|| true), Err(Error::Terminated)));
}

// spec: TK-7
fn a_condition_is_asked_again_after_a_wake(variant: Variant) {
    let (flag, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (seen, counted) = (Arc::clone(&flag), Arc::clone(&asked));
    let (handle, thread) = variant.spawn(
        |builder| builder,
        move |event_loop| {
            event_loop.run_until_aborted(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                seen.load(Ordering::Relaxed)
            })
        },
    );
    for _ in 0..100 {
        wait_until_sleeping(&handle);
        let before = asked.load(Ordering::SeqCst);
        handle.wake();
        wait_until(|| asked.load(Ordering::SeqCst) > before);
    }
    flag.store(true, Ordering::Relaxed);
    handle.wake();
    thread.join().unwrap().unwrap();
}

// spec: SD-6
fn a_condition_is_released_when_its_run_is_over(variant: Variant) {
    for terminated in [false, true] {
        let tracker = Tracker::new();
        let event_loop = variant.build();
        if terminated {
            event_loop.cx().close();
        }
        let (token, cx) = (tracker.token(), event_loop.cx().clone());
        let condition = move || {
            let _captured = (&token, &cx);
            true
        };
        assert_eq!(event_loop.run_until_aborted(condition).is_err(), terminated);
        assert_eq!(tracker.alive(), 0);
    }
}

// spec: FA-3, TK-7
fn a_condition_does_not_outlive_its_run(variant: Variant) {
    let policy = mainspring::PanicPolicy::Propagate;
    let event_loop = variant.builder().panic_policy(policy).build().unwrap();
    event_loop.cx().submit(|_| panic!("expected by the test")).unwrap();
    let asked = Rc::new(Cell::new(0));
    let counted = Rc::clone(&asked);
    let condition = move || {
        counted.set(counted.get() + 1);
        counted.get() > 1
    };
    let panic = common::panic_of(|| event_loop.run_until_aborted(condition));
    assert!(panic.is_some());
    assert_eq!((asked.get(), Rc::strong_count(&asked)), (1, 1));
    event_loop.run_until_idle().unwrap();
    assert_eq!(event_loop.state(), LoopState::Running, "not aborted by a condition of before");
}

// spec: SH-4, SH-3
fn a_context_can_be_kept_and_used_between_turns(variant: Variant) {
    let event_loop = variant.build();
    let kept: Rc<RefCell<Option<Cx>>> = Rc::default();
    let keeper = Rc::clone(&kept);
    event_loop.cx().submit(move |cx| drop(keeper.replace(Some(cx.clone())))).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    let cx = kept.take().unwrap();
    let tracker = Tracker::new();
    for kind in Kind::ALL {
        kind.queue(&cx, tracker.callback());
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(tracker.ran(), 6);
}

// spec: SH-2
fn no_call_on_a_handle_waits_for_the_loop(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (begun, has_begun) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    handle
        .submit(move |_| {
            begun.send(()).unwrap();
            let _ = gone.recv();
        })
        .unwrap();
    has_begun.recv().unwrap();
    // The loop is stuck in a callback until all of this has returned.
    let tracker = Tracker::new();
    for _ in 0..5_000 {
        handle.submit(tracker.callback()).unwrap();
        handle.submit_internal(tracker.callback()).unwrap();
        handle.queue_microtask(tracker.callback()).unwrap();
    }
    handle.wake();
    handle.set_fast_path(mainspring::FastPathMode::Disabled).unwrap();
    handle.set_fast_path(mainspring::FastPathMode::Auto).unwrap();
    drop(handle.keep_alive());
    let _ = (handle.now(), handle.state(), handle.fast_path());
    assert_eq!(handle.pending(), 15_000);
    handle.close();
    go.send(()).unwrap();
    thread.join().unwrap().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}
