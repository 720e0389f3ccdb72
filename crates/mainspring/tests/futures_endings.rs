//! How futures end other than by being done: aborts, panics, and the end of the loop.

mod common;
#[path = "common/futures.rs"]
mod futures;

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::future::{Future, pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use common::timers::{automatic, elsewhere, manual, tick};
use common::wakers::CountingWaker;
use common::{
    Log, OnDrop, SharedLog, Token, Tracker, Variant, panic_of, turn_until_quiet, wait_until,
    wait_until_sleeping,
};
use futures::{Gate, Parts, SharedGate, build, peek, result, show, spin, waker};
use mainspring::{
    Cx, Deadline, Error, EventLoop, JoinHandle, LocalPromise, LoopState, PanicPolicy, Panicked,
    Promise, PromiseState, Shutdown,
};

suite! {
    an_abort_before_the_first_poll,
    an_abort_while_it_waits,
    an_abort_while_it_is_woken,
    an_abort_of_one_that_is_done_changes_nothing,
    an_abort_again_changes_nothing,
    an_abort_wakes_the_one_who_waits_for_it,
    an_abort_from_inside_itself,
    an_abort_from_inside_itself_in_its_last_poll,
    an_abort_from_its_own_destructor,
    an_abort_by_another_future_of_the_same_phase,
    an_abort_in_a_chain_of_destructors,
    an_abort_lets_go_of_the_captures,
    an_abort_of_a_loop_that_was_never_driven,
    a_panic_goes_to_the_handle,
    a_panic_goes_to_the_handle_under_propagate,
    a_panic_without_a_handle_is_reported,
    a_panic_without_a_handle_leaves_the_turn_under_propagate,
    a_panic_with_a_payload_that_is_not_text,
    a_panic_after_a_wake_of_itself_is_the_end,
    a_panic_drops_the_future_once,
    a_panic_in_the_destructor_of_a_future_that_is_done,
    a_panic_in_the_destructor_of_an_aborted_future,
    a_panic_in_the_destructor_after_a_panic_in_the_poll,
    a_panic_in_the_destructor_of_an_output,
    a_panic_in_a_destructor_at_the_end_of_the_loop,
    a_panicking_waker_of_the_one_who_waits_does_not_take_the_loop_down,
    a_panicking_waker_at_the_end_of_the_loop_does_not_keep_the_others,
    an_end_of_a_loop_with_very_many_futures,
    a_shutdown_polls_what_is_woken_and_drops_what_waits,
    a_shutdown_polls_for_as_long_as_somebody_is_woken,
    a_shutdown_does_not_wait_for_those_who_wait,
    a_shutdown_with_a_deadline_ends_a_future_that_never_waits,
    a_close_ends_a_future_that_never_waits,
    a_close_polls_nobody,
    a_drop_of_the_loop_polls_nobody,
    woken_futures_count_as_dropped_callbacks_and_waiting_ones_do_not,
    futures_are_dropped_on_their_thread_and_in_their_loop,
    futures_of_a_loop_that_is_dropped_by_a_callback_of_another,
    destructors_may_use_the_loop_at_its_end,
    destructors_that_spawn_at_the_end,
    destructors_that_open_gates_at_the_end,
    a_handle_outlives_the_loop,
    a_handle_of_a_loop_that_has_ended_is_used_in_another,
    a_future_spawned_on_a_loop_that_has_ended,
    a_future_spawned_while_the_loop_terminates,
    a_future_sent_to_a_loop_that_has_ended,
    a_future_sent_to_a_loop_that_ends_meanwhile,
    a_promise_of_an_aborted_future_is_rejected,
    a_promise_of_a_panicked_future_is_rejected,
    a_promise_of_a_future_that_was_dropped_with_the_loop_is_rejected,
    a_promise_of_a_function_that_panics_is_rejected,
    a_promise_that_nobody_handles_is_reported_once,
    a_loop_with_a_waiting_future_is_not_idle,
    a_loop_with_an_unreferenced_future_is_idle,
    references_are_counted_right,
    a_reference_given_up_while_the_loop_sleeps_inside,
    a_detached_future_keeps_its_reference,
    a_future_sent_by_another_thread_keeps_the_loop_alive,
    block_on_in_a_callback_is_refused,
    block_on_in_a_future_is_refused,
    other_ways_to_drive_the_loop_are_refused_in_a_future,
    block_on_when_the_loop_is_shut_down_by_another_thread,
    block_on_when_the_loop_is_closed_by_a_callback,
    block_on_when_the_future_itself_shuts_the_loop_down,
    block_on_when_the_shutdown_wakes_the_future,
    block_on_of_a_loop_that_has_ended,
    block_on_with_a_future_that_panics,
    block_on_with_a_future_that_panics_in_its_destructor,
    block_on_when_a_callback_panics_under_propagate,
    block_on_when_another_future_panics,
    the_waker_of_a_block_on_that_has_ended_badly,
}

// spec: BX-1
fn an_abort_before_the_first_poll(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let mut handle = event_loop.cx().spawn_local(async move {
        let _token = token;
        unreachable!("aborted before");
    });
    handle.abort();
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.alive(), 0);
    let result: String = result::<()>(&mut handle);
    assert_eq!(result, "aborted");
}

// spec: BX-1
fn an_abort_while_it_waits(variant: Variant) {
    let event_loop = build(variant);
    let (tracker, gate) = (Tracker::new(), Gate::new());
    let (token, pass) = (tracker.token(), gate.pass());
    let mut handle = event_loop.cx().spawn_local(async move {
        let _token = token;
        pass.await;
    });
    turn_until_quiet(&event_loop);
    handle.abort();
    // Nothing else happens: the abort alone must not be slept through.
    event_loop.run_until_idle().unwrap();
    assert_eq!((tracker.alive(), gate.polls()), (0, 1));
    assert_eq!(result(&mut handle), "aborted");
}

// spec: BX-1
fn an_abort_while_it_is_woken(variant: Variant) {
    let event_loop = build(variant);
    let (tracker, gate) = (Tracker::new(), Gate::new());
    for by_another in [false, true] {
        let (token, pass) = (tracker.token(), gate.pass());
        let mut handle = event_loop.cx().spawn_local(async move {
            let _token = token;
            pass.await;
        });
        turn_until_quiet(&event_loop);
        let polls = gate.polls();
        let waker = gate.wakers().pop().unwrap();
        if by_another {
            elsewhere(|| waker.wake())
        } else {
            waker.wake()
        }
        handle.abort();
        event_loop.run_until_idle().unwrap();
        assert_eq!((tracker.alive(), gate.polls()), (0, polls));
        assert_eq!(result(&mut handle), "aborted");
    }
}

// spec: BX-1
fn an_abort_of_one_that_is_done_changes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let mut handle = event_loop.cx().spawn_local(async { 5 });
    event_loop.run_until_idle().unwrap();
    handle.abort();
    event_loop.run_until_idle().unwrap();
    assert!(handle.is_finished());
    assert_eq!(result(&mut handle), "ok 5");
}

// spec: BX-1
fn an_abort_again_changes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let mut handle = event_loop.cx().spawn_local(async move {
        let _token = token;
        pending::<()>().await;
    });
    turn_until_quiet(&event_loop);
    for _ in 0..3 {
        handle.abort();
    }
    event_loop.run_until_idle().unwrap();
    handle.abort();
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.alive(), 0);
    assert_eq!(result(&mut handle), "aborted");
    handle.abort();
    drop(handle);
    event_loop.run_until_idle().unwrap();
}

// spec: BX-1
fn an_abort_wakes_the_one_who_waits_for_it(variant: Variant) {
    let event_loop = build(variant);
    let mut handle = event_loop.cx().spawn_local(pending::<()>());
    let (count, waker) = CountingWaker::new();
    let mut cx = Context::from_waker(&waker);
    assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_pending());
    turn_until_quiet(&event_loop);
    assert_eq!(count.count(), 0);
    handle.abort();
    turn_until_quiet(&event_loop);
    assert_eq!(count.count(), 1);
    assert_eq!(result(&mut handle), "aborted");
    // As a future does.
    let handle = Rc::new(RefCell::new(event_loop.cx().spawn_local(pending::<()>())));
    let copy = Rc::clone(&handle);
    let waiting = event_loop
        .cx()
        .spawn_local(poll_fn(move |cx| std::pin::Pin::new(&mut *copy.borrow_mut()).poll(cx)));
    turn_until_quiet(&event_loop);
    handle.borrow().abort();
    let result = event_loop.block_on(waiting).unwrap().unwrap();
    assert_eq!(show(&result), "aborted");
}

/// A place for a handle that its own future uses.
type Own<T> = Rc<RefCell<Option<JoinHandle<T>>>>;

// spec: BX-1
fn an_abort_from_inside_itself(variant: Variant) {
    let event_loop = build(variant);
    for is_woken in [false, true] {
        let tracker = Tracker::new();
        let (own, polls) = (Own::<()>::default(), Rc::new(Cell::new(0)));
        let (copy, count, token, alive) =
            (Rc::clone(&own), Rc::clone(&polls), tracker.token(), tracker.clone());
        let handle = event_loop.cx().spawn_local(poll_fn(move |cx| {
            count.set(count.get() + 1);
            copy.borrow().as_ref().unwrap().abort();
            let _token = &token;
            assert_eq!(alive.alive(), 1, "not while it runs");
            if is_woken {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        }));
        own.replace(Some(handle));
        event_loop.run_until_idle().unwrap();
        assert_eq!((polls.get(), tracker.alive()), (1, 0));
        assert_eq!(result(own.borrow_mut().as_mut().unwrap()), "aborted");
    }
}

// spec: BX-1
fn an_abort_from_inside_itself_in_its_last_poll(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let own = Own::<Token>::default();
    let (copy, token, output) = (Rc::clone(&own), tracker.token(), tracker.token());
    let handle = event_loop.cx().spawn_local(async move {
        let _token = token;
        copy.borrow().as_ref().unwrap().abort();
        output
    });
    own.replace(Some(handle));
    event_loop.run_until_idle().unwrap();
    let mut handle = own.take().unwrap();
    assert!(handle.is_finished());
    // It was done before it could be stopped, or it was stopped: either is true. Nothing stays.
    match peek(&mut handle) {
        Poll::Ready(Ok(output)) => drop(output),
        Poll::Ready(Err(error)) => assert_eq!(futures::why(&error), "aborted"),
        Poll::Pending => panic!("known"),
    }
    drop(handle);
    assert_eq!(tracker.alive(), 0);
}

// spec: BX-1
fn an_abort_from_its_own_destructor(variant: Variant) {
    for end in ["done", "aborted", "loop"] {
        let event_loop = build(variant);
        let (own, drops) = (Own::<()>::default(), Rc::new(Cell::new(0)));
        let (copy, count) = (Rc::clone(&own), Rc::clone(&drops));
        let gate = Gate::new();
        let mut pass = gate.pass();
        let handle = event_loop.cx().spawn_local(Parts {
            poll: move |cx: &mut Context<'_>| std::pin::Pin::new(&mut pass).poll(cx),
            drop: move || {
                count.set(count.get() + 1);
                let own = copy.borrow();
                let own = own.as_ref().unwrap();
                own.abort();
                // Whatever it says, it says it.
                let _ = own.is_finished();
                own.reference(true);
                own.reference(false);
            },
        });
        own.replace(Some(handle));
        turn_until_quiet(&event_loop);
        match end {
            "done" => gate.open(),
            "aborted" => own.borrow().as_ref().unwrap().abort(),
            _ => {}
        }
        if end == "loop" {
            drop(event_loop);
        } else {
            event_loop.run_until_idle().unwrap();
        }
        assert_eq!(drops.get(), 1, "{end}");
        let expected = match end {
            "done" => "ok ()",
            "aborted" => "aborted",
            _ => "terminated",
        };
        let said = result(&mut own.take().unwrap());
        assert_eq!(said, expected);
    }
}

// spec: BX-1
fn an_abort_by_another_future_of_the_same_phase(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let handles: Rc<RefCell<Vec<JoinHandle<()>>>> = Rc::default();
    for n in 0..4 {
        let (log, copy) = (log.clone(), Rc::clone(&handles));
        let handle = event_loop.cx().spawn_local(async move {
            log.push(n);
            if n == 1 {
                for handle in copy.borrow().iter() {
                    handle.abort();
                }
            }
        });
        handles.borrow_mut().push(handle);
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [0, 1]);
    let mut handles = handles.take();
    assert_eq!(result(&mut handles[0]), "ok ()");
    assert_eq!(result(&mut handles[2]), "aborted");
    assert_eq!(result(&mut handles[3]), "aborted");
}

// spec: BX-1
fn an_abort_in_a_chain_of_destructors(variant: Variant) {
    const LINKS: usize = 500;
    for end in ["abort", "loop"] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let mut last: Option<JoinHandle<()>> = None;
        for _ in 0..LINKS {
            let (token, next) = (tracker.token(), last.take());
            last = Some(event_loop.cx().spawn_local(async move {
                let _token = token;
                let _guard = OnDrop(move || {
                    if let Some(next) = &next {
                        next.abort();
                    }
                });
                pending::<()>().await;
            }));
        }
        turn_until_quiet(&event_loop);
        assert_eq!(tracker.alive(), LINKS);
        if end == "abort" {
            last.unwrap().abort();
            event_loop.run_until_idle().unwrap();
        } else {
            drop(event_loop);
        }
        assert_eq!(tracker.alive(), 0);
    }
}

// spec: BX-1
fn an_abort_lets_go_of_the_captures(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let gate = Gate::new();
    let (token, pass) = (tracker.token(), gate.pass());
    let handle = event_loop.cx().spawn_local(async move {
        let _token = token;
        pass.await;
    });
    turn_until_quiet(&event_loop);
    handle.abort();
    tick(&event_loop);
    // Though the handle and wakers are there.
    assert_eq!(tracker.alive(), 0);
    assert_eq!(gate.wakers().len(), 1);
}

// spec: BX-1, SD-3
fn an_abort_of_a_loop_that_was_never_driven(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let mut handle = event_loop.cx().spawn_local(async move {
        let _token = token;
    });
    handle.abort();
    drop(event_loop);
    assert_eq!(tracker.alive(), 0);
    assert!(handle.is_finished());
    let said = result(&mut handle);
    assert!(said == "aborted" || said == "terminated", "{said}");
}

/// A loop that notes the panics that nobody has caught.
fn noting(variant: Variant, policy: PanicPolicy) -> (EventLoop, Log<String>) {
    let log = Log::new();
    let note = log.clone();
    let event_loop = variant
        .builder()
        .panic_policy(policy)
        .on_uncaught(move |_, panic| note.push(panic.message().unwrap_or("?").to_owned()))
        .build()
        .unwrap();
    (event_loop, log)
}

// spec: BX-1, FA-1
fn a_panic_goes_to_the_handle(variant: Variant) {
    let (event_loop, reports) = noting(variant, PanicPolicy::Isolate);
    let gate = Gate::new();
    let pass = gate.pass();
    let mut at_once = event_loop.cx().spawn_local(async { panic!("expected at once") });
    let mut later = event_loop.cx().spawn_local(async move {
        pass.await;
        panic!("expected later")
    });
    let mut next = event_loop.cx().spawn_local(async { 5 });
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(result::<()>(&mut at_once), "panicked expected at once");
    assert_eq!(result::<()>(&mut later), "panicked expected later");
    assert_eq!(result(&mut next), "ok 5");
    assert_eq!(reports.len(), 0, "it is the handle's");
}

// spec: BX-1, FA-3
fn a_panic_goes_to_the_handle_under_propagate(variant: Variant) {
    let (event_loop, reports) = noting(variant, PanicPolicy::Propagate);
    let mut handle = event_loop.cx().spawn_local(async { panic!("expected") });
    event_loop.run_until_idle().unwrap();
    assert_eq!(result::<()>(&mut handle), "panicked expected");
    assert_eq!(reports.len(), 0);
    // The one who waits decides.
    let inner = event_loop.cx().spawn_local(async { panic!("expected inside") });
    let outer = event_loop.cx().spawn_local(async move {
        let result: Result<(), _> = inner.await;
        show(&result)
    });
    assert_eq!(event_loop.block_on(outer).unwrap().unwrap(), "panicked expected inside");
}

// spec: BX-1, FA-1
fn a_panic_without_a_handle_is_reported(variant: Variant) {
    let (event_loop, reports) = noting(variant, PanicPolicy::Isolate);
    let log = Log::new();
    let note = log.clone();
    drop(event_loop.cx().spawn_local(async { panic!("expected") }));
    let handle = event_loop.cx().spawn_local(async { panic!("expected of a detached one") });
    drop(handle);
    drop(event_loop.cx().spawn_local(async move { note.push("next") }));
    event_loop.run_until_idle().unwrap();
    assert_eq!(reports.take(), ["expected", "expected of a detached one"]);
    assert_eq!(log.take(), ["next"]);
}

// spec: BX-1, FA-3
fn a_panic_without_a_handle_leaves_the_turn_under_propagate(variant: Variant) {
    let (event_loop, reports) = noting(variant, PanicPolicy::Propagate);
    let log = Log::new();
    let tracker = Tracker::new();
    for n in 0..3 {
        let (log, token) = (log.clone(), tracker.token());
        drop(event_loop.cx().spawn_local(async move {
            let _token = token;
            log.push(n);
            assert_ne!(n, 1, "expected");
        }));
    }
    let text = panic_of(|| event_loop.run_until_idle()).unwrap();
    assert!(text.contains("expected"), "{text}");
    assert_eq!(log.take(), [0, 1]);
    assert!(mainspring::current().is_err());
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [2]);
    assert_eq!(tracker.alive(), 0);
    assert_eq!(reports.len(), 0);
}

// spec: BX-1, FA-1
fn a_panic_with_a_payload_that_is_not_text(variant: Variant) {
    let (event_loop, reports) = noting(variant, PanicPolicy::Isolate);
    let mut handle = event_loop.cx().spawn_local(async { std::panic::panic_any(5_u64) });
    drop(event_loop.cx().spawn_local(async { std::panic::panic_any(6_u64) }));
    event_loop.run_until_idle().unwrap();
    assert_eq!(reports.take(), ["?"]);
    let Poll::Ready(Err(error)) = peek::<JoinHandle<()>>(&mut handle) else { panic!("known") };
    let mainspring::JoinError::Panicked(panic) = error else { panic!("{error:?}") };
    assert_eq!(*panic.take_payload().unwrap().downcast::<u64>().unwrap(), 5);
}

// spec: BX-1
fn a_panic_after_a_wake_of_itself_is_the_end(variant: Variant) {
    let (event_loop, _reports) = noting(variant, PanicPolicy::Isolate);
    let polls = Rc::new(Cell::new(0));
    for by_another in [true, false] {
        polls.set(0);
        let count = Rc::clone(&polls);
        let kept = Rc::new(RefCell::new(None));
        let keep = Rc::clone(&kept);
        let mut handle = event_loop.cx().spawn_local(poll_fn(move |cx| -> Poll<()> {
            count.set(count.get() + 1);
            let waker = cx.waker();
            if by_another {
                elsewhere(|| waker.wake_by_ref())
            } else {
                waker.wake_by_ref()
            }
            keep.replace(Some(waker.clone()));
            panic!("expected")
        }));
        event_loop.run_until_idle().unwrap();
        let waker: Waker = kept.take().unwrap();
        waker.wake();
        event_loop.run_until_idle().unwrap();
        assert_eq!(polls.get(), 1);
        assert_eq!(result(&mut handle), "panicked expected");
    }
}

// spec: BX-1
fn a_panic_drops_the_future_once(variant: Variant) {
    let (event_loop, _reports) = noting(variant, PanicPolicy::Isolate);
    let drops = Rc::new(Cell::new(0));
    let count = Rc::clone(&drops);
    let handle = event_loop.cx().spawn_local(Parts {
        poll: |_: &mut Context<'_>| -> Poll<()> { panic!("expected") },
        drop: move || count.set(count.get() + 1),
    });
    turn_until_quiet(&event_loop);
    assert_eq!(drops.get(), 1, "at once, though the handle is there");
    drop(handle);
    drop(event_loop);
    assert_eq!(drops.get(), 1);
}

/// Drives the loop until nothing is ready. Panics that leave a turn are fine.
fn turn_whatever(event_loop: &EventLoop) -> usize {
    let mut panics = 0;
    while match panic_of(|| turn_until_quiet(event_loop)) {
        None => false,
        Some(text) => {
            assert!(text.contains("expected"), "{text}");
            true
        }
    } {
        panics += 1;
        assert!(panics < 100);
    }
    panics
}

/// A future that panics in its destructor, and whose polls come to this.
fn panics_when_dropped<T: 'static>(
    mut poll: impl FnMut() -> Poll<T> + Unpin + 'static,
    drops: &Rc<Cell<usize>>,
) -> impl Future<Output = T> + 'static {
    let drops = Rc::clone(drops);
    Parts {
        poll: move |_: &mut Context<'_>| poll(),
        drop: move || {
            drops.set(drops.get() + 1);
            panic!("expected in the destructor");
        },
    }
}

// spec: BX-1, FA-1
fn a_panic_in_the_destructor_of_a_future_that_is_done(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for is_joined in [true, false] {
            let (event_loop, _reports) = noting(variant, policy);
            let (drops, log) = (Rc::default(), Log::new());
            let future = panics_when_dropped(|| Poll::Ready(5), &drops);
            let handle = event_loop.cx().spawn_local(future);
            let mut handle = is_joined.then_some(handle);
            let note = log.clone();
            drop(event_loop.cx().spawn_local(async move { note.push("next") }));
            turn_whatever(&event_loop);
            assert_eq!(drops.get(), 1);
            assert_eq!(log.take(), ["next"]);
            if let Some(handle) = &mut handle {
                // The output was there before.
                let said = result(handle);
                assert!(said == "ok 5" || said.starts_with("panicked expected"), "{said}");
            }
            // It holds nothing up.
            event_loop.run_until_idle().unwrap();
        }
    }
}

// spec: BX-1, FA-1
fn a_panic_in_the_destructor_of_an_aborted_future(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for is_driven in [true, false] {
            let (event_loop, _reports) = noting(variant, policy);
            let (drops, log) = (Rc::default(), Log::new());
            let future = panics_when_dropped(|| Poll::<()>::Pending, &drops);
            let mut handle = event_loop.cx().spawn_local(future);
            if is_driven {
                turn_until_quiet(&event_loop);
            }
            let aborted = panic_of(|| handle.abort());
            assert_eq!(aborted, None, "the caller is not to blame");
            let note = log.clone();
            drop(event_loop.cx().spawn_local(async move { note.push("next") }));
            turn_whatever(&event_loop);
            assert_eq!(drops.get(), 1);
            assert_eq!(log.take(), ["next"]);
            let said = result(&mut handle);
            assert!(said == "aborted" || said.starts_with("panicked expected"), "{said}");
            event_loop.run_until_idle().unwrap();
        }
    }
}

// spec: BX-1, FA-1
fn a_panic_in_the_destructor_after_a_panic_in_the_poll(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for is_joined in [true, false] {
            let (event_loop, _reports) = noting(variant, policy);
            let (drops, log) = (Rc::default(), Log::new());
            let future = panics_when_dropped(|| -> Poll<()> { panic!("expected") }, &drops);
            let handle = event_loop.cx().spawn_local(future);
            let mut handle = is_joined.then_some(handle);
            let note = log.clone();
            drop(event_loop.cx().spawn_local(async move { note.push("next") }));
            turn_whatever(&event_loop);
            assert_eq!(drops.get(), 1);
            assert_eq!(log.take(), ["next"]);
            if let Some(handle) = &mut handle {
                assert!(result(handle).starts_with("panicked expected"));
            }
            event_loop.run_until_idle().unwrap();
        }
    }
}

/// An output that panics when it is dropped.
#[derive(Debug)]
struct Explosive;

impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("expected of the output");
    }
}

// spec: BX-1, FA-1
fn a_panic_in_the_destructor_of_an_output(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        let (event_loop, _reports) = noting(variant, policy);
        let log = Log::new();
        drop(event_loop.cx().spawn_local(async { Explosive }));
        let note = log.clone();
        drop(event_loop.cx().spawn_local(async move { note.push("next") }));
        turn_whatever(&event_loop);
        assert_eq!(log.take(), ["next"]);
        // Given to a promise that nobody has.
        let promise = event_loop.cx().spawn_local(async { Rc::new(Explosive) }).into_promise();
        drop(promise);
        drop(event_loop.handle().spawn(|_| async { Arc::new(Explosive) }));
        let note = log.clone();
        drop(event_loop.cx().spawn_local(async move { note.push("next") }));
        turn_whatever(&event_loop);
        assert_eq!(log.take(), ["next"]);
        event_loop.run_until_idle().unwrap();
        // With a handle, which is dropped by the user: whether it panics there is not the loop's concern.
        let handle = event_loop.cx().spawn_local(async { Explosive });
        turn_until_quiet(&event_loop);
        let _ = panic_of(move || drop(handle));
        event_loop.run_until_idle().unwrap();
    }
}

// spec: BX-1, SD-6
fn a_panic_in_a_destructor_at_the_end_of_the_loop(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for end in ["drop", "close", "shutdown"] {
            let (event_loop, _reports) = noting(variant, policy);
            let tracker = Tracker::new();
            let drops = Rc::default();
            let mut handles = Vec::new();
            for _ in 0..3 {
                let future = panics_when_dropped(|| Poll::<()>::Pending, &drops);
                handles.push(event_loop.cx().spawn_local(future));
                let token = tracker.token();
                handles.push(event_loop.cx().spawn_local(async move {
                    let _token = token;
                    pending::<()>().await;
                }));
            }
            turn_until_quiet(&event_loop);
            match end {
                "close" => event_loop.cx().close(),
                "shutdown" => event_loop.cx().shutdown(),
                _ => {}
            }
            if end != "drop" {
                let _ = panic_of(|| event_loop.run());
            }
            let dropped = panic_of(move || drop(event_loop));
            assert_eq!(dropped, None);
            assert_eq!((drops.get(), tracker.alive()), (3, 0), "{end}");
            for handle in &mut handles {
                assert_eq!(result(handle), "terminated", "{end}");
            }
        }
    }
}

/// A waker that panics in each of its operations of which the one who wakes makes use.
struct Bomb;

impl std::task::Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("expected of the waker");
    }
}

// spec: BX-1, FA-1
fn a_panicking_waker_of_the_one_who_waits_does_not_take_the_loop_down(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for end in ["done", "aborted", "panicked", "loop"] {
            let (event_loop, _reports) = noting(variant, policy);
            let (gate, log) = (Gate::new(), Log::new());
            let pass = gate.pass();
            let mut handle = event_loop.cx().spawn_local(async move {
                pass.await;
                assert_ne!(end, "panicked", "expected");
            });
            let waker = Waker::from(Arc::new(Bomb));
            let mut cx = Context::from_waker(&waker);
            assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_pending());
            turn_until_quiet(&event_loop);
            match end {
                "aborted" => _ = panic_of(|| handle.abort()),
                "loop" => {}
                _ => gate.open(),
            }
            let note = log.clone();
            drop(event_loop.cx().spawn_local(async move { note.push("next") }));
            if end != "loop" {
                turn_whatever(&event_loop);
                assert_eq!(log.take(), ["next"], "{end}");
                event_loop.run_until_idle().unwrap();
            }
            let _ = panic_of(move || drop(event_loop));
            let said = result(&mut handle);
            match end {
                "done" => assert_eq!(said, "ok ()"),
                "aborted" => assert_eq!(said, "aborted"),
                "panicked" => assert!(said.starts_with("panicked"), "{said}"),
                _ => assert_eq!(said, "terminated"),
            }
        }
    }
}

// spec: BX-1, FA-1, SD-6
fn a_panicking_waker_at_the_end_of_the_loop_does_not_keep_the_others(variant: Variant) {
    for end in ["shutdown", "close", "drop"] {
        let event_loop = variant.build();
        let tracker = Tracker::new();
        let mut handles = Vec::new();
        for _ in 0..4 {
            let token = tracker.token();
            let mut handle = event_loop.cx().spawn_local(async move {
                let _token = token;
                pending::<()>().await;
            });
            let waker = Waker::from(Arc::new(Bomb));
            let mut cx = Context::from_waker(&waker);
            assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_pending());
            handles.push(handle);
        }
        turn_until_quiet(&event_loop);
        match end {
            "shutdown" => event_loop.cx().shutdown(),
            "close" => event_loop.cx().close(),
            _ => {}
        }
        if end != "drop" {
            assert_eq!(panic_of(|| event_loop.run().unwrap()), None, "{end}");
            assert_eq!(event_loop.state(), LoopState::Terminated);
        }
        assert_eq!(panic_of(move || drop(event_loop)), None, "{end}");
        assert_eq!(tracker.alive(), 0, "{end}");
        for handle in &mut handles {
            assert_eq!(result(handle), "terminated", "{end}");
        }
    }
}

// spec: BX-1, SD-6
fn an_end_of_a_loop_with_very_many_futures(variant: Variant) {
    // So many that it takes for ever if each has to be looked for.
    const MANY: usize = if cfg!(miri) { 300 } else { 300_000 };
    for is_shut_down in [true, false] {
        let event_loop = variant.build();
        let drops = Rc::new(Cell::new(0));
        for _ in 0..MANY {
            let drops = Rc::clone(&drops);
            let guard = OnDrop(move || drops.set(drops.get() + 1));
            drop(event_loop.cx().spawn_local(async move {
                let _guard = guard;
                pending::<()>().await;
            }));
        }
        turn_until_quiet(&event_loop);
        if is_shut_down {
            event_loop.cx().shutdown();
            event_loop.run().unwrap();
        }
        drop(event_loop);
        assert_eq!(drops.get(), MANY);
    }
}

// spec: BX-1, SD-1
fn a_shutdown_polls_what_is_woken_and_drops_what_waits(variant: Variant) {
    let event_loop = build(variant);
    let (log, tracker) = (Log::new(), Tracker::new());
    let gate = Gate::new();
    let (pass, note, token) = (gate.pass(), log.clone(), tracker.token());
    let mut woken = event_loop.cx().spawn_local(async move {
        let _token = token;
        pass.await;
        note.push("woken");
        5
    });
    let token = tracker.token();
    let mut waits = event_loop.cx().spawn_local(async move {
        let _token = token;
        pending::<()>().await;
    });
    turn_until_quiet(&event_loop);
    let note = log.clone();
    let mut spawned = event_loop.cx().spawn_local(async move { note.push("spawned") });
    gate.open();
    event_loop.cx().shutdown();
    event_loop.run().unwrap();
    assert_eq!(log.take(), ["spawned", "woken"]);
    assert_eq!(tracker.alive(), 0);
    assert_eq!(result(&mut woken), "ok 5");
    assert_eq!(result(&mut spawned), "ok ()");
    assert_eq!(result(&mut waits), "terminated");
}

// spec: BX-1, SD-1, F-5
fn a_shutdown_polls_for_as_long_as_somebody_is_woken(variant: Variant) {
    let event_loop = variant.builder().future_budget(4).build().unwrap();
    let log = Log::new();
    let (note, own) = (log.clone(), event_loop.cx().clone());
    let handle = event_loop.cx().spawn_local(async move {
        own.shutdown();
        // Far more than one tick has room for.
        spin(100).await;
        note.push("spun");
        for _ in 0..10 {
            own.yield_now().await;
        }
        note.push("yielded");
        let (gate, opened) = (Gate::new(), Gate::new());
        let (copy, also) = (gate.clone(), opened.clone());
        own.queue_microtask(move |cx| {
            cx.submit_internal(move |cx| cx.queue_microtask(move |_| copy.open())).unwrap();
        });
        gate.pass().await;
        note.push("woken by a microtask of an internal task");
        drop(own.spawn_local(async move { also.open() }));
        opened.pass().await;
        note.push("woken by a future");
        7
    });
    event_loop.run().unwrap();
    assert_eq!(
        log.take(),
        ["spun", "yielded", "woken by a microtask of an internal task", "woken by a future"]
    );
    assert_eq!(result(&mut { handle }), "ok 7");
}

// spec: BX-1, SD-2
fn a_shutdown_does_not_wait_for_those_who_wait(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let promise: Promise<()> = handle.spawn(|_| pending());
    wait_until_sleeping(&handle);
    let ended = handle.shutdown(Deadline::NEVER).unwrap();
    assert_eq!(ended, Shutdown::Finished { dropped: 0 });
    thread.join().unwrap().unwrap();
    assert_eq!(promise.state(), PromiseState::Rejected);
}

// spec: BX-1, SD-2, TK-7, F-32
fn a_shutdown_with_a_deadline_ends_a_future_that_never_waits(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    for is_yielding in [true, false] {
        let token = tracker.token();
        drop(handle.spawn(move |cx: &Cx| {
            let cx = cx.clone();
            async move {
                let _token = token;
                loop {
                    if is_yielding { cx.yield_now().await } else { spin(1).await }
                }
            }
        }));
    }
    let ended: Result<Shutdown, Error> = handle.shutdown(Duration::from_millis(20));
    assert!(matches!(ended, Err(Error::DeadlineExceeded { .. })), "{ended:?}");
    let _ = thread.join().unwrap();
    assert_eq!(tracker.alive(), 0);
}

// spec: BX-1, SD-4, TK-7, F-32
fn a_close_ends_a_future_that_never_waits(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (tracker, gate) = (Tracker::new(), Arc::new(AtomicUsize::new(0)));
    let (token, polls) = (tracker.token(), Arc::clone(&gate));
    drop(handle.spawn(move |_| async move {
        let _token = token;
        loop {
            polls.fetch_add(1, Ordering::Relaxed);
            spin(1).await;
        }
    }));
    wait_until(|| gate.load(Ordering::Relaxed) > 1_000);
    handle.close();
    thread.join().unwrap().unwrap();
    assert_eq!(tracker.alive(), 0);
}

// spec: BX-1, SD-4
fn a_close_polls_nobody(variant: Variant) {
    let event_loop = build(variant);
    let (log, tracker) = (Log::new(), Tracker::new());
    let mut handles = Vec::new();
    for n in 0..3 {
        let (note, token, own) = (log.clone(), tracker.token(), event_loop.cx().clone());
        handles.push(event_loop.cx().spawn_local(async move {
            let _token = token;
            note.push(n);
            if n == 0 {
                own.close();
            }
        }));
    }
    event_loop.run().unwrap();
    assert_eq!(log.take(), [0]);
    assert_eq!(tracker.alive(), 0);
    assert_eq!(result(&mut handles[0]), "ok ()");
    assert_eq!(result(&mut handles[1]), "terminated");
    assert_eq!(result(&mut handles[2]), "terminated");
}

// spec: BX-1, SD-6
fn a_drop_of_the_loop_polls_nobody(variant: Variant) {
    for is_driven in [true, false] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let (gate, token) = (Gate::new(), tracker.token());
        let pass = gate.pass();
        let mut first = event_loop.cx().spawn_local(async move {
            let _token = token;
            pass.await;
        });
        let polls = usize::from(is_driven);
        if is_driven {
            turn_until_quiet(&event_loop);
            gate.open();
        }
        let mut second = event_loop.cx().spawn_local(async { unreachable!() });
        drop(event_loop);
        assert_eq!((gate.polls(), tracker.alive()), (polls, 0));
        assert_eq!(result(&mut first), "terminated");
        assert_eq!(result::<()>(&mut second), "terminated");
    }
}

// spec: BX-1, SD-2, SD-3
fn woken_futures_count_as_dropped_callbacks_and_waiting_ones_do_not(variant: Variant) {
    // Of a loop that was never driven.
    let event_loop = build(variant);
    for _ in 0..5 {
        drop(event_loop.cx().spawn_local(async {}));
    }
    event_loop.cx().submit(|_| ()).unwrap();
    let handle = event_loop.handle();
    let ended = elsewhere(move || handle.shutdown(Deadline::NEVER)).unwrap();
    assert_eq!(ended, Shutdown::Finished { dropped: 6 });
    drop(event_loop);
}

// spec: BX-1, SH-4
fn futures_are_dropped_on_their_thread_and_in_their_loop(variant: Variant) {
    for end in
        ["done", "panicked", "aborted", "aborted inside", "shutdown", "close", "other", "drop"]
    {
        let event_loop = variant.build();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (note, home) = (Rc::clone(&seen), thread::current().id());
        let address = event_loop.handle();
        let gate = Gate::new();
        let pass = gate.pass();
        let guard = OnDrop(move || {
            let is_home = thread::current().id() == home;
            note.borrow_mut().push((is_home, mainspring::current().is_ok()));
        });
        let handle = event_loop.cx().spawn_local(async move {
            let _guard = guard;
            pass.await;
            assert_ne!(end, "panicked", "expected");
        });
        turn_until_quiet(&event_loop);
        let handle = Rc::new(handle);
        match end {
            "done" | "panicked" => gate.open(),
            "aborted" => handle.abort(),
            "aborted inside" => {
                let handle = Rc::clone(&handle);
                event_loop.cx().submit(move |_| handle.abort()).unwrap();
            }
            "shutdown" => event_loop.cx().shutdown(),
            "close" => event_loop.cx().close(),
            "other" => elsewhere(|| address.close()),
            _ => {}
        }
        if end == "drop" {
            drop(event_loop);
        } else {
            let _ = event_loop.turn(Duration::ZERO);
            let _ = event_loop.turn(Duration::ZERO);
            drop(event_loop);
        }
        assert_eq!(seen.take(), [(true, true)], "{end}");
    }
}

// spec: BX-1, SH-4
fn futures_of_a_loop_that_is_dropped_by_a_callback_of_another(variant: Variant) {
    // Two loops, told apart by their time.
    let ((clock, dying), (later, driven)) = (manual(variant), manual(variant));
    later.advance(Duration::from_secs(5));
    let seen = Log::new();
    for is_driven in [true, false] {
        let note = seen.clone();
        let guard = OnDrop(move || note.push(mainspring::current().unwrap().now()));
        drop(dying.cx().spawn_local(async move {
            let _guard = guard;
            pending::<()>().await;
        }));
        if is_driven {
            turn_until_quiet(&dying);
        }
    }
    driven.cx().submit(move |_| drop(dying)).unwrap();
    driven.run_until_idle().unwrap();
    assert_eq!(seen.take(), [clock.now(), clock.now()]);
    assert_ne!(clock.now(), later.now());
}

// spec: BX-1, SD-1, SH-4
fn destructors_may_use_the_loop_at_its_end(variant: Variant) {
    for end in ["shutdown", "close", "drop"] {
        let event_loop = variant.build();
        let tracker = Tracker::new();
        let ran = Rc::new(Cell::new(false));
        let (token, copy, note) = (tracker.token(), tracker.clone(), Rc::clone(&ran));
        let own = event_loop.cx().clone();
        drop(event_loop.cx().spawn_local(async move {
            let _token = token;
            let _guard = OnDrop(move || {
                // None of these must hang or panic; what is refused is dropped.
                for cx in [own.clone(), mainspring::current().unwrap()] {
                    drop(cx.submit(copy.callback()));
                    drop(cx.submit_internal(copy.callback()));
                    cx.queue_microtask(copy.callback());
                    cx.next_tick(copy.callback());
                    cx.set_immediate(copy.callback());
                    cx.queue_close(copy.callback());
                    drop(cx.set_timeout(Duration::ZERO, copy.callback()));
                    drop(cx.handle().submit(copy.callback()));
                    let _ = cx.state();
                    cx.shutdown();
                    cx.close();
                    drop(LocalPromise::resolve(&cx, 5).then(|_, n: i32| n));
                }
                note.set(true);
            });
            pending::<()>().await;
        }));
        turn_until_quiet(&event_loop);
        match end {
            "shutdown" => event_loop.cx().shutdown(),
            "close" => event_loop.cx().close(),
            _ => {}
        }
        if end != "drop" {
            event_loop.run().unwrap();
            assert!(ran.get(), "{end}");
        }
        drop(event_loop);
        assert!(ran.get(), "{end}");
        assert_eq!(tracker.alive(), 0, "{end}");
    }
}

/// A future that waits for ever, and when it is dropped spawns such a one, and so on.
async fn spawns_when_dropped(cx: Cx, left: usize, token: Token, tracker: Tracker, said: Log<bool>) {
    let _token = token;
    let _guard = OnDrop(move || {
        if left > 0 {
            let (token, copy) = (tracker.token(), tracker.clone());
            let next = spawns_when_dropped(cx.clone(), left - 1, token, copy, said.clone());
            let handle =
                cx.spawn_local(Box::pin(next) as std::pin::Pin<Box<dyn Future<Output = ()>>>);
            said.push(handle.is_finished());
        }
    });
    pending::<()>().await;
}

// spec: BX-1, SD-6
fn destructors_that_spawn_at_the_end(variant: Variant) {
    for end in ["shutdown", "close", "drop", "drop undriven"] {
        let event_loop = variant.build();
        let (tracker, said) = (Tracker::new(), Log::new());
        for _ in 0..3 {
            let cx = event_loop.cx();
            let future =
                spawns_when_dropped(cx.clone(), 20, tracker.token(), tracker.clone(), said.clone());
            drop(cx.spawn_local(future));
        }
        if end != "drop undriven" {
            turn_until_quiet(&event_loop);
        }
        match end {
            "shutdown" => event_loop.cx().shutdown(),
            "close" => event_loop.cx().close(),
            _ => {}
        }
        if !end.starts_with("drop") {
            event_loop.run().unwrap();
            assert_eq!(tracker.alive(), 0, "{end}");
        }
        drop(event_loop);
        assert_eq!(tracker.alive(), 0, "{end}");
        // One that was never polled has no guard yet.
        assert_eq!(said.len() > 0, end != "drop undriven", "{end}");
    }
}

// spec: BX-1, SD-6
fn destructors_that_open_gates_at_the_end(variant: Variant) {
    for end in ["shutdown", "close", "drop"] {
        let event_loop = variant.build();
        let tracker = Tracker::new();
        let gates: Vec<_> = (0..6).map(|_| Gate::new()).collect();
        for n in 0..6 {
            let (token, pass) = (tracker.token(), gates[n].pass());
            let others = gates.clone();
            drop(event_loop.cx().spawn_local(async move {
                let _token = token;
                // In both directions: those who come before, and after.
                let _guard = OnDrop(move || others.iter().for_each(Gate::open));
                pass.await;
                pending::<()>().await;
            }));
        }
        turn_until_quiet(&event_loop);
        match end {
            "shutdown" => event_loop.cx().shutdown(),
            "close" => event_loop.cx().close(),
            _ => {}
        }
        if end != "drop" {
            event_loop.run().unwrap();
            assert_eq!(tracker.alive(), 0, "{end}");
        }
        drop(event_loop);
        assert_eq!(tracker.alive(), 0, "{end}");
    }
}

// spec: BX-1, SD-6
fn a_handle_outlives_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let mut done = event_loop.cx().spawn_local(async move { token });
    let token = tracker.token();
    let kept = event_loop.cx().spawn_local(async move { token });
    let mut waits = event_loop.cx().spawn_local(pending::<()>());
    let promised = event_loop.cx().spawn_local(async { 5 });
    turn_until_quiet(&event_loop);
    let (count, waker) = CountingWaker::new();
    let mut cx = Context::from_waker(&waker);
    assert!(std::pin::Pin::new(&mut waits).poll(&mut cx).is_pending());
    drop(event_loop);
    assert_eq!(count.count(), 1, "it is told");
    assert!(done.is_finished() && kept.is_finished() && waits.is_finished());
    waits.abort();
    waits.reference(false);
    waits.reference(true);
    done.abort();
    assert_eq!(result(&mut waits), "terminated");
    let Poll::Ready(Ok(token)) = peek(&mut done) else { panic!("it was done before") };
    assert_eq!(tracker.alive(), 2);
    drop((token, kept));
    assert_eq!(tracker.alive(), 0);
    // There is nobody to tell a handler, but it must be no trap.
    let promise = promised.into_promise();
    assert_ne!(promise.state(), PromiseState::Pending);
}

// spec: BX-1, SH-5
fn a_handle_of_a_loop_that_has_ended_is_used_in_another(variant: Variant) {
    let (ends, goes_on) = (build(variant), build(variant));
    let handle = ends.cx().spawn_local(pending::<()>());
    turn_until_quiet(&ends);
    let mut waiting = goes_on.cx().spawn_local(async move { show(&handle.await) });
    turn_until_quiet(&goes_on);
    drop(ends);
    goes_on.run_until_idle().unwrap();
    assert_eq!(result(&mut waiting), "ok \"terminated\"");
}

// spec: BX-1, SD-4, ER-2
fn a_future_spawned_on_a_loop_that_has_ended(variant: Variant) {
    for is_dropped in [false, true] {
        let event_loop = variant.build();
        let cx = event_loop.cx().clone();
        tick(&event_loop);
        cx.close();
        event_loop.run().unwrap();
        assert_eq!(cx.state(), LoopState::Terminated);
        let event_loop = (!is_dropped).then_some(event_loop);
        let tracker = Tracker::new();
        let token = tracker.token();
        let mut handle = cx.spawn_local(async move {
            let _token = token;
            unreachable!("it has ended");
        });
        assert_eq!(tracker.alive(), 0, "it is dropped");
        handle.abort();
        handle.reference(false);
        assert_eq!(result::<()>(&mut handle), "terminated");
        let promise = cx.spawn_local(async { 5 }).into_promise();
        assert_eq!(promise.state(), PromiseState::Rejected);
        drop(event_loop);
    }
}

// spec: BX-1, SD-1
fn a_future_spawned_while_the_loop_terminates(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let note = log.clone();
    let handle = Rc::new(RefCell::new(None));
    let keep = Rc::clone(&handle);
    event_loop
        .cx()
        .submit(move |cx| {
            cx.shutdown();
            assert_eq!(cx.state(), LoopState::Terminating);
            keep.replace(Some(cx.spawn_local(async move { note.push("ran") })));
        })
        .unwrap();
    event_loop.run().unwrap();
    // As an internal task, it is accepted until the loop has terminated.
    assert_eq!(log.take(), ["ran"]);
    assert_eq!(result(handle.borrow_mut().as_mut().unwrap()), "ok ()");
}

fn reason<T: Clone + Send + Debug + 'static>(promise: &Promise<T>) -> String {
    match promise.wait(Duration::from_secs(50)) {
        Ok(value) => format!("ok {value:?}"),
        Err(error) => format!("{error:?}"),
    }
}

// spec: PR-5, SD-4, F-28
fn a_future_sent_to_a_loop_that_has_ended(variant: Variant) {
    let event_loop = variant.build();
    let handle = event_loop.handle();
    drop(event_loop);
    let tracker = Tracker::new();
    let token = tracker.token();
    let promise = handle.spawn(move |_| {
        let _token = token;
        async { unreachable!("it has ended") }
    });
    let _: &Promise<()> = &promise;
    assert_eq!(tracker.alive(), 0);
    assert_eq!(promise.state(), PromiseState::Rejected);
    assert!(elsewhere(|| reason(&promise)).contains("Terminated"));
}

// spec: PR-5, SD-1, F-28, F-33
fn a_future_sent_to_a_loop_that_ends_meanwhile(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 60 };
    for round in 0..ROUNDS {
        let (handle, thread) = variant.spawn_running();
        let tracker = Tracker::new();
        let (sender, receiver) = mpsc::channel();
        let other = {
            let (handle, tracker) = (handle.clone(), tracker.clone());
            thread::spawn(move || {
                let mut promises = Vec::new();
                for n in 0..200 {
                    let token = tracker.token();
                    promises.push(handle.spawn(move |_| async move {
                        let _token = token;
                        n
                    }));
                    if n == 20 {
                        sender.send(()).unwrap();
                    }
                }
                promises
            })
        };
        receiver.recv().unwrap();
        if round % 2 == 0 {
            let _ = handle.shutdown(Deadline::NEVER);
        } else {
            handle.close();
        }
        let promises = other.join().unwrap();
        thread.join().unwrap().unwrap();
        assert_eq!(tracker.alive(), 0);
        for (n, promise) in promises.iter().enumerate() {
            let said = reason(promise);
            assert!(said == format!("ok {n}") || said.contains("Terminated"), "{said}");
        }
    }
}

/// What a promise comes to.
fn outcome<T: Clone + Debug + 'static>(promise: &LocalPromise<T>) -> Log<String> {
    let log = Log::new();
    let note = log.clone();
    promise.handle(move |_, result| {
        note.push(match result {
            Ok(value) => format!("ok {value:?}"),
            Err(reason) => {
                let error = reason.as_error();
                if let Some(error) = error.downcast_ref::<mainspring::JoinError>() {
                    futures::why(error)
                } else if let Some(panic) = error.downcast_ref::<Panicked>() {
                    format!("panicked {}", panic.message().unwrap_or("?"))
                } else if matches!(error.downcast_ref(), Some(Error::Terminated)) {
                    "terminated".to_owned()
                } else if error.is::<mainspring::AbortError>() {
                    "aborted".to_owned()
                } else {
                    error.to_string()
                }
            }
        });
        Ok::<(), Error>(())
    });
    log
}

// spec: PR-5
fn a_promise_of_an_aborted_future_is_rejected(variant: Variant) {
    let event_loop = build(variant);
    let handle = event_loop.cx().spawn_local(pending::<i32>());
    turn_until_quiet(&event_loop);
    handle.abort();
    let outcome = outcome(&handle.into_promise());
    event_loop.run_until_idle().unwrap();
    assert_eq!(outcome.take(), ["aborted"]);
}

// spec: PR-5, PF-2
fn a_promise_of_a_panicked_future_is_rejected(variant: Variant) {
    for is_early in [true, false] {
        let (event_loop, reports) = noting(variant, PanicPolicy::Isolate);
        let handle = event_loop.cx().spawn_local(async { panic!("expected") });
        if !is_early {
            turn_until_quiet(&event_loop);
        }
        let promise: LocalPromise<i32> = handle.into_promise();
        let outcome = outcome(&promise);
        let sent = event_loop.handle().spawn(|_| async { panic!("expected of the sent one") });
        let sent = self::outcome::<i32>(&sent.to_local(event_loop.cx()));
        event_loop.run_until_idle().unwrap();
        assert_eq!(outcome.take(), ["panicked expected"]);
        assert_eq!(sent.take(), ["panicked expected of the sent one"]);
        assert_eq!(reports.len(), 0, "it is the promise's");
    }
}

// spec: PR-5, RG-4, F-28
fn a_promise_of_a_future_that_was_dropped_with_the_loop_is_rejected(variant: Variant) {
    for end in ["shutdown", "close", "drop"] {
        let event_loop = variant.build();
        let local = event_loop.cx().spawn_local(pending::<i32>()).into_promise();
        let sent: Promise<i32> = event_loop.handle().spawn(|_| pending());
        turn_until_quiet(&event_loop);
        match end {
            "shutdown" => event_loop.cx().shutdown(),
            "close" => event_loop.cx().close(),
            _ => {}
        }
        if end != "drop" {
            event_loop.run().unwrap();
        }
        drop(event_loop);
        assert_eq!(local.state(), PromiseState::Rejected, "{end}");
        assert!(elsewhere(|| reason(&sent)).contains("Terminated"), "{end}");
    }
}

// spec: PR-5, PF-2
fn a_promise_of_a_function_that_panics_is_rejected(variant: Variant) {
    let (event_loop, reports) = noting(variant, PanicPolicy::Isolate);
    let tracker = Tracker::new();
    let token = tracker.token();
    let sent = event_loop.handle().spawn(move |_| -> std::future::Ready<i32> {
        let _token = token;
        panic!("expected")
    });
    let outcome = outcome(&sent.to_local(event_loop.cx()));
    event_loop.run_until_idle().unwrap();
    assert_eq!(outcome.take(), ["panicked expected"]);
    assert_eq!(tracker.alive(), 0);
    assert!(reports.len() <= 1);
}

// spec: PR-5, PR-7, FA-1
fn a_promise_that_nobody_handles_is_reported_once(variant: Variant) {
    for is_sent in [true, false] {
        for is_dropped in [true, false] {
            let reports = SharedLog::new();
            let (uncaught, unhandled) = (reports.clone(), reports.clone());
            let event_loop = variant
                .builder()
                .on_uncaught(move |_, _| uncaught.push("uncaught"))
                .on_unhandled_rejection(move |_, _| unhandled.push("unhandled"))
                .build()
                .unwrap();
            let future = || async { panic!("expected") };
            let mut kept: (Option<Promise<i32>>, Option<LocalPromise<i32>>) = (None, None);
            if is_sent {
                kept.0 = Some(event_loop.handle().spawn(move |_| future()));
            } else {
                kept.1 = Some(event_loop.cx().spawn_local(future()).into_promise());
            }
            if is_dropped {
                kept = (None, None);
            }
            event_loop.run_until_idle().unwrap();
            assert_eq!(reports.take().len(), 1, "{is_sent} {is_dropped}");
            drop(kept);
        }
    }
}

// spec: BX-1, F-24, R9
fn a_loop_with_a_waiting_future_is_not_idle(variant: Variant) {
    let event_loop = build(variant);
    let gate = SharedGate::new();
    let mut handle = event_loop.cx().spawn_local(gate.pass());
    let thread = {
        let (handle, gate) = (event_loop.handle(), gate.clone());
        thread::spawn(move || {
            wait_until(|| gate.polls() == 1);
            wait_until_sleeping(&handle);
            gate.open();
        })
    };
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
    thread.join().unwrap();
}

// spec: BX-1, F-24, R9
fn a_loop_with_an_unreferenced_future_is_idle(variant: Variant) {
    let exits = Rc::new(Cell::new(0));
    let count = Rc::clone(&exits);
    let event_loop =
        variant.builder().on_before_exit(move |_| count.set(count.get() + 1)).build().unwrap();
    let gate = Gate::new();
    let mut handle = event_loop.cx().spawn_local(gate.pass());
    turn_until_quiet(&event_loop);
    handle.reference(false);
    event_loop.run_until_idle().unwrap();
    assert_eq!(exits.get(), 1);
    assert!(!handle.is_finished());
    // It is still there.
    gate.open();
    turn_until_quiet(&event_loop);
    assert_eq!(result(&mut handle), "ok ()");
    // And so is one that gives up its reference by itself.
    let own = Own::<()>::default();
    let copy = Rc::clone(&own);
    let handle = event_loop.cx().spawn_local(async move {
        copy.borrow().as_ref().unwrap().reference(false);
        pending::<()>().await;
    });
    own.replace(Some(handle));
    event_loop.run_until_idle().unwrap();
}

// spec: BX-1, F-24
fn references_are_counted_right(variant: Variant) {
    // In all of these, nothing alive is left, though one too many would keep the loop for ever, and one too
    // few would let it go without the timer.
    let (clock, event_loop) = automatic(variant);
    let cx = event_loop.cx();
    let aborted = |is_referenced: &[bool]| {
        let handle = cx.spawn_local(pending::<()>());
        turn_until_quiet(&event_loop);
        for is_referenced in is_referenced {
            handle.reference(*is_referenced);
        }
        handle.abort();
        for is_referenced in is_referenced {
            handle.reference(*is_referenced);
        }
        turn_until_quiet(&event_loop);
        for is_referenced in is_referenced {
            handle.reference(*is_referenced);
        }
    };
    let done = |is_referenced: &[bool]| {
        let handle = cx.spawn_local(async {});
        for is_referenced in is_referenced {
            handle.reference(*is_referenced);
        }
        turn_until_quiet(&event_loop);
        for is_referenced in is_referenced {
            handle.reference(*is_referenced);
        }
    };
    for is_referenced in [
        &[][..],
        &[true],
        &[false],
        &[false, false],
        &[false, true],
        &[true, true, false],
        &[false, true, false],
    ] {
        aborted(is_referenced);
        done(is_referenced);
        // Nothing holds it.
        event_loop.run_until_idle().unwrap();
        // What is referenced does.
        let gate = Gate::new();
        let opened = gate.clone();
        let before = clock.elapsed();
        let timer = cx.set_timeout(Duration::from_secs(1), move |_| opened.open()).unwrap();
        cx.reference_timer(timer, false).unwrap();
        let handle = cx.spawn_local(gate.pass());
        event_loop.run_until_idle().unwrap();
        assert!(handle.is_finished());
        assert_eq!(clock.elapsed() - before, Duration::from_secs(1));
    }
}

// spec: BX-1, F-24
fn a_reference_given_up_while_the_loop_sleeps_inside(variant: Variant) {
    thread_local! {
        static WAITING: RefCell<Option<JoinHandle<()>>> = const { RefCell::new(None) };
    }
    let (handle, thread) = variant.spawn(
        |builder| builder,
        |event_loop| {
            WAITING.set(Some(event_loop.cx().spawn_local(pending())));
            let result = event_loop.run_until_idle();
            WAITING.take();
            result
        },
    );
    wait_until_sleeping(&handle);
    // The loop must look again after the callback.
    handle.submit(|_| WAITING.with_borrow(|own| own.as_ref().unwrap().reference(false))).unwrap();
    thread.join().unwrap().unwrap();
}

// spec: BX-1
fn a_detached_future_keeps_its_reference(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let cx = event_loop.cx();
    let gate = Gate::new();
    // Unreferenced for ever.
    let handle = cx.spawn_local(pending::<()>());
    handle.reference(false);
    drop(handle);
    // Referenced for ever.
    drop(cx.spawn_local(gate.pass()));
    let opened = gate.clone();
    let timer = cx.set_timeout(Duration::from_secs(1), move |_| opened.open()).unwrap();
    cx.reference_timer(timer, false).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(clock.elapsed(), Duration::from_secs(1));
    assert_eq!(gate.polls(), 2);
}

// spec: BX-1, PR-5, R9
fn a_future_sent_by_another_thread_keeps_the_loop_alive(variant: Variant) {
    let event_loop = build(variant);
    let gate = SharedGate::new();
    let handle = event_loop.handle();
    let pass = gate.pass();
    let promise = elsewhere(move || handle.spawn(move |_| pass));
    let thread = {
        let (handle, gate) = (event_loop.handle(), gate.clone());
        thread::spawn(move || {
            wait_until(|| gate.polls() == 1);
            wait_until_sleeping(&handle);
            gate.open();
        })
    };
    event_loop.run_until_idle().unwrap();
    assert_eq!(promise.state(), PromiseState::Fulfilled);
    thread.join().unwrap();
}

// spec: BX-1, ST-6, D08
fn block_on_in_a_callback_is_refused(variant: Variant) {
    let event_loop = Rc::new(build(variant));
    let tracker = Tracker::new();
    let (copy, token, alive) = (Rc::clone(&event_loop), tracker.token(), tracker.clone());
    let seen = Log::new();
    let note = seen.clone();
    event_loop
        .cx()
        .submit(move |_| {
            let result: Result<i32, Error> = copy.block_on(async move {
                let _token = token;
                5
            });
            assert!(matches!(result, Err(Error::ReentrantRun)), "{result:?}");
            assert_eq!(alive.alive(), 0);
            note.push("refused");
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(seen.take(), ["refused"]);
    assert_eq!(event_loop.block_on(async { 6 }).unwrap(), 6);
}

// spec: BX-1, ST-6, D08
fn block_on_in_a_future_is_refused(variant: Variant) {
    let event_loop = Rc::new(build(variant));
    let copy = Rc::clone(&event_loop);
    let mut handle = event_loop
        .cx()
        .spawn_local(async move { matches!(copy.block_on(async {}), Err(Error::ReentrantRun)) });
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok true");
    let refused = event_loop.block_on(async {
        let inner = event_loop.block_on(async { unreachable!() });
        let _: &Result<(), Error> = &inner;
        event_loop.cx().yield_now().await;
        matches!(inner, Err(Error::ReentrantRun))
    });
    assert!(refused.unwrap());
}

// spec: ST-6, D08
fn other_ways_to_drive_the_loop_are_refused_in_a_future(variant: Variant) {
    let event_loop = build(variant);
    event_loop
        .block_on(async {
            for result in [
                event_loop.run(),
                event_loop.run_until_idle(),
                event_loop.turn(Duration::ZERO).map(|_| ()),
                event_loop.run_until_aborted(|| true),
            ] {
                assert!(matches!(result, Err(Error::ReentrantRun)), "{result:?}");
            }
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
}

// spec: BX-1, SD-1
fn block_on_when_the_loop_is_shut_down_by_another_thread(variant: Variant) {
    for is_closed in [false, true] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let token = tracker.token();
        let thread = {
            let handle = event_loop.handle();
            thread::spawn(move || {
                wait_until_sleeping(&handle);
                if is_closed {
                    handle.close();
                } else {
                    let ended = handle.shutdown(Deadline::NEVER).unwrap();
                    assert_eq!(ended, Shutdown::Finished { dropped: 0 });
                }
            })
        };
        let result: Result<(), Error> = event_loop.block_on(async {
            let _token = &token;
            pending().await
        });
        assert!(matches!(result, Err(Error::Terminated)), "{result:?}");
        thread.join().unwrap();
        assert_eq!(event_loop.state(), LoopState::Terminated);
        drop(token);
    }
}

// spec: BX-1, SD-4, SH-4
fn block_on_when_the_loop_is_closed_by_a_callback(variant: Variant) {
    let event_loop = build(variant);
    let drops = Log::new();
    let note = drops.clone();
    event_loop.cx().set_immediate(|cx| cx.close());
    let result: Result<(), Error> = event_loop.block_on(async {
        let _guard = OnDrop(|| note.push(mainspring::current().is_ok()));
        pending().await
    });
    assert!(matches!(result, Err(Error::Terminated)), "{result:?}");
    assert_eq!(drops.take().len(), 1);
}

// spec: BX-1, SD-1, SD-5
fn block_on_when_the_future_itself_shuts_the_loop_down(variant: Variant) {
    // The output is there, and is not thrown away.
    let event_loop = build(variant);
    let log = Log::new();
    event_loop.cx().submit(log.note("task")).unwrap();
    let result = event_loop.block_on(async {
        event_loop.cx().shutdown();
        5
    });
    assert_eq!(result.unwrap(), 5);
    let _ = event_loop.run();
    assert_eq!(event_loop.state(), LoopState::Terminated);
    assert_eq!(log.take(), ["task"]);
}

// spec: BX-1, SD-1
fn block_on_when_the_shutdown_wakes_the_future(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let opened = gate.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            cx.shutdown();
            cx.submit_internal(move |_| opened.open()).unwrap();
        })
        .unwrap();
    // What is woken is polled, also during a shutdown.
    let result = event_loop.block_on(async {
        gate.pass().await;
        event_loop.cx().yield_now().await;
        5
    });
    assert_eq!(result.unwrap(), 5);
}

// spec: BX-1, SD-3, SD-4
fn block_on_of_a_loop_that_has_ended(variant: Variant) {
    for is_driven in [false, true] {
        let event_loop = build(variant);
        if is_driven {
            tick(&event_loop);
        }
        event_loop.cx().close();
        let tracker = Tracker::new();
        for _ in 0..2 {
            let token = tracker.token();
            let result: Result<(), Error> = event_loop.block_on(async move {
                let _token = token;
                pending().await
            });
            assert!(matches!(result, Err(Error::Terminated)), "{result:?}");
            assert_eq!(tracker.alive(), 0);
        }
    }
}

// spec: BX-1, FA-3
fn block_on_with_a_future_that_panics(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        let (event_loop, reports) = noting(variant, policy);
        let tracker = Tracker::new();
        let token = tracker.token();
        let log = Log::new();
        let note = log.clone();
        let text = panic_of(|| {
            event_loop.block_on(async {
                let _token = &token;
                event_loop.cx().yield_now().await;
                panic!("expected")
            })
        });
        assert_eq!(text.as_deref(), Some("expected"));
        assert_eq!(reports.len(), 0);
        assert!(mainspring::current().is_err());
        drop(event_loop.cx().spawn_local(async move { note.push("next") }));
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.take(), ["next"]);
        assert_eq!(event_loop.block_on(async { 5 }).unwrap(), 5);
    }
}

// spec: BX-1
fn block_on_with_a_future_that_panics_in_its_destructor(variant: Variant) {
    let (event_loop, _reports) = noting(variant, PanicPolicy::Isolate);
    for is_done in [true, false] {
        let drops = Rc::default();
        let future = panics_when_dropped(
            move || if is_done { Poll::Ready(()) } else { Poll::Pending },
            &drops,
        );
        if !is_done {
            event_loop.cx().set_immediate(|cx| cx.close());
        }
        // Whether it leaves the call or not: it is dropped once, and the loop is whole.
        let _ = panic_of(|| event_loop.block_on(future));
        assert_eq!(drops.get(), 1);
        assert!(mainspring::current().is_err());
        if is_done {
            assert_eq!(event_loop.block_on(async { 5 }).unwrap(), 5);
        }
    }
}

// spec: BX-1, FA-3
fn block_on_when_a_callback_panics_under_propagate(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let (token, kept) = (tracker.token(), RefCell::new(None));
    event_loop.cx().set_immediate(|_| panic!("expected"));
    let text = panic_of(|| {
        let token = token;
        let on_the_stack = [1, 2, 3];
        event_loop.block_on(async {
            let _token = &token;
            kept.replace(Some(waker().await));
            pending::<()>().await;
            on_the_stack.len()
        })
    });
    assert_eq!(text.as_deref(), Some("expected"));
    assert_eq!(tracker.alive(), 0);
    // The future is gone; its waker is not.
    let waker: Waker = kept.take().unwrap();
    waker.wake_by_ref();
    tick(&event_loop);
    elsewhere(|| waker.wake_by_ref());
    event_loop.run_until_idle().unwrap();
    assert_eq!(event_loop.block_on(async { 5 }).unwrap(), 5);
    drop(event_loop);
    waker.wake();
}

// spec: BX-1, FA-1
fn block_on_when_another_future_panics(variant: Variant) {
    let (event_loop, reports) = noting(variant, PanicPolicy::Isolate);
    drop(event_loop.cx().spawn_local(async { panic!("expected") }));
    let joined = event_loop.cx().spawn_local(async { panic!("expected, joined") });
    let output = event_loop.block_on(async {
        event_loop.cx().yield_now().await;
        let result: Result<(), _> = joined.await;
        show(&result)
    });
    assert_eq!(output.unwrap(), "panicked expected, joined");
    assert_eq!(reports.take(), ["expected"]);
}

// spec: BX-1
fn the_waker_of_a_block_on_that_has_ended_badly(variant: Variant) {
    let event_loop = variant.build();
    let kept = RefCell::new(None);
    let _ = panic_of(|| {
        event_loop.block_on(async {
            let waker = waker().await;
            // Woken already when it panics.
            waker.wake_by_ref();
            elsewhere(|| waker.wake_by_ref());
            kept.replace(Some(waker));
            panic!("expected");
        })
    });
    let waker: Waker = kept.take().unwrap();
    // Whatever is in the queue now, is for nobody.
    event_loop.run_until_idle().unwrap();
    waker.wake_by_ref();
    elsewhere(|| waker.wake_by_ref());
    event_loop.run_until_idle().unwrap();
    assert_eq!(event_loop.block_on(async { 5 }).unwrap(), 5);
    event_loop.cx().close();
    waker.wake_by_ref();
    let _ = event_loop.run();
    waker.wake();
}
