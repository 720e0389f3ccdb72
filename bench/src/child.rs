//! Processes that measure, and how long they may take.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use clap::ValueEnum;

use crate::table::LIMIT;

/// What a value is called in the arguments.
pub fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().expect("has a name").get_name().to_owned()
}

pub fn this_program_path() -> String {
    let program = std::env::current_exe().expect("this program");
    program.into_os_string().into_string().expect("its path is text")
}

pub fn this_program() -> Command {
    Command::new(this_program_path())
}

/// Runs a process until its end, or until its time is over. Returns what it wrote, and whether it came to
/// its end.
pub fn output(command: &mut Command, what: &str) -> (String, bool) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{what} cannot be started: {error}"));
    let mut stdout = child.stdout.take().expect("piped");
    let (ended, wait) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut output = String::new();
        stdout.read_to_string(&mut output).expect("text");
        // Nobody waits any more if the time is over.
        let _ = ended.send(());
        output
    });
    let in_time = wait.recv_timeout(LIMIT).is_ok();
    if !in_time {
        child.kill().expect("it is ours");
    }
    let output = reader.join().expect("does not panic");
    let status = child.wait().expect("it is ours");
    assert!(status.success() || !in_time, "{what} failed: {status}");
    (output, in_time)
}
