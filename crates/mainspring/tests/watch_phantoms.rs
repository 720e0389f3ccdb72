//! Registrations that duplicates and children keep alive in the kernel after the descriptor was closed.
//! None of their events reaches a callback, and none makes the loop spin.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::rc::Rc;

use common::timers::tick;
use common::{Log, Variant};
use mainspring::{Cx, EventLoop, Interest, Watch, Watcher};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use watching::*;

suite! {
    a_duplicate_of_a_dropped_source_calls_nothing_and_does_not_spin,
    a_duplicate_of_a_closed_and_unwatched_descriptor_does_not_spin,
    a_duplicate_is_told_from_the_new_owner_of_the_number,
    a_duplicate_of_an_owned_source_is_forgotten_with_it,
    many_phantoms_are_silenced_together,
    more_phantoms_than_one_poll_reports_are_silenced,
    phantoms_that_come_one_after_another_are_silenced_each_time,
    an_error_of_a_phantom_does_not_reach_the_error_callback,
    the_other_watchers_survive_a_phantom_as_they_were,
    no_edge_is_lost_while_a_phantom_is_dealt_with,
    a_stranger_is_not_watched_because_of_a_phantom,
    the_events_of_a_batch_survive_the_phantom_among_them,
    a_child_that_inherited_a_descriptor_does_not_make_the_loop_spin,
    a_child_is_told_from_the_new_owner_of_the_number,
}

/// A loop with a watcher that is never ready: with none it would park, and hear of no phantom.
fn inhabited(variant: Variant) -> (EventLoop, UnixStream) {
    let event_loop = build(variant);
    let (ours, theirs) = pair();
    drop(event_loop.cx().watch(ours, Watch::new().read(|_, _| unreachable!())).unwrap());
    (event_loop, theirs)
}

/// Numbers that nobody gets by chance.
const A: RawFd = 700;
const B: RawFd = 701;

// spec: M1-1.3, M1-1.4
fn a_duplicate_of_a_dropped_source_calls_nothing_and_does_not_spin(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let (ours, mut theirs) = pair_at(A);
    let duplicate = ours.try_clone().unwrap();
    let (ours, log) = (Rc::new(ours), Log::new());
    let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
    let watcher = event_loop.cx().watch_weak(&ours, watch).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
    drop(ours);
    theirs.write_all(b"x").unwrap();
    // The kernel reports it as ready, for ever.
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    assert!(!watcher.is_active(), "purged");
    assert!(!event_loop.cx().unwatch(A));
    drain(&duplicate);
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-1.3, M1-3.3
fn a_duplicate_of_a_closed_and_unwatched_descriptor_does_not_spin(variant: Variant) {
    let _alone = alone();
    let ways: [fn(&Cx); 3] = [
        |cx| assert!(cx.unwatch(A)),
        |cx| cx.unregister_fd(A).unwrap(),
        |cx| cx.handle().unregister_fd(A).unwrap(),
    ];
    for way in ways {
        let (event_loop, _bystander) = inhabited(variant);
        let (ours, mut theirs) = pair_at(A);
        let _duplicate = ours.try_clone().unwrap();
        theirs.write_all(b"x").unwrap();
        let log = Log::new();
        drop(watch_raw(event_loop.cx(), A, Watch::new().read(says(&log, "read"))));
        drop(ours);
        // The kernel knows neither this number any more, nor the duplicate's.
        way(event_loop.cx());
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: M1-1.3, F-11
fn a_duplicate_is_told_from_the_new_owner_of_the_number(variant: Variant) {
    let _alone = alone();
    // With the unwatch the new one also gets the place of the old one in the table.
    for unwatch_first in [false, true] {
        let (event_loop, _bystander) = inhabited(variant);
        let (ours, mut theirs) = pair_at(A);
        let _duplicate = ours.try_clone().unwrap();
        let log = Log::new();
        let watch = Watch::new().read(says(&log, "old")).write(says(&log, "old"));
        drop(watch_raw(event_loop.cx(), A, watch));
        drop(ours);
        assert!(!unwatch_first || event_loop.cx().unwatch(A));
        let (ours, mut new_peer) = pair_at(A);
        let watcher = event_loop.cx().watch(ours, Watch::new().read(says(&log, "new"))).unwrap();
        theirs.write_all(b"x").unwrap();
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0, "the phantom is ready, the new owner is not");
        for _ in 0..2 {
            new_peer.write_all(b"x").unwrap();
            tick(&event_loop);
            assert_eq!(log.take(), ["new"]);
            drain(watcher.source());
            assert_at_rest(&event_loop);
            assert_eq!(log.len(), 0);
            watcher.modify(Interest::WRITE).unwrap();
            watcher.modify(Interest::READ).unwrap();
        }
    }
}

// spec: M1-1.3, WA-1
fn a_duplicate_of_an_owned_source_is_forgotten_with_it(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let cx = event_loop.cx();
    let log = Log::new();
    let ways: [fn(&Cx, Watcher<UnixStream>); 3] = [
        |cx, _watcher| assert!(cx.unwatch(A)),
        |_, watcher| drop(watcher.into_inner().unwrap()),
        |cx, watcher| {
            // SAFETY: the number belongs to the test.
            let raw = unsafe { cx.watch_raw(A, Watch::new()) }.unwrap();
            drop(watcher);
            raw.unwatch();
        },
    ];
    for way in ways {
        let (ours, mut theirs) = pair_at(A);
        let _duplicate = ours.try_clone().unwrap();
        theirs.write_all(b"x").unwrap();
        let watcher = cx.watch(ours, Watch::new().read(says(&log, "read"))).unwrap();
        way(cx, watcher);
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: M1-1.3
fn many_phantoms_are_silenced_together(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let log = Log::new();
    let mut kept = Vec::new();
    for i in 0..100 {
        let (ours, theirs) = pair_at(A + i);
        let duplicate = ours.try_clone().unwrap();
        let ours = Rc::new(ours);
        let watch = Watch::new().write(says(&log, "write"));
        drop(event_loop.cx().watch_weak(&ours, watch).unwrap());
        kept.push((duplicate, theirs));
    }
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-1.3, IO-3
fn more_phantoms_than_one_poll_reports_are_silenced(variant: Variant) {
    let _alone = alone();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let (event_loop, _bystander) = inhabited(variant);
    let log = Log::new();
    let mut kept = Vec::new();
    // As many as no two polls in succession report the same ones first.
    for _ in 0..1_500 {
        let source = signalled();
        let fd = source.as_raw_fd();
        kept.push(source.try_clone().unwrap());
        drop(watch_raw(event_loop.cx(), fd, Watch::new().read(says(&log, "phantom"))));
        drop(source);
        assert!(event_loop.cx().unwatch(fd));
    }
    // The number of ticks that this takes does not matter, as long as it comes to an end.
    for _ in 0..100 {
        tick(&event_loop);
    }
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-1.3
fn phantoms_that_come_one_after_another_are_silenced_each_time(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let log = Log::new();
    let mut kept = Vec::new();
    for _ in 0..5 {
        let (ours, theirs) = pair_at(A);
        kept.push((ours.try_clone().unwrap(), theirs));
        let watch = Watch::new().write(says(&log, "write"));
        let watcher = event_loop.cx().watch(Rc::new(ours), watch).unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), ["write"]);
        drop(watcher);
        // Closed behind the loop's back, in the middle of everything.
        let (ours, theirs) = pair_at(B);
        kept.push((ours.try_clone().unwrap(), theirs));
        let watch = Watch::new().write(says(&log, "phantom"));
        drop(watch_raw(event_loop.cx(), B, watch));
        drop(ours);
        assert!(event_loop.cx().unwatch(B));
        assert!(event_loop.cx().unwatch(A));
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: M1-2.1, M1-1.3
fn an_error_of_a_phantom_does_not_reach_the_error_callback(variant: Variant) {
    let _alone = alone();
    for (unwatch_first, reuse) in [(false, false), (false, true), (true, true)] {
        let (event_loop, _bystander) = inhabited(variant);
        let (reader, writer) = std::io::pipe().unwrap();
        let writer = numbered(writer, A);
        let _duplicate = writer.try_clone().unwrap();
        let (writer, log) = (Rc::new(writer), Log::new());
        let watch = Watch::new().error(says(&log, "old error"));
        let old = event_loop.cx().watch_weak(&writer, watch).unwrap();
        drop(writer);
        assert!(!unwatch_first || old.unwatch());
        let mut new = None;
        if reuse {
            let (ours, theirs) = pair_at(A);
            let watch = Watch::new().error(says(&log, "new error")).read(says(&log, "read"));
            new = Some((event_loop.cx().watch(ours, watch).unwrap(), theirs));
        }
        drop(reader);
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
        assert!(new.is_none_or(|(watcher, _theirs)| watcher.is_active()));
    }
}

/// Makes the loop see a phantom until it has dealt with it.
fn haunt(event_loop: &EventLoop) {
    let (ours, mut theirs) = pair_at(A);
    let _duplicate = ours.try_clone().unwrap();
    theirs.write_all(b"x").unwrap();
    let watch = Watch::new().read(|_, _| unreachable!("a phantom"));
    drop(watch_raw(event_loop.cx(), A, watch));
    drop(ours);
    assert!(event_loop.cx().unwatch(A));
    for _ in 0..10 {
        tick(event_loop);
    }
}

// spec: M1-1.3, M1-2.4, M1-2.5, M1-2.6
fn the_other_watchers_survive_a_phantom_as_they_were(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let cx = event_loop.cx();
    let log = Log::new();
    let mut peers = Vec::new();
    let mut watched = |number, watch: Watch<UnixStream>| {
        let (ours, theirs) = pair_at(number);
        peers.push(theirs);
        cx.watch(ours, watch).unwrap()
    };
    let read = |entry| Watch::new().read(says(&log, entry));
    let level = watched(710, read("level"));
    let edge = watched(711, read("edge").edge_triggered());
    let armed = watched(712, read("armed").one_shot());
    let fired = watched(713, read("fired").one_shot());
    let none = watched(714, read("none"));
    none.modify(Interest::NONE).unwrap();
    let both = watched(715, read("both").edge_triggered().one_shot());
    let hung_up = numbered(std::io::pipe().unwrap().0, 716);
    drop(cx.watch(hung_up, Watch::new().write(says(&log, "masked"))).unwrap());
    peers[3].write_all(b"x").unwrap();
    peers[4].write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["fired"]);

    haunt(&event_loop);
    assert_eq!(log.len(), 0, "nobody is called because of it");
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    for mut peer in &peers {
        peer.write_all(b"x").unwrap();
    }
    tick(&event_loop);
    let mut called = log.take();
    called.sort_unstable();
    assert_eq!(called, ["armed", "both", "edge", "level"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["level"], "the others have fired");
    none.modify(Interest::READ).unwrap();
    fired.modify(Interest::READ.one_shot()).unwrap();
    tick(&event_loop);
    let mut called = log.take();
    called.sort_unstable();
    assert_eq!(called, ["fired", "level", "none"]);
    for watcher in [level, edge, armed, fired, none, both] {
        assert!(watcher.unwatch());
    }
    assert_at_rest(&event_loop);
}

// spec: M1-1.3, M1-2.5
fn no_edge_is_lost_while_a_phantom_is_dealt_with(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let (ours, mut theirs) = pair_at(B);
    let log = Log::new();
    let noted = log.clone();
    let watch = Watch::new().read(move |_, stream: &UnixStream| {
        noted.push(drain(stream).len());
    });
    drop(event_loop.cx().watch(ours, watch.edge_triggered()).unwrap());
    let (ours, mut phantom) = pair_at(A);
    let _duplicate = ours.try_clone().unwrap();
    let watch = Watch::new().read(|_, _| unreachable!("a phantom"));
    drop(watch_raw(event_loop.cx(), A, watch));
    phantom.write_all(b"x").unwrap();
    drop(ours);
    assert!(event_loop.cx().unwatch(A));
    for count in 1..10 {
        theirs.write_all(&[0; 10][..count]).unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), [count]);
    }
}

// spec: M1-1.3, M1-1.4, F-11
fn a_stranger_is_not_watched_because_of_a_phantom(variant: Variant) {
    let _alone = alone();
    for is_weak in [true, false] {
        let (event_loop, _bystander) = inhabited(variant);
        let log = Log::new();
        let (ours, _theirs) = pair_at(B);
        let ours = Rc::new(ours);
        if is_weak {
            let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
            drop(event_loop.cx().watch_weak(&ours, watch).unwrap());
        } else {
            let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
            drop(watch_raw(event_loop.cx(), B, watch));
        }
        // Closed without a word, and its number is somebody else's now.
        drop(ours);
        let (_stranger, mut peer) = pair_at(B);
        peer.write_all(b"x").unwrap();
        haunt(&event_loop);
        assert_eq!(log.take(), [""; 0], "weak: {is_weak}");
        assert_at_rest(&event_loop);
    }
}

// spec: M1-1.3, M1-2.5, M1-2.6
fn the_events_of_a_batch_survive_the_phantom_among_them(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let cx = event_loop.cx();
    let log = Log::new();
    let mut kept = Vec::new();
    // Ready one after another, with phantoms before, between and behind.
    for i in 0..5 {
        let (ours, mut phantom) = pair_at(A + 2 * i);
        let duplicate = ours.try_clone().unwrap();
        drop(watch_raw(cx, A + 2 * i, Watch::new().read(says(&log, "phantom"))));
        phantom.write_all(b"x").unwrap();
        drop(ours);
        assert!(cx.unwatch(A + 2 * i));
        let (ours, mut theirs) = pair_at(A + 2 * i + 1);
        let noted = log.clone();
        // It reads everything: silencing phantoms may tell an edge again.
        let watch = Watch::new().read(move |_, stream: &UnixStream| {
            drain(stream);
            noted.push("read");
        });
        let watch = if i % 2 == 0 { watch.edge_triggered() } else { watch.one_shot() };
        drop(cx.watch(ours, watch).unwrap());
        theirs.write_all(b"x").unwrap();
        kept.push((duplicate, phantom, theirs));
    }
    for _ in 0..5 {
        tick(&event_loop);
    }
    assert_eq!(log.take(), ["read"; 5], "each of them once");
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
}

/// A child process, which has a copy of a descriptor until it is dropped.
struct Heir(Child);

impl Heir {
    fn of(fd: RawFd) -> Self {
        let mut command = Command::new("sleep");
        command.arg("1000");
        // SAFETY: the closure makes one system call, and the number is the test's.
        unsafe {
            command.pre_exec(move || {
                assert_eq!(libc::fcntl(fd, libc::F_SETFD, 0), 0);
                Ok(())
            });
        }
        Self(command.spawn().unwrap())
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

// spec: M1-1.3, M1-1.4
fn a_child_that_inherited_a_descriptor_does_not_make_the_loop_spin(variant: Variant) {
    let _alone = alone();
    for is_weak in [true, false] {
        let (event_loop, _bystander) = inhabited(variant);
        let log = Log::new();
        let (ours, mut theirs) = pair_at(A);
        let heir = Heir::of(A);
        let ours = Rc::new(ours);
        if is_weak {
            let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
            drop(event_loop.cx().watch_weak(&ours, watch).unwrap());
            drop(ours);
        } else {
            let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
            drop(watch_raw(event_loop.cx(), A, watch));
            drop(ours);
            event_loop.cx().unwatch(A);
        }
        theirs.write_all(b"x").unwrap();
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
        assert!(!event_loop.cx().unwatch(A));
        // Its end is an event, too.
        drop(heir);
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: M1-1.3, F-11
fn a_child_is_told_from_the_new_owner_of_the_number(variant: Variant) {
    let _alone = alone();
    let (event_loop, _bystander) = inhabited(variant);
    let log = Log::new();
    let (ours, mut theirs) = pair_at(A);
    let _heir = Heir::of(A);
    let ours = Rc::new(ours);
    let watch = Watch::new().read(says(&log, "old")).error(says(&log, "old"));
    let old = event_loop.cx().watch_weak(&ours, watch).unwrap();
    drop(ours);
    assert!(old.unwatch(), "its place in the table is free for the new one");
    let (ours, mut new_peer) = pair_at(A);
    let ours = Rc::new(ours);
    let watch = Watch::new().read(says(&log, "new")).error(says(&log, "new"));
    drop(event_loop.cx().watch_weak(&ours, watch).unwrap());
    theirs.write_all(b"x").unwrap();
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    new_peer.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["new"]);
}
