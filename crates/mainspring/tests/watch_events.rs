//! Which callbacks an event calls, and in which order: errors and hang-ups.
//!
//! The set-ups are those of the table of kernel facts in the specification.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::io::{PipeReader, PipeWriter, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use common::timers::{HOUR, automatic, tick};
use common::{Log, Variant};
use mainspring::{Cx, Interest, Readiness, Watch};
use watching::*;

suite! {
    a_pipe_whose_writer_closed_runs_read_and_not_write,
    a_pipe_whose_writer_closed_runs_read_also_while_there_is_data,
    a_pipe_whose_reader_closed_is_an_error,
    an_error_is_told_to_a_watcher_without_interest,
    a_datagram_that_nobody_received_is_an_error_without_readiness,
    a_stream_whose_peer_closed_runs_read_and_write,
    a_stream_whose_peer_closed_with_unread_data_is_an_error_with_readiness,
    a_stream_whose_peer_shut_down_its_write_side_is_readable,
    an_unconnected_stream_is_writable_and_hung_up,
    read_comes_before_write_in_whatever_order_they_were_set,
    an_error_runs_only_the_callbacks_that_the_interest_includes,
    read_and_write_ready_together_are_one_event,
    the_readiness_is_what_the_kernel_said_within_the_interest,
    a_hang_up_is_not_told_to_the_error_callback,
    a_masked_hang_up_is_told_as_soon_as_somebody_reads,
    a_masked_hang_up_hides_no_later_error,
    a_hang_up_leaves_a_level_triggered_writer_level_triggered,
    a_peer_that_shuts_down_its_write_side_does_not_wake_a_writer,
    a_one_shot_is_not_used_up_by_an_error_that_is_over,
    what_nobody_listens_to_does_not_wake_the_loop,
    an_interest_without_a_callback_does_not_wake_the_loop,
    what_nobody_listens_to_does_not_stop_virtual_time,
}

/// Checks which callbacks are called in the first turn, for a watcher that has others: `expected`
/// holds pairs of both. In the second turn it must be the same if level-triggered, and none
/// otherwise. Where none is called, the loop must not spin.
#[track_caller]
fn check<S: AsFd + 'static, P>(
    variant: Variant,
    set_up: impl Fn() -> (S, P),
    expected: &[(&str, &str)],
) {
    for (which, called) in expected {
        for mode in ["level", "edge", "one-shot", "both"] {
            let event_loop = build(variant);
            let log = Log::new();
            let mut watch = watch(&log, which);
            if matches!(mode, "edge" | "both") {
                watch = watch.edge_triggered();
            }
            if matches!(mode, "one-shot" | "both") {
                watch = watch.one_shot();
            }
            let (source, _peer) = set_up();
            let watcher = event_loop.cx().watch(source, watch).unwrap();
            tick(&event_loop);
            assert_eq!(log.take().join(" "), *called, "first of `{which}`, {mode}");
            tick(&event_loop);
            let again = if mode == "level" { *called } else { "" };
            assert_eq!(log.take().join(" "), again, "then of `{which}`, {mode}");
            if again.is_empty() {
                assert_at_rest(&event_loop);
                assert_eq!(log.len(), 0);
            }
            assert!(watcher.is_active());
        }
    }
}

fn hung_up_pipe() -> (PipeReader, ()) {
    (std::io::pipe().unwrap().0, ())
}

fn broken_pipe() -> (PipeWriter, ()) {
    (std::io::pipe().unwrap().1, ())
}

/// A socket whose last datagram came back as an error.
fn unreachable_socket() -> (UdpSocket, ()) {
    // The address of a socket that was closed may be that of another one by now.
    for _ in 0..100 {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        socket.connect(nobody).unwrap();
        socket.send(b"x").unwrap();
        let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: one entry, which outlives the call.
        let found = unsafe { libc::poll(&raw mut poll, 1, 100) };
        if (found, poll.revents) == (1, libc::POLLERR) {
            return (socket, ());
        }
    }
    panic!("datagrams do not come back");
}

fn closed_stream() -> (UnixStream, ()) {
    (pair().0, ())
}

/// Its peer left data unread, and sent some.
fn reset_stream() -> (UnixStream, ()) {
    let (mut ours, mut theirs) = pair();
    ours.write_all(b"never read").unwrap();
    theirs.write_all(b"x").unwrap();
    (ours, ())
}

fn half_closed_stream() -> (UnixStream, UnixStream) {
    let (ours, theirs) = pair();
    theirs.shutdown(Shutdown::Write).unwrap();
    (ours, theirs)
}

fn unconnected_stream() -> (OwnedFd, ()) {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    assert!(fd >= 0);
    // SAFETY: it was opened above, and nobody else knows it.
    (unsafe { OwnedFd::from_raw_fd(fd) }, ())
}

// spec: M1-2.4, F-12
fn a_pipe_whose_writer_closed_runs_read_and_not_write(variant: Variant) {
    let expected =
        [("read", "read"), ("read write", "read"), ("error read write", "read"), ("write", "")];
    check(variant, hung_up_pipe, &expected);
}

// spec: M1-2.4
fn a_pipe_whose_writer_closed_runs_read_also_while_there_is_data(variant: Variant) {
    let set_up = || {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"x").unwrap();
        (reader, ())
    };
    check(variant, set_up, &[("error read write", "read"), ("write", "")]);
}

// spec: M1-2.3, M1-2.2
fn a_pipe_whose_reader_closed_is_an_error(variant: Variant) {
    let expected = [
        ("error write", "error"),
        ("error read write", "error"),
        ("write", "write"),
        ("read write", "read write"),
    ];
    check(variant, broken_pipe, &expected);
}

// spec: M1-2.3, M1-2.4
fn an_error_is_told_to_a_watcher_without_interest(variant: Variant) {
    check(variant, broken_pipe, &[("error", "error"), ("", "")]);
    // The same, with other callbacks that are not of interest.
    for (which, expected) in [("error read write", "error"), ("read write", "")] {
        let event_loop = build(variant);
        let log = Log::new();
        let watch = watch(&log, which).interest(Interest::NONE);
        drop(event_loop.cx().watch(broken_pipe().0, watch).unwrap());
        tick(&event_loop);
        assert_eq!(log.take().join(" "), expected);
    }
}

// spec: M1-2.3, M1-2.2
fn a_datagram_that_nobody_received_is_an_error_without_readiness(variant: Variant) {
    let expected = [
        ("error read", "error"),
        ("error read write", "error"),
        ("read", "read"),
        ("read write", "read write"),
        ("write", "write"),
    ];
    check(variant, unreachable_socket, &expected);
}

// spec: M1-2.4, M1-2.2
fn a_stream_whose_peer_closed_runs_read_and_write(variant: Variant) {
    let expected = [
        ("write", "write"),
        ("read", "read"),
        ("read write", "read write"),
        ("error read write", "read write"),
        ("error", ""),
    ];
    check(variant, closed_stream, &expected);
}

// spec: M1-2.3, M1-2.2
fn a_stream_whose_peer_closed_with_unread_data_is_an_error_with_readiness(variant: Variant) {
    let expected = [
        ("error read write", "error"),
        ("error read", "error"),
        ("error", "error"),
        ("read write", "read write"),
        ("read", "read"),
        ("write", "write"),
        ("", ""),
    ];
    check(variant, reset_stream, &expected);
}

// spec: M1-2.4
fn a_stream_whose_peer_shut_down_its_write_side_is_readable(variant: Variant) {
    let expected = [
        ("read", "read"),
        ("error read", "read"),
        ("error read write", "read write"),
        ("error", ""),
    ];
    check(variant, half_closed_stream, &expected);
}

// spec: M1-2.4, F-12
fn an_unconnected_stream_is_writable_and_hung_up(variant: Variant) {
    let expected = [
        ("read", "read"),
        ("write", "write"),
        ("read write", "read write"),
        ("error read write", "read write"),
        ("error", ""),
        ("", ""),
    ];
    check(variant, unconnected_stream, &expected);
}

// spec: M1-2.2
fn read_comes_before_write_in_whatever_order_they_were_set(variant: Variant) {
    for which in ["read write error", "error write read", "write read", "write error read"] {
        let event_loop = build(variant);
        let (ours, mut theirs) = pair();
        theirs.write_all(b"x").unwrap();
        let log = Log::new();
        drop(event_loop.cx().watch(ours, watch(&log, which)).unwrap());
        for _ in 0..3 {
            tick(&event_loop);
            assert_eq!(log.take(), ["read", "write"], "{which}");
        }
    }
}

// spec: M1-2.3
fn an_error_runs_only_the_callbacks_that_the_interest_includes(variant: Variant) {
    for (interest, expected) in [(Interest::READ, "read"), (Interest::WRITE, "write")] {
        for error_first in [false, true] {
            let event_loop = build(variant);
            let log = Log::new();
            let watch = watch(&log, "read write");
            let source = unreachable_socket().0;
            let watcher = if error_first {
                event_loop.cx().watch(source, watch.interest(interest)).unwrap()
            } else {
                let watcher = event_loop.cx().watch(source, watch).unwrap();
                watcher.modify(interest).unwrap();
                watcher
            };
            tick(&event_loop);
            assert_eq!(log.take(), [expected]);
            assert!(watcher.unwatch());
        }
    }
}

/// What the callback of a strict registration is told, turn by turn.
fn told<S: AsFd + 'static>(variant: Variant, source: S, interest: Interest) -> String {
    let event_loop = build(variant);
    let log = Log::new();
    let noted = log.clone();
    let callback = move |_: &Cx, _: &S, readiness: Readiness| {
        let flags = [
            (readiness.is_readable(), "readable"),
            (readiness.is_writable(), "writable"),
            (readiness.is_error(), "error"),
            (readiness.is_hangup(), "hangup"),
        ];
        let set: Vec<_> =
            flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
        noted.push(set.join(" "));
    };
    event_loop.cx().register_fd(source, interest, callback).unwrap();
    tick(&event_loop);
    log.take().join(", ")
}

// spec: M1-2.2
fn read_and_write_ready_together_are_one_event(variant: Variant) {
    let (ours, mut theirs) = pair();
    theirs.write_all(b"x").unwrap();
    assert_eq!(told(variant, ours, Interest::BOTH), "readable writable");
    let (ours, _theirs) = pair();
    assert_eq!(told(variant, ours, Interest::BOTH), "writable");
    let (ours, _theirs) = pair();
    assert_eq!(told(variant, ours, Interest::READ), "");
}

// spec: M1-2.3, M1-2.4
fn the_readiness_is_what_the_kernel_said_within_the_interest(variant: Variant) {
    let (read, write, both) = (Interest::READ, Interest::WRITE, Interest::BOTH);
    assert_eq!(told(variant, hung_up_pipe().0, read), "readable hangup");
    assert_eq!(told(variant, hung_up_pipe().0, both), "readable hangup");
    assert_eq!(told(variant, broken_pipe().0, write), "writable error");
    assert_eq!(told(variant, unreachable_socket().0, read), "readable error");
    assert_eq!(told(variant, unreachable_socket().0, both), "readable writable error");
    assert_eq!(told(variant, closed_stream().0, write), "writable hangup");
    assert_eq!(told(variant, reset_stream().0, both), "readable writable error hangup");
    let (half_closed, _theirs) = half_closed_stream();
    assert_eq!(told(variant, half_closed, read), "readable");
    assert_eq!(told(variant, unconnected_stream().0, both), "readable writable hangup");
}

// spec: M1-2.4, M1-2.3
fn a_hang_up_is_not_told_to_the_error_callback(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let watcher = event_loop.cx().watch(hung_up_pipe().0, watch(&log, "error")).unwrap();
    assert_at_rest(&event_loop);
    // Nor when the interest changes while it is there.
    watcher.modify(Interest::WRITE).unwrap();
    assert_at_rest(&event_loop);
    watcher.modify(Interest::NONE).unwrap();
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
}

// spec: M1-2.4
fn a_masked_hang_up_is_told_as_soon_as_somebody_reads(variant: Variant) {
    for masked in [Interest::NONE, Interest::WRITE] {
        let event_loop = build(variant);
        let log = Log::new();
        let watch = watch(&log, "read write").interest(masked);
        let watcher = event_loop.cx().watch(hung_up_pipe().0, watch).unwrap();
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
        watcher.modify(Interest::READ).unwrap();
        // And then level-triggered, as was asked for.
        for _ in 0..3 {
            tick(&event_loop);
            assert_eq!(log.take(), ["read"]);
        }
        watcher.modify(masked).unwrap();
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

/// An address at which nobody listens.
fn refusing_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Makes it an error, soon.
fn connect_in_vain(fd: RawFd) {
    let SocketAddr::V4(address) = refusing_address() else { unreachable!() };
    // SAFETY: all zeroes is a value of this type.
    let mut name: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    name.sin_family = libc::AF_INET as libc::sa_family_t;
    name.sin_port = address.port().to_be();
    name.sin_addr.s_addr = u32::from(*address.ip()).to_be();
    let length = size_of_val(&name) as libc::socklen_t;
    // SAFETY: the name is of this type and length, and outlives the call.
    unsafe { libc::connect(fd, (&raw const name).cast(), length) };
}

// spec: M1-2.4, M1-2.3, M1-2.6
fn a_masked_hang_up_hides_no_later_error(variant: Variant) {
    let modes: [fn(Watch<OwnedFd>) -> Watch<OwnedFd>; 4] = [
        |watch| watch,
        Watch::edge_triggered,
        // What nobody was told about does not count as the one shot.
        Watch::one_shot,
        |watch| watch.edge_triggered().one_shot(),
    ];
    for (i, mode) in modes.into_iter().enumerate() {
        let event_loop = build(variant);
        let log = Log::new();
        let watch = mode(watch(&log, "error"));
        let watcher = event_loop.cx().watch(unconnected_stream().0, watch).unwrap();
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0, "hung up, which is no error");
        connect_in_vain(watcher.fd());
        let lost = |_: &Cx| panic!("the error is lost");
        event_loop.cx().set_timeout(Duration::from_secs(10), lost).unwrap();
        while log.len() == 0 {
            event_loop.turn(None).unwrap();
        }
        assert_eq!(log.take(), ["error"]);
        // From now on in the mode that was asked for.
        for _ in 0..2 {
            tick(&event_loop);
            assert_eq!(log.take().len(), usize::from(i == 0));
        }
    }
}

// spec: M1-2.4
fn a_hang_up_leaves_a_level_triggered_writer_level_triggered(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    // Hung up and writable for ever, with nobody who reads.
    drop(event_loop.cx().watch(closed_stream().0, watch(&log, "write")).unwrap());
    for _ in 0..5 {
        tick(&event_loop);
        assert_eq!(log.take(), ["write"]);
    }
}

// spec: M1-2.4, F-12
fn a_peer_that_shuts_down_its_write_side_does_not_wake_a_writer(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (ours, theirs) = half_closed_stream();
    fill(&ours);
    drop(event_loop.cx().watch(ours, watch(&log, "write error")).unwrap());
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    drain(&theirs);
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
}

// spec: M1-2.4, F-12, TK-4
fn what_nobody_listens_to_does_not_wake_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let (cx, log) = (event_loop.cx(), Log::new());
    // All at once, and some of them only after the loop knows the descriptor.
    let (reader, writer) = std::io::pipe().unwrap();
    let (other_reader, other_writer) = std::io::pipe().unwrap();
    let (ours, theirs) = pair();
    drop(cx.watch(reader, watch(&log, "read write").interest(Interest::WRITE)).unwrap());
    drop(cx.watch(other_writer, watch(&log, "")).unwrap());
    drop(cx.watch(ours, watch(&log, "read write").interest(Interest::NONE)).unwrap());
    assert_at_rest(&event_loop);
    drop((writer, other_reader, theirs));
    drop(cx.watch(hung_up_pipe().0, watch(&log, "write error")).unwrap());
    drop(cx.watch(unreachable_socket().0, watch(&log, "")).unwrap());
    drop(cx.watch(unconnected_stream().0, watch(&log, "error")).unwrap());
    assert_at_rest(&event_loop);
    assert_at_rest(&event_loop);
    assert_eq!(log.len(), 0);
    // Others are served all the while.
    let (ours, mut theirs) = pair();
    drop(cx.watch(ours, watch(&log, "read")).unwrap());
    theirs.write_all(b"x").unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["read"]);
}

// spec: M1-2.4, TK-4
fn an_interest_without_a_callback_does_not_wake_the_loop(variant: Variant) {
    for is_changed_later in [false, true] {
        let event_loop = build(variant);
        let (ours, mut theirs) = pair();
        let log = Log::new();
        let watch = watch(&log, "read");
        let watcher = if is_changed_later {
            let watcher = event_loop.cx().watch(ours, watch).unwrap();
            watcher.modify(Interest::BOTH).unwrap();
            watcher
        } else {
            event_loop.cx().watch(ours, watch.interest(Interest::BOTH)).unwrap()
        };
        // Writable all the time.
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
        theirs.write_all(b"x").unwrap();
        tick(&event_loop);
        assert_eq!(log.take(), ["read"]);
        watcher.modify(Interest::WRITE).unwrap();
        assert_at_rest(&event_loop);
        assert_eq!(log.len(), 0);
    }
}

// spec: TM-12, F-12
fn what_nobody_listens_to_does_not_stop_virtual_time(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let log = Log::new();
    drop(event_loop.cx().watch(hung_up_pipe().0, watch(&log, "write")).unwrap());
    drop(event_loop.cx().watch(broken_pipe().0, watch(&log, "")).unwrap());
    event_loop.cx().set_timeout(HOUR, log.note("timer")).unwrap();
    for _ in 0..10 {
        event_loop.turn(None).unwrap();
        if log.len() > 0 {
            break;
        }
    }
    assert_eq!(log.take(), ["timer"]);
}

// spec: M1-2.6, M1-2.3
fn a_one_shot_is_not_used_up_by_an_error_that_is_over(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let sockets = [Rc::new(unreachable_socket().0), Rc::new(unreachable_socket().0)];
    for (i, name) in ["one", "other"].into_iter().enumerate() {
        let (noted, other) = (log.clone(), Rc::clone(&sockets[1 - i]));
        let watch = Watch::new().read(move |_, _: &Rc<UdpSocket>| {
            noted.push(name);
            other.take_error().unwrap();
        });
        drop(event_loop.cx().watch(Rc::clone(&sockets[i]), watch.one_shot()).unwrap());
    }
    // The first one makes the error of the other one go away, which is in the same batch. Whether that
    // one is called all the same is not said; but if not, it is still armed.
    tick(&event_loop);
    for socket in &sockets {
        let sender = UdpSocket::bind(socket.peer_addr().unwrap()).unwrap();
        sender.send_to(b"x", socket.local_addr().unwrap()).unwrap();
    }
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(sorted(log.take()), ["one", "other"]);
}
