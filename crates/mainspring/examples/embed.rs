//! The loop inside another loop: a program that has a main loop of its own turns it once per frame.
//!
//! ```sh
//! cargo run --example embed
//! ```

use std::time::{Duration, Instant};

use mainspring::EventLoop;

const FRAME: Duration = Duration::from_millis(16);

fn main() -> Result<(), mainspring::Error> {
    let event_loop = EventLoop::new()?;

    // A plugin that computes on a thread of its own, and reports to the main thread.
    let handle = event_loop.handle();
    let plugin = std::thread::spawn(move || {
        for percent in [25, 50, 75, 100] {
            std::thread::sleep(3 * FRAME);
            handle.submit(move |_| println!("  plugin: {percent} %")).unwrap();
        }
    });

    for frame in 0.. {
        let next_frame = Instant::now() + FRAME;
        println!("frame {frame}: draw");

        // What is left of the frame belongs to the event loop; it sleeps when it has nothing to do.
        while let Some(left) = next_frame.checked_duration_since(Instant::now()) {
            event_loop.turn(left)?;
        }
        if plugin.is_finished() && event_loop.handle().pending() == 0 {
            break;
        }
    }
    plugin.join().unwrap();
    Ok(())
}
