//! Promises and blocking work: which peer runs which workload, in which order, each in a process of its own.

mod peers;
mod workloads;

use clap::ValueEnum;
use serde_json::Value;

use self::peers::{
    Floor, FloorPool, LibuvWork, MainspringDefault, MainspringLocal, MainspringOffload,
    MainspringShared, Smol, THREADS, Tokio, TokioDefault, node,
};
use self::workloads::{
    ALLOCATED, ALLOCATIONS, BUILDING, INPUT, PASSED, RESIDENT, SETTLING, SINGLE, TOGETHER, all,
    chain, groups, offload, pending, single,
};
use crate::child::{name, output, this_program};
use crate::node::{note, version};
use crate::table::{Aim, Table, thousands};
use crate::turns::take_turns;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Peer {
    Floor,
    MainspringLocal,
    MainspringShared,
    MainspringDefault,
    Tokio,
    TokioDefault,
    Smol,
    SmolDefault,
    Libuv,
    Node,
}

impl Peer {
    fn label(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::MainspringLocal => "mainspring, LocalPromise",
            Self::MainspringShared => "mainspring, Promise",
            Self::MainspringDefault => "mainspring, default limit",
            Self::Tokio => "tokio",
            Self::TokioDefault => "tokio, default limit",
            Self::Smol => "smol",
            Self::SmolDefault => "smol, default limit",
            Self::Libuv => "libuv",
            Self::Node => "Node",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    Single,
    Chain,
    All,
    Pending,
    Offload,
}

impl Workload {
    fn title(self, size: usize) -> String {
        let size = thousands(size);
        match self {
            Self::Single => "a promise that is made, given a handler, and resolved".to_owned(),
            Self::Chain => format!("a chain of {size} links"),
            Self::All => format!("all of {size} promises"),
            Self::Pending => format!("memory of {size} promises that wait, each with a handler"),
            Self::Offload => format!("blocking work, {size} in flight, {THREADS} threads"),
        }
    }

    fn peers(self) -> &'static [Peer] {
        use Peer::{
            Floor, Libuv, MainspringDefault, MainspringLocal, MainspringShared, Node, Smol,
            SmolDefault, Tokio, TokioDefault,
        };
        match self {
            Self::Single | Self::Chain | Self::All | Self::Pending => {
                &[Floor, MainspringLocal, MainspringShared, Tokio, Smol, Node]
            }
            Self::Offload => &[
                Floor,
                MainspringShared,
                Tokio,
                Smol,
                Libuv,
                MainspringDefault,
                TokioDefault,
                SmolDefault,
            ],
        }
    }

    /// With whom the others are compared.
    fn references(self) -> Vec<Peer> {
        match self {
            Self::Single | Self::Chain | Self::All | Self::Pending => {
                vec![Peer::Floor, Peer::Tokio, Peer::Node]
            }
            Self::Offload => vec![Peer::Floor, Peer::Tokio, Peer::Libuv],
        }
    }

    /// What mainspring is meant not to exceed.
    fn aims(self, size: usize) -> Vec<Aim> {
        let aim = |peer: Peer, metric, most| Aim { peer: peer.label(), metric, most };
        match self {
            Self::Chain => vec![
                aim(Peer::MainspringLocal, TOGETHER, 120.0),
                aim(Peer::MainspringShared, TOGETHER, 180.0),
                aim(Peer::MainspringLocal, SETTLING, 35.0),
                aim(Peer::MainspringLocal, ALLOCATIONS, 1.0),
                aim(Peer::MainspringShared, ALLOCATIONS, 1.0),
            ],
            Self::Offload if size > 1 => vec![aim(Peer::MainspringShared, PASSED, 0.5)],
            Self::Single | Self::All | Self::Pending | Self::Offload => Vec::new(),
        }
    }
}

/// A workload, its size, and how often it is repeated in one process.
type Item = (Workload, usize, usize);

const FULL: &[Item] = &[
    (Workload::Single, 1_000, 1_000),
    (Workload::Chain, 1_000, 1_000),
    (Workload::Chain, 1_000_000, 4),
    (Workload::All, 4, 1_000),
    (Workload::All, 10_000, 100),
    (Workload::Pending, 1_000_000, 1),
    (Workload::Offload, 256, 300_000),
    (Workload::Offload, 1, 20_000),
];

const QUICK: &[Item] = &[
    (Workload::Single, 1_000, 100),
    (Workload::Chain, 1_000, 100),
    (Workload::Chain, 1_000_000, 1),
    (Workload::All, 4, 100),
    (Workload::All, 10_000, 10),
    (Workload::Pending, 100_000, 1),
    (Workload::Offload, 256, 30_000),
    (Workload::Offload, 1, 2_000),
];

/// Runs one workload with one peer, in this process.
pub fn measure(peer: Peer, workload: Workload, size: usize, rounds: usize) {
    macro_rules! with {
        ($peer:ty) => {
            match workload {
                Workload::Single => single::<$peer>(size, rounds),
                Workload::Chain => chain::<$peer>(size, rounds),
                Workload::All => all::<$peer>(size, rounds),
                Workload::Pending => pending::<$peer>(size),
                Workload::Offload => unreachable!("is measured below"),
            }
        };
    }
    match (peer, workload) {
        (Peer::Floor, Workload::Offload) => offload::<FloorPool>(size, rounds),
        (Peer::MainspringShared, Workload::Offload) => offload::<MainspringOffload>(size, rounds),
        (Peer::Tokio, Workload::Offload) => offload::<Tokio>(size, rounds),
        (Peer::MainspringDefault, Workload::Offload) => offload::<MainspringDefault>(size, rounds),
        (Peer::TokioDefault, Workload::Offload) => offload::<TokioDefault>(size, rounds),
        (Peer::Smol | Peer::SmolDefault, Workload::Offload) => offload::<Smol>(size, rounds),
        (Peer::Libuv, Workload::Offload) => offload::<LibuvWork>(size, rounds),
        (Peer::Floor, _) => with!(Floor),
        (Peer::MainspringLocal, _) if workload != Workload::Offload => with!(MainspringLocal),
        (Peer::MainspringShared, _) => with!(MainspringShared),
        (Peer::Tokio, _) => with!(Tokio),
        (Peer::Smol, _) => with!(Smol),
        _ => panic!("{} does not do this here", peer.label()),
    }
}

/// Runs everything about promises, `repetitions` times, the peers taking turns.
pub fn promises(repetitions: usize, quick: bool) -> Vec<Table> {
    let items = if quick { QUICK } else { FULL };
    let mut tables: Vec<_> =
        items.iter().map(|&(workload, size, _)| table(workload, size)).collect();
    let node = version();
    for (table, (workload, ..)) in tables.iter_mut().zip(items) {
        if workload.peers().contains(&Peer::Node) {
            table.notes.push(note(node.as_deref()));
        }
    }
    let is_here = |peer: &Peer| *peer != Peer::Node || node.is_some();
    let peers = items
        .iter()
        .map(|(workload, ..)| {
            let here = workload.peers().iter().copied().filter(is_here);
            here.map(|peer| (peer, peer.label())).collect()
        })
        .collect();
    take_turns(repetitions, &mut tables, peers, |index, peer, table| {
        run(peer, items[index], table)
    });
    tables
}

fn table(workload: Workload, size: usize) -> Table {
    let peers = workload.peers().iter().map(|peer| peer.label()).collect();
    let mut table = Table::new(workload.title(size), peers, Peer::Floor.label());
    table.references = workload.references().into_iter().map(Peer::label).collect();
    table.ranked = true;
    table.aims = workload.aims(size);
    table
}

/// Measures once, in a process of its own. Returns whether it came to its end.
fn run(peer: Peer, item: Item, table: &mut Table) -> bool {
    let (workload, size, rounds) = item;
    if peer == Peer::Node {
        let Some(figures) = node::run(&name(workload), size, rounds) else { return false };
        for (metric, value) in node_figures(item, &figures) {
            table.add(peer.label(), metric, value);
        }
        return true;
    }
    let mut command = this_program();
    command.arg("measure-promises").arg(name(peer)).arg(name(workload));
    command.args([size.to_string(), rounds.to_string()]);
    if peer == Peer::Smol {
        command.env("BLOCKING_MAX_THREADS", THREADS.to_string());
    }
    let (output, ended) = output(&mut command, &format!("{} at {workload:?}", peer.label()));
    table.add_lines(peer.label(), &output);
    ended
}

/// What the others report themselves, from what Node measured.
fn node_figures(item: Item, figures: &Value) -> Vec<(&'static str, f64)> {
    let (workload, size, rounds) = item;
    let figure = |name| figures[name].as_f64().expect("a number");
    if workload == Workload::Pending {
        let of = |name| figure(name) / size as f64;
        return vec![(ALLOCATED, of("allocated")), (RESIDENT, of("resident"))];
    }
    let [all, building, settling] = ["all", "building", "settling"].map(figure);
    let of = |nanoseconds: f64, count: usize| nanoseconds / (count * rounds) as f64;
    match workload {
        Workload::Single => vec![(SINGLE, of(all, size))],
        Workload::Chain => vec![
            (TOGETHER, of(building + settling, size)),
            (SETTLING, of(settling, size)),
            (BUILDING, of(building, size)),
        ],
        Workload::All => vec![(INPUT, of(all, groups(size) * size))],
        Workload::Pending | Workload::Offload => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_does_what_it_is_measured_for() {
        for &workload in Workload::value_variants() {
            for &peer in workload.peers() {
                match peer {
                    Peer::Node if version().is_none() => {}
                    Peer::Node => assert!(node::run(&name(workload), 10, 2).is_some()),
                    _ => measure(peer, workload, 10, 100),
                }
            }
        }
    }
}
