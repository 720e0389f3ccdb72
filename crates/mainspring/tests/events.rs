//! Events, targets and their listeners.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use common::timers::{MS, elsewhere, manual};
use common::{Log, OnDrop, Tracker, Variant, panic_of};
use mainspring::{
    AbortController, AbortSignal, CustomEvent, Cx, DispatchError, Event, EventLoop, EventPhase,
    EventTarget, Listener, ListenerOptions, PanicPolicy, Phase,
};

suite![
    listeners_are_called_in_the_order_in_which_they_were_added,
    the_same_listener_is_added_once_for_a_type_and_capture,
    a_removed_listener_is_not_called,
    a_listener_removed_during_the_dispatch_is_not_called,
    a_listener_added_during_the_dispatch_is_not_called_at_that_target,
    a_listener_added_to_a_target_that_is_still_to_come_is_called,
    once_is_removed_before_it_is_called,
    once_and_a_nested_dispatch_call_it_once,
    a_passive_listener_cannot_cancel,
    only_a_cancelable_event_can_be_canceled,
    events_go_down_and_up_again,
    an_event_that_does_not_bubble_is_captured_all_the_same,
    target_and_phase_are_told,
    propagation_stops_after_the_present_target,
    propagation_stops_at_once,
    an_event_that_is_stopped_before_reaches_nobody_once,
    an_event_is_dispatched_again_after_its_dispatch_and_not_during_it,
    a_signal_removes_its_listeners,
    a_listener_whose_signal_is_aborted_is_not_added,
    a_listener_whose_signal_is_aborted_during_the_dispatch_is_not_called,
    a_listener_whose_signal_is_aborted_elsewhere_is_not_called,
    a_listener_whose_signal_was_aborted_can_be_added_again,
    a_signal_forgets_the_listeners_that_are_removed,
    a_target_is_not_kept_by_the_signals_of_its_listeners,
    a_panic_is_reported_and_the_others_are_called,
    a_propagated_panic_leaves_the_dispatch_when_all_others_were_called,
    listeners_may_dispatch_other_events,
    listeners_are_dropped_outside_of_every_borrow,
    events_are_stamped_by_the_clock_of_their_loop,
];

/// A listener that does nothing but to be noted.
fn notes<T: Clone + 'static>(log: &Log<T>, entry: T) -> Listener {
    let log = log.clone();
    Listener::new(move |_, _| log.push(entry.clone()))
}

fn dispatch(target: &EventTarget, event_loop: &EventLoop, type_: &str) -> bool {
    target.dispatch_event(event_loop.cx(), &Event::new(type_)).unwrap()
}

/// A target with a parent with a parent, from the outermost on.
fn family() -> [EventTarget; 3] {
    let root = EventTarget::new();
    let middle = EventTarget::with_parent(&root);
    let leaf = EventTarget::with_parent(&middle);
    [root, middle, leaf]
}

// spec: JS-1
#[test]
fn an_event_is_what_it_was_made() {
    let event = Event::new("click");
    assert_eq!(event.type_(), "click");
    assert!(!event.is_bubbling() && !event.is_cancelable() && !event.is_trusted());
    assert!(!event.default_prevented());
    assert_eq!((event.target(), event.current_target()), (None, None));
    assert_eq!(event.event_phase(), EventPhase::None);
    assert_eq!(event.detail::<()>(), None);
    let event = event.bubbles(true).cancelable(true);
    assert!(event.is_bubbling() && event.is_cancelable());
}

// spec: JS-1
#[test]
fn a_long_line_of_parents_is_no_problem() {
    let event_loop = common::builder().build().unwrap();
    let mut target = EventTarget::new();
    for _ in 0..1_000_000 {
        target = EventTarget::with_parent(&target);
    }
    target.dispatch_event(event_loop.cx(), &Event::new("x").bubbles(true)).unwrap();
    drop(target);
}

// spec: JS-1
fn listeners_are_called_in_the_order_in_which_they_were_added(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    for i in 0..5 {
        target.add_event_listener("x", &notes(&log, i), false);
        target.add_event_listener("y", &notes(&log, 100), false);
    }
    assert!(dispatch(&target, &event_loop, "x"));
    assert_eq!(log.take(), [0, 1, 2, 3, 4]);
    assert!(dispatch(&target, &event_loop, "z"));
    assert_eq!(log.len(), 0);
}

// spec: JS-1
fn the_same_listener_is_added_once_for_a_type_and_capture(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let listener = notes(&log, 1);
    target.add_event_listener("x", &listener, false);
    target.add_event_listener("x", &listener.clone(), ListenerOptions::new().once(true));
    target.add_event_listener("x", &listener, true);
    target.add_event_listener("x", &listener, true);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), [1, 1]);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), [1, 1], "the options of the first stay");
}

// spec: JS-1
fn a_removed_listener_is_not_called(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let listener = notes(&log, 1);
    target.add_event_listener("x", &listener, true);
    assert!(!target.remove_event_listener("x", &listener, false), "another capture");
    assert!(!target.remove_event_listener("y", &listener, true), "another type");
    assert!(!target.remove_event_listener("x", &notes(&log, 1), true), "another listener");
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), [1]);
    let options = ListenerOptions::new().capture(true).once(true).passive(true);
    assert!(target.remove_event_listener("x", &listener, options), "only capture counts");
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.len(), 0);
}

// spec: JS-1
fn a_listener_removed_during_the_dispatch_is_not_called(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let later = notes(&log, "later");
    let (ours, theirs) = (target.clone(), later.clone());
    let remover = Listener::new(move |_, _| {
        ours.remove_event_listener("x", &theirs, false);
    });
    target.add_event_listener("x", &notes(&log, "first"), false);
    target.add_event_listener("x", &remover, false);
    target.add_event_listener("x", &later, false);
    target.add_event_listener("x", &notes(&log, "last"), false);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["first", "last"]);
    // One that is removed and added again is another one.
    let (ours, theirs) = (target.clone(), later.clone());
    let shuffler = Listener::new(move |_, _| {
        ours.remove_event_listener("x", &theirs, false);
        ours.add_event_listener("x", &theirs, false);
    });
    target.remove_event_listener("x", &remover, false);
    target.add_event_listener("x", &shuffler, false);
    target.add_event_listener("x", &later, false);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["first", "last"]);
    target.remove_event_listener("x", &shuffler, false);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["first", "last", "later"]);
}

// spec: JS-1
fn a_listener_added_during_the_dispatch_is_not_called_at_that_target(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let (ours, new) = (target.clone(), notes(&log, "new"));
    let adder = Listener::new(move |_, _| ours.add_event_listener("x", &new, false));
    target.add_event_listener("x", &adder, false);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.len(), 0);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["new"]);
}

// spec: JS-1
fn a_listener_added_to_a_target_that_is_still_to_come_is_called(variant: Variant) {
    let event_loop = variant.build();
    let ([root, _, leaf], log) = (family(), Log::new());
    let (ours, new) = (root.clone(), notes(&log, "new"));
    let adder = Listener::new(move |_, _| ours.add_event_listener("x", &new, false));
    leaf.add_event_listener("x", &adder, false);
    leaf.dispatch_event(event_loop.cx(), &Event::new("x").bubbles(true)).unwrap();
    assert_eq!(log.take(), ["new"]);
    // Also at the target itself, from those that capture to those that do not: they are two visits.
    let (ours, new) = (leaf.clone(), notes(&log, "late"));
    let adder = Listener::new(move |_, _| ours.add_event_listener("y", &new, false));
    leaf.add_event_listener("y", &adder, true);
    dispatch(&leaf, &event_loop, "y");
    assert_eq!(log.take(), ["late"]);
}

// spec: JS-1
fn once_is_removed_before_it_is_called(variant: Variant) {
    let event_loop = variant.build();
    let (target, log, tracker) = (EventTarget::new(), Log::new(), Tracker::new());
    let (inner, token) = (log.clone(), tracker.token());
    let listener = Listener::new(move |_, event| {
        let _token = &token;
        inner.push(event.type_().to_owned());
    });
    target.add_event_listener("x", &listener, ListenerOptions::new().once(true));
    drop(listener);
    assert_eq!(tracker.alive(), 1);
    for _ in 0..2 {
        dispatch(&target, &event_loop, "x");
    }
    assert_eq!(log.take(), ["x"]);
    assert_eq!(tracker.alive(), 0);
}

// spec: JS-1
fn once_and_a_nested_dispatch_call_it_once(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let (ours, inner) = (target.clone(), log.clone());
    let listener = Listener::new(move |cx, _| {
        inner.push("once");
        ours.dispatch_event(cx, &Event::new("x")).unwrap();
    });
    target.add_event_listener("x", &listener, ListenerOptions::new().once(true));
    target.add_event_listener("x", &notes(&log, "other"), false);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["once", "other", "other"]);
}

// spec: JS-1
fn a_passive_listener_cannot_cancel(variant: Variant) {
    let event_loop = variant.build();
    let target = EventTarget::new();
    let cancel = Listener::new(|_, event| event.prevent_default());
    target.add_event_listener("x", &cancel, ListenerOptions::new().passive(true));
    let event = Event::new("x").cancelable(true);
    assert_eq!(target.dispatch_event(event_loop.cx(), &event), Ok(true));
    assert!(!event.default_prevented());
    // Who is not a listener can.
    event.prevent_default();
    assert!(event.default_prevented());
    let event = Event::new("x").cancelable(true);
    // The next one is not passive.
    target.add_event_listener("x", &Listener::new(|_, event| event.prevent_default()), false);
    assert_eq!(target.dispatch_event(event_loop.cx(), &event), Ok(false));
}

// spec: JS-1
fn only_a_cancelable_event_can_be_canceled(variant: Variant) {
    let event_loop = variant.build();
    let target = EventTarget::new();
    target.add_event_listener("x", &Listener::new(|_, event| event.prevent_default()), false);
    let event = Event::new("x");
    assert_eq!(target.dispatch_event(event_loop.cx(), &event), Ok(true));
    let event = event.cancelable(true);
    assert_eq!(target.dispatch_event(event_loop.cx(), &event), Ok(false));
    assert!(event.default_prevented());
}

/// Notes `name` with `>` when capturing, and `<` when not.
fn trace(log: &Log<String>, targets: &[(&EventTarget, &str)]) {
    for (target, name) in targets {
        for (capture, mark) in [(false, "<"), (true, ">")] {
            target.add_event_listener("x", &notes(log, format!("{mark}{name}")), capture);
        }
    }
}

// spec: JS-1
fn events_go_down_and_up_again(variant: Variant) {
    let event_loop = variant.build();
    let ([root, middle, leaf], log) = (family(), Log::new());
    trace(&log, &[(&middle, "middle"), (&root, "root"), (&leaf, "leaf")]);
    let event = Event::new("x").bubbles(true);
    leaf.dispatch_event(event_loop.cx(), &event).unwrap();
    assert_eq!(log.take(), [">root", ">middle", ">leaf", "<leaf", "<middle", "<root"]);
    middle.dispatch_event(event_loop.cx(), &event).unwrap();
    assert_eq!(log.take(), [">root", ">middle", "<middle", "<root"]);
}

// spec: JS-1
fn an_event_that_does_not_bubble_is_captured_all_the_same(variant: Variant) {
    let event_loop = variant.build();
    let ([root, middle, leaf], log) = (family(), Log::new());
    trace(&log, &[(&root, "root"), (&middle, "middle"), (&leaf, "leaf")]);
    dispatch(&leaf, &event_loop, "x");
    assert_eq!(log.take(), [">root", ">middle", ">leaf", "<leaf"]);
}

// spec: JS-1
fn target_and_phase_are_told(variant: Variant) {
    let event_loop = variant.build();
    let ([root, _, leaf], log) = (family(), Log::new());
    let inner = log.clone();
    let listener = Listener::new(move |_, event| {
        inner.push((event.target(), event.current_target(), event.event_phase()));
    });
    for target in [&root, &leaf] {
        for capture in [false, true] {
            target.add_event_listener("x", &listener, capture);
        }
    }
    let event = Event::new("x").bubbles(true);
    leaf.dispatch_event(event_loop.cx(), &event).unwrap();
    let seen = |current: &EventTarget, phase| (Some(leaf.clone()), Some(current.clone()), phase);
    let expected = [
        seen(&root, EventPhase::Capturing),
        seen(&leaf, EventPhase::AtTarget),
        seen(&leaf, EventPhase::AtTarget),
        seen(&root, EventPhase::Bubbling),
    ];
    assert_eq!(log.take(), expected);
    assert_eq!(event.target(), Some(leaf));
    assert_eq!((event.current_target(), event.event_phase()), (None, EventPhase::None));
}

// spec: JS-1
fn propagation_stops_after_the_present_target(variant: Variant) {
    let event_loop = variant.build();
    let ([root, middle, leaf], log) = (family(), Log::new());
    let stop = Listener::new(|_, event| event.stop_propagation());
    middle.add_event_listener("x", &stop, true);
    trace(&log, &[(&root, "root"), (&middle, "middle"), (&leaf, "leaf")]);
    let event = Event::new("x").bubbles(true);
    leaf.dispatch_event(event_loop.cx(), &event).unwrap();
    assert_eq!(log.take(), [">root", ">middle"]);
    middle.remove_event_listener("x", &stop, true);
    leaf.add_event_listener("x", &stop, true);
    leaf.dispatch_event(event_loop.cx(), &event).unwrap();
    assert_eq!(log.take(), [">root", ">middle", ">leaf"], "as in the DOM, at the target, too");
}

// spec: JS-1
fn propagation_stops_at_once(variant: Variant) {
    let event_loop = variant.build();
    let ([root, _, leaf], log) = (family(), Log::new());
    leaf.add_event_listener("x", &notes(&log, "<first".to_owned()), false);
    let stop = Listener::new(|_, event| event.stop_immediate_propagation());
    leaf.add_event_listener("x", &stop, false);
    trace(&log, &[(&root, "root"), (&leaf, "leaf")]);
    let event = Event::new("x").bubbles(true);
    for _ in 0..2 {
        leaf.dispatch_event(event_loop.cx(), &event).unwrap();
        assert_eq!(log.take(), [">root", ">leaf", "<first"], "also when it is dispatched again");
    }
}

// spec: JS-1
fn an_event_that_is_stopped_before_reaches_nobody_once(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    target.add_event_listener("x", &notes(&log, 1), false);
    let event = Event::new("x");
    event.stop_propagation();
    assert_eq!(target.dispatch_event(event_loop.cx(), &event), Ok(true));
    assert_eq!(log.len(), 0);
    target.dispatch_event(event_loop.cx(), &event).unwrap();
    assert_eq!(log.take(), [1]);
}

// spec: JS-1
fn an_event_is_dispatched_again_after_its_dispatch_and_not_during_it(variant: Variant) {
    let event_loop = variant.build();
    let (target, other, log) = (EventTarget::new(), EventTarget::new(), Log::new());
    let (inner, theirs) = (log.clone(), other.clone());
    let again = Listener::new(move |cx, event| {
        inner.push(theirs.dispatch_event(cx, event));
        // Its nature stays as it is, too.
        assert!(!event.clone().bubbles(true).is_bubbling());
        assert!(!event.clone().cancelable(true).is_cancelable());
        assert_ne!(event.target(), Some(theirs.clone()));
    });
    target.add_event_listener("x", &again, false);
    let event = Event::new("x");
    for _ in 0..2 {
        assert_eq!(target.dispatch_event(event_loop.cx(), &event), Ok(true));
        assert_eq!(log.take(), [Err(DispatchError)]);
    }
    assert!(DispatchError.to_string().contains("already"));
}

// spec: JS-1
fn a_signal_removes_its_listeners(variant: Variant) {
    let event_loop = variant.build();
    let (target, log, tracker) = (EventTarget::new(), Log::new(), Tracker::new());
    let controller = AbortController::new();
    let options = ListenerOptions::new().signal(&controller.signal());
    for type_ in ["x", "y"] {
        let (inner, token) = (log.clone(), tracker.token());
        let listener = Listener::new(move |_, event| {
            let _token = &token;
            inner.push(event.type_().to_owned());
        });
        target.add_event_listener(type_, &listener, options.clone());
    }
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["x"]);
    assert_eq!(tracker.alive(), 2);
    controller.abort();
    assert_eq!(tracker.alive(), 0, "they are dropped at once");
    dispatch(&target, &event_loop, "x");
    dispatch(&target, &event_loop, "y");
    assert_eq!(log.len(), 0);
}

// spec: JS-1
fn a_listener_whose_signal_is_aborted_is_not_added(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let options = ListenerOptions::new().signal(&AbortSignal::abort());
    let listener = notes(&log, 1);
    target.add_event_listener("x", &listener, options);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.len(), 0);
    assert!(!target.remove_event_listener("x", &listener, false));
}

// spec: JS-1
fn a_listener_whose_signal_is_aborted_during_the_dispatch_is_not_called(variant: Variant) {
    let event_loop = variant.build();
    for abort_elsewhere in [false, true] {
        let (target, log) = (EventTarget::new(), Log::new());
        let controller = AbortController::new();
        let signal = controller.signal();
        let controller = Cell::new(Some(controller));
        let abort = Listener::new(move |_, _| {
            let Some(controller) = controller.take() else { return };
            if abort_elsewhere {
                elsewhere(|| controller.abort());
            } else {
                controller.abort();
            }
        });
        let options = ListenerOptions::new().signal(&signal);
        target.add_event_listener("x", &abort, options.clone());
        target.add_event_listener("x", &notes(&log, "removed"), options);
        target.add_event_listener("x", &notes(&log, "other"), false);
        dispatch(&target, &event_loop, "x");
        dispatch(&target, &event_loop, "x");
        assert_eq!(log.take(), ["other", "other"]);
    }
}

// spec: JS-1
fn a_listener_whose_signal_is_aborted_elsewhere_is_not_called(variant: Variant) {
    let event_loop = variant.build();
    let (target, tracker) = (EventTarget::new(), Tracker::new());
    let controller = AbortController::new();
    let token = tracker.token();
    let listener = Listener::new(move |_, _| {
        let _token = &token;
        unreachable!();
    });
    let options = ListenerOptions::new().signal(&controller.signal());
    target.add_event_listener("x", &listener, options);
    drop(listener);
    elsewhere(|| controller.abort());
    dispatch(&target, &event_loop, "x");
    assert_eq!(tracker.alive(), 0);
}

// spec: JS-1
fn a_listener_whose_signal_was_aborted_can_be_added_again(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let listener = notes(&log, 1);
    for _ in 0..2 {
        let controller = AbortController::new();
        let options = ListenerOptions::new().signal(&controller.signal());
        target.add_event_listener("x", &listener, options);
        elsewhere(|| controller.abort());
    }
    target.add_event_listener("x", &listener, false);
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), [1]);
}

// spec: JS-1
fn a_signal_forgets_the_listeners_that_are_removed(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let (target, log) = (EventTarget::new(), Log::new());
    // A timeout lives for as long as something waits for it.
    let signal = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    let listener = notes(&log, 1);
    target.add_event_listener("x", &listener, ListenerOptions::new().signal(&signal));
    target.add_event_listener("y", &listener, ListenerOptions::new().signal(&signal).once(true));
    drop(signal);
    assert!(event_loop.next_deadline().is_some());
    target.remove_event_listener("x", &listener, false);
    assert!(event_loop.next_deadline().is_some());
    dispatch(&target, &event_loop, "y");
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: JS-1
fn a_target_is_not_kept_by_the_signals_of_its_listeners(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let controller = AbortController::new();
    let timeout = AbortSignal::timeout(event_loop.cx(), MS).unwrap();
    let signal = AbortSignal::any([&controller.signal(), &timeout]);
    drop(timeout);
    let target = EventTarget::new();
    let token = tracker.token();
    let listener = Listener::new(move |_, _| _ = &token);
    target.add_event_listener("x", &listener, ListenerOptions::new().signal(&signal));
    drop((listener, signal, target));
    assert_eq!(tracker.alive(), 0);
    assert_eq!(event_loop.next_deadline(), None);
    controller.abort();
}

// spec: JS-1, FA-1
fn a_panic_is_reported_and_the_others_are_called(variant: Variant) {
    let reports = Log::new();
    let hook = reports.clone();
    let event_loop = variant
        .builder()
        .on_uncaught(move |_, panic| {
            hook.push((panic.phase(), panic.message().unwrap().to_owned()));
        })
        .build()
        .unwrap();
    let ([root, _, leaf], log) = (family(), Log::new());
    for target in [&root, &leaf] {
        let options = ListenerOptions::new().passive(true);
        target.add_event_listener("x", &Listener::new(|_, _| panic!("expected")), options);
        target.add_event_listener("x", &notes(&log, "called"), false);
    }
    let cancel = Listener::new(|_, event| event.prevent_default());
    root.add_event_listener("x", &cancel, false);
    let inner = log.clone();
    event_loop.cx().set_immediate(move |cx| {
        let event = Event::new("x").bubbles(true).cancelable(true);
        assert_eq!(leaf.dispatch_event(cx, &event), Ok(false));
        inner.push("returned");
    });
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(log.take(), ["called", "called", "returned"]);
    let report = (Phase::Check, "expected".to_owned());
    assert_eq!(reports.take(), [report.clone(), report]);
}

// spec: JS-1, FA-3
fn a_propagated_panic_leaves_the_dispatch_when_all_others_were_called(variant: Variant) {
    let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
    let (target, log) = (EventTarget::new(), Log::new());
    target.add_event_listener("x", &Listener::new(|_, _| panic!("first")), false);
    target.add_event_listener("x", &Listener::new(|_, _| panic!("second")), false);
    target.add_event_listener("x", &notes(&log, "called"), false);
    let event = Event::new("x");
    for _ in 0..2 {
        let (target, event) = (target.clone(), event.clone());
        event_loop.cx().submit(move |cx| _ = target.dispatch_event(cx, &event)).unwrap();
        assert_eq!(panic_of(|| event_loop.turn(Duration::ZERO)).as_deref(), Some("first"));
        assert_eq!(log.take(), ["called"], "also when it is dispatched again");
    }
}

// spec: JS-1
fn listeners_may_dispatch_other_events(variant: Variant) {
    fn outer(log: &Log<String>, depth: u32) -> Listener {
        let log = log.clone();
        Listener::new(move |cx: &Cx, event| {
            let left: u32 = *event.detail().unwrap();
            log.push(format!("{left} in"));
            if left > 0 {
                let target = event.current_target().unwrap();
                assert!(left <= depth);
                target.dispatch_event(cx, &CustomEvent::new("x", left - 1)).unwrap();
            }
            assert_eq!(event.event_phase(), EventPhase::AtTarget);
            log.push(format!("{left} out"));
        })
    }
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    target.add_event_listener("x", &outer(&log, 2), false);
    target.dispatch_event(event_loop.cx(), &CustomEvent::new("x", 2_u32)).unwrap();
    assert_eq!(log.take(), ["2 in", "1 in", "0 in", "0 out", "1 out", "2 out"]);
}

// spec: JS-1
fn listeners_are_dropped_outside_of_every_borrow(variant: Variant) {
    let event_loop = variant.build();
    let (target, log) = (EventTarget::new(), Log::new());
    let controller = AbortController::new();
    let add = |options: ListenerOptions, name: &'static str| {
        let (ours, inner, cx) = (target.clone(), log.clone(), event_loop.cx().clone());
        let guard = OnDrop(move || {
            inner.push(name);
            let listener = Listener::new(|_, _| ());
            ours.add_event_listener("x", &listener, false);
            ours.dispatch_event(&cx, &Event::new("x")).unwrap();
            ours.remove_event_listener("x", &listener, false);
            panic!("expected");
        });
        target.add_event_listener("x", &Listener::new(move |_, _| _ = &guard), options);
    };
    add(ListenerOptions::new().once(true), "once");
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["once"]);
    add(ListenerOptions::new().signal(&controller.signal()), "here");
    controller.abort();
    assert_eq!(log.take(), ["here"]);
    let controller = AbortController::new();
    add(ListenerOptions::new().signal(&controller.signal()), "there");
    elsewhere(|| controller.abort());
    dispatch(&target, &event_loop, "x");
    assert_eq!(log.take(), ["there"]);
}

// spec: JS-1
fn events_are_stamped_by_the_clock_of_their_loop(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    clock.advance(1_000 * MS);
    let stamp = Rc::new(RefCell::new(None));
    let inner = Rc::clone(&stamp);
    event_loop
        .cx()
        .submit(move |_| {
            inner.replace(Some(Event::new("x").time_stamp()));
        })
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(stamp.take(), Some(clock.now()));
}
