//! Callbacks that are queued, and run.

use std::sync::mpsc;
use std::time::Duration;

use mainspring::{Cx, EventLoop};

use crate::counted::{COUNT, Step, counted, expect_steps};

/// Submitting from a thread that does not own the loop. The loop is awake, and waits in a callback: what is counted
/// does not depend on how the threads are scheduled.
pub fn submit_from_another_thread() {
    let (give, handle) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let owner = std::thread::spawn(move || {
        let event_loop = EventLoop::new().unwrap();
        let wait = move |cx: &Cx| {
            give.send(cx.handle()).unwrap();
            released.recv().unwrap();
        };
        assert!(event_loop.cx().submit(wait).is_ok());
        event_loop.run_until_idle().unwrap();
    });
    let handle = handle.recv().unwrap();
    // The first one of a loop allocates the ring.
    assert!(handle.submit(|_| ()).is_ok());
    counted(|| {
        for number in 1..=COUNT {
            let step = Step::new(number);
            assert!(handle.submit(move |_| step.run()).is_ok());
        }
    });
    release.send(()).unwrap();
    owner.join().unwrap();
    expect_steps(COUNT);
}

fn submit_all(cx: &Cx) {
    for number in 1..=COUNT {
        let step = Step::new(number);
        assert!(cx.submit(move |_| step.run()).is_ok());
    }
}

/// Submitting in a callback of the loop.
pub fn submit_local() {
    let event_loop = EventLoop::new().unwrap();
    assert!(event_loop.cx().submit(|cx| counted(|| submit_all(cx))).is_ok());
    event_loop.run_until_idle().unwrap();
    expect_steps(COUNT);
}

/// Running tasks that are queued, in one tick.
pub fn run_queued() {
    let event_loop = EventLoop::new().unwrap();
    submit_all(event_loop.cx());
    let turn = counted(|| event_loop.turn(Duration::ZERO)).unwrap();
    assert_eq!(turn.callbacks, COUNT);
    expect_steps(COUNT);
}

/// Running tasks that are queued, in one tick, each of which queues a microtask, which comes before the next task.
pub fn run_queued_with_microtask() {
    let event_loop = EventLoop::new().unwrap();
    for number in 1..=COUNT {
        let step = Step::new(number);
        assert!(event_loop.cx().submit(move |cx| cx.queue_microtask(move |_| step.run())).is_ok());
    }
    let turn = counted(|| event_loop.turn(Duration::ZERO)).unwrap();
    assert_eq!(turn.callbacks, 2 * COUNT);
    expect_steps(COUNT);
}

/// Microtasks, each of which queues the next one.
pub fn microtask_chain() {
    fn link(cx: &Cx, step: Step) {
        step.run();
        if let Some(next) = step.next() {
            cx.queue_microtask(move |cx| link(cx, next));
        }
    }
    let event_loop = EventLoop::new().unwrap();
    event_loop.cx().queue_microtask(|cx| link(cx, Step::new(COUNT)));
    counted(|| event_loop.run_microtasks()).unwrap();
    expect_steps(COUNT);
}

/// The same with `next_tick`.
pub fn next_tick_chain() {
    fn link(cx: &Cx, step: Step) {
        step.run();
        if let Some(next) = step.next() {
            cx.next_tick(move |cx| link(cx, next));
        }
    }
    let event_loop = EventLoop::new().unwrap();
    event_loop.cx().next_tick(|cx| link(cx, Step::new(COUNT)));
    counted(|| event_loop.run_microtasks()).unwrap();
    expect_steps(COUNT);
}

/// Setting immediates in a callback, and running them in the same tick.
pub fn immediates() {
    let event_loop = EventLoop::new().unwrap();
    let set = |cx: &Cx| {
        for number in 1..=COUNT {
            let step = Step::new(number);
            cx.set_immediate(move |_| step.run());
        }
    };
    assert!(event_loop.cx().submit(set).is_ok());
    let turn = counted(|| event_loop.turn(Duration::ZERO)).unwrap();
    assert_eq!(turn.callbacks, COUNT + 1);
    expect_steps(COUNT);
}
