//! One tick: its phases, their order, their budgets, and what cannot hold them up.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{Kind, Log, Tracker, Variant, must_return, turn_until_quiet, wait_until};
use mainspring::{Cx, Deadline, Diagnostic, LoopState, Shutdown};

suite![
    the_phases_of_a_tick_come_in_the_documented_order,
    each_queue_is_first_in_first_out,
    the_internal_lane_runs_to_its_end_before_the_external_one,
    an_internal_task_overtakes_external_tasks_of_later_ticks_only,
    the_external_lane_stops_at_its_budget_and_reports_once_per_tick,
    a_budget_spent_exactly_is_no_overload,
    the_default_external_budget_is_1024,
    a_loop_that_left_tasks_behind_does_not_block,
    a_flood_of_internal_tasks_is_reported_once_and_the_loop_goes_on,
    internal_tasks_up_to_the_flood_mark_are_no_flood,
    the_default_flood_mark_is_100_000,
    immediates_set_by_immediates_wait_for_the_next_tick,
    callbacks_that_wait_for_the_next_tick_keep_the_loop_from_blocking,
    close_callbacks_queued_by_close_callbacks_wait_for_the_next_tick,
    a_close_callback_queued_by_an_immediate_runs_in_the_same_tick,
    an_immediate_set_by_a_task_runs_in_the_same_tick,
    a_cleared_immediate_does_not_run_and_releases_its_captures,
    an_immediate_can_clear_a_later_one_of_the_same_phase,
    an_immediate_cannot_clear_itself_or_an_earlier_one,
    an_id_is_not_reused_after_many_immediates,
    a_turn_counts_its_callbacks,
    a_turn_says_whether_something_is_left,
    the_prepare_and_check_hooks_are_called_in_every_tick,
    the_idle_hook_is_called_only_when_nothing_is_queued,
    what_the_idle_hook_queues_keeps_the_loop_from_blocking,
    what_the_prepare_hook_queues_keeps_the_loop_from_blocking,
    the_before_exit_hook_can_keep_the_loop_going,
    the_cached_time_stands_still_within_a_tick_and_never_goes_back,
    the_cached_time_is_taken_at_the_start_of_each_tick,
    the_cached_time_can_be_read_from_other_threads,
    an_abort_is_noticed_during_any_endless_chain,
    a_close_is_noticed_during_any_endless_chain,
    a_shutdown_is_noticed_during_an_endless_internal_chain,
    a_shutdown_is_noticed_during_any_endless_chain,
];

// spec: TK-1, TK-5, TK-6
fn the_phases_of_a_tick_come_in_the_documented_order(variant: Variant) {
    let log = Log::new();
    let (prepare, check) = (log.clone(), log.clone());
    let event_loop = variant
        .builder()
        .on_prepare(move |_| prepare.push("prepare"))
        .on_check(move |_| check.push("check"))
        .build()
        .unwrap();
    let note = |what, after| {
        let log = log.clone();
        move |cx: &Cx| {
            log.push(what);
            cx.queue_microtask(log.note(after));
        }
    };
    let cx = event_loop.cx();
    // In the reverse of the order in which they are to run.
    cx.queue_close(note("close", "after close"));
    cx.set_immediate(note("immediate", "after immediate"));
    cx.submit(note("external", "after external")).unwrap();
    cx.submit_internal(note("internal", "after internal")).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(
        log.take(),
        [
            "internal",
            "after internal",
            "external",
            "after external",
            "prepare",
            "check",
            "immediate",
            "after immediate",
            "close",
            "after close",
        ]
    );
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready, "it was one tick");
}

// spec: IN-3
fn each_queue_is_first_in_first_out(variant: Variant) {
    for kind in Kind::ALL {
        let log = Log::new();
        // Over the borders of chunks, whichever their size, and the budgets.
        let event_loop = variant.builder().microtask_budget(None).build().unwrap();
        for i in 0..5_000 {
            kind.queue(event_loop.cx(), log.note(i));
        }
        turn_until_quiet(&event_loop);
        assert!(log.take().into_iter().eq(0..5_000), "{kind:?}");
    }
}

// spec: TK-1, IN-1
fn the_internal_lane_runs_to_its_end_before_the_external_one(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    event_loop.cx().submit(log.note(1_000)).unwrap();
    let left = Rc::new(Cell::new(0));
    let noted = log.clone();
    Kind::Internal.chain(event_loop.cx(), move || {
        noted.push(left.replace(left.get() + 1));
        left.get() < 1_000
    });
    event_loop.turn(Duration::ZERO).unwrap();
    assert!(log.take().into_iter().eq(0..=1_000));
}

// spec: TK-1, IN-1
fn an_internal_task_overtakes_external_tasks_of_later_ticks_only(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.builder().external_budget(2).build().unwrap();
    let inner = log.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            inner.push("external 1");
            cx.submit_internal(inner.note("internal")).unwrap();
        })
        .unwrap();
    for name in ["external 2", "external 3"] {
        event_loop.cx().submit(log.note(name)).unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["external 1", "external 2"]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["internal", "external 3"]);
}

// spec: IN-5, D17, TK-1
fn the_external_lane_stops_at_its_budget_and_reports_once_per_tick(variant: Variant) {
    let log = Log::new();
    let overloads = Log::new();
    let told = overloads.clone();
    let event_loop = variant
        .builder()
        .external_budget(3)
        .on_overload(move |_, overload| told.push(overload.pending))
        .build()
        .unwrap();
    for i in 0..8 {
        event_loop.cx().submit(log.note(i)).unwrap();
    }
    for (ran, pending) in [(vec![0, 1, 2], vec![5]), (vec![3, 4, 5], vec![2]), (vec![6, 7], vec![])]
    {
        let turn = event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(log.take(), ran);
        assert_eq!(turn.ready, !pending.is_empty());
        assert_eq!(overloads.take(), pending);
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(overloads.len(), 0);
}

// spec: IN-5
fn a_budget_spent_exactly_is_no_overload(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant
        .builder()
        .external_budget(3)
        .on_overload(|_, _| panic!("nothing is left"))
        .on_uncaught(|_, panic| {
            eprintln!("{panic}");
            std::process::abort();
        })
        .build()
        .unwrap();
    for _ in 0..3 {
        event_loop.cx().submit(tracker.callback()).unwrap();
    }
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
    assert_eq!(tracker.ran(), 3);
}

// spec: IN-5
fn the_default_external_budget_is_1024(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant.build();
    for _ in 0..2_000 {
        event_loop.cx().submit(tracker.callback()).unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(tracker.ran(), 1024);
}

// spec: IN-5, TK-3, D17
fn a_loop_that_left_tasks_behind_does_not_block(variant: Variant) {
    let tracker = Tracker::new();
    let queued = tracker.clone();
    let ran_before = common::seen_before_blocking(
        variant.builder().external_budget(1),
        move |cx| (0..100).for_each(|_| cx.submit(queued.callback()).unwrap()),
        move |_| tracker.ran(),
    );
    assert_eq!(ran_before, 100);
}

fn floods(variant: Variant, mark: Option<usize>, tasks: usize) -> Vec<usize> {
    let floods = Log::new();
    let told = floods.clone();
    let mut builder = variant.builder().on_diagnostic(move |_, diagnostic| match diagnostic {
        Diagnostic::InternalFlood { ran, .. } => told.push(ran),
        _ => told.push(usize::MAX),
    });
    if let Some(mark) = mark {
        builder = builder.internal_flood_mark(mark);
    }
    let event_loop = builder.build().unwrap();
    let tracker = Tracker::new();
    for _ in 0..tasks {
        event_loop.cx().submit_internal(tracker.callback()).unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(tracker.ran(), tasks, "the lane is run to its end all the same");
    floods.take()
}

// spec: IN-6
fn a_flood_of_internal_tasks_is_reported_once_and_the_loop_goes_on(variant: Variant) {
    assert_eq!(floods(variant, Some(10), 11), [10]);
    assert_eq!(floods(variant, Some(10), 100), [10]);
    assert_eq!(floods(variant, Some(1), 5_000), [1]);
}

// spec: IN-6
fn internal_tasks_up_to_the_flood_mark_are_no_flood(variant: Variant) {
    assert_eq!(floods(variant, Some(10), 9), []);
    assert_eq!(floods(variant, Some(10), 10), []);
}

// spec: IN-6
fn the_default_flood_mark_is_100_000(variant: Variant) {
    assert_eq!(floods(variant, None, 99_999), []);
    assert_eq!(floods(variant, None, 100_001), [100_000]);
}

// spec: TK-5
fn immediates_set_by_immediates_wait_for_the_next_tick(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    for name in ["a", "b"] {
        let inner = log.clone();
        event_loop.cx().set_immediate(move |cx| {
            inner.push(name);
            cx.set_immediate(inner.note("later"));
        });
    }
    let turn = event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["a", "b"]);
    assert!(turn.ready);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["later", "later"]);
}

// spec: TK-3, TK-5
fn callbacks_that_wait_for_the_next_tick_keep_the_loop_from_blocking(variant: Variant) {
    for kind in Kind::ALL {
        let tracker = Tracker::new();
        let queued = tracker.clone();
        // Queued by the last callback of a tick.
        let queue = move |cx: &Cx| {
            cx.queue_close(move |cx| {
                kind.queue(cx, move |cx| cx.queue_close(queued.callback()));
            });
        };
        let ran = common::seen_before_blocking(variant.builder(), queue, move |_| tracker.ran());
        assert_eq!(ran, 1, "{kind:?}");
    }
}

// spec: TK-5
fn close_callbacks_queued_by_close_callbacks_wait_for_the_next_tick(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    for name in ["a", "b"] {
        let inner = log.clone();
        event_loop.cx().queue_close(move |cx| {
            inner.push(name);
            cx.queue_close(inner.note("later"));
            cx.set_immediate(inner.note("immediate"));
        });
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["a", "b"]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["immediate", "immediate", "later", "later"]);
}

// spec: TK-5
fn a_close_callback_queued_by_an_immediate_runs_in_the_same_tick(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    let inner = log.clone();
    event_loop.cx().set_immediate(move |cx| cx.queue_close(inner.note("close")));
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["close"]);
}

// spec: TK-5
fn an_immediate_set_by_a_task_runs_in_the_same_tick(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    let inner = log.clone();
    let task = move |cx: &Cx| {
        cx.set_immediate(inner.note("immediate"));
    };
    event_loop.cx().submit(task).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["immediate"]);
}

// spec: TK-5
fn a_cleared_immediate_does_not_run_and_releases_its_captures(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let ids: Vec<_> = (0..3).map(|_| cx.set_immediate(tracker.callback())).collect();
    assert_eq!(cx.handle().pending(), 3);
    assert!(cx.clear_immediate(ids[1]));
    assert_eq!(tracker.alive(), 2, "at once");
    assert_eq!(cx.handle().pending(), 2);
    assert!(!cx.clear_immediate(ids[1]), "twice is once");
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (2, 0));
    for id in ids {
        assert!(!cx.clear_immediate(id), "they are gone");
    }
    // Were a cleared one still counted, this would not be idle.
    let id = cx.set_immediate(tracker.callback());
    assert!(cx.clear_immediate(id));
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
    assert_eq!((tracker.ran(), cx.handle().pending()), (2, 0));
}

// spec: TK-5
fn an_immediate_can_clear_a_later_one_of_the_same_phase(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    let ids = Rc::new(RefCell::new(Vec::new()));
    for i in 0..4 {
        let (noted, cleared) = (log.clone(), Rc::clone(&ids));
        let id = event_loop.cx().set_immediate(move |cx| {
            noted.push(i);
            if i == 0 {
                assert!(cx.clear_immediate(cleared.borrow()[2]));
            }
        });
        ids.borrow_mut().push(id);
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [0, 1, 3]);
}

// spec: TK-5
fn an_immediate_cannot_clear_itself_or_an_earlier_one(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let ids = Rc::new(RefCell::new(Vec::new()));
    for _ in 0..2 {
        let (noted, cleared) = (log.clone(), Rc::clone(&ids));
        let id = event_loop.cx().set_immediate(move |cx| {
            for id in cleared.borrow().iter().take(noted.len() + 1) {
                assert!(!cx.clear_immediate(*id));
            }
            noted.push(());
        });
        ids.borrow_mut().push(id);
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.len(), 2);
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
}

// spec: TK-5
fn an_id_is_not_reused_after_many_immediates(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    let stale = event_loop.cx().set_immediate(|_| ());
    event_loop.turn(Duration::ZERO).unwrap();
    for _ in 0..3 {
        for _ in 0..3_000 {
            let id = event_loop.cx().set_immediate(tracker.callback());
            assert_ne!(id, stale);
        }
        assert!(!event_loop.cx().clear_immediate(stale));
        event_loop.turn(Duration::ZERO).unwrap();
    }
    assert_eq!(tracker.ran(), 9_000);
}

fn a_turn_counts_its_callbacks(variant: Variant) {
    let event_loop = variant.build();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), |_| ());
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1, "{kind:?}");
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0, "{kind:?}");
    }
    event_loop.cx().submit(|cx| cx.queue_microtask(|cx| cx.next_tick(|_| ()))).unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 3);
}

// spec: TK-3
fn a_turn_says_whether_something_is_left(variant: Variant) {
    let event_loop = variant.builder().microtask_budget(1).external_budget(1).build().unwrap();
    let cx = event_loop.cx();
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
    cx.queue_microtask(|cx| cx.queue_microtask(|_| ()));
    assert!(event_loop.turn(Duration::ZERO).unwrap().ready, "a microtask was put off");
    turn_until_quiet(&event_loop);
    for kind in [Kind::Internal, Kind::Immediate, Kind::Close] {
        cx.queue_close(move |cx| kind.queue(cx, |_| ()));
        assert!(event_loop.turn(Duration::ZERO).unwrap().ready, "{kind:?}");
        assert!(!event_loop.turn(Duration::ZERO).unwrap().ready, "{kind:?}");
    }
}

// spec: TK-6
fn the_prepare_and_check_hooks_are_called_in_every_tick(variant: Variant) {
    let log = Log::new();
    let (prepare, check) = (log.clone(), log.clone());
    let event_loop = variant
        .builder()
        .on_prepare(move |_| prepare.push("prepare"))
        .on_check(move |_| check.push("check"))
        .build()
        .unwrap();
    for _ in 0..3 {
        event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(log.take(), ["prepare", "check"]);
    }
}

// spec: TK-6
fn the_idle_hook_is_called_only_when_nothing_is_queued(variant: Variant) {
    let log = Log::new();
    let idle = log.clone();
    let event_loop = variant
        .builder()
        .on_idle(move |cx| {
            idle.push("idle");
            cx.shutdown();
        })
        .build()
        .unwrap();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), |cx| {
            cx.set_immediate(|_| ());
        });
    }
    event_loop.turn(None).unwrap();
    assert_eq!(log.len(), 0, "there was something to do");
    event_loop.run().unwrap();
    assert_eq!(log.take(), ["idle"]);
}

// spec: TK-6, TK-3
fn what_the_idle_hook_queues_keeps_the_loop_from_blocking(variant: Variant) {
    for kind in Kind::ALL {
        let ran = Rc::new(Cell::new(false));
        let noted = Rc::clone(&ran);
        let event_loop = variant
            .builder()
            .on_idle(move |cx| {
                let noted = Rc::clone(&noted);
                kind.queue(cx, move |cx| {
                    noted.set(true);
                    cx.shutdown();
                });
            })
            .build()
            .unwrap();
        event_loop.run().unwrap();
        assert!(ran.get(), "{kind:?}");
    }
}

// spec: TK-6, TK-3, MT-2
fn what_the_prepare_hook_queues_keeps_the_loop_from_blocking(variant: Variant) {
    for kind in Kind::ALL {
        let tracker = Tracker::new();
        let callback = RefCell::new(Some(tracker.callback()));
        let event_loop = variant
            .builder()
            .on_prepare(move |cx| {
                if let Some(callback) = callback.take() {
                    kind.queue(cx, callback);
                }
            })
            .build()
            .unwrap();
        event_loop.turn(None).unwrap();
        event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(tracker.ran(), 1, "{kind:?}");
    }
}

// spec: TK-6
fn the_before_exit_hook_can_keep_the_loop_going(variant: Variant) {
    let log = Log::new();
    let exit = log.clone();
    let event_loop = variant
        .builder()
        .on_before_exit(move |cx| {
            exit.push("before exit");
            if exit.len() < 4 {
                cx.set_immediate(exit.note("immediate"));
            }
        })
        .build()
        .unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["before exit", "immediate", "before exit", "immediate", "before exit"]);
}

// spec: TK-2, D18
fn the_cached_time_stands_still_within_a_tick_and_never_goes_back(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    let mut last = event_loop.cx().now();
    for _ in 0..100 {
        let began = Instant::now();
        for kind in [Kind::Internal, Kind::External, Kind::Immediate, Kind::Close] {
            let noted = log.clone();
            kind.queue(event_loop.cx(), move |cx| {
                noted.push(cx.now());
                // Until the real time has moved on.
                let before = Instant::now();
                wait_until(|| Instant::now() > before);
                noted.push(cx.now());
                let noted = noted.clone();
                cx.queue_microtask(move |cx| noted.push(cx.handle().now()));
            });
        }
        event_loop.turn(Duration::ZERO).unwrap();
        let times = log.take();
        assert_eq!(times.len(), 12);
        assert!(times.iter().all(|time| *time == times[0]), "one tick, one time");
        assert!(times[0] >= began, "taken when the tick began, not before");
        assert!(times[0] >= last && times[0] <= Instant::now());
        last = times[0];
    }
}

// spec: TK-2, TK-1
fn the_cached_time_is_taken_at_the_start_of_each_tick(variant: Variant) {
    let event_loop = variant.build();
    let ticks = Log::new();
    let noted = ticks.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            let real = Instant::now();
            wait_until(|| Instant::now() > real);
            assert!(cx.now() <= real);
            noted.push(cx.now());
            let noted = noted.clone();
            cx.submit_internal(move |cx| {
                assert!(cx.now() > real, "the second tick has a time of its own");
                noted.push(cx.now());
            })
            .unwrap();
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(ticks.len(), 2, "no assertion failed in a callback");
}

// spec: TK-2
fn the_cached_time_can_be_read_from_other_threads(variant: Variant) {
    let event_loop = variant.build();
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (handle, stop) = (event_loop.handle(), Arc::clone(&stop));
            thread::spawn(move || {
                let mut last = handle.now();
                while !stop.load(Ordering::Relaxed) {
                    let now = handle.now();
                    assert!(now >= last && now <= Instant::now());
                    last = now;
                }
            })
        })
        .collect();
    for _ in 0..20_000 {
        event_loop.turn(Duration::ZERO).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
    let (sender, receiver) = mpsc::channel();
    let handle = event_loop.handle();
    event_loop
        .cx()
        .submit(move |cx| {
            let seen = thread::spawn(move || handle.now()).join().unwrap();
            sender.send(seen == cx.now()).unwrap();
        })
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert!(receiver.recv().unwrap(), "the same time for everybody");
}

fn unbounded(variant: Variant) -> mainspring::EventLoop {
    variant.builder().external_budget(usize::MAX).microtask_budget(None).build().unwrap()
}

// spec: TK-7, F-32
fn an_abort_is_noticed_during_any_endless_chain(variant: Variant) {
    for kind in Kind::ALL {
        must_return(move || {
            let event_loop = unbounded(variant);
            let asked = Rc::new(Cell::new(0));
            let (chain, condition) = (Rc::clone(&asked), Rc::clone(&asked));
            // The chain ends only because the condition is asked again and again.
            kind.chain(event_loop.cx(), move || chain.get() < 3);
            let aborted = move || {
                condition.set(condition.get() + 1);
                condition.get() >= 3
            };
            event_loop.run_until_aborted(aborted).unwrap();
            assert_eq!(event_loop.state(), LoopState::Terminated, "{kind:?}");
            assert!(asked.get() >= 3, "{kind:?}");
        });
    }
}

// spec: TK-7, F-32, SD-4
fn a_close_is_noticed_during_any_endless_chain(variant: Variant) {
    for kind in Kind::ALL {
        must_return(move || {
            let length = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&length);
            let (handle, thread) = variant.spawn(
                |builder| builder.external_budget(usize::MAX).microtask_budget(None),
                move |event_loop| {
                    kind.chain(event_loop.cx(), move || {
                        counted.fetch_add(1, Ordering::Relaxed);
                        true
                    });
                    event_loop.run()
                },
            );
            wait_until(|| length.load(Ordering::Relaxed) > 10_000);
            handle.close();
            thread.join().unwrap().unwrap();
            assert_eq!(handle.state(), LoopState::Terminated, "{kind:?}");
        });
    }
}

// spec: TK-7, F-32
fn a_shutdown_is_noticed_during_an_endless_internal_chain(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn(
            |builder| builder,
            |event_loop| {
                let goes_on = Rc::new(Cell::new(true));
                let stop = Rc::clone(&goes_on);
                Kind::Internal.chain(event_loop.cx(), move || goes_on.get());
                // Its turn comes only after the lane's end, or with the shutdown.
                event_loop.cx().submit(move |_| stop.set(false)).unwrap();
                event_loop.run()
            },
        );
        wait_until(|| handle.state() == LoopState::Running);
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
        thread.join().unwrap().unwrap();
    });
}

// spec: TK-7, F-32, SD-2
fn a_shutdown_is_noticed_during_any_endless_chain(variant: Variant) {
    for kind in Kind::ALL {
        must_return(move || {
            let length = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&length);
            let (handle, thread) = variant.spawn(
                |builder| builder.external_budget(usize::MAX).microtask_budget(None),
                move |event_loop| {
                    kind.chain(event_loop.cx(), move || {
                        counted.fetch_add(1, Ordering::Relaxed);
                        true
                    });
                    event_loop.run()
                },
            );
            wait_until(|| length.load(Ordering::Relaxed) > 10_000);
            // Whether the chain can be drained depends on its kind; that this returns does not.
            let _ = handle.shutdown(Duration::from_millis(1));
            thread.join().unwrap().unwrap();
            assert_eq!(handle.state(), LoopState::Terminated, "{kind:?}");
        });
    }
}
