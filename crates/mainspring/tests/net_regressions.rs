//! Defects that futures for sockets and pipes have had, and some that they were suspected of.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/watch.rs"]
mod watching;

use std::cell::Cell;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Write};
use std::mem::ManuallyDrop;
use std::net;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as unix;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use awaiting::run;
use common::timers::{MS, tick};
use common::wakers::CountingWaker;
use common::{Variant, turn_until_quiet, wait_until};
use mainspring::net::{
    TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream, lookup_host, pipe,
};
use mainspring::{Cx, EventLoop, Interest, VirtualClock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use watching::{alone, pair_at};

suite! {
    a_timeout_ends_what_is_always_ready,
    a_sleep_beside_what_is_always_ready_ends,
    a_socket_that_does_not_listen_is_no_tcp_listener,
    a_socket_that_does_not_listen_is_no_unix_listener,
    a_tcp_listener_that_fails_for_ever_pauses,
    a_unix_listener_that_fails_for_ever_pauses,
    errors_of_a_tcp_listener_that_nobody_heeds_do_not_spin,
    errors_of_a_unix_listener_that_nobody_heeds_do_not_spin,
    readers_that_have_given_up_are_forgotten,
    writers_that_have_given_up_are_forgotten,
    what_comes_after_urgent_data_is_read,
    a_rebuilt_poller_loses_nothing,
    readable_does_not_mean_the_error_queue,
    a_shutdown_polls_a_future_that_let_others_go_first,
    a_guest_goes_on_with_a_future_that_let_others_go_first,
    a_lookup_that_waits_at_the_end_of_the_loop_is_an_error,
}

/// More operations than a future gets to do in a few ticks.
const MANY: usize = 10_000;

/// A stream of the loop, and its peer, which blocks.
fn half_pair(cx: &Cx) -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    (TcpStream::from_std(cx, ours).unwrap(), theirs)
}

/// A loop whose time passes as it is told.
fn with_clock(variant: Variant, clock: &VirtualClock) -> EventLoop {
    variant.builder().clock(clock).build().unwrap()
}

/// Never waits, and takes a millisecond for each byte.
async fn be_busy(cx: &Cx, clock: &VirtualClock) -> io::Result<()> {
    let (ours, theirs) = UnixStream::pair(cx)?;
    for _ in 0..MANY {
        ours.write_all(b"x").await?;
        theirs.read_exact(&mut [0]).await?;
        clock.advance(MS);
    }
    Ok(())
}

// spec: BX-1
fn a_timeout_ends_what_is_always_ready(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = with_clock(variant, &clock);
    let cx = event_loop.cx();
    let outcome = event_loop.block_on(cx.timeout(50 * MS, be_busy(cx, &clock))).unwrap();
    assert!(outcome.is_err(), "there was a time limit");
    // One poll of the future, in which the time comes, and another one.
    assert!(clock.elapsed() < 1_000 * MS);
}

// spec: BX-1
fn a_sleep_beside_what_is_always_ready_ends(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = with_clock(variant, &clock);
    let cx = event_loop.cx();
    let mut busy = pin!(be_busy(cx, &clock));
    let mut sleep = pin!(cx.sleep(50 * MS));
    let is_over = event_loop.block_on(poll_fn(|context| {
        if busy.as_mut().poll(context).is_ready() {
            return Poll::Ready(false);
        }
        sleep.as_mut().poll(context).map(|()| true)
    }));
    assert!(is_over.unwrap(), "the time has come");
    assert!(clock.elapsed() < 1_000 * MS);
}

// spec: BX-1
fn a_socket_that_does_not_listen_is_no_tcp_listener(variant: Variant) {
    let event_loop = variant.build();
    let datagrams: OwnedFd = net::UdpSocket::bind("127.0.0.1:0").unwrap().into();
    let connection: OwnedFd = half_pair(event_loop.cx()).1.into();
    for socket in [datagrams, connection] {
        let error = TcpListener::from_std(event_loop.cx(), socket.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}

// spec: BX-1
fn a_socket_that_does_not_listen_is_no_unix_listener(variant: Variant) {
    let event_loop = variant.build();
    let datagrams: OwnedFd = unix::UnixDatagram::unbound().unwrap().into();
    let connection: OwnedFd = unix::UnixStream::pair().unwrap().0.into();
    for socket in [datagrams, connection] {
        let error = UnixListener::from_std(event_loop.cx(), socket.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}

/// Puts something else behind the number of a descriptor.
fn replace(number: &impl AsRawFd, file: &impl AsFd) {
    // SAFETY: it stays open and its owner's; only what is behind it changes.
    let mut owner = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number.as_raw_fd()) });
    rustix::io::dup3(file, &mut owner, rustix::io::DupFlags::CLOEXEC).unwrap();
}

/// Polls for a second of virtual time, which passes only while the loop has nothing to do.
fn poll_for_a_second<T>(
    event_loop: &EventLoop,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>,
) {
    let mut polls = 0;
    let outcome = event_loop.block_on(event_loop.cx().timeout(
        1_000 * MS,
        poll_fn(|context| {
            polls += 1;
            assert!(polls < 1_000, "the loop spins");
            poll(context).map(drop)
        }),
    ));
    assert!(outcome.unwrap().is_err(), "there is nothing to be had");
    assert!(polls > 2, "it is tried again after a pause");
}

// spec: BX-1
fn a_tcp_listener_that_fails_for_ever_pauses(variant: Variant) {
    let event_loop = with_clock(variant, &VirtualClock::auto());
    let cx = event_loop.cx();
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let listener = TcpListener::from_std(cx, listener).unwrap();
    let real = listener.get_ref().try_clone().unwrap();
    // What accepting says of this one could be said of a connection.
    replace(listener.get_ref(), &net::UdpSocket::bind("127.0.0.1:0").unwrap());
    poll_for_a_second(&event_loop, |context| listener.poll_accept(context));
    replace(listener.get_ref(), &real);
    let client = net::TcpStream::connect(address).unwrap();
    let (_, from) = run(&event_loop, listener.accept());
    assert_eq!(from, client.local_addr().unwrap());
}

// spec: BX-1
fn a_unix_listener_that_fails_for_ever_pauses(variant: Variant) {
    let event_loop = with_clock(variant, &VirtualClock::auto());
    let cx = event_loop.cx();
    let name = format!("net-regressions-{}-{}", variant.name, std::process::id());
    let address = unix::SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(cx, &address).unwrap();
    let real = listener.get_ref().try_clone().unwrap();
    replace(listener.get_ref(), &unix::UnixDatagram::unbound().unwrap());
    poll_for_a_second(&event_loop, |context| listener.poll_accept(context));
    replace(listener.get_ref(), &real);
    let mut client = unix::UnixStream::connect_addr(&address).unwrap();
    run(&event_loop, async {
        let (server, _) = listener.accept().await?;
        client.write_all(b"x")?;
        server.read_exact(&mut [0]).await
    });
}

/// Puts something that is no socket into the place of one that listens, and accepts for a second of virtual time,
/// whatever comes of it.
fn accept_in_vain<T>(
    event_loop: &EventLoop,
    listener: &(impl AsRawFd + AsFd),
    mut accept: impl AsyncFnMut() -> io::Result<T>,
) {
    let _real = listener.as_fd().try_clone_to_owned().unwrap();
    replace(listener, &File::open("/dev/null").unwrap());
    let mut errors = 0;
    let outcome = event_loop.block_on(event_loop.cx().timeout(1_000 * MS, async {
        loop {
            let error = accept().await.err().expect("it is no socket");
            assert_eq!(Errno::from_io_error(&error), Some(Errno::NOTSOCK), "{error}");
            errors += 1;
            assert!(errors < 1_000, "the loop spins");
        }
    }));
    let Err(_) = outcome.unwrap();
    assert!(errors > 2, "it is told of now and then");
}

// spec: BX-1
fn errors_of_a_tcp_listener_that_nobody_heeds_do_not_spin(variant: Variant) {
    let event_loop = with_clock(variant, &VirtualClock::auto());
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = TcpListener::from_std(event_loop.cx(), listener).unwrap();
    accept_in_vain(&event_loop, listener.get_ref(), || listener.accept());
}

// spec: BX-1
fn errors_of_a_unix_listener_that_nobody_heeds_do_not_spin(variant: Variant) {
    let event_loop = with_clock(variant, &VirtualClock::auto());
    let name = format!("net-regressions-vain-{}-{}", variant.name, std::process::id());
    let address = unix::SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(event_loop.cx(), &address).unwrap();
    accept_in_vain(&event_loop, listener.get_ref(), || listener.accept());
}

/// Polls for many tasks that give up: few of them are kept, and the others are woken, for it is not known that they
/// have given up. Then for one that waits, and returns how often that is woken from then on.
fn poll_and_give_up<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> impl Fn() -> usize {
    let tasks: Vec<_> = (0..1_000)
        .map(|_| {
            let (task, waker) = CountingWaker::new();
            assert!(poll(&mut Context::from_waker(&waker)).is_pending());
            task
        })
        .collect();
    let is_kept = |task: &Arc<CountingWaker>| Arc::strong_count(task) > 1;
    let kept = tasks.iter().filter(|task| is_kept(task)).count();
    assert!(kept <= 100, "{kept} tasks are kept");
    assert!(tasks.iter().all(|task| is_kept(task) != (task.count() == 1)), "one is forgotten");
    // One that goes on waits now, even if the first poll has woken it.
    let (last, waker) = CountingWaker::new();
    for _ in 0..2 {
        assert!(poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let before = last.count();
    move || last.count() - before
}

// spec: BX-1
fn readers_that_have_given_up_are_forgotten(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = half_pair(event_loop.cx());
    let wakes = poll_and_give_up(|context| ours.poll_read(context, &mut [0; 8]));
    theirs.write_all(b"x").unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(wakes(), 1);
}

// spec: BX-1
fn writers_that_have_given_up_are_forgotten(variant: Variant) {
    let event_loop = variant.build();
    let (ours, theirs) = UnixStream::pair(event_loop.cx()).unwrap();
    while ours.try_write(&[0; 65_536]).is_ok() {}
    let wakes = poll_and_give_up(|context| ours.poll_write(context, b"x"));
    while theirs.try_read(&mut [0; 65_536]).is_ok() {}
    turn_until_quiet(&event_loop);
    assert_eq!(wakes(), 1);
}

#[cfg(feature = "futures-io")]
#[test]
// spec: BX-1
fn flushing_does_not_wait_for_room() {
    use futures_io::AsyncWrite;
    use std::pin::Pin;

    let event_loop = common::builder().build().unwrap();
    let (ours, _theirs) = unix::UnixStream::pair().unwrap();
    let mut ours = mainspring::AsyncFd::new(event_loop.cx(), ours).unwrap();
    let (_, waker) = CountingWaker::new();
    let mut context = Context::from_waker(&waker);
    while Pin::new(&mut ours).poll_write(&mut context, &[0; 65_536]).is_ready() {}
    assert!(Pin::new(&mut &ours).poll_flush(&mut context).is_ready());
    assert!(Pin::new(&mut &ours).poll_close(&mut context).is_ready());
    assert!(Pin::new(&mut ours).poll_flush(&mut context).is_ready());
    assert!(Pin::new(&mut ours).poll_close(&mut context).is_ready());
}

// spec: BX-1
fn what_comes_after_urgent_data_is_read(variant: Variant) {
    for ticks in [0, 4] {
        let event_loop = variant.build();
        let cx = event_loop.cx();
        let (ours, mut theirs) = half_pair(cx);
        theirs.write_all(b"abc").unwrap();
        run(&event_loop, async {
            for _ in 0..ticks {
                cx.yield_now().await;
            }
            rustix::net::send(&theirs, b"!", SendFlags::OOB)?;
            theirs.write_all(b"def")?;
            let mut bytes = [0; 6];
            ours.read_exact(&mut bytes).await?;
            assert_eq!(&bytes, b"abcdef");
            Ok(())
        });
    }
}

/// A number that nobody gets by chance.
const PHANTOM: RawFd = 700;

// spec: BX-1
fn a_rebuilt_poller_loses_nothing(variant: Variant) {
    let _alone = alone();
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let (ours, mut theirs) = half_pair(cx);
    let received = Rc::new(Cell::new(0));
    let count = Rc::clone(&received);
    drop(cx.spawn_local(async move {
        let mut bytes = [0; 100];
        while let Ok(n @ 1..) = ours.read(&mut bytes).await {
            count.set(count.get() + n);
        }
    }));
    for round in 1..=20 {
        let (phantom, mut peer) = pair_at(PHANTOM);
        let _duplicate = phantom.try_clone().unwrap();
        // SAFETY: nobody uses it after it was closed; that the loop knows it is what is tested.
        let borrowed = unsafe { BorrowedFd::borrow_raw(PHANTOM) };
        cx.register_fd(borrowed, Interest::READ, |_, _, _| unreachable!()).unwrap();
        tick(&event_loop);
        drop(phantom);
        let _ = cx.unregister_fd(PHANTOM);
        // The system tells of it, and the loop cannot say that it should not.
        peer.write_all(b"x").unwrap();
        for _ in 0..3 {
            theirs.write_all(b"hello").unwrap();
            tick(&event_loop);
        }
        turn_until_quiet(&event_loop);
        assert_eq!(received.get(), round * 15);
    }
}

// spec: BX-1
fn readable_does_not_mean_the_error_queue(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let socket = net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let is_wanted: libc::c_int = 1;
    // SAFETY: the pointer is to a number of the size that is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_IP,
            libc::IP_RECVERR,
            (&raw const is_wanted).cast(),
            size_of_val(&is_wanted) as libc::socklen_t,
        )
    };
    assert_eq!(result, 0);
    // A host of its own, at which nobody is.
    let nobody = net::UdpSocket::bind("127.9.8.7:0").unwrap().local_addr().unwrap();
    socket.send_to(b"x", nobody).unwrap();
    poll(&mut [PollFd::new(&socket, PollFlags::empty())], None).unwrap();
    let socket = UdpSocket::from_std(cx, socket).unwrap();
    let rounds = Rc::new(Cell::new(0));
    let count = Rc::clone(&rounds);
    drop(cx.spawn_local(async move {
        while socket.readable().await.is_ok() {
            let _ = socket.try_recv(&mut [0; 8]);
            count.set(count.get() + 1);
        }
    }));
    for _ in 0..100 {
        tick(&event_loop);
    }
    assert!(rounds.get() < 10, "{} rounds", rounds.get());
}

/// A future that reads more than it may in one poll, and how much it has read.
fn read_much(cx: &Cx) -> Rc<Cell<usize>> {
    let (sender, receiver) = pipe::pair(cx).unwrap();
    assert_eq!(sender.try_write(&[7; 1_000]).unwrap(), 1_000);
    let received = Rc::new(Cell::new(0));
    let count = Rc::clone(&received);
    drop(cx.spawn_local(async move {
        while let Ok(1..) = receiver.read(&mut [0]).await {
            count.set(count.get() + 1);
        }
        drop(sender);
    }));
    received
}

// spec: BX-1, SH-5
fn a_shutdown_polls_a_future_that_let_others_go_first(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    let received = read_much(&cx);
    cx.submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    assert_eq!(received.get(), 1_000);
}

// spec: BX-1, BX-2
fn a_guest_goes_on_with_a_future_that_let_others_go_first(variant: Variant) {
    let guest = variant.build().into_guest().unwrap();
    let received = read_much(guest.cx());
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    while received.get() < 1_000 {
        let ready = poll(&mut [PollFd::new(&guest, PollFlags::IN)], Some(&at_once)).unwrap();
        assert_eq!(ready, 1, "there is more to be read after {}", received.get());
        guest.turn().unwrap();
    }
}

// spec: BX-1, SH-5
fn a_lookup_that_waits_at_the_end_of_the_loop_is_an_error(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    event_loop.turn(Duration::ZERO).unwrap();
    let (task, waker) = CountingWaker::new();
    let mut context = Context::from_waker(&waker);
    let mut lookup = pin!(lookup_host(&cx, "localhost:80"));
    assert!(lookup.as_mut().poll(&mut context).is_pending());
    drop(event_loop);
    // At once, or by the worker, if that was just about to bring the answer.
    wait_until(|| task.count() > 0);
    let Poll::Ready(found) = lookup.as_mut().poll(&mut context) else { panic!("it still waits") };
    assert!(found.is_err(), "{found:?}");
}
