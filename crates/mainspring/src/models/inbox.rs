//! The inbox: the ring, the overflow behind it, and the way between both.
//!
//! Proved: with a ring of one or two slots, so that producers detour into the overflow and come
//! back, each producer's values come out in its order and none is lost or doubled; when the inbox is
//! closed, exactly what was accepted through either part comes out, and nothing is accepted later;
//! without a consumer the limit is exact, however many producers race for the last place.
//!
//! Exhaustive for one producer that is closed upon (57,431 executions); up to five preemptions for one
//! producer on its way into the overflow and back (11,856), up to three for two (up to 95,496).
//! Bounded: capacities 1 and 2, at most four values.

use loom::alloc::Track;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Bound, Pace, explore};
use crate::inbox::{Inbox, Outlet, Refused};

/// Producer and number.
type Value = Track<(usize, usize)>;

fn push(inbox: &Inbox<Value>, producer: usize, number: usize) -> Result<(), Refused> {
    inbox.push((producer, number), Track::new, || None, |value, ()| Track::new(value)).map_err(
        |(refused, back)| {
            assert_eq!(back, (producer, number), "handed back");
            refused
        },
    )
}

/// The consumer, which checks the order.
struct Consumer {
    outlet: Outlet<Value>,
    /// For each producer the number that comes next.
    next: Vec<usize>,
}

impl Consumer {
    fn new(producers: usize) -> Self {
        Self { outlet: Outlet::new(), next: vec![0; producers] }
    }

    fn check(next: &mut [usize], value: Value) {
        let (producer, number) = value.into_inner();
        assert_eq!(number, next[producer], "each producer's order");
        next[producer] += 1;
    }

    /// Takes a value, or lets the others go on.
    fn take(&mut self, inbox: &Inbox<Value>) {
        // SAFETY: each model has one consumer.
        match unsafe { self.outlet.pop(inbox) } {
            Some(value) => Self::check(&mut self.next, value),
            None => thread::yield_now(),
        }
    }

    /// Takes what is left in a closed inbox.
    fn drain(&mut self, inbox: &Inbox<Value>) {
        let next = &mut self.next;
        // SAFETY: each model has one consumer.
        unsafe { inbox.drain(&self.outlet, |value| Self::check(next, value)) };
    }
}

/// Producers that push so many values each, and a consumer that takes them all.
fn transfer(shift: u32, counts: &'static [usize]) {
    let inbox = Arc::new(Inbox::new(usize::MAX, shift, false));
    let pace = Pace::new();
    let producers: Vec<_> = counts
        .iter()
        .enumerate()
        .map(|(producer, &count)| {
            let (inbox, pace) = (Arc::clone(&inbox), Arc::clone(&pace));
            thread::spawn(move || {
                for number in 0..count {
                    pace.step();
                    push(&inbox, producer, number).unwrap();
                }
            })
        })
        .collect();
    let mut consumer = Consumer::new(counts.len());
    while consumer.next != counts {
        pace.step();
        consumer.take(&inbox);
    }
    for producer in producers {
        producer.join().unwrap();
    }
    assert!(!inbox.is_ready());
    assert_eq!((inbox.len(), inbox.held()), (0, 0));
}

// spec: MT-4, MT-5, IN-8, F-23
#[test]
fn a_producers_values_keep_their_order_into_the_overflow_and_back() {
    explore("inbox: 1 slot, 3 values", Bound::Preemptions(5), || transfer(0, &[3]));
    explore("inbox: 1 slot, 4 values", Bound::Preemptions(3), || transfer(0, &[4]));
    explore("inbox: 2 slots, 4 values", Bound::Preemptions(3), || transfer(1, &[4]));
}

// spec: MT-4, MT-5, IN-8, F-23
#[test]
fn two_producers_keep_their_orders_into_the_overflow_and_back() {
    explore("inbox: 1 slot, 2 + 1 values", Bound::Preemptions(2), || transfer(0, &[2, 1]));
    explore("inbox: 1 slot, 2 + 2 values", Bound::Preemptions(2), || transfer(0, &[2, 2]));
    explore("inbox: 2 slots, 3 + 1 values", Bound::Preemptions(2), || transfer(1, &[3, 1]));
}

/// Producers that push until they are refused, and a consumer that takes `before` looks, closes, and
/// drains.
fn close(shift: u32, counts: &'static [usize], before: usize) {
    let inbox = Arc::new(Inbox::new(usize::MAX, shift, false));
    let accepted = Arc::new(AtomicUsize::new(0));
    let pace = Pace::new();
    let producers: Vec<_> = counts
        .iter()
        .enumerate()
        .map(|(producer, &count)| {
            let (inbox, pace) = (Arc::clone(&inbox), Arc::clone(&pace));
            let accepted = Arc::clone(&accepted);
            thread::spawn(move || {
                for number in 0..count {
                    pace.step();
                    match push(&inbox, producer, number) {
                        Ok(()) => drop(accepted.fetch_add(1, Ordering::Relaxed)),
                        Err(refused) => {
                            assert_eq!(refused, Refused::Closed);
                            return;
                        }
                    }
                }
            })
        })
        .collect();
    let mut consumer = Consumer::new(counts.len());
    for _ in 0..before {
        pace.step();
        consumer.take(&inbox);
    }
    pace.step();
    inbox.close();
    consumer.drain(&inbox);
    for producer in producers {
        producer.join().unwrap();
    }
    assert_eq!(inbox.len(), 0, "nothing was accepted after the drain");
    let received: usize = consumer.next.iter().sum();
    assert_eq!(received, accepted.load(Ordering::Relaxed), "accepted equals drained");
    assert_eq!(push(&inbox, 0, 0), Err(Refused::Closed));
}

// spec: IN-4, F-33
#[test]
fn an_inbox_that_is_closed_gives_out_exactly_what_it_accepted() {
    explore("inbox: close, 1 slot, 2 values", Bound::None, || close(0, &[2], 0));
    explore("inbox: close, 1 slot, 3 values", Bound::None, || close(0, &[3], 1));
    explore("inbox: close, 1 slot, 2 + 1 values", Bound::Preemptions(3), || close(0, &[2, 1], 0));
    explore("inbox: close, 1 slot, 2 + 2 values", Bound::Preemptions(2), || close(0, &[2, 2], 1));
}

// spec: IN-4, F-33
#[test]
fn an_inbox_that_a_third_thread_closes_gives_out_exactly_what_it_accepted() {
    explore("inbox: closed by another, 1 slot, 2 values", Bound::Preemptions(3), || {
        let inbox = Arc::new(Inbox::new(usize::MAX, 0, false));
        let accepted = Arc::new(AtomicUsize::new(0));
        let producer = {
            let (inbox, accepted) = (Arc::clone(&inbox), Arc::clone(&accepted));
            thread::spawn(move || {
                for number in 0..2 {
                    if push(&inbox, 0, number).is_ok() {
                        accepted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        };
        let closer = {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || inbox.close())
        };
        let mut consumer = Consumer::new(1);
        consumer.take(&inbox);
        closer.join().unwrap();
        consumer.drain(&inbox);
        producer.join().unwrap();
        assert_eq!(inbox.len(), 0, "nothing was accepted after the drain");
        assert_eq!(consumer.next[0], accepted.load(Ordering::Relaxed));
    });
}

// spec: IN-2
#[test]
fn the_limit_is_exact_for_producers_that_race_for_the_last_place() {
    for (name, limit) in [("inbox: limit 2, 2 + 2 values", 2), ("inbox: limit 3, 2 + 2 values", 3)]
    {
        explore(name, Bound::Preemptions(3), move || {
            let inbox = Arc::new(Inbox::new(limit, 1, false));
            let accepted = Arc::new(AtomicUsize::new(0));
            let producers: Vec<_> = (0..2)
                .map(|producer| {
                    let (inbox, accepted) = (Arc::clone(&inbox), Arc::clone(&accepted));
                    thread::spawn(move || {
                        for number in 0..2 {
                            match push(&inbox, producer, number) {
                                Ok(()) => drop(accepted.fetch_add(1, Ordering::Relaxed)),
                                Err(refused) => return assert_eq!(refused, Refused::Full),
                            }
                        }
                    })
                })
                .collect();
            for producer in producers {
                producer.join().unwrap();
            }
            assert_eq!(accepted.load(Ordering::Relaxed), limit);
            assert_eq!(inbox.len(), limit);
            inbox.close();
            let mut consumer = Consumer::new(2);
            consumer.drain(&inbox);
            assert_eq!(consumer.next.iter().sum::<usize>(), limit);
        });
    }
}
