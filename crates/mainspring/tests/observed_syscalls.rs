//! System calls of a loop that is observed, counted by strace: those of one that is not, and no others.
//!
//! Each test starts a program of its own under strace: this file again, with a scenario named in the
//! environment. The scenario marks what is to be counted by asking for the metadata of a path that does
//! not exist. The tests are ignored by default because they need strace; `tools/test` runs them.
#![cfg(all(feature = "metrics", target_os = "linux", not(loom)))]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mainspring::{Builder, EventLoop, FastPathMode, Handle, LoopState, Tracer};

const KEY: &str = "MAINSPRING_OBSERVED_SYSCALLS";

/// Appears in the trace, on the thread that calls it.
fn mark(name: &str) {
    assert!(std::fs::metadata(format!("/no/such/mark/{name}")).is_err());
}

/// One line of strace's output.
#[derive(Debug)]
struct Line {
    thread: String,
    call: String,
}

/// What all threads called between two marks of any thread.
struct Section(Vec<Line>);

impl Section {
    /// The calls of others than the thread that marked.
    fn of_others(&self) -> Vec<&Line> {
        let marker = &self.0[0].thread;
        self.0.iter().filter(|line| line.thread != *marker).collect()
    }

    /// Those of the thread that marked.
    fn own(&self) -> Vec<&Line> {
        let marker = &self.0[0].thread;
        self.0[1..].iter().filter(|line| line.thread == *marker).collect()
    }
}

/// The sections of a scenario of this file, run under strace.
fn trace(scenario: &str, way: &str, mode: FastPathMode) -> Vec<Section> {
    let name = format!("mainspring-{}-{scenario}-{way}-{mode:?}", std::process::id());
    let file = std::env::temp_dir().join(format!("{name}.strace"));
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&file)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "the_scenario", "--ignored", "--nocapture", "--test-threads=1"])
        .env(KEY, format!("{scenario} {way} {mode:?}"))
        .output()
        .expect("strace is needed: install it with the system's package manager");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();

    let mut sections = Vec::new();
    let mut open: Option<Vec<Line>> = None;
    for line in text.lines() {
        let (thread, call) = line.split_once(char::is_whitespace).unwrap();
        let call = call.trim_start();
        // The end of a call that another thread's line interrupted was counted at its beginning.
        if call.starts_with("<... ") {
            continue;
        }
        let line = Line { thread: thread.to_owned(), call: call.to_owned() };
        match (call.split_once("/no/such/mark/"), &mut open) {
            (Some((_, rest)), Some(_)) if rest.starts_with("end") => {
                sections.push(Section(open.take().unwrap()));
            }
            (Some(_), None) => open = Some(vec![line]),
            (_, Some(lines)) => lines.push(line),
            (None, None) => {}
        }
    }
    assert!(open.is_none());
    sections
}

/// Ways to observe a loop.
const WAYS: [&str; 4] = ["metrics", "watchdog", "tracer", "all"];
const MODES: [FastPathMode; 2] = [FastPathMode::Auto, FastPathMode::Disabled];

fn observed(way: &str) -> Builder {
    let builder = EventLoop::builder().max_spin(Duration::ZERO);
    let builder = match way {
        "watchdog" | "all" => builder.stall_threshold(Duration::from_millis(20)),
        _ => builder.metrics(true),
    };
    match way {
        "tracer" | "all" => builder.tracer(&Tracer::to_writer(std::io::sink()).unwrap()),
        _ => builder,
    }
}

fn start(way: &str, mode: FastPathMode) -> (Handle, thread::JoinHandle<()>) {
    let (send, receive) = mpsc::channel();
    let way = way.to_owned();
    let thread = thread::spawn(move || {
        let event_loop = observed(&way).fast_path(mode).build().unwrap();
        send.send(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
    });
    (receive.recv().unwrap(), thread)
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// The body of the traced program.
#[test]
#[ignore = "the program that the other tests trace"]
fn the_scenario() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    let words: Vec<_> = scenario.split(' ').collect();
    let mode = if words[2] == "Auto" { FastPathMode::Auto } else { FastPathMode::Disabled };
    match words[0] {
        "idle" => idle(words[1], mode),
        "awake" => awake(words[1], mode),
        "reading" => reading(words[1], mode),
        "ticks" => ticks(words[1], mode),
        _ => unreachable!(),
    }
}

/// A loop that had something to do, and has nothing any more.
fn idle(way: &str, mode: FastPathMode) {
    let (handle, thread) = start(way, mode);
    for _ in 0..10 {
        handle.submit(|cx| cx.queue_microtask(|_| ())).unwrap();
        wait_until(|| handle.pending() == 0);
    }
    wait_until(|| handle.state() == LoopState::Sleeping);
    // Whoever watches may need a while to see that there is nothing to be seen.
    thread::sleep(Duration::from_millis(500));
    mark("idle");
    thread::sleep(Duration::from_millis(700));
    mark("end");
    assert_eq!(handle.state(), LoopState::Sleeping);
    handle.close();
    thread.join().unwrap();
}

const SUBMITS: usize = 1_000;

/// Submits to a loop that is kept awake by a callback.
fn awake(way: &str, mode: FastPathMode) {
    let (handle, thread) = start(way, mode);
    for _ in 0..5 {
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
    handle.close();
    thread.join().unwrap();
}

/// Reads of what a loop has published.
fn reading(way: &str, mode: FastPathMode) {
    let (handle, thread) = start(way, mode);
    wait_until(|| handle.state() == LoopState::Sleeping);
    mark("reads");
    for _ in 0..SUBMITS {
        let metrics = handle.metrics().unwrap();
        assert_eq!(metrics.panics, 0);
    }
    mark("end");
    handle.close();
    thread.join().unwrap();
}

const TICKS: usize = 2_000;

/// Ticks with callbacks, of a loop that does not sleep.
fn ticks(way: &str, mode: FastPathMode) {
    let event_loop = observed(way).fast_path(mode).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    for is_counted in [false, true] {
        if is_counted {
            mark("ticks");
        }
        for _ in 0..TICKS {
            let count = Arc::clone(&ran);
            event_loop.cx().submit(move |_| _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
            event_loop.cx().set_immediate(|cx| cx.queue_microtask(|_| ()));
            event_loop.turn(Duration::ZERO).unwrap();
        }
        if is_counted {
            mark("end");
        }
    }
    assert_eq!(ran.load(Ordering::Relaxed), 2 * TICKS);
}

/// Calls that are about memory, which may have to be asked for.
fn is_memory(line: &Line) -> bool {
    ["mmap", "munmap", "brk", "mprotect", "madvise"].iter().any(|name| line.call.starts_with(name))
}

// spec: TK-4, MX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn nobody_makes_a_system_call_while_an_observed_loop_is_idle() {
    for way in WAYS {
        for mode in MODES {
            let sections = trace("idle", way, mode);
            let [section] = &sections[..] else { panic!("one section") };
            let calls = section.of_others();
            assert!(calls.is_empty(), "{way} {mode:?}: {calls:?}");
        }
    }
}

// spec: WK-2, MX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_submit_to_an_observed_loop_that_is_awake_makes_no_system_call() {
    for way in WAYS {
        for mode in MODES {
            let sections = trace("awake", way, mode);
            assert_eq!(sections.len(), 5);
            for section in sections {
                let mut calls = section.own();
                calls.retain(|line| !is_memory(line));
                assert!(calls.is_empty(), "{way} {mode:?}: {calls:?}");
            }
        }
    }
}

// spec: MX-3
#[test]
#[ignore = "needs strace: run by tools/test"]
fn metrics_are_read_without_a_system_call() {
    let sections = trace("reading", "metrics", FastPathMode::Auto);
    let [section] = &sections[..] else { panic!("one section") };
    assert!(section.own().is_empty(), "{:?}", section.own());
    assert!(section.of_others().is_empty(), "the loop does not notice: {:?}", section.of_others());
}

// spec: MX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_tick_of_an_observed_loop_makes_no_more_system_calls() {
    for way in WAYS {
        let sections = trace("ticks", way, FastPathMode::Auto);
        let [section] = &sections[..] else { panic!("one section") };
        let mut calls = section.own();
        calls.retain(|line| !is_memory(line));
        // The thread that looks, and the one that writes, are woken now and then.
        assert!(calls.len() < TICKS / 10, "{way}: {} calls, as {:?}", calls.len(), calls.first());
        let polls = calls.iter().filter(|line| !line.call.starts_with("futex(")).count();
        assert_eq!(polls, 0, "{way}: {calls:?}");
    }
}
