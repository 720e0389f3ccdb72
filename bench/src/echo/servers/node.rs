//! Node: a script with `node:net`, which this process becomes.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Why there is no Node here, if there is none.
pub fn absent() -> Option<String> {
    let version = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    let is_there = version.is_ok_and(|status| status.success());
    (!is_there).then(|| "it is not installed".to_owned())
}

fn command(connections: usize) -> Vec<String> {
    let words = ["node", "-e", include_str!("node.js"), &connections.to_string()];
    words.map(str::to_owned).into()
}

/// Accepts, too: its connections are its own.
pub fn become_server(connections: usize) -> ! {
    let command = command(connections);
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    panic!("Node cannot be started: {error}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::Client;
    use crate::process::Process;
    use std::time::{Duration, Instant};

    #[test]
    fn node_echoes_until_all_connections_are_closed() {
        if absent().is_some() {
            return;
        }
        let process = Process::start(&command(5));
        let mut client = Client::connect(process.port, 5);
        assert!(client.exchange(1_000, Instant::now() + Duration::from_secs(60)));
        client.close();
        process.ends();
    }
}
