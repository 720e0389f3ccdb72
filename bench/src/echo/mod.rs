//! Echo over TCP: which server runs when, each in a process of its own; the client is this process.

mod client;
pub mod counted;
mod memory;
mod servers;

use std::time::Instant;

use clap::{Args, ValueEnum};

use self::client::MESSAGE;
use self::counted::{Tool, describe};
use crate::child::{name, this_program_path};
use crate::process::{Process, allow_connections};
use crate::processors::{self, Processors};
use crate::table::{LIMIT, Table, progress, thousands};
use crate::turns::take_turns;

pub use self::client::Client;
pub use self::servers::{Server, serve};

/// Who is loaded, and with how many connections.
#[derive(Args)]
pub struct Load {
    /// How many connections there are; several numbers are separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "64,1024",
        value_parser = clap::value_parser!(u16).range(1..=1_024))]
    connections: Vec<u16>,
    /// Which servers there are, separated by commas, instead of all
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    servers: Vec<Server>,
}

impl Default for Load {
    fn default() -> Self {
        Self { connections: vec![64, 1_024], servers: Vec::new() }
    }
}

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

/// The servers that take turns, and where.
struct Field {
    servers: Vec<Server>,
    processors: Option<Processors>,
    requests: Requests,
}

/// Runs all of it, `repetitions` times, the servers taking turns.
pub fn echo(repetitions: usize, quick: bool, load: &Load) -> Vec<Table> {
    let connections: Vec<_> = load.connections.iter().copied().map(usize::from).collect();
    let most = connections.iter().copied().fold(memory::CONNECTIONS, usize::max);
    allow_connections(most);
    let asked = if load.servers.is_empty() { Server::value_variants() } else { &load.servers };
    let (servers, absent): (Vec<_>, Vec<_>) =
        asked.iter().partition(|server| server.absent().is_none());
    let processors = processors::two();
    if let Some(two) = processors {
        processors::pin_to(&[two.client]);
    }
    let requests = if quick { Requests::QUICK } else { Requests::FULL };
    let field = Field { servers, processors, requests };
    let mut tables = field.timed(repetitions, &connections);
    for server in absent {
        let why = server.absent().unwrap_or_default();
        tables[0].notes.push(format!("{}: not measured, {why}", server.label()));
    }
    tables.push(field.memory(repetitions));
    // Starting valgrind takes its time.
    let tools: &[_] = if quick { &[Tool::Strace] } else { &[Tool::Strace, Tool::Cachegrind] };
    for &tool in tools {
        if tool.works() {
            tables.extend(field.counted(tool, &connections));
        } else {
            progress("");
            eprintln!("{}", tool.absent());
        }
    }
    progress("");
    tables
}

fn plural(connections: usize) -> String {
    match connections {
        1 => "1 connection".to_owned(),
        _ => format!("{} connections", thousands(connections)),
    }
}

/// How this program is started as a server.
fn arguments(server: Server, connections: usize, processors: Option<Processors>) -> Vec<String> {
    let mut arguments =
        vec![this_program_path(), "serve".to_owned(), name(server), connections.to_string()];
    arguments.extend(processors.map(|two| two.server.to_string()));
    arguments
}

impl Field {
    fn labelled(&self) -> Vec<(Server, &'static str)> {
        self.servers.iter().map(|&server| (server, server.label())).collect()
    }

    fn table(&self, title: String) -> Table {
        let peers = self.servers.iter().map(|server| server.label()).collect();
        Table::new(title, peers, Server::Epoll.label())
    }

    fn timed(&self, repetitions: usize, connections: &[usize]) -> Vec<Table> {
        let place = match self.processors {
            Some(two) => format!("server on processor {}, client on {}", two.server, two.client),
            None => "server and client share a processor".to_owned(),
        };
        let mut tables: Vec<_> = connections
            .iter()
            .map(|&connections| {
                let requests = thousands(self.requests.measured);
                let connections = plural(connections);
                let title = format!("echo, {connections}: {requests} requests of {MESSAGE} bytes");
                let mut table = self.table(title);
                table.notes.push(place.clone());
                table
            })
            .collect();
        let servers = vec![self.labelled(); tables.len()];
        take_turns(repetitions, &mut tables, servers, |index, server, table| {
            let Some(figures) = self.measure(server, connections[index]) else { return false };
            figures.into_iter().for_each(|(name, value)| table.add(server.label(), name, value));
            true
        });
        tables
    }

    /// Measures one server once. `None` if it takes too long.
    fn measure(&self, server: Server, connections: usize) -> Option<[(&'static str, f64); 3]> {
        let process = Process::start(&arguments(server, connections, self.processors));
        let mut client = Client::connect(process.port, connections);
        let until = Instant::now() + LIMIT;
        if !client.exchange(self.requests.before, until) {
            return None;
        }
        let (cpu, begin) = (process.cpu(), Instant::now());
        if !client.exchange(self.requests.measured, until) {
            return None;
        }
        let (time, cpu) = (begin.elapsed().as_secs_f64(), (process.cpu() - cpu).as_secs_f64());
        client.close();
        process.ends();
        let requests = self.requests.measured as f64;
        Some([
            ("requests per second", requests / time),
            ("server's CPU time, µs per request", cpu * 1e6 / requests),
            ("server's processor in use, %", cpu / time * 100.0),
        ])
    }

    fn memory(&self, repetitions: usize) -> Table {
        let connections = plural(memory::CONNECTIONS);
        let mut table = self.table(format!("echo, {connections} that do nothing: memory"));
        let tables = std::slice::from_mut(&mut table);
        take_turns(repetitions, tables, vec![self.labelled()], |_, server, table| {
            let Some(bytes) = memory::per_connection(server, self.processors) else { return false };
            table.add(server.label(), "resident, bytes per connection", bytes);
            true
        });
        table
    }

    /// Once with all connections, when the server is busy, and once with one, when it sleeps after each
    /// request.
    fn counted(&self, tool: Tool, connections: &[usize]) -> Vec<Table> {
        let mut busy_and_idle = connections.to_vec();
        if !busy_and_idle.contains(&1) {
            busy_and_idle.push(1);
        }
        let count = |connections: usize| {
            let title = format!("echo, {}: {}", plural(connections), tool.counts());
            let mut table = self.table(title);
            for &server in &self.servers {
                if !tool.can_count(server) {
                    table.peers.retain(|&peer| peer != server.label());
                    continue;
                }
                let label = server.label();
                progress(&format!("{}, {label}", table.title));
                let requests = self.requests.counted.max(connections);
                let counts = tool.per_request(server, connections, requests, self.processors);
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
}
