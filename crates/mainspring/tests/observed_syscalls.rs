//! System calls of a loop that is observed, counted by strace: those of one that is not, and no others.
//!
//! The tests are ignored by default because they need strace; `tools/test` runs them.
#![cfg(all(feature = "metrics", target_os = "linux", not(loom)))]

#[path = "common/strace.rs"]
mod strace;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mainspring::{Builder, EventLoop, FastPathMode, Handle, LoopState, Tracer};
use strace::{Call, SUBMITS, mark, scenario, submit_while_awake, trace, wait_until};

/// What all threads called between two marks of any thread.
struct Section(Vec<Call>);

impl Section {
    /// The calls of others than the thread that marked.
    fn of_others(&self) -> Vec<&Call> {
        let marker = &self.0[0].thread;
        self.0.iter().filter(|call| call.thread != *marker).collect()
    }

    /// Those of the thread that marked.
    fn own(&self) -> Vec<&Call> {
        let marker = &self.0[0].thread;
        self.0[1..].iter().filter(|call| call.thread == *marker).collect()
    }
}

/// The sections of a scenario of this file, run under strace.
fn sections(scenario: &str, way: &str, mode: FastPathMode) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut open: Option<Vec<Call>> = None;
    for call in trace(&format!("{scenario} {way} {mode:?}")) {
        match (call.mark(), &mut open) {
            (Some("end"), Some(_)) => sections.push(Section(open.take().unwrap())),
            (Some(_), None) => open = Some(vec![call]),
            (_, Some(calls)) => calls.push(call),
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

/// The body of the traced program.
#[test]
#[ignore = "the program that the other tests trace"]
fn the_scenario() {
    let Some(scenario) = scenario() else { return };
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

/// Submits to a loop that is kept awake by a callback.
fn awake(way: &str, mode: FastPathMode) {
    let (handle, thread) = start(way, mode);
    submit_while_awake(&handle, 5);
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

// spec: TK-4, MX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn nobody_makes_a_system_call_while_an_observed_loop_is_idle() {
    for way in WAYS {
        for mode in MODES {
            let sections = sections("idle", way, mode);
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
            let sections = sections("awake", way, mode);
            assert_eq!(sections.len(), 5);
            for section in sections {
                let calls = section.own();
                assert!(calls.is_empty(), "{way} {mode:?}: {calls:?}");
            }
        }
    }
}

// spec: MX-3
#[test]
#[ignore = "needs strace: run by tools/test"]
fn metrics_are_read_without_a_system_call() {
    let sections = sections("reading", "metrics", FastPathMode::Auto);
    let [section] = &sections[..] else { panic!("one section") };
    assert!(section.own().is_empty(), "{:?}", section.own());
    assert!(section.of_others().is_empty(), "the loop does not notice: {:?}", section.of_others());
}

// spec: MX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_tick_of_an_observed_loop_makes_no_more_system_calls() {
    for way in WAYS {
        let sections = sections("ticks", way, FastPathMode::Auto);
        let [section] = &sections[..] else { panic!("one section") };
        let calls = section.own();
        // The thread that looks, and the one that writes, are woken now and then.
        assert!(calls.len() < TICKS / 10, "{way}: {} calls, as {:?}", calls.len(), calls.first());
        let polls = calls.iter().filter(|call| call.name() != "futex").count();
        assert_eq!(polls, 0, "{way}: {calls:?}");
    }
}
