//! System calls, counted by strace.
//!
//! The tests are ignored by default because they need strace; `tools/test` runs them.
#![cfg(target_os = "linux")]

#[path = "common/strace.rs"]
mod strace;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mainspring::{EventLoop, FastPathMode, Handle, LoopState, Watch};
use strace::{mark, scenario, submit_while_awake, trace, wait_until};

/// What one thread called between two marks.
struct Section {
    name: String,
    /// The line of the trace on which it begins.
    line: usize,
    calls: Vec<(usize, String)>,
}

/// Runs `scenario` of this file under strace.
fn sections(scenario: &str, mode: FastPathMode) -> Vec<Section> {
    let mut open: HashMap<String, Section> = HashMap::new();
    let mut done = Vec::new();
    for (number, call) in trace(&format!("{scenario} {mode:?}")).into_iter().enumerate() {
        if let Some(name) = call.mark() {
            if let Some(section) = open.remove(&call.thread) {
                assert_eq!(name, "end");
                done.push(section);
            } else {
                let section = Section { name: name.to_owned(), line: number, calls: Vec::new() };
                open.insert(call.thread, section);
            }
        } else if let Some(section) = open.get_mut(&call.thread) {
            section.calls.push((number, call.text));
        }
    }
    assert!(open.is_empty());
    done
}

/// The body of the traced program.
#[test]
#[ignore = "the program that the other tests trace"]
fn the_scenario() {
    let Some(scenario) = scenario() else { return };
    let (scenario, mode) = scenario.split_once(' ').unwrap();
    let mode = if mode == "Auto" { FastPathMode::Auto } else { FastPathMode::Disabled };
    match scenario {
        "awake" => awake(mode),
        "asleep" => asleep(mode),
        "idle" => idle(mode),
        "timer" => timer(mode),
        "echo" => echo(),
        _ => unreachable!(),
    }
}

/// A loop on its own thread.
fn start(mode: FastPathMode) -> (Handle, thread::JoinHandle<()>) {
    let (send, receive) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop = EventLoop::builder().fast_path(mode).build().unwrap();
        send.send(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
    });
    (receive.recv().unwrap(), thread)
}

/// Submits to a loop that is kept awake by a callback.
fn awake(mode: FastPathMode) {
    let (handle, thread) = start(mode);
    submit_while_awake(&handle, 10);
    handle.close();
    thread.join().unwrap();
}

const PRODUCERS: usize = 8;
const SLEEPS: usize = 20;

/// Several threads submit to a loop that sleeps. The first task keeps the loop awake until all have.
fn asleep(mode: FastPathMode) {
    let (handle, thread) = start(mode);
    for _ in 0..SLEEPS {
        wait_until(|| handle.state() == LoopState::Sleeping);
        let go = Arc::new(AtomicBool::new(false));
        let submitted = Arc::new(AtomicUsize::new(0));
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|_| {
                let (go, submitted) = (Arc::clone(&go), Arc::clone(&submitted));
                let handle = handle.clone();
                thread::spawn(move || {
                    wait_until(|| go.load(Ordering::Acquire));
                    let all = Arc::clone(&submitted);
                    let task = move |_: &mainspring::Cx| {
                        while all.load(Ordering::Acquire) < PRODUCERS {
                            std::hint::spin_loop();
                        }
                    };
                    mark("race");
                    handle.submit(task).unwrap();
                    submitted.fetch_add(1, Ordering::Release);
                    mark("end");
                })
            })
            .collect();
        go.store(true, Ordering::Release);
        producers.into_iter().for_each(|producer| producer.join().unwrap());
    }
    handle.close();
    thread.join().unwrap();
}

/// A loop with nothing to do, observed for a while. How long does not matter for the result.
fn idle(mode: FastPathMode) {
    let (send, receive) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop = EventLoop::builder().fast_path(mode).build().unwrap();
        send.send(event_loop.handle()).unwrap();
        event_loop.cx().submit(|_| ()).unwrap();
        // A timer that has fired, and one that was cleared, leave nothing behind that ends a sleep.
        event_loop.cx().set_timeout(Duration::from_millis(1), |_| ()).unwrap();
        event_loop.run_until_idle().unwrap();
        let cleared = event_loop.cx().set_timeout(Duration::from_millis(50), |_| ()).unwrap();
        event_loop.turn(Duration::from_millis(1)).unwrap();
        event_loop.cx().clear_timeout(cleared);
        mark("idle");
        event_loop.run().unwrap();
        mark("end");
    });
    let handle: Handle = receive.recv().unwrap();
    wait_until(|| handle.state() == LoopState::Sleeping);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(handle.state(), LoopState::Sleeping);
    mark("closing");
    handle.close();
    mark("end");
    thread.join().unwrap();
}

const TICKS: usize = 10_000;

/// A loop whose earliest deadline stays the same, and which sleeps in each tick. Later timers come and go
/// meanwhile.
fn timer(mode: FastPathMode) {
    let (send, receive) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop =
            EventLoop::builder().fast_path(mode).max_spin(Duration::ZERO).build().unwrap();
        let hour = Duration::from_secs(3600);
        event_loop.cx().set_timeout(hour, |_| ()).unwrap();
        let mut later = event_loop.cx().set_timeout(2 * hour, |_| ()).unwrap();
        let ticks = Arc::new(AtomicUsize::new(0));
        send.send((event_loop.handle(), Arc::clone(&ticks))).unwrap();
        mark("ticks");
        for _ in 0..TICKS {
            event_loop.turn(None).unwrap();
            ticks.fetch_add(1, Ordering::Release);
            event_loop.cx().clear_timeout(later);
            later = event_loop.cx().set_timeout(2 * hour, |_| ()).unwrap();
        }
        mark("end");
    });
    let (handle, ticks): (Handle, Arc<AtomicUsize>) = receive.recv().unwrap();
    while !thread.is_finished() {
        // A signal that comes late ends the next sleep early, so a tick may also be over by itself.
        let tick = ticks.load(Ordering::Acquire);
        let is_over = || ticks.load(Ordering::Acquire) != tick || thread.is_finished();
        wait_until(|| is_over() || handle.state() == LoopState::Sleeping);
        handle.wake();
        wait_until(is_over);
    }
    thread.join().unwrap();
}

const MESSAGES: usize = 1_000;

/// A loop that sends back what it is sent, one message after the other.
fn echo() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop = EventLoop::new().unwrap();
        let watch = Watch::new().read(move |cx, mut stream: &UnixStream| {
            let mut bytes = [0; 64];
            match stream.read(&mut bytes).unwrap() {
                0 => cx.shutdown(),
                n => stream.write_all(&bytes[..n]).unwrap(),
            }
        });
        event_loop.cx().watch(ours, watch).unwrap();
        send.send(event_loop.handle()).unwrap();
        mark("echo");
        event_loop.run().unwrap();
        mark("end");
    });
    let handle: Handle = receive.recv().unwrap();
    wait_until(|| handle.state() == LoopState::Sleeping);
    for _ in 0..MESSAGES {
        theirs.write_all(&[1; 64]).unwrap();
        theirs.read_exact(&mut [0; 64]).unwrap();
    }
    drop(theirs);
    thread.join().unwrap();
}

const MODES: [FastPathMode; 2] = [FastPathMode::Auto, FastPathMode::Disabled];

// spec: WK-2
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_submit_to_a_loop_that_is_awake_makes_no_system_call() {
    for mode in MODES {
        let sections = sections("awake", mode);
        assert_eq!(sections.len(), 10);
        for section in sections {
            assert_eq!(section.name, "submits");
            assert!(section.calls.is_empty(), "{mode:?}: {:?}", section.calls);
        }
    }
}

// spec: WK-3, WK-6
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_sleeping_loop_is_woken_by_one_system_call_however_many_producers_race() {
    for mode in MODES {
        let sections = sections("asleep", mode);
        assert_eq!(sections.len(), SLEEPS * PRODUCERS);
        let is_wake = |call: &str| match mode {
            FastPathMode::Auto => call.starts_with("futex(") && call.contains("FUTEX_WAKE"),
            _ => call.starts_with("write("),
        };
        let rounds = sections.chunks(PRODUCERS).map(|round| {
            let calls = round.iter().flat_map(|section| &section.calls);
            calls.filter(|(_, call)| is_wake(call)).count()
        });
        let wakes: Vec<_> = rounds.collect();
        // None for a loop that has said that it sleeps, and finds out on its way there.
        assert!(wakes.iter().all(|count| *count <= 1), "{mode:?}: {wakes:?}");
        assert!(wakes.contains(&1), "{mode:?}: it never slept");
    }
}

// spec: TK-4
#[test]
#[ignore = "needs strace: run by tools/test"]
fn an_idle_loop_makes_one_system_call_and_stays_in_it() {
    for mode in MODES {
        let sections = sections("idle", mode);
        let find = |name| sections.iter().find(|section| section.name == name).unwrap();
        let end = find("closing").line;
        let mut calls: Vec<_> = find("idle").calls.iter().filter(|call| call.0 < end).collect();
        // Nothing is to be waited for any more. The portable poller says so at each wait, and listens again.
        let disarms = |call: &str| call.starts_with("timerfd_settime(");
        if cfg!(mainspring_portable) {
            calls.retain(|(_, call)| !disarms(call) && !call.starts_with("epoll_ctl("));
        } else if disarms(&calls[0].1) {
            calls.remove(0);
        }
        assert_eq!(calls.len(), 1, "{mode:?}: {calls:?}");
        assert!(calls[0].1.contains("FUTEX_WAIT") || calls[0].1.contains("poll"), "{calls:?}");
    }
}

// spec: IO-7
#[cfg(mainspring_portable)]
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_timed_wait_of_the_portable_poller_makes_the_calls_of_the_crate_and_no_other() {
    let sections = sections("timer", FastPathMode::Disabled);
    let [section] = &sections[..] else { panic!("one section") };
    let count =
        |name: &str| section.calls.iter().filter(|(_, call)| call.starts_with(name)).count();
    let waits = count("epoll_wait") + count("epoll_pwait");
    assert!(waits >= TICKS / 2, "it slept in most ticks");
    assert!(waits <= TICKS + 10, "{waits} waits in {TICKS} ticks");
    // The crate sets its timer and listens to it, waits, consumes its notification and listens to that again.
    assert_eq!(count("timerfd_settime("), waits);
    assert_eq!(count("epoll_ctl("), 2 * waits);
    assert_eq!(count("read("), waits);
    let others = section.calls.len() - 5 * waits;
    assert!(others < 10, "{others} others");
}

// spec: TM-3, M1-4.3
#[cfg(not(mainspring_portable))]
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_deadline_that_stays_the_earliest_is_armed_once() {
    let sections = sections("timer", FastPathMode::Disabled);
    let [section] = &sections[..] else { panic!("one section") };
    let count =
        |name: &str| section.calls.iter().filter(|(_, call)| call.starts_with(name)).count();
    assert!(count("epoll_") >= TICKS / 2, "it slept in most ticks");
    assert_eq!(count("read("), 0, "a wake is consumed by the poll itself");
    assert_eq!(count("timerfd_settime("), 1);
    assert_eq!(count("timerfd_gettime("), 0);
    assert!(section.calls.iter().any(|(_, call)| call.contains("TFD_TIMER_ABSTIME")));
}

// spec: TM-3, WK-6
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_parked_loop_needs_no_descriptor_for_its_deadline() {
    let sections = sections("timer", FastPathMode::Auto);
    let [section] = &sections[..] else { panic!("one section") };
    let strange: Vec<_> =
        section.calls.iter().filter(|(_, call)| !call.starts_with("futex(")).collect();
    // The thread's timer slack is asked for once.
    assert!(strange.len() < 10, "{strange:?}");
    assert!(!strange.iter().any(|(_, call)| call.starts_with("timerfd")), "{strange:?}");
}

// spec: IO-3, M1-2.5
#[cfg(not(mainspring_portable))]
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_message_costs_one_look_one_read_and_one_write() {
    let sections = sections("echo", FastPathMode::Auto);
    let [section] = &sections[..] else { panic!("one section") };
    let count = |names: &[&str]| {
        let is_one = |call: &str| names.iter().any(|name| call.starts_with(name));
        section.calls.iter().filter(|(_, call)| is_one(call)).count()
    };
    // The last read finds the end.
    assert_eq!(count(&["read(", "recvfrom("]), MESSAGES + 1);
    assert_eq!(count(&["write(", "sendto("]), MESSAGES);
    assert_eq!(count(&["epoll_wait(", "epoll_pwait"]), MESSAGES + 1);
    assert_eq!(count(&["epoll_ctl(", "timerfd_"]), 0);
    assert!(count(&["futex("]) <= 1, "those who wait for the end are told of it");
    let all = section.calls.len();
    assert!(all < 3 * MESSAGES + 40, "{all} calls, with those that end the loop");
}
