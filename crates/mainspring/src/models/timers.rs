//! Timers: the claim of a slot, the commands of other threads, the directory, and time that others let pass.
//!
//! Proved: of a firing and any number of attempts to clear a timer exactly one succeeds, and an older id
//! never does; a callback runs at most once, exactly if nobody was told that it was cleared, and is dropped
//! exactly once; no slot belongs to two timers; the count of references comes out even; the loop neither
//! sleeps through a timer that others set, clear or let become due, nor returns from `run_until_idle` too
//! early; what was set while the loop ends is either accepted, and dropped by it, or handed back.
//!
//! Exhaustive for the claims, up to three preemptions with one other thread where
//! that is small enough, up to two or one otherwise. Bounded: two other threads, two calls by
//! each. A page and the rings have two slots, the pool has one, and time is virtual.

use loom::thread::{self, JoinHandle};
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::{Bound, explore};
use crate::{
    Cx, Deadline, Error, EventLoop, FastPathMode, Handle, KeepAlive, TimerId, VirtualClock,
};

const NOW: Duration = Duration::ZERO;
const LATER: Duration = Duration::from_secs(1);

/// What became of callbacks.
#[derive(Default)]
struct Fate {
    made: Counter,
    ran: Counter,
    dropped: Counter,
    /// Those that somebody was told to have cleared.
    cleared: Counter,
}

/// What a callback captures.
struct Capture(Arc<Fate>);

impl Drop for Capture {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Count);
    }
}

impl Capture {
    fn run(&self) {
        self.0.ran.fetch_add(1, Count);
    }
}

impl Fate {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn capture(self: &Arc<Self>) -> Capture {
        self.made.fetch_add(1, Count);
        Capture(Arc::clone(self))
    }

    fn callback(self: &Arc<Self>) -> impl FnMut(&Cx) + Send + use<> {
        let capture = self.capture();
        move |_| capture.run()
    }

    fn clear(&self, handle: &Handle, id: TimerId) -> bool {
        let cleared = handle.clear_timeout(id);
        self.cleared.fetch_add(usize::from(cleared), Count);
        cleared
    }

    fn ran(&self) -> usize {
        self.ran.load(Count)
    }

    fn cleared(&self) -> usize {
        self.cleared.load(Count)
    }

    /// All captures are gone, each once.
    fn check_dropped(&self) {
        assert_eq!(self.dropped.load(Count), self.made.load(Count), "each is dropped once");
    }

    /// For timers that are all over: each ran, or somebody was told that it was cleared.
    fn check_over(&self) {
        self.check_dropped();
        let (ran, cleared) = (self.ran(), self.cleared());
        assert_eq!(ran + cleared, self.made.load(Count), "ran {ran}, cleared {cleared}");
    }
}

/// The threads beside a loop.
struct Others {
    handle: Handle,
    clock: VirtualClock,
    threads: Vec<JoinHandle<()>>,
}

impl Others {
    fn start(&mut self, other: impl FnOnce(&Handle) + Send + 'static) {
        let handle = self.handle.clone();
        self.threads.push(thread::spawn(move || other(&handle)));
    }

    /// Waits for them, beside a loop that never slept.
    fn join(&mut self) {
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }

    /// One that keeps `run_until_idle` from returning until it is done.
    fn start_kept(&mut self, other: impl FnOnce(&Handle) + Send + 'static) {
        let guard: KeepAlive = self.handle.keep_alive();
        self.start(move |handle| {
            other(handle);
            drop(guard);
        });
    }
}

/// Makes a loop, and lets `looper` drive it, on a thread of its own, until all have ended.
fn with_loop_in(
    mode: FastPathMode,
    clock: VirtualClock,
    looper: impl FnOnce(&EventLoop, &mut Others) + Send + 'static,
) {
    let (give, take) = mpsc::channel();
    let kept = clock.clone();
    let thread = thread::spawn(move || {
        let event_loop = EventLoop::builder().fast_path(mode).clock(&clock).build().unwrap();
        let mut others = Others { handle: event_loop.handle(), clock, threads: Vec::new() };
        looper(&event_loop, &mut others);
        give.send(others).unwrap();
    });
    thread.join().unwrap();
    let others = take.recv().unwrap();
    for thread in others.threads {
        thread.join().unwrap();
    }
    drop((others.handle, kept));
}

/// The same, with a loop that parks, and time that passes when it is told to.
fn with_loop(looper: impl FnOnce(&EventLoop, &mut Others) + Send + 'static) {
    with_loop_in(FastPathMode::Auto, VirtualClock::new(), looper);
}

/// No timer is counted as referenced, and none too few.
fn check_count(event_loop: &EventLoop) {
    let cx = event_loop.cx();
    let is_referenced = || cx.0.timers.is_referenced(&cx.0.shared.timers);
    assert!(!is_referenced(), "more references than timers");
    let id = cx.set_timeout(LATER, |_| ()).unwrap();
    assert!(is_referenced(), "fewer references than timers");
    assert!(cx.clear_timeout(id));
}

/// The generation of the timers below: not the first, so that there is an older one.
const GENERATION: u32 = 1;

/// A loop, and its first page, in whose first slot a timer was just set: so its claim can be had without the
/// rest of a loop.
macro_rules! with_timer {
    ($set:ident) => {{
        let event_loop = EventLoop::new().unwrap();
        let stale = event_loop.cx().set_timeout(LATER, |_| ()).unwrap();
        assert!(event_loop.cx().clear_timeout(stale));
        let id = event_loop.cx().$set(LATER, |_: &Cx| ()).unwrap();
        assert_eq!((id.index(), id.generation()), (0, GENERATION));
        let page = event_loop.handle().0.timers.directory.get(0).unwrap();
        (event_loop, page)
    }};
}

// spec: TM-6, TM-7, TM-8
#[test]
fn of_a_firing_and_two_that_clear_exactly_one_succeeds() {
    explore("claim: fire, 2 clear", Bound::None, || {
        let (_event_loop, page) = with_timer!(set_timeout);
        let clears = [0, 1].map(|_| {
            let page = Arc::clone(&page);
            thread::spawn(move || {
                assert_eq!(page.claim(0).clear_remotely(GENERATION - 1), None, "a stale id");
                page.claim(0).clear_remotely(GENERATION).is_some()
            })
        });
        let claim = page.claim(0);
        let fired = claim.fire();
        if let Some((kind, _)) = fired {
            // The next timer of the slot is none of their business.
            assert_eq!(claim.arm(kind), GENERATION + 1);
        }
        let cleared = clears.map(|thread| usize::from(thread.join().unwrap()));
        assert_eq!(usize::from(fired.is_some()) + cleared[0] + cleared[1], 1);
        assert_eq!(claim.is_armed(GENERATION + 1), fired.is_some());
        assert_eq!(claim.is_cleared(GENERATION), fired.is_none());
    });
}

// spec: TM-6, TM-10
#[test]
fn an_interval_goes_on_unless_one_of_two_cleared_it() {
    explore("claim: rearm, 2 clear", Bound::None, || {
        let (_event_loop, page) = with_timer!(set_interval);
        let claim = page.claim(0);
        assert!(claim.fire().is_some());
        let clears = [0, 1].map(|_| {
            let page = Arc::clone(&page);
            thread::spawn(move || page.claim(0).clear_remotely(GENERATION))
        });
        let rearmed = claim.rearm();
        let cleared = clears.map(|thread| thread.join().unwrap());
        let [taken] = *cleared.iter().flatten().collect::<Vec<_>>() else {
            unreachable!("cleared once: {cleared:?}")
        };
        assert_eq!(taken.running, !rearmed, "who drops it");
        assert!(claim.is_cleared(GENERATION));
        assert!(!claim.rearm() && claim.fire().is_none());
    });
}

// spec: TM-6, TM-11
#[test]
fn each_reference_is_counted_by_one() {
    explore("claim: fire, clear, refer", Bound::None, || {
        let (_event_loop, page) = with_timer!(set_timeout);
        let other = Arc::clone(&page);
        let clear = thread::spawn(move || other.claim(0).clear_remotely(GENERATION));
        let other = Arc::clone(&page);
        let refer = thread::spawn(move || {
            [false, true].map(|referenced| other.claim(0).refer(GENERATION, referenced))
        });
        let fired = page.claim(0).fire().map(|(_, taken)| taken);
        let taken = [clear.join().unwrap(), fired];
        let [taken] = *taken.iter().flatten().collect::<Vec<_>>() else {
            unreachable!("{taken:?}")
        };
        let [less, more] = refer.join().unwrap().map(|changed| changed == Some(true));
        let left = 1 - isize::from(less) + isize::from(more) - isize::from(taken.referenced);
        assert_eq!(left, 0, "{less} {more} {taken:?}");
    });
}

// spec: TM-6, TM-11
#[test]
fn the_count_of_references_comes_out_even() {
    type Set = fn(&EventLoop) -> TimerId;
    let models: [(&str, Set); 2] = [
        ("timers: references, timeout", |event_loop| {
            event_loop.cx().set_timeout(LATER, |_| ()).unwrap()
        }),
        ("timers: references, interval", |event_loop| {
            event_loop.cx().set_interval(LATER, |_| ()).unwrap()
        }),
    ];
    for (name, set) in models {
        explore(name, Bound::Preemptions(2), move || {
            with_loop(move |event_loop, others| {
                let id = set(event_loop);
                others.clock.advance(LATER);
                others.start(move |handle| drop(handle.reference_timer(id, false)));
                others.start(move |handle| _ = handle.clear_timeout(id));
                event_loop.turn(NOW).unwrap();
                others.join();
                event_loop.turn(NOW).unwrap();
                check_count(event_loop);
            });
        });
    }
}

// spec: TM-7, WK-1, F-2
#[test]
fn a_loop_fires_what_another_thread_sets() {
    type Clock = fn() -> VirtualClock;
    let models: [(&str, FastPathMode, Clock, Duration); 4] = [
        ("timers: parks, set", FastPathMode::Auto, VirtualClock::auto, LATER),
        ("timers: polls, set", FastPathMode::Disabled, VirtualClock::auto, LATER),
        ("timers: parks, set, due", FastPathMode::Auto, VirtualClock::new, NOW),
        ("timers: polls, set, due", FastPathMode::Disabled, VirtualClock::new, NOW),
    ];
    for (name, mode, clock, delay) in models {
        explore(name, Bound::Preemptions(3), move || {
            let fate = Fate::new();
            let other = Arc::clone(&fate);
            with_loop_in(mode, clock(), move |event_loop, others| {
                others.start(move |handle| {
                    let capture = other.capture();
                    let callback = move |cx: &Cx| {
                        capture.run();
                        cx.shutdown();
                    };
                    handle.set_timeout(delay, callback).unwrap();
                });
                event_loop.run().unwrap();
            });
            assert_eq!(fate.ran(), 1);
            fate.check_over();
        });
    }
}

// spec: TM-6, TM-7
#[test]
fn what_a_thread_sets_and_clears_runs_or_is_dropped() {
    for (name, delay) in [("timers: set, clear", LATER), ("timers: set, clear, due", NOW)] {
        explore(name, Bound::Preemptions(2), move || {
            with_loop(move |event_loop, others| {
                let fate = Fate::new();
                let other = Arc::clone(&fate);
                others.start(move |handle| {
                    let id = handle.set_timeout(delay, other.callback()).unwrap();
                    let cleared = other.clear(handle, id);
                    assert!(cleared || delay == NOW);
                });
                event_loop.turn(NOW).unwrap();
                event_loop.turn(NOW).unwrap();
                others.join();
                event_loop.turn(NOW).unwrap();
                fate.check_over();
                check_count(event_loop);
            });
        });
    }
}

// spec: TM-6, TM-7, TM-11, WK-1
#[test]
fn a_loop_is_idle_when_all_that_a_thread_set_is_cleared() {
    explore("timers: set, clear, idle", Bound::Preemptions(1), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            let other = Arc::clone(&fate);
            others.start_kept(move |handle| {
                let id = handle.set_timeout(LATER, other.callback()).unwrap();
                assert!(other.clear(handle, id));
            });
            event_loop.run_until_idle().unwrap();
            fate.check_over();
            check_count(event_loop);
        });
    });
}

// The request to drop it may come before the timer itself: ids can be guessed.
// spec: TM-6, TM-7
#[test]
fn what_one_thread_sets_and_another_clears_runs_or_is_dropped() {
    for (name, delay) in
        [("timers: set, cleared by another", LATER), ("timers: set, cleared by another, due", NOW)]
    {
        explore(name, Bound::Preemptions(2), move || {
            with_loop(move |event_loop, others| {
                let id = TimerId::from_u64(1).unwrap();
                let fate = Fate::new();
                let other = Arc::clone(&fate);
                others.start(move |handle| {
                    assert_eq!(handle.set_timeout(delay, other.callback()).unwrap(), id);
                });
                let other = Arc::clone(&fate);
                others.start(move |handle| _ = other.clear(handle, id));
                event_loop.turn(NOW).unwrap();
                others.join();
                event_loop.turn(NOW).unwrap();
                if delay == LATER && fate.cleared() == 0 {
                    assert!(fate.clear(&others.handle, id), "it waits");
                }
                fate.check_over();
                check_count(event_loop);
            });
        });
    }
}

// spec: TM-6
#[test]
fn a_timer_of_the_loop_that_another_clears_does_not_run() {
    for (name, mode) in [
        ("timers: parks, fire, clear", FastPathMode::Auto),
        ("timers: polls, fire, clear", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(2), move || {
            let fate = Fate::new();
            let kept = Arc::clone(&fate);
            with_loop_in(mode, VirtualClock::auto(), move |event_loop, others| {
                let id = event_loop.cx().set_timeout(LATER, fate.callback()).unwrap();
                others.start(move |handle| _ = fate.clear(handle, id));
                event_loop.run_until_idle().unwrap();
                check_count(event_loop);
            });
            kept.check_over();
        });
    }
}

// spec: TM-8
#[test]
fn no_slot_belongs_to_two_timers_while_pages_come_and_go() {
    explore("timers: pages", Bound::Preemptions(2), || {
        let ids = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&ids);
        with_loop(move |event_loop, others| {
            let cx = event_loop.cx();
            event_loop.turn(NOW).unwrap();
            let other = Arc::clone(&all);
            others.start(move |handle| {
                for _ in 0..3 {
                    let id = handle.set_timeout(LATER, |_| ()).unwrap();
                    other.lock().unwrap().push(id);
                }
            });
            // Three pages, of which one is kept, and then two again.
            let set = |n| {
                let new = (0..n).map(|_| cx.set_timeout(LATER, |_| ()).unwrap());
                let new = new.collect::<Vec<_>>();
                all.lock().unwrap().extend(new.iter().copied());
                new
            };
            for id in set(5) {
                assert!(cx.clear_timeout(id));
            }
            let kept = set(3);
            others.join();
            let mut ids = all.lock().unwrap().clone();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), 11, "all different");
            let left = ids.into_iter().filter(|id| cx.clear_timeout(*id)).count();
            assert_eq!(left, kept.len() + 3, "each is a timer of its own");
            event_loop.run_until_idle().unwrap();
            check_count(event_loop);
        });
        drop(ids);
    });
}

// spec: TM-6, TM-11, WK-1
#[test]
fn a_loop_whose_last_timer_is_cleared_by_another_is_idle() {
    for (name, mode) in [
        ("timers: parks, clear the last", FastPathMode::Auto),
        ("timers: polls, clear the last", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(3), move || {
            let fate = Fate::new();
            let kept = Arc::clone(&fate);
            with_loop_in(mode, VirtualClock::new(), move |event_loop, others| {
                let id = event_loop.cx().set_timeout(LATER, fate.callback()).unwrap();
                others.start(move |handle| assert!(fate.clear(handle, id)));
                event_loop.run_until_idle().unwrap();
                check_count(event_loop);
            });
            kept.check_over();
        });
    }
}

// spec: TM-6, TM-10, TM-11, WK-1
#[test]
fn a_loop_whose_last_interval_is_cleared_by_another_is_idle() {
    explore("timers: clear the last interval", Bound::Preemptions(2), || {
        let fate = Fate::new();
        let kept = Arc::clone(&fate);
        with_loop(move |event_loop, others| {
            let id = event_loop.cx().set_interval(LATER, fate.callback()).unwrap();
            others.clock.advance(LATER);
            others.start(move |handle| assert!(fate.clear(handle, id)));
            event_loop.run_until_idle().unwrap();
            check_count(event_loop);
        });
        assert!(kept.ran() <= 1);
        kept.check_dropped();
    });
}

// spec: TM-11, WK-1
#[test]
fn a_loop_whose_last_timer_is_unreferenced_by_another_is_idle() {
    explore("timers: unreference the last", Bound::Preemptions(3), || {
        let fate = Fate::new();
        let kept = Arc::clone(&fate);
        with_loop(move |event_loop, others| {
            let id = event_loop.cx().set_timeout(LATER, fate.callback()).unwrap();
            others.start(move |handle| handle.reference_timer(id, false).unwrap());
            event_loop.run_until_idle().unwrap();
            check_count(event_loop);
        });
        assert_eq!(kept.ran(), 0);
        kept.check_dropped();
    });
}

// spec: TM-11
#[test]
fn a_loop_is_not_idle_before_its_last_timer_is_gone() {
    explore("timers: reference one that fires", Bound::Preemptions(3), || {
        with_loop(|event_loop, others| {
            let cx = event_loop.cx();
            let due = cx.set_timeout(NOW, |_| ()).unwrap();
            cx.reference_timer(due, false).unwrap();
            let last = cx.set_timeout(LATER, |_| ()).unwrap();
            others.start(move |handle| drop(handle.reference_timer(due, true)));
            event_loop.turn(NOW).unwrap();
            assert!(cx.0.timers.is_referenced(&cx.0.shared.timers), "a timer is left");
            others.join();
            assert!(cx.clear_timeout(last));
            check_count(event_loop);
        });
    });
}

// spec: TM-7, TM-11
#[test]
fn what_is_set_while_the_loop_is_kept_alive_runs_before_it_is_idle() {
    type Clock = fn() -> VirtualClock;
    let models: [(&str, Clock, Duration); 2] = [
        ("timers: set by one that keeps it alive", VirtualClock::auto, LATER),
        ("timers: set by one that keeps it alive, due", VirtualClock::new, NOW),
    ];
    for (name, clock, delay) in models {
        explore(name, Bound::Preemptions(2), move || {
            with_loop_in(FastPathMode::Auto, clock(), move |event_loop, others| {
                let fate = Fate::new();
                let other = Arc::clone(&fate);
                others.start_kept(move |handle| {
                    handle.set_timeout(delay, other.callback()).unwrap();
                });
                event_loop.run_until_idle().unwrap();
                assert_eq!(fate.ran(), 1);
                fate.check_over();
                check_count(event_loop);
            });
        });
    }
}

/// Sets a timer, which may be refused.
fn set_or_not(handle: &Handle, fate: &Arc<Fate>) {
    match handle.set_timeout(LATER, fate.callback()) {
        Ok(_) => {}
        Err(error) => {
            assert_eq!(fate.dropped.load(Count), 0, "handed back");
            drop(error.into_task());
            assert_eq!(fate.dropped.load(Count), 1);
        }
    }
}

fn check_end(result: Result<(), Error>) {
    assert!(matches!(result, Ok(()) | Err(Error::Terminated)), "{result:?}");
}

// spec: TM-7, SD-6, SD-1, F-33
#[test]
fn what_is_set_while_another_ends_the_loop_is_handed_back_or_dropped() {
    type End = fn(&Handle);
    let shut_down: End = |handle| {
        let _ = handle.shutdown(Deadline::NEVER);
        assert!(handle.set_timeout(NOW, |_| ()).is_err());
    };
    let end_from_inside: End = |handle| handle.submit_internal(|cx| cx.shutdown()).unwrap();
    let models: [(&str, End, usize); 3] = [
        ("timers: set, close", Handle::close, 2),
        ("timers: set, shutdown", shut_down, 2),
        ("timers: set, ended from inside", end_from_inside, 1),
    ];
    for (name, end, preemptions) in models {
        explore(name, Bound::Preemptions(preemptions), move || {
            let fate = Fate::new();
            let other = Arc::clone(&fate);
            with_loop(move |event_loop, others| {
                others.start(move |handle| set_or_not(handle, &other));
                others.start(end);
                check_end(event_loop.run());
            });
            assert_eq!(fate.ran(), 0);
            fate.check_dropped();
        });
    }
}

// spec: TM-7, SD-6, SD-2
#[test]
fn a_loop_that_another_ends_before_it_was_driven_drops_its_timers() {
    explore("timers: undriven, close", Bound::Preemptions(3), || {
        let fate = Fate::new();
        let other = Arc::clone(&fate);
        with_loop(move |event_loop, others| {
            let own = other.callback();
            others.start(move |handle| {
                let _ = handle.set_timeout(LATER, other.callback());
                handle.close();
            });
            if let Ok(id) = event_loop.cx().set_timeout(LATER, own) {
                event_loop.cx().clear_timeout(id);
            }
            check_end(event_loop.run());
        });
        assert_eq!(fate.ran(), 0);
        fate.check_dropped();
    });
}

// spec: TM-6, TM-8
#[test]
fn an_id_stays_stale_at_the_end_of_the_loop() {
    explore("timers: stale id, close", Bound::Preemptions(2), || {
        let fate = Fate::new();
        let other = Arc::clone(&fate);
        with_loop(move |event_loop, others| {
            let stale = event_loop.cx().set_timeout(NOW, |_| ()).unwrap();
            event_loop.turn(NOW).unwrap();
            others.start(move |handle| set_or_not(handle, &other));
            others.start(move |handle| assert!(!handle.clear_timeout(stale), "it ran"));
            event_loop.handle().close();
            check_end(event_loop.run());
        });
        fate.check_dropped();
    });
}

// spec: TM-1, TM-12, WK-1
#[test]
fn a_loop_fires_what_becomes_due_when_another_lets_time_pass() {
    for (name, mode) in [
        ("timers: parks, advance", FastPathMode::Auto),
        ("timers: polls, advance", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(3), move || {
            with_loop_in(mode, VirtualClock::new(), |event_loop, others| {
                let fate = Fate::new();
                event_loop.cx().set_timeout(LATER, fate.callback()).unwrap();
                let clock = others.clock.clone();
                others.start(move |_| clock.advance(LATER));
                event_loop.run_until_idle().unwrap();
                assert_eq!(fate.ran(), 1);
                fate.check_over();
            });
        });
    }
}

// spec: TM-1, TM-12, WK-1
#[test]
fn time_that_passes_on_two_threads_adds_up() {
    explore("timers: advance twice", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            event_loop.cx().set_timeout(2 * LATER, fate.callback()).unwrap();
            for _ in 0..2 {
                let clock = others.clock.clone();
                others.start(move |_| clock.advance(LATER));
            }
            event_loop.run_until_idle().unwrap();
            assert_eq!(fate.ran(), 1);
        });
    });
}

// spec: TM-1, TM-12
#[test]
fn who_has_set_a_timer_can_advance_to_it() {
    explore("timers: set, advance to it", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let clock = others.clock.clone();
            others.start(move |handle| {
                handle.set_timeout(LATER, |cx| cx.shutdown()).unwrap();
                assert!(clock.advance_to_next().is_some());
            });
            event_loop.run().unwrap();
        });
    });
}

// spec: TM-1, TM-12
#[test]
fn who_has_set_a_timer_knows_of_it() {
    explore("timers: set, next deadline", Bound::Preemptions(5), || {
        with_loop(|event_loop, others| {
            event_loop.turn(NOW).unwrap();
            let deadline = others.clock.now() + LATER;
            others.start(move |handle| {
                handle.set_timeout(2 * LATER, |_| ()).unwrap();
                handle.set_timeout(LATER, |_| ()).unwrap();
                let next = handle.next_deadline();
                assert!(next.is_some_and(|next| next <= deadline), "never too late");
            });
            let _ = event_loop.next_deadline();
            others.join();
        });
    });
}
