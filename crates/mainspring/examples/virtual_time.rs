//! A test without waiting: a job that is tried again after ever longer pauses, for half a day of virtual
//! time.
//!
//! ```sh
//! cargo run --example virtual_time
//! ```

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mainspring::{Cx, EventLoop, VirtualClock};

/// The code under test: tries again after 1 s, 2 s, 4 s … until it has been tried 16 times.
fn attempt(cx: &Cx, number: u32, log: Rc<RefCell<Vec<Instant>>>) -> Result<(), mainspring::Error> {
    log.borrow_mut().push(cx.now());
    if number < 16 {
        let pause = Duration::from_secs(1 << (number - 1));
        cx.set_timeout(pause, move |cx| attempt(cx, number + 1, log).unwrap())?;
    }
    Ok(())
}

fn main() -> Result<(), mainspring::Error> {
    // Whenever the loop would wait for a timer, the clock jumps there instead.
    let clock = VirtualClock::auto();
    let event_loop = EventLoop::builder().clock(&clock).build()?;
    let log = Rc::new(RefCell::new(Vec::new()));
    let (real, start) = (Instant::now(), clock.now());

    attempt(event_loop.cx(), 1, Rc::clone(&log))?;
    event_loop.run_until_idle()?;

    for (number, time) in log.borrow().iter().enumerate() {
        let passed = *time - start;
        assert_eq!(passed, Duration::from_secs((1 << number) - 1), "exactly, every time");
        println!("attempt {:>2} after {:>5} s", number + 1, passed.as_secs());
    }
    println!("{:?} of virtual time took {:?}", clock.elapsed(), real.elapsed());
    Ok(())
}
