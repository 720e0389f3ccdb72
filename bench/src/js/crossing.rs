//! What a call costs that leaves the engine, and one that enters it.

use std::process::Command;

use super::runtime::root;
use crate::child;
use crate::table::{Table, progress};

const LABEL: &str = "mainspring";

/// In a process of its own, so that no other figure disturbs it.
pub fn table(repetitions: usize) -> Table {
    let mut table = Table::new("crossing".into(), vec![LABEL], LABEL);
    table.notes.push("aims: at most 120 ns to Rust, and 80 ns to JavaScript".into());
    for repetition in 1..=repetitions {
        progress(&format!("{repetition} of {repetitions}: crossing"));
        let mut command = Command::new("cargo");
        command
            .args(["run", "--quiet", "--release", "--package", "mainspring-quickjs"])
            .args(["--example", "crossing"])
            .current_dir(root());
        table.add_lines(LABEL, &child::output(&mut command, "crossing").0);
    }
    table
}
