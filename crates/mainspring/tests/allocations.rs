//! In the steady state nothing is allocated: counted by the allocator.

#[path = "common/counting.rs"]
mod counting;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use counting::{alone, count};
use mainspring::{Cx, EventLoop};

/// Allocations of the current thread during `action`, and of others that are counted.
fn allocations(action: impl FnOnce()) -> usize {
    let before = counting::allocations();
    count(true);
    action();
    count(false);
    counting::allocations() - before
}

/// Submits `tasks` tasks made by `make` from another thread, never more than 500 ahead of the loop,
/// while the loop runs them; returns how much was allocated by both.
fn sent<F>(event_loop: &EventLoop, tasks: u64, make: fn(&'static AtomicU64) -> F) -> usize
where
    F: FnOnce(&Cx) + Send + 'static,
{
    let ran: &'static AtomicU64 = Box::leak(Box::default());
    let handle = event_loop.handle();
    let start = Arc::new(Barrier::new(2));
    let producer = {
        let start = Arc::clone(&start);
        thread::spawn(move || {
            start.wait();
            count(true);
            for n in 0..tasks {
                while n - ran.load(Ordering::Relaxed) > 500 {
                    thread::yield_now();
                }
                handle.submit(make(ran)).unwrap();
            }
            count(false);
        })
    };
    let before = counting::allocations();
    start.wait();
    allocations(|| {
        while ran.load(Ordering::Relaxed) < tasks {
            event_loop.turn(Duration::from_secs(60)).unwrap();
        }
    });
    producer.join().unwrap();
    counting::allocations() - before
}

fn six_words(ran: &'static AtomicU64) -> impl FnOnce(&Cx) + Send + 'static {
    let ballast = [1_usize, 2, 3, 4, 5];
    let task = move |_: &Cx| {
        let ballast = std::hint::black_box(ballast);
        ran.fetch_add(ballast[0] as u64, Ordering::Relaxed);
    };
    assert_eq!(size_of_val(&task), 6 * size_of::<usize>());
    task
}

fn seven_words(ran: &'static AtomicU64) -> impl FnOnce(&Cx) + Send + 'static {
    let ballast = [1_usize, 2, 3, 4, 5, 6];
    let task = move |_: &Cx| {
        let ballast = std::hint::black_box(ballast);
        ran.fetch_add(ballast[0] as u64, Ordering::Relaxed);
    };
    assert_eq!(size_of_val(&task), 7 * size_of::<usize>());
    task
}

// spec: IN-7, D14
#[test]
fn submitting_and_running_six_words_allocates_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    sent(&event_loop, 10_000, six_words);
    assert_eq!(sent(&event_loop, 100_000, six_words), 0);
}

// spec: IN-7
#[test]
fn seven_words_are_boxed_once() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    sent(&event_loop, 10_000, seven_words);
    assert_eq!(sent(&event_loop, 10_000, seven_words), 10_000);
}

/// Runs `round` a few times first, then counts.
fn steady(event_loop: &EventLoop, round: impl Fn()) -> usize {
    let run = || {
        round();
        event_loop.run_until_idle().unwrap();
    };
    for _ in 0..3 {
        run();
    }
    allocations(|| {
        for _ in 0..1_000 {
            run();
        }
    })
}

// spec: IN-7, IN-9, D14
#[test]
fn local_submits_allocate_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let ran = Rc::new(Cell::new(0));
    let allocated = steady(&event_loop, || {
        for _ in 0..500 {
            let ran = Rc::clone(&ran);
            event_loop.cx().submit(move |_| ran.set(ran.get() + 1)).unwrap();
            event_loop.cx().submit_internal(|_| ()).unwrap();
            handle.submit(|_| ()).unwrap();
        }
    });
    assert_eq!(allocated, 0);
    assert_eq!(ran.get(), 500 * 1_003);
}

// spec: IN-7, MT-4, D14
#[test]
fn microtasks_and_next_ticks_allocate_nothing() {
    fn chain(cx: &Cx, left: usize) {
        if left > 0 {
            cx.queue_microtask(move |cx| chain(cx, left - 1));
            cx.next_tick(|_| ());
        }
    }
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let allocated = steady(&event_loop, || {
        for _ in 0..100 {
            event_loop.cx().queue_microtask(|_| ());
        }
        event_loop.cx().submit(|cx| chain(cx, 100)).unwrap();
    });
    assert_eq!(allocated, 0);
}

// spec: MT-4, D14
#[test]
fn microtasks_from_other_threads_allocate_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let round = || {
        let handle = event_loop.handle();
        let thread = thread::spawn(move || {
            count(true);
            for _ in 0..4_000 {
                handle.queue_microtask(|_| ()).unwrap();
            }
            count(false);
        });
        thread.join().unwrap();
    };
    round();
    event_loop.run_until_idle().unwrap();
    let before = counting::allocations();
    round();
    let allocated = allocations(|| event_loop.run_until_idle().unwrap());
    assert_eq!(allocated, 0);
    assert_eq!(counting::allocations() - before, 0);
}

// spec: D14
#[test]
fn immediates_and_close_callbacks_allocate_nothing_also_when_they_are_cleared() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let allocated = steady(&event_loop, || {
        for _ in 0..100 {
            let id = event_loop.cx().set_immediate(|_| ());
            event_loop.cx().set_immediate(|_| ());
            event_loop.cx().clear_immediate(id);
            event_loop.cx().queue_close(|_| ());
        }
        // A program that clears all that it sets must not grow either.
        let id = event_loop.cx().set_immediate(|_| ());
        event_loop.cx().clear_immediate(id);
    });
    assert_eq!(allocated, 0);
}

#[test]
fn a_loop_has_no_room_for_what_nobody_has_queued() {
    let _alone = alone();
    count(true);
    let before = counting::asked();
    let event_loop = EventLoop::new().unwrap();
    event_loop.cx().submit(|_| ()).unwrap();
    event_loop.cx().set_timeout(Duration::ZERO, |_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    let asked = counting::asked() - before;
    count(false);
    // The rings of its inboxes alone would be 448 KiB.
    assert!(asked < 128 * 1024, "{asked} bytes");
}
