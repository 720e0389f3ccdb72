//! Wakers: on any thread, at any time, for as long as anybody keeps them.

// Waking by value is what some of these are about.
#![allow(clippy::waker_clone_wake)]

mod common;
#[path = "common/futures.rs"]
mod futures;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use common::timers::{automatic, elsewhere, tick};
use common::{
    Hook, Kind, Log, OnDrop, Tracker, Variant, must_return, turn_until_quiet, wait_until,
    wait_until_sleeping,
};
use futures::{Gate, Parts, SharedGate, build, peek, result, waker};
use mainspring::{Cx, EventLoop, JoinHandle, LoopState};

suite! {
    a_wake_from_another_thread_ends_the_sleep,
    a_wake_before_the_loop_is_driven_is_not_lost,
    however_often_it_is_woken_it_is_polled_once,
    however_often_another_thread_wakes_it_it_is_polled_once,
    a_wake_during_the_poll_causes_another,
    a_wake_during_the_poll_by_another_thread_causes_another,
    a_wake_during_the_last_poll_causes_none,
    a_wake_after_the_end_of_the_task_does_nothing,
    a_wake_after_an_abort_does_nothing,
    a_wake_in_the_destructor_does_nothing,
    a_wake_in_the_destructor_at_the_end_of_the_loop_does_nothing,
    a_waker_in_its_own_future_is_no_leak,
    a_future_that_awaits_itself_is_no_leak,
    two_futures_that_await_each_other_are_no_leak,
    wakers_outlive_the_loop,
    wakers_outlive_a_loop_that_was_never_driven,
    wakers_outlive_the_thread,
    wakers_in_thread_locals,
    wakers_of_a_loop_that_was_forgotten,
    a_waker_is_dropped_last_and_elsewhere,
    an_output_is_not_dropped_by_a_waker,
    an_output_is_not_dropped_by_a_waker_after_the_end_of_the_loop,
    all_wakers_of_a_task_wake_the_same,
    wakers_of_different_tasks_are_different,
    clones_are_independent,
    a_wake_by_value_and_one_by_reference_are_the_same,
    a_wake_from_every_kind_of_callback,
    a_wake_from_every_hook,
    a_wake_from_a_timer,
    a_wake_from_a_timer_of_another_thread,
    a_wake_from_an_io_callback,
    a_wake_from_another_future,
    a_wake_from_another_loop,
    a_wake_from_another_loop_of_the_same_thread,
    a_wake_from_a_worker,
    a_storm_of_wakes_loses_none,
    a_storm_of_wakes_of_many_tasks,
    a_storm_of_wakes_while_tasks_finish_and_are_aborted,
    a_storm_of_wakes_while_the_loop_ends,
    a_storm_of_clones_and_drops,
    a_thread_wakes_many_in_its_order,
    a_wake_by_the_loop_and_one_by_another_thread_are_one,
    another_thread_sees_what_was_written_before_the_poll,
    a_waker_that_another_thread_drops_while_the_task_ends,
    a_waker_wrapped_by_another,
}

/// Spawns a future that waits for the gate, drives it there, and gives its waker.
fn waiting(event_loop: &EventLoop, gate: &Gate) -> (JoinHandle<()>, Waker) {
    let handle = event_loop.cx().spawn_local(gate.pass());
    turn_until_quiet(event_loop);
    let waker = gate.wakers().pop().unwrap();
    (handle, waker)
}

// spec: BX-1, WK-1, WK-2, SH-2
fn a_wake_from_another_thread_ends_the_sleep(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 50 };
    let (handle, thread) = variant.spawn_running();
    for _ in 0..ROUNDS {
        let gate = SharedGate::new();
        let pass = gate.pass();
        let promise = handle.spawn(move |_| pass);
        wait_until(|| gate.polls() == 1);
        wait_until_sleeping(&handle);
        gate.open();
        promise.wait(Duration::from_secs(50)).unwrap();
        assert_eq!(gate.polls(), 2);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: BX-1, WK-2
fn a_wake_before_the_loop_is_driven_is_not_lost(variant: Variant) {
    let event_loop = build(variant);
    for is_local in [true, false] {
        let gate = Gate::new();
        let (mut handle, waker) = waiting(&event_loop, &gate);
        gate.forget();
        gate.open();
        turn_until_quiet(&event_loop);
        assert!(!handle.is_finished());
        if is_local {
            waker.wake();
        } else {
            elsewhere(|| waker.wake());
        }
        assert_eq!(gate.polls(), 1, "not by the wake");
        // With time to block: it must not.
        let turned = event_loop.turn(None).unwrap();
        assert_eq!(gate.polls(), 2);
        // That of another thread may need a task to carry it.
        assert!((1..=2).contains(&turned.callbacks));
        assert!(turned.callbacks == 1 || !is_local);
        assert_eq!(result(&mut handle), "ok ()");
    }
}

// spec: BX-1
fn however_often_it_is_woken_it_is_polled_once(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let (_handle, waker) = waiting(&event_loop, &gate);
    for _ in 0..1_000 {
        waker.wake_by_ref();
        waker.clone().wake();
    }
    turn_until_quiet(&event_loop);
    assert_eq!(gate.polls(), 2);
    // Also within a callback.
    let copy = waker.clone();
    event_loop.cx().submit(move |_| (0..1_000).for_each(|_| copy.wake_by_ref())).unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(gate.polls(), 3);
    // And before the first poll, of which nobody knows the waker but through an earlier one: spawning is a
    // wake.
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(gate.polls(), 4);
}

// spec: BX-1
fn however_often_another_thread_wakes_it_it_is_polled_once(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let (_handle, waker) = waiting(&event_loop, &gate);
    let before = event_loop.handle().pending();
    for _ in 0..3 {
        let polls = gate.polls();
        elsewhere(|| {
            for _ in 0..1_000 {
                waker.wake_by_ref();
            }
        });
        assert!(event_loop.handle().pending() <= before + 1, "one entry");
        turn_until_quiet(&event_loop);
        assert_eq!(gate.polls(), polls + 1);
    }
}

// spec: BX-1
fn a_wake_during_the_poll_causes_another(variant: Variant) {
    let event_loop = build(variant);
    let polls = Rc::new(Cell::new(0));
    let count = Rc::clone(&polls);
    let mut handle = event_loop.cx().spawn_local(poll_fn(move |cx| {
        count.set(count.get() + 1);
        match count.get() {
            // Several are one.
            1..5 => (0..10).for_each(|_| cx.waker().wake_by_ref()),
            5 => {}
            _ => return Poll::Ready(()),
        }
        Poll::Pending
    }));
    turn_until_quiet(&event_loop);
    assert_eq!(polls.get(), 5);
    assert!(!handle.is_finished());
    handle.abort();
    turn_until_quiet(&event_loop);
    assert_eq!(polls.get(), 5);
    assert_eq!(result(&mut handle), "aborted");
}

// spec: BX-1, WK-2
fn a_wake_during_the_poll_by_another_thread_causes_another(variant: Variant) {
    let event_loop = build(variant);
    let polls = Rc::new(Cell::new(0));
    let count = Rc::clone(&polls);
    let mut handle = event_loop.cx().spawn_local(poll_fn(move |cx| {
        count.set(count.get() + 1);
        if count.get() == 3 {
            return Poll::Ready(());
        }
        // It is done before the poll is.
        let waker = cx.waker();
        elsewhere(|| (0..10).for_each(|_| waker.wake_by_ref()));
        Poll::Pending
    }));
    event_loop.run_until_idle().unwrap();
    assert_eq!(polls.get(), 3);
    assert_eq!(result(&mut handle), "ok ()");
}

// spec: BX-1
fn a_wake_during_the_last_poll_causes_none(variant: Variant) {
    let event_loop = build(variant);
    for is_local in [true, false] {
        let polls = Rc::new(Cell::new(0));
        let count = Rc::clone(&polls);
        let mut handle = event_loop.cx().spawn_local(poll_fn(move |cx| {
            count.set(count.get() + 1);
            let waker = cx.waker();
            if is_local {
                waker.wake_by_ref()
            } else {
                elsewhere(|| waker.wake_by_ref())
            }
            Poll::Ready(5)
        }));
        event_loop.run_until_idle().unwrap();
        assert_eq!(polls.get(), 1);
        assert_eq!(result(&mut handle), "ok 5");
    }
}

// spec: BX-1
fn a_wake_after_the_end_of_the_task_does_nothing(variant: Variant) {
    let event_loop = build(variant);
    for is_joined in [true, false] {
        let gate = Gate::new();
        let (handle, waker) = waiting(&event_loop, &gate);
        let handle = is_joined.then_some(handle);
        gate.open();
        turn_until_quiet(&event_loop);
        for _ in 0..2 {
            waker.wake_by_ref();
            elsewhere(|| waker.wake_by_ref());
            event_loop.run_until_idle().unwrap();
        }
        assert_eq!(gate.polls(), 2);
        if let Some(mut handle) = handle {
            assert_eq!(result(&mut handle), "ok ()");
        }
        // Others that came to its place are not woken by it.
        let others: Vec<_> = (0..10).map(|_| Gate::new()).collect();
        let handles: Vec<_> =
            others.iter().map(|gate| event_loop.cx().spawn_local(gate.pass())).collect();
        turn_until_quiet(&event_loop);
        waker.wake_by_ref();
        elsewhere(|| waker.wake_by_ref());
        turn_until_quiet(&event_loop);
        assert!(others.iter().all(|gate| gate.polls() == 1));
        for handle in handles {
            handle.abort();
        }
        event_loop.run_until_idle().unwrap();
    }
}

// spec: BX-1
fn a_wake_after_an_abort_does_nothing(variant: Variant) {
    let event_loop = build(variant);
    for (before, after) in [(false, true), (true, false), (true, true)] {
        for is_local in [true, false] {
            let gate = Gate::new();
            let (mut handle, waker) = waiting(&event_loop, &gate);
            let wake = || {
                if is_local { waker.wake_by_ref() } else { elsewhere(|| waker.wake_by_ref()) }
            };
            if before {
                wake();
            }
            handle.abort();
            if after {
                wake();
            }
            event_loop.run_until_idle().unwrap();
            assert_eq!(gate.polls(), 1);
            assert_eq!(result(&mut handle), "aborted");
            wake();
            event_loop.run_until_idle().unwrap();
            assert_eq!(gate.polls(), 1);
        }
    }
}

/// A future that waits, and wakes itself when it is dropped, and has others see to it.
fn wakes_when_dropped(
    polls: &Rc<Cell<usize>>,
    drops: &Rc<Cell<usize>>,
) -> impl Future<Output = ()> + 'static + use<> {
    let (polls, drops) = (Rc::clone(polls), Rc::clone(drops));
    let own = Rc::new(RefCell::new(None::<Waker>));
    let kept = Rc::clone(&own);
    Parts {
        poll: move |cx: &mut Context<'_>| {
            polls.set(polls.get() + 1);
            own.replace(Some(cx.waker().clone()));
            Poll::Pending
        },
        drop: move || {
            drops.set(drops.get() + 1);
            if let Some(waker) = kept.take() {
                waker.wake_by_ref();
                elsewhere(|| waker.wake_by_ref());
                waker.wake();
            }
        },
    }
}

// spec: BX-1
fn a_wake_in_the_destructor_does_nothing(variant: Variant) {
    let event_loop = build(variant);
    let (polls, drops) = (Rc::default(), Rc::default());
    let mut handle = event_loop.cx().spawn_local(wakes_when_dropped(&polls, &drops));
    turn_until_quiet(&event_loop);
    handle.abort();
    event_loop.run_until_idle().unwrap();
    assert_eq!((polls.get(), drops.get()), (1, 1));
    assert_eq!(result(&mut handle), "aborted");
    // Of one that is done: the future is dropped by the executor, after its last poll.
    let (polls, drops) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let (count, dropped, own, taken) =
        (Rc::clone(&polls), Rc::clone(&drops), Rc::clone(&kept), Rc::clone(&kept));
    let mut handle = event_loop.cx().spawn_local(Parts {
        poll: move |cx: &mut Context<'_>| {
            count.set(count.get() + 1);
            own.replace(Some(cx.waker().clone()));
            Poll::Ready(7)
        },
        drop: move || {
            dropped.set(dropped.get() + 1);
            let waker = taken.take().unwrap();
            waker.wake_by_ref();
            elsewhere(|| waker.wake());
        },
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!((polls.get(), drops.get()), (1, 1));
    assert_eq!(result(&mut handle), "ok 7");
}

// spec: BX-1, SD-6
fn a_wake_in_the_destructor_at_the_end_of_the_loop_does_nothing(variant: Variant) {
    for end in ["drop", "close", "shutdown"] {
        let event_loop = variant.build();
        let (polls, drops) = (Rc::default(), Rc::default());
        let mut handles: Vec<_> = (0..3)
            .map(|_| event_loop.cx().spawn_local(wakes_when_dropped(&polls, &drops)))
            .collect();
        turn_until_quiet(&event_loop);
        match end {
            "close" => event_loop.cx().close(),
            "shutdown" => event_loop.cx().shutdown(),
            _ => {}
        }
        if end != "drop" {
            let _ = event_loop.run();
        }
        drop(event_loop);
        assert_eq!((polls.get(), drops.get()), (3, 3), "{end}");
        for handle in &mut handles {
            assert_eq!(result(handle), "terminated", "{end}");
        }
    }
}

// spec: BX-1, SD-6
fn a_waker_in_its_own_future_is_no_leak(variant: Variant) {
    for end in ["done", "aborted", "end of the loop", "never driven"] {
        let tracker = Tracker::new();
        let event_loop = build(variant);
        let gate = Gate::new();
        let (token, pass) = (tracker.token(), gate.pass());
        let handle = event_loop.cx().spawn_local(async move {
            let _token = token;
            let _own = [waker().await, waker().await];
            pass.await;
        });
        if end != "never driven" {
            turn_until_quiet(&event_loop);
        }
        match end {
            "done" => gate.open(),
            "aborted" => handle.abort(),
            _ => {}
        }
        if end == "done" || end == "aborted" {
            turn_until_quiet(&event_loop);
            assert_eq!(tracker.alive(), 0, "{end}");
        }
        drop(event_loop);
        assert_eq!(tracker.alive(), 0, "{end}");
        drop(handle);
    }
}

// spec: BX-1, SD-6
fn a_future_that_awaits_itself_is_no_leak(variant: Variant) {
    for is_aborted in [false, true] {
        let tracker = Tracker::new();
        let event_loop = build(variant);
        let own: Rc<RefCell<Option<JoinHandle<()>>>> = Rc::default();
        let (token, copy) = (tracker.token(), Rc::clone(&own));
        let handle = event_loop.cx().spawn_local(async move {
            let _token = token;
            let mut own = copy.take().unwrap();
            let gave = poll_fn(|cx| {
                let polled = Pin::new(&mut own).poll(cx);
                if is_aborted && polled.is_pending() {
                    own.abort();
                }
                polled
            });
            gave.await.unwrap();
        });
        own.replace(Some(handle));
        turn_until_quiet(&event_loop);
        assert_eq!(tracker.alive(), usize::from(!is_aborted));
        drop(event_loop);
        assert_eq!(tracker.alive(), 0);
    }
}

// spec: BX-1, SD-6
fn two_futures_that_await_each_other_are_no_leak(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = build(variant);
    let second: Rc<RefCell<Option<JoinHandle<()>>>> = Rc::default();
    let (token, copy) = (tracker.token(), Rc::clone(&second));
    let first = event_loop.cx().spawn_local(async move {
        let _token = token;
        let other = copy.take().unwrap();
        let _ = other.await;
    });
    let token = tracker.token();
    second.replace(Some(event_loop.cx().spawn_local(async move {
        let _token = token;
        let _ = first.await;
    })));
    turn_until_quiet(&event_loop);
    assert_eq!(tracker.alive(), 2);
    event_loop.cx().shutdown();
    event_loop.run().unwrap();
    assert_eq!(tracker.alive(), 0);
}

// spec: BX-1, SD-6
fn wakers_outlive_the_loop(variant: Variant) {
    for end in ["drop", "close", "shutdown"] {
        let event_loop = variant.build();
        let gate = Gate::new();
        let (handle, waker) = waiting(&event_loop, &gate);
        match end {
            "close" => event_loop.cx().close(),
            "shutdown" => event_loop.cx().shutdown(),
            _ => {}
        }
        if end != "drop" {
            let _ = event_loop.run();
            // It has ended, and is still there.
            assert_eq!(event_loop.state(), LoopState::Terminated);
            waker.wake_by_ref();
            elsewhere(|| waker.wake_by_ref());
        }
        drop(event_loop);
        waker.wake_by_ref();
        waker.clone().wake();
        elsewhere(|| {
            waker.wake_by_ref();
            waker.clone().wake();
        });
        drop(handle);
        waker.wake_by_ref();
        elsewhere(|| waker.wake_by_ref());
        assert!(waker.will_wake(&waker.clone()));
        assert_eq!(gate.polls(), 1, "{end}");
    }
}

// spec: BX-1, SD-3
fn wakers_outlive_a_loop_that_was_never_driven(variant: Variant) {
    // There is none before the first poll; but the loop may be one that was driven only by `block_on`.
    let event_loop = build(variant);
    let waker = event_loop.block_on(waker()).unwrap();
    waker.wake_by_ref();
    elsewhere(|| waker.wake_by_ref());
    drop(event_loop);
    waker.wake_by_ref();
    elsewhere(|| waker.wake_by_ref());
}

// spec: BX-1, SD-6
fn wakers_outlive_the_thread(variant: Variant) {
    let gate = SharedGate::new();
    let pass = gate.pass();
    let mut wakers = thread::spawn(move || {
        let event_loop = variant.build();
        drop(event_loop.cx().spawn_local(pass));
        let one = event_loop.block_on(waker()).unwrap();
        tick(&event_loop);
        vec![one]
    })
    .join()
    .unwrap();
    wakers.extend(gate.wakers());
    assert_eq!(wakers.len(), 2);
    for waker in &wakers {
        waker.wake_by_ref();
    }
    // Threads that may well be at the place of the old one.
    for _ in 0..3 {
        let wakers = wakers.clone();
        thread::spawn(move || wakers.into_iter().for_each(Waker::wake)).join().unwrap();
    }
    assert_eq!(gate.polls(), 1);
}

/// Wakes when the thread ends.
struct AtTheEnd(RefCell<Vec<Waker>>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        for waker in self.0.take() {
            waker.wake_by_ref();
            waker.clone().wake();
            drop(waker);
        }
    }
}

thread_local! {
    static AT_THE_END: AtTheEnd = const { AtTheEnd(RefCell::new(Vec::new())) };
}

// spec: BX-1, SD-6
fn wakers_in_thread_locals(variant: Variant) {
    for (is_first, is_forgotten) in [(true, false), (false, false), (true, true), (false, true)] {
        if cfg!(miri) && is_forgotten {
            continue;
        }
        thread::spawn(move || {
            // Whichever is used first is destroyed last.
            if is_first {
                AT_THE_END.with(|_| ());
            }
            let event_loop = variant.build();
            let gate = Gate::new();
            let (_handle, waker) = waiting(&event_loop, &gate);
            AT_THE_END.with(|end| end.0.borrow_mut().push(waker));
            if is_forgotten {
                common::census::leaks(&event_loop.handle());
                std::mem::forget((event_loop, gate));
            }
        })
        .join()
        .unwrap();
    }
}

// spec: BX-1
fn wakers_of_a_loop_that_was_forgotten(variant: Variant) {
    // It is a leak, of course.
    if cfg!(miri) {
        return;
    }
    let gate = SharedGate::new();
    let pass = gate.pass();
    thread::spawn(move || {
        let event_loop = variant.build();
        drop(event_loop.cx().spawn_local(pass));
        turn_until_quiet(&event_loop);
        common::census::leaks(&event_loop.handle());
        std::mem::forget(event_loop);
    })
    .join()
    .unwrap();
    // Nobody drives it any more. Threads that may well be at the place of the old one.
    for _ in 0..3 {
        let gate = gate.clone();
        thread::spawn(move || gate.wakers().into_iter().for_each(Waker::wake)).join().unwrap();
    }
    assert_eq!(gate.polls(), 1);
}

// spec: BX-1
fn a_waker_is_dropped_last_and_elsewhere(variant: Variant) {
    for end in ["done", "aborted", "end"] {
        let (sender, receiver) = mpsc::channel::<ThreadId>();
        let event_loop = build(variant);
        let gate = Gate::new();
        let pass = gate.pass();
        let guard = OnDrop(move || sender.send(thread::current().id()).unwrap());
        let handle = event_loop.cx().spawn_local(async move {
            let _guard = guard;
            pass.await;
        });
        turn_until_quiet(&event_loop);
        let waker = gate.wakers().pop().unwrap();
        match end {
            "done" => gate.open(),
            "aborted" => handle.abort(),
            _ => {}
        }
        if end != "end" {
            turn_until_quiet(&event_loop);
        }
        drop(handle);
        drop(event_loop);
        gate.forget();
        assert_eq!(receiver.try_recv(), Ok(thread::current().id()), "{end}");
        elsewhere(move || drop(waker));
        assert!(receiver.try_recv().is_err());
    }
}

/// A value that must stay on its thread.
struct Homely(Rc<()>, ThreadId, Rc<Cell<bool>>);

impl Homely {
    fn new() -> (Self, Rc<Cell<bool>>) {
        let is_gone = Rc::new(Cell::new(false));
        (Self(Rc::default(), thread::current().id(), Rc::clone(&is_gone)), is_gone)
    }
}

impl Drop for Homely {
    fn drop(&mut self) {
        assert_eq!(self.1, thread::current().id());
        assert_eq!(Rc::strong_count(&self.0), 1);
        self.2.set(true);
    }
}

// spec: BX-1
fn an_output_is_not_dropped_by_a_waker(variant: Variant) {
    let event_loop = build(variant);
    let (output, is_gone) = Homely::new();
    let kept = Rc::new(RefCell::new(None));
    let keep = Rc::clone(&kept);
    let handle = event_loop.cx().spawn_local(async move {
        keep.replace(Some(waker().await));
        output
    });
    turn_until_quiet(&event_loop);
    let waker = kept.take().unwrap();
    let copy = waker.clone();
    elsewhere(move || drop(copy));
    assert!(!is_gone.get(), "the handle may want it");
    drop(handle);
    assert!(is_gone.get(), "nobody can want it");
    elsewhere(move || drop(waker));
}

// spec: BX-1
fn an_output_is_not_dropped_by_a_waker_after_the_end_of_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let (output, is_gone) = Homely::new();
    let kept = Rc::new(RefCell::new(None));
    let keep = Rc::clone(&kept);
    let mut handle = event_loop.cx().spawn_local(async move {
        keep.replace(Some(waker().await));
        output
    });
    turn_until_quiet(&event_loop);
    let waker = kept.take().unwrap();
    drop(event_loop);
    let copy = waker.clone();
    elsewhere(move || drop(copy));
    assert!(!is_gone.get(), "it is finished, and the handle may want it");
    let Poll::Ready(Ok(output)) = peek(&mut handle) else { panic!("it is finished") };
    drop(output);
    assert!(is_gone.get());
    drop(handle);
    elsewhere(move || drop(waker));
}

// spec: BX-1
fn all_wakers_of_a_task_wake_the_same(variant: Variant) {
    let event_loop = build(variant);
    let own = event_loop.cx().clone();
    let future = async move {
        let first = waker().await;
        own.yield_now().await;
        let second = waker().await;
        futures::spin(3).await;
        let third = waker().await;
        assert!(first.will_wake(&second) && second.will_wake(&third));
        assert!(first.clone().will_wake(&first));
        elsewhere(|| assert!(first.will_wake(&third.clone())));
        true
    };
    let handle = event_loop.cx().spawn_local(future);
    assert!(event_loop.block_on(handle).unwrap().unwrap());
    // And that of `block_on`.
    let own = event_loop.cx();
    let same = event_loop.block_on(async {
        let first = waker().await;
        own.yield_now().await;
        first.will_wake(&waker().await)
    });
    assert!(same.unwrap());
}

// spec: BX-1
fn wakers_of_different_tasks_are_different(variant: Variant) {
    let (one, other) = (build(variant), build(variant));
    let gate = Gate::new();
    for event_loop in [&one, &other] {
        for _ in 0..3 {
            drop(event_loop.cx().spawn_local(gate.pass()));
        }
        turn_until_quiet(event_loop);
    }
    let mut wakers = gate.wakers();
    wakers.push(one.block_on(waker()).unwrap());
    for (n, waker) in wakers.iter().enumerate() {
        for (m, other) in wakers.iter().enumerate() {
            assert_eq!(waker.will_wake(other), n == m);
        }
    }
}

// spec: BX-1
fn clones_are_independent(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let (mut handle, waker) = waiting(&event_loop, &gate);
    let clones: Vec<_> = (0..10_000).map(|_| waker.clone()).collect();
    drop(waker);
    let last = clones.last().unwrap().clone();
    elsewhere(move || drop(clones));
    gate.forget();
    gate.open();
    last.wake();
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
}

// spec: BX-1
fn a_wake_by_value_and_one_by_reference_are_the_same(variant: Variant) {
    let event_loop = build(variant);
    for by_value in [true, false] {
        for is_local in [true, false] {
            let gate = Gate::new();
            let (mut handle, waker) = waiting(&event_loop, &gate);
            gate.forget();
            gate.open();
            let wake = move || if by_value { waker.wake() } else { waker.wake_by_ref() };
            if is_local {
                wake()
            } else {
                elsewhere(wake)
            }
            event_loop.run_until_idle().unwrap();
            assert_eq!(gate.polls(), 2);
            assert_eq!(result(&mut handle), "ok ()");
        }
    }
}

// spec: BX-1, TK-3, TK-5
fn a_wake_from_every_kind_of_callback(variant: Variant) {
    for kind in Kind::ALL {
        let event_loop = build(variant);
        let gate = Gate::new();
        let pass = gate.pass();
        let own = event_loop.cx().clone();
        drop(event_loop.cx().spawn_local(async move {
            pass.await;
            own.shutdown();
        }));
        turn_until_quiet(&event_loop);
        let opened = gate.clone();
        kind.queue(event_loop.cx(), move |_| opened.open());
        // It blocks for ever if the wake is not noticed.
        event_loop.run().unwrap();
        assert_eq!(gate.polls(), 2, "{kind:?}");
    }
}

// spec: BX-1, TK-3, TK-6
fn a_wake_from_every_hook(variant: Variant) {
    for hook in Hook::ALL {
        let gate = Gate::new();
        let opened = gate.clone();
        let builder = hook.set(variant.builder(), move |_| opened.open());
        let event_loop = builder.build().unwrap();
        let pass = gate.pass();
        let own = event_loop.cx().clone();
        let handle = event_loop.cx().spawn_local(async move {
            pass.await;
            if hook != Hook::BeforeExit {
                own.shutdown();
            }
        });
        hook.provoke(event_loop.cx());
        if hook == Hook::BeforeExit {
            handle.reference(false);
            event_loop.run_until_idle().unwrap();
            // What the hook has woken is not what keeps a loop alive, but it is not forgotten either.
            turn_until_quiet(&event_loop);
        } else {
            event_loop.run().unwrap();
        }
        assert!(handle.is_finished(), "{hook:?}");
    }
}

// spec: BX-1
fn a_wake_from_a_timer(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let gate = Gate::new();
    let pass = gate.pass();
    let mut handle = event_loop.cx().spawn_local(pass);
    let opened = gate.clone();
    let timer =
        event_loop.cx().set_timeout(Duration::from_secs(3), move |_| opened.open()).unwrap();
    // The future alone keeps the loop alive, and the timer is waited for.
    event_loop.cx().reference_timer(timer, false).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
    assert_eq!(clock.elapsed(), Duration::from_secs(3));
}

// spec: BX-1
fn a_wake_from_a_timer_of_another_thread(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let gate = SharedGate::new();
    let mut handle = event_loop.cx().spawn_local(gate.pass());
    turn_until_quiet(&event_loop);
    let (other, opened) = (event_loop.handle(), gate.clone());
    elsewhere(move || other.set_timeout(Duration::from_secs(1), move |_| opened.open()).unwrap());
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
}

// spec: BX-1, TK-3
fn a_wake_from_an_io_callback(variant: Variant) {
    use common::streams::{Stream, pair};
    use std::io::Write;

    let event_loop = build(variant);
    let (ours, mut theirs) = pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let gate = Gate::new();
    let opened = gate.clone();
    let watch = mainspring::Watch::new().read(move |_, _: &Stream| opened.open()).one_shot();
    let _watcher = event_loop.cx().watch(ours, watch.unreferenced()).ok().unwrap();
    let mut handle = event_loop.cx().spawn_local(gate.pass());
    let other = event_loop.handle();
    let thread = thread::spawn(move || {
        wait_until_sleeping(&other);
        theirs.write_all(b"x").unwrap();
        theirs
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
    drop(thread.join().unwrap());
}

// spec: BX-1
fn a_wake_from_another_future(variant: Variant) {
    let event_loop = build(variant);
    let gates: Vec<_> = (0..10).map(|_| Gate::new()).collect();
    let mut handles = Vec::new();
    for pair in gates.windows(2) {
        let (pass, next) = (pair[0].pass(), pair[1].clone());
        handles.push(event_loop.cx().spawn_local(async move {
            pass.await;
            next.open();
        }));
    }
    turn_until_quiet(&event_loop);
    gates[0].open();
    event_loop.run_until_idle().unwrap();
    for handle in &mut handles {
        assert_eq!(result(handle), "ok ()");
    }
}

// spec: BX-1, SH-5
fn a_wake_from_another_loop(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 500 };
    // Two loops play ball.
    let (handle, thread) = variant.spawn_running();
    let event_loop = build(variant);
    let ball = Arc::new((AtomicUsize::new(0), Mutex::new([const { None::<Waker> }; 2])));
    let play = |player: usize| {
        let ball = Arc::clone(&ball);
        poll_fn(move |cx| {
            loop {
                let mut wakers = ball.1.lock().unwrap();
                wakers[player] = Some(cx.waker().clone());
                let n = ball.0.load(Ordering::SeqCst);
                if n >= ROUNDS * 2 {
                    let other = wakers[1 - player].take();
                    drop(wakers);
                    if let Some(waker) = other {
                        waker.wake();
                    }
                    return Poll::Ready(n);
                }
                if n % 2 != player {
                    return Poll::Pending;
                }
                ball.0.store(n + 1, Ordering::SeqCst);
                let other = wakers[1 - player].take();
                drop(wakers);
                if let Some(waker) = other {
                    waker.wake();
                }
            }
        })
    };
    let theirs = play(1);
    let promise = handle.spawn(move |_| theirs);
    assert_eq!(event_loop.block_on(play(0)).unwrap(), ROUNDS * 2);
    assert_eq!(promise.wait(Duration::from_secs(50)).unwrap(), ROUNDS * 2);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: BX-1, SH-5
fn a_wake_from_another_loop_of_the_same_thread(variant: Variant) {
    let (one, other) = (build(variant), build(variant));
    let gate = Gate::new();
    let (mut handle, _) = waiting(&one, &gate);
    let opened = gate.clone();
    other.cx().submit(move |_| opened.open()).unwrap();
    other.run_until_idle().unwrap();
    assert_eq!(gate.polls(), 1, "not by the other loop");
    one.turn(None).unwrap();
    assert_eq!(result(&mut handle), "ok ()");
    // While the other one is driven by a callback of the first.
    let gate = Gate::new();
    let (mut handle, _) = waiting(&one, &gate);
    let opened = gate.clone();
    other.cx().submit(move |_| opened.open()).unwrap();
    one.cx().submit(move |_| other.run_until_idle().unwrap()).unwrap();
    one.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
}

// spec: BX-1, PF-1
fn a_wake_from_a_worker(variant: Variant) {
    let event_loop = build(variant);
    let gate = SharedGate::new();
    let opened = gate.clone();
    let signal = mainspring::AbortController::new().signal().clone();
    let promise = event_loop.cx().promisify(&signal, move |_| {
        opened.open();
        Ok::<_, mainspring::Error>(5)
    });
    let output = event_loop.block_on(async {
        gate.pass().await;
        promise.await.unwrap()
    });
    assert_eq!(output.unwrap(), 5);
}

// spec: BX-1, WK-2, F-2
fn a_storm_of_wakes_loses_none(variant: Variant) {
    const THREADS: usize = 3;
    const WAKES: usize = if cfg!(miri) { 30 } else { 20_000 };
    let event_loop = build(variant);
    let count = Arc::new(AtomicUsize::new(0));
    let polls = Cell::new(0);
    let threads = RefCell::new(Vec::new());
    let polled = event_loop.block_on(poll_fn(|cx| {
        polls.set(polls.get() + 1);
        if polls.get() == 1 {
            for _ in 0..THREADS {
                let (count, waker) = (Arc::clone(&count), cx.waker().clone());
                threads.borrow_mut().push(thread::spawn(move || {
                    for _ in 0..WAKES {
                        count.fetch_add(1, Ordering::Relaxed);
                        waker.wake_by_ref();
                    }
                }));
            }
        }
        // Hangs if the last wake is lost.
        if count.load(Ordering::Relaxed) == THREADS * WAKES {
            Poll::Ready(polls.get())
        } else {
            Poll::Pending
        }
    }));
    assert!(polled.unwrap() <= THREADS * WAKES + 1);
    for thread in threads.take() {
        thread.join().unwrap();
    }
}

// spec: BX-1, WK-2, F-2
fn a_storm_of_wakes_of_many_tasks(variant: Variant) {
    const THREADS: usize = 3;
    const TASKS: usize = 50;
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 300 };
    let event_loop = build(variant);
    // Each task waits until all threads have counted as far as it has.
    let counters: Arc<Vec<AtomicUsize>> =
        Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());
    let gate = SharedGate::new();
    let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
    let handles: Vec<_> = (0..TASKS)
        .map(|n| {
            let (counters, wakers) = (Arc::clone(&counters), Arc::clone(&wakers));
            let mut is_known = false;
            event_loop.cx().spawn_local(poll_fn(move |cx| {
                if !std::mem::replace(&mut is_known, true) {
                    wakers.lock().unwrap().push(cx.waker().clone());
                }
                if counters[n].load(Ordering::SeqCst) == THREADS * ROUNDS {
                    Poll::Ready(n)
                } else {
                    Poll::Pending
                }
            }))
        })
        .collect();
    turn_until_quiet(&event_loop);
    drop(gate);
    let wakers: Arc<Vec<Waker>> = Arc::new(std::mem::take(&mut wakers.lock().unwrap()));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (counters, wakers) = (Arc::clone(&counters), Arc::clone(&wakers));
            thread::spawn(move || {
                for round in 0..ROUNDS {
                    for n in 0..TASKS {
                        let n = (n * 7 + round + thread) % TASKS;
                        counters[n].fetch_add(1, Ordering::SeqCst);
                        wakers[n].wake_by_ref();
                    }
                }
            })
        })
        .collect();
    event_loop.run_until_idle().unwrap();
    for (n, mut handle) in handles.into_iter().enumerate() {
        assert_eq!(result(&mut handle), format!("ok {n}"));
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

// spec: BX-1
fn a_storm_of_wakes_while_tasks_finish_and_are_aborted(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 2_000 };
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let (sender, receiver) = mpsc::channel::<Waker>();
    let receiver = Arc::new(Mutex::new(receiver));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let receiver = Arc::clone(&receiver);
            thread::spawn(move || {
                loop {
                    let received = receiver.lock().unwrap().recv();
                    let Ok(waker) = received else { return };
                    waker.wake_by_ref();
                    waker.clone().wake();
                    drop(waker);
                }
            })
        })
        .collect();
    for n in 0..ROUNDS {
        let (sender, token) = (sender.clone(), tracker.token());
        let handle = event_loop.cx().spawn_local(async move {
            let _token = token;
            let own = waker().await;
            for _ in 0..4 {
                sender.send(own.clone()).unwrap();
            }
            if n % 2 == 0 {
                pending::<()>().await;
            }
        });
        tick(&event_loop);
        if n % 2 == 0 {
            handle.abort();
        }
        if n % 3 == 0 {
            drop(handle);
            tick(&event_loop);
        }
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.alive(), 0);
    drop(sender);
    for thread in threads {
        thread.join().unwrap();
    }
}

// spec: BX-1, WK-8, SD-6
fn a_storm_of_wakes_while_the_loop_ends(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 4 } else { 200 };
    for round in 0..ROUNDS {
        let event_loop = variant.build();
        let gate = SharedGate::new();
        let tracker = Tracker::new();
        for _ in 0..4 {
            let (pass, token) = (gate.pass(), tracker.token());
            drop(event_loop.cx().spawn_local(async move {
                let _token = token;
                pass.await;
            }));
        }
        turn_until_quiet(&event_loop);
        let is_over = Arc::new(AtomicBool::new(false));
        let start = Arc::new(Barrier::new(3));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (wakers, is_over) = (gate.wakers(), Arc::clone(&is_over));
                let start = Arc::clone(&start);
                thread::spawn(move || {
                    start.wait();
                    while !is_over.load(Ordering::SeqCst) {
                        wakers.iter().for_each(Waker::wake_by_ref);
                    }
                    wakers.iter().for_each(Waker::wake_by_ref);
                })
            })
            .collect();
        start.wait();
        match round % 4 {
            0 => drop(event_loop),
            1 => {
                event_loop.cx().close();
                let _ = event_loop.run();
            }
            // A shutdown goes on while somebody is woken, and they are woken for ever.
            2 => {
                event_loop.cx().submit(|cx| cx.close()).unwrap();
                let _ = event_loop.run();
            }
            _ => {
                for _ in 0..5 {
                    tick(&event_loop);
                }
                drop(event_loop);
            }
        }
        assert_eq!(tracker.alive(), 0);
        is_over.store(true, Ordering::SeqCst);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

// spec: BX-1
fn a_storm_of_clones_and_drops(variant: Variant) {
    const TIMES: usize = if cfg!(miri) { 50 } else { 20_000 };
    let event_loop = build(variant);
    let gate = Gate::new();
    let (mut handle, waker) = waiting(&event_loop, &gate);
    gate.forget();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let waker = waker.clone();
            thread::spawn(move || {
                for n in 0..TIMES {
                    let copy = waker.clone();
                    if n % 16 == 0 {
                        copy.wake();
                    }
                }
            })
        })
        .collect();
    for _ in 0..TIMES {
        drop(waker.clone());
    }
    for thread in threads {
        thread.join().unwrap();
    }
    turn_until_quiet(&event_loop);
    assert!(!handle.is_finished());
    gate.open();
    waker.wake();
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
}

// spec: BX-1, IN-8
fn a_thread_wakes_many_in_its_order(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let gates: Vec<_> = (0..200).map(|_| SharedGate::new()).collect();
    for (n, gate) in gates.iter().enumerate() {
        let (log, pass) = (log.clone(), gate.pass());
        drop(event_loop.cx().spawn_local(async move {
            pass.await;
            log.push(n);
        }));
    }
    turn_until_quiet(&event_loop);
    let order: Vec<_> = (0..200).map(|n| n * 37 % 200).collect();
    elsewhere(|| {
        for n in &order {
            gates[*n].open();
        }
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), order);
}

// spec: BX-1
fn a_wake_by_the_loop_and_one_by_another_thread_are_one(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let (mut handle, waker) = waiting(&event_loop, &gate);
    for is_first in [true, false] {
        let polls = gate.polls();
        if is_first {
            waker.wake_by_ref();
        }
        elsewhere(|| waker.wake_by_ref());
        if !is_first {
            waker.wake_by_ref();
        }
        turn_until_quiet(&event_loop);
        assert_eq!(gate.polls(), polls + 1);
    }
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert_eq!(result(&mut handle), "ok ()");
}

// spec: BX-1, WK-2
fn another_thread_sees_what_was_written_before_the_poll(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
    // Only the wake orders this: the value is read and written without any order of its own.
    let event_loop = build(variant);
    let value = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel::<Waker>();
    let written = Arc::clone(&value);
    let thread = thread::spawn(move || {
        for waker in receiver {
            written.fetch_add(1, Ordering::Relaxed);
            waker.wake();
        }
    });
    for n in 1..=ROUNDS {
        let mut is_sent = false;
        let (sender, value) = (&sender, &value);
        event_loop
            .block_on(poll_fn(|cx| {
                if !std::mem::replace(&mut is_sent, true) {
                    sender.send(cx.waker().clone()).unwrap();
                    return Poll::Pending;
                }
                assert_eq!(value.load(Ordering::Relaxed), n);
                Poll::Ready(())
            }))
            .unwrap();
    }
    drop(sender);
    thread.join().unwrap();
}

// spec: BX-1
fn a_waker_that_another_thread_drops_while_the_task_ends(variant: Variant) {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };
    let event_loop = build(variant);
    let (sender, receiver) = mpsc::sync_channel::<Waker>(1);
    let thread = thread::spawn(move || receiver.into_iter().for_each(drop));
    for n in 0..ROUNDS {
        let sender = sender.clone();
        let handle = event_loop.cx().spawn_local(async move {
            sender.send(waker().await).unwrap();
            Rc::new(n)
        });
        if n % 2 == 0 {
            drop(handle);
            tick(&event_loop);
        } else {
            assert_eq!(*event_loop.block_on(handle).unwrap().unwrap(), n);
        }
    }
    event_loop.run_until_idle().unwrap();
    drop(sender);
    thread.join().unwrap();
}

/// As a combinator has it that gives each of its parts a waker of their own.
struct Wrapped(Waker, AtomicUsize);

impl Wake for Wrapped {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.wake_by_ref();
    }
}

// spec: BX-1
fn a_waker_wrapped_by_another(variant: Variant) {
    fn wrap<F: Future>(future: F) -> impl Future<Output = F::Output> {
        let mut future = Box::pin(future);
        poll_fn(move |cx| {
            // A new one each time.
            let waker = Arc::new(Wrapped(cx.waker().clone(), AtomicUsize::new(0))).into();
            future.as_mut().poll(&mut Context::from_waker(&waker))
        })
    }
    let event_loop = build(variant);
    let cx: &Cx = event_loop.cx();
    let (own, gate) = (cx.clone(), SharedGate::new());
    let pass = gate.pass();
    let inner = cx.spawn_local(wrap(async move {
        own.yield_now().await;
        own.yield_now().await;
        pass.await;
        5
    }));
    let own = cx.clone();
    let outer = cx.spawn_local(wrap(wrap(async move {
        own.yield_now().await;
        inner.await.unwrap() + 1
    })));
    turn_until_quiet(&event_loop);
    elsewhere(|| gate.open());
    assert_eq!(event_loop.block_on(wrap(outer)).unwrap().unwrap(), 6);
}

// spec: BX-1
#[test]
fn a_waker_in_a_global() {
    static KEPT: Mutex<Option<Waker>> = Mutex::new(None);
    let _watchdog = common::watchdog("a_waker_in_a_global");
    for _ in 0..3 {
        let event_loop = common::builder().build().unwrap();
        let gate = Gate::new();
        let pass = gate.pass();
        drop(event_loop.cx().spawn_local(async move {
            *KEPT.lock().unwrap() = Some(waker().await);
            pass.await;
        }));
        turn_until_quiet(&event_loop);
        // That of the loop before was woken and dropped by now, in this loop's future.
        let waker = KEPT.lock().unwrap().clone().unwrap();
        waker.wake();
        turn_until_quiet(&event_loop);
        assert_eq!(gate.polls(), 2);
        drop(event_loop);
        must_return(|| KEPT.lock().unwrap().as_ref().unwrap().wake_by_ref());
    }
    *KEPT.lock().unwrap() = None;
}
