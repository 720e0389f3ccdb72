//! System calls of networking, counted by strace.
//!
//! The server's thread marks what is to be counted. The tests are ignored by default because they need
//! strace; `tools/test` runs them.
// The portable poller makes calls of its own.
#![cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]

#[path = "common/strace.rs"]
mod strace;

use std::io::{Read, Write};
use std::net;
use std::os::unix;
use std::sync::mpsc::channel;
use std::thread;

use mainspring::net::{TcpListener, TcpStream, UnixStream};
use mainspring::{Cx, EventLoop};
use strace::{Call, mark, scenario, trace};

/// How many requests, or connections, there are.
const COUNT: usize = 1_000;

/// What the thread that marked it has called between the marks, in a scenario under strace.
fn marked(scenario: &str) -> Vec<Call> {
    let mut calls = trace(scenario).into_iter();
    let begin = calls.find(|call| call.mark() == Some("begin")).expect("it is marked");
    let own = calls.filter(|call| call.thread == begin.thread);
    let mut end = false;
    let marked = own.take_while(|call| {
        end = call.mark() == Some("end");
        !end
    });
    let marked = marked.collect();
    assert!(end, "the mark's end is missing in {scenario}");
    marked
}

/// How many calls have one of these names.
fn count(calls: &[Call], names: &[&str]) -> usize {
    calls.iter().filter(|call| names.contains(&call.name())).count()
}

const READS: &[&str] = &["read", "recvfrom", "recvmsg", "readv"];
const WRITES: &[&str] = &["write", "sendto", "sendmsg", "writev"];
const WAITS: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// Calls that were made in vain.
fn in_vain(calls: &[Call]) -> Vec<&Call> {
    calls.iter().filter(|call| call.text.contains("EAGAIN")).collect()
}

/// The body of the traced program.
#[test]
#[ignore = "the program that the other tests trace"]
fn the_scenario() {
    let Some(scenario) = scenario() else { return };
    match scenario.as_str() {
        "tcp" => tcp(),
        "unix" => unix(),
        "connections" => connections(),
        _ => unreachable!(),
    }
}

/// A server on a thread of its own, with a client on this one.
fn serve<S: Send + 'static, C: Read + Write>(
    server: S,
    client: C,
    answer: impl AsyncFnOnce(&Cx, S) + Send + 'static,
) -> C {
    let (send, receive) = channel();
    let thread = thread::spawn(move || {
        let event_loop = EventLoop::new().unwrap();
        let cx = event_loop.cx().clone();
        send.send(()).unwrap();
        event_loop.block_on(answer(&cx, server)).unwrap();
    });
    receive.recv().unwrap();
    let client = ask(client);
    thread.join().unwrap();
    client
}

const REQUEST: [u8; 100] = [1; 100];
const RESPONSE: [u8; 200] = [2; 200];

/// One request after the other. The first one is not counted, since what is allocated at first is by it.
fn ask<C: Read + Write>(mut client: C) -> C {
    for _ in 0..=COUNT {
        client.write_all(&REQUEST).unwrap();
        client.read_exact(&mut [0; RESPONSE.len()]).unwrap();
    }
    client
}

macro_rules! answer {
    ($stream:expr) => {
        let stream = $stream;
        let mut bytes = [0; 1024];
        for request in 0..=COUNT {
            assert_eq!(stream.read(&mut bytes).await.unwrap(), REQUEST.len());
            if request == 0 {
                mark("begin");
            }
            stream.write_all(&RESPONSE).await.unwrap();
        }
        mark("end");
    };
}

fn tcp() {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = listener.accept().unwrap().0;
    serve(server, client, async |cx: &Cx, server| {
        answer!(TcpStream::from_std(cx, server).unwrap());
    });
}

fn unix() {
    let (server, client) = unix::net::UnixStream::pair().unwrap();
    serve(server, client, async |cx: &Cx, server| {
        answer!(UnixStream::from_std(cx, server).unwrap());
    });
}

/// A connection for each request.
fn connections() {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let event_loop = EventLoop::new().unwrap();
        let cx = event_loop.cx();
        let listener = TcpListener::from_std(cx, listener).unwrap();
        event_loop
            .block_on(async {
                let mut bytes = [0; 1024];
                for connection in 0..=COUNT {
                    let (stream, _) = listener.accept().await.unwrap();
                    assert_eq!(stream.read(&mut bytes).await.unwrap(), REQUEST.len());
                    stream.write_all(&RESPONSE).await.unwrap();
                    assert_eq!(stream.read(&mut bytes).await.unwrap(), 0);
                    drop(stream);
                    if connection == 0 {
                        mark("begin");
                    }
                }
                mark("end");
            })
            .unwrap();
    });
    for _ in 0..=COUNT {
        let mut client = net::TcpStream::connect(address).unwrap();
        client.write_all(&REQUEST).unwrap();
        client.read_exact(&mut [0; RESPONSE.len()]).unwrap();
    }
    thread.join().unwrap();
}

// spec: BX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_request_is_one_read_one_write_and_a_wait() {
    for scenario in ["tcp", "unix"] {
        let calls = marked(scenario);
        assert_eq!(count(&calls, WRITES), COUNT + 1, "{scenario}");
        assert!(in_vain(&calls).is_empty(), "{scenario}: {:?}", in_vain(&calls));
        assert_eq!(count(&calls, READS), COUNT, "{scenario}");
        let waits = count(&calls, WAITS);
        assert!(waits <= COUNT + 1, "{scenario}: {waits} waits");
        let others = calls.len() - count(&calls, READS) - count(&calls, WRITES) - waits;
        assert!(others < 10, "{scenario}: {calls:?}");
    }
}

// spec: BX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_connection_is_accepted_registered_removed_and_closed_once() {
    let calls = marked("connections");
    assert_eq!(count(&calls, &["close"]), COUNT);
    assert_eq!(count(&calls, WRITES), COUNT);
    assert_eq!(count(&calls, &["epoll_ctl"]), 2 * COUNT);
    assert_eq!(count(&calls, &["ioctl", "setsockopt", "getsockname", "getpeername"]), 0);
    // One that finds that there is none, for each that finds one, at the most.
    assert!(count(&calls, &["accept4"]) <= 2 * COUNT);
    // One for the request, one for the end, and one that comes too early.
    assert!(count(&calls, READS) <= 3 * COUNT, "{}", count(&calls, READS));
}
