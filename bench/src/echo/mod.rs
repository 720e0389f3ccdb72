//! Echo over TCP: which server runs when, each in a process of its own; the client is this process.

mod client;
pub mod counted;
mod servers;

use std::collections::HashSet;
use std::time::Instant;

use self::client::MESSAGE;
use self::counted::{Tool, describe};
use crate::child::{name, this_program_path};
use crate::process::Process;
use crate::processors::{self, Processors};
use crate::table::{LIMIT, Table, progress, thousands};

pub use self::client::Client;
pub use self::servers::{Server, serve};

/// How many requests there are in one repetition, after how many that are not measured, and how many
/// while system calls or instructions are counted.
struct Requests {
    measured: usize,
    before: usize,
    counted: usize,
}

impl Requests {
    const FULL: Self = Self { measured: 200_000, before: 20_000, counted: 2_560 };
    const QUICK: Self = Self { measured: 20_000, before: 2_000, counted: 640 };
}

/// Runs all of it, `repetitions` times, the servers taking turns.
pub fn echo(repetitions: usize, quick: bool, connections: usize) -> Vec<Table> {
    let requests = if quick { Requests::QUICK } else { Requests::FULL };
    let processors = processors::two();
    if let Some(two) = processors {
        processors::pin_to(&[two.client]);
    }
    let mut tables = vec![timed(repetitions, &requests, connections, processors)];
    // Starting valgrind takes its time.
    let tools: &[_] = if quick { &[Tool::Strace] } else { &[Tool::Strace, Tool::Cachegrind] };
    for &tool in tools {
        if tool.works() {
            tables.extend(counted(tool, &requests, connections, processors));
        } else {
            progress("");
            eprintln!("{}", tool.absent());
        }
    }
    progress("");
    tables
}

fn plural(connections: usize) -> String {
    if connections == 1 { "1 connection".to_owned() } else { format!("{connections} connections") }
}

fn table(title: String) -> Table {
    let peers = Server::ALL.iter().map(|server| server.label()).collect();
    Table::new(title, peers, Server::Epoll.label())
}

fn timed(
    repetitions: usize,
    requests: &Requests,
    connections: usize,
    processors: Option<Processors>,
) -> Table {
    let mut table = table(format!(
        "echo, {}: {} requests of {MESSAGE} bytes",
        plural(connections),
        thousands(requests.measured)
    ));
    table.notes.push(match processors {
        Some(two) => format!("server on processor {}, client on {}", two.server, two.client),
        None => "server and client share a processor".to_owned(),
    });
    let mut stopped = HashSet::new();
    for repetition in 1..=repetitions {
        for &server in Server::ALL {
            if stopped.contains(&server) {
                continue;
            }
            let label = server.label();
            progress(&format!("{repetition} of {repetitions}: {}, {label}", table.title));
            match measure(server, requests, connections, processors) {
                Some(figures) => {
                    figures.into_iter().for_each(|(name, value)| table.add(label, name, value));
                }
                None => _ = stopped.insert(server),
            }
        }
    }
    table
}

/// How this program is started as a server.
fn arguments(server: Server, connections: usize, processor: Option<usize>) -> Vec<String> {
    let mut arguments =
        vec![this_program_path(), "serve".to_owned(), name(server), connections.to_string()];
    arguments.extend(processor.map(|processor| processor.to_string()));
    arguments
}

/// Measures one server once. `None` if it takes too long.
fn measure(
    server: Server,
    requests: &Requests,
    connections: usize,
    processors: Option<Processors>,
) -> Option<[(&'static str, f64); 3]> {
    let command = arguments(server, connections, processors.map(|two| two.server));
    let process = Process::start(&command);
    let mut client = Client::connect(process.port, connections);
    let until = Instant::now() + LIMIT;
    if !client.exchange(requests.before, until) {
        return None;
    }
    let (cpu, begin) = (process.cpu(), Instant::now());
    if !client.exchange(requests.measured, until) {
        return None;
    }
    let (time, cpu) = (begin.elapsed().as_secs_f64(), (process.cpu() - cpu).as_secs_f64());
    client.close();
    process.ends();
    Some([
        ("requests per second", requests.measured as f64 / time),
        ("server's CPU time, µs per request", cpu * 1e6 / requests.measured as f64),
        ("server's processor in use, %", cpu / time * 100.0),
    ])
}

/// Once with all connections, when the server is busy, and once with one, when it sleeps after each
/// request.
fn counted(
    tool: Tool,
    requests: &Requests,
    connections: usize,
    processors: Option<Processors>,
) -> Vec<Table> {
    let mut busy_and_idle = vec![connections, 1];
    busy_and_idle.dedup();
    let count = |connections: usize| {
        let mut table = table(format!("echo, {}: {}", plural(connections), tool.counts()));
        for &server in Server::ALL {
            let label = server.label();
            progress(&format!("{}, {label}", table.title));
            let counts = tool.per_request(server, connections, requests.counted, processors);
            let Some(counts) = counts else { continue };
            table.add(label, "in the server, per request", counts.values().sum());
            if counts.len() > 1 {
                table.notes.push(format!("{label}: {}", describe(&counts)));
            }
        }
        table
    };
    busy_and_idle.into_iter().map(count).collect()
}
