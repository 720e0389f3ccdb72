//! Phases, and time.

use std::error::Error;

pub(crate) fn tick() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock, Watch};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    let event_loop = EventLoop::builder()
        .clock(&VirtualClock::auto())
        .on_prepare(|_| println!("-- poll"))
        .build()?;
    let cx = event_loop.cx();
    // In the reverse of the order in which they will run.
    cx.queue_close(|_| println!("close callback"));
    cx.set_immediate(|_| println!("immediate"));
    let (writable, _other) = UnixStream::pair()?;
    cx.watch(writable, Watch::new().write(|_, _| println!("descriptor")).one_shot())?;
    cx.submit(|_| println!("external task"))?;
    drop(cx.spawn_local(async { println!("future") }));
    cx.submit_internal(|_| println!("internal task"))?;
    cx.set_timeout(Duration::ZERO, |_| println!("timer"))?;
    event_loop.turn(Duration::ZERO)?;
    Ok(())
}

pub(crate) fn later() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;
    use std::time::Duration;

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.submit(|cx| {
        println!("a task, which queues for");
        cx.set_immediate(|_| println!("a phase that comes later in the tick"));
        let _ = cx.submit_internal(|_| println!("a phase that is over"));
    })?;
    for number in 1..=2 {
        println!("tick {number}");
        event_loop.turn(Duration::ZERO)?;
    }
    Ok(())
}

pub(crate) fn time() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock};
    use std::time::Duration;

    let clock = VirtualClock::auto();
    let event_loop = EventLoop::builder().clock(&clock).build()?;
    let (busy, after) = (clock.clone(), clock.clone());
    event_loop.cx().submit(move |cx| {
        let began = cx.now();
        busy.advance(Duration::from_millis(30)); // as if it had computed for so long
        println!("time that passed in the callback, by Cx::now: {:?}", cx.now() - began);
        let _ = cx.set_timeout(Duration::from_millis(10), move |_| {
            println!("the timer of 10 ms fires at {:?}", after.elapsed());
        });
    })?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn immediates() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;
    use std::time::Duration;

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.set_immediate(|cx| {
        println!("first, which sets a third");
        cx.set_immediate(|_| println!("third"));
    });
    cx.set_immediate(|_| println!("second"));
    for number in 1..=2 {
        println!("tick {number}");
        event_loop.turn(Duration::ZERO)?;
    }
    Ok(())
}

pub(crate) fn closes() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;
    use std::time::Duration;

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.set_immediate(|cx| {
        println!("immediate, which queues a close callback");
        cx.queue_close(|cx| {
            println!("close callback, which queues another");
            cx.queue_close(|_| println!("the other"));
        });
    });
    for number in 1..=2 {
        println!("tick {number}");
        event_loop.turn(Duration::ZERO)?;
    }
    Ok(())
}
