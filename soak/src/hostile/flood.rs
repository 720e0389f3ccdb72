//! The external lane at its high-water mark, for as long as one likes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use mainspring::{Cx, Deadline, EventLoop, Handle, Metrics, Queue, Refusal, Shutdown};

use super::Report;
use crate::report::thousands;

const MARK: u64 = 10_000;
const BUDGET: u64 = 1024;
const FLOODERS: u64 = 3;
/// Probes of a loop that has nothing else to do.
const CALM: usize = 500;

/// What the threads share.
#[derive(Default)]
struct Counts {
    ticks: AtomicU64,
    accepted: AtomicU64,
    executed: AtomicU64,
    refused: AtomicU64,
    is_over: AtomicBool,
}

fn count(count: &AtomicU64) {
    count.fetch_add(1, SeqCst);
}

/// What became of an internal task.
struct Probe {
    /// How many ticks later than the one in which it was submitted it ran.
    ticks: u64,
    /// How many external tasks ran before it.
    overtaken_by: u64,
    latency: Duration,
}

pub(super) fn run(time: Duration, report: &mut Report) {
    let counts = Arc::new(Counts::default());
    let theirs = Arc::clone(&counts);
    let event_loop = EventLoop::builder()
        .metrics(true)
        .high_water_mark(MARK as usize)
        .external_budget(BUDGET as usize)
        .on_prepare(move |_| count(&theirs.ticks))
        .build()
        .expect("there are descriptors left");
    let handle = event_loop.handle();
    let (calm, stormy, metrics) = thread::scope(|scope| {
        let director = scope.spawn(|| direct(&handle, &counts, time));
        event_loop.run().expect("it is driven once");
        director.join().expect("no thread panics")
    });
    drop(event_loop);
    let [accepted, executed, refused] =
        [&counts.accepted, &counts.executed, &counts.refused].map(|count| count.load(SeqCst));
    report.say(&format!("external tasks: {}", shown(&metrics, Queue::External)));
    report.say(&format!("internal tasks, calm:    {}", latencies(&calm)));
    report.say(&format!("internal tasks, flooded: {}", latencies(&stormy)));
    report.expect(
        accepted == executed,
        &format!("{} were accepted, {} were run", thousands(accepted), thousands(executed)),
    );
    report.expect(refused > 0, &format!("{} were refused and came back", thousands(refused)));
    let most = metrics.queue(Queue::External).max;
    // Threads that submit while the loop takes tasks out may exceed it by one each.
    report
        .expect(most <= MARK + FLOODERS, &format!("{most} waited at the most, the mark is {MARK}"));
    report.expect(
        most + FLOODERS >= MARK,
        "the queue was at its mark, or what follows proves nothing",
    );
    let (late, overtaken) = stormy.iter().fold((0, 0), |(late, overtaken), probe| {
        (late.max(probe.ticks), overtaken.max(probe.overtaken_by))
    });
    let count = thousands(stormy.len() as u64);
    report.expect(
        late <= 1,
        &format!("all of {count} internal tasks ran in the next tick at the latest"),
    );
    report.expect(
        overtaken <= BUDGET,
        &format!("no more than {overtaken} external tasks came before one, the budget is {BUDGET}"),
    );
}

/// Probes, floods and probes; then ends the loop.
fn direct(
    handle: &Handle,
    counts: &Arc<Counts>,
    time: Duration,
) -> (Vec<Probe>, Vec<Probe>, Metrics) {
    let calm = (0..CALM).map(|_| probe(handle, counts)).collect();
    let stormy = thread::scope(|scope| {
        for _ in 0..FLOODERS {
            scope.spawn(|| flood(handle, counts));
        }
        let begun = Instant::now();
        let mut stormy = Vec::new();
        // However short the time is, there is a flood first.
        while begun.elapsed() < time || counts.refused.load(SeqCst) == 0 {
            stormy.push(probe(handle, counts));
            thread::sleep(Duration::from_millis(1));
        }
        counts.is_over.store(true, SeqCst);
        stormy
    });
    let outcome = handle.shutdown(Deadline::NEVER).expect("nobody else ends it");
    assert_eq!(outcome, Shutdown::Finished { dropped: 0 }, "all of it was run");
    (calm, stormy, handle.metrics().expect("it has metrics"))
}

/// Submits whatever the loop takes.
fn flood(handle: &Handle, counts: &Arc<Counts>) {
    while !counts.is_over.load(SeqCst) {
        let theirs = Arc::clone(counts);
        let mut task = move |_: &Cx| count(&theirs.executed);
        while let Err(error) = handle.submit(task) {
            assert_eq!(error.reason(), Refusal::Overloaded, "nobody has ended it");
            count(&counts.refused);
            task = error.into_task();
            thread::yield_now();
        }
        count(&counts.accepted);
    }
}

/// Submits an internal task, and waits for it. The counts are read when it has been submitted, not before: what happens in
/// between is not the loop's doing, and whatever it does afterwards counts.
fn probe(handle: &Handle, counts: &Arc<Counts>) -> Probe {
    let (sender, receiver): (Sender<(u64, u64, Instant)>, _) = channel();
    let theirs = Arc::clone(counts);
    let begun = Instant::now();
    let submitted = handle.submit_internal(move |_| {
        let counts = (theirs.ticks.load(SeqCst), theirs.executed.load(SeqCst), Instant::now());
        sender.send(counts).expect("somebody waits for it");
    });
    let (ticks, executed) = (counts.ticks.load(SeqCst), counts.executed.load(SeqCst));
    assert!(submitted.is_ok(), "the internal lane has no bound");
    let (then, done, at) = receiver.recv().expect("an internal task that was accepted runs");
    Probe {
        ticks: then.saturating_sub(ticks),
        overtaken_by: done.saturating_sub(executed),
        latency: at - begun,
    }
}

fn latencies(probes: &[Probe]) -> String {
    let mut all: Vec<_> = probes.iter().map(|probe| probe.latency).collect();
    all.sort();
    let at = |share: usize| all.get((all.len() - 1) * share / 100).copied().unwrap_or_default();
    format!("median {:.1?}, 99 of 100 {:.1?}, longest {:.1?}", at(50), at(99), at(100))
}

fn shown(metrics: &Metrics, queue: Queue) -> String {
    let wait = metrics.queue(queue).wait;
    format!("waited for {:.1?} (median), {:.1?} (99 of 100)", wait.p50, wait.p99)
}
