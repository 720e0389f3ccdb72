//! System calls, counted by strace.
//!
//! A test starts a program of its own under strace: its own file again, with a scenario named in the
//! environment. The scenario marks what is to be counted by asking for the metadata of a path that
//! does not exist.

#![allow(dead_code, unreachable_pub)]

#[path = "lockless.rs"]
mod lockless;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mainspring::Handle;

const KEY: &str = "MAINSPRING_SCENARIO";
const MARK: &str = "/no/such/mark/";

/// Appears in the trace, on the thread that calls it.
pub fn mark(name: &str) {
    assert!(std::fs::metadata(format!("{MARK}{name}")).is_err());
}

/// The scenario that this process was started for, if it is a traced one.
pub fn scenario() -> Option<String> {
    std::env::var(KEY).ok()
}

pub fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// How many of each kind there are between two marks of [`submit_while_awake`].
pub const SUBMITS: usize = 1_000;

/// Submits to a loop that is kept awake by a callback, and marks that, so many times. The loop runs on another thread.
pub fn submit_while_awake(handle: &Handle, times: usize) {
    for _ in 0..times {
        let (busy, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (is_busy, is_released) = (Arc::clone(&busy), Arc::clone(&release));
        handle
            .submit(move |_| {
                is_busy.store(true, Ordering::Release);
                while !is_released.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            })
            .unwrap();
        wait_until(|| busy.load(Ordering::Acquire));
        mark("submits");
        for _ in 0..SUBMITS {
            handle.submit(|_| ()).unwrap();
            handle.submit_internal(|_| ()).unwrap();
            handle.queue_microtask(|_| ()).unwrap();
        }
        mark("end");
        release.store(true, Ordering::Release);
        wait_until(|| handle.pending() == 0);
    }
}

/// One system call, whole: what other threads' lines interrupted is put together.
#[derive(Clone, Debug)]
pub struct Call {
    pub thread: String,
    pub text: String,
}

impl Call {
    /// The name of the mark that it sets.
    pub fn mark(&self) -> Option<&str> {
        self.text.split_once(MARK).map(|(_, rest)| rest.split('"').next().unwrap())
    }

    pub fn name(&self) -> &str {
        self.text.split('(').next().unwrap()
    }
}

/// What the scenario's process calls, in the order in which the calls begin.
///
/// Runs the test `the_scenario` of the same file.
pub fn trace(scenario: &str) -> Vec<Call> {
    let name = scenario.replace(' ', "-");
    let file =
        std::env::temp_dir().join(format!("mainspring-{}-{name}.strace", std::process::id()));
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&file)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "the_scenario", "--ignored", "--nocapture", "--test-threads=1"])
        .env(KEY, scenario)
        .output()
        .expect("strace is needed: install it with the system's package manager");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    read(&text)
}

fn read(text: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for line in text.lines() {
        let (thread, call) = line.split_once(char::is_whitespace).unwrap();
        let call = call.trim_start();
        match call.strip_prefix("<... ") {
            None => calls.push(Call { thread: thread.to_owned(), text: call.to_owned() }),
            // A thread that was attached to in the middle of a call has no beginning of it.
            Some(rest) => {
                if let Some(begun) = calls.iter_mut().rev().find(|call| call.thread == thread) {
                    begun.text.push_str(rest);
                }
            }
        }
    }
    calls
}

#[test]
fn a_call_that_another_threads_line_interrupts_is_one() {
    let calls = read(concat!(
        "1 statx(\"/no/such/mark/begin\", <unfinished ...>\n",
        "2 read(3,  <unfinished ...>\n",
        "1 <... statx resumed>) = -1 ENOENT\n",
        "1 close(4) = 0\n",
        "2 <... read resumed>\"\") = 0\n",
    ));
    assert_eq!(calls.iter().map(Call::name).collect::<Vec<_>>(), ["statx", "read", "close"]);
    assert_eq!(calls[0].mark(), Some("begin"));
    assert!(calls[0].text.ends_with("ENOENT"));
    assert!(calls[1].text.ends_with("= 0") && calls[1].mark().is_none());
}
