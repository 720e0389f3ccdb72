//! What the other models take for granted of loom itself, and of the two primitives that the loop
//! blocks on: a signal that comes before the wait is kept, and ends it.
//!
//! Exhaustive.

use loom::thread;
use std::sync::Arc;

use super::{Bound, explore};
use crate::sync::{AtomicUsize, Ordering};
use crate::sys::{Events, Parker, Poller};

// spec: WK-6, WK-7
#[test]
fn a_token_is_kept_until_the_thread_parks() {
    explore("park: the token is kept", Bound::None, || {
        let looper = thread::spawn(thread::park);
        looper.thread().unpark();
        looper.join().unwrap();
    });
}

// spec: WK-6, WK-7
#[test]
fn what_was_done_before_the_unpark_is_seen_after_the_park() {
    explore("park: the token carries what was done", Bound::None, || {
        let done = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&done);
        let (give, take) = std::sync::mpsc::channel();
        let looper = thread::spawn(move || {
            let parker = Arc::new(Parker::new());
            give.send((Arc::clone(&parker), {
                let done = Arc::clone(&seen);
                let parker = Arc::clone(&parker);
                thread::spawn(move || {
                    done.store(1, Ordering::Relaxed);
                    parker.unpark();
                })
            }))
            .unwrap();
            parker.park(None);
            assert_eq!(seen.load(Ordering::Relaxed), 1);
        });
        looper.join().unwrap();
        let (_parker, producer) = take.recv().unwrap();
        producer.join().unwrap();
    });
}

// spec: WK-5, WK-7
#[test]
fn a_wake_that_comes_before_the_wait_ends_it_and_many_count_as_one() {
    explore("poller: a wake is kept", Bound::None, || {
        let poller = Arc::new(Poller::new().unwrap());
        let wakers: Vec<_> = (0..2)
            .map(|_| {
                let poller = Arc::clone(&poller);
                thread::spawn(move || poller.wake().unwrap())
            })
            .collect();
        poller.wait(&mut Events::new(), None).unwrap();
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}
