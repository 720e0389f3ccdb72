//! The states of a loop, as seen from its own thread and from others.

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use common::{Hook, Kind, Log, SharedLog, Variant, must_return, wait_until, wait_until_sleeping};
use mainspring::{Cx, Deadline, Error, EventLoop, LoopState};

suite![
    a_loop_goes_through_its_states,
    queueing_does_not_change_the_state,
    the_state_in_callbacks_is_running_or_terminating,
    between_turns_a_loop_is_running,
    terminated_is_final,
    a_second_run_is_refused_after_the_end,
    driving_from_any_callback_is_reentrant,
    driving_from_any_hook_is_reentrant,
    driving_from_the_condition_is_reentrant,
    a_reentrant_drive_changes_nothing,
    driving_from_the_destructors_of_a_shutdown_does_not_hang,
    a_termination_is_never_overwritten,
    an_observer_never_sees_a_loop_come_back,
];

// spec: ST-1, D04, ST-2
fn a_loop_goes_through_its_states(variant: Variant) {
    let gate = Arc::new(Barrier::new(2));
    let begin = Arc::clone(&gate);
    let (handle, thread) = variant.spawn(
        |builder| builder,
        move |event_loop| {
            begin.wait();
            event_loop.run()
        },
    );
    assert_eq!(handle.state(), LoopState::Awake);
    gate.wait();
    wait_until_sleeping(&handle);
    let (entered, left) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, outside) = (Arc::clone(&entered), Arc::clone(&left));
    handle
        .submit(move |_| {
            inside.wait();
            outside.wait();
        })
        .unwrap();
    entered.wait();
    assert_eq!(handle.state(), LoopState::Running);
    left.wait();
    wait_until_sleeping(&handle);
    let (entered, left) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, outside) = (Arc::clone(&entered), Arc::clone(&left));
    handle
        .submit(move |cx| {
            cx.shutdown();
            inside.wait();
            outside.wait();
        })
        .unwrap();
    entered.wait();
    assert_eq!(handle.state(), LoopState::Terminating);
    left.wait();
    thread.join().unwrap().unwrap();
    assert_eq!(handle.state(), LoopState::Terminated);
}

// spec: ST-1
fn queueing_does_not_change_the_state(variant: Variant) {
    let event_loop = variant.build();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), |_| ());
    }
    let handle = event_loop.handle();
    thread::spawn(move || {
        handle.submit(|_| ()).unwrap();
        handle.wake();
    })
    .join()
    .unwrap();
    assert_eq!(event_loop.state(), LoopState::Awake);
}

// spec: ST-1
fn the_state_in_callbacks_is_running_or_terminating(variant: Variant) {
    for kind in [Kind::Internal, Kind::NextTick, Kind::Microtask, Kind::Close] {
        let log = Log::new();
        let event_loop = variant.build();
        let noted = log.clone();
        kind.queue(event_loop.cx(), move |cx| {
            noted.push(cx.state());
            cx.shutdown();
            noted.push(cx.state());
            kind.queue(cx, move |cx| noted.push(cx.state()));
        });
        event_loop.run().unwrap();
        assert_eq!(
            log.take(),
            [LoopState::Running, LoopState::Terminating, LoopState::Terminating],
            "{kind:?}"
        );
        assert_eq!(event_loop.state(), LoopState::Terminated);
    }
}

// spec: ST-1
fn between_turns_a_loop_is_running(variant: Variant) {
    let event_loop = variant.build();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(event_loop.state(), LoopState::Running);
    event_loop.turn(Duration::from_millis(1)).unwrap();
    assert_eq!(event_loop.state(), LoopState::Running, "also after a sleep");
    event_loop.run_until_idle().unwrap();
    assert_eq!(event_loop.state(), LoopState::Running);
}

// spec: ST-1
fn terminated_is_final(variant: Variant) {
    for close in [true, false] {
        let event_loop = variant.build();
        event_loop.cx().submit(move |cx| if close { cx.close() } else { cx.shutdown() }).unwrap();
        event_loop.run().unwrap();
        let handle = event_loop.handle();
        let disturb = move || {
            handle.wake();
            let _ = handle.submit(|_| ());
            let _ = handle.submit_internal(|_| ());
            let _ = handle.set_fast_path(mainspring::FastPathMode::Disabled);
            let _ = handle.shutdown(Duration::ZERO);
            let _ = handle.shutdown(Deadline::NEVER);
            handle.close();
            drop(handle.keep_alive());
            assert_eq!(handle.state(), LoopState::Terminated);
        };
        disturb.clone()();
        thread::spawn(disturb).join().unwrap();
        let _ = event_loop.turn(Duration::ZERO);
        let _ = event_loop.run_until_idle();
        assert_eq!(event_loop.state(), LoopState::Terminated);
    }
}

// spec: ST-1, ST-2
fn a_second_run_is_refused_after_the_end(variant: Variant) {
    let event_loop = variant.build();
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    assert!(matches!(event_loop.run(), Err(Error::Terminated)));
    assert!(matches!(event_loop.run_until_idle(), Err(Error::Terminated)));
    assert!(matches!(event_loop.run_until_aborted(|| false), Err(Error::Terminated)));
    assert!(matches!(event_loop.turn(None), Err(Error::Terminated)));
}

thread_local! {
    /// The loop that callbacks try to drive.
    static DRIVEN: RefCell<Option<Rc<EventLoop>>> = const { RefCell::new(None) };
}

/// Tries every way to drive the loop of this thread.
fn drive_all_ways() -> usize {
    let event_loop = DRIVEN.with(|driven| driven.borrow().clone()).unwrap();
    let results = [
        event_loop.run(),
        event_loop.run_until_idle(),
        event_loop.run_until_aborted(|| true),
        event_loop.turn(None).map(drop),
        event_loop.turn(Duration::ZERO).map(drop),
    ];
    results.into_iter().filter(|result| matches!(result, Err(Error::ReentrantRun))).count()
}

/// Makes the loop the one that is tried, for as long as `f` runs.
fn with_driven(event_loop: EventLoop, f: impl FnOnce(&EventLoop)) {
    let event_loop = Rc::new(event_loop);
    DRIVEN.set(Some(Rc::clone(&event_loop)));
    f(&event_loop);
    DRIVEN.set(None);
}

// spec: ST-6, D08
fn driving_from_any_callback_is_reentrant(variant: Variant) {
    must_return(move || {
        let log = Log::new();
        with_driven(variant.build(), |event_loop| {
            for kind in Kind::ALL {
                let noted = log.clone();
                kind.queue(event_loop.cx(), move |_| noted.push(drive_all_ways()));
            }
            event_loop.run_until_idle().unwrap();
            // And while the loop drains.
            let noted = log.clone();
            let task = move |cx: &Cx| {
                cx.shutdown();
                cx.submit_internal(move |_| noted.push(drive_all_ways())).unwrap();
            };
            event_loop.cx().submit(task).unwrap();
            event_loop.run().unwrap();
        });
        assert_eq!(log.take(), [5; 7]);
    });
}

// spec: ST-6, D08
fn driving_from_any_hook_is_reentrant(variant: Variant) {
    for hook in Hook::ALL {
        must_return(move || {
            let log = Log::new();
            let noted = log.clone();
            let event_loop = hook
                .set(variant.builder(), move |cx| {
                    noted.push(drive_all_ways());
                    cx.close();
                })
                .build()
                .unwrap();
            with_driven(event_loop, |event_loop| {
                hook.provoke(event_loop.cx());
                if hook == Hook::BeforeExit {
                    event_loop.run_until_idle().unwrap();
                } else {
                    event_loop.run().unwrap();
                }
            });
            assert_eq!(log.take()[0], 5, "{hook:?}");
        });
    }
}

// spec: ST-6
fn driving_from_the_condition_is_reentrant(variant: Variant) {
    must_return(move || {
        let log = Log::new();
        with_driven(variant.build(), |event_loop| {
            let noted = log.clone();
            let condition = move || {
                noted.push(drive_all_ways());
                true
            };
            event_loop.run_until_aborted(condition).unwrap();
            assert_eq!(event_loop.state(), LoopState::Terminated);
        });
        assert_eq!(log.take()[0], 5);
    });
}

// spec: ST-6
fn a_reentrant_drive_changes_nothing(variant: Variant) {
    let log = Log::new();
    with_driven(variant.build(), |event_loop| {
        let noted = log.clone();
        let task = move |cx: &Cx| {
            cx.queue_microtask(noted.note("microtask"));
            cx.submit_internal(noted.note("internal")).unwrap();
            assert_eq!(drive_all_ways(), 5);
            noted.push("task goes on");
            assert_eq!(cx.state(), LoopState::Running);
            assert!(mainspring::current().is_ok());
        };
        event_loop.cx().submit(task).unwrap();
        event_loop.cx().submit(log.note("next task")).unwrap();
        event_loop.run_until_idle().unwrap();
    });
    assert_eq!(log.take(), ["task goes on", "microtask", "next task", "internal"]);
}

// spec: ST-6, F-26
fn driving_from_the_destructors_of_a_shutdown_does_not_hang(variant: Variant) {
    for driven in [false, true] {
        must_return(move || {
            let log = SharedLog::new();
            with_driven(variant.build(), |event_loop| {
                if driven {
                    event_loop.turn(Duration::ZERO).unwrap();
                }
                let (handle, noted) = (event_loop.handle(), log.clone());
                thread::spawn(move || {
                    let guard = common::OnDrop(move || {
                        let event_loop = DRIVEN.with(|driven| driven.borrow().clone()).unwrap();
                        noted.push(event_loop.run().is_err());
                        noted.push(event_loop.turn(None).is_err());
                    });
                    handle.submit(move |_| drop(guard)).unwrap();
                })
                .join()
                .unwrap();
                event_loop.cx().close();
                let _ = event_loop.run();
            });
            assert_eq!(log.take(), [true, true], "driven: {driven}");
        });
    }
}

// spec: ST-3, ST-4, D01, F-4
fn a_termination_is_never_overwritten(variant: Variant) {
    for _ in 0..200 {
        let (handle, thread) = variant
            .spawn(|builder| builder.max_spin(Duration::ZERO), |event_loop| event_loop.run());
        wait_until(|| handle.state() != LoopState::Awake);
        let stop = Arc::new(AtomicBool::new(false));
        let waker = {
            let (handle, stop) = (handle.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                // Makes the loop go in and out of sleep.
                while !stop.load(Ordering::Relaxed) {
                    handle.wake();
                }
            })
        };
        handle.close();
        let mut ended = false;
        while handle.state() != LoopState::Terminated {
            let ending = handle.state().is_ending();
            assert!(ending || !ended);
            ended |= ending;
            assert!(ended, "the close has returned");
        }
        stop.store(true, Ordering::Relaxed);
        thread.join().unwrap().unwrap();
        waker.join().unwrap();
        assert_eq!(handle.state(), LoopState::Terminated);
    }
}

// spec: ST-1, ST-4
fn an_observer_never_sees_a_loop_come_back(variant: Variant) {
    fn rank(state: LoopState) -> u8 {
        match state {
            LoopState::Awake => 0,
            LoopState::Running | LoopState::Sleeping => 1,
            LoopState::Terminating => 2,
            _ => 3,
        }
    }
    for _ in 0..50 {
        let (handle, thread) = variant.spawn(|builder| builder, |event_loop| event_loop.run());
        let observer = {
            let handle = handle.clone();
            thread::spawn(move || {
                let mut last = 0;
                while last < 3 {
                    let now = rank(handle.state());
                    assert!(now >= last);
                    last = now;
                }
            })
        };
        wait_until(|| handle.state() != LoopState::Awake);
        for _ in 0..20 {
            handle.submit(|_| ()).unwrap();
        }
        handle.shutdown(Deadline::NEVER).unwrap();
        thread.join().unwrap().unwrap();
        observer.join().unwrap();
    }
}

// spec: ST-1
#[test]
fn the_numbers_of_the_states_are_stable() {
    assert_eq!(LoopState::Awake as u8, 0);
    assert_eq!(LoopState::Terminated as u8, 1);
    assert_eq!(LoopState::Sleeping as u8, 2);
    assert_eq!(LoopState::Running as u8, 4);
    assert_eq!(LoopState::Terminating as u8, 5);
    assert_eq!(size_of::<LoopState>(), 1);
}

// spec: ST-1
#[test]
fn a_state_knows_whether_it_is_an_end_and_has_a_name() {
    let names = [
        (LoopState::Awake, "awake", false),
        (LoopState::Running, "running", false),
        (LoopState::Sleeping, "sleeping", false),
        (LoopState::Terminating, "terminating", true),
        (LoopState::Terminated, "terminated", true),
    ];
    for (state, name, ending) in names {
        assert_eq!((state.to_string().as_str(), state.is_ending()), (name, ending));
    }
}
