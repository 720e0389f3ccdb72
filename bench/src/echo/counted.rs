//! What a server does for a request, counted by a tool that it runs under. This makes it slow, and so
//! these passes are not timed; but they hardly vary.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::arguments;
use super::client::Client;
use super::servers::Server;
use crate::process::Process;
use crate::processors::Processors;
use crate::table::LIMIT;

/// How often, by name.
pub type Counts = BTreeMap<String, f64>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Counts system calls.
    Strace,
    /// Counts instructions in user space.
    Cachegrind,
}

impl Tool {
    /// What is counted.
    pub fn counts(self) -> &'static str {
        match self {
            Self::Strace => "system calls",
            Self::Cachegrind => "instructions in user space",
        }
    }

    /// What to say if it does not work.
    pub fn absent(self) -> &'static str {
        match self {
            Self::Strace => "system calls are not counted: there is no strace, or it may not trace",
            Self::Cachegrind => "instructions are not counted: there is no valgrind",
        }
    }

    /// The beginning of a command that writes what it counts to a file.
    fn command(self, file: &str) -> Vec<String> {
        let cachegrind = format!("--cachegrind-out-file={file}");
        let command: &[&str] = match self {
            Self::Strace => &["strace", "-c", "-f", "-o", file, "--"],
            // Its log has nothing but remarks about caches.
            Self::Cachegrind => &[
                "valgrind",
                "--tool=cachegrind",
                "--cache-sim=no",
                "--log-file=/dev/null",
                &cachegrind,
                "--",
            ],
        };
        command.iter().map(|&word| word.to_owned()).collect()
    }

    /// Whether it is installed, and may trace what it starts.
    pub fn works(self) -> bool {
        let command = self.command("/dev/null");
        let trial = Command::new(&command[0])
            .args(&command[1..])
            .arg("true")
            .stderr(Stdio::null())
            .status();
        trial.is_ok_and(|status| status.success())
    }

    /// valgrind would count what Node's compiler does, too, and takes minutes for it.
    pub fn can_count(self, server: Server) -> bool {
        self == Self::Strace || server != Server::Node
    }

    fn parse(self, output: &str) -> Counts {
        match self {
            Self::Strace => system_calls(output),
            Self::Cachegrind => instructions(output),
        }
    }

    /// Counts per request. `None` if it takes too long.
    ///
    /// It is the difference between a run with as many requests and one with few: what is done once, or
    /// once for each connection, is not in it.
    pub fn per_request(
        self,
        server: Server,
        connections: usize,
        requests: usize,
        processors: Option<Processors>,
    ) -> Option<Counts> {
        let few = self.run(server, connections, connections, processors)?;
        let mut counts = self.run(server, connections, connections + requests, processors)?;
        for (name, count) in &mut counts {
            let once = few.get(name).unwrap_or(&0.0);
            *count = (*count - once) / requests as f64;
        }
        Some(counts)
    }

    fn run(
        self,
        server: Server,
        connections: usize,
        requests: usize,
        processors: Option<Processors>,
    ) -> Option<Counts> {
        let file = std::env::temp_dir().join(format!("mainspring-bench-{}", std::process::id()));
        let mut command = self.command(file.to_str().expect("its path is text"));
        command.extend(arguments(server, connections, processors));
        let process = Process::start(&command);
        let mut client = Client::connect(process.port, connections);
        if !client.exchange(requests, Instant::now() + LIMIT) {
            drop(process);
            // A tool that was stopped may have begun to write.
            let _ = std::fs::remove_file(&file);
            return None;
        }
        client.close();
        process.ends();
        let output = std::fs::read_to_string(&file).expect("the tool writes it");
        std::fs::remove_file(&file).expect("it is ours");
        Some(self.parse(&output))
    }
}

/// Columns: % time, seconds, µs per call, calls, errors or nothing, name. The last line is the sum.
fn system_calls(output: &str) -> Counts {
    let lines = output.lines().filter_map(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        columns.first()?.parse::<f64>().ok()?;
        let (name, count) = (columns.last()?, columns.get(3)?.parse().ok()?);
        (*name != "total").then(|| ((*name).to_owned(), count))
    });
    lines.collect()
}

fn instructions(output: &str) -> Counts {
    let sum = output.lines().find_map(|line| line.strip_prefix("summary:")).expect("has a sum");
    let sum = sum.split_whitespace().next().and_then(|sum| sum.parse().ok()).expect("a number");
    Counts::from([("instructions".to_owned(), sum)])
}

/// What there is more of than now and then, the most frequent first.
pub fn describe(counts: &Counts) -> String {
    let mut counts: Vec<_> = counts.iter().filter(|count| *count.1 >= 0.005).collect();
    counts.sort_by(|one, other| other.1.total_cmp(one.1));
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count:.2}")).collect();
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strace_writes_is_understood_with_and_without_errors() {
        let counts = system_calls(
            "% time     seconds  usecs/call     calls    errors syscall\n\
             ------ ----------- ----------- --------- --------- ----------------\n\
             \u{20}60.00    0.000600          10        60         4 recvfrom\n\
             \u{20}40.00    0.000400          10        40           sendto\n\
             ------ ----------- ----------- --------- --------- ----------------\n\
             100.00    0.001000          10       100         4 total\n",
        );
        assert_eq!(describe(&counts), "recvfrom 60.00, sendto 40.00");
    }

    #[test]
    fn what_cachegrind_writes_is_understood() {
        let counts = instructions("events: Ir\nfn=main\n7 12345\nsummary: 12345\n");
        assert_eq!(describe(&counts), "instructions 12345.00");
    }
}
