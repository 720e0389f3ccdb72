//! Timers: which peer runs which workload, in which order, each in a process of its own.

use clap::ValueEnum;

use crate::child::{name, output, this_program};
use crate::node::{note, version};
use crate::peers::{
    Calloop, Floor, Libuv, Mainspring, MainspringExact, MainspringMillisecond, MainspringTimerfd,
    Mio, Smol, TokioFuture, TokioTask, node,
};
use crate::table::{Table, thousands};
use crate::turns::take_turns;
use crate::workloads;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum PeerName {
    Floor,
    Mainspring,
    MainspringTimerfd,
    MainspringExact,
    MainspringMillisecond,
    TokioFuture,
    TokioTask,
    Smol,
    Libuv,
    Calloop,
    Mio,
    Node,
}

impl PeerName {
    pub fn label(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Mainspring => "mainspring",
            Self::MainspringTimerfd => "mainspring, timerfd",
            Self::MainspringExact => "mainspring, no slack",
            Self::MainspringMillisecond => "mainspring, slack of 1 ms",
            Self::TokioFuture => "tokio, bare future",
            Self::TokioTask => "tokio, task",
            Self::Smol => "smol",
            Self::Libuv => "libuv",
            Self::Calloop => "calloop",
            Self::Mio => "mio, BTreeMap",
            Self::Node => "Node",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
        use PeerName::{
            Calloop, Floor, Libuv, Mainspring, MainspringExact, MainspringMillisecond,
            MainspringTimerfd, Mio, Node, Smol, TokioFuture, TokioTask,
        };
        match self {
            Self::Churn | Self::Memory => {
                &[Floor, Mainspring, TokioFuture, TokioTask, Smol, Libuv, Calloop, Mio, Node]
            }
            Self::Firing => &[
                Floor,
                Mainspring,
                MainspringExact,
                MainspringMillisecond,
                TokioTask,
                Smol,
                Libuv,
                Calloop,
                Mio,
                Node,
            ],
            Self::Chain => {
                &[Floor, Mainspring, MainspringTimerfd, TokioTask, Smol, Libuv, Calloop, Mio, Node]
            }
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
        (PeerName::Floor, _) => with!(Floor),
        (PeerName::Mainspring, _) => with!(Mainspring),
        (PeerName::MainspringTimerfd, _) => with!(MainspringTimerfd),
        (PeerName::MainspringExact, _) => with!(MainspringExact),
        (PeerName::MainspringMillisecond, _) => with!(MainspringMillisecond),
        (PeerName::TokioTask, _) => with!(TokioTask),
        (PeerName::Smol, _) => with!(Smol),
        (PeerName::Libuv, _) => with!(Libuv),
        (PeerName::Calloop, _) => with!(Calloop),
        (PeerName::Mio, _) => with!(Mio),
        (PeerName::Node, _) => node::become_it(workload, count),
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
    let node = version();
    let mut tables: Vec<_> =
        sizes.iter().map(|&(workload, count)| table(workload, count, node.as_deref())).collect();
    let peers = sizes.iter().map(|&(workload, _)| {
        let here = |peer: &PeerName| *peer != PeerName::Node || node.is_some();
        let peers = workload.peers().iter().copied().filter(here);
        peers.map(|peer| (peer, peer.label())).collect()
    });
    take_turns(repetitions, &mut tables, peers.collect(), |index, peer, table| {
        let (workload, count) = sizes[index];
        let (output, ended) = child(peer, workload, count);
        table.add_lines(peer.label(), &output);
        ended
    });
    tables
}

fn table(workload: Workload, count: usize, node: Option<&str>) -> Table {
    let title = format!("{} timers: {}", thousands(count), workload.title());
    let peers = workload.peers().iter().filter(|&&peer| peer != PeerName::Node || node.is_some());
    let peers = peers.map(|peer| peer.label()).collect();
    let mut table = Table::new(title, peers, PeerName::Floor.label());
    table.references.push(PeerName::Mainspring.label());
    table.notes.push(note(node));
    table
}

/// Measures in a process of its own. Returns what it wrote, and whether it came to its end.
fn child(peer: PeerName, workload: Workload, count: usize) -> (String, bool) {
    let mut command = this_program();
    command.arg("measure").arg(name(peer)).arg(name(workload)).arg(count.to_string());
    output(&mut command, &format!("{} at {workload:?}", peer.label()))
}
