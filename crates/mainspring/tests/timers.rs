//! Timers on the loop's own thread: when they fire, and in which order.

mod common;

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use common::timers::{HOUR, MS, Random, manual, notes, tick};
use common::{Kind, Log, Tracker, Variant, must_return, wait_until};
use mainspring::{Cx, PanicPolicy};

suite! {
    a_timer_fires_once_at_its_deadline_and_is_gone,
    a_timer_that_is_long_overdue_fires_once,
    a_delay_becomes_a_deadline_when_it_is_given,
    a_late_callback_shifts_no_other_deadline,
    no_timer_fires_early_by_the_real_clock,
    a_wall_clock_time_is_converted_by_the_caller,
    a_delay_given_in_a_long_callback_counts_from_the_real_now,
    a_real_delay_given_after_a_long_callback_is_kept_in_full,
    a_timer_that_falls_due_during_a_callback_does_not_wait_again,
    timers_fire_by_deadline_and_equal_ones_in_order_of_insertion,
    equal_deadlines_keep_their_order_however_long_ago_they_were_set,
    deadlines_in_the_past_fire_at_once_and_in_their_order,
    timers_come_first_in_a_tick,
    microtasks_run_between_two_timers_of_one_deadline,
}

// spec: TM-4, M1-4.4, TM-12
fn a_timer_fires_once_at_its_deadline_and_is_gone(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let id = event_loop.cx().set_timeout(10 * MS, tracker.callback()).unwrap();
    tick(&event_loop);
    clock.advance(10 * MS - Duration::from_nanos(1));
    tick(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (0, 1), "one nanosecond is left");
    clock.advance(Duration::from_nanos(1));
    tick(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (1, 0));
    assert_eq!(event_loop.next_deadline(), None);
    assert!(!event_loop.cx().clear_timeout(id), "it is gone");
    clock.advance(HOUR);
    tick(&event_loop);
    assert_eq!(tracker.ran(), 1);
}

// spec: TM-4, M1-4.6
fn a_timer_that_is_long_overdue_fires_once(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    event_loop.cx().set_timeout(MS, tracker.callback()).unwrap();
    for _ in 0..5 {
        clock.advance(HOUR);
    }
    for _ in 0..5 {
        tick(&event_loop);
        clock.advance(MS);
    }
    assert_eq!(tracker.ran(), 1);
    let calls = Log::new();
    event_loop.cx().set_interval(MS, notes(&calls, ())).unwrap();
    event_loop.cx().set_interval_fixed_rate(MS, notes(&calls, ())).unwrap();
    clock.advance(100 * MS);
    tick(&event_loop);
    assert_eq!(calls.take().len(), 2, "each of them once");
    tick(&event_loop);
    assert_eq!(calls.len(), 0, "nothing is made up for");
}

// spec: M1-4.3, TK-2
fn a_delay_becomes_a_deadline_when_it_is_given(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let start = clock.now();
    event_loop.cx().set_timeout(10 * MS, log.note("context")).unwrap();
    let handle = event_loop.handle();
    handle.set_timeout(10 * MS, |_| ()).unwrap();
    // No tick has seen them, and time passes all the same.
    clock.advance(7 * MS);
    assert_eq!(event_loop.next_deadline(), Some(start + 10 * MS));
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    clock.advance(3 * MS);
    let turn = event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((turn.callbacks, log.len()), (2, 1));
}

// spec: TM-5, M1-4.5
fn a_late_callback_shifts_no_other_deadline(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let start = clock.now();
    let log = Log::new();
    let (slow, noted) = (clock.clone(), log.clone());
    let callback = move |_: &Cx| {
        noted.push(10);
        slow.advance(15 * MS);
    };
    event_loop.cx().set_timeout(10 * MS, callback).unwrap();
    for at in [20, 26, 30] {
        event_loop.cx().set_timeout(at * MS, log.note(at)).unwrap();
    }
    clock.advance(10 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), [10], "the time of the phase was taken before");
    tick(&event_loop);
    assert_eq!(log.take(), [20]);
    assert_eq!(event_loop.next_deadline(), Some(start + 26 * MS));
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), [26]);
    assert_eq!(event_loop.next_deadline(), Some(start + 30 * MS));
}

// spec: M1-4.1, TM-1, F-31
fn no_timer_fires_early_by_the_real_clock(variant: Variant) {
    let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let fired = Rc::new(Cell::new(0));
    let count = 400;
    for i in 0..count {
        let delay = Duration::from_nanos(random.below(20_000_000));
        let fired = Rc::clone(&fired);
        let set = Instant::now();
        let callback = move |cx: &Cx| {
            let now = Instant::now();
            assert!(now >= set + delay, "{delay:?} have not passed");
            assert!(cx.now() <= now, "the tick began before");
            // What was given as a time is compared as one.
            assert!(
                i % 2 == 0 || cx.now() >= set + delay,
                "the tick began at the deadline or later"
            );
            fired.set(fired.get() + 1);
        };
        let cx = event_loop.cx();
        match i % 2 {
            0 => cx.set_timeout(delay, callback).unwrap(),
            _ => cx.set_timeout_at(set + delay, callback).unwrap(),
        };
        let latest = Instant::now() + Duration::from_millis(20);
        assert!(event_loop.next_deadline().unwrap() <= latest, "of the same clock");
        if i % 16 == 0 {
            tick(&event_loop);
        }
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(fired.get(), count);
}

// spec: M1-4.8
fn a_wall_clock_time_is_converted_by_the_caller(variant: Variant) {
    use std::time::SystemTime;
    let event_loop = variant.build();
    let wall = SystemTime::now() + 3 * MS;
    let deadline = Instant::now() + wall.duration_since(SystemTime::now()).unwrap_or_default();
    let log = Log::new();
    let noted = log.clone();
    event_loop.cx().set_timeout_at(deadline, move |_| noted.push(Instant::now())).unwrap();
    assert_eq!(event_loop.next_deadline(), Some(deadline), "it is kept as it was given");
    event_loop.run_until_idle().unwrap();
    assert!(log.take()[0] >= deadline);
}

// spec: TK-2, F-31, D18
fn a_delay_given_in_a_long_callback_counts_from_the_real_now(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let (slow, inner) = (clock.clone(), tracker.clone());
    let task = move |cx: &Cx| {
        let before = cx.now();
        slow.advance(50 * MS);
        assert_eq!(cx.now(), before, "the cached time stands still");
        cx.set_timeout(10 * MS, inner.callback()).unwrap();
        cx.handle().set_timeout(20 * MS, inner.callback()).unwrap();
        assert_eq!(cx.next_deadline(), Some(slow.now() + 10 * MS));
    };
    event_loop.cx().submit(task).unwrap();
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(tracker.ran(), 0, "not early after the long callback");
    clock.advance(10 * MS);
    tick(&event_loop);
    assert_eq!(tracker.ran(), 1);
    clock.advance(10 * MS);
    tick(&event_loop);
    assert_eq!(tracker.ran(), 2);
}

// spec: TK-2, F-31, D18
fn a_real_delay_given_after_a_long_callback_is_kept_in_full(variant: Variant) {
    let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
    let tracker = Tracker::new();
    let inner = tracker.callback();
    let task = move |cx: &Cx| {
        let began = Instant::now();
        wait_until(|| began.elapsed() >= 2 * MS);
        let set = Instant::now();
        let callback = move |cx: &Cx| {
            assert!(Instant::now() >= set + MS);
            inner(cx);
        };
        cx.set_timeout(MS, callback).unwrap();
        assert!(cx.next_deadline().unwrap() >= set + MS, "from now, not from the tick's time");
    };
    event_loop.cx().submit(task).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(tracker.ran(), 1);
}

// spec: TK-3
fn a_timer_that_falls_due_during_a_callback_does_not_wait_again(variant: Variant) {
    // Nobody moves this clock any more: a loop that goes by the tick's time blocks for ever.
    for kind in Kind::ALL {
        must_return(move || {
            let (clock, event_loop) = manual(variant);
            event_loop.cx().set_timeout(10 * MS, |cx| cx.shutdown()).unwrap();
            kind.queue(event_loop.cx(), move |_| clock.advance(10 * MS));
            event_loop.run().unwrap();
        });
    }
}

// spec: TM-2, F-14
fn timers_fire_by_deadline_and_equal_ones_in_order_of_insertion(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let mut random = Random(7);
    let mut expected = Vec::new();
    for i in 0..2_000 {
        let delay = random.below(20);
        let id = event_loop.cx().set_timeout(delay as u32 * MS, log.note((delay, i))).unwrap();
        expected.push((delay, i));
        // Gaps in the order must not confuse it.
        if random.below(4) == 0 {
            assert!(event_loop.cx().clear_timeout(id));
            expected.pop();
        }
    }
    expected.sort_unstable();
    clock.advance(20 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), expected, "in one phase");
}

// spec: TM-2, F-14
fn equal_deadlines_keep_their_order_however_long_ago_they_were_set(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let handle = event_loop.handle();
    let deadline = clock.now() + HOUR;
    // From an hour away to right before, closer and closer.
    let mut left = HOUR;
    let mut expected = Vec::new();
    for i in 0_u32.. {
        match i % 4 {
            0 => cx.set_timeout_at(deadline, log.note(i)).unwrap(),
            1 => cx.set_timeout(left, log.note(i)).unwrap(),
            2 => cx.set_interval(left, notes(&log, i)).unwrap(),
            _ => {
                let reset = cx.set_timeout(left / 2 + 5 * MS, log.note(i)).unwrap();
                cx.reset_timeout(reset, left).unwrap();
                reset
            }
        };
        expected.push(i);
        let step = left - left / 3;
        if step == left {
            break;
        }
        left -= step;
        clock.advance(step);
        tick(&event_loop);
        assert_eq!(log.len(), 0, "{left:?} are left");
    }
    assert!(expected.len() > 20);
    assert_eq!(handle.next_deadline(), Some(deadline));
    clock.advance(left);
    tick(&event_loop);
    assert_eq!(log.take(), expected);
}

// spec: TM-2, TM-1
fn deadlines_in_the_past_fire_at_once_and_in_their_order(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let made = clock.now();
    clock.advance(HOUR);
    let log = Log::new();
    let now = clock.now();
    let ago = |time: Duration| now.checked_sub(time).unwrap();
    for (at, name) in [
        (now + MS, "later"),
        (now, "now"),
        (ago(MS), "a millisecond ago"),
        (made, "when the loop was made"),
        (made - 2 * MS, "before the loop was made"),
        (made - 5 * MS, "long before the loop was made"),
        (made - 2 * MS, "before the loop was made, again"),
        (ago(MS), "a millisecond ago, again"),
        (made + MS, "after the loop was made"),
    ] {
        event_loop.cx().set_timeout_at(at, log.note(name)).unwrap();
    }
    event_loop.cx().set_timeout(Duration::ZERO, log.note("no delay")).unwrap();
    assert_eq!(log.len(), 0, "none of them runs inside the call");
    assert!(event_loop.next_deadline().unwrap() <= now);
    tick(&event_loop);
    assert_eq!(
        log.take(),
        [
            "long before the loop was made",
            "before the loop was made",
            "before the loop was made, again",
            "when the loop was made",
            "after the loop was made",
            "a millisecond ago",
            "a millisecond ago, again",
            "now",
            "no delay",
        ]
    );
}

// spec: TK-1, MT-1
fn timers_come_first_in_a_tick(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let log = Log::new();
    let note = |what, after| {
        let log = log.clone();
        move |cx: &Cx| {
            log.push(what);
            cx.queue_microtask(log.note(after));
        }
    };
    let cx = event_loop.cx();
    // In the reverse of the order in which they are to run.
    cx.set_immediate(note("immediate", "after immediate"));
    cx.submit(note("external", "after external")).unwrap();
    cx.submit_internal(note("internal", "after internal")).unwrap();
    cx.set_timeout(Duration::ZERO, note("timer", "after timer")).unwrap();
    tick(&event_loop);
    assert_eq!(
        log.take(),
        [
            "timer",
            "after timer",
            "internal",
            "after internal",
            "external",
            "after external",
            "immediate",
            "after immediate",
        ]
    );
}

// spec: MT-1, R7
fn microtasks_run_between_two_timers_of_one_deadline(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    for i in 0..3 {
        let log = log.clone();
        let callback = move |cx: &Cx| {
            log.push((i, "timer"));
            let inner = log.clone();
            cx.queue_microtask(move |cx| {
                inner.push((i, "microtask"));
                cx.queue_microtask(inner.note((i, "microtask of a microtask")));
            });
            cx.next_tick(log.note((i, "next tick")));
        };
        event_loop.cx().set_timeout(MS, callback).unwrap();
    }
    clock.advance(MS);
    tick(&event_loop);
    let order = ["timer", "next tick", "microtask", "microtask of a microtask"];
    let expected: Vec<_> = (0..3).flat_map(|i| order.map(|what| (i, what))).collect();
    assert_eq!(log.take(), expected);
}
