//! Clients that send as much as they can, and never read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use mainspring::net::TcpListener;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

use super::Report;
use super::peers::{Server, serve};
use crate::heap;
use crate::report::thousands;

const SILENT: usize = 100;
const POLITE: usize = 10;
/// What each of the polite has to get answered while all of the silent are stuck.
const ANSWERS: u64 = 200;
/// Rounds in which no silent client can send anything, before they count as stuck.
const ROUNDS: u32 = 100;
/// What the system is asked to keep for each socket, so that all of them are soon stuck.
const BUFFER: usize = 1 << 16;
/// Bytes of the heap that the server may need for all of them. They send for as long as they are let.
const BOUND: i64 = 4 << 20;

pub(super) fn run(time: Duration, report: &mut Report) -> io::Result<()> {
    let server = Server::start(|cx, listener, traffic| {
        // What is accepted has it from the listener.
        set_socket_recv_buffer_size(&listener, BUFFER)?;
        set_socket_send_buffer_size(&listener, BUFFER)?;
        serve(cx, TcpListener::from_std(cx, listener)?, traffic);
        Ok(())
    })?;
    let base = heap::bytes();
    let (is_stuck, peak) = (AtomicBool::new(false), AtomicI64::new(0));
    let answers = AtomicU64::new(0);
    let sent = thread::scope(|scope| {
        let silent = scope.spawn(|| {
            let sent = pour(server.address, time, &is_stuck, &peak, base);
            // They stay until the polite have been served beside them.
            while answers.load(SeqCst) < POLITE as u64 * ANSWERS {
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        let polite: Vec<_> = (0..POLITE)
            .map(|_| scope.spawn(|| talk(server.address, &is_stuck, &answers)))
            .collect();
        for thread in polite {
            thread.join().expect("no thread panics")?;
        }
        silent.join().expect("no thread panics").map(|(sent, _streams)| sent)
    })?;
    let read = server.traffic.read.load(SeqCst);
    report.say(&format!(
        "{SILENT} silent clients sent {} bytes, and were read from no further",
        thousands(sent)
    ));
    report.say(&format!("the server read {} bytes of everybody", thousands(read)));
    let answers = answers.load(SeqCst);
    report.expect(
        answers >= POLITE as u64 * ANSWERS,
        &format!(
            "{POLITE} others got {} answers meanwhile, each at least {ANSWERS}",
            thousands(answers)
        ),
    );
    let peak = peak.load(SeqCst);
    report.expect(
        peak <= BOUND,
        &format!(
            "{} bytes of the heap at the most, {} may be",
            thousands(peak.unsigned_abs()),
            thousands(BOUND.unsigned_abs())
        ),
    );
    server.wait_for_silence();
    let accepted = server.traffic.accepted.load(SeqCst);
    report.expect(
        accepted == (SILENT + POLITE) as u64,
        &format!("{accepted} connections were accepted, and all have ended"),
    );
    report.expect(server.end(), "a graceful shutdown dropped nothing");
    Ok(())
}

/// Sends to all connections whatever they take, for that long and until they take nothing more. Returns them, and how much it was.
fn pour(
    server: SocketAddr,
    time: Duration,
    is_stuck: &AtomicBool,
    peak: &AtomicI64,
    base: i64,
) -> io::Result<(u64, Vec<TcpStream>)> {
    let mut streams = Vec::new();
    for _ in 0..SILENT {
        let stream = TcpStream::connect(server)?;
        stream.set_nonblocking(true)?;
        set_socket_recv_buffer_size(&stream, BUFFER)?;
        set_socket_send_buffer_size(&stream, BUFFER)?;
        streams.push(stream);
    }
    let (begun, mut sent, mut rounds) = (Instant::now(), 0, 0);
    let piece = [7; 1 << 16];
    while rounds < ROUNDS || begun.elapsed() < time {
        let before = sent;
        for mut stream in &streams {
            match stream.write(&piece) {
                Ok(count) => sent += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        peak.fetch_max(heap::bytes() - base, SeqCst);
        if sent == before {
            rounds += 1;
            thread::sleep(Duration::from_millis(1));
        } else {
            rounds = 0;
        }
        let is_too_much = peak.load(SeqCst) > BOUND;
        if rounds == ROUNDS || is_too_much {
            is_stuck.store(true, SeqCst);
        }
        // It would go on until there is no memory left.
        if is_too_much {
            break;
        }
    }
    Ok((sent, streams))
}

/// Asks and reads the answers, until there were enough of them beside silent clients that are stuck.
fn talk(server: SocketAddr, is_stuck: &AtomicBool, answers: &AtomicU64) -> io::Result<()> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    let (question, mut answer, mut left) = ([3; 1000], [0; 1000], ANSWERS);
    while left > 0 {
        stream.write_all(&question)?;
        stream.read_exact(&mut answer)?;
        assert!(answer == question, "what was sent comes back");
        if is_stuck.load(SeqCst) {
            answers.fetch_add(1, SeqCst);
            left -= 1;
        }
        thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
