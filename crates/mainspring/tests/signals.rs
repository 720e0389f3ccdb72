//! Signals end a loop. Each test starts a process of its own, because signals are for a whole process. ThreadSanitizer puts signals
//! off that come to a thread which waits, so there are no tests for it.
#![cfg(all(target_os = "linux", not(mainspring_tsan)))]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use mainspring::{Cx, LoopState};
use rustix::process::{Pid, Signal, kill_process};

const KEY: &str = "MAINSPRING_SIGNALS";

/// The process, and the lines that it says.
struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Process {
    fn start(scenario: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_process", "--nocapture", "--test-threads=1"])
            .env(KEY, scenario)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn expect(&mut self, text: &str) {
        assert!(
            self.lines.by_ref().any(|line| line.unwrap().contains(text)),
            "the process ended without saying `{text}`"
        );
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{text}").unwrap();
    out.flush().unwrap();
}

fn for_ever(cx: &Cx) {
    cx.submit_internal(for_ever).unwrap();
}

/// What the process does.
#[test]
fn the_process() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    let event_loop = common::builder().build().unwrap();
    let handle = event_loop.handle();
    let guard = handle.shutdown_on_signals(Duration::from_secs(3600)).unwrap();
    match scenario.as_str() {
        "graceful" => {
            event_loop
                .cx()
                .submit(|cx| {
                    say("is driven");
                    while !cx.state().is_ending() {
                        thread::yield_now();
                    }
                    cx.submit_internal(|cx| cx.queue_microtask(|_| say("drained"))).unwrap();
                })
                .unwrap();
            event_loop.run().unwrap();
        }
        "twice" => {
            event_loop.cx().submit(for_ever).unwrap();
            let watcher = thread::spawn(move || {
                while handle.state() != LoopState::Running {
                    thread::yield_now();
                }
                say("is driven");
                while handle.state() != LoopState::Terminating {
                    thread::yield_now();
                }
                say("terminating");
            });
            event_loop.run().unwrap();
            watcher.join().unwrap();
        }
        "after" => {
            event_loop.cx().shutdown();
            say("terminated");
            loop {
                thread::park();
            }
        }
        _ => unreachable!(),
    }
    drop(guard);
    say("ended");
}

// spec: SD-7
#[test]
fn the_first_signal_shuts_the_loop_down_gracefully() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut process = Process::start("graceful");
        process.expect("is driven");
        process.signal(signal);
        process.expect("drained");
        process.expect("ended");
        assert!(process.child.wait().unwrap().success());
    }
}

// spec: SD-7
#[test]
fn the_second_signal_closes_the_loop_at_once() {
    let mut process = Process::start("twice");
    process.expect("is driven");
    process.signal(Signal::TERM);
    process.expect("terminating");
    process.signal(Signal::INT);
    process.expect("ended");
    assert!(process.child.wait().unwrap().success());
}

// spec: SD-7
#[test]
fn when_the_loop_has_terminated_a_signal_has_its_default_effect() {
    let mut process = Process::start("after");
    process.expect("terminated");
    process.signal(Signal::TERM);
    let status = process.child.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{status}");
}
