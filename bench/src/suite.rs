//! Timers: which peer runs which workload, in which order, each in a process of its own.

use std::collections::HashSet;

use clap::ValueEnum;

use crate::child::{name, output, this_program};
use crate::peers::{Calloop, Libuv, Mainspring, MainspringTimerfd, TokioFuture, TokioTask};
use crate::table::{Table, progress, thousands};
use crate::workloads;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum PeerName {
    Mainspring,
    MainspringTimerfd,
    TokioFuture,
    TokioTask,
    Libuv,
    Calloop,
}

impl PeerName {
    pub fn label(self) -> &'static str {
        match self {
            Self::Mainspring => "mainspring",
            Self::MainspringTimerfd => "mainspring, timerfd",
            Self::TokioFuture => "tokio, bare future",
            Self::TokioTask => "tokio, task",
            Self::Libuv => "libuv",
            Self::Calloop => "calloop",
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Workload {
    Churn,
    Firing,
    Chain,
    Memory,
}

impl Workload {
    fn title(self) -> &'static str {
        match self {
            Self::Churn => "set and cancel, CPU time of the thread",
            Self::Firing => "fire within 200 ms, CPU time of the process",
            Self::Chain => "1.3 ms timers one after the other",
            Self::Memory => "memory",
        }
    }

    fn peers(self) -> &'static [PeerName] {
        use PeerName::{Calloop, Libuv, Mainspring, MainspringTimerfd, TokioFuture, TokioTask};
        match self {
            Self::Churn | Self::Memory => &[Mainspring, TokioFuture, TokioTask, Libuv, Calloop],
            Self::Firing => &[Mainspring, TokioTask, Libuv, Calloop],
            Self::Chain => &[Mainspring, MainspringTimerfd, TokioTask, Libuv, Calloop],
        }
    }
}

/// Runs one workload with one peer, in this process.
pub fn measure(peer: PeerName, workload: Workload, count: usize) {
    /// For a peer that does all.
    macro_rules! with {
        ($peer:ty) => {
            match workload {
                Workload::Churn => workloads::churn::<$peer>(count),
                Workload::Firing => workloads::firing::<$peer>(count),
                Workload::Chain => workloads::chain::<$peer>(count),
                Workload::Memory => workloads::memory::<$peer>(count),
            }
        };
    }
    match (peer, workload) {
        (PeerName::TokioFuture, Workload::Churn) => workloads::churn::<TokioFuture>(count),
        (PeerName::TokioFuture, Workload::Memory) => workloads::memory::<TokioFuture>(count),
        (PeerName::TokioFuture, _) => panic!("a future without a task is run by nothing"),
        (PeerName::Mainspring, _) => with!(Mainspring),
        (PeerName::MainspringTimerfd, _) => with!(MainspringTimerfd),
        (PeerName::TokioTask, _) => with!(TokioTask),
        (PeerName::Libuv, _) => with!(Libuv),
        (PeerName::Calloop, _) => with!(Calloop),
    }
}

/// Runs everything about timers, `repetitions` times, the peers taking turns.
pub fn timers(repetitions: usize, quick: bool) -> Vec<Table> {
    let sizes: &[(Workload, usize)] = if quick {
        &[
            (Workload::Churn, 1_000),
            (Workload::Churn, 5_000),
            (Workload::Firing, 2_000),
            (Workload::Chain, 50),
            (Workload::Memory, 10_000),
        ]
    } else {
        &[
            (Workload::Churn, 1_000),
            (Workload::Churn, 100_000),
            (Workload::Churn, 1_000_000),
            (Workload::Firing, 2_000),
            (Workload::Firing, 100_000),
            (Workload::Chain, 500),
            (Workload::Memory, 1_000_000),
        ]
    };
    let mut tables: Vec<_> =
        sizes.iter().map(|&(workload, count)| table(workload, count)).collect();
    let mut stopped = HashSet::new();
    for repetition in 1..=repetitions {
        for (index, table) in tables.iter_mut().enumerate() {
            let (workload, count) = sizes[index];
            for &peer in workload.peers() {
                if stopped.contains(&(index, peer)) {
                    continue;
                }
                progress(&format!(
                    "{repetition} of {repetitions}: {}, {}",
                    table.title,
                    peer.label()
                ));
                let (output, ended) = child(peer, workload, count);
                table.add_lines(peer.label(), &output);
                if !ended {
                    stopped.insert((index, peer));
                }
            }
        }
    }
    progress("");
    tables
}

fn table(workload: Workload, count: usize) -> Table {
    let title = format!("{} timers: {}", thousands(count), workload.title());
    let peers = workload.peers().iter().map(|peer| peer.label()).collect();
    Table::new(title, peers, PeerName::Mainspring.label())
}

/// Measures in a process of its own. Returns what it wrote, and whether it came to its end.
fn child(peer: PeerName, workload: Workload, count: usize) -> (String, bool) {
    let mut command = this_program();
    command.arg("measure").arg(name(peer)).arg(name(workload)).arg(count.to_string());
    output(&mut command, &format!("{} at {workload:?}", peer.label()))
}
