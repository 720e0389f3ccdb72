//! Connections that are opened and cut: before anything was said, in the middle, with answers that nobody reads.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mainspring::net::TcpListener;
use mainspring::{Cx, Watch};
use rustix::io::{Errno, read, write};
use rustix::net::sockopt::set_socket_linger;

use super::Report;
use super::peers::{Server, Traffic, serve};
use crate::report::thousands;

const CONNECTIONS: usize = 10_000;
/// How many are open at a time: no more than the system keeps in a backlog.
const TOGETHER: usize = 100;

pub(super) fn run(report: &mut Report) -> io::Result<()> {
    let awaited = Server::start(|cx, listener, traffic| {
        serve(cx, TcpListener::from_std(cx, listener)?, traffic);
        Ok(())
    })?;
    let watched = Server::start(watch)?;
    for (name, server) in [("futures", awaited), ("watchers", watched)] {
        let polite = attack(server.address)?;
        // Connections are accepted in their order, so whoever is served now comes after all of them.
        ask(&mut TcpStream::connect(server.address)?)?;
        server.wait_for_silence();
        let accepted = server.traffic.accepted.load(SeqCst) as usize;
        report.expect(
            accepted == CONNECTIONS / 2 + 1,
            &format!(
                "{name}: {} connections were accepted, and all have ended",
                thousands(accepted as u64)
            ),
        );
        report.expect(
            polite == CONNECTIONS / 2 / 4,
            &format!("{name}: {polite} of them behaved, and got all that they had asked for"),
        );
        report.expect(server.end(), &format!("{name}: a graceful shutdown dropped nothing"));
    }
    Ok(())
}

/// Half of all connections. Tells how many were not cut.
fn attack(server: SocketAddr) -> io::Result<usize> {
    let mut polite = 0;
    for _ in 0..CONNECTIONS / 2 / TOGETHER {
        let mut streams = Vec::new();
        for _ in 0..TOGETHER {
            streams.push(TcpStream::connect(server)?);
        }
        for (number, mut stream) in streams.into_iter().enumerate() {
            match number % 4 {
                // A reset, before or after a question.
                0 => set_socket_linger(&stream, Some(Duration::ZERO))?,
                1 => {
                    stream.write_all(&[1; 3000])?;
                    set_socket_linger(&stream, Some(Duration::ZERO))?;
                }
                // The answer finds nobody.
                2 => stream.write_all(&[2; 3000])?,
                _ => {
                    ask(&mut stream)?;
                    polite += 1;
                }
            }
        }
    }
    Ok(polite)
}

/// Asks, says that this was all, and reads to the end.
fn ask(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(&[3; 100])?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    assert_eq!(answer, [3; 100], "what was sent comes back");
    Ok(())
}

/// A server by watchers.
fn watch(cx: &Cx, listener: std::net::TcpListener, traffic: &Arc<Traffic>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let traffic = Arc::clone(traffic);
    let accept = Watch::new().read(move |cx, listener: &std::net::TcpListener| {
        while let Ok((stream, _)) = listener.accept() {
            traffic.accepted.fetch_add(1, SeqCst);
            stream.set_nonblocking(true).expect("it is a socket");
            let traffic = Arc::clone(&traffic);
            let answer =
                Watch::new().read(move |cx, stream: &OwnedFd| answer(cx, stream, &traffic));
            cx.watch(OwnedFd::from(stream), answer).expect("there is room");
        }
    });
    cx.watch(listener, accept).map_err(mainspring::Error::from)?;
    Ok(())
}

fn answer(cx: &Cx, stream: &OwnedFd, traffic: &Traffic) {
    let mut bytes = [0; 4096];
    match read(stream, &mut bytes) {
        Ok(count) if count > 0 && write(stream, &bytes[..count]).is_ok() => {}
        Err(Errno::AGAIN | Errno::INTR) => {}
        // The end, in good order or not.
        _ => {
            cx.unwatch(stream.as_raw_fd());
            traffic.ended.fetch_add(1, SeqCst);
        }
    }
}
