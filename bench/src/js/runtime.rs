//! A runtime as a program.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::child;

/// A program that runs scripts.
pub struct Runtime {
    pub label: &'static str,
    /// Whether it has a loop. The floor is an engine alone.
    pub waits: bool,
    command: Vec<String>,
}

/// Where the workspace of the command is.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Those that there are: our engine without a loop, our command, built for this unless `MAINSPRING` names another build,
/// and Node, also without machine code made from scripts, which QuickJS does not make either.
pub fn all() -> Vec<Runtime> {
    let path = |path: &str| root().join(path).to_str().expect("a path that is text").to_owned();
    build(&["mainspring-quickjs", "--example", "crossing", "--example", "bare"]);
    let ours = std::env::var("MAINSPRING").unwrap_or_else(|_| {
        build(&["mainspring-cli"]);
        path("target/release/mainspring")
    });
    let runtime = |label, waits, command| Runtime { label, waits, command };
    vec![
        runtime("floor, QuickJS alone", false, vec![path("target/release/examples/bare")]),
        runtime("mainspring", true, vec![ours, "run".into()]),
        runtime("node", true, vec!["node".into()]),
        runtime("node, jitless", true, vec!["node".into(), "--jitless".into()]),
    ]
}

fn build(what: &[&str]) {
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--release", "--package"])
        .args(what)
        .current_dir(root())
        .status()
        .expect("cargo is there");
    assert!(built.success(), "{what:?} is built");
}

/// Puts a script into a file.
pub fn script(name: &str, source: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("mainspring-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for scripts");
    let path = directory.join(format!("{}.cjs", name.replace(|c: char| !c.is_alphanumeric(), "-")));
    std::fs::write(&path, source).expect("a file for a script");
    path
}

impl Runtime {
    fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg(script).stdin(Stdio::null());
        command
    }

    /// The command in words, on one processor.
    pub fn command_on(&self, script: &Path, processor: Option<usize>) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(processor) = processor {
            words.extend(["taskset".into(), "-c".into(), processor.to_string()]);
        }
        words.extend(self.command.iter().cloned());
        words.push(script.to_str().expect("a path that is text").into());
        words
    }

    /// What a script writes.
    pub fn output(&self, script: &Path, arguments: &[String]) -> String {
        let (output, in_time) = child::output(self.command(script).args(arguments), self.label);
        if in_time { output } else { String::new() }
    }

    /// The time until the first line, and until the end, in seconds.
    pub fn start_up(&self, script: &Path) -> (f64, f64) {
        let begin = Instant::now();
        let mut child = self.command(script).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("text");
        let first_line = begin.elapsed().as_secs_f64();
        assert_eq!(line, "hello\n");
        assert!(child.wait().expect("it is ours").success());
        (first_line, begin.elapsed().as_secs_f64())
    }

    /// Resident memory once it has said something and waits, in megabytes.
    pub fn resident(&self, script: &Path) -> f64 {
        let mut child = self.command(script).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("text");
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("Linux");
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a figure");
        let kilobytes: f64 =
            resident.trim().trim_end_matches("kB").trim().parse().expect("a number");
        kilobytes / 1024.0
    }
}
