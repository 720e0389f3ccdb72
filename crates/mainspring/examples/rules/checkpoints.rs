//! What runs after each callback.

use std::error::Error;

pub(crate) fn checkpoints() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, VirtualClock};
    use std::time::Duration;

    let event_loop = EventLoop::builder().clock(&VirtualClock::auto()).build()?;
    let cx = event_loop.cx();
    for name in ["first", "second"] {
        // Both are due at the same moment.
        cx.set_timeout(Duration::from_millis(10), move |cx| {
            println!("{name} timer");
            cx.queue_microtask(move |cx| {
                println!("  a microtask of the {name}");
                cx.queue_microtask(|_| println!("  a microtask of a microtask"));
            });
        })?;
    }
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn next_tick() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::new()?;
    event_loop.cx().submit(|cx| {
        cx.queue_microtask(|cx| {
            println!("microtask 1");
            cx.next_tick(|_| println!("next tick of microtask 1"));
        });
        cx.queue_microtask(|_| println!("microtask 2"));
        cx.next_tick(|cx| {
            println!("next tick 1");
            cx.next_tick(|_| println!("next tick 2"));
        });
        println!("the callback, to its end");
    })?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn microtask_budget() -> Result<(), Box<dyn Error>> {
    use mainspring::{Cx, Diagnostic, EventLoop, VirtualClock};
    use std::time::Duration;

    fn endless(cx: &Cx) {
        print!(".");
        cx.queue_microtask(endless);
    }

    let event_loop = EventLoop::builder()
        .clock(&VirtualClock::auto())
        .microtask_budget(20)
        .on_diagnostic(|_, diagnostic| {
            if let Diagnostic::MicrotaskBudget { pending, .. } = diagnostic {
                println!(" {pending} is put off");
            }
        })
        .build()?;
    let cx = event_loop.cx();
    cx.queue_microtask(endless);
    cx.set_timeout(Duration::ZERO, |_| println!("a timer"))?;
    cx.set_immediate(|cx| cx.close());
    event_loop.run()?;
    Ok(())
}
