//! Timers on the loop's own thread: when they fire, in which order, and what stops them.

mod common;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use common::{
    Hook, Kind, Log, OnDrop, Tracker, Variant, must_return, panic_of, turn_until_quiet, wait_until,
};
use mainspring::{
    Cx, Error, EventLoop, Handle, LoopState, PanicPolicy, Phase, Refusal, SubmitError, TimerId,
    TimerNesting, VirtualClock,
};

suite![
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
    a_timer_that_is_due_in_the_batch_can_be_cleared_by_an_earlier_one,
    a_timer_that_is_due_in_the_batch_can_be_cleared_by_a_microtask,
    timers_of_a_batch_can_clear_each_other_in_any_pattern,
    a_timer_cannot_clear_itself_or_one_that_ran,
    clearing_twice_is_clearing_once,
    a_cleared_timer_releases_its_captures_at_once,
    a_stale_id_never_clears_a_new_timer,
    ids_are_small_numbers_and_never_zero,
    an_id_that_was_never_given_out_is_not_found,
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
    a_reset_timer_fires_at_its_new_deadline_only,
    a_reset_timer_goes_to_the_end_of_its_deadline,
    a_due_timer_that_is_reset_leaves_the_batch,
    a_dead_timer_cannot_be_reset,
    a_reset_that_is_refused_changes_nothing,
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
    a_panic_in_a_timer_loses_no_other_one,
    the_microtasks_of_a_timer_that_panics_run_before_the_next_timer,
    a_panic_in_an_interval_does_not_stop_it,
    after_a_propagated_panic_the_other_due_timers_run,
    a_propagated_panic_keeps_what_was_set_during_the_phase_for_later,
    a_propagated_panic_in_an_interval_leaves_the_loop_consistent,
    captures_are_released_when_their_callback_has_run,
    destructors_that_panic_do_no_harm,
    a_callback_that_panics_releases_its_captures,
    nesting_deeper_than_five_clamps_short_delays,
    the_nesting_level_is_that_of_the_creation_and_one_more,
    the_nesting_level_is_restored_after_a_panic,
    each_call_of_a_nested_interval_is_one_level_deeper,
];

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
const YEAR: Duration = Duration::from_secs(31_556_952);

/// A loop whose time is moved by the test. A failed assertion in a callback leaves the turn.
fn manual(variant: Variant) -> (VirtualClock, EventLoop) {
    let clock = VirtualClock::new();
    let event_loop =
        variant.builder().clock(&clock).panic_policy(PanicPolicy::Propagate).build().unwrap();
    (clock, event_loop)
}

/// A loop that never waits for time to pass.
fn automatic(variant: Variant) -> (VirtualClock, EventLoop) {
    let clock = VirtualClock::auto();
    let event_loop =
        variant.builder().clock(&clock).panic_policy(PanicPolicy::Propagate).build().unwrap();
    (clock, event_loop)
}

fn tick(event_loop: &EventLoop) {
    event_loop.turn(Duration::ZERO).unwrap();
}

/// A callback for an interval that does nothing but to be noted.
fn notes<T: Clone + 'static>(log: &Log<T>, entry: T) -> impl FnMut(&Cx) + 'static {
    let log = log.clone();
    move |_| log.push(entry.clone())
}

/// An id for a callback that is made before the id is.
#[derive(Clone, Default)]
struct Slot(Rc<Cell<Option<TimerId>>>);

impl Slot {
    fn set(&self, id: TimerId) {
        self.0.set(Some(id));
    }

    fn get(&self) -> TimerId {
        self.0.get().expect("the id is there before the callback runs")
    }
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

/// A generator of numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
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

// spec: TM-6, F-13, M1-4.7
fn a_timer_that_is_due_in_the_batch_can_be_cleared_by_an_earlier_one(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let tracker = Tracker::new();
    let (same, later) = (Slot::default(), Slot::default());
    let (noted, alive, slots) = (log.clone(), tracker.clone(), [same.clone(), later.clone()]);
    let first = move |cx: &Cx| {
        noted.push("first");
        assert!(cx.clear_timeout(slots[0].get()), "of the same deadline");
        assert!(cx.handle().clear_timeout(slots[1].get()), "of another one");
        assert!(!cx.clear_timeout(slots[0].get()));
        assert_eq!(alive.alive(), 0, "released at once");
    };
    let cx = event_loop.cx();
    cx.set_timeout(MS, first).unwrap();
    same.set(cx.set_timeout(MS, tracker.callback()).unwrap());
    cx.set_timeout(MS, log.note("second")).unwrap();
    later.set(cx.set_timeout(2 * MS, tracker.callback()).unwrap());
    cx.set_timeout(3 * MS, log.note("third")).unwrap();
    clock.advance(3 * MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["first", "second", "third"]);
    turn_until_quiet(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}

// spec: TM-6, F-13, MT-1
fn a_timer_that_is_due_in_the_batch_can_be_cleared_by_a_microtask(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let slot = Slot::default();
    let cleared = slot.clone();
    let first = move |cx: &Cx| {
        cx.queue_microtask(move |cx| assert!(cx.clear_timeout(cleared.get())));
    };
    event_loop.cx().set_timeout(MS, first).unwrap();
    slot.set(event_loop.cx().set_timeout(MS, log.note("cleared")).unwrap());
    event_loop.cx().set_timeout(MS, log.note("next")).unwrap();
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["next"]);
}

// spec: TM-6, F-13
fn timers_of_a_batch_can_clear_each_other_in_any_pattern(variant: Variant) {
    const COUNT: usize = 200;
    // The next one, and one that is far behind.
    fn victims(i: usize) -> impl Iterator<Item = usize> {
        [i + 1, COUNT - 1 - i / 2].into_iter().filter(move |victim| *victim > i && *victim < COUNT)
    }
    let mut alive = [true; COUNT];
    let mut expected = Vec::new();
    for i in 0..COUNT {
        if alive[i] {
            let cleared = victims(i).filter(|victim| std::mem::take(&mut alive[*victim])).count();
            expected.push((i, cleared));
        }
    }
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let ids: Rc<RefCell<Vec<TimerId>>> = Rc::default();
    for i in 0..COUNT {
        let (log, known) = (log.clone(), Rc::clone(&ids));
        let callback = move |cx: &Cx| {
            let ids = known.borrow();
            log.push((i, victims(i).filter(|victim| cx.clear_timeout(ids[*victim])).count()));
        };
        let id = event_loop.cx().set_timeout(MS, callback).unwrap();
        ids.borrow_mut().push(id);
    }
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), expected);
}

// spec: TM-6, M1-4.7
fn a_timer_cannot_clear_itself_or_one_that_ran(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let (one, two) = (Slot::default(), Slot::default());
    for slot in [&one, &two] {
        let (noted, ids) = (log.clone(), [one.clone(), two.clone()]);
        let callback = move |cx: &Cx| {
            for id in ids.iter().take(noted.len() + 1) {
                assert!(!cx.clear_timeout(id.get()));
                assert!(!cx.clear_interval(id.get()));
                assert!(!cx.handle().clear_timeout(id.get()));
            }
            noted.push(());
        };
        slot.set(event_loop.cx().set_timeout(MS, callback).unwrap());
    }
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.len(), 2);
    turn_until_quiet(&event_loop);
    assert_eq!(log.len(), 2);
}

// spec: TM-6, M1-4.7
fn clearing_twice_is_clearing_once(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let cx = event_loop.cx();
    for delay in [Duration::ZERO, MS, HOUR, YEAR] {
        let id = cx.set_timeout(delay, tracker.callback()).unwrap();
        let other = cx.set_timeout(delay, tracker.callback()).unwrap();
        assert!(cx.clear_timeout(id));
        for _ in 0..3 {
            assert!(!cx.clear_timeout(id), "{delay:?}");
            assert!(!event_loop.handle().clear_timeout(id), "{delay:?}");
        }
        assert_eq!(event_loop.next_deadline(), Some(clock.now() + delay), "the other one stays");
        assert!(cx.clear_timeout(other), "{delay:?}");
        assert_eq!(event_loop.next_deadline(), None, "{delay:?}");
    }
    clock.advance(2 * YEAR);
    tick(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}

// spec: TM-6, M1-4.7
fn a_cleared_timer_releases_its_captures_at_once(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let cx = event_loop.cx();
    let timeout = cx.set_timeout(HOUR, tracker.callback()).unwrap();
    let token = tracker.token();
    let interval = cx.set_interval(HOUR, move |_| _ = &token).unwrap();
    let token = tracker.token();
    let rate = cx.set_interval_fixed_rate(HOUR, move |_| _ = &token).unwrap();
    let sent = event_loop.handle().set_timeout(HOUR, tracker.callback()).unwrap();
    for (left, id) in [timeout, interval, rate, sent].into_iter().enumerate() {
        assert_eq!(tracker.alive(), 4 - left);
        assert!(cx.clear_timeout(id));
    }
    assert_eq!(tracker.alive(), 0);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    event_loop.run_until_idle().unwrap();
}

// spec: TM-6, TM-8
fn a_stale_id_never_clears_a_new_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    let tracker = Tracker::new();
    let kept = cx.set_timeout(HOUR, tracker.callback()).unwrap();
    let mut seen = HashSet::from([kept]);
    let mut stale = Vec::new();
    // The same storage, used over and over.
    for i in 0..300_000_u32 {
        let id = cx.set_timeout(MS, |_| ()).unwrap();
        assert!(seen.insert(id), "given out before");
        assert!(cx.clear_timeout(id));
        if i.is_power_of_two() || i % 5_000 == 0 {
            stale.push(id);
        }
    }
    // Ids of timers that fired are stale, too.
    for _ in 0..300 {
        stale.push(cx.set_timeout(Duration::ZERO, |_| ()).unwrap());
        tick(&event_loop);
    }
    let live: Vec<_> =
        (0..1_000).map(|_| cx.set_timeout(MS, tracker.callback()).unwrap()).collect();
    for id in &stale {
        assert!(!live.contains(id));
        assert!(!cx.clear_timeout(*id));
        assert!(!cx.clear_interval(*id));
        assert!(matches!(cx.reset_timeout(*id, HOUR), Err(Error::TimerNotFound)));
        assert!(matches!(cx.reference_timer(*id, false), Err(Error::TimerNotFound)));
    }
    clock.advance(HOUR);
    tick(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (1_001, 0));
}

// spec: TM-8
fn ids_are_small_numbers_and_never_zero(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    let mut ids = HashSet::new();
    for round in 0..4 {
        let handle = event_loop.handle();
        let new = [
            cx.set_timeout(MS, |_| ()).unwrap(),
            cx.set_timeout_at(cx.now(), |_| ()).unwrap(),
            cx.set_interval(MS, |_| ()).unwrap(),
            cx.set_interval_fixed_rate(MS, |_| ()).unwrap(),
            handle.set_timeout(MS, |_| ()).unwrap(),
            handle.set_timeout_at(cx.now(), |_| ()).unwrap(),
            handle.set_interval(MS, |_| ()).unwrap(),
            handle.set_interval_fixed_rate(MS, |_| ()).unwrap(),
        ];
        for id in new {
            assert!(ids.insert(id), "unique");
            assert!((1..1 << 53).contains(&id.get()));
            assert!(round > 0 || id.get() < 10_000, "the first ones are small: {id}");
            assert_eq!(TimerId::from_u64(id.get()), Some(id));
            assert!(!id.to_string().is_empty() && !format!("{id:?}").is_empty());
        }
    }
    assert_eq!(TimerId::from_u64(0), None);
    assert_eq!(TimerId::from_u64(1 << 53), None);
    assert_eq!(TimerId::from_u64(u64::MAX), None);
    let greatest = (1 << 53) - 1;
    assert_eq!(TimerId::from_u64(greatest).map(TimerId::get), Some(greatest));
}

// spec: TM-6, ER-2
fn an_id_that_was_never_given_out_is_not_found(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    let tracker = Tracker::new();
    let real = cx.set_timeout(MS, tracker.callback()).unwrap();
    // Neighbours, single bits and the ends: whatever an id is made of.
    let bits = (0..53).map(|bit| 1_u64 << bit);
    let flipped = (0..53).map(|bit| real.get() ^ (1 << bit));
    let others = [real.get() + 1, (1 << 53) - 1, (1 << 53) - 2, (1 << 32) - 1, (1 << 52) + 1];
    for number in bits.chain(flipped).chain(others) {
        let Some(id) = TimerId::from_u64(number).filter(|id| *id != real) else {
            continue;
        };
        assert!(!cx.clear_timeout(id), "{number:#x}");
        assert!(!event_loop.handle().clear_interval(id), "{number:#x}");
        assert!(matches!(cx.reset_timeout(id, MS), Err(Error::TimerNotFound)));
        assert!(matches!(cx.reference_timer(id, true), Err(Error::TimerNotFound)));
    }
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(tracker.ran(), 1);
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

// spec: TM-4, TM-5
fn a_reset_timer_fires_at_its_new_deadline_only(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let cx = event_loop.cx();
    let sooner = cx.set_timeout(HOUR, tracker.callback()).unwrap();
    let later = cx.set_timeout(MS, tracker.callback()).unwrap();
    clock.advance(MS / 2);
    cx.reset_timeout(sooner, MS).unwrap();
    cx.reset_timeout(later, HOUR).unwrap();
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS), "from now");
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (1, 1));
    assert!(!cx.clear_timeout(sooner));
    clock.advance(HOUR - 2 * MS);
    // Again and again, shortly before it is due.
    for _ in 0..100 {
        cx.reset_timeout(later, 2 * MS).unwrap();
        clock.advance(MS);
        tick(&event_loop);
        assert_eq!(tracker.ran(), 1);
    }
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!((tracker.ran(), tracker.alive()), (2, 0));
    clock.advance(2 * HOUR);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
}

// spec: TM-2
fn a_reset_timer_goes_to_the_end_of_its_deadline(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let ids: Vec<_> = (0..5).map(|i| cx.set_timeout(MS, log.note(i)).unwrap()).collect();
    // To the same deadline as before.
    cx.reset_timeout(ids[0], MS).unwrap();
    cx.reset_timeout(ids[3], HOUR).unwrap();
    cx.reset_timeout(ids[1], MS).unwrap();
    cx.set_timeout(MS, log.note(5)).unwrap();
    cx.reset_timeout(ids[3], MS).unwrap();
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), [2, 4, 0, 1, 5, 3]);
}

// spec: TM-9, F-13
fn a_due_timer_that_is_reset_leaves_the_batch(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let (soon, late) = (Slot::default(), Slot::default());
    let (noted, ids) = (log.clone(), [soon.clone(), late.clone()]);
    let first = move |cx: &Cx| {
        noted.push("first");
        cx.reset_timeout(ids[0].get(), Duration::ZERO).unwrap();
        cx.reset_timeout(ids[1].get(), MS).unwrap();
    };
    event_loop.cx().set_timeout(MS, first).unwrap();
    soon.set(event_loop.cx().set_timeout(MS, log.note("soon")).unwrap());
    late.set(event_loop.cx().set_timeout(MS, log.note("late")).unwrap());
    event_loop.cx().set_timeout(MS, log.note("second")).unwrap();
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["first", "second"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["soon"]);
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["late"]);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: TM-6, ER-1
fn a_dead_timer_cannot_be_reset(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    let slot = Slot::default();
    let own = slot.clone();
    let callback = move |cx: &Cx| {
        assert!(matches!(cx.reset_timeout(own.get(), MS), Err(Error::TimerNotFound)));
    };
    slot.set(cx.set_timeout(MS, callback).unwrap());
    let cleared = cx.set_timeout(MS, |_| ()).unwrap();
    assert!(cx.clear_timeout(cleared));
    assert!(matches!(cx.reset_timeout(cleared, MS), Err(Error::TimerNotFound)));
    clock.advance(MS);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert!(matches!(cx.reset_timeout(slot.get(), MS), Err(Error::TimerNotFound)));
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: TM-1, ER-2
fn a_reset_that_is_refused_changes_nothing(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let first = cx.set_timeout(MS, log.note("first")).unwrap();
    cx.set_timeout(MS, log.note("second")).unwrap();
    for delay in [Duration::MAX, 300 * YEAR] {
        assert!(matches!(cx.reset_timeout(first, delay), Err(Error::DeadlineOutOfRange)));
    }
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS));
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["first", "second"], "its place is still the first one");
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

// spec: JS-2
fn nesting_deeper_than_five_clamps_short_delays(variant: Variant) {
    fn link(cx: &Cx, nesting: &TimerNesting, log: &Log<(u32, Instant)>, delay: Duration) {
        let (inner, noted) = (nesting.clone(), log.clone());
        let callback = nesting.nest(move |cx: &Cx| {
            noted.push((inner.level(), cx.now()));
            if noted.len() < 10 {
                link(cx, &inner, &noted, delay);
            }
        });
        cx.set_timeout(nesting.clamp(delay), callback).unwrap();
    }
    for (delay, clamped) in [(0, 4_000), (1, 4_000), (3_999, 4_000), (4_000, 4_000), (5_000, 5_000)]
    {
        let delay = Duration::from_micros(delay);
        let clamped = Duration::from_micros(clamped);
        let (clock, event_loop) = automatic(variant);
        let nesting = TimerNesting::new();
        let log = Log::new();
        let mut last = clock.now();
        link(event_loop.cx(), &nesting, &log, delay);
        event_loop.run_until_idle().unwrap();
        for (i, (level, at)) in log.take().into_iter().enumerate() {
            assert_eq!(level as usize, i + 1);
            // Set at the level before: more than five means six and deeper.
            let expected = if i > 5 { clamped } else { delay };
            assert_eq!(at - last, expected, "link {i} of {delay:?}");
            last = at;
        }
        assert_eq!(nesting.level(), 0);
    }
}

// spec: JS-2
fn the_nesting_level_is_that_of_the_creation_and_one_more(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let nesting = TimerNesting::new();
    let log = Log::new();
    let cx = event_loop.cx();
    assert_eq!(nesting.level(), 0);
    let (inner, noted) = (nesting.clone(), log.clone());
    let outer = nesting.nest(move |cx: &Cx| {
        noted.push(("outer", inner.level()));
        let (level, noted) = (inner.clone(), noted.clone());
        // Two of the same level, one of them much later.
        for delay in [MS, HOUR] {
            let (level, noted) = (level.clone(), noted.clone());
            let inner = level.clone();
            let callback = level.nest(move |_: &Cx| noted.push(("inner", inner.level())));
            cx.set_timeout(delay, callback).unwrap();
        }
        cx.queue_microtask(move |_| noted.push(("microtask", level.level())));
    });
    cx.set_timeout(MS, outer).unwrap();
    let (level, noted) = (nesting.clone(), log.clone());
    // Not nested: a callback that comes between two others has their level no more.
    cx.set_timeout(MS, move |_| noted.push(("plain", level.level()))).unwrap();
    let (level, noted) = (nesting.clone(), log.clone());
    let other = nesting.nest(move |_: &Cx| noted.push(("other", level.level())));
    cx.set_timeout(10 * MS, other).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(
        log.take(),
        [("outer", 1), ("microtask", 0), ("plain", 0), ("inner", 2), ("other", 1), ("inner", 2)]
    );
    assert_eq!(nesting.level(), 0);
    assert_eq!(nesting.clamp(Duration::ZERO), Duration::ZERO);
    assert_eq!(TimerNesting::new().level(), 0);
}

// spec: JS-2, FA-1
fn the_nesting_level_is_restored_after_a_panic(variant: Variant) {
    let clock = VirtualClock::auto();
    let nesting = TimerNesting::new();
    let log = Log::new();
    let (level, told) = (nesting.clone(), log.clone());
    let event_loop = variant
        .builder()
        .clock(&clock)
        .on_uncaught(move |_, _| told.push(level.level()))
        .build()
        .unwrap();
    let inner = nesting.clone();
    let callback = nesting.nest(move |_: &Cx| {
        assert_eq!(inner.level(), 1);
        panic!("expected by the test");
    });
    event_loop.cx().set_timeout(MS, callback).unwrap();
    let interval = nesting.nest_mut(|_: &Cx| panic!("expected by the test"));
    let id = event_loop.cx().set_interval(MS, interval).unwrap();
    event_loop.cx().set_timeout(3 * MS, move |cx| _ = cx.clear_interval(id)).unwrap();
    event_loop.run_until_idle().unwrap();
    let levels = log.take();
    assert!(levels.len() >= 3 && levels.iter().all(|level| *level == 0), "{levels:?}");
    assert_eq!(nesting.level(), 0);
}

// spec: JS-2
fn each_call_of_a_nested_interval_is_one_level_deeper(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let nesting = TimerNesting::new();
    let log = Log::new();
    let (level, noted) = (nesting.clone(), log.clone());
    let callback = nesting.nest_mut(move |cx: &Cx| {
        noted.push((level.level(), level.clamp(MS)));
        if noted.len() == 8 {
            assert!(cx.clear_interval(cx.current_interval().unwrap()));
        }
    });
    event_loop.cx().set_interval(MS, callback).unwrap();
    event_loop.run_until_idle().unwrap();
    let expected = (1..=8).map(|level| (level, if level > 5 { 4 * MS } else { MS }));
    assert!(log.take().into_iter().eq(expected));
    assert_eq!(nesting.level(), 0);
}
