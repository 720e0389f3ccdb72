//! Tokio inside Mainspring.
#![cfg(target_os = "linux")]

mod common;

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use common::{HOUR, MS, assert_asleep, counted, every, thread_number};
use futures_util::{SinkExt, StreamExt};
use mainspring::{EventLoop, JoinError};
use mainspring_embedding::TokioGuest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio_tungstenite::tungstenite::Message;

fn event_loop() -> (EventLoop, TokioGuest) {
    (counted(EventLoop::builder()).0, TokioGuest::new().unwrap())
}

// spec: BX-1, BX-2
#[test]
fn sockets_of_tokio_work_in_futures_that_need_not_be_send() {
    let (event_loop, tokio) = event_loop();
    let cx = event_loop.cx();
    let here = thread_number();
    let bytes = Rc::new(Cell::new(0));
    let counted = Rc::clone(&bytes);
    let (inner, spawner) = (tokio.clone(), cx.clone());
    let server = tokio.spawn_local(cx, async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = inner.spawn_local(&spawner, async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            for i in 0..100 {
                stream.write_all(&[i; 100]).await.unwrap();
                let mut answer = [0; 100];
                stream.read_exact(&mut answer).await.unwrap();
                assert_eq!((answer, thread_number()), ([i; 100], here));
            }
        });
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 1024];
        loop {
            let count = stream.read(&mut buffer).await.unwrap();
            assert_eq!(thread_number(), here);
            if count == 0 {
                break;
            }
            stream.write_all(&buffer[..count]).await.unwrap();
            counted.set(counted.get() + count);
        }
        client.await.unwrap();
    });
    event_loop.block_on(server).unwrap().unwrap();
    assert_eq!(bytes.get(), 10_000);
}

// spec: BX-1
#[test]
fn time_of_tokio_passes_and_each_future_is_polled_when_it_is_due_and_not_otherwise() {
    let (event_loop, tokio) = event_loop();
    let polls = Rc::new(Cell::new(0));
    let theirs = Rc::clone(&polls);
    let begun = Instant::now();
    let join = tokio.spawn_local(event_loop.cx(), async move {
        let mut sleep = pin!(tokio::time::sleep(20 * MS));
        std::future::poll_fn(|cx| {
            theirs.set(theirs.get() + 1);
            sleep.as_mut().poll(cx)
        })
        .await;
    });
    event_loop.run_until_idle().unwrap();
    assert!(join.is_finished() && begun.elapsed() >= 20 * MS);
    assert_eq!(polls.get(), 2, "once before, and once after");
}

// spec: BX-1
#[test]
fn futures_of_tokio_and_callbacks_of_the_loop_take_turns() {
    let (event_loop, tokio) = event_loop();
    let calls = Rc::new(Cell::new(0));
    let (theirs, seen) = (Rc::clone(&calls), Rc::clone(&calls));
    every(event_loop.cx(), MS, usize::MAX, move |_, call| theirs.set(call));
    let join = tokio.spawn_local(event_loop.cx(), async move {
        let mut interval = tokio::time::interval(2 * MS);
        let mut ticks = 0;
        while seen.get() < 10 || ticks < 10 {
            interval.tick().await;
            ticks += 1;
        }
    });
    event_loop.block_on(join).unwrap().unwrap();
}

// spec: BX-1
#[test]
fn a_crate_that_insists_on_tokio_works_a_websocket() {
    let (event_loop, tokio) = event_loop();
    let cx = event_loop.cx();
    let (inner, spawner) = (tokio.clone(), cx.clone());
    let session = tokio.spawn_local(cx, async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        let server = inner.spawn_local(&spawner, async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            while let Some(Ok(message)) = socket.next().await {
                if message.is_close() {
                    break;
                }
                socket.send(message).await.unwrap();
            }
        });
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        for i in 0..50 {
            let text = format!("message {i}");
            socket.send(Message::text(text.clone())).await.unwrap();
            let answer = socket.next().await.unwrap().unwrap();
            assert_eq!(answer.into_text().unwrap().as_str(), text);
        }
        socket.close(None).await.unwrap();
        server.await.unwrap();
        50
    });
    assert_eq!(event_loop.block_on(session).unwrap().unwrap(), 50);
}

// spec: BX-1
#[test]
fn a_child_of_tokio_works() {
    let (event_loop, tokio) = event_loop();
    let output = tokio.spawn_local(event_loop.cx(), async {
        let mut child = tokio::process::Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"through a pipe").await.unwrap();
        child.wait_with_output().await.unwrap().stdout
    });
    assert_eq!(event_loop.block_on(output).unwrap().unwrap(), b"through a pipe");
}

// spec: BX-1
#[test]
fn tasks_of_the_runtime_run_on_its_own_thread_and_can_be_awaited() {
    let (event_loop, tokio) = event_loop();
    let here = thread_number();
    let join = tokio.spawn_local(event_loop.cx(), async {
        tokio::spawn(async {
            tokio::time::sleep(MS).await;
            thread_number()
        })
        .await
        .unwrap()
    });
    assert_ne!(event_loop.block_on(join).unwrap().unwrap(), here);
}

// spec: BX-1
#[test]
fn a_future_is_dropped_inside_the_runtime() {
    /// Needs a runtime for its destructor.
    struct Needy(mpsc::Sender<bool>);
    impl Drop for Needy {
        fn drop(&mut self) {
            self.0.send(tokio::runtime::Handle::try_current().is_ok()).unwrap();
        }
    }
    let (event_loop, tokio) = event_loop();
    let (send, receive) = mpsc::channel();
    let waits_with = |needy| async move {
        let _needy = needy;
        std::future::pending::<()>().await;
    };
    // Never polled, aborted, dropped by the end of the loop.
    drop(tokio.wrap(waits_with(Needy(send.clone()))));
    let join = tokio.spawn_local(event_loop.cx(), waits_with(Needy(send.clone())));
    event_loop.turn(Duration::ZERO).unwrap();
    join.abort();
    let left = tokio.spawn_local(event_loop.cx(), waits_with(Needy(send.clone())));
    event_loop.turn(Duration::ZERO).unwrap();
    event_loop.cx().shutdown();
    event_loop.run().unwrap();
    assert_eq!(receive.try_iter().collect::<Vec<_>>(), [true; 3]);
    drop((join, left));
    assert!(tokio::runtime::Handle::try_current().is_err(), "and nobody else is inside");
}

// spec: BX-1
#[test]
fn what_is_not_wrapped_finds_no_runtime() {
    let event_loop = EventLoop::builder().on_uncaught(|_, _| ()).build().unwrap();
    let _tokio = TokioGuest::new().unwrap();
    let join = event_loop.cx().spawn_local(async { tokio::time::sleep(MS).await });
    let joined = event_loop.block_on(join).unwrap();
    assert!(matches!(joined, Err(JoinError::Panicked(_))));
}

// spec: BX-1
#[test]
fn the_runtime_lives_for_as_long_as_its_futures() {
    let (event_loop, tokio) = event_loop();
    let join = tokio.spawn_local(event_loop.cx(), async {
        tokio::time::sleep(2 * MS).await;
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(b"x", socket.local_addr().unwrap()).await.unwrap();
        socket.recv(&mut [0]).await.unwrap()
    });
    drop(tokio);
    assert_eq!(event_loop.block_on(join).unwrap().unwrap(), 1);
}

// spec: BX-1
#[test]
fn the_last_handle_can_be_dropped_on_the_runtimes_own_thread() {
    let tokio = TokioGuest::new().unwrap();
    let handle = tokio.handle().clone();
    let (send, receive) = mpsc::channel();
    handle.spawn(async move {
        drop(tokio);
        send.send(()).unwrap();
    });
    receive.recv_timeout(Duration::from_secs(20)).unwrap();
}

// spec: BX-1
#[test]
fn a_future_that_outlives_its_loop_is_told() {
    let (event_loop, tokio) = event_loop();
    let mut join = tokio.spawn_local(event_loop.cx(), std::future::pending::<()>());
    drop(event_loop);
    let waker = std::task::Waker::noop();
    let polled = pin!(&mut join).poll(&mut std::task::Context::from_waker(waker));
    assert!(matches!(polled, Poll::Ready(Err(JoinError::Terminated))));
}

// spec: BX-2, TK-4
#[test]
fn while_nothing_happens_nobody_wakes_up() {
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        let (event_loop, ticks) = counted(EventLoop::builder());
        let tokio = TokioGuest::new().unwrap();
        let cx = event_loop.cx().clone();
        // Not quite without anything: a timer and a socket of tokio's, a timer of the loop.
        cx.set_timeout(HOUR, |_| ()).unwrap();
        tokio.spawn_local(&cx, async { tokio::time::sleep(HOUR).await });
        let theirs = cx.clone();
        tokio.spawn_local(&cx, async move {
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let address = socket.local_addr().unwrap();
            let worker = tokio::spawn(async { thread_number() }).await.unwrap();
            send.send(([thread_number(), worker], address)).unwrap();
            let mut buffer = [0; 16];
            while socket.recv(&mut buffer).await.unwrap() > 0 {}
            theirs.close();
        });
        event_loop.run().unwrap();
        ticks.get()
    });
    let (threads, address) = receive.recv().unwrap();
    assert_asleep(&threads);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(&[], address).unwrap();
    let ticks = thread.join().unwrap();
    assert!(ticks <= 5, "{ticks} ticks");
}
