//! Client and server on different processors, where there are enough.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

#[derive(Clone, Copy)]
pub struct Processors {
    pub server: usize,
    pub client: usize,
}

/// Those that this process may use.
fn allowed() -> Vec<usize> {
    let allowed = sched_getaffinity(None).expect("Linux");
    (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect()
}

/// Two processors that this process may use, of different cores if possible.
pub fn two() -> Option<Processors> {
    let mut allowed = allowed().into_iter();
    let server = allowed.next()?;
    let others: Vec<_> = allowed.collect();
    let siblings = siblings(server);
    let other_core = others.iter().find(|processor| !siblings.contains(processor));
    let &client = other_core.or(others.first())?;
    Some(Processors { server, client })
}

/// Two processors for a server, if there are two, and the others for its client; or the same, if the others
/// are less than two.
pub fn two_and_others() -> (Vec<usize>, Vec<usize>) {
    let allowed = allowed();
    let server = two().map_or(allowed.clone(), |two| vec![two.server, two.client]);
    let others: Vec<_> =
        allowed.into_iter().filter(|processor| !server.contains(processor)).collect();
    let client = if others.len() < 2 { server.clone() } else { others };
    (server, client)
}

/// Those that share a core with it, itself among them. None, if that is not known.
fn siblings(processor: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Keeps this thread, and what it starts, on these processors.
pub fn pin_to(processors: &[usize]) {
    let mut set = CpuSet::new();
    processors.iter().for_each(|&processor| set.set(processor));
    sched_setaffinity(None, &set).expect("the processors are allowed");
}
