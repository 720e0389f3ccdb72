//! The least that does the job: two lists, each with a lock that is taken once for many jobs.

use std::mem;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use super::{Offload, Step, THREADS};

type Job = Box<dyn FnOnce() -> u64 + Send>;

/// How many jobs a thread takes at a time.
const BATCH: usize = 128;

#[derive(Default)]
struct Shared {
    jobs: Mutex<Jobs>,
    has_jobs: Condvar,
    results: Mutex<Results>,
    has_results: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    sleeping: usize,
    is_over: bool,
}

#[derive(Default)]
struct Results {
    values: Vec<u64>,
    is_awaited: bool,
}

pub struct FloorPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

fn work(shared: &Shared) {
    let mut batch = Vec::new();
    let mut values = Vec::new();
    loop {
        let mut jobs = shared.jobs.lock().unwrap();
        while jobs.waiting.is_empty() {
            if jobs.is_over {
                return;
            }
            jobs.sleeping += 1;
            jobs = shared.has_jobs.wait(jobs).unwrap();
            jobs.sleeping -= 1;
        }
        let rest = jobs.waiting.len().saturating_sub(BATCH);
        batch.extend(jobs.waiting.drain(rest..));
        drop(jobs);
        values.extend(batch.drain(..).map(|job| job()));
        let mut results = shared.results.lock().unwrap();
        results.values.append(&mut values);
        let is_awaited = mem::take(&mut results.is_awaited);
        drop(results);
        if is_awaited {
            shared.has_results.notify_one();
        }
    }
}

impl Offload for FloorPool {
    fn new() -> Self {
        let shared = Arc::<Shared>::default();
        let thread = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared))
        };
        Self { threads: (0..THREADS).map(thread).collect(), shared }
    }

    fn round_trips(&mut self, jobs: usize, in_flight: usize, step: Step) {
        let shared = &*self.shared;
        let next = || {
            let number = step.tally().next(jobs)?;
            Some(Box::new(move || step.job(number)) as Job)
        };
        let mut batch: Vec<_> = (0..in_flight).map_while(|_| next()).collect();
        let mut values = Vec::new();
        while step.tally().ended() < jobs {
            if !batch.is_empty() {
                let mut jobs = shared.jobs.lock().unwrap();
                jobs.waiting.append(&mut batch);
                let is_asleep = jobs.sleeping > 0;
                drop(jobs);
                if is_asleep {
                    shared.has_jobs.notify_one();
                }
            }
            let mut results = shared.results.lock().unwrap();
            while results.values.is_empty() {
                results.is_awaited = true;
                results = shared.has_results.wait(results).unwrap();
            }
            mem::swap(&mut results.values, &mut values);
            drop(results);
            for value in values.drain(..) {
                step.end(value);
                batch.extend(next());
            }
        }
    }
}

impl Drop for FloorPool {
    fn drop(&mut self) {
        self.shared.jobs.lock().unwrap().is_over = true;
        self.shared.has_jobs.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}
