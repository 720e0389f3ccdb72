//! In the steady state nothing is allocated: counted by the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use mainspring::{Cx, EventLoop};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread's allocations count: the test harness has threads of its own.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

fn note() {
    if COUNTED.get() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of the current thread during `action`, and of others that are counted.
fn allocations(action: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    COUNTED.set(true);
    action();
    COUNTED.set(false);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// One test after the other: they share the counter.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
            COUNTED.set(true);
            for n in 0..tasks {
                while n - ran.load(Ordering::Relaxed) > 500 {
                    thread::yield_now();
                }
                handle.submit(make(ran)).unwrap();
            }
            COUNTED.set(false);
        })
    };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    start.wait();
    allocations(|| {
        while ran.load(Ordering::Relaxed) < tasks {
            event_loop.turn(Duration::from_secs(60)).unwrap();
        }
    });
    producer.join().unwrap();
    ALLOCATIONS.load(Ordering::Relaxed) - before
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
            COUNTED.set(true);
            for _ in 0..4_000 {
                handle.queue_microtask(|_| ()).unwrap();
            }
            COUNTED.set(false);
        });
        thread.join().unwrap();
    };
    round();
    event_loop.run_until_idle().unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    round();
    let allocated = allocations(|| event_loop.run_until_idle().unwrap());
    assert_eq!(allocated, 0);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
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
