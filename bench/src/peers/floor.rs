//! The floor: not a library, but the least code that does the job.
//!
//! Timers are in a slab, 40 bytes each with what they capture, and in the list of a bucket of one wheel: a
//! bucket is a quarter of a millisecond, and has the timers of all rounds. Setting and cancelling touch the
//! timer and its neighbours. A bucket is sorted when its time comes. In between the thread sleeps, by the one
//! system call that there is for it.
//!
//! What a library would have to do and this does not: ids are not checked, callbacks are of one type, memory is
//! never given back, nothing can be set or cancelled while it runs, and nothing else can wake it.

use std::num::NonZeroU64;
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::thread::set_current_timer_slack;

use super::{Capture, Fires, Peer, Tally, idle_capture};

/// A bucket has as many bits of a time in nanoseconds.
const BUCKET_BITS: u32 = 18;

/// A power of two. A round is about a second.
const BUCKETS: u32 = 4096;

/// Not a timer.
const NONE: u32 = u32::MAX;

/// When a timer has fired, the thread sleeps for so long at least: as mainspring does if it is not told
/// otherwise, else it would sleep between any two of many timers.
const SLACK: u64 = 100_000;

struct Timer {
    /// Neighbours in the bucket. If it is free, `next` is the next one that is.
    prev: u32,
    next: u32,
    /// In nanoseconds of the system's clock.
    deadline: u64,
    capture: Option<Capture>,
}

pub struct Floor {
    /// The first of them are no timers, but the ends of the buckets: lists are rings.
    timers: Vec<Timer>,
    /// The first one that is free.
    free: u32,
    /// The same moment on both clocks; the second one was read last, so that no timer is early by it.
    origin: (Instant, u64),
}

impl Floor {
    fn set(&mut self, deadline: u64, capture: Capture) -> u32 {
        let bucket = bucket_of(deadline);
        let next = self.timers[bucket as usize].next;
        let timer = Timer { prev: bucket, next, deadline, capture: Some(capture) };
        let index = self.free;
        let index = if index == NONE {
            self.timers.push(timer);
            (self.timers.len() - 1) as u32
        } else {
            let place = &mut self.timers[index as usize];
            self.free = place.next;
            *place = timer;
            index
        };
        self.timers[bucket as usize].next = index;
        self.timers[next as usize].prev = index;
        index
    }

    /// Takes a timer out of its bucket.
    fn cancel(&mut self, index: u32) -> Capture {
        let timer = &mut self.timers[index as usize];
        let (prev, next) = (timer.prev, timer.next);
        let capture = timer.capture.take().expect("it is set");
        timer.next = self.free;
        self.free = index;
        self.timers[prev as usize].next = next;
        self.timers[next as usize].prev = prev;
        capture
    }

    /// The timers of the bucket that begins then, and of no other round, in the order of their deadlines.
    fn ripe(&self, begin: u64, ripe: &mut Vec<(u64, u32)>) {
        let bucket = bucket_of(begin);
        let mut index = self.timers[bucket as usize].next;
        while index != bucket {
            let timer = &self.timers[index as usize];
            if timer.deadline >> BUCKET_BITS == begin >> BUCKET_BITS {
                ripe.push((timer.deadline, index));
            }
            index = timer.next;
        }
        ripe.sort_unstable();
    }

    fn number(&self, deadline: Instant) -> u64 {
        self.origin.1 + deadline.saturating_duration_since(self.origin.0).as_nanos() as u64
    }
}

fn bucket_of(deadline: u64) -> u32 {
    (deadline >> BUCKET_BITS) as u32 % BUCKETS
}

impl Peer for Floor {
    type Id = u32;

    fn new() -> Self {
        // One nanosecond: else the system lets this thread sleep for 50 µs more than it asks for.
        set_current_timer_slack(NonZeroU64::new(1)).unwrap();
        let end = |bucket| Timer { prev: bucket, next: bucket, deadline: 0, capture: None };
        let timers = (0..BUCKETS).map(end).collect();
        Self { timers, free: NONE, origin: (Instant::now(), now()) }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        let now = now();
        for &delay in delays {
            ids.push(self.set(now + delay.as_nanos() as u64, idle_capture(tally)));
        }
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        for index in ids.drain(..) {
            drop(self.cancel(index));
        }
    }
}

impl Fires for Floor {
    const NEVER_EARLY: bool = true;

    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>) {
        for &deadline in deadlines {
            self.set(self.number(deadline), Capture::new(deadline, tally));
        }
    }

    fn run(&mut self, tally: &Tally) {
        let mut ripe = Vec::new();
        let mut awake = now();
        let mut begin = self.origin.1;
        while !tally.done() {
            self.ripe(begin, &mut ripe);
            for (deadline, index) in ripe.drain(..) {
                if deadline > awake {
                    sleep_until(deadline.max(awake + SLACK));
                    awake = now();
                }
                self.cancel(index).fire();
            }
            begin += 1 << BUCKET_BITS;
        }
    }

    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>) {
        while !tally.done() {
            let capture = Capture::from_now(delay, tally);
            sleep_until(now() + delay.as_nanos() as u64);
            capture.fire();
        }
    }
}

/// Nanoseconds of the system's monotonic clock.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to what it is given, and to nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn sleep_until(deadline: u64) {
    let (seconds, nanoseconds) = (deadline / 1_000_000_000, deadline % 1_000_000_000);
    let time = libc::timespec { tv_sec: seconds as i64, tv_nsec: nanoseconds as i64 };
    // SAFETY: it reads what it is given, and has nothing to write to.
    let error = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            ptr::null_mut(),
        )
    };
    assert_eq!(error, 0, "nothing interrupts it");
}
