//! What keeps a loop from becoming idle: all of it, with its place, and nothing else.
#![cfg(all(feature = "metrics", target_os = "linux", not(loom)))]

mod common;

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{Kind, Variant, must_return, wait_until, wait_until_sleeping};
use mainspring::{
    AbortSignal, AsyncFd, Cause, Cx, Error, Interest, PromiseState, Queue, Reason, TimerId,
    VirtualClock, Watch,
};

suite![
    nothing_keeps_an_empty_loop_alive,
    a_timer_is_listed_until_it_has_fired_or_was_cleared,
    an_interval_is_listed_between_its_runs_and_in_them,
    timers_come_in_the_order_in_which_they_are_due,
    timers_of_other_threads_are_listed_with_their_places,
    a_descriptor_is_listed_until_it_is_unregistered,
    a_descriptor_that_is_watched_anew_has_the_new_place,
    a_future_is_listed_until_it_is_done,
    a_future_of_another_thread_is_listed,
    what_a_future_waits_for_is_listed,
    a_job_is_listed_until_its_promise_is_settled,
    a_job_that_is_done_does_not_linger,
    a_guard_is_listed_until_it_is_dropped,
    queued_callbacks_are_listed_by_their_queue,
    immediates_that_are_not_referenced_are_not_listed,
    what_is_not_referenced_is_not_listed,
    references_come_and_go,
    the_list_agrees_with_being_alive,
    a_loop_asks_itself_while_it_runs,
    another_thread_asks_by_a_task,
    without_metrics_everything_is_listed_as_well,
    the_text_has_a_line_for_each_reason,
    the_text_of_many_reasons_is_short,
    a_loop_that_has_ended_is_not_kept_alive,
    the_loop_is_not_changed_by_the_question,
];

const HOUR: Duration = Duration::from_secs(3_600);

fn reasons(cx: &Cx) -> Vec<Reason> {
    let why = cx.why_alive();
    assert_eq!(why.reasons.is_empty(), !cx.is_alive(), "{why}");
    why.reasons
}

/// The only reason, which was made here.
#[track_caller]
fn the_one(cx: &Cx, line: u32) -> Reason {
    let mut found = reasons(cx);
    // A tick that was asked for is no matter here.
    found.retain(|reason| !matches!(reason.cause, Cause::Pending { .. }));
    assert_eq!(found.len(), 1, "{found:?}");
    let place = found[0].place.unwrap_or_else(|| panic!("no place: {found:?}"));
    assert_eq!((place.file(), place.line()), (file!(), line), "{found:?}");
    let text = cx.why_alive().to_string();
    assert!(text.contains(&format!("{}:{line}", file!())), "{text}");
    assert_eq!(text.lines().count(), reasons(cx).len(), "{text}");
    found[0]
}

/// Which timer it is, when it is due, and whether it is an interval.
#[track_caller]
fn timer(reason: Reason) -> (TimerId, Duration, bool) {
    match reason.cause {
        Cause::Timer { id, due_in, repeats, .. } => (id, due_in, repeats),
        other => panic!("a timer, and not {other:?}"),
    }
}

/// Which descriptor it is, and what it is watched for.
#[track_caller]
fn descriptor(reason: Reason) -> (RawFd, Interest) {
    match reason.cause {
        Cause::Descriptor { fd, interest, .. } => (fd, interest),
        other => panic!("a descriptor, and not {other:?}"),
    }
}

/// Which queue it is, and how many are in it.
fn queued(reason: Reason) -> Option<(Queue, usize)> {
    match reason.cause {
        Cause::Queued { queue, count, .. } => Some((queue, count)),
        _ => None,
    }
}

#[track_caller]
fn nothing(cx: &Cx) {
    assert!(reasons(cx).is_empty(), "{}", cx.why_alive());
}

// spec: MX-5
fn nothing_keeps_an_empty_loop_alive(variant: Variant) {
    for builder in [variant.builder(), variant.builder().metrics(true)] {
        let event_loop = builder.build().unwrap();
        nothing(event_loop.cx());
        let text = event_loop.cx().why_alive().to_string();
        assert!(!text.is_empty() && !text.contains('\n'), "{text}");
        event_loop.cx().submit(|_| ()).unwrap();
        event_loop.run_until_idle().unwrap();
        nothing(event_loop.cx());
    }
}

// spec: MX-5
fn a_timer_is_listed_until_it_has_fired_or_was_cleared(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = variant.builder().clock(&clock).metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let line = line!() + 1;
    let id = cx.set_timeout(HOUR, |_| ()).unwrap();
    assert_eq!(timer(the_one(cx, line)), (id, HOUR, false));
    clock.advance(HOUR / 4);
    assert_eq!(timer(the_one(cx, line)), (id, HOUR * 3 / 4, false));
    cx.reset_timeout(id, 2 * HOUR).unwrap();
    assert_eq!(timer(the_one(cx, line)), (id, 2 * HOUR, false));
    clock.advance(3 * HOUR);
    // It is due, and has not run.
    assert_eq!(timer(the_one(cx, line)), (id, Duration::ZERO, false));
    event_loop.turn(Duration::ZERO).unwrap();
    nothing(cx);
    let id = cx.set_timeout_at(clock.now() + HOUR, |_| ()).unwrap();
    the_one(cx, line!() - 1);
    assert!(cx.clear_timeout(id));
    nothing(cx);
}

// spec: MX-5
fn an_interval_is_listed_between_its_runs_and_in_them(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = variant.builder().clock(&clock).metrics(true).build().unwrap();
    let cx = event_loop.cx();
    for is_fixed in [false, true] {
        let mut runs = 0;
        let callback = move |cx: &Cx| {
            runs += 1;
            let id = cx.current_interval().unwrap();
            if runs == 3 {
                assert!(cx.clear_interval(id));
                assert!(cx.why_alive().reasons.is_empty(), "{}", cx.why_alive());
            }
        };
        let line = line!() + 2;
        let id = match is_fixed {
            false => cx.set_interval(HOUR, callback).unwrap(),
            true => cx.set_interval_fixed_rate(HOUR, callback).unwrap(),
        };
        let line = if is_fixed { line + 1 } else { line };
        for _ in 0..3 {
            assert_eq!(timer(the_one(cx, line)), (id, HOUR, true));
            clock.advance(HOUR);
            event_loop.turn(Duration::ZERO).unwrap();
        }
        nothing(cx);
    }
}

// spec: MX-5
fn timers_come_in_the_order_in_which_they_are_due(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let delays = [5, 3, 9, 1, 3, 200_000, 7];
    for delay in delays {
        event_loop.cx().set_timeout(Duration::from_secs(60 * delay), |_| ()).unwrap();
    }
    let due: Vec<_> = reasons(event_loop.cx())
        .iter()
        .map(|reason| match reason.cause {
            Cause::Timer { due_in, .. } => due_in,
            _ => panic!("{reason}"),
        })
        .collect();
    assert_eq!(due.len(), delays.len());
    assert!(due.is_sorted(), "{due:?}");
}

// spec: MX-5
fn timers_of_other_threads_are_listed_with_their_places(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    for drives in [false, true] {
        let handle = event_loop.handle();
        let (id, line) = must_return(move || (handle.set_timeout(HOUR, |_| ()).unwrap(), line!()));
        if drives {
            event_loop.turn(Duration::ZERO).unwrap();
        }
        let reason = the_one(cx, line);
        assert!(matches!(reason.cause, Cause::Timer { repeats: false, .. }), "{reason}");
        let handle = event_loop.handle();
        must_return(move || assert!(handle.clear_timeout(id)));
        event_loop.turn(Duration::ZERO).unwrap();
        nothing(cx);
        let handle = event_loop.handle();
        let (id, line) = must_return(move || (handle.set_interval(HOUR, |_| ()).unwrap(), line!()));
        if drives {
            event_loop.turn(Duration::ZERO).unwrap();
        }
        let reason = the_one(cx, line);
        assert!(matches!(reason.cause, Cause::Timer { repeats: true, .. }), "{reason}");
        assert!(cx.clear_interval(id));
        nothing(cx);
    }
}

// spec: MX-5
fn a_descriptor_is_listed_until_it_is_unregistered(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let fd = ours.as_raw_fd();
    let line = line!() + 1;
    cx.register_fd(ours, Interest::READ, |_, _, _| ()).unwrap();
    assert_eq!(descriptor(the_one(cx, line)), (fd, Interest::READ));
    cx.modify_fd(fd, Interest::BOTH).unwrap();
    assert_eq!(descriptor(the_one(cx, line)), (fd, Interest::BOTH));
    // One that nothing is asked of does not keep the loop alive.
    cx.modify_fd(fd, Interest::NONE).unwrap();
    nothing(cx);
    cx.modify_fd(fd, Interest::READ).unwrap();
    cx.reference_fd(fd, false).unwrap();
    nothing(cx);
    cx.reference_fd(fd, true).unwrap();
    the_one(cx, line);
    event_loop.turn(Duration::ZERO).unwrap();
    the_one(cx, line);
    cx.unregister_fd(fd).unwrap();
    nothing(cx);

    let (ours, _theirs) = UnixStream::pair().unwrap();
    let handle = event_loop.handle();
    let line = must_return(move || {
        handle.register_fd(ours, Interest::READ, |_, _, _| ()).unwrap();
        line!() - 1
    });
    let Cause::Descriptor { fd, .. } = the_one(cx, line).cause else { panic!("a descriptor") };
    let handle = event_loop.handle();
    must_return(move || handle.unregister_fd(fd).unwrap());
    event_loop.turn(Duration::ZERO).unwrap();
    nothing(cx);

    // A source that is gone takes its registration along.
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let ours = Rc::new(ours);
    let line = line!() + 1;
    let watcher = cx.watch_weak(&ours, Watch::new().read(|_, _| ())).unwrap();
    the_one(cx, line);
    watcher.unwatch();
    nothing(cx);
}

// spec: MX-5
fn a_descriptor_that_is_watched_anew_has_the_new_place(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let ours = Rc::new(ours);
    let watch = || {
        Watch::new().read(|cx: &Cx, mut source: &UnixStream| {
            _ = source.read(&mut [0; 8]).unwrap();
            cx.unwatch(source.as_raw_fd());
        })
    };
    let first = cx.watch_weak(&ours, watch()).unwrap();
    the_one(cx, line!() - 1);
    let second = cx.watch_weak(&ours, watch()).unwrap();
    the_one(cx, line!() - 1);
    assert!(!first.is_active() && second.is_active());
    theirs.write_all(b"x").unwrap();
    event_loop.run_until_idle().unwrap();
    nothing(cx);
}

// spec: MX-5
fn a_future_is_listed_until_it_is_done(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let line = line!() + 1;
    let joined = cx.spawn_local(std::future::pending::<()>());
    // It waits to be polled for the first time.
    assert!(reasons(cx).iter().any(|reason| reason.cause == Cause::Future));
    event_loop.turn(Duration::ZERO).unwrap();
    let reason = the_one(cx, line);
    assert_eq!(reason.cause, Cause::Future);
    assert!(reason.name.is_some_and(|name| name.contains("Pending")), "{reason:?}");
    joined.reference(false);
    nothing(cx);
    joined.reference(true);
    the_one(cx, line);
    joined.abort();
    event_loop.run_until_idle().unwrap();
    nothing(cx);
    // One that ends by itself, and one that panics.
    drop(cx.spawn_local(async {}));
    drop(cx.spawn_local(async { std::panic::resume_unwind(Box::new(())) }));
    event_loop.run_until_idle().unwrap();
    nothing(cx);
}

// spec: MX-5
fn a_future_of_another_thread_is_listed(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let handle = event_loop.handle();
    let line = must_return(move || {
        drop(handle.spawn(|_| std::future::pending::<()>()));
        line!() - 1
    });
    event_loop.turn(Duration::ZERO).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(the_one(event_loop.cx(), line).cause, Cause::Future);
}

// spec: MX-5
fn what_a_future_waits_for_is_listed(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let inner = cx.clone();
    let sleeping = cx.spawn_local(async move { inner.sleep(HOUR).await });
    event_loop.turn(Duration::ZERO).unwrap();
    let found = reasons(cx);
    assert!(found.iter().any(|reason| reason.cause == Cause::Future), "{found:?}");
    sleeping.abort();
    event_loop.run_until_idle().unwrap();
    nothing(cx);
    // The descriptor is gone with the future that has it.
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let inner = cx.clone();
    let reading = cx.spawn_local(async move {
        let fd = AsyncFd::new(&inner, ours).unwrap();
        fd.readable().await.map(drop)
    });
    event_loop.turn(Duration::ZERO).unwrap();
    assert!(reasons(cx).iter().any(|reason| reason.cause == Cause::Future));
    reading.abort();
    event_loop.run_until_idle().unwrap();
    nothing(cx);
}

// spec: MX-5
fn a_job_is_listed_until_its_promise_is_settled(variant: Variant) {
    let event_loop = variant.builder().max_workers(1).metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let (go, wait) = mpsc::channel::<()>();
    let work = move |_: &AbortSignal| wait.recv().map_err(|_| Error::NotRunning);
    let line = line!() + 1;
    let promise = cx.promisify(&AbortSignal::never(), work);
    assert_eq!(the_one(cx, line).cause, Cause::Job);
    // One that waits for the worker.
    let handle = event_loop.handle();
    let other = must_return(move || {
        drop(handle.promisify(&AbortSignal::never(), |_| Ok::<_, Error>(())));
        line!() - 1
    });
    let lines: Vec<_> = reasons(cx).iter().map(|reason| reason.place.unwrap().line()).collect();
    assert_eq!(lines, [line, other]);
    assert!(reasons(cx).iter().all(|reason| reason.cause == Cause::Job));
    go.send(()).unwrap();
    event_loop.run_until_idle().unwrap();
    nothing(cx);
    assert_eq!(promise.state(), PromiseState::Fulfilled);
}

// A loop that is idle has no reason to be alive, at once: the worker may not have seen that it is done.
// spec: MX-5
fn a_job_that_is_done_does_not_linger(variant: Variant) {
    for builder in [variant.builder(), variant.builder().metrics(true)] {
        let event_loop = builder.build().unwrap();
        for _ in 0..500 {
            drop(event_loop.cx().promisify(&AbortSignal::never(), |_| Ok::<_, Error>(())));
            event_loop.run_until_idle().unwrap();
            nothing(event_loop.cx());
        }
    }
}

// spec: MX-5
fn a_guard_is_listed_until_it_is_dropped(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let guard = event_loop.handle().keep_alive();
    assert_eq!(the_one(cx, line!() - 1).cause, Cause::KeepAlive);
    let handle = event_loop.handle();
    let (other, line) = must_return(move || (handle.keep_alive(), line!()));
    assert_eq!(reasons(cx).len(), 2);
    drop(guard);
    the_one(cx, line);
    thread::spawn(move || drop(other)).join().unwrap();
    // The loop was woken by it.
    event_loop.turn(Duration::ZERO).unwrap();
    nothing(cx);
}

// spec: MX-5
fn queued_callbacks_are_listed_by_their_queue(variant: Variant) {
    for is_measured in [false, true] {
        let event_loop = variant.builder().metrics(is_measured).build().unwrap();
        let cx = event_loop.cx();
        let expected = [
            (Kind::External, Queue::External),
            (Kind::Internal, Queue::Internal),
            (Kind::Microtask, Queue::Microtasks),
            (Kind::NextTick, Queue::NextTicks),
            (Kind::Immediate, Queue::Immediates),
            (Kind::Close, Queue::Closes),
        ];
        for (index, (kind, _)) in expected.iter().enumerate() {
            (0..=index).for_each(|_| kind.queue(cx, |_| ()));
        }
        let found: Vec<_> = reasons(cx).into_iter().map(queued).collect();
        let wanted: Vec<_> = expected
            .iter()
            .enumerate()
            .map(|(index, (_, queue))| Some((*queue, index + 1)))
            .collect();
        assert_eq!(found, wanted);
        // And those of another thread.
        let handle = event_loop.handle();
        must_return(move || {
            handle.submit(|_| ()).unwrap();
            handle.submit_internal(|_| ()).unwrap();
            handle.queue_microtask(|_| ()).unwrap();
        });
        let found: Vec<_> = reasons(cx).into_iter().map(queued).collect();
        for expected in [(Queue::External, 2), (Queue::Internal, 3), (Queue::Microtasks, 4)] {
            assert!(found.contains(&Some(expected)), "{found:?}");
        }
        event_loop.run_until_idle().unwrap();
        nothing(cx);
    }
}

// spec: MX-5
fn immediates_that_are_not_referenced_are_not_listed(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let first = cx.set_immediate(|_| ());
    cx.reference_immediate(first, false).unwrap();
    nothing(cx);
    let second = cx.set_immediate(|_| ());
    let found = reasons(cx);
    let expected = Some((Queue::Immediates, 1));
    assert!(found.len() == 1 && queued(found[0]) == expected, "{found:?}");
    cx.clear_immediate(second);
    nothing(cx);
}

// spec: MX-5
fn what_is_not_referenced_is_not_listed(variant: Variant) {
    for is_measured in [false, true] {
        let event_loop = variant.builder().metrics(is_measured).build().unwrap();
        let cx = event_loop.cx();
        let timer = cx.set_timeout(HOUR, |_| ()).unwrap();
        let interval = cx.set_interval(HOUR, |_| ()).unwrap();
        cx.reference_timer(timer, false).unwrap();
        cx.reference_timer(interval, false).unwrap();
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let watcher = cx.watch(ours, Watch::new().read(|_, _| ()).unreferenced()).unwrap();
        let future = cx.spawn_local(std::future::pending::<()>());
        future.reference(false);
        event_loop.turn(Duration::ZERO).unwrap();
        nothing(cx);
        event_loop.run_until_idle().unwrap();
        nothing(cx);
        assert!(watcher.is_active());
    }
}

// spec: MX-5
fn references_come_and_go(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let line = line!() + 1;
    let id = cx.set_interval(Duration::from_micros(1), |_| ()).unwrap();
    for _ in 0..20 {
        cx.reference_timer(id, false).unwrap();
        cx.reference_timer(id, false).unwrap();
        event_loop.turn(Duration::from_millis(1)).unwrap();
        nothing(cx);
        event_loop.handle().reference_timer(id, true).unwrap();
        event_loop.turn(Duration::from_millis(1)).unwrap();
        the_one(cx, line);
    }
    cx.clear_interval(id);
    nothing(cx);
}

// spec: MX-5
fn the_list_agrees_with_being_alive(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    for round in 0..50 {
        for kind in Kind::ALL {
            kind.queue(cx, |cx| _ = cx.set_timeout(Duration::from_micros(50), |_| ()).unwrap());
        }
        let inner = cx.clone();
        drop(cx.spawn_local(async move {
            inner.yield_now().await;
            inner.sleep(Duration::from_micros(100)).await;
        }));
        drop(cx.promisify(&AbortSignal::never(), |_| Ok::<_, Error>(())));
        // Whatever the moment is, both say the same.
        while cx.is_alive() {
            assert!(!cx.why_alive().reasons.is_empty(), "{round}");
            event_loop.turn(Duration::from_millis(1)).unwrap();
        }
        nothing(cx);
    }
}

// spec: MX-5
fn a_loop_asks_itself_while_it_runs(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    for kind in Kind::ALL {
        kind.queue(cx, |cx| {
            // The one that asks is not among them any more.
            assert!(cx.why_alive().reasons.len() < 6, "{}", cx.why_alive());
        });
    }
    event_loop.run_until_idle().unwrap();
    cx.set_timeout(Duration::ZERO, |cx| nothing(cx)).unwrap();
    event_loop.run_until_idle().unwrap();
    let inner = cx.clone();
    let line = line!() + 1;
    let joined = cx.spawn_local(async move {
        let found = inner.why_alive().reasons;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].cause, found[0].place.unwrap().line()), (Cause::Future, line));
    });
    event_loop.run_until_idle().unwrap();
    assert!(joined.is_finished());
    event_loop.block_on(joined).unwrap().unwrap();
    nothing(cx);
}

// spec: MX-5
fn another_thread_asks_by_a_task(variant: Variant) {
    let (handle, thread) =
        variant.spawn(|builder| builder.metrics(true), |event_loop| event_loop.run());
    handle.set_timeout(HOUR, |_| ()).unwrap();
    let line = line!() - 1;
    wait_until_sleeping(&handle);
    let (send, receive) = mpsc::channel();
    handle.submit_internal(move |cx| send.send(cx.why_alive()).unwrap()).unwrap();
    let why = receive.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(why.reasons.len(), 1, "{why}");
    assert_eq!(why.reasons[0].place.unwrap().line(), line);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: MX-5, MX-1
fn without_metrics_everything_is_listed_as_well(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let id = cx.set_timeout(HOUR, |_| ()).unwrap();
    let interval = cx.set_interval(HOUR, |_| ()).unwrap();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let fd = ours.as_raw_fd();
    cx.register_fd(ours, Interest::BOTH.edge_triggered(), |_, _, _| ()).unwrap();
    drop(cx.spawn_local(std::future::pending::<()>()));
    let guard = event_loop.handle().keep_alive();
    let (go, wait) = mpsc::channel::<()>();
    drop(cx.promisify(&AbortSignal::never(), move |_| wait.recv().map_err(|_| Error::NotRunning)));
    event_loop.turn(Duration::ZERO).unwrap();
    let found = reasons(cx);
    let is = |f: fn(&Cause) -> bool| found.iter().filter(|reason| f(&reason.cause)).count();
    assert_eq!(is(|cause| matches!(cause, Cause::Timer { .. })), 2, "{found:?}");
    assert_eq!(is(|cause| matches!(cause, Cause::Descriptor { .. })), 1, "{found:?}");
    assert_eq!(is(|cause| matches!(cause, Cause::Future)), 1, "{found:?}");
    assert_eq!(is(|cause| matches!(cause, Cause::KeepAlive)), 1, "{found:?}");
    assert_eq!(is(|cause| matches!(cause, Cause::Job)), 1, "{found:?}");
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(cx.why_alive().to_string().lines().count(), 6);
    go.send(()).unwrap();
    drop(guard);
    cx.clear_timeout(id);
    cx.clear_interval(interval);
    cx.unregister_fd(fd).unwrap();
    wait_until(|| {
        event_loop.turn(Duration::ZERO).unwrap();
        reasons(cx).len() == 1
    });
    assert_eq!(reasons(cx)[0].cause, Cause::Future);
}

// spec: MX-5
fn the_text_has_a_line_for_each_reason(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = variant.builder().clock(&clock).metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let line = line!() + 1;
    cx.set_timeout(HOUR, |_| ()).unwrap();
    cx.set_interval(HOUR / 2, |_| ()).unwrap();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let fd = ours.as_raw_fd();
    cx.register_fd(ours, Interest::READ, |_, _, _| ()).unwrap();
    let _guard = event_loop.handle().keep_alive();
    cx.submit(|_| ()).unwrap();
    cx.submit(|_| ()).unwrap();
    let text = cx.why_alive().to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let has = |needles: &[&str]| {
        let is_it = |line: &&&str| needles.iter().all(|needle| line.contains(needle));
        assert_eq!(lines.iter().filter(is_it).count(), 1, "{needles:?} in {text}");
    };
    let place = |line: u32| format!("{}:{line}:", file!());
    has(&["timer", "3600", &place(line)]);
    has(&["interval", "1800", &place(line + 1)]);
    has(&["descriptor", &fd.to_string(), "reading", &place(line + 4)]);
    has(&["guard", &place(line + 5)]);
    has(&["2", "external"]);
    // Each by itself says the same.
    for reason in reasons(cx) {
        assert!(lines.contains(&&*reason.to_string()), "{reason}");
    }
}

// spec: MX-5
fn the_text_of_many_reasons_is_short(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    for _ in 0..10_000 {
        event_loop.cx().set_timeout(HOUR, |_| ()).unwrap();
    }
    let guards: Vec<_> = (0..17).map(|_| event_loop.handle().keep_alive()).collect();
    let why = event_loop.cx().why_alive();
    assert_eq!(why.reasons.len(), 10_017);
    let text = why.to_string();
    assert!(text.lines().count() < 100, "{text}");
    assert!(text.contains(&(10_000 - 16).to_string()), "{text}");
    drop(guards);
}

// spec: MX-5
fn a_loop_that_has_ended_is_not_kept_alive(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx().clone();
    cx.set_timeout(HOUR, |_| ()).unwrap();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    cx.register_fd(ours, Interest::READ, |_, _, _| ()).unwrap();
    drop(cx.spawn_local(std::future::pending::<()>()));
    for kind in Kind::ALL {
        kind.queue(&cx, |_| ());
    }
    event_loop.turn(Duration::ZERO).unwrap();
    event_loop.cx().close();
    event_loop.run().unwrap();
    assert!(cx.why_alive().reasons.is_empty(), "{}", cx.why_alive());
    drop(event_loop);
    assert!(cx.why_alive().reasons.is_empty(), "{}", cx.why_alive());
}

// spec: MX-5
fn the_loop_is_not_changed_by_the_question(variant: Variant) {
    let event_loop = variant.builder().metrics(true).build().unwrap();
    let cx = event_loop.cx();
    let handle = event_loop.handle();
    must_return(move || {
        handle.submit(|_| ()).unwrap();
        handle.set_timeout(Duration::ZERO, |_| ()).unwrap();
        handle.queue_microtask(|_| ()).unwrap();
    });
    cx.set_timeout(Duration::ZERO, |_| ()).unwrap();
    let before = cx.why_alive().to_string().lines().count();
    for _ in 0..100 {
        assert_eq!(cx.why_alive().to_string().lines().count(), before);
    }
    event_loop.run_until_idle().unwrap();
    let metrics = cx.metrics().unwrap();
    assert_eq!(metrics.callbacks, 4);
    nothing(cx);
}
