//! The loop beside the least code with raw primitives that does the same job.
//!
//! `cargo bench -p mainspring` runs all of it; `cargo bench -p mainspring -- submit` a part. Each group
//! has one row for the loop and one or more rows called `floor/…`; compare the rows of one run only.

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::hint::{black_box, spin_loop};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group};
use mainspring::{Cx, EventLoop, Handle, LoopState};

/// Counts on the consumer's thread, visible to others, without an atomic read-modify-write.
#[derive(Default)]
struct Count(AtomicU64);

impl Count {
    fn bump(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Runs `producers` threads that post `total` tasks in all; times from the start to the last task run.
fn posting(
    producers: u64,
    total: u64,
    post: impl Fn(u64) + Send + Sync + Clone + 'static,
    consume: impl FnOnce(),
) -> Duration {
    let start = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..producers)
        .map(|n| {
            let share = total / producers + u64::from(n < total % producers);
            let post = post.clone();
            let start = Arc::clone(&start);
            thread::spawn(move || {
                while !start.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                post(share);
            })
        })
        .collect();
    let begin = Instant::now();
    start.store(true, Ordering::Release);
    consume();
    let elapsed = begin.elapsed();
    for thread in threads {
        thread.join().unwrap();
    }
    elapsed
}

fn submit(criterion: &mut Criterion) {
    for producers in [1, 2] {
        let mut group = criterion.benchmark_group(format!("submit, {producers} producer(s)"));
        group.throughput(Throughput::Elements(1));
        group.bench_function("mainspring", |bencher| {
            bencher.iter_custom(|total| {
                let event_loop = EventLoop::builder().high_water_mark(usize::MAX).build().unwrap();
                let count = Arc::new(Count::default());
                let handle = event_loop.handle();
                let counter = Arc::clone(&count);
                let post = move |share| {
                    for _ in 0..share {
                        let counter = unsafe_share(&counter);
                        handle.submit(move |_| counter.bump()).unwrap();
                    }
                };
                posting(producers, total, post, || {
                    while count.get() < total {
                        event_loop.turn(None).unwrap();
                    }
                })
            });
        });
        group.bench_function("floor/locked vec of boxes", |bencher| {
            bencher.iter_custom(|total| {
                type Tasks = Vec<Box<dyn FnOnce() + Send>>;
                let queue: Arc<Mutex<Tasks>> = Arc::default();
                let count = Arc::new(Count::default());
                let counter = Arc::clone(&count);
                let shared = Arc::clone(&queue);
                let post = move |share| {
                    for _ in 0..share {
                        let counter = unsafe_share(&counter);
                        shared.lock().unwrap().push(Box::new(move || counter.bump()));
                    }
                };
                posting(producers, total, post, || {
                    let mut taken: Tasks = Vec::new();
                    while count.get() < total {
                        std::mem::swap(&mut *queue.lock().unwrap(), &mut taken);
                        if taken.is_empty() {
                            thread::yield_now();
                        }
                        for task in taken.drain(..) {
                            task();
                        }
                    }
                })
            });
        });
        group.bench_function("floor/locked vec of inline closures", |bencher| {
            bencher.iter_custom(|total| {
                /// As large as the loop's own task.
                struct Inline([usize; 6], fn(&[usize; 6]));
                let queue: Arc<Mutex<Vec<Inline>>> = Arc::default();
                let count = Arc::new(Count::default());
                let counter = Arc::clone(&count);
                let shared = Arc::clone(&queue);
                let post = move |share| {
                    for _ in 0..share {
                        let mut data = [0; 6];
                        data[0] = std::ptr::from_ref(unsafe_share(&counter)).expose_provenance();
                        shared.lock().unwrap().push(Inline(data, |data| {
                            // SAFETY: the counter is alive, see `unsafe_share`.
                            unsafe { &*std::ptr::with_exposed_provenance::<Count>(data[0]) }.bump();
                        }));
                    }
                };
                posting(producers, total, post, || {
                    let mut taken: Vec<Inline> = Vec::new();
                    while count.get() < total {
                        std::mem::swap(&mut *queue.lock().unwrap(), &mut taken);
                        if taken.is_empty() {
                            thread::yield_now();
                        }
                        for task in taken.drain(..) {
                            (task.1)(&task.0);
                        }
                    }
                })
            });
        });
        group.finish();
    }
}

/// A pointer to the counter, as small and as cheap to copy as what a closure usually captures. It stays
/// valid, because the benchmark holds the counter until all tasks have run.
fn unsafe_share(count: &Arc<Count>) -> &'static Count {
    // SAFETY: see above.
    unsafe { &*Arc::as_ptr(count) }
}

fn local_submit(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("local submit");
    group.throughput(Throughput::Elements(1));
    const BATCH: u64 = 512;
    group.bench_function("mainspring", |bencher| {
        let event_loop = EventLoop::new().unwrap();
        let count = Rc::new(Cell::new(0_u64));
        bencher.iter_custom(|total| {
            count.set(0);
            let begin = Instant::now();
            while count.get() < total {
                for _ in 0..BATCH.min(total - count.get()) {
                    let count = Rc::clone(&count);
                    event_loop.cx().submit(move |_| count.set(count.get() + 1)).unwrap();
                }
                event_loop.turn(Duration::ZERO).unwrap();
            }
            begin.elapsed()
        });
    });
    group.bench_function("floor/deque of boxes", |bencher| {
        let mut queue: VecDeque<Box<dyn FnOnce()>> = VecDeque::new();
        let count = Rc::new(Cell::new(0_u64));
        bencher.iter_custom(|total| {
            count.set(0);
            let begin = Instant::now();
            while count.get() < total {
                for _ in 0..BATCH.min(total - count.get()) {
                    let count = Rc::clone(&count);
                    queue.push_back(Box::new(move || count.set(count.get() + 1)));
                }
                while let Some(task) = queue.pop_front() {
                    task();
                }
            }
            begin.elapsed()
        });
    });
    group.finish();
}

/// A chain in which every link queues the next one.
fn chain(cx: &Cx, left: u64, queue: fn(&Cx, u64)) {
    if left > 0 {
        queue(cx, left - 1);
    }
}

fn chains(criterion: &mut Criterion) {
    fn microtask(cx: &Cx, left: u64) {
        cx.queue_microtask(move |cx| chain(cx, left, microtask));
    }
    fn next_tick(cx: &Cx, left: u64) {
        cx.next_tick(move |cx| chain(cx, left, next_tick));
    }
    type Link = (&'static str, fn(&Cx, u64));
    let links: [Link; 2] = [("microtask chain", microtask), ("next_tick chain", next_tick)];
    for (name, link) in links {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(1));
        group.bench_function("mainspring", |bencher| {
            let event_loop = EventLoop::builder().microtask_budget(None).build().unwrap();
            bencher.iter_custom(|total| {
                let begin = Instant::now();
                link(event_loop.cx(), total);
                event_loop.turn(Duration::ZERO).unwrap();
                begin.elapsed()
            });
        });
        group.bench_function("floor/deque of boxes", |bencher| {
            type Queue = UnsafeCell<VecDeque<Box<dyn FnOnce(&Local)>>>;
            struct Local(Queue);
            fn link(local: &Local, left: u64) {
                // SAFETY: one thread, and the reference ends before any task runs.
                unsafe { &mut *local.0.get() }.push_back(Box::new(move |local| {
                    if left > 0 {
                        link(local, left - 1);
                    }
                }));
            }
            let local = Local(UnsafeCell::default());
            bencher.iter_custom(|total| {
                let begin = Instant::now();
                link(&local, total);
                // SAFETY: as above.
                while let Some(task) = unsafe { &mut *local.0.get() }.pop_front() {
                    task(&local);
                }
                begin.elapsed()
            });
        });
        group.finish();
    }
}

/// A loop on a thread of its own.
struct Partner {
    handle: Handle,
    thread: Option<thread::JoinHandle<()>>,
}

impl Partner {
    fn new(cores: Cores) -> Self {
        let (send, receive) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            cores.pin_partner();
            let event_loop = EventLoop::new().unwrap();
            send.send(event_loop.handle()).unwrap();
            event_loop.run().unwrap();
        });
        Self { handle: receive.recv().unwrap(), thread: Some(thread) }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.handle.close();
        self.thread.take().unwrap().join().unwrap();
    }
}

#[derive(Clone, Copy)]
enum Cores {
    One,
    Two,
}

impl Cores {
    fn pin(core: usize) {
        let mut set = rustix::thread::CpuSet::new();
        set.set(core);
        // On a machine with one core, the second one is the same.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }

    fn pin_pinger(self) {
        Self::pin(0);
    }

    fn pin_partner(self) {
        match self {
            Self::One => Self::pin(0),
            Self::Two => Self::pin(1),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::One => "one core",
            Self::Two => "two cores",
        }
    }

    fn unpin() {
        let mut set = rustix::thread::CpuSet::new();
        for core in 0..thread::available_parallelism().map_or(2, |n| n.get().max(2)) {
            set.set(core);
        }
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

/// A word to wait for with a futex.
#[derive(Default)]
struct Flag(AtomicU32);

impl Flag {
    fn wait(&self) {
        while self.0.load(Ordering::Acquire) == 0 {
            let _ = rustix::thread::futex::wait(
                &self.0,
                rustix::thread::futex::Flags::PRIVATE,
                0,
                None,
            );
        }
        self.0.store(0, Ordering::Relaxed);
    }

    fn set(&self) {
        self.0.store(1, Ordering::Release);
        let _ = rustix::thread::futex::wake(&self.0, rustix::thread::futex::Flags::PRIVATE, 1);
    }
}

/// From the ping to a partner that sleeps until its answer has woken the pinger, who sleeps, too.
fn ping_pong_sleeping(criterion: &mut Criterion) {
    for cores in [Cores::One, Cores::Two] {
        let name = format!("ping-pong with a sleeping loop, {}", cores.name());
        let mut group = criterion.benchmark_group(name);
        cores.pin_pinger();
        group.bench_function("mainspring", |bencher| {
            let partner = Partner::new(cores);
            let pong: &'static Flag = Box::leak(Box::default());
            bencher.iter_custom(|rounds| {
                let mut elapsed = Duration::ZERO;
                for _ in 0..rounds {
                    while partner.handle.state() != LoopState::Sleeping {
                        thread::yield_now();
                    }
                    let begin = Instant::now();
                    partner.handle.submit(|_| pong.set()).unwrap();
                    pong.wait();
                    elapsed += begin.elapsed();
                }
                elapsed
            });
        });
        group.bench_function("floor/futex", |bencher| {
            let ping: &'static Flag = Box::leak(Box::default());
            let pong: &'static Flag = Box::leak(Box::default());
            let asleep: &'static AtomicBool = Box::leak(Box::default());
            let stop: &'static AtomicBool = Box::leak(Box::default());
            let partner = thread::spawn(move || {
                cores.pin_partner();
                while !stop.load(Ordering::Acquire) {
                    asleep.store(true, Ordering::Release);
                    ping.wait();
                    asleep.store(false, Ordering::Release);
                    pong.set();
                }
            });
            bencher.iter_custom(|rounds| {
                let mut elapsed = Duration::ZERO;
                for _ in 0..rounds {
                    while !asleep.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    let begin = Instant::now();
                    ping.set();
                    pong.wait();
                    elapsed += begin.elapsed();
                }
                elapsed
            });
            stop.store(true, Ordering::Release);
            ping.set();
            partner.join().unwrap();
        });
        group.finish();
        Cores::unpin();
    }
}

/// Between two cores, the pinger looking for the answer all the time: back to back, and with a pause
/// before each ping in which a partner that does not look for work goes to sleep.
fn ping_pong_hot(criterion: &mut Criterion) {
    for pause in [Duration::ZERO, Duration::from_micros(5)] {
        let name = format!("ping-pong with a hot loop, {pause:?} apart");
        let mut group = criterion.benchmark_group(name);
        Cores::Two.pin_pinger();
        group.bench_function("mainspring", |bencher| {
            let partner = Partner::new(Cores::Two);
            let count: &'static Count = Box::leak(Box::default());
            bencher.iter_custom(|rounds| {
                pings(rounds, pause, || {
                    let expected = count.get() + 1;
                    partner.handle.submit(|_| count.bump()).unwrap();
                    while count.get() != expected {
                        spin_loop();
                    }
                })
            });
        });
        group.bench_function("floor/spinning atomics", |bencher| {
            let ping: &'static AtomicU64 = Box::leak(Box::default());
            let pong: &'static AtomicU64 = Box::leak(Box::default());
            let partner = thread::spawn(move || {
                Cores::Two.pin_partner();
                let mut seen = 0;
                while seen != u64::MAX {
                    let now = ping.load(Ordering::Acquire);
                    if now == seen {
                        spin_loop();
                    } else {
                        seen = now;
                        pong.store(black_box(seen), Ordering::Release);
                    }
                }
            });
            let mut round = 0;
            bencher.iter_custom(|rounds| {
                pings(rounds, pause, || {
                    round += 1;
                    ping.store(round, Ordering::Release);
                    while pong.load(Ordering::Acquire) != round {
                        spin_loop();
                    }
                })
            });
            ping.store(u64::MAX, Ordering::Release);
            partner.join().unwrap();
        });
        group.finish();
        Cores::unpin();
    }
}

/// Times `ping`, without the pauses before it.
fn pings(rounds: u64, pause: Duration, mut ping: impl FnMut()) -> Duration {
    let mut elapsed = Duration::ZERO;
    for _ in 0..rounds {
        let waiting = Instant::now();
        while waiting.elapsed() < pause {
            spin_loop();
        }
        let begin = Instant::now();
        ping();
        elapsed += begin.elapsed();
    }
    elapsed
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30);
    targets = submit, local_submit, chains, ping_pong_sleeping, ping_pong_hot
}

fn main() {
    // The first loop of a process finds out how many processors there are: before threads are bound.
    drop(EventLoop::new());
    benches();
    Criterion::default().configure_from_args().final_summary();
    if !std::env::args().any(|argument| argument == "--test") {
        compare();
    }
}

/// Prints each group's medians, and how they relate to the floors, from what criterion has stored.
fn compare() {
    let Some(root) = std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.ancestors().nth(3)?.join("criterion")))
    else {
        return;
    };
    let median = |path: &std::path::Path| -> Option<f64> {
        let text = std::fs::read_to_string(path.join("new/estimates.json")).ok()?;
        let median = text.split_once("\"median\"")?.1;
        let estimate = median.split_once("\"point_estimate\":")?.1;
        estimate.split([',', '}']).next()?.trim().parse().ok()
    };
    println!("\n{:<46} {:>14} {:>14}  of the floor", "", "mainspring", "floor");
    let mut groups: Vec<_> = std::fs::read_dir(root).into_iter().flatten().flatten().collect();
    groups.sort_by_key(std::fs::DirEntry::file_name);
    for group in groups {
        let Some(ours) = median(&group.path().join("mainspring")) else { continue };
        let mut floors: Vec<_> =
            std::fs::read_dir(group.path()).into_iter().flatten().flatten().collect();
        floors.sort_by_key(std::fs::DirEntry::file_name);
        for floor in floors {
            let name = floor.file_name().to_string_lossy().into_owned();
            if let (Some(name), Some(floor)) = (name.strip_prefix("floor_"), median(&floor.path()))
            {
                let group = group.file_name().to_string_lossy().into_owned();
                println!(
                    "{group:<46} {ours:>11.1} ns {floor:>11.1} ns  {:>5.2}  {name}",
                    ours / floor
                );
            }
        }
    }
}
