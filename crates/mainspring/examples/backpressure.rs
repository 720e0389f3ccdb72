//! A producer that is faster than the loop: refused tasks come back, and none is lost.
//!
//! ```sh
//! cargo run --example backpressure
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mainspring::{Cx, Deadline, EventLoop, Refusal};

fn main() -> Result<(), mainspring::Error> {
    let event_loop = EventLoop::builder().high_water_mark(1_000).build()?;
    let handle = event_loop.handle();
    let executed = Arc::new(AtomicU64::new(0));

    let counter = Arc::clone(&executed);
    let producer = std::thread::spawn(move || {
        let (mut accepted, mut refused) = (0_u64, 0_u64);
        for _ in 0..100_000 {
            let counter = Arc::clone(&counter);
            let mut task = move |_: &Cx| {
                counter.fetch_add(1, Ordering::Relaxed);
            };
            while let Err(error) = handle.submit(task) {
                assert_eq!(error.reason(), Refusal::Overloaded);
                refused += 1;
                task = error.into_task(); // the very same closure
                std::thread::yield_now();
            }
            accepted += 1;
        }
        handle.shutdown(Deadline::NEVER).unwrap();
        (accepted, refused)
    });

    event_loop.run()?;
    let (accepted, refused) = producer.join().unwrap();
    println!("accepted {accepted} (after {refused} refusals)");
    println!("executed {}", executed.load(Ordering::Relaxed));
    Ok(())
}
