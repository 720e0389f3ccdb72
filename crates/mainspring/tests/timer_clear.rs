//! Clearing timers, moving their deadline, and their ids.

mod common;

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use common::timers::{HOUR, MS, Slot, YEAR, manual, tick};
use common::{Log, Tracker, Variant, turn_until_quiet};
use mainspring::{Cx, Error, TimerId};

suite! {
    a_timer_that_is_due_in_the_batch_can_be_cleared_by_an_earlier_one,
    a_timer_that_is_due_in_the_batch_can_be_cleared_by_a_microtask,
    timers_of_a_batch_can_clear_each_other_in_any_pattern,
    a_timer_cannot_clear_itself_or_one_that_ran,
    clearing_twice_is_clearing_once,
    a_cleared_timer_releases_its_captures_at_once,
    a_stale_id_never_clears_a_new_timer,
    ids_are_small_numbers_and_never_zero,
    an_id_that_was_never_given_out_is_not_found,
    a_reset_timer_fires_at_its_new_deadline_only,
    a_reset_timer_goes_to_the_end_of_its_deadline,
    a_due_timer_that_is_reset_leaves_the_batch,
    a_dead_timer_cannot_be_reset,
    a_reset_that_is_refused_changes_nothing,
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
