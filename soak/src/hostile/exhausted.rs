//! No descriptors left: accepting waits and does not spin, everything else goes on, and those who waited are served
//! as soon as there are descriptors again.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mainspring::net::TcpListener;
use mainspring::{AbortSignal, Cx, Error, EventLoop, FastPathMode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Report;
use super::peers::{Traffic, serve};

const LIMIT: u64 = 128;
const EPISODES: usize = 3;
const CLIENTS: usize = 30;
/// How long the need lasts: so many calls of a timer.
const BEATS: u64 = 20;
const BEAT: Duration = Duration::from_millis(50);
/// Ticks for each of them. One that spins makes thousands.
const TICKS: u64 = 20;

pub(super) fn run(report: &mut Report) -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT), ..limit })?;
    let event_loop = EventLoop::builder().metrics(true).build()?;
    let cx = event_loop.cx();
    let traffic = Arc::new(Traffic::default());
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    serve(cx, TcpListener::from_std(cx, listener)?, &traffic);
    for episode in 1..=EPISODES {
        let served = (episode * CLIENTS) as u64;
        let clients = connect(address)?;
        let files = use_up();
        let (ticks, accepted) = starve(&event_loop, &traffic)?;
        report.expect(
            ticks <= BEATS * TICKS,
            &format!("time {episode} without descriptors: {ticks} ticks in {BEATS} beats of a timer, {} may be", BEATS * TICKS),
        );
        report.expect(
            accepted == served - CLIENTS as u64,
            "nobody was accepted meanwhile, and nobody was turned away",
        );
        report.expect(
            matches!(build(), Err(Error::Io(_))),
            "a loop that needs descriptors is refused",
        );
        drop(files);
        until(&event_loop, || traffic.answered.load(SeqCst) >= served)?;
        report.expect(
            clients.into_iter().all(|client| is_answered(client).is_ok()),
            &format!("all {CLIENTS} who waited were served when there were descriptors again"),
        );
        until(&event_loop, || traffic.ended.load(SeqCst) >= served)?;
    }
    drop(event_loop);
    setrlimit(Resource::Nofile, limit)?;
    Ok(())
}

/// Clients that have asked, and wait in the backlog.
fn connect(server: SocketAddr) -> io::Result<Vec<TcpStream>> {
    let connect = |_| {
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(b"hello")?;
        Ok(stream)
    };
    (0..CLIENTS).map(connect).collect()
}

fn is_answered(mut client: TcpStream) -> io::Result<()> {
    let mut answer = [0; 5];
    client.read_exact(&mut answer)
}

/// Opens files until there are no descriptors left.
fn use_up() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// Drives the loop while there are none: timers and workers go on. Tells how many ticks that took, and how many connections
/// there have been.
fn starve(event_loop: &EventLoop, traffic: &Traffic) -> Result<(u64, u64), Error> {
    let ticks = || event_loop.cx().metrics().map_or(0, |metrics| metrics.ticks);
    let before = ticks();
    let cx = event_loop.cx().clone();
    event_loop.block_on(async move {
        for _ in 0..BEATS {
            cx.sleep(BEAT).await;
        }
        let job = cx.promisify(&AbortSignal::never(), |_| Ok::<_, std::fmt::Error>(5));
        assert_eq!(job.await.ok(), Some(5), "a worker needs no descriptor");
    })?;
    Ok((ticks() - before, traffic.accepted.load(SeqCst)))
}

/// A loop that has its descriptors from the beginning.
fn build() -> Result<EventLoop, Error> {
    EventLoop::builder().fast_path(FastPathMode::Disabled).build()
}

/// Drives the loop until something is so.
fn until(event_loop: &EventLoop, is_so: impl Fn() -> bool) -> Result<(), Error> {
    let cx: Cx = event_loop.cx().clone();
    event_loop.block_on(async move {
        while !is_so() {
            cx.sleep(Duration::from_millis(1)).await;
        }
    })
}
