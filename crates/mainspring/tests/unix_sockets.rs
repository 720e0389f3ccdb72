//! Unix sockets, as futures.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/fds.rs"]
mod fds;

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{self as std_net, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

use awaiting::{both, give_up, poll_once, run};
use common::timers::manual;
use common::{Variant, turn_until_quiet, wait_until_sleeping};
use fds::{build, has_no_trace};
use mainspring::net::{UnixDatagram, UnixListener, UnixStream};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketType,
};

suite! {
    a_stream_connects_to_a_path,
    a_stream_connects_to_an_abstract_name,
    who_connects_can_be_heard_while_the_loop_sleeps,
    a_path_where_nobody_listens_is_an_error,
    a_path_that_was_left_behind_is_an_error_that_says_what_to_do,
    what_cannot_be_a_path_is_an_error,
    connecting_waits_for_room_in_the_backlog,
    a_connection_that_is_given_up_is_not_made,
    an_accept_that_is_given_up_takes_nothing,
    two_tasks_can_accept,
    one_direction_can_be_ended,
    a_half_that_is_dropped_ends_its_direction,
    a_peer_that_is_gone_is_the_end_and_an_error,
    a_peer_that_goes_wakes_who_waits,
    much_goes_both_ways,
    a_read_does_not_stop_at_a_descriptor,
    streams_and_listeners_can_be_exchanged_with_the_standard_library,
    sockets_are_forgotten_when_they_are_dropped,
    a_loop_that_has_ended_takes_no_sockets,
    datagrams_arrive_with_their_sender,
    datagrams_go_to_abstract_names,
    a_datagram_that_is_too_long_for_the_buffer_is_cut_off,
    a_connected_socket_for_datagrams_hears_its_peer_only,
    a_datagram_to_nobody_is_an_error,
    a_socket_for_datagrams_whose_path_is_in_use_is_an_error,
    a_datagram_waits_for_a_receiver_that_is_full,
    a_datagram_waits_for_a_receiver_that_is_full_of_what_others_sent,
    waiting_for_a_receiver_that_is_full_does_not_spin,
    a_datagram_that_is_given_up_is_not_sent,
    trying_does_not_wait,
}

/// A path that does not exist, and does not stay.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("mainspring-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(env::temp_dir().join(name))
    }

    /// An abstract name that nobody else has.
    fn abstract_name() -> SocketAddr {
        let place = Self::new();
        SocketAddr::from_abstract_name(place.0.as_os_str().as_encoded_bytes()).unwrap()
    }
}

impl AsRef<Path> for Place {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Bytes that show where they come from.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8).collect()
}

// spec: BX-1
fn a_stream_connects_to_a_path(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    run(&event_loop, async {
        let listener = UnixListener::bind(cx, &place)?;
        assert_eq!(listener.local_addr()?.as_pathname(), Some(&*place.0));
        let client = UnixStream::connect(cx, &place).await?;
        let (server, from) = listener.accept().await?;
        assert!(from.is_unnamed() && client.local_addr()?.is_unnamed());
        assert_eq!(client.peer_addr()?.as_pathname(), Some(&*place.0));
        assert_eq!(server.local_addr()?.as_pathname(), Some(&*place.0));
        client.write_all(b"question").await?;
        let mut bytes = [0; 8];
        server.read_exact(&mut bytes).await?;
        assert_eq!(&bytes, b"question");
        server.write_all(b"answer").await?;
        assert_eq!(client.read(&mut bytes).await?, 6);
        assert_eq!(&bytes[..6], b"answer");
        Ok(())
    });
    assert!(fs::exists(&place).unwrap(), "the file stays");
}

// spec: BX-1
fn a_stream_connects_to_an_abstract_name(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let name = Place::abstract_name();
    run(&event_loop, async {
        let listener = UnixListener::bind_addr(cx, &name)?;
        assert_eq!(listener.local_addr()?.as_abstract_name(), name.as_abstract_name());
        let error = UnixListener::bind_addr(cx, &name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let client = UnixStream::connect_addr(cx, &name).await?;
        let (server, _) = listener.accept().await?;
        client.write_all(b"hello").await?;
        assert_eq!(server.read(&mut [0; 8]).await?, 5);
        // It is free when the listener is gone.
        drop(listener);
        let error = UnixStream::connect_addr(cx, &name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        UnixListener::bind_addr(cx, &name)?;
        Ok(())
    });
}

// spec: BX-1, WK-1
fn who_connects_can_be_heard_while_the_loop_sleeps(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    let listener = UnixListener::bind(cx, &place).unwrap();
    for _ in 0..10 {
        let (handle, path) = (event_loop.handle(), place.0.clone());
        let client = thread::spawn(move || {
            wait_until_sleeping(&handle);
            std_net::UnixStream::connect(path).unwrap()
        });
        let (server, _) = run(&event_loop, listener.accept());
        drop(client.join().unwrap());
        assert_eq!(run(&event_loop, server.read(&mut [0; 8])), 0);
    }
}

// spec: BX-1, ER-2
fn a_path_where_nobody_listens_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    run(&event_loop, async {
        let error = UnixStream::connect(cx, &place).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        drop(UnixListener::bind(cx, &place)?);
        let error = UnixStream::connect(cx, &place).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let (ours, _theirs) = UnixStream::pair(cx)?;
        let error = UnixStream::connect_addr(cx, &ours.local_addr()?).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        Ok(())
    });
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1, ER-1
fn a_path_that_was_left_behind_is_an_error_that_says_what_to_do(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    drop(UnixListener::bind(cx, &place).unwrap());
    let error = UnixListener::bind(cx, &place).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    let text = error.to_string();
    assert!(text.contains(place.0.to_str().unwrap()) && text.contains("remove it"), "{text}");
    fs::remove_file(&place).unwrap();
    UnixListener::bind(cx, &place).unwrap();
}

// spec: BX-1, ER-2
fn what_cannot_be_a_path_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        for path in ["x".repeat(200), "nul\0byte".to_owned()] {
            let kinds = [
                UnixListener::bind(cx, &path).unwrap_err().kind(),
                UnixStream::connect(cx, &path).await.unwrap_err().kind(),
                UnixDatagram::bind(cx, &path).unwrap_err().kind(),
                UnixDatagram::unbound(cx)?.send_to(b"x", &path).await.unwrap_err().kind(),
            ];
            assert_eq!(kinds, [ErrorKind::InvalidInput; 4], "{path}");
        }
        assert!(UnixListener::bind(cx, "/no/such/place/socket").is_err());
        Ok(())
    });
}

/// A listener with room for few connections that nobody has accepted.
fn listen_with_little_room(place: &Place) -> std_net::UnixListener {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(&place.0).unwrap()).unwrap();
    rustix::net::listen(&socket, 1).unwrap();
    socket.into()
}

// spec: BX-1
fn connecting_waits_for_room_in_the_backlog(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Rc::new(Place::new());
    let listener = UnixListener::from_std(cx, listen_with_little_room(&place)).unwrap();
    run(&event_loop, async {
        let clients: Vec<_> = (0..20_u8)
            .map(|i| {
                let (cx, place) = (cx.clone(), Rc::clone(&place));
                cx.clone().spawn_local(async move {
                    UnixStream::connect(&cx, &*place).await?.write_all(&[i]).await
                })
            })
            .collect();
        for _ in 0..3 {
            cx.yield_now().await;
        }
        assert!(clients.iter().any(|client| !client.is_finished()), "there is too much room");
        let mut seen = Vec::new();
        for _ in 0..20 {
            let (server, _) = listener.accept().await?;
            let mut byte = [0];
            server.read_exact(&mut byte).await?;
            seen.push(byte[0]);
        }
        seen.sort_unstable();
        assert_eq!(seen, Vec::from_iter(0..20));
        for client in clients {
            client.await.unwrap()?;
        }
        Ok(())
    });
}

// spec: BX-1
fn a_connection_that_is_given_up_is_not_made(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    let listener = listen_with_little_room(&place);
    listener.set_nonblocking(true).unwrap();
    run(&event_loop, async {
        let mut made = Vec::new();
        loop {
            let mut connect = pin!(UnixStream::connect(cx, &place));
            match poll_once(connect.as_mut()).await {
                Some(stream) => made.push(stream?),
                None => break,
            }
        }
        assert!(!made.is_empty());
        let accepted = std::iter::from_fn(|| listener.accept().ok()).count();
        assert_eq!(accepted, made.len());
        cx.yield_now().await;
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        Ok(())
    });
}

// spec: BX-1
fn an_accept_that_is_given_up_takes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    let listener = UnixListener::bind(cx, &place).unwrap();
    run(&event_loop, async {
        for _ in 0..5 {
            give_up(cx, listener.accept()).await;
            let client;
            {
                let mut waiting = pin!(listener.accept());
                assert!(poll_once(waiting.as_mut()).await.is_none());
                client = UnixStream::connect(cx, &place).await?;
                cx.yield_now().await;
            }
            let (server, _) = listener.accept().await?;
            client.write_all(b"hello").await?;
            assert_eq!(server.read(&mut [0; 8]).await?, 5);
        }
        Ok(())
    });
}

// spec: BX-1
fn two_tasks_can_accept(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    let listener = UnixListener::bind(cx, &place).unwrap();
    run(&event_loop, async {
        let (servers, clients) = both(both(listener.accept(), listener.accept()), async {
            let first = UnixStream::connect(cx, &place).await?;
            io::Result::Ok((first, UnixStream::connect(cx, &place).await?))
        })
        .await;
        servers.0?;
        servers.1?;
        clients?;
        Ok(())
    });
}

// spec: BX-1
fn one_direction_can_be_ended(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = UnixStream::pair(cx)?;
        let mut bytes = [0; 16];
        ours.write_all(b"the last").await?;
        ours.shutdown(Shutdown::Write)?;
        assert_eq!(ours.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(theirs.read(&mut bytes).await?, 8);
        assert_eq!(theirs.read(&mut bytes).await?, 0);
        // The other direction goes on.
        for _ in 0..3 {
            give_up(cx, ours.read(&mut bytes)).await;
            theirs.write_all(b"still here").await?;
            assert_eq!(ours.read(&mut bytes).await?, 10);
        }
        theirs.shutdown(Shutdown::Both)?;
        assert_eq!(ours.read(&mut bytes).await?, 0);
        Ok(())
    });
}

// spec: BX-1
fn a_half_that_is_dropped_ends_its_direction(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, mut theirs) = UnixStream::pair(cx)?;
        let (read, write) = ours.into_split();
        write.write_all(b"question").await?;
        drop(write);
        let mut bytes = [0; 16];
        let (their_read, their_write) = theirs.split();
        assert_eq!(their_read.read(&mut bytes).await?, 8);
        assert_eq!(their_read.read(&mut bytes).await?, 0);
        their_write.write_all(b"answer").await?;
        assert_eq!(read.read(&mut bytes).await?, 6);
        // Borrowed halves end nothing.
        give_up(cx, read.read(&mut bytes)).await;
        Ok(())
    });
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1
fn a_peer_that_is_gone_is_the_end_and_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = UnixStream::pair(cx)?;
        theirs.write_all(b"goodbye").await?;
        drop(theirs);
        let mut bytes = [0; 16];
        assert_eq!(ours.read(&mut bytes).await?, 7);
        for _ in 0..3 {
            assert_eq!(ours.read(&mut bytes).await?, 0);
            assert_eq!(ours.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
        Ok(())
    });
}

// spec: BX-1, WK-1
fn a_peer_that_goes_wakes_who_waits(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    for read_before in [false, true] {
        let (ours, mut theirs) = std_net::UnixStream::pair().unwrap();
        let ours = UnixStream::from_std(cx, ours).unwrap();
        if read_before {
            // Less than there was room for.
            io::Write::write_all(&mut theirs, b"hello").unwrap();
            assert_eq!(run(&event_loop, ours.read(&mut [0; 16])), 5);
        }
        let handle = event_loop.handle();
        let peer = thread::spawn(move || {
            wait_until_sleeping(&handle);
            drop(theirs);
        });
        assert_eq!(run(&event_loop, ours.read(&mut [0; 16])), 0);
        peer.join().unwrap();
    }
}

// spec: BX-1
fn much_goes_both_ways(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let sent = pattern(1_000_003);
    run(&event_loop, async {
        let (ours, theirs) = UnixStream::pair(cx)?;
        let send = async |stream: &UnixStream| {
            stream.write_all(&sent).await?;
            stream.shutdown(Shutdown::Write)
        };
        let receive = async |stream: &UnixStream| {
            let mut received = Vec::new();
            let mut buffer = [0; 10_000];
            loop {
                match stream.read(&mut buffer).await? {
                    0 => return io::Result::Ok(received),
                    n => received.extend_from_slice(&buffer[..n]),
                }
            }
        };
        let (there, back) =
            both(both(send(&ours), receive(&theirs)), both(send(&theirs), receive(&ours))).await;
        there.0?;
        back.0?;
        assert!(there.1? == sent && back.1? == sent);
        Ok(())
    });
}

/// Sends bytes with a descriptor.
fn send_with_descriptor(socket: impl AsFd, bytes: &[u8]) {
    let fds = [socket.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    rustix::net::sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, SendFlags::empty())
        .unwrap();
}

// spec: BX-1
fn a_read_does_not_stop_at_a_descriptor(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, theirs) = std_net::UnixStream::pair().unwrap();
    let ours = UnixStream::from_std(cx, ours).unwrap();
    run(&event_loop, async {
        for _ in 0..3 {
            io::Write::write_all(&mut &theirs, b"one").unwrap();
            send_with_descriptor(&theirs, b"two");
            io::Write::write_all(&mut &theirs, b"three").unwrap();
            // All that there is to be heard of it has been heard.
            cx.yield_now().await;
            cx.yield_now().await;
            let (mut received, mut buffer) = (Vec::new(), [0; 64]);
            while received.len() < 11 {
                let n = ours.read(&mut buffer).await?;
                received.extend_from_slice(&buffer[..n]);
            }
            assert_eq!(received, b"onetwothree");
        }
        Ok(())
    });
}

// spec: BX-1
fn streams_and_listeners_can_be_exchanged_with_the_standard_library(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    let listener =
        UnixListener::from_std(cx, std_net::UnixListener::bind(&place).unwrap()).unwrap();
    let client = std_net::UnixStream::connect(&place).unwrap();
    let (server, _) = run(&event_loop, listener.accept());
    let client = UnixStream::from_std(cx, client).unwrap();
    run(&event_loop, async {
        client.write_all(b"hello").await?;
        assert_eq!(server.read(&mut [0; 8]).await?, 5);
        Ok(())
    });
    let (server, listener, client) = (server.into_std(), listener.into_std(), client.into_std());
    assert!(has_no_trace(&event_loop));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    client.set_nonblocking(false).unwrap();
    io::Write::write_all(&mut &server, b"x").unwrap();
    assert_eq!(io::Read::read(&mut &client, &mut [0; 8]).unwrap(), 1);
}

// spec: BX-1
fn sockets_are_forgotten_when_they_are_dropped(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    for _ in 0..50 {
        let place = Place::new();
        let listener = UnixListener::bind(cx, &place).unwrap();
        let client = run(&event_loop, UnixStream::connect(cx, &place));
        let (server, _) = run(&event_loop, listener.accept());
        let datagrams = UnixDatagram::pair(cx).unwrap();
        run(&event_loop, async {
            give_up(cx, server.read(&mut [0; 8])).await;
            give_up(cx, listener.accept()).await;
            give_up(cx, datagrams.0.recv(&mut [0; 8])).await;
            Ok(())
        });
        // What nobody awaits does not keep the loop.
        event_loop.run_until_idle().unwrap();
        drop((listener, client, server, datagrams));
        assert!(has_no_trace(&event_loop));
    }
}

// spec: BX-1, ER-1
fn a_loop_that_has_ended_takes_no_sockets(variant: Variant) {
    let event_loop = build(variant);
    let other = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    let (ours, _theirs) = UnixStream::pair(cx).unwrap();
    let _listener = UnixListener::bind(other.cx(), &place).unwrap();
    event_loop.cx().close();
    let _ = event_loop.run();
    let error = other.block_on(ours.read(&mut [0; 8])).unwrap().unwrap_err();
    assert!(error.get_ref().unwrap().is::<mainspring::Error>(), "{error:?}");
    assert!(UnixStream::pair(cx).is_err());
    assert!(UnixDatagram::pair(cx).is_err());
    assert!(UnixListener::bind(cx, Place::new()).is_err());
    assert!(other.block_on(UnixStream::connect(cx, &place)).unwrap().is_err());
}

// spec: BX-1
fn datagrams_arrive_with_their_sender(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (here, there) = (Place::new(), Place::new());
    run(&event_loop, async {
        let (ours, theirs) = (UnixDatagram::bind(cx, &here)?, UnixDatagram::bind(cx, &there)?);
        assert_eq!(ours.send_to(b"question", &there).await?, 8);
        let mut buffer = [0; 16];
        let (n, from) = theirs.recv_from(&mut buffer).await?;
        assert_eq!(&buffer[..n], b"question");
        assert_eq!(from.as_pathname(), Some(&*here.0));
        theirs.send_to_addr(b"answer", &from).await?;
        assert_eq!(ours.recv(&mut buffer).await?, 6);
        // One without an address.
        UnixDatagram::unbound(cx)?.send_to(b"", &there).await?;
        let (n, from) = theirs.recv_from(&mut buffer).await?;
        assert_eq!((n, from.is_unnamed()), (0, true));
        Ok(())
    });
}

// spec: BX-1
fn datagrams_go_to_abstract_names(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let name = Place::abstract_name();
    run(&event_loop, async {
        let theirs = UnixDatagram::bind_addr(cx, &name)?;
        let ours = UnixDatagram::unbound(cx)?;
        ours.send_to_addr(b"hello", &name).await?;
        ours.connect_addr(&name)?;
        ours.send(b"again").await?;
        for _ in 0..2 {
            assert_eq!(theirs.recv(&mut [0; 8]).await?, 5);
        }
        assert_eq!(theirs.local_addr()?.as_abstract_name(), name.as_abstract_name());
        assert_eq!(ours.peer_addr()?.as_abstract_name(), name.as_abstract_name());
        Ok(())
    });
}

// spec: BX-1
fn a_datagram_that_is_too_long_for_the_buffer_is_cut_off(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = UnixDatagram::pair(cx)?;
        for length in [100, 3, 10, 0] {
            ours.send(&vec![length; length.into()]).await?;
        }
        let mut buffer = [0; 10];
        assert_eq!(theirs.recv(&mut buffer).await?, 10);
        assert_eq!(buffer, [100; 10]);
        assert_eq!(theirs.recv(&mut buffer).await?, 3);
        assert_eq!(theirs.recv(&mut buffer).await?, 10);
        assert_eq!(theirs.recv(&mut buffer).await?, 0);
        give_up(cx, theirs.recv(&mut buffer)).await;
        Ok(())
    });
}

// spec: BX-1
fn a_connected_socket_for_datagrams_hears_its_peer_only(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (here, there) = (Place::new(), Place::new());
    run(&event_loop, async {
        let (ours, theirs) = (UnixDatagram::bind(cx, &here)?, UnixDatagram::bind(cx, &there)?);
        assert!(ours.peer_addr().is_err());
        assert_eq!(ours.send(b"x").await.unwrap_err().kind(), ErrorKind::NotConnected);
        ours.connect(&there)?;
        let other = UnixDatagram::unbound(cx)?;
        let error = other.send_to(b"not for you", &here).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        theirs.send_to(b"for you", &here).await?;
        assert_eq!(ours.recv(&mut [0; 16]).await?, 7);
        ours.send(b"thanks").await?;
        assert_eq!(theirs.recv(&mut [0; 16]).await?, 6);
        ours.shutdown(Shutdown::Write)?;
        assert_eq!(ours.send(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        Ok(())
    });
}

// spec: BX-1, ER-2
fn a_datagram_to_nobody_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    run(&event_loop, async {
        let ours = UnixDatagram::unbound(cx)?;
        assert_eq!(ours.send_to(b"x", &place).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(ours.connect(&place).unwrap_err().kind(), ErrorKind::NotFound);
        let theirs = UnixDatagram::bind(cx, &place)?;
        ours.connect(&place)?;
        drop(theirs);
        for _ in 0..2 {
            let error = ours.send(b"x").await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotConnected));
        }
        let error = ours.send_to(b"x", &place).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        // It goes on.
        fs::remove_file(&place)?;
        let theirs = UnixDatagram::bind(cx, &place)?;
        ours.send_to(b"hello", &place).await?;
        assert_eq!(theirs.recv(&mut [0; 8]).await?, 5);
        Ok(())
    });
}

// spec: BX-1, ER-1
fn a_socket_for_datagrams_whose_path_is_in_use_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    drop(UnixDatagram::bind(cx, &place).unwrap());
    let error = UnixDatagram::bind(cx, &place).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().contains("remove it"), "{error}");
}

/// Sends until there is no room.
fn fill(send: impl Fn() -> io::Result<usize>) -> usize {
    let mut sent = 0;
    loop {
        match send() {
            Ok(_) => sent += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return sent;
            }
        }
    }
}

// spec: BX-1, WK-1
fn a_datagram_waits_for_a_receiver_that_is_full(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, theirs) = std_net::UnixDatagram::pair().unwrap();
    let ours = UnixDatagram::from_std(cx, ours).unwrap();
    let sent = fill(|| ours.try_send(b"x"));
    run(&event_loop, async {
        give_up(cx, ours.send(b"x")).await;
        Ok(())
    });
    let handle = event_loop.handle();
    let receiver = thread::spawn(move || {
        wait_until_sleeping(&handle);
        for _ in 0..=sent {
            theirs.recv(&mut [0; 8]).unwrap();
        }
    });
    assert_eq!(run(&event_loop, ours.send(b"x")), 1);
    receiver.join().unwrap();
}

// spec: BX-1
fn a_datagram_waits_for_a_receiver_that_is_full_of_what_others_sent(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    run(&event_loop, async {
        let theirs = UnixDatagram::bind(cx, &place)?;
        let (ours, other) = (UnixDatagram::unbound(cx)?, UnixDatagram::unbound(cx)?);
        let to = theirs.local_addr()?;
        let sent = fill(|| other.try_send_to_addr(b"from another", &to));
        give_up(cx, ours.send_to(b"from us", &place)).await;
        let mut buffer = [0; 16];
        {
            let mut waiting = pin!(ours.send_to(b"from us", &place));
            assert!(poll_once(waiting.as_mut()).await.is_none());
            for _ in 0..sent {
                assert_eq!(theirs.recv(&mut buffer).await?, 12);
            }
            // Nobody tells us that there is room now.
            assert_eq!(waiting.await?, 7);
        }
        assert_eq!(theirs.recv(&mut buffer).await?, 7);
        Ok(())
    });
}

// spec: BX-1
fn waiting_for_a_receiver_that_is_full_does_not_spin(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx();
    let place = Place::new();
    let theirs = std_net::UnixDatagram::bind(&place).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let (ours, other) = (UnixDatagram::unbound(cx).unwrap(), UnixDatagram::unbound(cx).unwrap());
    let to = theirs.local_addr().unwrap();
    fill(|| other.try_send_to_addr(b"from another", &to));
    let sending = cx.spawn_local(async move { ours.send_to_addr(b"from us", &to).await });
    for _ in 0..10 {
        // Each time there is nothing more to do until time passes.
        turn_until_quiet(&event_loop);
        assert!(!sending.is_finished());
        clock.advance(Duration::from_millis(50));
    }
    while theirs.recv(&mut [0; 16]).is_ok() {}
    turn_until_quiet(&event_loop);
    clock.advance(Duration::from_millis(50));
    turn_until_quiet(&event_loop);
    assert!(sending.is_finished());
    assert_eq!(theirs.recv(&mut [0; 16]).unwrap(), 7);
}

// spec: BX-1
fn a_datagram_that_is_given_up_is_not_sent(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = UnixDatagram::pair(cx)?;
        let sent = fill(|| ours.try_send(b"before"));
        let mut buffer = [0; 16];
        {
            let mut waiting = pin!(ours.send(b"given up"));
            assert!(poll_once(waiting.as_mut()).await.is_none());
            for _ in 0..sent {
                assert_eq!(theirs.recv(&mut buffer).await?, 6);
            }
            // It has been woken, and is not polled again.
            ours.writable().await?;
        }
        ours.send(b"after").await?;
        assert_eq!(theirs.recv(&mut buffer).await?, 5);
        give_up(cx, theirs.recv(&mut buffer)).await;
        Ok(())
    });
}

// spec: BX-1
fn trying_does_not_wait(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = UnixDatagram::pair(cx)?;
        let mut buffer = [0; 8];
        assert_eq!(theirs.try_recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(theirs.try_recv_from(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        give_up(cx, theirs.readable()).await;
        ours.try_send(b"hello")?;
        theirs.readable().await?;
        assert_eq!(theirs.try_recv(&mut buffer)?, 5);
        let (ours, theirs) = UnixStream::pair(cx)?;
        assert_eq!(theirs.try_read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(ours.try_write(b"hello")?, 5);
        theirs.readable().await?;
        assert_eq!(theirs.try_read(&mut buffer)?, 5);
        Ok(())
    });
}
