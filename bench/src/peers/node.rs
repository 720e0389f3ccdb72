//! Node: a script, in the place of this process.
//!
//! It gets its random numbers from here, so that they are those of the other peers.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::child::name;
use crate::measure::Random;
use crate::suite::Workload;
use crate::workloads::{FIRING, long_delays, rounds};

/// The numbers that the script reads: delays, and the orders in which they are cancelled.
fn numbers(workload: Workload, count: usize) -> Vec<u32> {
    let mut random = Random::new();
    let rounds = match workload {
        Workload::Firing => {
            let delays = random.durations(count, Duration::ZERO, FIRING);
            return delays.iter().map(|delay| delay.as_nanos() as u32).collect();
        }
        Workload::Chain => return Vec::new(),
        Workload::Churn => rounds(count),
        Workload::Memory => 1,
    };
    let delays = long_delays(&mut random, count);
    let milliseconds = delays.iter().map(|delay| delay.as_nanos().div_ceil(1_000_000) as u32);
    let mut numbers: Vec<_> = milliseconds.collect();
    for _ in 0..rounds {
        let mut order: Vec<_> = (0..count as u32).collect();
        random.shuffle(&mut order);
        numbers.extend(order);
    }
    numbers
}

fn command(workload: Workload, count: usize) -> Command {
    let bytes: Vec<_> = numbers(workload, count).into_iter().flat_map(u32::to_ne_bytes).collect();
    // A file, because nobody is left to write to a pipe.
    let mut file = File::from(memfd_create("numbers", MemfdFlags::CLOEXEC).expect("Linux"));
    file.write_all(&bytes).and_then(|()| file.rewind()).expect("memory is enough");
    let mut command = Command::new("node");
    command.args(["--expose-gc", concat!(env!("CARGO_MANIFEST_DIR"), "/src/peers/node.js")]);
    command.args([name(workload), count.to_string()]).stdin(Stdio::from(file));
    command
}

/// Becomes Node, which measures.
pub fn become_it(workload: Workload, count: usize) -> ! {
    let error = command(workload, count).exec();
    panic!("Node cannot be started: {error}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_every_workload() {
        if crate::node::version().is_none() {
            return;
        }
        use Workload::{Chain, Churn, Firing, Memory};
        for (workload, figures) in [(Churn, 2), (Firing, 5), (Chain, 2), (Memory, 3)] {
            let output = command(workload, 20).output().unwrap();
            assert!(output.status.success(), "{workload:?}");
            assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), figures);
        }
    }
}
