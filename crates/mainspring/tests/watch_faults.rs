//! Panics in the callbacks of watchers, under both policies, and the checkpoints around them.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::cell::Cell;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use common::timers::tick;
use common::{Log, OnDrop, Tracker, Variant, panic_of};
use mainspring::{Cx, EventLoop, PanicPolicy, Phase, Watch, Watcher};
use watching::*;

suite! {
    the_rest_of_the_batch_is_delivered_although_every_callback_panics,
    a_panic_in_the_read_step_does_not_stop_the_write_step,
    a_callback_that_panicked_stays_registered,
    after_a_propagated_panic_the_rest_of_the_batch_is_delivered,
    after_a_propagated_panic_the_rest_of_the_batch_comes_before_newer_events,
    after_a_propagated_panic_the_write_step_follows,
    a_source_that_panics_when_it_is_looked_at_does_not_end_the_loop,
    after_a_propagated_panic_run_until_idle_delivers_the_rest,
    what_is_left_by_a_propagated_panic_can_still_be_unwatched,
    a_loop_dropped_after_a_propagated_panic_releases_everything,
    a_destructor_that_panics_does_not_lose_the_rest_of_the_batch,
    in_strict_mode_a_checkpoint_follows_every_callback,
    a_microtask_between_the_steps_can_stop_the_write_step,
    the_microtasks_of_a_callback_that_panics_run_before_the_next_one,
    in_batched_mode_a_checkpoint_follows_at_most_64_callbacks,
}

/// Watches `count` that are ready, in all modes, whose callbacks are called with their numbers after
/// they have read everything. Gives the peers.
fn crowd(
    event_loop: &EventLoop,
    count: usize,
    callback: impl FnMut(&Cx, usize) + Clone + 'static,
) -> Vec<(UnixStream, Watcher<UnixStream>)> {
    let watched = |i| {
        let (ours, theirs) = ready();
        let mut callback = callback.clone();
        let watch = Watch::new().read(move |cx, stream: &UnixStream| {
            drain(stream);
            callback(cx, i);
        });
        let watch = match i % 4 {
            0 => watch,
            1 => watch.edge_triggered(),
            2 => watch.one_shot(),
            _ => watch.edge_triggered().one_shot(),
        };
        (theirs, event_loop.cx().watch(ours, watch).unwrap())
    };
    (0..count).map(watched).collect()
}

// spec: M1-2.8, FA-1, R5
fn the_rest_of_the_batch_is_delivered_although_every_callback_panics(variant: Variant) {
    let (log, reports) = (Log::new(), Log::new());
    let noted = reports.clone();
    let event_loop = variant
        .builder()
        .on_uncaught(move |_, panic| noted.push((panic.phase(), panic.to_string())))
        .build()
        .unwrap();
    let noted = log.clone();
    let _peers = crowd(&event_loop, 40, move |_, i| {
        noted.push(i);
        panic!("expected by the test");
    });
    tick(&event_loop);
    assert!(sorted(log.take()).into_iter().eq(0..40), "in one tick");
    let reports = reports.take();
    assert_eq!(reports.len(), 40);
    for (phase, text) in reports {
        assert_eq!(phase, Phase::Io);
        assert!(text.ends_with("panicked: expected by the test"), "{text}");
    }
}

// spec: M1-2.8, FA-1
fn a_panic_in_the_read_step_does_not_stop_the_write_step(variant: Variant) {
    let event_loop = variant.build();
    let (ours, _theirs) = ready();
    let log = Log::new();
    let watch = Watch::new().read(|_, _| panic!("expected by the test"));
    drop(event_loop.cx().watch(ours, watch.write(says(&log, "write"))).unwrap());
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
}

// spec: M1-2.8, FA-3
fn a_callback_that_panicked_stays_registered(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        let event_loop = variant.builder().panic_policy(policy).build().unwrap();
        let (ours, mut theirs) = ready();
        let log = Log::new();
        let noted = log.clone();
        let watch = Watch::new().read(move |_, stream: &UnixStream| {
            drain(stream);
            noted.push("read");
            panic!("expected by the test");
        });
        let watcher = event_loop.cx().watch(ours, watch).unwrap();
        for _ in 0..3 {
            let panicked = panic_of(|| tick(&event_loop)).is_some();
            assert_eq!(panicked, policy == PanicPolicy::Propagate);
            assert_eq!(log.take(), ["read"]);
            assert!(watcher.is_active());
            theirs.write_all(b"x").unwrap();
        }
        assert!(watcher.into_inner().is_ok(), "the source is not lent to anybody");
    }
}

// spec: M1-2.8, FA-3, R5
fn after_a_propagated_panic_the_rest_of_the_batch_is_delivered(variant: Variant) {
    // Every one panics, then only the first one.
    for panics in [20, 1] {
        let event_loop = build(variant);
        let (log, left) = (Log::new(), Rc::new(Cell::new(panics)));
        let noted = log.clone();
        let _peers = crowd(&event_loop, 20, move |_, i| {
            noted.push(i);
            left.set(left.get() - 1);
            assert!(left.get() < 0, "expected by the test");
        });
        let mut called = Vec::new();
        for _ in 0..panics {
            assert_eq!(panic_of(|| tick(&event_loop)).as_deref(), Some("expected by the test"));
            called.append(&mut log.take());
        }
        assert_eq!(called.len(), panics as usize, "one at a time");
        tick(&event_loop);
        called.append(&mut log.take());
        assert!(sorted(called).into_iter().eq(0..20), "each of them once");
        tick(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: M1-2.8, FA-3
fn after_a_propagated_panic_the_rest_of_the_batch_comes_before_newer_events(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let _peers = crowd(&event_loop, 10, move |_, _| {
        noted.push("old");
        assert!(noted.len() > 1, "expected by the test");
    });
    assert!(panic_of(|| tick(&event_loop)).is_some());
    let (ours, _theirs) = ready();
    drop(event_loop.cx().watch(ours, Watch::new().read(says(&log, "new")).one_shot()).unwrap());
    for _ in 0..3 {
        tick(&event_loop);
    }
    assert_eq!(log.take(), [["old"; 10].as_slice(), &["new"]].concat());
}

// spec: M1-2.8, FA-3
fn after_a_propagated_panic_the_write_step_follows(variant: Variant) {
    for is_one_shot in [false, true] {
        let event_loop = build(variant);
        let (ours, _theirs) = ready();
        let log = Log::new();
        let noted = log.clone();
        let watch = Watch::new()
            .read(move |_, stream: &UnixStream| {
                drain(stream);
                noted.push("read");
                panic!("expected by the test");
            })
            .write(says(&log, "write"));
        let watch = if is_one_shot { watch.one_shot() } else { watch.edge_triggered() };
        let watcher = event_loop.cx().watch(ours, watch).unwrap();
        assert!(panic_of(|| tick(&event_loop)).is_some());
        assert_eq!(log.take(), ["read"]);
        tick(&event_loop);
        assert_eq!(log.take(), ["write"]);
        tick(&event_loop);
        assert_eq!(log.len(), 0);
        assert!(watcher.is_active());
    }
}

// spec: M1-2.8, FA-3, F-24
fn after_a_propagated_panic_run_until_idle_delivers_the_rest(variant: Variant) {
    let event_loop = variant
        .builder()
        .panic_policy(PanicPolicy::Propagate)
        .on_idle(|_| panic!("it waits"))
        .build()
        .unwrap();
    let log = Log::new();
    let mut peers = Vec::new();
    for _ in 0..5 {
        let (ours, theirs) = ready();
        peers.push(theirs);
        let noted = log.clone();
        let callback = move |_: &Cx, _: &UnixStream| {
            noted.push("read");
            assert!(noted.len() > 1, "expected by the test");
        };
        // In the kernel they are disarmed by now: nothing but the batch knows of them.
        drop(event_loop.cx().watch(ours, Watch::new().read(callback).one_shot()).unwrap());
    }
    let text = panic_of(|| tick(&event_loop));
    assert_eq!(text.as_deref(), Some("expected by the test"));
    assert_eq!(log.len(), 1);
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["read"; 5]);
}

// spec: M1-2.8, M1-3.1
fn what_is_left_by_a_propagated_panic_can_still_be_unwatched(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let watched = crowd(&event_loop, 10, move |_, i| {
        noted.push(i);
        panic!("expected by the test");
    });
    assert!(panic_of(|| tick(&event_loop)).is_some());
    let first = log.take();
    // Some by their handles, one by a replacement, some by giving the source back.
    let mut peers = Vec::new();
    for (i, (peer, watcher)) in watched.into_iter().enumerate() {
        peers.push(peer);
        if i % 2 == 0 {
            assert!(watcher.unwatch());
        } else {
            assert!(watcher.into_inner().is_ok());
        }
    }
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!((first.len(), log.len()), (1, 0));
}

// spec: M1-2.8, SD-6
fn a_loop_dropped_after_a_propagated_panic_releases_everything(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let mut peers = Vec::new();
    for _ in 0..10 {
        let (ours, theirs) = ready();
        peers.push(theirs);
        let token = tracker.token();
        let watch = Watch::new().read(move |_, stream: &UnixStream| {
            drain(stream);
            let _ = &token;
            panic!("expected by the test");
        });
        drop(event_loop.cx().watch(ours, watch).unwrap());
    }
    assert!(panic_of(|| tick(&event_loop)).is_some());
    assert_eq!(tracker.alive(), 10);
    drop(event_loop);
    assert_eq!(tracker.alive(), 0);
    assert!(peers.iter().all(|mut peer| peer.write(b"x").is_err()));
}

// spec: FA-1, M1-2.8
fn a_destructor_that_panics_does_not_lose_the_rest_of_the_batch(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let mut peers = Vec::new();
    for _ in 0..5 {
        let (ours, theirs) = ready();
        peers.push(theirs);
        let (noted, guard) = (log.clone(), OnDrop(|| panic!("expected by the test")));
        let watch = Watch::new().read(move |cx, stream: &UnixStream| {
            let _ = &guard;
            noted.push("read");
            cx.unwatch(stream.as_raw_fd());
        });
        drop(event_loop.cx().watch(ours, watch.one_shot()).unwrap());
    }
    tick(&event_loop);
    assert_eq!(log.take(), ["read"; 5]);
    assert!(peers.iter().all(|mut peer| peer.write(b"x").is_err()), "all are closed");
}

// spec: MT-1, R7
fn in_strict_mode_a_checkpoint_follows_every_callback(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let mut peers = Vec::new();
    for _ in 0..10 {
        let (ours, theirs) = ready();
        peers.push(theirs);
        let callback = |name, microtask: &'static str| {
            let log = log.clone();
            move |cx: &Cx, _: &UnixStream| {
                log.push(name);
                cx.queue_microtask(log.note(microtask));
            }
        };
        let watch = Watch::new().read(callback("read", "after read"));
        let watch = watch.write(callback("write", "after write")).one_shot();
        drop(event_loop.cx().watch(ours, watch).unwrap());
    }
    tick(&event_loop);
    assert_eq!(log.take(), ["read", "after read", "write", "after write"].repeat(10));
}

// spec: MT-1, M1-3.1
fn a_microtask_between_the_steps_can_stop_the_write_step(variant: Variant) {
    let event_loop = build(variant);
    let (ours, _theirs) = ready();
    let log = Log::new();
    let noted = log.clone();
    let watch = Watch::new()
        .read(move |cx: &Cx, stream: &UnixStream| {
            let fd = stream.as_raw_fd();
            noted.push("read");
            cx.queue_microtask(move |cx| assert!(cx.unwatch(fd)));
        })
        .write(says(&log, "write"));
    drop(event_loop.cx().watch(ours, watch).unwrap());
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
}

// spec: MT-1, FA-1, FA-3
fn the_microtasks_of_a_callback_that_panics_run_before_the_next_one(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        let event_loop = variant.builder().panic_policy(policy).build().unwrap();
        let log = Log::new();
        let noted = log.clone();
        let _peers = crowd(&event_loop, 5, move |cx, _| {
            noted.push("read");
            cx.queue_microtask(noted.note("microtask"));
            panic!("expected by the test");
        });
        for _ in 0..6 {
            let _ = panic_of(|| tick(&event_loop));
        }
        assert_eq!(log.take(), ["read", "microtask"].repeat(5), "{policy:?}");
    }
}

// spec: R7
fn in_batched_mode_a_checkpoint_follows_at_most_64_callbacks(variant: Variant) {
    let waiting = Rc::new(Cell::new(0));
    let seen = Rc::clone(&waiting);
    let event_loop = variant
        .builder()
        .panic_policy(PanicPolicy::Propagate)
        .strict_microtasks(false)
        .on_check(move |_| assert_eq!(seen.get(), 0, "before the check phase"))
        .build()
        .unwrap();
    let (longest, ran) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    for _ in 0..200 {
        let (waiting, longest, ran) = (Rc::clone(&waiting), Rc::clone(&longest), Rc::clone(&ran));
        let watch = Watch::new().read(move |cx: &Cx, _: &OwnedFd| {
            waiting.set(waiting.get() + 1);
            longest.set(longest.get().max(waiting.get()));
            ran.set(ran.get() + 1);
            let waiting = Rc::clone(&waiting);
            cx.queue_microtask(move |_| waiting.set(0));
        });
        drop(event_loop.cx().watch(signalled(), watch.one_shot()).unwrap());
    }
    tick(&event_loop);
    assert_eq!(ran.get(), 200);
    assert!((1..=64).contains(&longest.get()), "{}", longest.get());
}

/// A source that does not always tell its descriptor.
struct Moody(UnixStream, Cell<bool>);

impl AsFd for Moody {
    fn as_fd(&self) -> BorrowedFd<'_> {
        assert!(!self.1.get(), "expected by the test");
        self.0.as_fd()
    }
}

// spec: FA-1
fn a_source_that_panics_when_it_is_looked_at_does_not_end_the_loop(variant: Variant) {
    let event_loop = variant.build();
    let log = Log::new();
    let (moody, mut theirs) = ready();
    let moody = Rc::new(Moody(moody, Cell::new(false)));
    let watcher = event_loop.cx().watch_weak(&moody, Watch::new().read(says(&log, "moody")));
    let (ours, _theirs) = ready();
    drop(event_loop.cx().watch(ours, Watch::new().read(says(&log, "read")).one_shot()).unwrap());
    moody.1.set(true);
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    // Nor does it when the loop wonders whether to wait.
    event_loop.cx().submit(|_| ()).unwrap();
    event_loop.cx().set_timeout(Duration::from_millis(1), Cx::close).unwrap();
    assert_eq!(panic_of(|| event_loop.run_until_idle().unwrap()), None);
    theirs.write_all(b"x").unwrap();
    drop(watcher);
}
