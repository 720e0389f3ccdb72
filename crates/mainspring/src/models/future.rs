//! Futures: wakes by other threads, and what they meet: a poll, a sleep, the end of the future, that of the loop.
//!
//! Proved: a future is polled after each wake, and sees what was done before it, whether the loop sleeps, polls the
//! future or is at work, for one and two threads, for the loop's thread beside another, and inside `block_on`; at most
//! one entry is sent for each poll of a future, and none for one that is done; a future and its output are dropped
//! once, by the loop's thread, and their memory is freed once, and not used after that, whether the future comes to its
//! end, is aborted or meets that of the loop while others clone, use and drop its wakers; a wake that comes before
//! a shutdown is answered; a future that other threads abort is dropped once, by the loop's thread, whether it comes to
//! its end, is aborted by the loop or meets that of the loop meanwhile, the loop does not sleep through that, and there
//! is one entry for all of them; a future that is spawned by another thread while the loop ends settles its promise,
//! and the function that makes it is dropped once.
//!
//! Up to five preemptions with one other thread, up to three with two, one or two where the loop is ended by
//! another thread. Bounded: two other threads, two wakes by each.

use loom::thread::{self, JoinHandle as Thread, ThreadId};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Bound, Pace, explore, memory};
use crate::sync::{AtomicUsize, Ordering};
use crate::{
    Cx, Deadline, Error, EventLoop, FastPathMode, Handle, JoinError, JoinHandle, PanicPolicy,
    Promise, Rejection,
};

const NOW: Duration = Duration::ZERO;

/// What became of futures, outputs and functions.
struct Fate {
    /// The loop's thread.
    home: ThreadId,
    made: Counter,
    dropped: Counter,
    /// Uses elsewhere. Counted, as the loop survives a future that panics.
    astray: Counter,
    polls: Counter,
}

/// A part of a future, or of its output: for the loop's thread only.
struct Capture(Arc<Fate>);

impl Capture {
    fn touch(&self) {
        if thread::current().id() != self.0.home {
            self.0.astray.fetch_add(1, Count);
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.touch();
        self.0.dropped.fetch_add(1, Count);
    }
}

/// A part of a function, for any thread.
struct Luggage(Arc<Fate>);

impl Drop for Luggage {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Count);
    }
}

impl Fate {
    fn capture(self: &Arc<Self>) -> Capture {
        self.made.fetch_add(1, Count);
        Capture(Arc::clone(self))
    }

    fn luggage(self: &Arc<Self>) -> Luggage {
        self.made.fetch_add(1, Count);
        Luggage(Arc::clone(self))
    }

    fn polls(&self) -> usize {
        self.polls.load(Count)
    }

    fn check_over(&self) {
        assert_eq!(self.astray.load(Count), 0, "by the loop's thread");
        assert_eq!(self.dropped.load(Count), self.made.load(Count), "each is dropped once");
    }
}

/// What is done for a future, by each thread. No ordering comes with it, so only the wakes make it visible.
struct Work([AtomicUsize; 2], Arc<Pace>);

impl Work {
    fn add(&self, thread: usize) {
        self.1.step();
        let done = self.0[thread].load(Ordering::Relaxed);
        self.0[thread].store(done + 1, Ordering::Relaxed);
    }

    fn is_done(&self, wanted: [usize; 2]) -> bool {
        let mut pairs = self.0.iter().zip(wanted);
        let is_done = pairs.all(|(done, wanted)| done.load(Ordering::Relaxed) >= wanted);
        self.1.step();
        is_done
    }
}

/// What another thread does with a waker of its own.
type Other = fn(&Work, Waker);

/// A future that is done when so much work was done for it. It is aligned like this to be watched.
#[repr(align(16))]
struct Waiting {
    stage: Stage,
    /// By each of the two.
    wanted: [usize; 2],
    /// The threads that its first poll starts.
    others: &'static [Other],
    /// Whether its first poll leaves a waker to the loop's thread.
    leaves_waker: bool,
    capture: Capture,
}

impl Future for Waiting {
    type Output = Capture;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Capture> {
        let others = std::mem::take(&mut self.others);
        let leaves_waker = std::mem::take(&mut self.leaves_waker);
        let stage = &self.stage;
        self.capture.touch();
        let polls = stage.fate.polls.fetch_add(1, Count) + 1;
        assert!(stage.entries() <= polls, "one entry for each poll at the most");
        if leaves_waker {
            *stage.waker.lock().unwrap() = Some(context.waker().clone());
        }
        for other in others {
            let (work, waker) = (Arc::clone(&stage.work), context.waker().clone());
            stage.start(move |_| other(&work, waker));
        }
        if stage.work.is_done(self.wanted) {
            Poll::Ready(stage.fate.capture())
        } else {
            Poll::Pending
        }
    }
}

/// The loop's surroundings.
#[derive(Clone)]
struct Stage {
    handle: Handle,
    fate: Arc<Fate>,
    work: Arc<Work>,
    threads: Arc<Mutex<Vec<Thread<()>>>>,
    /// A waker for the loop's thread.
    waker: Arc<Mutex<Option<Waker>>>,
    /// A promise for the end.
    promise: Arc<Mutex<Option<Promise<u32>>>>,
}

impl Stage {
    /// To be called by the loop's thread.
    fn new(handle: Handle) -> Self {
        let fate = Fate {
            home: thread::current().id(),
            made: Counter::new(0),
            dropped: Counter::new(0),
            astray: Counter::new(0),
            polls: Counter::new(0),
        };
        Self {
            handle,
            fate: Arc::new(fate),
            work: Arc::new(Work([AtomicUsize::new(0), AtomicUsize::new(0)], Pace::new())),
            threads: Arc::default(),
            waker: Arc::default(),
            promise: Arc::default(),
        }
    }

    fn start(&self, other: impl FnOnce(&Handle) + Send + 'static) {
        let handle = self.handle.clone();
        let thread = thread::spawn(move || other(&handle));
        self.threads.lock().unwrap().push(thread);
    }

    /// Waits for the others. By the loop's thread if that never slept.
    fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    /// A future that waits for so much work, and lets these others do it.
    fn waiting(&self, wanted: [usize; 2], others: &'static [Other]) -> Waiting {
        let capture = self.fate.capture();
        Waiting { stage: self.clone(), wanted, others, leaves_waker: false, capture }
    }

    /// The same, that wants one piece of work by the loop's thread as well.
    fn waiting_here(&self, wanted: usize, others: &'static [Other]) -> Waiting {
        Waiting { leaves_waker: true, ..self.waiting([wanted, 1], others) }
    }

    /// What is on its way to the loop, apart from what was spawned.
    fn entries(&self) -> usize {
        self.handle.0.internal.len()
    }

    /// The loop's thread does the second one's work.
    fn wake_here(&self) {
        let waker = self.waker.lock().unwrap().take();
        self.work.add(1);
        waker.unwrap().wake();
    }
}

/// Makes a loop, and lets `looper` drive and drop it, on a thread of its own, until all have ended. Then nothing is
/// left.
fn with_loop_in(mode: FastPathMode, looper: impl FnOnce(EventLoop, &Stage) + Send + 'static) {
    memory::open();
    let (give, take) = mpsc::channel();
    let thread = thread::spawn(move || {
        // Loom panics where it finds two threads at one cell, which can be between two callbacks.
        let policy = PanicPolicy::Propagate;
        let event_loop = EventLoop::builder().panic_policy(policy).fast_path(mode).build().unwrap();
        let stage = Stage::new(event_loop.handle());
        looper(event_loop, &stage);
        drop(stage.waker.lock().unwrap().take());
        give.send(stage).unwrap();
    });
    thread.join().unwrap();
    let stage = take.recv().unwrap();
    stage.join();
    if let Some(mut promise) = stage.promise.lock().unwrap().take() {
        match ask(&mut promise) {
            Some(Ok(value)) => assert_eq!(value, 5),
            Some(Err(reason)) => assert!(is_terminated(&reason), "{reason}"),
            None => panic!("it is pending after the end"),
        }
    }
    stage.fate.check_over();
    // Every future that was not freed has one.
    assert_eq!(Arc::strong_count(&stage.handle.0), 1, "references to the loop");
    drop(stage);
    memory::close();
}

fn with_loop(looper: impl FnOnce(EventLoop, &Stage) + Send + 'static) {
    with_loop_in(FastPathMode::Auto, looper);
}

/// Asks once.
fn ask<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn wake(work: &Work, waker: Waker) {
    work.add(0);
    waker.wake();
}

fn wake_by_ref(work: &Work, waker: Waker) {
    work.add(0);
    waker.wake_by_ref();
}

fn wake_second(work: &Work, waker: Waker) {
    work.add(1);
    waker.wake();
}

fn wake_twice(work: &Work, waker: Waker) {
    wake_by_ref(work, waker.clone());
    wake(work, waker);
}

fn clone_and_drop(work: &Work, waker: Waker) {
    work.1.step();
    drop((waker.clone(), waker));
}

// spec: BX-1, BX-2, WK-1, WK-2, WK-7, F-2
#[test]
fn a_future_is_polled_after_each_wake_by_another_thread() {
    type Model = (&'static str, FastPathMode, usize, [usize; 2], &'static [Other]);
    let (park, poll) = (FastPathMode::Auto, FastPathMode::Disabled);
    let models: [Model; 5] = [
        ("future: parks, wake", park, 5, [1, 0], &[wake]),
        ("future: polls, wake", poll, 5, [1, 0], &[wake]),
        ("future: parks, wake twice", park, 3, [2, 0], &[wake_twice]),
        ("future: parks, 2 wake", park, 2, [1, 1], &[wake, wake_second]),
        ("future: polls, 2 wake", poll, 2, [1, 1], &[wake, wake_second]),
    ];
    for (name, mode, preemptions, wanted, others) in models {
        explore(name, Bound::Preemptions(preemptions), move || {
            with_loop_in(mode, move |event_loop, stage| {
                let mut join = event_loop.cx().spawn_local(stage.waiting(wanted, others));
                // It sleeps for ever if a wake is lost.
                event_loop.run_until_idle().unwrap();
                assert!(matches!(ask(&mut join), Some(Ok(_))), "it is done");
                assert!(stage.fate.polls() <= 1 + wanted[0] + wanted[1], "no poll without a wake");
            });
        });
    }
}

// spec: BX-1, BX-2
#[test]
fn a_loop_that_is_at_work_polls_after_each_wake() {
    let models: [(&str, usize, [usize; 2], &'static [Other]); 2] = [
        ("future: turns, wake twice", 4, [2, 0], &[wake_twice]),
        ("future: turns, 2 wake", 3, [1, 1], &[wake, wake_second]),
    ];
    for (name, preemptions, wanted, others) in models {
        explore(name, Bound::Preemptions(preemptions), move || {
            with_loop(move |event_loop, stage| {
                let mut join = event_loop.cx().spawn_local(stage.waiting(wanted, others));
                event_loop.turn(NOW).unwrap();
                stage.work.1.step();
                event_loop.turn(NOW).unwrap();
                stage.join();
                event_loop.turn(NOW).unwrap();
                assert!(matches!(ask(&mut join), Some(Ok(_))), "it is done");
            });
        });
    }
}

// spec: BX-2
#[test]
fn however_many_threads_wake_a_future_there_is_one_entry() {
    explore("future: 2 wake, one entry", Bound::Preemptions(3), || {
        with_loop(|event_loop, stage| {
            let join = event_loop.cx().spawn_local(stage.waiting([1, 1], &[wake, wake_second]));
            event_loop.turn(NOW).unwrap();
            stage.join();
            let polls = stage.fate.polls();
            assert_eq!(stage.entries(), 1, "one for both");
            event_loop.turn(NOW).unwrap();
            assert_eq!(stage.fate.polls(), polls + 1, "one poll for all of them");
            assert!(join.is_finished());
        });
    });
}

// spec: BX-2
#[test]
fn a_future_that_is_woken_by_the_loop_and_another_thread_sees_both() {
    for (name, mode) in [
        ("future: parks, wake, wake here", FastPathMode::Auto),
        ("future: polls, wake, wake here", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(3), move || {
            with_loop_in(mode, |event_loop, stage| {
                let mut join = event_loop.cx().spawn_local(stage.waiting_here(1, &[wake]));
                let here = stage.clone();
                event_loop.cx().submit(move |_| here.wake_here()).unwrap();
                event_loop.run_until_idle().unwrap();
                assert!(matches!(ask(&mut join), Some(Ok(_))), "it is done");
            });
        });
    }
}

// spec: BX-1, WK-1, F-2
#[test]
fn block_on_does_not_sleep_through_a_wake() {
    for (name, mode) in [
        ("future: block on, parks", FastPathMode::Auto),
        ("future: block on, polls", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(5), move || {
            with_loop_in(mode, |event_loop, stage| {
                event_loop.block_on(stage.waiting([1, 0], &[wake])).unwrap();
            });
        });
    }
}

// spec: BX-1, SH-5
#[test]
fn block_on_returns_when_another_thread_ends_the_loop() {
    explore("future: block on, wake, shutdown", Bound::Preemptions(2), || {
        with_loop(|event_loop, stage| {
            stage.start(|handle| drop(handle.shutdown(Deadline::NEVER)));
            match event_loop.block_on(stage.waiting([1, 0], &[wake])) {
                Ok(_) | Err(Error::Terminated) => {}
                Err(other) => unreachable!("{other:?}"),
            }
        });
    });
}

/// What the loop's thread does with a future that waits, while others use its wakers.
type Act = fn(EventLoop, JoinHandle<Capture>, &Stage);

/// It comes to its end, and then its handle is dropped, which has the output.
fn complete(event_loop: EventLoop, join: JoinHandle<Capture>, stage: &Stage) {
    stage.wake_here();
    event_loop.turn(NOW).unwrap();
    assert!(join.is_finished());
    drop(join);
    stage.join();
}

/// Its handle is dropped, and then it comes to its end.
fn detach(event_loop: EventLoop, join: JoinHandle<Capture>, stage: &Stage) {
    drop(join);
    stage.wake_here();
    event_loop.turn(NOW).unwrap();
    stage.join();
}

fn abort(event_loop: EventLoop, join: JoinHandle<Capture>, stage: &Stage) {
    join.abort();
    stage.waker.lock().unwrap().take();
    drop(join);
    event_loop.turn(NOW).unwrap();
    stage.join();
}

/// It is in the ready queue when it is aborted.
fn abort_woken(event_loop: EventLoop, join: JoinHandle<Capture>, stage: &Stage) {
    stage.wake_here();
    join.abort();
    drop(join);
    event_loop.turn(NOW).unwrap();
    stage.join();
}

/// The loop is dropped, and then the handle.
fn end(event_loop: EventLoop, mut join: JoinHandle<Capture>, _: &Stage) {
    drop(event_loop);
    assert!(matches!(ask(&mut join), Some(Err(JoinError::Terminated))));
}

/// The loop is dropped when the future is in the ready queue.
fn end_woken(event_loop: EventLoop, mut join: JoinHandle<Capture>, stage: &Stage) {
    stage.wake_here();
    drop(event_loop);
    assert!(matches!(ask(&mut join), Some(Err(JoinError::Terminated))));
}

/// The loop shuts down, and does what it was told before.
fn shut_down(event_loop: EventLoop, join: JoinHandle<Capture>, _: &Stage) {
    drop(join);
    event_loop.cx().shutdown();
    event_loop.turn(NOW).unwrap();
}

/// The future waits for the loop's own work, and its wakers are used by others meanwhile.
fn race(name: &str, preemptions: usize, others: &'static [Other], act: Act) {
    explore(name, Bound::Preemptions(preemptions), move || {
        with_loop(move |event_loop, stage| {
            let join = event_loop.cx().spawn_local(stage.waiting_here(0, others));
            event_loop.turn(NOW).unwrap();
            stage.work.1.step();
            act(event_loop, join, stage);
        });
    });
}

// spec: BX-1, BX-2
#[test]
fn a_future_that_comes_to_its_end_is_dropped_once_whoever_has_its_wakers() {
    race("future: done, clone", 4, &[clone_and_drop], complete);
    race("future: done, 2 clone", 3, &[clone_and_drop, clone_and_drop], complete);
    race("future: done, wake", 3, &[wake], complete);
    race("future: done, 2 wake", 2, &[wake, wake_second], complete);
    race("future: detached, clone", 4, &[clone_and_drop], detach);
    race("future: detached, wake", 3, &[wake_by_ref], detach);
}

// spec: BX-1, BX-2
#[test]
fn a_future_that_is_aborted_is_dropped_once_whoever_has_its_wakers() {
    race("future: abort, clone", 4, &[clone_and_drop], abort);
    race("future: abort, wake", 3, &[wake], abort);
    race("future: abort, wake twice", 3, &[wake_twice], abort);
    race("future: abort, 2 wake", 2, &[wake, wake_second], abort);
    race("future: abort a woken one, wake", 3, &[wake], abort_woken);
}

// spec: BX-1, BX-2, SH-5
#[test]
fn a_future_that_meets_the_end_of_the_loop_is_dropped_once_whoever_has_its_wakers() {
    race("future: drop the loop, clone", 3, &[clone_and_drop], end);
    race("future: drop the loop, wake", 3, &[wake], end);
    race("future: drop the loop, wake twice", 3, &[wake_twice], end);
    race("future: drop the loop, 2 wake", 2, &[wake, wake_second], end);
    race("future: drop the loop, woken, wake", 3, &[wake], end_woken);
    race("future: shut down, wake", 3, &[wake_by_ref], shut_down);
}

// spec: BX-1, BX-2
#[test]
fn a_wake_that_comes_too_late_does_nothing() {
    explore("future: done, then woken", Bound::Preemptions(3), || {
        with_loop(|event_loop, stage| {
            let others: &[Other] = &[wake_by_ref, wake];
            let join = event_loop.cx().spawn_local(stage.waiting([0, 0], others));
            event_loop.turn(NOW).unwrap();
            assert!(join.is_finished());
            stage.join();
            event_loop.turn(NOW).unwrap();
            assert_eq!((stage.entries(), stage.fate.polls()), (0, 1));
        });
    });
}

// spec: BX-2
#[test]
fn a_future_that_is_done_sends_no_entries() {
    let models: [(&str, &'static [Other]); 2] =
        [("future: abort, then wake", &[]), ("future: abort, wake, then wake again", &[wake])];
    for (name, others) in models {
        explore(name, Bound::Preemptions(4), move || {
            with_loop(move |event_loop, stage| {
                let join = event_loop.cx().spawn_local(stage.waiting_here(0, others));
                event_loop.turn(NOW).unwrap();
                join.abort();
                stage.join();
                // What was sent before the end arrives after it.
                event_loop.turn(NOW).unwrap();
                let waker = stage.waker.lock().unwrap().take().unwrap();
                stage.start(move |_| waker.wake());
                stage.join();
                assert_eq!(stage.entries(), 0, "nothing is sent");
            });
        });
    }
}

// spec: BX-2, SH-5
#[test]
fn a_wake_that_comes_before_a_shutdown_is_answered() {
    for (name, mode) in [
        ("future: parks, wake then shutdown", FastPathMode::Auto),
        ("future: polls, wake then shutdown", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(3), move || {
            with_loop_in(mode, |event_loop, stage| {
                let mut join = event_loop.cx().spawn_local(stage.waiting_here(0, &[]));
                event_loop.turn(NOW).unwrap();
                let waker = stage.waker.lock().unwrap().take().unwrap();
                let work = Arc::clone(&stage.work);
                stage.start(move |handle| {
                    wake_second(&work, waker);
                    drop(handle.shutdown(Deadline::NEVER));
                });
                event_loop.run().unwrap();
                assert!(matches!(ask(&mut join), Some(Ok(_))), "it was woken before");
            });
        });
    }
}

// spec: BX-2, SH-5
#[test]
fn a_future_that_is_woken_while_another_thread_ends_the_loop_comes_to_an_end() {
    type Model = (&'static str, fn(&Handle));
    let models: [Model; 2] = [
        ("future: wake, shutdown", |handle| drop(handle.shutdown(Deadline::NEVER))),
        ("future: wake, close", Handle::close),
    ];
    for (name, end) in models {
        explore(name, Bound::Preemptions(2), move || {
            with_loop(move |event_loop, stage| {
                let mut join = event_loop.cx().spawn_local(stage.waiting([1, 0], &[wake]));
                event_loop.turn(NOW).unwrap();
                stage.start(end);
                event_loop.run().unwrap();
                assert!(matches!(ask(&mut join), Some(Ok(_) | Err(JoinError::Terminated))));
            });
        });
    }
}

/// Other threads abort a future that waits for the loop's own work, which does something with it meanwhile. Each of
/// them drops its handle after that.
fn aborted_by(threads: usize, event_loop: &EventLoop, stage: &Stage) -> JoinHandle<Capture> {
    let join = event_loop.cx().spawn_local(stage.waiting_here(0, &[]));
    event_loop.turn(NOW).unwrap();
    for _ in 0..threads {
        let (abort, work) = (join.abort_handle(), Arc::clone(&stage.work));
        stage.start(move |_| {
            work.1.step();
            abort.abort();
        });
    }
    stage.work.1.step();
    join
}

// spec: BX-1, SH-5
#[test]
fn a_future_that_another_thread_aborts_is_dropped_once_whatever_becomes_of_it() {
    let models: [(&str, usize, usize, Act); 8] = [
        ("future: other aborts, done", 4, 1, complete),
        ("future: 2 others abort, done", 2, 2, complete),
        ("future: other aborts, detached", 4, 1, detach),
        ("future: other aborts, abort", 4, 1, abort),
        ("future: other aborts, abort a woken one", 3, 1, abort_woken),
        ("future: other aborts, drop the loop", 3, 1, end),
        ("future: other aborts, drop the loop, woken", 3, 1, end_woken),
        ("future: other aborts, shut down", 3, 1, shut_down),
    ];
    for (name, preemptions, threads, act) in models {
        explore(name, Bound::Preemptions(preemptions), move || {
            with_loop(move |event_loop, stage| {
                let join = aborted_by(threads, &event_loop, stage);
                act(event_loop, join, stage);
            });
        });
    }
}

// spec: BX-1, WK-1, F-2
#[test]
fn a_loop_does_not_sleep_through_an_abort_by_another_thread() {
    for (name, mode) in [
        ("future: parks, other aborts", FastPathMode::Auto),
        ("future: polls, other aborts", FastPathMode::Disabled),
    ] {
        explore(name, Bound::Preemptions(4), move || {
            with_loop_in(mode, |event_loop, stage| {
                let mut join = aborted_by(1, &event_loop, stage);
                event_loop.run_until_idle().unwrap();
                assert!(matches!(ask(&mut join), Some(Err(JoinError::Aborted))));
            });
        });
    }
}

// spec: BX-1, BX-2, SH-5
#[test]
fn of_an_abort_a_wake_and_the_end_of_the_loop_by_others_one_decides() {
    explore("future: other aborts, wake", Bound::Preemptions(1), || {
        with_loop(|event_loop, stage| {
            let mut join = event_loop.cx().spawn_local(stage.waiting([1, 0], &[wake]));
            let abort = join.abort_handle();
            stage.start(move |_| abort.abort());
            event_loop.run_until_idle().unwrap();
            assert!(matches!(ask(&mut join), Some(Ok(_) | Err(JoinError::Aborted))));
        });
    });
    explore("future: other aborts, shutdown", Bound::Preemptions(2), || {
        with_loop(|event_loop, stage| {
            let mut join = aborted_by(1, &event_loop, stage);
            stage.start(|handle| drop(handle.shutdown(Deadline::NEVER)));
            event_loop.run().unwrap();
            let told = ask(&mut join);
            assert!(matches!(told, Some(Err(JoinError::Aborted | JoinError::Terminated))));
        });
    });
}

// spec: BX-1
#[test]
fn however_many_threads_abort_a_future_there_is_one_entry() {
    explore("future: 2 others abort, one entry", Bound::Preemptions(3), || {
        with_loop(|event_loop, stage| {
            let mut join = aborted_by(2, &event_loop, stage);
            stage.join();
            assert_eq!(stage.entries(), 1, "one for both");
            event_loop.turn(NOW).unwrap();
            assert!(matches!(ask(&mut join), Some(Err(JoinError::Aborted))));
        });
    });
}

fn is_terminated(reason: &Rejection) -> bool {
    matches!(reason.downcast_ref(), Some(Error::Terminated))
}

/// Another thread spawns a future, while the loop's does something that ends it.
fn spawned(name: &str, preemptions: usize, is_ready: bool, looper: fn(EventLoop, &Stage)) {
    explore(name, Bound::Preemptions(preemptions), move || {
        with_loop(move |event_loop, stage| {
            let (fate, place) = (Arc::clone(&stage.fate), Arc::clone(&stage.promise));
            let luggage = stage.fate.luggage();
            stage.start(move |handle| {
                let make = move |_: &Cx| {
                    let capture = fate.capture();
                    drop(luggage);
                    async move {
                        if !is_ready {
                            std::future::pending::<()>().await;
                        }
                        capture.touch();
                        5
                    }
                };
                let promise = handle.spawn(make);
                *place.lock().unwrap() = Some(promise);
            });
            looper(event_loop, stage);
        });
    });
}

/// The loop is dropped at some time.
fn just_drop(event_loop: EventLoop, _: &Stage) {
    drop(event_loop);
}

/// The loop is driven, and dropped at some time.
fn turn_and_drop(event_loop: EventLoop, _: &Stage) {
    event_loop.turn(NOW).unwrap();
}

/// A third thread shuts the loop down.
fn run_until_shutdown(event_loop: EventLoop, stage: &Stage) {
    event_loop.turn(NOW).unwrap();
    stage.start(|handle| drop(handle.shutdown(Deadline::NEVER)));
    event_loop.run().unwrap();
}

/// A third thread ends the loop, which was not driven.
fn closed_undriven(event_loop: EventLoop, stage: &Stage) {
    stage.start(Handle::close);
    drop(event_loop);
}

// spec: BX-1, BX-4, SH-5, PR-8
#[test]
fn a_future_that_another_thread_spawns_while_the_loop_ends_settles_its_promise() {
    spawned("future: spawn, drop the loop", 2, true, just_drop);
    spawned("future: spawn, drive, drop the loop", 2, true, turn_and_drop);
    spawned("future: spawn one that waits, drive, drop", 2, false, turn_and_drop);
    spawned("future: spawn, shutdown", 2, true, run_until_shutdown);
    spawned("future: spawn one that waits, shutdown", 1, false, run_until_shutdown);
    spawned("future: spawn, undriven, close", 1, true, closed_undriven);
}
