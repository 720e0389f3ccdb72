//! Events of descriptors that were closed without a word, and whose numbers were reused.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::rc::Rc;

use common::timers::tick;
use common::{Log, Tracker, Variant};
use mainspring::{Cx, Error, Interest, Readiness, Watch, Watcher};
use watching::*;

suite! {
    a_closed_descriptor_calls_nothing,
    a_source_dropped_by_an_earlier_callback_of_the_batch_calls_nothing,
    a_number_reused_by_a_stranger_calls_nothing,
    a_number_closed_and_reused_can_be_registered_again,
    a_number_reused_within_a_batch_gets_none_of_the_old_events,
    a_source_whose_number_changed_is_purged_without_a_call,
    a_source_whose_number_changed_is_purged_before_its_error_callback,
    what_the_kernel_has_forgotten_is_removed_without_complaint,
    a_registration_that_only_the_kernel_remembers_is_taken_over,
    a_closed_descriptor_cannot_be_modified_but_removed,
    removing_a_stale_watcher_leaves_the_new_owner_of_the_number_alone,
    huge_descriptor_numbers_work,
    descriptor_zero_works,
}

/// Numbers that nobody gets by chance.
const A: RawFd = 700;
const B: RawFd = 701;

// spec: M1-1.4, M1-1.3
fn a_closed_descriptor_calls_nothing(variant: Variant) {
    let _alone = alone();
    for is_weak in [false, true] {
        let event_loop = build(variant);
        let (ours, mut theirs) = pair_at(A);
        let log = Log::new();
        let ours = Rc::new(ours);
        if is_weak {
            let watch = Watch::new().read(says(&log, "read")).error(says(&log, "error"));
            drop(event_loop.cx().watch_weak(&ours, watch).unwrap());
        } else {
            let watch = Watch::new().read(says(&log, "read")).error(says(&log, "error"));
            drop(watch_raw(event_loop.cx(), A, watch));
        }
        theirs.write_all(b"x").unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), ["read"]);
        drop(ours);
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: M1-1.3, M1-1.4, M1-2.1
fn a_source_dropped_by_an_earlier_callback_of_the_batch_calls_nothing(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let log = Log::new();
    let sources: [Rc<Cell<Option<Rc<UnixStream>>>>; 2] = Default::default();
    let mut peers = Vec::new();
    for (i, number) in [A, B].into_iter().enumerate() {
        let (ours, mut theirs) = pair_at(number);
        theirs.write_all(b"x").unwrap();
        let ours = Rc::new(ours);
        let (noted, other) = (log.clone(), Rc::clone(&sources[1 - i]));
        let watch = Watch::new().read(move |_, _| {
            noted.push("read");
            drop(other.take());
        });
        let watch = watch.write(says(&log, "write")).interest(Interest::READ);
        peers.push((theirs, event_loop.cx().watch_weak(&ours, watch).unwrap()));
        sources[i].set(Some(ours));
    }
    // Whichever comes first closes the other one, which is ready in the same batch.
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["read"], "of the one that is left");
    sources.iter().for_each(|source| drop(source.take()));
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-1.3, F-11
fn a_number_reused_by_a_stranger_calls_nothing(variant: Variant) {
    let _alone = alone();
    for is_weak in [false, true] {
        let event_loop = build(variant);
        let log = Log::new();
        let (ours, _peer) = pair_at(A);
        let ours = Rc::new(ours);
        let watcher: Box<dyn Fn() -> bool> = if is_weak {
            let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
            let watcher = event_loop.cx().watch_weak(&ours, watch).unwrap();
            Box::new(move || watcher.unwatch())
        } else {
            let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
            let watcher = watch_raw(event_loop.cx(), A, watch);
            Box::new(move || watcher.unwatch())
        };
        drop(ours);
        let (stranger, mut peer) = pair_at(A);
        peer.write_all(b"x").unwrap();
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0, "the stranger is not watched");
        watcher();
        (&stranger).write_all(b"alive").unwrap();
    }
}

// spec: F-11, M1-1.3, IO-1
fn a_number_closed_and_reused_can_be_registered_again(variant: Variant) {
    let _alone = alone();
    for is_strict in [false, true] {
        let event_loop = build(variant);
        let cx = event_loop.cx();
        let (log, tracker) = (Log::new(), Tracker::new());
        let (ours, _peer) = pair_at(A);
        let (noted, token) = (log.clone(), tracker.token());
        let old = watch_raw(
            cx,
            A,
            Watch::new().read(move |_, _| {
                let _ = &token;
                noted.push("old");
            }),
        );
        drop(ours);
        let (ours, mut theirs) = pair_at(A);
        let noted = log.clone();
        if is_strict {
            let callback = move |_: &Cx, _: &UnixStream, _: Readiness| noted.push("new");
            cx.register_fd(ours, Interest::READ, callback).expect("the kernel has forgotten it");
        } else {
            drop(cx.watch(ours, Watch::new().read(says(&log, "new"))).unwrap());
        }
        assert!(!old.is_active());
        assert_eq!(tracker.alive(), 0, "replaced");
        assert!(!old.unwatch());
        theirs.write_all(b"x").unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), ["new"]);
        assert!(cx.unwatch(A));
        assert!(!cx.unwatch(A));
    }
}

// spec: M1-1.3, F-11
fn a_number_reused_within_a_batch_gets_none_of_the_old_events(variant: Variant) {
    let _alone = alone();
    for (unwatch_first, is_ready) in [(true, true), (true, false), (false, true), (false, false)] {
        let event_loop = build(variant);
        let log = Log::new();
        let sources: [Rc<Cell<Option<UnixStream>>>; 2] = Default::default();
        let kept: Log<UnixStream> = Log::new();
        let numbers = [A, B];
        for (i, number) in numbers.into_iter().enumerate() {
            let (ours, mut theirs) = pair_at(number);
            theirs.write_all(b"x").unwrap();
            kept.push(theirs);
            let (log, other, peers) = (log.clone(), Rc::clone(&sources[1 - i]), kept.clone());
            let reused = numbers[1 - i];
            let callback = move |cx: &Cx, _: &Raw| {
                log.push("old");
                let Some(closed) = other.take() else { return };
                assert!(!unwatch_first || cx.unwatch(reused));
                drop(closed);
                let (ours, mut theirs) = pair_at(reused);
                if is_ready {
                    theirs.write_all(b"x").unwrap();
                }
                peers.push(theirs);
                drop(cx.watch(ours, Watch::new().read(says(&log, "new"))).unwrap());
            };
            sources[i].set(Some(ours));
            let watch = Watch::new().read(callback).edge_triggered();
            drop(watch_raw(event_loop.cx(), number, watch));
        }
        // Both are in the batch. Whichever comes first replaces the other.
        tick(&event_loop);
        assert_eq!(log.take(), ["old"], "of the one whose number was not reused");
        tick(&event_loop);
        let expected: &[&str] = if is_ready { &["new"] } else { &[] };
        assert_eq!(log.take(), expected);
    }
}

/// A source that can be made to stand for another descriptor.
struct Movable(Cell<RawFd>);

impl AsFd for Movable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the tests keep both descriptors open.
        unsafe { BorrowedFd::borrow_raw(self.0.get()) }
    }
}

// spec: M1-1.3
fn a_source_whose_number_changed_is_purged_without_a_call(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (_first, mut first_peer) = pair_at(A);
    let (_second, mut second_peer) = pair_at(B);
    let (source, log) = (Rc::new(Movable(Cell::new(A))), Log::new());
    let watch = || Watch::new().read(says(&log, "read")).write(says(&log, "write"));
    let watcher = cx.watch_weak(&source, watch().interest(Interest::READ)).unwrap();
    first_peer.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    source.0.set(B);
    assert_eq!(watcher.fd(), A, "as it was when the watch began");
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    assert!(!watcher.is_active());
    second_peer.write_all(b"x").unwrap();
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0, "the other number is not watched by that");
    // Back again is not watched again, until somebody asks for it.
    source.0.set(A);
    assert_at_rest(&event_loop);
    assert!(!cx.unwatch(A) && !cx.unwatch(B));
    drop(cx.watch_weak(&source, watch().interest(Interest::READ)).unwrap());
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
}

// spec: M1-2.1, M1-1.3
fn a_source_whose_number_changed_is_purged_before_its_error_callback(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let (reader, writer) = std::io::pipe().unwrap();
    let _writer = numbered(writer, A);
    let (_second, _second_peer) = pair_at(B);
    let (source, log) = (Rc::new(Movable(Cell::new(A))), Log::new());
    let watch = Watch::new().error(says(&log, "error"));
    let watcher = event_loop.cx().watch_weak(&source, watch).unwrap();
    drop(reader);
    source.0.set(B);
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    assert!(!watcher.is_active());
    assert_at_rest(&event_loop);
}

// spec: M1-3.3, M1-1.4
fn what_the_kernel_has_forgotten_is_removed_without_complaint(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let tracker = Tracker::new();
    let ways: [fn(&Cx, Watcher<Raw>); 4] = [
        |cx, _| assert!(cx.unwatch(A)),
        |_, watcher| assert!(watcher.unwatch()),
        |cx, _| cx.unregister_fd(A).unwrap(),
        |_, watcher| assert!(watcher.into_inner().is_ok()),
    ];
    for reuse_by_file in [false, true] {
        for way in ways {
            let (ours, _theirs) = pair_at(A);
            let token = tracker.token();
            let watcher = watch_raw(cx, A, Watch::new().read(move |_, _| _ = &token));
            drop(ours);
            // The kernel says EBADF in one case, ENOENT in the other.
            let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
            let file = reuse_by_file.then(|| numbered(file, A));
            assert!(watcher.is_active(), "the table decides");
            way(cx, watcher);
            assert_eq!(tracker.alive(), 0);
            assert!(!cx.unwatch(A));
            drop(file);
        }
    }
    assert_at_rest(&event_loop);
}

// spec: M1-3.3, IO-1
fn a_registration_that_only_the_kernel_remembers_is_taken_over(variant: Variant) {
    let _alone = alone();
    for is_strict in [false, true] {
        let event_loop = build(variant);
        let cx = event_loop.cx();
        let (ours, mut theirs) = pair_at(A);
        let duplicate = ours.try_clone().unwrap();
        let log = Log::new();
        let watch = Watch::new().read(says(&log, "old")).write(says(&log, "old"));
        drop(watch_raw(cx, A, watch));
        drop(ours);
        assert!(cx.unwatch(A), "the kernel refuses, as there is no such number");
        // The same file comes back under the same number: for the kernel it never left.
        let ours = numbered(duplicate, A);
        theirs.write_all(b"x").unwrap();
        if is_strict {
            let noted = log.clone();
            let callback = move |_: &Cx, _: &UnixStream, _: Readiness| noted.push("new");
            cx.register_fd(ours, Interest::READ, callback).expect("the table is the authority");
        } else {
            drop(cx.watch(ours, Watch::new().read(says(&log, "new"))).unwrap());
        }
        tick(&event_loop);
        tick(&event_loop);
        assert_eq!(log.take(), ["new", "new"]);
        assert!(cx.unwatch(A));
        assert_at_rest(&event_loop);
    }
}

// spec: ER-2, M1-3.3
fn a_closed_descriptor_cannot_be_modified_but_removed(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let (ours, _theirs) = pair_at(A);
    let watcher = watch_raw(event_loop.cx(), A, Watch::new().read(|_, _| ()));
    drop(ours);
    let modified = watcher.modify(Interest::WRITE);
    assert!(matches!(modified, Err(Error::Io(_) | Error::FdNotRegistered)), "{modified:?}");
    watcher.unwatch();
    assert!(!event_loop.cx().unwatch(A));
    assert_at_rest(&event_loop);
}

// spec: M1-1.5, M1-3.3
fn removing_a_stale_watcher_leaves_the_new_owner_of_the_number_alone(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let log = Log::new();
    let (ours, _theirs) = pair_at(A);
    let old = watch_raw(cx, A, Watch::new().read(says(&log, "old")));
    drop(ours);
    let (ours, mut theirs) = pair_at(A);
    let new = cx.watch(ours, Watch::new().read(says(&log, "new"))).unwrap();
    assert!(!old.unwatch());
    assert!(old.modify(Interest::NONE).is_err());
    assert!(old.into_inner().is_ok());
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(log.take(), ["new", "new"], "in the kernel, too");
    assert!(new.unwatch());
}

// spec: M1-1.1
fn huge_descriptor_numbers_work(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let log = Log::new();
    // SAFETY: no pointers.
    let highest = unsafe { libc::getdtablesize() } - 1;
    let mut peers = Vec::new();
    for number in [highest, highest / 2 + 1, A] {
        let (ours, mut theirs) = pair_at(number);
        theirs.write_all(b"x").unwrap();
        peers.push(theirs);
        let noted = log.clone();
        let watch = Watch::new().read(move |cx, stream: &UnixStream| {
            noted.push(stream.as_raw_fd());
            assert!(cx.unwatch(stream.as_raw_fd()));
        });
        drop(event_loop.cx().watch(ours, watch).unwrap());
    }
    tick(&event_loop);
    let mut called = log.take();
    called.sort_unstable();
    assert_eq!(called, [A, highest / 2 + 1, highest]);
}

// spec: M1-1.1
fn descriptor_zero_works(variant: Variant) {
    const MARK: &str = "MAINSPRING_TEST_OF_DESCRIPTOR_ZERO";
    let _alone = alone();
    if std::env::var_os(MARK).is_none() {
        // The descriptor is not this process's to give away: the test is run again in a child.
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{}::descriptor_zero_works", variant.name)])
            .env(MARK, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"x").unwrap();
        assert!(child.wait().unwrap().success());
        return;
    }
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let watch = Watch::new().read(move |cx: &Cx, _: &Raw| {
        noted.push("read");
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"x");
        assert!(cx.unwatch(0));
        assert!(!cx.unwatch(0));
    });
    drop(watch_raw(event_loop.cx(), 0, watch));
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["read"]);
}
