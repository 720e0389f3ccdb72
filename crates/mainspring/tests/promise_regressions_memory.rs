//! Promises kept memory that nobody needed: defects that must not come back. Counted by the allocator.

mod common;
#[path = "common/counting.rs"]
mod counting;
#[path = "common/promises.rs"]
mod promising;
use std::sync::{MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{turn_until_quiet, wait_until_sleeping};
use counting::bytes;
use mainspring::{EventLoop, Promise};
use promising::{Oops, PATIENCE};

/// One test after the other, and all threads are counted. What the test harness allocates meanwhile is little.
fn alone() -> MutexGuard<'static, ()> {
    counting::count_everybody();
    counting::alone()
}

/// A burst; each takes about 100 bytes.
const MANY: usize = 100_000;

/// What may be left of one.
const LEFT: isize = 3_000_000;

// A resolver was put into a table that nothing would ever empty, and that had the whole loop.
// spec: PR-4, SD-6
#[test]
fn a_promise_that_becomes_local_after_the_end_does_not_keep_the_loop() {
    let _alone = alone();
    let cycle = || {
        let event_loop = EventLoop::new().unwrap();
        let promise = Promise::resolve(&event_loop.handle(), 5);
        let cx = event_loop.cx().clone();
        drop(event_loop);
        drop(promise.to_local(&cx));
    };
    cycle();
    let before = bytes();
    for _ in 0..20 {
        cycle();
    }
    let grown = bytes() - before;
    assert!(grown < 100_000, "{grown} bytes more after 20 loops");
}

/// Promises that this thread makes and settles, with or without a handler, while the loop sleeps if it may.
fn settled_while_the_loop_sleeps(budget: Option<usize>, with_handler: bool) {
    let _alone = alone();
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop = EventLoop::builder().microtask_budget(budget).build().unwrap();
        sender.send(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
    });
    let handle = receiver.recv().unwrap();
    wait_until_sleeping(&handle);
    let before = bytes();
    for _ in 0..MANY {
        let (promise, resolver) = Promise::with_resolvers(&handle);
        if with_handler {
            promise.then(|_, value: i32| value);
        }
        resolver.resolve(1);
    }
    // Nothing else happens that would wake the loop.
    let start = Instant::now();
    while bytes() - before > LEFT && start.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    let grown = bytes() - before;
    handle.close();
    thread.join().unwrap();
    assert!(grown <= LEFT, "{grown} bytes are left");
}

// The loop was not woken to forget them.
// spec: RG-1, RG-2, PR-4
#[test]
fn promises_that_are_settled_while_the_loop_sleeps_do_not_pile_up() {
    settled_while_the_loop_sleeps(Some(1024), false);
}

// Each tick took some over, and there were too few ticks.
// spec: RG-1, RG-2, PR-4, MT-3
#[test]
fn a_burst_that_is_served_in_one_tick_is_forgotten_before_the_loop_sleeps() {
    settled_while_the_loop_sleeps(None, true);
}

flavours! {
    // The queue kept the size of its peak.
    // spec: PR-7
    #[test]
    fn a_burst_of_rejections_gives_its_memory_back() {
        let _alone = alone();
        let event_loop = EventLoop::builder()
            .microtask_budget(None)
            .on_unhandled_rejection(|_, _| ())
            .on_rejection_handled(|_, _| ())
            .build()
            .unwrap();
        event_loop.run_until_idle().unwrap();
        let before = bytes();
        // Some are handled when they have been reported.
        let mut late = vec![];
        for i in 0..MANY {
            let promise = P::<()>::reject(&at(event_loop.cx()), Oops(1));
            if i % 2 == 0 {
                late.push(promise);
            }
        }
        turn_until_quiet(&event_loop);
        for promise in late {
            promise.catch(|_, _| ());
        }
        turn_until_quiet(&event_loop);
        let grown = bytes() - before;
        assert!(grown < LEFT / 3, "{grown} bytes are left");
    }
}
