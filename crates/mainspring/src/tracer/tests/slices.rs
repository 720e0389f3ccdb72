//! Slices of the program's own.

use std::time::Instant;

use super::super::record::Took;
use super::super::slice::Bounds;
use super::*;
use crate::{Cx, EventLoop};

// spec: MX-4
#[test]
fn a_slice_of_any_length_is_exact() {
    let mut format = Formatter::new(7, 0);
    let mut track = Track::new(1, 1, None);
    let to = 1 << 60;
    let lengths = [0, 1, 255, 256, 1 << 32, (1 << 56) - 1];
    for length in lengths {
        let record = Record::Slice { took: Took::new(length), name: "a \"slice\"", to };
        assert_eq!(record.range(), (to - length, to));
        track.hold(&record);
    }
    assert_eq!(Took::new(-1), Took::new(0));
    assert_eq!(Took::new(i64::MAX), Took::new((1 << 56) - 1));
    format.flush(&mut track, true);
    let text = String::from_utf8(format.text).unwrap();
    let events: Vec<_> = text.split(",\n").skip(1).map(Event::new).collect();
    let found: Vec<_> = events.iter().map(|event| event.nanos("dur")).collect();
    assert_eq!(found, lengths.into_iter().rev().collect::<Vec<_>>());
    assert!(text.contains(r#""cat":"slice","name":"a \"slice\"""#), "{text}");
}

/// The slices of the program that have this name.
fn named<'a>(events: &'a [Event], name: &'a str) -> impl Iterator<Item = &'a Event> {
    let slices = of_kind(events, "X").filter(|event| event.get("cat") == Some("slice"));
    slices.filter(move |event| event.get("name") == Some(name))
}

fn is_in_a_callback(events: &[Event], slice: &Event) -> bool {
    of_kind(events, "X").any(|event| {
        let is_callback = event.get("cat") == Some("callback");
        // So that a flow to the callback does not end in the slice.
        is_callback && event.from() + 1 < slice.from() && slice.to() <= event.to()
    })
}

/// Tells of something that took some time, and has something in it.
fn work(cx: &Cx) {
    let began = Instant::now();
    let inner = Instant::now();
    thread::yield_now();
    cx.trace_slice("inner", inner, Instant::now());
    cx.trace_slice("outer", began, Instant::now());
}

// spec: MX-4
#[test]
fn slices_of_the_program_are_inside_of_its_callbacks() {
    const ROUNDS: usize = 100;
    let events = traced(|tracer| {
        let event_loop = EventLoop::builder().tracer(tracer).build().unwrap();
        let cx = event_loop.cx();
        for _ in 0..ROUNDS {
            cx.submit(|cx| {
                cx.next_tick(work);
                cx.queue_microtask(work);
                work(cx);
            })
            .unwrap();
            cx.set_timeout(Duration::ZERO, work).unwrap();
            cx.set_immediate(work);
            let own = cx.clone();
            cx.spawn_local(async move { work(&own) });
        }
        event_loop.run_until_idle().unwrap();
    });
    for name in ["inner", "outer"] {
        assert_eq!(named(&events, name).count(), 6 * ROUNDS);
        assert!(named(&events, name).all(|slice| is_in_a_callback(&events, slice)));
    }
}

// spec: MX-4
#[test]
fn times_that_are_not_those_of_the_callback_are_cut_off() {
    const ROUNDS: usize = 50;
    let events = traced(|tracer| {
        let long_ago = Instant::now();
        let event_loop = EventLoop::builder().tracer(tracer).build().unwrap();
        let cx = event_loop.cx();
        for _ in 0..ROUNDS {
            let own = cx.clone();
            cx.spawn_local(async move {
                let began = Instant::now();
                own.sleep(Duration::from_millis(1)).await;
                own.trace_slice("awaited", began, Instant::now());
            });
            cx.submit(move |cx| {
                let now = Instant::now();
                cx.queue_microtask(move |cx| cx.trace_slice("before", long_ago, now));
                cx.trace_slice("early", long_ago, long_ago);
                cx.trace_slice("future", now, now + LONG);
                cx.trace_slice("reversed", now + LONG, long_ago);
            })
            .unwrap();
        }
        event_loop.run_until_idle().unwrap();
    });
    for name in ["awaited", "before", "early", "future", "reversed"] {
        assert_eq!(named(&events, name).count(), ROUNDS, "{name}");
    }
    for name in ["awaited", "before", "future"] {
        assert!(named(&events, name).all(|slice| is_in_a_callback(&events, slice)), "{name}");
    }
}

// spec: MX-4
#[test]
fn slices_outside_of_callbacks_are_beside_those_of_the_loop() {
    let events = traced(|tracer| {
        let long_ago = Instant::now();
        let event_loop = EventLoop::builder().tracer(tracer).build().unwrap();
        let cx = event_loop.cx();
        for _ in 0..20 {
            cx.trace_slice("between", long_ago, Instant::now());
            cx.set_timeout(Duration::from_micros(100), |_| ()).unwrap();
            event_loop.run_until_idle().unwrap();
        }
    });
    assert_eq!(named(&events, "between").count(), 20);
    for slice in named(&events, "between") {
        let mut ticks = of_kind(&events, "X").filter(|event| event.get("cat") == Some("tick"));
        assert!(ticks.all(|tick| tick.to() <= slice.from() || slice.to() <= tick.from()));
    }
}

#[test]
fn a_loop_without_a_tracer_takes_no_notice() {
    for builder in [EventLoop::builder(), EventLoop::builder().metrics(true)] {
        let event_loop = builder.build().unwrap();
        event_loop.cx().submit(work).unwrap();
        event_loop.run_until_idle().unwrap();
    }
}

// spec: MX-4
#[test]
fn a_slice_around_a_microtask_is_around_all_of_it() {
    let now = crate::sys::now() - 1_000_000;
    for (began, ended) in [(0, 100), (45, 100), (45, 55), (50, 50), (60, 100), (0, 40)] {
        let bounds = Bounds::new();
        let (anchor, number) = bounds.anchor;
        let instant = |at: i64| anchor - Duration::from_nanos((number - now - at).unsigned_abs());
        let (began, ended) = (instant(began), instant(ended));
        bounds.begin(now - 10);
        bounds.begin(now + 40);
        bounds.end(now + 40, now + 60);
        let (from, to) = bounds.fit(began, ended);
        let (from, to) = (from - now, to - now);
        assert!(from <= to && (to <= 40 || from >= 60 || from <= 40 && to >= 60), "{from} to {to}");
    }
}
