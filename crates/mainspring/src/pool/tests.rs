use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::queue::{Gate, Queue};
use super::{Pool, Reason, Work};

type Job = Box<dyn FnOnce() + Send>;

/// So long that a test that needs it has failed.
const TOO_LONG: Duration = Duration::from_secs(60);

const SPIN: Duration = Duration::from_micros(50);

fn pool(max: usize) -> Pool<Job> {
    Pool::new(max, Duration::MAX, SPIN)
}

fn execute(pool: &Pool<Job>, job: impl FnOnce() + Send + 'static) {
    pool.execute(Box::new(job)).unwrap();
}

/// Waits for something that will come true by itself.
fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + TOO_LONG;
    while !is_true() {
        assert!(Instant::now() < end, "{what}");
        thread::yield_now();
    }
}

/// Keeps jobs running until it is opened.
#[derive(Clone, Default)]
struct Barrier(Arc<(Mutex<bool>, Condvar)>);

impl Barrier {
    fn wait(&self) {
        let (open, condvar) = &*self.0;
        let (open, _) =
            condvar.wait_timeout_while(open.lock().unwrap(), TOO_LONG, |open| !*open).unwrap();
        assert!(*open, "never opened");
    }

    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

/// Keeps so many workers busy, and returns when they are.
fn occupy(pool: &Pool<Job>, workers: usize) -> Barrier {
    let barrier = Barrier::default();
    let (send, receive) = mpsc::channel();
    for _ in 0..workers {
        let (barrier, send) = (barrier.clone(), send.clone());
        execute(pool, move || {
            send.send(()).unwrap();
            barrier.wait();
        });
    }
    for _ in 0..workers {
        receive.recv_timeout(TOO_LONG).expect("a job waits for others that block");
    }
    barrier
}

/// All that was queued has been run, and all workers sleep.
fn settle(pool: &Pool<Job>) {
    until("the workers sleep", || {
        pool.0.queue.is_empty() && pool.0.idle() == pool.0.threads() && pool.0.threads() > 0
    });
}

// spec: PF-4
#[test]
fn jobs_are_started_in_the_order_in_which_they_were_queued() {
    let pool = pool(1);
    let barrier = occupy(&pool, 1);
    let (send, receive) = mpsc::channel();
    for n in 0..1_000 {
        let send = send.clone();
        execute(&pool, move || send.send(n).unwrap());
    }
    barrier.open();
    for n in 0..1_000 {
        assert_eq!(receive.recv_timeout(TOO_LONG), Ok(n));
    }
}

// spec: PF-4
#[test]
fn whoever_takes_from_the_queue_gets_what_is_oldest_and_nobody_gets_it_twice() {
    const JOBS: usize = 20_000;
    let queue = Queue::new();
    assert_eq!(queue.push(0), Err((Gate::Unmanned, 0)));
    queue.man();
    let taken = thread::scope(|scope| {
        let takers = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut taken = Vec::new();
                while taken.last() != Some(&usize::MAX) {
                    match queue.take() {
                        Some(n) => taken.push(n),
                        None => thread::yield_now(),
                    }
                }
                taken.pop();
                assert!(taken.is_sorted(), "in order");
                taken
            })
        });
        for n in 0..JOBS {
            queue.push(n).unwrap();
        }
        queue.push(usize::MAX).unwrap();
        queue.push(usize::MAX).unwrap();
        takers.map(|taker| taker.join().unwrap())
    });
    let mut all = taken.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..JOBS));
}

// spec: PF-4
#[test]
fn the_last_worker_leaves_an_empty_queue_only() {
    let queue = Queue::new();
    queue.man();
    queue.push(1).unwrap();
    assert!(!queue.unman());
    assert_eq!(queue.take(), Some(1));
    assert!(queue.unman());
    assert_eq!(queue.push(2), Err((Gate::Unmanned, 2)));
    queue.man();
    queue.push(3).unwrap();
    assert!(queue.close().eq([3]));
    assert!(queue.is_empty());
    assert_eq!(queue.push(4), Err((Gate::Closed, 4)));
}

// spec: PF-4
#[test]
fn workers_come_with_demand_up_to_the_bound_and_not_beyond() {
    let pool = pool(4);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let barrier = Barrier::default();
    for _ in 0..40 {
        let (running, most, barrier) = (running.clone(), most.clone(), barrier.clone());
        execute(&pool, move || {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            barrier.wait();
            running.fetch_sub(1, Ordering::SeqCst);
        });
    }
    until("four run", || running.load(Ordering::SeqCst) == 4);
    assert_eq!(pool.0.threads(), 4);
    // Nor does a job that comes while all are busy bring one more.
    execute(&pool, || ());
    assert_eq!(pool.0.threads(), 4);
    barrier.open();
    settle(&pool);
    assert_eq!(most.load(Ordering::SeqCst), 4);
    assert_eq!(pool.0.threads(), 4);
}

// spec: PF-4
#[test]
fn a_pool_for_no_workers_has_one() {
    let pool = pool(0);
    occupy(&pool, 1).open();
    assert_eq!(pool.0.threads(), 1);
}

// spec: PF-4
#[test]
fn no_job_waits_for_one_that_blocks_whatever_was_queued_around_it() {
    let pool = pool(3);
    for round in 0..300 {
        let barrier = Barrier::default();
        for _ in 0..round {
            execute(&pool, || ());
        }
        for _ in 0..2 {
            let barrier = barrier.clone();
            execute(&pool, move || barrier.wait());
        }
        for _ in 0..round % 7 {
            execute(&pool, || ());
        }
        let (send, receive) = mpsc::channel();
        execute(&pool, move || {
            barrier.open();
            send.send(()).unwrap();
        });
        receive.recv_timeout(TOO_LONG).expect("the job that ends the wait of the others");
    }
}

// spec: PF-4
#[test]
fn a_worker_that_sleeps_is_used_again() {
    let pool = pool(8);
    let ids: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    for _ in 0..200 {
        let ids = ids.clone();
        execute(&pool, move || {
            ids.lock().unwrap().insert(format!("{:?}", thread::current().id()));
        });
        settle(&pool);
    }
    assert_eq!(ids.lock().unwrap().len(), 1);
    assert_eq!(pool.0.threads(), 1);
}

// spec: PF-4
#[test]
fn the_last_to_sleep_is_the_first_to_be_called() {
    let pool = pool(3);
    occupy(&pool, 3).open();
    settle(&pool);
    let (send, receive) = mpsc::channel::<ThreadId>();
    let mut last = None;
    for _ in 0..50 {
        let send = send.clone();
        execute(&pool, move || send.send(thread::current().id()).unwrap());
        let id = receive.recv_timeout(TOO_LONG).unwrap();
        settle(&pool);
        assert_eq!(*last.get_or_insert(id), id);
    }
}

#[cfg(target_os = "linux")]
mod threads {
    use super::*;

    /// Runs so many jobs side by side, and returns the threads in which they were.
    fn threads_of(pool: &Pool<Job>, workers: usize) -> Vec<i32> {
        let barrier = Arc::new(std::sync::Barrier::new(workers));
        let (send, receive) = mpsc::channel();
        for _ in 0..workers {
            let (barrier, send) = (barrier.clone(), send.clone());
            execute(pool, move || {
                barrier.wait();
                send.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            });
        }
        (0..workers).map(|_| receive.recv_timeout(TOO_LONG).unwrap()).collect()
    }

    fn until_gone(threads: &[i32]) {
        until("the threads are gone", || {
            threads
                .iter()
                .all(|id| !std::path::Path::new(&format!("/proc/self/task/{id}")).exists())
        });
    }

    // spec: PF-4
    #[test]
    fn workers_leave_when_they_had_nothing_to_do_for_a_while_and_others_come_when_needed() {
        let pool = Pool::new(8, Duration::from_millis(1), SPIN);
        for _ in 0..3 {
            let threads = threads_of(&pool, 5);
            until("all have left", || pool.0.threads() == 0);
            until_gone(&threads);
        }
    }

    // spec: SD-6
    #[test]
    fn dropping_a_pool_leaves_no_thread_behind() {
        let idle = pool(8);
        let threads = threads_of(&idle, 5);
        settle(&idle);
        let crew = Arc::downgrade(&idle.0);
        drop(idle);
        until_gone(&threads);
        assert!(crew.upgrade().is_none(), "nothing is left of it");
    }

    // spec: PF-5, F-27
    #[test]
    fn a_worker_that_is_stuck_outlives_its_pool_and_leaves_when_its_job_ends() {
        let stuck = pool(8);
        let (send, receive) = mpsc::channel();
        let barrier = Barrier::default();
        let hold = barrier.clone();
        execute(&stuck, move || {
            send.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            hold.wait();
        });
        let thread = receive.recv_timeout(TOO_LONG).unwrap();
        let crew = Arc::downgrade(&stuck.0);
        drop(stuck);
        assert!(crew.upgrade().is_some(), "the worker keeps what it needs");
        barrier.open();
        until_gone(&[thread]);
        assert!(crew.upgrade().is_none());
    }
}

#[test]
fn workers_have_a_name() {
    let pool = pool(1);
    let (send, receive) = mpsc::channel();
    execute(&pool, move || send.send(thread::current().name().map(str::to_owned)).unwrap());
    assert_eq!(receive.recv_timeout(TOO_LONG).unwrap().as_deref(), Some("mainspring-worker"));
}

// spec: PF-2, F-8
#[test]
fn a_job_that_panics_does_not_end_its_worker() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected by the test: the payload's destructor");
        }
    }
    let pool = pool(1);
    let (send, receive) = mpsc::channel();
    for n in 0..3 {
        let send = send.clone();
        execute(&pool, move || {
            send.send(thread::current().id()).unwrap();
            match n {
                0 => panic!("expected by the test"),
                1 => std::panic::panic_any(Bomb),
                _ => {}
            }
        });
    }
    let ids = [(); 3].map(|()| receive.recv_timeout(TOO_LONG).unwrap());
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    settle(&pool);
    pool.shutdown();
    assert_eq!(pool.wait(None), 0);
}

// spec: PF-5, F-27
#[test]
fn a_shutdown_waits_for_what_runs_until_its_deadline_and_not_longer() {
    let pool = pool(32);
    // Those who sleep are not taken for running while they leave.
    occupy(&pool, 32).open();
    settle(&pool);
    let barrier = occupy(&pool, 2);
    assert_eq!(pool.shutdown(), 0);
    assert_eq!(pool.wait(Some(Instant::now())), 2, "only looks");
    assert_eq!(pool.wait(Some(Instant::now() + Duration::from_millis(10))), 2);
    until("those who slept leave", || pool.0.threads() == 2);
    let opener = thread::spawn(move || barrier.open());
    assert_eq!(pool.wait(None), 0);
    assert_eq!(pool.0.threads(), 0);
    opener.join().unwrap();
}

// spec: PF-5, SD-4
#[test]
fn a_shutdown_drops_what_was_not_started_and_hands_back_what_comes_later() {
    struct Told(Arc<AtomicUsize>);
    impl Drop for Told {
        fn drop(&mut self) {
            if self.0.fetch_add(1, Ordering::Relaxed) == 1 {
                panic!("expected by the test: a destructor");
            }
        }
    }
    let pool = pool(1);
    let barrier = occupy(&pool, 1);
    let told = Arc::new(AtomicUsize::new(0));
    for _ in 0..5 {
        let told = Told(told.clone());
        execute(&pool, move || unreachable!("{:p}", &told));
    }
    assert_eq!(pool.shutdown(), 5);
    assert_eq!(told.load(Ordering::Relaxed), 5, "all of them, while the worker is busy");
    assert_eq!(pool.shutdown(), 0, "once");

    let (send, receive) = mpsc::channel();
    let refused = pool.execute(Box::new(move || send.send(7).unwrap())).unwrap_err();
    assert!(matches!(refused.reason, Reason::Closed));
    refused.job.run();
    assert_eq!(receive.try_recv(), Ok(7), "the very job");

    barrier.open();
    assert_eq!(pool.wait(None), 0);
}

// spec: PF-5
#[test]
fn a_pool_that_was_never_used_has_no_thread_and_ends_at_once() {
    let pool = pool(4);
    assert_eq!(pool.0.threads(), 0);
    assert_eq!(pool.shutdown(), 0);
    assert_eq!(pool.wait(None), 0);
    let refused = pool.execute(Box::new(|| ())).unwrap_err();
    assert!(matches!(refused.reason, Reason::Closed));
}

// spec: PF-2, F-8
#[test]
fn a_job_is_handed_back_if_there_is_no_worker_and_none_can_be_started() {
    let pool = pool(4);
    pool.0.refuses_threads.store(true, Ordering::Relaxed);
    let (send, receive) = mpsc::channel();
    let refused = pool.execute(Box::new(move || send.send(7).unwrap())).unwrap_err();
    assert!(matches!(refused.reason, Reason::NoThread(_)));
    assert!(pool.0.queue.is_empty());
    pool.0.refuses_threads.store(false, Ordering::Relaxed);
    pool.execute(refused.job).unwrap();
    assert_eq!(receive.recv_timeout(TOO_LONG), Ok(7));
}

// spec: PF-4
#[test]
fn a_job_waits_for_the_workers_that_there_are_if_no_more_can_be_started() {
    let pool = pool(4);
    let barrier = occupy(&pool, 1);
    pool.0.refuses_threads.store(true, Ordering::Relaxed);
    let (send, receive) = mpsc::channel();
    execute(&pool, move || send.send(7).unwrap());
    assert!(receive.try_recv().is_err());
    barrier.open();
    assert_eq!(receive.recv_timeout(TOO_LONG), Ok(7));
    assert_eq!(pool.0.threads(), 1);
}

// spec: PF-4, PF-5
#[test]
fn each_job_is_run_or_dropped_or_handed_back_while_workers_leave_at_once() {
    const JOBS: usize = 500;
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for round in 0..20 {
        let pool = Pool::new(3, Duration::ZERO, if round % 2 == 0 { SPIN } else { Duration::ZERO });
        let (ran, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (dropped, refused) = thread::scope(|scope| {
            let producers = [(); 2].map(|()| {
                scope.spawn(|| {
                    let mut refused = 0;
                    for n in 0..JOBS {
                        let (ran, counted) = (ran.clone(), Counted(ended.clone()));
                        let job: Job = Box::new(move || {
                            ran.fetch_add(1, Ordering::Relaxed);
                            drop(counted);
                        });
                        refused += usize::from(pool.execute(job).is_err());
                        if n % 16 == 0 {
                            thread::yield_now();
                        }
                    }
                    refused
                })
            });
            // Every other round is not interrupted, and nothing is dropped there.
            let mut dropped = 0;
            if round % 4 < 2 {
                until("half of them", || ran.load(Ordering::Relaxed) >= JOBS);
                dropped = pool.shutdown();
            }
            (dropped, producers.map(|producer| producer.join().unwrap()).iter().sum::<usize>())
        });
        if round % 4 >= 2 {
            until("all of them", || ran.load(Ordering::Relaxed) == 2 * JOBS);
            pool.shutdown();
        }
        assert_eq!(pool.wait(None), 0);
        assert_eq!(ended.load(Ordering::Relaxed), 2 * JOBS, "each once");
        assert_eq!(ran.load(Ordering::Relaxed) + dropped + refused, 2 * JOBS);
    }
}
