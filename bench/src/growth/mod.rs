//! Cost against population: what one operation costs when there are few, and when there are a million. A curve
//! that is flat on logarithmic axes belongs to a loop that does not care.

mod bends;
mod descriptors;
mod promises;
mod shown;
mod tasks;
mod timers;

use std::collections::HashSet;
use std::time::Duration;

use clap::ValueEnum;

use crate::child::{name, output, this_program};
use crate::peers::{Floor, Libuv, Mainspring, TokioTask};
use crate::table::{LIMIT, Table, progress, thousands};

pub use self::bends::{Curve, curves, json, print as print_bends};
pub use self::shown::print;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Peer {
    Floor,
    Mainspring,
    Tokio,
    Libuv,
}

impl Peer {
    fn label(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Mainspring => "mainspring",
            Self::Tokio => "tokio",
            Self::Libuv => "libuv",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Workload {
    /// Timers are set, and cancelled in a random order.
    SetAndCancel,
    /// Timers are set, and fire when all are due.
    Fire,
    /// One of many descriptors is ready, again and again.
    Descriptors,
    /// Tasks are submitted, then run.
    Tasks,
    /// Promises are made and given a handler, then resolved.
    Promises,
}

/// What is measured of a workload: the name of its curve, and its unit.
type Figure = (&'static str, &'static str);

const INSERT: Figure = ("timers: insert", "ns per timer");
const CANCEL: Figure = ("timers: cancel", "ns per timer");
const FIRE: Figure = ("timers: fire", "ns per timer");
const REGISTER: Figure = ("descriptors: register", "ns per descriptor");
const EVENT: Figure = ("descriptors: an event", "ns per event");
const UNREGISTER: Figure = ("descriptors: unregister", "ns per descriptor");
const TASKS: Figure = ("tasks: submit and run", "ns per task");
const PROMISES: Figure = ("promises: make and settle", "ns per promise");

/// What is done to the largest population at least, and to smaller ones in several rounds.
const OPERATIONS: usize = 200_000;
const FEW_OPERATIONS: usize = 10_000;

/// Steps of the square root of ten.
const POPULATIONS: [usize; 7] = [1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000];
const DESCRIPTORS: [usize; 7] = [100, 316, 1_000, 3_162, 10_000, 31_623, 50_000];
const QUICK: usize = 3;

impl Workload {
    const ALL: [Self; 5] =
        [Self::SetAndCancel, Self::Fire, Self::Descriptors, Self::Tasks, Self::Promises];

    fn figures(self) -> &'static [Figure] {
        match self {
            Self::SetAndCancel => &[INSERT, CANCEL],
            Self::Fire => &[FIRE],
            Self::Descriptors => &[REGISTER, EVENT, UNREGISTER],
            Self::Tasks => &[TASKS],
            Self::Promises => &[PROMISES],
        }
    }

    fn peers(self) -> &'static [Peer] {
        use Peer::{Floor, Libuv, Mainspring, Tokio};
        match self {
            Self::SetAndCancel | Self::Fire => &[Floor, Mainspring, Tokio, Libuv],
            Self::Descriptors | Self::Tasks | Self::Promises => &[Floor, Mainspring, Tokio],
        }
    }

    fn populations(self, quick: bool) -> Vec<usize> {
        let all = match self {
            Self::Descriptors => descriptors::allowed(&DESCRIPTORS),
            _ => POPULATIONS.to_vec(),
        };
        let count = if quick { QUICK.min(all.len()) } else { all.len() };
        all[..count].to_vec()
    }
}

/// Runs one workload with one peer, in this process, for at least as many operations.
pub fn measure(peer: Peer, workload: Workload, population: usize, operations: usize) {
    let rounds = operations.div_ceil(population);
    macro_rules! timers {
        ($function:ident) => {
            match peer {
                Peer::Mainspring => timers::$function::<Mainspring>(population, rounds),
                Peer::Tokio => timers::$function::<TokioTask>(population, rounds),
                Peer::Libuv => timers::$function::<Libuv>(population, rounds),
                Peer::Floor => timers::$function::<Floor>(population, rounds),
            }
        };
    }
    match workload {
        Workload::SetAndCancel => timers!(set_and_cancel),
        Workload::Fire => timers!(fire),
        Workload::Descriptors => descriptors::measure(peer, population, operations),
        Workload::Tasks => tasks::measure(peer, population, rounds),
        Workload::Promises => promises::measure(peer, population, rounds),
    }
}

/// Hands a figure to the process that compares them.
fn report((name, _): Figure, all: Duration, count: usize) {
    println!("{name}\t{}", all.as_nanos() as f64 / count as f64);
}

/// Runs everything about growth, `repetitions` times, the peers taking turns.
pub fn growth(repetitions: usize, quick: bool) -> Vec<Table> {
    let mut tables: Vec<_> = Workload::ALL.into_iter().flat_map(tables_of).collect();
    let mut stopped = HashSet::new();
    for repetition in 1..=repetitions {
        for workload in Workload::ALL {
            for population in workload.populations(quick) {
                for &peer in workload.peers() {
                    if stopped.contains(&(workload, peer)) {
                        continue;
                    }
                    progress(&format!(
                        "{repetition} of {repetitions}: growth, {}, {}, {}",
                        name(workload),
                        thousands(population),
                        peer.label()
                    ));
                    if !run(peer, workload, population, quick, &mut tables) {
                        stopped.insert((workload, peer));
                    }
                }
            }
        }
    }
    progress("");
    tables
}

/// One for each figure; its metrics are the populations.
fn tables_of(workload: Workload) -> Vec<Table> {
    let make = |&(title, unit): &Figure| {
        let peers = workload.peers().iter().map(|peer| peer.label()).collect();
        let mut table = Table::new(title.to_owned(), peers, Peer::Mainspring.label());
        table.growth = Some(unit);
        if workload == Workload::Descriptors {
            table.notes.push(descriptors::limit());
        }
        table
    };
    workload.figures().iter().map(make).collect()
}

/// Measures once, in a process of its own. Returns whether it came to its end.
fn run(
    peer: Peer,
    workload: Workload,
    population: usize,
    quick: bool,
    tables: &mut [Table],
) -> bool {
    let operations = if quick { FEW_OPERATIONS } else { OPERATIONS };
    let mut command = this_program();
    command.arg("measure-growth").arg(name(peer)).arg(name(workload));
    command.args([population.to_string(), operations.to_string()]);
    let (output, ended) = output(&mut command, &format!("{} at {workload:?}", peer.label()));
    for line in output.lines() {
        let (title, value) = line.split_once('\t').expect("a figure and its value");
        let table = tables.iter_mut().find(|table| table.title == title).expect("is known");
        table.add(peer.label(), &population.to_string(), value.parse().expect("a number"));
    }
    if !ended {
        let note = format!("{} was stopped after {LIMIT:?}", peer.label());
        let titles = workload.figures().iter().map(|figure| figure.0);
        for title in titles {
            let table = tables.iter_mut().find(|table| table.title == title).expect("is known");
            table.notes.push(note.clone());
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_does_what_it_is_measured_for() {
        for workload in Workload::ALL {
            for &peer in workload.peers() {
                measure(peer, workload, 50, 200);
            }
        }
    }
}
