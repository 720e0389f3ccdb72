//! The descriptor that ends a sleep in the poller, as the system sees it.
#![cfg(target_os = "linux")]

mod common;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::{wait_until, watchdog};
use mainspring::{EventLoop, FastPathMode, Handle};

const HOUR: Duration = Duration::from_secs(3600);

/// One test after the other: they look at all descriptors of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// What `/proc` says about each timerfd of this process, as a table.
fn timerfds() -> Vec<HashMap<String, String>> {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    fds.filter_map(|entry| {
        let entry = entry.ok()?;
        let target = std::fs::read_link(entry.path()).ok()?;
        target.to_string_lossy().contains("timerfd").then_some(())?;
        let number = entry.file_name().into_string().ok()?;
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Some(pairs.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect())
    })
    .collect()
}

/// The only one.
fn timerfd() -> HashMap<String, String> {
    let mut all = timerfds();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// How long it is armed for.
fn armed_for() -> Duration {
    let fd = timerfd();
    let value = fd["it_value"].trim_matches(['(', ')']);
    let (seconds, nanoseconds) = value.split_once(", ").unwrap();
    Duration::new(seconds.parse().unwrap(), nanoseconds.parse().unwrap())
}

/// A loop on a thread of its own, which waits in the poller.
fn running(test: impl FnOnce(&Handle)) {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let _watchdog = watchdog("timerfd");
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let event_loop = EventLoop::builder().fast_path(FastPathMode::Disabled).build().unwrap();
        sender.send(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
    });
    let handle = receiver.recv().unwrap();
    test(&handle);
    handle.close();
    thread.join().unwrap();
    assert_eq!(timerfds().len(), 0, "closed with the loop");
}

// spec: TM-3, M1-4.1, M1-4.3
#[test]
fn a_sleep_is_ended_by_the_monotonic_clock_at_an_absolute_time() {
    running(|handle| {
        let before = Instant::now();
        handle.set_timeout(HOUR, |_| ()).unwrap();
        wait_until(|| !armed_for().is_zero());
        let fd = timerfd();
        assert_eq!(fd["clockid"], "1", "CLOCK_MONOTONIC");
        assert_eq!(fd["settime flags"], "01", "TFD_TIMER_ABSTIME");
        assert_eq!(fd["it_interval"], "(0, 0)", "once");
        let armed = armed_for();
        assert!(armed <= HOUR && armed + before.elapsed() >= HOUR, "{armed:?}");
    });
}

// spec: TM-3, M1-4.4, M1-4.7, TK-4
#[test]
fn it_is_armed_for_what_is_earlier_and_disarmed_when_nothing_is_left() {
    running(|handle| {
        assert!(armed_for().is_zero(), "nothing to wait for");
        let late = handle.set_timeout(2 * HOUR, |_| ()).unwrap();
        wait_until(|| !armed_for().is_zero());
        let early = handle.set_timeout(HOUR, |_| ()).unwrap();
        wait_until(|| armed_for() <= HOUR);
        assert!(handle.clear_timeout(early));
        assert!(handle.clear_timeout(late));
        wait_until(|| armed_for().is_zero());
        // One that fires leaves nothing behind either.
        let (sender, receiver) = std::sync::mpsc::channel();
        handle.set_timeout(Duration::from_millis(1), move |_| sender.send(()).unwrap()).unwrap();
        receiver.recv().unwrap();
        wait_until(|| armed_for().is_zero());
    });
}

// A deadline in the past, or a negative one, would disarm the descriptor or be refused by the system.
#[test]
fn a_deadline_before_the_clocks_origin_is_due_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let event_loop = EventLoop::builder().fast_path(FastPathMode::Disabled).build().unwrap();
    let Some(past) = Instant::now().checked_sub(Duration::from_secs(1 << 33)) else { return };
    event_loop.cx().set_timeout_at(past, |cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
}
