//! Descriptors: the table, its slots, and the way to poll, with others that register, change and remove.
//!
//! Proved: a loop that is about to park hears of its first descriptor, one that polls of any other, and loses
//! nothing when the last one goes; what is registered by another thread is seen by the dispatch; a callback is
//! dropped once, by the loop's thread, or handed back; an event reaches the registration that it was reported
//! for, or nobody, also if its slot or its descriptor is used again; of two that register or remove one
//! descriptor exactly one succeeds; `run_until_idle` returns when the last descriptor that it waits for is gone,
//! and not before; what is registered while the loop ends is refused or cleaned up, and no poller is left;
//! building the poller anew loses nothing.
//!
//! Exhaustive for one other thread beside a loop that takes single turns, where that is small enough; up to three
//! preemptions with one other thread, up to two or one otherwise (up to 26,304 executions). Bounded: two other threads,
//! three calls by each. A page has two slots, and time does not pass.

use loom::thread::{self, JoinHandle, ThreadId};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::{Bound, explore};
use crate::sys::Poller;
use crate::{
    Cx, Deadline, Error, EventLoop, FastPathMode, Handle, Interest, PanicPolicy, Readiness,
    RegisterError, Watch,
};

const NOW: Duration = Duration::ZERO;

/// Descriptors. Nothing is behind the numbers.
const A: RawFd = 1001;
const B: RawFd = 1002;

struct Source(RawFd);

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the number is given to the poller of the models only, which takes it for a name.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

/// What became of callbacks.
struct Fate {
    /// The loop's thread.
    home: ThreadId,
    made: Counter,
    ran: Counter,
    dropped: Counter,
    /// Those that were dropped elsewhere although nobody had handed them back. Counted, as the loop survives a
    /// destructor that panics.
    astray: Counter,
    refused: Counter,
}

/// What a callback captures.
struct Capture(Arc<Fate>);

/// Ends its loop when it is dropped.
struct EndsLoop(Handle);

impl Drop for EndsLoop {
    fn drop(&mut self) {
        self.0.submit_internal(|cx| cx.shutdown()).unwrap();
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Count);
        if thread::current().id() != self.0.home {
            self.0.astray.fetch_add(1, Count);
        }
    }
}

impl Capture {
    fn run(&self) {
        self.0.ran.fetch_add(1, Count);
    }
}

impl Fate {
    /// To be called by the loop's thread.
    fn new() -> Arc<Self> {
        Arc::new(Self {
            home: thread::current().id(),
            made: Counter::new(0),
            ran: Counter::new(0),
            dropped: Counter::new(0),
            astray: Counter::new(0),
            refused: Counter::new(0),
        })
    }

    fn capture(self: &Arc<Self>) -> Capture {
        self.made.fetch_add(1, Count);
        Capture(Arc::clone(self))
    }

    /// A callback that counts, and calls a function then.
    fn callback(
        self: &Arc<Self>,
        then: fn(&Cx),
    ) -> impl FnMut(&Cx, &Source, Readiness) + Send + use<> {
        let capture = self.capture();
        move |cx, _, _| {
            capture.run();
            then(cx);
        }
    }

    /// Looks at what `register_fd` returned.
    fn accept<S, F>(&self, result: Result<(), RegisterError<S, F>>) -> Result<(), Error> {
        result.map_err(|refused| {
            let (error, source, callback) = refused.into_parts();
            let dropped = self.dropped.load(Count);
            drop((source, callback));
            assert_eq!(self.dropped.load(Count), dropped + 1, "handed back");
            if thread::current().id() != self.home {
                self.astray.fetch_sub(1, Count);
            }
            self.refused.fetch_add(1, Count);
            error
        })
    }

    fn register_with(
        self: &Arc<Self>,
        handle: &Handle,
        fd: RawFd,
        then: fn(&Cx),
    ) -> Result<(), Error> {
        self.accept(handle.register_fd(Source(fd), Interest::READ, self.callback(then)))
    }

    fn register(self: &Arc<Self>, handle: &Handle, fd: RawFd) -> Result<(), Error> {
        self.register_with(handle, fd, |_| ())
    }

    fn ran(&self) -> usize {
        self.ran.load(Count)
    }

    fn refused(&self) -> usize {
        self.refused.load(Count)
    }

    /// So many have been dropped, each by the right thread.
    fn check_dropped(&self, dropped: usize) {
        assert_eq!(self.dropped.load(Count), dropped, "dropped");
        assert_eq!(self.astray.load(Count), 0, "by the loop's thread");
    }

    /// All of them have.
    fn check_over(&self) {
        self.check_dropped(self.made.load(Count));
    }
}

/// A descriptor becomes readable.
fn make_ready(handle: &Handle, fd: RawFd) {
    Poller::set_ready(fd);
    if let Some(poller) = handle.0.sleep.poller() {
        poller.nudge();
    }
}

/// The present registration of a descriptor.
fn token(handle: &Handle, fd: RawFd) -> u64 {
    handle.0.sleep.poller().unwrap().token(fd).unwrap()
}

/// The threads beside a loop.
struct Others {
    handle: Handle,
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
}

/// Makes a loop, and lets `looper` drive it, on a thread of its own, until all have ended.
fn with_loop_in<R: Send + 'static>(
    mode: FastPathMode,
    looper: impl FnOnce(&EventLoop, &mut Others) -> R + Send + 'static,
) -> R {
    Poller::begin();
    let (give, take) = mpsc::channel();
    let thread = thread::spawn(move || {
        // Loom panics where it finds two threads at one cell, which can be between two callbacks.
        let policy = PanicPolicy::Propagate;
        let event_loop = EventLoop::builder().panic_policy(policy).fast_path(mode).build().unwrap();
        let mut others = Others { handle: event_loop.handle(), threads: Vec::new() };
        let result = looper(&event_loop, &mut others);
        give.send((others, result)).unwrap();
    });
    thread.join().unwrap();
    let (others, result) = take.recv().unwrap();
    for thread in others.threads {
        thread.join().unwrap();
    }
    assert!(others.handle.0.sleep.poller().is_none(), "the loop has no poller after its end");
    assert_eq!(Poller::count(), 0, "nor has anybody else");
    drop(others.handle);
    result
}

/// The same, with a loop that parks as long as it has no descriptors.
fn with_loop<R: Send + 'static>(
    looper: impl FnOnce(&EventLoop, &mut Others) -> R + Send + 'static,
) -> R {
    with_loop_in(FastPathMode::Auto, looper)
}

/// The tick that is needed to drop what others removed and see what others made ready.
fn settle(event_loop: &EventLoop, others: &mut Others) {
    others.join();
    event_loop.turn(NOW).unwrap();
}

/// Has an event delivered, and forgets about it: the loop finds the slots of the first page without the lock then.
fn show_page(event_loop: &EventLoop, fd: RawFd, fate: &Fate) {
    make_ready(&event_loop.handle(), fd);
    event_loop.turn(NOW).unwrap();
    assert_eq!(fate.ran.swap(0, Count), 1);
    Poller::forget_reported();
}

/// The counts of a loop that has this many descriptors, all of which keep it alive, agree.
fn check_count(event_loop: &EventLoop, registered: usize) {
    let io = &event_loop.cx().0.shared.io;
    assert_eq!(io.lock().len(), registered);
    assert_eq!(io.is_used(), registered != 0);
    assert_eq!(io.referenced(), registered);
    assert!(!io.has_left());
}

// spec: IO-1, WK-6, WK-1, F-10, F-2
#[test]
fn a_loop_that_parks_hears_of_the_first_descriptor_of_another_thread() {
    for (name, mode) in [
        ("io: parks, first descriptor", FastPathMode::Auto),
        ("io: polls, first descriptor", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(3), move || {
            with_loop_in(mode, |event_loop, others| {
                let fate = Fate::new();
                let other = Arc::clone(&fate);
                others.start(move |handle| {
                    other.register_with(handle, A, |cx| cx.shutdown()).unwrap();
                    make_ready(handle, A);
                });
                event_loop.run().unwrap();
                assert_eq!(fate.ran(), 1);
                fate.check_over();
            });
        });
    }
}

/// Ends the loop when this was called twice.
fn second_ends(calls: &Counter, cx: &Cx) {
    if calls.fetch_add(1, Count) == 1 {
        cx.shutdown();
    }
}

// spec: IO-1, WK-6, WK-1, F-10, F-21
#[test]
fn a_task_that_comes_with_the_first_descriptor_is_not_lost() {
    explore("io: first descriptor, submit", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let calls = Arc::new(Counter::new(0));
            let other = Arc::clone(&calls);
            others.start(move |handle| {
                let callback = move |cx: &Cx, _: &Source, _| second_ends(&other, cx);
                handle.register_fd(Source(A), Interest::READ, callback).unwrap();
                make_ready(handle, A);
            });
            others.start(move |handle| handle.submit(move |cx| second_ends(&calls, cx)).unwrap());
            event_loop.run().unwrap();
        });
    });
}

// spec: IO-1, F-10, F-19
#[test]
fn a_descriptor_that_the_system_refuses_is_not_in_the_way_of_the_first_one() {
    explore("io: first descriptor, refused one", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let [fate, refused] = [Fate::new(), Fate::new()];
            let other = Arc::clone(&fate);
            others.start(move |handle| {
                other.register_with(handle, A, |cx| cx.shutdown()).unwrap();
                make_ready(handle, A);
            });
            let other = Arc::clone(&refused);
            others.start(move |handle| {
                other.register(handle, Poller::REFUSED).unwrap_err();
                other.check_over();
            });
            event_loop.run().unwrap();
            assert_eq!((fate.ran(), refused.ran()), (1, 0));
            fate.check_over();
        });
    });
}

// spec: IO-1, F-10
#[test]
fn a_loop_that_polls_hears_of_another_descriptor() {
    explore("io: second descriptor", Bound::Preemptions(3), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            fate.register(&others.handle, A).unwrap();
            let other = Arc::clone(&fate);
            others.start(move |handle| {
                other.register_with(handle, B, |cx| cx.shutdown()).unwrap();
                make_ready(handle, B);
            });
            event_loop.run().unwrap();
            assert_eq!(fate.ran(), 1);
            fate.check_over();
        });
    });
}

// spec: IO-1, WK-6, F-21
#[test]
fn a_task_that_comes_when_the_last_descriptor_goes_is_not_lost() {
    type Other = fn(&Handle);
    let remove: Other = |handle| {
        let removed = handle.unregister_fd(A);
        assert!(matches!(removed, Ok(()) | Err(Error::PollerClosed)), "{removed:?}");
    };
    let end: Other = |handle| handle.submit(|cx| cx.shutdown()).unwrap();
    let remove_and_end: Other = |handle| {
        handle.unregister_fd(A).unwrap();
        handle.submit(|cx| cx.shutdown()).unwrap();
    };
    let models: [(&str, Vec<Other>, usize); 2] = [
        ("io: last descriptor, then submit", vec![remove_and_end], 2),
        ("io: last descriptor, submit", vec![remove, end], 1),
    ];
    for (name, others, preemptions) in models {
        explore(name, Bound::Preemptions(preemptions), move || {
            let others = others.clone();
            let fate = with_loop(move |event_loop, threads| {
                let fate = Fate::new();
                fate.register(&threads.handle, A).unwrap();
                others.into_iter().for_each(|other| threads.start(other));
                event_loop.run().unwrap();
                fate
            });
            assert_eq!(fate.ran(), 0);
            fate.check_over();
        });
    }
}

// spec: IO-1
#[test]
fn the_dispatch_sees_what_another_thread_registered() {
    explore("io: register, dispatch", Bound::None, || {
        with_loop(|event_loop, others| {
            let [own, sent] = [Fate::new(), Fate::new()];
            own.register(&others.handle, A).unwrap();
            show_page(event_loop, A, &own);
            let other = Arc::clone(&sent);
            others.start(move |handle| {
                Poller::set_ready(B);
                other.register(handle, B).unwrap();
            });
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            assert_eq!((own.ran(), sent.ran()), (0, 1));
            check_count(event_loop, 2);
            assert_eq!((token(&others.handle, A), token(&others.handle, B)), (0, 1), "one page");
        });
    });
}

// spec: IO-1, M1-1.3, M1-1.4, F-11
#[test]
fn an_event_of_a_registration_that_is_gone_does_not_reach_the_next_one_in_its_slot() {
    explore("io: unregister, register another", Bound::Preemptions(3), || {
        with_loop(|event_loop, others| {
            let [old, new] = [Fate::new(), Fate::new()];
            old.register(&others.handle, A).unwrap();
            show_page(event_loop, A, &old);
            make_ready(&others.handle, A);
            let other = Arc::clone(&new);
            others.start(move |handle| {
                handle.unregister_fd(A).unwrap();
                other.register(handle, B).unwrap();
            });
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            assert!(old.ran() <= 1);
            assert_eq!(new.ran(), 0, "nothing was reported for it");
            assert_eq!(Poller::made(), 1, "what was just removed is no reason for another poller");
            old.check_over();
            new.check_dropped(0);
            check_count(event_loop, 1);
        });
    });
}

// spec: IO-1, M1-1.3, M1-1.4, F-11
#[test]
fn an_event_of_a_registration_that_is_gone_does_not_reach_the_next_one_of_its_descriptor() {
    explore("io: unregister, register again", Bound::Preemptions(3), || {
        with_loop(|event_loop, others| {
            let [old, new] = [Fate::new(), Fate::new()];
            old.register(&others.handle, A).unwrap();
            show_page(event_loop, A, &old);
            let before = token(&others.handle, A);
            make_ready(&others.handle, A);
            let other = Arc::clone(&new);
            others.start(move |handle| {
                handle.unregister_fd(A).unwrap();
                other.register(handle, A).unwrap();
            });
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            let after = token(&others.handle, A);
            assert_ne!(before, after, "a token is used once");
            assert_eq!(Poller::reported(before) + Poller::reported(after), 1);
            assert!(old.ran() <= Poller::reported(before));
            assert_eq!(new.ran(), Poller::reported(after));
            old.check_over();
            new.check_dropped(0);
            check_count(event_loop, 1);
        });
    });
}

// spec: IO-1, M1-1.1, M1-1.6
#[test]
fn of_two_threads_that_register_a_descriptor_exactly_one_succeeds() {
    explore("io: register twice", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let fates = [Fate::new(), Fate::new()];
            for fate in &fates {
                let fate = Arc::clone(fate);
                others.start(move |handle| match fate.register(handle, A) {
                    Ok(()) => make_ready(handle, A),
                    Err(error) => assert!(matches!(error, Error::FdAlreadyRegistered), "{error}"),
                });
            }
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            for fate in &fates {
                assert_eq!(fate.ran(), 1 - fate.refused());
                fate.check_dropped(fate.refused());
            }
            assert_eq!(fates[0].refused() + fates[1].refused(), 1);
            check_count(event_loop, 1);
        });
    });
}

// spec: IO-1, M1-1.1, M1-1.5
#[test]
fn of_two_threads_that_remove_a_descriptor_exactly_one_succeeds() {
    explore("io: unregister twice", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            let removed = Arc::new(Counter::new(0));
            fate.register(&others.handle, A).unwrap();
            make_ready(&others.handle, A);
            for _ in 0..2 {
                let removed = Arc::clone(&removed);
                others.start(move |handle| match handle.unregister_fd(A) {
                    Ok(()) => drop(removed.fetch_add(1, Count)),
                    Err(error) => assert!(matches!(error, Error::FdNotRegistered), "{error}"),
                });
            }
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            assert_eq!(removed.load(Count), 1);
            fate.check_over();
            check_count(event_loop, 0);
        });
    });
}

// spec: IO-1, M1-1.1, M1-1.6
#[test]
fn a_watch_replaces_what_another_thread_registers_or_removes() {
    explore("io: watch, register, unregister", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let [strict, watched] = [Fate::new(), Fate::new()];
            let other = Arc::clone(&strict);
            others.start(move |handle| {
                let _ = other.register(handle, A);
                handle.unregister_fd(A).unwrap();
            });
            let capture = watched.capture();
            let watch = Watch::new().read(move |_, _: &Source| capture.run());
            let watcher = event_loop.cx().watch(Source(A), watch).unwrap();
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            strict.check_over();
            let is_left = watcher.is_active();
            watched.check_dropped(usize::from(!is_left));
            check_count(event_loop, usize::from(is_left));
        });
    });
}

// spec: IO-1, F-24, WK-1
#[test]
fn a_loop_whose_last_descriptor_another_thread_gives_up_is_idle() {
    type GiveUp = fn(&Handle) -> Result<(), Error>;
    let models: [(&str, GiveUp, usize); 3] = [
        ("io: unregister the last", |handle| handle.unregister_fd(A), 2),
        ("io: unreference the last", |handle| handle.reference_fd(A, false), 3),
        ("io: ask nothing of the last", |handle| handle.modify_fd(A, Interest::NONE), 3),
    ];
    for (name, give_up, preemptions) in models {
        explore(name, Bound::Preemptions(preemptions), move || {
            with_loop(move |event_loop, others| {
                let fate = Fate::new();
                fate.register(&others.handle, A).unwrap();
                others.start(move |handle| give_up(handle).unwrap());
                event_loop.run_until_idle().unwrap();
                assert_eq!(event_loop.cx().0.shared.io.referenced(), 0);
                assert_eq!(fate.ran(), 0);
            });
        });
    }
}

// spec: IO-1, F-24
#[test]
fn a_loop_is_not_idle_before_its_last_descriptor_is_gone() {
    explore("io: unregister both", Bound::Preemptions(1), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            fate.register(&others.handle, A).unwrap();
            fate.register(&others.handle, B).unwrap();
            others.handle.reference_fd(B, false).unwrap();
            let is_last = Arc::new(Counter::new(0));
            let other = Arc::clone(&is_last);
            others.start(move |handle| {
                handle.reference_fd(B, true).unwrap();
                handle.unregister_fd(A).unwrap();
                other.store(1, Count);
                handle.unregister_fd(B).unwrap();
            });
            event_loop.run_until_idle().unwrap();
            assert_eq!(is_last.load(Count), 1, "it was not idle before");
            fate.check_over();
            check_count(event_loop, 0);
        });
    });
}

// spec: IO-1, F-24
#[test]
fn a_guard_takes_over_from_the_last_descriptor() {
    explore("io: guard, unreference", Bound::Preemptions(1), || {
        with_loop(|event_loop, others| {
            Fate::new().register(&others.handle, A).unwrap();
            let is_last = Arc::new(Counter::new(0));
            let other = Arc::clone(&is_last);
            others.start(move |handle| {
                let guard = handle.keep_alive();
                handle.reference_fd(A, false).unwrap();
                other.store(1, Count);
                drop(guard);
            });
            event_loop.run_until_idle().unwrap();
            assert_eq!(is_last.load(Count), 1, "it was not idle before");
        });
    });
}

// spec: IO-1, F-24
#[test]
fn what_was_queued_before_the_last_descriptor_went_runs_before_the_loop_is_idle() {
    explore("io: submit, unregister the last", Bound::Preemptions(1), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            fate.register(&others.handle, A).unwrap();
            let ran = Arc::new(Counter::new(0));
            let other = Arc::clone(&ran);
            others.start(move |handle| {
                handle.submit(move |_| _ = other.fetch_add(1, Count)).unwrap();
                handle.unregister_fd(A).unwrap();
            });
            event_loop.run_until_idle().unwrap();
            assert_eq!(ran.load(Count), 1);
            fate.check_over();
        });
    });
}

// spec: IO-1
#[test]
fn what_another_thread_removes_is_dropped_while_the_loop_polls_on() {
    explore("io: unregister, polls on", Bound::Preemptions(3), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            fate.register(&others.handle, A).unwrap();
            let ends = EndsLoop(others.handle.clone());
            let callback = move |_: &Cx, _: &Source, _| _ = &ends;
            event_loop.cx().register_fd(Source(B), Interest::READ, callback).unwrap();
            others.start(|handle| handle.unregister_fd(B).unwrap());
            event_loop.run().unwrap();
            fate.check_over();
        });
    });
}

// spec: IO-1, F-24, M1-1.3
#[test]
fn a_loop_is_not_idle_while_a_closed_descriptor_is_registered_anew() {
    explore("io: register a closed one", Bound::None, || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            fate.register(&others.handle, A).unwrap();
            others.handle.0.sleep.poller().unwrap().forget(A).unwrap();
            let other = Arc::clone(&fate);
            others.start(move |handle| other.register(handle, A).unwrap());
            assert!(event_loop.cx().0.is_alive());
            settle(event_loop, others);
            fate.check_dropped(1);
            check_count(event_loop, 1);
        });
    });
}

// spec: IO-1, F-24
#[test]
fn what_is_registered_while_the_loop_is_kept_alive_keeps_it_alive() {
    explore("io: register under a guard", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            let guard = others.handle.keep_alive();
            let other = Arc::clone(&fate);
            others.start(move |handle| {
                other.register_with(handle, A, |cx| _ = cx.unwatch(A)).unwrap();
                drop(guard);
                make_ready(handle, A);
            });
            event_loop.run_until_idle().unwrap();
            assert_eq!(fate.ran(), 1);
            fate.check_over();
            check_count(event_loop, 0);
        });
    });
}

fn check_end(result: Result<(), Error>) {
    assert!(matches!(result, Ok(()) | Err(Error::Terminated)), "{result:?}");
}

// spec: IO-1, SD-1, F-25
#[test]
fn what_is_registered_while_another_ends_the_loop_is_handed_back_or_dropped() {
    type End = fn(&Handle);
    let shut_down: End = |handle| {
        let _ = handle.shutdown(Deadline::NEVER);
        assert!(handle.register_fd(Source(B), Interest::READ, |_, _, _| ()).is_err());
        assert!(handle.0.sleep.poller().is_none(), "what was opened is closed");
    };
    let end_from_inside: End = |handle| handle.submit_internal(|cx| cx.shutdown()).unwrap();
    let models: [(&str, End, usize); 3] = [
        ("io: register, close", Handle::close, 2),
        ("io: register, shutdown", shut_down, 2),
        ("io: register, ended from inside", end_from_inside, 2),
    ];
    for (name, end, preemptions) in models {
        explore(name, Bound::Preemptions(preemptions), move || {
            let fate = with_loop(move |event_loop, others| {
                let fate = Fate::new();
                let other = Arc::clone(&fate);
                others.start(move |handle| match other.register(handle, A) {
                    Ok(()) => make_ready(handle, A),
                    Err(error) => assert!(matches!(error, Error::Terminated), "{error}"),
                });
                others.start(end);
                check_end(event_loop.run());
                fate
            });
            fate.check_over();
        });
    }
}

// spec: IO-1, SD-1, F-25
#[test]
fn what_is_removed_while_another_ends_the_loop_is_dropped_once() {
    explore("io: unregister, close", Bound::Preemptions(1), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            fate.register(&others.handle, A).unwrap();
            make_ready(&others.handle, A);
            others.start(|handle| drop(handle.unregister_fd(A)));
            others.start(Handle::close);
            check_end(event_loop.run());
            fate.check_over();
        });
    });
}

// spec: IO-1, SD-2, SD-6, F-25
#[test]
fn a_loop_that_another_ends_before_it_was_driven_drops_its_callbacks() {
    explore("io: undriven, close", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            let other = Arc::clone(&fate);
            others.start(move |handle| {
                let _ = other.register(handle, B);
                handle.close();
            });
            if fate.register(&others.handle, A).is_ok() {
                event_loop.cx().unwatch(A);
            }
            check_end(event_loop.run());
            assert_eq!(fate.ran(), 0);
            fate.check_over();
        });
    });
}

// spec: WK-6
#[test]
fn of_a_registration_and_a_mode_without_descriptors_exactly_one_succeeds() {
    explore("io: register, forced", Bound::Preemptions(3), || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            let forced = Arc::new(Counter::new(0));
            let (other, count) = (Arc::clone(&fate), Arc::clone(&forced));
            others.start(move |handle| match other.register(handle, A) {
                Ok(()) => {}
                Err(error) => assert!(matches!(error, Error::FastPathIncompatible), "{error}"),
            });
            others.start(move |handle| match handle.set_fast_path(FastPathMode::Forced) {
                Ok(()) => drop(count.fetch_add(1, Count)),
                Err(error) => assert!(matches!(error, Error::FastPathIncompatible), "{error}"),
            });
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            assert_eq!(fate.refused(), forced.load(Count), "exactly one");
            check_count(event_loop, 1 - fate.refused());
        });
    });
}

// spec: M1-2.6, M1-2.7, IO-1
#[test]
fn a_one_shot_that_another_thread_arms_again_fires_again() {
    explore("io: arm again", Bound::None, || {
        with_loop(|event_loop, others| {
            let (give, take) = mpsc::channel();
            let mut ran = 0;
            let callback = move |cx: &Cx, _: &Source, _| {
                ran += 1;
                if ran == 2 {
                    return cx.shutdown();
                }
                let handle = cx.handle();
                let interest = Interest::READ.one_shot();
                let arm = move || handle.modify_fd(A, interest).unwrap();
                give.send(thread::spawn(arm)).unwrap();
            };
            let cx = event_loop.cx();
            cx.register_fd(Source(A), Interest::READ.one_shot(), callback).unwrap();
            Poller::set_ready(A);
            Poller::set_ready(A);
            event_loop.run().unwrap();
            others.threads.extend(take.try_iter());
        });
    });
}

// spec: IO-1
#[test]
fn a_loop_that_polls_hears_of_what_another_thread_asks_for() {
    explore("io: ask for more", Bound::None, || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            fate.register(&others.handle, A).unwrap();
            show_page(event_loop, A, &fate);
            event_loop.cx().modify_fd(A, Interest::NONE).unwrap();
            Poller::set_ready(A);
            let interest = Interest::READ.one_shot();
            others.start(move |handle| handle.modify_fd(A, interest).unwrap());
            event_loop.turn(None).unwrap();
            assert_eq!(fate.ran(), 1);
        });
    });
}

// spec: M1-2.6, M1-2.7, IO-1, F-24
#[test]
fn a_one_shot_that_is_changed_while_it_is_delivered_is_counted_exactly() {
    explore("io: deliver, arm again", Bound::None, || {
        with_loop(|event_loop, others| {
            let fate = Fate::new();
            let cx = event_loop.cx();
            let interest = Interest::READ.one_shot();
            fate.accept(cx.register_fd(Source(A), interest, fate.callback(|_| ()))).unwrap();
            Poller::set_ready(A);
            others.start(move |handle| handle.modify_fd(A, interest).unwrap());
            event_loop.turn(NOW).unwrap();
            settle(event_loop, others);
            assert_eq!(fate.ran(), 1);
            // Armed again before it was delivered, or after that.
            let io = &cx.0.shared.io;
            assert!(io.referenced() <= 1);
            cx.modify_fd(A, interest).unwrap();
            make_ready(&others.handle, A);
            event_loop.turn(NOW).unwrap();
            assert_eq!((fate.ran(), io.referenced()), (2, 0));
        });
    });
}

// spec: M1-1.3, M1-1.4, WK-1, WK-8
#[test]
fn a_poller_that_is_built_anew_loses_nothing() {
    explore("io: rebuild, register, submit", Bound::Preemptions(2), || {
        with_loop(|event_loop, others| {
            let calls = Arc::new(Counter::new(0));
            let own = Fate::new();
            own.register(&others.handle, A).unwrap();
            // Of a registration that is gone: slot 0, another generation.
            let poller = others.handle.0.sleep.poller().unwrap();
            poller.haunt(token(&others.handle, A) + (1 << 32));
            drop(poller);
            let other = Arc::clone(&calls);
            others.start(move |handle| {
                let callback = move |cx: &Cx, _: &Source, _| second_ends(&other, cx);
                handle.register_fd(Source(B), Interest::READ, callback).unwrap();
                make_ready(handle, B);
            });
            others.start(move |handle| handle.submit(move |cx| second_ends(&calls, cx)).unwrap());
            event_loop.run().unwrap();
            assert_eq!(
                (own.ran(), Poller::made()),
                (0, 2),
                "one was built anew, and one is enough"
            );
            own.check_over();
        });
    });
}
