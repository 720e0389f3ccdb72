//! Defects that were there once, and must not come back.

mod common;
#[path = "common/logs.rs"]
mod logs;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use mainspring::{Deadline, Error, LoopState, PanicPolicy, Refusal};

use common::{Variant, wait_until};

/// A subscriber whose every event panics.
struct Panicking;

impl tracing::Subscriber for Panicking {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        panic!("expected by the test: the subscriber");
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("expected by the test: the destructor");
    }
}

// spec: FA-1, FA-2, SD-6
fn a_subscriber_that_panics_about_a_destructor_that_panics_does_no_harm(variant: Variant) {
    logs::prepare();
    tracing::subscriber::with_default(Panicking, || {
        let event_loop = variant.build();
        event_loop.turn(Duration::ZERO).unwrap();
        let handle = event_loop.handle();
        let capture = PanicsWhenDropped;
        event_loop.cx().submit(move |_| drop(capture)).unwrap();
        let released = Rc::new(());
        let kept = Rc::clone(&released);
        event_loop.cx().submit(move |_| drop(kept)).unwrap();
        let waiter = {
            let handle = handle.clone();
            thread::spawn(move || handle.shutdown(Deadline::NEVER))
        };
        wait_until(|| handle.state() == LoopState::Terminating);
        drop(event_loop);
        assert_eq!(Rc::strong_count(&released), 1, "the rest was dropped, too");
        // The loop is gone, and its handle knows.
        assert_eq!(handle.submit(|_| ()).unwrap_err().reason(), Refusal::Terminated);
        assert!(waiter.join().unwrap().is_ok());
    });
}

// spec: FA-1
fn a_subscriber_that_panics_does_not_end_the_loop(variant: Variant) {
    logs::prepare();
    tracing::subscriber::with_default(Panicking, || {
        let event_loop = variant.build();
        event_loop.cx().submit(|_| panic!("expected by the test")).unwrap();
        let ran = Rc::new(Cell::new(false));
        let run = Rc::clone(&ran);
        event_loop.cx().submit(move |_| run.set(true)).unwrap();
        event_loop.run_until_idle().unwrap();
        assert!(ran.get());
    });
}

// spec: MT-3
fn each_checkpoint_has_the_whole_budget(variant: Variant) {
    let reports = Rc::new(Cell::new(0));
    let reported = Rc::clone(&reports);
    let ran = Rc::new(Cell::new(0));
    let first = Cell::new(true);
    let hook_ran = Rc::clone(&ran);
    let event_loop = variant
        .builder()
        .microtask_budget(10)
        .on_diagnostic(move |_, _| reported.set(reported.get() + 1))
        .on_prepare(move |cx| {
            if first.replace(false) {
                for _ in 0..8 {
                    let ran = Rc::clone(&hook_ran);
                    cx.queue_microtask(move |_| ran.set(ran.get() + 1));
                }
            }
        })
        .build()
        .unwrap();
    let task_ran = Rc::clone(&ran);
    event_loop
        .cx()
        .submit(move |cx| {
            for _ in 0..8 {
                let ran = Rc::clone(&task_ran);
                cx.queue_microtask(move |_| ran.set(ran.get() + 1));
            }
        })
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!((ran.get(), reports.get()), (16, 0));
}

// spec: SD-4, TK-6
fn after_a_close_from_a_task_no_hook_is_called_in_that_tick(variant: Variant) {
    let calls = Rc::new(RefCell::new(Vec::new()));
    let note = |name| {
        let calls = Rc::clone(&calls);
        move || calls.borrow_mut().push(name)
    };
    let (prepare, check, idle, overload) =
        (note("prepare"), note("check"), note("idle"), note("overload"));
    let event_loop = variant
        .builder()
        .external_budget(1)
        .on_prepare(move |_| prepare())
        .on_check(move |_| check())
        .on_idle(move |_| idle())
        .on_overload(move |_, _| overload())
        .build()
        .unwrap();
    event_loop.cx().submit(|cx| cx.close()).unwrap();
    event_loop.cx().submit(|_| unreachable!("dropped")).unwrap();
    event_loop.run().unwrap();
    assert_eq!(*calls.borrow(), [""; 0]);
}

// spec: SD-4, IN-6
fn a_diagnostic_hook_that_closes_the_loop_is_the_last_thing_that_runs(variant: Variant) {
    let ran = Rc::new(Cell::new(0));
    let event_loop =
        variant.builder().internal_flood_mark(2).on_diagnostic(|cx, _| cx.close()).build().unwrap();
    for _ in 0..5 {
        let ran = Rc::clone(&ran);
        event_loop.cx().submit_internal(move |_| ran.set(ran.get() + 1)).unwrap();
    }
    event_loop.run().unwrap();
    assert_eq!(ran.get(), 2);
}

// spec: SD-1
fn a_shutdown_runs_tasks_before_immediates_as_a_tick_does(variant: Variant) {
    let log = Rc::new(RefCell::new(Vec::new()));
    let note = |name| {
        let log = Rc::clone(&log);
        move |_: &mainspring::Cx| log.borrow_mut().push(name)
    };
    let event_loop = variant.build();
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.cx().set_immediate(note("immediate"));
    event_loop.cx().submit(note("task")).unwrap();
    event_loop.run().unwrap();
    assert_eq!(*log.borrow(), ["task", "immediate"]);
}

// spec: FA-3, SD-1
fn a_shutdown_that_a_panic_interrupts_goes_on_as_it_would_have(variant: Variant) {
    let log = Rc::new(RefCell::new(Vec::new()));
    let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
    let (first, second, late) = (Rc::clone(&log), Rc::clone(&log), Rc::clone(&log));
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.cx().set_immediate(move |cx| {
        first.borrow_mut().push("first");
        cx.set_immediate(move |_| late.borrow_mut().push("set during the shutdown"));
        panic!("expected by the test");
    });
    event_loop.cx().set_immediate(move |_| second.borrow_mut().push("second"));
    assert!(catch_unwind(AssertUnwindSafe(|| event_loop.run())).is_err());
    event_loop.run().unwrap();
    assert_eq!(*log.borrow(), ["first", "second"]);
    assert!(matches!(event_loop.run(), Err(Error::Terminated)));
}

suite! {
    a_subscriber_that_panics_about_a_destructor_that_panics_does_no_harm,
    a_subscriber_that_panics_does_not_end_the_loop,
    each_checkpoint_has_the_whole_budget,
    after_a_close_from_a_task_no_hook_is_called_in_that_tick,
    a_diagnostic_hook_that_closes_the_loop_is_the_last_thing_that_runs,
    a_shutdown_runs_tasks_before_immediates_as_a_tick_does,
    a_shutdown_that_a_panic_interrupts_goes_on_as_it_would_have,
}
