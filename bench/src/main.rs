//! Runs mainspring beside its peers. See README.md.

mod catalogue;
mod chart;
mod child;
mod document;
mod echo;
mod futures;
mod growth;
mod header;
mod http;
mod js;
mod measure;
mod node;
mod peers;
mod process;
mod processors;
mod promises;
mod report;
mod suite;
mod summary;
mod table;
mod tasks;
mod turns;
mod workloads;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use catalogue::Suite;
use clap::{Args, Parser, Subcommand};
use document::Document;
use suite::{PeerName, Workload};

#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

/// Runs mainspring beside its peers, and prints a table for each workload. Without a command it runs all
/// suites.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(flatten)]
    all: All,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// All suites, one after the other; one whose program is missing is skipped
    All(All),
    /// Timers: setting and cancelling, firing, lateness, memory
    Timers(Common),
    /// Echo over TCP: requests per second, CPU time and system calls of the server
    Echo {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        load: echo::Load,
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
    /// Cost against population: timers, descriptors, tasks and promises, from few to a million
    Growth(Common),
    /// Measures nothing: puts together what was measured before, a later file before an earlier one
    Summary {
        /// What --json has written
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        output: Output,
    },
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
    /// The same for growth
    #[command(hide = true)]
    MeasureGrowth {
        peer: growth::Peer,
        workload: growth::Workload,
        population: usize,
        operations: usize,
    },
    /// Is an HTTP server, in this process, on these processors
    #[command(hide = true)]
    ServeHttp { server: http::Server, processors: Vec<usize> },
    /// Is a server for as many connections, in this process, on this processor
    #[command(hide = true)]
    Serve { server: echo::Server, connections: usize, processor: Option<usize> },
}

#[derive(Args)]
struct All {
    #[command(flatten)]
    common: Common,
    /// Only these suites, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Args)]
struct Common {
    /// A few seconds, to see that everything works: the figures mean little
    #[arg(long)]
    quick: bool,
    /// How often each peer runs each workload; 5, or 1 with --quick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reps: Option<u32>,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Output {
    /// Also writes the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also draws the figures, in this directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

impl Output {
    fn write(&self, document: &Document) -> io::Result<()> {
        if let Some(path) = &self.json {
            let json = document.to_json(summary::json(document), growth::json(document));
            std::fs::write(path, format!("{json:#}\n"))?;
        }
        if let Some(directory) = &self.svg {
            chart::write_all(document, directory)?;
        }
        Ok(())
    }
}

impl Common {
    /// Runs suites, and shows what they measured. One that is skipped is no failure if there are others.
    fn run(self, suites: &[Suite]) -> io::Result<ExitCode> {
        let repetitions = self.reps.map_or(if self.quick { 1 } else { 5 }, |reps| reps as usize);
        let mut document = Document::new(header::header(repetitions));
        header::print(&document.header);
        let problems = catalogue::run(suites, self.quick, &mut document, |document| {
            self.output.write(document)
        })?;
        summary::print(&document);
        growth::print_bends(&document);
        for problem in &problems {
            println!("\n{problem}");
        }
        let failed = problems.iter().any(|problem| problem.ends_with("failed"));
        let nothing = document.workloads.is_empty();
        Ok(if failed || nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn run_only(self, name: &str) -> io::Result<ExitCode> {
        self.run(&named(&[name.to_owned()])?)
    }
}

fn named(names: &[String]) -> io::Result<Vec<Suite>> {
    catalogue::named(names).map_err(io::Error::other)
}

fn read(path: &Path) -> io::Result<Document> {
    let unreadable = |why: String| io::Error::other(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let json = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    Document::from_json(&json).ok_or_else(|| unreadable("is not what --json writes".to_owned()))
}

/// Puts runs together, and shows what they measured.
fn summarize(files: &[PathBuf], output: &Output) -> io::Result<()> {
    let mut documents = files.iter().map(|file| read(file));
    let mut all = documents.next().expect("there is one at least")?;
    for document in documents {
        all.merge(document?);
    }
    summary::print(&all);
    growth::print_bends(&all);
    output.write(&all)
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn run() -> io::Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.command.unwrap_or(Command::All(arguments.all)) {
        Command::All(all) => return all.common.run(&named(&all.only)?),
        Command::Timers(common) => return common.run_only("timers"),
        Command::Echo { common, load } => return common.run(&[Suite::echo(load)]),
        Command::Promises(common) => return common.run_only("promises"),
        Command::Futures(common) => return common.run_only("futures"),
        Command::Tasks(common) => return common.run_only("tasks"),
        Command::Http(common) => return common.run_only("http"),
        Command::Js(common) => return common.run_only("js"),
        Command::Growth(common) => return common.run_only("growth"),
        Command::Summary { files, output } => summarize(&files, &output)?,
        Command::MeasureFutures { peer, workload, size, rounds } => {
            futures::measure(peer, workload, size, rounds);
        }
        Command::MeasureTasks { peer, workload, size, rounds } => {
            tasks::measure(peer, workload, size, rounds);
        }
        Command::ServeHttp { server, processors } => http::serve(server, &processors),
        Command::MeasurePromises { peer, workload, size, rounds } => {
            promises::measure(peer, workload, size, rounds);
        }
        Command::MeasureGrowth { peer, workload, population, operations } => {
            growth::measure(peer, workload, population, operations);
        }
        Command::Measure { peer, workload, count } => suite::measure(peer, workload, count),
        Command::Serve { server, connections, processor } => {
            echo::serve(server, connections, processor);
        }
    }
    Ok(ExitCode::SUCCESS)
}
