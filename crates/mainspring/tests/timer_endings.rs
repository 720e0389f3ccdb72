//! Timers that are refused, and timers at the end of a loop.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use common::timers::{HOUR, MS, YEAR, automatic, manual, notes, tick};
use common::{Log, OnDrop, Tracker, Variant, must_return};
use mainspring::{Cx, Error, Handle, LoopState, Refusal, SubmitError, TimerId, VirtualClock};

suite! {
    a_deadline_that_cannot_be_represented_is_refused_and_changes_nothing,
    a_deadline_two_centuries_away_is_ordinary,
    an_interval_whose_next_deadline_cannot_be_represented_does_not_fire_again,
    a_shutdown_drops_the_timers_without_running_them,
    a_shutdown_in_a_timer_drops_the_rest_of_the_batch,
    a_shutdown_in_an_interval_ends_it,
    a_close_in_a_timer_is_the_last_thing_that_runs,
    once_termination_has_begun_timers_are_refused,
    a_terminated_loop_knows_no_timer,
    dropping_the_loop_drops_its_timers,
    a_destructor_may_use_the_timers,
}

fn refusals<F>(result: Result<TimerId, SubmitError<F>>) -> (Refusal, F) {
    match result {
        Ok(id) => panic!("accepted as {id}"),
        Err(error) => (error.reason(), error.into_task()),
    }
}

/// The four ways to set a timer on a context and the four on a handle, each with a callback that
/// the tracker knows. Tells why they were refused, if all were.
fn refused_by_all(cx: &Cx, handle: &Handle, delay: Duration, tracker: &Tracker) -> Vec<Refusal> {
    let before = (tracker.alive(), tracker.ran());
    let mut reasons = Vec::new();
    let at = cx.now().checked_add(delay);
    let repeated = || {
        let callback = RefCell::new(Some(tracker.callback()));
        move |cx: &Cx| callback.take().unwrap()(cx)
    };
    let sent = || {
        let mut callback = Some(tracker.callback());
        move |cx: &Cx| callback.take().unwrap()(cx)
    };
    let mut given_back = 0;
    macro_rules! refused {
        ($result:expr) => {{
            let (reason, callback) = refusals($result);
            reasons.push(reason);
            given_back += 1;
            assert_eq!(tracker.alive(), before.0 + 1, "it is given back whole");
            let call = move || {
                #[allow(unused_mut)]
                let mut callback = callback;
                callback(cx);
            };
            call();
            assert_eq!(tracker.ran(), before.1 + given_back);
        }};
    }
    refused!(cx.set_timeout(delay, tracker.callback()));
    refused!(cx.set_interval(delay, repeated()));
    refused!(cx.set_interval_fixed_rate(delay, repeated()));
    refused!(handle.set_timeout(delay, tracker.callback()));
    refused!(handle.set_interval(delay, sent()));
    refused!(handle.set_interval_fixed_rate(delay, sent()));
    if let Some(at) = at {
        refused!(cx.set_timeout_at(at, tracker.callback()));
        refused!(handle.set_timeout_at(at, tracker.callback()));
    }
    assert_eq!(tracker.alive(), before.0);
    reasons
}

// spec: TM-1, ER-2, M1-4.2
fn a_deadline_that_cannot_be_represented_is_refused_and_changes_nothing(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    let tracker = Tracker::new();
    for delay in [Duration::MAX, Duration::from_secs(u64::MAX / 2), 10_000 * YEAR, 300 * YEAR] {
        let reasons = refused_by_all(cx, &handle, delay, &tracker);
        assert!(reasons.iter().all(|reason| *reason == Refusal::DeadlineOutOfRange), "{delay:?}");
        assert_eq!(event_loop.next_deadline(), None, "{delay:?}");
    }
    let refused = || -> Result<(), Error> {
        cx.set_timeout(Duration::MAX, |_| ())?;
        Ok(())
    };
    assert!(matches!(refused(), Err(Error::DeadlineOutOfRange)));
    // Beside a timer that is there.
    cx.set_timeout(MS, tracker.callback()).unwrap();
    let ran = tracker.ran();
    let text = cx.set_timeout(Duration::MAX, |_| ()).unwrap_err().to_string();
    assert_eq!(text, Error::DeadlineOutOfRange.to_string());
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS));
    clock.advance(MS);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert_eq!(tracker.ran(), ran + 1);
    event_loop.run_until_idle().unwrap();
}

// spec: TM-1, M1-4.2
fn a_deadline_two_centuries_away_is_ordinary(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    cx.set_timeout(290 * YEAR, log.note("last")).unwrap();
    cx.set_timeout(200 * YEAR, log.note("second")).unwrap();
    cx.set_timeout(200 * YEAR, log.note("third")).unwrap();
    cx.set_timeout(MS, log.note("first")).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["first", "second", "third", "last"]);
    assert_eq!(clock.elapsed(), 290 * YEAR);
    // By the real clock such a deadline is slept for, and no overflow makes it due.
    let event_loop = variant.build();
    event_loop.cx().set_timeout(290 * YEAR, |_| unreachable!()).unwrap();
    assert_eq!(event_loop.turn(MS).unwrap().callbacks, 0);
    assert_eq!(event_loop.turn(MS).unwrap().callbacks, 0);
}

// spec: TM-1, ER-2
fn an_interval_whose_next_deadline_cannot_be_represented_does_not_fire_again(variant: Variant) {
    for fixed_rate in [false, true] {
        let (clock, event_loop) = manual(variant);
        let log = Log::new();
        match fixed_rate {
            false => event_loop.cx().set_interval(200 * YEAR, notes(&log, ())).unwrap(),
            true => event_loop.cx().set_interval_fixed_rate(200 * YEAR, notes(&log, ())).unwrap(),
        };
        clock.advance(200 * YEAR);
        tick(&event_loop);
        assert_eq!(log.len(), 1);
        for _ in 0..3 {
            tick(&event_loop);
            clock.advance(YEAR);
        }
        assert_eq!(log.len(), 1, "fixed rate: {fixed_rate}");
    }
}

// spec: SD-1, SD-6
fn a_shutdown_drops_the_timers_without_running_them(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let timers = tracker.clone();
    let task = move |cx: &Cx| {
        for delay in [Duration::ZERO, MS, HOUR] {
            cx.set_timeout(delay, timers.callback()).unwrap();
            cx.handle().set_timeout(delay, timers.callback()).unwrap();
            let token = timers.token();
            cx.set_interval(delay, move |_| unreachable!("{token:?}")).unwrap();
        }
        cx.shutdown();
    };
    event_loop.cx().submit(task).unwrap();
    // What was accepted before is run to its end all the same.
    let late = clock.clone();
    event_loop.cx().submit(move |_| late.advance(HOUR)).unwrap();
    event_loop.run().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    assert_eq!(clock.elapsed(), HOUR);
    assert_eq!(event_loop.state(), LoopState::Terminated);
}

// spec: SD-1, SD-5
fn a_shutdown_in_a_timer_drops_the_rest_of_the_batch(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let log = Log::new();
    let noted = log.clone();
    let first = move |cx: &Cx| {
        cx.shutdown();
        cx.queue_microtask(noted.note("microtask"));
        cx.submit_internal(noted.note("internal")).unwrap();
    };
    event_loop.cx().set_timeout(MS, first).unwrap();
    event_loop.cx().set_timeout(MS, tracker.callback()).unwrap();
    event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
    clock.advance(MS);
    event_loop.run().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    let mut ran = log.take();
    ran.sort_unstable();
    assert_eq!(ran, ["internal", "microtask"], "these were accepted");
}

// spec: SD-5, TM-10
fn a_shutdown_in_an_interval_ends_it(variant: Variant) {
    for close in [false, true] {
        let (_clock, event_loop) = automatic(variant);
        let tracker = Tracker::new();
        let (token, log) = (tracker.token(), Log::new());
        let noted = log.clone();
        let callback = move |cx: &Cx| {
            _ = &token;
            noted.push(());
            match close {
                false => cx.shutdown(),
                true => cx.close(),
            }
        };
        event_loop.cx().set_interval(MS, callback).unwrap();
        event_loop.run().unwrap();
        assert_eq!((log.len(), tracker.alive()), (1, 0));
        assert_eq!(event_loop.next_deadline(), None);
    }
}

// spec: SD-4
fn a_close_in_a_timer_is_the_last_thing_that_runs(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let inner = tracker.clone();
    let first = move |cx: &Cx| {
        cx.queue_microtask(inner.callback());
        cx.close();
    };
    event_loop.cx().set_timeout(MS, first).unwrap();
    event_loop.cx().set_timeout(MS, tracker.callback()).unwrap();
    event_loop.cx().submit(tracker.callback()).unwrap();
    clock.advance(MS);
    event_loop.run().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}

// spec: ER-1, SD-1
fn once_termination_has_begun_timers_are_refused(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let done = Log::new();
    for when in ["in the callback that begins it", "in a later one"] {
        let (inner, noted) = (tracker.clone(), done.clone());
        let task = move |cx: &Cx| {
            if !cx.state().is_ending() {
                cx.shutdown();
            }
            let reasons = refused_by_all(cx, &cx.handle(), MS, &inner);
            assert!(reasons.iter().all(|reason| *reason == Refusal::Terminated), "{when}");
            let refused = || -> Result<(), Error> {
                cx.set_timeout(MS, |_| ())?;
                Ok(())
            };
            assert!(matches!(refused(), Err(Error::Terminated)));
            noted.push(when);
        };
        event_loop.cx().submit(task).unwrap();
    }
    event_loop.run().unwrap();
    assert_eq!(done.len(), 2);
    let reasons = refused_by_all(event_loop.cx(), &event_loop.handle(), MS, &tracker);
    assert!(reasons.iter().all(|reason| *reason == Refusal::Terminated), "afterwards");
    // Both reasons at once: the loop's end is the one that matters.
    let refused = event_loop.cx().set_timeout(Duration::MAX, |_| ()).unwrap_err();
    assert!(matches!(refused.reason(), Refusal::Terminated | Refusal::DeadlineOutOfRange));
    let (cx, handle) = (event_loop.cx().clone(), event_loop.handle());
    drop(event_loop);
    let reasons = refused_by_all(&cx, &handle, MS, &tracker);
    assert!(reasons.iter().all(|reason| *reason == Refusal::Terminated), "without the loop");
}

// spec: ER-1, TM-6
fn a_terminated_loop_knows_no_timer(variant: Variant) {
    for way in 0..3 {
        let (_clock, event_loop) = manual(variant);
        let tracker = Tracker::new();
        let (cx, handle) = (event_loop.cx().clone(), event_loop.handle());
        let id = cx.set_timeout(MS, tracker.callback()).unwrap();
        let token = tracker.token();
        let interval = cx.set_interval(MS, move |_| _ = &token).unwrap();
        match way {
            0 => {
                event_loop.turn(Duration::ZERO).unwrap();
                cx.close();
                event_loop.run().unwrap();
            }
            // Never driven.
            1 => cx.shutdown(),
            _ => drop(event_loop),
        }
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "way {way}");
        for id in [id, interval] {
            assert!(!cx.clear_timeout(id) && !handle.clear_interval(id), "way {way}");
            assert!(matches!(cx.reset_timeout(id, MS), Err(Error::TimerNotFound)));
            assert!(matches!(handle.reference_timer(id, true), Err(Error::TimerNotFound)));
        }
        assert_eq!(cx.next_deadline(), None);
        assert_eq!(handle.next_deadline(), None);
    }
}

// spec: SD-6
fn dropping_the_loop_drops_its_timers(variant: Variant) {
    for driven in [false, true] {
        let (clock, event_loop) = manual(variant);
        let tracker = Tracker::new();
        for delay in [Duration::ZERO, MS, HOUR, 200 * YEAR] {
            event_loop.cx().set_timeout(delay + MS, tracker.callback()).unwrap();
            event_loop.handle().set_timeout(delay + MS, tracker.callback()).unwrap();
            let token = tracker.token();
            event_loop.cx().set_interval(delay + MS, move |_| _ = &token).unwrap();
        }
        if driven {
            tick(&event_loop);
        }
        clock.advance(MS);
        assert_eq!(tracker.alive(), 12);
        drop(event_loop);
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "driven: {driven}");
    }
}

// spec: SH-2, SD-6
fn a_destructor_may_use_the_timers(variant: Variant) {
    must_return(move || {
        let tracker = Tracker::new();
        for round in 0..5 {
            let clock = VirtualClock::new();
            let event_loop = variant.builder().clock(&clock).build().unwrap();
            let cx = event_loop.cx();
            let victim = cx.set_timeout(HOUR, tracker.callback()).unwrap();
            let calls = Rc::new(Cell::new(0));
            let (counted, held, ran) = (Rc::clone(&calls), cx.clone(), tracker.clone());
            // Everything that can be called, while the timer it belongs to is being let go.
            let token = OnDrop(move || {
                _ = held.set_timeout(MS, ran.callback());
                _ = held.handle().set_interval(MS, |_| ()).map(|id| held.clear_interval(id));
                held.clear_timeout(victim);
                _ = held.reset_timeout(victim, MS);
                _ = held.reference_timer(victim, false);
                _ = held.next_deadline();
                counted.set(counted.get() + 1);
            });
            match round {
                0 => {
                    let id = cx.set_timeout(HOUR, move |_| _ = &token).unwrap();
                    assert!(cx.clear_timeout(id));
                }
                1 => {
                    let id = cx.set_interval(HOUR, move |_| _ = &token).unwrap();
                    assert!(event_loop.handle().clear_timeout(id));
                }
                2 => {
                    cx.set_timeout(Duration::ZERO, move |_| _ = &token).unwrap();
                    tick(&event_loop);
                }
                3 => {
                    let once = move |cx: &Cx| {
                        _ = &token;
                        assert!(cx.clear_interval(cx.current_interval().unwrap()));
                    };
                    cx.set_interval(Duration::ZERO, once).unwrap();
                    tick(&event_loop);
                }
                _ => {
                    cx.set_timeout(HOUR, move |_| _ = &token).unwrap();
                }
            }
            assert_eq!(calls.get(), u32::from(round != 4), "round {round}");
            drop(event_loop);
            assert_eq!(calls.get(), 1, "round {round}");
            assert_eq!((tracker.ran(), tracker.alive()), (0, 0), "round {round}");
        }
    });
}
