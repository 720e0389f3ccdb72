//! Node: a script, in a process of its own, which writes its figures as the others do.

/// The command that runs a workload. `by` is what a callback is queued with, where there are several.
pub fn command(workload: &str, size: usize, rounds: usize, by: &str) -> Vec<String> {
    let script = include_str!("node.js");
    let (size, rounds) = (size.to_string(), rounds.to_string());
    ["node", "-e", script, "--", workload, &size, &rounds, by].map(str::to_owned).to_vec()
}
