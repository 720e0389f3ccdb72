//! What a loop tells of itself: metrics, what keeps it alive, a callback that blocks it, and a trace.
//!
//! `cargo run --example inside [TRACE.json]`; the file opens in Perfetto and chrome://tracing.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mainspring::{EventLoop, Phase, Queue, Tracer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.unwrap_or_else(|| std::env::temp_dir().join("mainspring-inside.json"));
    let tracer = Tracer::create(&path)?;
    let (stalled, blocked) = mpsc::channel();
    let event_loop = EventLoop::builder()
        .metrics(true)
        .tracer(&tracer)
        .stall_threshold(Duration::from_millis(20))
        .on_stall(move |stall| {
            println!("{stall}");
            let _ = stalled.send(());
        })
        .build()?;
    let cx = event_loop.cx();

    // Some work: timers, tasks of two threads, and what follows from them.
    cx.set_timeout(Duration::from_millis(1), |cx| {
        cx.queue_microtask(work(20));
        cx.set_immediate(work(40));
    })?;
    let workers: Vec<_> = ["alice", "bob"]
        .into_iter()
        .map(|name| {
            let handle = event_loop.handle();
            let work = move || {
                for _ in 0..3 {
                    handle.submit(|cx| cx.queue_microtask(work(15))).unwrap();
                    thread::sleep(Duration::from_micros(300));
                }
            };
            thread::Builder::new().name(name.into()).spawn(work)
        })
        .collect::<Result<_, _>>()?;
    drop(cx.spawn_local({
        let cx = cx.clone();
        async move {
            cx.sleep(Duration::from_micros(500)).await;
            work(30)(&cx);
        }
    }));

    println!("-- before it runs, this keeps it alive:");
    println!("{}", cx.why_alive());
    event_loop.run_until_idle()?;
    for worker in workers {
        worker.join().expect("it does not panic");
    }
    event_loop.run_until_idle()?;

    println!("-- a callback that blocks:");
    cx.submit(move |_| blocked.recv().expect("the watchdog says so"))?;
    event_loop.run_until_idle()?;

    let metrics = event_loop.handle().metrics().expect("it was built with metrics");
    println!("-- {} ticks, {} callbacks", metrics.ticks, metrics.callbacks);
    println!("a tick took {:.1?} mostly, {:.1?} at most", metrics.tick.p50, metrics.tick.max);
    println!("a task waited for {:.1?} mostly", metrics.queue(Queue::External).wait.p50);
    println!("microtasks took {:.1?} in all", metrics.phase(Phase::Microtasks).time);
    tracer.finish()?;
    println!("-- the trace is in {}", path.display());
    Ok(())
}

/// A callback that is busy for so many microseconds.
fn work(micros: u64) -> impl Fn(&mainspring::Cx) {
    move |_| {
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_micros(micros) {
            std::hint::spin_loop();
        }
    }
}
