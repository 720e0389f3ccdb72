//! Node: a script, in a process of its own.

use std::process::Command;

use serde_json::Value;

use crate::child;

/// Runs as many rounds of a workload. Returns its figures by name; or nothing if it takes too long.
pub fn run(workload: &str, size: usize, rounds: usize) -> Option<Value> {
    let mut command = Command::new("node");
    command.args(["--expose-gc", "-e", include_str!("node.js"), "--", workload]);
    command.args([size.to_string(), rounds.to_string()]);
    let (output, ended) = child::output(&mut command, &format!("Node at {workload}"));
    ended.then(|| serde_json::from_str(&output).expect("JSON"))
}
