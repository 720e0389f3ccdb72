//! Timers, on a clock that stands still unless it is told to go on.

use std::time::Duration;

use mainspring::{Cx, EventLoop, VirtualClock};

use crate::counted::{COUNT, Step, counted, expect_steps};

/// Numbers that look random, and are the same each time: an xorshift generator.
struct Numbers(u64);

impl Numbers {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// The system's clock. By libc, because rustix does not find it under valgrind.
fn nanoseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of a `timespec`.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    assert_eq!(status, 0);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A loop, and its clock, which is at the same place of every wheel each time: how often a timer moves from one to the
/// next depends on that.
fn with_clock() -> (EventLoop, VirtualClock) {
    /// What the third wheel covers, or a multiple, and a moment that is the beginning of nothing, in nanoseconds.
    const ROUND: u64 = 1 << 51;
    const MOMENT: u64 = (5 << 40) + (7 << 29) + (1000 << 18) + (1 << 17);
    // The number that a clock begins with is not shown, and the thread may lose its processor meanwhile.
    let (clock, now) = loop {
        let before = nanoseconds();
        let clock = VirtualClock::new();
        let now = nanoseconds();
        if now - before < 50_000 {
            break (clock, now);
        }
    };
    clock.advance(Duration::from_nanos(ROUND - now % ROUND + MOMENT));
    let event_loop = EventLoop::builder().clock(&clock).build().unwrap();
    (event_loop, clock)
}

/// Delays of 1 s to 1 h.
fn delays(numbers: &mut Numbers, count: u64) -> Vec<Duration> {
    let delay = |_| Duration::from_micros(1_000_000 + numbers.below(3_599_000_000));
    (0..count).map(delay).collect()
}

/// Setting timers, and clearing them in another order, in a callback, while `others` wait.
fn set_and_clear(others: u64) {
    let (event_loop, _clock) = with_clock();
    let mut numbers = Numbers::new();
    for delay in delays(&mut numbers, others) {
        assert!(event_loop.cx().set_timeout(delay, |_| unreachable!("time stands still")).is_ok());
    }
    let delays = delays(&mut numbers, COUNT);
    let mut order: Vec<_> = (0..delays.len()).collect();
    numbers.shuffle(&mut order);
    let set_and_clear = move |cx: &Cx| {
        let mut ids = Vec::with_capacity(delays.len());
        counted(|| {
            for delay in delays {
                let step = Step::new(1);
                ids.extend(cx.set_timeout(delay, move |_| step.run()));
            }
            for index in order {
                assert!(cx.clear_timeout(ids[index]));
            }
        });
        cx.shutdown();
    };
    assert!(event_loop.cx().submit(set_and_clear).is_ok());
    event_loop.run().unwrap();
    expect_steps(0);
}

/// The only timers.
pub fn set_and_clear_alone() {
    set_and_clear(0);
}

/// Some of many.
pub fn set_and_clear_among_100k() {
    set_and_clear(100_000);
}

/// Running timers that are due, in one tick: those of a second, one for about each millisecond. Like the clock, each is in
/// the middle of what a bucket of the first wheel covers.
pub fn fire() {
    const BUCKETS: Duration = Duration::from_nanos(4 << 18);
    let (event_loop, clock) = with_clock();
    for number in 1..=COUNT {
        let step = Step::new(number);
        let set = event_loop.cx().set_timeout(number as u32 * BUCKETS, move |_| step.run());
        assert!(set.is_ok());
    }
    clock.advance(COUNT as u32 * BUCKETS);
    let turn = counted(|| event_loop.turn(Duration::ZERO)).unwrap();
    assert_eq!(turn.callbacks, COUNT);
    expect_steps(COUNT);
}
