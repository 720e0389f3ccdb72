//! System calls of networking, counted by strace.
//!
//! Each test starts a program of its own under strace: this file again, with a scenario named in the
//! environment. The server's thread marks what is to be counted by asking for the metadata of a path that does
//! not exist. The tests are ignored by default because they need strace; `tools/test` runs them.
// The portable poller makes calls of its own.
#![cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]

use std::io::{Read, Write};
use std::net;
use std::os::unix;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;

use mainspring::net::{TcpListener, TcpStream, UnixStream};
use mainspring::{Cx, EventLoop};

const KEY: &str = "MAINSPRING_NET_SYSCALLS";

/// How many requests, or connections, there are.
const COUNT: usize = 1_000;

/// Appears in the trace.
fn mark(name: &str) {
    assert!(std::fs::metadata(format!("/no/such/mark/{name}")).is_err());
}

/// What the thread that marked it has called between the marks, in a scenario under strace.
fn trace(scenario: &str) -> Vec<String> {
    let file = std::env::temp_dir()
        .join(format!("mainspring-net-{}-{scenario}.strace", std::process::id()));
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&file)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "the_scenario", "--ignored", "--nocapture", "--test-threads=1"])
        .env(KEY, scenario)
        .output()
        .expect("strace is needed: install it with the system's package manager");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();

    let mut marked = None;
    let mut calls = Vec::new();
    for line in text.lines() {
        let (thread, call) = line.split_once(char::is_whitespace).unwrap();
        let call = call.trim_start();
        match (call.split_once("/no/such/mark/"), marked) {
            (Some((_, name)), None) if name.starts_with("begin") => marked = Some(thread),
            (Some((_, name)), Some(_)) if name.starts_with("end") => return calls,
            // The rest of a call that another thread's line interrupted belongs to it.
            (None, Some(marked)) if marked == thread => match call.strip_prefix("<... ") {
                Some(rest) => calls.last_mut().unwrap().push_str(rest),
                None => calls.push(call.to_owned()),
            },
            _ => {}
        }
    }
    panic!("nothing is marked in {scenario}");
}

/// How many calls have one of these names. Memory may have to be asked for by anybody.
fn count(calls: &[String], names: &[&str]) -> usize {
    let is_one = |call: &&String| names.iter().any(|name| call.split('(').next() == Some(name));
    calls.iter().filter(is_one).count()
}

const READS: &[&str] = &["read", "recvfrom", "recvmsg", "readv"];
const WRITES: &[&str] = &["write", "sendto", "sendmsg", "writev"];
const WAITS: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];
const MEMORY: &[&str] = &["mmap", "munmap", "brk", "mprotect", "madvise", "mremap"];

/// Calls that were made in vain.
fn in_vain(calls: &[String]) -> Vec<&String> {
    calls.iter().filter(|call| call.contains("EAGAIN")).collect()
}

/// The body of the traced program.
#[test]
#[ignore = "the program that the other tests trace"]
fn the_scenario() {
    let Ok(scenario) = std::env::var(KEY) else { return };
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
        let calls = trace(scenario);
        assert_eq!(count(&calls, WRITES), COUNT + 1, "{scenario}");
        assert_eq!(in_vain(&calls), [""; 0], "{scenario}");
        assert_eq!(count(&calls, READS), COUNT, "{scenario}");
        let waits = count(&calls, WAITS);
        assert!(waits <= COUNT + 1, "{scenario}: {waits} waits");
        let others = calls.len() - count(&calls, READS) - count(&calls, WRITES) - waits;
        assert!(others - count(&calls, MEMORY) < 10, "{scenario}: {calls:?}");
    }
}

// spec: BX-1
#[test]
#[ignore = "needs strace: run by tools/test"]
fn a_connection_is_accepted_registered_removed_and_closed_once() {
    let calls = trace("connections");
    assert_eq!(count(&calls, &["close"]), COUNT);
    assert_eq!(count(&calls, WRITES), COUNT);
    assert_eq!(count(&calls, &["epoll_ctl"]), 2 * COUNT);
    assert_eq!(count(&calls, &["ioctl", "setsockopt", "getsockname", "getpeername"]), 0);
    // One that finds that there is none, for each that finds one, at the most.
    assert!(count(&calls, &["accept4"]) <= 2 * COUNT);
    // One for the request, one for the end, and one that comes too early.
    assert!(count(&calls, READS) <= 3 * COUNT, "{}", count(&calls, READS));
}
