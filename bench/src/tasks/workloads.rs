//! What is measured. Each function runs in a process of its own.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::peers::{Chains, Here, Loop};
use super::tally::{Chain, Figures, PRODUCERS, Tally, Task};
use crate::measure::{CpuClock, percentile};
use crate::processors::{pin_to, two};

pub const PASSED: &str = "time that passes, ns per task";
pub const CPU: &str = "CPU time, all threads, ns per task";
pub const HERE: &str = "ns per task";
pub const LINK: &str = "ns per link";
pub const UNTIL: &str = "until it runs, median, µs";
pub const UNTIL_99: &str = "until it runs, 99th perc., µs";
pub const CALL: &str = "the call in the other thread, µs";
pub const ROUND_TRIP: &str = "µs per round trip";
pub const ROUND_TRIP_CPU: &str = "CPU time, both, µs per round trip";
pub const CREATE: &str = "µs per loop";
pub const CREATE_CPU: &str = "CPU time, µs per loop";
pub const DESCRIPTORS: &str = "descriptors left";

/// So long another thread waits before it posts to the loop, which sleeps by then.
const ASLEEP: Duration = Duration::from_micros(200);

/// Hands a figure to the process that compares them.
fn report(metric: &str, value: f64) {
    println!("{metric}\t{value}");
}

fn nanoseconds(all: Duration, count: usize) -> f64 {
    all.as_nanos() as f64 / count as f64
}

/// How often a workload is repeated before it is measured, for as many rounds.
fn warm_up(rounds: usize) -> usize {
    rounds.div_ceil(4)
}

/// `producers` other threads post as many tasks together, as fast as they can.
pub fn submit<L: Loop>(producers: usize, tasks: usize) {
    assert!(producers <= PRODUCERS);
    let each = tasks.div_ceil(producers);
    let tally = Tally::new();
    let barrier = Arc::new(Barrier::new(producers));
    let mut peer = L::new();
    let produce = |producer| {
        let (poster, barrier) = (peer.poster(), Arc::clone(&barrier));
        move || {
            for share in [warm_up(each), each] {
                // All are here, and then the clock runs.
                barrier.wait();
                if producer == 0 {
                    tally.begin(share * producers, CpuClock::start);
                }
                barrier.wait();
                for number in 0..share as u64 {
                    let task = Task::new(tally, producer, number);
                    L::post(&poster, move || task.run());
                }
                while !tally.is_done() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            if producer == 0 {
                L::stop(&poster);
            }
        }
    };
    let threads: Vec<_> = (0..producers).map(|number| thread::spawn(produce(number))).collect();
    peer.run();
    threads.into_iter().for_each(|thread| thread.join().expect("does not panic"));
    let Figures { passed, cpu } = tally.figures();
    report(PASSED, nanoseconds(passed, each * producers));
    report(CPU, nanoseconds(cpu, each * producers));
}

/// What the callbacks know that post to their own loop.
struct Batches {
    tally: &'static Tally,
    size: usize,
    before: usize,
    measured: usize,
}

impl Batches {
    /// Posts a batch, and a callback that does the same.
    fn post<H: Here>(&'static self, here: &H, round: usize) {
        if round == self.before + self.measured {
            return here.end();
        }
        let is_measured = round >= self.before;
        let (first, rounds) =
            if is_measured { (self.before, self.measured) } else { (0, self.before) };
        if round == first {
            self.tally.begin(rounds * self.size, CpuClock::of_thread);
        }
        for number in (round - first) * self.size..(round + 1 - first) * self.size {
            let task = Task::new(self.tally, 0, number as u64);
            here.post(move |_| task.run());
        }
        here.post(move |here| self.post(here, round + 1));
    }
}

/// A callback posts `size` tasks to its own loop, again and again.
pub fn here<H: Here>(size: usize, rounds: usize) {
    let tally = Tally::new();
    let batches = Batches { tally, size, before: warm_up(rounds), measured: rounds };
    let batches: &Batches = Box::leak(Box::new(batches));
    H::run(|here| batches.post(here, 0));
    report(HERE, nanoseconds(tally.figures().cpu, size * rounds));
}

/// A callback queues the next one, again and again.
pub fn chain<C: Chains>(links: usize) {
    let chain = Chain::new(links);
    C::run(chain.first(warm_up(links)));
    report(LINK, nanoseconds(chain.time(), links));
}

/// What a task and the thread that posts it share.
struct Bell {
    begin: Instant,
    /// How many tasks have run.
    heard: AtomicU64,
    /// How many nanoseconds after the call each of them began.
    late: Mutex<Vec<i64>>,
}

impl Bell {
    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    /// Posts when the loop has been without work for a while. Returns how many nanoseconds that call took.
    fn ring<L: Loop>(&'static self, poster: &L::Poster, number: u64) -> i64 {
        while self.heard.load(Ordering::Acquire) != number {
            thread::sleep(ASLEEP);
        }
        thread::sleep(ASLEEP);
        let begin = self.now();
        L::post(poster, move || self.hear(number, begin));
        (self.now() - begin) as i64
    }

    fn hear(&self, number: u64, begin: u64) {
        let late = self.now() - begin;
        assert_eq!(self.heard.load(Ordering::Relaxed), number, "each runs once, and in its order");
        self.late.lock().unwrap().push(late as i64);
        self.heard.store(number + 1, Ordering::Release);
    }
}

/// Another thread posts to a loop that sleeps, again and again. They are on as many processors.
pub fn wake_asleep<L: Loop>(processors: usize, rounds: usize) {
    let processor = two().map(|two| match processors {
        1 => [two.server, two.server],
        _ => [two.server, two.client],
    });
    let pin = |index: usize| processor.iter().for_each(|two| pin_to(&[two[index]]));
    // On one processor a loop is to know that it is the only one.
    if processors == 1 {
        pin(0);
    }
    let mut peer = L::new();
    pin(0);
    let late = Mutex::new(Vec::with_capacity(rounds + warm_up(rounds)));
    let bell: &Bell =
        Box::leak(Box::new(Bell { begin: Instant::now(), heard: AtomicU64::new(0), late }));
    let poster = peer.poster();
    let before = warm_up(rounds);
    let ringer = thread::spawn(move || {
        processor.iter().for_each(|two| pin_to(&[two[1]]));
        let all = 0..(before + rounds) as u64;
        let calls: Vec<_> = all.map(|number| bell.ring::<L>(&poster, number)).collect();
        L::stop(&poster);
        calls
    });
    peer.run();
    let mut calls = ringer.join().expect("does not panic").split_off(before);
    let mut late = bell.late.lock().unwrap().split_off(before);
    assert_eq!(late.len(), rounds, "each has run once");
    late.sort_unstable();
    calls.sort_unstable();
    report(UNTIL, percentile(&late, 0.5) / 1e3);
    report(UNTIL_99, percentile(&late, 0.99) / 1e3);
    report(CALL, percentile(&calls, 0.5) / 1e3);
}

/// What two loops share that post to each other.
struct Game<L: Loop> {
    players: [L::Poster; 2],
    /// From how many posts on it is measured.
    measured: u64,
    clocks: Mutex<Option<(Instant, CpuClock)>>,
    figures: Mutex<Option<Figures>>,
}

thread_local! {
    /// Which loop this thread runs.
    static PLAYER: Cell<usize> = const { Cell::new(usize::MAX) };
}

impl<L: Loop + 'static> Game<L> {
    /// Posted to player `me`. `left` more are to come.
    fn hit(&'static self, me: usize, left: u64) {
        assert_eq!(PLAYER.get(), me, "runs on the thread of its loop");
        if left == self.measured {
            *self.clocks.lock().unwrap() = Some((Instant::now(), CpuClock::start()));
        }
        let other = 1 - me;
        if left == 0 {
            let (passed, cpu) = self.clocks.lock().unwrap().take().expect("ends once");
            let figures = Figures { passed: passed.elapsed(), cpu: cpu.elapsed() };
            *self.figures.lock().unwrap() = Some(figures);
            L::stop(&self.players[other]);
            return L::stop(&self.players[me]);
        }
        L::post(&self.players[other], move || self.hit(other, left - 1));
    }
}

/// Two loops on two threads, and two processors, post to each other back to back.
pub fn hot<L: Loop + 'static>(rounds: usize) {
    let processors = two().map(|two| [two.server, two.client]);
    let (threads, posters): (Vec<_>, Vec<_>) = (0..2)
        .map(|me| {
            let (sender, receiver) = mpsc::channel();
            let thread = thread::spawn(move || {
                // Before it is pinned: it shall not take its processor for the only one.
                let mut peer = L::new();
                processors.iter().for_each(|two| pin_to(&[two[me]]));
                PLAYER.set(me);
                sender.send(peer.poster()).unwrap();
                peer.run();
            });
            (thread, receiver.recv().unwrap())
        })
        .unzip();
    let players = posters.try_into().ok().expect("there are two");
    let (clocks, figures) = Default::default();
    let measured = 2 * rounds as u64;
    let game: &Game<L> = Box::leak(Box::new(Game { players, measured, clocks, figures }));
    let all = measured + 2 * warm_up(rounds) as u64;
    L::post(&game.players[0], move || game.hit(0, all));
    threads.into_iter().for_each(|thread| thread.join().expect("does not panic"));
    let figures = game.figures.lock().unwrap().expect("it was played to the end");
    report(ROUND_TRIP, nanoseconds(figures.passed, rounds) / 1e3);
    report(ROUND_TRIP_CPU, nanoseconds(figures.cpu, rounds) / 1e3);
}

/// A loop waits for posts, of which there is none for so many milliseconds. Somebody counts from outside.
pub fn idle<L: Loop>(milliseconds: usize) {
    let mut peer = L::new();
    let poster = peer.poster();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(milliseconds as u64));
        L::stop(&poster);
    });
    peer.run();
    other.join().expect("does not panic");
}

/// A loop is made, runs a task, and is dropped.
pub fn create<L: Loop>(rounds: usize) {
    let tally = Tally::new();
    let create = |rounds: usize| {
        tally.begin(rounds, CpuClock::start);
        for number in 0..rounds as u64 {
            let mut peer = L::new();
            let poster = peer.poster();
            let task = Task::new(tally, 0, number);
            L::post(&poster, move || task.run());
            L::stop(&poster);
            peer.run();
        }
    };
    // What a process has once is there afterwards.
    create(warm_up(rounds));
    let before = descriptors();
    let (begin, cpu) = (Instant::now(), CpuClock::start());
    create(rounds);
    let (passed, cpu) = (begin.elapsed(), cpu.elapsed());
    report(CREATE, nanoseconds(passed, rounds) / 1e3);
    report(CREATE_CPU, nanoseconds(cpu, rounds) / 1e3);
    report(DESCRIPTORS, descriptors() as f64 - before as f64);
    tally.figures();
}

/// How many this process has.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}
