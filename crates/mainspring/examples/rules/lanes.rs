//! Tasks.

use std::error::Error;

pub(crate) fn lanes() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    cx.submit(|_| println!("external 1"))?;
    cx.submit(|_| println!("external 2"))?;
    cx.submit_internal(|cx| {
        println!("internal 1, which queues a third");
        let _ = cx.submit_internal(|_| println!("internal 3"));
    })?;
    cx.submit_internal(|_| println!("internal 2"))?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn external_budget() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::builder()
        .external_budget(2)
        .on_overload(|_, overload| println!("{} are left", overload.pending))
        .on_prepare(|_| println!("-- poll"))
        .build()?;
    for number in 1..=5 {
        event_loop.cx().submit(move |_| println!("task {number}"))?;
    }
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn refusal() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;

    let event_loop = EventLoop::builder().high_water_mark(1).build()?;
    let cx = event_loop.cx();
    cx.submit(|_| println!("the first"))?;
    let refused = cx.submit(|_| println!("the second")).unwrap_err();
    println!("refused: {}", refused.reason());
    event_loop.run_until_idle()?;
    cx.submit(refused.into_task())?; // the very same closure
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn threads() -> Result<(), Box<dyn Error>> {
    use mainspring::EventLoop;
    use std::{cell::RefCell, thread};

    thread_local! { static SEEN: RefCell<[Vec<u32>; 2]> = RefCell::default() }

    let event_loop = EventLoop::new()?;
    let handle = event_loop.handle();
    thread::spawn(move || {
        thread::scope(|scope| {
            for thread in 0..2 {
                let handle = &handle;
                scope.spawn(move || {
                    for number in 0..1000 {
                        let task = move |_: &_| SEEN.with_borrow_mut(|it| it[thread].push(number));
                        handle.submit(task).unwrap();
                    }
                });
            }
        });
        handle.submit(|cx| cx.shutdown())
    });
    event_loop.run()?;
    SEEN.with_borrow(|seen| {
        for numbers in seen {
            println!("{} tasks, in order: {}", numbers.len(), numbers.is_sorted());
        }
    });
    Ok(())
}
