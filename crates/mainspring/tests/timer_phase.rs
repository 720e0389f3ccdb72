//! Where timers have their place among the other callbacks, and when the loop sleeps.

mod common;

use std::cell::Cell;
use std::time::{Duration, Instant};

use common::timers::{HOUR, MS, Slot, YEAR, manual, notes, tick};
use common::{Hook, Kind, Log, Tracker, Variant, must_return};
use mainspring::{Cx, Error, LoopState, VirtualClock};

suite! {
    timers_that_follow_each_other_closely_are_run_together,
    a_timer_set_by_a_timer_waits_for_the_next_tick,
    an_overdue_timer_set_in_the_phase_does_not_hold_up_the_others,
    a_timer_set_by_a_microtask_of_the_phase_waits_for_the_next_tick,
    a_chain_of_zero_delays_runs_one_link_per_tick_and_starves_nothing,
    a_timer_set_by_any_kind_of_callback_runs_in_the_next_timer_phase,
    a_due_timer_keeps_the_loop_from_blocking,
    a_timer_set_by_any_hook_is_served,
    a_timer_of_long_ago_set_by_a_hook_is_served,
    a_turn_says_whether_a_timer_is_due,
    a_turn_counts_timers_as_callbacks,
    the_loop_sleeps_until_the_next_deadline_and_no_longer,
    a_turn_without_a_limit_ends_with_the_next_deadline,
    a_handle_on_the_loop_thread_does_the_same_as_the_context,
    callbacks_of_any_size_and_alignment_arrive_whole,
}

// spec: TM-9
fn a_timer_set_by_a_timer_waits_for_the_next_tick(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    for name in ["a", "b"] {
        let inner = log.clone();
        let callback = move |cx: &Cx| {
            inner.push(name);
            cx.set_timeout(Duration::ZERO, inner.note("no delay")).unwrap();
            cx.handle().set_timeout_at(cx.now(), |_| ()).unwrap();
            cx.set_interval(Duration::ZERO, notes(&inner, "interval")).unwrap();
        };
        event_loop.cx().set_timeout(MS, callback).unwrap();
    }
    clock.advance(MS);
    let turn = event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((turn.callbacks, turn.ready), (2, true));
    assert_eq!(log.take(), ["a", "b"]);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 6);
    assert_eq!(log.take(), ["no delay", "interval", "no delay", "interval"]);
}

// spec: TM-9, TM-2
fn an_overdue_timer_set_in_the_phase_does_not_hold_up_the_others(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let start = clock.now();
    let log = Log::new();
    let inner = log.clone();
    let first = move |cx: &Cx| {
        inner.push("first");
        // Before, among and after those that are still to run.
        cx.set_timeout_at(start, inner.note("set for before")).unwrap();
        cx.set_timeout_at(start + 2 * MS, inner.note("set for between")).unwrap();
        cx.set_timeout_at(start + 4 * MS, inner.note("set for after")).unwrap();
    };
    event_loop.cx().set_timeout(MS, first).unwrap();
    event_loop.cx().set_timeout(2 * MS, log.note("second")).unwrap();
    event_loop.cx().set_timeout(3 * MS, log.note("third")).unwrap();
    event_loop.cx().set_timeout(5 * MS, log.note("last")).unwrap();
    clock.advance(5 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["first", "second", "third", "last"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["set for before", "set for between", "set for after"]);
}

// spec: TM-9, MT-1
fn a_timer_set_by_a_microtask_of_the_phase_waits_for_the_next_tick(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let inner = log.clone();
    let callback = move |cx: &Cx| {
        cx.queue_microtask(move |cx| {
            cx.set_timeout_at(cx.now() - MS, inner.note("of the microtask")).unwrap();
        });
    };
    event_loop.cx().set_timeout(MS, callback).unwrap();
    event_loop.cx().set_timeout(MS, log.note("second")).unwrap();
    event_loop.cx().submit(log.note("task")).unwrap();
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["second", "task"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["of the microtask"]);
}

// spec: TM-9
fn a_chain_of_zero_delays_runs_one_link_per_tick_and_starves_nothing(variant: Variant) {
    fn link(cx: &Cx, log: &Log<&'static str>) {
        let inner = log.clone();
        let callback = move |cx: &Cx| {
            inner.push("link");
            link(cx, &inner);
        };
        cx.set_timeout(Duration::ZERO, callback).unwrap();
    }
    let (_clock, event_loop) = manual(variant);
    let log = Log::new();
    link(event_loop.cx(), &log);
    for _ in 0..100 {
        event_loop.cx().submit(log.note("task")).unwrap();
        event_loop.cx().set_immediate(log.note("immediate"));
        assert!(event_loop.turn(Duration::ZERO).unwrap().ready);
        assert_eq!(log.take(), ["link", "task", "immediate"]);
    }
    // By the real clock, too, whose time passes during the phase.
    let event_loop = variant.build();
    link(event_loop.cx(), &log);
    while log.len() < 100 {
        assert!(event_loop.turn(Duration::ZERO).unwrap().callbacks <= 1);
    }
}

// spec: TM-9, TK-1, TK-3
fn a_timer_set_by_any_kind_of_callback_runs_in_the_next_timer_phase(variant: Variant) {
    for kind in Kind::ALL {
        let (_clock, event_loop) = manual(variant);
        let log = Log::new();
        let inner = log.clone();
        let callback = move |cx: &Cx| {
            inner.push("callback");
            cx.set_timeout(Duration::ZERO, inner.note("timer")).unwrap();
        };
        event_loop.cx().submit(move |cx| kind.queue(cx, callback)).unwrap();
        while log.len() == 0 {
            assert!(event_loop.turn(Duration::ZERO).unwrap().ready, "{kind:?}");
        }
        assert_eq!(log.take(), ["callback"], "{kind:?}");
        event_loop.cx().submit_internal(log.note("internal")).unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), ["timer", "internal"], "{kind:?}");
    }
}

// spec: TK-3
fn a_due_timer_keeps_the_loop_from_blocking(variant: Variant) {
    for kind in Kind::ALL {
        let clock = VirtualClock::new();
        let tracker = Tracker::new();
        let queued = tracker.clone();
        // Set by the last callback of a tick, after the poll.
        let queue = move |cx: &Cx| {
            cx.queue_close(move |cx| {
                kind.queue(cx, move |cx| {
                    cx.set_timeout(Duration::ZERO, queued.callback()).unwrap();
                });
            });
        };
        let builder = variant.builder().clock(&clock);
        let ran = common::seen_before_blocking(builder, queue, move |_| tracker.ran());
        assert_eq!(ran, 1, "{kind:?}");
    }
}

// spec: TK-3, TK-6
fn a_timer_set_by_any_hook_is_served(variant: Variant) {
    for hook in [Hook::Prepare, Hook::Check, Hook::Idle, Hook::Overload, Hook::Uncaught] {
        for delay in [Duration::ZERO, MS] {
            // With a clock that nobody moves, only what is due at once can run.
            for clock in [None, Some(VirtualClock::new()), Some(VirtualClock::auto())] {
                let stands_still = clock.as_ref().is_some_and(|clock| {
                    clock.set_auto_advance(!delay.is_zero());
                    delay.is_zero()
                });
                must_return(move || {
                    let first = Cell::new(true);
                    let builder = hook.set(variant.builder(), move |cx| {
                        if first.replace(false) {
                            cx.set_timeout(delay, |cx| cx.shutdown()).unwrap();
                        }
                    });
                    let builder = match &clock {
                        None => builder,
                        Some(clock) => builder.clock(clock),
                    };
                    let event_loop = builder.build().unwrap();
                    hook.provoke(event_loop.cx());
                    event_loop.run().unwrap();
                    assert!(clock.is_none_or(|clock| clock.elapsed() == delay || stands_still));
                });
            }
        }
    }
}

// spec: TK-3, TM-1
fn a_timer_of_long_ago_set_by_a_hook_is_served(variant: Variant) {
    must_return(move || {
        // Before the system was started, as far as such a time exists.
        let long_ago = Instant::now().checked_sub(10 * YEAR).unwrap_or_else(Instant::now);
        let first = Cell::new(true);
        let event_loop = variant
            .builder()
            .on_idle(move |cx| {
                if first.replace(false) {
                    cx.set_timeout_at(long_ago, |cx| cx.shutdown()).unwrap();
                }
            })
            .build()
            .unwrap();
        event_loop.run().unwrap();
        assert_eq!(event_loop.state(), LoopState::Terminated);
    });
}

// spec: TK-3, F-31
fn a_turn_says_whether_a_timer_is_due(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    let id = cx.set_timeout(MS, |_| ()).unwrap();
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready, "not yet");
    cx.submit(|cx| _ = cx.set_timeout(Duration::ZERO, |_| ()).unwrap()).unwrap();
    assert!(event_loop.turn(Duration::ZERO).unwrap().ready);
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
    // A timer that falls due during the turn.
    let slow = clock.clone();
    cx.submit(move |_| slow.advance(MS)).unwrap();
    assert!(event_loop.turn(Duration::ZERO).unwrap().ready);
    // One that is due and cleared is nothing to wait for.
    assert!(cx.clear_timeout(id));
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
    let slot = Slot::default();
    let cleared = slot.clone();
    slot.set(cx.set_timeout(MS, |_| ()).unwrap());
    let slow = clock.clone();
    cx.submit(move |cx| {
        slow.advance(MS);
        assert!(cx.clear_timeout(cleared.get()));
    })
    .unwrap();
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
}

fn a_turn_counts_timers_as_callbacks(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    for _ in 0..3 {
        event_loop.cx().set_timeout(MS, |_| ()).unwrap();
    }
    event_loop.cx().set_interval(MS, |cx| cx.queue_microtask(|_| ())).unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    clock.advance(MS);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 5);
}

// spec: TK-3, TM-3
fn the_loop_sleeps_until_the_next_deadline_and_no_longer(variant: Variant) {
    must_return(move || {
        let event_loop = variant.build();
        let log = Log::new();
        let cx = event_loop.cx();
        // Each needs a sleep of its own; what is armed is earlier, later, or cleared meanwhile.
        cx.set_timeout(HOUR, log.note("never")).unwrap();
        let cleared = cx.set_timeout(2 * MS, log.note("never")).unwrap();
        let (noted, start) = (log.clone(), Instant::now());
        let chain = move |cx: &Cx| {
            noted.push("first");
            cx.set_timeout(20 * MS, noted.note("third")).unwrap();
            let last = noted.clone();
            let end = move |cx: &Cx| {
                last.push("fourth");
                cx.shutdown();
            };
            cx.set_timeout(40 * MS, end).unwrap();
            cx.set_timeout(3 * MS, noted.note("second")).unwrap();
        };
        cx.set_timeout(5 * MS, chain).unwrap();
        assert!(cx.clear_timeout(cleared));
        event_loop.run().unwrap();
        assert!(start.elapsed() >= 45 * MS);
        assert_eq!(log.take(), ["first", "second", "third", "fourth"]);
    });
}

// spec: TK-3, BX-2
fn a_turn_without_a_limit_ends_with_the_next_deadline(variant: Variant) {
    must_return(move || {
        let event_loop = variant.build();
        let tracker = Tracker::new();
        let deadline = Instant::now() + 5 * MS;
        event_loop.cx().set_timeout_at(deadline, tracker.callback()).unwrap();
        while tracker.ran() == 0 {
            event_loop.turn(None).unwrap();
        }
        assert!(Instant::now() >= deadline);
        // A limit after the deadline is no reason to sleep longer.
        event_loop.cx().set_timeout(5 * MS, tracker.callback()).unwrap();
        while tracker.ran() == 1 {
            event_loop.turn(HOUR).unwrap();
        }
    });
}

// spec: SH-3, TM-7
fn a_handle_on_the_loop_thread_does_the_same_as_the_context(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    let log = common::SharedLog::new();
    let deadline = clock.now() + 10 * MS;
    cx.set_timeout(10 * MS, log.note(0)).unwrap();
    handle.set_timeout(10 * MS, log.note(1)).unwrap();
    cx.set_timeout_at(deadline, log.note(2)).unwrap();
    handle.set_timeout_at(deadline, log.note(3)).unwrap();
    let noted = log.clone();
    let interval = handle.set_interval(10 * MS, move |_| noted.push(4)).unwrap();
    let noted = log.clone();
    let rate = handle.set_interval_fixed_rate(10 * MS, move |_| noted.push(5)).unwrap();
    cx.set_timeout(10 * MS, log.note(6)).unwrap();
    let cleared = handle.set_timeout(MS, log.note(7)).unwrap();
    assert_eq!(handle.next_deadline(), Some(clock.now() + MS));
    assert!(handle.clear_timeout(cleared));
    assert!(!handle.clear_timeout(cleared));
    assert_eq!(handle.next_deadline(), Some(deadline));
    assert_eq!(cx.next_deadline(), Some(deadline));
    clock.advance(10 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), [0, 1, 2, 3, 4, 5, 6]);
    assert!(handle.reference_timer(interval, false).is_ok());
    assert!(matches!(handle.reference_timer(cleared, false), Err(Error::TimerNotFound)));
    assert!(handle.clear_interval(rate));
    clock.advance(10 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), [4]);
    event_loop.run_until_idle().unwrap();
}

// spec: IN-7
fn callbacks_of_any_size_and_alignment_arrive_whole(variant: Variant) {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(128))]
    struct Aligned([u64; 16]);

    fn check<T: Copy + PartialEq + std::fmt::Debug + Send + 'static>(variant: Variant, value: T) {
        let (clock, event_loop) = manual(variant);
        let log = common::SharedLog::new();
        let callback = || {
            let log = log.clone();
            move |_: &Cx| {
                assert_eq!(std::ptr::from_ref(&value).addr() % align_of::<T>(), 0);
                log.push(value);
            }
        };
        event_loop.cx().set_timeout(MS, callback()).unwrap();
        event_loop.handle().set_timeout(MS, callback()).unwrap();
        event_loop.cx().set_interval(MS, callback()).unwrap();
        event_loop.handle().set_interval_fixed_rate(MS, callback()).unwrap();
        for id in [
            event_loop.cx().set_timeout(MS, callback()).unwrap(),
            event_loop.cx().set_interval(MS, callback()).unwrap(),
        ] {
            assert!(event_loop.cx().clear_timeout(id));
        }
        for _ in 0..2 {
            clock.advance(MS);
            tick(&event_loop);
        }
        assert_eq!(log.take(), [value; 6]);
    }

    check(variant, ());
    check(variant, 1_u8);
    check(variant, [3_u64; 5]);
    check(variant, [4_u64; 6]);
    check(variant, [5_u64; 7]);
    check(variant, [6_u64; 500]);
    check(variant, Aligned([7; 16]));
}

fn timers_that_follow_each_other_closely_are_run_together(variant: Variant) {
    let event_loop = variant.builder().timer_slack(20 * MS).build().unwrap();
    let log = Log::new();
    let noted = log.clone();
    let note = move |cx: &Cx| noted.push(cx.now());
    let first = note.clone();
    event_loop
        .cx()
        .set_timeout(Duration::ZERO, move |cx| {
            first(cx);
            for delay in 1..4 {
                cx.set_timeout(delay * MS, note.clone()).unwrap();
            }
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    let times = log.take();
    assert_eq!(times.len(), 4);
    assert!(times[1] >= times[0] + 3 * MS, "the loop slept for longer than until the next one");
    assert!(times[1] == times[2] && times[2] == times[3], "in one tick");
    // What is not a timer is not kept waiting, and neither is a turn.
    let event_loop = variant.builder().timer_slack(HOUR).build().unwrap();
    event_loop.cx().set_timeout(Duration::ZERO, |cx| drop(cx.set_timeout(MS, |_| ()))).unwrap();
    event_loop.turn(MS).unwrap();
    event_loop.turn(MS).unwrap();
    let handle = event_loop.handle();
    std::thread::spawn(move || handle.submit(|cx| cx.close()).unwrap());
    event_loop.run().unwrap();
}
