//! Scripts, by `mainspring` and by Node: start-up, memory, and what the loop does for them.

mod crossing;
mod runtime;

use std::time::Instant;

use self::runtime::Runtime;
use crate::echo::Client;
use crate::process::Process;
use crate::processors;
use crate::table::{LIMIT, Table, progress, thousands};

/// A script that measures itself: it is told how often, and says how long one took in nanoseconds.
struct Workload {
    title: &'static str,
    script: &'static str,
    count: usize,
    /// Whether it waits for timers, which an engine alone has not.
    waits: bool,
}

const WORKLOADS: [Workload; 6] = [
    Workload {
        title: "setTimeout and clearTimeout",
        script: include_str!("scripts/set_clear.js"),
        count: 1_000_000,
        waits: true,
    },
    Workload {
        title: "setTimeout(0), fired",
        script: include_str!("scripts/timers.js"),
        count: 1_000_000,
        waits: true,
    },
    Workload {
        title: "queueMicrotask",
        script: include_str!("scripts/microtasks.js"),
        count: 1_000_000,
        waits: false,
    },
    Workload {
        title: "process.nextTick",
        script: include_str!("scripts/ticks.js"),
        count: 1_000_000,
        waits: false,
    },
    Workload {
        title: "await in a loop",
        script: include_str!("scripts/awaits.js"),
        count: 1_000_000,
        waits: false,
    },
    Workload {
        title: "then, a chain",
        script: include_str!("scripts/chain.js"),
        count: 1_000_000,
        waits: false,
    },
];

/// Runs all of it, `repetitions` times, the runtimes taking turns.
pub fn js(repetitions: usize, quick: bool) -> Vec<Table> {
    let runtimes = runtime::all();
    let labels: Vec<_> = runtimes.iter().map(|runtime| runtime.label).collect();
    let table = |title: String| Table::new(title, labels.clone(), "node");
    let mut tables =
        vec![start_up(repetitions, quick, &runtimes, table("start-up and idle".into()))];
    for workload in &WORKLOADS {
        let count = if quick { workload.count / 50 } else { workload.count };
        let mut table = table(format!("{}, {} times", workload.title, thousands(count)));
        for repetition in 1..=repetitions {
            for runtime in runtimes.iter().filter(|runtime| runtime.waits || !workload.waits) {
                progress(&format!(
                    "{repetition} of {repetitions}: {}, {}",
                    table.title, runtime.label
                ));
                let file = runtime::script(workload.title, workload.script);
                let output = runtime.output(&file, &[count.to_string()]);
                table.add_lines(runtime.label, &output);
            }
        }
        tables.push(table);
    }
    tables.push(echo(
        repetitions,
        quick,
        &runtimes,
        table("node:net, echo, 64 connections".into()),
    ));
    if !quick {
        tables.push(crossing::table(repetitions));
    }
    progress("");
    tables
}

/// The time until the first line is there, until the end, and the memory of one that waits.
fn start_up(repetitions: usize, quick: bool, runtimes: &[Runtime], mut table: Table) -> Table {
    let hello = runtime::script("hello", "console.log('hello')");
    let idle = runtime::script("idle", "setTimeout(() => {}, 1e9); console.log(0)");
    let runs = if quick { 3 } else { 20 };
    for repetition in 1..=repetitions * runs {
        for runtime in runtimes {
            progress(&format!(
                "{repetition} of {}: start-up, {}",
                repetitions * runs,
                runtime.label
            ));
            let (first_line, end) = runtime.start_up(&hello);
            table.add(runtime.label, "until the first line, ms", first_line * 1e3);
            table.add(runtime.label, "until the end, ms", end * 1e3);
        }
    }
    for _ in 0..repetitions {
        for runtime in runtimes.iter().filter(|runtime| runtime.waits) {
            table.add(runtime.label, "resident while it waits, MB", runtime.resident(&idle));
        }
    }
    table
}

/// An echo server in JavaScript, loaded by this process.
fn echo(repetitions: usize, quick: bool, runtimes: &[Runtime], mut table: Table) -> Table {
    let requests = if quick { 10_000 } else { 200_000 };
    let server = runtime::script("echo", include_str!("scripts/echo.js"));
    let two = processors::two();
    for repetition in 1..=repetitions {
        for runtime in runtimes.iter().filter(|runtime| runtime.waits) {
            progress(&format!("{repetition} of {repetitions}: {}, {}", table.title, runtime.label));
            let process = Process::start(&runtime.command_on(&server, two.map(|two| two.server)));
            let mut client = Client::connect(process.port, 64);
            let until = Instant::now() + LIMIT;
            assert!(client.exchange(requests / 10, until), "{} is too slow", runtime.label);
            let (cpu, begin) = (process.cpu(), Instant::now());
            if !client.exchange(requests, until) {
                continue;
            }
            let time = begin.elapsed().as_secs_f64();
            let cpu = (process.cpu() - cpu).as_secs_f64();
            client.close();
            table.add(runtime.label, "requests per second", requests as f64 / time);
            table.add(runtime.label, "CPU time, µs per request", cpu * 1e6 / requests as f64);
        }
    }
    table
}
