//! Timers that other threads set, clear and reference, and what they are told about it.

mod common;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::timers::{HOUR, MS, Random, elsewhere, manual};
use common::{
    OnDrop, SharedLog, Tracker, Variant, must_return, turn_until_quiet, wait_until,
    wait_until_sleeping,
};
use mainspring::{Cx, Deadline, Error, Handle, Refusal, Shutdown, TimerId, VirtualClock};

suite![
    a_timer_set_on_another_thread_wakes_the_loop_in_time,
    an_earlier_deadline_from_another_thread_ends_a_longer_sleep,
    a_sleep_whose_deadline_is_cleared_by_another_thread_goes_on_to_the_next_one,
    a_timer_set_on_one_thread_can_be_cleared_on_another,
    no_timer_of_another_thread_fires_early,
    a_due_timer_can_be_cleared_by_a_thread_while_an_earlier_one_runs,
    no_call_waits_for_a_loop_that_is_busy,
    a_timer_set_by_a_thread_during_the_phase_waits_for_the_next_tick,
    a_running_timer_is_not_cleared_and_a_running_interval_is,
    a_cleared_interval_never_fires_again,
    exactly_one_of_the_callback_and_the_clears_wins,
    exactly_one_of_the_clears_of_a_timer_that_never_fires_wins,
    a_timer_without_delay_is_cleared_or_run_and_never_both,
    a_callback_waits_for_its_id_and_the_caller_gets_it,
    every_timer_has_exactly_one_fate,
    timers_of_many_threads_fire_by_deadline_and_in_each_threads_order,
    equal_deadlines_keep_their_order_across_threads,
    a_timer_that_the_loop_has_not_seen_yet_can_be_changed_by_it,
    a_timer_that_the_loop_has_not_seen_yet_can_be_changed_by_other_threads,
    many_timers_set_before_the_loop_turns_fire_in_order,
    the_next_deadline_knows_timers_of_other_threads_at_once,
    other_threads_know_the_next_deadline,
    the_next_deadline_is_never_too_late_for_the_thread_that_set_a_timer,
    a_loop_that_was_left_idle_runs_the_timers_that_threads_set,
    a_timer_set_under_a_guard_is_not_left_behind,
    a_thread_that_clears_the_last_timer_lets_the_loop_end,
    a_thread_that_unreferences_the_last_timer_lets_the_loop_end,
    a_thread_that_references_a_timer_again_keeps_the_loop_alive,
    a_timer_set_while_the_loop_waits_for_another_one_is_waited_for,
    a_deadline_out_of_range_is_refused_on_any_thread,
    a_shutdown_does_not_count_timers,
    timers_set_against_a_shutdown_are_accepted_or_given_back,
    clears_against_a_shutdown_are_truthful,
    a_loop_that_never_ran_can_be_shut_down_while_its_thread_sets_timers,
    a_loop_that_is_dropped_drops_what_threads_had_set,
    captures_of_the_loop_thread_are_dropped_there,
    a_destructor_on_another_thread_may_use_the_timers,
    what_a_destructor_queues_while_the_loop_is_about_to_sleep_is_served,
    threads_that_outlive_the_loop_are_refused,
];

/// Waits until the loop has gone through a whole timer phase that began after this.
fn fence(handle: &Handle) {
    let (sender, receiver) = mpsc::channel();
    // A task may run in a tick that began before; that of its immediate runs in the next one.
    let task = move |cx: &Cx| {
        cx.set_immediate(move |cx| cx.submit(move |_| sender.send(()).unwrap()).unwrap());
    };
    handle.submit(task).unwrap();
    receiver.recv().unwrap();
}

// spec: TM-7, TK-3
fn a_timer_set_on_another_thread_wakes_the_loop_in_time(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn_running();
        for way in 0..4 {
            wait_until_sleeping(&handle);
            let (sender, receiver) = mpsc::channel();
            let deadline = Instant::now() + 3 * MS;
            let callback = move |_: &Cx| _ = sender.send(Instant::now());
            let id = match way {
                0 => handle.set_timeout(3 * MS, callback).unwrap(),
                1 => handle.set_timeout_at(deadline, callback).unwrap(),
                2 => handle.set_interval(3 * MS, move |cx| callback(cx)).unwrap(),
                _ => handle.set_interval_fixed_rate(3 * MS, move |cx| callback(cx)).unwrap(),
            };
            assert!(receiver.recv().unwrap() >= deadline, "way {way}");
            assert_eq!(handle.clear_timeout(id), way >= 2, "way {way}");
        }
        handle.close();
        thread.join().unwrap().unwrap();
    });
}

// spec: TM-3, TK-3, TM-7
fn an_earlier_deadline_from_another_thread_ends_a_longer_sleep(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn_running();
        let log = SharedLog::new();
        // Each is earlier than what the loop sleeps for.
        handle.set_timeout(HOUR, |_| unreachable!()).unwrap();
        wait_until_sleeping(&handle);
        let (sender, receiver) = mpsc::channel();
        for delay in [60, 40, 20, 2] {
            let (sender, noted) = (sender.clone(), log.clone());
            let callback = move |_: &Cx| {
                noted.push(delay);
                sender.send(()).unwrap();
            };
            handle.set_timeout(delay * MS, callback).unwrap();
            wait_until_sleeping(&handle);
        }
        for _ in 0..4 {
            receiver.recv().unwrap();
        }
        let order = log.take();
        assert_eq!(order.len(), 4);
        assert_eq!(handle.shutdown(Deadline::NEVER).unwrap(), Shutdown::Finished { dropped: 0 });
        thread.join().unwrap().unwrap();
    });
}

// spec: TM-3, TK-3, F-1
fn a_sleep_whose_deadline_is_cleared_by_another_thread_goes_on_to_the_next_one(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn_running();
        for _ in 0..5 {
            let (sender, receiver) = mpsc::channel();
            let deadline = Instant::now() + 8 * MS;
            let callback = move |_: &Cx| sender.send(Instant::now()).unwrap();
            handle.set_timeout_at(deadline, callback).unwrap();
            let earlier = handle.set_timeout(HOUR / 2, |_| unreachable!()).unwrap();
            let earliest = handle.set_timeout(6 * MS, |_| ()).unwrap();
            handle.clear_timeout(earliest);
            assert!(receiver.recv().unwrap() >= deadline);
            assert!(handle.clear_timeout(earlier));
        }
        handle.close();
        thread.join().unwrap().unwrap();
    });
}

// spec: TM-7, TM-6
fn a_timer_set_on_one_thread_can_be_cleared_on_another(variant: Variant) {
    let clock = VirtualClock::new();
    let loop_clock = clock.clone();
    let (handle, thread) =
        variant.spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
    let tracker = Tracker::new();
    for seen in [false, true] {
        let ids = elsewhere(|| {
            let token = tracker.token();
            [
                handle.set_timeout(MS, tracker.callback()).unwrap(),
                handle.set_interval(MS, move |_| _ = &token).unwrap(),
            ]
        });
        if seen {
            fence(&handle);
            wait_until_sleeping(&handle);
        }
        for id in ids {
            assert!(elsewhere(|| handle.clear_timeout(id)), "seen by the loop: {seen}");
            assert!(!elsewhere(|| handle.clear_timeout(id)));
        }
        clock.advance(MS);
        fence(&handle);
        wait_until(|| tracker.alive() == 0);
        assert_eq!(tracker.ran(), 0);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: TM-7, TM-1, F-31
fn no_timer_of_another_thread_fires_early(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let early = Arc::new(AtomicUsize::new(0));
    let left = Arc::new(AtomicUsize::new(0));
    let mut random = Random(0x1234_5678_9abc_def1);
    for i in 0..500 {
        let delay = Duration::from_nanos(random.below(5_000_000));
        let (early, left_after) = (Arc::clone(&early), Arc::clone(&left));
        left.fetch_add(1, Ordering::SeqCst);
        let deadline = Instant::now() + delay;
        let callback = move |cx: &Cx| {
            // What was given as a time is compared as one.
            if Instant::now() < deadline || (i % 2 == 1 && cx.now() < deadline) {
                early.fetch_add(1, Ordering::SeqCst);
            }
            left_after.fetch_sub(1, Ordering::SeqCst);
        };
        match i % 2 {
            0 => handle.set_timeout(delay, callback).unwrap(),
            _ => handle.set_timeout_at(deadline, callback).unwrap(),
        };
        if i % 50 == 0 {
            wait_until(|| left.load(Ordering::SeqCst) == 0);
        }
    }
    wait_until(|| left.load(Ordering::SeqCst) == 0);
    assert_eq!(early.load(Ordering::SeqCst), 0);
    handle.close();
    thread.join().unwrap().unwrap();
}

/// A callback that tells when it has begun, and ends when it is told to.
fn blocking() -> (impl FnOnce(&Cx) + Send + 'static, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (begun, has_begun) = mpsc::channel();
    let (end, may_end) = mpsc::channel();
    let callback = move |_: &Cx| {
        begun.send(()).unwrap();
        may_end.recv().unwrap();
    };
    (callback, has_begun, end)
}

// spec: TM-6, TM-7, F-13
fn a_due_timer_can_be_cleared_by_a_thread_while_an_earlier_one_runs(variant: Variant) {
    must_return(move || {
        for local in [false, true] {
            let clock = VirtualClock::new();
            let loop_clock = clock.clone();
            let (handle, thread) = variant
                .spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
            let tracker = Tracker::new();
            let (callback, has_begun, end) = blocking();
            let (sender, ids) = mpsc::channel();
            let timers = tracker.clone();
            // In one task, so that all of them are due in one batch.
            let set = move |cx: &Cx| {
                cx.set_timeout(MS, callback).unwrap();
                for _ in 0..3 {
                    let id = match local {
                        true => cx.set_timeout(MS, timers.callback()).unwrap(),
                        false => cx.handle().set_timeout(MS, timers.callback()).unwrap(),
                    };
                    sender.send(id).unwrap();
                }
            };
            handle.submit(set).unwrap();
            let ids: Vec<TimerId> = ids.iter().collect();
            clock.advance(MS);
            has_begun.recv().unwrap();
            assert!(handle.clear_timeout(ids[0]), "it has not begun");
            assert!(!handle.clear_timeout(ids[0]));
            assert!(handle.clear_interval(ids[2]));
            end.send(()).unwrap();
            fence(&handle);
            assert_eq!(tracker.ran(), 1, "the one that was not cleared");
            wait_until(|| tracker.alive() == 0);
            for id in ids {
                assert!(!handle.clear_timeout(id));
            }
            handle.close();
            thread.join().unwrap().unwrap();
        }
    });
}

// spec: SH-2, TM-7
fn no_call_waits_for_a_loop_that_is_busy(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::new();
        let loop_clock = clock.clone();
        let (handle, thread) =
            variant.spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
        let tracker = Tracker::new();
        let known = handle.set_timeout(HOUR, tracker.callback()).unwrap();
        fence(&handle);
        for inside_the_timer_phase in [false, true] {
            let (callback, has_begun, end) = blocking();
            match inside_the_timer_phase {
                false => handle.submit(callback).unwrap(),
                true => _ = handle.set_timeout(Duration::ZERO, callback).unwrap(),
            }
            has_begun.recv().unwrap();
            let id = handle.set_timeout(2 * HOUR, tracker.callback()).unwrap();
            let token = tracker.token();
            let interval = handle.set_interval(HOUR, move |_| _ = &token).unwrap();
            handle.set_timeout_at(clock.now(), tracker.callback()).unwrap();
            handle.reference_timer(known, false).unwrap();
            handle.reference_timer(id, false).unwrap();
            handle.reference_timer(known, true).unwrap();
            assert!(handle.next_deadline().is_some());
            assert!(handle.clear_timeout(id));
            assert!(handle.clear_interval(interval));
            let gone = handle.reference_timer(id, true);
            assert!(matches!(gone, Err(Error::TimerNotFound)));
            end.send(()).unwrap();
            fence(&handle);
        }
        wait_until(|| tracker.ran() == 2);
        assert!(handle.clear_timeout(known));
        handle.close();
        thread.join().unwrap().unwrap();
        assert_eq!((tracker.ran(), tracker.alive()), (2, 0));
    });
}

// spec: TM-9, TM-7
fn a_timer_set_by_a_thread_during_the_phase_waits_for_the_next_tick(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let start = clock.now();
    let handle = event_loop.handle();
    let log = SharedLog::new();
    let (setter, noted) = (handle.clone(), log.clone());
    let first = move |_: &Cx| {
        noted.push("first");
        let late = noted.note("of the thread");
        elsewhere(|| setter.set_timeout_at(start, late).unwrap());
    };
    event_loop.cx().set_timeout(MS, first).unwrap();
    event_loop.cx().set_timeout(2 * MS, log.note("second")).unwrap();
    event_loop.cx().submit(log.note("task")).unwrap();
    clock.advance(2 * MS);
    assert!(event_loop.turn(Duration::ZERO).unwrap().ready);
    assert_eq!(log.take(), ["first", "second", "task"]);
    event_loop.cx().submit_internal(log.note("internal")).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["of the thread", "internal"]);
}

// spec: TM-7, TM-10, F-17
fn a_running_timer_is_not_cleared_and_a_running_interval_is(variant: Variant) {
    must_return(move || {
        for local in [false, true] {
            let (handle, thread) = variant.spawn_running();
            let (callback, has_begun, end) = blocking();
            let id = handle.set_timeout(MS, callback).unwrap();
            has_begun.recv().unwrap();
            assert!(!handle.clear_timeout(id), "it runs already");
            let gone = handle.reference_timer(id, false);
            assert!(matches!(gone, Err(Error::TimerNotFound)));
            end.send(()).unwrap();

            let tracker = Tracker::new();
            let calls = Arc::new(AtomicUsize::new(0));
            let (begun, has_begun) = mpsc::channel();
            let (end, may_end) = mpsc::channel::<()>();
            let (counted, token) = (Arc::clone(&calls), tracker.token());
            let callback = move |_: &Cx| {
                _ = &token;
                counted.fetch_add(1, Ordering::SeqCst);
                begun.send(()).unwrap();
                may_end.recv().unwrap();
            };
            let id = if local {
                let (sender, id) = mpsc::channel();
                let set = move |cx: &Cx| {
                    sender.send(cx.set_interval(Duration::ZERO, callback).unwrap()).unwrap();
                };
                handle.submit(set).unwrap();
                id.recv().unwrap()
            } else {
                handle.set_interval(Duration::ZERO, callback).unwrap()
            };
            has_begun.recv().unwrap();
            handle.reference_timer(id, false).unwrap();
            assert!(handle.clear_interval(id), "there would have been another call");
            assert!(!handle.clear_interval(id));
            assert_eq!(tracker.alive(), 1, "its captures are in use");
            end.send(()).unwrap();
            fence(&handle);
            assert_eq!(calls.load(Ordering::SeqCst), 1);
            wait_until(|| tracker.alive() == 0);
            handle.close();
            thread.join().unwrap().unwrap();
        }
    });
}

// spec: TM-10, F-17, TM-7
fn a_cleared_interval_never_fires_again(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    for round in 0..300 {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let callback = move |_: &Cx| _ = counted.fetch_add(1, Ordering::SeqCst);
        let id = match round % 2 {
            0 => handle.set_interval(Duration::ZERO, callback).unwrap(),
            _ => handle.set_interval_fixed_rate(Duration::from_nanos(1), callback).unwrap(),
        };
        // At any moment: before the first call, in it, or between two.
        wait_until(|| calls.load(Ordering::SeqCst) >= round % 3);
        assert!(handle.clear_interval(id), "an interval is alive until it is cleared");
        fence(&handle);
        let after = calls.load(Ordering::SeqCst);
        fence(&handle);
        assert_eq!(calls.load(Ordering::SeqCst), after);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: TM-7, TM-6
fn exactly_one_of_the_callback_and_the_clears_wins(variant: Variant) {
    const CLEARERS: usize = 2;
    const ROUNDS: u64 = 3_000;
    let clock = VirtualClock::new();
    let loop_clock = clock.clone();
    let (handle, thread) =
        variant.spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
    let (start, finish) = (Barrier::new(CLEARERS + 1), Barrier::new(CLEARERS + 1));
    let id = AtomicU64::new(0);
    let cleared = AtomicUsize::new(0);
    let (mut by_callback, mut by_clear) = (0, 0);
    thread::scope(|scope| {
        for seed in 1..=CLEARERS as u64 {
            let (handle, id, start, finish, cleared) =
                (handle.clone(), &id, &start, &finish, &cleared);
            scope.spawn(move || {
                let mut random = Random(seed);
                for _ in 0..ROUNDS {
                    start.wait();
                    // So that they meet the loop at each point of its way.
                    for _ in 0..random.below(4_000) {
                        std::hint::spin_loop();
                    }
                    let id = TimerId::from_u64(id.load(Ordering::SeqCst)).unwrap();
                    if handle.clear_timeout(id) {
                        cleared.fetch_add(1, Ordering::SeqCst);
                    }
                    finish.wait();
                }
            });
        }
        for round in 0..ROUNDS {
            let tracker = Tracker::new();
            let callback = tracker.callback();
            let new = if round % 2 == 0 {
                handle.set_timeout(MS, callback).unwrap()
            } else {
                let (sender, receiver) = mpsc::channel();
                let set = move |cx: &Cx| {
                    sender.send(cx.set_timeout(MS, callback).unwrap()).unwrap();
                };
                handle.submit(set).unwrap();
                receiver.recv().unwrap()
            };
            id.store(new.get(), Ordering::SeqCst);
            cleared.store(0, Ordering::SeqCst);
            start.wait();
            clock.advance(MS);
            finish.wait();
            match cleared.load(Ordering::SeqCst) {
                0 => {
                    wait_until(|| tracker.ran() == 1);
                    by_callback += 1;
                }
                1 => {
                    fence(&handle);
                    assert_eq!(tracker.ran(), 0, "it was said to be prevented, in round {round}");
                    by_clear += 1;
                }
                more => panic!("{more} clears prevented it, in round {round}"),
            }
            wait_until(|| tracker.alive() == 0);
            assert!(tracker.ran() <= 1);
        }
    });
    println!("{}: {by_callback} by the callback, {by_clear} by a clear", variant.name);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: TM-7, TM-6
fn exactly_one_of_the_clears_of_a_timer_that_never_fires_wins(variant: Variant) {
    const THREADS: usize = 4;
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    let ids: Vec<_> =
        (0..2_000).map(|_| handle.set_timeout(HOUR, tracker.callback()).unwrap()).collect();
    let barrier = Barrier::new(THREADS);
    let cleared: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    ids.iter().filter(|id| handle.clear_timeout(**id)).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(cleared, ids.len());
    wait_until(|| tracker.alive() == 0 && handle.next_deadline().is_none());
    assert_eq!(tracker.ran(), 0);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: F-30, TM-7
fn a_timer_without_delay_is_cleared_or_run_and_never_both(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let mut random = Random(99);
    for round in 0..3_000 {
        let tracker = Tracker::new();
        let id = match round % 2 {
            0 => handle.set_timeout(Duration::ZERO, tracker.callback()).unwrap(),
            _ => handle.set_timeout_at(Instant::now() - MS, tracker.callback()).unwrap(),
        };
        for _ in 0..random.below(2_000) {
            std::hint::spin_loop();
        }
        if handle.clear_timeout(id) {
            fence(&handle);
            assert_eq!(tracker.ran(), 0, "in round {round}");
        } else {
            // It has begun at least.
            wait_until(|| tracker.ran() == 1);
        }
        wait_until(|| tracker.alive() == 0);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: F-30, SH-2
fn a_callback_waits_for_its_id_and_the_caller_gets_it(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn_running();
        for _ in 0..500 {
            let slot = Arc::new(Mutex::new(None));
            let (sender, receiver) = mpsc::channel();
            let inner = Arc::clone(&slot);
            // The callback may begin at once, and then waits for the lock: if the call waited for
            // the loop, neither would go on.
            let mut guard = slot.lock().unwrap();
            let callback = move |cx: &Cx| {
                let id = inner.lock().unwrap().expect("the id was stored");
                sender.send((id, cx.clear_timeout(id))).unwrap();
            };
            let id = handle.set_timeout(Duration::ZERO, callback).unwrap();
            *guard = Some(id);
            drop(guard);
            assert_eq!(receiver.recv().unwrap(), (id, false));
        }
        handle.close();
        thread.join().unwrap().unwrap();
    });
}

// spec: TM-7, TM-6, TM-8
fn every_timer_has_exactly_one_fate(variant: Variant) {
    const THREADS: u64 = 3;
    const TIMERS: usize = 3_000;
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    let pool: Mutex<Vec<(TimerId, Tracker)>> = Mutex::default();
    let cleared = AtomicUsize::new(0);
    thread::scope(|scope| {
        for seed in 1..=THREADS {
            let (handle, pool, cleared, tracker) =
                (handle.clone(), &pool, &cleared, tracker.clone());
            scope.spawn(move || {
                let mut random = Random(seed * 0x9e37_79b9);
                for _ in 0..TIMERS {
                    let own = Tracker::new();
                    let (callback, counted) = (own.callback(), tracker.callback());
                    let delay = Duration::from_nanos(random.below(400_000));
                    let callback = move |cx: &Cx| {
                        callback(cx);
                        counted(cx);
                    };
                    let id = handle.set_timeout(delay, callback).unwrap();
                    let other = {
                        let mut pool = pool.lock().unwrap();
                        pool.push((id, own));
                        let index = random.below(pool.len() as u64) as usize;
                        pool[if random.below(2) == 0 { index } else { pool.len() - 1 }].clone()
                    };
                    match random.below(4) {
                        0 | 1 if handle.clear_timeout(other.0) => {
                            assert_eq!(other.1.ran(), 0, "it was prevented");
                            cleared.fetch_add(1, Ordering::SeqCst);
                        }
                        2 => _ = handle.reference_timer(other.0, random.below(2) == 0),
                        _ => {}
                    }
                }
            });
        }
    });
    let total = THREADS as usize * TIMERS;
    wait_until(|| tracker.ran() + cleared.load(Ordering::SeqCst) >= total);
    fence(&handle);
    assert_eq!(tracker.ran() + cleared.load(Ordering::SeqCst), total);
    wait_until(|| tracker.alive() == 0);
    let mut ids: Vec<_> = pool.into_inner().unwrap().into_iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), total, "each id is given out once");
    assert_eq!(handle.next_deadline(), None);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: TM-2, F-14, TM-7
fn timers_of_many_threads_fire_by_deadline_and_in_each_threads_order(variant: Variant) {
    let clock = VirtualClock::new();
    let loop_clock = clock.clone();
    let (handle, thread) =
        variant.spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
    let start = clock.now();
    let log = SharedLog::new();
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (handle, log) = (handle.clone(), log.clone());
            scope.spawn(move || {
                let mut random = Random(thread + 1);
                for i in 0..2_000 {
                    let ms = random.below(10) as u32 + 1;
                    let entry = (ms, thread, i);
                    handle.set_timeout_at(start + ms * MS, log.note(entry)).unwrap();
                }
            });
        }
    });
    clock.advance(10 * MS);
    let mut fired = Vec::new();
    while fired.len() < 8_000 {
        fired.extend(log.take());
        thread::yield_now();
    }
    assert!(fired.is_sorted_by_key(|entry| entry.0), "by deadline");
    for thread in 0..4 {
        assert!(fired.iter().filter(|entry| entry.1 == thread).is_sorted(), "of thread {thread}");
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: TM-2, F-14, TM-7
fn equal_deadlines_keep_their_order_across_threads(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    let log = SharedLog::new();
    let deadline = clock.now() + HOUR;
    let mut expected = Vec::new();
    let mut resets = Vec::new();
    for i in 0..120_u32 {
        // Each returns before the next begins, so there is an order.
        match i % 6 {
            0 | 3 => _ = cx.set_timeout_at(deadline, log.note(i)).unwrap(),
            1 | 4 => _ = elsewhere(|| handle.set_timeout_at(deadline, log.note(i)).unwrap()),
            2 => {
                // Goes to the end of the line although the loop has not seen it yet.
                let id = elsewhere(|| handle.set_timeout_at(deadline, log.note(i)).unwrap());
                resets.push((id, i));
            }
            _ => {
                clock.advance(MS);
                event_loop.turn(Duration::ZERO).unwrap();
            }
        }
        if !matches!(i % 6, 2 | 5) {
            expected.push(i);
        }
        if i % 6 == 4 {
            let (id, i) = resets.pop().unwrap();
            cx.reset_timeout(id, deadline - clock.now()).unwrap();
            expected.push(i);
        }
    }
    clock.advance(deadline - clock.now());
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), expected);
}

// spec: TM-7, TM-6, F-24
fn a_timer_that_the_loop_has_not_seen_yet_can_be_changed_by_it(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    let tracker = Tracker::new();
    let set = |delay| elsewhere(|| handle.set_timeout(delay, tracker.callback()).unwrap());
    // Cleared.
    let id = set(MS);
    assert!(cx.clear_timeout(id));
    assert!(!cx.clear_timeout(id));
    assert!(!elsewhere(|| handle.clear_timeout(id)));
    assert_eq!(cx.next_deadline(), None);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(tracker.alive(), 0);
    // Cleared while it is due.
    let id = set(Duration::ZERO);
    assert!(cx.clear_timeout(id));
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    // Moved, in both directions.
    let id = set(HOUR);
    cx.reset_timeout(id, MS).unwrap();
    assert_eq!(cx.next_deadline(), Some(clock.now() + MS));
    let late = set(MS);
    cx.reset_timeout(late, HOUR).unwrap();
    clock.advance(MS);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(tracker.ran(), 1);
    assert!(matches!(cx.reset_timeout(id, MS), Err(Error::TimerNotFound)));
    // Unreferenced.
    cx.reference_timer(late, false).unwrap();
    let id = set(HOUR);
    cx.reference_timer(id, false).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.ran(), 1);
    assert!(cx.clear_timeout(id) && cx.clear_timeout(late));
    assert_eq!(tracker.alive(), 0);
}

// spec: TM-7, TM-6, F-24
fn a_timer_that_the_loop_has_not_seen_yet_can_be_changed_by_other_threads(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let handle = event_loop.handle();
    let tracker = Tracker::new();
    let ids: Vec<_> = elsewhere(|| {
        (0..10).map(|_| handle.set_timeout(MS, tracker.callback()).unwrap()).collect()
    });
    elsewhere(|| {
        for id in &ids[..5] {
            assert!(handle.clear_timeout(*id));
            assert!(!handle.clear_timeout(*id));
            let gone = handle.reference_timer(*id, false);
            assert!(matches!(gone, Err(Error::TimerNotFound)));
        }
        for id in &ids[5..] {
            handle.reference_timer(*id, false).unwrap();
        }
        handle.reference_timer(ids[9], true).unwrap();
    });
    assert!(handle.clear_timeout(ids[9]));
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.ran(), 0, "nothing keeps it alive");
    clock.advance(MS);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 4);
    turn_until_quiet(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (4, 0));
}

// spec: TM-2, TM-7, F-14
fn many_timers_set_before_the_loop_turns_fire_in_order(variant: Variant) {
    const COUNT: u32 = 50_000;
    let (clock, event_loop) = manual(variant);
    let handle = event_loop.handle();
    let log = SharedLog::new();
    let start = clock.now();
    let mut expected = elsewhere(|| {
        let mut random = Random(5);
        let mut expected = Vec::new();
        for i in 0..COUNT {
            let at = Duration::from_micros(random.below(20_000));
            let id = handle.set_timeout_at(start + at, log.note((at, i))).unwrap();
            if random.below(3) == 0 {
                assert!(handle.clear_timeout(id));
            } else {
                expected.push((at, i));
            }
        }
        expected
    });
    expected.sort_unstable();
    assert_eq!(event_loop.next_deadline(), Some(start + expected[0].0));
    clock.advance(20 * MS);
    event_loop.turn(Duration::ZERO).unwrap();
    assert!(log.take() == expected);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: TM-7, BX-2
fn the_next_deadline_knows_timers_of_other_threads_at_once(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let handle = event_loop.handle();
    for driven in [false, true] {
        let next = || {
            let next = event_loop.next_deadline();
            assert_eq!(next, event_loop.cx().next_deadline());
            // Another thread may see one that is gone, but none too late.
            let known = elsewhere(|| handle.next_deadline());
            assert!(next.is_none_or(|next| known.is_some_and(|known| known <= next)));
            next.map(|next| next - clock.now())
        };
        assert_eq!(next(), None);
        let hour = elsewhere(|| handle.set_timeout(HOUR, |_| ()).unwrap());
        assert_eq!(next(), Some(HOUR), "driven: {driven}");
        let known = elsewhere(|| handle.next_deadline());
        assert!(driven || known == Some(clock.now() + HOUR), "nothing was cleared so far");
        let one = elsewhere(|| handle.set_timeout(MS, |_| ()).unwrap());
        let two = event_loop.cx().set_timeout(2 * MS, |_| ()).unwrap();
        assert_eq!(next(), Some(MS), "driven: {driven}");
        if driven {
            event_loop.turn(Duration::ZERO).unwrap();
            assert_eq!(next(), Some(MS));
        }
        assert!(elsewhere(|| handle.clear_timeout(one)));
        assert_eq!(next(), Some(2 * MS), "driven: {driven}");
        assert!(elsewhere(|| handle.clear_timeout(two)));
        assert_eq!(next(), Some(HOUR), "driven: {driven}");
        assert!(event_loop.cx().clear_timeout(hour));
        assert_eq!(next(), None, "driven: {driven}");
        event_loop.turn(Duration::ZERO).unwrap();
    }
}

// spec: TM-7
fn other_threads_know_the_next_deadline(variant: Variant) {
    let clock = VirtualClock::new();
    let loop_clock = clock.clone();
    let (handle, thread) =
        variant.spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
    assert_eq!(handle.next_deadline(), None);
    let late = handle.set_timeout(2 * MS, |_| ()).unwrap();
    assert_eq!(handle.next_deadline(), Some(clock.now() + 2 * MS));
    let (sender, receiver) = mpsc::channel();
    let set = move |cx: &Cx| sender.send(cx.set_timeout(MS, |_| ()).unwrap()).unwrap();
    handle.submit(set).unwrap();
    receiver.recv().unwrap();
    assert_eq!(handle.next_deadline(), Some(clock.now() + MS));
    clock.advance(MS);
    // The later one is left.
    wait_until(|| handle.next_deadline() == Some(clock.now() + MS));
    assert!(handle.clear_timeout(late));
    wait_until(|| handle.next_deadline().is_none());
    handle.close();
    thread.join().unwrap().unwrap();
    assert_eq!(handle.next_deadline(), None);
}

// spec: TM-7
fn the_next_deadline_is_never_too_late_for_the_thread_that_set_a_timer(variant: Variant) {
    let clock = VirtualClock::new();
    let loop_clock = clock.clone();
    let (handle, thread) =
        variant.spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
    handle.set_timeout(HOUR, |_| ()).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // The loop says again and again what it knows.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                handle.wake();
            }
        });
        let _stop = OnDrop(|| stop.store(true, Ordering::Relaxed));
        for round in 0..300_000 {
            let id = handle.set_timeout(MS, |_| ()).unwrap();
            let known = handle.next_deadline().unwrap();
            assert!(known <= clock.now() + MS, "in round {round}");
            assert!(handle.clear_timeout(id));
        }
    });
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: F-24, TM-7
fn a_loop_that_was_left_idle_runs_the_timers_that_threads_set(variant: Variant) {
    must_return(move || {
        let event_loop = variant.build();
        let handle = event_loop.handle();
        let tracker = Tracker::new();
        for ran in 1..=50 {
            event_loop.run_until_idle().unwrap();
            let delay = Duration::from_micros(ran as u64 % 3 * 500);
            elsewhere(|| handle.set_timeout(delay, tracker.callback()).unwrap());
            event_loop.run_until_idle().unwrap();
            assert_eq!(tracker.ran(), ran, "it was accepted before");
        }
    });
}

// spec: F-24, TM-11
fn a_timer_set_under_a_guard_is_not_left_behind(variant: Variant) {
    must_return(move || {
        let event_loop = variant.build();
        let tracker = Tracker::new();
        let mut random = Random(3);
        for ran in 1..=2_000 {
            let handle = event_loop.handle();
            let guard = handle.keep_alive();
            let (callback, spins) = (tracker.callback(), random.below(2_000));
            thread::scope(|scope| {
                scope.spawn(move || {
                    for _ in 0..spins {
                        std::hint::spin_loop();
                    }
                    handle.set_timeout(Duration::ZERO, callback).unwrap();
                    // From here on only the timer keeps the loop alive.
                    drop(guard);
                });
                event_loop.run_until_idle().unwrap();
                assert_eq!(tracker.ran(), ran);
            });
        }
    });
}

// spec: F-24, F-1, TM-11
fn a_thread_that_clears_the_last_timer_lets_the_loop_end(variant: Variant) {
    must_return(move || {
        for way in 0..4 {
            let tracker = Tracker::new();
            let (sender, receiver) = mpsc::channel();
            let local = tracker.clone();
            let (handle, thread) = variant.spawn(
                |builder| builder,
                move |event_loop| {
                    let set = move |cx: &Cx| {
                        let token = local.token();
                        let id = match way % 2 {
                            0 => cx.set_timeout(HOUR, local.callback()).unwrap(),
                            _ => cx.set_interval(HOUR, move |_| _ = &token).unwrap(),
                        };
                        sender.send(id).unwrap();
                    };
                    event_loop.cx().submit(set).unwrap();
                    event_loop.run_until_idle().unwrap();
                    event_loop.turn(Duration::ZERO).unwrap();
                },
            );
            let id = receiver.recv().unwrap();
            if way >= 2 {
                wait_until_sleeping(&handle);
            }
            assert!(handle.clear_timeout(id));
            thread.join().unwrap();
            assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "way {way}");
        }
    });
}

// spec: F-24, TM-11
fn a_thread_that_unreferences_the_last_timer_lets_the_loop_end(variant: Variant) {
    must_return(move || {
        for asleep in [false, true] {
            let (sender, receiver) = mpsc::channel();
            let (handle, thread) = variant.spawn(
                |builder| builder,
                move |event_loop| {
                    let id = event_loop.cx().set_timeout(HOUR, |_| unreachable!()).unwrap();
                    sender.send(id).unwrap();
                    event_loop.run_until_idle().unwrap();
                    assert!(event_loop.cx().clear_timeout(id), "it is still there");
                },
            );
            let id = receiver.recv().unwrap();
            if asleep {
                wait_until_sleeping(&handle);
            }
            handle.reference_timer(id, false).unwrap();
            thread.join().unwrap();
        }
    });
}

// spec: TM-11
fn a_thread_that_references_a_timer_again_keeps_the_loop_alive(variant: Variant) {
    let (clock, event_loop) = {
        let clock = VirtualClock::auto();
        let event_loop = variant.builder().clock(&clock).build().unwrap();
        (clock, event_loop)
    };
    let handle = event_loop.handle();
    let tracker = Tracker::new();
    let id = event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
    let other = elsewhere(|| {
        handle.reference_timer(id, false).unwrap();
        let other = handle.set_timeout(2 * HOUR, tracker.callback()).unwrap();
        handle.reference_timer(other, false).unwrap();
        other
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!(clock.elapsed(), Duration::ZERO);
    elsewhere(|| handle.reference_timer(id, true).unwrap());
    event_loop.run_until_idle().unwrap();
    assert_eq!((tracker.ran(), clock.elapsed()), (1, HOUR));
    elsewhere(|| {
        for referenced in [true, true, false, false, true] {
            handle.reference_timer(other, referenced).unwrap();
        }
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!((tracker.ran(), clock.elapsed()), (2, 2 * HOUR));
    event_loop.run_until_idle().unwrap();
}

// spec: F-24, TM-7, F-2
fn a_timer_set_while_the_loop_waits_for_another_one_is_waited_for(variant: Variant) {
    must_return(move || {
        let (sender, receiver) = mpsc::channel();
        let (handle, thread) = variant.spawn(
            |builder| builder,
            move |event_loop| {
                let id = event_loop.cx().set_timeout(HOUR, |_| unreachable!()).unwrap();
                sender.send(id).unwrap();
                event_loop.run_until_idle()
            },
        );
        let first = receiver.recv().unwrap();
        wait_until_sleeping(&handle);
        let tracker = Tracker::new();
        handle.set_timeout(5 * MS, tracker.callback()).unwrap();
        assert!(handle.clear_timeout(first));
        thread.join().unwrap().unwrap();
        assert_eq!(tracker.ran(), 1, "it was accepted, and the loop was not idle");
    });
}

// spec: TM-1, ER-2
fn a_deadline_out_of_range_is_refused_on_any_thread(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let handle = event_loop.handle();
    let tracker = Tracker::new();
    elsewhere(|| {
        let far = clock.now() + Duration::from_secs(300 * 31_556_952);
        let error = handle.set_timeout(Duration::MAX, tracker.callback()).unwrap_err();
        assert_eq!(error.reason(), Refusal::DeadlineOutOfRange);
        let given_back = error.into_task();
        assert_eq!(tracker.alive(), 1);
        drop(given_back);
        let error = handle.set_timeout_at(far, tracker.callback()).unwrap_err();
        assert!(matches!(Error::from(error), Error::DeadlineOutOfRange));
        let error = handle.set_interval(Duration::MAX, |_| ()).unwrap_err();
        assert_eq!(error.reason(), Refusal::DeadlineOutOfRange);
        let error = handle.set_interval_fixed_rate(Duration::MAX, |_| ()).unwrap_err();
        assert_eq!(error.reason(), Refusal::DeadlineOutOfRange);
    });
    assert_eq!((tracker.alive(), event_loop.next_deadline()), (0, None));
    event_loop.run_until_idle().unwrap();
}

// spec: SD-2, SD-1
fn a_shutdown_does_not_count_timers(variant: Variant) {
    for driven in [false, true] {
        must_return(move || {
            let tracker = Tracker::new();
            let (begin, may_begin) = mpsc::channel::<()>();
            let (set, is_set) = mpsc::channel();
            let timers = tracker.clone();
            let (handle, thread) = variant.spawn(
                |builder| builder,
                move |event_loop| {
                    for _ in 0..3 {
                        event_loop.cx().set_timeout(HOUR, timers.callback()).unwrap();
                    }
                    set.send(()).unwrap();
                    if driven {
                        event_loop.run().unwrap();
                    } else {
                        may_begin.recv().unwrap();
                        assert!(matches!(event_loop.run(), Err(Error::Terminated)));
                    }
                },
            );
            is_set.recv().unwrap();
            handle.set_timeout(HOUR, tracker.callback()).unwrap();
            if driven {
                wait_until_sleeping(&handle);
            }
            handle.set_timeout(HOUR, tracker.callback()).unwrap();
            let result = handle.shutdown(Duration::from_secs(15)).unwrap();
            assert_eq!(result, Shutdown::Finished { dropped: 0 }, "driven: {driven}");
            _ = begin.send(());
            thread.join().unwrap();
            assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "driven: {driven}");
        });
    }
}

// spec: SD-1, SD-6, IN-2
fn timers_set_against_a_shutdown_are_accepted_or_given_back(variant: Variant) {
    for close in [false, true] {
        for round in 0..20 {
            let (handle, thread) = variant.spawn_running();
            let tracker = Tracker::new();
            let accepted = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..2 {
                    let (handle, tracker, accepted) = (handle.clone(), tracker.clone(), &accepted);
                    scope.spawn(move || {
                        for i in 0_u32.. {
                            let delay = if i % 3 == 0 { Duration::ZERO } else { i % 5 * MS };
                            match handle.set_timeout(delay, tracker.callback()) {
                                Ok(_) => _ = accepted.fetch_add(1, Ordering::SeqCst),
                                Err(error) => {
                                    assert_eq!(error.reason(), Refusal::Terminated);
                                    break;
                                }
                            }
                        }
                    });
                }
                wait_until(|| accepted.load(Ordering::SeqCst) > 50 * round);
                if close {
                    handle.close();
                } else {
                    let result = handle.shutdown(Deadline::NEVER).unwrap();
                    assert_eq!(result, Shutdown::Finished { dropped: 0 });
                }
            });
            thread.join().unwrap().unwrap();
            assert_eq!(tracker.alive(), 0, "close: {close}");
            assert!(tracker.ran() <= accepted.load(Ordering::SeqCst));
        }
    }
}

// spec: TM-7, SD-1
fn clears_against_a_shutdown_are_truthful(variant: Variant) {
    for round in 0..60 {
        let (handle, thread) = variant.spawn_running();
        let trackers: Vec<Tracker> = (0..100).map(|_| Tracker::new()).collect();
        let ids: Vec<_> = trackers
            .iter()
            .enumerate()
            .map(|(i, tracker)| {
                let delay = Duration::from_micros(i as u64 * 5);
                handle.set_timeout(delay, tracker.callback()).unwrap()
            })
            .collect();
        let ending = handle.clone();
        let cleared: Vec<bool> = thread::scope(|scope| {
            scope.spawn(
                move || if round % 2 == 0 { ending.close() } else { _ = ending.shutdown(HOUR) },
            );
            ids.iter().map(|id| handle.clear_timeout(*id)).collect()
        });
        thread.join().unwrap().unwrap();
        for (tracker, cleared) in trackers.iter().zip(cleared) {
            assert!(tracker.ran() == 0 || !cleared, "it ran although that was prevented");
            assert_eq!(tracker.alive(), 0);
        }
    }
}

// spec: SD-3, SD-6, F-6
fn a_loop_that_never_ran_can_be_shut_down_while_its_thread_sets_timers(variant: Variant) {
    for round in 0..200_u32 {
        let tracker = Tracker::new();
        let event_loop = variant.build();
        let (handle, cx) = (event_loop.handle(), event_loop.cx());
        let accepted = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while let Ok(id) = handle.set_timeout(HOUR, tracker.callback()) {
                    accepted.fetch_add(1, Ordering::Relaxed);
                    if accepted.load(Ordering::Relaxed).is_multiple_of(3) {
                        handle.clear_timeout(id);
                    }
                }
            });
            scope.spawn(|| {
                wait_until(|| accepted.load(Ordering::Relaxed) > round as usize);
                let result = handle.shutdown(Deadline::NEVER).unwrap();
                assert_eq!(result, Shutdown::Finished { dropped: 0 });
            });
            let mut ids = Vec::new();
            while let Ok(id) = cx.set_timeout(HOUR, tracker.callback()) {
                ids.push(id);
                if ids.len() % 2 == 0 {
                    cx.clear_timeout(ids[ids.len() / 2]);
                    _ = cx.next_deadline();
                }
            }
            // The end has begun, and the other threads may be in the middle of it.
            for id in ids {
                cx.clear_timeout(id);
                _ = cx.reset_timeout(id, MS);
                _ = cx.reference_timer(id, false);
            }
            assert!(matches!(event_loop.run(), Err(Error::Terminated)));
        });
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "in round {round}");
        assert_eq!((event_loop.next_deadline(), handle.next_deadline()), (None, None));
    }
}

// spec: SD-6
fn a_loop_that_is_dropped_drops_what_threads_had_set(variant: Variant) {
    for driven in [false, true] {
        let (_clock, event_loop) = manual(variant);
        let handle = event_loop.handle();
        let tracker = Tracker::new();
        let set = || {
            elsewhere(|| {
                handle.set_timeout(MS, tracker.callback()).unwrap();
                let token = tracker.token();
                handle.set_interval(HOUR, move |_| _ = &token).unwrap();
                let cleared = handle.set_timeout(MS, tracker.callback()).unwrap();
                assert!(handle.clear_timeout(cleared));
            });
        };
        set();
        if driven {
            event_loop.turn(Duration::ZERO).unwrap();
            // Some that it knows, and some that it does not.
            set();
        }
        drop(event_loop);
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "driven: {driven}");
    }
    // While they are at it.
    for _ in 0..50 {
        let tracker = Tracker::new();
        thread::scope(|scope| {
            let event_loop = variant.build();
            for _ in 0..2 {
                let (handle, tracker) = (event_loop.handle(), tracker.clone());
                scope.spawn(move || {
                    while let Ok(id) = handle.set_timeout(HOUR, tracker.callback()) {
                        handle.clear_timeout(id);
                        _ = handle.set_timeout(HOUR, tracker.callback());
                    }
                });
            }
            wait_until(|| tracker.alive() > 20);
            drop(event_loop);
        });
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    }
}

// spec: SH-3, TM-7
fn captures_of_the_loop_thread_are_dropped_there(variant: Variant) {
    for interval in [false, true] {
        let (sender, receiver) = mpsc::channel();
        let dropped: Arc<Mutex<Option<thread::ThreadId>>> = Arc::default();
        let noted = Arc::clone(&dropped);
        let (handle, thread) = variant.spawn(
            |builder| builder,
            move |event_loop| {
                // Not `Send`: dropped elsewhere, the count would be changed by two threads.
                let shared = Rc::new(());
                let token = OnDrop(move || {
                    noted.lock().unwrap().replace(thread::current().id());
                });
                let captured = (Rc::clone(&shared), token);
                let id = match interval {
                    false => event_loop.cx().set_timeout(HOUR, move |_| _ = &captured).unwrap(),
                    true => event_loop.cx().set_interval(HOUR, move |_| _ = &captured).unwrap(),
                };
                sender.send(id).unwrap();
                event_loop.run().unwrap();
                assert_eq!(Rc::strong_count(&shared), 1);
            },
        );
        let id = receiver.recv().unwrap();
        wait_until_sleeping(&handle);
        assert!(handle.clear_timeout(id));
        // While the loop goes on.
        fence(&handle);
        wait_until(|| dropped.lock().unwrap().is_some());
        assert_eq!(dropped.lock().unwrap().unwrap(), thread.thread().id());
        handle.close();
        thread.join().unwrap();
    }
}

// spec: SH-2
fn a_destructor_on_another_thread_may_use_the_timers(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn_running();
        for seen in [false, true] {
            let victim = handle.set_timeout(HOUR, |_| ()).unwrap();
            let dropped = Arc::new(AtomicBool::new(false));
            let (inner, flag) = (handle.clone(), Arc::clone(&dropped));
            // Were a lock held while it is dropped, it would wait for that for ever.
            let token = OnDrop(move || {
                let id = inner.set_timeout(HOUR, |_| ()).unwrap();
                inner.reference_timer(id, false).unwrap();
                assert!(inner.clear_timeout(id));
                inner.clear_timeout(victim);
                _ = inner.next_deadline();
                flag.store(true, Ordering::SeqCst);
            });
            let id = handle.set_timeout(HOUR, move |_| _ = &token).unwrap();
            if seen {
                fence(&handle);
            }
            assert!(handle.clear_timeout(id));
            fence(&handle);
            wait_until(|| dropped.load(Ordering::SeqCst));
            assert!(!handle.clear_timeout(victim));
        }
        handle.close();
        thread.join().unwrap().unwrap();
    });
}

// spec: MT-2, TK-3
fn what_a_destructor_queues_while_the_loop_is_about_to_sleep_is_served(variant: Variant) {
    must_return(move || {
        for way in 0..5 {
            let (handle, thread) = variant.spawn_running();
            for round in 0..200 {
                let (sender, receiver) = mpsc::channel();
                let (done, is_done) = mpsc::channel();
                let set = move |cx: &Cx| {
                    let held = cx.clone();
                    let token = OnDrop(move || {
                        let done = done.clone();
                        let callback = move |_: &Cx| _ = done.send(());
                        match way {
                            0 => held.queue_microtask(callback),
                            1 => held.submit(callback).unwrap(),
                            2 => held.submit_internal(callback).unwrap(),
                            3 => _ = held.set_timeout(Duration::ZERO, callback).unwrap(),
                            _ => _ = held.set_immediate(callback),
                        }
                    });
                    let id = cx.set_timeout(HOUR, move |_| _ = &token).unwrap();
                    sender.send(id).unwrap();
                };
                handle.submit(set).unwrap();
                let id = receiver.recv().unwrap();
                if round % 2 == 0 {
                    wait_until_sleeping(&handle);
                }
                // The loop drops it, whenever it comes to know.
                assert!(handle.clear_timeout(id));
                is_done.recv().unwrap();
            }
            handle.close();
            thread.join().unwrap().unwrap();
        }
    });
}

// spec: ER-1, SD-6
fn threads_that_outlive_the_loop_are_refused(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    let id = handle.set_timeout(HOUR, tracker.callback()).unwrap();
    handle.close();
    thread.join().unwrap().unwrap();
    assert_eq!(tracker.alive(), 0);
    let error = handle.set_timeout(MS, tracker.callback()).unwrap_err();
    assert_eq!(error.reason(), Refusal::Terminated);
    assert_eq!(tracker.alive(), 1, "in the error");
    drop(error);
    let error = handle.set_timeout_at(Instant::now(), tracker.callback()).unwrap_err();
    assert!(matches!(Error::from(error), Error::Terminated));
    assert_eq!(handle.set_interval(MS, |_| ()).unwrap_err().reason(), Refusal::Terminated);
    let error = handle.set_interval_fixed_rate(MS, |_| ()).unwrap_err();
    assert_eq!(error.reason(), Refusal::Terminated);
    assert!(!handle.clear_timeout(id) && !handle.clear_interval(id));
    assert!(matches!(handle.reference_timer(id, false), Err(Error::TimerNotFound)));
    assert_eq!(handle.next_deadline(), None);
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}
