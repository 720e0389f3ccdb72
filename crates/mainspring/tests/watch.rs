//! Watching descriptors: owned, weak and raw, and what the handle of a watcher can do.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::cell::RefCell;
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use common::timers::tick;
use common::{Log, Tracker, Variant};
use mainspring::{Cx, Error, EventLoop, Interest, Readiness, Watch, Watcher};
use watching::*;

suite! {
    the_callbacks_are_given_the_owned_source,
    dropping_the_handle_lets_the_watch_go_on,
    into_inner_ends_the_watch_and_gives_the_source_back,
    into_inner_is_refused_in_a_callback_of_that_very_watcher,
    into_inner_works_in_a_callback_of_another_watcher,
    unwatching_closes_an_owned_source_and_drops_the_callbacks_at_once,
    a_kept_handle_keeps_the_source_but_no_callback,
    a_weakly_watched_source_belongs_to_the_user,
    a_raw_descriptor_is_never_closed_by_the_loop,
    the_end_of_the_loop_closes_owned_sources_and_no_others,
    a_callback_that_holds_its_own_handle_is_released_with_the_loop,
    unwatch_is_idempotent_and_never_fails,
    an_old_handle_never_touches_the_replacement,
    there_is_one_watcher_for_a_descriptor_and_the_last_one_wins,
    two_descriptors_of_one_file_are_watched_by_themselves,
    a_replacement_calls_nothing_by_itself,
    a_replaced_watcher_is_released_at_once,
    strict_registrations_and_watchers_share_one_table,
    a_watcher_is_paused_and_resumed_by_its_interest,
    a_watch_can_start_with_less_than_its_callbacks_ask_for,
    interests_are_sets_with_two_modes,
}

/// A handle for a callback that is made before the handle is.
type Later<S> = Rc<RefCell<Option<Watcher<S>>>>;

// spec: WA-1
fn the_callbacks_are_given_the_owned_source(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let fd = ours.as_raw_fd();
    let log = Log::new();
    let (read, written) = (log.clone(), log.clone());
    let watch = Watch::new()
        .read(move |_, stream: &UnixStream| read.push((stream.as_raw_fd(), drain(stream))))
        .write(move |cx, mut stream: &UnixStream| {
            stream.write_all(b"to them").unwrap();
            written.push((stream.as_raw_fd(), Vec::new()));
            cx.modify_fd(stream.as_raw_fd(), Interest::READ).unwrap();
        });
    theirs.write_all(b"to us").unwrap();
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    assert_eq!((watcher.fd(), watcher.source().as_raw_fd()), (fd, fd));
    assert!(watcher.is_active());
    assert_eq!(log.len(), 0, "not before the loop is driven");
    tick(&event_loop);
    assert_eq!(log.take(), [(fd, b"to us".to_vec()), (fd, Vec::new())]);
    assert_eq!(drain(&theirs), b"to them");
    tick(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: WA-1
fn dropping_the_handle_lets_the_watch_go_on(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    drop(event_loop.cx().watch(ours, Watch::new().read(says(&log, "read"))).unwrap());
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(log.take(), ["read", "read"]);
    assert!(!is_closed(&theirs));
}

// spec: WA-1
fn into_inner_ends_the_watch_and_gives_the_source_back(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let fd = ours.as_raw_fd();
    let (log, tracker) = (Log::new(), Tracker::new());
    let (noted, token) = (log.clone(), tracker.token());
    let watch = Watch::new().read(move |_, _| {
        let _ = &token;
        noted.push("read");
    });
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"hello").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    let ours = watcher.into_inner().expect("no callback runs");
    assert_eq!((ours.as_raw_fd(), tracker.alive()), (fd, 0));
    assert!(!event_loop.cx().unwatch(fd));
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    assert_eq!(drain(&ours), b"hello", "nothing was read by the loop");

    // Whether it is still watched does not matter to the one who wants the source.
    let watcher = event_loop.cx().watch(ours, Watch::new()).unwrap();
    assert!(watcher.unwatch());
    let ours = watcher.into_inner().unwrap();
    let watcher = event_loop.cx().watch(ours, Watch::new()).unwrap();
    event_loop.cx().close();
    tick(&event_loop);
    drop(event_loop);
    let ours = watcher.into_inner().unwrap();
    (&ours).write_all(b"alive").unwrap();
    assert_eq!(drain(&theirs), b"alive");
}

// spec: WA-1
fn into_inner_is_refused_in_a_callback_of_that_very_watcher(variant: Variant) {
    for unwatch_first in [false, true] {
        let event_loop = build(variant);
        let (ours, mut theirs) = pair();
        let (log, slot) = (Log::new(), Later::<UnixStream>::default());
        let (noted, own) = (log.clone(), Rc::clone(&slot));
        let watch = Watch::new().read(move |_, stream: &UnixStream| {
            let watcher = own.take().unwrap();
            // Even then the source is lent to this call.
            assert!(!unwatch_first || watcher.unwatch());
            let watcher = watcher.into_inner().expect_err("the source is in use");
            assert_eq!(watcher.is_active(), !unwatch_first);
            assert_eq!(watcher.source().as_raw_fd(), stream.as_raw_fd());
            own.replace(Some(watcher));
            noted.push("read");
        });
        slot.replace(Some(event_loop.cx().watch(ours, watch).unwrap()));
        theirs.write_all(b"x").unwrap();
        tick(&event_loop);
        tick(&event_loop);
        let expected: &[_] = if unwatch_first { &["read"] } else { &["read", "read"] };
        assert_eq!(log.take(), expected, "the watch goes on unless it was ended");
        let ours = slot.take().unwrap().into_inner().expect("no callback runs any more");
        assert_eq!(drain(&ours), b"x");
    }
}

// spec: WA-1, M1-3.1
fn into_inner_works_in_a_callback_of_another_watcher(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let slots: [Later<UnixStream>; 2] = Default::default();
    let sources: Rc<RefCell<Vec<UnixStream>>> = Rc::default();
    let mut peers = Vec::new();
    for i in 0..2 {
        let (ours, mut theirs) = pair();
        theirs.write_all(b"x").unwrap();
        peers.push(theirs);
        let (noted, other, sources) = (log.clone(), Rc::clone(&slots[1 - i]), Rc::clone(&sources));
        let watch = Watch::new().read(move |_, _| {
            noted.push("read");
            if let Some(other) = other.take() {
                sources.borrow_mut().push(other.into_inner().expect("it is not running"));
            }
        });
        slots[i].replace(Some(event_loop.cx().watch(ours, watch).unwrap()));
    }
    // Whichever comes first takes the source of the other one, which is ready in the same batch.
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    assert_eq!(drain(&sources.borrow()[0]), b"x");
    slots.iter().for_each(|slot| drop(slot.take()));
}

// spec: M1-1.2, M1-1.5
fn unwatching_closes_an_owned_source_and_drops_the_callbacks_at_once(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let ways: [fn(&Cx, RawFd); 2] =
        [|cx, fd| assert!(cx.unwatch(fd)), |cx, fd| cx.unregister_fd(fd).unwrap()];
    for way in ways {
        let (ours, theirs) = pair();
        let fd = ours.as_raw_fd();
        let tracker = Tracker::new();
        let tokens = [tracker.token(), tracker.token(), tracker.token()];
        let [read, write, error] = tokens.map(|token| move |_: &Cx, _: &UnixStream| _ = &token);
        let watch = Watch::new().read(read).write(write).error(error);
        drop(cx.watch(ours, watch).unwrap());
        assert_eq!(tracker.alive(), 3);
        way(cx, fd);
        assert_eq!(tracker.alive(), 0);
        assert!(is_closed(&theirs), "no duplicate is kept");
    }
}

// spec: WA-1
fn a_kept_handle_keeps_the_source_but_no_callback(variant: Variant) {
    let event_loop = build(variant);
    let (ours, theirs) = pair();
    let tracker = Tracker::new();
    let token = tracker.token();
    let watch = Watch::new().read(move |_, _| _ = &token);
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    assert!(watcher.unwatch());
    assert_eq!(tracker.alive(), 0);
    assert!(!is_closed(&theirs));
    watcher.source().write_all(b"still here").unwrap();
    drop(watcher);
    assert_eq!(drain(&theirs), b"still here");
    assert!(is_closed(&theirs));
}

// spec: M1-1.2, WA-1
fn a_weakly_watched_source_belongs_to_the_user(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let ours = Rc::new(ours);
    let fd = ours.as_raw_fd();
    let log = Log::new();
    let noted = log.clone();
    let watch = Watch::new().read(move |_, stream: &UnixStream| {
        noted.push((stream.as_raw_fd(), drain(stream)));
    });
    let watcher = event_loop.cx().watch_weak(&ours, watch).unwrap();
    assert_eq!((watcher.fd(), Rc::strong_count(&ours)), (fd, 1));
    theirs.write_all(b"hello").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), [(fd, b"hello".to_vec())]);
    assert_eq!(Rc::strong_count(&ours), 1, "given back after the callback");
    // The last reference is the user's: the descriptor is closed although it is watched.
    drop(ours);
    assert!(is_closed(&theirs));
    assert!(watcher.source().upgrade().is_none());
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    watcher.unwatch();
    assert!(!event_loop.cx().unwatch(fd));
}

// spec: WA-1
fn a_raw_descriptor_is_never_closed_by_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let fd = ours.as_raw_fd();
    let log = Log::new();
    // SAFETY: `ours` lives to the end of the test.
    let watch = |watch| unsafe { event_loop.cx().watch_raw(fd, watch) }.unwrap();
    let watcher = watch(Watch::new().read(says(&log, "first")));
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert!(watcher.unwatch());
    drop(watcher);
    assert!(!is_closed(&theirs));
    drop(watch(Watch::new().read(says(&log, "second"))));
    tick(&event_loop);
    drop(event_loop);
    assert_eq!(log.take(), ["first", "second"]);
    assert_eq!(drain(&ours), b"x");
    assert!(!is_closed(&theirs));
}

// spec: SD-6, M1-1.2
fn the_end_of_the_loop_closes_owned_sources_and_no_others(variant: Variant) {
    let ends: [fn(EventLoop); 4] = [
        drop,
        |event_loop| event_loop.handle().close(),
        |event_loop| {
            event_loop.cx().submit(|cx| cx.close()).unwrap();
            event_loop.run().unwrap();
        },
        |event_loop| {
            event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
            event_loop.run().unwrap();
        },
    ];
    for end in ends {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let (owned, owned_peer) = pair();
        let (weak, weak_peer) = pair();
        let weak = Rc::new(weak);
        let token = tracker.token();
        drop(event_loop.cx().watch(owned, Watch::new().read(move |_, _| _ = &token)).unwrap());
        let token = tracker.token();
        let watch = Watch::new().read(move |_, _| _ = &token);
        let kept = event_loop.cx().watch_weak(&weak, watch).unwrap();
        end(event_loop);
        assert!(is_closed(&owned_peer));
        assert!(!is_closed(&weak_peer));
        assert_eq!(tracker.alive(), 0);
        assert!(!kept.is_active());
        assert!(!kept.unwatch());
    }
}

// spec: SD-6
fn a_callback_that_holds_its_own_handle_is_released_with_the_loop(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = build(variant);
    let mut peers = Vec::new();
    for _ in 0..3 {
        let (ours, theirs) = pair();
        peers.push(theirs);
        let (slot, token) = (Later::<UnixStream>::default(), tracker.token());
        let own = Rc::clone(&slot);
        let watch = Watch::new().read(move |_, _| {
            let _ = &token;
            assert!(own.borrow().as_ref().is_some_and(Watcher::is_active));
        });
        slot.replace(Some(event_loop.cx().watch(ours, watch).unwrap()));
    }
    peers[0].write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(tracker.alive(), 3);
    drop(event_loop);
    assert_eq!(tracker.alive(), 0);
}

// spec: M1-1.5, ER-2
fn unwatch_is_idempotent_and_never_fails(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    for never_watched in [0, 1, 77_777, -1, RawFd::MAX, RawFd::MIN] {
        assert!(!cx.unwatch(never_watched));
        assert!(matches!(cx.unregister_fd(never_watched), Err(Error::FdNotRegistered)));
        assert!(matches!(cx.modify_fd(never_watched, Interest::READ), Err(Error::FdNotRegistered)));
    }
    let (ours, _theirs) = pair();
    let ours = Rc::new(ours);
    let fd = ours.as_raw_fd();
    let log = Log::new();
    for _ in 0..3 {
        let watcher = cx.watch(Rc::clone(&ours), Watch::new().write(says(&log, "write"))).unwrap();
        assert_eq!((watcher.unwatch(), watcher.unwatch(), cx.unwatch(fd)), (true, false, false));
        assert!(!watcher.is_active());
        let watcher = cx.watch(Rc::clone(&ours), Watch::new().write(says(&log, "write"))).unwrap();
        assert_eq!((cx.unwatch(fd), cx.unwatch(fd), watcher.unwatch()), (true, false, false));
    }
    tick(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-1.5
fn an_old_handle_never_touches_the_replacement(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair();
    let ours = Rc::new(ours);
    theirs.write_all(b"x").unwrap();
    let log = Log::new();
    let watch = |entry| cx.watch(Rc::clone(&ours), Watch::new().read(says(&log, entry))).unwrap();
    let (first, second, new) = (watch("first"), watch("second"), watch("new"));
    for old in [&first, &second] {
        assert!(!old.is_active());
        assert!(!old.unwatch());
        assert!(matches!(old.modify(Interest::NONE), Err(Error::FdNotRegistered)));
        assert!(matches!(old.reference(false), Err(Error::FdNotRegistered)));
    }
    drop(first);
    assert!(second.into_inner().is_ok());
    assert!(new.is_active());
    tick(&event_loop);
    assert_eq!(log.take(), ["new"]);

    // The same after an unwatch in between, so that storage may have been reused.
    assert!(new.unwatch());
    let newest = watch("newest");
    assert!(!new.is_active() && !new.unwatch());
    drop(new);
    tick(&event_loop);
    assert_eq!(log.take(), ["newest"]);
    assert!(newest.unwatch());
}

// spec: M1-1.1, M1-1.6, R6
fn there_is_one_watcher_for_a_descriptor_and_the_last_one_wins(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair();
    let ours = Rc::new(ours);
    let fd = ours.as_raw_fd();
    theirs.write_all(b"x").unwrap();
    let log = Log::new();
    // Of every kind, and by every kind.
    for _ in 0..2 {
        drop(cx.watch(Rc::clone(&ours), Watch::new().read(says(&log, "owned"))).unwrap());
        tick(&event_loop);
        drop(cx.watch_weak(&ours, Watch::new().read(says(&log, "weak"))).unwrap());
        tick(&event_loop);
        // SAFETY: `ours` lives to the end of the test.
        drop(unsafe { cx.watch_raw(fd, Watch::new().read(says(&log, "raw"))) }.unwrap());
        tick(&event_loop);
        assert_eq!(log.take(), ["owned", "weak", "raw"]);
    }
    assert!(cx.unwatch(fd));
    assert!(!cx.unwatch(fd), "there was one");
    tick(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-1.1
fn two_descriptors_of_one_file_are_watched_by_themselves(variant: Variant) {
    let event_loop = build(variant);
    let (one, mut theirs) = pair();
    let other = one.try_clone().unwrap();
    theirs.write_all(b"x").unwrap();
    let log = Log::new();
    let one = event_loop.cx().watch(one, Watch::new().read(says(&log, "one"))).unwrap();
    let other = event_loop.cx().watch(other, Watch::new().read(says(&log, "other"))).unwrap();
    tick(&event_loop);
    assert_eq!(sorted(log.take()), ["one", "other"]);
    one.modify(Interest::NONE).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["other"]);
    drop(one.into_inner().unwrap());
    tick(&event_loop);
    assert_eq!(log.take(), ["other"]);
    assert!(other.unwatch());
}

// spec: M1-1.6
fn a_replacement_calls_nothing_by_itself(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair();
    let ours = Rc::new(ours);
    let log = Log::new();
    let watch = |entry| {
        let watch = Watch::new().read(says(&log, entry)).error(says(&log, "error"));
        cx.watch(Rc::clone(&ours), watch).unwrap()
    };
    let _old = watch("old");
    let _new = watch("new");
    tick(&event_loop);
    assert_eq!(log.len(), 0, "nothing is ready");
    theirs.write_all(b"x").unwrap();
    let _old = watch("old");
    let _new = watch("new");
    assert_eq!(log.len(), 0, "ready, but the loop was not driven");
    tick(&event_loop);
    assert_eq!(log.take(), ["new"]);
    // A write-only watcher takes the place of one that reads: its interest, too, is the new one.
    drain(&ours);
    let _writer = cx.watch(Rc::clone(&ours), Watch::new().write(says(&log, "write"))).unwrap();
    tick(&event_loop);
    let _reader = watch("reader");
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
}

// spec: M1-1.6, M1-1.2
fn a_replaced_watcher_is_released_at_once(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, _theirs) = pair();
    let ours = Rc::new(ours);
    let tracker = Tracker::new();
    for _ in 0..100 {
        let token = tracker.token();
        let watch = Watch::new().read(move |_, _| _ = &token);
        drop(cx.watch(Rc::clone(&ours), watch).unwrap());
        assert_eq!((tracker.alive(), Rc::strong_count(&ours)), (1, 2));
    }
}

// spec: R6, IO-1
fn strict_registrations_and_watchers_share_one_table(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair();
    let ours = Rc::new(ours);
    let fd = ours.as_raw_fd();
    theirs.write_all(b"x").unwrap();
    let log = Log::new();
    let strict = |entry| {
        let log = log.clone();
        let callback = move |_: &Cx, _: &Rc<UnixStream>, _: Readiness| log.push(entry);
        cx.register_fd(Rc::clone(&ours), Interest::READ, callback)
    };
    let watcher = cx.watch(Rc::clone(&ours), Watch::new().read(says(&log, "watch"))).unwrap();
    let refused = strict("strict").unwrap_err();
    assert!(matches!(refused.error(), Error::FdAlreadyRegistered));
    let (_, source, callback) = refused.into_parts();
    assert!(Rc::ptr_eq(&source, &ours));
    tick(&event_loop);
    assert_eq!(log.take(), ["watch"], "the refused one left no trace");
    // The callback that came back is usable.
    assert!(watcher.unwatch());
    let callback = move |cx: &Cx, source: &_, readiness| callback(cx, source, readiness);
    cx.register_fd(source, Interest::READ, callback).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["strict"]);
    // A watch replaces it; the strict calls work on a watch.
    let watcher = cx.watch(Rc::clone(&ours), Watch::new().read(says(&log, "watch"))).unwrap();
    cx.modify_fd(fd, Interest::NONE).unwrap();
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    cx.handle().modify_fd(fd, Interest::READ).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["watch"]);
    cx.unregister_fd(fd).unwrap();
    assert!(!watcher.is_active());
    // And `unwatch` removes what was registered strictly.
    strict("again").unwrap();
    assert!(cx.unwatch(fd));
    assert!(matches!(cx.unregister_fd(fd), Err(Error::FdNotRegistered)));
    tick(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: IO-1, M1-2.4
fn a_watcher_is_paused_and_resumed_by_its_interest(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"x").unwrap();
    let steps: [(Interest, &[&str]); 5] = [
        (Interest::NONE, &[]),
        (Interest::READ, &["read"]),
        (Interest::WRITE, &["write"]),
        (Interest::BOTH, &["read", "write"]),
        (Interest::NONE, &[]),
    ];
    for (interest, expected) in steps {
        watcher.modify(interest).unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), expected, "{interest:?}");
    }
    assert!(watcher.unwatch());
    assert!(matches!(watcher.modify(Interest::BOTH), Err(Error::FdNotRegistered)));
}

// spec: WA-1
fn a_watch_can_start_with_less_than_its_callbacks_ask_for(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    theirs.write_all(b"x").unwrap();
    let log = Log::new();
    let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
    let watcher = event_loop.cx().watch(ours, watch.interest(Interest::READ)).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    watcher.modify(Interest::BOTH).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read", "write"]);
}

// spec: WA-1
fn interests_are_sets_with_two_modes(_: Variant) {
    let of = |interest: Interest| {
        let (read, write) = (interest.is_read(), interest.is_write());
        (read, write, interest.is_edge_triggered(), interest.is_one_shot())
    };
    assert_eq!(of(Interest::NONE), (false, false, false, false));
    assert_eq!(of(Interest::READ), (true, false, false, false));
    assert_eq!(of(Interest::WRITE), (false, true, false, false));
    assert_eq!(of(Interest::BOTH.edge_triggered()), (true, true, true, false));
    assert_eq!(of(Interest::NONE.one_shot()), (false, false, false, true));
    assert_eq!(of(Interest::READ.one_shot().edge_triggered()), (true, false, true, true));
    assert_eq!(Interest::READ | Interest::WRITE, Interest::BOTH);
    assert_eq!(Interest::READ | Interest::NONE, Interest::READ);
    assert_ne!(Interest::READ, Interest::READ.edge_triggered());
}
