//! What callbacks may do to watchers while a batch of events is dispatched.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use common::timers::{elsewhere, tick};
use common::{Log, OnDrop, Tracker, Variant};
use mainspring::{Cx, Error, EventLoop, Interest, Watch, Watcher};
use watching::*;

suite! {
    a_read_callback_that_unwatches_itself_stops_the_write_step,
    a_callback_that_unwatches_itself_is_released_when_it_returns,
    an_unwatched_watcher_of_the_batch_is_not_called,
    a_thread_that_unregisters_during_a_callback_stops_the_rest,
    a_callback_may_modify_its_own_interest_between_its_steps,
    an_event_of_the_batch_is_filtered_by_a_newer_interest,
    a_callback_that_replaces_itself_stops_the_write_step,
    a_replaced_watcher_of_the_batch_gets_none_of_the_old_event,
    the_edge_of_a_replaced_watcher_is_told_to_the_new_one,
    a_watcher_that_is_unwatched_and_watched_again_fires_in_the_next_turn,
    a_refused_replacement_leaves_the_old_watcher_working,
    a_refused_change_leaves_the_old_interest_working,
    a_watcher_added_by_a_callback_fires_in_the_next_turn,
    a_watcher_added_by_a_microtask_of_a_callback_fires_in_the_next_turn,
    callbacks_cannot_drive_the_loop,
    a_callback_that_closes_the_loop_is_the_last_one,
    a_destructor_of_an_unwatched_watcher_may_use_the_loop,
    a_destructor_may_use_the_loop_that_ends,
    the_callbacks_come_after_the_poll_and_before_the_check_phase,
    a_busy_descriptor_does_not_keep_others_from_running,
    more_ready_descriptors_than_one_poll_reports_are_all_served,
}

/// Watches two that are ready, the first one to be called does `act` to the other one's descriptor.
/// Gives the peers.
fn first_to_other(
    event_loop: &EventLoop,
    log: &Log<&'static str>,
    mode: fn(Watch<Rc<UnixStream>>) -> Watch<Rc<UnixStream>>,
    act: impl Fn(&Cx, &Rc<UnixStream>) + Clone + 'static,
) -> [UnixStream; 2] {
    let (one, two) = (ready(), ready());
    let sources = [Rc::new(one.0), Rc::new(two.0)];
    let done = Rc::new(Cell::new(false));
    for i in 0..2 {
        let (log, act, done) = (log.clone(), act.clone(), Rc::clone(&done));
        let other = Rc::downgrade(&sources[1 - i]);
        let callback = move |cx: &Cx, _: &Rc<UnixStream>| {
            log.push("old");
            if !done.replace(true) {
                act(cx, &other.upgrade().expect("the loop has it"));
            }
        };
        let watch = mode(Watch::new().read(callback));
        drop(event_loop.cx().watch(Rc::clone(&sources[i]), watch).unwrap());
    }
    [one.1, two.1]
}

// spec: M1-3.1
fn a_read_callback_that_unwatches_itself_stops_the_write_step(variant: Variant) {
    let ways: [fn(&Cx, RawFd); 3] = [
        |cx, fd| assert!(cx.unwatch(fd) && !cx.unwatch(fd)),
        |cx, fd| cx.unregister_fd(fd).unwrap(),
        |cx, fd| cx.handle().unregister_fd(fd).unwrap(),
    ];
    for way in ways {
        let event_loop = build(variant);
        let (ours, _theirs) = ready();
        let log = Log::new();
        let noted = log.clone();
        let watch = Watch::new()
            .read(move |cx, stream: &UnixStream| {
                noted.push("read");
                way(cx, stream.as_raw_fd());
            })
            .write(says(&log, "write"));
        drop(event_loop.cx().watch(ours, watch).unwrap());
        tick(&event_loop);
        tick(&event_loop);
        assert_eq!(log.take(), ["read"]);
    }
}

// spec: M1-3.1, M1-1.2
fn a_callback_that_unwatches_itself_is_released_when_it_returns(variant: Variant) {
    let event_loop = build(variant);
    let (ours, theirs) = ready();
    let tracker = Tracker::new();
    let (alive, token, other) = (tracker.clone(), tracker.token(), tracker.token());
    let watch = Watch::new()
        .read(move |cx, stream: &UnixStream| {
            let before = &token;
            assert!(cx.unwatch(stream.as_raw_fd()));
            // It is being run, and the source is lent to it.
            assert!(alive.alive() >= 1);
            let _ = before;
            drain(stream);
        })
        .write(move |_, _| _ = &other);
    drop(event_loop.cx().watch(ours, watch).unwrap());
    tick(&event_loop);
    assert_eq!(tracker.alive(), 0);
    assert!(is_closed(&theirs));
}

// spec: M1-3.1
fn an_unwatched_watcher_of_the_batch_is_not_called(variant: Variant) {
    const COUNT: usize = 50;
    let modes: [fn(Watch<UnixStream>) -> Watch<UnixStream>; 3] =
        [|watch| watch, Watch::edge_triggered, Watch::one_shot];
    for mode in modes {
        let event_loop = build(variant);
        let log = Log::new();
        let watchers: Rc<RefCell<Vec<Watcher<UnixStream>>>> = Rc::default();
        let mut peers = Vec::new();
        for _ in 0..COUNT {
            let (ours, theirs) = ready();
            peers.push(theirs);
            let (noted, all) = (log.clone(), Rc::clone(&watchers));
            let own = ours.as_raw_fd();
            let callback = move |cx: &Cx, _: &UnixStream| {
                noted.push("read");
                let all = all.borrow();
                let others = all.iter().filter(|watcher| watcher.fd() != own);
                // By either way.
                let removed =
                    others
                        .enumerate()
                        .filter(|(i, watcher)| {
                            if i % 2 == 0 { watcher.unwatch() } else { cx.unwatch(watcher.fd()) }
                        })
                        .count();
                assert_eq!(removed, COUNT - 1);
            };
            let watcher = event_loop.cx().watch(ours, mode(Watch::new().read(callback))).unwrap();
            watchers.borrow_mut().push(watcher);
        }
        tick(&event_loop);
        assert_eq!(log.take(), ["read"]);
        watchers.take();
    }
}

// spec: IO-2, F-9, M1-3.1
fn a_thread_that_unregisters_during_a_callback_stops_the_rest(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (ours, _theirs) = ready();
    let (noted, tracker) = (log.clone(), Tracker::new());
    let token = tracker.token();
    let watch = Watch::new()
        .read(move |cx, stream: &UnixStream| {
            let (handle, fd) = (cx.handle(), stream.as_raw_fd());
            // It does not wait for this call to return.
            elsewhere(|| handle.unregister_fd(fd)).unwrap();
            let _ = &token;
            drain(stream);
            noted.push("read");
        })
        .write(says(&log, "write"));
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    assert!(!watcher.is_active());
    tick(&event_loop);
    assert_eq!((log.len(), tracker.alive()), (0, 0));
}

// spec: M1-3.1, M1-3.2
fn a_callback_may_modify_its_own_interest_between_its_steps(variant: Variant) {
    let event_loop = build(variant);
    let (ours, _theirs) = ready();
    let log = Log::new();
    let noted = log.clone();
    let watch = Watch::new()
        .read(move |cx, stream: &UnixStream| {
            noted.push("read");
            cx.modify_fd(stream.as_raw_fd(), Interest::READ).unwrap();
        })
        .write(says(&log, "write"));
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"], "no longer interested in writing");
    watcher.modify(Interest::WRITE).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
}

// spec: M1-3.2, M1-3.1
fn an_event_of_the_batch_is_filtered_by_a_newer_interest(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let _peers = first_to_other(
        &event_loop,
        &log,
        |watch| watch,
        |cx, other| {
            cx.modify_fd(other.as_raw_fd(), Interest::NONE).unwrap();
        },
    );
    tick(&event_loop);
    assert_eq!(log.take(), ["old"], "one of the two");
    tick(&event_loop);
    assert_eq!(log.take(), ["old"], "still one of the two");
}

// spec: M1-3.1, M1-1.6, M1-3.2
fn a_callback_that_replaces_itself_stops_the_write_step(variant: Variant) {
    let event_loop = build(variant);
    let (ours, _theirs) = ready();
    let (log, tracker) = (Log::new(), Tracker::new());
    let (noted, token, alive) = (log.clone(), tracker.token(), tracker.clone());
    let watch = Watch::new()
        .read(move |cx, stream: &Rc<UnixStream>| {
            let watch = Watch::new().read(says(&noted, "new read"));
            let watch = watch.write(says(&noted, "new write"));
            drop(cx.watch(Rc::clone(stream), watch).unwrap());
            // Replaced, and yet running.
            let _ = &token;
            assert_eq!(alive.alive(), 1);
            noted.push("old read");
        })
        .write(says(&log, "old write"));
    drop(event_loop.cx().watch(Rc::new(ours), watch).unwrap());
    tick(&event_loop);
    assert_eq!(log.take(), ["old read"]);
    assert_eq!(tracker.alive(), 0);
    tick(&event_loop);
    assert_eq!(log.take(), ["new read", "new write"]);
}

// spec: M1-3.1, M1-1.6, M1-1.3
fn a_replaced_watcher_of_the_batch_gets_none_of_the_old_event(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let _peers = first_to_other(&event_loop, &log, Watch::one_shot, move |cx, other| {
        // Not of interest for the new one, though the old event would be.
        let watch = Watch::new().read(says(&noted, "new")).interest(Interest::NONE);
        drop(cx.watch(Rc::clone(other), watch.error(says(&noted, "error"))).unwrap());
    });
    for _ in 0..3 {
        tick(&event_loop);
    }
    assert_eq!(log.take(), ["old"], "the first one, whose replacement of the other holds");
    // With the same interest it is called, but later.
    let noted = log.clone();
    let _peers = first_to_other(&event_loop, &log, Watch::one_shot, move |cx, other| {
        let watch = Watch::new().read(says(&noted, "new")).one_shot();
        drop(cx.watch(Rc::clone(other), watch).unwrap());
    });
    tick(&event_loop);
    assert_eq!(log.take(), ["old"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["new"]);
    tick(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-1.6, M1-2.5
fn the_edge_of_a_replaced_watcher_is_told_to_the_new_one(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let _peers = first_to_other(&event_loop, &log, Watch::edge_triggered, move |cx, other| {
        let watch = Watch::new().read(says(&noted, "new")).edge_triggered();
        drop(cx.watch(Rc::clone(other), watch).unwrap());
    });
    tick(&event_loop);
    assert_eq!(log.take(), ["old"]);
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(log.take(), ["new"], "the bytes are there, and nobody was told");
}

// spec: M1-3.1, M1-3.2
fn a_watcher_that_is_unwatched_and_watched_again_fires_in_the_next_turn(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let _peers = first_to_other(&event_loop, &log, Watch::edge_triggered, move |cx, other| {
        for _ in 0..3 {
            assert!(cx.unwatch(other.as_raw_fd()));
            drop(cx.watch(Rc::clone(other), Watch::new().read(says(&noted, "new"))).unwrap());
        }
    });
    tick(&event_loop);
    assert_eq!(log.take(), ["old"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["new"]);
}

/// Puts another file behind a number that is in use, and back again when it is dropped.
struct Disguise {
    fd: RawFd,
    real: OwnedFd,
}

impl Disguise {
    /// As a regular file, which the kernel does not let anybody watch.
    fn of(fd: RawFd) -> Self {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        // SAFETY: no pointers; the number belongs to the test.
        let real = unsafe { OwnedFd::from_raw_fd(libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3)) };
        // SAFETY: likewise.
        assert_eq!(unsafe { libc::dup3(file.as_raw_fd(), fd, libc::O_CLOEXEC) }, fd);
        Self { fd, real }
    }
}

impl Drop for Disguise {
    fn drop(&mut self) {
        // SAFETY: no pointers; the number belongs to the test.
        let fd = unsafe { libc::dup3(self.real.as_raw_fd(), self.fd, libc::O_CLOEXEC) };
        assert_eq!(fd, self.fd);
    }
}

// spec: M1-1.6
fn a_refused_replacement_leaves_the_old_watcher_working(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair();
    let (ours, log) = (Rc::new(ours), Log::new());
    let old = cx.watch(Rc::clone(&ours), Watch::new().read(says(&log, "old"))).unwrap();
    let disguise = Disguise::of(old.fd());
    let watch = Watch::new().read(says(&log, "new")).write(says(&log, "new"));
    let refused = cx.watch(Rc::clone(&ours), watch.unreferenced()).expect_err("refused");
    assert!(matches!(refused.error(), Error::Io(_)), "{refused:?}");
    assert!(old.is_active());
    drop((disguise, refused));
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(log.take(), ["old", "old"]);
    // It can be changed, replaced and removed as if nothing had happened.
    old.modify(Interest::NONE).unwrap();
    tick(&event_loop);
    assert_eq!(log.len(), 0);
    old.modify(Interest::READ).unwrap();
    let new = cx.watch(Rc::clone(&ours), Watch::new().read(says(&log, "new"))).unwrap();
    assert!(!old.is_active());
    tick(&event_loop);
    assert_eq!(log.take(), ["new"]);
    assert!(new.unwatch());
}

// spec: IO-1, ER-2
fn a_refused_change_leaves_the_old_interest_working(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = pair();
    let log = Log::new();
    let watch = Watch::new().read(says(&log, "read")).write(says(&log, "write"));
    let watcher = event_loop.cx().watch(ours, watch.interest(Interest::READ)).unwrap();
    let disguise = Disguise::of(watcher.fd());
    assert!(watcher.modify(Interest::WRITE).is_err());
    drop(disguise);
    assert!(watcher.is_active());
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
    watcher.modify(Interest::WRITE).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
}

// spec: M1-3.2
fn a_watcher_added_by_a_callback_fires_in_the_next_turn(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (ours, _theirs) = ready();
    let (added, _added_peer) = ready();
    let (noted, added) = (log.clone(), Cell::new(Some(added)));
    let watch = Watch::new().read(move |cx, stream: &UnixStream| {
        noted.push("first");
        drain(stream);
        let watch = Watch::new().read(says(&noted, "added")).one_shot();
        drop(cx.watch(added.take().unwrap(), watch).unwrap());
    });
    drop(event_loop.cx().watch(ours, watch).unwrap());
    tick(&event_loop);
    assert_eq!(log.take(), ["first"]);
    tick(&event_loop);
    assert_eq!(log.take(), ["added"]);
}

// spec: M1-3.2, MT-1
fn a_watcher_added_by_a_microtask_of_a_callback_fires_in_the_next_turn(variant: Variant) {
    for strict in [true, false] {
        let event_loop = variant.builder().strict_microtasks(strict).build().unwrap();
        let log = Log::new();
        let (ours, _theirs) = ready();
        let (added, _added_peer) = ready();
        let (noted, added) = (log.clone(), Cell::new(Some(added)));
        let watch = Watch::new().read(move |cx: &Cx, stream: &UnixStream| {
            noted.push("first");
            drain(stream);
            let (noted, added) = (noted.clone(), added.take().unwrap());
            cx.queue_microtask(move |cx| {
                noted.push("microtask");
                drop(cx.watch(added, Watch::new().read(says(&noted, "added")).one_shot()).unwrap());
            });
        });
        drop(event_loop.cx().watch(ours, watch).unwrap());
        tick(&event_loop);
        assert_eq!(log.take(), ["first", "microtask"]);
        tick(&event_loop);
        assert_eq!(log.take(), ["added"]);
    }
}

// spec: M1-3.2, ST-6
fn callbacks_cannot_drive_the_loop(variant: Variant) {
    let event_loop = Rc::new(build(variant));
    let log = Log::new();
    let mut peers = Vec::new();
    for _ in 0..3 {
        let (ours, theirs) = ready();
        peers.push(theirs);
        let (noted, own) = (log.clone(), Rc::downgrade(&event_loop));
        let watch = Watch::new().read(move |_, stream: &UnixStream| {
            let own = own.upgrade().unwrap();
            noted.push("begin");
            assert!(matches!(own.turn(None), Err(Error::ReentrantRun)));
            assert!(matches!(own.run(), Err(Error::ReentrantRun)));
            assert!(matches!(own.run_until_idle(), Err(Error::ReentrantRun)));
            drain(stream);
            noted.push("end");
        });
        drop(event_loop.cx().watch(ours, watch).unwrap());
    }
    tick(&event_loop);
    assert_eq!(log.take(), ["begin", "end"].repeat(3), "one after another");
}

// spec: SD-4, SD-5, F-26
fn a_callback_that_closes_the_loop_is_the_last_one(variant: Variant) {
    let event_loop = build(variant);
    let (log, tracker) = (Log::new(), Tracker::new());
    let mut peers = Vec::new();
    for _ in 0..5 {
        let (ours, theirs) = ready();
        peers.push(theirs);
        let (noted, token) = (log.clone(), tracker.token());
        let watch = Watch::new().read(move |cx, stream: &UnixStream| {
            drain(stream);
            cx.close();
            let _ = &token;
            noted.push("read");
        });
        drop(event_loop.cx().watch(ours, watch.write(says(&log, "write"))).unwrap());
    }
    event_loop.run().unwrap();
    assert_eq!(log.take(), ["read"]);
    assert_eq!(tracker.alive(), 0);
    assert!(peers.iter().skip(1).all(|peer| {
        // Those that were not read from end with an error instead.
        is_closed(peer) || (&*peer).write(b"x").is_err()
    }));
}

// spec: IO-2, M1-3.1
fn a_destructor_of_an_unwatched_watcher_may_use_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let (added, _added_peer) = ready();
    let added = Rc::new(added);
    let _peers = first_to_other(
        &event_loop,
        &log,
        |watch| watch,
        move |cx, other| {
            let (fd, cx, noted, added) =
                (other.as_raw_fd(), cx.clone(), noted.clone(), Rc::clone(&added));
            let context = cx.clone();
            let guard = OnDrop(move || {
                assert!(!context.unwatch(fd), "it is gone already");
                let watch = Watch::new().read(says(&noted, "added"));
                drop(context.watch(Rc::clone(&added), watch).unwrap());
                let noted = noted.clone();
                context.queue_microtask(move |_| noted.push("microtask"));
            });
            let watch = Watch::new().read(move |_, _| _ = &guard);
            drop(cx.watch(Rc::clone(other), watch).unwrap());
            assert!(cx.unwatch(fd));
        },
    );
    tick(&event_loop);
    assert_eq!(log.take(), ["old", "microtask"]);
    tick(&event_loop);
    let mut called = log.take();
    called.sort_unstable();
    assert_eq!(called, ["added", "old"]);
}

// spec: ER-2, SD-6
fn a_destructor_may_use_the_loop_that_ends(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let mut peers = Vec::new();
    for _ in 0..3 {
        let (ours, theirs) = pair();
        let (cx, noted, fd) = (event_loop.cx().clone(), log.clone(), ours.as_raw_fd());
        let mut spare = Some(ready());
        let guard = OnDrop(move || {
            let (ours, _theirs) = spare.take().unwrap();
            let refused = cx.watch(ours, Watch::new().read(|_, _| ())).unwrap_err();
            assert!(matches!(refused.error(), Error::Terminated));
            assert!(!cx.unwatch(fd));
            assert!(cx.modify_fd(fd, Interest::READ).is_err());
            noted.push("dropped");
        });
        drop(event_loop.cx().watch(ours, Watch::new().read(move |_, _| _ = &guard)).unwrap());
        peers.push(theirs);
    }
    tick(&event_loop);
    drop(event_loop);
    assert_eq!(log.take(), ["dropped"; 3]);
    assert!(peers.iter().all(is_closed));
}

// spec: TK-1, TK-5
fn the_callbacks_come_after_the_poll_and_before_the_check_phase(variant: Variant) {
    let log = Log::new();
    let hook = |name| {
        let log = log.clone();
        move |_: &Cx| log.push(name)
    };
    let event_loop =
        variant.builder().on_prepare(hook("prepare")).on_check(hook("check")).build().unwrap();
    let cx = event_loop.cx();
    let (ours, _theirs) = ready();
    drop(cx.watch(ours, Watch::new().read(says(&log, "read"))).unwrap());
    cx.set_immediate(log.note("immediate"));
    cx.queue_close(log.note("close"));
    cx.submit(log.note("task")).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["task", "prepare", "read", "check", "immediate", "close"]);
}

// spec: IO-6
fn a_busy_descriptor_does_not_keep_others_from_running(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let counts: [Rc<Cell<u32>>; 4] = Default::default();
    let count = |i: usize| {
        let count = Rc::clone(&counts[i]);
        move || count.set(count.get() + 1)
    };
    // Ready for ever, and it says so itself.
    let (busy, other) = (count(0), count(1));
    let (ours, theirs) = ready();
    let watch = Watch::new().read(move |_, _| {
        busy();
        (&theirs).write_all(b"x").unwrap();
    });
    drop(cx.watch(ours, watch).unwrap());
    drop(cx.watch(signalled(), Watch::new().read(move |_, _| other())).unwrap());
    for _ in 0..10 {
        let (timer, task) = (count(2), count(3));
        cx.set_timeout(std::time::Duration::ZERO, move |_| timer()).unwrap();
        cx.submit(move |_| task()).unwrap();
        tick(&event_loop);
    }
    assert_eq!(counts.map(|count| count.get()), [10; 4]);
}

// spec: IO-3
fn more_ready_descriptors_than_one_poll_reports_are_all_served(variant: Variant) {
    const COUNT: usize = 1_500;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let event_loop = build(variant);
    let served = Rc::new(RefCell::new(vec![0; COUNT]));
    for i in 0..COUNT {
        let served = Rc::clone(&served);
        // All of them stay ready: the first ones could keep the others from being reported.
        let watch = Watch::new().read(move |_, _: &OwnedFd| served.borrow_mut()[i] += 1);
        drop(event_loop.cx().watch(signalled(), watch).unwrap());
    }
    for _ in 0..6 {
        tick(&event_loop);
    }
    let served = served.borrow();
    let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
    assert!(*least >= 1 && most - least <= 2, "{least} to {most} times");
}
