//! UDP sockets, as futures.
#![cfg(all(unix, not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/fds.rs"]
mod fds;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket as StdSocket};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use awaiting::{both, give_up, poll_once, run};
use common::{Log, Variant, wait_until_sleeping};
use fds::{build, has_no_trace};
use mainspring::net::UdpSocket;
use mainspring::{Cx, Error};

suite! {
    a_datagram_arrives_with_its_sender,
    a_datagram_that_is_too_long_for_the_buffer_is_cut_off,
    a_datagram_without_content_arrives,
    a_receiver_that_waits_is_woken_while_the_loop_sleeps,
    a_connected_socket_hears_its_peer_only,
    an_error_that_the_peer_reports_is_told_once_and_the_socket_goes_on,
    an_error_that_the_peer_reports_wakes_who_waits,
    a_datagram_that_is_too_long_to_be_sent_is_an_error,
    a_receiver_that_gives_up_takes_nothing,
    two_receivers_share_what_arrives,
    what_was_peeked_at_can_be_received,
    trying_does_not_wait,
    a_socket_can_be_exchanged_with_the_standard_library,
    an_address_that_is_in_use_is_an_error,
    the_first_address_that_can_be_had_is_taken,
    a_socket_of_a_loop_that_has_ended_says_so,
    a_socket_is_forgotten_when_it_is_dropped,
    many_datagrams_do_not_starve_the_loop,
}

async fn local(cx: &Cx) -> io::Result<UdpSocket> {
    UdpSocket::bind(cx, (Ipv4Addr::LOCALHOST, 0)).await
}

/// An address at which nobody listens, on a host of its own, so that nobody will by chance.
fn nobody() -> SocketAddr {
    StdSocket::bind("127.8.7.6:0").unwrap().local_addr().unwrap()
}

// spec: BX-1
fn a_datagram_arrives_with_its_sender(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, UdpSocket::bind(cx, "127.0.0.1:0").await?);
        assert_eq!(ours.send_to(b"question", theirs.local_addr()?).await?, 8);
        let mut buffer = [0; 64];
        let (n, from) = theirs.recv_from(&mut buffer).await?;
        assert_eq!((&buffer[..n], from), (&b"question"[..], ours.local_addr()?));
        assert_eq!(theirs.send_to(b"answer", from).await?, 6);
        let (n, from) = ours.recv_from(&mut buffer).await?;
        assert_eq!((&buffer[..n], from), (&b"answer"[..], theirs.local_addr()?));
        Ok(())
    });
}

// spec: BX-1
fn a_datagram_that_is_too_long_for_the_buffer_is_cut_off(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, local(cx).await?);
        let to = theirs.local_addr()?;
        for length in [100, 3, 10, 0, 11] {
            ours.send_to(&vec![length; length.into()], to).await?;
        }
        let mut buffer = [0; 10];
        assert_eq!(theirs.recv_from(&mut buffer).await?.0, 10);
        assert_eq!(buffer, [100; 10]);
        // The rest is lost, and the next one is whole. A short one does not mean that it was the last.
        assert_eq!(theirs.recv(&mut buffer).await?, 3);
        assert_eq!(buffer[..4], [3, 3, 3, 100]);
        assert_eq!(theirs.recv(&mut buffer).await?, 10);
        assert_eq!(theirs.recv(&mut buffer).await?, 0);
        // No room at all is no reason not to take it.
        assert_eq!(theirs.recv(&mut []).await?, 0);
        give_up(cx, theirs.recv(&mut buffer)).await;
        Ok(())
    });
}

// spec: BX-1
fn a_datagram_without_content_arrives(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, local(cx).await?);
        assert_eq!(ours.send_to(b"", theirs.local_addr()?).await?, 0);
        assert_eq!(theirs.recv_from(&mut [0; 8]).await?, (0, ours.local_addr()?));
        // It is not the end.
        ours.send_to(b"more", theirs.local_addr()?).await?;
        assert_eq!(theirs.recv(&mut [0; 8]).await?, 4);
        Ok(())
    });
}

// spec: BX-1, WK-1
fn a_receiver_that_waits_is_woken_while_the_loop_sleeps(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let handle = event_loop.handle();
    let theirs = StdSocket::bind("127.0.0.1:0").unwrap();
    run(&event_loop, async {
        let ours = local(cx).await?;
        let to = ours.local_addr()?;
        for round in 0..10_u8 {
            let (handle, copy) = (handle.clone(), theirs.try_clone()?);
            let sender = thread::spawn(move || {
                wait_until_sleeping(&handle);
                copy.send_to(&[round], to).unwrap();
            });
            let mut buffer = [0; 8];
            assert_eq!(ours.recv_from(&mut buffer).await?, (1, theirs.local_addr()?));
            assert_eq!(buffer[0], round);
            sender.join().unwrap();
        }
        Ok(())
    });
}

// spec: BX-1
fn a_connected_socket_hears_its_peer_only(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs, other) = (local(cx).await?, local(cx).await?, local(cx).await?);
        assert_eq!(ours.peer_addr().unwrap_err().kind(), ErrorKind::NotConnected);
        assert!(ours.send(b"to whom?").await.is_err());
        ours.connect(cx, theirs.local_addr()?).await?;
        assert_eq!(ours.peer_addr()?, theirs.local_addr()?);
        other.send_to(b"from another", ours.local_addr()?).await?;
        theirs.send_to(b"from the peer", ours.local_addr()?).await?;
        let mut buffer = [0; 64];
        let n = ours.recv(&mut buffer).await?;
        assert_eq!(&buffer[..n], b"from the peer");
        give_up(cx, ours.recv(&mut buffer)).await;
        ours.send(b"to the peer").await?;
        let (n, from) = theirs.recv_from(&mut buffer).await?;
        assert_eq!((&buffer[..n], from), (&b"to the peer"[..], ours.local_addr()?));
        Ok(())
    });
}

// spec: BX-1
fn an_error_that_the_peer_reports_is_told_once_and_the_socket_goes_on(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let ours = local(cx).await?;
        let address = nobody();
        ours.connect(cx, address).await?;
        for _ in 0..3 {
            ours.send(b"is somebody there?").await?;
            let error = ours.recv(&mut [0; 8]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            give_up(cx, ours.recv(&mut [0; 8])).await;
        }
        // By the sender, too.
        ours.send(b"is somebody there?").await?;
        let error = ours.send(b"and now?").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let theirs = UdpSocket::bind(cx, address).await?;
        ours.send(b"now?").await?;
        let mut buffer = [0; 8];
        let (n, from) = theirs.recv_from(&mut buffer).await?;
        assert_eq!(&buffer[..n], b"now?");
        theirs.send_to(b"yes", from).await?;
        assert_eq!(ours.recv(&mut buffer).await?, 3);
        Ok(())
    });
}

// spec: BX-1
fn an_error_that_the_peer_reports_wakes_who_waits(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let handle = event_loop.handle();
    run(&event_loop, async {
        let ours = local(cx).await?;
        ours.connect(cx, nobody()).await?;
        let copy = ours.get_ref().try_clone()?;
        let sender = thread::spawn(move || {
            wait_until_sleeping(&handle);
            copy.send(b"is somebody there?").unwrap();
        });
        let error = ours.recv(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        sender.join().unwrap();
        Ok(())
    });
}

// spec: BX-1, ER-2
fn a_datagram_that_is_too_long_to_be_sent_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, local(cx).await?);
        assert!(ours.send_to(&[0; 70_000], theirs.local_addr()?).await.is_err());
        ours.send_to(b"short", theirs.local_addr()?).await?;
        assert_eq!(theirs.recv(&mut [0; 64]).await?, 5);
        Ok(())
    });
}

// spec: BX-1
fn a_receiver_that_gives_up_takes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, local(cx).await?);
        for round in 0..20 {
            give_up(cx, theirs.recv(&mut [0; 8])).await;
            {
                let mut buffer = [0; 8];
                let mut waiting = pin!(theirs.recv_from(&mut buffer));
                assert!(poll_once(waiting.as_mut()).await.is_none());
                ours.send_to(&[round], theirs.local_addr()?).await?;
                if round % 2 == 0 {
                    // It has been woken, and is not polled again.
                    theirs.readable().await?;
                }
            }
            let mut buffer = [0xff; 8];
            assert_eq!(theirs.recv(&mut buffer).await?, 1);
            assert_eq!(buffer[0], round);
        }
        Ok(())
    });
}

// spec: BX-1
fn two_receivers_share_what_arrives(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let log = Log::new();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, Rc::new(local(cx).await?));
        let receivers = [0, 1].map(|_| {
            let (theirs, log) = (Rc::clone(&theirs), log.clone());
            cx.spawn_local(async move {
                let mut buffer = [0; 8];
                theirs.recv(&mut buffer).await.unwrap();
                log.push(buffer[0]);
            })
        });
        cx.yield_now().await;
        for content in [1, 2] {
            ours.send_to(&[content], theirs.local_addr()?).await?;
        }
        for receiver in receivers {
            receiver.await.unwrap();
        }
        Ok(())
    });
    let mut seen = log.take();
    seen.sort_unstable();
    assert_eq!(seen, [1, 2]);
}

// spec: BX-1
fn what_was_peeked_at_can_be_received(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, local(cx).await?);
        ours.send_to(b"hello", theirs.local_addr()?).await?;
        let mut buffer = [0; 8];
        for _ in 0..2 {
            assert_eq!(theirs.peek_from(&mut buffer).await?, (5, ours.local_addr()?));
        }
        assert_eq!(theirs.recv(&mut buffer).await?, 5);
        give_up(cx, theirs.peek_from(&mut buffer)).await;
        Ok(())
    });
}

// spec: BX-1
fn trying_does_not_wait(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = (local(cx).await?, local(cx).await?);
        let mut buffer = [0; 8];
        assert_eq!(theirs.try_recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(theirs.try_recv_from(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        // Who was told that there is nothing can wait for something.
        give_up(cx, theirs.readable()).await;
        let (woken, sent) = both(theirs.readable(), async {
            ours.writable().await?;
            ours.try_send_to(b"hello", theirs.local_addr()?)
        })
        .await;
        assert_eq!((woken?, sent?), ((), 5));
        assert_eq!(theirs.try_recv_from(&mut buffer)?, (5, ours.local_addr()?));
        ours.connect(cx, theirs.local_addr()?).await?;
        assert_eq!(ours.try_send(b"more")?, 4);
        assert_eq!(theirs.recv(&mut buffer).await?, 4);
        Ok(())
    });
}

// spec: BX-1
fn a_socket_can_be_exchanged_with_the_standard_library(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let std = StdSocket::bind("127.0.0.1:0").unwrap();
    let address = std.local_addr().unwrap();
    let std = run(&event_loop, async {
        let socket = UdpSocket::from_std(cx, std)?;
        give_up(cx, socket.recv(&mut [0; 8])).await;
        socket.get_ref().set_broadcast(true)?;
        Ok(socket.into_std())
    });
    assert!(has_no_trace(&event_loop));
    assert_eq!(std.local_addr().unwrap(), address);
    assert!(std.broadcast().unwrap());
    // And back again.
    let socket = UdpSocket::from_std(cx, std).unwrap();
    run(&event_loop, async {
        local(cx).await?.send_to(b"hello", address).await?;
        assert_eq!(socket.recv(&mut [0; 8]).await?, 5);
        Ok(())
    });
}

// spec: BX-1, ER-2
fn an_address_that_is_in_use_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let ours = local(cx).await?;
        let error = UdpSocket::bind(cx, ours.local_addr()?).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let error = UdpSocket::bind(cx, "192.0.2.1:0").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        Ok(())
    });
}

// spec: BX-1
fn the_first_address_that_can_be_had_is_taken(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let used = local(cx).await?;
        let free = nobody();
        let socket = UdpSocket::bind(cx, &[used.local_addr()?, free][..]).await?;
        assert_eq!(socket.local_addr()?, free);
        let error = UdpSocket::bind(cx, &[][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        Ok(())
    });
}

fn is_terminated(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    matches!(inner, Some(Error::Terminated))
}

// spec: BX-1, ER-1
fn a_socket_of_a_loop_that_has_ended_says_so(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let socket = run(&event_loop, local(cx));
    let theirs = StdSocket::bind("127.0.0.1:0").unwrap();
    event_loop.cx().close();
    let _ = event_loop.run();
    let refused = UdpSocket::from_std(cx, theirs.try_clone().unwrap()).unwrap_err();
    assert!(is_terminated(&refused), "{refused:?}");
    let mut context = Context::from_waker(Waker::noop());
    let mut buffer = [0; 8];
    match socket.poll_recv_from(&mut context, &mut buffer) {
        Poll::Ready(Err(error)) => assert!(is_terminated(&error), "{error:?}"),
        other => panic!("{other:?}"),
    }
    // What needs no waiting still works.
    theirs.send_to(b"late", socket.local_addr().unwrap()).unwrap();
    assert_eq!(socket.try_recv(&mut buffer).unwrap(), 4);
}

// spec: BX-1
fn a_socket_is_forgotten_when_it_is_dropped(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    for _ in 0..100 {
        let (ours, theirs) = (run(&event_loop, local(cx)), run(&event_loop, local(cx)));
        run(&event_loop, async {
            ours.send_to(b"unread", theirs.local_addr()?).await?;
            give_up(cx, ours.recv(&mut [0; 8])).await;
            Ok(())
        });
        drop((ours, theirs));
        assert!(has_no_trace(&event_loop));
    }
    // A socket that nobody awaits does not keep the loop.
    let _socket = run(&event_loop, local(cx));
    event_loop.run_until_idle().unwrap();
}

// spec: BX-1
fn many_datagrams_do_not_starve_the_loop(variant: Variant) {
    let event_loop = variant.builder().future_budget(1).build().unwrap();
    let cx = event_loop.cx();
    let log = Log::new();
    let other = log.clone();
    run(&event_loop, async {
        let ours = local(cx).await?;
        let to = ours.local_addr()?;
        let busy = async {
            // Each of these finds its datagram at once.
            for _ in 0..2000 {
                ours.send_to(b"to myself", to).await?;
                ours.recv(&mut [0; 16]).await?;
            }
            log.push("done");
            io::Result::Ok(())
        };
        cx.submit(move |_| other.push("other")).unwrap();
        busy.await
    });
    assert_eq!(log.take(), ["other", "done"]);
}
