//! What runs when: every queue of the loop is filled at once, and each callback says where it runs.
//!
//! ```sh
//! cargo run --example tick
//! ```

use std::os::unix::net::UnixStream;
use std::time::Duration;

use mainspring::{Cx, EventLoop, Watch};

/// Says its name, and leaves a microtask behind.
fn callback(name: &'static str) -> impl FnOnce(&Cx) {
    move |cx| {
        println!("{name}");
        cx.queue_microtask(move |_| println!("    microtask of: {name}"));
    }
}

fn main() -> Result<(), mainspring::Error> {
    let event_loop = EventLoop::builder()
        .on_prepare(|_| println!("-- poll"))
        .on_before_exit(|_| println!("-- nothing is left to do"))
        .build()?;
    let cx = event_loop.cx();

    // In the reverse of the order in which they will run.
    cx.queue_close(callback("9 close callback"));
    cx.set_immediate(callback("8 immediate"));
    let (writable, _other) = UnixStream::pair()?;
    let mut descriptor = Some(callback("7 descriptor"));
    let watch = Watch::new().write(move |cx, _: &UnixStream| {
        if let Some(callback) = descriptor.take() {
            callback(cx);
        }
    });
    cx.watch(writable, watch.one_shot())?;
    cx.submit(callback("5 external task"))?;
    cx.submit(callback("6 external task, after the microtask of the one before"))?;
    cx.submit_internal(callback("4 internal task"))?;
    cx.set_timeout(Duration::ZERO, callback("3 timer"))?;
    cx.queue_microtask(callback("2 microtask"));
    cx.next_tick(callback("1 next tick"));

    event_loop.run_until_idle()
}
