//! How much memory a connection that does nothing costs a server.

use std::time::Instant;

use super::arguments;
use super::client::Client;
use super::servers::Server;
use crate::process::Process;
use crate::processors::Processors;
use crate::table::LIMIT;

/// So many do nothing.
pub const CONNECTIONS: usize = 1_024;

/// How many bytes more are resident in a server with so many connections than in one that has one, for each
/// of them. `None` if it takes too long.
pub fn per_connection(server: Server, processors: Option<Processors>) -> Option<f64> {
    let many = resident(server, CONNECTIONS, processors)?;
    let one = resident(server, 1, processors)?;
    Some((many - one) / (CONNECTIONS - 1) as f64)
}

/// When each connection has had one message: then the server has taken all of them, and whatever it makes
/// for a connection is there.
fn resident(server: Server, connections: usize, processors: Option<Processors>) -> Option<f64> {
    let process = Process::start(&arguments(server, connections, processors));
    let mut client = Client::connect(process.port, connections);
    if !client.exchange(connections, Instant::now() + LIMIT) {
        return None;
    }
    let resident = process.resident();
    client.close();
    process.ends();
    Some(resident as f64)
}
