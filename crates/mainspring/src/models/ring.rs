//! The ring: two producers and the consumer.
//!
//! Proved: nothing is lost and nothing comes twice, each producer's values come out in its order,
//! over several laps; a slot is never touched by two threads at once (loom checks the accesses to
//! the cells); each value is dropped exactly once (loom tracks them); and when the ring is closed,
//! exactly what was accepted comes out.
//!
//! Bounded: capacities 1 and 2, at most four values.

use loom::alloc::Track;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Bound, explore};
use crate::ring::{Refused, Ring};

/// Producer and number.
type Value = Track<(usize, usize)>;

fn pop(ring: &Ring<Value>) -> Option<(usize, usize)> {
    // SAFETY: the model's main thread is the only consumer.
    unsafe { ring.pop() }.map(Track::into_inner)
}

/// Pushes, and waits while there is no room.
fn push(ring: &Ring<Value>, producer: usize, number: usize) {
    let mut value = Track::new((producer, number));
    while let Err((refused, back)) = ring.push(value, |value| value) {
        assert_eq!(refused, Refused::Full);
        value = back;
        thread::yield_now();
    }
}

/// Producers that push so many values each, and a consumer that takes them all.
fn transfer(shift: u32, counts: &'static [usize]) {
    let ring = Arc::new(Ring::new(shift));
    let producers: Vec<_> = counts
        .iter()
        .enumerate()
        .map(|(producer, &count)| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                for number in 0..count {
                    push(&ring, producer, number);
                }
            })
        })
        .collect();
    let mut next = vec![0; counts.len()];
    while next != counts {
        // What it says it has, it has.
        let ready = ring.is_ready();
        match pop(&ring) {
            Some((producer, number)) => {
                assert_eq!(number, next[producer], "each producer's order");
                next[producer] += 1;
            }
            None => {
                assert!(!ready);
                thread::yield_now();
            }
        }
    }
    for producer in producers {
        producer.join().unwrap();
    }
    assert_eq!(ring.len(), 0);
    assert!(pop(&ring).is_none(), "nothing comes twice");
}

// spec: MT-4, MT-5, IN-8, F-22
#[test]
fn one_slot_hands_over_one_value_of_each_of_two_producers() {
    explore("ring: 1 slot, 1 + 1 values", Bound::Preemptions(4), || transfer(0, &[1, 1]));
}

// spec: MT-4, MT-5, IN-8, F-22
#[test]
fn one_slot_hands_over_lap_after_lap() {
    explore("ring: 1 slot, 3 values", Bound::None, || transfer(0, &[3]));
    explore("ring: 1 slot, 2 + 2 values", Bound::Preemptions(2), || transfer(0, &[2, 2]));
}

// spec: MT-4, MT-5, IN-8, F-22
#[test]
fn two_slots_hand_over_several_laps_in_each_producers_order() {
    explore("ring: 2 slots, 1 + 1 values", Bound::None, || transfer(1, &[1, 1]));
    explore("ring: 2 slots, 5 values", Bound::Preemptions(3), || transfer(1, &[5]));
    explore("ring: 2 slots, 2 + 2 values", Bound::Preemptions(2), || transfer(1, &[2, 2]));
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
                        Err((Refused::Full, _)) => return,
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
        let _ = pop(&ring);
        for producer in producers {
            producer.join().unwrap();
        }
        drop(ring);
    });
}
