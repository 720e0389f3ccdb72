//! Client and server on different processors, where there are two.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

#[derive(Clone, Copy)]
pub struct Processors {
    pub server: usize,
    pub client: usize,
}

/// Two processors that this process may use, of different cores if possible.
pub fn two() -> Option<Processors> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor));
    let server = allowed.next()?;
    let others: Vec<_> = allowed.collect();
    let siblings = siblings(server);
    let other_core = others.iter().find(|processor| !siblings.contains(processor));
    let &client = other_core.or(others.first())?;
    Some(Processors { server, client })
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

/// Keeps this thread, and what it starts, on a processor.
pub fn pin_to(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).expect("the processor is allowed");
}
