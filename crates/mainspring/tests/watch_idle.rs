//! For which watchers `run_until_idle` waits.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use common::timers::tick;
use common::{Log, Variant, panic_of};
use mainspring::{Error, EventLoop, Interest, PanicPolicy, Watch};
use watching::*;

suite! {
    a_watcher_keeps_run_until_idle_waiting_until_it_is_unwatched,
    run_until_idle_delivers_the_last_event_before_it_returns,
    unreferenced_watchers_are_not_waited_for,
    a_one_shot_is_waited_for_until_it_has_fired,
    a_watcher_without_interest_is_waited_for_only_if_it_listens_to_errors,
    a_weak_watcher_whose_source_is_gone_is_not_waited_for,
    of_several_weak_watchers_those_that_are_left_are_waited_for,
    replacing_and_unwatching_leave_no_reference_behind,
}

/// A loop that tells by a panic that it is about to wait.
fn waiting(variant: Variant) -> EventLoop {
    variant
        .builder()
        .panic_policy(PanicPolicy::Propagate)
        .on_idle(|_| panic!("it waits"))
        .build()
        .unwrap()
}

/// Whether `run_until_idle` waits for something.
#[track_caller]
fn waits(event_loop: &EventLoop) -> bool {
    let text = panic_of(|| event_loop.run_until_idle().unwrap());
    assert!(text.as_deref().is_none_or(|text| text == "it waits"), "{text:?}");
    text.is_some()
}

// spec: R9, F-24
fn a_watcher_keeps_run_until_idle_waiting_until_it_is_unwatched(variant: Variant) {
    let event_loop = waiting(variant);
    let cx = event_loop.cx();
    let (ours, _theirs) = pair();
    let fd = ours.as_raw_fd();
    assert!(!waits(&event_loop));
    let watcher = cx.watch(ours, Watch::new().read(|_, _| ())).unwrap();
    assert!(waits(&event_loop));
    assert!(waits(&event_loop), "still");
    assert!(watcher.unwatch());
    assert!(!waits(&event_loop));
    let ours = watcher.into_inner().unwrap();
    drop(cx.watch(ours, Watch::new().read(|_, _| ())).unwrap());
    assert!(waits(&event_loop), "without a handle, too");
    cx.unregister_fd(fd).unwrap();
    assert!(!waits(&event_loop));
}

// spec: R9, F-24
fn run_until_idle_delivers_the_last_event_before_it_returns(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let mut peers = Vec::new();
    for _ in 0..3 {
        let (ours, mut theirs) = pair();
        let noted = log.clone();
        let watch = Watch::new().read(move |cx, stream: &UnixStream| {
            noted.push(drain(stream));
            cx.unwatch(stream.as_raw_fd());
        });
        drop(event_loop.cx().watch(ours, watch).unwrap());
        theirs.write_all(b"x").unwrap();
        peers.push(theirs);
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), vec![b"x".to_vec(); 3]);
    assert!(peers.iter().all(is_closed));
}

// spec: R9, TM-11
fn unreferenced_watchers_are_not_waited_for(variant: Variant) {
    let event_loop = waiting(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair();
    let fd = ours.as_raw_fd();
    let log = Log::new();
    let watch = Watch::new().read(says(&log, "read")).unreferenced();
    let watcher = cx.watch(ours, watch).unwrap();
    assert!(!waits(&event_loop));
    for _ in 0..2 {
        watcher.reference(true).unwrap();
        assert!(waits(&event_loop));
    }
    for _ in 0..2 {
        cx.reference_fd(fd, false).unwrap();
        assert!(!waits(&event_loop));
    }
    // What it listens to is another matter, and survives a change of it.
    watcher.modify(Interest::NONE).unwrap();
    watcher.modify(Interest::READ).unwrap();
    assert!(!waits(&event_loop));
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    assert!(matches!(cx.reference_fd(RawFd::MAX, true), Err(Error::FdNotRegistered)));
}

// spec: R9, M1-2.6
fn a_one_shot_is_waited_for_until_it_has_fired(variant: Variant) {
    let event_loop = waiting(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let watch = Watch::new().read(says(&log, "read")).one_shot();
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    assert!(waits(&event_loop));
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    assert!(!waits(&event_loop));
    assert!(watcher.is_active());
    drain(watcher.source());
    watcher.modify(Interest::READ.one_shot()).unwrap();
    assert!(waits(&event_loop), "armed again");
    assert!(watcher.unwatch());
    assert!(!waits(&event_loop));
}

// spec: R9
fn a_watcher_without_interest_is_waited_for_only_if_it_listens_to_errors(variant: Variant) {
    let event_loop = waiting(variant);
    let cx = event_loop.cx();
    let (ours, _theirs) = pair();
    let ours = Rc::new(ours);
    let watch = || Watch::new().read(|_, _| ()).write(|_, _| ()).interest(Interest::NONE);
    let watcher = cx.watch(Rc::clone(&ours), watch()).unwrap();
    assert!(!waits(&event_loop));
    watcher.modify(Interest::READ).unwrap();
    assert!(waits(&event_loop));
    watcher.modify(Interest::NONE).unwrap();
    assert!(!waits(&event_loop));
    let watcher = cx.watch(Rc::clone(&ours), watch().error(|_, _| ())).unwrap();
    assert!(waits(&event_loop));
    watcher.modify(Interest::READ).unwrap();
    watcher.modify(Interest::NONE).unwrap();
    assert!(waits(&event_loop));
}

// spec: R9, M1-1.2
fn a_weak_watcher_whose_source_is_gone_is_not_waited_for(variant: Variant) {
    let event_loop = waiting(variant);
    let (ours, _theirs) = pair();
    let ours = Rc::new(ours);
    drop(event_loop.cx().watch_weak(&ours, Watch::new().read(|_, _| ())).unwrap());
    assert!(waits(&event_loop));
    drop(ours);
    assert!(!waits(&event_loop));
}

// spec: R9, M1-1.2, F-24
fn of_several_weak_watchers_those_that_are_left_are_waited_for(variant: Variant) {
    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in ORDERS {
        let event_loop = waiting(variant);
        let cx = event_loop.cx();
        let pairs = [pair(), pair(), pair(), pair()];
        let peers: Vec<_> = pairs.iter().map(|(_, theirs)| theirs.try_clone().unwrap()).collect();
        let mut sources = pairs.map(|(ours, _)| Some(Rc::new(ours)));
        for source in sources.iter().flatten() {
            drop(cx.watch_weak(source, Watch::new().read(|_, _| ())).unwrap());
        }
        // The last one is there to the end, and does not count.
        cx.reference_fd(sources[3].as_ref().unwrap().as_raw_fd(), false).unwrap();
        for (i, gone) in order.into_iter().enumerate() {
            assert!(waits(&event_loop), "{order:?}, {i} are gone");
            sources[gone] = None;
        }
        assert!(!waits(&event_loop), "{order:?}");
        // Others are not forgotten over it.
        let (ours, _theirs) = pair();
        let owned = cx.watch(ours, Watch::new().read(|_, _| ())).unwrap();
        assert!(waits(&event_loop));
        assert!(owned.unwatch());
        assert!(!waits(&event_loop));
        drop(peers);
    }
}

// spec: R9, F-24, M1-1.6
fn replacing_and_unwatching_leave_no_reference_behind(variant: Variant) {
    let event_loop = waiting(variant);
    let cx = event_loop.cx();
    let (ours, _theirs) = pair();
    let ours = Rc::new(ours);
    let watches: [fn() -> Watch<Rc<UnixStream>>; 4] = [
        || Watch::new().read(|_, _| ()),
        || Watch::new().read(|_, _| ()).unreferenced(),
        || Watch::new().read(|_, _| ()).interest(Interest::NONE),
        || Watch::new().read(|_, _| ()).one_shot(),
    ];
    // Each by each: a count that is kept by hand goes wrong in one of them.
    for first in watches {
        for second in watches {
            let old = cx.watch(Rc::clone(&ours), first()).unwrap();
            let new = cx.watch(Rc::clone(&ours), second()).unwrap();
            let _ = (old.reference(true), old.modify(Interest::READ), old.unwatch());
            new.reference(true).unwrap();
            new.modify(Interest::READ).unwrap();
            assert!(waits(&event_loop));
            assert!(new.unwatch());
            assert!(!waits(&event_loop));
        }
    }
    let waited_for = watches.map(|watch| {
        drop(cx.watch(Rc::clone(&ours), watch()).unwrap());
        waits(&event_loop)
    });
    assert_eq!(waited_for, [true, false, false, true]);
}
