//! The end of a loop: graceful, forced, from everywhere, and what becomes of what was queued.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{
    Hook, Kind, Log, OnDrop, SharedLog, Tracker, Variant, must_return, panic_of, wait_until,
    wait_until_sleeping,
};
use mainspring::{
    Cx, Deadline, Error, EventLoop, Handle, LoopState, PanicPolicy, Refusal, Shutdown,
};

suite![
    what_was_accepted_runs_before_the_end,
    a_chain_from_task_to_internal_task_to_microtask_loses_none,
    a_chain_through_all_lanes_loses_none_from_another_thread,
    immediates_and_close_callbacks_that_were_queued_run,
    immediates_set_during_the_shutdown_are_dropped_and_counted,
    external_tasks_are_refused_as_soon_as_shutdown_was_called,
    internal_tasks_and_microtasks_are_accepted_until_the_end,
    internal_tasks_from_other_threads_run_if_and_only_if_they_were_accepted,
    accepted_equals_executed_under_load,
    a_loop_that_never_ran_ends_at_once_on_its_own_thread,
    a_loop_that_never_ran_ends_at_once_from_another_thread,
    a_loop_that_never_ran_counts_and_releases_what_both_threads_queued,
    closing_a_loop_that_never_ran_releases_everything,
    two_concurrent_shutdowns_both_return_and_one_wins,
    ten_concurrent_shutdowns_all_return_and_one_wins,
    concurrent_shutdowns_of_a_loop_that_never_ran_all_return,
    a_shutdown_races_the_first_run,
    a_shutdown_after_the_end_says_so,
    a_deadline_in_the_past_drops_and_reports_what_was_left,
    a_deadline_that_passes_during_a_callback_reports_exactly_what_was_left,
    a_deadline_ends_an_endless_chain,
    a_deadline_given_by_a_callback_ends_an_endless_chain,
    a_second_caller_with_a_deadline_ends_an_endless_shutdown,
    a_generous_deadline_is_no_different_from_none,
    shutdown_from_every_kind_of_callback_does_not_wait_for_itself,
    shutdown_from_every_hook_does_not_wait_for_itself,
    shutdown_from_the_before_exit_hook_is_carried_out,
    shutdown_from_a_callback_of_the_drain_does_not_wait_for_itself,
    close_from_every_kind_of_callback_drops_the_rest,
    close_from_every_hook_ends_the_loop,
    close_from_another_thread_while_the_loop_sleeps,
    close_from_another_thread_while_a_callback_runs,
    close_cuts_a_shutdown_short,
    close_and_shutdown_between_turns_are_carried_out_by_the_next_drive,
    an_end_begun_by_a_callback_of_a_turn_is_carried_out_by_that_turn,
    close_calls_no_hooks_any_more,
    dropping_the_loop_calls_no_hooks,
    dropping_the_loop_survives_hooks_that_panic,
    dropping_the_loop_releases_everything,
    dropping_a_loop_that_never_ran_releases_everything,
    dropping_the_loop_breaks_cycles_of_captured_contexts,
    dropping_the_loop_survives_destructors_that_panic,
    dropping_the_loop_survives_destructors_that_use_it,
    a_destructor_may_shut_down_the_loop_that_drops_it,
    a_loop_that_its_own_queue_keeps_alive_can_be_ended_through_a_handle,
    a_loop_in_a_thread_local_is_dropped_with_its_thread,
    handle_and_context_outlive_the_loop,
    those_who_wait_for_a_shutdown_are_told_when_the_loop_is_dropped,
    a_thousand_cycles_leave_no_descriptor_behind,
];

// spec: SD-1, F-33
fn what_was_accepted_runs_before_the_end(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant.builder().external_budget(1).microtask_budget(1).build().unwrap();
    let first = tracker.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            cx.shutdown();
            for _ in 0..5 {
                cx.submit_internal(first.callback()).unwrap();
                cx.queue_microtask(first.callback());
                cx.next_tick(first.callback());
                cx.queue_close(first.callback());
            }
        })
        .unwrap();
    for _ in 0..3_000 {
        event_loop.cx().submit(tracker.callback()).unwrap();
    }
    event_loop.run().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (3_020, 0));
    assert_eq!(event_loop.state(), LoopState::Terminated);
}

// spec: SD-1, F-5
fn a_chain_from_task_to_internal_task_to_microtask_loses_none(variant: Variant) {
    // Begun at each stage of the chain.
    for stage in 0..4 {
        let log = Log::new();
        let event_loop = variant.build();
        let l = log.clone();
        let step = move |cx: &Cx, here, name| {
            l.push(name);
            if here == stage {
                cx.shutdown();
            }
        };
        let shut_first = log.clone();
        event_loop
            .cx()
            .submit(move |cx| {
                step(cx, 0, "task");
                cx.submit_internal(move |cx| {
                    step(cx, 1, "internal");
                    cx.queue_microtask(move |cx| {
                        step(cx, 2, "microtask");
                        cx.submit_internal(move |cx| {
                            step(cx, 3, "internal 2");
                            cx.next_tick(move |cx| step(cx, 4, "next tick"));
                        })
                        .unwrap();
                    });
                })
                .unwrap();
            })
            .unwrap();
        event_loop.run().unwrap();
        assert_eq!(
            shut_first.take(),
            ["task", "internal", "microtask", "internal 2", "next tick"],
            "stage {stage}"
        );
    }
}

// spec: SD-1, F-5, F-33
fn a_chain_through_all_lanes_loses_none_from_another_thread(variant: Variant) {
    for _ in 0..200 {
        let ran = Arc::new(AtomicUsize::new(0));
        let (handle, thread) = variant.spawn(|builder| builder, |event_loop| event_loop.run());
        let go = Arc::new(Barrier::new(2));
        let (sender, count, start) = (handle.clone(), Arc::clone(&ran), Arc::clone(&go));
        wait_until(|| handle.state() != LoopState::Awake);
        let producer = thread::spawn(move || {
            start.wait();
            (0..10)
                .filter(|_| {
                    let count = Arc::clone(&count);
                    sender
                        .submit(move |cx| {
                            count.fetch_add(1, Ordering::Relaxed);
                            cx.submit_internal(move |cx| {
                                count.fetch_add(1, Ordering::Relaxed);
                                cx.queue_microtask(move |_| {
                                    count.fetch_add(1, Ordering::Relaxed);
                                });
                            })
                            .unwrap();
                        })
                        .is_ok()
                })
                .count()
        });
        go.wait();
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
        thread.join().unwrap().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 3 * producer.join().unwrap());
    }
}

// spec: SD-1
fn immediates_and_close_callbacks_that_were_queued_run(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant.build();
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    for _ in 0..5 {
        event_loop.cx().set_immediate(tracker.callback());
        event_loop.cx().queue_close(tracker.callback());
    }
    event_loop.run().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (10, 0));
}

// spec: SD-1, SD-2
fn immediates_set_during_the_shutdown_are_dropped_and_counted(variant: Variant) {
    let tracker = Tracker::new();
    let (begun, go) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (callback_begun, callback_go, late) =
        (Arc::clone(&begun), Arc::clone(&go), tracker.clone());
    let (handle, thread) = variant.spawn(|builder| builder, |event_loop| event_loop.run());
    wait_until_sleeping(&handle);
    let other = handle.clone();
    handle
        .submit(move |cx| {
            callback_begun.wait();
            wait_until(|| other.state() == LoopState::Terminating);
            callback_go.wait();
            let _ = cx;
        })
        .unwrap();
    handle
        .submit(move |cx| {
            assert_eq!(cx.state(), LoopState::Terminating);
            for _ in 0..3 {
                let token = late.token();
                let again = late.clone();
                cx.set_immediate(move |cx| {
                    let _token = token;
                    again.callback()(cx);
                });
            }
        })
        .unwrap();
    begun.wait();
    let waiter = {
        let handle = handle.clone();
        thread::spawn(move || handle.shutdown(Deadline::NEVER))
    };
    go.wait();
    assert_eq!(waiter.join().unwrap().unwrap(), Shutdown::Finished { dropped: 3 });
    thread.join().unwrap().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}

// spec: SD-1, IN-2
fn external_tasks_are_refused_as_soon_as_shutdown_was_called(variant: Variant) {
    let log = Log::new();
    let event_loop = variant.build();
    let noted = log.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            cx.shutdown();
            assert_eq!(cx.state(), LoopState::Terminating);
            assert_eq!(cx.submit(|_| ()).unwrap_err().reason(), Refusal::Terminated);
            let handle = cx.handle();
            assert_eq!(handle.submit(|_| ()).unwrap_err().reason(), Refusal::Terminated);
            let refused = thread::spawn(move || handle.submit(|_| ()).unwrap_err().reason());
            assert_eq!(refused.join().unwrap(), Refusal::Terminated);
            noted.push("no assertion failed");
        })
        .unwrap();
    event_loop.run().unwrap();
    assert_eq!(log.len(), 1);
}

// spec: IN-1, IN-4, D09
fn internal_tasks_and_microtasks_are_accepted_until_the_end(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant.build();
    let sent = tracker.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            cx.shutdown();
            cx.submit_internal(sent.callback()).unwrap();
            cx.try_queue_microtask(sent.callback()).unwrap();
            let handle = cx.handle();
            handle.submit_internal(sent.callback()).unwrap();
            handle.queue_microtask(sent.callback()).unwrap();
            thread::spawn(move || {
                handle.submit_internal(sent.callback()).unwrap();
                handle.queue_microtask(sent.callback()).unwrap();
            })
            .join()
            .unwrap();
        })
        .unwrap();
    event_loop.run().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (6, 0));
    let handle = event_loop.handle();
    let reason = handle.submit_internal(tracker.callback()).unwrap_err().reason();
    assert_eq!(reason, Refusal::Terminated);
    let remote = tracker.clone();
    thread::spawn(move || {
        let reason = handle.submit_internal(remote.callback()).unwrap_err().reason();
        assert_eq!(reason, Refusal::Terminated);
    })
    .join()
    .unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (6, 0));
}

/// Lets two threads send until they are refused, or so many, and counts what was accepted.
fn produce(
    handle: &Handle,
    tracker: &Tracker,
    send: fn(&Handle, &Tracker) -> bool,
) -> impl FnOnce() -> usize + use<> {
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (handle, tracker) = (handle.clone(), tracker.clone());
            thread::spawn(move || (0..20_000).take_while(|_| send(&handle, &tracker)).count())
        })
        .collect();
    move || threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

// spec: IN-4, D09, F-33
fn internal_tasks_from_other_threads_run_if_and_only_if_they_were_accepted(variant: Variant) {
    for _ in 0..10 {
        let tracker = Tracker::new();
        let (handle, thread) = variant.spawn_running();
        let internal = produce(&handle, &tracker, |handle, tracker| {
            handle.submit_internal(tracker.callback()).is_ok()
        });
        let microtasks = produce(&handle, &tracker, |handle, tracker| {
            handle.queue_microtask(tracker.callback()).is_ok()
        });
        wait_until(|| tracker.ran() > 100);
        handle.shutdown(Deadline::NEVER).unwrap();
        thread.join().unwrap().unwrap();
        assert_eq!(internal() + microtasks(), tracker.ran());
        assert_eq!(tracker.alive(), 0);
    }
}

// spec: F-33, SD-1, IN-8
fn accepted_equals_executed_under_load(variant: Variant) {
    for _ in 0..10 {
        let tracker = Tracker::new();
        let (handle, thread) = variant.spawn_running();
        let accepted = produce(&handle, &tracker, |handle, tracker| {
            loop {
                match handle.submit(tracker.callback()) {
                    Ok(()) => return true,
                    Err(error) if error.reason() == Refusal::Terminated => return false,
                    Err(_) => thread::yield_now(),
                }
            }
        });
        wait_until(|| tracker.ran() > 100);
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
        thread.join().unwrap().unwrap();
        assert_eq!(accepted(), tracker.ran());
        assert_eq!(tracker.alive(), 0);
    }
}

// spec: SD-3, F-6
fn a_loop_that_never_ran_ends_at_once_on_its_own_thread(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), tracker.callback());
    }
    let shutdown = event_loop.handle().shutdown(Deadline::NEVER).unwrap();
    assert_eq!(shutdown, Shutdown::Finished { dropped: 6 });
    assert_eq!((tracker.alive(), tracker.ran()), (0, 0));
    assert_eq!(event_loop.state(), LoopState::Terminated);
    assert_eq!(event_loop.handle().pending(), 0);
    assert!(matches!(event_loop.run(), Err(Error::Terminated)));
    assert!(matches!(event_loop.turn(Duration::ZERO), Err(Error::Terminated)));
    assert!(matches!(event_loop.run_until_idle(), Err(Error::Terminated)));
    assert!(matches!(event_loop.run_until_aborted(|| true), Err(Error::Terminated)));
    assert!(matches!(event_loop.handle().shutdown(Deadline::NEVER), Err(Error::Terminated)));
}

// spec: SD-3, F-6
fn a_loop_that_never_ran_ends_at_once_from_another_thread(variant: Variant) {
    let event_loop = variant.build();
    let (handle, tracker) = (event_loop.handle(), Tracker::new());
    let sent = tracker.clone();
    thread::spawn(move || {
        // Enough for the overflow of each.
        for _ in 0..5_000 {
            handle.submit(sent.callback()).unwrap();
            handle.submit_internal(sent.callback()).unwrap();
            handle.queue_microtask(sent.callback()).unwrap();
        }
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 15_000 });
        assert_eq!((sent.alive(), sent.ran()), (0, 0));
        assert!(matches!(handle.shutdown(Deadline::NEVER), Err(Error::Terminated)));
    })
    .join()
    .unwrap();
    assert_eq!(event_loop.state(), LoopState::Terminated);
    assert!(matches!(event_loop.run(), Err(Error::Terminated)));
}

// spec: SD-3
fn a_loop_that_never_ran_counts_and_releases_what_both_threads_queued(variant: Variant) {
    for end in 0..3 {
        let event_loop = variant.build();
        let (handle, tracker) = (event_loop.handle(), Tracker::new());
        // Not `Send`: to be released on this thread.
        let local = Rc::new(());
        for kind in Kind::ALL {
            let (captured, token) = (Rc::clone(&local), tracker.token());
            kind.queue(event_loop.cx(), move |_| drop((captured, token)));
        }
        let sent = tracker.clone();
        thread::spawn(move || {
            for _ in 0..3_000 {
                handle.submit(sent.callback()).unwrap();
            }
            let shutdown = handle.shutdown(Duration::from_secs(50)).unwrap();
            assert_eq!(shutdown, Shutdown::Finished { dropped: 3_006 });
            assert_eq!(sent.alive(), 6, "the loop's own are left to its thread");
        })
        .join()
        .unwrap();
        match end {
            0 => drop(event_loop),
            1 => assert!(matches!(event_loop.run(), Err(Error::Terminated))),
            _ => assert!(matches!(event_loop.turn(None), Err(Error::Terminated))),
        }
        assert_eq!((Rc::strong_count(&local), tracker.alive(), tracker.ran()), (1, 0, 0));
    }
}

// spec: SD-3, SD-4
fn closing_a_loop_that_never_ran_releases_everything(variant: Variant) {
    for own in [true, false] {
        let event_loop = variant.build();
        let (handle, tracker) = (event_loop.handle(), Tracker::new());
        event_loop.cx().submit(tracker.callback()).unwrap();
        let sent = tracker.clone();
        thread::spawn(move || {
            for _ in 0..3_000 {
                handle.submit_internal(sent.callback()).unwrap();
            }
            if !own {
                handle.close();
                assert_eq!(handle.state(), LoopState::Terminated);
            }
        })
        .join()
        .unwrap();
        event_loop.cx().close();
        assert_eq!(event_loop.state(), LoopState::Terminated);
        assert!(matches!(event_loop.run(), Err(Error::Terminated)));
        assert_eq!((tracker.alive(), tracker.ran()), (0, 0));
    }
}

/// Calls shutdown from so many threads at once.
fn race_shutdowns(handle: &Handle, callers: usize) -> (usize, usize) {
    let start = Arc::new(Barrier::new(callers));
    let threads: Vec<_> = (0..callers)
        .map(|i| {
            let (handle, start) = (handle.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                if i % 2 == 0 {
                    handle.shutdown(Deadline::NEVER)
                } else {
                    handle.shutdown(Duration::from_secs(50))
                }
            })
        })
        .collect();
    let mut counts = (0, 0);
    for thread in threads {
        let result = thread.join().unwrap();
        assert_eq!(handle.state(), LoopState::Terminated, "nobody returns earlier");
        match result {
            Ok(Shutdown::Finished { dropped: 0 }) => counts.0 += 1,
            Err(Error::Terminated) => counts.1 += 1,
            other => panic!("{other:?}"),
        }
    }
    counts
}

// spec: SD-2, D16, F-7
fn two_concurrent_shutdowns_both_return_and_one_wins(variant: Variant) {
    for _ in 0..100 {
        let (handle, thread) = variant.spawn(|builder| builder, |event_loop| event_loop.run());
        wait_until(|| handle.state() != LoopState::Awake);
        assert_eq!(race_shutdowns(&handle, 2), (1, 1));
        thread.join().unwrap().unwrap();
    }
}

// spec: SD-2, D16, F-7
fn ten_concurrent_shutdowns_all_return_and_one_wins(variant: Variant) {
    for _ in 0..20 {
        let (handle, thread) = variant.spawn_running();
        let tracker = Tracker::new();
        for _ in 0..100 {
            handle.submit(tracker.callback()).unwrap();
        }
        assert_eq!(race_shutdowns(&handle, 10), (1, 9));
        thread.join().unwrap().unwrap();
        assert_eq!(tracker.ran(), 100);
    }
}

// spec: SD-2, SD-3, F-6, F-7
fn concurrent_shutdowns_of_a_loop_that_never_ran_all_return(variant: Variant) {
    for _ in 0..50 {
        let event_loop = variant.build();
        assert_eq!(race_shutdowns(&event_loop.handle(), 4), (1, 3));
    }
}

// spec: SD-2, SD-3, ST-2
fn a_shutdown_races_the_first_run(variant: Variant) {
    for _ in 0..200 {
        let start = Arc::new(Barrier::new(2));
        let run_start = Arc::clone(&start);
        let tracker = Tracker::new();
        let queued = tracker.clone();
        let (handle, thread) = variant.spawn(
            |builder| builder,
            move |event_loop| {
                event_loop.cx().submit(queued.callback()).unwrap();
                run_start.wait();
                event_loop.run()
            },
        );
        start.wait();
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        // Either it ran everything, or it never ran.
        match thread.join().unwrap() {
            Ok(()) => {
                assert_eq!((shutdown, tracker.ran()), (Shutdown::Finished { dropped: 0 }, 1));
            }
            Err(Error::Terminated) => {
                assert_eq!((shutdown, tracker.ran()), (Shutdown::Finished { dropped: 1 }, 0));
            }
            Err(other) => panic!("{other}"),
        }
        assert_eq!((tracker.alive(), handle.state()), (0, LoopState::Terminated));
    }
}

// spec: SD-2
fn a_shutdown_after_the_end_says_so(variant: Variant) {
    let event_loop = variant.build();
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    let handle = event_loop.handle();
    assert!(matches!(handle.shutdown(Deadline::NEVER), Err(Error::Terminated)));
    let other = handle.clone();
    let result = thread::spawn(move || other.shutdown(Deadline::NEVER)).join().unwrap();
    assert!(matches!(result, Err(Error::Terminated)));
    let past = thread::spawn(move || handle.shutdown(Duration::ZERO)).join().unwrap();
    assert!(matches!(past, Err(Error::Terminated)));
}

/// A loop whose first callback is running and blocks until `go` is dropped or used.
struct Blocked {
    handle: Handle,
    thread: thread::JoinHandle<Result<(), Error>>,
    go: mpsc::Sender<()>,
}

fn blocked(variant: Variant) -> Blocked {
    let (handle, thread) = variant.spawn(|builder| builder, |event_loop| event_loop.run());
    let (sender, receiver) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    // A loop that never ran would end at once.
    wait_until_sleeping(&handle);
    handle
        .submit(move |_| {
            begun.send(()).unwrap();
            let _ = receiver.recv();
        })
        .unwrap();
    has_begun.recv().unwrap();
    Blocked { handle, thread, go: sender }
}

// spec: SD-2
fn a_deadline_in_the_past_drops_and_reports_what_was_left(variant: Variant) {
    let Blocked { handle, thread, go } = blocked(variant);
    let tracker = Tracker::new();
    for _ in 0..10 {
        handle.submit(tracker.callback()).unwrap();
        handle.submit_internal(tracker.callback()).unwrap();
        handle.queue_microtask(tracker.callback()).unwrap();
    }
    let result = handle.shutdown(Duration::ZERO);
    assert!(matches!(result, Err(Error::DeadlineExceeded { left: 30 })), "{result:?}");
    go.send(()).unwrap();
    thread.join().unwrap().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    assert_eq!(handle.state(), LoopState::Terminated);
}

// spec: SD-2, F-27
fn a_deadline_that_passes_during_a_callback_reports_exactly_what_was_left(variant: Variant) {
    let Blocked { handle, thread, go } = blocked(variant);
    let tracker = Tracker::new();
    for _ in 0..2_000 {
        handle.submit(tracker.callback()).unwrap();
        handle.submit_internal(tracker.callback()).unwrap();
    }
    let result = handle.shutdown(Instant::now() + Duration::from_millis(5));
    assert!(matches!(result, Err(Error::DeadlineExceeded { left: 4_000 })), "{result:?}");
    assert_eq!(handle.state(), LoopState::Terminating, "the callback has not returned");
    assert_eq!(handle.submit(|_| ()).unwrap_err().reason(), Refusal::Terminated);
    // Nobody waits for the blocked callback.
    handle.close();
    go.send(()).unwrap();
    thread.join().unwrap().unwrap();
    assert_eq!(handle.state(), LoopState::Terminated);
    assert_eq!((tracker.ran(), tracker.alive(), handle.pending()), (0, 0, 0));
}

// spec: SD-2, TK-7
fn a_deadline_ends_an_endless_chain(variant: Variant) {
    for kind in [Kind::Internal, Kind::Microtask, Kind::NextTick, Kind::Close] {
        for budget in [None, Some(10)] {
            must_return(move || {
                let tracker = Tracker::new();
                let captured = tracker.clone();
                let (handle, thread) = variant.spawn(
                    move |builder| builder.microtask_budget(budget).on_diagnostic(|_, _| ()),
                    move |event_loop| {
                        let token = Rc::new(captured.token());
                        let goes_on = move || {
                            let _token = &token;
                            true
                        };
                        kind.chain(event_loop.cx(), goes_on);
                        event_loop.run()
                    },
                );
                wait_until(|| handle.state() == LoopState::Running);
                let result = handle.shutdown(Duration::from_millis(5));
                match result {
                    // The one that runs may or may not have queued the next one.
                    Err(Error::DeadlineExceeded { left: 0 | 1 }) => {}
                    // Close callbacks may be cut short: those that were queued have run.
                    Ok(Shutdown::Finished { dropped: 1 }) if kind == Kind::Close => {}
                    other => panic!("{kind:?}: {other:?}"),
                }
                thread.join().unwrap().unwrap();
                assert_eq!((tracker.alive(), handle.state()), (0, LoopState::Terminated));
            });
        }
    }
}

// spec: SD-2, SD-5, TK-7
fn a_deadline_given_by_a_callback_ends_an_endless_chain(variant: Variant) {
    // Nobody waits for this shutdown, so nobody but the loop itself can look at the time.
    for kind in [Kind::Internal, Kind::Microtask, Kind::NextTick] {
        must_return(move || {
            let event_loop = variant.builder().microtask_budget(None).build().unwrap();
            event_loop
                .cx()
                .submit(move |cx| {
                    let begun = cx.handle().shutdown(Duration::from_millis(5));
                    assert!(matches!(begun, Ok(Shutdown::Begun)));
                    kind.chain(cx, || true);
                })
                .unwrap();
            event_loop.run().unwrap();
            assert_eq!(event_loop.state(), LoopState::Terminated, "{kind:?}");
            assert_eq!(event_loop.handle().pending(), 0, "{kind:?}");
        });
    }
}

// spec: SD-2
fn a_second_caller_with_a_deadline_ends_an_endless_shutdown(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn(
            |builder| builder,
            |event_loop| {
                Kind::Internal.chain(event_loop.cx(), || true);
                event_loop.run()
            },
        );
        wait_until(|| handle.state() == LoopState::Running);
        let patient = {
            let handle = handle.clone();
            thread::spawn(move || handle.shutdown(Deadline::NEVER))
        };
        wait_until(|| handle.state().is_ending());
        let second = handle.shutdown(Duration::from_millis(5));
        assert!(matches!(second, Err(Error::Terminated)), "{second:?}");
        // The deadline was not its own.
        let first = patient.join().unwrap();
        assert!(matches!(first, Ok(Shutdown::Finished { dropped: 1 })), "{first:?}");
        thread.join().unwrap().unwrap();
    });
}

// spec: SD-2, ER-2
fn a_generous_deadline_is_no_different_from_none(variant: Variant) {
    for deadline in [Duration::from_secs(1_000), Duration::MAX] {
        let (handle, thread) = variant.spawn_running();
        let tracker = Tracker::new();
        for _ in 0..100 {
            handle.submit(tracker.callback()).unwrap();
        }
        let shutdown = handle.shutdown(deadline).unwrap();
        assert_eq!((shutdown, tracker.ran()), (Shutdown::Finished { dropped: 0 }, 100));
        thread.join().unwrap().unwrap();
    }
}

// spec: SD-5, F-26
fn shutdown_from_every_kind_of_callback_does_not_wait_for_itself(variant: Variant) {
    for kind in Kind::ALL {
        must_return(move || {
            let event_loop = variant.build();
            let (tracker, log) = (Tracker::new(), Log::new());
            let results = log.clone();
            let after = tracker.clone();
            kind.queue(event_loop.cx(), move |cx| {
                let handle = cx.handle();
                results.push(handle.shutdown(Deadline::NEVER).map_err(|e| e.to_string()));
                results.push(handle.shutdown(Duration::ZERO + Duration::from_secs(50)).map_err(
                    |error| {
                        assert!(matches!(error, Error::Terminated));
                        String::new()
                    },
                ));
                cx.shutdown();
                cx.queue_microtask(after.callback());
                cx.submit_internal(after.callback()).unwrap();
            });
            event_loop.cx().submit(tracker.callback()).unwrap();
            event_loop.run().unwrap();
            assert_eq!(log.take(), [Ok(Shutdown::Begun), Err(String::new())], "{kind:?}");
            assert_eq!((tracker.ran(), event_loop.state()), (3, LoopState::Terminated));
        });
    }
}

// spec: SD-5, F-26, FA-2
fn shutdown_from_every_hook_does_not_wait_for_itself(variant: Variant) {
    for hook in Hook::ALL.into_iter().filter(|hook| *hook != Hook::BeforeExit) {
        must_return(move || {
            let log = Log::new();
            let results = log.clone();
            let event_loop = hook
                .set(variant.builder(), move |cx| {
                    results.push(cx.handle().shutdown(Deadline::NEVER).ok());
                })
                .build()
                .unwrap();
            hook.provoke(event_loop.cx());
            event_loop.run().unwrap();
            assert_eq!(log.take()[0], Some(Shutdown::Begun), "{hook:?}");
            assert_eq!(event_loop.state(), LoopState::Terminated, "{hook:?}");
        });
    }
}

// spec: SD-5, F-26
fn shutdown_from_the_before_exit_hook_is_carried_out(variant: Variant) {
    must_return(move || {
        let event_loop = variant.builder().on_before_exit(|cx| cx.shutdown()).build().unwrap();
        event_loop.run_until_idle().unwrap();
        assert_eq!(event_loop.state(), LoopState::Terminated);
    });
}

// spec: SD-5, F-26
fn shutdown_from_a_callback_of_the_drain_does_not_wait_for_itself(variant: Variant) {
    for kind in [Kind::Internal, Kind::Microtask, Kind::NextTick, Kind::Close] {
        must_return(move || {
            let event_loop = variant.build();
            let log = Log::new();
            let results = log.clone();
            event_loop
                .cx()
                .submit(move |cx| {
                    cx.shutdown();
                    kind.queue(cx, move |cx| {
                        results.push(cx.handle().shutdown(Deadline::NEVER).is_err());
                        cx.shutdown();
                    });
                })
                .unwrap();
            event_loop.run().unwrap();
            assert_eq!(log.take(), [true], "{kind:?}");
        });
    }
}

// spec: SD-4, SD-5
fn close_from_every_kind_of_callback_drops_the_rest(variant: Variant) {
    for kind in Kind::ALL {
        must_return(move || {
            let event_loop = variant.build();
            let tracker = Tracker::new();
            let rest = tracker.clone();
            kind.queue(event_loop.cx(), move |cx| {
                // Everything is queued by now, also what would come after this checkpoint.
                for other in Kind::ALL {
                    other.queue(cx, rest.callback());
                }
                let (handle, remote) = (cx.handle(), rest.clone());
                thread::spawn(move || {
                    handle.submit(remote.callback()).unwrap();
                    handle.queue_microtask(remote.callback()).unwrap();
                })
                .join()
                .unwrap();
                cx.close();
                cx.close();
                assert_eq!(cx.state(), LoopState::Terminating);
            });
            event_loop.run().unwrap();
            assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "{kind:?}");
            assert_eq!(event_loop.state(), LoopState::Terminated);
        });
    }
}

// spec: SD-4, F-26
fn close_from_every_hook_ends_the_loop(variant: Variant) {
    for hook in Hook::ALL.into_iter().filter(|hook| *hook != Hook::BeforeExit) {
        must_return(move || {
            let tracker = Tracker::new();
            let rest = tracker.clone();
            let event_loop = hook
                .set(variant.builder(), move |cx| {
                    for kind in Kind::ALL {
                        kind.queue(cx, rest.callback());
                    }
                    cx.close();
                })
                .build()
                .unwrap();
            hook.provoke(event_loop.cx());
            event_loop.run().unwrap();
            assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "{hook:?}");
            assert_eq!(event_loop.state(), LoopState::Terminated, "{hook:?}");
        });
    }
}

// spec: SD-4, F-4, ST-3, D01
fn close_from_another_thread_while_the_loop_sleeps(variant: Variant) {
    for _ in 0..100 {
        let (handle, thread) = variant.spawn_running();
        handle.close();
        thread.join().unwrap().unwrap();
        assert_eq!(handle.state(), LoopState::Terminated);
        handle.close();
        assert_eq!(handle.state(), LoopState::Terminated);
    }
}

// spec: SD-4, F-27
fn close_from_another_thread_while_a_callback_runs(variant: Variant) {
    let Blocked { handle, thread, go } = blocked(variant);
    let tracker = Tracker::new();
    for _ in 0..2_000 {
        handle.submit(tracker.callback()).unwrap();
        handle.queue_microtask(tracker.callback()).unwrap();
    }
    // Does not wait for the callback.
    handle.close();
    assert_eq!(handle.state(), LoopState::Terminating);
    go.send(()).unwrap();
    thread.join().unwrap().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}

// spec: SD-4, SD-2
fn close_cuts_a_shutdown_short(variant: Variant) {
    let Blocked { handle, thread, go } = blocked(variant);
    let tracker = Tracker::new();
    for _ in 0..10 {
        handle.submit(tracker.callback()).unwrap();
    }
    let waiter = {
        let handle = handle.clone();
        thread::spawn(move || handle.shutdown(Deadline::NEVER))
    };
    wait_until(|| handle.state() == LoopState::Terminating);
    handle.close();
    go.send(()).unwrap();
    assert_eq!(waiter.join().unwrap().unwrap(), Shutdown::Finished { dropped: 10 });
    thread.join().unwrap().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}

// spec: SD-1, SD-4, SD-5
fn close_and_shutdown_between_turns_are_carried_out_by_the_next_drive(variant: Variant) {
    for close in [false, true] {
        for drive in 0..3 {
            let event_loop = variant.build();
            event_loop.turn(Duration::ZERO).unwrap();
            let tracker = Tracker::new();
            for kind in Kind::ALL {
                kind.queue(event_loop.cx(), tracker.callback());
            }
            if close {
                event_loop.handle().close();
            } else {
                let begun = event_loop.handle().shutdown(Deadline::NEVER).unwrap();
                assert_eq!(begun, Shutdown::Begun);
            }
            assert_eq!(event_loop.state(), LoopState::Terminating);
            match drive {
                0 => assert!(event_loop.turn(None).is_ok()),
                1 => event_loop.run().unwrap(),
                _ => event_loop.run_until_idle().unwrap(),
            }
            assert_eq!((tracker.ran(), tracker.alive()), (if close { 0 } else { 6 }, 0));
            assert_eq!(event_loop.state(), LoopState::Terminated);
            assert!(matches!(event_loop.run(), Err(Error::Terminated)));
        }
    }
}

// spec: SD-1, SD-4, SD-5
fn an_end_begun_by_a_callback_of_a_turn_is_carried_out_by_that_turn(variant: Variant) {
    for close in [false, true] {
        for kind in Kind::ALL {
            let event_loop = variant.build();
            let tracker = Tracker::new();
            let after = tracker.clone();
            kind.queue(event_loop.cx(), move |cx| {
                cx.submit_internal(after.callback()).unwrap();
                if close { cx.close() } else { cx.shutdown() }
            });
            let turn = event_loop.turn(None).unwrap();
            assert_eq!(turn.callbacks, if close { 1 } else { 2 }, "{kind:?}");
            assert!(!turn.ready, "{kind:?}");
            assert_eq!(event_loop.state(), LoopState::Terminated, "{kind:?}");
            assert_eq!((tracker.ran(), tracker.alive()), (usize::from(!close), 0), "{kind:?}");
        }
    }
}

/// A builder all of whose hooks note that they were called.
fn noting_hooks(variant: Variant, log: &Log<&'static str>) -> mainspring::Builder {
    let note = |name| {
        let log = log.clone();
        move || log.push(name)
    };
    let (prepare, check, idle, exit) =
        (note("prepare"), note("check"), note("idle"), note("before exit"));
    variant
        .builder()
        .on_prepare(move |_| prepare())
        .on_check(move |_| check())
        .on_idle(move |_| idle())
        .on_before_exit(move |_| exit())
}

// spec: SD-4
fn close_calls_no_hooks_any_more(variant: Variant) {
    let log = Log::new();
    let event_loop = noting_hooks(variant, &log).build().unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    log.take();
    event_loop.cx().close();
    event_loop.run().unwrap();
    assert_eq!(log.take(), [""; 0]);
}

// spec: SD-6
fn dropping_the_loop_calls_no_hooks(variant: Variant) {
    for driven in [false, true] {
        let log = Log::new();
        let event_loop = noting_hooks(variant, &log).build().unwrap();
        if driven {
            event_loop.turn(Duration::ZERO).unwrap();
        }
        log.take();
        drop(event_loop);
        assert_eq!(log.take(), [""; 0], "driven: {driven}");
    }
}

// spec: SD-6, FA-2
fn dropping_the_loop_survives_hooks_that_panic(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for hook in Hook::ALL {
            let event_loop = hook
                .set(variant.builder().panic_policy(policy), |_| panic!("expected by the test"))
                .build()
                .unwrap();
            hook.provoke(event_loop.cx());
            let panic = panic_of(|| drop(event_loop));
            assert_eq!(panic, None, "{hook:?} under {policy:?}");
        }
    }
}

fn queue_all(event_loop: &EventLoop, tracker: &Tracker) {
    for kind in Kind::ALL {
        for _ in 0..300 {
            kind.queue(event_loop.cx(), tracker.callback());
        }
    }
    let (handle, sent) = (event_loop.handle(), tracker.clone());
    thread::spawn(move || {
        for _ in 0..5_000 {
            handle.submit(sent.callback()).unwrap();
            handle.submit_internal(sent.callback()).unwrap();
            handle.queue_microtask(sent.callback()).unwrap();
        }
    })
    .join()
    .unwrap();
}

// spec: SD-6
fn dropping_the_loop_releases_everything(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant
        .builder()
        .external_budget(1)
        .microtask_budget(1)
        .on_diagnostic(|_, _| ())
        .build()
        .unwrap();
    let handle = event_loop.handle();
    queue_all(&event_loop, &tracker);
    // Half way: what the loop took over from the overflow is among the rest.
    event_loop.turn(Duration::ZERO).unwrap();
    let ran = tracker.ran();
    drop(event_loop);
    assert_eq!((tracker.alive(), tracker.ran()), (0, ran));
    assert_eq!((handle.state(), handle.pending()), (LoopState::Terminated, 0));
}

// spec: SD-6
fn dropping_a_loop_that_never_ran_releases_everything(variant: Variant) {
    let tracker = Tracker::new();
    let hook = tracker.token();
    let event_loop = variant
        .builder()
        .on_idle(move |_| {
            let _hook = &hook;
        })
        .build()
        .unwrap();
    queue_all(&event_loop, &tracker);
    drop(event_loop);
    assert_eq!((tracker.alive(), tracker.ran()), (0, 0));
}

// spec: SD-6
fn dropping_the_loop_breaks_cycles_of_captured_contexts(variant: Variant) {
    for driven in [false, true] {
        let tracker = Tracker::new();
        let kept: Rc<RefCell<Option<Cx>>> = Rc::default();
        let (token, in_hook) = (tracker.token(), Rc::clone(&kept));
        let event_loop = variant
            .builder()
            .on_check(move |_| {
                let _captured = (&token, &in_hook);
            })
            .build()
            .unwrap();
        kept.replace(Some(event_loop.cx().clone()));
        for kind in Kind::ALL {
            let (cx, token) = (event_loop.cx().clone(), tracker.token());
            kind.queue(event_loop.cx(), move |_| drop((cx, token)));
        }
        if driven {
            // Leaves callbacks behind that hold the context, and one that requeues itself.
            fn again(cx: &Cx, token: Rc<common::Token>) {
                let kept = cx.clone();
                assert_eq!(Rc::strong_count(&token), 1);
                cx.set_immediate(move |_| again(&kept, token));
            }
            again(event_loop.cx(), Rc::new(tracker.token()));
            event_loop.turn(Duration::ZERO).unwrap();
        }
        drop(event_loop);
        assert_eq!(tracker.alive(), 0, "driven: {driven}");
        assert_eq!(kept.borrow().as_ref().unwrap().state(), LoopState::Terminated);
    }
}

// spec: SD-6
fn dropping_the_loop_survives_destructors_that_panic(variant: Variant) {
    for kind in Kind::ALL {
        for driven in [false, true] {
            let event_loop = variant.build();
            if driven {
                event_loop.turn(Duration::ZERO).unwrap();
            }
            let tracker = Tracker::new();
            for _ in 0..3 {
                let bomb = OnDrop(|| panic!("expected by the test"));
                kind.queue(event_loop.cx(), move |_| drop(bomb));
                kind.queue(event_loop.cx(), tracker.callback());
            }
            let handle = event_loop.handle();
            assert_eq!(panic_of(|| drop(event_loop)), None, "{kind:?}");
            assert_eq!((tracker.alive(), tracker.ran()), (0, 0), "{kind:?}");
            assert_eq!(handle.state(), LoopState::Terminated);
            assert!(mainspring::current().is_err());
        }
    }
}

// spec: SD-6, SH-4, ER-2
fn dropping_the_loop_survives_destructors_that_use_it(variant: Variant) {
    for kind in Kind::ALL {
        for driven in [false, true] {
            must_return(move || {
                let event_loop = variant.build();
                if driven {
                    event_loop.turn(Duration::ZERO).unwrap();
                }
                let tracker = Tracker::new();
                let dropped = Rc::new(Cell::new(0));
                for _ in 0..3 {
                    let (cx, handle) = (event_loop.cx().clone(), event_loop.handle());
                    let (counted, late) = (Rc::clone(&dropped), tracker.clone());
                    let guard = OnDrop(move || {
                        assert!(cx.submit(late.callback()).is_err());
                        assert!(cx.submit_internal(late.callback()).is_err());
                        assert!(handle.submit(late.callback()).is_err());
                        assert!(handle.submit_internal(late.callback()).is_err());
                        assert!(handle.queue_microtask(late.callback()).is_err());
                        cx.queue_microtask(late.callback());
                        cx.next_tick(late.callback());
                        let id = cx.set_immediate(late.callback());
                        assert!(!cx.clear_immediate(id));
                        cx.queue_close(late.callback());
                        cx.shutdown();
                        cx.close();
                        handle.wake();
                        assert!(matches!(handle.shutdown(Deadline::NEVER), Err(Error::Terminated)));
                        if let Ok(current) = mainspring::current() {
                            current.queue_microtask(late.callback());
                        }
                        assert!(handle.pending() < 10 && cx.state() == LoopState::Terminated);
                        counted.set(counted.get() + 1);
                    });
                    kind.queue(event_loop.cx(), move |_| drop(guard));
                }
                drop(event_loop);
                assert_eq!(dropped.get(), 3, "{kind:?}: no assertion failed in a destructor");
                assert_eq!((tracker.alive(), tracker.ran()), (0, 0), "{kind:?}");
                assert!(mainspring::current().is_err());
            });
        }
    }
}

// spec: F-26, SD-3
fn a_destructor_may_shut_down_the_loop_that_drops_it(variant: Variant) {
    for own in [true, false] {
        must_return(move || {
            let event_loop = variant.build();
            let log = SharedLog::new();
            let (handle, noted, inner) = (event_loop.handle(), log.clone(), event_loop.handle());
            let end = move || {
                let guard = OnDrop(move || {
                    noted.push(inner.shutdown(Deadline::NEVER).is_err());
                    inner.close();
                });
                handle.submit(move |_| drop(guard)).unwrap();
                if !own {
                    let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
                    assert_eq!(shutdown, Shutdown::Finished { dropped: 1 });
                }
            };
            thread::spawn(end).join().unwrap();
            if own {
                let shutdown = event_loop.handle().shutdown(Deadline::NEVER).unwrap();
                assert_eq!(shutdown, Shutdown::Finished { dropped: 1 });
            }
            assert_eq!(log.take(), [true], "own: {own}");
        });
    }
}

// spec: SD-3, SD-6
fn a_loop_that_its_own_queue_keeps_alive_can_be_ended_through_a_handle(variant: Variant) {
    for close in [false, true] {
        for kind in Kind::ALL {
            let event_loop = Rc::new(variant.build());
            let weak = Rc::downgrade(&event_loop);
            let (handle, tracker) = (event_loop.handle(), Tracker::new());
            let (owner, token) = (Rc::clone(&event_loop), tracker.token());
            kind.queue(event_loop.cx(), move |_| drop((owner, token)));
            // Others after it: the loop is dropped in the middle of its end.
            for other in Kind::ALL {
                other.queue(event_loop.cx(), tracker.callback());
            }
            drop(event_loop);
            assert!(weak.upgrade().is_some(), "only the queue holds it");
            if close {
                handle.close();
            } else {
                let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
                assert_eq!(shutdown, Shutdown::Finished { dropped: 7 }, "{kind:?}");
            }
            assert!(weak.upgrade().is_none(), "{kind:?}");
            assert_eq!((tracker.alive(), tracker.ran()), (0, 0), "{kind:?}");
            assert_eq!((handle.state(), handle.pending()), (LoopState::Terminated, 0));
        }
    }
}

// spec: SD-6
fn a_loop_in_a_thread_local_is_dropped_with_its_thread(variant: Variant) {
    thread_local!(static LOOP: RefCell<Option<EventLoop>> = const { RefCell::new(None) });
    for driven in [false, true] {
        let tracker = Tracker::new();
        let queued = tracker.clone();
        let handle = thread::spawn(move || {
            let event_loop = variant.build();
            if driven {
                event_loop.turn(Duration::ZERO).unwrap();
            }
            let guard = OnDrop(|| {
                let _ = mainspring::current();
            });
            event_loop.cx().submit(move |_| drop(guard)).unwrap();
            for kind in Kind::ALL {
                kind.queue(event_loop.cx(), queued.callback());
            }
            let handle = event_loop.handle();
            LOOP.set(Some(event_loop));
            handle
        })
        .join()
        .unwrap();
        assert_eq!((tracker.alive(), handle.state()), (0, LoopState::Terminated));
    }
}

// spec: ER-2, SH-2
fn handle_and_context_outlive_the_loop(variant: Variant) {
    let event_loop = variant.build();
    event_loop.turn(Duration::ZERO).unwrap();
    let (handle, cx) = (event_loop.handle(), event_loop.cx().clone());
    let guard = handle.keep_alive();
    let id = cx.set_immediate(|_| ());
    drop(event_loop);
    let (tracker, other) = (Tracker::new(), handle.clone());
    let sent = tracker.clone();
    let use_handle = move || {
        assert_eq!(other.submit(sent.callback()).unwrap_err().reason(), Refusal::Terminated);
        assert!(other.submit_internal(sent.callback()).is_err());
        assert!(other.queue_microtask(sent.callback()).is_err());
        assert!(matches!(other.shutdown(Deadline::NEVER), Err(Error::Terminated)));
        other.close();
        other.wake();
        assert_eq!((other.state(), other.pending()), (LoopState::Terminated, 0));
        assert!(other.now() <= Instant::now());
        drop(other.keep_alive());
        let _ = format!("{other:?}");
    };
    use_handle.clone()();
    thread::spawn(use_handle).join().unwrap();
    drop(guard);
    assert!(cx.submit(tracker.callback()).is_err());
    assert!(!cx.clear_immediate(id));
    let id = cx.set_immediate(tracker.callback());
    assert!(!cx.clear_immediate(id));
    cx.queue_close(tracker.callback());
    cx.next_tick(tracker.callback());
    cx.shutdown();
    cx.close();
    assert!(cx.handle().submit(tracker.callback()).is_err());
    let _ = format!("{cx:?}");
    assert_eq!((tracker.alive(), cx.state()), (0, LoopState::Terminated));
}

// spec: SD-2, SD-6
fn those_who_wait_for_a_shutdown_are_told_when_the_loop_is_dropped(variant: Variant) {
    must_return(move || {
        let event_loop = variant.build();
        event_loop.turn(Duration::ZERO).unwrap();
        let tracker = Tracker::new();
        event_loop.cx().submit(tracker.callback()).unwrap();
        let handle = event_loop.handle();
        let waiter = thread::spawn(move || handle.shutdown(Deadline::NEVER));
        wait_until(|| event_loop.state() == LoopState::Terminating);
        drop(event_loop);
        assert_eq!(waiter.join().unwrap().unwrap(), Shutdown::Finished { dropped: 1 });
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    });
}

// spec: SD-6
fn a_thousand_cycles_leave_no_descriptor_behind(variant: Variant) {
    // Descriptors are numbered from the lowest free one: a leak would run into the limit, or show
    // in the number of the next one, whatever the tests beside this one open and close.
    let next = || {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        #[cfg(unix)]
        {
            std::os::fd::AsRawFd::as_raw_fd(&file).cast_unsigned() as usize
        }
        #[cfg(windows)]
        {
            // Handles are multiples of four.
            std::os::windows::io::AsRawHandle::as_raw_handle(&file) as usize / 4
        }
    };
    for i in 0..1_000 {
        let event_loop = variant.build();
        if i % 2 == 0 {
            event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
            event_loop.run().unwrap();
        }
    }
    assert!(next() < 500);
}
