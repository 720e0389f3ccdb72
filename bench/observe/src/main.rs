//! What it costs to observe a loop or to check it, and what it costs not to. See `bench/observe/run`.

use std::process::ExitCode;

#[cfg(feature = "metrics")]
mod apart;
#[cfg(feature = "metrics")]
mod pages;
mod profile;
#[cfg(feature = "metrics")]
mod throughput;
mod ticks;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["ticks", count] => {
            count.parse().map(ticks::run).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        #[cfg(feature = "metrics")]
        ["apart", rounds] => rounds.parse().map_or(ExitCode::FAILURE, apart::run),
        #[cfg(feature = "metrics")]
        ["throughput", tasks, repetitions] => match (tasks.parse(), repetitions.parse()) {
            (Ok(tasks), Ok(repetitions)) => throughput::run(tasks, repetitions),
            _ => ExitCode::FAILURE,
        },
        ["profile", tasks, repetitions] => match (tasks.parse(), repetitions.parse()) {
            (Ok(tasks), Ok(repetitions)) => profile::run(tasks, repetitions),
            _ => ExitCode::FAILURE,
        },
        _ => {
            eprintln!(
                "usage: ticks COUNT | apart BLOCKS | throughput TASKS REPETITIONS | profile TASKS REPETITIONS"
            );
            ExitCode::FAILURE
        }
    }
}
