//! Three ends of a loop: graceful, out of time, and immediate.
//!
//! ```sh
//! cargo run --example shutdown
//! ```

use std::time::Duration;

use mainspring::{Cx, Deadline, EventLoop, Handle};

/// Runs a loop on a thread of its own, and ends it from this one.
fn life(name: &str, work: fn(&Cx), end: impl FnOnce(&Handle)) {
    println!("{name}");
    let (send, receive) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let event_loop = EventLoop::new().unwrap();
        event_loop.cx().submit(work).unwrap();
        // Driven once, so that the end below has something to wait for.
        event_loop.turn(Duration::ZERO).unwrap();
        send.send(event_loop.handle()).unwrap();
        event_loop.run()
    });
    end(&receive.recv().unwrap());
    thread.join().unwrap().unwrap();
}

fn for_ever(cx: &Cx) {
    cx.submit_internal(for_ever).unwrap();
}

fn main() {
    let three = |cx: &Cx| {
        // An internal task that queues a microtask: a graceful end runs them all.
        cx.set_immediate(|cx| {
            println!("  immediate");
            cx.submit_internal(|cx| {
                println!("  internal task");
                cx.queue_microtask(|_| println!("  microtask"));
            })
            .unwrap();
        });
    };
    life("graceful", three, |handle| {
        println!("  {:?}", handle.shutdown(Deadline::NEVER));
    });

    let endless = |cx: &Cx| {
        cx.set_immediate(for_ever);
    };
    life("work that never ends, and a deadline", endless, |handle| {
        println!("  {:?}", handle.shutdown(Duration::from_millis(50)));
    });

    life("immediate", endless, |handle| {
        handle.close();
        println!("  closed");
    });
}
