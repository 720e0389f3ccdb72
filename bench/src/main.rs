//! Runs mainspring beside its peers. See README.md.

mod child;
mod echo;
mod futures;
mod http;
mod js;
mod measure;
mod peers;
mod process;
mod processors;
mod promises;
mod report;
mod suite;
mod table;
mod tasks;
mod workloads;

use std::path::PathBuf;

use clap::{Args, Parser};
use suite::{PeerName, Workload};
use table::Table;

#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

/// Runs mainspring beside its peers, and prints a table for each workload.
#[derive(Parser)]
enum Arguments {
    /// Timers: setting and cancelling, firing, lateness, memory
    Timers(Common),
    /// Echo over TCP: requests per second, CPU time and system calls of the server
    Echo {
        #[command(flatten)]
        common: Common,
        /// How many connections there are
        #[arg(long, value_name = "N", default_value_t = 64,
            value_parser = clap::value_parser!(u16).range(1..=1_000))]
        connections: u16,
    },
    /// Promises and blocking work: handlers, chains, combinators, round trips to other threads
    Promises(Common),
    /// Futures on one thread: spawning, waking, yielding, sleeping
    Futures(Common),
    /// Tasks: posting them from other threads and from the loop's own, waking a loop, an idle one, a new one
    Tasks(Common),
    /// HTTP/1.1 with hyper, loaded by wrk: requests per second, latency, CPU time of the server
    Http(Common),
    /// Scripts, by the command and by Node: start-up, memory, timers, promises, node:net
    Js(Common),
    /// Runs one workload with one peer, in this process
    #[command(hide = true)]
    Measure { peer: PeerName, workload: Workload, count: usize },
    /// The same for promises, and repeats it
    #[command(hide = true)]
    MeasurePromises {
        peer: promises::Peer,
        workload: promises::Workload,
        size: usize,
        rounds: usize,
    },
    /// The same for futures
    #[command(hide = true)]
    MeasureFutures { peer: futures::Peer, workload: futures::Workload, size: usize, rounds: usize },
    /// The same for tasks
    #[command(hide = true)]
    MeasureTasks { peer: tasks::Peer, workload: tasks::Workload, size: usize, rounds: usize },
    /// Is an HTTP server, in this process, on these processors
    #[command(hide = true)]
    ServeHttp { server: http::Server, processors: Vec<usize> },
    /// Is a server for as many connections, in this process, on this processor
    #[command(hide = true)]
    Serve { server: echo::Server, connections: usize, processor: Option<usize> },
}

#[derive(Args)]
struct Common {
    /// A few seconds, to see that everything works: the figures mean little
    #[arg(long)]
    quick: bool,
    /// Also writes the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How often each peer runs each workload; 5, or 1 with --quick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reps: Option<u32>,
}

impl Common {
    /// Runs a suite, and shows what it measured.
    fn run(self, suite: impl FnOnce(usize, bool) -> Vec<Table>) -> std::io::Result<()> {
        let repetitions = self.reps.map_or(if self.quick { 1 } else { 5 }, |reps| reps as usize);
        let header = report::header(repetitions);
        let tables = suite(repetitions, self.quick);
        report::print(&header, &tables);
        if let Some(path) = self.json {
            std::fs::write(path, format!("{:#}\n", report::json(header, &tables)))?;
        }
        Ok(())
    }
}

fn main() -> std::io::Result<()> {
    match Arguments::parse() {
        Arguments::Timers(common) => common.run(suite::timers)?,
        Arguments::Echo { common, connections } => common
            .run(|repetitions, quick| echo::echo(repetitions, quick, usize::from(connections)))?,
        Arguments::Promises(common) => common.run(promises::promises)?,
        Arguments::Futures(common) => common.run(futures::futures)?,
        Arguments::Tasks(common) => common.run(tasks::tasks)?,
        Arguments::Http(common) => common.run(http::http)?,
        Arguments::Js(common) => common.run(js::js)?,
        Arguments::MeasureFutures { peer, workload, size, rounds } => {
            futures::measure(peer, workload, size, rounds);
        }
        Arguments::MeasureTasks { peer, workload, size, rounds } => {
            tasks::measure(peer, workload, size, rounds);
        }
        Arguments::ServeHttp { server, processors } => http::serve(server, &processors),
        Arguments::MeasurePromises { peer, workload, size, rounds } => {
            promises::measure(peer, workload, size, rounds);
        }
        Arguments::Measure { peer, workload, count } => suite::measure(peer, workload, count),
        Arguments::Serve { server, connections, processor } => {
            echo::serve(server, connections, processor);
        }
    }
    Ok(())
}
