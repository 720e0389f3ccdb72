//! Tasks: which peer runs which workload, in which order, each in a process of its own.

mod idle;
mod peers;
mod tally;
mod workloads;

use std::process::Command;
use std::thread;

use clap::ValueEnum;

use self::peers::{
    Calloop, CalloopHere, Epoll, Floor, FloorHere, FloorSlot, Libuv, LibuvHere, Mainspring,
    MainspringHere, MainspringPolling, Microtasks, Mio, MioHere, NextTicks, Park, Smol, SmolHere,
    SmolSpawn, SmolYield, Tokio, TokioHere, TokioSelfWake, TokioSpawn, TokioYield, node,
};
use self::workloads::{DESCRIPTORS, chain, create, here, hot, submit, wake_asleep};
use crate::child::{name, output, this_program_path};
use crate::echo::counted::{Tool, describe};
use crate::node::{note, version};
use crate::processors::{pin_to, two};
use crate::table::{Aim, Table, thousands};
use crate::turns::take_turns;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Peer {
    Floor,
    FloorSlot,
    FloorEpoll,
    Mainspring,
    MainspringPolling,
    NextTick,
    Tokio,
    TokioSpawn,
    TokioSelfWake,
    Smol,
    SmolSpawn,
    Calloop,
    Mio,
    Libuv,
    Node,
    NodeNextTick,
}

impl Peer {
    fn label(self, workload: Workload) -> &'static str {
        match (self, workload) {
            (Self::Floor, _) => "floor",
            (Self::FloorSlot, _) => "floor, never sleeps",
            (Self::FloorEpoll, _) => "floor, epoll",
            (Self::Mainspring, Workload::Chain) => "mainspring, microtask",
            (Self::Mainspring, _) => "mainspring",
            (Self::MainspringPolling, _) => "mainspring, with I/O",
            (Self::NextTick, _) => "mainspring, next_tick",
            (Self::Tokio, _) => "tokio",
            (Self::TokioSpawn, _) => "tokio, spawn",
            (Self::TokioSelfWake, _) => "tokio, wakes itself",
            (Self::Smol, _) => "smol",
            (Self::SmolSpawn, _) => "smol, spawn",
            (Self::Calloop, _) => "calloop",
            (Self::Mio, _) => "mio",
            (Self::Libuv, _) => "libuv",
            (Self::Node, _) => "Node",
            (Self::NodeNextTick, _) => "Node, nextTick",
        }
    }

    /// What it runs is a script.
    fn is_node(self) -> bool {
        matches!(self, Self::Node | Self::NodeNextTick)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Workload {
    Submit,
    Here,
    WakeAsleep,
    Hot,
    Chain,
    Idle,
    Create,
}

impl Workload {
    fn title(self, size: usize) -> String {
        match (self, size) {
            (Self::Submit, 1) => "post from another thread".to_owned(),
            (Self::Submit, size) => format!("post from {size} other threads"),
            (Self::Here, size) => {
                format!("post on the loop's own thread, {} at a time", thousands(size))
            }
            (Self::WakeAsleep, 1) => "post to a loop that sleeps, on one processor".to_owned(),
            (Self::WakeAsleep, _) => "post to a loop that sleeps, on another processor".to_owned(),
            (Self::Hot, _) => "two loops that post to each other, back to back".to_owned(),
            (Self::Chain, _) => "a callback that queues the next one".to_owned(),
            (Self::Idle, _) => "a loop that waits for posts, for 1 s".to_owned(),
            (Self::Create, _) => "make a loop, run a task, drop it".to_owned(),
        }
    }

    fn peers(self) -> &'static [Peer] {
        use Peer::{
            Calloop, Floor, FloorEpoll, FloorSlot, Libuv, Mainspring, MainspringPolling, Mio,
            NextTick, Node, NodeNextTick, Smol, SmolSpawn, Tokio, TokioSelfWake, TokioSpawn,
        };
        match self {
            // A script cannot post functions to another thread.
            Self::Submit => &[
                Floor,
                Mainspring,
                MainspringPolling,
                Tokio,
                TokioSpawn,
                Smol,
                SmolSpawn,
                Calloop,
                Mio,
                Libuv,
            ],
            Self::Here => &[Floor, Mainspring, Tokio, Smol, Calloop, Mio, Libuv, Node],
            Self::WakeAsleep => &[
                Floor,
                FloorEpoll,
                Mainspring,
                MainspringPolling,
                Tokio,
                TokioSpawn,
                Smol,
                SmolSpawn,
                Calloop,
                Mio,
                Libuv,
                Node,
            ],
            Self::Hot => &[
                FloorSlot,
                Floor,
                FloorEpoll,
                Mainspring,
                MainspringPolling,
                Tokio,
                TokioSpawn,
                Smol,
                SmolSpawn,
                Calloop,
                Mio,
                Libuv,
                Node,
            ],
            // The others have nothing for it but what was measured before.
            Self::Chain => {
                &[Floor, Mainspring, NextTick, Tokio, TokioSelfWake, Smol, Node, NodeNextTick]
            }
            Self::Idle => {
                &[Floor, Mainspring, MainspringPolling, Tokio, Smol, Calloop, Mio, Libuv, Node]
            }
            Self::Create => {
                &[FloorEpoll, Mainspring, MainspringPolling, Tokio, Smol, Calloop, Mio, Libuv]
            }
        }
    }

    /// With whom the others are compared, the floor first.
    fn references(self) -> [Peer; 3] {
        match self {
            Self::Chain => [Peer::Floor, Peer::Tokio, Peer::Node],
            Self::Hot => [Peer::FloorSlot, Peer::Tokio, Peer::Libuv],
            Self::Create => [Peer::FloorEpoll, Peer::Tokio, Peer::Libuv],
            Self::Submit | Self::Here | Self::WakeAsleep | Self::Idle => {
                [Peer::Floor, Peer::Tokio, Peer::Libuv]
            }
        }
    }

    /// What mainspring is meant not to exceed.
    fn aims(self) -> Vec<Aim> {
        let both = [Peer::Mainspring, Peer::MainspringPolling].map(|peer| peer.label(self));
        let none = |metric| both.map(|peer| Aim { peer, metric, most: 0.0 }).into();
        match self {
            Self::Idle => none(SYSTEM_CALLS),
            Self::Create => none(DESCRIPTORS),
            Self::Submit | Self::Here | Self::WakeAsleep | Self::Hot | Self::Chain => Vec::new(),
        }
    }
}

const SYSTEM_CALLS: &str = "system calls";

/// A workload, its size, and how often it is repeated in one process. The size is of other threads that post, of
/// tasks at a time, or of processors.
type Item = (Workload, usize, usize);

const FULL: &[Item] = &[
    (Workload::Submit, 1, 2_000_000),
    (Workload::Submit, 2, 2_000_000),
    (Workload::Here, 1_000, 2_000),
    (Workload::WakeAsleep, 1, 3_000),
    (Workload::WakeAsleep, 2, 3_000),
    (Workload::Hot, 2, 20_000),
    (Workload::Chain, 1, 3_000_000),
    (Workload::Idle, 1, 1),
    (Workload::Create, 1, 10_000),
];

const QUICK: &[Item] = &[
    (Workload::Submit, 1, 100_000),
    (Workload::Submit, 2, 100_000),
    (Workload::Here, 1_000, 50),
    (Workload::WakeAsleep, 1, 100),
    (Workload::WakeAsleep, 2, 100),
    (Workload::Hot, 2, 1_000),
    (Workload::Chain, 1, 100_000),
    (Workload::Idle, 1, 1),
    (Workload::Create, 1, 500),
];

/// Runs one workload with one peer, in this process. For an idle loop the size is of milliseconds.
pub fn measure(peer: Peer, workload: Workload, size: usize, rounds: usize) {
    macro_rules! with {
        ($peer:ty) => {
            match workload {
                Workload::Submit => submit::<$peer>(size, rounds),
                Workload::WakeAsleep => wake_asleep::<$peer>(size, rounds),
                Workload::Hot => hot::<$peer>(rounds),
                Workload::Idle => workloads::idle::<$peer>(size),
                Workload::Create => create::<$peer>(rounds),
                Workload::Here | Workload::Chain => unreachable!("are measured below"),
            }
        };
    }
    match (workload, peer) {
        (Workload::Here, Peer::Floor) => here::<FloorHere>(size, rounds),
        (Workload::Here, Peer::Mainspring) => here::<MainspringHere>(size, rounds),
        (Workload::Here, Peer::Tokio) => here::<TokioHere>(size, rounds),
        (Workload::Here, Peer::Smol) => here::<SmolHere>(size, rounds),
        (Workload::Here, Peer::Calloop) => here::<CalloopHere>(size, rounds),
        (Workload::Here, Peer::Mio) => here::<MioHere>(size, rounds),
        (Workload::Here, Peer::Libuv) => here::<LibuvHere>(size, rounds),
        (Workload::Chain, Peer::Floor) => chain::<FloorHere>(rounds),
        (Workload::Chain, Peer::Mainspring) => chain::<Microtasks>(rounds),
        (Workload::Chain, Peer::NextTick) => chain::<NextTicks>(rounds),
        (Workload::Chain, Peer::Tokio) => chain::<TokioYield>(rounds),
        (Workload::Chain, Peer::TokioSelfWake) => chain::<TokioSelfWake>(rounds),
        (Workload::Chain, Peer::Smol) => chain::<SmolYield>(rounds),
        (Workload::Here | Workload::Chain, _) => panic!("{peer:?} does not do this here"),
        (_, Peer::Floor) => with!(Floor<Park>),
        (_, Peer::FloorSlot) => with!(FloorSlot),
        (_, Peer::FloorEpoll) => with!(Floor<Epoll>),
        (_, Peer::Mainspring) => with!(Mainspring),
        (_, Peer::MainspringPolling) => with!(MainspringPolling),
        (_, Peer::Tokio) => with!(Tokio),
        (_, Peer::TokioSpawn) => with!(TokioSpawn),
        (_, Peer::Smol) => with!(Smol),
        (_, Peer::SmolSpawn) => with!(SmolSpawn),
        (_, Peer::Calloop) => with!(Calloop),
        (_, Peer::Mio) => with!(Mio),
        (_, Peer::Libuv) => with!(Libuv),
        (_, Peer::NextTick | Peer::TokioSelfWake | Peer::Node | Peer::NodeNextTick) => {
            panic!("{peer:?} does not do this here")
        }
    }
}

/// Runs everything about tasks, `repetitions` times, the peers taking turns.
pub fn tasks(repetitions: usize, quick: bool) -> Vec<Table> {
    let items = if quick { QUICK } else { FULL };
    let mut tables: Vec<_> =
        items.iter().map(|&(workload, size, _)| table(workload, size)).collect();
    let peers = present(&mut tables, items);
    take_turns(repetitions, &mut tables, peers, |index, peer, table| {
        run(peer, items[index], table)
    });
    tables
}

/// Who can be measured here, in which table. A note says why somebody cannot.
fn present(tables: &mut [Table], items: &[Item]) -> Vec<Vec<(Peer, &'static str)>> {
    let node = version();
    let traces = Tool::Strace.works();
    let has_two = two().is_some();
    let present = tables.iter_mut().zip(items).map(|(table, &(workload, size, _))| {
        if workload.peers().contains(&Peer::Node) {
            table.notes.push(note(node.as_deref()));
        }
        if matches!(workload, Workload::WakeAsleep | Workload::Hot) && size == 2 && !has_two {
            table.notes.push("there is only one processor, which both share".to_owned());
        }
        if workload == Workload::Idle && !traces {
            table.notes.push(Tool::Strace.absent().to_owned());
            return Vec::new();
        }
        let here = |peer: &Peer| !peer.is_node() || node.is_some();
        let peers = workload.peers().iter().copied().filter(here);
        peers.map(|peer| (peer, peer.label(workload))).collect()
    });
    present.collect()
}

fn table(workload: Workload, size: usize) -> Table {
    let peers = workload.peers().iter().map(|peer| peer.label(workload)).collect();
    let references = workload.references().map(|peer| peer.label(workload));
    let mut table = Table::new(workload.title(size), peers, references[0]);
    table.references = references.into();
    table.ranked = true;
    table.aims = workload.aims();
    table
}

/// What measures once, in a process of its own.
fn command(peer: Peer, (workload, size, rounds): Item) -> Vec<String> {
    if peer.is_node() {
        let by = if peer == Peer::NodeNextTick { "next-tick" } else { "microtask" };
        let processors = match (workload, two()) {
            (Workload::WakeAsleep, Some(two)) if size == 2 => vec![two.server, two.client],
            (Workload::Hot, Some(two)) => vec![two.server, two.client],
            _ => Vec::new(),
        };
        return node::command(&name(workload), size, rounds, by, &processors);
    }
    let command = [this_program_path(), "measure-tasks".to_owned(), name(peer), name(workload)];
    command.into_iter().chain([size.to_string(), rounds.to_string()]).collect()
}

/// Measures once. Returns whether it came to its end.
fn run(peer: Peer, item: Item, table: &mut Table) -> bool {
    let (workload, size, rounds) = item;
    let label = peer.label(workload);
    if workload == Workload::Idle {
        let idle = |milliseconds| command(peer, (workload, milliseconds, rounds));
        let Some(counts) = idle::system_calls(idle, label) else { return false };
        table.add(label, SYSTEM_CALLS, counts.values().fold(0.0, |sum, count| sum + count));
        if !counts.is_empty() {
            table.notes.push(format!("{label}: {}", describe(&counts)));
        }
        return true;
    }
    let command = command(peer, item);
    let mut process = Command::new(&command[0]);
    process.args(&command[1..]);
    // A process has the processors of the thread that starts it. The other peers see to it themselves.
    let processors = match (peer.is_node(), two()) {
        (true, Some(two)) if workload == Workload::WakeAsleep && size == 1 => vec![two.server],
        _ => Vec::new(),
    };
    let what = format!("{label} at {workload:?}");
    let (lines, ended) = thread::scope(|scope| {
        let starter = scope.spawn(|| {
            if !processors.is_empty() {
                pin_to(&processors);
            }
            output(&mut process, &what)
        });
        starter.join().expect("does not panic")
    });
    table.add_lines(label, &lines);
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_does_what_it_is_measured_for() {
        let has_node = version().is_some();
        for &(workload, size, _) in QUICK {
            for &peer in workload.peers() {
                let item = (workload, size.min(100), 20);
                if !peer.is_node() {
                    measure(peer, workload, item.1, item.2);
                } else if has_node {
                    let command = command(peer, item);
                    let (lines, ended) =
                        output(Command::new(&command[0]).args(&command[1..]), "Node");
                    assert!(ended && (workload == Workload::Idle || lines.contains('\t')));
                }
            }
        }
    }
}
