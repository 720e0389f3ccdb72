//! Descriptors, as futures.
#![cfg(all(unix, not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::Cell;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use awaiting::{give_up, poll_once, run};
use common::{Log, Variant, turn_until_quiet, wait_until_sleeping};
use fds::{build, has_no_trace};
use mainspring::{AsyncFd, Cx, Error, Interest};

suite! {
    a_source_is_made_non_blocking,
    an_operation_that_can_go_on_at_once_is_tried_once,
    an_operation_that_would_block_waits_and_is_done_again,
    an_operation_that_is_interrupted_is_done_again_at_once,
    an_error_of_an_operation_is_its_result,
    who_waits_is_woken_while_the_loop_sleeps,
    both_directions_are_waited_for_independently,
    a_source_that_is_drained_by_somebody_else_is_waited_for,
    each_datagram_of_a_burst_is_read,
    readable_looks_at_the_source_itself,
    writable_waits_for_room,
    who_gives_up_is_forgotten_and_takes_nothing,
    who_gives_up_does_not_take_the_wake_of_another_future_of_its_task,
    all_who_wait_for_one_direction_are_woken,
    polls_by_the_same_task_are_one_wake,
    a_poll_with_another_waker_wakes_that_one,
    the_end_of_the_loop_is_told_to_who_waits,
    what_needs_no_wait_can_be_done_after_the_end_of_the_loop,
    a_registration_that_somebody_removes_is_told_to_who_waits,
    a_source_that_is_refused_comes_back_as_it_was,
    a_source_that_was_taken_back_can_be_registered_again,
    a_source_is_forgotten_when_it_is_dropped,
    a_source_does_not_keep_the_loop_alive_but_its_future_does,
    one_that_is_always_ready_lets_others_run,
    one_that_is_always_ready_lets_others_run_outside_of_the_loops_futures,
}

fn pair(cx: &Cx) -> (AsyncFd<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (AsyncFd::new(cx, ours).unwrap(), theirs)
}

async fn read_one(fd: &AsyncFd<UnixStream>) -> io::Result<u8> {
    let mut byte = [0];
    let n = fd.read_with(|mut stream| stream.read(&mut byte)).await?;
    if n == 1 { Ok(byte[0]) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

/// Fills the buffers of a stream.
fn fill(mut stream: &UnixStream) -> usize {
    let mut all = 0;
    loop {
        match stream.write(&[0; 65_536]) {
            Ok(n) => all += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What is inside of an error of the system.
fn inner(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wakes {
    fn new() -> (Arc<Self>, Waker) {
        let this = Arc::<Self>::default();
        (Arc::clone(&this), this.into())
    }

    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

// spec: BX-1
fn a_source_is_made_non_blocking(variant: Variant) {
    let event_loop = build(variant);
    let (fd, _theirs) = pair(event_loop.cx());
    let error = fd.get_ref().read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert_eq!(fd.as_fd().as_raw_fd(), fd.get_ref().as_raw_fd());
}

// spec: BX-1
fn an_operation_that_can_go_on_at_once_is_tried_once(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    theirs.write_all(b"ab").unwrap();
    run(&event_loop, async {
        for expected in *b"ab" {
            let mut tries = 0;
            let mut byte = [0];
            fd.read_with(|mut stream| {
                tries += 1;
                stream.read(&mut byte)
            })
            .await?;
            assert_eq!((byte[0], tries), (expected, 1));
            tries = 0;
            fd.write_with(|mut stream| {
                tries += 1;
                stream.write(b"x")
            })
            .await?;
            assert_eq!(tries, 1);
        }
        Ok(())
    });
}

// spec: BX-1
fn an_operation_that_would_block_waits_and_is_done_again(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    run(&event_loop, async {
        let mut tries = 0;
        let mut byte = [0];
        {
            let mut read = pin!(fd.read_with(|mut stream| {
                tries += 1;
                stream.read(&mut byte)
            }));
            assert!(poll_once(read.as_mut()).await.is_none());
            for _ in 0..10 {
                event_loop.cx().yield_now().await;
                assert!(poll_once(read.as_mut()).await.is_none(), "nothing has come");
            }
            theirs.write_all(b"a")?;
            assert_eq!(read.await?, 1);
        }
        assert_eq!((byte[0], tries), (b'a', 2), "nothing is tried before there was an event");
        Ok(())
    });
}

// spec: BX-1, IO-5
fn an_operation_that_is_interrupted_is_done_again_at_once(variant: Variant) {
    let event_loop = build(variant);
    let (fd, _theirs) = pair(event_loop.cx());
    let mut left = 3;
    let mut operation = |_: &UnixStream| {
        left -= 1;
        if left == 0 { Ok(5) } else { Err(ErrorKind::Interrupted.into()) }
    };
    let context = &mut Context::from_waker(Waker::noop());
    assert!(matches!(fd.poll_read_with(context, &mut operation), Poll::Ready(Ok(5))));
}

// spec: BX-1
fn an_error_of_an_operation_is_its_result(variant: Variant) {
    let event_loop = build(variant);
    let (fd, _theirs) = pair(event_loop.cx());
    let refused = event_loop
        .block_on(fd.write_with(|_| io::Result::<()>::Err(ErrorKind::PermissionDenied.into())));
    assert_eq!(refused.unwrap().unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(event_loop.block_on(fd.write_with(|_| Ok(5))).unwrap().unwrap(), 5);
}

// spec: BX-1, WK-5
fn who_waits_is_woken_while_the_loop_sleeps(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    let handle = event_loop.handle();
    let writer = thread::spawn(move || {
        for byte in *b"abc" {
            wait_until_sleeping(&handle);
            theirs.write_all(&[byte]).unwrap();
            theirs.read_exact(&mut [0]).unwrap();
        }
        theirs
    });
    run(&event_loop, async {
        for expected in *b"abc" {
            assert_eq!(read_one(&fd).await?, expected);
            fd.write_with(|mut stream| stream.write(b"x")).await?;
        }
        Ok(())
    });
    drop(writer.join().unwrap());
}

// spec: BX-1
fn both_directions_are_waited_for_independently(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, mut theirs) = pair(cx);
    let filled = fill(fd.get_ref());
    run(&event_loop, async {
        let mut write = pin!(fd.write_with(|mut stream| stream.write(b"x")));
        let mut read = pin!(read_one(&fd));
        assert!(poll_once(write.as_mut()).await.is_none());
        assert!(poll_once(read.as_mut()).await.is_none());
        theirs.write_all(b"a")?;
        assert_eq!(read.await?, b'a');
        assert!(poll_once(write.as_mut()).await.is_none());
        theirs.read_exact(&mut vec![0; filled])?;
        assert_eq!(write.await?, 1);
        give_up(cx, read_one(&fd)).await;
        Ok(())
    });
}

// spec: BX-1
fn a_source_that_is_drained_by_somebody_else_is_waited_for(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, mut theirs) = pair(cx);
    run(&event_loop, async {
        theirs.write_all(b"ab")?;
        assert_eq!(read_one(&fd).await?, b'a');
        fd.get_ref().read_exact(&mut [0])?;
        give_up(cx, read_one(&fd)).await;
        theirs.write_all(b"c")?;
        assert_eq!(read_one(&fd).await?, b'c');
        Ok(())
    });
}

// spec: BX-1
fn each_datagram_of_a_burst_is_read(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let fd = AsyncFd::new(cx, ours).unwrap();
    run(&event_loop, async {
        let mut bytes = [0; 64];
        give_up(cx, fd.read_with(|socket| socket.recv(&mut bytes))).await;
        for text in ["one", "three", "sixteen"] {
            theirs.send(text.as_bytes())?;
        }
        for text in ["one", "three", "sixteen"] {
            let n = fd.read_with(|socket| socket.recv(&mut bytes)).await?;
            assert_eq!(&bytes[..n], text.as_bytes());
        }
        Ok(())
    });
}

// spec: BX-1
fn readable_looks_at_the_source_itself(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, mut theirs) = pair(cx);
    run(&event_loop, async {
        give_up(cx, fd.readable()).await;
        theirs.write_all(b"a")?;
        fd.readable().await?;
        fd.readable().await?;
        poll_fn(|context| fd.poll_readable(context)).await?;
        fd.get_ref().read_exact(&mut [0])?;
        give_up(cx, fd.readable()).await;
        drop(theirs);
        fd.readable().await?;
        assert_eq!(fd.get_ref().read(&mut [0])?, 0);
        fd.readable().await
    });
}

// spec: BX-1
fn writable_waits_for_room(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, mut theirs) = pair(cx);
    run(&event_loop, async {
        fd.writable().await?;
        poll_fn(|context| fd.poll_writable(context)).await?;
        let filled = fill(fd.get_ref());
        give_up(cx, fd.writable()).await;
        let mut writable = pin!(fd.writable());
        assert!(poll_once(writable.as_mut()).await.is_none());
        theirs.read_exact(&mut vec![0; filled])?;
        writable.await
    });
}

// spec: BX-1
fn who_gives_up_is_forgotten_and_takes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, mut theirs) = pair(cx);
    for _ in 0..3 {
        let wakers: Vec<_> = (0..4).map(|_| Wakes::new()).collect();
        let mut futures = Vec::new();
        for (_, waker) in &wakers {
            let mut future = Box::pin(read_one(&fd));
            assert!(future.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
            futures.push(future);
        }
        // One that is not at the end, then the first.
        drop(futures.swap_remove(1));
        drop(futures.swap_remove(0));
        assert_eq!(Arc::strong_count(&wakers[0].0), 2, "its waker is dropped");
        assert_eq!(Arc::strong_count(&wakers[1].0), 2, "its waker is dropped");
        theirs.write_all(b"a").unwrap();
        turn_until_quiet(&event_loop);
        let woken: Vec<_> = wakers.iter().map(|(wakes, _)| wakes.take()).collect();
        assert_eq!(woken, [0, 0, 1, 1]);
        drop(futures);
        assert_eq!(run(&event_loop, read_one(&fd)), b'a');
    }
}

// spec: BX-1
fn who_gives_up_does_not_take_the_wake_of_another_future_of_its_task(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    let (wakes, waker) = Wakes::new();
    let context = &mut Context::from_waker(&waker);
    for is_first in [true, false] {
        let mut futures = [Box::pin(read_one(&fd)), Box::pin(read_one(&fd))];
        for future in &mut futures {
            assert!(future.as_mut().poll(context).is_pending());
        }
        let [first, second] = futures;
        let (goes, mut stays) = if is_first { (first, second) } else { (second, first) };
        drop(goes);
        theirs.write_all(b"a").unwrap();
        turn_until_quiet(&event_loop);
        assert_eq!(wakes.take(), 1);
        assert!(matches!(stays.as_mut().poll(context), Poll::Ready(Ok(b'a'))));
    }
}

// spec: BX-1
fn all_who_wait_for_one_direction_are_woken(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, mut theirs) = pair(cx);
    let fd = Rc::new(fd);
    let log = Log::new();
    for _ in 0..3 {
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let (fd, log) = (Rc::clone(&fd), log.clone());
                cx.spawn_local(async move { log.push(read_one(&fd).await.unwrap()) })
            })
            .collect();
        turn_until_quiet(&event_loop);
        assert_eq!(log.len(), 0);
        theirs.write_all(b"ab").unwrap();
        turn_until_quiet(&event_loop);
        assert_eq!(log.take(), b"ab");
        theirs.write_all(b"c").unwrap();
        turn_until_quiet(&event_loop);
        assert_eq!(log.take(), b"c");
        assert!(tasks.iter().all(|task| task.is_finished()));
    }
}

// spec: BX-1
fn polls_by_the_same_task_are_one_wake(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    let (wakes, waker) = Wakes::new();
    let mut read = |mut stream: &UnixStream| stream.read(&mut [0]);
    for _ in 0..5 {
        let context = &mut Context::from_waker(&waker);
        assert!(fd.poll_read_with(context, &mut read).is_pending());
    }
    assert_eq!(Arc::strong_count(&wakes), 3, "the waker is kept once");
    theirs.write_all(b"a").unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(wakes.take(), 1);
    theirs.write_all(b"b").unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(wakes.take(), 0, "nobody waits any more");
}

// spec: BX-1
fn a_poll_with_another_waker_wakes_that_one(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    let (first, first_waker) = Wakes::new();
    let (second, second_waker) = Wakes::new();
    let mut future = Box::pin(read_one(&fd));
    assert!(future.as_mut().poll(&mut Context::from_waker(&first_waker)).is_pending());
    assert!(future.as_mut().poll(&mut Context::from_waker(&second_waker)).is_pending());
    theirs.write_all(b"a").unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!((first.take(), second.take()), (0, 1));
    let context = &mut Context::from_waker(&first_waker);
    assert!(matches!(future.as_mut().poll(context), Poll::Ready(Ok(b'a'))));
}

// spec: BX-1, SH-5
fn the_end_of_the_loop_is_told_to_who_waits(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    let filled = fill(fd.get_ref());
    let (reads, read_waker) = Wakes::new();
    let (writes, write_waker) = Wakes::new();
    let mut read = Box::pin(read_one(&fd));
    let mut write = Box::pin(fd.writable());
    assert!(read.as_mut().poll(&mut Context::from_waker(&read_waker)).is_pending());
    assert!(write.as_mut().poll(&mut Context::from_waker(&write_waker)).is_pending());
    drop(event_loop);
    assert_eq!((reads.take(), writes.take()), (1, 1));
    for _ in 0..2 {
        let error = match read.as_mut().poll(&mut Context::from_waker(&read_waker)) {
            Poll::Ready(Err(error)) => error,
            other => panic!("{other:?}"),
        };
        assert!(matches!(inner(&error), Some(Error::Terminated)), "{error:?}");
        read = Box::pin(read_one(&fd));
    }
    theirs.read_exact(&mut vec![0; filled]).unwrap();
    let written = write.as_mut().poll(&mut Context::from_waker(&write_waker));
    assert!(matches!(written, Poll::Ready(Ok(()))), "this needs no loop any more");
}

// spec: BX-1, SH-5
fn what_needs_no_wait_can_be_done_after_the_end_of_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    let cx = event_loop.cx().clone();
    drop(event_loop);
    theirs.write_all(b"a").unwrap();
    let mut future = Box::pin(read_one(&fd));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(matches!(future.as_mut().poll(context), Poll::Ready(Ok(b'a'))));
    drop(future);
    let stream = fd.into_inner();
    let refused = AsyncFd::new(&cx, stream).unwrap_err();
    assert!(matches!(refused.error(), Error::Terminated));
}

// spec: BX-1, IO-1
fn a_registration_that_somebody_removes_is_told_to_who_waits(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, mut theirs) = pair(cx);
    let fd = Rc::new(fd);
    let ours = Rc::clone(&fd);
    let mut task = cx.spawn_local(async move { read_one(&ours).await });
    turn_until_quiet(&event_loop);
    let handle = event_loop.handle();
    let number = fd.get_ref().as_raw_fd();
    thread::spawn(move || handle.unregister_fd(number).unwrap()).join().unwrap();
    let error = event_loop.block_on(&mut task).unwrap().unwrap().unwrap_err();
    assert!(matches!(inner(&error), Some(Error::FdNotRegistered)), "{error:?}");
    theirs.write_all(b"a").unwrap();
    assert_eq!(run(&event_loop, read_one(&fd)), b'a');
    drop(fd);
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1, IO-1
fn a_source_that_is_refused_comes_back_as_it_was(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let registered = Rc::new(ours);
    cx.register_fd(Rc::clone(&registered), Interest::READ, |_, _, _| ()).unwrap();
    let (error, source, ()) = AsyncFd::new(cx, Rc::clone(&registered)).unwrap_err().into_parts();
    assert!(matches!(error, Error::FdAlreadyRegistered), "{error:?}");
    assert!(Rc::ptr_eq(&source, &registered));
    #[cfg(target_os = "linux")]
    {
        // SAFETY: it only asks.
        let flags = unsafe { libc::fcntl(registered.as_raw_fd(), libc::F_GETFL) };
        assert_eq!(flags & libc::O_NONBLOCK, 0, "nothing has changed");
    }
    assert!(cx.unwatch(registered.as_raw_fd()));

    if cfg!(target_os = "linux") {
        let file = File::open("/proc/self/stat").unwrap();
        let number = file.as_raw_fd();
        let (error, file, ()) = AsyncFd::new(cx, file).unwrap_err().into_parts();
        assert!(matches!(error, Error::Io(_)), "{error:?}");
        assert_eq!(file.as_raw_fd(), number);
    }
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1
fn a_source_that_was_taken_back_can_be_registered_again(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (mut fd, mut theirs) = pair(cx);
    for byte in *b"abc" {
        run(&event_loop, async {
            give_up(cx, read_one(&fd)).await;
            Ok(())
        });
        let source = fd.into_inner();
        assert!(has_no_trace(&event_loop));
        theirs.write_all(&[byte]).unwrap();
        fd = AsyncFd::new(cx, source).unwrap();
        assert_eq!(run(&event_loop, read_one(&fd)), byte);
    }
}

// spec: BX-1, IO-1
fn a_source_is_forgotten_when_it_is_dropped(variant: Variant) {
    let event_loop = build(variant);
    let (fd, mut theirs) = pair(event_loop.cx());
    assert!(!has_no_trace(&event_loop));
    drop(fd);
    assert!(has_no_trace(&event_loop));
    assert_eq!(theirs.read(&mut [0]).unwrap(), 0, "and closed");
}

// spec: BX-1
fn a_source_does_not_keep_the_loop_alive_but_its_future_does(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, theirs) = pair(cx);
    let fd = Rc::new(fd);
    event_loop.run_until_idle().unwrap();
    let read = Rc::new(Cell::new(false));
    let (ours, is_read) = (Rc::clone(&fd), Rc::clone(&read));
    cx.spawn_local(async move { is_read.set(read_one(&ours).await.is_ok()) });
    let mut theirs = Some(theirs);
    let handle = event_loop.handle();
    let writer = thread::spawn(move || {
        wait_until_sleeping(&handle);
        theirs.take().unwrap().write_all(b"a").unwrap();
    });
    event_loop.run_until_idle().unwrap();
    assert!(read.get());
    writer.join().unwrap();
}

/// Counts the operations that a future does before another one has run.
async fn hog(fd: &AsyncFd<UnixStream>, is_over: &Cell<bool>) -> io::Result<usize> {
    let mut operations = 0;
    while !is_over.get() {
        fd.write_with(|_| Ok(())).await?;
        operations += 1;
    }
    Ok(operations)
}

// spec: BX-1, IO-6
fn one_that_is_always_ready_lets_others_run(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (fd, _theirs) = pair(cx);
    let is_over = Rc::new(Cell::new(false));
    let other = Rc::clone(&is_over);
    run(&event_loop, async {
        let task = cx.spawn_local(async move { other.set(true) });
        let operations = hog(&fd, &is_over).await?;
        assert!((1..=1_000).contains(&operations), "{operations}");
        task.await.unwrap();
        Ok(())
    });
    // A timer is not kept waiting, either.
    is_over.set(false);
    let other = Rc::clone(&is_over);
    cx.set_timeout(Duration::from_millis(1), move |_| other.set(true)).unwrap();
    run(&event_loop, hog(&fd, &is_over));
}

// spec: BX-1, IO-6
fn one_that_is_always_ready_lets_others_run_outside_of_the_loops_futures(variant: Variant) {
    let event_loop = build(variant);
    let (fd, _theirs) = pair(event_loop.cx());
    let is_over = Cell::new(false);
    let (wakes, waker) = Wakes::new();
    let mut future = pin!(hog(&fd, &is_over));
    for _ in 0..3 {
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(wakes.take(), 1, "it wakes itself");
    }
    is_over.set(true);
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
}

/// The futures of a descriptor stay with their loop.
#[test]
fn it_is_not_sent_to_other_threads() {
    trait Ambiguous<A> {
        fn check() {}
    }
    impl<T: ?Sized> Ambiguous<()> for T {}
    struct Sendable;
    impl<T: ?Sized + Send> Ambiguous<Sendable> for T {}
    <AsyncFd<UnixStream> as Ambiguous<_>>::check();
}

#[cfg(feature = "futures-io")]
mod traits {
    use super::*;
    use futures_io::{AsyncRead, AsyncWrite};
    use std::io::{IoSlice, IoSliceMut};
    use std::pin::Pin;

    // spec: BX-1
    #[test]
    fn the_traits_of_futures_read_write_and_flush() {
        let event_loop = common::builder().build().unwrap();
        let cx = event_loop.cx();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut ours = AsyncFd::new(cx, ours).unwrap();
        let theirs = AsyncFd::new(cx, theirs).unwrap();
        run(&event_loop, async {
            let mut bytes = [0; 3];
            let written = poll_fn(|context| Pin::new(&mut ours).poll_write(context, b"abc"));
            let read = poll_fn(|context| Pin::new(&mut &theirs).poll_read(context, &mut bytes));
            let (read, written) = awaiting::both(read, written).await;
            assert_eq!((written?, read?, &bytes), (3, 3, b"abc"));
            let pieces = [IoSlice::new(b"d"), IoSlice::new(b"ef")];
            let n = poll_fn(|c| Pin::new(&mut &theirs).poll_write_vectored(c, &pieces)).await?;
            assert_eq!(n, 3);
            let (mut first, mut second) = ([0; 2], [0; 2]);
            let mut pieces = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
            let n = poll_fn(|c| Pin::new(&mut ours).poll_read_vectored(c, &mut pieces)).await?;
            assert_eq!((n, &first, &second), (3, b"de", b"f\0"));
            poll_fn(|context| Pin::new(&mut ours).poll_flush(context)).await?;
            poll_fn(|context| Pin::new(&mut ours).poll_close(context)).await
        });
    }
}
