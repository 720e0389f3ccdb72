//! Sockets, as far as every system has them: watched, registered, and as futures.
#![cfg(not(loom))]

mod common;

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::UdpSocket;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use common::streams::{Stream, number, pair};
use common::wakers::CountingWaker;
use common::{Log, Variant, must_return, wait_until_sleeping};
use mainspring::net::{ListenOptions, TcpListener, TcpStream};
use mainspring::{AsyncFd, Cx, Error, EventLoop, Interest, Watch};

suite![
    what_is_written_is_heard_and_what_is_read_is_not_heard_again,
    level_triggered_is_told_until_it_was_read,
    a_one_shot_is_told_once_and_can_be_armed_again,
    directions_are_told_apart,
    a_hang_up_is_heard_by_the_reader,
    a_hang_up_that_nobody_listens_to_does_not_spin,
    a_reset_that_nobody_waits_for_does_not_spin,
    a_reset_is_an_error,
    unwatching_is_idempotent,
    an_old_watcher_does_not_remove_its_replacement,
    strict_registration_says_what_is_wrong,
    what_is_registered_while_the_loop_sleeps_is_heard,
    what_is_changed_while_the_loop_sleeps_is_heard,
    edges_are_told_or_refused,
    a_loop_that_watches_is_woken_and_keeps_its_deadlines,
    many_sockets_that_are_ready_at_once_are_all_served,
    an_async_descriptor_waits_for_both_directions_at_once,
    an_async_descriptor_is_found_ready_again_and_again,
    bytes_come_back_over_tcp,
    much_is_sent_through_both_directions_at_once,
    pieces_are_written_in_order,
    a_connection_that_is_refused_is_an_error,
    a_shared_port_works_or_says_that_it_cannot,
    datagrams_come_as_they_were_sent,
    the_end_of_the_loop_is_told_to_who_waits,
];

fn nonblocking_pair() -> (Stream, Stream) {
    let (ours, theirs) = pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (ours, theirs)
}

/// Reads all that is there.
fn drain(mut stream: &Stream) -> usize {
    let mut all = 0;
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return all,
            Ok(n) => all += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

// spec: IO-7
fn what_is_written_is_heard_and_what_is_read_is_not_heard_again(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = nonblocking_pair();
    let read = Rc::new(Cell::new(0));
    let seen = Rc::clone(&read);
    let watch = Watch::new().read(move |cx: &Cx, stream: &Stream| {
        seen.set(seen.get() + drain(stream));
        if seen.get() == 6 {
            cx.shutdown();
        }
    });
    event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"abc").unwrap();
    assert_eq!(event_loop.turn(None).unwrap().callbacks, 1);
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    theirs.write_all(b"def").unwrap();
    event_loop.run().unwrap();
    assert_eq!(read.get(), 6);
}

// spec: IO-7
fn level_triggered_is_told_until_it_was_read(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = nonblocking_pair();
    let calls = Rc::new(Cell::new(0));
    let seen = Rc::clone(&calls);
    let watch = Watch::new().read(move |_, stream: &Stream| {
        seen.set(seen.get() + 1);
        if seen.get() == 3 {
            drain(stream);
        }
    });
    event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"x").unwrap();
    for expected in 1..=3 {
        event_loop.turn(None).unwrap();
        assert_eq!(calls.get(), expected);
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(calls.get(), 3);
}

// spec: IO-7, M1-2.6
fn a_one_shot_is_told_once_and_can_be_armed_again(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = nonblocking_pair();
    let calls = Rc::new(Cell::new(0));
    let seen = Rc::clone(&calls);
    let watch = Watch::new().read(move |_, _: &Stream| seen.set(seen.get() + 1)).one_shot();
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"x").unwrap();
    event_loop.turn(None).unwrap();
    assert_eq!(calls.get(), 1);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(calls.get(), 1, "it is disarmed, and there is still something to read");
    watcher.modify(Interest::READ.one_shot()).unwrap();
    event_loop.turn(None).unwrap();
    assert_eq!(calls.get(), 2);
}

// spec: IO-7, M1-2.2
fn directions_are_told_apart(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = nonblocking_pair();
    let log = Log::new();
    let (reads, writes) = (log.clone(), log.clone());
    let watch = Watch::new()
        .read(move |_, _: &Stream| reads.push("read"))
        .write(move |_, _| writes.push("write"))
        .interest(Interest::WRITE);
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"x").unwrap();
    event_loop.turn(None).unwrap();
    assert_eq!(log.take(), ["write"]);
    watcher.modify(Interest::READ).unwrap();
    event_loop.turn(None).unwrap();
    assert_eq!(log.take(), ["read"]);
    watcher.modify(Interest::BOTH).unwrap();
    event_loop.turn(None).unwrap();
    assert_eq!(log.take(), ["read", "write"]);
    watcher.modify(Interest::NONE).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert!(log.take().is_empty());
}

// spec: IO-7, M1-2.4
fn a_hang_up_is_heard_by_the_reader(variant: Variant) {
    let event_loop = variant.build();
    let (ours, theirs) = nonblocking_pair();
    let watch = Watch::new().read(|cx: &Cx, mut stream: &Stream| {
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
        cx.shutdown();
    });
    event_loop.cx().watch(ours, watch).unwrap();
    drop(theirs);
    event_loop.run().unwrap();
}

// spec: IO-7, M1-2.4, F-12
fn a_hang_up_that_nobody_listens_to_does_not_spin(variant: Variant) {
    let event_loop = variant.build();
    let (ours, theirs) = nonblocking_pair();
    let watch = Watch::new().error(|_, _: &Stream| ()).interest(Interest::NONE);
    event_loop.cx().watch(ours, watch).unwrap();
    drop(theirs);
    assert_rests(&event_loop);
}

/// A loop with nothing to do comes to rest: what the system says of a descriptor, it says once at the most.
fn assert_rests(event_loop: &EventLoop) {
    let fired = Rc::new(Cell::new(false));
    let seen = Rc::clone(&fired);
    event_loop.cx().set_timeout(Duration::from_millis(50), move |_| seen.set(true)).unwrap();
    let mut turns = 0;
    while !fired.get() {
        event_loop.turn(None).unwrap();
        turns += 1;
    }
    assert!(turns < 10, "{turns} turns");
}

/// Has the connection reset: by one who closes it without having read all.
fn reset(mut ours: &Stream, theirs: Stream) {
    ours.write_all(b"never read").unwrap();
    drop(theirs);
}

// spec: IO-7, TK-4, F-12
fn a_reset_that_nobody_waits_for_does_not_spin(variant: Variant) {
    let event_loop = variant.build();
    let (ours, theirs) = nonblocking_pair();
    let ours = AsyncFd::new(event_loop.cx(), ours).unwrap();
    reset(ours.get_ref(), theirs);
    let (watched, theirs) = nonblocking_pair();
    let watch = Watch::new().interest(Interest::NONE);
    let watcher = event_loop.cx().watch(watched, watch).unwrap();
    reset(watcher.source(), theirs);
    assert_rests(&event_loop);
}

// spec: IO-7, M1-2.3
fn a_reset_is_an_error(variant: Variant) {
    let event_loop = variant.build();
    let (ours, theirs) = nonblocking_pair();
    let watch = Watch::new()
        .read(|_, _: &Stream| panic!("there is an error callback"))
        .error(|cx: &Cx, _: &Stream| cx.shutdown());
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    reset(watcher.source(), theirs);
    event_loop.run().unwrap();
}

// spec: IO-7, M1-1.5
fn unwatching_is_idempotent(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = nonblocking_pair();
    let fd = number(&ours);
    let watch = Watch::new().read(|_, _: &Stream| panic!("it was unwatched"));
    let watcher = event_loop.cx().watch(ours, watch).unwrap();
    theirs.write_all(b"x").unwrap();
    assert!(event_loop.cx().unwatch(fd));
    assert!(!event_loop.cx().unwatch(fd));
    assert!(!watcher.unwatch());
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    assert_eq!(drain(&watcher.into_inner().unwrap()), 1);
}

// spec: IO-7, M1-1.5, M1-1.6
fn an_old_watcher_does_not_remove_its_replacement(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = nonblocking_pair();
    let ours = Rc::new(ours);
    let log = Log::new();
    let cx = event_loop.cx();
    let (one, two) = (log.clone(), log.clone());
    let old = cx.watch_weak(&ours, Watch::new().read(move |_, _| one.push("old"))).unwrap();
    let new = cx.watch_weak(&ours, Watch::new().read(move |_, _| two.push("new"))).unwrap();
    assert!(!old.unwatch());
    assert!(new.is_active());
    theirs.write_all(b"x").unwrap();
    event_loop.turn(None).unwrap();
    assert_eq!(log.take(), ["new"]);
}

// spec: IO-7, IO-1
fn strict_registration_says_what_is_wrong(variant: Variant) {
    let event_loop = variant.build();
    let handle = event_loop.handle();
    let (ours, _theirs) = nonblocking_pair();
    let ours = Arc::new(ours);
    let fd = number(&ours);
    assert!(matches!(handle.modify_fd(fd, Interest::READ), Err(Error::FdNotRegistered)));
    assert!(matches!(handle.unregister_fd(fd), Err(Error::FdNotRegistered)));
    handle.register_fd(Arc::clone(&ours), Interest::READ, |_, _, _| ()).unwrap();
    let refused = handle.register_fd(Arc::clone(&ours), Interest::READ, |_, _, _| ()).unwrap_err();
    assert!(matches!(refused.error(), Error::FdAlreadyRegistered));
    handle.modify_fd(fd, Interest::BOTH).unwrap();
    handle.unregister_fd(fd).unwrap();
    assert!(matches!(handle.unregister_fd(fd), Err(Error::FdNotRegistered)));
}

// spec: IO-7, IO-1, F-10
fn what_is_registered_while_the_loop_sleeps_is_heard(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn_running();
        let (ours, mut theirs) = nonblocking_pair();
        theirs.write_all(b"x").unwrap();
        handle.register_fd(ours, Interest::READ, |cx, _, _| cx.shutdown()).unwrap();
        thread.join().unwrap().unwrap();
    });
}

// spec: IO-7, IO-1
fn what_is_changed_while_the_loop_sleeps_is_heard(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn_running();
        let (ours, mut theirs) = nonblocking_pair();
        let fd = number(&ours);
        theirs.write_all(b"x").unwrap();
        handle.register_fd(ours, Interest::NONE, |cx, _, _| cx.shutdown()).unwrap();
        // It was woken by that, and may not have gone back to sleep.
        let (sender, receiver) = std::sync::mpsc::channel();
        handle.submit(move |_| sender.send(()).unwrap()).unwrap();
        receiver.recv().unwrap();
        wait_until_sleeping(&handle);
        handle.modify_fd(fd, Interest::READ).unwrap();
        thread.join().unwrap().unwrap();
    });
}

// spec: IO-7, M1-2.5, ER-2
fn edges_are_told_or_refused(variant: Variant) {
    let event_loop = variant.build();
    let (ours, mut theirs) = nonblocking_pair();
    let calls = Rc::new(Cell::new(0));
    let seen = Rc::clone(&calls);
    let watch = Watch::new().read(move |_, _: &Stream| seen.set(seen.get() + 1)).edge_triggered();
    match event_loop.cx().watch(ours, watch) {
        Ok(_) => {
            assert_eq!(std::env::consts::FAMILY, "unix");
            for expected in 1..=2 {
                theirs.write_all(b"x").unwrap();
                event_loop.turn(None).unwrap();
                event_loop.turn(Duration::ZERO).unwrap();
                assert_eq!(calls.get(), expected);
            }
        }
        Err(refused) => {
            assert_eq!(std::env::consts::FAMILY, "windows", "{refused}");
            let (error, stream, _) = refused.into_parts();
            let Error::Io(error) = error else { panic!("{error}") };
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            // It comes back, and can be watched in another way.
            theirs.write_all(b"x").unwrap();
            let watch = Watch::new().read(|cx: &Cx, _: &Stream| cx.shutdown()).one_shot();
            event_loop.cx().watch(stream, watch).unwrap();
            event_loop.run().unwrap();
        }
    }
}

// spec: IO-7, WK-6
fn a_loop_that_watches_is_woken_and_keeps_its_deadlines(variant: Variant) {
    must_return(move || {
        let (handle, thread) = variant.spawn(
            |builder| builder,
            |event_loop| {
                let (ours, theirs) = nonblocking_pair();
                event_loop.cx().watch(ours, Watch::new().read(|_, _: &Stream| ())).unwrap();
                event_loop.run().unwrap();
                drop(theirs);
            },
        );
        wait_until_sleeping(&handle);
        let begin = std::time::Instant::now();
        let (sender, receiver) = std::sync::mpsc::channel();
        let delay = Duration::from_millis(20);
        handle
            .submit(move |cx| {
                let sent = move |_: &Cx| sender.send(begin.elapsed()).unwrap();
                cx.set_timeout(delay, sent).unwrap();
            })
            .unwrap();
        assert!(receiver.recv().unwrap() >= delay, "never early");
        wait_until_sleeping(&handle);
        handle.submit(|cx| cx.shutdown()).unwrap();
        thread.join().unwrap();
    });
}

// spec: IO-7
fn many_sockets_that_are_ready_at_once_are_all_served(variant: Variant) {
    const MANY: usize = 200;
    let event_loop = variant.build();
    let served = Rc::new(RefCell::new(vec![0; MANY]));
    let mut others = Vec::new();
    for index in 0..MANY {
        let (ours, mut theirs) = nonblocking_pair();
        theirs.write_all(b"x").unwrap();
        others.push(theirs);
        let served = Rc::clone(&served);
        let watch = Watch::new().read(move |_, stream: &Stream| {
            served.borrow_mut()[index] += drain(stream);
        });
        event_loop.cx().watch(ours, watch).unwrap();
    }
    while served.borrow().contains(&0) {
        event_loop.turn(None).unwrap();
    }
    assert_eq!(*served.borrow(), vec![1; MANY]);
}

// spec: IO-7, BX-1
fn an_async_descriptor_waits_for_both_directions_at_once(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair().unwrap();
    let ours = Rc::new(AsyncFd::new(cx, ours).unwrap());
    // Full: nothing more can be written until the other side reads.
    let full = (0..).find(|_| (&mut ours.get_ref()).write(&[1; 65_536]).is_err()).unwrap();
    assert!(full > 0);
    let (reads, writes) = (Rc::clone(&ours), ours);
    let reader = cx.spawn_local(async move {
        let mut byte = [0];
        reads.read_with(|mut stream| stream.read(&mut byte)).await.unwrap();
        byte[0]
    });
    let writer =
        cx.spawn_local(async move { writes.write_with(|mut stream| stream.write(b"end")).await });
    let other = thread::spawn(move || {
        theirs.write_all(&[7]).unwrap();
        let mut all = Vec::new();
        theirs.read_to_end(&mut all).unwrap();
        all
    });
    let (read, written) =
        event_loop.block_on(async { (reader.await.unwrap(), writer.await.unwrap()) }).unwrap();
    assert_eq!((read, written.unwrap()), (7, 3));
    assert!(other.join().unwrap().ends_with(b"end"));
}

// spec: IO-7, BX-1
fn an_async_descriptor_is_found_ready_again_and_again(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let (ours, theirs) = pair().unwrap();
    let (ours, theirs) = (AsyncFd::new(cx, ours).unwrap(), AsyncFd::new(cx, theirs).unwrap());
    let echo = cx.spawn_local(async move {
        for _ in 0..100 {
            let mut byte = [0];
            theirs.read_with(|mut stream| stream.read(&mut byte)).await.unwrap();
            theirs.write_with(|mut stream| stream.write(&byte)).await.unwrap();
        }
    });
    event_loop
        .block_on(async {
            for number in 0..100 {
                ours.write_with(|mut stream| stream.write(&[number])).await.unwrap();
                ours.readable().await.unwrap();
                let mut byte = [0];
                assert_eq!(ours.read_with(|mut stream| stream.read(&mut byte)).await.unwrap(), 1);
                assert_eq!(byte, [number]);
            }
            echo.await.unwrap();
        })
        .unwrap();
}

// spec: IO-7, BX-1
fn bytes_come_back_over_tcp(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    let echoed = async {
        let listener = TcpListener::bind(&cx, "127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        drop(cx.spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 1024];
            loop {
                let n = stream.read(&mut bytes).await.unwrap();
                if n == 0 {
                    break;
                }
                stream.write_all(&bytes[..n]).await.unwrap();
            }
        }));
        let stream = TcpStream::connect(&cx, address).await?;
        stream.write_all(b"hello").await?;
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).await?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let end = stream.read(&mut [0; 8]).await?;
        std::io::Result::Ok((bytes, end))
    };
    assert_eq!(event_loop.block_on(echoed).unwrap().unwrap(), (*b"hello", 0));
}

/// Two connected streams of the loop.
async fn connected(cx: &Cx) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(cx, "127.0.0.1:0").await.unwrap();
    let ours = TcpStream::connect(cx, listener.local_addr().unwrap()).await.unwrap();
    let (theirs, from) = listener.accept().await.unwrap();
    assert_eq!(from, ours.local_addr().unwrap());
    (ours, theirs)
}

// spec: IO-7, BX-1
fn much_is_sent_through_both_directions_at_once(variant: Variant) {
    const MUCH: usize = 1 << 21;
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    event_loop
        .block_on(async {
            let (ours, theirs) = connected(&cx).await;
            let mut tasks = Vec::new();
            for stream in [ours, theirs] {
                let (read, write) = stream.into_split();
                tasks.push(cx.spawn_local(async move {
                    write.write_all(&vec![1; MUCH]).await.unwrap();
                    MUCH
                }));
                tasks.push(cx.spawn_local(async move {
                    let mut bytes = vec![0; MUCH];
                    read.read_exact(&mut bytes).await.unwrap();
                    bytes.into_iter().map(usize::from).sum()
                }));
            }
            for task in tasks {
                assert_eq!(task.await.unwrap(), MUCH);
            }
        })
        .unwrap();
}

// spec: IO-7, BX-1
fn pieces_are_written_in_order(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    event_loop
        .block_on(async {
            let (ours, theirs) = connected(&cx).await;
            for length in [3, 3_000] {
                let (one, two, three) = (vec![1; length], vec![2; length], vec![3; length]);
                let pieces = [&one, &two, &three].map(|piece| IoSlice::new(piece));
                let written = ours.write_vectored(&pieces).await.unwrap();
                let mut bytes = vec![0; written];
                theirs.read_exact(&mut bytes).await.unwrap();
                assert_eq!(bytes, [one, two, three].concat()[..written]);
            }
        })
        .unwrap();
}

// spec: IO-7, BX-1
fn a_connection_that_is_refused_is_an_error(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Who has connected has a port that nobody else gets, and does not listen there.
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let nobody = client.local_addr().unwrap();
    let refused = event_loop.block_on(async { TcpStream::connect(&cx, nobody).await }).unwrap();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

// spec: BX-4, ER-2
fn a_shared_port_works_or_says_that_it_cannot(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    let options = ListenOptions::new().reuse_port(true);
    let bound = event_loop.block_on(async {
        let one = TcpListener::bind_with(&cx, "127.0.0.1:0", &options).await?;
        TcpListener::bind_with(&cx, one.local_addr()?, &options).await.map(drop)
    });
    match bound.unwrap() {
        Ok(()) => assert_eq!(std::env::consts::FAMILY, "unix"),
        Err(error) => {
            assert_eq!(std::env::consts::FAMILY, "windows", "{error}");
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }
}

// spec: IO-7, BX-1
fn datagrams_come_as_they_were_sent(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx().clone();
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = other.local_addr().unwrap();
    let exchanged = async {
        let socket = mainspring::net::UdpSocket::bind(&cx, "127.0.0.1:0").await?;
        for text in ["one", "two"] {
            socket.send_to(text.as_bytes(), to).await?;
            let mut bytes = [0; 16];
            let (n, from) = other.recv_from(&mut bytes)?;
            assert_eq!(&bytes[..n], text.as_bytes());
            other.send_to(b"back", from)?;
            let (n, from) = socket.recv_from(&mut bytes).await?;
            assert_eq!((&bytes[..n], from), (&b"back"[..], to));
        }
        std::io::Result::Ok(())
    };
    event_loop.block_on(exchanged).unwrap().unwrap();
}

// spec: IO-7, F-28
fn the_end_of_the_loop_is_told_to_who_waits(variant: Variant) {
    let event_loop = variant.build();
    let (ours, _theirs) = pair().unwrap();
    let ours = AsyncFd::new(event_loop.cx(), ours).unwrap();
    let (count, waker) = CountingWaker::new();
    let mut waits = pin!(ours.readable());
    assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    event_loop.handle().close();
    drop(event_loop);
    assert_eq!(count.count(), 1);
    let Poll::Ready(Err(error)) = waits.poll(&mut Context::from_waker(&waker)) else {
        panic!("it is told");
    };
    assert_eq!(error.to_string(), Error::Terminated.to_string());
}
