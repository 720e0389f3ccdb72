//! TCP, as futures.
#![cfg(all(unix, not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::Cell;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{self, Shutdown, SocketAddr};
use std::pin::pin;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use awaiting::{both, give_up, poll_once, run};
use common::{Log, Variant, turn_until_quiet, wait_until_sleeping};
use fds::{build, has_no_trace};
use mainspring::net::{ListenOptions, TcpListener, TcpStream};
use mainspring::{Cx, Error};

suite! {
    what_is_written_is_read,
    a_reader_that_waits_is_woken_while_the_loop_sleeps,
    data_and_the_end_that_come_at_once_are_both_read,
    an_end_that_comes_after_the_event_of_the_data_is_read,
    an_end_that_comes_after_the_data_was_read_is_read,
    data_that_comes_in_pieces_is_read_to_the_end,
    each_direction_ends_by_itself,
    who_reads_is_woken_when_this_side_ends_the_direction,
    a_shutdown_is_repeatable,
    a_connection_that_is_reset_is_an_error,
    a_reset_wakes_who_waits,
    writing_to_a_closed_connection_is_an_error,
    nobody_listens,
    the_next_address_is_tried,
    a_listener_that_is_dropped_resets_who_is_not_accepted,
    an_address_that_is_in_use_is_an_error,
    several_listeners_share_a_port_if_all_of_them_say_so,
    what_gives_up_takes_nothing_and_all_goes_on,
    who_gives_up_a_connection_leaves_no_trace,
    two_tasks_read_what_comes,
    two_tasks_accept_what_comes,
    a_writer_waits_for_room_and_goes_on,
    trying_does_not_wait,
    what_was_peeked_at_is_read,
    nothing_is_read_into_no_room,
    several_pieces_are_written_as_one,
    more_pieces_than_the_system_takes_are_written_in_part,
    reading_exactly_more_than_there_is_is_an_error,
    the_halves_of_a_borrowed_stream_work_at_once,
    the_halves_of_a_stream_have_owners_of_their_own,
    a_dropped_half_that_writes_is_the_end_for_the_other_side,
    halves_are_reunited_without_an_end,
    halves_of_different_streams_are_not_reunited,
    a_stream_can_be_exchanged_with_the_standard_library,
    options_and_addresses,
    everything_says_so_when_the_loop_has_ended,
    a_stream_is_forgotten_when_it_is_dropped,
    a_burst_of_connections_does_not_starve_the_loop,
}

async fn listen(cx: &Cx) -> io::Result<TcpListener> {
    TcpListener::bind(cx, "127.0.0.1:0").await
}

/// Two streams that are connected, both of the loop.
async fn pair(cx: &Cx) -> io::Result<(TcpStream, TcpStream)> {
    let listener = listen(cx).await?;
    let (ours, theirs) =
        both(TcpStream::connect(cx, listener.local_addr()?), listener.accept()).await;
    Ok((ours?, theirs?.0))
}

/// A stream of the loop, and its peer, which blocks.
fn half_pair(cx: &Cx) -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    (TcpStream::from_std(cx, ours).unwrap(), theirs)
}

/// Closes a stream such that the other side gets a reset.
fn reset(stream: net::TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}

/// An address at which nobody listens, on a host of its own, so that nobody will by chance.
fn nobody() -> SocketAddr {
    net::TcpListener::bind("127.9.8.7:0").unwrap().local_addr().unwrap()
}

async fn read_to_end(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(all),
            n => all.extend(&bytes[..n]),
        }
    }
}

/// Fills the buffers between two streams.
fn fill(stream: &TcpStream) -> usize {
    let mut all = 0;
    loop {
        match stream.try_write(&[0; 65_536]) {
            Ok(n) => all += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

// spec: BX-1
fn what_is_written_is_read(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        let mut bytes = [0; 16];
        for _ in 0..100 {
            assert_eq!(ours.write(b"question").await?, 8);
            assert_eq!(theirs.read(&mut bytes).await?, 8);
            assert_eq!(&bytes[..8], b"question");
            theirs.write_all(b"answer").await?;
            ours.read_exact(&mut bytes[..6]).await?;
            assert_eq!(&bytes[..6], b"answer");
        }
        Ok(())
    });
}

// spec: BX-1, WK-5
fn a_reader_that_waits_is_woken_while_the_loop_sleeps(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = half_pair(event_loop.cx());
    let handle = event_loop.handle();
    let peer = thread::spawn(move || {
        for byte in 0..10 {
            wait_until_sleeping(&handle);
            theirs.write_all(&[byte]).unwrap();
            theirs.read_exact(&mut [0]).unwrap();
        }
    });
    run(&event_loop, async {
        for expected in 0..10 {
            let mut byte = [0; 8];
            assert_eq!((ours.read(&mut byte).await?, byte[0]), (1, expected));
            ours.write_all(&[0]).await?;
        }
        assert_eq!(ours.read(&mut [0]).await?, 0);
        Ok(())
    });
    peer.join().unwrap();
}

// spec: BX-1
fn data_and_the_end_that_come_at_once_are_both_read(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        for half_close in [true, false] {
            let (ours, mut theirs) = half_pair(cx);
            // So that the next event is the only one that could tell of them.
            give_up(cx, ours.read(&mut [0; 64])).await;
            theirs.write_all(b"last")?;
            if half_close {
                theirs.shutdown(Shutdown::Write)?;
            } else {
                drop(theirs);
            }
            let mut bytes = [0; 64];
            assert_eq!(ours.read(&mut bytes).await?, 4, "less than there is room for");
            for _ in 0..3 {
                assert_eq!(ours.read(&mut bytes).await?, 0);
            }
        }
        Ok(())
    });
}

// spec: BX-1
fn an_end_that_comes_after_the_event_of_the_data_is_read(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, mut theirs) = half_pair(cx);
        let mut read = [0; 64];
        let mut read = pin!(ours.read(&mut read));
        assert!(poll_once(read.as_mut()).await.is_none());
        theirs.write_all(b"last")?;
        for _ in 0..3 {
            cx.yield_now().await; // the event of the data is harvested
        }
        drop(theirs);
        assert_eq!(read.await?, 4);
        assert_eq!(ours.read(&mut [0; 64]).await?, 0);
        Ok(())
    });
}

// spec: BX-1
fn an_end_that_comes_after_the_data_was_read_is_read(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, mut theirs) = half_pair(event_loop.cx());
        theirs.write_all(b"last")?;
        assert_eq!(ours.read(&mut [0; 64]).await?, 4);
        drop(theirs);
        assert_eq!(ours.read(&mut [0; 64]).await?, 0);
        Ok(())
    });
}

// spec: BX-1
fn data_that_comes_in_pieces_is_read_to_the_end(variant: Variant) {
    let event_loop = build(variant);
    let (ours, mut theirs) = half_pair(event_loop.cx());
    let sizes = || (1..200).map(|n| n * 37 % 1500);
    let peer = thread::spawn(move || {
        for size in sizes() {
            theirs.write_all(&vec![7; size]).unwrap();
        }
    });
    let all = run(&event_loop, read_to_end(&ours));
    assert_eq!(all.len(), sizes().sum());
    peer.join().unwrap();
}

// spec: BX-1
fn each_direction_ends_by_itself(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        for we_begin in [true, false] {
            let (a, b) = pair(event_loop.cx()).await?;
            let (first, second) = if we_begin { (a, b) } else { (b, a) };
            first.write_all(b"question").await?;
            first.shutdown(Shutdown::Write)?;
            assert_eq!(first.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
            assert_eq!(read_to_end(&second).await?, b"question");
            for _ in 0..10 {
                second.write_all(b"answer").await?;
                let mut bytes = [0; 64];
                assert_eq!(first.read(&mut bytes).await?, 6);
                assert_eq!(second.read(&mut bytes).await?, 0);
            }
            second.shutdown(Shutdown::Write)?;
            assert_eq!(first.read(&mut [0; 64]).await?, 0);
        }
        Ok(())
    });
}

// spec: BX-1
fn who_reads_is_woken_when_this_side_ends_the_direction(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = pair(cx).await?;
        let ours = Rc::new(ours);
        let reader = Rc::clone(&ours);
        let task = cx.spawn_local(async move { reader.read(&mut [0; 64]).await });
        cx.yield_now().await;
        ours.shutdown(Shutdown::Read)?;
        assert_eq!(task.await.unwrap()?, 0);
        ours.write_all(b"still").await?;
        assert_eq!(theirs.read(&mut [0; 64]).await?, 5);
        Ok(())
    });
}

// spec: BX-1
fn a_shutdown_is_repeatable(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        ours.shutdown(Shutdown::Write)?;
        ours.shutdown(Shutdown::Write)?;
        drop(theirs);
        assert_eq!(ours.read(&mut [0]).await?, 0);
        ours.shutdown(Shutdown::Both)?;
        ours.shutdown(Shutdown::Both)?;
        assert_eq!(ours.read(&mut [0]).await?, 0);
        Ok(())
    });
}

// spec: BX-1
fn a_connection_that_is_reset_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = half_pair(event_loop.cx());
        reset(theirs);
        let error = ours.read(&mut [0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_eq!(ours.read(&mut [0; 64]).await?, 0, "the error is told once");
        assert_eq!(ours.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        Ok(())
    });
}

// spec: BX-1
fn a_reset_wakes_who_waits(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = half_pair(cx);
        let ours = Rc::new(ours);
        fill(&ours);
        let (reader, writer) = (Rc::clone(&ours), Rc::clone(&ours));
        let read = cx.spawn_local(async move { reader.read(&mut [0; 64]).await });
        let write = cx.spawn_local(async move { writer.write(b"x").await });
        for _ in 0..3 {
            cx.yield_now().await;
        }
        assert!(!read.is_finished() && !write.is_finished());
        reset(theirs);
        let results = [read.await.unwrap(), write.await.unwrap()];
        assert!(
            results.iter().any(|result| matches!(
                result, Err(error) if error.kind() == ErrorKind::ConnectionReset
            )),
            "{results:?}"
        );
        Ok(())
    });
}

// spec: BX-1
fn writing_to_a_closed_connection_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = half_pair(event_loop.cx());
        drop(theirs);
        let error = loop {
            match ours.write(b"x").await {
                Ok(n) => assert_eq!(n, 1),
                Err(error) => break error,
            }
        };
        let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        assert!(kinds.contains(&error.kind()), "{error}");
        Ok(())
    });
}

// spec: BX-1
fn nobody_listens(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let error = event_loop.block_on(TcpStream::connect(cx, nobody())).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1
fn the_next_address_is_tried(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let listener = listen(cx).await?;
        let addresses = [nobody(), listener.local_addr()?];
        let stream = TcpStream::connect(cx, addresses).await?;
        assert_eq!(stream.peer_addr()?, addresses[1]);
        let taken = [listener.local_addr()?, SocketAddr::from(([127, 0, 0, 1], 0))];
        let other = TcpListener::bind(cx, taken).await?;
        assert_ne!(other.local_addr()?, taken[0]);
        Ok(())
    });
}

// spec: BX-1
fn a_listener_that_is_dropped_resets_who_is_not_accepted(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let listener = listen(cx).await?;
        let stream = TcpStream::connect(cx, listener.local_addr()?).await?;
        give_up(cx, stream.read(&mut [0; 64])).await;
        let mut bytes = [0; 64];
        let mut read = pin!(stream.read(&mut bytes));
        assert!(poll_once(read.as_mut()).await.is_none());
        drop(listener);
        assert_eq!(read.await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        Ok(())
    });
}

// spec: BX-1
fn an_address_that_is_in_use_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let listener = listen(cx).await?;
        let address = listener.local_addr()?;
        let error = TcpListener::bind(cx, address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(listener);
        let listener = TcpListener::bind(cx, address).await?;
        // One that has ended connections can be had again, too.
        let stream = TcpStream::connect(cx, address).await?;
        drop(listener.accept().await?);
        assert_eq!(stream.read(&mut [0]).await?, 0);
        drop((stream, listener));
        TcpListener::bind(cx, address).await?;
        Ok(())
    });
}

// spec: BX-1, BX-4
fn several_listeners_share_a_port_if_all_of_them_say_so(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let options = ListenOptions::new().reuse_port(true).backlog(u32::MAX);
        let first = TcpListener::bind_with(cx, "127.0.0.1:0", &options).await?;
        let address = first.local_addr()?;
        let second = TcpListener::bind_with(cx, address, &options).await?;
        assert_eq!(second.local_addr()?, address);
        let error = TcpListener::bind(cx, address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(second);
        let (stream, accepted) = both(TcpStream::connect(cx, address), first.accept()).await;
        assert_eq!(accepted?.1, stream?.local_addr()?);
        Ok(())
    });
}

// spec: BX-1
fn what_gives_up_takes_nothing_and_all_goes_on(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let listener = listen(cx).await?;
        give_up(cx, listener.accept()).await;
        give_up(cx, listener.accept()).await;
        let (ours, theirs) =
            both(TcpStream::connect(cx, listener.local_addr()?), listener.accept()).await;
        let (ours, theirs) = (ours?, theirs?.0);
        let mut bytes = [0; 64];
        give_up(cx, ours.read(&mut bytes)).await;
        give_up(cx, ours.peek(&mut bytes)).await;
        give_up(cx, ours.readable()).await;
        give_up(cx, ours.read_exact(&mut bytes)).await;
        theirs.write_all(b"data").await?;
        assert_eq!(ours.read(&mut bytes).await?, 4);
        let filled = fill(&ours);
        give_up(cx, ours.write(b"lost")).await;
        give_up(cx, ours.write_vectored(&[IoSlice::new(b"lost"), IoSlice::new(b"lost")])).await;
        give_up(cx, ours.write_all(b"lost")).await;
        give_up(cx, ours.writable()).await;
        theirs.read_exact(&mut vec![0; filled]).await?;
        ours.write_all(b"kept").await?;
        ours.shutdown(Shutdown::Write)?;
        assert_eq!(read_to_end(&theirs).await?, b"kept");
        Ok(())
    });
}

// spec: BX-1
fn who_gives_up_a_connection_leaves_no_trace(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        // A listener whose backlog is full answers nobody, so a further connection is not made.
        let options = ListenOptions::new().backlog(0);
        let listener = TcpListener::bind_with(cx, "127.0.0.1:0", &options).await?.into_std();
        let address = listener.local_addr()?;
        let mut made = Vec::new();
        loop {
            let mut connect = Box::pin(TcpStream::connect(cx, address));
            let mut found = None;
            for _ in 0..5 {
                found = poll_once(connect.as_mut()).await;
                if found.is_some() {
                    break;
                }
                cx.yield_now().await;
            }
            match found {
                Some(stream) => made.push(stream?),
                None => break,
            }
            assert!(made.len() < 100, "the backlog has no end");
        }
        drop(made);
        assert!(has_no_trace(&event_loop));
        Ok(())
    });
}

// spec: BX-1
fn two_tasks_read_what_comes(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = half_pair(cx);
    let ours = Rc::new(ours);
    let log = Log::new();
    for name in [1, 2] {
        let (ours, log) = (Rc::clone(&ours), log.clone());
        cx.spawn_local(async move {
            let mut byte = [0];
            while ours.read(&mut byte).await.unwrap() != 0 {
                log.push(byte[0]);
            }
            log.push(name);
        });
    }
    turn_until_quiet(&event_loop);
    theirs.write_all(b"abcdef").unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(log.take(), b"abcdef");
    drop(theirs);
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [1, 2], "the end is for both");
}

// spec: BX-1
fn two_tasks_accept_what_comes(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let listener = Rc::new(run(&event_loop, listen(cx)));
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let listener = Rc::clone(&listener);
            cx.spawn_local(async move { listener.accept().await.unwrap() })
        })
        .collect();
    turn_until_quiet(&event_loop);
    for n in 1..=2 {
        let _stream = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        turn_until_quiet(&event_loop);
        assert_eq!(tasks.iter().filter(|task| task.is_finished()).count(), n);
    }
}

// spec: BX-1
fn a_writer_waits_for_room_and_goes_on(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let text: Rc<Vec<u8>> = Rc::new((0..8_000_000_u32).map(|n| (n % 251) as u8).collect());
    run(&event_loop, async {
        let (ours, theirs) = pair(cx).await?;
        let sent = Rc::clone(&text);
        let is_done = Rc::new(Cell::new(false));
        let done = Rc::clone(&is_done);
        let task = cx.spawn_local(async move {
            ours.write_all(&sent).await.unwrap();
            done.set(true);
        });
        for _ in 0..3 {
            cx.yield_now().await;
        }
        assert!(!is_done.get(), "there is no room for so much");
        assert!(*text == read_to_end(&theirs).await?);
        task.await.unwrap();
        Ok(())
    });
}

// spec: BX-1
fn trying_does_not_wait(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        let mut bytes = [0; 64];
        assert_eq!(ours.try_read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(theirs.try_write(b"data")?, 4);
        ours.readable().await?;
        assert_eq!(ours.try_read(&mut bytes)?, 4);
        assert_eq!(ours.try_read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(theirs.try_write(b"more")?, 4);
        assert_eq!(ours.read(&mut bytes).await?, 4);
        theirs.shutdown(Shutdown::Write)?;
        ours.readable().await?;
        assert_eq!(ours.try_read(&mut bytes)?, 0);
        Ok(())
    });
}

// spec: BX-1
fn what_was_peeked_at_is_read(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        theirs.write_all(b"data").await?;
        let mut bytes = [0; 64];
        for _ in 0..3 {
            assert_eq!(ours.peek(&mut bytes).await?, 4);
        }
        assert_eq!(ours.read(&mut bytes).await?, 4);
        drop(theirs);
        assert_eq!(ours.peek(&mut bytes).await?, 0);
        Ok(())
    });
}

// spec: BX-1
fn nothing_is_read_into_no_room(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        for _ in 0..2 {
            assert_eq!(ours.read(&mut []).await?, 0, "this is not the end");
            assert_eq!(ours.peek(&mut []).await?, 0);
            ours.read_exact(&mut []).await?;
            assert_eq!(theirs.write(&[]).await?, 0);
            assert_eq!(theirs.write_vectored(&[]).await?, 0);
            theirs.write_all(&[]).await?;
            theirs.write_all(b"data").await?;
            assert_eq!(ours.read(&mut [0; 64]).await?, 4);
        }
        Ok(())
    });
}

// spec: BX-1
fn several_pieces_are_written_as_one(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        let pieces = [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two")];
        assert_eq!(ours.write_vectored(&pieces).await?, 7);
        assert_eq!(ours.write_vectored(&pieces[..1]).await?, 4);
        drop(ours);
        assert_eq!(read_to_end(&theirs).await?, b"one twoone ");
        Ok(())
    });
}

// spec: BX-1
fn more_pieces_than_the_system_takes_are_written_in_part(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        let mut pieces = &vec![IoSlice::new(b"x"); 3_000][..];
        while !pieces.is_empty() {
            let n = ours.write_vectored(pieces).await?;
            assert!(n > 0);
            pieces = &pieces[n..];
        }
        let mut pieces = vec![IoSlice::new(b""); 3_000];
        pieces.push(IoSlice::new(b"y"));
        assert_eq!(ours.write_vectored(&pieces).await?, 1);
        drop(ours);
        assert_eq!(read_to_end(&theirs).await?.len(), 3_001);
        Ok(())
    });
}

// spec: BX-1
fn reading_exactly_more_than_there_is_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        theirs.write_all(b"data").await?;
        drop(theirs);
        let error = ours.read_exact(&mut [0; 5]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        Ok(())
    });
}

// spec: BX-1
fn the_halves_of_a_borrowed_stream_work_at_once(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (mut ours, theirs) = pair(cx).await?;
        let echo = cx.spawn_local(async move {
            let all = read_to_end(&theirs).await.unwrap();
            theirs.write_all(&all).await.unwrap();
        });
        {
            let (read, write) = ours.split();
            let mut bytes = [0; 5];
            let write = async {
                write.write_all(b"hello").await?;
                write.shutdown()
            };
            let (read, written) = both(read.read_exact(&mut bytes), write).await;
            read?;
            written?;
            assert_eq!(&bytes, b"hello");
        }
        echo.await.unwrap();
        assert_eq!(ours.read(&mut [0]).await?, 0);
        Ok(())
    });
}

// spec: BX-1
fn the_halves_of_a_stream_have_owners_of_their_own(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (ours, theirs) = pair(cx).await?;
        let address = ours.local_addr()?;
        let (read, write) = ours.into_split();
        assert_eq!(read.as_ref().local_addr()?, address);
        assert_eq!(write.as_ref().local_addr()?, address);
        let reader = cx.spawn_local(async move {
            let mut bytes = [0; 64];
            assert_eq!(read.peek(&mut bytes).await.unwrap(), 6);
            read.readable().await.unwrap();
            assert_eq!(read.try_read(&mut bytes).unwrap(), 6);
            read.read(&mut bytes).await.unwrap()
        });
        let writer = cx.spawn_local(async move {
            write.writable().await.unwrap();
            write.try_write(b"que").unwrap();
            write.write(b"s").await.unwrap();
            write.write_vectored(&[IoSlice::new(b"ti"), IoSlice::new(b"on")]).await.unwrap();
        });
        writer.await.unwrap();
        assert_eq!(read_to_end(&theirs).await?, b"question");
        theirs.write_all(b"answer").await?;
        drop(theirs);
        assert_eq!(reader.await.unwrap(), 0);
        Ok(())
    });
}

// spec: BX-1
fn a_dropped_half_that_writes_is_the_end_for_the_other_side(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        let (read, write) = ours.into_split();
        drop(write);
        assert_eq!(theirs.read(&mut [0]).await?, 0);
        theirs.write_all(b"answer").await?;
        read.read_exact(&mut [0; 6]).await?;

        let (ours, theirs) = pair(event_loop.cx()).await?;
        let (read, write) = ours.into_split();
        drop(read);
        write.write_all(b"question").await?;
        theirs.read_exact(&mut [0; 8]).await?;
        write.shutdown()?;
        assert_eq!(theirs.read(&mut [0]).await?, 0);
        Ok(())
    });
}

// spec: BX-1
fn halves_are_reunited_without_an_end(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (mut ours, theirs) = pair(cx).await?;
        for turn in 0..2 {
            let (read, write) = ours.into_split();
            ours = if turn == 0 { read.reunite(write) } else { write.reunite(read) }.unwrap();
            give_up(cx, theirs.read(&mut [0])).await;
        }
        ours.write_all(b"x").await?;
        theirs.read_exact(&mut [0]).await?;
        Ok(())
    });
}

// spec: BX-1
fn halves_of_different_streams_are_not_reunited(variant: Variant) {
    let event_loop = build(variant);
    run(&event_loop, async {
        let (ours, theirs) = pair(event_loop.cx()).await?;
        let (our_read, our_write) = ours.into_split();
        let (their_read, their_write) = theirs.into_split();
        let error = our_read.reunite(their_write).unwrap_err();
        assert!(error.to_string().contains("not of the same stream"));
        let ours = error.0.reunite(our_write).unwrap();
        let theirs = error.1.reunite(their_read).unwrap();
        ours.write_all(b"x").await?;
        theirs.read_exact(&mut [0]).await?;
        Ok(())
    });
}

// spec: BX-1
fn a_stream_can_be_exchanged_with_the_standard_library(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let listener = TcpListener::from_std(cx, net::TcpListener::bind("127.0.0.1:0")?)?;
        let ours = net::TcpStream::connect(listener.local_addr()?)?;
        let theirs = listener.accept().await?.0.into_std();
        let listener = listener.into_std();
        assert!(has_no_trace(&event_loop));
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        theirs.set_nonblocking(false)?;
        (&theirs).write_all(b"x")?;
        let ours = TcpStream::from_std(cx, ours)?;
        ours.read_exact(&mut [0]).await?;
        let ours = ours.into_std();
        assert_eq!((&ours).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        Ok(())
    });
}

// spec: BX-1
fn options_and_addresses(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = match TcpListener::bind(cx, address).await {
                Ok(listener) => listener,
                Err(error) => {
                    assert!(address.starts_with('['), "{error}");
                    continue; // there is no such thing here
                }
            };
            let address = listener.local_addr()?;
            let (ours, theirs) = both(TcpStream::connect(cx, address), listener.accept()).await;
            let (ours, (theirs, from)) = (ours?, theirs?);
            assert_eq!(ours.peer_addr()?, address);
            assert_eq!(theirs.local_addr()?, address);
            assert_eq!(ours.local_addr()?, from);
            assert_eq!(theirs.peer_addr()?, from);
            for is_on in [true, false] {
                ours.set_nodelay(is_on)?;
                assert_eq!(ours.nodelay()?, is_on);
            }
            assert!(format!("{ours:?} {listener:?}").contains("TcpStream"));
        }
        Ok(())
    });
}

// spec: BX-1, SH-5
fn everything_says_so_when_the_loop_has_ended(variant: Variant) {
    let is_terminated = |error: io::Error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        assert!(matches!(inner, Some(Error::Terminated)), "{error:?}");
    };
    let event_loop = build(variant);
    let cx = event_loop.cx().clone();
    let (listener, ours, theirs) = run(&event_loop, async {
        let (ours, theirs) = pair(&cx).await?;
        Ok((listen(&cx).await?, ours, theirs))
    });
    event_loop.cx().shutdown();
    event_loop.run().unwrap();
    let other = variant.build();
    other
        .block_on(async {
            is_terminated(listener.accept().await.unwrap_err());
            is_terminated(ours.read(&mut [0]).await.unwrap_err());
            is_terminated(ours.readable().await.unwrap_err());
            is_terminated(TcpListener::bind(&cx, "127.0.0.1:0").await.unwrap_err());
            let address = listener.local_addr().unwrap();
            is_terminated(TcpStream::connect(&cx, address).await.unwrap_err());
            theirs.write_all(b"x").await.unwrap();
            ours.read_exact(&mut [0]).await.unwrap();
        })
        .unwrap();
}

// spec: BX-1, IO-1
fn a_stream_is_forgotten_when_it_is_dropped(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, theirs) = run(&event_loop, pair(cx));
    let (read, write) = ours.into_split();
    drop((read, theirs));
    assert!(!has_no_trace(&event_loop));
    drop(write);
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1, IO-6
fn a_burst_of_connections_does_not_starve_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let listener = run(&event_loop, listen(cx));
    let address = listener.local_addr().unwrap();
    let clients: Vec<_> = (0..400).map(|_| net::TcpStream::connect(address).unwrap()).collect();
    let accepted = Rc::new(Cell::new(0));
    let count = Rc::clone(&accepted);
    let task = cx.spawn_local(async move {
        let mut streams = Vec::new();
        while streams.len() < 400 {
            streams.push(listener.accept().await.unwrap().0);
            count.set(streams.len());
        }
    });
    let seen = Rc::clone(&accepted);
    let other = cx.spawn_local(async move { seen.get() });
    let before = event_loop.block_on(other).unwrap().unwrap();
    assert!((1..400).contains(&before), "another future runs meanwhile: {before}");
    event_loop.block_on(task).unwrap().unwrap();
    drop(clients);
}
