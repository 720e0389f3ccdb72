//! Races of timers, forced: a command that is not complete yet hides those behind it from the loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::timer::TimerId;
use crate::timer::remote::Command;
use crate::{EventLoop, Handle, VirtualClock};

const MINUTE: Duration = Duration::from_secs(60);

/// A thread that has claimed a place among the commands, and does not fill it until it is told to.
struct Stalled(Sender<()>, JoinHandle<()>);

impl Stalled {
    fn new(handle: Handle) -> Self {
        let (go, wait) = channel();
        let (claimed, is_claimed) = channel();
        let thread = thread::spawn(move || {
            let nobody = TimerId::from_u64(TimerId::MAX).unwrap();
            let make = |()| {
                claimed.send(()).unwrap();
                wait.recv().unwrap();
                Command::Drop(nobody)
            };
            assert!(handle.0.timers.inbox.push((), &make, || None, |(), ()| make(())).is_ok());
            handle.0.sleep.notify();
        });
        is_claimed.recv().unwrap();
        Self(go, thread)
    }

    fn go_on(self) {
        self.0.send(()).unwrap();
        self.1.join().unwrap();
    }
}

fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(f).join().unwrap())
}

/// A loop with a manual clock, driven once; whether it knows the page that other threads take slots from.
fn driven(knows_the_page: bool) -> (VirtualClock, EventLoop) {
    let clock = VirtualClock::new();
    let event_loop = EventLoop::builder().clock(&clock).build().unwrap();
    if knows_the_page {
        let handle = event_loop.handle();
        elsewhere(|| handle.set_timeout(100 * MINUTE, |_| ())).unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    (clock, event_loop)
}

/// How often a callback ran, and whether it was dropped.
fn counted() -> (Arc<AtomicUsize>, impl FnOnce(&crate::Cx) + Send + 'static) {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    (ran, move |_: &crate::Cx| _ = counted.fetch_add(1, Ordering::SeqCst))
}

// spec: TM-6, TM-7, F-13
#[test]
fn a_timer_that_is_still_on_its_way_can_be_cleared_by_the_loop() {
    for knows_the_page in [false, true] {
        let (clock, event_loop) = driven(knows_the_page);
        let (cx, handle) = (event_loop.cx(), event_loop.handle());
        let stalled = Stalled::new(handle.clone());
        let (ran, callback) = counted();
        let id = elsewhere(|| handle.set_timeout(Duration::ZERO, callback).unwrap());
        assert!(cx.clear_timeout(id), "it was set");
        assert!(!cx.clear_timeout(id), "and is cleared");
        // Its slot must not be used by others before it has arrived.
        let mut own = Vec::new();
        for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
            let (ran, callback) = counted();
            own.push(ran);
            assert_ne!(cx.set_timeout(MINUTE, callback).unwrap().index(), id.index());
        }
        stalled.go_on();
        clock.advance(2 * MINUTE);
        for _ in 0..3 {
            event_loop.turn(Duration::ZERO).unwrap();
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0, "what was cleared does not run");
        assert_eq!(Arc::strong_count(&ran), 1, "and is dropped");
        assert!(own.iter().all(|ran| ran.load(Ordering::SeqCst) == 1));
    }
}

// spec: TM-4, TM-6
#[test]
fn a_timer_that_is_still_on_its_way_can_be_reset_by_the_loop() {
    for knows_the_page in [false, true] {
        for delay in [MINUTE / 2, 2 * MINUTE] {
            let (clock, event_loop) = driven(knows_the_page);
            let handle = event_loop.handle();
            let stalled = Stalled::new(handle.clone());
            let (ran, callback) = counted();
            let id = elsewhere(|| handle.set_timeout(MINUTE, callback).unwrap());
            event_loop.cx().reset_timeout(id, delay).unwrap();
            event_loop.turn(Duration::ZERO).unwrap();
            stalled.go_on();
            event_loop.turn(Duration::ZERO).unwrap();
            clock.advance(delay - Duration::from_nanos(1));
            event_loop.turn(Duration::ZERO).unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), 0, "not before {delay:?}");
            clock.advance(Duration::from_nanos(1));
            event_loop.turn(Duration::ZERO).unwrap();
            event_loop.turn(Duration::ZERO).unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), 1);
        }
    }
}

// spec: TM-7, TM-11
#[test]
fn a_timer_that_is_still_on_its_way_can_be_unreferenced_by_the_loop() {
    let (_, event_loop) = driven(false);
    let handle = event_loop.handle();
    let stalled = Stalled::new(handle.clone());
    let id = elsewhere(|| handle.set_timeout(MINUTE, |_| ()).unwrap());
    event_loop.cx().reference_timer(id, false).unwrap();
    stalled.go_on();
    event_loop.run_until_idle().unwrap();
    assert!(event_loop.cx().clear_timeout(id), "it waits all the same");
}
