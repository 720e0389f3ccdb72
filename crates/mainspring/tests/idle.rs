//! A loop without traffic uses no processor time, also right after it was busy.
#![cfg(target_os = "linux")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mainspring::{FastPathMode, LoopState};

/// Nanoseconds that a thread has run, as the kernel counts them.
fn processor_time(thread: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

// spec: TK-4, WK-6
#[test]
fn a_loop_whose_traffic_stops_uses_no_processor_time() {
    for mode in [FastPathMode::Auto, FastPathMode::Disabled] {
        let (send, receive) = channel();
        let thread = thread::spawn(move || {
            let event_loop = common::builder().fast_path(mode).build().unwrap();
            let name = std::fs::read_link("/proc/thread-self").unwrap();
            send.send((event_loop.handle(), name.to_str().unwrap().to_owned())).unwrap();
            event_loop.run().unwrap();
        });
        let (handle, name) = receive.recv().unwrap();

        // Back to back, so that the loop learns to look for work before it blocks.
        let answers = Arc::new(AtomicU64::new(0));
        for n in 1..=10_000 {
            let answer = Arc::clone(&answers);
            handle.submit(move |_| answer.store(n, Ordering::Release)).unwrap();
            while answers.load(Ordering::Acquire) != n {
                thread::yield_now();
            }
        }

        // It may still be on its way to sleep.
        let mut before = processor_time(&name);
        loop {
            thread::sleep(Duration::from_millis(1));
            let now = processor_time(&name);
            if now == before && handle.state() == LoopState::Sleeping {
                break;
            }
            before = now;
        }
        // For how long it is observed does not matter for the result.
        thread::sleep(Duration::from_millis(300));
        assert_eq!(processor_time(&name) - before, 0, "{mode:?}");

        handle.close();
        thread.join().unwrap();
    }
}
