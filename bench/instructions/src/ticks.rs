//! Ticks with little or nothing to do, and loops that never had any.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{EventLoop, Watch};
use rustix::event::{EventfdFlags, eventfd};

use crate::counted::{COUNT, Step, counted, expect_steps};

/// Turns of a loop that has nothing to do.
pub fn empty_turn() {
    let event_loop = EventLoop::new().unwrap();
    counted(|| {
        for _ in 0..COUNT {
            let turn = event_loop.turn(Duration::ZERO).unwrap();
            assert_eq!(turn.callbacks, 0);
        }
    });
}

/// A loop with a descriptor that is ready, and stays so: nobody reads what was written. After so many callbacks the
/// loop is shut down.
fn with_ready_descriptor() -> EventLoop {
    let event_loop = EventLoop::new().unwrap();
    let descriptor = eventfd(1, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap();
    let mut number = 0;
    let watch = Watch::new().read(move |cx, _: &OwnedFd| {
        number += 1;
        Step::new(number).run();
        if number == COUNT {
            cx.shutdown();
        }
    });
    drop(event_loop.cx().watch(descriptor, watch).unwrap());
    event_loop
}

/// Turns of a loop that finds one descriptor ready in each.
pub fn turn_with_descriptor() {
    let event_loop = with_ready_descriptor();
    counted(|| {
        for _ in 0..COUNT {
            let turn = event_loop.turn(Duration::ZERO).unwrap();
            assert_eq!(turn.callbacks, 1);
        }
    });
    expect_steps(COUNT);
}

/// The same ticks of a loop that runs by itself, and would wait if nothing were ready: the way of a server.
pub fn run_with_descriptor() {
    let event_loop = with_ready_descriptor();
    counted(|| event_loop.run()).unwrap();
    expect_steps(COUNT);
}

/// How many descriptors are ready at once.
const MANY: u64 = 50;

/// Callbacks of a loop that finds many descriptors ready in each tick: the way of a server that is busy.
pub fn many_descriptors() {
    let event_loop = EventLoop::new().unwrap();
    let number = Rc::new(Cell::new(0));
    for _ in 0..MANY {
        let descriptor = eventfd(1, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap();
        let number = Rc::clone(&number);
        let watch = Watch::new().read(move |cx, _: &OwnedFd| {
            number.set(number.get() + 1);
            Step::new(number.get()).run();
            if number.get() == COUNT {
                cx.shutdown();
            }
        });
        drop(event_loop.cx().watch(descriptor, watch).unwrap());
    }
    counted(|| event_loop.run()).unwrap();
    expect_steps(COUNT);
}

/// How many loops are made.
pub const LOOPS: u64 = 100;

/// Making a loop, and dropping it.
pub fn make_and_drop() {
    counted(|| {
        for _ in 0..LOOPS {
            drop(EventLoop::new().unwrap());
        }
    });
}
