//! The timers of a loop without the loop: what is counted and for whom, which deadline is known, what is dropped and when.

use std::cell::Cell;
use std::sync::Arc;

use crate::sync::lock;
use crate::task::{SendTask, TimerTask};
use crate::timer::claim::Kind;
use crate::timer::id::TimerId;
use crate::timer::page::{PAGE, Unadded};
use crate::timer::remote::{Command, POOL, Remote};
use crate::timer::timers::Timers;

/// Both sides of the timers, and what their callbacks hold.
struct Bench {
    remote: Remote,
    timers: Timers,
    capture: Arc<()>,
}

impl Bench {
    fn new() -> Self {
        Self { remote: Remote::new(), timers: Timers::new(0), capture: Arc::new(()) }
    }

    fn callback(&self) -> impl FnOnce(&crate::Cx) + Send + 'static {
        let capture = Arc::clone(&self.capture);
        move |_: &crate::Cx| drop(capture)
    }

    fn set_kind(&self, deadline: i64, kind: Kind) -> TimerId {
        self.timers.accept(&self.remote);
        let make = |callback, _| TimerTask::new(callback);
        self.timers.set(&self.remote, deadline, kind, self.callback(), make).ok().unwrap()
    }

    /// What the loop's thread does.
    fn set(&self, deadline: i64) -> TimerId {
        self.set_kind(deadline, Kind::Timeout)
    }

    fn try_send(&self, deadline: i64) -> Result<TimerId, Unadded> {
        let make = |callback, _| SendTask::new(callback);
        self.remote.set(deadline, Kind::Timeout, self.callback(), make).map_err(|(why, _)| why)
    }

    /// What another thread does.
    fn send(&self, deadline: i64) -> TimerId {
        self.try_send(deadline).unwrap()
    }

    fn clear(&self, id: TimerId) -> bool {
        self.timers.clear(&self.remote, id, &mut None).is_some()
    }

    fn refer(&self, id: TimerId, referenced: bool) -> bool {
        self.timers.refer(&self.remote, id, referenced).is_some()
    }

    fn pop(&self, now: i64) -> Option<TimerTask> {
        self.timers.pop_due(&self.remote, now, |_| ())
    }

    /// A phase. How many callbacks it would have run.
    fn fire(&self, now: i64) -> usize {
        self.timers.begin(&self.remote, now);
        std::iter::from_fn(|| self.pop(now)).count()
    }

    fn referenced(&self) -> usize {
        let count = self.timers.count_referenced(&self.remote);
        assert_eq!(self.timers.is_referenced(&self.remote), count > 0);
        count
    }

    /// Callbacks that were not dropped.
    fn kept(&self) -> usize {
        Arc::strong_count(&self.capture) - 1
    }

    fn next(&self) -> Option<i64> {
        self.timers.next(&self.remote)
    }
}

// spec: TM-7, TM-11
#[test]
fn a_reference_is_counted_once_whoever_sets_it_and_whoever_takes_it_away() {
    let bench = Bench::new();
    assert_eq!(bench.referenced(), 0);
    let (own, other) = (bench.set(10), bench.set(20));
    assert_eq!(bench.referenced(), 2);
    let sent = bench.send(30);
    assert_eq!((bench.referenced(), bench.remote.referenced()), (3, 1), "before it has arrived");
    for id in [own, sent] {
        for (referenced, count) in [(false, 2), (true, 3)] {
            for _ in 0..2 {
                assert!(bench.refer(id, referenced));
                assert_eq!(bench.referenced(), count);
            }
            for _ in 0..2 {
                assert_eq!(bench.remote.refer(id, referenced), Some(()));
                assert_eq!(bench.referenced(), count);
            }
        }
        for (referenced, count) in [(false, 2), (true, 3)] {
            for _ in 0..2 {
                assert_eq!(bench.remote.refer(id, referenced), Some(()));
                assert_eq!(bench.referenced(), count);
            }
        }
    }
    assert!(bench.refer(other, false));
    assert!(bench.clear(other), "one that was not counted any more");
    assert_eq!(bench.referenced(), 2);
    assert!(bench.clear(sent));
    assert_eq!(bench.referenced(), 1);
    for id in [other, sent] {
        assert!(!bench.clear(id) && !bench.refer(id, true) && !bench.remote.clear(id));
        assert_eq!(bench.remote.refer(id, true), None);
        assert_eq!(bench.referenced(), 1, "of what is gone nothing is counted");
    }
    let late = bench.send(5);
    assert_eq!(bench.referenced(), 2);
    assert!(bench.remote.clear(own));
    assert_eq!(bench.referenced(), 1);
    assert_eq!(bench.remote.refer(late, false), Some(()));
    assert_eq!(bench.referenced(), 0);
    assert!(bench.remote.clear(late));
    assert_eq!(bench.referenced(), 0);
    let [fires, _waits] = [bench.send(40), bench.set(50)];
    assert_eq!((bench.fire(40), bench.referenced()), (1, 1));
    assert!(!bench.remote.clear(fires), "it fired");
    bench.timers.end(&bench.remote);
    assert_eq!(bench.referenced(), 0);
}

// spec: MX-5, TM-11
#[test]
fn what_keeps_the_loop_alive_is_listed() {
    let bench = Bench::new();
    let (timeout, interval) = (bench.set(10), bench.set_kind(20, Kind::Interval));
    let (unreferenced, cleared) = (bench.set(30), bench.set(40));
    assert!(bench.refer(unreferenced, false));
    assert!(bench.remote.clear(cleared));
    let list = |limit| {
        let listed = bench.timers.list_referenced(limit).into_iter();
        listed.map(|timer| (timer.id, timer.deadline, timer.repeats)).collect::<Vec<_>>()
    };
    assert_eq!(list(10), [(timeout, 10, false), (interval, 20, true)]);
    assert_eq!(list(1), [(timeout, 10, false)]);
    assert_eq!(bench.fire(10), 1, "the callback is still there");
}

// spec: BX-2
#[test]
fn the_earliest_deadline_is_known_on_both_sides_at_once() {
    let bench = Bench::new();
    let both = || {
        let outside = bench.remote.next();
        assert_eq!(bench.next(), outside);
        assert_eq!(bench.remote.next(), outside);
        outside
    };
    assert_eq!(both(), None);
    for (deadline, earliest) in [(50, 50), (70, 50), (50, 50), (30, 30)] {
        let id = bench.set(deadline);
        assert_eq!(both(), Some(earliest));
        if deadline == 30 {
            assert!(bench.clear(id));
            assert_eq!(bench.next(), Some(50));
            assert_eq!(both(), Some(50));
        }
    }
    for (deadline, earliest) in [(60, 50), (20, 20), (20, 20), (10, 10), (40, 10)] {
        bench.send(deadline);
        assert_eq!(both(), Some(earliest), "before it has arrived, and afterwards");
    }
    assert_eq!(bench.fire(45), 4);
    assert_eq!(bench.next(), Some(50));
    assert_eq!(both(), Some(50));
    assert_eq!(bench.fire(100), 4);
    assert_eq!(bench.next(), None);
    assert_eq!(both(), None);
}

#[test]
fn a_deadline_is_announced_until_the_loop_has_taken_it_in() {
    let bench = Bench::new();
    assert_eq!(bench.remote.announced(), None);
    bench.send(20);
    let before = bench.remote.announced();
    assert_eq!(before, Some(1));
    bench.send(10);
    assert_eq!(bench.remote.announced(), Some(2));
    bench.remote.publish_next(Some(50), before);
    assert_eq!(bench.remote.next(), Some(10), "one was announced meanwhile");
    assert_eq!(bench.remote.announced(), Some(2));
    bench.remote.publish_next(Some(50), bench.remote.announced());
    assert_eq!((bench.remote.next(), bench.remote.announced()), (Some(50), None));
    bench.remote.publish_next(None, None);
    assert_eq!(bench.remote.next(), None);
    bench.remote.lower_next(60);
    bench.remote.lower_next(70);
    assert_eq!(bench.remote.next(), Some(60));
    bench.remote.lower_next(40);
    assert_eq!(bench.remote.next(), Some(40));
    assert_eq!(bench.next(), Some(10));
    assert_eq!(bench.remote.announced(), None);
    bench.send(5);
    assert_eq!(bench.remote.announced(), Some(3));
    bench.timers.end(&bench.remote);
    assert_eq!((bench.remote.next(), bench.remote.announced()), (None, None));
}

#[test]
fn a_timer_that_is_reset_waits_anew_and_what_cannot_be_reset_is_said() {
    let bench = Bench::new();
    let reset = |id, deadline| bench.timers.reset(&bench.remote, id, deadline).is_some();
    let (own, sent) = (bench.set(100), bench.send(200));
    for id in [own, sent] {
        for deadline in [300, 50] {
            assert!(reset(id, deadline));
            assert_eq!(bench.remote.next(), Some(if deadline == 50 { 50 } else { 100 }));
        }
        assert!(reset(id, 100));
        assert_eq!(bench.next(), Some(100));
    }
    assert_eq!((bench.fire(99), bench.fire(100)), (0, 2));
    assert!(!reset(own, 200) && !reset(sent, 200), "they are gone");
    let interval = bench.set_kind(110, Kind::Interval);
    bench.timers.begin(&bench.remote, 110);
    let task = bench.pop(110).unwrap();
    assert!(!reset(interval, 200), "it runs");
    assert!(bench.timers.rearm(&bench.remote, interval, 120, task).is_none());
    assert!(reset(interval, 130));
    assert_eq!((bench.next(), bench.fire(129), bench.fire(130)), (Some(130), 0, 1));
}

// spec: TM-10
#[test]
fn an_interval_is_kept_while_it_runs_unless_it_is_cleared() {
    type Clear = fn(&Bench, TimerId) -> bool;
    let ways: [Clear; 2] = [Bench::clear, |bench, id| bench.remote.clear(id)];
    for clear in ways {
        let bench = Bench::new();
        let id = bench.set_kind(10, Kind::Interval);
        for now in [10, 20, 30] {
            assert!(bench.timers.begin(&bench.remote, now));
            let task = bench.pop(now).unwrap();
            assert!(bench.pop(now).is_none());
            assert_eq!((bench.referenced(), bench.kept()), (1, 1));
            assert_eq!((bench.next(), bench.remote.next()), (None, None), "it has no deadline");
            assert!(bench.timers.rearm(&bench.remote, id, now + 10, task).is_none());
            assert_eq!((bench.remote.next(), bench.next()), (Some(now + 10), Some(now + 10)));
            assert_eq!(bench.referenced(), 1);
        }
        bench.timers.begin(&bench.remote, 40);
        let task = bench.pop(40).unwrap();
        assert!(clear(&bench, id) && !clear(&bench, id));
        assert_eq!((bench.referenced(), bench.kept()), (0, 1), "whoever runs it has it");
        assert!(!bench.remote.has_commands(), "and drops it: nobody is to be asked");
        let task = bench.timers.rearm(&bench.remote, id, 50, task);
        assert!(task.is_some());
        drop(task);
        assert_eq!((bench.fire(60), bench.next(), bench.kept()), (0, None, 0));
        assert_eq!(bench.set(70).index(), id.index(), "its place is free again");
    }
}

// spec: TM-6, TM-7
#[test]
fn what_another_thread_clears_is_dropped_when_the_loop_hears_of_it() {
    let bench = Bench::new();
    let own = bench.set(10);
    assert!(bench.remote.clear(own) && !bench.remote.clear(own));
    assert_eq!(bench.kept(), 1);
    assert!(bench.remote.has_commands());
    bench.timers.accept(&bench.remote);
    assert!(!bench.remote.has_commands());
    assert_eq!(bench.kept(), 0);
    // It was due in this phase, when it was cleared; and its place is used by another one when the loop hears of it.
    let due = bench.set(20);
    assert!(bench.timers.begin(&bench.remote, 20));
    assert!(bench.remote.clear(due));
    assert!(bench.pop(20).is_none());
    assert_eq!(bench.kept(), 0);
    let make = |callback, _| TimerTask::new(callback);
    let callback = bench.callback();
    let after = bench.timers.set(&bench.remote, 30, Kind::Timeout, callback, make).ok().unwrap();
    assert_eq!(after.index(), due.index());
    bench.timers.accept(&bench.remote);
    assert_eq!((bench.kept(), bench.fire(30)), (1, 1));
    // It is cleared before it has arrived.
    for _ in 0..3 * PAGE {
        let sent = bench.send(40);
        assert!(bench.remote.clear(sent));
        assert_eq!(bench.kept(), 1);
        bench.timers.accept(&bench.remote);
        assert_eq!(bench.kept(), 0);
    }
    assert!(bench.remote.directory.get(3).is_none(), "places are used again");
}

// spec: TM-6
#[test]
fn the_request_to_drop_a_timer_may_come_before_the_timer() {
    let bench = Bench::new();
    let first = bench.send(40);
    let second = TimerId::new(first.index() + 1, 0);
    let drop_second = |()| Command::Drop(second);
    let pushed = bench.remote.inbox.push((), drop_second, || None, |(), ()| drop_second(()));
    assert!(pushed.is_ok());
    assert_eq!(bench.send(40), second);
    assert!(bench.remote.clear(second));
    bench.timers.accept(&bench.remote);
    assert_eq!((bench.referenced(), bench.kept(), bench.fire(40)), (1, 1, 1));
}

#[test]
fn the_loop_puts_places_aside_for_other_threads() {
    let bench = Bench::new();
    assert_eq!(bench.remote.wanted(), POOL);
    let first = bench.send(10);
    let places = PAGE as usize - 1;
    assert_eq!(bench.remote.wanted(), POOL.saturating_sub(places), "the page that it had to make");
    let next: Vec<_> = (1..PAGE).map(|_| bench.send(10).index()).collect();
    assert_eq!(next, (first.index() + 1..first.index() + PAGE).collect::<Vec<_>>());
    assert_eq!(bench.remote.wanted(), POOL);
    bench.timers.accept(&bench.remote);
    assert_eq!(bench.remote.wanted(), 0);
    let own = bench.set(10).index() / PAGE;
    for left in 1..=POOL {
        assert_eq!(bench.send(10).index() / PAGE, own, "no page is made");
        assert_eq!(bench.remote.wanted(), left);
    }
    assert_eq!(bench.fire(10), PAGE as usize + 1 + POOL);
}

// spec: TM-7
#[test]
fn at_the_end_all_is_dropped_and_what_comes_later_is_refused() {
    let bench = Bench::new();
    let (own, _far) = (bench.set(10), bench.set(i64::MAX));
    bench.timers.accept(&bench.remote);
    let sent = bench.send(20);
    bench.remote.inbox.close();
    let wanted = bench.remote.wanted();
    let (count, kept) = (bench.referenced(), bench.kept());
    assert_eq!(bench.try_send(30), Err(Unadded::Closed));
    assert_eq!(
        (bench.referenced(), bench.kept()),
        (count, kept),
        "it is as if it had not been tried"
    );
    assert_eq!(bench.remote.wanted(), wanted, "the place is free again");
    bench.timers.end(&bench.remote);
    assert_eq!(bench.kept(), 0);
    assert_eq!((bench.next(), bench.remote.next()), (None, None));
    assert!(!bench.clear(own) && !bench.remote.clear(own) && !bench.remote.clear(sent));
    assert_eq!(bench.try_send(30), Err(Unadded::Closed));
    assert_eq!(bench.remote.wanted(), POOL, "no place is kept");
}

#[test]
fn a_loop_that_was_never_driven_can_be_ended_by_another_thread() {
    let bench = Bench::new();
    let (kept, cleared) = (bench.send(10), bench.send(20));
    assert!(bench.remote.clear(cleared));
    bench.remote.inbox.close();
    let sent = bench.remote.end_undriven();
    assert_eq!((sent.len(), bench.kept()), (2, 2), "the caller drops them");
    drop(sent);
    assert!(!bench.remote.clear(kept));
    assert_eq!((bench.remote.wanted(), bench.try_send(30)), (POOL, Err(Unadded::Closed)));
    bench.timers.accept(&bench.remote);
    assert_eq!(bench.kept(), 0);
}

#[test]
fn who_takes_commands_out_of_a_loop_that_was_never_driven_is_settled_by_a_lock() {
    let bench = Bench::new();
    bench.send(10);
    *lock(&bench.remote.is_taken_over) = true;
    bench.timers.accept(&bench.remote);
    assert!(bench.remote.has_commands(), "they are another thread's");
    // One that is driven need not ask.
    bench.timers.is_driven.set(true);
    let is_taken_over = lock(&bench.remote.is_taken_over);
    bench.timers.accept(&bench.remote);
    drop(is_taken_over);
    assert!(!bench.remote.has_commands());
}

#[test]
fn a_phase_begins_only_if_something_may_be_due_and_tells_of_what_was() {
    let bench = Bench::new();
    assert!(!bench.timers.begin(&bench.remote, 0));
    bench.set(1 << 40);
    assert!(!bench.timers.begin(&bench.remote, 5), "it is far away");
    bench.send(6);
    assert!(bench.timers.begin(&bench.remote, 6), "what was sent is taken in first");
    let was_due = Cell::new(0);
    assert!(bench.timers.pop_due(&bench.remote, 6, |deadline| was_due.set(deadline)).is_some());
    assert_eq!(was_due.get(), 6);
    assert!(bench.timers.pop_due(&bench.remote, 6, |_| ()).is_none());
}

/// As far as the loop knows.
#[cfg(feature = "metrics")]
#[test]
fn those_that_are_here_are_counted() {
    let bench = Bench::new();
    let len = || bench.timers.len();
    assert_eq!(len(), 0);
    let (first, _second, interval) =
        (bench.set(10), bench.set(20), bench.set_kind(20, Kind::Interval));
    assert_eq!(len(), 3);
    let sent = bench.send(30);
    assert_eq!(len(), 3, "one is on its way");
    bench.timers.accept(&bench.remote);
    assert_eq!(len(), 4);
    assert!(bench.clear(first));
    assert_eq!(len(), 3);
    assert!(bench.remote.clear(sent));
    assert_eq!(len(), 3, "it is still to be dropped");
    bench.timers.begin(&bench.remote, 20);
    assert_eq!(len(), 2);
    drop(bench.pop(20));
    assert_eq!(len(), 1);
    let task = bench.pop(20).unwrap();
    assert_eq!(len(), 1, "an interval stays");
    assert!(bench.clear(interval));
    assert!(bench.timers.rearm(&bench.remote, interval, 30, task).is_some());
    assert_eq!(len(), 0);
    bench.set(40);
    bench.timers.end(&bench.remote);
    assert_eq!(len(), 0);
}
