//! The simulator itself: that it repeats itself, lets threads interleave, notices what is stuck, and behaves as
//! the system does.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use super::*;
use crate::{AbortSignal, Cx, EventLoop, FastPathMode, Interest, Readiness, Rejection};

/// A program with everything in it. Returns what happened, in order, and the fingerprint.
fn busy_program() -> (Vec<u32>, u64) {
    let log = Arc::new(StdMutex::new(Vec::new()));
    let note = |log: &Arc<StdMutex<Vec<u32>>>, what| log.lock().unwrap().push(what);
    let event_loop = EventLoop::new().unwrap();
    let mut threads = Vec::new();
    for producer in 0..3 {
        let (handle, log) = (event_loop.handle(), Arc::clone(&log));
        threads.push(spawn(move || {
            for task in 0..5 {
                sleep(Duration::from_micros(random() % 50));
                let log = Arc::clone(&log);
                let number = producer * 10 + task;
                handle.submit(move |_| note(&log, number)).map_err(drop).unwrap();
            }
        }));
    }
    let (mut near, far) = Stream::pair().unwrap();
    let heard = Arc::clone(&log);
    let callback = move |_: &Cx, mut source: &Stream, _: Readiness| {
        let mut buffer = [0; 8];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            buffer[..count].iter().for_each(|byte| note(&heard, 100 + u32::from(*byte)));
        }
    };
    far.set_nonblocking(true);
    event_loop.cx().register_fd(far, Interest::READ, callback).unwrap();
    let handle = event_loop.handle();
    threads.push(spawn(move || {
        near.write_all(b"abc").unwrap();
        sleep(Duration::from_secs(2));
        handle.close();
    }));
    event_loop.run().unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let log = log.lock().unwrap().clone();
    (log, fingerprint())
}

// spec: BX-3
#[test]
fn a_seed_does_the_same_again_and_others_do_not() {
    let run = |seed| Simulation::new(seed).faults(Faults::usual()).run(busy_program).unwrap();
    let mut orders = Vec::new();
    for seed in 0..50 {
        let (first, second) = (run(seed), run(seed));
        assert_eq!(first, second, "seed {seed}");
        orders.push(first.0);
    }
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 25, "only {} of 50 are different", orders.len());
}

// spec: BX-3
#[test]
fn a_thread_that_stands_still_misses_what_others_take_long_for() {
    let missed = || {
        let number = Arc::new(AtomicU32::new(0));
        let others = Arc::clone(&number);
        let other = spawn(move || {
            for _ in 0..10 {
                sleep(Duration::from_millis(1));
                others.fetch_add(1, Ordering::Relaxed);
            }
        });
        let before = number.load(Ordering::Relaxed);
        point();
        let missed = number.load(Ordering::Relaxed) - before;
        other.join().unwrap();
        missed
    };
    let most = |stalled| {
        let faults = Faults { stalled, late: Duration::from_secs(1), ..Faults::none() };
        (0..100).map(|seed| Simulation::new(seed).faults(faults).run(missed).unwrap()).max()
    };
    assert_eq!(most(0), Some(0));
    assert_eq!(most(100), Some(10));
}

/// Two threads that add to a number in two steps each.
fn lost_update() -> u32 {
    let number = Arc::new(AtomicU32::new(0));
    let add = |number: Arc<AtomicU32>| {
        move || {
            let before = number.load(Ordering::Relaxed);
            point();
            number.store(before + 1, Ordering::Relaxed);
        }
    };
    let threads = [spawn(add(Arc::clone(&number))), spawn(add(Arc::clone(&number)))];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    number.load(Ordering::Relaxed)
}

#[test]
fn threads_interleave_at_points() {
    let results: Vec<_> =
        (0..200).map(|seed| Simulation::new(seed).run(lost_update).unwrap()).collect();
    assert!(results.contains(&1) && results.contains(&2));
}

#[test]
fn a_lock_that_is_held_makes_others_wait() {
    for seed in 0..200 {
        let program = || {
            let count = Arc::new(sync::Mutex::new(0));
            let add = |count: Arc<sync::Mutex<u32>>| {
                move || {
                    let mut count = count.lock().unwrap();
                    let before = *count;
                    point();
                    *count = before + 1;
                }
            };
            let threads = [(); 3].map(|()| spawn(add(Arc::clone(&count))));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            *count.lock().unwrap()
        };
        assert_eq!(Simulation::new(seed).run(program).unwrap(), 3);
    }
}

#[test]
fn what_waits_for_ever_is_stuck_and_says_for_what() {
    for mode in [FastPathMode::Auto, FastPathMode::Disabled] {
        let program = move || EventLoop::builder().fast_path(mode).build().unwrap().run();
        let failure = Simulation::new(1).run(program).unwrap_err();
        let Failure::Stuck { threads, .. } = &failure else { panic!("{failure}") };
        let waits_for = if mode == FastPathMode::Auto { "being unparked" } else { "the poller" };
        assert_eq!(*threads, [("the program".to_owned(), waits_for)]);
        assert_eq!(
            failure.to_string(),
            format!("seed 1: stuck: the program waits for {waits_for}")
        );
    }
}

#[test]
fn a_panic_that_nobody_joins_fails_the_simulation() {
    let failure = Simulation::new(9).run(|| drop(spawn(|| panic!("oh")))).unwrap_err();
    assert_eq!(failure, Failure::Panicked { seed: 9, message: "oh".to_owned() });
}

#[test]
fn time_passes_only_while_everybody_waits_and_never_too_early() {
    for seed in 0..100 {
        let faults = Faults { still: seed % 2 == 0, ..Faults::usual() };
        let program = || {
            let event_loop = EventLoop::new().unwrap();
            let cx = event_loop.cx();
            let fired = Rc::new(RefCell::new(Vec::new()));
            for hours in [3, 1, 2] {
                let (fired, due) = (Rc::clone(&fired), Duration::from_secs(3600 * hours));
                let begin = cx.now();
                cx.set_timeout(due, move |cx| {
                    assert!(cx.now() >= begin + due);
                    fired.borrow_mut().push(hours);
                })
                .unwrap();
            }
            event_loop.run_until_idle().unwrap();
            assert_eq!(*fired.borrow(), [1, 2, 3]);
            assert!(elapsed() >= Duration::from_secs(3 * 3600));
            assert!(elapsed() < Duration::from_secs(3 * 3600 + 60));
        };
        Simulation::new(seed).faults(faults).run(program).unwrap();
    }
}

#[test]
fn functions_that_block_run_on_simulated_threads() {
    for seed in 0..100 {
        let program = || {
            let event_loop = EventLoop::new().unwrap();
            let sum = Rc::new(Cell::new(0));
            for number in 1..=10 {
                let sum = Rc::clone(&sum);
                let promise = event_loop.handle().promisify(&AbortSignal::never(), move |_| {
                    sleep(Duration::from_millis(random() % 20));
                    Ok::<_, Rejection>(number)
                });
                let add = move |_: &Cx, number: i32| sum.set(sum.get() + number);
                promise.to_local(event_loop.cx()).then(add);
            }
            event_loop.run_until_idle().unwrap();
            sum.get()
        };
        let sum = Simulation::new(seed).faults(Faults::usual()).run(program).unwrap();
        assert_eq!(sum, 55, "seed {seed}");
    }
}

#[test]
fn streams_are_whole_whatever_goes_wrong() {
    for seed in 0..200 {
        let program = || {
            let (mut near, mut far) = Stream::pair().unwrap();
            let bytes: Vec<u8> = (0..20_000_u32).map(|number| number as u8).collect();
            let sent = bytes.clone();
            let sender = spawn(move || near.write_all(&sent));
            let mut received = Vec::new();
            far.read_to_end(&mut received).unwrap();
            sender.join().unwrap().unwrap();
            assert_eq!(received, bytes);
            drop(far);
            assert_eq!(open_descriptors(), 0);
        };
        Simulation::new(seed).faults(Faults::usual()).run(program).unwrap();
    }
}

#[test]
fn who_writes_to_nobody_is_told() {
    let program = || {
        let (mut near, far) = Stream::pair().unwrap();
        drop(far);
        assert_eq!(near.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(near.read(&mut [0]).unwrap(), 0);
    };
    Simulation::new(1).run(program).unwrap();
}

#[test]
fn without_descriptors_or_memory_calls_fail_and_nothing_is_left() {
    let refused = AtomicU32::new(0);
    for seed in 0..300 {
        let faults = Faults { no_descriptor: 300, no_memory: 300, ..Faults::none() };
        let program = || {
            let Ok((source, _peer)) = Stream::pair() else { return true };
            let mode = FastPathMode::Disabled;
            let Ok(event_loop) = EventLoop::builder().fast_path(mode).build() else { return true };
            let was_refused =
                event_loop.cx().register_fd(source, Interest::READ, |_, _, _| ()).is_err();
            event_loop.turn(Duration::ZERO).unwrap();
            drop(event_loop);
            assert!(open_descriptors() <= 1, "the peer's alone");
            was_refused
        };
        let was_refused = Simulation::new(seed).faults(faults).run(program).unwrap();
        refused.fetch_add(u32::from(was_refused), Ordering::Relaxed);
    }
    assert!((50..300).contains(&refused.into_inner()));
}

#[test]
fn outside_of_a_simulation_nothing_is_simulated() {
    assert_eq!(Stream::pair().unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(std::panic::catch_unwind(point).is_err());
}
