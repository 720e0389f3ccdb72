//! Timers: one-shot, an interval that ends itself, one that is cleared from another thread, and one that
//! nobody waits for.
//!
//! ```sh
//! cargo run --example timers
//! ```

use std::time::{Duration, Instant};

use mainspring::EventLoop;

fn main() -> Result<(), mainspring::Error> {
    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    let start = Instant::now();
    let at = move || format!("{:>4} ms", start.elapsed().as_millis());

    cx.set_timeout(Duration::from_millis(30), move |_| println!("{}  once", at()))?;

    // From the end of one call to the next, as in JavaScript.
    let mut left = 3;
    cx.set_interval(Duration::from_millis(20), move |cx| {
        println!("{}  {left} more", at());
        left -= 1;
        if left == 0
            && let Some(id) = cx.current_interval()
        {
            cx.clear_interval(id);
        }
    })?;

    // On a grid: what is late does not shift the rest, and what is missed is made up for once.
    let beat = cx.set_interval_fixed_rate(Duration::from_millis(25), move |_| {
        println!("{}  beat", at());
    })?;
    // Any thread can clear a timer, and is told whether that came in time.
    let handle = event_loop.handle();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        let _ = stopped.recv();
        println!("{}  the beat is cleared: {}", at(), handle.clear_interval(beat));
    });
    cx.set_timeout(Duration::from_millis(110), move |_| drop(stop))?;

    // The loop does not stay for this one.
    let hourly = cx.set_interval(Duration::from_secs(3600), |_| println!("cleaning up"))?;
    cx.reference_timer(hourly, false)?;

    event_loop.run_until_idle()?;
    println!("{}  nothing is left to wait for", at());
    other.join().unwrap();
    Ok(())
}
