//! Functions on the worker pool: what becomes of one that is aborted, or meets the end of the loop.
//!
//! Proved: of an abort, a result and the end of the loop one decides, whether the function was started or not, and
//! the promise settles once, with the outcome of that one; a function is called at most once, and not after an abort
//! that came before; it, its value and the reason are dropped once; a loop is idle when all was handled, and not before.
//! A shutdown waits for what is under way, and is told when that ends, when something is queued meanwhile, and when
//! somebody loses patience. A call that races with the end is carried out or refused, and no worker stays.
//!
//! Bounded: one worker, one function by each of one or two threads. The main thread does nothing but join.

use loom::thread;
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::{Bound, explore};
use crate::{
    AbortController, AbortError, AbortSignal, Cx, Deadline, Error, EventLoop, Handle, LoopState,
    Promise, PromiseState, Rejection,
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

    /// Notes what a promise comes to.
    fn note(self: &Arc<Self>, promise: &Promise<Arc<Token>>) {
        let record = Arc::clone(self);
        drop(promise.handle(move |_, result| {
            let outcome = result.map_or_else(|reason| Outcome::of(&reason), |_| Outcome::Value);
            record.told.lock().unwrap().push(outcome);
            Ok::<(), Error>(())
        }));
    }

    /// What the handlers were told by now.
    fn told(&self) -> Vec<Outcome> {
        self.told.lock().unwrap().clone()
    }

    fn called(&self) -> usize {
        self.called.load(Count)
    }
}

/// With one worker, which sleeps until the loop ends.
fn build() -> EventLoop {
    EventLoop::builder().max_workers(1).worker_keep_alive(Duration::MAX).build().unwrap()
}

fn holds(handle: &Handle) -> usize {
    handle.0.holds.load(Count)
}

/// Runs a model on a thread of its own, and after it and all others have ended, checks that nothing is left.
fn with_record(model: impl FnOnce(&Arc<Record>) + Send + 'static) {
    let record = Arc::new(Record::default());
    let inner = Arc::clone(&record);
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        model(&inner);
        give.send(()).unwrap();
    })
    .join()
    .unwrap();
    take.try_recv().unwrap();
    drop(record);
}

/// The loop is driven until it is idle, while another thread aborts.
fn aborted_while_driven() {
    with_record(|record| {
        let event_loop = build();
        let handle = event_loop.handle();
        let controller = Arc::new(AbortController::new());
        let promise = handle.promisify(&controller.signal(), record.function());
        record.note(&promise);
        let theirs = Arc::clone(&controller);
        thread::spawn(move || theirs.abort());
        event_loop.run_until_idle().unwrap();
        assert_eq!(holds(&handle), 0);
        let told = record.told();
        match promise.state() {
            PromiseState::Fulfilled => {
                assert_eq!(told, [Outcome::Value]);
                assert_eq!(record.called(), 1);
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
    explore("promisify: abort, result", Bound::Preemptions(2), aborted_while_driven);
}
