//! Intervals: fixed delay, fixed rate, and what ends them.

mod common;

use std::time::Duration;

use common::timers::{HOUR, MS, Slot, manual, notes, tick};
use common::{Log, Tracker, Variant, turn_until_quiet};
use mainspring::{Cx, Error, VirtualClock};

suite! {
    a_reset_interval_goes_on_from_its_new_deadline,
    an_interval_counts_from_the_end_of_its_callback,
    a_fixed_rate_stays_on_its_grid_and_coalesces_what_it_missed,
    a_fixed_rate_recovers_from_a_callback_longer_than_its_period,
    an_interval_without_delay_fires_once_per_tick,
    an_interval_can_be_cleared_in_its_own_callback,
    an_interval_can_be_cleared_by_a_microtask_of_its_callback,
    an_interval_that_clears_itself_is_dropped_after_the_callback,
    an_interval_that_is_due_can_be_cleared_by_an_earlier_timer,
    an_interval_keeps_its_id_and_each_clear_function_takes_any_id,
    intervals_and_timeouts_of_one_deadline_fire_in_order_of_arming,
    an_interval_knows_its_id_and_nothing_else_has_one,
    an_interval_keeps_its_state_from_call_to_call,
    an_interval_set_by_an_interval_outlives_it,
}

// spec: TM-10
fn a_reset_interval_goes_on_from_its_new_deadline(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let id = cx.set_interval(10 * MS, notes(&log, ())).unwrap();
    clock.advance(9 * MS);
    cx.reset_timeout(id, 5 * MS).unwrap();
    clock.advance(4 * MS);
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take().len(), 1);
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + 10 * MS), "the period stays");
    assert!(cx.clear_interval(id));
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: TM-10
fn an_interval_counts_from_the_end_of_its_callback(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let (slow, noted, start) = (clock.clone(), log.clone(), clock.now());
    let callback = move |_: &Cx| {
        noted.push(slow.now() - start);
        slow.advance(3 * MS);
    };
    event_loop.cx().set_interval(10 * MS, callback).unwrap();
    for expected in [10, 23, 36, 49] {
        assert_eq!(event_loop.next_deadline(), Some(start + expected * MS));
        clock.advance_to_next().unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), [expected * MS]);
    }
    // A late start delays what follows.
    clock.advance(15 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), [67 * MS]);
    assert_eq!(event_loop.next_deadline(), Some(start + 80 * MS));
}

// spec: TM-10, TM-5
fn a_fixed_rate_stays_on_its_grid_and_coalesces_what_it_missed(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let start = clock.now();
    let log = Log::new();
    event_loop.cx().set_interval_fixed_rate(10 * MS, notes(&log, ())).unwrap();
    // (how far time goes, whether it fires, the next deadline)
    for (at, fires, next) in [
        (9, 0, 10),
        (10, 1, 20),
        (19, 0, 20),
        (25, 1, 30),
        (30, 1, 40),
        (75, 1, 80),
        (100, 1, 110),
        (109, 0, 110),
        (110, 1, 120),
        (1_234_567, 1, 1_234_570),
    ] {
        clock.advance(start + at * MS - clock.now());
        tick(&event_loop);
        tick(&event_loop);
        assert_eq!(log.take().len(), fires, "at {at}");
        assert_eq!(event_loop.next_deadline(), Some(start + next * MS), "at {at}");
    }
}

// spec: TM-10
fn a_fixed_rate_recovers_from_a_callback_longer_than_its_period(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let start = clock.now();
    let log = Log::new();
    let (slow, noted) = (clock.clone(), log.clone());
    let callback = move |_: &Cx| {
        if noted.len() == 0 {
            slow.advance(25 * MS);
        }
        noted.push(());
    };
    event_loop.cx().set_interval_fixed_rate(10 * MS, callback).unwrap();
    clock.advance(10 * MS);
    tick(&event_loop);
    assert_eq!(log.len(), 1);
    for _ in 0..10 {
        tick(&event_loop);
    }
    assert!(log.len() <= 2, "two were missed, and are one");
    assert_eq!(event_loop.next_deadline(), Some(start + 40 * MS));
}

// spec: TM-9, TM-10
fn an_interval_without_delay_fires_once_per_tick(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let delay = event_loop.cx().set_interval(Duration::ZERO, notes(&log, "delay")).unwrap();
    let rate =
        event_loop.cx().set_interval_fixed_rate(Duration::ZERO, notes(&log, "rate")).unwrap();
    for _ in 0..50 {
        event_loop.cx().submit(log.note("task")).unwrap();
        let before = log.len();
        assert_eq!(before, 0);
        tick(&event_loop);
        let order = log.take();
        assert_eq!(order[..2], ["delay", "rate"]);
        assert_eq!(order[2..], ["task"]);
        // The rate has no grid: the next nanosecond will do for it.
        clock.advance(Duration::from_nanos(1));
    }
    assert!(event_loop.cx().clear_interval(delay) && event_loop.cx().clear_interval(rate));
    turn_until_quiet(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: TM-10, F-17
fn an_interval_can_be_cleared_in_its_own_callback(variant: Variant) {
    for fixed_rate in [false, true] {
        for by_handle in [false, true] {
            for period in [Duration::ZERO, MS] {
                let (clock, event_loop) = manual(variant);
                let log = Log::new();
                let (slot, noted) = (Slot::default(), log.clone());
                let own = slot.clone();
                let callback = move |cx: &Cx| {
                    noted.push(());
                    if noted.len() == 3 {
                        let clear = || match by_handle {
                            false => cx.clear_interval(own.get()),
                            true => cx.handle().clear_interval(own.get()),
                        };
                        assert!(clear(), "it would have fired again");
                        assert!(!clear(), "now it would not");
                        assert!(matches!(
                            cx.reset_timeout(own.get(), MS),
                            Err(Error::TimerNotFound)
                        ));
                        let found = cx.reference_timer(own.get(), true);
                        assert!(matches!(found, Err(Error::TimerNotFound)));
                    }
                };
                slot.set(match fixed_rate {
                    false => event_loop.cx().set_interval(period, callback).unwrap(),
                    true => event_loop.cx().set_interval_fixed_rate(period, callback).unwrap(),
                });
                for _ in 0..10 {
                    clock.advance(MS);
                    tick(&event_loop);
                }
                assert_eq!(log.len(), 3);
                assert_eq!(event_loop.next_deadline(), None);
                event_loop.run_until_idle().unwrap();
            }
        }
    }
}

// spec: TM-10, F-17
fn an_interval_can_be_cleared_by_a_microtask_of_its_callback(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let log = Log::new();
    let (slot, noted, token) = (Slot::default(), log.clone(), tracker.token());
    let own = slot.clone();
    let callback = move |cx: &Cx| {
        _ = &token;
        noted.push(());
        let own = own.clone();
        cx.queue_microtask(move |cx| assert!(cx.clear_interval(own.get())));
    };
    slot.set(event_loop.cx().set_interval(Duration::ZERO, callback).unwrap());
    for _ in 0..5 {
        tick(&event_loop);
        clock.advance(MS);
    }
    assert_eq!((log.len(), tracker.alive()), (1, 0));
}

// spec: TM-10, F-17
fn an_interval_that_clears_itself_is_dropped_after_the_callback(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let (slot, alive, token) = (Slot::default(), tracker.clone(), tracker.token());
    let own = slot.clone();
    let log = Log::new();
    let noted = log.clone();
    let callback = move |cx: &Cx| {
        assert!(cx.clear_interval(own.get()));
        // Other timers may take the place of this one, whose captures are in use.
        for _ in 0..100 {
            cx.set_timeout(Duration::ZERO, |_| ()).unwrap();
        }
        assert_eq!(alive.alive(), 1);
        _ = &token;
        let alive = alive.clone();
        let noted = noted.clone();
        cx.queue_microtask(move |_| noted.push(alive.alive()));
    };
    slot.set(event_loop.cx().set_interval(MS, callback).unwrap());
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), [0], "right after");
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 100);
}

// spec: TM-6, TM-10, F-13
fn an_interval_that_is_due_can_be_cleared_by_an_earlier_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let slot = Slot::default();
    let other = slot.clone();
    let first = move |cx: &Cx| assert!(cx.clear_interval(other.get()));
    event_loop.cx().set_timeout(2 * MS, first).unwrap();
    slot.set(event_loop.cx().set_interval(MS, notes(&log, ())).unwrap());
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take().len(), 1);
    clock.advance(MS);
    tick(&event_loop);
    clock.advance(HOUR);
    tick(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: TM-10, TM-6
fn an_interval_keeps_its_id_and_each_clear_function_takes_any_id(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let one = cx.set_interval(MS, notes(&log, 1)).unwrap();
    let two = cx.set_interval_fixed_rate(MS, notes(&log, 2)).unwrap();
    let timeout = cx.set_timeout(HOUR, log.note(3)).unwrap();
    for _ in 0..1_000 {
        clock.advance(MS);
        tick(&event_loop);
        assert_eq!(log.take(), [1, 2]);
        cx.reference_timer(one, true).unwrap();
    }
    assert!(cx.clear_timeout(one));
    assert!(event_loop.handle().clear_timeout(two));
    assert!(cx.clear_interval(timeout));
    clock.advance(2 * HOUR);
    tick(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: TM-2, F-14, TM-10
fn intervals_and_timeouts_of_one_deadline_fire_in_order_of_arming(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let inner = log.clone();
    let callback = move |cx: &Cx| {
        inner.push("interval");
        // Before the interval is armed again.
        cx.set_timeout(10 * MS, inner.note("set by the interval")).unwrap();
        let after = inner.clone();
        cx.queue_microtask(move |cx| {
            cx.set_timeout(10 * MS, after.note("set by its microtask")).unwrap();
        });
    };
    cx.set_interval(10 * MS, callback).unwrap();
    cx.set_interval_fixed_rate(10 * MS, notes(&log, "rate")).unwrap();
    clock.advance(5 * MS);
    cx.set_timeout(15 * MS, log.note("set long before")).unwrap();
    clock.advance(5 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["interval", "rate"]);
    clock.advance(5 * MS);
    cx.set_timeout(5 * MS, log.note("set right before")).unwrap();
    clock.advance(5 * MS);
    tick(&event_loop);
    assert_eq!(
        log.take(),
        [
            "set long before",
            "set by the interval",
            "interval",
            "set by its microtask",
            "rate",
            "set right before",
        ]
    );
}

// spec: TM-10
fn an_interval_knows_its_id_and_nothing_else_has_one(variant: Variant) {
    let clock = VirtualClock::new();
    let log = Log::new();
    let caught = log.clone();
    let event_loop = variant
        .builder()
        .clock(&clock)
        .on_uncaught(move |_, _| caught.push(("panic", None)))
        .build()
        .unwrap();
    let cx = event_loop.cx();
    assert_eq!(cx.current_interval(), None);
    let own = |what| {
        let log = log.clone();
        move |cx: &Cx| log.push((what, cx.current_interval()))
    };
    let delay = cx.set_interval(MS, own("delay")).unwrap();
    cx.set_timeout(MS, own("timeout")).unwrap();
    let panicking = cx.set_interval(MS, |_| panic!("expected by the test")).unwrap();
    cx.set_timeout(MS, own("after a panic")).unwrap();
    let rate = cx.set_interval_fixed_rate(MS, own("rate")).unwrap();
    let sent = event_loop.handle().set_interval(MS, |_| ()).unwrap();
    cx.submit(own("task")).unwrap();
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(
        log.take(),
        [
            ("delay", Some(delay)),
            ("timeout", None),
            ("panic", None),
            ("after a panic", None),
            ("rate", Some(rate)),
            ("task", None),
        ]
    );
    assert_eq!(cx.current_interval(), None);
    for id in [delay, panicking, rate, sent] {
        assert!(cx.clear_interval(id));
    }
    // It can stop itself without having been told its id.
    let stopping = log.clone();
    let callback = move |cx: &Cx| {
        let id = cx.current_interval().unwrap();
        assert!(cx.clear_interval(id));
        stopping.push(("stopped", Some(id)));
    };
    let id = cx.set_interval(MS, callback).unwrap();
    for _ in 0..3 {
        clock.advance(MS);
        tick(&event_loop);
    }
    assert_eq!(log.take(), [("stopped", Some(id))]);
}

// spec: TM-10
fn an_interval_keeps_its_state_from_call_to_call(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let noted = log.clone();
    let mut calls = Vec::new();
    let callback = move |_: &Cx| {
        calls.push(calls.len());
        noted.push(calls.clone());
    };
    event_loop.cx().set_interval(MS, callback).unwrap();
    for _ in 0..3 {
        clock.advance(MS);
        tick(&event_loop);
    }
    assert_eq!(log.take(), [vec![0], vec![0, 1], vec![0, 1, 2]]);
}

// spec: TM-10, TM-9
fn an_interval_set_by_an_interval_outlives_it(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let noted = log.clone();
    // Each sets its successor and clears itself, which frees the storage in use.
    fn generation(cx: &Cx, number: u32, log: Log<u32>) {
        let callback = move |cx: &Cx| {
            log.push(number);
            generation(cx, number + 1, log.clone());
            assert!(cx.clear_interval(cx.current_interval().unwrap()));
        };
        cx.set_interval(Duration::ZERO, callback).unwrap();
    }
    generation(event_loop.cx(), 0, noted);
    for i in 0..100 {
        clock.advance(MS);
        tick(&event_loop);
        assert_eq!(log.take(), [i]);
    }
}
