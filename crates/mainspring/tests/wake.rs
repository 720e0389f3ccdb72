//! Sleeping and waking, on either primitive, and switching between them.

mod common;

use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use common::streams::{Stream, pair};
use common::{Kind, Tracker, Variant, must_return, wait_until, wait_until_sleeping};
use mainspring::{Cx, Deadline, Error, FastPathMode, Handle, LoopState, Shutdown};

suite![
    a_loop_with_nothing_to_do_sleeps,
    a_wake_before_a_turn_ends_that_turn,
    a_wake_is_answered_once,
    many_wakes_are_one_wake,
    a_wake_ends_a_sleep,
    a_wake_from_a_callback_or_a_hook_keeps_the_loop_from_blocking,
    a_wake_that_races_the_sleep_is_not_missed,
    every_way_in_ends_a_sleep,
    every_way_in_ends_a_sleep_again_and_again,
    a_task_that_races_the_sleep_is_not_missed,
    a_task_that_comes_at_any_moment_of_falling_asleep_is_not_missed,
    many_threads_that_wake_one_sleep_lose_nothing,
    a_shutdown_ends_a_sleep,
    a_termination_that_races_the_sleep_is_not_missed,
    a_turn_waits_no_longer_than_it_was_told,
    a_turn_with_a_far_timeout_is_ended_by_a_task,
    a_turn_with_an_unrepresentable_timeout_waits_for_ever,
    a_long_spin_does_not_outlast_a_timeout,
    a_long_spin_is_ended_by_work_and_by_termination,
    dropping_the_last_guard_ends_a_sleep,
    the_mode_can_be_changed_while_the_loop_sleeps,
    changing_the_mode_under_load_loses_nothing,
    changing_the_mode_of_a_terminated_loop_is_refused,
    a_terminated_loop_writes_to_no_descriptor,
    wakes_that_race_the_end_write_to_no_other_descriptor,
];

// spec: ST-1
fn a_loop_with_nothing_to_do_sleeps(variant: Variant) {
    let (handle, thread) = variant.spawn(|builder| builder, |event_loop| event_loop.run());
    for _ in 0..10 {
        wait_until_sleeping(&handle);
        handle.wake();
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: WK-1
fn a_wake_before_a_turn_ends_that_turn(variant: Variant) {
    let event_loop = variant.build();
    for _ in 0..100 {
        event_loop.handle().wake();
        // Nobody else could end this.
        assert_eq!(event_loop.turn(None).unwrap().callbacks, 0);
        let handle = event_loop.handle();
        thread::spawn(move || handle.wake()).join().unwrap();
        event_loop.turn(None).unwrap();
    }
}

// spec: WK-5
fn a_wake_is_answered_once(variant: Variant) {
    // The idle hook tells whether the loop was about to block.
    let idle = Rc::new(Cell::new(0));
    let counted = Rc::clone(&idle);
    let event_loop =
        variant.builder().on_idle(move |_| counted.set(counted.get() + 1)).build().unwrap();
    event_loop.handle().wake();
    event_loop.turn(None).unwrap();
    assert_eq!(idle.get(), 0);
    event_loop.turn(Duration::from_millis(1)).unwrap();
    assert_eq!(idle.get(), 1, "the second turn has no wake to answer");
}

// spec: WK-5
fn many_wakes_are_one_wake(variant: Variant) {
    let idle = Rc::new(Cell::new(0));
    let counted = Rc::clone(&idle);
    let event_loop =
        variant.builder().on_idle(move |_| counted.set(counted.get() + 1)).build().unwrap();
    for _ in 0..1_000 {
        event_loop.handle().wake();
    }
    event_loop.turn(None).unwrap();
    assert!(!event_loop.turn(Duration::from_millis(1)).unwrap().ready);
    assert_eq!(idle.get(), 1);
}

// spec: WK-2
fn a_wake_ends_a_sleep(variant: Variant) {
    let (turned, is_done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (turns, done) = (Arc::clone(&turned), Arc::clone(&is_done));
    let (handle, thread) = variant.spawn(
        |builder| builder,
        move |event_loop| {
            while !done.load(Ordering::Acquire) {
                event_loop.turn(None).unwrap();
                turns.fetch_add(1, Ordering::Release);
            }
        },
    );
    for _ in 0..100 {
        wait_until_sleeping(&handle);
        // Not counted against the wakes: one that comes while the loop falls asleep may end two turns, the
        // first because it was seen and the second by its signal.
        let before = turned.load(Ordering::Acquire);
        handle.wake();
        wait_until(|| turned.load(Ordering::Acquire) > before);
    }
    is_done.store(true, Ordering::Release);
    handle.wake();
    thread.join().unwrap();
}

// spec: WK-1, TK-3
fn a_wake_from_a_callback_or_a_hook_keeps_the_loop_from_blocking(variant: Variant) {
    for kind in Kind::ALL {
        let event_loop = variant.build();
        let flag = Rc::new(Cell::new(false));
        let seen = Rc::clone(&flag);
        kind.queue(event_loop.cx(), move |cx| {
            flag.set(true);
            cx.handle().wake();
        });
        // Nobody else will make the loop ask.
        event_loop.run_until_aborted(move || seen.get()).unwrap();
    }
    let event_loop = variant.builder().on_prepare(|cx| cx.handle().wake()).build().unwrap();
    event_loop.turn(None).unwrap();
    let event_loop = variant.builder().on_idle(|cx| cx.handle().wake()).build().unwrap();
    event_loop.turn(None).unwrap();
}

// spec: WK-1, WK-2, D03, F-2
fn a_wake_that_races_the_sleep_is_not_missed(variant: Variant) {
    let (handle, thread) = variant.spawn(
        |builder| builder.max_spin(Duration::ZERO),
        |event_loop| {
            for _ in 0..5_000 {
                event_loop.turn(None).unwrap();
            }
        },
    );
    while !thread.is_finished() {
        handle.wake();
        for _ in 0..50 {
            std::hint::spin_loop();
        }
    }
    thread.join().unwrap();
}

type Send = fn(&Handle, Tracker);

/// The ways in, each of which runs a callback of the tracker.
const WAYS: [Send; 3] = [
    |handle, tracker| handle.submit(tracker.callback()).unwrap(),
    |handle, tracker| handle.submit_internal(tracker.callback()).unwrap(),
    |handle, tracker| handle.queue_microtask(tracker.callback()).unwrap(),
];

// spec: WK-2, WK-6, F-1
fn every_way_in_ends_a_sleep(variant: Variant) {
    for way in WAYS {
        let (handle, thread) = variant.spawn_running();
        let tracker = Tracker::new();
        wait_until_sleeping(&handle);
        way(&handle, tracker.clone());
        wait_until(|| tracker.ran() == 1);
        handle.close();
        thread.join().unwrap().unwrap();
    }
}

// spec: WK-2, F-1
fn every_way_in_ends_a_sleep_again_and_again(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    for i in 0..600 {
        wait_until_sleeping(&handle);
        WAYS[i % 3](&handle, tracker.clone());
        wait_until(|| tracker.ran() == i + 1);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: WK-1, WK-2, D03, F-2
fn a_task_that_races_the_sleep_is_not_missed(variant: Variant) {
    for spin in [Duration::ZERO, Duration::from_micros(50)] {
        let (handle, thread) =
            variant.spawn(move |builder| builder.max_spin(spin), |event_loop| event_loop.run());
        wait_until_sleeping(&handle);
        // Each waits for its own task only, so that the loop is always on its way to sleep.
        let producers: Vec<_> = (0..2)
            .map(|producer| {
                let handle = handle.clone();
                thread::spawn(move || {
                    let tracker = Tracker::new();
                    for i in 0..3_000 {
                        WAYS[(i + producer) % 3](&handle, tracker.clone());
                        wait_until(|| tracker.ran() == i + 1);
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.join().unwrap();
        }
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
        thread.join().unwrap().unwrap();
    }
}

// spec: WK-1, WK-2, D03, F-2
fn a_task_that_comes_at_any_moment_of_falling_asleep_is_not_missed(variant: Variant) {
    let (handle, thread) =
        variant.spawn(|builder| builder.max_spin(Duration::ZERO), |event_loop| event_loop.run());
    let tracker = Tracker::new();
    // One producer alone: a second one would wake the loop for the first one's task, too.
    for i in 0..12_000 {
        WAYS[i % 3](&handle, tracker.clone());
        wait_until(|| tracker.ran() == i + 1);
        // The loop is on its way to sleep now. Meet it a little further on each time.
        for _ in 0..i % 400 {
            std::hint::spin_loop();
        }
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: WK-2
fn many_threads_that_wake_one_sleep_lose_nothing(variant: Variant) {
    const THREADS: usize = 8;
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    let start = Arc::new(Barrier::new(THREADS + 1));
    let threads: Vec<_> = (0..THREADS)
        .map(|i| {
            let (handle, tracker, start) = (handle.clone(), tracker.clone(), Arc::clone(&start));
            thread::spawn(move || {
                for _ in 0..100 {
                    start.wait();
                    WAYS[i % 3](&handle, tracker.clone());
                }
            })
        })
        .collect();
    for round in 1..=100 {
        wait_until_sleeping(&handle);
        start.wait();
        wait_until(|| tracker.ran() == round * THREADS);
    }
    for thread in threads {
        thread.join().unwrap();
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: WK-2, SD-1, ST-3, D01
fn a_shutdown_ends_a_sleep(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    wait_until_sleeping(&handle);
    let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
    assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
    thread.join().unwrap().unwrap();
}

// spec: ST-3, D01, F-4
fn a_termination_that_races_the_sleep_is_not_missed(variant: Variant) {
    for i in 0..300 {
        let start = Arc::new(Barrier::new(2));
        let begin = Arc::clone(&start);
        let (handle, thread) = variant.spawn(
            |builder| builder.max_spin(Duration::ZERO),
            move |event_loop| {
                // The first drive is behind it: only sleeping and waking are ahead.
                event_loop.turn(Duration::ZERO).unwrap();
                begin.wait();
                event_loop.run()
            },
        );
        start.wait();
        for _ in 0..i {
            std::hint::spin_loop();
        }
        if i % 2 == 0 {
            handle.close();
        } else {
            handle.shutdown(Deadline::NEVER).unwrap();
        }
        thread.join().unwrap().unwrap();
        assert_eq!(handle.state(), LoopState::Terminated);
    }
}

// spec: TK-3
fn a_turn_waits_no_longer_than_it_was_told(variant: Variant) {
    must_return(move || {
        let event_loop = variant.build();
        for timeout in [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(2)] {
            for _ in 0..3 {
                assert!(!event_loop.turn(timeout).unwrap().ready);
                assert_eq!(event_loop.state(), LoopState::Running);
            }
        }
    });
}

// spec: WK-2
fn a_turn_with_a_far_timeout_is_ended_by_a_task(variant: Variant) {
    let (handle, thread) = variant.spawn(
        |builder| builder,
        |event_loop| event_loop.turn(Duration::from_secs(10_000)).map(|turn| turn.ready),
    );
    wait_until_sleeping(&handle);
    let tracker = Tracker::new();
    handle.submit(tracker.callback()).unwrap();
    assert!(thread.join().unwrap().unwrap(), "the task is for the next tick");
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "which never came");
}

// spec: ER-2
fn a_turn_with_an_unrepresentable_timeout_waits_for_ever(variant: Variant) {
    let (handle, thread) =
        variant.spawn(|builder| builder, |event_loop| event_loop.turn(Duration::MAX).is_ok());
    wait_until_sleeping(&handle);
    handle.wake();
    assert!(thread.join().unwrap());
}

// spec: TK-3
fn a_long_spin_does_not_outlast_a_timeout(variant: Variant) {
    must_return(move || {
        let event_loop = variant.builder().max_spin(Duration::from_secs(100_000)).build().unwrap();
        event_loop.turn(Duration::from_millis(1)).unwrap();
    });
}

// spec: WK-6, ER-2
fn a_long_spin_is_ended_by_work_and_by_termination(variant: Variant) {
    must_return(move || {
        let (handle, thread) =
            variant.spawn(|builder| builder.max_spin(Duration::MAX), |event_loop| event_loop.run());
        wait_until(|| handle.state() == LoopState::Running);
        let tracker = Tracker::new();
        for (i, way) in WAYS.into_iter().enumerate() {
            way(&handle, tracker.clone());
            wait_until(|| tracker.ran() == i + 1);
        }
        handle.shutdown(Deadline::NEVER).unwrap();
        thread.join().unwrap().unwrap();
    });
}

// spec: WK-2
fn dropping_the_last_guard_ends_a_sleep(variant: Variant) {
    for _ in 0..50 {
        let (guards, receiver) = mpsc::channel();
        let (handle, thread) = variant.spawn(
            |builder| builder,
            move |event_loop| {
                guards.send(event_loop.handle().keep_alive()).unwrap();
                guards.send(event_loop.handle().keep_alive()).unwrap();
                event_loop.run_until_idle()
            },
        );
        wait_until_sleeping(&handle);
        drop(receiver.recv().unwrap());
        wait_until_sleeping(&handle);
        drop(receiver.recv().unwrap());
        thread.join().unwrap().unwrap();
    }
}

const MODES: [FastPathMode; 3] = [FastPathMode::Auto, FastPathMode::Forced, FastPathMode::Disabled];

// spec: WK-6, F-21
fn the_mode_can_be_changed_while_the_loop_sleeps(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    for i in 0..60 {
        wait_until_sleeping(&handle);
        let mode = MODES[i % 3];
        handle.set_fast_path(mode).unwrap();
        assert_eq!(handle.fast_path(), mode);
        if i % 2 == 0 {
            wait_until_sleeping(&handle);
        }
        WAYS[i % 3](&handle, tracker.clone());
        wait_until(|| tracker.ran() == i + 1);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: WK-6, F-21
fn changing_the_mode_under_load_loses_nothing(variant: Variant) {
    const TASKS: usize = 2_000;
    let (handle, thread) =
        variant.spawn(|builder| builder.max_spin(Duration::ZERO), |event_loop| event_loop.run());
    wait_until_sleeping(&handle);
    let trackers = [Tracker::new(), Tracker::new()];
    let producers: Vec<_> = trackers
        .iter()
        .cloned()
        .enumerate()
        .map(|(producer, tracker)| {
            let handle = handle.clone();
            thread::spawn(move || {
                for i in 0..TASKS {
                    WAYS[(i + producer) % 3](&handle, tracker.clone());
                    wait_until(|| tracker.ran() == i + 1);
                }
            })
        })
        .collect();
    for mode in MODES.into_iter().cycle() {
        let before = trackers.each_ref().map(Tracker::ran);
        if before == [TASKS; 2] {
            break;
        }
        handle.set_fast_path(mode).unwrap();
        // A change wakes the loop, so a stranded task must not be saved by the next one: both
        // producers go on without it.
        for (tracker, before) in trackers.iter().zip(before) {
            wait_until(|| tracker.ran() > before || tracker.ran() == TASKS);
        }
    }
    for producer in producers {
        producer.join().unwrap();
    }
    let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
    assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
    thread.join().unwrap().unwrap();
}

// spec: ER-2
fn changing_the_mode_of_a_terminated_loop_is_refused(variant: Variant) {
    for driven in [false, true] {
        let event_loop = variant.build();
        let handle = event_loop.handle();
        if driven {
            event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
            event_loop.run().unwrap();
        } else {
            drop(event_loop);
        }
        let before = handle.fast_path();
        for mode in MODES {
            let result = handle.set_fast_path(mode);
            assert!(matches!(result, Err(Error::Terminated)), "{mode:?}: {result:?}");
            assert_eq!(handle.fast_path(), before);
        }
    }
}

/// Connected sockets in such number that they have every descriptor that was free before.
struct Strangers(Vec<Stream>);

impl Strangers {
    fn new() -> Self {
        let pairs = (0..40).map(|_| pair().unwrap());
        let all: Vec<_> = pairs.flat_map(|(a, b)| [a, b]).collect();
        all.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        Self(all)
    }

    #[track_caller]
    fn assert_untouched(&mut self) {
        for socket in &mut self.0 {
            let read = socket.read(&mut [0; 8]).map_err(|error| error.kind());
            assert_eq!(read, Err(ErrorKind::WouldBlock));
        }
    }
}

// spec: WK-8, F-20
fn a_terminated_loop_writes_to_no_descriptor(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    handle.close();
    thread.join().unwrap().unwrap();
    let mut strangers = Strangers::new();
    for _ in 0..10 {
        handle.wake();
        let _ = handle.submit(|_| ());
        let _ = handle.submit_internal(|_| ());
        let _ = handle.queue_microtask(|_| ());
        let _ = handle.set_fast_path(FastPathMode::Auto);
        let _ = handle.shutdown(Deadline::NEVER);
        handle.close();
    }
    strangers.assert_untouched();
}

// spec: WK-8, F-20
fn wakes_that_race_the_end_write_to_no_other_descriptor(variant: Variant) {
    for _ in 0..30 {
        let (handle, thread) = variant.spawn_running();
        let stop = Arc::new(AtomicBool::new(false));
        let wakers: Vec<_> = (0..2)
            .map(|_| {
                let (handle, stop) = (handle.clone(), Arc::clone(&stop));
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        handle.wake();
                        let _ = handle.submit(|_: &Cx| ());
                    }
                })
            })
            .collect();
        handle.close();
        thread.join().unwrap().unwrap();
        let mut strangers = Strangers::new();
        handle.wake();
        strangers.assert_untouched();
        stop.store(true, Ordering::Relaxed);
        for waker in wakers {
            waker.join().unwrap();
        }
        strangers.assert_untouched();
    }
}

// spec: WK-6
#[test]
fn the_mode_is_as_it_was_set() {
    assert_eq!(FastPathMode::default(), FastPathMode::Auto);
    for mode in MODES {
        let event_loop = common::builder().fast_path(mode).build().unwrap();
        assert_eq!(event_loop.handle().fast_path(), mode);
        let (handle, tracker) = (event_loop.handle(), Tracker::new());
        let sent = tracker.clone();
        let producer = thread::spawn(move || {
            wait_until_sleeping(&handle);
            handle.submit(sent.callback()).unwrap();
            handle.submit(|cx| cx.shutdown()).unwrap();
        });
        event_loop.run().unwrap();
        producer.join().unwrap();
        assert_eq!(tracker.ran(), 1);
    }
}
