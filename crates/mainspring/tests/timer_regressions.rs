//! Defects that timers have had, or nearly had.

mod common;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use common::timers::elsewhere;
use common::{OnDrop, Tracker, Variant};
use mainspring::{Handle, Refusal, VirtualClock};

suite! {
    a_callback_that_is_not_send_is_dropped_on_the_loops_thread_whatever_ends_the_loop,
    a_loop_that_another_thread_ends_before_it_was_driven_can_be_asked_meanwhile,
    destructors_of_cleared_callbacks_do_not_nest,
    other_threads_know_the_next_deadline_after_a_reset,
    a_fixed_rate_that_was_reset_goes_on_on_its_grid,
    two_threads_that_advance_to_the_next_deadline_advance_once,
    asking_for_the_next_deadline_after_each_set_takes_no_time,
    an_interval_is_armed_again_after_what_another_thread_set_meanwhile,
}

const MINUTE: Duration = Duration::from_secs(60);

// A destructor that ran inside of `set_timeout` could end the loop, and the timer was set after that.
// spec: SH-1, SD-4
fn a_callback_that_is_not_send_is_dropped_on_the_loops_thread_whatever_ends_the_loop(
    variant: Variant,
) {
    let event_loop = variant.build();
    let handle = event_loop.handle();
    elsewhere(move || {
        let closes = handle.clone();
        let close = OnDrop(move || closes.close());
        let id = handle.set_timeout(MINUTE, move |_| drop(close)).unwrap();
        assert!(handle.clear_timeout(id));
    });
    let dropped_on: Rc<Cell<Option<ThreadId>>> = Rc::default();
    let note = Rc::clone(&dropped_on);
    let noted = OnDrop(move || note.set(Some(thread::current().id())));
    let refused = event_loop.cx().set_timeout(MINUTE, move |_| drop(noted)).unwrap_err();
    assert_eq!(refused.reason(), Refusal::Terminated);
    drop(refused);
    let handle = event_loop.handle();
    drop(event_loop);
    elsewhere(move || drop(handle));
    assert_eq!(dropped_on.get(), Some(thread::current().id()));
}

// Both took commands out of the same queue.
// spec: SD-3, SD-4
fn a_loop_that_another_thread_ends_before_it_was_driven_can_be_asked_meanwhile(variant: Variant) {
    for round in 0..200 {
        let event_loop = variant.build();
        let tracker = Tracker::new();
        let barrier = Arc::new(Barrier::new(2));
        let (handle, counted, ready) = (event_loop.handle(), tracker.clone(), Arc::clone(&barrier));
        let other = thread::spawn(move || {
            for _ in 0..200 {
                handle.set_timeout(MINUTE, counted.callback()).unwrap();
            }
            ready.wait();
            handle.close();
        });
        barrier.wait();
        for _ in 0..round % 64 {
            std::hint::spin_loop();
        }
        match round % 3 {
            0 => _ = event_loop.next_deadline(),
            1 => _ = event_loop.cx().set_timeout(MINUTE, tracker.callback()),
            _ => _ = event_loop.cx().clear_timeout(mainspring::TimerId::from_u64(7).unwrap()),
        }
        other.join().unwrap();
        drop(event_loop);
        assert_eq!(tracker.alive(), 0, "in round {round}");
    }
}

// Each destructor took in the next command, whose destructor took in the next one.
fn destructors_of_cleared_callbacks_do_not_nest(variant: Variant) {
    static DEEPEST: AtomicUsize = AtomicUsize::new(0);
    std::thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });

    fn clears(handle: &Handle, id: mainspring::TimerId) -> OnDrop<impl FnMut() + Send + use<>> {
        let handle = handle.clone();
        OnDrop(move || {
            DEPTH.set(DEPTH.get() + 1);
            DEEPEST.fetch_max(DEPTH.get(), Ordering::SeqCst);
            handle.clear_timeout(id);
            DEPTH.set(DEPTH.get() - 1);
        })
    }

    let event_loop = variant.build();
    let handle = event_loop.handle();
    elsewhere(move || {
        let other = handle.set_timeout(MINUTE, |_| ()).unwrap();
        let set = |_| {
            let guard = clears(&handle, other);
            handle.set_timeout(MINUTE, move |_| drop(guard)).unwrap()
        };
        let ids: Vec<_> = (0..10_000).map(set).collect();
        ids.into_iter().for_each(|id| assert!(handle.clear_timeout(id)));
    });
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(DEEPEST.load(Ordering::SeqCst), 1);
}

// spec: TM-7, BX-2
fn other_threads_know_the_next_deadline_after_a_reset(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = variant.builder().clock(&clock).build().unwrap();
    let id = event_loop.cx().set_timeout(MINUTE, |_| ()).unwrap();
    event_loop.cx().reset_timeout(id, MINUTE / 2).unwrap();
    let handle = event_loop.handle();
    assert_eq!(elsewhere(move || handle.next_deadline()), Some(clock.now() + MINUTE / 2));
}

// spec: TM-10
fn a_fixed_rate_that_was_reset_goes_on_on_its_grid(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = variant.builder().clock(&clock).build().unwrap();
    let start = clock.now();
    let id = event_loop.cx().set_interval_fixed_rate(MINUTE, |_| ()).unwrap();
    event_loop.cx().reset_timeout(id, MINUTE / 4).unwrap();
    clock.advance(MINUTE / 4);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert_eq!(event_loop.next_deadline(), Some(start + MINUTE));
}

// spec: TM-12
fn two_threads_that_advance_to_the_next_deadline_advance_once(variant: Variant) {
    for _ in 0..200 {
        let clock = VirtualClock::new();
        let event_loop = variant.builder().clock(&clock).build().unwrap();
        event_loop.cx().set_timeout(MINUTE, |_| ()).unwrap();
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    barrier.wait();
                    clock.advance_to_next();
                });
            }
        });
        assert_eq!(clock.elapsed(), MINUTE);
    }
}

// All timers of a phase were looked at for each answer. With that, this takes minutes.
fn asking_for_the_next_deadline_after_each_set_takes_no_time(variant: Variant) {
    let event_loop = variant.build();
    let past = Instant::now();
    for _ in 0..100_000 {
        event_loop.cx().set_timeout_at(past, |_| ()).unwrap();
        assert!(event_loop.next_deadline().is_some());
    }
}

// An interval was armed again before what another thread had set while its callback ran was taken in, and fired first
// although it came later.
// spec: TM-2, TM-7
fn an_interval_is_armed_again_after_what_another_thread_set_meanwhile(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = variant.builder().clock(&clock).build().unwrap();
    let log = common::SharedLog::new();
    let (interval, timeout) = (log.clone(), log.clone());
    event_loop
        .cx()
        .set_interval(Duration::ZERO, move |cx| {
            interval.push("interval");
            let (handle, timeout) = (cx.handle(), timeout.clone());
            elsewhere(move || handle.set_timeout(Duration::ZERO, move |_| timeout.push("timeout")))
                .unwrap();
        })
        .unwrap();
    for _ in 0..2 {
        event_loop.turn(Duration::ZERO).unwrap();
    }
    assert_eq!(log.take(), ["interval", "timeout", "interval"]);
}
