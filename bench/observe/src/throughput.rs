//! Submit throughput of a loop that is observed in several ways, beside one that is not, in one run.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mainspring::{EventLoop, Handle};

use crate::pages::Pages;

/// How many tasks may wait: fewer than the lane has room for without a lock.
const WINDOW: u64 = 1 << 10;

/// The number of the task that was run last.
static DONE: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Off,
    Metrics,
    Read,
    Stalls,
    Page,
}

impl Way {
    const ALL: [Self; 5] = [Self::Off, Self::Metrics, Self::Read, Self::Stalls, Self::Page];

    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Metrics => "metrics",
            Self::Read => "metrics, read 10,000 times a second",
            Self::Stalls => "metrics and stall detector",
            Self::Page => "metrics, ten pages of the inspector open",
        }
    }

    /// Beside what it is put, and how much slower it may be, if that was ever said.
    fn aim(self) -> (Self, Option<f64>) {
        match self {
            Self::Off | Self::Stalls => (Self::Off, None),
            Self::Metrics => (Self::Off, Some(0.05)),
            Self::Read => (Self::Metrics, None),
            Self::Page => (Self::Metrics, Some(0.02)),
        }
    }

    fn event_loop(self) -> EventLoop {
        let builder = EventLoop::builder().metrics(self != Self::Off);
        let threshold = (self == Self::Stalls).then_some(Duration::from_millis(50));
        builder.stall_threshold(threshold).build().expect("a loop can be built")
    }
}

/// Submits so many tasks, and waits until they have run.
fn submit(handle: &Handle, tasks: u64) -> Duration {
    let began = Instant::now();
    for number in 1..=tasks {
        handle.submit(move |_| DONE.store(number, Ordering::Relaxed)).expect("there is room");
        while number % 64 == 0 && number - DONE.load(Ordering::Relaxed) > WINDOW {
            std::hint::spin_loop();
        }
    }
    while DONE.load(Ordering::Relaxed) != tasks {
        std::hint::spin_loop();
    }
    began.elapsed()
}

/// How long it takes to submit and run so many tasks.
fn measure(way: Way, tasks: u64) -> Duration {
    DONE.store(0, Ordering::Relaxed);
    let event_loop = way.event_loop();
    let handle = &event_loop.handle();
    let pages = (way == Way::Page).then(|| Pages::of(handle));
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        if way == Way::Read {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(handle.metrics().is_some());
                    thread::sleep(Duration::from_micros(100));
                }
            });
        }
        let producer = scope.spawn(move || {
            let took = submit(handle, tasks);
            handle.close();
            took
        });
        let run = || event_loop.run().expect("it is closed by the producer");
        match &pages {
            Some(pages) => pages.during(run),
            None => run(),
        }
        is_over.store(true, Ordering::Relaxed);
        producer.join().expect("it does not panic")
    })
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Prints nanoseconds per task, the ratio to what each is put beside, and whether the aim was met.
pub fn run(tasks: u64, repetitions: usize) -> ExitCode {
    let mut times = Way::ALL.map(|_| Vec::new());
    for repetition in 0..repetitions {
        for (index, way) in Way::ALL.into_iter().enumerate() {
            times[index].push(measure(way, tasks));
        }
        eprintln!("repetition {} of {repetitions}", repetition + 1);
    }
    let nanoseconds = times.map(|mut times| {
        let spread = [times.iter().min(), times.iter().max()];
        let each = |time: Duration| time.as_nanos() as f64 / tasks as f64;
        let [least, most] = spread.map(|time| each(time.copied().unwrap_or_default()));
        (each(median(&mut times)), least, most)
    });
    println!("{:<42} {:>9} {:>17}   ratio", "submit, one producer", "ns/task", "least .. most");
    for (way, (median, least, most)) in Way::ALL.into_iter().zip(nanoseconds) {
        let (beside, aim) = way.aim();
        let ratio = median / nanoseconds[beside as usize].0;
        let verdict = match aim.map(|aim| (aim, ratio <= 1.0 + aim)) {
            None => format!("to `{}`", beside.name()),
            Some((aim, true)) => format!("to `{}`, aim {:.2}: met", beside.name(), 1.0 + aim),
            Some((aim, false)) => format!("to `{}`, aim {:.2}: MISSED", beside.name(), 1.0 + aim),
        };
        println!(
            "{:<42} {median:>9.2} {least:>8.2} ..{most:>7.2}   {ratio:.3} {verdict}",
            way.name()
        );
    }
    ExitCode::SUCCESS
}
