//! What a submit costs its producer, and what the task costs the loop, each while the other rests: so the figures do not
//! depend on how the system's scheduler lets both meet.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mainspring::EventLoop;

/// Tasks in a round: fewer than the lane has room for without a lock, and than one tick may run.
const TASKS: u32 = 1000;

/// Ways to build the loop.
const WAYS: [&str; 3] = ["off", "metrics", "metrics and stall detector"];

fn event_loop(way: usize) -> EventLoop {
    let threshold = (way == 2).then_some(Duration::from_millis(50));
    let builder = EventLoop::builder().metrics(way > 0).stall_threshold(threshold);
    builder.build().expect("a loop can be built")
}

/// Rounds without a pause, so that the loop is as busy as it can be.
const BLOCK: u32 = 100;

/// How long it takes to submit the tasks, on another thread, and how long to run them, in nanoseconds for each.
fn block(event_loop: &EventLoop) -> [f64; 2] {
    let handle = &event_loop.handle();
    // Whose turn it is: the producer's if it is even.
    let turn = &AtomicU32::new(0);
    let await_turn = |of: u32| {
        while turn.load(Ordering::Acquire) != of {
            std::hint::spin_loop();
        }
    };
    let mut times = [Duration::ZERO; 2];
    let [submitting, running] = &mut times;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0..BLOCK {
                await_turn(2 * round);
                let began = Instant::now();
                for number in 0..TASKS {
                    handle.submit(move |_| _ = black_box(number)).expect("there is room");
                }
                *submitting += began.elapsed();
                turn.store(2 * round + 1, Ordering::Release);
            }
        });
        for round in 0..BLOCK {
            await_turn(2 * round + 1);
            let began = Instant::now();
            let ran = event_loop.turn(Duration::ZERO).expect("it goes on");
            *running += began.elapsed();
            assert_eq!(ran.callbacks, u64::from(TASKS), "all at once");
            turn.store(2 * round + 2, Ordering::Release);
        }
    });
    times.map(|time| time.as_nanos() as f64 / f64::from(TASKS * BLOCK))
}

/// Prints the medians of so many blocks, taking turns.
pub fn run(blocks: usize) -> ExitCode {
    let loops = [0, 1, 2].map(event_loop);
    let mut times = [const { [Vec::new(), Vec::new()] }; 3];
    for _ in 0..blocks {
        for (event_loop, times) in loops.iter().zip(&mut times) {
            for (time, times) in block(event_loop).into_iter().zip(times) {
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
    for (name, median) in WAYS.into_iter().zip(medians) {
        let [submitting, running] = median;
        let (both, ratio) = (sum(median), sum(median) / sum(medians[0]));
        println!("{name:<30} {submitting:>10.2} {running:>10.2} {both:>10.2} {ratio:>7.3}");
    }
    ExitCode::SUCCESS
}
