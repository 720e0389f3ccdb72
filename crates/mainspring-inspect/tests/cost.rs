//! What it costs a loop to be watched, in time that its thread gets from the processor, so that other threads do not
//! matter. Only a release build says something:
//!
//! ```sh
//! cargo test --release -p mainspring-inspect --test cost -- --ignored --nocapture
//! ```
#![cfg(target_os = "linux")]

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use mainspring::{Cx, EventLoop};
use mainspring_inspect::Inspector;

const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(1500);

/// Asks for everything, once a second as the page does.
fn look(address: SocketAddr, over: &Receiver<()>) {
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /state.json HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"));
        if over.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// How long this thread has been on a processor.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// How many callbacks a loop runs in a second of the processor, if it has always something to do.
fn round(event_loop: &EventLoop) -> u64 {
    fn again(cx: &Cx, count: &Rc<Cell<u64>>, end: Instant) {
        count.set(count.get() + 1);
        if !count.get().is_multiple_of(64) || Instant::now() < end {
            let count = count.clone();
            cx.set_immediate(move |cx| again(cx, &count, end));
        }
    }
    let count = Rc::new(Cell::new(0));
    let before = processor_time();
    again(event_loop.cx(), &count, Instant::now() + ROUND);
    event_loop.run_until_idle().unwrap();
    (count.get() as f64 / (processor_time() - before).as_secs_f64()) as u64
}

fn median(mut counts: Vec<u64>) -> f64 {
    counts.sort_unstable();
    counts[counts.len() / 2] as f64
}

fn watched_round(event_loop: &EventLoop) -> u64 {
    let inspector = Inspector::serve("127.0.0.1:0").unwrap();
    inspector.watch("main", &event_loop.handle()).unwrap();
    let address = inspector.local_addr();
    let (end, over) = channel();
    let looking = thread::spawn(move || look(address, &over));
    let count = round(event_loop);
    drop(end);
    looking.join().unwrap();
    count
}

// spec: MX-1
#[test]
#[ignore = "measures for a minute"]
fn watching_costs_two_in_a_hundred_at_the_most() {
    let event_loop = EventLoop::builder().metrics(true).build().unwrap();
    round(&event_loop);
    // The second one is the first again: how far they are apart says how well this machine can be measured.
    let arms = [round, round, watched_round];
    let mut counts = [const { Vec::new() }; 3];
    for turn in 0..ROUNDS {
        for arm in 0..3 {
            let arm = (arm + turn) % 3; // each is first, second and third equally often
            counts[arm].push(arms[arm](&event_loop));
        }
    }
    let [alone, again, watched] = counts.map(median);
    let percent = |other: f64| 100.0 * (1.0 - other / alone);
    let (noise, cost) = (percent(again), percent(watched));
    println!("alone {alone}/s, watched {watched}/s: {cost:.2} %; alone again: {noise:.2} %");
    assert!(cost <= 2.0, "{cost:.2} %, while nothing at all makes {noise:.2} %");
}
