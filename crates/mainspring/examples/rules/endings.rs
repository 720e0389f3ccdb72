//! Ends, and panics.

use std::error::Error;

pub(crate) fn idle() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock};
    use std::time::Duration;

    let clock = VirtualClock::auto();
    let event_loop = EventLoop::builder()
        .clock(&clock)
        .on_before_exit(|_| println!("nothing is left to wait for"))
        .build()?;
    let cx = event_loop.cx();
    cx.set_timeout(Duration::from_secs(25), |_| println!("a timer"))?;
    let every_ten = cx.set_interval(Duration::from_secs(10), |_| println!("an interval"))?;
    cx.reference_timer(every_ten, false)?; // the loop does not stay for this one
    event_loop.run_until_idle()?;
    println!("after {:?}", clock.elapsed());
    Ok(())
}

pub(crate) fn shutdown() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, LocalPromise};
    use std::time::Duration;

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.set_timeout(Duration::from_secs(60), |_| println!("a timer"))?;
    let (pending, _resolver) = LocalPromise::<()>::with_resolvers(cx);
    cx.queue_close(|_| println!("close callback"));
    cx.submit(|cx| {
        println!("task, which begins the end");
        cx.shutdown();
        cx.set_immediate(|_| println!("immediate"));
        let _ = cx.submit_internal(|cx| {
            println!("internal task");
            cx.queue_microtask(|_| println!("its microtask"));
        });
    })?;
    cx.submit(|_| println!("a task that was accepted before"))?;
    event_loop.run()?;
    println!("the loop: {}, the pending promise: {:?}", event_loop.state(), pending.state());
    Ok(())
}

pub(crate) fn refused() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.submit(|cx| {
        cx.shutdown();
        println!("external: {:?}", cx.submit(|_| ()).map_err(|error| error.reason()));
        println!("internal: {:?}", cx.submit_internal(|_| ()).map_err(|error| error.reason()));
    })?;
    event_loop.run()?;
    println!("afterwards: {:?}", cx.submit_internal(|_| ()).map_err(|error| error.reason()));
    Ok(())
}

pub(crate) fn close() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    struct Captured;
    impl Drop for Captured {
        fn drop(&mut self) {
            println!("what a task captured is dropped");
        }
    }

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.submit(|cx| {
        cx.queue_microtask(|_| println!("a microtask"));
        println!("the callback that closes, to its end");
        cx.close();
    })?;
    let captured = Captured;
    cx.submit(move |_| {
        let _captured = captured;
        println!("a task");
    })?;
    event_loop.run()?;
    println!("{}", event_loop.state());
    Ok(())
}

pub(crate) fn panics() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::builder()
        .on_uncaught(|_, panic| {
            println!("phase {}: {}", panic.phase(), panic.message().unwrap_or_default());
        })
        .build()?;
    let cx = event_loop.cx();
    cx.submit(|cx| {
        cx.queue_microtask(|_| println!("what it queued before"));
        panic!("oh");
    })?;
    cx.submit(|_| println!("the next task"))?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn propagate() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, PanicPolicy};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let event_loop = EventLoop::builder().panic_policy(PanicPolicy::Propagate).build()?;
    let cx = event_loop.cx();
    cx.submit(|_| panic!("oh"))?;
    cx.submit(|_| println!("the next task"))?;
    let run = || event_loop.run_until_idle();
    println!("it panics: {}", catch_unwind(AssertUnwindSafe(run)).is_err());
    println!("and goes on:");
    run()?;
    Ok(())
}

pub(crate) fn reentrant() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;
    use std::{rc::Rc, time::Duration};

    let event_loop = Rc::new(EventLoop::new()?);
    let same = Rc::downgrade(&event_loop);
    event_loop.cx().submit(move |_| {
        let turn = same.upgrade().unwrap().turn(Duration::ZERO);
        println!("{}", turn.unwrap_err());
    })?;
    event_loop.run_until_idle()?;
    Ok(())
}
