//! HTTP/1.1 over connections that are kept: which server runs when, each in a process of its own, loaded by
//! wrk.

mod answer;
mod servers;
mod wrk;

use self::wrk::Load;
use crate::child::{name, this_program_path};
use crate::node;
use crate::process::{Process, allow_connections};
use crate::processors;
use crate::table::{Table, thousands};
use crate::turns::take_turns;

pub use self::servers::{Server, serve};

/// How many connections there are.
const CONNECTIONS: [usize; 2] = [64, 1_024];

/// How long a server is loaded, after how long that is not measured. wrk counts in seconds.
struct Seconds {
    before: u64,
    measured: u64,
}

impl Seconds {
    const FULL: Self = Self { before: 2, measured: 5 };
    const QUICK: Self = Self { before: 1, measured: 1 };
}

/// Runs all of it, `repetitions` times, the servers taking turns.
pub fn http(repetitions: usize, quick: bool) -> Vec<Table> {
    let version = wrk::version().expect("wrk is installed, which bench/run sees to");
    allow_connections(CONNECTIONS[1]);
    let servers = Server::available();
    let seconds = if quick { Seconds::QUICK } else { Seconds::FULL };
    let (server_on, client_on) = processors::two_and_others();
    processors::pin_to(&client_on);
    let mut tables = CONNECTIONS.map(|connections| {
        let mut table = table(connections, &servers);
        table.notes.push(node::note(node::version().as_deref()));
        if !servers.contains(&Server::Compio) {
            table.notes.push("compio is not measured: there is no io_uring".to_owned());
        }
        table.notes.push(if server_on == client_on {
            format!("{version}; it shares the processors {server_on:?} with the server")
        } else {
            format!("{version}, on the processors {client_on:?}; the server has {server_on:?}")
        });
        table
    });
    let labelled: Vec<_> = servers.iter().map(|&server| (server, server.label())).collect();
    take_turns(
        repetitions,
        &mut tables,
        vec![labelled; CONNECTIONS.len()],
        |index, server, table| {
            measure(server, CONNECTIONS[index], &seconds, &server_on, table);
            true
        },
    );
    tables.into()
}

fn table(connections: usize, servers: &[Server]) -> Table {
    let title = format!("HTTP/1.1, {} connections", thousands(connections));
    let peers = servers.iter().map(|server| server.label()).collect();
    let mut table = Table::new(title, peers, Server::Tokio.label());
    table.references.extend([Server::TokioTwice.label(), Server::Epoll.label()]);
    table
}

/// Measures one server once.
fn measure(
    server: Server,
    connections: usize,
    seconds: &Seconds,
    processors: &[usize],
    table: &mut Table,
) {
    let mut command = vec![this_program_path(), "serve-http".to_owned(), name(server)];
    command.extend(processors.iter().map(ToString::to_string));
    let process = Process::start(&command);
    answer::check(process.port);
    wrk::load(process.port, connections, seconds.before);
    let before = process.cpu_with_children();
    let Load { requests, per_second, median, percentile_99, timeouts } =
        wrk::load(process.port, connections, seconds.measured);
    let cpu = (process.cpu_with_children() - before).as_secs_f64();
    let label = server.label();
    table.add(label, "requests per second", per_second);
    table.add(label, "latency, median, µs", median);
    table.add(label, "latency, 99th percentile, µs", percentile_99);
    table.add(label, "server's CPU time, µs per request", cpu * 1e6 / requests);
    if timeouts > 0 {
        table.notes.push(format!("{label}: {timeouts} requests took longer than wrk waits"));
    }
}
