//! What callbacks of descriptors may do to registrations, and registrations of descriptors that their
//! users treat badly.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::{Cell, RefCell};
use std::io::{Read, Write, pipe};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::timers::{elsewhere, tick};
use common::{Log, OnDrop, Tracker, Variant, wait_until, wait_until_sleeping};
use fds::{
    Number, borrow, build, descriptor_limit, drain, flags, has_no_trace, is_orphaned, note, pair,
    readable,
};
use mainspring::{Cx, Error, Interest, Readiness};
use rustix::io::{dup2, fcntl_dupfd_cloexec};

suite! {
    a_callback_can_unregister_itself,
    a_callback_can_unregister_the_others_of_its_batch,
    a_callback_can_change_its_own_interest_and_that_of_others,
    a_callback_can_register_another_which_waits_for_the_next_tick,
    a_callback_can_replace_itself,
    a_callback_can_use_a_number_again_in_the_same_batch,
    a_callback_can_do_all_this_through_a_handle,
    a_capture_can_register_and_unregister_while_it_is_dropped,
    a_descriptor_that_its_user_closed_can_be_unregistered,
    a_number_that_is_used_again_is_registered_anew,
    a_descriptor_that_its_user_closed_cannot_be_modified,
    descriptor_zero_is_like_any_other,
    the_greatest_number_is_like_any_other,
    a_one_shot_is_delivered_once_for_each_arming,
    a_one_shot_that_is_rearmed_by_its_callback_stays_armed,
    a_registration_keeps_the_loop_alive_until_it_is_taken_back,
    what_cannot_be_delivered_does_not_keep_the_loop_alive,
    two_loops_can_watch_one_descriptor,
}

// spec: IO-2, F-9
fn a_callback_can_unregister_itself(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let (socket, peer) = readable();
    let fd = socket.as_raw_fd();
    let (token, alive) = (tracker.token(), tracker.clone());
    let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
        let _ = &token;
        cx.unregister_fd(fd).unwrap();
        assert!(matches!(cx.unregister_fd(fd), Err(Error::FdNotRegistered)));
        // What is running is alive.
        assert_eq!(alive.alive(), 1);
        assert_eq!(source.as_raw_fd(), fd);
        (&*source).write_all(b"y").unwrap();
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert_eq!(tracker.alive(), 0);
    assert_eq!((&peer).read(&mut [0; 8]).unwrap(), 1);
    assert!(is_orphaned(&peer));
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    event_loop.run_until_idle().unwrap();
}

// spec: IO-2, M1-3.1, F-9
fn a_callback_can_unregister_the_others_of_its_batch(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let fds = Rc::new(RefCell::new(Vec::new()));
    let ran = Rc::new(Cell::new(0));
    let mut peers = Vec::new();
    for _ in 0..10 {
        let (socket, peer) = readable();
        let own = socket.as_raw_fd();
        fds.borrow_mut().push(own);
        let (token, fds, ran) = (tracker.token(), Rc::clone(&fds), Rc::clone(&ran));
        let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
            let _ = &token;
            ran.set(ran.get() + 1);
            // Whichever comes first.
            for fd in fds.take().into_iter().filter(|fd| *fd != own) {
                cx.unregister_fd(fd).unwrap();
            }
        };
        event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
        peers.push(peer);
    }
    tick(&event_loop);
    assert_eq!((ran.get(), tracker.alive()), (1, 1));
    assert_eq!(peers.iter().filter(|peer| is_orphaned(peer)).count(), 9);
    tick(&event_loop);
    assert_eq!((ran.get(), tracker.alive()), (2, 1));
}

// spec: IO-2
fn a_callback_can_change_its_own_interest_and_that_of_others(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let fds = Rc::new(Cell::new([0; 2]));
    let mut peers = Vec::new();
    let mut numbers = [0; 2];
    for number in &mut numbers {
        let (socket, peer) = readable();
        *number = socket.as_raw_fd();
        let (log, fds) = (log.clone(), Rc::clone(&fds));
        let callback = move |cx: &Cx, _: &UnixStream, readiness: Readiness| {
            log.push(flags(readiness));
            for fd in fds.get() {
                cx.modify_fd(fd, Interest::WRITE).unwrap();
            }
        };
        event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
        peers.push(peer);
    }
    fds.set(numbers);
    tick(&event_loop);
    assert_eq!(log.take(), ["r"], "the other one is not interested in reading any more");
    tick(&event_loop);
    assert_eq!(log.take(), ["w", "w"]);
}

// spec: IO-2, M1-3.2, F-9
fn a_callback_can_register_another_which_waits_for_the_next_tick(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (socket, _peer) = readable();
    let (other, _other_peer) = readable();
    let (noted, mut other) = (log.clone(), Some(other));
    let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
        if let Some(other) = other.take() {
            cx.register_fd(other, Interest::READ, note(&noted, "second ")).unwrap();
        }
        noted.push("first".to_owned());
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["first"]);
    tick(&event_loop);
    let mut both = log.take();
    both.sort();
    assert_eq!(both, ["first", "second r"]);
}

// spec: IO-2, M1-3.2, F-9
fn a_callback_can_replace_itself(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let tracker = Tracker::new();
    let (socket, _peer) = readable();
    let socket = Arc::new(socket);
    let (noted, token) = (log.clone(), tracker.token());
    let callback = move |cx: &Cx, source: &Arc<UnixStream>, _: Readiness| {
        let _ = &token;
        noted.push("old".to_owned());
        cx.unregister_fd(source.as_raw_fd()).unwrap();
        cx.register_fd(Arc::clone(source), Interest::BOTH, note(&noted, "new ")).unwrap();
        // Again, so that there is more than one generation between the event and its receiver.
        cx.unregister_fd(source.as_raw_fd()).unwrap();
        cx.register_fd(Arc::clone(source), Interest::BOTH, note(&noted, "newest ")).unwrap();
    };
    event_loop.cx().register_fd(socket, Interest::BOTH, callback).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["old"], "the new one was not there when the event came");
    assert_eq!(tracker.alive(), 0);
    tick(&event_loop);
    assert_eq!(log.take(), ["newest rw"]);
}

// spec: IO-2, M1-1.3, F-11
fn a_callback_can_use_a_number_again_in_the_same_batch(variant: Variant) {
    // With and without telling the loop about the end of the old one.
    for unregisters in [true, false] {
        let event_loop = build(variant);
        let log = Log::new();
        let (quiet, _quiet_peer) = pair();
        let numbers: Rc<RefCell<Vec<Rc<Number>>>> = Rc::default();
        let all: Vec<_> = (0..8).map(|_| readable()).collect();
        let mut peers = Vec::new();
        for (socket, peer) in all {
            let number = Rc::new(Number::new(socket));
            numbers.borrow_mut().push(Rc::clone(&number));
            let (log, numbers, quiet) =
                (log.clone(), Rc::clone(&numbers), quiet.try_clone().unwrap());
            let own = number.fd();
            let callback = move |cx: &Cx, _: &BorrowedFd<'static>, _: Readiness| {
                log.push("old".to_owned());
                // The order in which the kernel reports is its own: whichever comes first.
                for number in numbers.take().into_iter().filter(|number| number.fd() != own) {
                    if unregisters {
                        cx.unregister_fd(number.fd()).unwrap();
                    }
                    // Nothing is there to be read from the new one.
                    number.replace(&quiet);
                    cx.register_fd(number.source(), Interest::READ, note(&log, "new ")).unwrap();
                }
            };
            event_loop.cx().register_fd(number.source(), Interest::READ, callback).unwrap();
            peers.push((number, peer));
        }
        tick(&event_loop);
        assert_eq!(log.take(), ["old"], "seven events of the batch are stale");
        tick(&event_loop);
        assert_eq!(log.take(), ["old"], "the first one, again");
        drop(event_loop);
    }
}

// spec: IO-2, F-9
fn a_callback_can_do_all_this_through_a_handle(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (socket, _peer) = readable();
    let (other, other_peer) = readable();
    let other_fd = other.as_raw_fd();
    event_loop.cx().register_fd(other, Interest::NONE, note(&log, "unreachable")).unwrap();
    let (third, _third_peer) = readable();
    let third_fd = third.as_raw_fd();
    let (handle, noted, mut third) = (event_loop.handle(), log.clone(), Some(third));
    let callback = move |_: &Cx, source: &UnixStream, _: Readiness| {
        handle.reference_fd(other_fd, false).unwrap();
        handle.unregister_fd(other_fd).unwrap();
        assert!(matches!(handle.unregister_fd(other_fd), Err(Error::FdNotRegistered)));
        let third = third.take().expect("called once");
        handle.register_fd(third, Interest::NONE, |_, _, _| ()).unwrap();
        handle.modify_fd(third_fd, Interest::READ).unwrap();
        handle.unregister_fd(source.as_raw_fd()).unwrap();
        noted.push("called".to_owned());
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert_eq!(log.take(), ["called"]);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1, "the third one");
    assert!(is_orphaned(&other_peer));
}

// spec: IO-2
fn a_capture_can_register_and_unregister_while_it_is_dropped(variant: Variant) {
    for ends_by_itself in [false, true] {
        let event_loop = build(variant);
        let log = Log::new();
        let (socket, _peer) = readable();
        let (other, _other_peer) = readable();
        let (third, _third_peer) = readable();
        let (fd, other_fd) = (socket.as_raw_fd(), other.as_raw_fd());
        event_loop.cx().register_fd(other, Interest::NONE, |_, _, _| ()).unwrap();
        let (handle, noted, mut third) = (event_loop.handle(), log.clone(), Some(third));
        let last_act = OnDrop(move || {
            let cx = mainspring::current();
            handle.unregister_fd(other_fd).unwrap();
            let third = third.take().unwrap();
            match cx {
                Ok(cx) => cx.register_fd(third, Interest::READ, note(&noted, "third ")).unwrap(),
                Err(_) => handle.register_fd(third, Interest::READ, |_, _, _| ()).unwrap(),
            }
            noted.push("dropped".to_owned());
        });
        let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
            let _ = &last_act;
            if ends_by_itself {
                cx.unregister_fd(fd).unwrap();
            }
        };
        event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
        if ends_by_itself {
            tick(&event_loop);
        } else {
            event_loop.cx().unregister_fd(fd).unwrap();
        }
        assert_eq!(log.take(), ["dropped"]);
        assert!(matches!(event_loop.cx().unregister_fd(other_fd), Err(Error::FdNotRegistered)));
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1, "the third one");
    }
}

// spec: M1-1.4, M1-3.3
fn a_descriptor_that_its_user_closed_can_be_unregistered(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let (socket, peer) = pair();
    let fd = socket.as_raw_fd();
    let token = tracker.token();
    let callback = move |_: &Cx, _: &BorrowedFd<'static>, _: Readiness| _ = &token;
    event_loop.cx().register_fd(borrow(fd), Interest::BOTH, callback).unwrap();
    drop(socket);
    assert!(is_orphaned(&peer), "the loop does not keep it open");
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    event_loop.cx().unregister_fd(fd).unwrap();
    assert_eq!(tracker.alive(), 0);
    assert!(has_no_trace(&event_loop));
}

// spec: IO-1, M1-1.4, F-11
fn a_number_that_is_used_again_is_registered_anew(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let tracker = Tracker::new();
    let (first, _first_peer) = readable();
    let number = Number::new(first);
    for round in 0..4 {
        let (token, noted) = (tracker.token(), log.clone());
        let callback = move |_: &Cx, _: &BorrowedFd<'static>, readiness: Readiness| {
            let _ = &token;
            noted.push((round, flags(readiness)));
        };
        if round % 2 == 0 {
            event_loop.cx().register_fd(number.source(), Interest::READ, callback).unwrap();
        } else {
            // The log is not to be sent.
            drop(callback);
            let token = tracker.token();
            let callback = move |_: &Cx, _: &BorrowedFd<'static>, _: Readiness| _ = &token;
            event_loop.handle().register_fd(number.source(), Interest::READ, callback).unwrap();
        }
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
        assert_eq!(tracker.alive(), 1, "what the old one captured is released");
        if round % 2 == 0 {
            assert_eq!(log.take(), [(round, "r".to_owned())]);
        }
        // It is in use again, so that a second registration is one.
        let error = event_loop
            .cx()
            .register_fd(number.source(), Interest::READ, |_, _, _| unreachable!())
            .unwrap_err();
        assert!(matches!(error.error(), Error::FdAlreadyRegistered), "{error}");
        let (next, next_peer) = readable();
        number.replace(next);
        // Its other end stays open until the loop is gone, for there to be something to be read.
        std::mem::forget(next_peer);
    }
    assert_eq!(log.take(), []);
}

// spec: IO-1, ER-2
fn a_descriptor_that_its_user_closed_cannot_be_modified(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (old, _old_peer) = readable();
    let number = Number::new(old);
    let callback = note(&log, "unreachable ");
    event_loop.cx().register_fd(number.source(), Interest::NONE, callback).unwrap();
    let (stranger, _stranger_peer) = readable();
    number.replace(stranger);
    let result = event_loop.cx().modify_fd(number.fd(), Interest::BOTH);
    assert!(result.is_err(), "the kernel does not know it");
    tick(&event_loop);
    assert_eq!(log.take(), [""; 0], "what has its number now was never registered");
    // Whether the entry survived that is the loop's business; that the number can be used is not.
    let _ = event_loop.cx().unregister_fd(number.fd());
    event_loop.cx().register_fd(number.source(), Interest::READ, note(&log, "")).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["r"]);
}

// spec: IO-1
fn descriptor_zero_is_like_any_other(variant: Variant) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // SAFETY: nobody else in this process uses it, and it is never closed.
    let mut zero = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(0) });
    let saved = zero.try_clone().unwrap();
    let (reader, mut writer) = pipe().unwrap();
    dup2(&reader, &mut zero).unwrap();
    drop(reader);
    let _restore = OnDrop(|| dup2(&saved, &mut zero).unwrap());
    let event_loop = build(variant);
    let log = Log::new();
    event_loop.cx().register_fd(std::io::stdin(), Interest::READ, note(&log, "")).unwrap();
    let error = event_loop
        .handle()
        .register_fd(std::io::stdin(), Interest::READ, |_, _, _| ())
        .unwrap_err();
    assert!(matches!(error.error(), Error::FdAlreadyRegistered));
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    writer.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["r"]);
    event_loop.cx().modify_fd(0, Interest::NONE).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), [""; 0]);
    event_loop.handle().modify_fd(0, Interest::READ).unwrap();
    event_loop.cx().reference_fd(0, false).unwrap();
    event_loop.run_until_idle().unwrap();
    event_loop.cx().unregister_fd(0).unwrap();
    log.take();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    assert!(matches!(event_loop.cx().unregister_fd(0), Err(Error::FdNotRegistered)));
}

// spec: IO-1
fn the_greatest_number_is_like_any_other(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let tracker = Tracker::new();
    let greatest = i32::try_from(descriptor_limit().min(1 << 24)).unwrap() - 1;
    let (low, _low_peer) = readable();
    // The two variants of this test run at the same time, and both want it.
    let source = (0..10)
        .find_map(|i| fcntl_dupfd_cloexec(&low, greatest - i).ok())
        .expect("a descriptor with a great number");
    let fd = source.as_raw_fd();
    assert!(fd > greatest - 10);
    let token = tracker.token();
    let mut high_note = note(&log, "high ");
    let callback = move |cx: &Cx, source: &OwnedFd, readiness: Readiness| {
        let _ = &token;
        high_note(cx, source, readiness);
    };
    event_loop.cx().register_fd(low, Interest::READ, note(&log, "low ")).unwrap();
    event_loop.cx().register_fd(source, Interest::READ, callback).unwrap();
    tick(&event_loop);
    let mut both = log.take();
    both.sort();
    assert_eq!(both, ["high r", "low r"]);
    for number in [fd - 1, fd + 1, fd / 2] {
        let result = event_loop.cx().unregister_fd(number);
        assert!(matches!(result, Err(Error::FdNotRegistered)), "{result:?}");
    }
    event_loop.cx().modify_fd(fd, Interest::WRITE).unwrap();
    tick(&event_loop);
    let mut both = log.take();
    both.sort();
    assert_eq!(both, ["high w", "low r"]);
    event_loop.handle().unregister_fd(fd).unwrap();
    tick(&event_loop);
    assert_eq!((log.take(), tracker.alive()), (vec!["low r".to_owned()], 0));
}

// spec: M1-2.6
fn a_one_shot_is_delivered_once_for_each_arming(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (socket, _peer) = readable();
    let socket = Arc::new(socket);
    let fd = socket.as_raw_fd();
    let one_shot = Interest::BOTH.one_shot();
    event_loop.cx().register_fd(Arc::clone(&socket), one_shot, note(&log, "")).unwrap();
    for interest in [one_shot, Interest::READ.one_shot(), one_shot.edge_triggered()] {
        tick(&event_loop);
        tick(&event_loop);
        assert_eq!(log.len(), 1, "though it is still ready");
        log.take();
        let again = |_: &Cx, _: &Arc<UnixStream>, _: Readiness| unreachable!("refused");
        let error = event_loop.cx().register_fd(Arc::clone(&socket), interest, again).unwrap_err();
        assert!(matches!(error.error(), Error::FdAlreadyRegistered), "it is still registered");
        event_loop.cx().modify_fd(fd, interest).unwrap();
    }
    tick(&event_loop);
    log.take();
    event_loop.cx().modify_fd(fd, Interest::READ).unwrap();
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(log.take(), ["r", "r"], "it is no longer a one-shot");
}

// spec: M1-2.6
fn a_one_shot_that_is_rearmed_by_its_callback_stays_armed(variant: Variant) {
    let event_loop = build(variant);
    let ran = Rc::new(Cell::new(0));
    let (socket, _peer) = readable();
    let counted = Rc::clone(&ran);
    let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
        counted.set(counted.get() + 1);
        if counted.get() < 5 {
            cx.modify_fd(source.as_raw_fd(), Interest::READ.one_shot()).unwrap();
        }
    };
    event_loop.cx().register_fd(socket, Interest::READ.one_shot(), callback).unwrap();
    for tick_number in 1..10 {
        tick(&event_loop);
        assert_eq!(ran.get(), tick_number.min(5));
    }
}

// spec: F-24
fn a_registration_keeps_the_loop_alive_until_it_is_taken_back(variant: Variant) {
    let event_loop = build(variant);
    let (socket, peer) = pair();
    let answers = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&answers);
    let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
        drain(source);
        if counted.fetch_add(1, Ordering::SeqCst) == 2 {
            cx.unregister_fd(source.as_raw_fd()).unwrap();
        }
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    // Nothing but the descriptor is waited for when the loop blocks: each byte is written after that.
    let (handle, answered) = (event_loop.handle(), Arc::clone(&answers));
    let writer = std::thread::spawn(move || {
        for n in 0..3 {
            wait_until(|| answered.load(Ordering::SeqCst) == n);
            wait_until_sleeping(&handle);
            (&peer).write_all(b"x").unwrap();
        }
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!(answers.load(Ordering::SeqCst), 3);
    writer.join().unwrap();
}

// spec: F-24
fn what_cannot_be_delivered_does_not_keep_the_loop_alive(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (quiet, _quiet_peer) = pair();
    let quiet_fd = quiet.as_raw_fd();
    event_loop.cx().register_fd(quiet, Interest::READ, note(&log, "quiet ")).unwrap();
    event_loop.cx().reference_fd(quiet_fd, false).unwrap();
    event_loop.run_until_idle().unwrap();
    // Twice is as good as once, in both directions.
    for _ in 0..2 {
        event_loop.cx().reference_fd(quiet_fd, true).unwrap();
    }
    event_loop.cx().modify_fd(quiet_fd, Interest::NONE).unwrap();
    event_loop.run_until_idle().unwrap();
    let (fired, _fired_peer) = readable();
    let interest = Interest::READ.one_shot();
    event_loop.cx().register_fd(fired, interest, note(&log, "fired ")).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["fired r"], "it was waited for");
    event_loop.run_until_idle().unwrap();
    // Without a reference it is served all the same while something else is waited for.
    let (busy, _busy_peer) = readable();
    let busy_fd = busy.as_raw_fd();
    event_loop.cx().register_fd(busy, Interest::READ, note(&log, "busy ")).unwrap();
    event_loop.cx().reference_fd(busy_fd, false).unwrap();
    event_loop.cx().set_timeout(Duration::from_millis(1), |_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(log.take().contains(&"busy r".to_owned()));
    // A change of the interest does not change the reference.
    event_loop.cx().modify_fd(quiet_fd, Interest::READ).unwrap();
    event_loop.cx().reference_fd(quiet_fd, false).unwrap();
    event_loop.cx().modify_fd(quiet_fd, Interest::BOTH).unwrap();
    event_loop.cx().modify_fd(quiet_fd, Interest::READ).unwrap();
    event_loop.run_until_idle().unwrap();
}

// spec: SH-5
fn two_loops_can_watch_one_descriptor(variant: Variant) {
    let (first, second) = (build(variant), build(variant));
    let log = Log::new();
    let (socket, _peer) = readable();
    let socket = Arc::new(socket);
    let fd = socket.as_raw_fd();
    first.cx().register_fd(Arc::clone(&socket), Interest::READ, note(&log, "first ")).unwrap();
    second.cx().register_fd(Arc::clone(&socket), Interest::READ, note(&log, "second ")).unwrap();
    tick(&first);
    tick(&second);
    assert_eq!(log.take(), ["first r", "second r"]);
    first.cx().unregister_fd(fd).unwrap();
    assert_eq!(first.turn(Duration::ZERO).unwrap().callbacks, 0);
    tick(&second);
    assert_eq!(log.take(), ["second r"]);
    elsewhere(|| drop(socket));
}
