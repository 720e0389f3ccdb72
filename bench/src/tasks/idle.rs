//! How many system calls a loop makes while it has nothing to do, counted by strace.

use std::process::Command;

use crate::child::output;
use crate::echo::counted::{Counts, Tool};

/// How long a loop is idle, in milliseconds, in the shorter and in the longer of two runs. Both begin and end in the
/// same way, and by the shorter time the loop sleeps.
const SHORT: usize = 300;
const LONG: usize = SHORT + 1_000;

/// Those of one second: the difference between the two runs. `None` if it takes too long.
///
/// The command is that of a loop that is idle for as many milliseconds.
pub fn system_calls(command: impl Fn(usize) -> Vec<String>, label: &str) -> Option<Counts> {
    let few = run(&command(SHORT), label)?;
    let mut counts = run(&command(LONG), label)?;
    for (name, count) in &mut counts {
        *count -= few.get(name).unwrap_or(&0.0);
    }
    counts.retain(|_, count| *count != 0.0);
    Some(counts)
}

fn run(command: &[String], label: &str) -> Option<Counts> {
    let file = std::env::temp_dir().join(format!("mainspring-bench-{}", std::process::id()));
    let tool = Tool::Strace.command(file.to_str().expect("its path is text"));
    let mut traced = Command::new(&tool[0]);
    traced.args(&tool[1..]).args(command);
    let (_, ended) = output(&mut traced, &format!("{label}, idle"));
    let counted = std::fs::read_to_string(&file);
    // A tool that was stopped may have begun to write.
    let _ = std::fs::remove_file(&file);
    ended.then(|| Tool::Strace.parse(&counted.expect("the tool writes it")))
}
