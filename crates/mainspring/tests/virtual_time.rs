//! The virtual clock, and what it makes possible: hours of timers, checked to the nanosecond.

mod common;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::timers::{HOUR, MS, Random, tick};
use common::{Kind, Log, Tracker, Variant, must_return, wait_until, wait_until_sleeping};
use mainspring::{Cx, Error, EventLoop, PanicPolicy, TimerId, VirtualClock};

suite![
    a_clock_moves_only_when_it_is_told_to,
    the_loop_has_the_time_of_its_clock,
    an_advance_within_a_callback_does_not_change_the_time_of_the_tick,
    an_advance_wakes_a_loop_on_another_thread,
    no_advance_is_missed_by_a_loop_about_to_sleep,
    advancing_to_the_next_deadline_goes_exactly_there,
    advancing_to_the_next_deadline_never_goes_back,
    the_next_deadline_of_several_loops_is_the_earliest,
    a_loop_that_is_gone_has_no_deadline,
    an_automatic_clock_jumps_instead_of_waiting,
    an_automatic_clock_does_not_jump_while_there_is_work,
    an_automatic_clock_stands_still_while_a_guard_exists,
    an_automatic_clock_serves_timers_that_threads_set,
    an_automatic_clock_can_be_switched,
    the_limit_of_a_turn_is_real_with_a_manual_clock,
    the_limit_of_a_turn_is_virtual_with_an_automatic_clock,
    an_absurd_advance_does_not_panic,
    deadlines_at_every_power_of_two_are_met_to_the_nanosecond,
    intervals_meet_their_deadlines_to_the_nanosecond,
    an_hour_of_random_timers_fires_in_exact_order,
    a_million_timers_are_ordinary,
    each_jump_of_any_size_fires_exactly_what_is_due,
    hundreds_of_random_programs_agree_with_a_sorted_list,
    large_random_programs_agree_with_a_sorted_list,
];

const NS: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

/// A loop with this clock. A failed assertion in a callback leaves the call that drives it.
fn with(variant: Variant, clock: &VirtualClock) -> EventLoop {
    variant.builder().clock(clock).panic_policy(PanicPolicy::Propagate).build().unwrap()
}

// spec: TM-12
fn a_clock_moves_only_when_it_is_told_to(variant: Variant) {
    for clock in [VirtualClock::new(), VirtualClock::auto(), VirtualClock::default()] {
        let event_loop = with(variant, &clock);
        let start = clock.now();
        let real = Instant::now();
        wait_until(|| Instant::now() > real);
        tick(&event_loop);
        assert_eq!((clock.now(), clock.elapsed()), (start, Duration::ZERO));
        let clone = clock.clone();
        clone.advance(3 * MS);
        assert_eq!((clock.now(), clock.elapsed()), (start + 3 * MS, 3 * MS));
        clock.advance(Duration::ZERO);
        thread::scope(|scope| scope.spawn(|| clock.advance(NS)).join().unwrap());
        assert_eq!(clone.elapsed(), 3 * MS + NS);
    }
}

// spec: TM-12, TK-2
fn the_loop_has_the_time_of_its_clock(variant: Variant) {
    let clock = VirtualClock::new();
    clock.advance(HOUR);
    let event_loop = with(variant, &clock);
    tick(&event_loop);
    assert_eq!(event_loop.cx().now(), clock.now());
    let seen = clock.now();
    clock.advance(SECOND);
    assert_eq!(event_loop.cx().now(), seen, "until the next tick");
    assert_eq!(event_loop.handle().now(), seen);
    tick(&event_loop);
    assert_eq!(event_loop.cx().now(), clock.now());
    assert_eq!(event_loop.handle().now(), seen + SECOND);
}

// spec: TM-12, TK-2
fn an_advance_within_a_callback_does_not_change_the_time_of_the_tick(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = with(variant, &clock);
    let log = Log::new();
    let (slow, noted) = (clock.clone(), log.clone());
    let callback = move |cx: &Cx| {
        let before = cx.now();
        slow.advance(10 * MS);
        assert_eq!(cx.now(), before);
        noted.push("first");
    };
    event_loop.cx().set_timeout(MS, callback).unwrap();
    event_loop.cx().set_timeout(2 * MS, log.note("second")).unwrap();
    clock.advance(MS);
    assert!(event_loop.turn(Duration::ZERO).unwrap().ready);
    assert_eq!(log.take(), ["first"], "the second was not due when the tick began");
    tick(&event_loop);
    assert_eq!(log.take(), ["second"]);
}

// spec: TM-12
fn an_advance_wakes_a_loop_on_another_thread(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::new();
        let loop_clock = clock.clone();
        let (handle, thread) = variant.spawn(
            move |builder| builder.clock(&loop_clock),
            move |event_loop| {
                event_loop.cx().set_timeout(HOUR, |cx| cx.shutdown()).unwrap();
                event_loop.run()
            },
        );
        wait_until_sleeping(&handle);
        clock.advance(HOUR - NS);
        wait_until(|| handle.now() == clock.now());
        wait_until_sleeping(&handle);
        clock.advance(NS);
        thread.join().unwrap().unwrap();
    });
}

// spec: TM-12, F-2, WK-1
fn no_advance_is_missed_by_a_loop_about_to_sleep(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let (loop_clock, counted) = (clock.clone(), Arc::clone(&calls));
        let (handle, thread) = variant.spawn(
            move |builder| builder.clock(&loop_clock),
            move |event_loop| {
                let callback = move |_: &Cx| _ = counted.fetch_add(1, Ordering::SeqCst);
                event_loop.cx().set_interval(MS, callback).unwrap();
                event_loop.run()
            },
        );
        wait_until(|| handle.next_deadline().is_some());
        let mut random = Random(11);
        for round in 1..=20_000 {
            clock.advance(MS);
            wait_until(|| calls.load(Ordering::SeqCst) == round);
            // The next one meets the loop at another point of its way into the sleep. It is armed
            // again by then, or the advance would count for nothing.
            wait_until(|| handle.next_deadline() == Some(clock.now() + MS));
            for _ in 0..random.below(500) {
                std::hint::spin_loop();
            }
        }
        handle.close();
        thread.join().unwrap().unwrap();
    });
}

// spec: TM-12
fn advancing_to_the_next_deadline_goes_exactly_there(variant: Variant) {
    let clock = VirtualClock::new();
    assert_eq!(clock.advance_to_next(), None, "no loop");
    let event_loop = with(variant, &clock);
    assert_eq!(clock.advance_to_next(), None, "no timer");
    assert_eq!(clock.elapsed(), Duration::ZERO);
    let log = Log::new();
    let start = clock.now();
    let mut random = Random(23);
    let mut deadlines: Vec<_> = (0..200).map(|_| random.next() >> (random.below(40) + 5)).collect();
    for nanos in &deadlines {
        let at = start + Duration::from_nanos(*nanos);
        event_loop.cx().set_timeout_at(at, log.note(*nanos)).unwrap();
    }
    deadlines.sort_unstable();
    deadlines.dedup();
    for nanos in deadlines {
        let at = start + Duration::from_nanos(nanos);
        assert_eq!(clock.advance_to_next(), Some(at));
        assert_eq!(clock.now(), at);
        tick(&event_loop);
        assert!(log.take().iter().all(|fired| *fired == nanos));
    }
    assert_eq!(clock.advance_to_next(), None);
    // A timer that another thread has set and the loop has not seen.
    let handle = event_loop.handle();
    let set = || handle.set_timeout(MS, |_| ()).unwrap();
    let id = thread::scope(|scope| scope.spawn(set).join().unwrap());
    let expected = clock.now() + MS;
    assert_eq!(clock.advance_to_next(), Some(expected));
    assert!(handle.clear_timeout(id));
    assert_eq!(clock.advance_to_next(), None, "nor is one that was cleared");
}

// spec: TM-12
fn advancing_to_the_next_deadline_never_goes_back(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = with(variant, &clock);
    event_loop.cx().set_timeout(MS, |_| ()).unwrap();
    event_loop.cx().set_timeout(HOUR, |_| ()).unwrap();
    clock.advance(SECOND);
    for _ in 0..3 {
        assert!(clock.advance_to_next().is_some());
        assert_eq!(clock.elapsed(), SECOND, "what is due comes first");
    }
    tick(&event_loop);
    assert!(clock.advance_to_next().is_some());
    assert_eq!(clock.elapsed(), HOUR);
}

// spec: TM-12
fn the_next_deadline_of_several_loops_is_the_earliest(variant: Variant) {
    let clock = VirtualClock::new();
    let loops: Vec<_> = (0..3).map(|_| with(variant, &clock)).collect();
    let log = Log::new();
    for (i, event_loop) in loops.iter().enumerate() {
        for round in 0..3 {
            let delay = (round * 3 + 2 - i as u32) * MS + MS;
            event_loop.cx().set_timeout(delay, log.note(delay)).unwrap();
        }
    }
    for ms in 1..=9 {
        clock.advance_to_next().unwrap();
        assert_eq!(clock.elapsed(), ms * MS);
        loops.iter().for_each(tick);
        assert_eq!(log.take(), [ms * MS]);
    }
    assert_eq!(clock.advance_to_next(), None);
}

// spec: TM-12, SD-6
fn a_loop_that_is_gone_has_no_deadline(variant: Variant) {
    let clock = VirtualClock::new();
    let kept = with(variant, &clock);
    for way in 0..3 {
        let event_loop = with(variant, &clock);
        event_loop.cx().set_timeout(MS, |_| ()).unwrap();
        if way > 0 {
            event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
            event_loop.run().unwrap();
        }
        if way < 2 {
            drop(event_loop);
        }
        assert_eq!(clock.advance_to_next(), None, "way {way}");
        clock.advance(SECOND);
    }
    kept.cx().set_timeout(MS, |_| ()).unwrap();
    assert_eq!(clock.advance_to_next(), Some(clock.now()));
}

// spec: TM-12
fn an_automatic_clock_jumps_instead_of_waiting(variant: Variant) {
    let clock = VirtualClock::auto();
    let event_loop = with(variant, &clock);
    let start = clock.now();
    let log = Log::new();
    // Days, each of whose timers sets the next one.
    fn next(cx: &Cx, clock: &VirtualClock, log: &Log<Instant>) {
        let (clock, log) = (clock.clone(), log.clone());
        let callback = move |cx: &Cx| {
            assert_eq!(clock.now(), cx.now(), "no later than it must");
            log.push(cx.now());
            if log.len() < 100 {
                next(cx, &clock, &log);
            }
        };
        cx.set_timeout(24 * HOUR, callback).unwrap();
    }
    next(event_loop.cx(), &clock, &log);
    event_loop.run_until_idle().unwrap();
    assert!(log.take().into_iter().eq((1..=100).map(|day| start + day * 24 * HOUR)));
    assert_eq!(clock.elapsed(), 100 * 24 * HOUR);
    // Of `run`, too, and for a timer that would not keep the loop alive.
    let id = event_loop.cx().set_timeout(HOUR, |cx| cx.shutdown()).unwrap();
    event_loop.cx().reference_timer(id, false).unwrap();
    event_loop.run().unwrap();
    assert_eq!(clock.elapsed(), 2_401 * HOUR);
}

// spec: TM-12, TK-3
fn an_automatic_clock_does_not_jump_while_there_is_work(variant: Variant) {
    for kind in Kind::ALL {
        let clock = VirtualClock::auto();
        // Each tick leaves something for the next one.
        let event_loop = variant
            .builder()
            .clock(&clock)
            .panic_policy(PanicPolicy::Propagate)
            .external_budget(1)
            .microtask_budget(1)
            .on_diagnostic(|_, _| ())
            .build()
            .unwrap();
        let log = Log::new();
        event_loop.cx().set_timeout(MS, log.note(Duration::MAX)).unwrap();
        let (left, noted, seen) = (Rc::new(Cell::new(100)), log.clone(), clock.clone());
        kind.chain(event_loop.cx(), move || {
            noted.push(seen.elapsed());
            left.set(left.get() - 1);
            left.get() > 0
        });
        event_loop.run_until_idle().unwrap();
        let mut expected = vec![Duration::ZERO; 100];
        expected.push(Duration::MAX);
        assert_eq!(log.take(), expected, "{kind:?}");
        assert_eq!(clock.elapsed(), MS);
    }
}

// spec: TM-12, F-24
fn an_automatic_clock_stands_still_while_a_guard_exists(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::auto();
        let loop_clock = clock.clone();
        let (may_begin, begin) = mpsc::channel();
        let (handle, thread) = variant.spawn(
            move |builder| builder.clock(&loop_clock),
            move |event_loop| {
                let tracker = Tracker::new();
                event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
                begin.recv().unwrap();
                event_loop.run_until_idle().unwrap();
                tracker.ran()
            },
        );
        let guards = [handle.keep_alive(), handle.keep_alive()];
        may_begin.send(()).unwrap();
        for guard in guards {
            wait_until_sleeping(&handle);
            // It turns, and blocks again.
            let (sender, receiver) = mpsc::channel();
            handle.submit(move |_| sender.send(()).unwrap()).unwrap();
            receiver.recv().unwrap();
            wait_until_sleeping(&handle);
            assert_eq!(clock.elapsed(), Duration::ZERO, "something else may happen before");
            drop(guard);
        }
        assert_eq!(thread.join().unwrap(), 1);
        assert_eq!(clock.elapsed(), HOUR);
    });
}

// spec: TM-12, TM-7
fn an_automatic_clock_serves_timers_that_threads_set(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::auto();
        let loop_clock = clock.clone();
        let (handle, thread) =
            variant.spawn(move |builder| builder.clock(&loop_clock), |event_loop| event_loop.run());
        for hours in 1..=200 {
            if hours % 2 == 0 {
                wait_until_sleeping(&handle);
            }
            let (sender, receiver) = mpsc::channel();
            handle.set_timeout(HOUR, move |cx| sender.send(cx.now()).unwrap()).unwrap();
            assert_eq!(receiver.recv().unwrap(), clock.now());
            assert_eq!(clock.elapsed(), hours * HOUR);
        }
        handle.close();
        thread.join().unwrap().unwrap();
    });
}

// spec: TM-12
fn an_automatic_clock_can_be_switched(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::new();
        let event_loop = with(variant, &clock);
        let tracker = Tracker::new();
        event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
        clock.set_auto_advance(true);
        event_loop.run_until_idle().unwrap();
        assert_eq!((tracker.ran(), clock.elapsed()), (1, HOUR));
        clock.clone().set_auto_advance(false);
        event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
        event_loop.turn(MS).unwrap();
        assert_eq!((tracker.ran(), clock.elapsed()), (1, HOUR));
        // From a callback, for the next sleep.
        let switched = clock.clone();
        event_loop.cx().submit(move |_| switched.set_auto_advance(true)).unwrap();
        event_loop.run_until_idle().unwrap();
        assert_eq!((tracker.ran(), clock.elapsed()), (2, 2 * HOUR));
    });
}

// spec: TM-12
fn the_limit_of_a_turn_is_real_with_a_manual_clock(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::new();
        let event_loop = with(variant, &clock);
        let tracker = Tracker::new();
        event_loop.cx().set_timeout(MS, tracker.callback()).unwrap();
        let before = Instant::now();
        let turn = event_loop.turn(2 * MS).unwrap();
        assert!(before.elapsed() >= 2 * MS, "nobody else has moved the clock");
        assert_eq!((turn.callbacks, turn.ready, clock.elapsed()), (0, false, Duration::ZERO));
        // What is due needs no time at all.
        clock.advance(MS);
        assert_eq!(event_loop.turn(None).unwrap().callbacks, 1);
    });
}

// spec: TM-12
fn the_limit_of_a_turn_is_virtual_with_an_automatic_clock(variant: Variant) {
    must_return(move || {
        let clock = VirtualClock::auto();
        let event_loop = with(variant, &clock);
        let tracker = Tracker::new();
        event_loop.cx().set_timeout(3 * HOUR, tracker.callback()).unwrap();
        event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(clock.elapsed(), Duration::ZERO);
        event_loop.turn(HOUR).unwrap();
        assert_eq!((tracker.ran(), clock.elapsed()), (0, HOUR), "the limit comes first");
        while tracker.ran() == 0 {
            event_loop.turn(5 * HOUR).unwrap();
        }
        assert_eq!(clock.elapsed(), 3 * HOUR, "the deadline comes first");
        event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
        while tracker.ran() == 1 {
            event_loop.turn(None).unwrap();
        }
        assert_eq!(clock.elapsed(), 4 * HOUR);
    });
}

// spec: ER-2
fn an_absurd_advance_does_not_panic(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = with(variant, &clock);
    let tracker = Tracker::new();
    event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
    for _ in 0..3 {
        clock.advance(Duration::MAX);
    }
    tick(&event_loop);
    assert_eq!(tracker.ran(), 1);
    assert!(clock.now() >= event_loop.cx().now());
    // From there nothing has a deadline that could be represented.
    let refused = event_loop.cx().set_timeout(1_000_000 * HOUR, |_| ());
    assert!(matches!(refused.map_err(Error::from), Err(Error::DeadlineOutOfRange)));
}

// spec: TM-2, TM-1, TM-12
fn deadlines_at_every_power_of_two_are_met_to_the_nanosecond(variant: Variant) {
    // From several starting points, so that every carry is met.
    for offset in [0, 1, 63, 64, 0xfff, 0x3_ffff, 0xff_ffff, (1 << 30) - 1, (1 << 36) + 7] {
        let clock = VirtualClock::auto();
        clock.advance(Duration::from_nanos(offset));
        let event_loop = with(variant, &clock);
        let start = clock.now();
        let mut expected = Vec::new();
        for bit in (0..60).rev() {
            for near in [-2, -1, 0, 1, 2_i64] {
                let Some(nanos) = (1_u64 << bit).checked_add_signed(near) else { continue };
                expected.push(nanos);
                // The same distance, seen from the beginning of the clock.
                expected.push(nanos.saturating_sub(offset));
            }
        }
        let log = Log::new();
        for (i, nanos) in expected.iter().copied().enumerate() {
            let (noted, clock) = (log.clone(), clock.clone());
            let deadline = start + Duration::from_nanos(nanos);
            let callback = move |cx: &Cx| {
                assert_eq!(cx.now(), deadline);
                assert_eq!(clock.now(), deadline);
                noted.push((nanos, i));
            };
            event_loop.cx().set_timeout_at(deadline, callback).unwrap();
        }
        let mut expected: Vec<_> =
            expected.into_iter().enumerate().map(|(i, nanos)| (nanos, i)).collect();
        expected.sort_unstable();
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.take(), expected, "from {offset}");
    }
}

// spec: TM-10, TM-12
fn intervals_meet_their_deadlines_to_the_nanosecond(variant: Variant) {
    let clock = VirtualClock::auto();
    let event_loop = with(variant, &clock);
    let start = clock.now();
    let periods = [1, 7, 64, 1_000, 4_095, 999_983];
    let counts: Vec<_> = periods.iter().map(|_| Rc::new(Cell::new(0_u32))).collect();
    let mut ids = Vec::new();
    for (i, period) in periods.into_iter().enumerate() {
        let period = Duration::from_nanos(period);
        for fixed_rate in [false, true] {
            let count = Rc::clone(&counts[i]);
            let mut calls = 0;
            let callback = move |cx: &Cx| {
                calls += 1;
                // No time passes in a callback, so both kinds keep to the grid.
                assert_eq!(cx.now(), start + calls * period);
                count.set(count.get() + 1);
            };
            ids.push(match fixed_rate {
                false => event_loop.cx().set_interval(period, callback).unwrap(),
                true => event_loop.cx().set_interval_fixed_rate(period, callback).unwrap(),
            });
        }
    }
    let end = move |cx: &Cx| {
        for id in ids {
            assert!(cx.clear_interval(id));
        }
    };
    event_loop.cx().set_timeout(Duration::from_nanos(20_000), end).unwrap();
    event_loop.run_until_idle().unwrap();
    let counts: Vec<_> = counts.iter().map(|count| count.get()).collect();
    // The end was set last but long before: it comes before those armed for the same time.
    let expected = periods.map(|period| 2 * ((20_000 - 1) / period) as u32);
    assert_eq!(counts, expected);
}

// spec: TM-2, TM-12, F-14
fn an_hour_of_random_timers_fires_in_exact_order(variant: Variant) {
    const COUNT: usize = 100_000;
    let clock = VirtualClock::auto();
    let event_loop = with(variant, &clock);
    let start = clock.now();
    let fired = Rc::new(RefCell::new(Vec::with_capacity(COUNT)));
    let mut expected = Vec::with_capacity(COUNT);
    let mut random = Random(0xdead_beef);
    for i in 0..COUNT {
        // Fine and coarse, so that many are equal.
        let nanos = match i % 3 {
            0 => random.below(3_600_000_000_000),
            1 => random.below(3_600_000) * 1_000_000,
            _ => random.below(3_600) * 1_000_000_000,
        };
        let fired = Rc::clone(&fired);
        let deadline = start + Duration::from_nanos(nanos);
        let callback = move |cx: &Cx| {
            assert_eq!(cx.now(), deadline);
            fired.borrow_mut().push((nanos, i));
        };
        let id = event_loop.cx().set_timeout_at(deadline, callback).unwrap();
        if i % 7 == 0 {
            assert!(event_loop.cx().clear_timeout(id));
        } else {
            expected.push((nanos, i));
        }
    }
    expected.sort_unstable();
    event_loop.run_until_idle().unwrap();
    assert!(*fired.borrow() == expected);
    assert_eq!(clock.elapsed(), Duration::from_nanos(expected.last().unwrap().0));
}

// spec: TM-2
fn a_million_timers_are_ordinary(variant: Variant) {
    const COUNT: u32 = 1_000_000;
    let clock = VirtualClock::new();
    let event_loop = with(variant, &clock);
    let cx = event_loop.cx();
    let tracker = Tracker::new();
    let last = Rc::new(Cell::new((0, 0)));
    let ran = Rc::new(Cell::new(0_u32));
    let mut random = Random(42);
    let mut ids = Vec::new();
    for i in 0..COUNT {
        let nanos = random.below(10_000_000_000);
        let (last, ran) = (Rc::clone(&last), Rc::clone(&ran));
        let token = (i % 1_000 == 0).then(|| tracker.token());
        let callback = move |_: &Cx| {
            _ = &token;
            assert!(last.replace((nanos, i)) < (nanos, i), "in order");
            ran.set(ran.get() + 1);
        };
        let id = cx.set_timeout(Duration::from_nanos(nanos + 1), callback).unwrap();
        if i % 2 == 0 {
            ids.push(id);
        }
    }
    assert_eq!(tracker.alive(), 1_000);
    assert!(ids.iter().all(|id| cx.clear_timeout(*id)));
    assert_eq!(tracker.alive(), 0, "all of these were cleared");
    assert!(!ids.iter().any(|id| cx.clear_timeout(*id)));
    for _ in 0..10 {
        clock.advance(SECOND);
        tick(&event_loop);
    }
    assert_eq!(ran.get(), COUNT / 2);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: TM-2, TM-12, TM-5
fn each_jump_of_any_size_fires_exactly_what_is_due(variant: Variant) {
    for seed in 1..=20 {
        let clock = VirtualClock::new();
        let event_loop = with(variant, &clock);
        let start = clock.now();
        let mut random = Random(seed);
        let log = Log::new();
        let mut left = BTreeMap::new();
        let mut number = 0_u32;
        for _ in 0..300 {
            for _ in 0..random.below(8) {
                // From nanoseconds to hours, with every magnitude as likely as any other.
                let bits = random.below(44);
                let nanos = random.below(2 << bits);
                let at = clock.elapsed() + Duration::from_nanos(nanos);
                event_loop.cx().set_timeout_at(start + at, log.note((at, number))).unwrap();
                left.insert((at, number), ());
                number += 1;
            }
            let next = left.first_key_value().map(|((at, _), ())| start + *at);
            assert_eq!(event_loop.next_deadline(), next, "seed {seed}");
            let bits = random.below(44);
            match random.below(4) {
                0 => _ = clock.advance_to_next(),
                _ => clock.advance(Duration::from_nanos(random.below(2 << bits))),
            }
            let rest = left.split_off(&(clock.elapsed() + NS, 0));
            let due = std::mem::replace(&mut left, rest);
            tick(&event_loop);
            let due: Vec<_> = due.into_keys().collect();
            assert_eq!(log.take(), due, "seed {seed}");
        }
    }
}

/// A timer as the model knows it.
struct Known {
    id: TimerId,
    deadline: Instant,
    /// Its place among equal deadlines.
    order: u64,
    kind: Repeat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    Never,
    /// After the end of the callback.
    After(Duration),
    /// On a grid.
    Every(Duration),
}

/// What the timers ought to do, kept in the plainest way.
struct Model {
    clock: VirtualClock,
    seed: u64,
    random: RefCell<Random>,
    timers: RefCell<BTreeMap<usize, Known>>,
    /// Every id that was given out.
    ids: RefCell<Vec<TimerId>>,
    /// What is still to run in this phase.
    batch: RefCell<VecDeque<usize>>,
    order: Cell<u64>,
    running: Cell<Option<usize>>,
    fired: Cell<u64>,
    /// How many timers there may be, more or less.
    crowd: usize,
    /// The magnitude of the longest delays.
    bits: u64,
}

impl Model {
    fn new(clock: &VirtualClock, seed: u64, crowd: usize, bits: u64) -> Rc<Self> {
        Rc::new(Self {
            clock: clock.clone(),
            seed,
            random: RefCell::new(Random(0x2545_f491_4f6c_dd1d_u64.wrapping_mul(seed))),
            timers: RefCell::default(),
            ids: RefCell::default(),
            batch: RefCell::default(),
            order: Cell::new(0),
            running: Cell::new(None),
            fired: Cell::new(0),
            crowd,
            bits,
        })
    }

    fn below(&self, bound: u64) -> u64 {
        self.random.borrow_mut().below(bound)
    }

    fn next_order(&self) -> u64 {
        self.order.set(self.order.get() + 1);
        self.order.get()
    }

    /// A delay that is often equal to others, or next to a border.
    fn delay(&self) -> Duration {
        let nanos = match self.below(6) {
            0 => 0,
            1 => self.below(4),
            2 => 1_000 * self.below(4),
            3 => (1 << self.below(self.bits)) + self.below(3),
            4 => (1_u64 << self.below(self.bits)).saturating_sub(1),
            _ => self.below(5_000_000),
        };
        Duration::from_nanos(nanos)
    }

    fn set(self: &Rc<Self>, cx: &Cx) {
        let key = self.ids.borrow().len();
        let model = Rc::clone(self);
        let callback = move |cx: &Cx| model.called(cx, key);
        let now = self.clock.now();
        let delay = self.delay();
        let (id, deadline, kind) = match self.below(10) {
            0..4 => (cx.set_timeout(delay, callback).unwrap(), now + delay, Repeat::Never),
            4 | 5 => {
                // As often in the past as not. Some systems have no time before they started.
                let at = (now + delay).checked_sub(self.delay()).unwrap_or(now);
                (cx.set_timeout_at(at, callback).unwrap(), at, Repeat::Never)
            }
            6 => {
                let handle = cx.handle();
                // The callback need not be sent: the handle is used here.
                let at = now + delay;
                drop(handle.set_timeout(delay, |_| ()).map(|id| assert!(handle.clear_timeout(id))));
                (cx.set_timeout(delay, callback).unwrap(), at, Repeat::Never)
            }
            7 | 8 => {
                let kind = Repeat::After(delay);
                (cx.set_interval(delay, callback).unwrap(), now + delay, kind)
            }
            _ => {
                let period = delay.max(NS);
                let kind = Repeat::Every(period);
                (cx.set_interval_fixed_rate(period, callback).unwrap(), now + period, kind)
            }
        };
        self.ids.borrow_mut().push(id);
        let order = self.next_order();
        self.timers.borrow_mut().insert(key, Known { id, deadline, order, kind });
    }

    fn clear(&self, cx: &Cx, key: usize) {
        let id = self.ids.borrow()[key];
        let alive = self.timers.borrow_mut().remove(&key).is_some();
        self.batch.borrow_mut().retain(|due| *due != key);
        let cleared = match self.below(3) {
            0 => cx.clear_timeout(id),
            1 => cx.clear_interval(id),
            _ => cx.handle().clear_timeout(id),
        };
        assert_eq!(cleared, alive, "seed {}", self.seed);
    }

    fn reset(&self, cx: &Cx, key: usize) {
        let id = self.ids.borrow()[key];
        let delay = self.delay();
        let mut timers = self.timers.borrow_mut();
        let Some(known) = timers.get_mut(&key) else {
            assert!(matches!(cx.reset_timeout(id, delay), Err(Error::TimerNotFound)));
            return;
        };
        // What a reset means for a grid, or while the callback runs, is not this test's question.
        if matches!(known.kind, Repeat::Every(_)) || self.running.get() == Some(key) {
            return;
        }
        known.deadline = self.clock.now() + delay;
        known.order = self.next_order();
        drop(timers);
        self.batch.borrow_mut().retain(|due| *due != key);
        cx.reset_timeout(id, delay).unwrap();
    }

    fn act(self: &Rc<Self>, cx: &Cx) {
        let given_out = self.ids.borrow().len() as u64;
        let crowded = self.timers.borrow().len() > self.crowd;
        let far_back = given_out.min(self.crowd as u64 + 50);
        match self.below(10) {
            0..4 if !crowded => self.set(cx),
            0..6 if given_out > 0 => {
                let recent = self.below(far_back);
                self.clear(cx, (given_out - 1 - recent) as usize);
            }
            6 | 7 if given_out > 0 => {
                let recent = self.below(far_back);
                self.reset(cx, (given_out - 1 - recent) as usize);
            }
            8 if given_out > 0 => {
                let key = self.below(given_out) as usize;
                let alive = self.timers.borrow().contains_key(&key);
                let id = self.ids.borrow()[key];
                let result = cx.reference_timer(id, self.below(2) == 0);
                assert_eq!(result.is_ok(), alive, "seed {}", self.seed);
            }
            // A callback that takes its time.
            9 if self.running.get().is_some() => {
                self.clock.advance(Duration::from_nanos(self.below(2_000)));
            }
            _ => {}
        }
    }

    fn called(self: &Rc<Self>, cx: &Cx, key: usize) {
        let expected = self.batch.borrow_mut().pop_front();
        assert_eq!(Some(key), expected, "seed {}", self.seed);
        self.fired.set(self.fired.get() + 1);
        self.running.set(Some(key));
        let known = self.timers.borrow_mut().remove(&key).unwrap();
        assert!(known.deadline <= cx.now());
        let current = (known.kind != Repeat::Never).then_some(known.id);
        assert_eq!(cx.current_interval(), current, "seed {}", self.seed);
        let kind = known.kind;
        if kind != Repeat::Never {
            self.timers.borrow_mut().insert(key, known);
        }
        for _ in 0..self.below(4) {
            self.act(cx);
        }
        // This is the end of the callback: an interval that still lives is armed again.
        if let Some(known) = self.timers.borrow_mut().get_mut(&key) {
            let now = self.clock.now();
            match kind {
                Repeat::Never => unreachable!("it is not in the table"),
                Repeat::After(period) => known.deadline = now + period,
                Repeat::Every(period) => {
                    // What comes due while the callback runs is not missed.
                    let late = (cx.now() - known.deadline).as_nanos() as u64;
                    let nanos = period.as_nanos() as u64;
                    known.deadline += Duration::from_nanos((late / nanos + 1) * nanos);
                }
            }
            known.order = self.next_order();
        }
        self.running.set(None);
    }

    /// What is due, in order.
    fn due(&self) -> VecDeque<usize> {
        let now = self.clock.now();
        let timers = self.timers.borrow();
        let mut due: Vec<_> = timers
            .iter()
            .filter(|(_, known)| known.deadline <= now)
            .map(|(key, known)| (known.deadline, known.order, *key))
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(.., key)| key).collect()
    }
}

/// Lets the loop and the model run the same random program.
fn agree(variant: Variant, seed: u64, crowd: usize, bits: u64, steps: usize) -> u64 {
    let clock = VirtualClock::new();
    let event_loop = with(variant, &clock);
    let model = Model::new(&clock, seed, crowd, bits);
    // Small programs begin with nothing, large ones with half of their timers.
    for _ in 0..if crowd > 1_000 { crowd / 2 } else { 0 } {
        model.set(event_loop.cx());
    }
    for _ in 0..steps {
        for _ in 0..model.below(5) {
            model.act(event_loop.cx());
        }
        let expected = model.timers.borrow().values().map(|known| known.deadline).min();
        let next = event_loop.next_deadline();
        if crowd > 200 {
            // With so many around, one that is gone may still count.
            assert!(expected.is_none_or(|at| next.is_some_and(|next| next <= at)), "seed {seed}");
        } else {
            assert_eq!(next, expected, "seed {seed}");
        }
        match model.below(4) {
            0 => {}
            1 => _ = clock.advance_to_next(),
            _ => clock.advance(model.delay()),
        }
        model.batch.replace(model.due());
        let turn = event_loop.turn(Duration::ZERO).unwrap();
        assert!(model.batch.borrow().is_empty(), "some did not run with seed {seed}");
        let due = !model.due().is_empty();
        assert!(turn.ready == due || (crowd > 200 && turn.ready), "seed {seed}");
    }
    drop(event_loop);
    assert_eq!(Rc::strong_count(&model), 1, "all callbacks are dropped with seed {seed}");
    model.fired.get()
}

// spec: TM-2, TM-6, TM-9, TM-10, F-13, F-14, F-17
fn hundreds_of_random_programs_agree_with_a_sorted_list(variant: Variant) {
    let fired: u64 = (1..=100).map(|seed| agree(variant, seed, 150, 24, 60)).sum();
    assert!(fired > 10_000, "{fired} callbacks are too few to mean anything");
}

// spec: TM-2, TM-6, TM-9, TM-10, F-13, F-14
fn large_random_programs_agree_with_a_sorted_list(variant: Variant) {
    let fired: u64 = (1..=4).map(|seed| agree(variant, seed, 1_500, 46, 60)).sum();
    assert!(fired > 5_000, "{fired} callbacks are too few to mean anything");
}
