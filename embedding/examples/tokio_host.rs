//! A loop inside a tokio runtime: both run on one thread, and nothing has to be `Send`.
//!
//! `cargo run -p mainspring-embedding --example tokio_host`

use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use mainspring::EventLoop;
use mainspring_embedding::drive;
use tokio::task::{LocalSet, spawn_local};

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guest = Rc::new(EventLoop::new()?.into_guest()?);

    // Timers of the loop, beside ...
    let mut left = 5;
    guest.cx().set_interval(Duration::from_millis(40), move |cx| {
        println!("mainspring: {left}");
        left -= 1;
        if left == 0 {
            cx.shutdown();
        }
    })?;
    LocalSet::new().block_on(&runtime, async {
        // ... those of tokio.
        spawn_local(async {
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                println!("tokio");
            }
        });
        drive(guest).await
    })?;
    Ok(())
}
