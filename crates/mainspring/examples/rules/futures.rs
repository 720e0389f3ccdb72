//! Futures.

use std::error::Error;

pub(crate) fn futures() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.submit(|_| println!("external task"))?;
    for name in ["first", "second"] {
        let inner = cx.clone();
        drop(cx.spawn_local(async move {
            println!("{name} future");
            inner.queue_microtask(move |_| println!("  microtask of the {name}"));
        }));
    }
    cx.submit_internal(|_| println!("internal task"))?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn yield_now() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::builder().on_prepare(|_| println!("-- poll")).build()?;
    let cx = event_loop.cx().clone();
    event_loop.block_on(async move {
        for part in 1..=2 {
            println!("part {part}");
            cx.yield_now().await;
        }
        println!("done");
    })?;
    Ok(())
}
