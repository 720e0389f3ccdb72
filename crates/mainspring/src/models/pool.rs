//! The worker pool: who queues, who sleeps, who leaves, who ends it.
//!
//! Proved: a job that is queued while a worker falls asleep, or leaves because it was idle for too long, is
//! run; a job is run while another one waits for it, if the bound allows it, also through the worker that
//! watches; a job that meets the end of the pool is run or dropped or handed back, once; then all workers
//! are gone, and whoever waits for that is told.
//!
//! Time is modelled by its extremes: a keep-alive of zero is over whenever the worker looks, the greatest
//! one never ends. The period of a worker that watches is over whenever it looks.
//!
//! The main thread keeps the pool until all workers are gone (see the conventions).

use loom::thread;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::time::Duration;

use super::{Bound, explore};
use crate::pool::Pool;
use crate::sync::{Condvar, Mutex};

type Job = Box<dyn FnOnce() + Send>;

fn pool(max: usize, keep_alive: Duration) -> Arc<Pool<Job>> {
    Arc::new(Pool::new(max, keep_alive, Duration::ZERO))
}

/// Something that one thread waits for, as often as others do it. Loom reports a deadlock if they do not.
struct Event(Mutex<usize>, Condvar);

impl Event {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(0), Condvar::new()))
    }

    fn happen(&self) {
        *self.0.lock().unwrap() += 1;
        self.1.notify_all();
    }

    fn wait(&self, times: usize) {
        let mut happened = self.0.lock().unwrap();
        while *happened < times {
            happened = self.1.wait(happened).unwrap();
        }
    }
}

fn end(pool: &Pool<Job>) {
    assert_eq!(pool.shutdown(), 0, "nothing is left");
    assert_eq!(pool.wait(None), 0);
}

/// One job after another, each of them queued when the one before is run or has just been.
fn one_by_one(max: usize, keep_alive: Duration, jobs: usize) {
    let pool = pool(max, keep_alive);
    let event = Event::new();
    for n in 0..jobs {
        let happened = Arc::clone(&event);
        pool.execute(Box::new(move || happened.happen())).unwrap();
        event.wait(n + 1);
    }
    end(&pool);
}

/// All jobs at once.
fn at_once(max: usize, keep_alive: Duration, jobs: usize) {
    let pool = pool(max, keep_alive);
    let event = Event::new();
    for _ in 0..jobs {
        let happened = Arc::clone(&event);
        pool.execute(Box::new(move || happened.happen())).unwrap();
    }
    event.wait(jobs);
    end(&pool);
}

// spec: PF-4
#[test]
fn a_job_that_is_queued_while_a_worker_falls_asleep_is_run() {
    explore("pool: 1 worker falls asleep, 2 jobs", Bound::Preemptions(3), || {
        one_by_one(1, Duration::MAX, 2);
    });
    explore("pool: 1 worker, 2 jobs at once", Bound::Preemptions(2), || {
        at_once(1, Duration::MAX, 2);
    });
    explore("pool: 2 workers, 2 jobs at once", Bound::Preemptions(2), || {
        at_once(2, Duration::MAX, 2);
    });
}

// spec: PF-4
#[test]
fn a_job_that_is_queued_while_a_worker_leaves_is_run() {
    explore("pool: 1 worker leaves, 2 jobs", Bound::Preemptions(2), || {
        one_by_one(1, Duration::ZERO, 2);
    });
    explore("pool: 2 workers leave, 2 jobs", Bound::Preemptions(2), || {
        one_by_one(2, Duration::ZERO, 2);
    });
    explore("pool: 2 workers leave, 2 jobs at once", Bound::Preemptions(2), || {
        at_once(2, Duration::ZERO, 2);
    });
}

/// So many jobs, then one that waits for the next one.
fn dependent(before: usize) {
    let pool = pool(2, Duration::MAX);
    let (event, all) = (Event::new(), Event::new());
    for _ in 0..before {
        let all = Arc::clone(&all);
        pool.execute(Box::new(move || all.happen())).unwrap();
    }
    let (waits, done) = (Arc::clone(&event), Arc::clone(&all));
    pool.execute(Box::new(move || {
        waits.wait(1);
        done.happen();
    }))
    .unwrap();
    let happened = Arc::clone(&event);
    pool.execute(Box::new(move || happened.happen())).unwrap();
    all.wait(before + 1);
    end(&pool);
}

// spec: PF-4
#[test]
fn a_job_is_run_while_another_one_waits_for_it() {
    explore("pool: a job waits for another", Bound::Preemptions(2), || dependent(0));
    explore("pool: a job, one that waits, another", Bound::Preemptions(2), || dependent(1));
}

/// Tells what became of a job.
struct Track(Arc<Counter>);

impl Drop for Track {
    fn drop(&mut self) {
        self.0.fetch_add(1, Count);
    }
}

/// The pool is shut down while another thread queues a job; there is a worker already, or not.
fn ended(keep_alive: Duration, before: usize) {
    let pool = pool(1, keep_alive);
    let (ran, ended) = (Arc::new(Counter::new(0)), Arc::new(Counter::new(0)));
    let job = || -> Job {
        let (ran, track) = (Arc::clone(&ran), Track(Arc::clone(&ended)));
        Box::new(move || {
            ran.fetch_add(1, Count);
            drop(track);
        })
    };
    for _ in 0..before {
        pool.execute(job()).unwrap();
    }
    let (shared, late) = (Arc::clone(&pool), job());
    let producer = thread::spawn(move || usize::from(shared.execute(late).is_err()));
    let dropped = pool.shutdown();
    let refused = producer.join().unwrap();
    assert_eq!(pool.wait(None), 0);
    assert_eq!(ended.load(Count), before + 1, "each has one end");
    assert_eq!(ran.load(Count) + dropped + refused, before + 1);
    assert!(pool.execute(job()).is_err(), "closed for good");
}

// spec: PF-5, SD-4
#[test]
fn a_job_that_meets_the_end_of_the_pool_is_run_or_dropped_or_handed_back() {
    explore("pool: the end, no worker", Bound::Preemptions(3), || ended(Duration::MAX, 0));
    explore("pool: the end, a worker", Bound::Preemptions(2), || ended(Duration::MAX, 1));
    explore("pool: the end, a worker leaves", Bound::Preemptions(2), || ended(Duration::ZERO, 1));
}
