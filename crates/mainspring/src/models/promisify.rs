//! Functions on the worker pool: what becomes of one that is aborted, or meets the end of the loop.
//!
//! Proved: of an abort, a result and the end of the loop one decides, whether the function was started or not, and
//! the promise settles once, with the outcome of that one; a function is called at most once, and not after an abort
//! that came before; it and its value are dropped once; a loop is idle when all was handled, and not before.
//! A shutdown waits for what is under way, and is told when that ends, when something is queued meanwhile, and when
//! somebody loses patience. A call that races with the end is carried out or refused, and no worker stays.
//!
//! Up to two preemptions with one other thread that waits, up to one otherwise. Bounded: one worker, two functions.

use loom::thread;
use std::cell::Cell;
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Bound, explore};
use crate::{
    AbortController, AbortError, AbortSignal, Error, EventLoop, LoopState, Promise, PromiseState,
    Rejection,
};

/// Something that one thread waits for. Loom reports a deadlock if nobody does it.
struct Event(crate::sync::Mutex<bool>, crate::sync::Condvar);

impl Event {
    fn new() -> Arc<Self> {
        Arc::new(Self(crate::sync::Mutex::new(false), crate::sync::Condvar::new()))
    }

    fn happen(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        let mut happened = self.0.lock().unwrap();
        while !*happened {
            happened = self.1.wait(happened).unwrap();
        }
    }
}

/// What happened in one execution.
#[derive(Default)]
struct Record {
    called: Counter,
    /// How many functions there are, if it is not one.
    most: Counter,
    /// Functions and values that are alive.
    alive: Counter,
    /// What the handlers were told.
    told: Mutex<Vec<Outcome>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Value,
    Aborted,
    Terminated,
}

impl Outcome {
    fn of(reason: &Rejection) -> Self {
        if reason.is::<AbortError>() {
            return Self::Aborted;
        }
        match reason.downcast_ref() {
            Some(Error::Terminated) => Self::Terminated,
            other => panic!("{other:?}"),
        }
    }
}

std::thread_local! {
    /// How many records there are. An execution has one real thread.
    static RECORDS: Cell<usize> = const { Cell::new(0) };
}

/// A value that is counted. There are no clones: it is behind an `Arc`.
struct Token(Arc<Record>);

impl Token {
    fn new(record: &Arc<Record>) -> Arc<Self> {
        record.alive.fetch_add(1, Count);
        Arc::new(Self(Arc::clone(record)))
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Count);
    }
}

impl Record {
    /// A function that is counted, as is its value.
    fn function(
        self: &Arc<Self>,
    ) -> impl FnOnce(&AbortSignal) -> Result<Arc<Token>, Error> + Send + use<> {
        let (captured, value) = (Token::new(self), Token::new(self));
        move |_| {
            captured.0.called.fetch_add(1, Count);
            Ok(value)
        }
    }

    /// Notes what a promise comes to. The event happens when the handler was run or dropped.
    fn note(self: &Arc<Self>, promise: &Promise<Arc<Token>>) -> Arc<Event> {
        struct Done(Arc<Event>);
        impl Drop for Done {
            fn drop(&mut self) {
                self.0.happen();
            }
        }
        let (record, event) = (Arc::clone(self), Event::new());
        let done = Done(Arc::clone(&event));
        drop(promise.handle(move |_, result| {
            let _done = done;
            let outcome = result.map_or_else(|reason| Outcome::of(&reason), |_| Outcome::Value);
            record.told.lock().unwrap().push(outcome);
            Ok::<(), Error>(())
        }));
        event
    }

    /// What the handlers were told by now.
    fn told(&self) -> Vec<Outcome> {
        self.told.lock().unwrap().clone()
    }

    fn called(&self) -> usize {
        self.called.load(Count)
    }
}

/// A loop with one worker, which sleeps until the loop ends.
fn build() -> EventLoop {
    EventLoop::builder().max_workers(1).worker_keep_alive(Duration::MAX).build().unwrap()
}

/// Runs a model on a thread of its own, with a loop that it drops itself. When all threads have ended, nothing is
/// left of what was counted.
///
/// A worker cannot be joined, and may be the last to have the loop; loom does not see the order of reference counts
/// of the standard library. So one reference is never given back.
fn with_loop(model: impl FnOnce(EventLoop, &Arc<Record>) + Send + 'static) {
    // All that was counted in the execution before has its record.
    RECORDS.with(|records| assert_eq!(records.replace(1), 0, "something is never dropped"));
    let record = Arc::new(Record::default());
    let inner = Arc::clone(&record);
    let thread = thread::spawn(move || {
        let event_loop = build();
        std::mem::forget(event_loop.handle());
        model(event_loop, &inner);
    });
    thread.join().unwrap();
}

/// Checks at the end of an execution, in whichever thread that is, that nothing is left.
impl Drop for Record {
    fn drop(&mut self) {
        RECORDS.with(|records| records.set(0));
        if !std::thread::panicking() {
            assert_eq!(self.alive.load(Count), 0, "all is dropped");
            assert!(self.called.load(Count) <= self.most.load(Count).max(1));
        }
    }
}

fn holds(event_loop: &EventLoop) -> usize {
    event_loop.handle().0.holds.load(Count)
}

/// The loop is driven until it is idle, while another thread aborts.
fn aborted_while_driven() {
    with_loop(|event_loop, record| {
        let controller = Arc::new(AbortController::new());
        let promise = event_loop.cx().promisify(&controller.signal(), record.function());
        record.note(&promise);
        let theirs = Arc::clone(&controller);
        thread::spawn(move || theirs.abort());
        event_loop.run_until_idle().unwrap();
        assert_eq!(holds(&event_loop), 0);
        let told = record.told();
        match promise.state() {
            PromiseState::Fulfilled => {
                assert_eq!((&*told, record.called()), (&[Outcome::Value][..], 1));
            }
            PromiseState::Rejected => assert_eq!(told, [Outcome::Aborted]),
            PromiseState::Pending => panic!("it is pending: {told:?}"),
        }
        drop(event_loop);
        assert_eq!(record.told(), told, "nothing is told twice");
    });
}

// spec: PF-3, PF-1
#[test]
fn of_an_abort_and_a_result_one_decides() {
    explore("promisify: abort, result", Bound::Preemptions(1), aborted_while_driven);
}

/// The signal is aborted while the call is made, by another thread. The function returns only after that.
fn called_while_aborted() {
    with_loop(|event_loop, record| {
        let controller = Arc::new(AbortController::new());
        let theirs = Arc::clone(&controller);
        thread::spawn(move || theirs.abort());
        let (event, f) = (Event::new(), record.function());
        let inner = Arc::clone(&event);
        let promise = event_loop.cx().promisify(&controller.signal(), move |signal| {
            inner.wait();
            f(signal)
        });
        record.note(&promise);
        event_loop.run_until_idle().unwrap();
        assert_eq!(holds(&event_loop), 0);
        assert_eq!(record.told(), [Outcome::Aborted]);
        event.happen();
    });
}

// spec: PF-3
#[test]
fn an_abort_during_the_call_is_not_lost() {
    explore("promisify: abort, call", Bound::Preemptions(1), called_while_aborted);
}

/// A function that waits for the abort, and returns only then.
fn aborted_while_blocked() {
    with_loop(|event_loop, record| {
        let controller = Arc::new(AbortController::new());
        let (event, f) = (Event::new(), record.function());
        let inner = Arc::clone(&event);
        let promise = event_loop.cx().promisify(&controller.signal(), move |signal| {
            inner.wait();
            assert!(signal.aborted());
            f(signal)
        });
        record.note(&promise);
        let theirs = Arc::clone(&controller);
        thread::spawn(move || theirs.abort());
        // The function is blocked, or was not started.
        event_loop.run_until_idle().unwrap();
        assert_eq!(holds(&event_loop), 0);
        assert_eq!(record.told(), [Outcome::Aborted]);
        event.happen();
        drop(event_loop);
        assert_eq!(record.told(), [Outcome::Aborted]);
    });
}

// spec: PF-3, F-24
#[test]
fn an_abort_does_not_wait_for_the_function() {
    explore("promisify: abort, blocked", Bound::Preemptions(1), aborted_while_blocked);
}

/// The loop ends while the function is on its way, and somebody may abort.
fn ended_meanwhile(is_driven: bool, is_aborted: bool) {
    with_loop(move |event_loop, record| {
        let controller = Arc::new(AbortController::new());
        if is_driven {
            event_loop.turn(Duration::ZERO).unwrap();
        }
        let promise = event_loop.cx().promisify(&controller.signal(), record.function());
        let done = record.note(&promise);
        if is_aborted {
            let theirs = Arc::clone(&controller);
            thread::spawn(move || theirs.abort());
        }
        if is_driven {
            event_loop.turn(Duration::ZERO).unwrap();
        }
        drop(event_loop);
        // A worker that decides at this moment has yet to do so.
        done.wait();
        match (promise.state(), &*record.told()) {
            (PromiseState::Fulfilled, [] | [Outcome::Value]) => assert_eq!(record.called(), 1),
            (PromiseState::Rejected, [] | [Outcome::Aborted]) => {}
            other => panic!("{other:?}"),
        }
    });
}

// spec: PF-5, F-28, SD-6
#[test]
fn of_the_end_of_the_loop_and_a_result_one_decides() {
    explore("promisify: end, result", Bound::Preemptions(1), || ended_meanwhile(true, false));
    explore("promisify: end undriven, result", Bound::Preemptions(1), || {
        ended_meanwhile(false, false);
    });
    explore("promisify: end, result, abort", Bound::Preemptions(1), || ended_meanwhile(true, true));
}

/// Another thread calls while the loop ends, which had a worker before or not.
fn called_while_ended(had_worker: bool, end: fn(EventLoop)) {
    with_loop(move |event_loop, record| {
        record.most.store(1 + usize::from(had_worker), Count);
        event_loop.turn(Duration::ZERO).unwrap();
        if had_worker {
            drop(event_loop.cx().promisify(&AbortSignal::never(), record.function()));
        }
        let (handle, f) = (event_loop.handle(), record.function());
        thread::spawn(move || {
            let promise = handle.promisify(&AbortSignal::never(), f);
            if handle.state() == LoopState::Terminated {
                return;
            }
            drop(promise);
        });
        end(event_loop);
    });
}

// spec: PF-5, SD-6, F-28
#[test]
fn a_call_that_races_with_the_end_leaves_no_worker() {
    explore("promisify: call, drop", Bound::Preemptions(1), || called_while_ended(false, drop));
    explore("promisify: call, drop, worker", Bound::Preemptions(1), || {
        called_while_ended(true, drop);
    });
    explore("promisify: call, shutdown", Bound::Preemptions(1), || {
        called_while_ended(false, |event_loop| shut_down(&event_loop));
    });
}

/// Shuts the loop down; somebody may have closed it already.
fn shut_down(event_loop: &EventLoop) {
    event_loop.cx().shutdown();
    event_loop.run().unwrap();
    assert_eq!(event_loop.state(), LoopState::Terminated);
}

// spec: PF-5, SD-1, F-33
#[test]
fn a_shutdown_waits_for_the_function() {
    explore("promisify: shutdown, result", Bound::Preemptions(2), || {
        with_loop(|event_loop, record| {
            event_loop.turn(Duration::ZERO).unwrap();
            let promise = event_loop.cx().promisify(&AbortSignal::never(), record.function());
            record.note(&promise);
            shut_down(&event_loop);
            assert_eq!(record.told(), [Outcome::Value]);
        });
    });
    explore("promisify: shutdown, 2 results", Bound::Preemptions(1), || {
        with_loop(|event_loop, record| {
            record.most.store(2, Count);
            event_loop.turn(Duration::ZERO).unwrap();
            for _ in 0..2 {
                let promise = event_loop.cx().promisify(&AbortSignal::never(), record.function());
                record.note(&promise);
            }
            shut_down(&event_loop);
            assert_eq!(record.told(), [Outcome::Value; 2]);
        });
    });
}

// spec: PF-5, F-26
#[test]
fn a_worker_that_a_shutdown_waits_for_can_ask_the_loop() {
    explore("promisify: shutdown, question", Bound::Preemptions(2), || {
        with_loop(|event_loop, record| {
            event_loop.turn(Duration::ZERO).unwrap();
            let (handle, f) = (event_loop.handle(), record.function());
            let promise = event_loop.cx().promisify(&AbortSignal::never(), move |signal| {
                let event = Event::new();
                let answer = Arc::clone(&event);
                handle.submit_internal(move |_| answer.happen()).unwrap();
                event.wait();
                f(signal)
            });
            record.note(&promise);
            shut_down(&event_loop);
            assert_eq!(record.told(), [Outcome::Value]);
        });
    });
}

// spec: PF-5, SD-4, F-27
#[test]
fn a_shutdown_that_waits_for_a_worker_can_be_ended() {
    explore("promisify: shutdown, close", Bound::Preemptions(2), || {
        with_loop(|event_loop, record| {
            event_loop.turn(Duration::ZERO).unwrap();
            let (event, f) = (Event::new(), record.function());
            let inner = Arc::clone(&event);
            let promise = event_loop.cx().promisify(&AbortSignal::never(), move |signal| {
                inner.wait();
                f(signal)
            });
            let handle = event_loop.handle();
            thread::spawn(move || handle.close());
            shut_down(&event_loop);
            assert_eq!(promise.state(), PromiseState::Rejected);
            event.happen();
        });
    });
}
