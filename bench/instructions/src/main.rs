//! How many instructions the hot paths of the loop take, beside how many they took. See `run`.

use std::process::ExitCode;

mod callgrind;
mod counted;
mod expected;
mod futures;
mod promises;
mod queues;
mod report;
mod ticks;
mod timers;

use expected::Expected;
use report::Report;

/// Something that the loop does, often enough, in a process of its own.
struct Workload {
    name: &'static str,
    /// How often it does what its name says.
    operations: u64,
    run: fn(),
}

const fn workload(name: &'static str, run: fn()) -> Workload {
    Workload { name, operations: counted::COUNT, run }
}

const WORKLOADS: &[Workload] = &[
    workload("submit from another thread", queues::submit_from_another_thread),
    workload("submit in a callback", queues::submit_local),
    workload("run a task", queues::run_queued),
    workload("run a task with a microtask", queues::run_queued_with_microtask),
    workload("microtask, queued by another", queues::microtask_chain),
    workload("next_tick, queued by another", queues::next_tick_chain),
    workload("immediate, set and run", queues::immediates),
    workload("timer, set and cleared", timers::set_and_clear_alone),
    workload("the same, beside 100,000", timers::set_and_clear_among_100k),
    workload("timer, fired", timers::fire),
    workload("LocalPromise, a link built", promises::build_local),
    workload("LocalPromise, a link settled", promises::settle_local),
    workload("Promise, a link built", promises::build_shared),
    workload("Promise, a link settled", promises::settle_shared),
    workload("LocalPromise, one of all of 4", promises::all_local),
    workload("Promise, one of all of 4", promises::all_shared),
    workload("future, spawned and polled", futures::spawn),
    workload("future, woken and polled", futures::wake),
    workload("future, yields, with its tick", futures::yields),
    workload("turn with nothing to do", ticks::empty_turn),
    workload("turn with a descriptor", ticks::turn_with_descriptor),
    workload("tick of run with a descriptor", ticks::run_with_descriptor),
    workload("callback of one of 50 descriptors", ticks::many_descriptors),
    Workload {
        operations: ticks::LOOPS,
        ..workload("loop, made and dropped", ticks::make_and_drop)
    },
];

/// Counts every workload, and compares the counts with those that were recorded, or records them.
fn count(is_to_be_recorded: bool) -> Result<ExitCode, String> {
    let environment = expected::environment()?;
    let mut counts = Vec::new();
    for workload in WORKLOADS {
        let all = callgrind::instructions(workload.name)?;
        counts.push((workload.name, all as f64 / workload.operations as f64));
    }
    if is_to_be_recorded {
        Expected::new(environment, &counts).write()?;
        return Ok(ExitCode::SUCCESS);
    }
    let expected = Expected::read()?;
    let report = Report::new(&expected, &environment, &counts);
    print!("{report}");
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        [] => count(false),
        ["--record"] => count(true),
        [name] => match WORKLOADS.iter().find(|workload| workload.name == name) {
            Some(workload) => {
                (workload.run)();
                Ok(ExitCode::SUCCESS)
            }
            None => Err(format!("no workload is named {name}")),
        },
        _ => Err("usage: [--record | WORKLOAD]".to_owned()),
    };
    result.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::FAILURE
    })
}
