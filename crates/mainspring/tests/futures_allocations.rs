//! What futures allocate: one piece each, and nothing afterwards. Counted by the allocator.

#[path = "common/counting.rs"]
mod counting;

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use counting::{alone, count};
use mainspring::EventLoop;

/// Allocations of the current thread during `action`, and of others that are counted.
fn allocations(action: impl FnOnce()) -> usize {
    let before = counting::allocations();
    count(true);
    action();
    count(false);
    counting::allocations() - before
}

/// A future that is done after so many wakes, and leaves its waker.
fn waits(
    wakes: usize,
    waker: &Rc<Cell<Option<Waker>>>,
) -> impl Future<Output = usize> + 'static + use<> {
    let (mut polls, waker) = (0, Rc::clone(waker));
    poll_fn(move |cx| {
        if polls == wakes {
            return Poll::Ready(polls);
        }
        polls += 1;
        waker.set(Some(cx.waker().clone()));
        Poll::Pending
    })
}

fn turn(event_loop: &EventLoop) {
    event_loop.turn(Duration::ZERO).unwrap();
}

// spec: BX-1, D14
#[test]
fn a_spawn_allocates_once() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let round = || {
        for n in 0..100_u64 {
            let ballast = [n; 20];
            drop(event_loop.cx().spawn_local(async move { ballast }));
        }
        event_loop.run_until_idle().unwrap();
    };
    for _ in 0..3 {
        round();
    }
    assert_eq!(allocations(|| (0..10).for_each(|_| round())), 1_000);
}

// spec: BX-1, D14
#[test]
fn a_spawn_with_a_handle_allocates_once() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let round = || {
        let handle = event_loop.cx().spawn_local(async { 5 });
        let output = event_loop.block_on(handle).unwrap().unwrap();
        assert_eq!(output, 5);
    };
    for _ in 0..3 {
        round();
    }
    // What `block_on` needs is its own.
    let alone = allocations(|| (0..100).for_each(|_| _ = event_loop.block_on(async { 5 })));
    let both = allocations(|| (0..100).for_each(|_| round()));
    assert_eq!(both - alone, 100);
    assert!(alone <= 100, "one for each at the most");
}

// spec: BX-1, D14
#[test]
fn an_aborted_future_allocates_nothing_more() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let round = || {
        let handle = event_loop.cx().spawn_local(pending::<()>());
        turn(&event_loop);
        handle.abort();
        turn(&event_loop);
        assert!(handle.is_finished());
    };
    for _ in 0..3 {
        round();
    }
    assert_eq!(allocations(|| (0..100).for_each(|_| round())), 100);
}

// spec: BX-1, D14
#[test]
fn wakes_and_polls_allocate_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let waker = Rc::default();
    let handle = event_loop.cx().spawn_local(waits(2_000, &waker));
    let round = || {
        let waker: Waker = waker.take().unwrap();
        let copy = waker.clone();
        copy.wake_by_ref();
        copy.wake();
        waker.wake();
        turn(&event_loop);
    };
    turn(&event_loop);
    for _ in 0..10 {
        round();
    }
    assert_eq!(allocations(|| (0..1_000).for_each(|_| round())), 0);
    assert!(!handle.is_finished());
    handle.abort();
    event_loop.run_until_idle().unwrap();
}

// spec: BX-1, D14
#[test]
fn wakes_of_many_futures_allocate_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let wakers: Vec<Rc<Cell<Option<Waker>>>> = (0..500).map(|_| Rc::default()).collect();
    for waker in &wakers {
        drop(event_loop.cx().spawn_local(waits(usize::MAX, waker)));
    }
    let round = || {
        for waker in &wakers {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
        while event_loop.turn(Duration::ZERO).unwrap().ready {}
    };
    for _ in 0..3 {
        round();
    }
    assert_eq!(allocations(|| (0..100).for_each(|_| round())), 0);
}

// spec: BX-1, D14
#[test]
fn a_future_that_wakes_itself_allocates_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    drop(event_loop.cx().spawn_local(poll_fn(|cx| -> Poll<()> {
        cx.waker().wake_by_ref();
        Poll::Pending
    })));
    (0..3).for_each(|_| turn(&event_loop));
    assert_eq!(allocations(|| (0..100).for_each(|_| turn(&event_loop))), 0);
}

// spec: BX-1, D14
#[test]
fn yields_allocate_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    for _ in 0..10 {
        let cx = event_loop.cx().clone();
        drop(event_loop.cx().spawn_local(async move {
            loop {
                cx.yield_now().await;
            }
        }));
    }
    (0..3).for_each(|_| turn(&event_loop));
    assert_eq!(allocations(|| (0..1_000).for_each(|_| turn(&event_loop))), 0);
}

// spec: BX-1, D14
#[test]
fn wakes_of_other_threads_allocate_nothing() {
    const WAKES: usize = 2_000;
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    // Each poll asks for the next wake.
    let asked: &'static AtomicUsize = Box::leak(Box::default());
    let kept = Rc::new(Cell::new(None));
    let keep = Rc::clone(&kept);
    let mut polls = 0;
    drop(event_loop.cx().spawn_local(poll_fn(move |cx| -> Poll<()> {
        if polls == 0 {
            keep.set(Some(cx.waker().clone()));
        }
        polls += 1;
        asked.store(polls, Ordering::SeqCst);
        Poll::Pending
    })));
    turn(&event_loop);
    let waker: Waker = kept.take().unwrap();
    let start = Arc::new(Barrier::new(2));
    let thread = {
        let start = Arc::clone(&start);
        thread::spawn(move || {
            for n in 1..=100 {
                while asked.load(Ordering::SeqCst) < n {
                    thread::yield_now();
                }
                waker.wake_by_ref();
            }
            start.wait();
            count(true);
            for n in 101..=100 + WAKES {
                while asked.load(Ordering::SeqCst) < n {
                    thread::yield_now();
                }
                waker.wake_by_ref();
                waker.wake_by_ref();
            }
            count(false);
        })
    };
    while asked.load(Ordering::SeqCst) <= 100 {
        event_loop.turn(Duration::from_secs(60)).unwrap();
    }
    let before = counting::allocations();
    start.wait();
    allocations(|| {
        while asked.load(Ordering::SeqCst) <= 100 + WAKES {
            event_loop.turn(Duration::from_secs(60)).unwrap();
        }
    });
    thread.join().unwrap();
    assert_eq!(counting::allocations() - before, 0);
}

// spec: BX-1, D14
#[test]
fn references_and_looks_allocate_nothing() {
    let _alone = alone();
    let event_loop = EventLoop::new().unwrap();
    let handle = event_loop.cx().spawn_local(pending::<()>());
    turn(&event_loop);
    let allocated = allocations(|| {
        for _ in 0..100 {
            handle.reference(false);
            event_loop.run_until_idle().unwrap();
            handle.reference(true);
            assert!(!handle.is_finished());
        }
    });
    assert_eq!(allocated, 0);
}

// spec: BX-1, SD-6
#[test]
fn nothing_is_left_of_futures() {
    counting::counted(|| {
        let round = || {
            let event_loop = EventLoop::new().unwrap();
            let waker = Rc::default();
            // Done, aborted, waiting, unpolled; with and without a handle; with a waker that is kept.
            let done = event_loop.cx().spawn_local(async { vec![5; 100] });
            let aborted = event_loop.cx().spawn_local(pending::<()>());
            drop(event_loop.cx().spawn_local(waits(usize::MAX, &waker)));
            let cx = event_loop.cx().clone();
            drop(event_loop.cx().spawn_local(async move {
                let _context = cx.clone();
                let own = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
                cx.yield_now().await;
                pending::<()>().await;
                drop(own);
            }));
            (0..3).for_each(|_| turn(&event_loop));
            aborted.abort();
            turn(&event_loop);
            let unpolled = event_loop.cx().spawn_local(async { 7 });
            let waker: Waker = waker.take().unwrap();
            drop(event_loop);
            waker.wake();
            drop((done, aborted, unpolled));
        };
        round();
        let before = counting::bytes();
        (0..20).for_each(|_| round());
        assert_eq!(counting::bytes() - before, 0);
    });
}

/// A waker that panics.
struct Bomb;

impl std::task::Wake for Bomb {
    fn wake(self: Arc<Self>) {
        std::panic::resume_unwind(Box::new("expected of the waker"));
    }
}

// spec: BX-1, SD-6, FA-1
#[test]
fn nothing_is_left_of_futures_whose_wakers_panic() {
    counting::counted(|| {
        let round = || {
            let event_loop = EventLoop::builder().on_uncaught(|_, _| ()).build().unwrap();
            let waker = Waker::from(Arc::new(Bomb));
            for end in 0..3 {
                let cx = event_loop.cx().clone();
                let mut handle = event_loop.cx().spawn_local(async move {
                    cx.yield_now().await;
                    if end > 0 {
                        pending::<()>().await;
                    }
                });
                let mut context = std::task::Context::from_waker(&waker);
                assert!(std::pin::pin!(&mut handle).poll(&mut context).is_pending());
                turn(&event_loop);
                turn(&event_loop);
                if end == 1 {
                    let aborted = std::panic::AssertUnwindSafe(|| handle.abort());
                    drop(std::panic::catch_unwind(aborted));
                }
                assert_eq!(handle.is_finished(), end < 2);
            }
            drop(event_loop);
        };
        (0..2).for_each(|_| round());
        let before = counting::bytes();
        (0..20).for_each(|_| round());
        assert_eq!(counting::bytes() - before, 0);
    });
}

// spec: BX-1, SD-6
#[test]
fn nothing_is_left_of_futures_that_are_refused() {
    counting::counted(|| {
        let event_loop = EventLoop::new().unwrap();
        let (cx, handle) = (event_loop.cx().clone(), event_loop.handle());
        cx.close();
        // It may have terminated already.
        let _ = event_loop.turn(Duration::ZERO);
        let round = || {
            drop(cx.spawn_local(async { 5 }));
            drop(cx.spawn_local(pending::<()>()));
            drop(handle.spawn(|_| async { 5 }));
        };
        (0..10).for_each(|_| round());
        let before = counting::bytes();
        (0..1_000).for_each(|_| round());
        assert_eq!(counting::bytes() - before, 0);
        // Nor if the loop is gone, and only its context is there.
        drop(event_loop);
        (0..10).for_each(|_| round());
        let before = counting::bytes();
        (0..1_000).for_each(|_| round());
        assert_eq!(counting::bytes() - before, 0);
    });
}

// spec: BX-1
#[test]
fn storage_does_not_grow_with_the_number_of_futures_that_were() {
    counting::counted(|| {
        let event_loop = EventLoop::new().unwrap();
        let round = || {
            for n in 0..100_usize {
                let cx = event_loop.cx().clone();
                let handle = event_loop.cx().spawn_local(async move {
                    for _ in 0..n % 3 {
                        cx.yield_now().await;
                    }
                });
                if n % 7 == 0 {
                    handle.abort();
                }
            }
            event_loop.run_until_idle().unwrap();
        };
        (0..5).for_each(|_| round());
        let before = counting::bytes();
        (0..100).for_each(|_| round());
        assert_eq!(counting::bytes() - before, 0);
    });
}
