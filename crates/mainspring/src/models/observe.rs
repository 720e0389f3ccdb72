//! What other threads see of a loop that is observed: figures of one moment, a watchdog that is awake whenever the
//! loop is busy, and the records of a trace.
//!
//! Exhaustive.

use loom::thread;
use std::sync::Arc;

use super::{Bound, Pace, explore};
use crate::metrics::Published;
use crate::stall::Watchdog;
use crate::sync::{AtomicBool, Ordering};
use crate::trace_ring::{CAPACITY, ring};

// spec: MX-3
#[test]
fn a_snapshot_is_of_one_moment() {
    explore("observe: a snapshot while two are written", Bound::None, || {
        let published = Arc::new(Published::new(2));
        let theirs = Arc::clone(&published);
        let writer = thread::spawn(move || {
            for edition in 1..=2 {
                theirs.write(|words| {
                    words.iter().for_each(|word| word.store(edition, Ordering::Relaxed));
                });
            }
        });
        let read = published.read(|words| {
            let word = |index: usize| words[index].load(Ordering::Relaxed);
            (word(0), word(1))
        });
        assert_eq!(read.0, read.1, "both words are of one edition");
        writer.join().unwrap();
        let last = published.read(|words| words[0].load(Ordering::Relaxed));
        assert_eq!(last, 2, "what was written before is read");
    });
}

// spec: MX-3
#[test]
fn what_is_read_later_is_not_older() {
    explore("observe: two snapshots", Bound::None, || {
        let published = Arc::new(Published::new(1));
        let theirs = Arc::clone(&published);
        let writer = thread::spawn(move || {
            theirs.write(|words| words[0].store(1, Ordering::Relaxed));
        });
        let read = || published.read(|words| words[0].load(Ordering::Relaxed));
        let (first, second) = (read(), read());
        assert!(first <= second);
        writer.join().unwrap();
    });
}

/// A loop that becomes busy, and a watchdog that falls asleep.
fn watchdog() -> (Arc<Watchdog>, Arc<AtomicBool>) {
    (Arc::new(Watchdog::default()), Arc::new(AtomicBool::new(false)))
}

#[test]
fn a_watchdog_does_not_sleep_while_the_loop_is_busy() {
    explore("observe: a loop becomes busy", Bound::None, || {
        let (watchdog, is_busy) = watchdog();
        let (theirs, busy, pace) = (Arc::clone(&watchdog), Arc::clone(&is_busy), Pace::new());
        let step = Arc::clone(&pace);
        let sleeper = thread::spawn(move || {
            step.step();
            // If it slept through it, it would do so for ever, and loom says so.
            assert!(theirs.sleep(|| busy.load(Ordering::Relaxed)));
        });
        pace.step();
        is_busy.store(true, Ordering::Relaxed);
        watchdog.rouse();
        sleeper.join().unwrap();
    });
}

#[test]
fn the_end_wakes_a_watchdog() {
    explore("observe: a loop ends", Bound::None, || {
        let (watchdog, is_busy) = watchdog();
        let (theirs, busy) = (Arc::clone(&watchdog), Arc::clone(&is_busy));
        let sleeper = thread::spawn(move || {
            assert!(!theirs.sleep(|| busy.load(Ordering::Relaxed)));
        });
        watchdog.end();
        sleeper.join().unwrap();
    });
}

// spec: MX-4
#[test]
fn records_arrive_in_order_and_those_that_do_not_are_counted() {
    explore("observe: records of a trace", Bound::None, || {
        const RECORDS: u64 = CAPACITY as u64 + 1;
        let (producer, mut consumer) = ring();
        let recorder = thread::spawn(move || {
            for record in 0..RECORDS {
                if producer.push(record).is_none() {
                    producer.lose(record as i64);
                }
            }
            producer.end();
        });
        let mut found = Vec::new();
        let mut lost = 0;
        loop {
            // In this order: what is read after the end is all there is.
            let is_ended = consumer.is_ended();
            let read = consumer.read(|record| {
                found.push(*record);
                Ok::<(), ()>(())
            });
            assert!(read.is_ok());
            lost += consumer.lost().map_or(0, |(count, _)| count);
            if is_ended {
                break;
            }
            thread::yield_now();
        }
        recorder.join().unwrap();
        assert!(
            found.is_sorted() && found.len() as u64 + lost == RECORDS,
            "{found:?}, {lost} lost"
        );
    });
}
