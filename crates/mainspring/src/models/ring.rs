//! The ring: two producers and the consumer.
//!
//! Proved: nothing is lost and nothing comes twice, each producer's values come out in its order,
//! over several laps; a slot is never touched by two threads at once (loom checks the accesses to
//! the cells); each value is dropped exactly once (loom tracks them); and when the ring is closed,
//! exactly what was accepted comes out.
//!
//! Exhaustive for two producers with a value each, open and closed (40,572 to 151,169 executions), and
//! for three laps of one slot; up to three preemptions for more values (up to 36,338). Bounded:
//! capacities 1 and 2, at most five values.

use loom::alloc::Track;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Bound, Pace, explore};
use crate::ring::{Refused, Ring};

/// Producer and number.
type Value = Track<(usize, usize)>;

fn pop(ring: &Ring<Value>) -> Option<(usize, usize)> {
    // SAFETY: the model's main thread is the only consumer.
    unsafe { ring.pop() }.map(Track::into_inner)
}

/// A producer that pushes so many values, waiting while there is no room, and a consumer that takes
/// them all.
fn stream(shift: u32, count: usize) {
    let ring = Arc::new(Ring::new(shift));
    let producer = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || {
            for number in 0..count {
                let mut value = Track::new((0, number));
                while let Err((refused, back)) = ring.push(value, |value| value) {
                    assert_eq!(refused, Refused::Full);
                    value = back;
                    thread::yield_now();
                }
            }
        })
    };
    let mut next = 0;
    while next != count {
        // What it says it has, it has.
        let ready = ring.is_ready();
        match pop(&ring) {
            Some(value) => {
                assert_eq!(value, (0, next), "in order");
                next += 1;
            }
            None => {
                assert!(!ready);
                thread::yield_now();
            }
        }
    }
    producer.join().unwrap();
    check_empty(&ring);
}

// spec: MT-4, MT-5, F-22
#[test]
fn the_slots_hand_over_lap_after_lap() {
    explore("ring: 1 slot, 3 values", Bound::None, || stream(0, 3));
    explore("ring: 2 slots, 5 values", Bound::Preemptions(3), || stream(1, 5));
}

/// An empty ring is as good as a new one: no slot was lost.
fn check_empty(ring: &Ring<Value>) {
    assert_eq!(ring.len(), 0);
    assert!(pop(ring).is_none(), "nothing comes twice");
    for number in 0..ring.capacity() {
        assert!(ring.push(Track::new((0, number)), |value| value).is_ok());
    }
    let refused = ring.push(Track::new((0, 0)), |value| value);
    assert!(matches!(refused, Err((Refused::Full, _))));
    for number in 0..ring.capacity() {
        assert_eq!(pop(ring), Some((0, number)));
    }
}

/// Two producers that try to push so many values each, and a consumer that looks so often while they
/// do, and takes the rest afterwards. Nobody waits for room.
fn share(shift: u32, counts: [usize; 2], looks: usize) {
    let ring = Arc::new(Ring::new(shift));
    let accepted = Arc::new(AtomicUsize::new(0));
    let pace = Pace::new();
    let producers = [0, 1].map(|producer| {
        let (ring, accepted, pace) = (Arc::clone(&ring), Arc::clone(&accepted), Arc::clone(&pace));
        thread::spawn(move || {
            for number in 0..counts[producer] {
                pace.step();
                match ring.push(Track::new((producer, number)), |value| value) {
                    Ok(()) => drop(accepted.fetch_add(1, Ordering::Relaxed)),
                    Err((refused, _)) => assert_eq!(refused, Refused::Full),
                }
            }
        })
    });
    let mut received = Vec::new();
    for _ in 0..looks {
        pace.step();
        received.extend(pop(&ring));
    }
    for producer in producers {
        producer.join().unwrap();
    }
    while let Some(value) = pop(&ring) {
        received.push(value);
    }
    assert_eq!(received.len(), accepted.load(Ordering::Relaxed), "accepted equals received");
    for (i, later) in received.iter().enumerate() {
        let earlier = received[..i].iter().rfind(|earlier| earlier.0 == later.0);
        assert!(earlier.is_none_or(|earlier| earlier.1 < later.1), "each producer's order, once");
    }
    check_empty(&ring);
}

// spec: MT-4, MT-5, IN-8, F-22
#[test]
fn two_producers_share_the_slots_without_losing_or_doubling_a_value() {
    explore("ring: 1 slot, 1 + 1 values", Bound::None, || share(0, [1, 1], 2));
    explore("ring: 2 slots, 1 + 1 values", Bound::None, || share(1, [1, 1], 2));
    explore("ring: 1 slot, 2 + 2 values", Bound::Preemptions(3), || share(0, [2, 2], 3));
    explore("ring: 2 slots, 2 + 2 values", Bound::Preemptions(2), || share(1, [2, 2], 3));
}

/// Producers that push until they are refused, and a consumer that closes the ring and takes what
/// was accepted.
fn close(shift: u32, counts: &'static [usize]) {
    let ring = Arc::new(Ring::new(shift));
    let accepted = Arc::new(AtomicUsize::new(0));
    let producers: Vec<_> = counts
        .iter()
        .enumerate()
        .map(|(producer, &count)| {
            let ring = Arc::clone(&ring);
            let accepted = Arc::clone(&accepted);
            thread::spawn(move || {
                for number in 0..count {
                    match ring.push(Track::new((producer, number)), |value| value) {
                        Ok(()) => drop(accepted.fetch_add(1, Ordering::Relaxed)),
                        Err((Refused::Full | Refused::Guarded, _)) => return,
                        Err((Refused::Closed, _)) => {
                            let again = ring.push(Track::new((producer, number)), |value| value);
                            assert!(matches!(again, Err((Refused::Closed, _))), "closed for good");
                            return;
                        }
                    }
                }
            })
        })
        .collect();
    ring.close();
    let mut next = vec![0; counts.len()];
    // As `Inbox::drain` does: once closed, the length counts exactly what was accepted.
    while ring.len() != 0 {
        match pop(&ring) {
            Some((producer, number)) => {
                assert_eq!(number, next[producer]);
                next[producer] += 1;
            }
            None => thread::yield_now(),
        }
    }
    for producer in producers {
        producer.join().unwrap();
    }
    assert!(pop(&ring).is_none(), "nothing was accepted after the ring was found closed and empty");
    let received: usize = next.iter().sum();
    assert_eq!(received, accepted.load(Ordering::Relaxed), "accepted equals received");
}

// spec: IN-4, F-33
#[test]
fn a_ring_that_is_closed_gives_out_exactly_what_it_accepted() {
    explore("ring: close, 1 slot, 1 + 1 values", Bound::None, || close(0, &[1, 1]));
    explore("ring: close, 2 slots, 1 + 1 values", Bound::None, || close(1, &[1, 1]));
    explore("ring: close, 2 slots, 2 + 1 values", Bound::Preemptions(3), || close(1, &[2, 1]));
}

// spec: MT-5
#[test]
fn a_ring_that_is_dropped_drops_what_it_holds_once() {
    explore("ring: drop", Bound::None, || {
        let ring = Arc::new(Ring::new(1));
        let producers: Vec<_> = (0..2)
            .map(|producer| {
                let ring = Arc::clone(&ring);
                thread::spawn(move || drop(ring.push(Track::new((producer, 0)), |value| value)))
            })
            .collect();
        thread::yield_now();
        let _ = pop(&ring);
        for producer in producers {
            producer.join().unwrap();
        }
        drop(ring);
    });
}
