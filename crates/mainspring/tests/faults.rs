//! Panics in callbacks and hooks, under both policies.

mod common;
#[path = "common/logs.rs"]
mod logs;

use std::cell::{Cell, RefCell};
use std::panic::{panic_any, resume_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Hook, Kind, Log, OnDrop, Tracker, Variant, must_return, panic_of, turn_until_quiet};
use mainspring::{Builder, Cx, Error, EventLoop, LoopState, PanicPolicy, Phase};
use tracing::field::{Field, Visit};
use tracing::span;

suite![
    a_panic_is_reported_with_its_phase_and_the_loop_goes_on,
    the_rest_of_a_batch_is_delivered_although_every_second_callback_panics,
    the_microtasks_of_a_callback_that_panics_run_before_the_next_one,
    payloads_of_any_type_arrive,
    a_payload_whose_destructor_panics_does_no_harm,
    what_a_destructor_panics_with_is_dropped,
    a_value_whose_destructor_panics_counts_as_a_panic_of_its_callback,
    a_hook_that_panics_is_reported_and_the_loop_goes_on,
    a_condition_that_panics_is_reported_and_the_loop_goes_on,
    an_uncaught_hook_that_panics_is_called_again_for_the_next_panic,
    a_hook_may_use_the_loop_in_any_way,
    a_panic_then_a_panicking_hook_then_a_hook_that_uses_the_loop,
    without_a_hook_a_panic_is_logged,
    without_a_hook_a_breach_and_a_flood_are_logged,
    a_log_that_shuts_the_loop_down_does_not_wait_for_itself,
    a_propagated_panic_leaves_every_way_to_drive_the_loop,
    after_a_propagated_panic_the_rest_of_the_batch_is_delivered,
    after_a_propagated_panic_the_microtasks_of_that_callback_come_first,
    after_a_propagated_panic_of_a_microtask_the_others_follow_in_order,
    a_propagated_panic_is_not_reported_to_the_uncaught_hook,
    a_propagated_panic_of_a_hook_leaves_the_hook_in_place,
    a_propagated_panic_of_the_condition_loses_no_callback,
    a_propagated_panic_during_the_shutdown_can_be_driven_on,
    a_loop_dropped_by_a_propagated_panic_is_dropped_cleanly,
];

fn phase_of(kind: Kind) -> Phase {
    match kind {
        Kind::Internal => Phase::Internal,
        Kind::External => Phase::External,
        Kind::NextTick => Phase::NextTicks,
        Kind::Microtask => Phase::Microtasks,
        Kind::Immediate => Phase::Check,
        Kind::Close => Phase::Close,
    }
}

/// Reports as `(phase, message)`.
fn reporting(builder: Builder, log: &Log<(Phase, String)>) -> Builder {
    let log = log.clone();
    builder.on_uncaught(move |_, panic| {
        log.push((panic.phase(), panic.message().unwrap_or("not text").to_owned()));
    })
}

// spec: FA-1, D06
fn a_panic_is_reported_with_its_phase_and_the_loop_goes_on(variant: Variant) {
    for kind in Kind::ALL {
        let log = Log::new();
        let tracker = Tracker::new();
        let event_loop = reporting(variant.builder(), &log).build().unwrap();
        let token = tracker.token();
        kind.queue(event_loop.cx(), move |_| {
            let _token = token;
            panic!("expected by the test: {}", 7);
        });
        kind.queue(event_loop.cx(), tracker.callback());
        for other in Kind::ALL {
            other.queue(event_loop.cx(), tracker.callback());
        }
        event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(log.take(), [(phase_of(kind), "expected by the test: 7".to_owned())]);
        assert_eq!((tracker.ran(), tracker.alive()), (7, 0), "{kind:?}");
    }
    // In a phase that came with a checkpoint, and back in the phase around it.
    let log = Log::new();
    let event_loop = reporting(variant.builder(), &log).build().unwrap();
    event_loop.cx().set_immediate(|cx| cx.queue_microtask(|cx| cx.next_tick(|_| panic!("inner"))));
    event_loop.cx().set_immediate(|_| panic!("outer"));
    event_loop.turn(Duration::ZERO).unwrap();
    let expected = [(Phase::NextTicks, "inner".to_owned()), (Phase::Check, "outer".to_owned())];
    assert_eq!(log.take(), expected);
}

// spec: FA-1, D06
fn the_rest_of_a_batch_is_delivered_although_every_second_callback_panics(variant: Variant) {
    for kind in Kind::ALL {
        let (log, reports) = (Log::new(), Log::new());
        let event_loop = reporting(variant.builder(), &reports).build().unwrap();
        for i in 0..100 {
            let log = log.clone();
            kind.queue(event_loop.cx(), move |_| {
                log.push(i);
                assert!(i % 2 == 0, "expected by the test");
            });
        }
        event_loop.turn(Duration::ZERO).unwrap();
        assert!(log.take().into_iter().eq(0..100), "{kind:?}: in one tick, in order");
        assert_eq!(reports.len(), 50, "{kind:?}");
    }
}

// spec: FA-1, MT-1
fn the_microtasks_of_a_callback_that_panics_run_before_the_next_one(variant: Variant) {
    for kind in [Kind::Internal, Kind::External, Kind::Immediate, Kind::Close] {
        let log = Log::new();
        let caught = log.clone();
        let event_loop =
            variant.builder().on_uncaught(move |_, _| caught.push("hook")).build().unwrap();
        let inner = log.clone();
        kind.queue(event_loop.cx(), move |cx| {
            cx.queue_microtask(inner.note("microtask"));
            panic!("expected by the test");
        });
        kind.queue(event_loop.cx(), log.note("next"));
        event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(log.take(), ["hook", "microtask", "next"], "{kind:?}");
    }
}

// spec: FA-1
fn payloads_of_any_type_arrive(variant: Variant) {
    let log = Log::new();
    let caught = log.clone();
    let event_loop = variant
        .builder()
        .on_uncaught(move |_, panic| {
            let message = panic.message().map(str::to_owned);
            let shown = panic.to_string();
            assert!(shown.starts_with("a callback of phase `external` panicked: "), "{shown}");
            let number = panic.into_payload().downcast_ref::<u32>().copied();
            caught.push((message, number));
        })
        .build()
        .unwrap();
    event_loop.cx().submit(|_| panic!("a literal")).unwrap();
    event_loop.cx().submit(|_| panic_any(String::from("a string"))).unwrap();
    event_loop.cx().submit(|_| panic_any(7_u32)).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    let text = |text: &str| (Some(text.to_owned()), None);
    assert_eq!(log.take(), [text("a literal"), text("a string"), (None, Some(7))]);
}

// spec: FA-1, FA-2
fn a_payload_whose_destructor_panics_does_no_harm(variant: Variant) {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected by the test");
        }
    }
    for hook in [false, true] {
        for kind in Kind::ALL {
            let tracker = Tracker::new();
            let mut builder = variant.builder();
            if hook {
                builder = builder.on_uncaught(|_, panic| drop(panic));
            }
            let event_loop = builder.build().unwrap();
            kind.queue(event_loop.cx(), |_| panic_any(Bomb));
            kind.queue(event_loop.cx(), tracker.callback());
            let panic = panic_of(|| event_loop.turn(Duration::ZERO).unwrap());
            assert_eq!(panic, None, "{kind:?}, hook: {hook}");
            assert_eq!(tracker.ran(), 1, "{kind:?}, hook: {hook}");
        }
    }
}

// spec: FA-1, SD-6
fn what_a_destructor_panics_with_is_dropped(variant: Variant) {
    for kind in Kind::ALL {
        let tracker = Tracker::new();
        let event_loop = variant.build();
        for _ in 0..3 {
            let payload = Mutex::new(Some(tracker.token()));
            let bomb = OnDrop(move || resume_unwind(Box::new(payload.lock().unwrap().take())));
            kind.queue(event_loop.cx(), move |_| drop(bomb));
        }
        drop(event_loop);
        assert_eq!(tracker.alive(), 0, "{kind:?}");
    }
}

// spec: FA-1
fn a_value_whose_destructor_panics_counts_as_a_panic_of_its_callback(variant: Variant) {
    for kind in Kind::ALL {
        let log = Log::new();
        let tracker = Tracker::new();
        let event_loop = reporting(variant.builder(), &log).build().unwrap();
        let bomb = OnDrop(|| panic!("in the destructor"));
        kind.queue(event_loop.cx(), move |_| {
            let _bomb = bomb;
        });
        kind.queue(event_loop.cx(), tracker.callback());
        event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(log.take(), [(phase_of(kind), "in the destructor".to_owned())]);
        assert_eq!(tracker.ran(), 1);
    }
}

// spec: FA-1, FA-2
fn a_hook_that_panics_is_reported_and_the_loop_goes_on(variant: Variant) {
    for hook in Hook::ALL.into_iter().filter(|hook| *hook != Hook::Uncaught) {
        must_return(move || {
            let log = Log::new();
            let calls = Rc::new(Cell::new(0));
            let counted = Rc::clone(&calls);
            let builder = hook.set(variant.builder(), move |cx| {
                counted.set(counted.get() + 1);
                match counted.get() {
                    1 => {
                        // So that there is a next time.
                        cx.set_immediate(move |cx| hook.provoke(cx));
                        panic!("in the hook");
                    }
                    _ => cx.shutdown(),
                }
            });
            let event_loop = reporting(builder, &log).build().unwrap();
            hook.provoke(event_loop.cx());
            let result = if hook == Hook::BeforeExit {
                event_loop.run_until_idle()
            } else {
                event_loop.run()
            };
            result.unwrap();
            assert_eq!(log.take(), [(Phase::Hook, "in the hook".to_owned())], "{hook:?}");
            assert!(calls.get() >= 2, "{hook:?} stays in place");
        });
    }
}

// spec: FA-1
fn a_condition_that_panics_is_reported_and_the_loop_goes_on(variant: Variant) {
    let log = Log::new();
    let tracker = Tracker::new();
    let event_loop = reporting(variant.builder(), &log).build().unwrap();
    event_loop.cx().submit(tracker.callback()).unwrap();
    event_loop.cx().set_immediate(|cx| {
        cx.set_immediate(|_| ());
    });
    let mut asked = 0;
    let condition = move || {
        asked += 1;
        assert!(asked != 1, "in the condition");
        asked == 3
    };
    event_loop.run_until_aborted(condition).unwrap();
    assert_eq!(log.take(), [(Phase::Hook, "in the condition".to_owned())]);
    assert_eq!(tracker.ran(), 1);
}

// spec: FA-2
fn an_uncaught_hook_that_panics_is_called_again_for_the_next_panic(variant: Variant) {
    for kind in Kind::ALL {
        let log = Log::new();
        let tracker = Tracker::new();
        let caught = log.clone();
        let event_loop = variant
            .builder()
            .on_uncaught(move |_, panic| {
                caught.push(panic.message().unwrap().to_owned());
                panic!("in the hook");
            })
            .build()
            .unwrap();
        for i in 0..3 {
            kind.queue(event_loop.cx(), move |_| panic!("callback {i}"));
            kind.queue(event_loop.cx(), tracker.callback());
        }
        event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(log.take(), ["callback 0", "callback 1", "callback 2"], "{kind:?}");
        assert_eq!(tracker.ran(), 3);
    }
}

// spec: FA-2, ST-6, SH-4
fn a_hook_may_use_the_loop_in_any_way(variant: Variant) {
    for hook in Hook::ALL {
        must_return(move || {
            let tracker = Tracker::new();
            let slot: Rc<RefCell<Option<Rc<EventLoop>>>> = Rc::default();
            let (inner, driver) = (tracker.clone(), Rc::clone(&slot));
            let called = Rc::new(Cell::new(false));
            let flag = Rc::clone(&called);
            let event_loop = hook
                .set(variant.builder(), move |cx| {
                    if flag.replace(true) {
                        return;
                    }
                    for kind in Kind::ALL {
                        kind.queue(cx, inner.callback());
                    }
                    cx.handle().submit(inner.callback()).unwrap();
                    let id = cx.set_immediate(inner.callback());
                    assert!(cx.clear_immediate(id));
                    let same = mainspring::current().unwrap();
                    same.queue_microtask(inner.callback());
                    let driver = driver.borrow();
                    let driver = driver.as_ref().unwrap();
                    assert!(matches!(driver.turn(None), Err(Error::ReentrantRun)));
                    assert!(matches!(driver.run(), Err(Error::ReentrantRun)));
                    cx.handle().wake();
                    cx.shutdown();
                    cx.submit_internal(inner.callback()).unwrap();
                })
                .build()
                .unwrap();
            let event_loop = Rc::new(event_loop);
            slot.replace(Some(Rc::clone(&event_loop)));
            hook.provoke(event_loop.cx());
            let result = if hook == Hook::BeforeExit {
                event_loop.run_until_idle()
            } else {
                event_loop.run()
            };
            result.unwrap();
            if !event_loop.state().is_ending() {
                event_loop.run().unwrap();
            }
            slot.take();
            drop(event_loop);
            assert!(called.get(), "{hook:?}");
            // Immediates that are set after the last check phase are dropped.
            let expected = [8, 9];
            assert!(expected.contains(&tracker.ran()), "{hook:?}: {}", tracker.ran());
            assert_eq!(tracker.alive(), 0, "{hook:?}");
        });
    }
}

// spec: FA-2, FA-1
fn a_panic_then_a_panicking_hook_then_a_hook_that_uses_the_loop(variant: Variant) {
    let log = Log::new();
    let caught = log.clone();
    let event_loop = variant
        .builder()
        .on_uncaught(move |cx, panic| {
            caught.push(panic.message().unwrap().to_owned());
            if caught.len() == 1 {
                // Queued before the hook's own panic: stays queued.
                cx.submit(|_| panic!("second")).unwrap();
                panic!("in the hook");
            }
            cx.queue_microtask(|cx| cx.shutdown());
        })
        .build()
        .unwrap();
    event_loop.cx().submit(|_| panic!("first")).unwrap();
    event_loop.run().unwrap();
    assert_eq!(log.take(), ["first", "second"]);
}

/// Notes what is logged, and calls a function for each event.
struct Recorder<F> {
    events: Arc<Mutex<Vec<(tracing::Level, String)>>>,
    on_event: F,
}

impl<F: Fn() + 'static> tracing::Subscriber for Recorder<F>
where
    F: Send + Sync,
{
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("mainspring")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!("{}={value:?} ", field.name());
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.events.lock().unwrap().push((*event.metadata().level(), text.0));
        (self.on_event)();
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// What `f` logs.
fn logged(
    on_event: impl Fn() + Send + Sync + 'static,
    f: impl FnOnce(),
) -> Vec<(tracing::Level, String)> {
    let events = Arc::default();
    let recorder = Recorder { events: Arc::clone(&events), on_event };
    logs::prepare();
    tracing::subscriber::with_default(recorder, f);
    let mut events = events.lock().unwrap();
    std::mem::take(&mut events)
}

// spec: FA-1
fn without_a_hook_a_panic_is_logged(variant: Variant) {
    let tracker = Tracker::new();
    let ran = tracker.clone();
    let events = logged(
        || (),
        move || {
            let event_loop = variant.build();
            event_loop.cx().submit(|_| panic!("the cause")).unwrap();
            event_loop.cx().submit(ran.callback()).unwrap();
            event_loop.turn(Duration::ZERO).unwrap();
        },
    );
    assert_eq!(tracker.ran(), 1);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].0, tracing::Level::ERROR);
    assert!(events[0].1.contains("the cause") && events[0].1.contains("external"), "{events:?}");
}

// spec: MT-3, IN-6
fn without_a_hook_a_breach_and_a_flood_are_logged(variant: Variant) {
    let events = logged(
        || (),
        move || {
            let event_loop =
                variant.builder().microtask_budget(1).internal_flood_mark(1).build().unwrap();
            event_loop.cx().submit_internal(|_| ()).unwrap();
            event_loop.cx().submit_internal(|_| ()).unwrap();
            event_loop
                .cx()
                .submit(|cx| {
                    cx.queue_microtask(|_| ());
                    cx.queue_microtask(|_| ());
                })
                .unwrap();
            event_loop.turn(Duration::ZERO).unwrap();
        },
    );
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events.iter().all(|event| event.0 == tracing::Level::WARN), "{events:?}");
}

// spec: F-26
fn a_log_that_shuts_the_loop_down_does_not_wait_for_itself(variant: Variant) {
    must_return(move || {
        let on_event = || {
            let cx = mainspring::current().unwrap();
            let _ = cx.handle().shutdown(mainspring::Deadline::NEVER);
        };
        let events = logged(on_event, move || {
            let event_loop = variant.build();
            event_loop.cx().submit(|_| panic!("expected by the test")).unwrap();
            event_loop.run().unwrap();
            assert_eq!(event_loop.state(), LoopState::Terminated);
        });
        assert_eq!(events.len(), 1);
    });
}

fn propagating(variant: Variant) -> Builder {
    variant.builder().panic_policy(PanicPolicy::Propagate)
}

// spec: FA-3
fn a_propagated_panic_leaves_every_way_to_drive_the_loop(variant: Variant) {
    for kind in Kind::ALL {
        for way in 0..4 {
            let event_loop = propagating(variant).build().unwrap();
            let tracker = Tracker::new();
            kind.queue(event_loop.cx(), |_| panic!("the cause"));
            kind.queue(event_loop.cx(), tracker.callback());
            let panic = panic_of(|| match way {
                0 => assert!(event_loop.turn(None).is_ok()),
                1 => event_loop.run().unwrap(),
                2 => event_loop.run_until_idle().unwrap(),
                _ => event_loop.run_until_aborted(|| false).unwrap(),
            });
            assert_eq!(panic.as_deref(), Some("the cause"), "{kind:?}, way {way}");
            assert!(mainspring::current().is_err(), "nothing is driven any more");
            assert_eq!(event_loop.state(), LoopState::Running);
            assert_eq!(tracker.ran(), 0);
            event_loop.run_until_idle().unwrap();
            assert_eq!((tracker.ran(), tracker.alive()), (1, 0), "{kind:?}, way {way}");
            event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
            event_loop.run().unwrap();
            assert_eq!(event_loop.state(), LoopState::Terminated);
        }
    }
}

// spec: FA-3
fn after_a_propagated_panic_the_rest_of_the_batch_is_delivered(variant: Variant) {
    for kind in Kind::ALL {
        let log = Log::new();
        let event_loop = propagating(variant).build().unwrap();
        for i in 0..30 {
            let log = log.clone();
            kind.queue(event_loop.cx(), move |_| {
                log.push(i);
                assert!(i % 3 != 0, "expected by the test");
            });
        }
        let mut panics = 0;
        while panic_of(|| turn_until_quiet(&event_loop)).is_some() {
            panics += 1;
        }
        assert_eq!(panics, 10, "{kind:?}");
        assert!(log.take().into_iter().eq(0..30), "{kind:?}: each once, in order");
        assert_eq!(event_loop.handle().pending(), 0, "{kind:?}");
    }
}

// spec: FA-3, MT-1
fn after_a_propagated_panic_the_microtasks_of_that_callback_come_first(variant: Variant) {
    for kind in [Kind::Internal, Kind::External, Kind::Immediate, Kind::Close] {
        let log = Log::new();
        let event_loop = propagating(variant).build().unwrap();
        let inner = log.clone();
        kind.queue(event_loop.cx(), move |cx| {
            cx.queue_microtask(inner.note("microtask"));
            cx.next_tick(inner.note("next tick"));
            panic!("expected by the test");
        });
        kind.queue(event_loop.cx(), log.note("next"));
        assert!(panic_of(|| event_loop.turn(Duration::ZERO).unwrap()).is_some());
        assert_eq!(log.len(), 0);
        event_loop.cx().submit_internal(log.note("internal")).unwrap();
        event_loop.run_until_idle().unwrap();
        let mut order = log.take();
        assert_eq!(order[..2], ["next tick", "microtask"], "{kind:?}");
        order.sort_unstable();
        assert_eq!(order, ["internal", "microtask", "next", "next tick"]);
    }
}

// spec: FA-3, MT-5
fn after_a_propagated_panic_of_a_microtask_the_others_follow_in_order(variant: Variant) {
    let log = Log::new();
    let event_loop = propagating(variant).build().unwrap();
    let inner = log.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            for i in 0..5 {
                let inner = inner.clone();
                cx.queue_microtask(move |_| {
                    inner.push(i);
                    assert!(i != 2, "expected by the test");
                });
            }
        })
        .unwrap();
    event_loop.cx().submit(log.note(100)).unwrap();
    assert!(panic_of(|| event_loop.turn(Duration::ZERO).unwrap()).is_some());
    assert_eq!(log.take(), [0, 1, 2]);
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), [3, 4, 100]);
}

// spec: FA-3
fn a_propagated_panic_is_not_reported_to_the_uncaught_hook(variant: Variant) {
    let log = Log::new();
    let event_loop = reporting(propagating(variant), &log).build().unwrap();
    event_loop.cx().submit(|_| panic!("the cause")).unwrap();
    let panic = panic_of(|| event_loop.run());
    assert_eq!(panic.as_deref(), Some("the cause"));
    assert_eq!(log.len(), 0);
}

// spec: FA-3
fn a_propagated_panic_of_a_hook_leaves_the_hook_in_place(variant: Variant) {
    for hook in Hook::ALL.into_iter().filter(|hook| *hook != Hook::Uncaught) {
        must_return(move || {
            let calls = Rc::new(Cell::new(0));
            let counted = Rc::clone(&calls);
            let event_loop = hook
                .set(propagating(variant), move |cx| {
                    counted.set(counted.get() + 1);
                    assert!(counted.get() != 1, "in the hook");
                    cx.shutdown();
                })
                .build()
                .unwrap();
            let drive = || match hook {
                Hook::BeforeExit => event_loop.run_until_idle(),
                _ => event_loop.run(),
            };
            hook.provoke(event_loop.cx());
            assert_eq!(panic_of(drive).as_deref(), Some("in the hook"), "{hook:?}");
            hook.provoke(event_loop.cx());
            drive().unwrap();
            assert!(calls.get() >= 2, "{hook:?}");
        });
    }
}

// spec: FA-3
fn a_propagated_panic_of_the_condition_loses_no_callback(variant: Variant) {
    for kind in Kind::ALL {
        // Wherever between two callbacks the condition is asked.
        for at in 0..6 {
            let event_loop = propagating(variant)
                .microtask_budget(None)
                .external_budget(usize::MAX)
                .build()
                .unwrap();
            let tracker = Tracker::new();
            for _ in 0..5_000 {
                kind.queue(event_loop.cx(), tracker.callback());
            }
            let asked = Rc::new(Cell::new(0));
            let counted = Rc::clone(&asked);
            let condition = move || {
                assert!(counted.replace(counted.get() + 1) != at, "in the condition");
                // By now nothing is left that would make the loop ask again.
                counted.get() > 20
            };
            event_loop.cx().set_immediate(|cx| cx.handle().wake());
            let _guard = keep_waking(event_loop.cx());
            let panic = panic_of(|| event_loop.run_until_aborted(condition));
            assert_eq!(panic.as_deref(), Some("in the condition"), "{kind:?}");
            event_loop.turn(Duration::ZERO).unwrap();
            event_loop.turn(Duration::ZERO).unwrap();
            assert_eq!((tracker.ran(), tracker.alive()), (5_000, 0), "{kind:?}, asked {at}");
        }
    }
}

/// Sees to it that the loop goes through tick after tick.
fn keep_waking(cx: &Cx) -> impl Drop + use<> {
    Kind::Immediate.chain(cx, || true);
    OnDrop(|| ())
}

// spec: FA-3, SD-1
fn a_propagated_panic_during_the_shutdown_can_be_driven_on(variant: Variant) {
    for kind in Kind::ALL {
        let event_loop = propagating(variant).build().unwrap();
        let tracker = Tracker::new();
        event_loop.turn(Duration::ZERO).unwrap();
        for _ in 0..3 {
            kind.queue(event_loop.cx(), |_| panic!("expected by the test"));
            kind.queue(event_loop.cx(), tracker.callback());
        }
        event_loop.cx().shutdown();
        for ran in 0..3 {
            assert!(panic_of(|| event_loop.run().unwrap()).is_some(), "{kind:?}");
            assert_eq!(tracker.ran(), ran, "{kind:?}");
            assert_eq!(event_loop.state(), LoopState::Terminating, "{kind:?}");
        }
        event_loop.run().unwrap();
        assert_eq!((tracker.ran(), tracker.alive()), (3, 0), "{kind:?}");
        assert_eq!(event_loop.state(), LoopState::Terminated, "{kind:?}");
        assert!(matches!(event_loop.run(), Err(Error::Terminated)));
    }
}

// spec: FA-3, SD-6
fn a_loop_dropped_by_a_propagated_panic_is_dropped_cleanly(variant: Variant) {
    for kind in Kind::ALL {
        let tracker = Tracker::new();
        let queued = tracker.clone();
        let panic = panic_of(move || {
            let event_loop = propagating(variant).build().unwrap();
            kind.queue(event_loop.cx(), |_| panic!("the cause"));
            for other in Kind::ALL {
                other.queue(event_loop.cx(), queued.callback());
            }
            event_loop.run().unwrap();
        });
        assert_eq!(panic.as_deref(), Some("the cause"));
        assert_eq!(tracker.alive(), 0, "{kind:?}");
        assert!(mainspring::current().is_err());
    }
}
