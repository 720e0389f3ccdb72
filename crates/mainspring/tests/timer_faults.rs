//! Panics in the callbacks of timers, and what becomes of captures.

mod common;

use std::time::Duration;

use common::timers::{HOUR, MS, manual, tick};
use common::{Log, Tracker, Variant, panic_of, turn_until_quiet};
use mainspring::{Cx, Phase, VirtualClock};

suite! {
    a_panic_in_a_timer_loses_no_other_one,
    the_microtasks_of_a_timer_that_panics_run_before_the_next_timer,
    a_panic_in_an_interval_does_not_stop_it,
    after_a_propagated_panic_the_other_due_timers_run,
    a_propagated_panic_keeps_what_was_set_during_the_phase_for_later,
    a_propagated_panic_in_an_interval_leaves_the_loop_consistent,
    captures_are_released_when_their_callback_has_run,
    destructors_that_panic_do_no_harm,
    a_callback_that_panics_releases_its_captures,
}

// spec: FA-1, F-15
fn a_panic_in_a_timer_loses_no_other_one(variant: Variant) {
    let clock = VirtualClock::new();
    let reports = Log::new();
    let told = reports.clone();
    let event_loop = variant
        .builder()
        .clock(&clock)
        .on_uncaught(move |_, panic| {
            told.push((panic.phase(), panic.message().unwrap_or("not text").to_owned()));
        })
        .build()
        .unwrap();
    let log = Log::new();
    for i in 0..100_u32 {
        let log = log.clone();
        let callback = move |_: &Cx| {
            log.push(i);
            assert!(i % 2 == 0, "number {i}");
        };
        // Some of one deadline, some of others.
        event_loop.cx().set_timeout(i / 10 * MS, callback).unwrap();
    }
    clock.advance(10 * MS);
    tick(&event_loop);
    assert!(log.take().into_iter().eq(0..100), "in one phase, in order");
    let expected =
        (0..100_u32).filter(|i| i % 2 == 1).map(|i| (Phase::Timers, format!("number {i}")));
    assert!(reports.take().into_iter().eq(expected));
    assert_eq!(Phase::Timers.to_string(), "timers");
}

// spec: FA-1, MT-1
fn the_microtasks_of_a_timer_that_panics_run_before_the_next_timer(variant: Variant) {
    let clock = VirtualClock::new();
    let log = Log::new();
    let caught = log.clone();
    let event_loop = variant
        .builder()
        .clock(&clock)
        .on_uncaught(move |_, _| caught.push("hook"))
        .build()
        .unwrap();
    let inner = log.clone();
    let callback = move |cx: &Cx| {
        cx.queue_microtask(inner.note("microtask"));
        panic!("expected by the test");
    };
    event_loop.cx().set_timeout(MS, callback).unwrap();
    event_loop.cx().set_timeout(MS, log.note("next")).unwrap();
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["hook", "microtask", "next"]);
}

// spec: FA-1, TM-10
fn a_panic_in_an_interval_does_not_stop_it(variant: Variant) {
    for fixed_rate in [false, true] {
        let clock = VirtualClock::new();
        let reports = Log::new();
        let told = reports.clone();
        let event_loop = variant
            .builder()
            .clock(&clock)
            .on_uncaught(move |_, panic| told.push(panic.phase()))
            .build()
            .unwrap();
        let tracker = Tracker::new();
        let token = tracker.token();
        let mut calls = 0;
        let callback = move |_: &Cx| {
            _ = &token;
            calls += 1;
            assert!(calls % 2 == 0, "expected by the test");
        };
        let id = match fixed_rate {
            false => event_loop.cx().set_interval(MS, callback).unwrap(),
            true => event_loop.cx().set_interval_fixed_rate(MS, callback).unwrap(),
        };
        for i in 1..=10 {
            clock.advance(MS);
            assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
            assert_eq!(reports.len(), i / 2 + i % 2);
            assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS));
        }
        assert_eq!(reports.take(), [Phase::Timers; 5]);
        assert_eq!(tracker.alive(), 1);
        assert!(event_loop.cx().clear_interval(id), "under the same id");
        assert_eq!(tracker.alive(), 0);
    }
}

// spec: FA-3, F-15
fn after_a_propagated_panic_the_other_due_timers_run(variant: Variant) {
    for way in 0..3 {
        let (clock, event_loop) = manual(variant);
        let log = Log::new();
        for i in 0..30_u32 {
            let log = log.clone();
            let callback = move |cx: &Cx| {
                log.push(i);
                if i == 29 {
                    cx.shutdown();
                }
                assert!(i % 3 != 0, "the cause");
            };
            event_loop.cx().set_timeout(i / 7 * MS, callback).unwrap();
        }
        clock.advance(HOUR);
        let mut panics = 0;
        while let Some(panic) = panic_of(|| match way {
            0 => turn_until_quiet(&event_loop),
            1 => event_loop.run().unwrap(),
            _ => event_loop.run_until_idle().unwrap(),
        }) {
            assert_eq!(panic, "the cause");
            panics += 1;
            assert!(panics <= 10);
        }
        assert_eq!(panics, 10, "way {way}");
        assert!(log.take().into_iter().eq(0..30), "way {way}: each once, in order");
    }
}

// spec: FA-3, TM-9
fn a_propagated_panic_keeps_what_was_set_during_the_phase_for_later(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let inner = log.clone();
    let callback = move |cx: &Cx| {
        inner.push("first");
        cx.set_timeout(Duration::ZERO, inner.note("set by the first")).unwrap();
        cx.queue_microtask(inner.note("microtask"));
        panic!("expected by the test");
    };
    event_loop.cx().set_timeout(MS, callback).unwrap();
    event_loop.cx().set_timeout(MS, log.note("second")).unwrap();
    let cleared = event_loop.cx().set_timeout(MS, log.note("cleared")).unwrap();
    event_loop.cx().set_timeout(MS, log.note("third")).unwrap();
    clock.advance(MS);
    assert!(panic_of(|| tick(&event_loop)).is_some());
    assert_eq!(log.take(), ["first"]);
    assert_eq!(event_loop.next_deadline(), Some(clock.now()), "they are due");
    // Between the two drives the rest can be cleared like any other timer.
    assert!(event_loop.cx().clear_timeout(cleared));
    turn_until_quiet(&event_loop);
    assert_eq!(log.take(), ["microtask", "second", "third", "set by the first"]);
}

// spec: FA-3, TM-10
fn a_propagated_panic_in_an_interval_leaves_the_loop_consistent(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let token = tracker.token();
    let callback = move |_: &Cx| {
        _ = &token;
        panic!("the cause");
    };
    let id = event_loop.cx().set_interval(MS, callback).unwrap();
    event_loop.cx().set_timeout(MS, tracker.callback()).unwrap();
    clock.advance(MS);
    assert_eq!(panic_of(|| tick(&event_loop)).as_deref(), Some("the cause"));
    assert_eq!(event_loop.cx().current_interval(), None);
    tick(&event_loop);
    assert_eq!(tracker.ran(), 1);
    // Whether it goes on or not: its id says so, and nothing of it is lost.
    let alive = event_loop.cx().clear_interval(id);
    assert_eq!(tracker.alive(), 0, "it was alive: {alive}");
    event_loop.run_until_idle().unwrap();
}

// spec: TM-4, FA-1
fn captures_are_released_when_their_callback_has_run(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let log = Log::new();
    for _ in 0..3 {
        let (token, alive, noted) = (tracker.token(), tracker.clone(), log.clone());
        // The token is not used, so it lives as long as the closure.
        let callback = move |_: &Cx| {
            _ = &token;
            noted.push(alive.alive());
        };
        event_loop.cx().set_timeout(MS, callback).unwrap();
    }
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), [3, 2, 1]);
    assert_eq!(tracker.alive(), 0);
}

struct Bomb(#[allow(dead_code)] common::Token);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in the destructor");
    }
}

// spec: FA-1, SD-6
fn destructors_that_panic_do_no_harm(variant: Variant) {
    let clock = VirtualClock::new();
    let reports = Log::new();
    let told = reports.clone();
    let event_loop = variant
        .builder()
        .clock(&clock)
        .on_uncaught(move |_, panic| told.push(panic.phase()))
        .build()
        .unwrap();
    let tracker = Tracker::new();
    let cx = event_loop.cx();
    // One that has run.
    let bomb = Bomb(tracker.token());
    cx.set_timeout(MS, move |_| _ = &bomb).unwrap();
    // An interval that clears itself.
    let bomb = Bomb(tracker.token());
    let once = move |cx: &Cx| {
        _ = &bomb;
        assert!(cx.clear_interval(cx.current_interval().unwrap()));
    };
    cx.set_interval(MS, once).unwrap();
    cx.set_timeout(MS, tracker.callback()).unwrap();
    clock.advance(MS);
    let panic = panic_of(|| tick(&event_loop));
    assert_eq!(panic, None);
    assert_eq!((tracker.ran(), tracker.alive()), (1, 0));
    assert_eq!(reports.take()[0], Phase::Timers);
    assert_eq!(event_loop.next_deadline(), None);

    // One that is cleared: whoever hears of it, the timers are in order afterwards.
    let bomb = Bomb(tracker.token());
    let id = cx.set_timeout(MS, move |_| _ = &bomb).unwrap();
    cx.set_timeout(MS, tracker.callback()).unwrap();
    _ = panic_of(|| cx.clear_timeout(id));
    assert!(!cx.clear_timeout(id));
    assert_eq!(tracker.alive(), 1);
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (2, 0));

    // Those that the end of the loop drops.
    for _ in 0..3 {
        let bomb = Bomb(tracker.token());
        cx.set_timeout(MS, move |_| _ = &bomb).unwrap();
        cx.set_timeout(MS, tracker.callback()).unwrap();
    }
    assert_eq!(panic_of(move || drop(event_loop)), None);
    assert_eq!((tracker.ran(), tracker.alive()), (2, 0));
}

// spec: FA-1
fn a_callback_that_panics_releases_its_captures(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = variant.builder().clock(&clock).on_uncaught(|_, _| ()).build().unwrap();
    let tracker = Tracker::new();
    for _ in 0..3 {
        let token = tracker.token();
        let callback = move |_: &Cx| panic!("expected by the test: {token:?}");
        event_loop.cx().set_timeout(MS, callback).unwrap();
        let token = tracker.token();
        let once = move |cx: &Cx| {
            assert!(cx.clear_interval(cx.current_interval().unwrap()));
            panic!("expected by the test: {token:?}");
        };
        event_loop.cx().set_interval(MS, once).unwrap();
    }
    clock.advance(MS);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 6);
    assert_eq!(tracker.alive(), 0);
    clock.advance(MS);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
}
