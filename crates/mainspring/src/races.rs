//! Races, forced at their linearisation points.
//!
//! Each test stops one thread at a [`Point`] and lets another one do its part there, so that the order
//! that would happen once in a million runs happens in every run. A loop that misses a wake-up does
//! not hang the test: it is driven by turns with a time limit that only a broken loop reaches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::probe::Point;
use crate::{EventLoop, FastPathMode, Handle, LoopState};

/// Only a broken loop waits for so long.
const BROKEN: Duration = Duration::from_secs(20);

const MODES: [FastPathMode; 2] = [FastPathMode::Auto, FastPathMode::Disabled];

pub(crate) fn build(mode: FastPathMode) -> EventLoop {
    EventLoop::builder().fast_path(mode).max_spin(Duration::ZERO).build().unwrap()
}

/// The points that were reached, in order.
pub(crate) struct Reached(Arc<Mutex<Vec<Point>>>);

impl Reached {
    pub(crate) fn count(&self, point: Point) -> usize {
        self.0.lock().unwrap().iter().filter(|now| **now == point).count()
    }
}

/// Notes which points are reached, and calls `action` when `point` is, for the first time.
pub(crate) fn probe(
    event_loop: &EventLoop,
    point: Point,
    action: impl FnOnce() + Send + 'static,
) -> Reached {
    let reached: Arc<Mutex<Vec<Point>>> = Arc::default();
    let action = Mutex::new(Some(action));
    let log = Arc::clone(&reached);
    event_loop.cx().0.shared.sleep.probes.set(move |now| {
        log.lock().unwrap().push(now);
        if now == point {
            let action = action.lock().unwrap().take();
            if let Some(action) = action {
                action();
            }
        }
    });
    Reached(reached)
}

/// Does something on another thread, and waits for it.
pub(crate) fn elsewhere(action: impl FnOnce() + Send + 'static) {
    thread::spawn(action).join().unwrap();
}

/// Turns until the loop has run `callbacks`, or fails.
fn turn_until(event_loop: &EventLoop, callbacks: u64) {
    let mut ran = 0;
    while ran < callbacks {
        let turn = event_loop.turn(BROKEN).unwrap();
        assert!(turn.callbacks > 0 || turn.ready, "slept through {} callbacks", callbacks - ran);
        ran += turn.callbacks;
    }
    assert_eq!(ran, callbacks);
}

/// A way to give the loop something to run, with its name.
type Entrance = (&'static str, fn(&Handle));

fn entrances() -> [Entrance; 3] {
    [
        ("submit", |handle| handle.submit(|_| ()).unwrap()),
        ("submit_internal", |handle| handle.submit_internal(|_| ()).unwrap()),
        ("queue_microtask", |handle| handle.queue_microtask(|_| ()).unwrap()),
    ]
}

// spec: WK-1, WK-2, D03, F-1, F-2
#[test]
fn a_task_enqueued_between_the_last_look_and_the_sleep_is_found_without_a_signal() {
    for mode in MODES {
        for (name, enqueue) in entrances() {
            let event_loop = build(mode);
            let handle = event_loop.handle();
            let reached = probe(&event_loop, Point::BeforeSleep, move || {
                elsewhere(move || enqueue(&handle));
            });
            turn_until(&event_loop, 1);
            assert_eq!(reached.count(Point::SignalClaimed), 0, "{name}: the loop was not asleep");
            assert_eq!(reached.count(Point::BeforeBlock), 0, "{name}: the second look found it");
        }
    }
}

// spec: WK-2, D03, F-2
#[test]
fn a_task_enqueued_after_the_second_look_is_signalled() {
    for mode in MODES {
        for (name, enqueue) in entrances() {
            let event_loop = build(mode);
            let handle = event_loop.handle();
            let reached = probe(&event_loop, Point::BeforeBlock, move || {
                elsewhere(move || enqueue(&handle));
            });
            turn_until(&event_loop, 1);
            assert_eq!(reached.count(Point::SignalSent), 1, "{name}");
        }
    }
}

// spec: WK-3
#[test]
fn however_many_producers_race_for_a_sleep_one_signals() {
    for mode in MODES {
        let event_loop = build(mode);
        let handle = event_loop.handle();
        let reached = probe(&event_loop, Point::BeforeBlock, move || {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    let handle = handle.clone();
                    thread::spawn(move || handle.submit(|_| ()).unwrap())
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        turn_until(&event_loop, 16);
        assert_eq!(reached.count(Point::SignalSent), 1);
    }
}

// spec: WK-4
#[test]
fn a_signal_that_comes_late_ends_a_later_sleep_early_and_does_no_harm() {
    for mode in MODES {
        let event_loop = build(mode);
        let handle = event_loop.handle();
        let (go, wait) = channel::<()>();
        let (claimed, is_claimed) = channel();
        let (wait, is_claimed) = (Mutex::new(wait), Mutex::new(is_claimed));
        let late = Mutex::new(None);
        let first = AtomicBool::new(true);
        event_loop.cx().0.shared.sleep.probes.set(move |point| match point {
            Point::BeforeBlock if first.swap(false, Ordering::Relaxed) => {
                let handle = handle.clone();
                *late.lock().unwrap() = Some(thread::spawn(move || handle.wake()));
                is_claimed.lock().unwrap().recv().unwrap();
            }
            Point::SignalClaimed => {
                claimed.send(()).unwrap();
                let _ = wait.lock().unwrap().recv();
            }
            _ => {}
        });
        // The sleep ends by its time limit, with the signal still on its way.
        event_loop.turn(Duration::from_millis(1)).unwrap();
        assert_eq!(event_loop.state(), LoopState::Running);
        drop(go);
        event_loop.cx().0.shared.sleep.probes.set(|_| ());
        // Whenever it arrives: the loop still hears what comes after it.
        let handle = event_loop.handle();
        elsewhere(move || handle.submit(|_| ()).unwrap());
        turn_until(&event_loop, 1);
    }
}

// spec: ST-3, D01, F-4
#[test]
fn a_termination_between_the_wake_up_and_its_publication_is_not_overwritten() {
    for mode in MODES {
        let event_loop = build(mode);
        let handle = event_loop.handle();
        let waker = event_loop.handle();
        let reached = probe(&event_loop, Point::AfterBlock, move || {
            elsewhere(move || handle.close());
        });
        elsewhere(move || waker.wake());
        event_loop.turn(BROKEN).unwrap();
        event_loop.turn(Duration::from_millis(1)).unwrap();
        assert!(reached.count(Point::AfterBlock) > 0);
        assert_eq!(event_loop.state(), LoopState::Terminated);
    }
}

// spec: ST-3, TK-7
#[test]
fn a_termination_at_the_last_instant_before_the_poll_skips_the_poll() {
    for mode in MODES {
        let event_loop = build(mode);
        let handle = event_loop.handle();
        let reached = probe(&event_loop, Point::BeforeSleep, move || {
            elsewhere(move || handle.close());
        });
        event_loop.run().unwrap();
        assert_eq!(reached.count(Point::SleepPublished), 0);
        assert_eq!(reached.count(Point::SignalClaimed), 0);
    }
}

fn count(ran: &AtomicUsize) {
    ran.fetch_add(1, Ordering::Relaxed);
}

// spec: IN-4, D09, SD-1, F-33
#[test]
fn what_is_accepted_between_the_last_look_and_terminated_is_run() {
    for enqueue in [
        (|handle: &Handle, ran: Arc<AtomicUsize>| {
            handle.submit_internal(move |_| count(&ran)).unwrap();
        }) as fn(&Handle, Arc<AtomicUsize>),
        |handle, ran| {
            handle.queue_microtask(move |_| count(&ran)).unwrap();
        },
        // A task that queues a task that queues a microtask.
        |handle, ran| {
            handle
                .submit_internal(|cx| {
                    cx.submit_internal(|cx| {
                        cx.queue_microtask(move |_| count(&ran));
                    })
                    .unwrap();
                })
                .unwrap();
        },
    ] {
        let event_loop = build(FastPathMode::Auto);
        let handle = event_loop.handle();
        let ran = Arc::new(AtomicUsize::new(0));
        let task_ran = Arc::clone(&ran);
        probe(&event_loop, Point::BeforeTerminated, move || {
            elsewhere(move || enqueue(&handle, task_ran));
        });
        event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
        event_loop.run().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        assert_eq!(Arc::strong_count(&ran), 1);
    }
}

// spec: WK-6, F-21
#[test]
fn a_mode_switched_at_any_point_of_a_sleep_strands_nothing() {
    for point in [Point::BeforeSleep, Point::SleepPublished, Point::BeforeBlock, Point::AfterBlock]
    {
        for (from, to) in [(MODES[0], MODES[1]), (MODES[1], MODES[0])] {
            let event_loop = build(from);
            let handle = event_loop.handle();
            let waker = event_loop.handle();
            probe(&event_loop, point, move || {
                elsewhere(move || {
                    handle.submit(|_| ()).unwrap();
                    handle.set_fast_path(to).unwrap();
                    handle.submit(|_| ()).unwrap();
                });
            });
            if point == Point::AfterBlock {
                elsewhere(move || waker.wake());
                event_loop.turn(BROKEN).unwrap();
                event_loop.turn(Duration::from_millis(1)).unwrap();
            }
            turn_until(&event_loop, 2);
        }
    }
}

#[cfg(target_os = "linux")]
mod with_faults {
    use super::*;
    use crate::sys::faults::{Call, inject};
    use crate::testing::alone;
    use rustix::io::Errno;
    use std::os::fd::{AsRawFd, OwnedFd};

    // spec: WK-4, D07, F-3
    #[test]
    fn a_wake_that_fails_for_good_leaves_the_next_one_its_chance() {
        let event_loop = build(FastPathMode::Disabled);
        let handle = event_loop.handle();
        let reached = probe(&event_loop, Point::BeforeBlock, move || {
            let other = handle.clone();
            elsewhere(move || {
                inject(Call::Write, Errno::IO);
                other.submit(|_| ()).unwrap();
            });
            elsewhere(move || handle.submit(|_| ()).unwrap());
        });
        turn_until(&event_loop, 2);
        assert_eq!(reached.count(Point::SignalSent), 2);
    }

    // spec: WK-4, D07
    #[test]
    fn a_wake_that_is_interrupted_arrives() {
        let event_loop = build(FastPathMode::Disabled);
        let handle = event_loop.handle();
        probe(&event_loop, Point::BeforeBlock, move || {
            elsewhere(move || {
                inject(Call::Write, Errno::INTR);
                handle.submit(|_| ()).unwrap();
            });
        });
        turn_until(&event_loop, 1);
    }

    fn open_fds() -> Vec<i32> {
        let mut fds: Vec<i32> = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let target = std::fs::read_link(entry.path()).ok()?;
                target.to_string_lossy().contains("eventfd").then_some(())?;
                entry.file_name().to_str()?.parse().ok()
            })
            .collect();
        fds.sort_unstable();
        fds
    }

    fn eventfd() -> OwnedFd {
        rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap()
    }

    // Runs alone in its process, because it looks at descriptor numbers.
    // spec: WK-8, F-20
    #[test]
    fn a_signal_is_never_written_to_a_descriptor_that_was_closed_and_reused() {
        if !alone(
            "races::with_faults::a_signal_is_never_written_to_a_descriptor_that_was_closed_and_reused",
        ) {
            return;
        }
        let event_loop = build(FastPathMode::Disabled);
        let fd = open_fds();
        assert_eq!(fd.len(), 1);
        let handle = event_loop.handle();
        let (go, wait) = channel::<()>();
        let (claimed, is_claimed) = channel();
        let (wait, is_claimed) = (Mutex::new(wait), Mutex::new(is_claimed));
        let producer = Arc::new(Mutex::new(None));
        let spawned = Arc::clone(&producer);
        event_loop.cx().0.shared.sleep.probes.set(move |point| match point {
            Point::BeforeBlock => {
                let handle = handle.clone();
                let thread = thread::spawn(move || handle.submit(|_| ()).is_ok());
                *spawned.lock().unwrap() = Some(thread);
                is_claimed.lock().unwrap().recv().unwrap();
            }
            Point::SignalClaimed => {
                claimed.send(()).unwrap();
                let _ = wait.lock().unwrap().recv();
            }
            _ => {}
        });
        // The producer has the right to signal, and stops there; the loop times out and ends.
        event_loop.turn(Duration::from_millis(1)).unwrap();
        drop(event_loop);
        assert!(open_fds().is_empty(), "closed in spite of the producer");
        // The loop had more than this one, so its number may not be the first that is given out again.
        let strangers = [eventfd(), eventfd(), eventfd()];
        let stranger = strangers.iter().find(|stranger| stranger.as_raw_fd() == fd[0]);
        let stranger = stranger.expect("the number is in use again");
        drop(go);
        assert!(producer.lock().unwrap().take().unwrap().join().unwrap());
        let mut count = [0; 8];
        assert_eq!(rustix::io::read(stranger, &mut count), Err(Errno::AGAIN), "untouched");
    }

    // spec: F-19, SD-6
    #[test]
    fn a_loop_whose_construction_fails_half_way_leaves_no_descriptor() {
        if !alone(
            "races::with_faults::a_loop_whose_construction_fails_half_way_leaves_no_descriptor",
        ) {
            return;
        }
        let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = count();
        // The portable poller is made by a crate, in one go.
        let native = [Call::Poller, Call::Eventfd, Call::Timerfd, Call::Add];
        let calls = if cfg!(mainspring_portable) { &native[..1] } else { &native };
        for &call in calls.repeat(10).iter() {
            inject(call, Errno::MFILE);
            let error = EventLoop::builder().fast_path(FastPathMode::Disabled).build().unwrap_err();
            assert!(matches!(error, crate::Error::Io(_)), "{error}");
            assert_eq!(count(), before);
        }
        let event_loop = EventLoop::new().unwrap();
        inject(Call::Poller, Errno::MFILE);
        let handle = event_loop.handle();
        assert!(handle.set_fast_path(FastPathMode::Disabled).is_err());
        assert_eq!(handle.fast_path(), FastPathMode::Auto, "nothing was changed");
        assert_eq!(count(), before);
        handle.set_fast_path(FastPathMode::Disabled).unwrap();
        assert_eq!(count(), before + 3, "to poll, to wake, and for time");
        drop(event_loop);
        assert_eq!(count(), before, "although a handle is left");
        assert!(handle.set_fast_path(FastPathMode::Disabled).is_err());
        assert_eq!(count(), before);
    }

    #[test]
    fn a_poller_that_fails_for_good_ends_the_loop_in_the_normal_order() {
        let seen = std::rc::Rc::new(std::cell::Cell::new(false));
        let hook_seen = std::rc::Rc::clone(&seen);
        let event_loop = EventLoop::builder()
            .fast_path(FastPathMode::Disabled)
            .max_spin(Duration::ZERO)
            .on_error(move |cx, error| {
                assert!(matches!(error, crate::Error::Io(_)));
                hook_seen.set(true);
                cx.submit_internal(|cx| cx.queue_microtask(|_| ())).unwrap();
            })
            .build()
            .unwrap();
        inject(Call::Wait, Errno::NOMEM);
        let error = event_loop.run().unwrap_err();
        assert!(matches!(error, crate::Error::Io(_)), "{error}");
        assert!(seen.get());
        assert_eq!(event_loop.state(), LoopState::Terminated);
        assert_eq!(event_loop.handle().pending(), 0);
    }
}
