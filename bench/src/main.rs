//! Runs mainspring beside its peers. See README.md.

mod measure;
mod peers;
mod report;
mod suite;
mod workloads;

use std::path::PathBuf;

use clap::Parser;
use suite::{PeerName, Workload};

#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

/// Runs mainspring beside its peers, and prints a table for each workload.
#[derive(Parser)]
enum Arguments {
    /// Timers: setting and cancelling, firing, lateness, memory
    Timers {
        /// A few seconds, to see that everything works: the figures mean little
        #[arg(long)]
        quick: bool,
        /// Also writes the figures to this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// How often each peer runs each workload; 5, or 1 with --quick
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        reps: Option<u32>,
    },
    /// Runs one workload with one peer, in this process
    #[command(hide = true)]
    Measure { peer: PeerName, workload: Workload, count: usize },
}

fn main() -> std::io::Result<()> {
    match Arguments::parse() {
        Arguments::Timers { quick, json, reps } => {
            let repetitions = reps.map_or(if quick { 1 } else { 5 }, |reps| reps as usize);
            let tables = suite::timers(repetitions, quick);
            let header = report::header(repetitions);
            report::print(&header, &tables);
            if let Some(path) = json {
                std::fs::write(path, format!("{:#}\n", report::json(header, &tables)))?;
            }
        }
        Arguments::Measure { peer, workload, count } => suite::measure(peer, workload, count),
    }
    Ok(())
}
