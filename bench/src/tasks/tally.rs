//! What posted tasks did, and how long it took. Only the loop's thread writes while they run: nothing is
//! locked for it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::measure::CpuClock;

/// How many threads post at the most.
pub const PRODUCERS: usize = 2;

/// What a posted closure captures, three words, and uses when it runs.
#[derive(Clone, Copy)]
pub struct Task {
    tally: &'static Tally,
    producer: usize,
    number: u64,
}

const _: () = assert!(size_of::<Task>() == 3 * size_of::<usize>());

impl Task {
    pub fn new(tally: &'static Tally, producer: usize, number: u64) -> Self {
        Self { tally, producer, number }
    }

    #[inline]
    pub fn run(self) {
        let next = &self.tally.next[self.producer];
        assert_eq!(next.load(Ordering::Relaxed), self.number, "each runs once, and in its order");
        next.store(self.number + 1, Ordering::Relaxed);
        let ran = self.tally.ran.load(Ordering::Relaxed) + 1;
        self.tally.ran.store(ran, Ordering::Relaxed);
        if ran == self.tally.expected.load(Ordering::Relaxed) {
            self.tally.end();
        }
    }
}

/// From before the first task is posted until the last one has run.
#[derive(Clone, Copy)]
pub struct Figures {
    pub passed: Duration,
    pub cpu: Duration,
}

#[derive(Default)]
pub struct Tally {
    expected: AtomicU64,
    ran: AtomicU64,
    /// The number of the next task of each producer.
    next: [AtomicU64; PRODUCERS],
    clocks: Mutex<Option<(Instant, CpuClock)>>,
    figures: Mutex<Option<Figures>>,
    is_done: AtomicBool,
}

impl Tally {
    pub fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    /// Nothing runs now, and as many tasks are posted after this, each producer's from 0.
    pub fn begin(&self, expected: usize, clock: fn() -> CpuClock) {
        assert!(self.clocks.lock().unwrap().is_none(), "what was begun has ended");
        self.is_done.store(false, Ordering::Relaxed);
        self.expected.store(expected as u64, Ordering::Relaxed);
        self.ran.store(0, Ordering::Relaxed);
        self.next.iter().for_each(|next| next.store(0, Ordering::Relaxed));
        *self.clocks.lock().unwrap() = Some((Instant::now(), clock()));
    }

    /// The last one has run.
    fn end(&self) {
        let (passed, cpu) = self.clocks.lock().unwrap().take().expect("was begun");
        let figures = Figures { passed: passed.elapsed(), cpu: cpu.elapsed() };
        *self.figures.lock().unwrap() = Some(figures);
        self.is_done.store(true, Ordering::Release);
    }

    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Of what was begun last, when the loop has been left: nothing ran afterwards.
    pub fn figures(&self) -> Figures {
        assert!(self.is_done(), "all have run");
        assert_eq!(
            self.ran.load(Ordering::Relaxed),
            self.expected.load(Ordering::Relaxed),
            "none has run twice"
        );
        self.figures.lock().unwrap().expect("it is done")
    }
}

/// What a link of a chain captures, two words: it queues the next one.
#[derive(Clone, Copy)]
pub struct Link {
    chain: &'static Chain,
    left: u64,
}

/// A chain of which the last part is measured.
pub struct Chain {
    measured: u64,
    clock: Mutex<Option<CpuClock>>,
    time: Mutex<Option<Duration>>,
}

impl Chain {
    pub fn new(measured: usize) -> &'static Self {
        let (clock, time) = Default::default();
        Box::leak(Box::new(Self { measured: measured as u64, clock, time }))
    }

    /// The first link of as many more than those that are measured.
    pub fn first(&'static self, warm_up: usize) -> Link {
        Link { chain: self, left: self.measured + warm_up as u64 }
    }

    /// The CPU time of the thread, from the first link that is measured until the last one has run.
    pub fn time(&self) -> Duration {
        self.time.lock().unwrap().expect("the last link has run")
    }
}

impl Link {
    /// A link runs. Returns the one to be queued, if it was not the last one.
    #[inline]
    pub fn next(self) -> Option<Self> {
        if self.left == self.chain.measured {
            *self.chain.clock.lock().unwrap() = Some(CpuClock::of_thread());
        }
        if self.left == 0 {
            let clock = self.chain.clock.lock().unwrap().take().expect("runs once");
            *self.chain.time.lock().unwrap() = Some(clock.elapsed());
            return None;
        }
        Some(Self { left: self.left - 1, ..self })
    }
}
