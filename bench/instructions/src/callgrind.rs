//! Callgrind, which counts.

use std::process::Command;

/// How many instructions the part of a workload takes that is to be counted, in a process of its own.
pub fn instructions(workload: &str) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=mainspring_counted"])
        .arg("--callgrind-out-file=/dev/null")
        .arg(program)
        .arg(workload)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.parse().ok());
    match collected {
        Some(collected) if collected > 0 && output.status.success() => Ok(collected),
        _ => Err(format!("{workload}: {}\n{said}", output.status)),
    }
}
