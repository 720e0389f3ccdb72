//! A task from another thread, and a microtask after it.
//!
//! ```sh
//! cargo run --example hello
//! ```

use mainspring::EventLoop;

fn main() -> Result<(), mainspring::Error> {
    let event_loop = EventLoop::new()?;
    let handle = event_loop.handle();
    let worker = std::thread::spawn(move || {
        handle
            .submit(|cx| {
                println!("task");
                cx.queue_microtask(|cx| {
                    println!("microtask");
                    cx.shutdown();
                });
            })
            .unwrap();
    });
    event_loop.run()?;
    worker.join().unwrap();
    Ok(())
}
