//! What the hostile do to a loop, and what has to be so all the same. Each scenario has a process of its own, so that
//! descriptors, threads and the heap can be compared with what they were.
//!
//! Nothing is judged by a clock. Latencies are measured and shown; what is judged is counts and order.

mod cut;
mod exhausted;
mod flood;
mod peers;
mod silent;

use std::io;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::descriptors::raise_limit;
use crate::sample::Belongings;
use crate::{settled, watch};

/// Bytes of the heap that may be left.
const REMAINDER: i64 = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// The external lane stays at its high-water mark.
    Flood,
    /// Clients send, and never read.
    Silent,
    /// Connections are opened and cut.
    Cut,
    /// There are no descriptors left.
    Exhausted,
}

impl Scenario {
    pub(crate) const ALL: [Self; 4] = [Self::Flood, Self::Silent, Self::Cut, Self::Exhausted];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Flood => "flood",
            Self::Silent => "silent",
            Self::Cut => "cut",
            Self::Exhausted => "exhausted",
        }
    }
}

/// What a scenario has found.
#[derive(Default)]
struct Report {
    faults: Vec<String>,
}

impl Report {
    /// Something worth knowing.
    fn say(&mut self, text: &str) {
        println!("  {text}");
    }

    /// Something that has to be so.
    fn expect(&mut self, is_so: bool, text: &str) {
        println!("  {} {text}", if is_so { "ok     " } else { "FAILED " });
        if !is_so {
            self.faults.push(text.to_owned());
        }
    }
}

/// All scenarios, one after the other. Tells whether all have passed.
pub(crate) fn run_all(time: Duration) -> io::Result<bool> {
    let mut failed = Vec::new();
    for scenario in Scenario::ALL {
        let status = Command::new(std::env::current_exe()?)
            .args(["hostile", scenario.name(), "--seconds", &time.as_secs().to_string()])
            .status()?;
        if !status.success() {
            failed.push(scenario.name());
        }
    }
    match failed.as_slice() {
        [] => println!("PASSED: nothing was lost, and nothing is left behind"),
        failed => println!("FAILED: {}", failed.join(", ")),
    }
    Ok(failed.is_empty())
}

/// One scenario, in this process. Tells whether it has passed.
pub(crate) fn run(scenario: Scenario, time: Duration) -> io::Result<bool> {
    println!("{}", scenario.name());
    raise_limit()?;
    let (over, is_over) = channel();
    let limit = time + crate::PATIENCE;
    let watchdog = thread::spawn(move || watch(&is_over, limit));
    let before = Belongings::now();
    let mut report = Report::default();
    match scenario {
        Scenario::Flood => flood::run(time, &mut report),
        Scenario::Silent => silent::run(time, &mut report)?,
        Scenario::Cut => cut::run(&mut report)?,
        Scenario::Exhausted => exhausted::run(&mut report)?,
    }
    let after = settled(before);
    let (descriptors, threads) = (after.descriptors, after.threads);
    report.expect(
        descriptors == before.descriptors && threads == before.threads,
        &format!("descriptors and threads are what they were: {descriptors}, {threads}"),
    );
    let left = after.heap - before.heap;
    report.expect(left <= REMAINDER, &format!("{left} bytes of the heap are left"));
    drop(over);
    drop(watchdog.join());
    Ok(report.faults.is_empty())
}
