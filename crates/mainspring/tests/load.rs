//! Load: nothing that was accepted is lost, and nothing stays behind.
//!
//! The ignored tests are the full form; `tools/test` runs them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mainspring::{Builder, Deadline, EventLoop, FastPathMode, Refusal, Shutdown};

const PRODUCERS: u64 = 10;
const TASKS: u64 = 100_000;
const MODES: [FastPathMode; 2] = [FastPathMode::Auto, FastPathMode::Disabled];

/// Ten producers of 100,000 tasks with a shutdown when half of them were accepted.
fn shutdown_in_the_middle(builder: Builder) {
    let event_loop = builder.build().unwrap();
    let accepted = Arc::new(AtomicU64::new(0));
    let executed = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    for _ in 0..PRODUCERS {
        let handle = event_loop.handle();
        let (accepted, executed) = (Arc::clone(&accepted), Arc::clone(&executed));
        threads.push(thread::spawn(move || {
            for _ in 0..TASKS {
                let executed = Arc::clone(&executed);
                let mut task = move |_: &mainspring::Cx| {
                    executed.fetch_add(1, Ordering::Relaxed);
                };
                loop {
                    match handle.submit(task) {
                        Ok(()) => break,
                        Err(error) if error.reason() == Refusal::Overloaded => {
                            task = error.into_task();
                            thread::yield_now();
                        }
                        Err(error) => {
                            assert_eq!(error.reason(), Refusal::Terminated);
                            return;
                        }
                    }
                }
                accepted.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let handle = event_loop.handle();
    let progress = Arc::clone(&accepted);
    let stopper = thread::spawn(move || {
        while progress.load(Ordering::Relaxed) < PRODUCERS * TASKS / 2 {
            thread::yield_now();
        }
        handle.shutdown(Deadline::NEVER)
    });
    event_loop.run().unwrap();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(matches!(stopper.join().unwrap(), Ok(Shutdown::Finished { dropped: 0 })));
    let accepted = accepted.load(Ordering::Relaxed);
    assert!(accepted >= PRODUCERS * TASKS / 2);
    assert_eq!(accepted, executed.load(Ordering::Relaxed));
    assert_eq!(Arc::strong_count(&executed), 1, "no capture is left");
}

// spec: F-33, SD-1, IN-8
#[test]
fn accepted_equals_executed_when_a_shutdown_comes_in_the_middle() {
    for mode in MODES {
        shutdown_in_the_middle(EventLoop::builder().fast_path(mode));
    }
}

// spec: F-33, SD-1, IN-8
#[test]
#[ignore = "long: run by tools/test"]
fn accepted_equals_executed_in_a_hundred_rounds() {
    for round in 0..100 {
        shutdown_in_the_middle(EventLoop::builder().fast_path(MODES[round % 2]));
    }
}

/// One life of a loop, with a task from another thread in it.
#[cfg(target_os = "linux")]
fn life(mode: FastPathMode) {
    let event_loop = EventLoop::builder().fast_path(mode).build().unwrap();
    let handle = event_loop.handle();
    event_loop.cx().queue_microtask(move |_| {
        handle.submit(|cx| cx.shutdown()).unwrap();
    });
    event_loop.run().unwrap();
}

#[cfg(target_os = "linux")]
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

// In a process of its own this is exact; beside other tests, descriptors and threads come and go. So
// it is one of the tests that `tools/test` runs by themselves.
// spec: SD-6
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs a process of its own: run by tools/test"]
fn ten_thousand_lives_leave_the_process_as_it_was() {
    for mode in MODES {
        for _ in 0..1_000 {
            life(mode);
        }
        let before = (descriptors(), status("Threads:"), status("VmRSS:"));
        for n in 0..10_000 {
            life(mode);
            if n % 10 == 0 {
                // Not driven, not shut down: only dropped.
                let event_loop = EventLoop::builder().fast_path(mode).build().unwrap();
                event_loop.cx().submit(|_| ()).unwrap();
            }
        }
        let after = (descriptors(), status("Threads:"), status("VmRSS:"));
        assert_eq!((after.0, after.1), (before.0, before.1), "descriptors, threads");
        let grown = after.2.saturating_sub(before.2);
        assert!(grown <= 256, "{grown} kB more are resident");
    }
}
