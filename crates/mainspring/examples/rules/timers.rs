//! Timers.

use std::error::Error;

pub(crate) fn deadlines() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock};
    use std::time::Duration;

    let event_loop = EventLoop::builder().clock(&VirtualClock::auto()).build()?;
    let cx = event_loop.cx();
    cx.set_timeout(Duration::from_millis(20), |_| println!("20 ms"))?;
    cx.set_timeout(Duration::from_millis(10), |_| println!("10 ms, set first"))?;
    cx.set_timeout(Duration::from_millis(10), |_| println!("10 ms, set second"))?;
    cx.set_timeout(Duration::from_nanos(9_999_999), |_| println!("a nanosecond less"))?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn late() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock};
    use std::time::Duration;

    let clock = VirtualClock::auto();
    let event_loop = EventLoop::builder().clock(&clock).build()?;
    let cx = event_loop.cx();
    for due in [10, 20, 30, 60] {
        let clock = clock.clone();
        cx.set_timeout(Duration::from_millis(due), move |_| {
            println!("due at {due} ms, runs at {:?}", clock.elapsed());
            if due == 10 {
                clock.advance(Duration::from_millis(35)); // this callback takes long
            }
        })?;
    }
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn same_phase() -> Result<(), Box<dyn Error>> {
    use mainspring::{Cx, EventLoop, VirtualClock};
    use std::time::Duration;

    fn chain(cx: &Cx) {
        println!("timer");
        let _ = cx.set_timeout(Duration::ZERO, chain);
    }

    let event_loop = EventLoop::builder().clock(&VirtualClock::auto()).build()?;
    event_loop.cx().set_timeout(Duration::ZERO, chain)?;
    for number in 1..=3 {
        event_loop.cx().submit(move |_| println!("task {number}"))?;
        event_loop.turn(Duration::ZERO)?;
    }
    Ok(())
}

pub(crate) fn cleared() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock};
    use std::{cell::Cell, rc::Rc, time::Duration};

    let event_loop = EventLoop::builder().clock(&VirtualClock::auto()).build()?;
    let cx = event_loop.cx();
    let second = Rc::new(Cell::new(None));
    let id = Rc::clone(&second);
    cx.set_timeout(Duration::from_millis(10), move |cx| {
        let id = id.get().unwrap();
        println!("the first clears the second: {}", cx.clear_timeout(id));
        println!("and once more: {}", cx.clear_timeout(id));
    })?;
    let id = cx.set_timeout(Duration::from_millis(10), |_| println!("the second"))?;
    second.set(Some(id));
    cx.set_timeout(Duration::from_millis(10), |_| println!("the third"))?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn intervals() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock};
    use std::time::Duration;

    let ten = Duration::from_millis(10);
    for is_fixed_rate in [false, true] {
        let clock = VirtualClock::auto();
        let event_loop = EventLoop::builder().clock(&clock).build()?;
        let mut left = 4;
        let callback = move |cx: &mainspring::Cx| {
            print!("{:?} ", clock.elapsed());
            // The first call takes 3 ms, and the second one so long that others are missed.
            clock.advance(Duration::from_millis(if left == 3 { 25 } else { 3 }));
            left -= 1;
            if left == 0 {
                println!();
                cx.clear_interval(cx.current_interval().unwrap());
            }
        };
        if is_fixed_rate {
            print!("fixed rate:  ");
            event_loop.cx().set_interval_fixed_rate(ten, callback)?;
        } else {
            print!("fixed delay: ");
            event_loop.cx().set_interval(ten, callback)?;
        }
        event_loop.run_until_idle()?;
    }
    Ok(())
}
