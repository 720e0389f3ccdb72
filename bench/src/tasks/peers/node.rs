//! Node: a script, in a process of its own, which writes its figures as the others do.

/// The command that runs a workload. `by` is what a callback is queued with, where there are several; `processors` those
/// of the two threads, if they are to have one each.
pub fn command(
    workload: &str,
    size: usize,
    rounds: usize,
    by: &str,
    processors: &[usize],
) -> Vec<String> {
    let script = include_str!("node.js");
    let (size, rounds) = (size.to_string(), rounds.to_string());
    let command = ["node", "-e", script, "--", workload, &size, &rounds, by].map(str::to_owned);
    command.into_iter().chain(processors.iter().map(usize::to_string)).collect()
}
