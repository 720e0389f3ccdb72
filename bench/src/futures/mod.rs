//! Futures on one thread: which peer runs which workload, in which order, each in a process of its own.

mod peers;
mod workloads;

use clap::ValueEnum;

use self::peers::{LocalPool, Mainspring, MainspringPolling, Smol, TokioLocal, TokioSet};
use self::workloads::{ping_pong, self_wake, sleeping, spawn_and_join, wake_asleep, yielding};
use crate::child::{name, output, this_program};
use crate::table::{Table, thousands};
use crate::turns::take_turns;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Peer {
    Mainspring,
    MainspringPolling,
    TokioSet,
    TokioLocal,
    Smol,
    LocalPool,
}

impl Peer {
    fn label(self) -> &'static str {
        match self {
            Self::Mainspring => "mainspring",
            Self::MainspringPolling => "mainspring, with I/O",
            Self::TokioSet => "tokio",
            Self::TokioLocal => "tokio, local",
            Self::Smol => "smol",
            Self::LocalPool => "futures, LocalPool",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    SpawnAndJoin,
    SelfWake,
    PingPong,
    Yielding,
    WakeAsleep,
    Sleeping,
}

impl Workload {
    fn title(self, size: usize) -> String {
        let size = thousands(size);
        match self {
            Self::SpawnAndJoin => format!("spawn and join, {size} at a time"),
            Self::SelfWake => "a future that wakes itself".to_owned(),
            Self::PingPong => "two futures that wake each other".to_owned(),
            Self::Yielding => format!("yield, {size} at a time"),
            Self::WakeAsleep => "wake a loop that sleeps, from another thread".to_owned(),
            Self::Sleeping => format!("{size} futures that sleep, for 20 to 120 ms"),
        }
    }

    fn peers(self) -> &'static [Peer] {
        use Peer::{LocalPool, Mainspring, MainspringPolling, Smol, TokioLocal, TokioSet};
        match self {
            Self::SpawnAndJoin | Self::SelfWake | Self::PingPong => {
                &[Mainspring, TokioSet, TokioLocal, Smol, LocalPool]
            }
            Self::WakeAsleep => {
                &[Mainspring, MainspringPolling, TokioSet, TokioLocal, Smol, LocalPool]
            }
            // LocalPool has no functions for it.
            Self::Yielding | Self::Sleeping => {
                &[Mainspring, MainspringPolling, TokioSet, TokioLocal, Smol]
            }
        }
    }
}

/// A workload, its size, and how often it is repeated in one process.
type Item = (Workload, usize, usize);

const FULL: &[Item] = &[
    (Workload::SpawnAndJoin, 1, 1_000_000),
    (Workload::SpawnAndJoin, 1_000, 1_000),
    (Workload::SelfWake, 1, 3_000_000),
    (Workload::PingPong, 2, 1_000_000),
    (Workload::Yielding, 1, 500_000),
    (Workload::Yielding, 100, 10_000),
    (Workload::WakeAsleep, 1, 2_000),
    (Workload::Sleeping, 10_000, 8),
];

const QUICK: &[Item] = &[
    (Workload::SpawnAndJoin, 1, 20_000),
    (Workload::SpawnAndJoin, 1_000, 20),
    (Workload::SelfWake, 1, 50_000),
    (Workload::PingPong, 2, 20_000),
    (Workload::Yielding, 1, 20_000),
    (Workload::Yielding, 100, 200),
    (Workload::WakeAsleep, 1, 100),
    (Workload::Sleeping, 10_000, 1),
];

/// Runs one workload with one peer, in this process.
pub fn measure(peer: Peer, workload: Workload, size: usize, rounds: usize) {
    macro_rules! with {
        ($peer:ty) => {
            match workload {
                Workload::SpawnAndJoin => spawn_and_join::<$peer>(size, rounds),
                Workload::SelfWake => self_wake::<$peer>(rounds),
                Workload::PingPong => ping_pong::<$peer>(rounds),
                Workload::Yielding => yielding::<$peer>(size, rounds),
                Workload::WakeAsleep => wake_asleep::<$peer>(rounds),
                Workload::Sleeping => sleeping::<$peer>(size, rounds),
            }
        };
    }
    match (peer, workload) {
        (Peer::Mainspring, _) => with!(Mainspring),
        (Peer::MainspringPolling, _) => with!(MainspringPolling),
        (Peer::TokioSet, _) => with!(TokioSet),
        (Peer::TokioLocal, _) => with!(TokioLocal),
        (Peer::Smol, _) => with!(Smol),
        (Peer::LocalPool, Workload::SpawnAndJoin) => spawn_and_join::<LocalPool>(size, rounds),
        (Peer::LocalPool, Workload::SelfWake) => self_wake::<LocalPool>(rounds),
        (Peer::LocalPool, Workload::PingPong) => ping_pong::<LocalPool>(rounds),
        (Peer::LocalPool, Workload::WakeAsleep) => wake_asleep::<LocalPool>(rounds),
        (Peer::LocalPool, Workload::Yielding | Workload::Sleeping) => panic!("it cannot"),
    }
}

/// Runs everything about futures, `repetitions` times, the peers taking turns.
pub fn futures(repetitions: usize, quick: bool) -> Vec<Table> {
    let items = if quick { QUICK } else { FULL };
    let mut tables: Vec<_> =
        items.iter().map(|&(workload, size, _)| table(workload, size)).collect();
    let peers = items
        .iter()
        .map(|(workload, ..)| workload.peers().iter().map(|&peer| (peer, peer.label())).collect())
        .collect();
    take_turns(repetitions, &mut tables, peers, |index, peer, table| {
        run(peer, items[index], table)
    });
    tables
}

fn table(workload: Workload, size: usize) -> Table {
    let peers = workload.peers().iter().map(|peer| peer.label()).collect();
    let mut table = Table::new(workload.title(size), peers, Peer::TokioSet.label());
    table.references.extend([Peer::TokioLocal.label(), Peer::Smol.label()]);
    table.ranked = true;
    table
}

/// Measures once, in a process of its own. Returns whether it came to its end.
fn run(peer: Peer, (workload, size, rounds): Item, table: &mut Table) -> bool {
    let mut command = this_program();
    command.arg("measure-futures").arg(name(peer)).arg(name(workload));
    command.args([size.to_string(), rounds.to_string()]);
    let (output, ended) = output(&mut command, &format!("{} at {workload:?}", peer.label()));
    table.add_lines(peer.label(), &output);
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_does_what_it_is_measured_for() {
        for &(workload, size, _) in QUICK {
            for &peer in workload.peers() {
                measure(peer, workload, size.min(100), 2);
            }
        }
    }
}
