//! Races of a guest's sleep, forced at their linearisation points. See [`crate::races`].

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::probe::Point;
use crate::races::{build, elsewhere, probe};
use crate::{EventLoop, FastPathMode, Guest, Handle, LoopState};

const MODES: [FastPathMode; 2] = [FastPathMode::Auto, FastPathMode::Disabled];

/// The points of a guest's sleep.
const POINTS: [Point; 3] = [Point::BeforeSleep, Point::SleepPublished, Point::BeforeBlock];

fn is_readable(guest: &impl AsFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(guest, PollFlags::IN)], Some(&now)).unwrap() == 1
}

/// A guest that has had its first turn.
fn guest(mode: FastPathMode) -> Guest {
    let guest = build(mode).into_guest().unwrap();
    while is_readable(&guest) {
        guest.turn().unwrap();
    }
    guest
}

fn event_loop(guest: &Guest) -> &EventLoop {
    &guest.event_loop
}

/// Does something on another thread at a point of the next sleep.
fn at(guest: &Guest, point: Point, action: impl FnOnce(&Handle) + Send + 'static) {
    let handle = guest.handle();
    let reached = probe(event_loop(guest), point, move || elsewhere(move || action(&handle)));
    assert_eq!(guest.turn().unwrap().callbacks, 0);
    assert!(reached.count(point) > 0, "{point:?}");
}

// spec: BX-2, WK-1, WK-2, F-2
#[test]
fn what_is_submitted_at_any_point_of_a_guests_sleep_makes_it_readable() {
    let entrances: [fn(&Handle, Arc<AtomicUsize>); 4] = [
        |handle, ran| handle.submit(move |_| _ = ran.fetch_add(1, Ordering::Relaxed)).unwrap(),
        |handle, ran| {
            handle.submit_internal(move |_| _ = ran.fetch_add(1, Ordering::Relaxed)).unwrap();
        },
        |handle, ran| {
            handle.queue_microtask(move |_| _ = ran.fetch_add(1, Ordering::Relaxed)).unwrap();
        },
        |handle, ran| {
            let call = move |_: &crate::Cx| _ = ran.fetch_add(1, Ordering::Relaxed);
            handle.set_timeout(std::time::Duration::ZERO, call).unwrap();
        },
    ];
    for mode in MODES {
        for point in POINTS {
            for enqueue in entrances {
                let (guest, ran) = (guest(mode), Arc::new(AtomicUsize::new(0)));
                let theirs = Arc::clone(&ran);
                at(&guest, point, move |handle| enqueue(handle, theirs));
                assert!(is_readable(&guest), "{point:?}: the host sleeps through it");
                let mut turns = 0;
                while is_readable(&guest) {
                    guest.turn().unwrap();
                    turns += 1;
                    assert!(turns < 10, "{point:?}");
                }
                assert_eq!(ran.load(Ordering::Relaxed), 1, "{point:?}");
                assert_eq!(guest.state(), LoopState::Sleeping);
            }
        }
    }
}

// spec: BX-2, ST-3, D01
#[test]
fn an_end_at_any_point_of_a_guests_sleep_makes_it_readable() {
    for mode in MODES {
        for point in POINTS {
            for end in [Handle::close, Handle::wake] {
                let guest = guest(mode);
                at(&guest, point, end);
                assert!(is_readable(&guest), "{point:?}");
                guest.turn().unwrap();
            }
        }
    }
}

// spec: BX-2, WK-3
#[test]
fn a_guest_that_is_asleep_is_signalled_once_however_much_is_submitted() {
    for mode in MODES {
        let guest = guest(mode);
        let reached = probe(event_loop(&guest), Point::BeforeBlock, || ());
        guest.turn().unwrap();
        for _ in 0..16 {
            let handle = guest.handle();
            elsewhere(move || handle.submit(|_| ()).unwrap());
            guest.cx().submit(|_| ()).unwrap();
        }
        assert_eq!(reached.count(Point::SignalSent), 1);
        assert_eq!(guest.turn().unwrap().callbacks, 32);
        assert!(!is_readable(&guest));
    }
}
