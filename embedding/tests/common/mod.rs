//! What the tests share: threads that sleep are told from threads that do not, by counting.

// Each test file compiles its own copy, and none uses everything.
#![allow(dead_code, unreachable_pub)]

use std::cell::Cell;
use std::fs::read_to_string;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use mainspring::{Builder, EventLoop, PanicPolicy};

pub const MS: Duration = Duration::from_millis(1);
pub const HOUR: Duration = Duration::from_secs(3_600);

/// The number of the present thread.
pub fn thread_number() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// How often threads gave up their processor or were made to, and for how many nanoseconds they had one.
fn activity(threads: &[i32]) -> Vec<(u64, u64)> {
    let number = |text: &str| text.parse::<u64>().unwrap();
    let of = |thread: &i32| {
        let status = read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
        let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
        let switches = switches.map(|line| number(line.split_whitespace().nth(1).unwrap())).sum();
        let time = read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap();
        (switches, number(time.split_whitespace().next().unwrap()))
    };
    threads.iter().map(of).collect()
}

/// Fails if one of the threads wakes up while nothing happens.
#[track_caller]
pub fn assert_asleep(threads: &[i32]) {
    // They may still be on their way to sleep.
    let mut before = activity(threads);
    for round in 0.. {
        thread::sleep(20 * MS);
        let now = activity(threads);
        if now == before {
            break;
        }
        assert!(round < 500, "they never sleep: {now:?}");
        before = now;
    }
    // For how long they are observed does not matter for the result.
    thread::sleep(300 * MS);
    assert_eq!(activity(threads), before, "(switches, nanoseconds) of {threads:?}");
}

/// A loop that lets a failed assertion in a callback leave the turn, and the number of its ticks, without the
/// one that ends it.
pub fn counted(builder: Builder) -> (EventLoop, Rc<Cell<usize>>) {
    let ticks = Rc::new(Cell::new(0));
    let theirs = Rc::clone(&ticks);
    let event_loop = builder
        .panic_policy(PanicPolicy::Propagate)
        .on_prepare(move |_| theirs.set(theirs.get() + 1))
        .build()
        .unwrap();
    (event_loop, ticks)
}

/// Calls a function again and again, after so much time, and stops after so many calls.
pub fn every(
    cx: &mainspring::Cx,
    period: Duration,
    calls: usize,
    mut f: impl FnMut(&mainspring::Cx, usize) + 'static,
) {
    let mut called = 0;
    let interval = move |cx: &mainspring::Cx| {
        called += 1;
        f(cx, called);
        if called == calls {
            cx.clear_interval(cx.current_interval().unwrap());
        }
    };
    cx.set_interval(period, interval).unwrap();
}
