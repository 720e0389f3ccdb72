//! What timers cost in memory: counted by the allocator.

#[path = "common/counting.rs"]
mod counting;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use counting::{allocations, bytes, counted};
use mainspring::{Cx, EventLoop, TimerId, VirtualClock};

const MANY: usize = 1_000_000;

/// What may be left of a million timers: the levels of the wheel, some spare pages and queues, less than a
/// byte for each timer that was there.
const LEFT: isize = MANY as isize;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A callback that captures three words.
fn three_words(word: usize) -> impl FnOnce(&Cx) + 'static {
    let words = [word; 3];
    move |_| assert_eq!(words[0], words[2])
}

fn virtual_loop() -> (VirtualClock, EventLoop) {
    let clock = VirtualClock::auto();
    let event_loop = EventLoop::builder().clock(&clock).build().unwrap();
    (clock, event_loop)
}

fn fill(event_loop: &EventLoop, ids: &mut Vec<TimerId>) {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..MANY {
        let delay = Duration::from_nanos(random(&mut state) % 3_600_000_000_000);
        ids.push(event_loop.cx().set_timeout(delay, three_words(7)).unwrap());
    }
    for i in (1..ids.len()).rev() {
        ids.swap(i, random(&mut state) as usize % (i + 1));
    }
}

// spec: TM-2
#[test]
fn a_million_timers_take_at_most_96_bytes_each_and_give_them_back_when_they_are_cleared() {
    counted(|| {
        let (_, event_loop) = virtual_loop();
        let mut ids = Vec::with_capacity(MANY);
        for _ in 0..2 {
            let before = bytes();
            fill(&event_loop, &mut ids);
            let each = (bytes() - before) as f64 / MANY as f64;
            println!("{each:.1} bytes for a live timer with three words");
            assert!(each <= 96.0, "{each}");
            for id in ids.drain(..) {
                assert!(event_loop.cx().clear_timeout(id));
            }
            assert!(bytes() - before < LEFT, "{} bytes are left", bytes() - before);
        }
    });
}

// spec: TM-2
#[test]
fn a_million_timers_give_their_memory_back_when_they_fire() {
    counted(|| {
        let (_, event_loop) = virtual_loop();
        let mut ids = Vec::with_capacity(MANY);
        let before = bytes();
        fill(&event_loop, &mut ids);
        event_loop.run_until_idle().unwrap();
        assert!(bytes() - before < LEFT, "{} bytes are left", bytes() - before);
        // The same for many that are due in one tick.
        for _ in 0..MANY {
            event_loop.cx().set_timeout(Duration::ZERO, three_words(7)).unwrap();
        }
        event_loop.run_until_idle().unwrap();
        assert!(bytes() - before < LEFT, "{} bytes are left", bytes() - before);
    });
}

// spec: TM-8, SD-6
#[test]
fn a_loop_that_ends_with_timers_gives_all_memory_back_although_a_handle_is_left() {
    counted(|| {
        let before = bytes();
        let (clock, event_loop) = virtual_loop();
        let handle = event_loop.handle();
        for i in 0..100_000 {
            event_loop.cx().set_timeout(Duration::from_secs(i), three_words(i as usize)).unwrap();
        }
        handle.close();
        assert!(event_loop.turn(Duration::ZERO).is_err(), "terminated");
        assert!(bytes() - before < LEFT, "{} bytes are left", bytes() - before);
        drop((event_loop, clock, handle));
    });
}

// spec: D14, TM-6
#[test]
fn in_the_steady_state_timers_allocate_nothing() {
    counted(|| {
        let (_, event_loop) = virtual_loop();
        let cx = event_loop.cx();
        let ran = Rc::new(Cell::new(0));
        let five_words = |ran: &Rc<Cell<usize>>| {
            let (ran, words) = (Rc::clone(ran), [1_usize; 4]);
            move |_: &Cx| ran.set(ran.get() + words[3])
        };
        let calls = Rc::clone(&ran);
        let interval = move |_: &Cx| calls.set(calls.get() + 1);
        let id = cx.set_interval(Duration::from_millis(7), interval).unwrap();
        cx.reference_timer(id, false).unwrap();
        let far = cx.set_timeout(Duration::from_secs(3600), |_| ()).unwrap();
        cx.reference_timer(far, false).unwrap();
        let round = || {
            for i in 0..200 {
                let delay = Duration::from_micros(i * 300);
                cx.set_timeout(delay, five_words(&ran)).unwrap();
                let id = cx.set_timeout(delay, five_words(&ran)).unwrap();
                cx.set_timeout(Duration::ZERO, five_words(&ran)).unwrap();
                assert!(cx.clear_timeout(id));
            }
            cx.reset_timeout(far, Duration::from_secs(3600)).unwrap();
            event_loop.run_until_idle().unwrap();
        };
        for _ in 0..100 {
            round();
        }
        let (before, calls) = (allocations(), ran.get());
        for _ in 0..100 {
            round();
        }
        assert!(ran.get() - calls > 100 * 400);
        assert_eq!(allocations() - before, 0);
    });
}

// spec: TM-6
#[test]
fn setting_and_clearing_for_ever_in_one_callback_does_not_grow() {
    counted(|| {
        let (_, event_loop) = virtual_loop();
        event_loop.cx().set_timeout(Duration::ZERO, |_| ()).unwrap();
        event_loop.run_until_idle().unwrap();
        let before = bytes();
        for i in 0..MANY as u64 {
            // Near, far, and further away.
            let delay = Duration::from_nanos(1 << (i % 50));
            let id = event_loop.cx().set_timeout(delay, three_words(i as usize)).unwrap();
            assert!(event_loop.cx().clear_timeout(id));
        }
        assert!(bytes() - before < LEFT, "{} bytes more", bytes() - before);
    });
}
