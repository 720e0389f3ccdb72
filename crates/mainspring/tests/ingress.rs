//! The two lanes: what is accepted, what is refused, and in which order it runs.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use common::{Kind, Log, SharedLog, Tracker, Variant, must_return, turn_until_quiet, wait_until};
use mainspring::{Cx, Deadline, EventLoop, Handle, Refusal, Shutdown, SubmitError};

suite![
    the_high_water_mark_is_exact_on_the_loops_own_thread,
    the_high_water_mark_is_exact_from_another_thread,
    the_high_water_mark_is_exact_for_both_together,
    the_high_water_mark_is_exact_for_threads_that_race,
    the_high_water_mark_counts_what_waits_while_callbacks_run,
    the_default_high_water_mark_is_100_000,
    the_internal_lane_and_microtasks_have_no_mark,
    a_refused_task_comes_back_as_it_was,
    a_task_refused_by_a_terminated_loop_comes_back_as_it_was,
    each_thread_keeps_its_order_while_the_loop_does_not_run,
    each_thread_keeps_its_order_while_the_loop_runs,
    each_thread_keeps_its_order_at_a_low_mark,
    handle_and_context_keep_the_order_of_the_loops_own_thread,
    handle_and_context_keep_their_order_inside_callbacks,
    neither_the_loop_nor_others_starve_in_a_lane,
    large_and_over_aligned_closures_arrive_whole,
    captures_are_released_as_soon_as_a_task_has_run,
    what_waits_is_counted_wherever_it_waits,
    everything_submitted_while_ticks_come_and_go_runs_exactly_once,
    a_thread_can_submit_until_its_very_end,
];

fn submit_from_other_thread(handle: &Handle, n: usize, tracker: &Tracker) -> usize {
    let (handle, tracker) = (handle.clone(), tracker.clone());
    thread::spawn(move || {
        (0..n).filter(|_| accepted(handle.submit(tracker.callback()), Refusal::Overloaded)).count()
    })
    .join()
    .unwrap()
}

#[track_caller]
fn accepted<F>(result: Result<(), SubmitError<F>>, refusal: Refusal) -> bool {
    if let Err(error) = &result {
        assert_eq!(error.reason(), refusal);
    }
    result.is_ok()
}

const MARKS: [usize; 9] = [1, 2, 3, 7, 1000, 1024, 1025, 2048, 5000];

// spec: IN-2
fn the_high_water_mark_is_exact_on_the_loops_own_thread(variant: Variant) {
    for mark in MARKS {
        let event_loop = variant.builder().high_water_mark(mark).build().unwrap();
        let tracker = Tracker::new();
        for round in 0..3 {
            for i in 0..mark {
                if i % 2 == 0 {
                    event_loop.cx().submit(tracker.callback()).unwrap();
                } else {
                    event_loop.handle().submit(tracker.callback()).unwrap();
                }
            }
            assert!(!accepted(event_loop.cx().submit(tracker.callback()), Refusal::Overloaded));
            assert!(!accepted(event_loop.handle().submit(tracker.callback()), Refusal::Overloaded));
            assert_eq!(tracker.alive(), mark);
            turn_until_quiet(&event_loop);
            assert_eq!(tracker.ran(), mark * (round + 1), "mark {mark}");
        }
    }
}

// spec: IN-2
fn the_high_water_mark_is_exact_from_another_thread(variant: Variant) {
    for mark in MARKS {
        let event_loop = variant.builder().high_water_mark(mark).build().unwrap();
        let tracker = Tracker::new();
        for round in 0..3 {
            let taken = submit_from_other_thread(&event_loop.handle(), mark + 5, &tracker);
            assert_eq!(taken, mark);
            assert_eq!(tracker.alive(), mark);
            turn_until_quiet(&event_loop);
            assert_eq!(tracker.ran(), mark * (round + 1), "mark {mark}");
        }
    }
}

// spec: IN-2
fn the_high_water_mark_is_exact_for_both_together(variant: Variant) {
    for mark in MARKS {
        for own in [1, mark / 3, mark / 2, mark - 1].into_iter().filter(|own| *own <= mark) {
            for own_first in [true, false] {
                let event_loop =
                    variant.builder().high_water_mark(mark).external_budget(1).build().unwrap();
                let (tracker, handle) = (Tracker::new(), event_loop.handle());
                let submit_own = |n| {
                    let submit = |_: &usize| {
                        accepted(event_loop.cx().submit(tracker.callback()), Refusal::Overloaded)
                    };
                    (0..n).filter(submit).count()
                };
                let taken = if own_first {
                    submit_own(own) + submit_from_other_thread(&handle, mark, &tracker)
                } else {
                    submit_from_other_thread(&handle, mark - own, &tracker) + submit_own(mark)
                };
                assert_eq!(taken, mark, "mark {mark}, own {own}, own first {own_first}");
                assert_eq!(submit_own(1), 0);
                assert_eq!(submit_from_other_thread(&handle, 1, &tracker), 0);
                // Each tick makes room for exactly one, whoever takes it.
                for i in 0..4 {
                    event_loop.turn(Duration::ZERO).unwrap();
                    let taken = if i % 2 == 0 {
                        submit_own(2)
                    } else {
                        submit_from_other_thread(&handle, 2, &tracker)
                    };
                    assert_eq!(taken, 1, "mark {mark}, own {own}, own first {own_first}");
                }
                assert_eq!(tracker.alive(), mark);
            }
        }
    }
}

// spec: IN-2, IN-8
fn the_high_water_mark_is_exact_for_threads_that_race(variant: Variant) {
    for mark in [1, 10, 1024, 3_000] {
        let event_loop = variant.builder().high_water_mark(mark).build().unwrap();
        let tracker = Tracker::new();
        let start = Arc::new(Barrier::new(5));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (handle, tracker) = (event_loop.handle(), tracker.clone());
                let start = Arc::clone(&start);
                thread::spawn(move || {
                    start.wait();
                    (0..mark).filter(|_| handle.submit(tracker.callback()).is_ok()).count()
                })
            })
            .collect();
        start.wait();
        let others: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(others, mark);
        event_loop.run_until_idle().unwrap();
        assert_eq!((tracker.ran(), tracker.alive()), (mark, 0));
    }
}

// spec: IN-2
fn the_high_water_mark_counts_what_waits_while_callbacks_run(variant: Variant) {
    let event_loop = variant.builder().high_water_mark(3).build().unwrap();
    let log = Log::new();
    for _ in 0..3 {
        let log = log.clone();
        event_loop
            .cx()
            .submit(move |cx| {
                // The one that runs does not wait any more.
                let remote = submit_from_other_thread(&cx.handle(), 1, &Tracker::new());
                let own = (0..3).filter(|_| cx.submit(|_| ()).is_ok()).count();
                log.push((remote, own));
            })
            .unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    let log = log.take();
    assert_eq!(log[0], (1, 0));
    // Whichever comes next, one place is free for each that ran.
    assert_eq!(log.len(), 3);
    for entry in &log[1..] {
        assert_eq!(entry.0 + entry.1, 1);
    }
}

// spec: IN-2
fn the_default_high_water_mark_is_100_000(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    assert_eq!(submit_from_other_thread(&event_loop.handle(), 50_000, &tracker), 50_000);
    for _ in 0..50_000 {
        event_loop.cx().submit(tracker.callback()).unwrap();
    }
    assert!(!accepted(event_loop.cx().submit(tracker.callback()), Refusal::Overloaded));
    assert_eq!(submit_from_other_thread(&event_loop.handle(), 1, &tracker), 0);
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.ran(), 100_000);
}

// spec: IN-1
fn the_internal_lane_and_microtasks_have_no_mark(variant: Variant) {
    let event_loop = variant.builder().high_water_mark(1).on_diagnostic(|_, _| ()).build().unwrap();
    let tracker = Tracker::new();
    event_loop.cx().submit(tracker.callback()).unwrap();
    let (handle, sent) = (event_loop.handle(), tracker.clone());
    thread::spawn(move || {
        for _ in 0..5_000 {
            handle.submit_internal(sent.callback()).unwrap();
            handle.queue_microtask(sent.callback()).unwrap();
        }
    })
    .join()
    .unwrap();
    for _ in 0..5_000 {
        event_loop.cx().submit_internal(tracker.callback()).unwrap();
        event_loop.cx().try_queue_microtask(tracker.callback()).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.ran(), 20_001);
}

// spec: IN-2
fn a_refused_task_comes_back_as_it_was(variant: Variant) {
    let event_loop = variant.builder().high_water_mark(1).build().unwrap();
    let handle = event_loop.handle();
    event_loop.cx().submit(|_| ()).unwrap();

    // Not `Send`, through the context.
    let value = Rc::new(Cell::new(0));
    let captured = Rc::clone(&value);
    let error = event_loop.cx().submit(move |_| captured.set(captured.get() + 1)).unwrap_err();
    assert_eq!(error.reason(), Refusal::Overloaded);
    assert_eq!(Rc::strong_count(&value), 2, "neither dropped nor doubled");
    let task = error.into_task();
    task(event_loop.cx());
    assert_eq!((value.get(), Rc::strong_count(&value)), (1, 1));

    // `Send`, through the handle, from another thread, small and large.
    fn round_trip<const N: usize>(handle: &Handle) {
        let handle = handle.clone();
        thread::spawn(move || {
            let counter = Arc::new(AtomicUsize::new(0));
            let (captured, ballast) = (Arc::clone(&counter), [7_usize; N]);
            let task = move |_: &Cx| {
                let captured = captured;
                captured.fetch_add(ballast.iter().sum(), Ordering::SeqCst);
            };
            let error = handle.submit(task).unwrap_err();
            assert_eq!(error.reason(), Refusal::Overloaded);
            assert_eq!(Arc::strong_count(&counter), 2);
            let task = error.into_task();
            let other = common::builder().build().unwrap();
            task(other.cx());
            assert_eq!(counter.load(Ordering::SeqCst), 7 * N);
            assert_eq!(Arc::strong_count(&counter), 1);
        })
        .join()
        .unwrap();
    }
    round_trip::<1>(&handle);
    round_trip::<50>(&handle);

    // It can be submitted again.
    let tracker = Tracker::new();
    let refused = handle.submit(tracker.callback()).unwrap_err();
    event_loop.turn(Duration::ZERO).unwrap();
    handle.submit(refused.into_task()).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (1, 0));
}

// spec: IN-2, IN-4
fn a_task_refused_by_a_terminated_loop_comes_back_as_it_was(variant: Variant) {
    let event_loop = variant.build();
    let (handle, cx) = (event_loop.handle(), event_loop.cx().clone());
    drop(event_loop);
    let tracker = Tracker::new();
    for lane in 0..2 {
        let refused = if lane == 0 {
            cx.submit(tracker.callback()).map_err(|e| (e.reason(), drop(e.into_task())))
        } else {
            cx.submit_internal(tracker.callback()).map_err(|e| (e.reason(), drop(e.into_task())))
        };
        assert_eq!(refused, Err((Refusal::Terminated, ())));
        let (handle, tracker) = (handle.clone(), tracker.clone());
        let from = move || {
            let error = if lane == 0 {
                handle.submit(tracker.callback()).unwrap_err().reason()
            } else {
                let error = handle.submit_internal(tracker.callback()).unwrap_err();
                assert_eq!(tracker.alive(), 1);
                let reason = error.reason();
                drop(error.into_task());
                reason
            };
            assert_eq!((error, tracker.alive()), (Refusal::Terminated, 0));
        };
        from.clone()();
        thread::spawn(from).join().unwrap();
    }
}

const THREADS: usize = 4;
const EACH: usize = 6_000;

type Entries = SharedLog<(usize, usize)>;

/// The ways in for other threads.
#[derive(Clone, Copy, Debug)]
enum Lane {
    External,
    Internal,
    Microtasks,
}

const LANES: [Lane; 3] = [Lane::External, Lane::Internal, Lane::Microtasks];

impl Lane {
    fn send<F: FnOnce(&Cx) + Send + 'static>(
        self,
        handle: &Handle,
        task: F,
    ) -> Result<(), SubmitError<F>> {
        match self {
            Self::External => handle.submit(task),
            Self::Internal => handle.submit_internal(task),
            Self::Microtasks => handle.queue_microtask(task),
        }
    }

    /// Lets some threads, which start together, send so many each. A refused task is sent again.
    fn flood(self, handle: &Handle, log: &Entries) -> Vec<thread::JoinHandle<()>> {
        let start = Arc::new(Barrier::new(THREADS));
        (0..THREADS)
            .map(|thread| {
                let (handle, log, start) = (handle.clone(), log.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    for i in 0..EACH {
                        let mut task = log.note((thread, i));
                        while let Err(error) = self.send(&handle, task) {
                            assert_eq!(error.reason(), Refusal::Overloaded);
                            task = error.into_task();
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect()
    }
}

#[track_caller]
fn assert_each_in_order(entries: Vec<(usize, usize)>) {
    let mut next = [0; THREADS];
    for (thread, i) in entries {
        assert_eq!(i, next[thread], "of thread {thread}");
        next[thread] += 1;
    }
    assert_eq!(next, [EACH; THREADS]);
}

// spec: IN-8, IN-3, D10, F-23
fn each_thread_keeps_its_order_while_the_loop_does_not_run(variant: Variant) {
    for lane in LANES {
        let log = Entries::new();
        let event_loop = variant.builder().on_diagnostic(|_, _| ()).build().unwrap();
        for _ in 0..2 {
            for thread in lane.flood(&event_loop.handle(), &log) {
                thread.join().unwrap();
            }
            assert_eq!(event_loop.handle().pending(), THREADS * EACH);
            event_loop.run_until_idle().unwrap();
            assert_each_in_order(log.take());
            assert_eq!(event_loop.handle().pending(), 0);
        }
    }
}

/// Floods a loop that runs, and lets it end when all has arrived.
fn flood_running(variant: Variant, lane: Lane, mark: usize) {
    let log = Entries::new();
    let (handle, thread) = variant.spawn(
        move |builder| builder.high_water_mark(mark).on_diagnostic(|_, _| ()),
        |event_loop| event_loop.run(),
    );
    common::wait_until_sleeping(&handle);
    for thread in lane.flood(&handle, &log) {
        thread.join().unwrap();
    }
    let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
    assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
    thread.join().unwrap().unwrap();
    assert_each_in_order(log.take());
}

// spec: IN-8, F-23, F-22
fn each_thread_keeps_its_order_while_the_loop_runs(variant: Variant) {
    for lane in LANES {
        for _ in 0..3 {
            flood_running(variant, lane, 100_000);
        }
    }
}

// spec: IN-8, IN-2
fn each_thread_keeps_its_order_at_a_low_mark(variant: Variant) {
    for mark in [1, 5, 1_500] {
        flood_running(variant, Lane::External, mark);
    }
}

// spec: IN-8, IN-9
fn handle_and_context_keep_the_order_of_the_loops_own_thread(variant: Variant) {
    for lane in [Lane::External, Lane::Internal] {
        let log = SharedLog::new();
        let event_loop = variant.build();
        for i in 0..6_000 {
            match (lane, i % 3) {
                (_, 0) => lane.send(&event_loop.handle(), log.note(i)).unwrap(),
                (Lane::External, _) => event_loop.cx().submit(log.note(i)).unwrap(),
                (_, _) => event_loop.cx().submit_internal(log.note(i)).unwrap(),
            }
        }
        event_loop.run_until_idle().unwrap();
        assert!(log.take().into_iter().eq(0..6_000), "{lane:?}");
    }
}

// spec: IN-8, IN-9
fn handle_and_context_keep_their_order_inside_callbacks(variant: Variant) {
    let log = SharedLog::new();
    let event_loop = variant.build();
    let inner = log.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            for i in 0..300 {
                if i % 2 == 0 {
                    cx.handle().submit(inner.note(i)).unwrap();
                } else {
                    cx.submit(inner.note(i)).unwrap();
                }
            }
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(log.take().into_iter().eq(0..300));
}

// spec: IN-8
fn neither_the_loop_nor_others_starve_in_a_lane(variant: Variant) {
    for lane in LANES {
        must_return(move || {
            let (handle, thread) = variant.spawn(
                |builder| builder.external_budget(usize::MAX).microtask_budget(None),
                move |event_loop| {
                    let kind = match lane {
                        Lane::External => Kind::External,
                        Lane::Internal => Kind::Internal,
                        Lane::Microtasks => Kind::Microtask,
                    };
                    kind.chain(event_loop.cx(), || true);
                    event_loop.run()
                },
            );
            lane.send(&handle, |cx: &Cx| cx.close()).unwrap();
            thread.join().unwrap().unwrap();
        });
    }
    must_return(move || {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (handle, thread) = variant.spawn(
            |builder| builder.external_budget(usize::MAX).microtask_budget(None),
            move |event_loop| {
                let handle = event_loop.handle();
                // As many from the other thread as it can send, and one of its own.
                wait_until(|| handle.pending() > 2_000);
                event_loop.cx().submit(move |_| told.store(true, Ordering::SeqCst)).unwrap();
                event_loop.run()
            },
        );
        while !stop.load(Ordering::SeqCst) {
            // Always something, but never so much that the loop's own task is refused.
            if handle.pending() < 10_000 {
                handle.submit(|_| ()).unwrap();
            }
        }
        handle.close();
        thread.join().unwrap().unwrap();
    });
}

// spec: IN-7, D14
fn large_and_over_aligned_closures_arrive_whole(variant: Variant) {
    #[repr(align(128))]
    #[derive(Clone, Copy)]
    struct Aligned(u8);

    fn sized<const N: usize>(event_loop: &EventLoop, log: &SharedLog<usize>) {
        let words: [usize; N] = std::array::from_fn(|i| i * i);
        let check = |log: SharedLog<usize>| {
            move |_: &Cx| {
                assert!(words.iter().enumerate().all(|(i, word)| *word == i * i));
                log.push(N);
            }
        };
        event_loop.cx().submit(check(log.clone())).unwrap();
        let (handle, task) = (event_loop.handle(), check(log.clone()));
        thread::spawn(move || handle.submit(task).unwrap()).join().unwrap();
    }

    let event_loop = variant.build();
    let log = SharedLog::new();
    sized::<0>(&event_loop, &log);
    sized::<4>(&event_loop, &log);
    sized::<5>(&event_loop, &log);
    sized::<6>(&event_loop, &log);
    sized::<7>(&event_loop, &log);
    sized::<1000>(&event_loop, &log);
    let (aligned, noted) = (Aligned(42), log.clone());
    event_loop
        .cx()
        .submit(move |_| {
            let address = std::ptr::from_ref(&aligned) as usize;
            noted.push(address % 128 + usize::from(aligned.0));
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    let mut seen = log.take();
    seen.sort_unstable();
    assert_eq!(seen, [0, 0, 4, 4, 5, 5, 6, 6, 7, 7, 42, 1000, 1000]);
}

// spec: IN-3
fn captures_are_released_as_soon_as_a_task_has_run(variant: Variant) {
    const COUNT: usize = 5_000;
    for lane in LANES {
        for remote in [false, true] {
            let event_loop = variant.builder().on_diagnostic(|_, _| ()).build().unwrap();
            let (tracker, wrong) = (Tracker::new(), SharedLog::new());
            let (handle, sent, seen) = (event_loop.handle(), tracker.clone(), wrong.clone());
            let send = move || {
                for i in 0..COUNT {
                    let (token, tracker, seen) = (sent.token(), sent.clone(), seen.clone());
                    let task = move |_: &Cx| {
                        let _token = token;
                        if tracker.alive() != COUNT - i {
                            seen.push(i);
                        }
                    };
                    lane.send(&handle, task).unwrap();
                }
            };
            if remote {
                thread::spawn(send).join().unwrap();
            } else {
                send();
            }
            turn_until_quiet(&event_loop);
            assert_eq!(wrong.take(), [], "{lane:?}, remote {remote}");
            assert_eq!(tracker.alive(), 0);
        }
    }
}

// spec: IN-2
fn what_waits_is_counted_wherever_it_waits(variant: Variant) {
    let event_loop = variant.builder().on_diagnostic(|_, _| ()).build().unwrap();
    let handle = event_loop.handle();
    let mut waiting = 0;
    for kind in Kind::ALL {
        for _ in 0..200 {
            kind.queue(event_loop.cx(), |_| ());
        }
        waiting += 200;
        assert_eq!(handle.pending(), waiting, "{kind:?}");
    }
    for lane in LANES {
        let sender = handle.clone();
        // Enough for the overflow.
        let send = move || (0..5_000).for_each(|_| lane.send(&sender, |_: &Cx| ()).unwrap());
        thread::spawn(send).join().unwrap();
        waiting += 5_000;
        assert_eq!(handle.pending(), waiting, "{lane:?}");
    }
    while waiting > 0 {
        let turn = event_loop.turn(Duration::ZERO).unwrap();
        waiting = waiting.checked_sub(turn.callbacks as usize).unwrap();
        assert_eq!(handle.pending(), waiting);
        assert_eq!(turn.ready, waiting > 0);
    }
}

// spec: IN-8, F-2
fn everything_submitted_while_ticks_come_and_go_runs_exactly_once(variant: Variant) {
    let event_loop = variant.build();
    let ran = Arc::new((0..30_000).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
    let guard = event_loop.handle().keep_alive();
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let (handle, ran) = (event_loop.handle(), Arc::clone(&ran));
            let guard = event_loop.handle().keep_alive();
            thread::spawn(move || {
                for i in 0..10_000 {
                    let ran = Arc::clone(&ran);
                    let task = move |_: &Cx| {
                        ran[thread * 10_000 + i].fetch_add(1, Ordering::Relaxed);
                    };
                    LANES[thread].send(&handle, task).unwrap();
                    if i % 64 == 0 {
                        // Let the loop fall asleep now and then.
                        thread::yield_now();
                    }
                }
                drop(guard);
            })
        })
        .collect();
    drop(guard);
    event_loop.run_until_idle().unwrap();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(ran.iter().all(|count| count.load(Ordering::Relaxed) == 1));
}

// spec: SH-2, ER-2
fn a_thread_can_submit_until_its_very_end(variant: Variant) {
    struct Last(Handle, Tracker);
    impl Drop for Last {
        fn drop(&mut self) {
            for lane in LANES {
                lane.send(&self.0, self.1.callback()).unwrap();
            }
            self.0.wake();
        }
    }
    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });

    let event_loop = variant.build();
    let tracker = Tracker::new();
    let last = Last(event_loop.handle(), tracker.clone());
    // Dropped while the thread takes its other locals down.
    thread::spawn(move || LAST.set(Some(last))).join().unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (3, 0));
}
