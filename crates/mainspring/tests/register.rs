//! Strict registration of descriptors, on the loop's own thread: what each call answers, and what a
//! registration leaves when it is refused, changed or taken back.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use common::timers::{elsewhere, tick};
use common::{Hook, Log, OnDrop, Tracker, Variant};
use fds::{borrow, build, drain, flags, has_no_trace, is_orphaned, note, pair, readable};
use mainspring::{Cx, Error, EventLoop, Interest, Readiness};
use rustix::io::dup2;

suite! {
    a_callback_is_told_what_its_source_is_ready_for,
    only_what_the_interest_includes_is_reported,
    reading_and_writing_at_once_are_one_event,
    what_is_not_read_is_reported_in_every_tick,
    an_edge_is_reported_once,
    an_interest_in_nothing_hears_nothing_not_even_the_end,
    an_interest_can_be_changed_to_any_other,
    a_second_registration_is_refused_and_changes_nothing,
    a_refused_registration_hands_source_and_callback_back,
    a_regular_file_is_refused_and_leaves_no_trace,
    a_descriptor_that_is_not_open_is_refused_and_leaves_no_trace,
    what_is_not_registered_cannot_be_changed,
    numbers_that_no_descriptor_has_are_not_found,
    a_terminated_loop_refuses_registrations,
    a_loop_that_terminates_refuses_registrations_but_not_their_end,
    a_source_is_closed_when_it_is_unregistered,
    everything_is_released_when_the_loop_ends,
    a_hook_can_register_the_first_descriptor_right_before_the_loop_blocks,
    a_release_that_panics_keeps_nothing_else_from_being_released,
}

// spec: IO-1
fn a_callback_is_told_what_its_source_is_ready_for(variant: Variant) {
    let event_loop = build(variant);
    let (socket, peer) = pair();
    let fd = socket.as_raw_fd();
    let log = Log::new();
    let noted = log.clone();
    let callback = move |cx: &Cx, source: &UnixStream, readiness: Readiness| {
        assert_eq!(source.as_raw_fd(), fd, "the source that was given away");
        drain(source);
        assert_eq!(cx.state(), mainspring::LoopState::Running);
        noted.push(flags(readiness));
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    (&peer).write_all(b"x").unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert_eq!(log.take(), ["r"]);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0, "it was read");
    drop(peer);
    tick(&event_loop);
    assert_eq!(log.take(), ["rh"], "the end is to be read");
}

// spec: IO-1
fn only_what_the_interest_includes_is_reported(variant: Variant) {
    for (interest, expected) in
        [(Interest::READ, "r"), (Interest::WRITE, "w"), (Interest::BOTH, "rw")]
    {
        let event_loop = build(variant);
        let (socket, _peer) = readable();
        let log = Log::new();
        event_loop.cx().register_fd(socket, interest, note(&log, "")).unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), [expected]);
    }
    // The peer is gone and has left something unread: the kernel reports all that there is.
    for (interest, expected) in
        [(Interest::READ, "reh"), (Interest::WRITE, "weh"), (Interest::BOTH, "rweh")]
    {
        let event_loop = build(variant);
        let (socket, peer) = readable();
        (&socket).write_all(b"unread").unwrap();
        drop(peer);
        let log = Log::new();
        event_loop.cx().register_fd(socket, interest, note(&log, "")).unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), [expected]);
    }
}

// spec: IO-1
fn reading_and_writing_at_once_are_one_event(variant: Variant) {
    let event_loop = build(variant);
    let (socket, _peer) = readable();
    let log = Log::new();
    event_loop.cx().register_fd(socket, Interest::READ | Interest::WRITE, note(&log, "")).unwrap();
    for _ in 0..3 {
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
        assert_eq!(log.take(), ["rw"]);
    }
}

// spec: IO-1
fn what_is_not_read_is_reported_in_every_tick(variant: Variant) {
    let event_loop = build(variant);
    let (socket, peer) = pair();
    let log = Log::new();
    event_loop.cx().register_fd(socket, Interest::READ, note(&log, "")).unwrap();
    (&peer).write_all(b"x").unwrap();
    for n in 1..=5 {
        tick(&event_loop);
        assert_eq!(log.len(), n);
    }
}

// spec: M1-2.5
fn an_edge_is_reported_once(variant: Variant) {
    let event_loop = build(variant);
    let (socket, peer) = readable();
    let log = Log::new();
    let interest = Interest::READ.edge_triggered();
    event_loop.cx().register_fd(socket, interest, note(&log, "")).unwrap();
    for _ in 0..3 {
        for _ in 0..3 {
            tick(&event_loop);
        }
        assert_eq!(log.take(), ["r"], "once, though nothing is read");
        (&peer).write_all(b"x").unwrap();
    }
}

// spec: M1-2.4, F-12
fn an_interest_in_nothing_hears_nothing_not_even_the_end(variant: Variant) {
    let polls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&polls);
    let event_loop =
        variant.builder().on_prepare(move |_| counted.set(counted.get() + 1)).build().unwrap();
    let (socket, peer) = readable();
    (&socket).write_all(b"unread").unwrap();
    let fd = socket.as_raw_fd();
    let log = Log::new();
    event_loop.cx().register_fd(socket, Interest::NONE, note(&log, "")).unwrap();
    tick(&event_loop);
    drop(peer);
    // HUP and ERR cannot be switched off in the kernel. A loop that hears them goes round and round.
    polls.set(0);
    event_loop.turn(Duration::from_millis(20)).unwrap();
    let timer = event_loop.cx().set_timeout(Duration::from_millis(20), |_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(!event_loop.cx().clear_timeout(timer), "it has fired");
    assert!(polls.get() < 10, "{} polls", polls.get());
    assert_eq!(log.take(), [""; 0]);
    event_loop.cx().modify_fd(fd, Interest::READ).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["reh"], "it is still there");
}

// spec: IO-1
fn an_interest_can_be_changed_to_any_other(variant: Variant) {
    let event_loop = build(variant);
    let (socket, _peer) = readable();
    let fd = socket.as_raw_fd();
    let log = Log::new();
    event_loop.cx().register_fd(socket, Interest::NONE, note(&log, "")).unwrap();
    let all = [
        (Interest::NONE, None),
        (Interest::READ, Some("r")),
        (Interest::WRITE, Some("w")),
        (Interest::BOTH, Some("rw")),
    ];
    for (from, _) in all {
        for (to, expected) in all {
            event_loop.cx().modify_fd(fd, from).unwrap();
            event_loop.handle().modify_fd(fd, to).unwrap();
            tick(&event_loop);
            assert_eq!(log.take(), Vec::from_iter(expected), "{from:?} to {to:?}");
        }
    }
}

// spec: IO-1
fn a_second_registration_is_refused_and_changes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let (socket, _peer) = readable();
    let socket = Arc::new(socket);
    let log = Log::new();
    let first = note(&log, "first ");
    event_loop.cx().register_fd(Arc::clone(&socket), Interest::READ, first).unwrap();
    for interest in [Interest::READ, Interest::BOTH, Interest::NONE] {
        let second = |_: &Cx, _: &Arc<UnixStream>, _: Readiness| unreachable!("refused");
        let error = event_loop.cx().register_fd(Arc::clone(&socket), interest, second).unwrap_err();
        assert!(matches!(error.error(), Error::FdAlreadyRegistered));
        let error =
            event_loop.handle().register_fd(Arc::clone(&socket), interest, second).unwrap_err();
        assert!(matches!(Error::from(error), Error::FdAlreadyRegistered));
        tick(&event_loop);
        assert_eq!(log.take(), ["first r"]);
    }
    event_loop.cx().unregister_fd(socket.as_raw_fd()).unwrap();
    event_loop.cx().register_fd(socket, Interest::READ, note(&log, "second ")).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["second r"]);
}

// spec: IO-1, ER-1
fn a_refused_registration_hands_source_and_callback_back(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let log = Log::new();
    let (socket, _peer) = readable();
    let socket = Arc::new(socket);
    let fd = socket.as_raw_fd();
    event_loop.cx().register_fd(Arc::clone(&socket), Interest::READ, |_, _, _| ()).unwrap();
    let (token, noted) = (tracker.token(), log.clone());
    let callback = move |_: &Cx, _: &Arc<UnixStream>, _: Readiness| {
        let _ = &token;
        noted.push("called");
    };
    let error = event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap_err();
    assert_eq!(error.to_string(), Error::FdAlreadyRegistered.to_string());
    assert!(!format!("{error:?}").is_empty());
    let error: Box<dyn std::error::Error> = {
        let (reason, source, callback) = error.into_parts();
        assert_eq!((tracker.alive(), source.as_raw_fd()), (1, fd));
        // Both are as good as new.
        event_loop.cx().unregister_fd(fd).unwrap();
        event_loop.cx().register_fd(source, Interest::READ, callback).unwrap();
        Box::new(reason)
    };
    assert!(!error.to_string().is_empty());
    tick(&event_loop);
    assert_eq!(log.take(), ["called"]);
    event_loop.cx().unregister_fd(fd).unwrap();
    assert_eq!(tracker.alive(), 0);
}

// spec: IO-1, ER-2
fn a_regular_file_is_refused_and_leaves_no_trace(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let file = OwnedFd::from(File::open("/proc/self/exe").unwrap());
    let mut number = file.as_raw_fd();
    let mut source = file;
    for through_handle in [false, true] {
        let token = tracker.token();
        let callback = move |_: &Cx, _: &OwnedFd, _: Readiness| _ = &token;
        let error = if through_handle {
            event_loop.handle().register_fd(source, Interest::READ, callback).unwrap_err()
        } else {
            event_loop.cx().register_fd(source, Interest::READ, callback).unwrap_err()
        };
        let (error, given_back, callback) = error.into_parts();
        let Error::Io(error) = error else { panic!("{error}") };
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        assert_eq!(given_back.as_raw_fd(), number);
        assert_eq!(tracker.alive(), 1);
        drop(callback);
        assert_eq!(tracker.alive(), 0, "nothing of it is kept");
        number = given_back.as_raw_fd();
        source = given_back;
        for result in [
            event_loop.cx().modify_fd(number, Interest::READ),
            event_loop.cx().reference_fd(number, true),
            event_loop.cx().unregister_fd(number),
        ] {
            assert!(matches!(result, Err(Error::FdNotRegistered)), "{result:?}");
        }
        assert!(has_no_trace(&event_loop));
        event_loop.run_until_idle().unwrap();
    }
    // The same number, with something behind it that can be waited for.
    let (socket, _peer) = readable();
    dup2(&socket, &mut source).unwrap();
    drop(socket);
    let log = Log::new();
    event_loop.cx().register_fd(source, Interest::READ, note(&log, "")).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["r"]);
}

// spec: IO-1, ER-2
fn a_descriptor_that_is_not_open_is_refused_and_leaves_no_trace(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    for number in [RawFd::MAX, RawFd::MAX - 1, 1 << 20] {
        let token = tracker.token();
        let callback = move |_: &Cx, _: &BorrowedFd<'static>, _: Readiness| _ = &token;
        let error =
            event_loop.cx().register_fd(borrow(number), Interest::READ, callback).unwrap_err();
        let Error::Io(reason) = error.error() else { panic!("{error}") };
        assert_eq!(reason.raw_os_error(), Some(libc::EBADF));
        drop(error);
        assert_eq!(tracker.alive(), 0);
        let result = event_loop.cx().unregister_fd(number);
        assert!(matches!(result, Err(Error::FdNotRegistered)), "{result:?}");
        assert!(has_no_trace(&event_loop));
    }
    event_loop.run_until_idle().unwrap();
}

// spec: IO-1, ER-1
fn what_is_not_registered_cannot_be_changed(variant: Variant) {
    let event_loop = build(variant);
    let (socket, other) = pair();
    let socket = Arc::new(socket);
    let fd = socket.as_raw_fd();
    let assert_unknown = |fd| {
        let (cx, handle) = (event_loop.cx(), event_loop.handle());
        for result in [
            cx.modify_fd(fd, Interest::READ),
            cx.reference_fd(fd, false),
            cx.unregister_fd(fd),
            handle.modify_fd(fd, Interest::NONE),
            handle.reference_fd(fd, true),
            handle.unregister_fd(fd),
        ] {
            assert!(matches!(result, Err(Error::FdNotRegistered)), "{result:?}");
        }
    };
    assert_unknown(fd);
    for _ in 0..2 {
        event_loop.cx().register_fd(Arc::clone(&socket), Interest::READ, |_, _, _| ()).unwrap();
        assert_unknown(other.as_raw_fd());
        event_loop.handle().unregister_fd(fd).unwrap();
        assert_unknown(fd);
        tick(&event_loop);
    }
}

// spec: ER-2
fn numbers_that_no_descriptor_has_are_not_found(variant: Variant) {
    let event_loop = build(variant);
    let (socket, _peer) = pair();
    event_loop.cx().register_fd(socket, Interest::READ, |_, _, _| ()).unwrap();
    for number in [-1, -2, RawFd::MIN, RawFd::MAX, 1 << 16, 1 << 24, 1 << 30] {
        let (cx, handle) = (event_loop.cx(), event_loop.handle());
        for result in [
            cx.modify_fd(number, Interest::BOTH),
            cx.reference_fd(number, false),
            cx.unregister_fd(number),
            handle.modify_fd(number, Interest::BOTH),
            handle.reference_fd(number, false),
            handle.unregister_fd(number),
        ] {
            assert!(matches!(result, Err(Error::FdNotRegistered)), "{number}: {result:?}");
        }
        assert!(!cx.unwatch(number));
    }
}

// spec: IO-1, ER-1, ER-2
fn a_terminated_loop_refuses_registrations(variant: Variant) {
    for driven in [false, true] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let (socket, peer) = pair();
        let fd = socket.as_raw_fd();
        event_loop.cx().register_fd(socket, Interest::READ, |_, _, _| ()).unwrap();
        if driven {
            event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
            event_loop.run().unwrap();
        } else {
            event_loop.cx().shutdown();
        }
        assert!(is_orphaned(&peer), "the source was closed");
        let handle = event_loop.handle();
        let (socket, _peer) = readable();
        let number = socket.as_raw_fd();
        let token = tracker.token();
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
        let error = event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap_err();
        let (error, socket, callback) = error.into_parts();
        assert!(matches!(error, Error::Terminated), "{error}");
        let error = handle.register_fd(socket, Interest::READ, callback).unwrap_err();
        let (error, socket, _callback) = error.into_parts();
        assert!(matches!(error, Error::Terminated), "{error}");
        assert_eq!((socket.as_raw_fd(), tracker.alive()), (number, 1));
        for result in [
            event_loop.cx().modify_fd(fd, Interest::READ),
            event_loop.cx().unregister_fd(fd),
            handle.modify_fd(fd, Interest::READ),
            handle.unregister_fd(fd),
        ] {
            assert!(matches!(result, Err(Error::PollerClosed)), "{result:?}");
        }
        assert!(handle.reference_fd(fd, true).is_err());
        assert!(!event_loop.cx().unwatch(fd));
    }
}

// spec: IO-1, SD-1
fn a_loop_that_terminates_refuses_registrations_but_not_their_end(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    let (socket, peer) = readable();
    let fd = socket.as_raw_fd();
    let token = tracker.token();
    let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    let alive = tracker.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            cx.shutdown();
            cx.queue_microtask(move |cx| {
                let (other, _peer) = pair();
                let error = cx.register_fd(other, Interest::READ, |_, _, _| ()).unwrap_err();
                assert!(matches!(error.error(), Error::Terminated));
                // The poller is closed after the last callback.
                cx.modify_fd(fd, Interest::NONE).unwrap();
                cx.unregister_fd(fd).unwrap();
                assert_eq!(alive.alive(), 0);
                assert!(is_orphaned(&peer));
            });
        })
        .unwrap();
    event_loop.run().unwrap();
}

// spec: IO-1
fn a_source_is_closed_when_it_is_unregistered(variant: Variant) {
    let event_loop = build(variant);
    let tracker = Tracker::new();
    for through_handle in [false, true] {
        let (socket, peer) = readable();
        let fd = socket.as_raw_fd();
        let token = tracker.token();
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
        if through_handle {
            event_loop.handle().register_fd(socket, Interest::READ, callback).unwrap();
            event_loop.handle().unregister_fd(fd).unwrap();
        } else {
            event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
            event_loop.cx().unregister_fd(fd).unwrap();
            assert_eq!(tracker.alive(), 0, "at once");
        }
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
        assert!(is_orphaned(&peer));
        assert_eq!(tracker.alive(), 0);
        assert!(has_no_trace(&event_loop));
    }
}

// spec: SD-4, SD-6
fn everything_is_released_when_the_loop_ends(variant: Variant) {
    let endings: [fn(EventLoop); 6] = [
        drop,
        |event_loop| {
            tick(&event_loop);
            drop(event_loop);
        },
        |event_loop| event_loop.handle().close(),
        |event_loop| {
            tick(&event_loop);
            event_loop.handle().close();
            event_loop.run().unwrap();
        },
        |event_loop| {
            event_loop.cx().set_immediate(|cx| cx.shutdown());
            event_loop.run().unwrap();
        },
        |event_loop| {
            let handle = event_loop.handle();
            elsewhere(move || handle.close());
        },
    ];
    for ending in endings {
        let event_loop = build(variant);
        // Keeps what is shared alive, so that it is the end that releases and not the last handle.
        let handle = event_loop.handle();
        let tracker = Tracker::new();
        let mut peers = Vec::new();
        for i in 0..20 {
            let (socket, peer) = if i % 2 == 0 { pair() } else { readable() };
            let token = tracker.token();
            let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
            let interest = [Interest::NONE, Interest::READ, Interest::WRITE.one_shot()][i % 3];
            if i % 4 < 2 {
                event_loop.cx().register_fd(socket, interest, callback).unwrap();
            } else {
                handle.register_fd(socket, interest, callback).unwrap();
            }
            peers.push(peer);
        }
        ending(event_loop);
        assert_eq!(tracker.alive(), 0);
        assert!(peers.iter().all(is_orphaned));
    }
}

// spec: IO-1, WK-6, F-24
fn a_hook_can_register_the_first_descriptor_right_before_the_loop_blocks(variant: Variant) {
    for hook in [Hook::Prepare, Hook::Idle, Hook::BeforeExit] {
        let log = Log::new();
        let (noted, mut socket) = (log.clone(), Some(readable()));
        let builder = hook.set(variant.builder(), move |cx| {
            let Some((socket, peer)) = socket.take() else { return };
            let noted = noted.clone();
            let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
                let _ = &peer;
                noted.push("called");
                cx.unregister_fd(source.as_raw_fd()).unwrap();
            };
            cx.register_fd(socket, Interest::READ, callback).unwrap();
        });
        let event_loop = builder.build().unwrap();
        if hook == Hook::BeforeExit {
            event_loop.run_until_idle().unwrap();
        } else {
            // Nothing but the descriptor ends this.
            while log.len() == 0 {
                event_loop.turn(None).unwrap();
            }
        }
        assert_eq!(log.take(), ["called"], "{hook:?}");
    }
}

// spec: SD-4
fn a_release_that_panics_keeps_nothing_else_from_being_released(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    let mut peers = Vec::new();
    for _ in 0..5 {
        let (socket, peer) = pair();
        let token = tracker.token();
        let bomb = OnDrop(|| panic!("expected by the test"));
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = (&token, &bomb);
        event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
        peers.push(peer);
    }
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    assert_eq!(tracker.alive(), 0);
    assert!(peers.iter().all(is_orphaned));
}
