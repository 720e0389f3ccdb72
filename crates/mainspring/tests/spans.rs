//! Spans of `tracing` for ticks and phases.
#![cfg(all(feature = "spans", target_os = "linux", not(loom)))]

mod common;
#[path = "common/logs.rs"]
mod logs;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Kind, Variant, panic_of};
use mainspring::{Cx, EventLoop, PanicPolicy};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

suite![
    ticks_and_phases_are_spans,
    each_phase_that_runs_something_is_a_span_in_its_tick,
    callbacks_run_inside_the_span_of_their_phase,
    spans_are_closed_after_panics_under_both_policies,
    spans_of_the_user_stay_what_they_were,
    a_loop_inside_another_has_its_spans_inside,
    a_loop_that_is_not_measured_has_none,
    a_loop_that_is_dropped_leaves_nothing_entered,
    a_subscriber_that_comes_later_sees_whole_ticks,
    a_subscriber_that_panics_does_not_break_the_loop,
];

/// What happened to spans, and which ones are entered.
#[derive(Default)]
struct State {
    names: BTreeMap<u64, String>,
    entered: Vec<u64>,
    log: Vec<String>,
    alive: BTreeMap<u64, usize>,
}

#[derive(Clone, Default)]
struct Observer {
    state: Arc<Mutex<State>>,
    next: Arc<AtomicU64>,
}

impl Observer {
    /// What is entered now, from the outermost to the innermost.
    fn stack(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.entered.iter().map(|id| state.names[id].clone()).collect()
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }

    /// Spans that were made and not closed.
    fn alive(&self) -> usize {
        self.state.lock().unwrap().alive.len()
    }

    fn watch<R>(&self, f: impl FnOnce() -> R) -> R {
        logs::prepare();
        tracing::subscriber::with_default(self.clone(), f)
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "name" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Observer {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields(String::new());
        span.record(&mut fields);
        let name = match span.metadata().name() {
            "phase" => fields.0,
            name => name.to_owned(),
        };
        let mut state = self.state.lock().unwrap();
        state.names.insert(id, name);
        state.alive.insert(id, 1);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        let mut state = self.state.lock().unwrap();
        let name = state.names[&id.into_u64()].clone();
        state.entered.push(id.into_u64());
        state.log.push(format!("+{name}"));
    }

    fn exit(&self, id: &Id) {
        let mut state = self.state.lock().unwrap();
        let name = state.names[&id.into_u64()].clone();
        let last = state.entered.pop();
        let is_last = last == Some(id.into_u64());
        state.log.push(format!("-{name}"));
        if !is_last {
            // Not by a panic: it would be one in a destructor.
            state.log.push(format!("{name} was left before what is inside"));
        }
    }

    fn clone_span(&self, id: &Id) -> Id {
        *self.state.lock().unwrap().alive.get_mut(&id.into_u64()).unwrap() += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut state = self.state.lock().unwrap();
        let count = state.alive.get_mut(&id.into_u64()).unwrap();
        *count -= 1;
        let is_closed = *count == 0;
        if is_closed {
            state.alive.remove(&id.into_u64());
        }
        is_closed
    }
}

fn measured(variant: Variant) -> EventLoop {
    variant.builder().metrics(true).build().unwrap()
}

/// That everything that was entered was left, the innermost first.
#[track_caller]
fn check(observer: &Observer, log: &[String]) {
    let mut open: Vec<&str> = Vec::new();
    for entry in log {
        match entry.split_at(1) {
            ("+", name) => open.push(name),
            ("-", name) => assert_eq!(open.pop(), Some(name), "{log:?}"),
            _ => panic!("{entry}: {log:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?} of {log:?}");
    assert!(observer.stack().is_empty());
    assert_eq!(observer.alive(), 0, "all are closed");
}

// spec: MX-4
fn ticks_and_phases_are_spans(variant: Variant) {
    let observer = Observer::default();
    observer.watch(|| {
        let event_loop = measured(variant);
        event_loop.cx().submit(|_| ()).unwrap();
        event_loop.turn(Duration::ZERO).unwrap();
    });
    let log = observer.take();
    check(&observer, &log);
    assert_eq!(log, ["+tick", "+external", "-external", "-tick"]);
}

// spec: MX-4
fn each_phase_that_runs_something_is_a_span_in_its_tick(variant: Variant) {
    let observer = Observer::default();
    observer.watch(|| {
        let event_loop = measured(variant);
        for kind in [Kind::External, Kind::Internal, Kind::Immediate, Kind::Close] {
            kind.queue(event_loop.cx(), |_| ());
            kind.queue(event_loop.cx(), |_| ());
        }
        event_loop.cx().set_timeout(Duration::ZERO, |_| ()).unwrap();
        drop(event_loop.cx().spawn_local(async {}));
        event_loop.turn(Duration::ZERO).unwrap();
    });
    let log = observer.take();
    check(&observer, &log);
    let phases: Vec<_> = log.iter().filter_map(|entry| entry.strip_prefix('+')).collect();
    assert_eq!(phases, ["tick", "timers", "internal", "futures", "external", "check", "close"]);
}

// spec: MX-4
fn callbacks_run_inside_the_span_of_their_phase(variant: Variant) {
    let observer = Observer::default();
    observer.watch(|| {
        let event_loop = measured(variant);
        for (kind, phase) in [
            (Kind::External, "external"),
            (Kind::Internal, "internal"),
            (Kind::Immediate, "check"),
            (Kind::Close, "close"),
        ] {
            let watching = observer.clone();
            kind.queue(event_loop.cx(), move |cx: &Cx| {
                assert_eq!(watching.stack(), ["tick", phase]);
                // A microtask is in the phase that it follows, or in one of its own in there.
                cx.queue_microtask(move |_| {
                    let stack = watching.stack();
                    assert_eq!(stack[..2], ["tick", phase]);
                });
            });
        }
        event_loop.run_until_idle().unwrap();
        assert_eq!(event_loop.cx().metrics().unwrap().panics, 0, "of assertions");
    });
    check(&observer, &observer.take());
}

// spec: MX-4, FA-1, FA-3
fn spans_are_closed_after_panics_under_both_policies(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for kind in Kind::ALL {
            let observer = Observer::default();
            observer.watch(|| {
                let event_loop =
                    variant.builder().metrics(true).panic_policy(policy).build().unwrap();
                for _ in 0..3 {
                    kind.queue(event_loop.cx(), |_| ());
                    kind.queue(event_loop.cx(), |cx| {
                        cx.queue_microtask(|_| resume_unwind(Box::new(())));
                        resume_unwind(Box::new(()));
                    });
                    kind.queue(event_loop.cx(), |_| ());
                    while panic_of(|| event_loop.run_until_idle().unwrap()).is_some() {
                        // Nobody is in a span of a loop that is not driven.
                        let stack = observer.stack();
                        assert!(stack.is_empty(), "{policy:?} {kind:?}: {stack:?}");
                        assert_eq!(observer.alive(), 0, "{policy:?} {kind:?}");
                    }
                    assert!(observer.stack().is_empty(), "{policy:?} {kind:?}");
                }
                assert_eq!(event_loop.cx().metrics().unwrap().panics, 6, "{policy:?} {kind:?}");
            });
            check(&observer, &observer.take());
        }
    }
}

// spec: MX-4
fn spans_of_the_user_stay_what_they_were(variant: Variant) {
    let observer = Observer::default();
    observer.watch(|| {
        let outside = tracing::info_span!("outside").entered();
        let event_loop =
            variant.builder().metrics(true).panic_policy(PanicPolicy::Propagate).build().unwrap();
        event_loop.cx().submit(|_| tracing::info_span!("inside").in_scope(|| ())).unwrap();
        event_loop
            .cx()
            .submit(|_| {
                let _inside = tracing::info_span!("unwound").entered();
                resume_unwind(Box::new(()));
            })
            .unwrap();
        assert!(panic_of(|| event_loop.run_until_idle()).is_some());
        assert_eq!(observer.stack(), ["outside"]);
        event_loop.run_until_idle().unwrap();
        assert_eq!(observer.stack(), ["outside"]);
        drop(outside);
    });
    let log = observer.take();
    check(&observer, &log);
    let text = log.join(" ");
    assert!(text.contains("+external +inside -inside"), "{text}");
}

// spec: MX-4
fn a_loop_inside_another_has_its_spans_inside(variant: Variant) {
    let observer = Observer::default();
    observer.watch(|| {
        let (outer, inner) = (measured(variant), measured(variant));
        let watching = observer.clone();
        inner.cx().set_immediate(move |_| {
            assert_eq!(watching.stack(), ["tick", "external", "tick", "check"]);
        });
        outer.cx().submit(move |_| inner.run_until_idle().unwrap()).unwrap();
        outer.run_until_idle().unwrap();
        assert_eq!(outer.cx().metrics().unwrap().panics, 0);
    });
    let log = observer.take();
    check(&observer, &log);
    assert!(log.join(" ").contains("+external +tick +check -check -tick -external"), "{log:?}");
}

// spec: MX-1
fn a_loop_that_is_not_measured_has_none(variant: Variant) {
    let observer = Observer::default();
    observer.watch(|| {
        let event_loop = variant.build();
        event_loop.cx().submit(|_| ()).unwrap();
        event_loop.run_until_idle().unwrap();
    });
    assert!(observer.take().is_empty());
}

// spec: MX-4
fn a_loop_that_is_dropped_leaves_nothing_entered(variant: Variant) {
    let observer = Observer::default();
    observer.watch(|| {
        let event_loop = measured(variant);
        event_loop.cx().submit(|cx| cx.close()).unwrap();
        event_loop.cx().submit(|_| ()).unwrap();
        event_loop.run().unwrap();
        assert!(observer.stack().is_empty());
        drop(event_loop);
        let event_loop = measured(variant);
        event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
        for kind in Kind::ALL {
            kind.queue(event_loop.cx(), |_| ());
        }
        event_loop.run().unwrap();
        assert!(observer.stack().is_empty());
        drop(measured(variant));
    });
    check(&observer, &observer.take());
}

// spec: MX-4
fn a_subscriber_that_comes_later_sees_whole_ticks(variant: Variant) {
    let event_loop = measured(variant);
    for _ in 0..3 {
        let observer = Observer::default();
        event_loop.cx().submit(|_| ()).unwrap();
        event_loop.run_until_idle().unwrap();
        observer.watch(|| {
            event_loop.cx().submit(|_| ()).unwrap();
            event_loop.run_until_idle().unwrap();
        });
        let log = observer.take();
        check(&observer, &log);
        assert_eq!(log, ["+tick", "+external", "-external", "-tick"]);
        // And one that goes in the middle of a tick takes nothing along.
        let observer = Observer::default();
        let guard = tracing::subscriber::set_default(observer.clone());
        event_loop.cx().submit(move |_| drop(guard)).unwrap();
        event_loop.run_until_idle().unwrap();
        check(&observer, &observer.take());
    }
}

// spec: MX-4, FA-2
fn a_subscriber_that_panics_does_not_break_the_loop(variant: Variant) {
    struct Broken;
    impl Subscriber for Broken {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            resume_unwind(Box::new(()))
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }
    let event_loop = measured(variant);
    let ran = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&ran);
    event_loop.cx().submit(move |_| _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
    // Whether it gets out is not said; what is queued is not lost by it.
    let _ = panic_of(|| tracing::subscriber::with_default(Broken, || event_loop.run_until_idle()));
    event_loop.run_until_idle().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    event_loop.cx().submit(|cx| cx.close()).unwrap();
    event_loop.run().unwrap();
}
