//! Futures on the loop: what they come to, and in which order.

mod common;
#[path = "common/futures.rs"]
mod futures;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn, ready};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use common::timers::{automatic, tick};
use common::wakers::CountingWaker;
use common::{Log, OnDrop, Tracker, Variant, turn_until_quiet, wait_until_sleeping};
use futures::{Gate, SharedGate, build, peek, result, spin, waker};
use mainspring::{Cx, Error, EventLoop, JoinError, JoinHandle, LocalPromise, PanicPolicy, Promise};

suite! {
    a_future_gives_its_output_to_its_handle,
    a_future_is_not_polled_by_the_call_that_spawns_it,
    futures_and_outputs_need_not_be_send,
    futures_are_first_polled_in_the_order_in_which_they_were_spawned,
    futures_are_polled_in_the_order_in_which_they_were_woken,
    a_future_that_nobody_wakes_is_polled_once,
    a_future_is_dropped_as_soon_as_it_is_done,
    a_handle_that_is_dropped_detaches_its_future,
    an_output_that_nobody_takes_is_dropped_with_the_last_who_could,
    a_handle_tells_whether_its_future_is_finished,
    a_handle_can_be_awaited_by_another_future,
    a_handle_wakes_only_the_last_who_asked,
    a_handle_that_is_dropped_lets_go_of_the_waker_that_it_was_given,
    a_long_chain_of_handles_needs_no_deep_stack,
    futures_spawn_futures,
    a_context_can_be_used_between_awaits,
    the_current_loop_is_known_in_a_future,
    futures_stay_where_they_are,
    futures_of_every_size_and_alignment,
    a_future_without_size_and_an_output_without_size,
    many_futures,
    a_future_awaits_promises_of_both_kinds,
    a_handle_becomes_a_promise,
    a_handle_of_a_finished_future_becomes_a_promise,
    a_promise_of_a_future_that_is_dropped_does_not_stop_it,
    other_threads_spawn_futures_that_are_not_send,
    the_futures_of_one_thread_begin_in_its_order,
    the_loop_spawns_through_its_own_handle,
    two_loops_of_one_thread_await_each_other,
    block_on_gives_the_output,
    block_on_drives_the_rest_of_the_loop,
    block_on_leaves_the_rest_for_later,
    block_on_borrows_from_the_stack,
    block_on_sleeps_until_another_thread_wakes_it,
    block_on_can_be_called_again,
    block_on_awaits_what_was_spawned,
    block_on_drops_its_future_before_it_returns,
    block_on_polls_only_when_it_is_woken,
    block_on_of_one_loop_within_that_of_another,
    spurious_polls_are_not_made_by_other_futures,
}

// spec: BX-1, PR-5
fn a_future_gives_its_output_to_its_handle(variant: Variant) {
    let event_loop = build(variant);
    let mut handle = event_loop.cx().spawn_local(async { 5 });
    assert!(!handle.is_finished());
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok 5");
}

// spec: BX-1
fn a_future_is_not_polled_by_the_call_that_spawns_it(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (inner, outer) = (log.clone(), log.clone());
    event_loop
        .cx()
        .submit(move |cx| {
            let log = inner.clone();
            drop(cx.spawn_local(async move { log.push("future") }));
            inner.push("callback");
        })
        .unwrap();
    let from_outside = log.clone();
    drop(event_loop.cx().spawn_local(async move { from_outside.push("spawned outside") }));
    assert_eq!(log.len(), 0);
    event_loop.run_until_idle().unwrap();
    assert_eq!(outer.take(), ["spawned outside", "callback", "future"]);
}

// spec: BX-1, SH-3
fn futures_and_outputs_need_not_be_send(variant: Variant) {
    let event_loop = build(variant);
    let value = Rc::new(Cell::new(1));
    let shared = Rc::clone(&value);
    let handle = event_loop.cx().spawn_local(async move {
        shared.set(shared.get() + 1);
        shared
    });
    let output = event_loop.block_on(handle).unwrap().unwrap();
    assert!(Rc::ptr_eq(&value, &output));
    assert_eq!((value.get(), Rc::strong_count(&value)), (2, 2));
}

// spec: BX-1
fn futures_are_first_polled_in_the_order_in_which_they_were_spawned(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    for n in 0..1_000 {
        let log = log.clone();
        drop(event_loop.cx().spawn_local(async move { log.push(n) }));
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), Vec::from_iter(0..1_000));
}

// spec: BX-1
fn futures_are_polled_in_the_order_in_which_they_were_woken(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let gates: Vec<_> = (0..100).map(|_| Gate::new()).collect();
    for (n, gate) in gates.iter().enumerate() {
        let (log, pass) = (log.clone(), gate.pass());
        drop(event_loop.cx().spawn_local(async move {
            pass.await;
            log.push(n);
        }));
    }
    turn_until_quiet(&event_loop);
    // 0, 37, 74, 11, ...: every number once.
    let order: Vec<_> = (0..100).map(|n| n * 37 % 100).collect();
    for n in &order {
        gates[*n].open();
    }
    assert_eq!(log.len(), 0);
    turn_until_quiet(&event_loop);
    assert_eq!(log.take(), order);
}

// spec: BX-1
fn a_future_that_nobody_wakes_is_polled_once(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let mut handle = event_loop.cx().spawn_local(gate.pass());
    for _ in 0..10 {
        event_loop.cx().submit(|_| ()).unwrap();
        event_loop.cx().queue_microtask(|_| ());
        tick(&event_loop);
    }
    assert_eq!(gate.polls(), 1);
    assert!(!handle.is_finished());
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(gate.polls(), 2);
    assert_eq!(result(&mut handle), "ok ()");
}

// spec: BX-1
fn a_future_is_dropped_as_soon_as_it_is_done(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let alive = tracker.clone();
    let mut handle = event_loop.cx().spawn_local(poll_fn(move |cx| {
        let _token = &token;
        let alive = alive.clone();
        // The checkpoint comes after the poll, and is the first who can look.
        mainspring::current()
            .unwrap()
            .queue_microtask(move |_| assert_eq!(alive.alive(), 0, "it is dropped by now"));
        let _ = cx;
        Poll::Ready(7)
    }));
    assert_eq!(tracker.alive(), 1);
    turn_until_quiet(&event_loop);
    assert_eq!(tracker.alive(), 0);
    assert_eq!(result(&mut handle), "ok 7");
}

// spec: BX-1
fn a_handle_that_is_dropped_detaches_its_future(variant: Variant) {
    let event_loop = build(variant);
    let (gate, log) = (Gate::new(), Log::new());
    for when in ["before", "between"] {
        let (pass, log) = (gate.pass(), log.clone());
        let handle = event_loop.cx().spawn_local(async move {
            pass.await;
            log.push(when);
        });
        if when == "between" {
            turn_until_quiet(&event_loop);
        }
        drop(handle);
    }
    turn_until_quiet(&event_loop);
    assert_eq!(log.len(), 0);
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["before", "between"]);
}

// spec: BX-1
fn an_output_that_nobody_takes_is_dropped_with_the_last_who_could(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    // Nobody is there when it comes.
    let token = tracker.token();
    drop(event_loop.cx().spawn_local(async move { token }));
    assert_eq!(tracker.alive(), 1);
    turn_until_quiet(&event_loop);
    assert_eq!(tracker.alive(), 0);
    // Somebody is there, and goes.
    let token = tracker.token();
    let handle = event_loop.cx().spawn_local(async move { token });
    turn_until_quiet(&event_loop);
    assert!(handle.is_finished());
    assert_eq!(tracker.alive(), 1);
    drop(handle);
    assert_eq!(tracker.alive(), 0);
    // Somebody goes who has taken it.
    let token = tracker.token();
    let mut handle = event_loop.cx().spawn_local(async move { token });
    turn_until_quiet(&event_loop);
    let Poll::Ready(output) = peek(&mut handle) else { panic!("it is done") };
    drop(handle);
    assert_eq!(tracker.alive(), 1);
    drop(output);
    assert_eq!(tracker.alive(), 0);
}

// spec: BX-1
fn a_handle_tells_whether_its_future_is_finished(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let handle = Rc::new(event_loop.cx().spawn_local(gate.pass()));
    assert!(!handle.is_finished());
    turn_until_quiet(&event_loop);
    assert!(!handle.is_finished());
    let (seen, copy) = (Rc::new(Cell::new(None)), Rc::clone(&handle));
    let note = Rc::clone(&seen);
    // Woken is not finished.
    let opened = gate.clone();
    event_loop
        .cx()
        .submit(move |_| {
            opened.open();
            note.set(Some(copy.is_finished()));
        })
        .unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(seen.get(), Some(false));
    assert!(handle.is_finished());
    assert!(handle.is_finished());
}

// spec: BX-1
fn a_handle_can_be_awaited_by_another_future(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let pass = gate.pass();
    let first = event_loop.cx().spawn_local(async move {
        pass.await;
        "first"
    });
    let second = event_loop.cx().spawn_local(async move { first.await.unwrap().len() });
    let mut third = event_loop.cx().spawn_local(async move { second.await.unwrap() * 2 });
    turn_until_quiet(&event_loop);
    assert!(!third.is_finished());
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut third), "ok 10");
}

// spec: BX-1
fn a_handle_wakes_only_the_last_who_asked(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let mut handle = event_loop.cx().spawn_local(gate.pass());
    let counts: Vec<_> = (0..3)
        .map(|_| {
            let (count, waker) = CountingWaker::new();
            for _ in 0..2 {
                let mut cx = Context::from_waker(&waker);
                assert!(Pin::new(&mut handle).poll(&mut cx).is_pending());
            }
            count
        })
        .collect();
    turn_until_quiet(&event_loop);
    gate.open();
    turn_until_quiet(&event_loop);
    assert_eq!(counts.iter().map(|count| count.count()).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(result(&mut handle), "ok ()");
    for count in counts {
        assert_eq!(Arc::strong_count(&count), 1, "the waker is gone");
    }
}

// spec: BX-1
fn a_handle_that_is_dropped_lets_go_of_the_waker_that_it_was_given(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let mut handle = event_loop.cx().spawn_local(gate.pass());
    let (count, waker) = CountingWaker::new();
    assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    drop(handle);
    assert_eq!(Arc::strong_count(&count), 1);
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(count.count(), 0);
}

// spec: BX-1
fn a_long_chain_of_handles_needs_no_deep_stack(variant: Variant) {
    const LINKS: usize = if cfg!(miri) { 200 } else { 20_000 };
    let thread = thread::Builder::new().stack_size(256 * 1024).spawn(move || {
        let event_loop = build(variant);
        let gate = Gate::new();
        let pass = gate.pass();
        let mut last = event_loop.cx().spawn_local(async move {
            pass.await;
            0
        });
        for _ in 0..LINKS {
            last = event_loop.cx().spawn_local(async move { last.await.unwrap() + 1 });
        }
        turn_until_quiet(&event_loop);
        gate.open();
        event_loop.run_until_idle().unwrap();
        assert_eq!(result(&mut last), format!("ok {LINKS}"));

        // And one that never comes to an end, at the end of the loop.
        let mut last: JoinHandle<()> = event_loop.cx().spawn_local(pending());
        for _ in 0..LINKS {
            last = event_loop.cx().spawn_local(async move { last.await.unwrap() });
        }
        turn_until_quiet(&event_loop);
        drop(event_loop);
        assert_eq!(result(&mut last), "terminated");
    });
    thread.unwrap().join().unwrap();
}

// spec: BX-1, SH-4
fn futures_spawn_futures(variant: Variant) {
    fn tree(cx: Cx, depth: u32) -> Pin<Box<dyn Future<Output = u32>>> {
        Box::pin(async move {
            if depth == 0 {
                return 1;
            }
            let left = cx.spawn_local(tree(cx.clone(), depth - 1));
            let right = cx.spawn_local(tree(cx.clone(), depth - 1));
            left.await.unwrap() + right.await.unwrap()
        })
    }
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let mut handle = cx.spawn_local(tree(cx.clone(), 6));
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok 64");
}

// spec: BX-1, SH-4
fn a_context_can_be_used_between_awaits(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let log = Log::new();
    let (cx, notes) = (event_loop.cx().clone(), log.clone());
    let mut handle = event_loop.cx().spawn_local(async move {
        let gate = Gate::new();
        let opened = gate.clone();
        cx.set_timeout(Duration::from_secs(5), move |_| opened.open()).unwrap();
        notes.push("before");
        gate.pass().await;
        cx.queue_microtask(notes.note("microtask"));
        cx.submit(notes.note("task")).unwrap();
        notes.push("after");
        Promise::resolve(&cx.handle(), 5).await.unwrap()
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["before", "after", "microtask", "task"]);
    assert_eq!(result(&mut handle), "ok 5");
}

// spec: SH-4
fn the_current_loop_is_known_in_a_future(variant: Variant) {
    let event_loop = build(variant);
    let other = build(variant);
    let log = Log::new();
    for (name, driven) in [("one", &event_loop), ("other", &other)] {
        let (log, copy) = (log.clone(), log.clone());
        driven.cx().queue_microtask(|_| ());
        drop(driven.cx().spawn_local(async move {
            mainspring::current().unwrap().queue_microtask(log.note(name));
        }));
        assert!(mainspring::current().is_err());
        driven.run_until_idle().unwrap();
        assert_eq!(copy.take(), [name]);
    }
    let note = log.note("by block_on");
    event_loop.block_on(async { mainspring::current().unwrap().submit(note).unwrap() }).unwrap();
    other.run_until_idle().unwrap();
    assert!(mainspring::current().is_err());
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["by block_on"]);
}

/// Notes where it is, each time that it can.
struct Place {
    log: Log<usize>,
    polls: usize,
    _pinned: PhantomPinned,
}

impl Future for Place {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out.
        let this = unsafe { self.get_unchecked_mut() };
        this.log.push(std::ptr::from_ref(this).addr());
        this.polls += 1;
        cx.waker().wake_by_ref();
        if this.polls == 10 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.log.push(std::ptr::from_ref(self).addr());
    }
}

// spec: BX-1
fn futures_stay_where_they_are(variant: Variant) {
    let event_loop = build(variant);
    for ending in ["done", "aborted", "end"] {
        let event_loop = build(variant);
        let log = Log::new();
        let place = Place { log: log.clone(), polls: 0, _pinned: PhantomPinned };
        let gate = Gate::new();
        let pass = gate.pass();
        let mut place = Box::pin(async move {
            if ending != "done" {
                pass.await;
            }
            place.await;
        });
        // Not in a box: the executor itself must not move it.
        let unboxed = Place { log: log.clone(), polls: 0, _pinned: PhantomPinned };
        let handle = event_loop.cx().spawn_local(unboxed);
        let boxed = event_loop.cx().spawn_local(poll_fn(move |cx| place.as_mut().poll(cx)));
        for _ in 0..100 {
            drop(event_loop.cx().spawn_local(async {}));
        }
        match ending {
            "done" => turn_until_quiet(&event_loop),
            "aborted" => {
                handle.abort();
                boxed.abort();
                turn_until_quiet(&event_loop);
            }
            _ => drop(event_loop),
        }
        drop((handle, boxed));
        let mut places = log.take();
        assert!(places.len() >= 2, "{ending}");
        places.sort_unstable();
        places.dedup();
        assert!(places.len() <= 2, "{ending}: {places:?}");
    }
    // Alone, by `block_on`, which may keep it on the stack.
    let log = Log::new();
    event_loop.block_on(Place { log: log.clone(), polls: 0, _pinned: PhantomPinned }).unwrap();
    let places = log.take();
    assert_eq!(places.len(), 11);
    assert!(places.iter().all(|place| *place == places[0]));
}

/// A future of this size and alignment whose output is of the same.
struct Odd<A, const SIZE: usize> {
    bytes: [u8; SIZE],
    polls: usize,
    aligned: A,
}

impl<A: Copy + Unpin, const SIZE: usize> Future for Odd<A, SIZE> {
    type Output = ([u8; SIZE], A);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        assert_eq!(std::ptr::from_ref(this).addr() % align_of::<A>(), 0);
        assert_eq!(std::ptr::from_ref(&this.aligned).addr() % align_of::<A>(), 0);
        this.polls += 1;
        for byte in &mut this.bytes {
            *byte = byte.wrapping_add(1);
        }
        cx.waker().wake_by_ref();
        if this.polls < 3 { Poll::Pending } else { Poll::Ready((this.bytes, this.aligned)) }
    }
}

#[derive(Clone, Copy)]
#[repr(align(128))]
struct Wide;

#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page;

// spec: BX-1
fn futures_of_every_size_and_alignment(variant: Variant) {
    fn check<A: Copy + Unpin + 'static, const SIZE: usize>(event_loop: &EventLoop, aligned: A) {
        for is_taken in [true, false] {
            let odd = Odd { bytes: [7; SIZE], polls: 0, aligned };
            let mut handle = event_loop.cx().spawn_local(odd);
            turn_until_quiet(event_loop);
            if is_taken {
                let Poll::Ready(Ok((bytes, _))) = peek(&mut handle) else { panic!("it is done") };
                assert_eq!(bytes, [10; SIZE]);
            }
        }
        // Dropped without a poll, too.
        let odd = Odd { bytes: [7; SIZE], polls: 0, aligned };
        event_loop.cx().spawn_local(odd).abort();
    }
    let event_loop = build(variant);
    check::<u8, 0>(&event_loop, 1);
    check::<u8, 1>(&event_loop, 1);
    check::<u16, 3>(&event_loop, 1);
    check::<u128, 17>(&event_loop, 1);
    check::<u64, 4_000>(&event_loop, 1);
    check::<u64, 70_000>(&event_loop, 1);
    check::<Wide, 1>(&event_loop, Wide);
    check::<Wide, 500>(&event_loop, Wide);
    check::<Page, 1>(&event_loop, Page);
    event_loop.run_until_idle().unwrap();
}

// spec: BX-1
fn a_future_without_size_and_an_output_without_size(variant: Variant) {
    let event_loop = build(variant);
    let nothing = async {};
    assert!(size_of_val(&nothing) <= 1);
    let mut a = event_loop.cx().spawn_local(nothing);
    let mut b = event_loop.cx().spawn_local(pending::<()>());
    let mut c = event_loop.cx().spawn_local(ready(()));
    b.abort();
    let d = event_loop.cx().spawn_local(pending::<std::convert::Infallible>());
    drop(d);
    turn_until_quiet(&event_loop);
    assert_eq!([result(&mut a), result(&mut b), result(&mut c)], ["ok ()", "aborted", "ok ()"]);
}

// spec: BX-1
fn many_futures(variant: Variant) {
    const MANY: usize = if cfg!(miri) { 500 } else { 100_000 };
    let event_loop = build(variant);
    let (gate, done) = (Gate::new(), Rc::new(Cell::new(0)));
    for _ in 0..3 {
        let gate = if done.get() == 0 { gate.clone() } else { Gate::new() };
        let before = done.get();
        for _ in 0..MANY {
            let (pass, done) = (gate.pass(), Rc::clone(&done));
            drop(event_loop.cx().spawn_local(async move {
                pass.await;
                done.set(done.get() + 1);
            }));
        }
        turn_until_quiet(&event_loop);
        assert_eq!(done.get(), before);
        gate.open();
        event_loop.run_until_idle().unwrap();
        assert_eq!(done.get(), before + MANY);
    }
}

// spec: PR-5
fn a_future_awaits_promises_of_both_kinds(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (shared, resolver) = Promise::<()>::with_resolvers(&event_loop.handle());
    let (local, local_resolver) = LocalPromise::with_resolvers(cx);
    let mut handle = cx.spawn_local(async move {
        let text: Rc<str> = local.await.unwrap();
        let reason = shared.await.unwrap_err();
        format!("{text} {reason}")
    });
    turn_until_quiet(&event_loop);
    local_resolver.resolve("not sent".into());
    turn_until_quiet(&event_loop);
    assert!(!handle.is_finished());
    thread::spawn(move || resolver.reject(Error::Overloaded)).join().unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), format!("ok \"not sent {}\"", Error::Overloaded));
}

/// Notes what a promise comes to.
fn outcome<T: Clone + std::fmt::Debug + 'static>(promise: &LocalPromise<T>) -> Log<String> {
    let log = Log::new();
    let note = log.clone();
    promise.handle(move |_, result| {
        note.push(match result {
            Ok(value) => format!("ok {value:?}"),
            Err(reason) => format!("err {}", reason.as_error()),
        });
        Ok::<(), Error>(())
    });
    log
}

// spec: PR-5, PR-1
fn a_handle_becomes_a_promise(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let pass = gate.pass();
    let promise = event_loop
        .cx()
        .spawn_local(async move {
            pass.await;
            Rc::new(5)
        })
        .into_promise();
    let outcome = outcome(&promise);
    turn_until_quiet(&event_loop);
    assert_eq!(outcome.len(), 0);
    let order = Log::new();
    let note = order.clone();
    promise.then(move |_, _| note.push("promise"));
    let note = order.clone();
    drop(event_loop.cx().spawn_local(async move { note.push("next future") }));
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(outcome.take(), ["ok 5"]);
    // It was woken after the other was spawned.
    assert_eq!(order.take(), ["next future", "promise"]);
}

// spec: PR-5
fn a_handle_of_a_finished_future_becomes_a_promise(variant: Variant) {
    let event_loop = build(variant);
    let handle = event_loop.cx().spawn_local(async { 5 });
    event_loop.run_until_idle().unwrap();
    assert!(handle.is_finished());
    let outcome = outcome(&handle.into_promise());
    assert_eq!(outcome.len(), 0, "handlers always run later");
    event_loop.run_until_idle().unwrap();
    assert_eq!(outcome.take(), ["ok 5"]);
}

// spec: PR-5
fn a_promise_of_a_future_that_is_dropped_does_not_stop_it(variant: Variant) {
    let event_loop = build(variant);
    let (gate, log) = (Gate::new(), Log::new());
    let (pass, note) = (gate.pass(), log.clone());
    drop(
        event_loop
            .cx()
            .spawn_local(async move {
                pass.await;
                note.push("local");
            })
            .into_promise(),
    );
    let (sender, receiver) = mpsc::channel();
    drop(event_loop.handle().spawn(move |_| async move { sender.send("sent").unwrap() }));
    turn_until_quiet(&event_loop);
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["local"]);
    assert_eq!(receiver.try_recv(), Ok("sent"));
}

// spec: PR-5, SH-2, SH-3
fn other_threads_spawn_futures_that_are_not_send(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let gate = SharedGate::new();
    let pass = gate.pass();
    let promise = handle.spawn(move |cx: &Cx| {
        let (home, cx) = (thread::current().id(), cx.clone());
        let not_sent = Rc::new(RefCell::new(vec![1, 2]));
        async move {
            pass.await;
            not_sent.borrow_mut().push(3);
            cx.yield_now().await;
            assert_eq!(thread::current().id(), home);
            let sum: i32 = not_sent.borrow().iter().sum();
            (sum, home)
        }
    });
    wait_until_sleeping(&handle);
    gate.open();
    let (sum, home) = promise.wait(Duration::from_secs(50)).unwrap();
    assert_eq!((sum, home), (6, thread.thread().id()));
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: PR-5, IN-8
fn the_futures_of_one_thread_begin_in_its_order(variant: Variant) {
    const EACH: usize = if cfg!(miri) { 20 } else { 500 };
    let (handle, thread) = variant.spawn_running();
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..3)
        .map(|name| {
            let (handle, sender) = (handle.clone(), sender.clone());
            thread::spawn(move || {
                for n in 0..EACH {
                    let sender = sender.clone();
                    drop(handle.spawn(move |_| async move { sender.send((name, n)).unwrap() }));
                }
            })
        })
        .collect();
    drop(sender);
    for thread in threads {
        thread.join().unwrap();
    }
    let mut next = [0; 3];
    for (name, n) in receiver {
        assert_eq!(next[name], n);
        next[name] += 1;
    }
    assert_eq!(next, [EACH; 3]);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: PR-5
fn the_loop_spawns_through_its_own_handle(variant: Variant) {
    let event_loop = build(variant);
    let promise = event_loop.handle().spawn(|_| async { *Rc::new(6) * *Rc::new(6) });
    assert_eq!(event_loop.block_on(promise).unwrap().unwrap(), 36);
}

// spec: SH-5
fn two_loops_of_one_thread_await_each_other(variant: Variant) {
    let (one, other) = (build(variant), build(variant));
    let gate = Gate::new();
    let pass = gate.pass();
    let first = one.cx().spawn_local(async move {
        pass.await;
        1
    });
    let second = other.cx().spawn_local(async move { first.await.unwrap() + 1 });
    let mut third = one.cx().spawn_local(async move { second.await.unwrap() + 1 });
    for _ in 0..3 {
        turn_until_quiet(&one);
        turn_until_quiet(&other);
    }
    gate.open();
    for _ in 0..3 {
        turn_until_quiet(&other);
        turn_until_quiet(&one);
    }
    assert_eq!(result(&mut third), "ok 3");
}

// spec: BX-1
fn block_on_gives_the_output(variant: Variant) {
    let event_loop = build(variant);
    assert_eq!(event_loop.block_on(async { 5 }).unwrap(), 5);
    assert_eq!(event_loop.block_on(ready("ready")).unwrap(), "ready");
    event_loop.block_on(spin(1_000)).unwrap();
    let text: Result<Rc<str>, Error> = event_loop.block_on(async { "not sent".into() });
    assert_eq!(&*text.unwrap(), "not sent");
}

// spec: BX-1
fn block_on_drives_the_rest_of_the_loop(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    cx.submit(log.note("task")).unwrap();
    cx.set_timeout(Duration::from_secs(1), log.note("timer")).unwrap();
    cx.set_immediate(log.note("immediate"));
    let other = log.clone();
    drop(cx.spawn_local(async move { other.push("future") }));
    let gate = Gate::new();
    let opened = gate.clone();
    cx.set_timeout(Duration::from_secs(2), move |_| opened.open()).unwrap();
    event_loop.block_on(gate.pass()).unwrap();
    assert_eq!(log.take(), ["future", "task", "immediate", "timer"]);
}

// spec: BX-1
fn block_on_leaves_the_rest_for_later(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let (log, gate) = (Log::new(), Gate::new());
    let (note, pass) = (log.clone(), gate.pass());
    drop(event_loop.cx().spawn_local(async move {
        pass.await;
        note.push("future");
    }));
    event_loop.cx().set_timeout(Duration::from_secs(9), log.note("timer")).unwrap();
    event_loop.block_on(async {}).unwrap();
    assert_eq!(log.len(), 0);
    assert_eq!(clock.elapsed(), Duration::ZERO, "it did not wait for the timer");
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["future", "timer"]);
}

// spec: BX-1
fn block_on_borrows_from_the_stack(variant: Variant) {
    let event_loop = build(variant);
    let mut numbers = vec![1, 2, 3];
    let text = String::from("borrowed");
    let output: &str = event_loop
        .block_on(async {
            numbers.push(4);
            event_loop.cx().yield_now().await;
            numbers.push(5);
            &text[..6]
        })
        .unwrap();
    assert_eq!(output, "borrow");
    numbers.push(6);
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

// spec: BX-1, WK-1, WK-2
fn block_on_sleeps_until_another_thread_wakes_it(variant: Variant) {
    let event_loop = build(variant);
    for _ in 0..20 {
        let gate = SharedGate::new();
        let thread = {
            let (handle, gate) = (event_loop.handle(), gate.clone());
            thread::spawn(move || {
                wait_until_sleeping(&handle);
                gate.open();
            })
        };
        event_loop.block_on(gate.pass()).unwrap();
        assert_eq!(gate.polls(), 2);
        thread.join().unwrap();
    }
}

// spec: BX-1
fn block_on_can_be_called_again(variant: Variant) {
    let event_loop = build(variant);
    for n in 0..100 {
        let handle = event_loop.cx().spawn_local(async move { n });
        assert_eq!(event_loop.block_on(handle).unwrap().unwrap(), n);
        tick(&event_loop);
    }
    event_loop.run_until_idle().unwrap();
}

// spec: BX-1
fn block_on_awaits_what_was_spawned(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let sum = event_loop.block_on(async {
        let handles: Vec<_> = (0..10)
            .map(|n| {
                let own = cx.clone();
                cx.spawn_local(async move {
                    for _ in 0..n {
                        own.yield_now().await;
                    }
                    n
                })
            })
            .collect();
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.unwrap();
        }
        sum
    });
    assert_eq!(sum.unwrap(), 45);
}

// spec: BX-1
fn block_on_drops_its_future_before_it_returns(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let kept = RefCell::new(None);
    event_loop
        .block_on(async {
            let _token = token;
            kept.replace(Some(waker().await));
        })
        .unwrap();
    assert_eq!(tracker.alive(), 0);
    // The waker is for nobody any more.
    let waker = kept.take().unwrap();
    waker.wake_by_ref();
    tick(&event_loop);
    let copy = waker.clone();
    thread::spawn(move || copy.wake()).join().unwrap();
    tick(&event_loop);
    waker.wake_by_ref();
    event_loop.run_until_idle().unwrap();
    drop(event_loop);
    waker.wake();
}

// spec: BX-1
fn block_on_polls_only_when_it_is_woken(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    for _ in 0..50 {
        drop(event_loop.cx().spawn_local(spin(20)));
    }
    let opened = gate.clone();
    let own = event_loop.cx().clone();
    drop(event_loop.cx().spawn_local(async move {
        for _ in 0..20 {
            own.yield_now().await;
        }
        opened.open();
    }));
    event_loop.block_on(gate.pass()).unwrap();
    assert_eq!(gate.polls(), 2);
}

// spec: BX-1, SH-5
fn block_on_of_one_loop_within_that_of_another(variant: Variant) {
    let (one, other) = (build(variant), build(variant));
    let log = Log::new();
    drop(one.cx().spawn_local({
        let log = log.clone();
        async move { log.push("one's") }
    }));
    drop(other.cx().spawn_local({
        let log = log.clone();
        async move { log.push("other's") }
    }));
    let output = one.block_on(async {
        one.cx().yield_now().await;
        let output = other.block_on(async {
            other.cx().yield_now().await;
            assert!(matches!(one.block_on(async {}), Err(Error::ReentrantRun)));
            5
        });
        one.cx().yield_now().await;
        output.unwrap() + 1
    });
    assert_eq!(output.unwrap(), 6);
    assert_eq!(log.take(), ["one's", "other's"]);
}

// spec: BX-1
fn spurious_polls_are_not_made_by_other_futures(variant: Variant) {
    let event_loop = build(variant);
    let gates: Vec<_> = (0..20).map(|_| Gate::new()).collect();
    for gate in &gates {
        drop(event_loop.cx().spawn_local(gate.pass()));
    }
    turn_until_quiet(&event_loop);
    gates[7].open();
    turn_until_quiet(&event_loop);
    for (n, gate) in gates.iter().enumerate() {
        assert_eq!(gate.polls(), if n == 7 { 2 } else { 1 });
    }
    for gate in gates {
        gate.open();
    }
    event_loop.run_until_idle().unwrap();
}

// spec: ER-1
#[test]
fn the_errors_of_a_handle_say_what_they_are() {
    let _watchdog = common::watchdog("the_errors_of_a_handle_say_what_they_are");
    fn is_error<E: std::error::Error + 'static>(_: &E) {}
    let event_loop = common::builder().panic_policy(PanicPolicy::Isolate).build().unwrap();
    let aborted = event_loop.cx().spawn_local(pending::<()>());
    aborted.abort();
    let panicked = event_loop.cx().spawn_local(async { panic!("expected by the test") });
    let (aborted, panicked): (Result<(), JoinError>, Result<(), JoinError>) =
        event_loop.block_on(async { (aborted.await, panicked.await) }).unwrap();
    let terminated = event_loop.cx().spawn_local(pending::<()>());
    drop(event_loop);
    let Poll::Ready(terminated) = std::pin::pin!(terminated)
        .as_mut()
        .poll(&mut Context::from_waker(std::task::Waker::noop()))
    else {
        panic!("known")
    };
    let errors = [aborted.unwrap_err(), panicked.unwrap_err(), terminated.unwrap_err()];
    for error in &errors {
        is_error(error);
        let text = error.to_string();
        assert!(text.starts_with(|first: char| first.is_lowercase()), "{text}");
        assert!(!text.ends_with('.'), "{text}");
        assert!(!format!("{error:?}").is_empty());
    }
    assert!(errors[1].to_string().contains("expected by the test"), "{}", errors[1]);
}

// spec: ER-2
#[test]
fn a_budget_of_no_polls_is_refused() {
    let error = common::builder().future_budget(0).build().unwrap_err();
    assert!(matches!(error, Error::InvalidOption { option: "future_budget", .. }), "{error}");
}

// spec: SH-1
#[test]
fn a_handle_stays_on_its_thread() {
    trait IsSend<Marker> {
        fn check() {}
    }
    impl<T: ?Sized> IsSend<()> for T {}
    impl<T: ?Sized + Send> IsSend<u8> for T {}
    // Two candidates, if it were `Send`; that would not compile.
    let _ = <JoinHandle<i32> as IsSend<_>>::check;
}

// spec: BX-1
#[test]
fn what_a_future_captures_is_dropped_on_its_thread_and_once() {
    let _watchdog = common::watchdog("what_a_future_captures_is_dropped_on_its_thread_and_once");
    let drops = Arc::new(AtomicUsize::new(0));
    let home = thread::current().id();
    let event_loop = common::builder().build().unwrap();
    let count = Arc::clone(&drops);
    let handle = event_loop.cx().spawn_local(async move {
        let _guard = OnDrop(move || {
            assert_eq!(thread::current().id(), home);
            count.fetch_add(1, Ordering::SeqCst);
        });
        waker().await
    });
    let waker = event_loop.block_on(handle).unwrap().unwrap();
    thread::spawn(move || drop(waker)).join().unwrap();
    drop(event_loop);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}
