//! What a submit costs its producer, and what the task costs the loop, each while the other rests: so the figures do not
//! depend on how the system's scheduler lets both meet.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mainspring::{Cx, EventLoop};

use crate::pages::Pages;

/// Tasks in a round: fewer than the lane has room for without a lock, and than one tick may run.
const TASKS: u32 = 1000;

/// Ways to build the loop.
const WAYS: [&str; 4] = ["off", "metrics", "metrics, ten pages open", "metrics and stall detector"];

/// Beside which of them each is put, and by how much it may be slower.
const AIMS: [(usize, Option<f64>); 4] = [(0, None), (0, Some(0.05)), (1, Some(0.02)), (0, None)];

/// The way with pages of the inspector.
const PAGES: usize = 2;

fn event_loop(way: usize) -> EventLoop {
    let threshold = (way == 3).then_some(Duration::from_millis(50));
    let builder = EventLoop::builder().metrics(way > 0).stall_threshold(threshold);
    builder.build().expect("a loop can be built")
}

/// Rounds without a pause, so that the loop is as busy as it can be.
const BLOCK: u32 = 300;

/// The round that the loop has come to, and the one whose tasks are all submitted.
static REACHED: AtomicU32 = AtomicU32::new(0);
static SUBMITTED: AtomicU32 = AtomicU32::new(0);

fn await_round(round: u32, counter: &AtomicU32) {
    while counter.load(Ordering::Acquire) != round {
        std::hint::spin_loop();
    }
}

/// How long it takes to submit the tasks, on another thread, and how long to run them, in nanoseconds for each.
///
/// In each round the loop comes to a gate, which is a task that waits until the round's other tasks are there, and the next
/// gate behind them. So neither ever waits for the other while its own part is timed.
fn block(event_loop: &EventLoop) -> [f64; 2] {
    let handle = event_loop.handle();
    REACHED.store(0, Ordering::Relaxed);
    SUBMITTED.store(0, Ordering::Relaxed);
    let waited = Arc::new(AtomicU64::new(0));
    let gate = |round| {
        let waited = Arc::clone(&waited);
        move |_: &Cx| {
            let began = Instant::now();
            REACHED.store(round, Ordering::Release);
            await_round(round, &SUBMITTED);
            waited.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    };
    let mut submitting = Duration::ZERO;
    let mut running = Duration::ZERO;
    std::thread::scope(|scope| {
        handle.submit(gate(1)).expect("there is room");
        scope.spawn(|| {
            for round in 1..=BLOCK {
                await_round(round, &REACHED);
                let began = Instant::now();
                for number in 0..TASKS {
                    handle.submit(move |_| _ = black_box(number)).expect("there is room");
                }
                submitting += began.elapsed();
                if round < BLOCK {
                    handle.submit(gate(round + 1)).expect("there is room");
                }
                SUBMITTED.store(round, Ordering::Release);
            }
        });
        let began = Instant::now();
        event_loop.run_until_idle().expect("it ends by itself");
        running = began.elapsed() - Duration::from_nanos(waited.load(Ordering::Relaxed));
    });
    [submitting, running].map(|time| time.as_nanos() as f64 / f64::from(TASKS * BLOCK))
}

/// Prints the medians of so many blocks, taking turns, beside one another, and whether the aims were met.
pub fn run(blocks: usize) -> ExitCode {
    let loops = [0, 1, 2, 3].map(event_loop);
    let pages = Pages::of(&loops[PAGES].handle());
    let mut times = [const { [Vec::new(), Vec::new()] }; 4];
    for _ in 0..blocks {
        for (way, (event_loop, times)) in loops.iter().zip(&mut times).enumerate() {
            let taken =
                if way == PAGES { pages.during(|| block(event_loop)) } else { block(event_loop) };
            for (time, times) in taken.into_iter().zip(times) {
                times.push(time);
            }
        }
    }
    let medians = times.map(|times| {
        times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
    });
    println!(
        "{:<30} {:>10} {:>10} {:>10} {:>7}",
        "ns/task", "submitting", "running", "together", "ratio"
    );
    let sum = |[submitting, running]: [f64; 2]| submitting + running;
    for (way, median) in medians.into_iter().enumerate() {
        let (beside, aim) = AIMS[way];
        let [submitting, running] = median;
        let (both, ratio) = (sum(median), sum(median) / sum(medians[beside]));
        let verdict = aim.map_or(String::new(), |aim| {
            let verdict = if ratio <= 1.0 + aim { "met" } else { "MISSED" };
            format!(" to `{}`, aim {:.2}: {verdict}", WAYS[beside], 1.0 + aim)
        });
        let name = WAYS[way];
        println!(
            "{name:<30} {submitting:>10.2} {running:>10.2} {both:>10.2} {ratio:>7.3}{verdict}"
        );
    }
    ExitCode::SUCCESS
}
