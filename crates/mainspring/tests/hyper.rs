//! What `hyper` needs of a runtime.
#![cfg(all(unix, feature = "hyper", not(loom)))]

mod common;

#[path = "common/awaiting.rs"]
mod awaiting;

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use awaiting::{give_up, run};
use hyper::rt::{Executor, Read, ReadBuf, Timer, Write};
use mainspring::VirtualClock;
use mainspring::hyper::{HyperExecutor, HyperIo, HyperTimer};
use mainspring::net::{TcpListener, TcpStream, UnixStream};

/// Reads into memory that is not initialized.
async fn read(stream: &mut (impl Read + Unpin), room: usize) -> io::Result<Vec<u8>> {
    let mut space = vec![MaybeUninit::uninit(); room];
    let mut bytes = ReadBuf::uninit(&mut space);
    poll_fn(|context| Pin::new(&mut *stream).poll_read(context, bytes.unfilled())).await?;
    Ok(bytes.filled().to_vec())
}

/// Everything that `hyper` does with a stream, from both sides.
async fn exercise(
    mut ours: impl Read + Write + Unpin,
    mut theirs: impl Read + Write + Unpin,
) -> io::Result<()> {
    for _ in 0..3 {
        let n = poll_fn(|context| Pin::new(&mut ours).poll_write(context, b"hello")).await?;
        assert_eq!(n, 5);
        poll_fn(|context| Pin::new(&mut ours).poll_flush(context)).await?;
        assert_eq!(read(&mut theirs, 3).await?, b"hel", "as much as there is room for");
        assert_eq!(read(&mut theirs, 64).await?, b"lo");
        let pieces = [IoSlice::new(b"head"), IoSlice::new(b"body")];
        let n = poll_fn(|c| Pin::new(&mut theirs).poll_write_vectored(c, &pieces)).await?;
        let expected = &b"headbody"[..n];
        assert_eq!(read(&mut ours, 64).await?, expected);
    }
    poll_fn(|context| Pin::new(&mut ours).poll_shutdown(context)).await?;
    assert_eq!(read(&mut theirs, 64).await?, b"");
    poll_fn(|context| Pin::new(&mut theirs).poll_write(context, b"still")).await?;
    assert_eq!(read(&mut ours, 64).await?, b"still");
    Ok(())
}

// spec: BX-1
#[test]
fn a_tcp_stream_reads_and_writes() {
    let event_loop = common::builder().build().unwrap();
    let cx = event_loop.cx();
    run(&event_loop, async {
        let listener = TcpListener::bind(cx, "127.0.0.1:0").await?;
        let ours = TcpStream::connect(cx, listener.local_addr()?).await?;
        let theirs = listener.accept().await?.0;
        assert!(ours.is_write_vectored());
        exercise(ours, theirs).await
    });
}

// spec: BX-1
#[test]
fn a_unix_stream_reads_and_writes() {
    let event_loop = common::builder().build().unwrap();
    let (ours, theirs) = UnixStream::pair(event_loop.cx()).unwrap();
    run(&event_loop, exercise(ours, theirs));
}

// spec: BX-1
#[test]
fn any_other_stream_reads_and_writes_in_a_wrapper() {
    let event_loop = common::builder().build().unwrap();
    let (ours, theirs) = UnixStream::pair(event_loop.cx()).unwrap();
    run(&event_loop, exercise(HyperIo::new(ours), HyperIo::new(theirs)));
}

// spec: BX-1
#[test]
fn reading_waits_and_is_woken() {
    let event_loop = common::builder().build().unwrap();
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (mut ours, theirs) = UnixStream::pair(cx)?;
        give_up(cx, read(&mut ours, 64)).await;
        let task = cx.spawn_local(async move { read(&mut ours, 64).await.unwrap() });
        cx.yield_now().await;
        theirs.write_all(b"hello").await?;
        assert_eq!(task.await.unwrap(), b"hello");
        Ok(())
    });
}

// spec: BX-1
#[test]
fn the_executor_spawns_on_the_loop() {
    let event_loop = common::builder().build().unwrap();
    let executor = HyperExecutor::new(event_loop.cx());
    let count = Rc::new(Cell::new(0));
    for executor in [executor.clone(), executor] {
        let count = Rc::clone(&count);
        executor.execute(async move { count.set(count.get() + 1) });
    }
    assert_eq!(count.get(), 0);
    event_loop.run_until_idle().unwrap();
    assert_eq!(count.get(), 2);
}

// spec: BX-1
#[test]
fn the_timer_has_the_time_of_the_loop() {
    let clock = VirtualClock::new();
    let event_loop = common::builder().clock(&clock).build().unwrap();
    let timer = HyperTimer::new(event_loop.cx());
    assert_eq!(timer.now(), event_loop.cx().now());
    let second = Duration::from_secs(1);
    let mut sleeps =
        [timer.sleep(second), timer.sleep_until(clock.now() + 2 * second), timer.sleep(second)];
    timer.reset(&mut sleeps[2], clock.now() + 3 * second);
    let context = &mut Context::from_waker(Waker::noop());
    for done in 0..=3 {
        let polled: Vec<_> = sleeps.iter_mut().map(|sleep| sleep.as_mut().poll(context)).collect();
        let ready = polled.iter().filter(|poll| poll.is_ready()).count();
        assert_eq!((ready, &polled[..done]), (done, &[Poll::Ready(()); 3][..done]));
        clock.advance(second);
        event_loop.turn(Duration::ZERO).unwrap();
    }
}

// spec: BX-1
#[test]
fn a_sleep_of_somebody_else_is_replaced() {
    struct Foreign;
    impl Future for Foreign {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            Poll::Pending
        }
    }
    impl hyper::rt::Sleep for Foreign {}
    let event_loop = common::builder().build().unwrap();
    let timer = HyperTimer::new(event_loop.cx());
    let mut sleep: Pin<Box<dyn hyper::rt::Sleep>> = Box::pin(Foreign);
    timer.reset(&mut sleep, timer.now());
    let sleep = pin!(sleep);
    event_loop.block_on(sleep).unwrap();
}
