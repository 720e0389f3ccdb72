//! What keeps the loop alive, and when the next timer is due.

mod common;

use std::time::Duration;

use common::timers::{HOUR, MS, Slot, YEAR, automatic, manual, notes, tick};
use common::{Kind, Log, Tracker, Variant, must_return, turn_until_quiet};
use mainspring::{Cx, Error, PanicPolicy, VirtualClock};

suite! {
    a_referenced_timer_keeps_the_loop_alive_and_an_unreferenced_one_does_not,
    an_unreferenced_timer_fires_while_something_else_is_alive,
    a_timer_unreferenced_in_the_callback_that_made_it_lets_the_loop_end,
    an_unreferenced_interval_stays_so_over_its_ticks,
    an_interval_that_unreferences_itself_lets_the_loop_end,
    references_are_counted_once_however_often_they_are_changed,
    references_follow_each_way_in_which_a_timer_ends,
    a_dead_timer_cannot_be_referenced,
    a_reset_keeps_the_reference_as_it_was,
    the_before_exit_hook_can_set_a_timer,
    the_next_deadline_is_exact,
    the_next_deadline_follows_clears_resets_and_firings,
}

// spec: TM-11, F-24, R9
fn a_referenced_timer_keeps_the_loop_alive_and_an_unreferenced_one_does_not(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let unreferenced = cx.set_timeout(HOUR, log.note("unreferenced")).unwrap();
    cx.reference_timer(unreferenced, false).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!((log.len(), clock.elapsed()), (0, Duration::ZERO), "nothing to wait for");
    cx.set_timeout(MS, log.note("referenced")).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!((log.take(), clock.elapsed()), (vec!["referenced"], MS));
    cx.reference_timer(unreferenced, true).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!((log.take(), clock.elapsed()), (vec!["unreferenced"], HOUR));
    event_loop.run_until_idle().unwrap();
}

// spec: TM-11
fn an_unreferenced_timer_fires_while_something_else_is_alive(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    for delay in [3, 7, 11] {
        let id = cx.set_timeout(delay * MS, log.note(delay)).unwrap();
        cx.reference_timer(id, false).unwrap();
    }
    cx.set_timeout(10 * MS, log.note(10)).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [3, 7, 10]);
    cx.set_timeout(10 * MS, log.note(20)).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [11, 20]);
}

// spec: F-24, TM-11
fn a_timer_unreferenced_in_the_callback_that_made_it_lets_the_loop_end(variant: Variant) {
    must_return(move || {
        // By the real clock: a loop that waits for it waits for an hour.
        let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
        let tracker = Tracker::new();
        for kind in Kind::ALL {
            let inner = tracker.clone();
            kind.queue(event_loop.cx(), move |cx| {
                let id = cx.set_timeout(HOUR, inner.callback()).unwrap();
                cx.reference_timer(id, false).unwrap();
                let id = cx.handle().set_timeout(HOUR, inner.callback()).unwrap();
                cx.handle().reference_timer(id, false).unwrap();
            });
        }
        let inner = tracker.clone();
        let timer = move |cx: &Cx| {
            let token = inner.token();
            let id = cx.set_interval(HOUR, move |_| _ = &token).unwrap();
            cx.reference_timer(id, false).unwrap();
        };
        event_loop.cx().set_timeout(Duration::ZERO, timer).unwrap();
        event_loop.run_until_idle().unwrap();
        assert_eq!((tracker.ran(), tracker.alive()), (0, 13));
    });
}

// spec: TM-11, TM-10
fn an_unreferenced_interval_stays_so_over_its_ticks(variant: Variant) {
    for fixed_rate in [false, true] {
        let (clock, event_loop) = automatic(variant);
        let log = Log::new();
        let cx = event_loop.cx();
        let id = match fixed_rate {
            false => cx.set_interval(3 * MS, notes(&log, 3)).unwrap(),
            true => cx.set_interval_fixed_rate(3 * MS, notes(&log, 3)).unwrap(),
        };
        cx.reference_timer(id, false).unwrap();
        cx.set_timeout(10 * MS, log.note(10)).unwrap();
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.take(), [3, 3, 3, 10]);
        assert_eq!(clock.elapsed(), 10 * MS);
        event_loop.run_until_idle().unwrap();
        assert_eq!(clock.elapsed(), 10 * MS);
        assert!(cx.clear_interval(id));
    }
}

// spec: TM-11, F-24
fn an_interval_that_unreferences_itself_lets_the_loop_end(variant: Variant) {
    for by_handle in [false, true] {
        let (clock, event_loop) = automatic(variant);
        let log = Log::new();
        let noted = log.clone();
        let callback = move |cx: &Cx| {
            noted.push(());
            if noted.len() == 3 {
                let id = cx.current_interval().unwrap();
                match by_handle {
                    false => cx.reference_timer(id, false).unwrap(),
                    true => cx.handle().reference_timer(id, false).unwrap(),
                }
            }
        };
        event_loop.cx().set_interval(MS, callback).unwrap();
        event_loop.run_until_idle().unwrap();
        assert_eq!((log.len(), clock.elapsed()), (3, 3 * MS));
    }
}

// spec: TM-11
fn references_are_counted_once_however_often_they_are_changed(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let tracker = Tracker::new();
    let cx = event_loop.cx();
    let one = cx.set_timeout(MS, tracker.callback()).unwrap();
    let other = cx.set_timeout(2 * MS, tracker.callback()).unwrap();
    for _ in 0..3 {
        cx.reference_timer(one, false).unwrap();
        event_loop.handle().reference_timer(one, false).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!((tracker.ran(), clock.elapsed()), (2, 2 * MS), "the other one counts");
    let id = cx.set_timeout(HOUR, tracker.callback()).unwrap();
    for _ in 0..3 {
        cx.reference_timer(id, true).unwrap();
    }
    cx.reference_timer(id, false).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.ran(), 2);
    assert!(cx.clear_timeout(id));
    event_loop.run_until_idle().unwrap();
    assert!(!cx.clear_timeout(other));
}

// spec: TM-11, F-24
fn references_follow_each_way_in_which_a_timer_ends(variant: Variant) {
    let clock = VirtualClock::auto();
    let event_loop = variant.builder().clock(&clock).on_uncaught(|_, _| ()).build().unwrap();
    let cx = event_loop.cx();
    for referenced in [false, true] {
        for round in 0..5 {
            let id = match round {
                0 | 1 => cx.set_timeout(MS, |_| ()).unwrap(),
                2 => cx.set_timeout(MS, |_| panic!("expected by the test")).unwrap(),
                3 => {
                    let once = |cx: &Cx| {
                        assert!(cx.clear_interval(cx.current_interval().unwrap()));
                    };
                    cx.set_interval(MS, once).unwrap()
                }
                _ => {
                    let once = |cx: &Cx| {
                        assert!(cx.clear_interval(cx.current_interval().unwrap()));
                        panic!("expected by the test");
                    };
                    cx.set_interval_fixed_rate(MS, once).unwrap()
                }
            };
            cx.reference_timer(id, referenced).unwrap();
            if round == 0 {
                assert!(cx.clear_timeout(id));
            }
            clock.advance(MS);
            turn_until_quiet(&event_loop);
            assert_eq!(event_loop.next_deadline(), None, "round {round}");
            // A count that is off by one either waits for nothing or not for this.
            let before = clock.elapsed();
            event_loop.run_until_idle().unwrap();
            assert_eq!(clock.elapsed(), before, "round {round}");
            let log = Log::new();
            cx.set_timeout(MS, log.note(())).unwrap();
            event_loop.run_until_idle().unwrap();
            assert_eq!(log.len(), 1, "round {round}, referenced: {referenced}");
        }
    }
}

// spec: TM-11, ER-1
fn a_dead_timer_cannot_be_referenced(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let cx = event_loop.cx();
    let slot = Slot::default();
    let own = slot.clone();
    let callback = move |cx: &Cx| {
        for referenced in [true, false] {
            let result = cx.reference_timer(own.get(), referenced);
            assert!(matches!(result, Err(Error::TimerNotFound)));
        }
    };
    slot.set(cx.set_timeout(MS, callback).unwrap());
    let cleared = cx.set_timeout(MS, |_| ()).unwrap();
    assert!(cx.clear_timeout(cleared));
    event_loop.run_until_idle().unwrap();
    for id in [slot.get(), cleared] {
        for referenced in [true, false] {
            let result = cx.reference_timer(id, referenced);
            assert!(matches!(result, Err(Error::TimerNotFound)));
        }
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(clock.elapsed(), MS);
}

// spec: TM-11
fn a_reset_keeps_the_reference_as_it_was(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let tracker = Tracker::new();
    let cx = event_loop.cx();
    let id = cx.set_timeout(HOUR, tracker.callback()).unwrap();
    cx.reference_timer(id, false).unwrap();
    cx.reset_timeout(id, MS).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(clock.elapsed(), Duration::ZERO);
    cx.reference_timer(id, true).unwrap();
    cx.reset_timeout(id, 2 * MS).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!((tracker.ran(), clock.elapsed()), (1, 2 * MS));
}

// spec: TK-6, F-24
fn the_before_exit_hook_can_set_a_timer(variant: Variant) {
    let clock = VirtualClock::auto();
    let log = Log::new();
    let exit = log.clone();
    let event_loop = variant
        .builder()
        .clock(&clock)
        .on_before_exit(move |cx| {
            exit.push("before exit");
            if exit.len() < 4 {
                cx.set_timeout(MS, exit.note("timer")).unwrap();
            }
        })
        .build()
        .unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["before exit", "timer", "before exit", "timer", "before exit"]);
    assert_eq!(clock.elapsed(), 2 * MS);
}

// spec: TM-1, BX-2
fn the_next_deadline_is_exact(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    assert_eq!(event_loop.next_deadline(), None);
    // To the nanosecond at any distance.
    let mut delay = Duration::from_nanos(1);
    while delay < 100 * YEAR {
        for delay in [delay - Duration::from_nanos(1), delay, delay + Duration::from_nanos(1)] {
            let id = cx.set_timeout(delay, |_| ()).unwrap();
            let expected = Some(clock.now() + delay);
            assert_eq!(event_loop.next_deadline(), expected);
            assert_eq!(cx.next_deadline(), expected);
            assert_eq!(event_loop.handle().next_deadline(), expected);
            assert!(cx.clear_timeout(id));
            assert_eq!(event_loop.next_deadline(), None);
        }
        delay *= 2;
        clock.advance(delay / 1_000);
    }
    let past = clock.now().checked_sub(MS).unwrap();
    cx.set_timeout_at(past, |_| ()).unwrap();
    assert_eq!(event_loop.next_deadline(), Some(past), "it was given like this");
}

// spec: TM-2, BX-2
fn the_next_deadline_follows_clears_resets_and_firings(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    let start = clock.now();
    let next = || event_loop.next_deadline().map(|deadline| deadline - start);
    let hour = cx.set_timeout(HOUR, |_| ()).unwrap();
    let one = cx.set_timeout(MS, |_| ()).unwrap();
    let same = cx.set_timeout(MS, |_| ()).unwrap();
    let two = cx.set_timeout(2 * MS, |_| ()).unwrap();
    assert_eq!(next(), Some(MS));
    assert!(cx.clear_timeout(one));
    assert_eq!(next(), Some(MS), "there is another one of this deadline");
    assert!(cx.clear_timeout(same));
    assert_eq!(next(), Some(2 * MS));
    cx.reset_timeout(two, 3 * MS).unwrap();
    assert_eq!(next(), Some(3 * MS));
    cx.reset_timeout(hour, MS).unwrap();
    assert_eq!(next(), Some(MS));
    cx.reset_timeout(hour, HOUR).unwrap();
    clock.advance(3 * MS);
    assert_eq!(next(), Some(3 * MS), "due, and not yet run");
    tick(&event_loop);
    assert_eq!(next(), Some(HOUR));
    cx.reference_timer(hour, false).unwrap();
    assert_eq!(next(), Some(HOUR), "unreferenced timers fire, too");
    clock.advance(2 * HOUR);
    tick(&event_loop);
    assert_eq!(next(), None);
}
