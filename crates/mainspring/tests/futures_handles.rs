//! What is kept of a future that was spawned: a handle to abort it, one that does so when it is dropped, and the
//! promise of one that can fail.

mod common;
#[path = "common/counting.rs"]
mod counting;
#[path = "common/futures.rs"]
mod futures;

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, pending};
use std::rc::Rc;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::timers::{elsewhere, tick};
use common::{Log, OnDrop, Tracker, Variant, wait_until_sleeping};
use counting::{bytes, count, counted};
use futures::{Gate, SharedGate, build, result, show};
use mainspring::{
    AbortHandle, AbortOnDrop, Deadline, Error, EventLoop, Panicked, Promise, Rejection,
};

suite! {
    an_abort_by_another_thread_is_carried_out_on_the_loop,
    an_abort_by_another_thread_ends_a_sleep,
    an_abort_by_the_loops_thread_is_carried_out_at_once,
    an_abort_by_another_thread_before_the_first_turn,
    an_abort_handle_is_cloned,
    many_threads_abort_many_futures,
    an_abort_after_the_end_of_the_future_changes_nothing,
    an_abort_after_the_end_of_the_loop_changes_nothing,
    an_abort_that_is_on_its_way_at_the_end_of_the_loop,
    an_abort_by_the_future_itself,
    an_abort_by_another_thread_while_it_is_polled,
    an_abort_by_its_own_destructor,
    an_abort_handle_works_without_the_join_handle,
    an_abort_handle_does_not_keep_the_loop_alive,
    an_abort_handle_that_is_dropped_last_by_another_thread_frees_the_memory,
    a_future_is_aborted_when_its_handle_is_dropped,
    one_that_is_aborted_when_it_is_dropped_gives_its_output,
    one_that_is_done_is_not_touched_by_the_drop,
    parts_end_with_the_whole,
    parts_end_with_a_whole_that_panics,
    parts_end_with_the_loop,
    a_part_that_drops_its_own_handle,
    a_future_that_fails_rejects_its_promise,
    a_future_that_does_not_fail_resolves_its_promise,
    a_function_or_future_that_panics_rejects_with_that,
    a_future_that_meets_the_end_of_the_loop_rejects_with_that,
}

fn is_shared_between_threads<T: Send + Sync>() {}

/// A future that waits for ever, is counted, and must be dropped by this thread.
fn waits(tracker: &Tracker) -> impl Future<Output = i32> + 'static + use<> {
    let (token, home) = (tracker.token(), thread::current().id());
    let guard = OnDrop(move || assert_eq!(thread::current().id(), home));
    async move {
        let _captures = (token, guard);
        pending().await
    }
}

// spec: BX-1
fn an_abort_by_another_thread_is_carried_out_on_the_loop(variant: Variant) {
    is_shared_between_threads::<AbortHandle>();
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let mut handle = event_loop.cx().spawn_local(waits(&tracker));
    tick(&event_loop);
    let abort = handle.abort_handle();
    elsewhere(|| abort.abort());
    assert_eq!((handle.is_finished(), tracker.alive()), (false, 1), "not by that thread");
    tick(&event_loop);
    assert_eq!(tracker.alive(), 0);
    assert_eq!(result(&mut handle), "aborted");
}

// spec: BX-1, WK-1
fn an_abort_by_another_thread_ends_a_sleep(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let joined = event_loop.cx().spawn_local(waits(&tracker));
    let (abort, outside) = (joined.abort_handle(), event_loop.handle());
    let other = thread::spawn(move || {
        wait_until_sleeping(&outside);
        abort.abort();
    });
    assert_eq!(show(&event_loop.block_on(joined).unwrap()), "aborted");
    other.join().unwrap();
    // One that nobody waits for.
    let handle = event_loop.cx().spawn_local(waits(&tracker));
    let (abort, outside) = (handle.abort_handle(), event_loop.handle());
    let other = thread::spawn(move || {
        wait_until_sleeping(&outside);
        abort.abort();
    });
    event_loop.run_until_idle().unwrap();
    other.join().unwrap();
    assert_eq!(tracker.alive(), 0);
}

// spec: BX-1
fn an_abort_by_the_loops_thread_is_carried_out_at_once(variant: Variant) {
    for is_polled in [false, true] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let mut handle = event_loop.cx().spawn_local(waits(&tracker));
        if is_polled {
            tick(&event_loop);
        }
        handle.abort_handle().abort();
        assert_eq!(tracker.alive(), 0);
        assert_eq!(result(&mut handle), "aborted");
        // By a callback, and by another future.
        for by_future in [false, true] {
            let mut handle = event_loop.cx().spawn_local(waits(&tracker));
            tick(&event_loop);
            let (abort, seen) = (handle.abort_handle(), tracker.clone());
            let act = move || {
                abort.abort();
                assert_eq!(seen.alive(), 0);
            };
            if by_future {
                drop(event_loop.cx().spawn_local(async move { act() }));
            } else {
                event_loop.cx().submit(move |_| act()).unwrap();
            }
            tick(&event_loop);
            assert_eq!(result(&mut handle), "aborted");
        }
    }
}

// spec: BX-1
fn an_abort_by_another_thread_before_the_first_turn(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let note = log.clone();
    let mut handle = event_loop.cx().spawn_local(async move { note.push("polled") });
    let abort = handle.abort_handle();
    elsewhere(|| abort.abort());
    tick(&event_loop);
    // The internal lane comes before the futures.
    assert_eq!(log.len(), 0);
    assert_eq!(result(&mut handle), "aborted");
}

// spec: BX-1
fn an_abort_handle_is_cloned(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let mut handle = event_loop.cx().spawn_local(waits(&tracker));
    let first = handle.abort_handle();
    let second = first.clone();
    assert!(format!("{first:?}").starts_with("AbortHandle"));
    drop(first);
    elsewhere(|| drop(second.clone()));
    tick(&event_loop);
    assert!(!handle.is_finished(), "dropping them does nothing");
    let third = elsewhere(|| second.clone());
    drop(second);
    third.abort();
    third.clone().abort();
    assert_eq!(tracker.alive(), 0);
    assert_eq!(result(&mut handle), "aborted");
}

// spec: BX-1, WK-1
fn many_threads_abort_many_futures(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 50 };
    let event_loop = build(variant);
    for _ in 0..ROUNDS {
        let tracker = Tracker::new();
        let gate = SharedGate::new();
        let mut handles: Vec<_> = (0..8)
            .map(|n| {
                let (token, pass) = (tracker.token(), gate.pass());
                event_loop.cx().spawn_local(async move {
                    let _token = token;
                    pass.await;
                    n
                })
            })
            .collect();
        let aborts: Vec<_> = handles.iter().map(|handle| handle.abort_handle()).collect();
        thread::scope(|scope| {
            for _ in 0..2 {
                let aborts = aborts.clone();
                scope.spawn(move || aborts.iter().for_each(AbortHandle::abort));
            }
            scope.spawn(|| gate.open());
            event_loop.run_until_idle().unwrap();
        });
        assert_eq!(tracker.alive(), 0);
        for (n, handle) in handles.iter_mut().enumerate() {
            let said = result(handle);
            assert!(said == "aborted" || said == format!("ok {n}"), "{said}");
        }
    }
}

// spec: BX-1
fn an_abort_after_the_end_of_the_future_changes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let mut done = event_loop.cx().spawn_local(async { 5 });
    let mut panicked = event_loop.cx().spawn_local(async { panic!("expected") });
    let _: &mainspring::JoinHandle<()> = &panicked;
    let aborts = [done.abort_handle(), panicked.abort_handle()];
    tick(&event_loop);
    for abort in &aborts {
        abort.abort();
        elsewhere(|| abort.abort());
    }
    tick(&event_loop);
    assert_eq!(result(&mut done), "ok 5");
    assert_eq!(result(&mut panicked), "panicked expected");
    aborts.iter().for_each(AbortHandle::abort);
    // One that was sent before the end, and arrives after it.
    let gate = Gate::new();
    let mut passes = event_loop.cx().spawn_local(gate.pass());
    tick(&event_loop);
    let abort = passes.abort_handle();
    let sends = event_loop.cx().spawn_local(async move { elsewhere(|| abort.abort()) });
    gate.open();
    tick(&event_loop);
    tick(&event_loop);
    assert!(sends.is_finished());
    assert_eq!(result(&mut passes), "ok ()");
}

// spec: BX-1, SD-6
fn an_abort_after_the_end_of_the_loop_changes_nothing(variant: Variant) {
    for is_dropped in [false, true] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let mut handle = event_loop.cx().spawn_local(waits(&tracker));
        let abort = handle.abort_handle();
        tick(&event_loop);
        event_loop.cx().shutdown();
        event_loop.run().unwrap();
        let event_loop = if is_dropped { None } else { Some(event_loop) };
        abort.abort();
        elsewhere(|| abort.abort());
        let after = handle.abort_handle();
        assert_eq!(tracker.alive(), 0);
        assert_eq!(result(&mut handle), "terminated");
        drop((handle, event_loop));
        after.abort();
        elsewhere(move || drop((abort, after)));
    }
}

// spec: BX-1, SD-6
fn an_abort_that_is_on_its_way_at_the_end_of_the_loop(variant: Variant) {
    for end in ["drop", "close", "shutdown"] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let mut handle = event_loop.cx().spawn_local(waits(&tracker));
        tick(&event_loop);
        let abort = handle.abort_handle();
        elsewhere(|| abort.abort());
        match end {
            "close" => event_loop.cx().close(),
            "shutdown" => event_loop.cx().shutdown(),
            _ => {}
        }
        if end != "drop" {
            event_loop.run().unwrap();
        }
        drop(event_loop);
        assert_eq!(tracker.alive(), 0);
        // A shutdown runs what was accepted.
        let expected = if end == "shutdown" { "aborted" } else { "terminated" };
        assert_eq!(result(&mut handle), expected, "{end}");
    }
}

/// A place for the abort handle of a future that is made before it.
type Slot = Rc<RefCell<Option<AbortHandle>>>;

// spec: BX-1
fn an_abort_by_the_future_itself(variant: Variant) {
    for ends in [false, true] {
        let event_loop = build(variant);
        let (log, slot) = (Log::new(), Slot::default());
        let (note, own, cx) = (log.clone(), Rc::clone(&slot), event_loop.cx().clone());
        let mut handle = event_loop.cx().spawn_local(async move {
            let end = note.clone();
            let _end = OnDrop(move || end.push("dropped"));
            let abort = own.take().unwrap();
            abort.abort();
            abort.abort();
            note.push("goes on");
            if !ends {
                cx.yield_now().await;
                note.push("too far");
            }
            5
        });
        slot.replace(Some(handle.abort_handle()));
        tick(&event_loop);
        assert_eq!(log.take(), ["goes on", "dropped"]);
        assert_eq!(result(&mut handle), if ends { "ok 5" } else { "aborted" });
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.len(), 0);
    }
}

// spec: BX-1
fn an_abort_by_another_thread_while_it_is_polled(variant: Variant) {
    let event_loop = build(variant);
    let (tracker, slot, gate) = (Tracker::new(), Slot::default(), Gate::new());
    let (token, own, pass) = (tracker.token(), Rc::clone(&slot), gate.pass());
    let mut handle = event_loop.cx().spawn_local(async move {
        let _token = token;
        let abort = own.take().unwrap();
        elsewhere(|| abort.abort());
        pass.await;
    });
    slot.replace(Some(handle.abort_handle()));
    tick(&event_loop);
    assert_eq!((gate.polls(), tracker.alive()), (1, 1), "it is a task of its own");
    tick(&event_loop);
    assert_eq!((gate.polls(), tracker.alive()), (1, 0));
    assert_eq!(result(&mut handle), "aborted");
}

// spec: BX-1
fn an_abort_by_its_own_destructor(variant: Variant) {
    for end in ["done", "aborted", "terminated"] {
        let event_loop = build(variant);
        let (slot, gate) = (Slot::default(), Gate::new());
        let (own, pass) = (Rc::clone(&slot), gate.pass());
        let guard = OnDrop(move || {
            let abort = own.take().unwrap();
            abort.abort();
            elsewhere(move || abort.abort());
        });
        let mut handle = event_loop.cx().spawn_local(async move {
            let _guard = guard;
            pass.await;
        });
        slot.replace(Some(handle.abort_handle()));
        tick(&event_loop);
        match end {
            "done" => gate.open(),
            "aborted" => handle.abort(),
            _ => {}
        }
        if end != "terminated" {
            event_loop.run_until_idle().unwrap();
        }
        drop(event_loop);
        assert!(slot.borrow().is_none());
        assert_eq!(result(&mut handle), if end == "done" { "ok ()" } else { end });
    }
}

// spec: BX-1
fn an_abort_handle_works_without_the_join_handle(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    for by_another in [false, true] {
        let handle = event_loop.cx().spawn_local(waits(&tracker));
        let abort = handle.abort_handle();
        drop(handle);
        tick(&event_loop);
        assert_eq!(tracker.alive(), 1);
        if by_another {
            elsewhere(|| abort.abort());
        } else {
            abort.abort();
        }
        event_loop.run_until_idle().unwrap();
        assert_eq!(tracker.alive(), 0);
    }
    // The promise of it tells.
    let handle = event_loop.cx().spawn_local(waits(&tracker));
    let abort = handle.abort_handle();
    let log = Log::new();
    let note = log.clone();
    handle.into_promise().catch(move |_, reason| {
        note.push(reason.is::<mainspring::AbortError>());
        0
    });
    elsewhere(|| abort.abort());
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [true]);
}

// spec: BX-1, F-24, R9
fn an_abort_handle_does_not_keep_the_loop_alive(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let done = event_loop.cx().spawn_local(async {}).abort_handle();
    let unreferenced = event_loop.cx().spawn_local(waits(&tracker));
    unreferenced.reference(false);
    let waiting = unreferenced.abort_handle();
    event_loop.run_until_idle().unwrap();
    drop(unreferenced);
    event_loop.run_until_idle().unwrap();
    drop(event_loop);
    assert_eq!(tracker.alive(), 0, "the loop drops it, whoever has a handle");
    elsewhere(move || drop((done, waiting)));
}

// spec: BX-1
fn an_abort_handle_that_is_dropped_last_by_another_thread_frees_the_memory(variant: Variant) {
    const BALLAST: usize = 10_000;
    let (given, barrier) = (Mutex::new(None::<AbortHandle>), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            let abort = given.lock().unwrap().take();
            count(true);
            drop(abort);
            count(false);
            barrier.wait();
        });
        counted(|| {
            let before = bytes();
            let event_loop = build(variant);
            let ballast = [5_u8; BALLAST];
            let handle = event_loop.cx().spawn_local(async move {
                pending::<()>().await;
                ballast
            });
            tick(&event_loop);
            let abort = handle.abort_handle();
            drop((handle, event_loop));
            let kept = bytes() - before;
            assert!(kept > BALLAST as isize, "it has the memory: {kept}");
            given.lock().unwrap().replace(abort);
            barrier.wait();
            barrier.wait();
            let kept = bytes() - before;
            assert!(kept < 4_000, "{kept} bytes are left");
        });
    });
}

// spec: BX-1
fn a_future_is_aborted_when_its_handle_is_dropped(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    for is_polled in [false, true] {
        let handle = event_loop.cx().spawn_local(waits(&tracker)).abort_on_drop();
        if is_polled {
            tick(&event_loop);
        }
        assert_eq!(tracker.alive(), 1);
        drop(handle);
        assert_eq!(tracker.alive(), 0, "at once");
        event_loop.run_until_idle().unwrap();
    }
    // Also one that somebody waits for, and gives up.
    let handle = event_loop.cx().spawn_local(waits(&tracker)).abort_on_drop();
    let waiting = event_loop.cx().spawn_local(handle);
    tick(&event_loop);
    assert_eq!(tracker.alive(), 1);
    waiting.abort();
    assert_eq!(tracker.alive(), 0);
}

// spec: BX-1
fn one_that_is_aborted_when_it_is_dropped_gives_its_output(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let ready = cx.spawn_local(async { 5 }).abort_on_drop();
    assert_eq!(show(&event_loop.block_on(ready).unwrap()), "ok 5");
    let gate = SharedGate::new();
    let waits = cx.spawn_local(gate.pass()).abort_on_drop();
    let outside = event_loop.handle();
    let other = thread::spawn(move || {
        wait_until_sleeping(&outside);
        gate.open();
    });
    assert_eq!(show(&event_loop.block_on(waits).unwrap()), "ok ()");
    other.join().unwrap();
    let panics: AbortOnDrop<()> = cx.spawn_local(async { panic!("expected") }).abort_on_drop();
    assert_eq!(show(&event_loop.block_on(panics).unwrap()), "panicked expected");
    let handle = cx.spawn_local(pending::<()>());
    let abort = handle.abort_handle();
    let aborted = handle.abort_on_drop();
    abort.abort();
    assert_eq!(show(&event_loop.block_on(aborted).unwrap()), "aborted");
}

// spec: BX-1
fn one_that_is_done_is_not_touched_by_the_drop(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let handle = event_loop.cx().spawn_local(async move { token }).abort_on_drop();
    tick(&event_loop);
    assert_eq!(tracker.alive(), 1);
    drop(handle);
    assert_eq!(tracker.alive(), 0, "with its output");
    tick(&event_loop);
}

/// A future that has parts which have parts, so deep, each of which notes its end.
fn nested(event_loop: &EventLoop, log: &Log<usize>, depth: usize) -> AbortOnDrop<()> {
    let (note, part) = (log.clone(), (depth > 0).then(|| nested(event_loop, log, depth - 1)));
    let guard = OnDrop(move || note.push(depth));
    let whole = async move {
        let _guard = guard;
        match part {
            Some(part) => part.await.unwrap(),
            None => pending().await,
        }
    };
    event_loop.cx().spawn_local(whole).abort_on_drop()
}

// spec: BX-1
fn parts_end_with_the_whole(variant: Variant) {
    for is_polled in [false, true] {
        let event_loop = build(variant);
        let log = Log::new();
        let whole = nested(&event_loop, &log, 5);
        if is_polled {
            tick(&event_loop);
        }
        assert_eq!(log.len(), 0);
        drop(whole);
        let mut ended = log.take();
        ended.sort_unstable();
        assert_eq!(ended, [0, 1, 2, 3, 4, 5], "all of them, once, and at once");
        event_loop.run_until_idle().unwrap();
    }
}

// spec: BX-1, FA-1
fn parts_end_with_a_whole_that_panics(variant: Variant) {
    let event_loop = build(variant);
    let (log, gate) = (Log::new(), Gate::new());
    let (part, pass) = (nested(&event_loop, &log, 2), gate.pass());
    let mut whole = event_loop.cx().spawn_local(async move {
        let _part = part;
        pass.await;
        panic!("expected");
    });
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    gate.open();
    tick(&event_loop);
    assert_eq!(log.len(), 3);
    let _: &mainspring::JoinHandle<()> = &whole;
    assert_eq!(result(&mut whole), "panicked expected");
}

// spec: BX-1, SD-6
fn parts_end_with_the_loop(variant: Variant) {
    for is_polled in [false, true] {
        let event_loop = build(variant);
        let log = Log::new();
        let inside = nested(&event_loop, &log, 3);
        drop(event_loop.cx().spawn_local(async move { inside.await.unwrap() }));
        let outside = nested(&event_loop, &log, 3);
        if is_polled {
            tick(&event_loop);
        }
        drop(event_loop);
        assert_eq!(log.take().len(), 8);
        drop(outside);
        assert_eq!(log.len(), 0);
    }
}

// spec: BX-1
fn a_part_that_drops_its_own_handle(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let slot = Rc::new(RefCell::new(None::<AbortOnDrop<()>>));
    let (note, own) = (log.clone(), Rc::clone(&slot));
    let part = event_loop.cx().spawn_local(async move {
        let end = note.clone();
        let _end = OnDrop(move || end.push("dropped"));
        drop(own.take());
        note.push("goes on");
        pending::<()>().await;
    });
    slot.replace(Some(part.abort_on_drop()));
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["goes on", "dropped"]);
}

#[derive(Debug, PartialEq)]
struct Oops(i32);

impl fmt::Display for Oops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oops {}", self.0)
    }
}

impl std::error::Error for Oops {}

/// What a promise has come to, which must be known by now.
#[track_caller]
fn settled<T: Clone + Send + 'static>(promise: &Promise<T>) -> Result<T, Rejection> {
    promise.to_channel().try_recv().expect("it is settled")
}

fn is_terminated(reason: &Rejection) -> bool {
    matches!(reason.downcast_ref(), Some(Error::Terminated))
}

// spec: BX-1, PR-5
fn a_future_that_fails_rejects_its_promise(variant: Variant) {
    let event_loop = build(variant);
    let handle = event_loop.handle();
    let fails = |error: i32| {
        handle.try_spawn(move |cx| {
            let cx = cx.clone();
            async move {
                cx.yield_now().await;
                Err::<i32, _>(Oops(error))
            }
        })
    };
    let reason = event_loop.block_on(fails(5)).unwrap().unwrap_err();
    assert_eq!(reason.downcast_ref(), Some(&Oops(5)));
    // A handler, on the loop.
    let log = Log::new();
    let note = log.clone();
    fails(6)
        .to_local(event_loop.cx())
        .then(|_, _| panic!("it failed"))
        .catch(move |_, reason| note.push(reason.to_string()));
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["oops 6"]);
    // From another thread, which waits.
    let (outside, sent) = (event_loop.handle(), fails(7));
    let other = thread::spawn(move || {
        let error = sent.wait(Duration::from_secs(50)).unwrap_err();
        outside.shutdown(Deadline::NEVER).unwrap();
        format!("{error:?}")
    });
    event_loop.run().unwrap();
    let error = other.join().unwrap();
    assert!(error.contains("Oops(7)"), "{error}");
}

// spec: BX-1, PR-5
fn a_future_that_does_not_fail_resolves_its_promise(variant: Variant) {
    let event_loop = build(variant);
    let fine = event_loop.handle().try_spawn(|_| async { Ok::<_, Oops>(5) });
    assert_eq!(event_loop.block_on(fine).unwrap().unwrap(), 5);
    // An error that is not that of the future is a value like another.
    let value = event_loop.handle().spawn(|_| async { Err::<i32, _>("oops") });
    assert_eq!(event_loop.block_on(value).unwrap().unwrap(), Err("oops"));
}

// spec: BX-1, PR-5, FA-1
fn a_function_or_future_that_panics_rejects_with_that(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let (one, two) = (tracker.token(), tracker.token());
    let function =
        event_loop.handle().try_spawn(move |_| -> std::future::Ready<Result<i32, Oops>> {
            let _token = one;
            panic!("the function")
        });
    let future = event_loop.handle().try_spawn(move |_| async move {
        let _token = two;
        if tracker_is_there() {
            panic!("the future")
        }
        Ok::<i32, Oops>(5)
    });
    for (promise, expected) in [(function, "the function"), (future, "the future")] {
        let reason = event_loop.block_on(promise).unwrap().unwrap_err();
        let panicked: &Panicked = reason.downcast_ref().unwrap();
        assert_eq!(panicked.message(), Some(expected));
    }
    assert_eq!(tracker.alive(), 0);
}

/// So that the compiler does not know the future's end.
fn tracker_is_there() -> bool {
    std::hint::black_box(true)
}

// spec: BX-1, PR-5, SD-4
fn a_future_that_meets_the_end_of_the_loop_rejects_with_that(variant: Variant) {
    for when in ["waiting", "not begun", "after", "terminated"] {
        let event_loop = build(variant);
        let handle = event_loop.handle();
        let tracker = Tracker::new();
        let spawn = || {
            let (one, two) = (tracker.token(), tracker.token());
            handle.try_spawn(move |_| {
                let _one = one;
                async move {
                    let _two = two;
                    pending::<Result<i32, Oops>>().await
                }
            })
        };
        let promise = match when {
            "not begun" => {
                let promise = elsewhere(spawn);
                drop(event_loop);
                promise
            }
            "after" => {
                drop(event_loop);
                elsewhere(spawn)
            }
            "terminated" => {
                event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
                event_loop.run().unwrap();
                spawn()
            }
            _ => {
                let promise = spawn();
                tick(&event_loop);
                assert_eq!(tracker.alive(), 1);
                drop(event_loop);
                promise
            }
        };
        let reason = settled(&promise).unwrap_err();
        assert!(is_terminated(&reason), "{when}: {reason}");
        assert_eq!(tracker.alive(), 0, "{when}");
    }
}
