//! Node, as a program that may be there.

use std::process::{Command, Stdio};

/// Which version there is, if there is one.
pub fn version() -> Option<String> {
    let output = Command::new("node").arg("--version").stderr(Stdio::null()).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| version.trim().to_owned())
}

/// What a table says about it.
pub fn note(version: Option<&str>) -> String {
    match version {
        Some(version) => format!("Node is {version}"),
        None => "Node is not measured: there is no `node`".to_owned(),
    }
}
