//! Running the command.

#![allow(dead_code)] // Not every test uses everything.

pub(crate) mod terminal;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_mainspring");

/// A process that takes longer than this hangs. No test depends on it otherwise.
const HANGS: Duration = Duration::from_secs(120);

/// How a run ended. The code is negative for a signal.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs the command to its end.
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    finish(&mut command(args))
}

/// Runs the command with something on its standard input.
pub(crate) fn run_with_input(args: &[&str], input: &str) -> Run {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _guard = Guard::new(&child);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    ended(child)
}

pub(crate) fn finish(command: &mut Command) -> Run {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _guard = Guard::new(&child);
    ended(child)
}

fn ended(child: Child) -> Run {
    use std::os::unix::process::ExitStatusExt;

    let output = child.wait_with_output().unwrap();
    let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Kills a process that hangs, so that its test fails.
pub(crate) struct Guard(Sender<()>);

impl Guard {
    pub(crate) fn new(child: &Child) -> Self {
        let (ended, has_ended) = mpsc::channel();
        let process = rustix::process::Pid::from_child(child);
        thread::spawn(move || {
            if has_ended.recv_timeout(HANGS) == Err(RecvTimeoutError::Timeout) {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
        });
        Self(ended)
    }
}

/// A directory that is removed in the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mainspring-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
