//! Level-triggered, edge-triggered and one-shot watchers.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use common::timers::tick;
use common::{Log, Variant};
use mainspring::{Cx, EventLoop, Interest, Watch, Watcher};
use watching::*;

suite! {
    level_triggered_calls_repeat_until_the_data_is_read,
    an_edge_is_dispatched_once_and_nothing_is_drained,
    new_bytes_are_a_new_edge_although_the_old_ones_were_not_read,
    becoming_writable_again_is_a_new_edge,
    an_edge_is_not_told_twice_because_another_one_is_unwatched,
    an_edge_is_not_told_twice_because_others_of_the_batch_are_unwatched,
    an_error_without_interest_is_one_edge,
    a_one_shot_fires_once_with_all_of_its_callbacks,
    a_disarmed_one_shot_is_silent_about_errors_and_hang_ups,
    a_one_shot_is_armed_again_by_modify_and_by_a_new_watch,
    a_one_shot_that_arms_itself_in_its_callback_stays_armed,
    a_one_shot_that_watches_itself_again_stays_armed,
    a_one_shot_armed_by_its_last_callback_is_armed_as_that_one_said,
    an_edge_triggered_one_shot_behaves_as_a_one_shot,
}

// spec: M1-2.5
fn level_triggered_calls_repeat_until_the_data_is_read(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let watcher = event_loop.cx().watch(ours, watch(&log, "read")).unwrap();
    theirs.write_all(b"xy").unwrap();
    for left in [2, 1, 0] {
        tick(&event_loop);
        assert_eq!(log.take().len(), usize::from(left > 0));
        // The loop itself has read nothing.
        let read = watcher.source().read(&mut [0]);
        assert_eq!(read.is_ok(), left > 0);
        assert!(left > 0 || read.unwrap_err().kind() == ErrorKind::WouldBlock);
    }
}

// spec: M1-2.5
fn an_edge_is_dispatched_once_and_nothing_is_drained(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let watcher = event_loop.cx().watch(ours, watch(&log, "read write").edge_triggered()).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
    theirs.write_all(b"hello").unwrap();
    tick(&event_loop);
    assert_eq!(log.take().first(), Some(&"read"), "the kernel may tell again what is writable");
    for _ in 0..3 {
        tick(&event_loop);
    }
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    let mut bytes = [0; 16];
    assert_eq!(watcher.source().read(&mut bytes).unwrap(), 5);
}

// spec: M1-2.5
fn new_bytes_are_a_new_edge_although_the_old_ones_were_not_read(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    drop(event_loop.cx().watch(ours, watch(&log, "read").edge_triggered()).unwrap());
    for _ in 0..5 {
        theirs.write_all(b"x").unwrap();
        tick(&event_loop);
        tick(&event_loop);
        assert_eq!(log.take(), ["read"]);
    }
    // Two writes before the loop looks are one event.
    theirs.write_all(b"x").unwrap();
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
}

// spec: M1-2.5
fn becoming_writable_again_is_a_new_edge(variant: Variant) {
    let event_loop = build(variant);
    let (ours, theirs) = pair();
    let log = Log::new();
    let watcher = event_loop.cx().watch(ours, watch(&log, "write").edge_triggered()).unwrap();
    for _ in 0..3 {
        tick(&event_loop);
        tick(&event_loop);
        assert_eq!(log.take(), ["write"]);
        fill(watcher.source());
        tick(&event_loop);
        assert_eq!(log.len(), 0);
        drain(&theirs);
    }
}

/// An edge-triggered watcher that was told that it is readable, and has not read.
fn told_once(event_loop: &EventLoop, log: &Log<&'static str>) -> UnixStream {
    let (ours, theirs) = ready();
    drop(event_loop.cx().watch(ours, watch(log, "read").edge_triggered()).unwrap());
    tick(event_loop);
    assert_eq!(log.take(), ["read"]);
    theirs
}

type Shared = Rc<UnixStream>;

// spec: M1-2.5, M1-1.5
fn an_edge_is_not_told_twice_because_another_one_is_unwatched(variant: Variant) {
    let ways: [fn(&Cx, Watcher<Shared>); 4] = [
        |cx, watcher| assert!(cx.unwatch(watcher.fd())),
        |cx, watcher| cx.handle().unregister_fd(watcher.fd()).unwrap(),
        |_, watcher| assert!(watcher.unwatch()),
        |_, watcher| drop(watcher.into_inner().unwrap()),
    ];
    for way in ways {
        let event_loop = build(variant);
        let log = Log::new();
        let _peer = told_once(&event_loop, &log);
        // It stays open and ready: if the kernel were not told, it would go on to report it.
        let (other, _other_peer) = ready();
        let other = Rc::new(other);
        let watcher = event_loop.cx().watch(Rc::clone(&other), watch(&log, "write")).unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), ["write"]);
        way(event_loop.cx(), watcher);
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: M1-2.5, M1-3.1
fn an_edge_is_not_told_twice_because_others_of_the_batch_are_unwatched(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let _peer = told_once(&event_loop, &log);
    let others: Rc<RefCell<Vec<Watcher<UnixStream>>>> = Rc::default();
    let mut peers = Vec::new();
    for _ in 0..20 {
        let (ours, theirs) = ready();
        peers.push(theirs);
        let (noted, all) = (log.clone(), Rc::clone(&others));
        let watch = Watch::new().read(move |_, _| {
            noted.push("first");
            // The events of the other ones come to nobody, which is in the order of things.
            assert_eq!(all.borrow().iter().filter(|watcher| watcher.unwatch()).count(), 20);
        });
        others.borrow_mut().push(event_loop.cx().watch(ours, watch).unwrap());
    }
    tick(&event_loop);
    assert_eq!(log.take(), ["first"]);
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    others.take();
}

// spec: M1-2.5, M1-2.3
fn an_error_without_interest_is_one_edge(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(event_loop.cx().watch(writer, watch(&log, "error").edge_triggered()).unwrap());
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    drop(reader);
    tick(&event_loop);
    assert_eq!(log.take(), ["error"]);
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-2.6
fn a_one_shot_fires_once_with_all_of_its_callbacks(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    theirs.write_all(b"x").unwrap();
    let watcher = event_loop.cx().watch(ours, watch(&log, "read write").one_shot()).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read", "write"]);
    for _ in 0..3 {
        theirs.write_all(b"x").unwrap();
        tick(&event_loop);
    }
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    assert!(watcher.is_active(), "disarmed, not removed");
    assert!(watcher.unwatch());
}

// spec: M1-2.6, M1-2.4
fn a_disarmed_one_shot_is_silent_about_errors_and_hang_ups(variant: Variant) {
    let event_loop = build(variant);
    let (mut ours, mut theirs) = pair();
    let log = Log::new();
    ours.write_all(b"never read").unwrap();
    theirs.write_all(b"x").unwrap();
    let watcher = event_loop.cx().watch(ours, watch(&log, "read write error").one_shot()).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read", "write"]);
    drop(theirs);
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    watcher.modify(Interest::READ.one_shot()).unwrap();
    tick(&event_loop);
    assert_at_rest(&event_loop);
    assert_eq!(log.take(), ["error"]);
}

// spec: M1-2.6
fn a_one_shot_is_armed_again_by_modify_and_by_a_new_watch(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair();
    let (ours, log) = (Rc::new(ours), Log::new());
    theirs.write_all(b"x").unwrap();
    let watch = || cx.watch(Rc::clone(&ours), watch(&log, "read").one_shot()).unwrap();
    let watcher = watch();
    let fire = || {
        tick(&event_loop);
        tick(&event_loop);
        log.take()
    };
    assert_eq!(fire(), ["read"]);
    watcher.modify(Interest::READ.one_shot()).unwrap();
    assert_eq!(fire(), ["read"]);
    cx.modify_fd(watcher.fd(), Interest::READ.one_shot()).unwrap();
    assert_eq!(fire(), ["read"]);
    cx.handle().modify_fd(watcher.fd(), Interest::READ.one_shot()).unwrap();
    assert_eq!(fire(), ["read"]);
    let watcher = watch();
    assert_eq!(fire(), ["read"]);
    watcher.modify(Interest::NONE).unwrap();
    assert!(fire().is_empty(), "armed for nothing");
    watcher.modify(Interest::READ).unwrap();
    assert_eq!(fire(), ["read", "read"], "no longer a one-shot");
}

// spec: M1-2.6
fn a_one_shot_that_arms_itself_in_its_callback_stays_armed(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let noted = log.clone();
    let callback = move |cx: &Cx, stream: &UnixStream| {
        noted.push("read");
        cx.modify_fd(stream.as_raw_fd(), Interest::BOTH.one_shot()).unwrap();
    };
    let watch = Watch::new().read(callback).write(says(&log, "write")).one_shot();
    drop(event_loop.cx().watch(ours, watch).unwrap());
    theirs.write_all(b"x").unwrap();
    for _ in 0..3 {
        tick(&event_loop);
        assert_eq!(log.take(), ["read", "write"], "once for each time it is armed");
    }
}

// spec: M1-2.6, M1-1.6
fn a_one_shot_that_watches_itself_again_stays_armed(variant: Variant) {
    fn watch(log: &Log<&'static str>) -> Watch<Rc<UnixStream>> {
        let noted = log.clone();
        let callback = move |cx: &Cx, stream: &Rc<UnixStream>| {
            noted.push("read");
            drop(cx.watch(Rc::clone(stream), watch(&noted)).unwrap());
        };
        Watch::new().read(callback).one_shot()
    }
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let (fd, log) = (ours.as_raw_fd(), Log::new());
    theirs.write_all(b"x").unwrap();
    drop(event_loop.cx().watch(Rc::new(ours), watch(&log)).unwrap());
    for _ in 0..5 {
        tick(&event_loop);
        assert_eq!(log.take(), ["read"]);
    }
    assert!(event_loop.cx().unwatch(fd));
}

// spec: M1-2.6
fn a_one_shot_armed_by_its_last_callback_is_armed_as_that_one_said(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let (noted, then) = (log.clone(), log.clone());
    let watch = Watch::new()
        .read(move |_, stream: &UnixStream| {
            drain(stream);
            noted.push("read");
        })
        .write(move |cx, stream: &UnixStream| {
            then.push("write");
            cx.modify_fd(stream.as_raw_fd(), Interest::READ.one_shot()).unwrap();
        })
        .one_shot();
    drop(event_loop.cx().watch(ours, watch).unwrap());
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read", "write"]);
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0, "armed in the last callback, and not ready");
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"], "with the interest it was armed with");
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.len(), 0, "fired");
}

// spec: M1-2.7
fn an_edge_triggered_one_shot_behaves_as_a_one_shot(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let watch = watch(&log, "read write").edge_triggered().one_shot();
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read", "write"]);
    theirs.write_all(b"a new edge").unwrap();
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    watcher.modify(Interest::READ.edge_triggered().one_shot()).unwrap();
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(log.take(), ["read"], "what is ready when it is armed counts as an edge");
}
