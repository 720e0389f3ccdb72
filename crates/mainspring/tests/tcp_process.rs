//! TCP, where it takes a process of its own: one that runs out of descriptors, and one that a signal would end.
//!
//! Each test starts this file again, with a scenario named in the environment.
#![cfg(all(target_os = "linux", not(loom)))]

mod common;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use mainspring::net::{TcpListener, TcpStream};
use mainspring::{Cx, VirtualClock};
use rustix::process::{Resource, Rlimit, setrlimit};
use tracing::span;

const KEY: &str = "MAINSPRING_TCP_PROCESS";

/// Runs a scenario, which must succeed.
fn run(scenario: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_scenario", "--ignored", "--nocapture", "--test-threads=1"])
        .env(KEY, scenario)
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    assert!(out.contains("the scenario is over"), "{out}\n{err}");
}

/// The body of the program.
#[test]
#[ignore = "the program that the other tests start"]
fn the_scenario() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    match scenario.as_str() {
        "no descriptors" => no_descriptors(),
        "no signal" => no_signal(),
        _ => unreachable!(),
    }
    println!("the scenario is over");
}

/// Counts warnings.
struct Warnings;

static WARNINGS: AtomicUsize = AtomicUsize::new(0);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        WARNINGS.fetch_add(1, Ordering::SeqCst);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wakes {
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

/// A stream of the loop, and its peer, which blocks.
fn half_pair(cx: &Cx) -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    (TcpStream::from_std(cx, ours).unwrap(), theirs)
}

/// Opens files until there are no descriptors left.
fn use_up() -> Vec<File> {
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    files
}

fn no_descriptors() {
    tracing::subscriber::set_global_default(Warnings).unwrap();
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let clock = VirtualClock::new();
    let event_loop = common::builder().clock(&clock).build().unwrap();
    let cx = event_loop.cx();
    let listener = event_loop.block_on(TcpListener::bind(cx, "127.0.0.1:0")).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    for episode in 1..=2 {
        let mut clients: Vec<_> =
            (0..3).map(|_| net::TcpStream::connect(address).unwrap()).collect();
        let files = use_up();
        let mut accept = Box::pin(async {
            let mut streams = Vec::new();
            for _ in 0..3 {
                streams.push(listener.accept().await.unwrap().0);
            }
            streams
        });
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let context = &mut Context::from_waker(&waker);
        assert!(accept.as_mut().poll(context).is_pending());
        for pause in 1..=5 {
            // Whatever is queued at first is run; after that there is nothing to do: nobody spins.
            for _ in 0..10 {
                event_loop.turn(Duration::ZERO).unwrap();
            }
            while wakes.take() != 0 {
                assert!(accept.as_mut().poll(context).is_pending());
                event_loop.turn(Duration::ZERO).unwrap();
            }
            for _ in 0..10 {
                assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0, "pause {pause}");
            }
            assert_eq!(wakes.take(), 0);
            clock.advance(Duration::from_millis(49));
            assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
            clock.advance(Duration::from_millis(1));
            assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
            assert_eq!(wakes.take(), 1, "it is tried again");
            assert!(accept.as_mut().poll(context).is_pending());
        }
        assert_eq!(WARNINGS.load(Ordering::SeqCst), episode, "once for each time of need");
        drop(files);
        clock.advance(Duration::from_millis(50));
        event_loop.turn(Duration::ZERO).unwrap();
        let streams = event_loop.block_on(accept).unwrap();
        for stream in &streams {
            assert_eq!(stream.try_write(b"x").unwrap(), 1);
        }
        clients.iter_mut().for_each(|client| client.read_exact(&mut [0]).unwrap());
    }
}

fn no_signal() {
    // SAFETY: no other thread uses signals.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let event_loop = common::builder().build().unwrap();
    let cx = event_loop.cx();
    let (ours, theirs) = half_pair(cx);
    drop(theirs);
    event_loop
        .block_on(async {
            let error = loop {
                if let Err(error) = ours.write(b"x").await {
                    break error;
                }
            };
            let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
            assert!(kinds.contains(&error.kind()), "{error}");
            assert_eq!(ours.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
            assert_eq!(ours.try_write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
            let pieces = [std::io::IoSlice::new(b"x"), std::io::IoSlice::new(b"y")];
            let error = ours.write_vectored(&pieces).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        })
        .unwrap();
}

// spec: BX-1
#[test]
fn a_listener_without_descriptors_pauses_and_goes_on() {
    run("no descriptors");
}

// spec: BX-1
#[test]
fn writing_to_a_closed_connection_raises_no_signal() {
    run("no signal");
}
