//! Ticks with something to do in most phases, and the same in each: for counting instructions.

use std::time::Duration;

use mainspring::{Cx, EventLoop, VirtualClock};

/// Runs so many ticks.
pub fn run(count: u64) {
    // Time that does not depend on how long this takes.
    let clock = VirtualClock::auto();
    let event_loop = EventLoop::builder().clock(&clock).build().expect("a loop can be built");
    event_loop.cx().submit(move |cx| tick(cx, count)).expect("it is accepted");
    event_loop.run().expect("it ends by itself");
}

/// One tick, which begins the next one.
fn tick(cx: &Cx, left: u64) {
    if left == 0 {
        cx.shutdown();
        return;
    }
    cx.queue_microtask(|_| ());
    cx.next_tick(|_| ());
    cx.set_immediate(|_| ());
    cx.queue_close(|_| ());
    let set = cx.set_timeout(Duration::ZERO, |_| ());
    let internal = cx.submit_internal(|_| ());
    let next = cx.submit(move |cx| tick(cx, left - 1));
    assert!(set.is_ok() && internal.is_ok() && next.is_ok());
}
