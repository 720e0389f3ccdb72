//! What the maximum-safety profile costs, beside the default one, in one run.
// spec: SF-9

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use mainspring::{EventLoop, Handle, Profile};

/// How many tasks may wait.
const WINDOW: u64 = 1 << 10;

/// How many tasks are sent one by one, each when the one before has run.
const PINGS: usize = 5_000;

/// What the profile has to reach: tasks in a second, and the time until a task runs. Ten times that is what it aims at.
const THROUGHPUT: f64 = 100_000.0;
const LATENCY: Duration = Duration::from_micros(100);

const PROFILES: [Profile; 2] = [Profile::Performance, Profile::MaximumSafety];

fn event_loop(profile: Profile) -> EventLoop {
    EventLoop::builder().profile(profile).build().expect("a loop can be built")
}

/// Drives a loop while another thread does something with its handle, and gives what that gives.
fn beside<R: Send>(profile: Profile, f: impl FnOnce(&Handle) -> R + Send) -> R {
    let event_loop = event_loop(profile);
    let handle = event_loop.handle();
    thread::scope(|scope| {
        let other = scope.spawn(move || {
            let result = f(&handle);
            handle.close();
            result
        });
        event_loop.run().expect("it is closed by the other thread");
        other.join().expect("it does not panic")
    })
}

/// Tasks in a second, of one thread that submits as fast as the loop runs.
fn throughput(profile: Profile, tasks: u64) -> f64 {
    static DONE: AtomicU64 = AtomicU64::new(0);
    DONE.store(0, Ordering::Relaxed);
    let took = beside(profile, |handle| {
        let began = Instant::now();
        for number in 1..=tasks {
            handle.submit(move |_| DONE.store(number, Ordering::Relaxed)).expect("there is room");
            while number - DONE.load(Ordering::Relaxed) > WINDOW {
                std::hint::spin_loop();
            }
        }
        while DONE.load(Ordering::Relaxed) != tasks {
            std::hint::spin_loop();
        }
        began.elapsed()
    });
    tasks as f64 / took.as_secs_f64()
}

/// Tasks in a second, of the loop's own thread.
fn own(profile: Profile, tasks: u64) -> f64 {
    let event_loop = event_loop(profile);
    let mut left = tasks;
    let began = Instant::now();
    while left > 0 {
        for _ in 0..left.min(WINDOW) {
            event_loop.cx().submit(|_| ()).expect("there is room");
        }
        left -= left.min(WINDOW);
        event_loop.run_until_idle().expect("nothing ends it");
    }
    tasks as f64 / began.elapsed().as_secs_f64()
}

/// The time from a submit to the begin of the task, sorted.
fn latencies(profile: Profile) -> Vec<Duration> {
    beside(profile, |handle| {
        let (sender, receiver) = channel();
        let ping = |_| {
            let sender = sender.clone();
            let began = Instant::now();
            let task = move |_: &_| sender.send(began.elapsed()).expect("it is waited for");
            handle.submit(task).expect("there is room");
            receiver.recv().expect("it was sent")
        };
        let mut times: Vec<_> = (0..PINGS).map(ping).collect();
        times.sort_unstable();
        times
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn verdict(is_met: bool, is_exceeded: bool) -> &'static str {
    match (is_met, is_exceeded) {
        (true, true) => "met ten times",
        (true, false) => "met",
        (false, _) => "MISSED",
    }
}

/// Prints figures of both profiles, and whether the maximum-safety profile reaches what it has to.
pub fn run(tasks: u64, repetitions: usize) -> ExitCode {
    let mut sent = PROFILES.map(|_| Vec::new());
    let mut submitted = PROFILES.map(|_| Vec::new());
    let mut medians = PROFILES.map(|_| Vec::new());
    let mut tails = PROFILES.map(|_| Vec::new());
    for repetition in 0..repetitions {
        for (index, profile) in PROFILES.into_iter().enumerate() {
            sent[index].push(throughput(profile, tasks));
            submitted[index].push(own(profile, tasks));
            let times = latencies(profile);
            medians[index].push(times[PINGS / 2].as_secs_f64() * 1e6);
            tails[index].push(times[PINGS * 99 / 100].as_secs_f64() * 1e6);
        }
        eprintln!("repetition {} of {repetitions}", repetition + 1);
    }
    let [(plain_sent, sent), (plain_own, own)] =
        [sent, submitted].map(|[plain, safe]| (median(plain), median(safe)));
    let [(plain_median, at), (plain_tail, tail)] =
        [medians, tails].map(|[plain, safe]| (median(plain), median(safe)));
    let most = LATENCY.as_secs_f64() * 1e6;
    let of_tasks = |rate| verdict(rate >= THROUGHPUT, rate >= 10.0 * THROUGHPUT);
    let of_time = |time| verdict(time < most, time < most / 10.0);
    println!("{:<34} {:>12} {:>15}   ratio", "", "performance", "maximum safety");
    let row = |name, plain: f64, safe: f64, verdict: String| {
        println!("{name:<34} {plain:>12.0} {safe:>15.0}   {:.2}, {verdict}", plain / safe);
    };
    let aim = format!("aim {THROUGHPUT:.0}");
    row("tasks/s, another thread's", plain_sent, sent, format!("{aim}: {}", of_tasks(sent)));
    row("tasks/s, the loop's own", plain_own, own, format!("{aim}: {}", of_tasks(own)));
    let row = |name, plain: f64, safe: f64| {
        let ratio = safe / plain;
        let verdict = format!("{ratio:.2}, aim {most:.0}: {}", of_time(safe));
        println!("{name:<34} {plain:>12.1} {safe:>15.1}   {verdict}");
    };
    row("µs until a task runs, median", plain_median, at);
    row("µs until a task runs, p99", plain_tail, tail);
    ExitCode::SUCCESS
}
