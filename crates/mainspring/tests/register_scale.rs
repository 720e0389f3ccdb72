//! Many descriptors, and busy ones: all are served, none keeps anything else from running, and what a
//! registration costs does not depend on how many there are.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/counting.rs"]
mod counting;
#[path = "common/fds.rs"]
mod fds;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};

use common::timers::{MS, Random, manual, tick};
use common::{Kind, Variant, turn_until_quiet, wait_until};
use counting::{allocations, asked, bytes, count};
use fds::{build, descriptor_limit, drain, flush, pair, readable};
use mainspring::{Cx, EventLoop, Interest, Readiness};
use rustix::event::{EventfdFlags, eventfd};

suite! {
    ten_thousand_ready_descriptors_are_all_served_in_turn,
    what_becomes_ready_among_thousands_of_busy_ones_is_served_within_their_round,
    a_descriptor_that_is_always_ready_keeps_nothing_else_from_running,
    descriptors_that_come_back_in_their_own_callbacks_keep_nothing_else_from_running,
    an_endless_chain_of_microtasks_does_not_freeze_descriptors,
    an_endless_chain_that_a_descriptor_began_does_not_freeze_the_others,
    serving_descriptors_allocates_nothing,
    rearming_allocates_nothing,
    the_event_buffer_is_there_before_it_is_needed,
    a_registration_costs_the_same_among_few_and_among_many,
    memory_comes_back_when_descriptors_are_unregistered,
}

/// What one piece of work cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    allocations: usize,
    asked: usize,
    kept: isize,
}

fn cost(work: impl FnOnce()) -> Cost {
    let before = (allocations(), asked(), bytes());
    count(true);
    work();
    count(false);
    Cost {
        allocations: allocations() - before.0,
        asked: asked() - before.1,
        kept: bytes() - before.2,
    }
}

/// One test after the other: they share the counters, and the number of descriptors is limited.
fn alone() -> MutexGuard<'static, ()> {
    let guard = counting::alone();
    // The harness has some, too.
    assert!(descriptor_limit() > MANY + 500, "the test needs more descriptors: see `ulimit -n`");
    guard
}

const MANY: usize = 10_000;

/// How many events one tick takes.
const BATCH: usize = 1_024;

/// A descriptor that is always ready to be read.
fn ready() -> OwnedFd {
    eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap()
}

type Callback = fn(&Cx, &OwnedFd, Readiness);

// spec: IO-3, IO-6
fn ten_thousand_ready_descriptors_are_all_served_in_turn(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let served = Rc::new(RefCell::new(Vec::new()));
    for i in 0..MANY {
        let served = Rc::clone(&served);
        let callback = move |_: &Cx, _: &OwnedFd, _: Readiness| served.borrow_mut().push(i);
        event_loop.cx().register_fd(ready(), Interest::READ, callback).unwrap();
    }
    const ROUNDS: usize = 3;
    for _ in 0..(ROUNDS * MANY).div_ceil(BATCH) {
        let before = served.borrow().len();
        tick(&event_loop);
        let now = served.borrow().len();
        assert!(now - before <= BATCH, "{} in one tick", now - before);
    }
    let served = served.borrow();
    assert!(served.len() >= ROUNDS * MANY, "{} in as many ticks as it takes", served.len());
    for round in served.chunks_exact(MANY) {
        assert_eq!(round.iter().collect::<HashSet<_>>().len(), MANY, "none twice before all once");
    }
}

// spec: IO-3, IO-6
fn what_becomes_ready_among_thousands_of_busy_ones_is_served_within_their_round(variant: Variant) {
    const BUSY: usize = 3_000;
    let _alone = alone();
    let event_loop = build(variant);
    for _ in 0..BUSY {
        event_loop.cx().register_fd(ready(), Interest::READ, |_, _, _| ()).unwrap();
    }
    let (socket, mut peer) = pair();
    let ran = Rc::new(Cell::new(0));
    let counted = Rc::clone(&ran);
    let callback = move |_: &Cx, source: &UnixStream, _: Readiness| {
        drain(source);
        counted.set(counted.get() + 1);
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    for n in 1..=20 {
        (0..n % 4).for_each(|_| tick(&event_loop));
        peer.write_all(b"x").unwrap();
        (0..=BUSY.div_ceil(BATCH)).for_each(|_| tick(&event_loop));
        assert_eq!(ran.get(), n);
    }
}

/// Counts what a loop that is busy otherwise runs besides.
#[derive(Clone, Default)]
struct Progress {
    timers: Rc<Cell<usize>>,
    tasks: Rc<Cell<usize>>,
    immediates: Rc<Cell<usize>>,
    microtasks: Rc<Cell<usize>>,
    descriptors: Rc<Cell<usize>>,
}

fn add(count: &Rc<Cell<usize>>) {
    count.set(count.get() + 1);
}

impl Progress {
    /// Starts one of each kind, each of which goes on in the next tick.
    fn start(event_loop: &EventLoop) -> Self {
        fn immediately(cx: &Cx, progress: Progress) {
            cx.set_immediate(move |cx| {
                add(&progress.immediates);
                immediately(cx, progress);
            });
        }
        let progress = Self::default();
        let cx = event_loop.cx();
        let timers = Rc::clone(&progress.timers);
        cx.set_interval(MS, move |_| add(&timers)).unwrap();
        immediately(cx, progress.clone());
        let (socket, peer) = readable();
        let seen = progress.clone();
        let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
            let _ = &peer;
            add(&seen.descriptors);
            let microtasks = Rc::clone(&seen.microtasks);
            cx.queue_microtask(move |_| add(&microtasks));
        };
        cx.register_fd(socket, Interest::READ, callback).unwrap();
        progress
    }

    /// Goes through `ticks` ticks, and through each of which comes one of each kind.
    fn check(&self, clock: &mainspring::VirtualClock, event_loop: &EventLoop, ticks: usize) {
        for n in 1..=ticks {
            clock.advance(MS);
            let tasks = Rc::clone(&self.tasks);
            event_loop.cx().submit(move |_| add(&tasks)).unwrap();
            tick(event_loop);
            for (name, count) in [
                ("timers", &self.timers),
                ("tasks", &self.tasks),
                ("immediates", &self.immediates),
                ("microtasks", &self.microtasks),
                ("descriptors", &self.descriptors),
            ] {
                assert_eq!(count.get(), n, "{name}");
            }
        }
    }
}

// spec: IO-6
fn a_descriptor_that_is_always_ready_keeps_nothing_else_from_running(variant: Variant) {
    let _alone = alone();
    let (clock, event_loop) = manual(variant);
    let busy = Rc::new(Cell::new(0));
    let counted = Rc::clone(&busy);
    let (socket, _peer) = readable();
    let callback = move |_: &Cx, _: &UnixStream, _: Readiness| add(&counted);
    event_loop.cx().register_fd(socket, Interest::BOTH, callback).unwrap();
    let progress = Progress::start(&event_loop);
    progress.check(&clock, &event_loop, 200);
    assert_eq!(busy.get(), 200, "it has its turn, too, once in each tick");
}

// spec: IO-6, M1-3.2
fn descriptors_that_come_back_in_their_own_callbacks_keep_nothing_else_from_running(
    variant: Variant,
) {
    fn again(cx: &Cx, source: Arc<OwnedFd>, ran: Rc<Cell<usize>>, round: usize) {
        let callback = move |cx: &Cx, source: &Arc<OwnedFd>, _: Readiness| {
            add(&ran);
            let fd = source.as_raw_fd();
            match round % 3 {
                0 => {
                    cx.unregister_fd(fd).unwrap();
                    again(cx, Arc::clone(source), Rc::clone(&ran), round + 1);
                }
                1 => {
                    cx.unregister_fd(fd).unwrap();
                    again(cx, Arc::new(ready()), Rc::clone(&ran), round + 1);
                }
                // A new edge.
                _ => cx.modify_fd(fd, Interest::READ.edge_triggered().one_shot()).unwrap(),
            }
        };
        cx.register_fd(source, Interest::READ.edge_triggered(), callback).unwrap();
    }
    let _alone = alone();
    let (clock, event_loop) = manual(variant);
    let ran = Rc::new(Cell::new(0));
    for round in 0..30 {
        again(event_loop.cx(), Arc::new(ready()), Rc::clone(&ran), round);
    }
    let progress = Progress::start(&event_loop);
    progress.check(&clock, &event_loop, 100);
    assert_eq!(ran.get(), 30 * 100, "each once in each tick");
}

// spec: MT-3, F-18
fn an_endless_chain_of_microtasks_does_not_freeze_descriptors(variant: Variant) {
    let _alone = alone();
    for kind in [Kind::Microtask, Kind::NextTick] {
        for strict in [true, false] {
            let builder = variant.builder().strict_microtasks(strict);
            let event_loop = builder.on_diagnostic(|_, _| ()).build().unwrap();
            kind.chain(event_loop.cx(), || true);
            let (socket, _peer) = readable();
            let ran = Rc::new(Cell::new(0));
            let counted = Rc::clone(&ran);
            let callback = move |_: &Cx, _: &UnixStream, _: Readiness| add(&counted);
            event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
            for n in 1..=20 {
                tick(&event_loop);
                assert_eq!(ran.get(), n, "{kind:?}");
            }
        }
    }
    // The same on a loop that nobody turns by hand.
    let (handle, thread) = variant.spawn(
        |builder| builder.on_diagnostic(|_, _| ()),
        |event_loop| {
            Kind::Microtask.chain(event_loop.cx(), || true);
            event_loop.run()
        },
    );
    let (socket, mut peer) = pair();
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let callback = move |_: &Cx, source: &UnixStream, _: Readiness| {
        drain(source);
        counted.fetch_add(1, Ordering::SeqCst);
    };
    handle.register_fd(socket, Interest::READ, callback).unwrap();
    for n in 1..=100 {
        peer.write_all(b"x").unwrap();
        wait_until(|| ran.load(Ordering::SeqCst) == n);
    }
    flush(&handle);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: MT-3, F-18
fn an_endless_chain_that_a_descriptor_began_does_not_freeze_the_others(variant: Variant) {
    let _alone = alone();
    for strict in [true, false] {
        let builder = variant.builder().strict_microtasks(strict);
        let event_loop = builder.on_diagnostic(|_, _| ()).build().unwrap();
        let ran = Rc::new(Cell::new(0));
        for _ in 0..5 {
            let counted = Rc::clone(&ran);
            let callback = move |cx: &Cx, _: &OwnedFd, _: Readiness| {
                add(&counted);
                if counted.get() <= 5 {
                    Kind::Microtask.chain(cx, || true);
                }
            };
            event_loop.cx().register_fd(ready(), Interest::READ, callback).unwrap();
        }
        for n in 1..=10 {
            tick(&event_loop);
            assert_eq!(ran.get(), 5 * n);
        }
    }
}

// spec: IO-3
fn serving_descriptors_allocates_nothing(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let ran = Rc::new(Cell::new(0));
    let sources: Vec<_> = (0..100).map(|_| readable()).collect();
    let mut peers = Vec::new();
    for (i, (socket, peer)) in sources.into_iter().enumerate() {
        let ran = Rc::clone(&ran);
        let interest = [Interest::READ, Interest::WRITE, Interest::BOTH][i % 3];
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| add(&ran);
        event_loop.cx().register_fd(socket, interest, callback).unwrap();
        peers.push(peer);
    }
    tick(&event_loop);
    ran.set(0);
    let steady = cost(|| (0..1_000).for_each(|_| tick(&event_loop)));
    assert_eq!((steady.allocations, ran.get()), (0, 100_000));
}

// spec: IO-3
fn rearming_allocates_nothing(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let ran = Rc::new(Cell::new(0));
    let one_shot = Interest::READ.one_shot();
    let mut numbers = Vec::new();
    for i in 0..100 {
        let (ran, source) = (Rc::clone(&ran), ready());
        let fd = source.as_raw_fd();
        if i % 2 == 0 {
            numbers.push(fd);
        }
        let callback = move |cx: &Cx, _: &OwnedFd, _: Readiness| {
            add(&ran);
            if i % 2 == 1 {
                cx.modify_fd(fd, one_shot).unwrap();
            }
        };
        event_loop.cx().register_fd(source, one_shot, callback).unwrap();
    }
    let handle = event_loop.handle();
    let round = || {
        tick(&event_loop);
        numbers.iter().for_each(|fd| handle.modify_fd(*fd, one_shot).unwrap());
    };
    round();
    ran.set(0);
    let steady = cost(|| (0..500).for_each(|_| round()));
    assert_eq!((steady.allocations, ran.get()), (0, 50_000));
}

// spec: IO-3
fn the_event_buffer_is_there_before_it_is_needed(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    event_loop.cx().register_fd(ready(), Interest::READ, |_, _, _| ()).unwrap();
    tick(&event_loop);
    let callback: Callback = |_, _, _| ();
    let armed: Vec<_> = (0..3_000).map(|_| ready()).collect();
    let numbers: Vec<RawFd> = armed.iter().map(AsRawFd::as_raw_fd).collect();
    for source in armed {
        event_loop.cx().register_fd(source, Interest::NONE, callback).unwrap();
    }
    // The loop gets to know of them while none of them is ready, and then all of them are at once.
    tick(&event_loop);
    for fd in numbers {
        event_loop.cx().modify_fd(fd, Interest::READ).unwrap();
    }
    let burst = cost(|| (0..10).for_each(|_| tick(&event_loop)));
    // What the loop looks up the registrations with may grow by a pointer or so for many of them, once.
    assert!(burst.asked < 2_048, "{burst:?}");
    let next = cost(|| (0..10).for_each(|_| tick(&event_loop)));
    assert_eq!(next.allocations, 0);
}

/// How many descriptors the tests of costs use: fifty thousand, or as many as are allowed.
fn most() -> usize {
    (descriptor_limit() - 500).min(50_000)
}

/// A callback that captures three words.
fn three_words(word: usize) -> impl FnMut(&Cx, &OwnedFd, Readiness) + 'static {
    let words = [word; 3];
    move |_, _, _| assert_eq!(words[0], words[2])
}

// Half of what O(1) means (M1-1.1): a search is not seen by the allocator.
// spec: scenarios (22)
fn a_registration_costs_the_same_among_few_and_among_many(variant: Variant) {
    const STEP: usize = 1_000;
    let _alone = alone();
    let event_loop = build(variant);
    // One that goes and one that comes, at whatever population there is.
    let exchange = || {
        cost(|| {
            for i in 0..STEP {
                let source = ready();
                let fd = source.as_raw_fd();
                event_loop.cx().register_fd(source, Interest::NONE, three_words(i)).unwrap();
                event_loop.cx().modify_fd(fd, Interest::READ).unwrap();
                event_loop.cx().unregister_fd(fd).unwrap();
            }
        })
    };
    // The tables are there then.
    exchange();
    let few = exchange();
    assert_eq!(few.kept, 0);
    assert!(few.allocations <= 4 * STEP, "{few:?}");
    let mut sources: Vec<_> = (0..most() - 10).map(|_| ready()).collect();
    let mut batches = Vec::new();
    while !sources.is_empty() {
        let rest = sources.split_off(sources.len().min(STEP));
        let batch = std::mem::replace(&mut sources, rest);
        let number = batch.len();
        batches.push((
            number,
            cost(|| {
                for source in batch {
                    let callback = three_words(number);
                    event_loop.cx().register_fd(source, Interest::READ, callback).unwrap();
                }
            }),
        ));
    }
    // Work that grows with the population shows as memory that is asked for, unless it needs none: a search
    // through all of them is for the benchmarks to see.
    let total = batches.iter().fold((0, 0, 0), |sum, (number, cost)| {
        (sum.0 + number, sum.1 + cost.allocations, sum.2 + cost.asked)
    });
    println!("{} descriptors: {} allocations of {} bytes", total.0, total.1, total.2);
    for (number, batch) in &batches {
        assert!(batch.allocations <= 4 * number + 64, "{number}: {batch:?}");
    }
    assert!(total.2 <= 512 * total.0, "{} bytes each", total.2 / total.0);
    turn_some(&event_loop);
    exchange();
    let many = exchange();
    assert_eq!(many.kept, 0);
    assert!(many.allocations <= few.allocations + 8, "{many:?} instead of {few:?}");
    assert!(many.asked <= few.asked + few.asked / 8, "{many:?} instead of {few:?}");
}

/// Lets the loop take notice of what was registered.
fn turn_some(event_loop: &EventLoop) {
    (0..3).for_each(|_| tick(event_loop));
}

// spec: scenarios (22)
fn memory_comes_back_when_descriptors_are_unregistered(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let number = most() - 10;
    let mut numbers: Vec<RawFd> = Vec::with_capacity(number);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut kept = Vec::new();
    for round in 0..3 {
        let sources: Vec<_> = (0..number).map(|_| ready()).collect();
        numbers.extend(sources.iter().map(AsRawFd::as_raw_fd));
        for i in (1..number).rev() {
            numbers.swap(i, random.below(i as u64 + 1) as usize);
        }
        let mut sources = sources.into_iter();
        let filled = cost(|| {
            for source in sources.by_ref() {
                event_loop.cx().register_fd(source, Interest::NONE, three_words(round)).unwrap();
            }
            turn_some(&event_loop);
        });
        let emptied = cost(|| {
            for fd in numbers.drain(..) {
                // Some by way of the loop's ear for other threads.
                if fd % 2 == 0 {
                    event_loop.cx().unregister_fd(fd).unwrap();
                } else {
                    event_loop.handle().unregister_fd(fd).unwrap();
                }
            }
            turn_until_quiet(&event_loop);
        });
        kept.push(filled.kept + emptied.kept);
        let each = |bytes: isize| bytes as f64 / number as f64;
        println!("{:.1} bytes each, {:.1} are left", each(filled.kept), each(kept[round]));
        assert!(each(filled.kept) <= 256.0, "{}", each(filled.kept));
    }
    // Slots may be kept for the next ones, but nothing that a registration brought along, and only once.
    assert!(kept[0] <= 48 * number as isize, "{kept:?}");
    assert!(kept[1..].iter().all(|kept| *kept <= 4_096), "{kept:?}");
}
