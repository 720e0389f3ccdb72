//! Promises.

use std::error::Error;

pub(crate) fn handlers() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, LocalPromise};

    let event_loop = EventLoop::new()?;
    event_loop.cx().submit(|cx| {
        let promise = LocalPromise::resolve(cx, 1);
        promise.then(|_, n| println!("first handler: {n}")).then(|_, ()| println!("what follows"));
        promise.then(|_, n| println!("second handler: {n}"));
        println!("the callback, to its end");
    })?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn adoption() -> Result<(), Box<dyn Error>> {
    use mainspring::{Cx, EventLoop, LocalPromise};

    let event_loop = EventLoop::new()?;
    let start = LocalPromise::resolve(event_loop.cx(), ());
    let say = |n: u32| move |_: &Cx, ()| println!("{n}");
    start
        .and_then(|cx, ()| {
            println!("0, which gives a promise");
            LocalPromise::resolve(cx, "4: adopting it took two microtasks more")
        })
        .then(|_, text| println!("{text}"));
    start.then(say(1)).then(say(2)).then(say(3)).then(say(5)).then(say(6));
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn other_threads() -> Result<(), Box<dyn Error>> {
    use mainspring::{AbortSignal, EventLoop, Rejection};
    use std::thread;

    let event_loop = EventLoop::new()?;
    let home = thread::current().id();
    event_loop
        .cx()
        .promisify(&AbortSignal::never(), move |_| {
            Ok::<_, Rejection>(thread::current().id() != home) // this may block
        })
        .then(move |_, was_elsewhere| {
            println!("computed on another thread: {was_elsewhere}");
            println!("handled on another thread: {}", thread::current().id() != home);
        });
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn unhandled() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, LocalPromise};
    use std::fmt;

    let event_loop = EventLoop::builder()
        .on_unhandled_rejection(|_, rejection| println!("unhandled: {}", rejection.reason()))
        .on_rejection_handled(|_, _| println!("handled after all"))
        .build()?;
    event_loop.cx().submit(|cx| {
        let in_time = LocalPromise::<()>::reject(cx, fmt::Error);
        cx.queue_microtask(move |_| drop(in_time.catch(|_, _| println!("handled in time"))));

        let too_late = LocalPromise::<()>::reject(cx, fmt::Error);
        cx.set_immediate(move |_| drop(too_late.catch(|_, _| println!("handled too late"))));
    })?;
    event_loop.run_until_idle()?;
    Ok(())
}
