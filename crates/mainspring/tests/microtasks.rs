//! Checkpoints: microtasks, the `next_tick` queue, their order and their budget.

mod common;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use common::{Kind, Log, SharedLog, Tracker, Variant, must_return, turn_until_quiet};
use mainspring::{Cx, Deadline, Diagnostic, Phase, Refusal, Shutdown};

suite![
    a_checkpoint_follows_every_callback,
    a_checkpoint_drains_what_microtasks_queue,
    next_ticks_and_microtasks_alternate_as_in_node,
    what_was_queued_before_comes_before_the_first_task,
    a_remote_microtask_runs_after_the_present_callback,
    remote_microtasks_come_after_the_next_ticks_of_the_loop,
    nothing_is_left_in_the_queue_when_the_loop_is_about_to_block,
    a_breach_stops_the_drain_keeps_the_order_and_is_reported_once,
    a_budget_spent_exactly_is_no_breach,
    the_default_budget_is_1024,
    the_budget_is_whole_again_at_each_checkpoint,
    without_a_budget_the_queue_is_run_to_empty,
    next_ticks_count_for_the_budget_and_for_the_report,
    a_breach_does_not_let_later_microtasks_overtake,
    a_breach_keeps_the_loop_from_blocking,
    everything_else_makes_progress_under_an_endless_chain,
    panicking_microtasks_breach_the_budget_like_others,
    a_panicking_microtask_does_not_spend_the_budget_of_the_next_checkpoint,
    each_thread_keeps_its_order_through_the_overflow_of_an_idle_loop,
    each_thread_keeps_its_order_while_the_loop_runs,
    the_loops_own_order_is_the_same_through_handle_and_context,
    captures_are_released_as_soon_as_a_microtask_has_run,
    a_microtask_comes_back_once_the_loop_has_terminated,
];

// spec: MT-1
fn a_checkpoint_follows_every_callback(variant: Variant) {
    for kind in [Kind::Internal, Kind::External, Kind::Immediate, Kind::Close] {
        let log = Log::new();
        let event_loop = variant.build();
        for i in 0..3 {
            let log = log.clone();
            kind.queue(event_loop.cx(), move |cx| {
                log.push((i, "callback"));
                cx.queue_microtask(log.note((i, "microtask")));
                cx.next_tick(log.note((i, "next tick")));
            });
        }
        event_loop.turn(Duration::ZERO).unwrap();
        let expected: Vec<_> =
            (0..3).flat_map(|i| [(i, "callback"), (i, "next tick"), (i, "microtask")]).collect();
        assert_eq!(log.take(), expected, "{kind:?}");
    }
}

// spec: MT-1
fn a_checkpoint_drains_what_microtasks_queue(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    let inner = log.clone();
    let deep = move |cx: &Cx| {
        let left = Rc::new(Cell::new(100));
        Kind::Microtask.chain(cx, move || {
            inner.push(left.get());
            left.set(left.get() - 1);
            left.get() > 0
        });
    };
    event_loop.cx().submit(deep).unwrap();
    event_loop.cx().submit(log.note(0)).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert!(log.take().into_iter().eq((0..=100).rev()));
}

// spec: MT-6
fn next_ticks_and_microtasks_alternate_as_in_node(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    let l = log.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            let (a, t) = (l.clone(), l.clone());
            cx.queue_microtask(move |cx| {
                a.push("microtask 1");
                cx.next_tick(a.note("next tick 3"));
                cx.queue_microtask(a.note("microtask 3"));
            });
            cx.next_tick(move |cx| {
                t.push("next tick 1");
                cx.queue_microtask(t.note("microtask 2"));
                cx.next_tick(t.note("next tick 2"));
            });
        })
        .unwrap();
    event_loop.cx().submit(log.note("task 2")).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(
        log.take(),
        [
            "next tick 1",
            "next tick 2",
            "microtask 1",
            "microtask 2",
            "microtask 3",
            "next tick 3",
            "task 2",
        ]
    );
}

// spec: MT-1
fn what_was_queued_before_comes_before_the_first_task(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    for round in 0..2 {
        event_loop.cx().submit_internal(log.note((round, "task"))).unwrap();
        event_loop.cx().queue_microtask(log.note((round, "microtask")));
        event_loop.cx().next_tick(log.note((round, "next tick")));
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.take(), [(round, "next tick"), (round, "microtask"), (round, "task")]);
    }
}

// spec: MT-1, MT-4
fn a_remote_microtask_runs_after_the_present_callback(variant: Variant) {
    for kind in Kind::ALL {
        let log = SharedLog::new();
        let event_loop = variant.build();
        let remote = log.clone();
        kind.queue(event_loop.cx(), move |cx| {
            let handle = cx.handle();
            let microtask = remote.note("microtask");
            thread::spawn(move || handle.queue_microtask(microtask).unwrap()).join().unwrap();
            remote.push("first");
        });
        kind.queue(event_loop.cx(), log.note("second"));
        event_loop.turn(Duration::ZERO).unwrap();
        let expected = match kind {
            // These two are run to the end of their queue first.
            Kind::NextTick | Kind::Microtask => ["first", "second", "microtask"],
            _ => ["first", "microtask", "second"],
        };
        assert_eq!(log.take(), expected, "{kind:?}");
    }
}

// spec: MT-6, MT-4
fn remote_microtasks_come_after_the_next_ticks_of_the_loop(variant: Variant) {
    let log = SharedLog::new();
    let event_loop = variant.build();
    let inner = log.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            let (handle, remote) = (cx.handle(), inner.clone());
            thread::spawn(move || {
                let nested = remote.clone();
                let microtask = move |cx: &Cx| {
                    nested.push("remote");
                    cx.next_tick(nested.note("next tick of remote"));
                };
                handle.queue_microtask(microtask).unwrap();
                handle.queue_microtask(remote.note("remote 2")).unwrap();
            })
            .join()
            .unwrap();
            cx.next_tick(inner.note("next tick"));
        })
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["next tick", "remote", "remote 2", "next tick of remote"]);
}

// spec: MT-2
fn nothing_is_left_in_the_queue_when_the_loop_is_about_to_block(variant: Variant) {
    for kind in Kind::ALL {
        let seen = Rc::new(Cell::new(None));
        let idle = Rc::clone(&seen);
        let event_loop = variant
            .builder()
            .microtask_budget(3)
            .on_idle(move |cx| {
                idle.set(Some(cx.handle().pending()));
                cx.shutdown();
            })
            .build()
            .unwrap();
        let tracker = Tracker::new();
        let inner = tracker.clone();
        kind.queue(event_loop.cx(), move |cx| {
            for _ in 0..10 {
                cx.queue_microtask(inner.callback());
                cx.next_tick(inner.callback());
            }
        });
        event_loop.run().unwrap();
        assert_eq!((seen.get(), tracker.ran()), (Some(0), 20), "{kind:?}");
    }
}

/// The reports of breaches.
fn breaches(log: &Log<usize>) -> impl FnMut(&Cx, Diagnostic) + 'static {
    let log = log.clone();
    move |_, diagnostic| match diagnostic {
        Diagnostic::MicrotaskBudget { pending, .. } => log.push(pending),
        _ => log.push(usize::MAX),
    }
}

// spec: MT-3, D02
fn a_breach_stops_the_drain_keeps_the_order_and_is_reported_once(variant: Variant) {
    let (log, reports) = (Log::new(), Log::new());
    let event_loop =
        variant.builder().microtask_budget(4).on_diagnostic(breaches(&reports)).build().unwrap();
    let inner = log.clone();
    event_loop
        .cx()
        .submit(move |cx| (0..10).for_each(|i| cx.queue_microtask(inner.note(i))))
        .unwrap();
    event_loop.cx().submit(log.note(100)).unwrap();
    event_loop.cx().set_immediate(log.note(200));
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [0, 1, 2, 3, 100, 200], "the rest waits, the others do not");
    assert_eq!(reports.take(), [6]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [4, 5, 6, 7]);
    assert_eq!(reports.take(), [2]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [8, 9]);
    assert_eq!(reports.take(), []);
}

// spec: MT-3
fn a_budget_spent_exactly_is_no_breach(variant: Variant) {
    let reports = Log::new();
    let event_loop =
        variant.builder().microtask_budget(4).on_diagnostic(breaches(&reports)).build().unwrap();
    let tracker = Tracker::new();
    let inner = tracker.clone();
    event_loop
        .cx()
        .submit(move |cx| (0..4).for_each(|_| cx.queue_microtask(inner.callback())))
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((tracker.ran(), reports.take()), (4, vec![]));
}

// spec: MT-3
fn the_default_budget_is_1024(variant: Variant) {
    let reports = Log::new();
    let event_loop = variant.builder().on_diagnostic(breaches(&reports)).build().unwrap();
    let tracker = Tracker::new();
    let inner = tracker.clone();
    event_loop
        .cx()
        .submit(move |cx| (0..1_500).for_each(|_| cx.queue_microtask(inner.callback())))
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((tracker.ran(), reports.take()), (1024, vec![476]));
}

// spec: MT-1
fn the_budget_is_whole_again_at_each_checkpoint(variant: Variant) {
    for kind in [Kind::Internal, Kind::External, Kind::Immediate, Kind::Close] {
        let (log, reports) = (Log::new(), Log::new());
        let event_loop = variant
            .builder()
            .microtask_budget(3)
            .on_diagnostic(breaches(&reports))
            .build()
            .unwrap();
        for i in 0..10 {
            let log = log.clone();
            kind.queue(event_loop.cx(), move |cx| {
                cx.queue_microtask(log.note((i, 1)));
                cx.next_tick(log.note((i, 0)));
                cx.queue_microtask(log.note((i, 2)));
            });
        }
        event_loop.turn(Duration::ZERO).unwrap();
        let expected = (0..10).flat_map(|i| [(i, 0), (i, 1), (i, 2)]);
        assert!(log.take().into_iter().eq(expected), "{kind:?}");
        assert_eq!(reports.len(), 0, "{kind:?}");
    }
}

// spec: MT-1, MT-3
fn without_a_budget_the_queue_is_run_to_empty(variant: Variant) {
    let reports = Log::new();
    let event_loop =
        variant.builder().microtask_budget(None).on_diagnostic(breaches(&reports)).build().unwrap();
    let tracker = Tracker::new();
    let inner = tracker.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            for i in 0..50_000 {
                if i % 2 == 0 {
                    cx.queue_microtask(inner.callback());
                } else {
                    cx.next_tick(inner.callback());
                }
            }
        })
        .unwrap();
    let all_ran = Rc::new(Cell::new(0));
    let (seen, ran) = (Rc::clone(&all_ran), tracker.clone());
    event_loop.cx().submit(move |_| seen.set(ran.ran())).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((all_ran.get(), reports.take()), (50_000, vec![]));
}

// spec: MT-3, MT-6
fn next_ticks_count_for_the_budget_and_for_the_report(variant: Variant) {
    let (log, reports) = (Log::new(), Log::new());
    let event_loop =
        variant.builder().microtask_budget(2).on_diagnostic(breaches(&reports)).build().unwrap();
    let inner = log.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            (0..2).for_each(|i| cx.queue_microtask(inner.note(("microtask", i))));
            (0..3).for_each(|i| cx.next_tick(inner.note(("next tick", i))));
        })
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [("next tick", 0), ("next tick", 1)]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [("next tick", 2), ("microtask", 0)]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [("microtask", 1)]);
    assert_eq!(reports.take(), [3, 1], "how many wait, of both kinds");
}

// spec: MT-3, MT-5
fn a_breach_does_not_let_later_microtasks_overtake(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.builder().microtask_budget(2).build().unwrap();
    for task in 0..4 {
        let inner = log.clone();
        event_loop
            .cx()
            .submit(move |cx| {
                (0..5).for_each(|i| cx.queue_microtask(inner.note(5 * task + i)));
            })
            .unwrap();
    }
    for _ in 0..10 {
        event_loop.turn(Duration::ZERO).unwrap();
    }
    assert!(log.take().into_iter().eq(0..20));
}

// spec: MT-3, TK-3
fn a_breach_keeps_the_loop_from_blocking(variant: Variant) {
    for kind in [Kind::Microtask, Kind::NextTick] {
        let tracker = Tracker::new();
        let queued = tracker.clone();
        let ran = common::seen_before_blocking(
            variant.builder().microtask_budget(1).on_diagnostic(|_, _| ()),
            move |cx| {
                // After the poll of the first tick, and before it.
                cx.set_immediate(move |cx| {
                    (0..20).for_each(|_| kind.queue(cx, queued.callback()));
                    let queued = queued.clone();
                    cx.submit(move |cx| {
                        (0..20).for_each(|_| kind.queue(cx, queued.callback()));
                    })
                    .unwrap();
                });
            },
            move |_| tracker.ran(),
        );
        assert_eq!(ran, 40, "{kind:?}");
    }
}

// spec: MT-3, D02, F-18
fn everything_else_makes_progress_under_an_endless_chain(variant: Variant) {
    for kind in [Kind::Microtask, Kind::NextTick] {
        must_return(move || {
            let (handle, thread) = variant.spawn(
                |builder| builder.on_diagnostic(|_, _| ()),
                move |event_loop| {
                    kind.chain(event_loop.cx(), || true);
                    event_loop.run()
                },
            );
            let done = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&done);
            // Through every other queue, from another thread.
            handle
                .submit(move |cx| {
                    cx.submit_internal(move |cx| {
                        cx.set_immediate(move |cx| {
                            cx.queue_close(move |cx| {
                                told.store(true, Ordering::SeqCst);
                                cx.close();
                            });
                        });
                    })
                    .unwrap();
                })
                .unwrap();
            thread.join().unwrap().unwrap();
            assert!(done.load(Ordering::SeqCst));
        });
    }
}

// spec: MT-3, FA-1
fn panicking_microtasks_breach_the_budget_like_others(variant: Variant) {
    let (log, reports) = (Log::new(), Log::new());
    let caught = log.clone();
    let event_loop = variant
        .builder()
        .microtask_budget(4)
        .on_diagnostic(breaches(&reports))
        .on_uncaught(move |_, panic| {
            assert_eq!(panic.phase(), Phase::Microtasks);
            caught.push(panic.message().unwrap().to_owned());
        })
        .build()
        .unwrap();
    event_loop
        .cx()
        .submit(|cx| {
            (0..10).for_each(|i| cx.queue_microtask(move |_| panic!("microtask {i}")));
        })
        .unwrap();
    let task = log.clone();
    event_loop.cx().submit(move |_| task.push("task".to_owned())).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["microtask 0", "microtask 1", "microtask 2", "microtask 3", "task"]);
    assert_eq!(reports.take(), [6]);
    event_loop.turn(Duration::ZERO).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    let rest: Vec<_> = (4..10).map(|i| format!("microtask {i}")).collect();
    assert_eq!(log.take(), rest);
    assert_eq!(reports.take(), [2]);
}

// spec: MT-1, MT-3, FA-1
fn a_panicking_microtask_does_not_spend_the_budget_of_the_next_checkpoint(variant: Variant) {
    let (log, reports) = (Log::new(), Log::new());
    let event_loop = variant
        .builder()
        .microtask_budget(2)
        .on_diagnostic(breaches(&reports))
        .on_uncaught(|_, _| ())
        .build()
        .unwrap();
    for i in 0..5 {
        let log = log.clone();
        event_loop
            .cx()
            .submit(move |cx| {
                log.push((i, "task"));
                cx.queue_microtask(move |_| {
                    log.push((i, "microtask"));
                    panic!("expected by the test");
                });
            })
            .unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    let expected: Vec<_> = (0..5).flat_map(|i| [(i, "task"), (i, "microtask")]).collect();
    assert_eq!(log.take(), expected);
    assert_eq!(reports.take(), [], "no checkpoint had more than one microtask");
}

const THREADS: usize = 4;
const EACH: usize = 6_000;

/// Each thread's microtasks, as `(thread, number)`, from threads that start together.
fn send_from_threads(
    handle: &mainspring::Handle,
    log: &SharedLog<(usize, usize)>,
) -> Vec<thread::JoinHandle<()>> {
    let start = Arc::new(Barrier::new(THREADS));
    (0..THREADS)
        .map(|thread| {
            let (handle, log, start) = (handle.clone(), log.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                for i in 0..EACH {
                    handle.queue_microtask(log.note((thread, i))).unwrap();
                }
            })
        })
        .collect()
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

// spec: MT-4, MT-5, F-22, F-23
fn each_thread_keeps_its_order_through_the_overflow_of_an_idle_loop(variant: Variant) {
    for budget in [None, Some(1024)] {
        let log = SharedLog::new();
        let event_loop =
            variant.builder().microtask_budget(budget).on_diagnostic(|_, _| ()).build().unwrap();
        for thread in send_from_threads(&event_loop.handle(), &log) {
            thread.join().unwrap();
        }
        assert_eq!(event_loop.handle().pending(), THREADS * EACH);
        turn_until_quiet(&event_loop);
        assert_each_in_order(log.take());
        // Again, with all parts used before.
        for thread in send_from_threads(&event_loop.handle(), &log) {
            thread.join().unwrap();
        }
        event_loop.run_until_idle().unwrap();
        assert_each_in_order(log.take());
    }
}

// spec: MT-4, MT-5, F-22, F-23
fn each_thread_keeps_its_order_while_the_loop_runs(variant: Variant) {
    for _ in 0..3 {
        let log = SharedLog::new();
        let (handle, thread) = variant.spawn(
            |builder| builder.on_diagnostic(|_, _| ()),
            |event_loop| {
                event_loop.run_until_idle().unwrap();
                event_loop.run()
            },
        );
        common::wait_until_sleeping(&handle);
        for thread in send_from_threads(&handle, &log) {
            thread.join().unwrap();
        }
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
        thread.join().unwrap().unwrap();
        assert_each_in_order(log.take());
    }
}

// spec: MT-5
fn the_loops_own_order_is_the_same_through_handle_and_context(variant: Variant) {
    let log = SharedLog::new();
    let event_loop = variant.builder().microtask_budget(None).build().unwrap();
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    for i in 0..6_000 {
        if i % 3 == 0 {
            handle.queue_microtask(log.note(i)).unwrap();
        } else {
            cx.queue_microtask(log.note(i));
        }
    }
    event_loop.run_until_idle().unwrap();
    assert!(log.take().into_iter().eq(0..6_000));
}

// spec: MT-5
fn captures_are_released_as_soon_as_a_microtask_has_run(variant: Variant) {
    let event_loop = variant.builder().microtask_budget(None).build().unwrap();
    let tracker = Tracker::new();
    let wrong = SharedLog::new();
    // More than the ring has slots, so that each is used again, and the overflow, too.
    let (handle, sent, seen) = (event_loop.handle(), tracker.clone(), wrong.clone());
    const COUNT: usize = 10_000;
    let start = move || {
        for i in 0..COUNT {
            let (token, tracker, seen) = (sent.token(), sent.clone(), seen.clone());
            let microtask = move |_: &Cx| {
                let _token = token;
                if tracker.alive() != COUNT - i {
                    seen.push(i);
                }
            };
            handle.queue_microtask(microtask).unwrap();
        }
    };
    thread::spawn(start).join().unwrap();
    assert_eq!(tracker.alive(), COUNT);
    event_loop.run_until_idle().unwrap();
    assert_eq!(wrong.take(), []);
    assert_eq!(tracker.alive(), 0);
}

// spec: MT-4, IN-2
fn a_microtask_comes_back_once_the_loop_has_terminated(variant: Variant) {
    let event_loop = variant.build();
    let (cx, handle) = (event_loop.cx().clone(), event_loop.handle());
    cx.submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    let mut event_loop = Some(event_loop);
    let tracker = Tracker::new();
    for gone in [false, true] {
        if gone {
            event_loop = None;
        }
        let refused = cx.try_queue_microtask(tracker.callback()).unwrap_err();
        assert_eq!((refused.reason(), tracker.alive()), (Refusal::Terminated, 1), "gone: {gone}");
        drop(refused.into_task());
        assert_eq!(tracker.alive(), 0);
        assert!(handle.queue_microtask(tracker.callback()).is_err());
        let (handle, remote) = (handle.clone(), tracker.clone());
        thread::spawn(move || {
            let refused = handle.queue_microtask(remote.callback()).unwrap_err();
            assert_eq!((refused.reason(), remote.alive()), (Refusal::Terminated, 1));
        })
        .join()
        .unwrap();
        cx.queue_microtask(tracker.callback());
        cx.next_tick(tracker.callback());
        cx.set_immediate(tracker.callback());
        cx.queue_close(tracker.callback());
        assert_eq!((tracker.alive(), tracker.ran()), (0, 0));
    }
    assert!(event_loop.is_none());
}
