//! What a loop of the maximum-safety profile tells of itself.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::streams::{Stream, number, pair};
use common::{SharedLog, Variant, must_return, wait_until_sleeping};
use mainspring::{
    Audit, Builder, Cx, Error, EventLoop, FastPathMode, FaultKind, Handle, Interest, LoopState,
    PanicPolicy, Phase, Profile, Queue, Shutdown, ShutdownStage, Watch, audit,
};

suite! {
    each_transition_is_told_with_its_time_and_in_its_order,
    who_is_told_of_a_sleep_may_queue_something,
    who_is_told_of_a_sleep_may_use_up_the_signal,
    who_is_told_of_a_transition_may_end_the_loop,
    the_stages_of_a_shutdown_are_serial,
    a_loop_that_was_never_driven_has_nothing_to_drain,
    many_who_shut_down_at_once_begin_each_stage_once,
    after_a_panic_a_shutdown_begins_to_drain_anew,
    a_call_that_fails_is_told_with_operation_phase_and_cause,
    each_call_that_can_fail_is_told_once_if_it_does,
    a_panic_is_told_with_all_that_is_known,
    a_panic_of_a_hook_is_nobodys_business,
    a_hook_may_use_the_loop,
    a_task_that_runs_is_known_by_its_id_lane_time_and_state,
    tasks_are_counted_until_they_are_gone,
    no_lock_is_held_while_a_callback_runs,
    a_descriptors_callback_may_change_the_table,
}

fn safe(variant: Variant) -> Builder {
    variant.builder().profile(Profile::MaximumSafety)
}

/// What is known of a loop.
fn audit_of(handle: &Handle) -> Option<Audit> {
    audit().into_iter().find(|audit| audit.loop_id == handle.id())
}

// spec: SF-2, ST-1
fn each_transition_is_told_with_its_time_and_in_its_order(variant: Variant) {
    use LoopState::{Awake, Running, Sleeping, Terminated, Terminating};
    let log = SharedLog::new();
    let seen = log.clone();
    let (handle, thread) = variant.spawn(
        move |builder| {
            builder
                .profile(Profile::MaximumSafety)
                .max_spin(Duration::ZERO)
                .on_transition(move |change| seen.push(*change))
        },
        |event_loop| event_loop.run(),
    );
    wait_until_sleeping(&handle);
    handle.shutdown(Duration::from_secs(10)).unwrap();
    thread.join().unwrap().unwrap();
    let changes = log.take();
    let mut at = changes[0].at;
    let mut state = Awake;
    for change in &changes {
        assert_eq!(change.from, state, "none is left out");
        assert_eq!(change.loop_id, handle.id());
        assert!(change.at >= at && change.at <= Instant::now());
        (state, at) = (change.to, change.at);
    }
    let states: Vec<_> = changes.iter().map(|change| change.to).collect();
    assert_eq!(states[..2], [Running, Sleeping]);
    assert!(states.ends_with(&[Terminating, Terminated]), "{states:?}");
}

// spec: SF-2, SF-3, WK-1
fn who_is_told_of_a_sleep_may_queue_something(variant: Variant) {
    let (sender, receiver) = mpsc::channel();
    must_return(move || {
        let given: Arc<OnceLock<Handle>> = Arc::default();
        let own = Arc::clone(&given);
        let event_loop = safe(variant)
            .max_spin(Duration::ZERO)
            .on_transition(move |change| {
                if change.to == LoopState::Sleeping
                    && let Some(handle) = own.get()
                {
                    // On the loop's own thread, after it has looked for work.
                    handle.submit(|cx| cx.shutdown()).unwrap();
                }
            })
            .build()
            .unwrap();
        given.set(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
        sender.send(()).unwrap();
    });
    receiver.recv().unwrap();
}

// spec: SF-2, SF-3, WK-4
fn who_is_told_of_a_sleep_may_use_up_the_signal(variant: Variant) {
    let (asleep, is_asleep) = mpsc::channel();
    let (sent, is_sent) = mpsc::channel::<()>();
    let is_sent = Mutex::new(is_sent);
    let (handle, thread) = variant.spawn(
        move |builder| {
            let builder = builder.profile(Profile::MaximumSafety).max_spin(Duration::ZERO);
            builder.on_transition(move |change| {
                if change.to == LoopState::Sleeping && asleep.send(()).is_ok() {
                    // The loop is signalled before it blocks, and the token is taken by somebody else.
                    let _ = is_sent.lock().unwrap().recv();
                    thread::park_timeout(Duration::from_millis(1));
                }
            })
        },
        |event_loop| event_loop.run(),
    );
    is_asleep.recv().unwrap();
    drop(is_asleep);
    let ends = handle.clone();
    let shutdown = thread::spawn(move || ends.shutdown(Duration::from_secs(3600)));
    common::wait_until(|| handle.state() == LoopState::Terminating);
    drop(sent);
    must_return(move || thread.join().unwrap().unwrap());
    shutdown.join().unwrap().unwrap();
}

// spec: SF-2, F-26
fn who_is_told_of_a_transition_may_end_the_loop(variant: Variant) {
    must_return(move || {
        let given: Arc<OnceLock<Handle>> = Arc::default();
        let own = Arc::clone(&given);
        let event_loop = safe(variant)
            .on_transition(move |change| {
                if change.to == LoopState::Running
                    && let Some(handle) = own.get()
                {
                    handle.close();
                }
            })
            .build()
            .unwrap();
        given.set(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
        assert_eq!(event_loop.state(), LoopState::Terminated);
    });
}

/// A loop that notes its stages.
fn staged(builder: Builder) -> (EventLoop, SharedLog<(ShutdownStage, bool)>) {
    let log = SharedLog::new();
    let seen = log.clone();
    let builder = builder.profile(Profile::MaximumSafety);
    let event_loop =
        builder.on_shutdown_stage(move |event| seen.push((event.stage, event.is_over)));
    (event_loop.build().unwrap(), log)
}

/// Each stage begins and is over, one after the other.
fn serial(stages: &[ShutdownStage]) -> Vec<(ShutdownStage, bool)> {
    stages.iter().flat_map(|&stage| [(stage, false), (stage, true)]).collect()
}

// spec: SF-6, SD-1
fn the_stages_of_a_shutdown_are_serial(variant: Variant) {
    let (event_loop, log) = staged(variant.builder());
    let ran = Rc::new(Cell::new(0));
    let counted = Rc::clone(&ran);
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.cx().submit(move |_| counted.set(counted.get() + 1)).unwrap();
    event_loop.run().unwrap();
    assert_eq!(ran.get(), 1);
    assert_eq!(log.take(), serial(ShutdownStage::ALL));
    drop(event_loop);
    assert_eq!(log.take(), [], "there is one end");
}

// spec: SF-6, SD-3
fn a_loop_that_was_never_driven_has_nothing_to_drain(variant: Variant) {
    let (event_loop, log) = staged(variant.builder());
    event_loop.cx().submit(|_| unreachable!()).unwrap();
    let ended = event_loop.handle().shutdown(Duration::from_secs(1)).unwrap();
    assert_eq!(ended, Shutdown::Finished { dropped: 1 });
    use ShutdownStage::{ClosePoller, Complete, Release, StopAccepting, Terminate};
    let expected = [StopAccepting, Terminate, Release, ClosePoller, Complete];
    assert_eq!(log.take(), serial(&expected));
}

// spec: SF-6, SD-2, F-7
fn many_who_shut_down_at_once_begin_each_stage_once(variant: Variant) {
    for _ in 0..20 {
        let log = SharedLog::new();
        let seen = log.clone();
        let (handle, thread) = variant.spawn(
            move |builder| {
                let builder = builder.profile(Profile::MaximumSafety);
                builder.on_shutdown_stage(move |event| seen.push((event.stage, event.is_over)))
            },
            |event_loop| event_loop.run(),
        );
        wait_until_sleeping(&handle);
        let barrier = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    let _ = handle.shutdown(Duration::from_secs(10));
                });
            }
        });
        thread.join().unwrap().unwrap();
        // One of the others may still be telling.
        let mut stages = log.take();
        while stages.len() < 2 * ShutdownStage::ALL.len() {
            thread::yield_now();
            stages.extend(log.take());
        }
        assert_eq!(stages, serial(ShutdownStage::ALL));
    }
}

// spec: SF-6, FA-3
fn after_a_panic_a_shutdown_begins_to_drain_anew(variant: Variant) {
    let (event_loop, log) = staged(variant.builder().panic_policy(PanicPolicy::Propagate));
    let ran = Rc::new(Cell::new(false));
    let last = Rc::clone(&ran);
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.cx().submit(|_| panic!("in the drain")).unwrap();
    event_loop.cx().submit(move |_| last.set(true)).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| event_loop.run())).is_err());
    event_loop.run().unwrap();
    assert!(ran.get());
    let mut expected = serial(&[ShutdownStage::StopAccepting]);
    expected.push((ShutdownStage::Drain, false));
    expected.extend(serial(&ShutdownStage::ALL[1..]));
    assert_eq!(log.take(), expected);
}

type Faults = SharedLog<(FaultKind, &'static str, Option<Phase>, String)>;

/// A loop that notes its faults.
fn faulty(builder: Builder) -> (EventLoop, Faults) {
    let log = SharedLog::new();
    let seen = log.clone();
    let event_loop = builder
        .profile(Profile::MaximumSafety)
        .on_fault(move |fault| {
            let cause = fault.cause().to_owned();
            seen.push((fault.kind(), fault.operation(), fault.phase(), cause));
        })
        .build()
        .unwrap();
    (event_loop, log)
}

// spec: SF-7
fn a_call_that_fails_is_told_with_operation_phase_and_cause(variant: Variant) {
    let (event_loop, log) = faulty(variant.builder().high_water_mark(1));
    let cx = event_loop.cx();
    cx.submit(|cx| {
        assert!(cx.unregister_fd(12_345).is_err());
        assert!(cx.set_timeout(Duration::MAX, |_| ()).is_err());
    })
    .unwrap();
    assert!(cx.submit(|_| ()).is_err());
    event_loop.run_until_idle().unwrap();
    let handle = event_loop.handle();
    handle.close();
    let full = cx.submit(|_| ()).unwrap_err().to_string();
    thread::spawn(move || assert!(handle.submit(|_| ()).is_err())).join().unwrap();
    let told: Vec<_> = log.take().into_iter().collect();
    let seen: Vec<_> = told.iter().map(|(kind, what, phase, _)| (*kind, *what, *phase)).collect();
    let external = Some(Phase::External);
    assert_eq!(
        seen,
        [
            (FaultKind::Error, "submit", None),
            (FaultKind::Error, "unregister_fd", external),
            (FaultKind::Error, "set a timer", external),
            (FaultKind::Error, "submit", None),
            (FaultKind::Error, "submit", None),
        ]
    );
    assert_eq!(told[3].3, full, "the cause is what the caller is told");
    assert!(told.iter().all(|(.., cause)| !cause.is_empty()));
}

// spec: SF-7
fn each_call_that_can_fail_is_told_once_if_it_does(variant: Variant) {
    let (event_loop, log) = faulty(variant.builder());
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    let (source, other) = pair().unwrap();
    let other = Rc::new(other);
    let watch = || Watch::new().read(|_, _: &Stream| ());
    let timer = cx.set_timeout(Duration::ZERO, |_| ()).unwrap();
    let immediate = cx.set_immediate(|_| ());
    assert!(cx.clear_timeout(timer) && cx.clear_immediate(immediate));
    let watcher = cx.watch(source, watch()).unwrap();
    assert!(log.take().is_empty());

    let _ = handle.set_fast_path(FastPathMode::Forced).unwrap_err();
    assert!(watcher.unwatch());
    let _ = watcher.modify(Interest::READ).unwrap_err();
    let _ = watcher.reference(false).unwrap_err();
    let _ = cx.modify_fd(12_345, Interest::READ).unwrap_err();
    let _ = cx.reference_fd(12_345, false).unwrap_err();
    let _ = handle.reference_fd(12_345, false).unwrap_err();
    let _ = cx.reset_timeout(timer, Duration::ZERO).unwrap_err();
    let _ = cx.reference_timer(timer, false).unwrap_err();
    let _ = handle.reference_timer(timer, false).unwrap_err();
    let far = handle.clone();
    thread::spawn(move || far.reference_timer(timer, false).unwrap_err()).join().unwrap();
    let _ = cx.reference_immediate(immediate, false).unwrap_err();
    handle.set_fast_path(FastPathMode::Forced).unwrap();
    let _ = cx.watch_weak(&other, watch()).unwrap_err();
    let _ = cx.watch(Rc::into_inner(other).unwrap(), watch()).unwrap_err();
    let told: Vec<_> = log.take().into_iter().map(|(_, operation, ..)| operation).collect();
    assert_eq!(
        told,
        [
            "set_fast_path",
            "modify",
            "reference",
            "modify_fd",
            "reference_fd",
            "reference_fd",
            "reset_timeout",
            "reference_timer",
            "reference_timer",
            "reference_timer",
            "reference_immediate",
            "watch_weak",
            "watch",
        ]
    );
}

// spec: SF-7, FA-1
fn a_panic_is_told_with_all_that_is_known(variant: Variant) {
    let seen = SharedLog::new();
    let log = seen.clone();
    let uncaught = Rc::new(Cell::new(0));
    let counted = Rc::clone(&uncaught);
    let event_loop = safe(variant)
        .on_fault(move |fault| {
            assert_eq!((fault.kind(), fault.cause()), (FaultKind::Panic, "expected by the test"));
            let backtrace = fault.backtrace().expect("there is one").to_string();
            assert!(backtrace.contains("this_one_panics"), "{backtrace}");
            log.push((fault.phase(), fault.task(), fault.loop_id()));
        })
        .on_uncaught(move |cx, panic| {
            assert_eq!(panic.message(), Some("expected by the test"));
            assert_eq!(panic.loop_id(), cx.handle().id());
            assert!(panic.task().is_some() && panic.backtrace().is_some());
            counted.set(counted.get() + 1);
        })
        .build()
        .unwrap();
    #[inline(never)]
    fn this_one_panics() {
        panic!("expected by the test");
    }
    let cx = event_loop.cx();
    cx.submit(|_| ()).unwrap();
    cx.submit(|_| this_one_panics()).unwrap();
    cx.set_timeout(Duration::ZERO, |_| this_one_panics()).unwrap();
    cx.submit(|cx| cx.queue_microtask(|_| this_one_panics())).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(uncaught.get(), 3);
    let id = event_loop.handle().id();
    let mut told = seen.take();
    told.sort_by_key(|(_, task, _)| *task);
    assert_eq!(
        told,
        [
            (Some(Phase::External), Some(2), id),
            (Some(Phase::Timers), Some(3), id),
            (Some(Phase::Microtasks), Some(5), id),
        ]
    );
}

// spec: SF-2, SF-6, SF-7, FA-2
fn a_panic_of_a_hook_is_nobodys_business(variant: Variant) {
    let event_loop = safe(variant)
        .on_transition(|_| panic!("expected by the test"))
        .on_shutdown_stage(|_| panic!("expected by the test"))
        .on_fault(|_| panic!("expected by the test"))
        .on_uncaught(|_, _| ())
        .build()
        .unwrap();
    let ran = Rc::new(Cell::new(false));
    let last = Rc::clone(&ran);
    event_loop.cx().submit(|_| panic!("expected by the test")).unwrap();
    event_loop
        .cx()
        .submit(move |cx| {
            last.set(true);
            cx.shutdown();
        })
        .unwrap();
    event_loop.run().unwrap();
    assert!(ran.get());
}

// spec: SF-3, SF-7
fn a_hook_may_use_the_loop(variant: Variant) {
    must_return(move || {
        let given: Arc<OnceLock<Handle>> = Arc::default();
        let own = Arc::clone(&given);
        let event_loop = safe(variant)
            .on_fault(move |_| own.get().unwrap().submit_internal(|cx| cx.shutdown()).unwrap())
            .on_uncaught(|_, _| ())
            .build()
            .unwrap();
        given.set(event_loop.handle()).unwrap();
        event_loop.cx().submit(|_| panic!("expected by the test")).unwrap();
        event_loop.run().unwrap();
    });
}

// spec: SF-5
fn a_task_that_runs_is_known_by_its_id_lane_time_and_state(variant: Variant) {
    let event_loop = safe(variant).build().unwrap();
    let handle = event_loop.handle();
    let looked = Rc::new(Cell::new(false));
    let done = Rc::clone(&looked);
    let look = move |cx: &Cx| {
        cx.queue_microtask(|_| ());
        let found = thread::spawn(move || audit_of(&handle).unwrap()).join().unwrap();
        assert_eq!((found.state, found.phase), (LoopState::Running, Some(Phase::External)));
        let running = found.running.as_deref().unwrap();
        assert!(running.contains("executing, of queue `external`, made"), "{running}");
        assert!(!cfg!(feature = "metrics") || running.contains(file!()), "{running}");
        assert_eq!(found.queued, [(Queue::Microtasks, 1)], "{found}");
        assert_eq!((found.tasks, found.made), (2, 2));
        done.set(true);
    };
    event_loop.cx().submit(look).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(looked.get());
}

// spec: SF-5, SD-6
fn tasks_are_counted_until_they_are_gone(variant: Variant) {
    let event_loop = safe(variant).build().unwrap();
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    let counts = || audit_of(&handle).map(|audit| (audit.tasks, audit.made)).unwrap();
    cx.submit(|_| ()).unwrap();
    cx.submit_internal(|_| ()).unwrap();
    cx.queue_microtask(|_| ());
    let immediate = cx.set_immediate(|_| ());
    let timer = cx.set_timeout(Duration::from_secs(3600), |_| ()).unwrap();
    let interval = cx.set_interval(Duration::ZERO, |_| ()).unwrap();
    assert_eq!(counts(), (6, 6));
    assert!(cx.clear_immediate(immediate));
    assert_eq!(counts(), (5, 6));
    for _ in 0..3 {
        event_loop.turn(Duration::ZERO).unwrap();
    }
    assert_eq!(counts(), (2, 6), "an interval is one timer, however often it is run");
    assert!(cx.clear_timeout(timer));
    assert!(cx.clear_interval(interval));
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(counts(), (0, 6));
    let (promise, resolver) = mainspring::LocalPromise::<()>::with_resolvers(cx);
    assert_eq!(audit_of(&handle).unwrap().promises, 1);
    resolver.resolve(());
    event_loop.run_until_idle().unwrap();
    assert_eq!(audit_of(&handle).unwrap().promises, 0);
    drop((promise, resolver, event_loop));
    let id = handle.id();
    assert!(audit_of(&handle).is_some(), "the handle is left");
    drop(handle);
    // Another test may be looking at it.
    common::wait_until(|| audit().iter().all(|audit| audit.loop_id != id));
}

// spec: SF-3, IO-2
fn no_lock_is_held_while_a_callback_runs(variant: Variant) {
    let event_loop = safe(variant).build().unwrap();
    let handle = event_loop.handle();
    let ran = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&ran);
    event_loop
        .cx()
        .submit(move |cx| {
            // While this runs, others put in what they like.
            let others: Vec<_> = (0..4)
                .map(|_| {
                    let (handle, counted) = (handle.clone(), Arc::clone(&counted));
                    thread::spawn(move || {
                        for _ in 0..100 {
                            let counted = Arc::clone(&counted);
                            let count = move |_: &_| *counted.lock().unwrap() += 1;
                            handle.submit(count.clone()).unwrap();
                            handle.submit_internal(count.clone()).unwrap();
                            handle.queue_microtask(count).unwrap();
                        }
                    })
                })
                .collect();
            others.into_iter().for_each(|other| other.join().unwrap());
            cx.queue_microtask(|_| ());
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(*ran.lock().unwrap(), 4 * 100 * 3);
}

// spec: R13, M1-3.1
fn a_descriptors_callback_may_change_the_table(variant: Variant) {
    let event_loop = safe(variant).build().unwrap();
    let (one, first) = pair().unwrap();
    let (other, second) = pair().unwrap();
    let fds = [number(&one), number(&other)];
    let calls = Rc::new(Cell::new(0));
    for source in [one, other] {
        let calls = Rc::clone(&calls);
        let remove_both = move |cx: &Cx, _: &Stream, _| {
            calls.set(calls.get() + 1);
            for fd in fds {
                cx.unregister_fd(fd).unwrap();
            }
            let (again, _) = pair().unwrap();
            cx.register_fd(again, Interest::READ, |cx, _, _| cx.shutdown()).unwrap();
        };
        event_loop.cx().register_fd(source, Interest::READ, remove_both).unwrap();
    }
    drop((first, second));
    event_loop.run().unwrap();
    assert_eq!(calls.get(), 1, "the other one was removed by it");
}

// spec: ER-2
#[test]
fn what_needs_the_profile_says_so() {
    let builders = [
        ("on_transition", EventLoop::builder().on_transition(|_| ())),
        ("on_shutdown_stage", EventLoop::builder().on_shutdown_stage(|_| ())),
        ("on_fault", EventLoop::builder().on_fault(|_| ())),
    ];
    for (name, builder) in builders {
        match builder.build() {
            Err(Error::InvalidOption { option, .. }) => assert_eq!(option, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}
