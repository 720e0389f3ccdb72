//! Races of descriptors with the loop's sleep, forced at their linearisation points.

use std::cell::Cell;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::probe::Point;
use crate::races::{build, elsewhere, probe};
use crate::{Error, EventLoop, FastPathMode, Interest, LoopState};

/// A loop with an edge-triggered descriptor, its other end, and how often its callback was run.
fn watching() -> (EventLoop, Arc<UnixStream>, UnixStream, Rc<Cell<usize>>) {
    let event_loop = build(FastPathMode::Auto);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let ours = Arc::new(ours);
    let calls = Rc::new(Cell::new(0));
    let seen = Rc::clone(&calls);
    let interest = Interest::READ.edge_triggered();
    let count = move |_: &crate::Cx, _: &Arc<UnixStream>, _| seen.set(seen.get() + 1);
    event_loop.cx().register_fd(Arc::clone(&ours), interest, count).unwrap();
    (event_loop, ours, theirs, calls)
}

// spec: M1-2.5, M1-1.3
#[test]
fn a_sleep_that_is_called_off_does_not_deliver_the_last_batch_again() {
    let (event_loop, _ours, mut theirs, calls) = watching();
    theirs.write_all(b"x").unwrap();
    event_loop.turn(None).unwrap();
    assert_eq!(calls.get(), 1);
    let handle = event_loop.handle();
    let reached = probe(&event_loop, Point::SleepPublished, move || {
        elsewhere(move || handle.submit(|_| ()).unwrap());
    });
    event_loop.turn(None).unwrap();
    assert_eq!(reached.count(Point::BeforeBlock), 0, "it was called off");
    assert_eq!(calls.get(), 1);
}

// spec: IO-6
#[test]
fn a_sleep_that_is_called_off_does_not_keep_descriptors_from_being_looked_at() {
    let (event_loop, _ours, mut theirs, calls) = watching();
    let handle = event_loop.handle();
    let reached = probe(&event_loop, Point::SleepPublished, move || {
        elsewhere(move || {
            theirs.write_all(b"x").unwrap();
            handle.submit(|_| ()).unwrap();
        });
    });
    event_loop.turn(None).unwrap();
    assert_eq!(reached.count(Point::BeforeBlock), 0, "it was called off");
    assert_eq!(calls.get(), 1, "in the same tick");
}

// spec: IO-4, SD-4
#[test]
fn a_loop_that_is_closed_when_the_poll_returns_delivers_nothing() {
    let (event_loop, ours, mut theirs, calls) = watching();
    theirs.write_all(b"x").unwrap();
    let handle = event_loop.handle();
    let closing = handle.clone();
    probe(&event_loop, Point::AfterBlock, move || elsewhere(move || closing.close()));
    event_loop.run().unwrap();
    assert_eq!(calls.get(), 0);
    assert_eq!(event_loop.state(), LoopState::Terminated);
    assert_eq!(Arc::strong_count(&ours), 1, "what was registered is dropped");
    let modified = handle.modify_fd(ours.as_raw_fd(), Interest::READ);
    assert!(matches!(modified, Err(Error::PollerClosed)), "{modified:?}");
}

// spec: WK-6, F-21, F-10
#[test]
fn a_descriptor_that_comes_when_the_loop_is_about_to_park_is_heard_of() {
    for point in [Point::BeforeSleep, Point::SleepPublished, Point::BeforeBlock] {
        let event_loop = build(FastPathMode::Auto);
        let handle = event_loop.handle();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let reached = probe(&event_loop, point, move || {
            elsewhere(move || {
                theirs.write_all(b"x").unwrap();
                handle
                    .register_fd(ours, Interest::READ.one_shot(), |cx, _, _| cx.shutdown())
                    .unwrap();
            });
        });
        // Only a broken loop waits for so long.
        let wait = Duration::from_secs(20);
        event_loop.turn(wait).unwrap();
        let was_called_off = reached.count(Point::BeforeBlock) == 0;
        assert!(was_called_off || reached.count(Point::SignalSent) > 0, "slept through {point:?}");
        // The first turn may have ended because the loop was woken, and for nothing else.
        while !event_loop.state().is_ending() {
            assert!(event_loop.turn(wait).unwrap().callbacks > 0, "{point:?}");
        }
    }
}
