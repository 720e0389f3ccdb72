//! Marks, measures, the timeline, and observers.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::timers::{HOUR, MS, Random, manual, tick};
use common::{Kind, Log, OnDrop, Tracker, Variant, panic_of};
use mainspring::{
    EntryType, MarkOptions, MeasureOptions, MeasurePoint, ObserveOptions, PanicPolicy, Performance,
    PerformanceEntry, PerformanceError, PerformanceObserver, PerformanceObserverEntryList, Phase,
    VirtualClock,
};

suite! {
    now_is_the_time_of_the_loops_clock_to_the_nanosecond,
    now_passes_while_a_callback_runs,
    now_never_goes_back,
    the_time_origin_is_the_time_of_day_at_which_the_loop_was_built,
    loops_that_share_a_virtual_clock_agree_about_the_time_of_day,
    there_is_one_timeline_for_each_loop,
    a_mark_is_recorded_for_now_or_for_another_time,
    a_mark_at_an_impossible_time_is_refused_and_changes_nothing,
    a_detail_is_any_value_and_is_found_by_its_type,
    each_short_form_of_a_measure_spans_what_it_says,
    the_mark_that_was_recorded_last_counts_whatever_its_time_is,
    a_measure_may_end_before_it_starts,
    all_combinations_of_measure_options_are_as_the_specification_says,
    entries_come_in_the_order_of_their_start_times_and_equal_ones_as_recorded,
    entries_are_found_by_type_and_by_name,
    clearing_removes_the_entries_of_one_type_and_name,
    random_programs_leave_the_timeline_that_a_list_would_be,
    a_detail_may_use_the_timeline_when_it_is_dropped,
    entries_are_delivered_together_in_the_check_phase,
    an_observer_is_told_of_the_types_that_it_observes,
    a_single_type_is_added_and_a_list_of_types_replaces,
    single_types_and_lists_do_not_mix_until_the_observer_is_disconnected,
    buffered_entries_are_delivered_first,
    a_delivery_is_sorted_and_the_records_are_as_recorded,
    records_that_were_taken_are_not_delivered,
    a_disconnected_observer_is_not_told_and_can_observe_again,
    an_observer_can_disconnect_itself_and_others_in_its_callback,
    an_observer_that_marks_is_told_in_a_later_tick,
    what_one_observer_marks_reaches_those_that_come_after_it,
    observers_are_called_in_the_order_in_which_they_had_something_to_be_told,
    microtasks_run_after_each_observer,
    a_panic_of_one_observer_keeps_nothing_from_the_others,
    a_panic_that_leaves_the_loop_loses_no_delivery,
    an_observer_stays_when_its_handle_is_dropped,
    observers_keep_the_loop_alive_only_to_deliver,
    a_shutdown_delivers_what_waits_and_a_close_drops_it,
    nothing_that_holds_the_loop_outlives_it,
    the_buffer_of_an_observer_is_released_after_the_delivery,
    destructors_that_panic_at_the_end_stop_nothing,
    a_loop_that_has_ended_still_measures_but_tells_nobody,
}

fn names(entries: &[PerformanceEntry]) -> Vec<&str> {
    entries.iter().map(PerformanceEntry::name).collect()
}

fn owned_names(entries: &[PerformanceEntry]) -> Vec<String> {
    entries.iter().map(|entry| entry.name().to_owned()).collect()
}

fn at(time: f64) -> MarkOptions {
    MarkOptions::new().start_time(time)
}

fn mark_at(performance: &Performance, name: &str, time: f64) -> PerformanceEntry {
    performance.mark_with(name, at(time)).unwrap()
}

/// A callback that notes what it is told.
fn says(
    log: &Log<Vec<String>>,
) -> impl FnMut(&mainspring::Cx, &PerformanceObserverEntryList, &PerformanceObserver) + use<> {
    let log = log.clone();
    move |_, list, _| log.push(owned_names(&list.get_entries()))
}

// spec: JS-1
fn now_is_the_time_of_the_loops_clock_to_the_nanosecond(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    assert_eq!(performance.now(), 0.0);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(performance.now(), 0.000_001);
    clock.advance(HOUR);
    assert_eq!(performance.now(), 3_600_000.000_001);
}

// spec: JS-1, TK-2
fn now_passes_while_a_callback_runs(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let seen = Log::new();
    let log = seen.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            let tick = cx.now();
            clock.advance(5 * MS);
            log.push((cx.performance().now(), cx.now() == tick));
            log.push((cx.performance().mark("inside").start_time(), cx.now() == tick));
        })
        .unwrap();
    tick(&event_loop);
    assert_eq!(seen.take(), [(5.0, true), (5.0, true)]);
}

// spec: JS-1
fn now_never_goes_back(variant: Variant) {
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    let mut last = performance.now();
    assert!(last >= 0.0);
    for round in 0..3_000 {
        let now = match round % 3 {
            0 => performance.now(),
            1 => performance.mark("mark").start_time(),
            _ => {
                let measure = performance.measure("measure", ()).unwrap();
                assert_eq!(measure.start_time(), 0.0);
                measure.duration()
            }
        };
        assert!(now >= last, "{now} comes after {last}");
        last = now;
    }
}

// spec: JS-1
fn the_time_origin_is_the_time_of_day_at_which_the_loop_was_built(variant: Variant) {
    let time_of_day = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3;
    let before = time_of_day();
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    // Somebody may adjust the system's clock meanwhile, a little.
    assert!((performance.time_origin() - before).abs() < 60_000.0);
    assert_eq!(performance.time_origin(), event_loop.cx().performance().time_origin());
}

// spec: JS-1
fn loops_that_share_a_virtual_clock_agree_about_the_time_of_day(variant: Variant) {
    let clock = VirtualClock::new();
    let build = || variant.builder().clock(&clock).build().unwrap();
    let first = build();
    clock.advance(24 * HOUR);
    let second = build();
    let (first, second) = (first.cx().performance(), second.cx().performance());
    assert_eq!((first.now(), second.now()), (86_400_000.0, 0.0));
    let apart = second.time_origin() - first.time_origin();
    assert!((apart - 86_400_000.0).abs() < 60_000.0, "{apart}");
}

// spec: JS-1
fn there_is_one_timeline_for_each_loop(variant: Variant) {
    let (one, other) = (variant.build(), variant.build());
    let mark = one.cx().performance().mark("here");
    assert!(one.cx().performance().get_entries()[0].ptr_eq(&mark));
    assert!(one.cx().performance().clone().get_entries()[0].ptr_eq(&mark));
    assert!(other.cx().performance().get_entries().is_empty());
}

// spec: JS-1
fn a_mark_is_recorded_for_now_or_for_another_time(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    clock.advance(3 * MS);
    let marks = [
        performance.mark("now"),
        performance.mark_with("also now", MarkOptions::new()).unwrap(),
        mark_at(&performance, "earlier", 0.5),
        mark_at(&performance, "later", 1e300),
        mark_at(&performance, "at the origin", -0.0),
    ];
    let times = marks.each_ref().map(PerformanceEntry::start_time);
    assert_eq!(times, [3.0, 3.0, 0.5, 1e300, 0.0]);
    for mark in &marks {
        assert_eq!((mark.entry_type(), mark.duration()), (EntryType::Mark, 0.0));
        assert!(performance.get_entries_by_name(mark.name(), None)[0].ptr_eq(mark));
    }
}

// spec: JS-1, ER-2
fn a_mark_at_an_impossible_time_is_refused_and_changes_nothing(variant: Variant) {
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    let log = Log::new();
    performance.observe(EntryType::Mark, says(&log));
    for time in [-1e-300, -1.0, f64::NEG_INFINITY, f64::INFINITY, f64::NAN] {
        match performance.mark_with("mark", at(time)).unwrap_err() {
            PerformanceError::InvalidTime { option: "start_time", value } => {
                assert_eq!(value.to_bits(), time.to_bits());
            }
            other => panic!("{other}"),
        }
    }
    let error = performance.mark_with("mark", at(-1.0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the option `start_time` must be a finite number of milliseconds that is not negative, \
         and is -1",
    );
    assert!(performance.get_entries().is_empty());
    assert!(performance.measure("measure", "mark").is_err());
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.len(), 0);
}

// spec: JS-1
fn a_detail_is_any_value_and_is_found_by_its_type(variant: Variant) {
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    let shared = Rc::new(Cell::new(1));
    let options = MarkOptions::new().detail(Rc::clone(&shared));
    let mark = performance.mark_with("mark", options).unwrap();
    mark.detail::<Rc<Cell<i32>>>().unwrap().set(2);
    assert_eq!(shared.get(), 2);
    assert!(mark.detail::<Cell<i32>>().is_none());
    let options = MeasureOptions::new().start("mark").detail("text");
    let measure = performance.measure("measure", options).unwrap();
    assert_eq!(measure.detail::<&str>(), Some(&"text"));
    assert!(measure.detail::<String>().is_none());
    assert!(performance.mark("none").detail::<()>().is_none());
    let found = &performance.get_entries_by_type(EntryType::Measure)[0];
    assert_eq!(found.detail::<&str>(), Some(&"text"));
    assert!(format!("{found:?}").contains("measure"));
}

// spec: JS-1
fn each_short_form_of_a_measure_spans_what_it_says(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    mark_at(&performance, "a", 2.0);
    mark_at(&performance, "b", 5.0);
    clock.advance(10 * MS);
    let span = |options: MeasureOptions| {
        let measure = performance.measure("measure", options).unwrap();
        assert_eq!((measure.name(), measure.entry_type()), ("measure", EntryType::Measure));
        (measure.start_time(), measure.duration())
    };
    assert_eq!(span(().into()), (0.0, 10.0));
    assert_eq!(span("a".into()), (2.0, 8.0));
    assert_eq!(span(String::from("a").into()), (2.0, 8.0));
    assert_eq!(span(("a", "b").into()), (2.0, 3.0));
    assert_eq!(span((1.0, "b").into()), (1.0, 4.0));
    assert_eq!(span((String::from("a"), 2.5).into()), (2.0, 0.5));
    assert_eq!(span(MeasureOptions::new()), (0.0, 10.0));
    assert_eq!(span(MeasureOptions::new().end("b")), (0.0, 5.0));
}

// spec: JS-1
fn the_mark_that_was_recorded_last_counts_whatever_its_time_is(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    mark_at(&performance, "a", 9.0);
    mark_at(&performance, "a", 4.0);
    performance.measure("a", (7.0, 8.0)).unwrap();
    let start = || performance.measure("measure", ("a", 9.0)).map(|entry| entry.start_time());
    assert_eq!(start(), Ok(4.0));
    performance.clear_measures(None);
    assert_eq!(start(), Ok(4.0));
    performance.clear_marks("b");
    assert_eq!(start(), Ok(4.0));
    performance.clear_marks("a");
    assert_eq!(start(), Err(PerformanceError::UnknownMark { name: "a".into() }));
    mark_at(&performance, "a", 6.0);
    assert_eq!(start(), Ok(6.0));
    performance.clear_marks(None);
    assert!(start().is_err());
}

// spec: JS-1
fn a_measure_may_end_before_it_starts(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    clock.advance(2 * MS);
    let from_the_future = performance.measure("measure", MeasureOptions::new().start(7.0)).unwrap();
    assert_eq!((from_the_future.start_time(), from_the_future.duration()), (7.0, -5.0));
    let backwards = performance.measure("measure", (3.0, 1.0)).unwrap();
    assert_eq!((backwards.start_time(), backwards.duration()), (3.0, -2.0));
    let long =
        performance.measure("measure", MeasureOptions::new().end(1.0).duration(4.0)).unwrap();
    assert_eq!((long.start_time(), long.duration()), (-3.0, 4.0));
    assert!(performance.get_entries()[0].ptr_eq(&long));
}

/// What User Timing Level 3 says about `measure()`, step by step, with the kinds of exceptions that
/// JavaScript has.
mod oracle {
    use super::MeasurePoint;

    #[derive(Debug, PartialEq)]
    pub(super) enum Exception {
        TypeError,
        SyntaxError,
    }
    use Exception::{SyntaxError, TypeError};

    pub(super) struct Given<'a> {
        pub(super) start: Option<&'a MeasurePoint>,
        pub(super) end: Option<&'a MeasurePoint>,
        pub(super) duration: Option<f64>,
        pub(super) has_detail: bool,
    }

    /// Start and duration.
    pub(super) fn measure(
        given: &Given<'_>,
        now: f64,
        marks: &[(&str, f64)],
    ) -> Result<(f64, f64), Exception> {
        let Given { start, end, duration, has_detail } = *given;
        // Web IDL: a `DOMHighResTimeStamp` is a double, which is neither infinite nor NaN.
        for point in [start, end] {
            if let Some(MeasurePoint::Time(time)) = point
                && (time.is_nan() || time.is_infinite())
            {
                return Err(TypeError);
            }
        }
        if duration.is_some_and(|duration| duration.is_nan() || duration.is_infinite()) {
            return Err(TypeError);
        }
        let convert_a_mark_to_a_timestamp = |point: &MeasurePoint| match point {
            MeasurePoint::Mark(name) => marks
                .iter()
                .rev()
                .find_map(|(other, time)| (other == name).then_some(*time))
                .ok_or(SyntaxError),
            MeasurePoint::Time(time) if *time < 0.0 => Err(TypeError),
            MeasurePoint::Time(time) => Ok(*time),
        };
        // 1.
        let exists = [start.is_some(), end.is_some(), duration.is_some(), has_detail];
        if exists.contains(&true) {
            if start.is_none() && end.is_none() {
                return Err(TypeError);
            }
            if start.is_some() && duration.is_some() && end.is_some() {
                return Err(TypeError);
            }
        }
        // 2.
        let end_time;
        if let Some(end) = end {
            end_time = convert_a_mark_to_a_timestamp(end)?;
        } else if let (Some(start), Some(duration)) = (start, duration) {
            let start = convert_a_mark_to_a_timestamp(start)?;
            let duration = convert_a_mark_to_a_timestamp(&duration.into())?;
            end_time = start + duration;
        } else {
            end_time = now;
        }
        // 3.
        let start_time;
        if let Some(start) = start {
            start_time = convert_a_mark_to_a_timestamp(start)?;
        } else if let (Some(duration), Some(end)) = (duration, end) {
            let duration = convert_a_mark_to_a_timestamp(&duration.into())?;
            let end = convert_a_mark_to_a_timestamp(end)?;
            start_time = end - duration;
        } else {
            start_time = 0.0;
        }
        // 4. and on.
        Ok((start_time, end_time - start_time))
    }
}

// spec: JS-1, ER-2
fn all_combinations_of_measure_options_are_as_the_specification_says(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    clock.advance(Duration::from_micros(12_345));
    let marks = [("a", 8.0), ("b", 0.25), ("a", 3.5)];
    for (name, time) in marks {
        mark_at(&performance, name, time);
    }
    let times = [0.0, -0.0, 0.1, 6.0, f64::MAX, -0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let points: Vec<_> = ["a", "b", "unknown", ""]
        .into_iter()
        .map(MeasurePoint::from)
        .chain(times.into_iter().map(MeasurePoint::from))
        .map(Some)
        .chain([None])
        .collect();
    let durations: Vec<_> = times.into_iter().map(Some).chain([None]).collect();
    let (mut recorded, mut refused) = (0, 0);
    for start in &points {
        for end in &points {
            for &duration in &durations {
                for has_detail in [false, true] {
                    let mut options = MeasureOptions::new();
                    if let Some(start) = start {
                        options = options.start(start.clone());
                    }
                    if let Some(end) = end {
                        options = options.end(end.clone());
                    }
                    if let Some(duration) = duration {
                        options = options.duration(duration);
                    }
                    if has_detail {
                        options = options.detail(recorded);
                    }
                    let text = format!("{options:?}");
                    let (start, end) = (start.as_ref(), end.as_ref());
                    let given = oracle::Given { start, end, duration, has_detail };
                    let expected = oracle::measure(&given, 12.345, &marks);
                    let found = performance.measure("measure", options);
                    if let Ok(measure) = &found {
                        assert_eq!(measure.detail(), has_detail.then_some(&recorded), "{text}");
                        recorded += 1;
                    } else {
                        refused += 1;
                    }
                    let found = found
                        .map(|measure| (measure.start_time(), measure.duration()))
                        .map_err(|error| match error {
                            PerformanceError::UnknownMark { .. } => oracle::Exception::SyntaxError,
                            _ => oracle::Exception::TypeError,
                        });
                    assert_eq!(found, expected, "{text}");
                    let measures = performance.get_entries_by_type(EntryType::Measure).len();
                    assert_eq!(measures, usize::from(found.is_ok()), "{text}");
                    performance.clear_measures(None);
                }
            }
        }
    }
    assert_eq!(recorded + refused, 14 * 14 * 10 * 2);
    assert!(recorded > 100, "{recorded}");
    // Those that JavaScript has one name for.
    let error = |options: MeasureOptions| performance.measure("measure", options).unwrap_err();
    let all = MeasureOptions::new().start("unknown").end(-1.0).duration(1.0);
    assert_eq!(error(all), PerformanceError::Overdetermined);
    let alone = MeasureOptions::new().duration(-1.0);
    assert_eq!(error(alone), PerformanceError::Underdetermined);
    assert_eq!(error(MeasureOptions::new().detail(1)), PerformanceError::Underdetermined);
    let two = MeasureOptions::new().start("first").end("second");
    assert_eq!(error(two), PerformanceError::UnknownMark { name: "second".into() });
    for (option, options) in [
        ("start", MeasureOptions::new().start(-1.0)),
        ("end", MeasureOptions::new().end(-1.0)),
        ("duration", MeasureOptions::new().end(1.0).duration(-1.0)),
        ("duration", MeasureOptions::new().start("a").duration(-1.0)),
    ] {
        assert_eq!(error(options), PerformanceError::InvalidTime { option, value: -1.0 });
    }
}

// spec: JS-1
fn entries_come_in_the_order_of_their_start_times_and_equal_ones_as_recorded(variant: Variant) {
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    mark_at(&performance, "d", 3.0);
    mark_at(&performance, "b", 0.0);
    performance.measure("e", (3.0, 4.0)).unwrap();
    mark_at(&performance, "c", -0.0);
    performance.measure("a", MeasureOptions::new().end(0.0).duration(1.0)).unwrap();
    mark_at(&performance, "f", 3.0);
    assert_eq!(names(&performance.get_entries()), ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(names(&performance.get_entries_by_type(EntryType::Mark)), ["b", "c", "d", "f"]);
}

// spec: JS-1
fn entries_are_found_by_type_and_by_name(variant: Variant) {
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    for time in [2.0, 1.0] {
        mark_at(&performance, "x", time);
        mark_at(&performance, "y", time);
    }
    performance.measure("x", (0.0, "x")).unwrap();
    let times = |entries: Vec<PerformanceEntry>| -> Vec<_> {
        entries.iter().map(PerformanceEntry::start_time).collect()
    };
    assert_eq!(times(performance.get_entries_by_name("x", None)), [0.0, 1.0, 2.0]);
    assert_eq!(times(performance.get_entries_by_name("x", EntryType::Mark)), [1.0, 2.0]);
    assert_eq!(times(performance.get_entries_by_name("x", Some(EntryType::Measure))), [0.0]);
    assert_eq!(times(performance.get_entries_by_name("y", EntryType::Measure)), []);
    assert_eq!(times(performance.get_entries_by_name("", None)), []);
    assert_eq!(performance.get_entries_by_type(EntryType::Mark).len(), 4);
    assert_eq!(performance.get_entries_by_type(EntryType::Measure).len(), 1);
}

// spec: JS-1
fn clearing_removes_the_entries_of_one_type_and_name(variant: Variant) {
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    let fill = || {
        performance.clear_marks(None);
        performance.clear_measures(None);
        for name in ["x", "y", "x"] {
            performance.mark(name);
            performance.measure(name, ()).unwrap();
        }
    };
    let left = || {
        let of = |entry_type| owned_names(&performance.get_entries_by_type(entry_type)).concat();
        (of(EntryType::Mark), of(EntryType::Measure))
    };
    let expected = |marks: &str, measures: &str| (marks.to_owned(), measures.to_owned());
    fill();
    assert_eq!(left(), expected("xyx", "xyx"));
    performance.clear_marks("x");
    assert_eq!(left(), expected("y", "xyx"));
    performance.clear_measures(Some("y"));
    assert_eq!(left(), expected("y", "xx"));
    performance.clear_marks(None);
    assert_eq!(left(), expected("", "xx"));
    fill();
    performance.clear_measures(None);
    assert_eq!(left(), expected("xyx", ""));
    performance.clear_marks("z");
    assert_eq!(left(), expected("xyx", ""));
}

// spec: JS-1
fn random_programs_leave_the_timeline_that_a_list_would_be(variant: Variant) {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    for seed in 1..=50 {
        let mut random = Random(seed * 0x9E37_79B9);
        let (clock, event_loop) = manual(variant);
        let performance = event_loop.cx().performance();
        let delivered = Log::new();
        let log = delivered.clone();
        performance.observe([EntryType::Mark, EntryType::Measure], move |_, list, _| {
            for entry in list.get_entries() {
                log.push(entry.name().to_owned());
            }
        });
        // Name, whether it is a mark, start, duration.
        let mut model: Vec<(&str, bool, f64, f64)> = Vec::new();
        let mut waiting: Vec<(f64, &str)> = Vec::new();
        let mut now = 0.0;
        for _ in 0..200 {
            let name = NAMES[random.below(3) as usize];
            let before = model.len();
            match random.below(8) {
                0 => {
                    let more = random.below(3);
                    clock.advance(Duration::from_millis(more));
                    now += more as f64;
                }
                1 | 2 => {
                    performance.mark(name);
                    model.push((name, true, now, 0.0));
                }
                3 => {
                    let time = random.below(20) as f64;
                    mark_at(&performance, name, time);
                    model.push((name, true, time, 0.0));
                }
                4 | 5 => {
                    let other = NAMES[random.below(3) as usize];
                    let last = |name| {
                        let is_it = |entry: &&(&str, bool, f64, f64)| entry.1 && entry.0 == name;
                        model.iter().rev().find(is_it).map(|entry| entry.2)
                    };
                    let found = performance.measure(name, (name, other));
                    let expected = last(name).zip(last(other));
                    assert_eq!(found.is_ok(), expected.is_some());
                    if let Some((start, end)) = expected {
                        model.push((name, false, start, end - start));
                    }
                }
                6 => match random.below(8) {
                    0 => {
                        performance.clear_marks(None);
                        model.retain(|entry| !entry.1);
                    }
                    1..4 => {
                        performance.clear_marks(name);
                        model.retain(|entry| !entry.1 || entry.0 != name);
                    }
                    _ => {
                        performance.clear_measures(name);
                        model.retain(|entry| entry.1 || entry.0 != name);
                    }
                },
                _ => {
                    tick(&event_loop);
                    waiting.sort_by(|one, other| one.0.total_cmp(&other.0));
                    let expected: Vec<_> = waiting.drain(..).map(|entry| entry.1).collect();
                    assert_eq!(delivered.take(), expected, "seed {seed}");
                }
            }
            if model.len() > before {
                let entry = model[before];
                waiting.push((entry.2, entry.0));
            }
            let mut expected = model.clone();
            expected.sort_by(|one, other| one.2.total_cmp(&other.2));
            let entries = performance.get_entries();
            let found: Vec<_> = entries
                .iter()
                .map(|entry| {
                    let is_mark = entry.entry_type() == EntryType::Mark;
                    (entry.name(), is_mark, entry.start_time(), entry.duration())
                })
                .collect();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}

// spec: JS-1
fn a_detail_may_use_the_timeline_when_it_is_dropped(variant: Variant) {
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    let at_drop = |name: &'static str| {
        let performance = performance.clone();
        OnDrop(move || {
            performance.mark(name);
            performance.clear_marks("nothing");
        })
    };
    let options = MarkOptions::new().detail(at_drop("mark gone"));
    performance.mark_with("mark", options).unwrap();
    let options = MeasureOptions::new().start(0.0).detail(at_drop("measure gone"));
    performance.measure("measure", options).unwrap();
    performance.clear_marks(None);
    performance.clear_measures(None);
    assert_eq!(names(&performance.get_entries()), ["mark gone", "measure gone"]);
    // The same for what waits for an observer.
    let observer = performance.observe(EntryType::Mark, |_, _, _| ());
    let options = MarkOptions::new().detail(at_drop("record gone"));
    performance.mark_with("mark", options).unwrap();
    performance.clear_marks(None);
    observer.disconnect();
    assert_eq!(names(&performance.get_entries()), ["record gone"]);
}

// spec: JS-1, TK-5
fn entries_are_delivered_together_in_the_check_phase(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let observed = log.clone();
    performance.observe([EntryType::Mark, EntryType::Measure], move |_, list, _| {
        observed.push(owned_names(&list.get_entries()).concat());
    });
    let say = |what: &str| log.note(what.to_owned());
    let cx = event_loop.cx();
    performance.mark("a");
    assert_eq!(log.len(), 0, "not by the call itself");
    cx.set_immediate(say("immediate"));
    cx.queue_microtask(say("microtask"));
    let marks = performance.clone();
    cx.submit(move |_| drop(marks.measure("b", "a"))).unwrap();
    cx.submit(say("task")).unwrap();
    cx.queue_close(say("close"));
    let callbacks = event_loop.turn(Duration::ZERO).unwrap().callbacks;
    assert_eq!(log.take(), ["microtask", "task", "ab", "immediate", "close"]);
    assert_eq!(callbacks, 6, "and no more");
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
}

// spec: JS-1
fn an_observer_is_told_of_the_types_that_it_observes(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let (marks, measures, both, none) = (Log::new(), Log::new(), Log::new(), Log::new());
    performance.mark("too early");
    performance.observe(EntryType::Mark, says(&marks));
    performance.observe([EntryType::Measure], says(&measures));
    performance.observe([EntryType::Measure, EntryType::Mark], says(&both));
    performance.observe([], says(&none));
    let idle = PerformanceObserver::new(event_loop.cx(), says(&none));
    performance.mark("x");
    performance.measure("y", "x").unwrap();
    tick(&event_loop);
    assert_eq!(marks.take(), [["x"]]);
    assert_eq!(measures.take(), [["y"]]);
    assert_eq!(both.take(), [["x", "y"]]);
    assert_eq!(none.len(), 0);
    assert_eq!(format!("{idle:?}"), "PerformanceObserver { types: [], waiting: 0, .. }");
    let names: Vec<_> =
        PerformanceObserver::supported_entry_types().iter().map(|each| each.as_str()).collect();
    assert_eq!(names, ["mark", "measure"]);
}

// spec: JS-1
fn a_single_type_is_added_and_a_list_of_types_replaces(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let record = || {
        performance.mark("mark");
        performance.measure("measure", "mark").unwrap();
        tick(&event_loop);
    };
    let (single, list) = (Log::new(), Log::new());
    let one = performance.observe(EntryType::Mark, says(&single));
    let other = performance.observe([EntryType::Mark], says(&list));
    record();
    assert_eq!(
        (single.take(), list.take()),
        (vec![vec!["mark".into()]], vec![vec!["mark".into()]])
    );
    one.observe(EntryType::Measure).unwrap();
    one.observe(EntryType::Measure).unwrap();
    other.observe([EntryType::Measure]).unwrap();
    other.observe([]).unwrap();
    record();
    assert_eq!(single.take(), [["mark", "measure"]]);
    assert_eq!(list.take(), [["measure"]]);
}

// spec: JS-1, ER-2
fn single_types_and_lists_do_not_mix_until_the_observer_is_disconnected(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let observer = PerformanceObserver::new(event_loop.cx(), says(&log));
    observer.observe(EntryType::Mark).unwrap();
    let mixed = Err(PerformanceError::MixedObservation);
    assert_eq!(observer.observe([EntryType::Measure]), mixed);
    performance.mark("mark");
    performance.measure("measure", ()).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), [["mark"]], "nothing has changed");
    observer.disconnect();
    observer.observe([EntryType::Measure]).unwrap();
    assert_eq!(observer.observe(ObserveOptions::buffered(EntryType::Mark)), mixed);
    performance.mark("mark");
    performance.measure("measure", ()).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), [["measure"]]);
}

// spec: JS-1
fn buffered_entries_are_delivered_first(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    performance.mark("a");
    performance.measure("not this", ()).unwrap();
    performance.mark("cleared");
    performance.clear_marks("cleared");
    clock.advance(MS);
    let log = Log::new();
    let observer = performance.observe(ObserveOptions::buffered(EntryType::Mark), says(&log));
    performance.mark("b");
    assert_eq!(log.len(), 0);
    tick(&event_loop);
    assert_eq!(log.take(), [["a", "b"]]);
    // Nothing is there: nothing is delivered.
    let nothing = variant.build();
    nothing
        .cx()
        .performance()
        .observe(ObserveOptions::buffered(EntryType::Mark), |_, _, _| unreachable!());
    assert_eq!(nothing.turn(Duration::ZERO).unwrap().callbacks, 0);
    // Another type, and the same once more.
    observer.observe(ObserveOptions::buffered(EntryType::Measure)).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), [["not this"]]);
    observer.observe(ObserveOptions::buffered(EntryType::Mark)).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), [["a", "b"]]);
    assert_eq!(performance.get_entries().len(), 3, "the timeline keeps them");
}

// spec: JS-1
fn a_delivery_is_sorted_and_the_records_are_as_recorded(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let told = log.clone();
    let observer = performance.observe([EntryType::Mark, EntryType::Measure], move |_, list, _| {
        told.push(owned_names(&list.get_entries()));
        told.push(owned_names(&list.get_entries_by_type(EntryType::Mark)));
        told.push(owned_names(&list.get_entries_by_name("c", None)));
        told.push(owned_names(&list.get_entries_by_name("c", EntryType::Mark)));
        told.push(vec![format!("{list:?}").matches("PerformanceEntry").count().to_string()]);
    });
    let record = || {
        mark_at(&performance, "b", 2.0);
        performance.measure("c", (3.0, 4.0)).unwrap();
        mark_at(&performance, "a", 1.0);
    };
    record();
    tick(&event_loop);
    let expected: [&[&str]; 5] = [&["a", "b", "c"], &["a", "b"], &["c"], &[], &["3"]];
    assert_eq!(log.take(), expected);
    record();
    assert_eq!(names(&observer.take_records()), ["b", "c", "a"]);
}

// spec: JS-1
fn records_that_were_taken_are_not_delivered(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let observer = performance.observe(EntryType::Mark, says(&log));
    assert!(observer.take_records().is_empty());
    let mark = performance.mark("a");
    assert!(observer.take_records()[0].ptr_eq(&mark));
    assert!(observer.take_records().is_empty());
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    performance.mark("b");
    performance.mark("c");
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert_eq!(log.take(), [["b", "c"]]);
}

// spec: JS-1
fn a_disconnected_observer_is_not_told_and_can_observe_again(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let observer = performance.observe(EntryType::Mark, says(&log));
    performance.mark("a");
    observer.disconnect();
    observer.disconnect();
    performance.mark("b");
    assert!(observer.take_records().is_empty());
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    observer.clone().observe(EntryType::Mark).unwrap();
    performance.mark("c");
    tick(&event_loop);
    assert_eq!(log.take(), [["c"]]);
    // In the same tick.
    performance.mark("d");
    observer.disconnect();
    observer.observe(EntryType::Mark).unwrap();
    performance.mark("e");
    tick(&event_loop);
    assert_eq!(log.take(), [["e"]]);
}

// spec: JS-1
fn an_observer_can_disconnect_itself_and_others_in_its_callback(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let others = Rc::new(RefCell::new(Vec::<PerformanceObserver>::new()));
    let (told, all) = (log.clone(), Rc::clone(&others));
    performance.observe(EntryType::Mark, move |cx, list, me| {
        told.push(owned_names(&list.get_entries()));
        cx.performance().mark("by the first");
        me.disconnect();
        all.borrow().iter().for_each(PerformanceObserver::disconnect);
    });
    for _ in 0..3 {
        others.borrow_mut().push(performance.observe(EntryType::Mark, says(&log)));
    }
    let last = performance.observe(EntryType::Mark, says(&log));
    performance.mark("a");
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 2);
    performance.mark("b");
    tick(&event_loop);
    assert_eq!(log.take(), [vec!["a"], vec!["a", "by the first"], vec!["b"]]);
    last.disconnect();
    performance.mark("c");
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
}

// spec: JS-1, TK-5
fn an_observer_that_marks_is_told_in_a_later_tick(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let told = log.clone();
    performance.observe(EntryType::Mark, move |cx, list, _| {
        told.push(list.get_entries().len());
        if told.len() < 4 {
            cx.performance().mark("again");
            cx.performance().mark("and again");
        }
    });
    performance.mark("first");
    for round in 1..=4 {
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
        assert_eq!(log.len(), round);
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [1, 2, 2, 2]);
}

// spec: JS-1
fn what_one_observer_marks_reaches_those_that_come_after_it(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    performance.observe(EntryType::Mark, |cx, list, _| {
        if list.get_entries_by_name("more", None).is_empty() {
            cx.performance().mark("more");
        }
    });
    performance.observe(EntryType::Mark, says(&log));
    performance.mark("a");
    tick(&event_loop);
    assert_eq!(log.take(), [["a", "more"]]);
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.len(), 0);
}

// spec: JS-1
fn observers_are_called_in_the_order_in_which_they_had_something_to_be_told(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let note = |name: &'static str| {
        let log = log.clone();
        move |_: &_, _: &PerformanceObserverEntryList, _: &_| log.push(name)
    };
    performance.observe(EntryType::Measure, note("measures"));
    performance.observe(EntryType::Mark, note("marks"));
    performance.observe([EntryType::Mark, EntryType::Measure], note("both"));
    performance.mark("a");
    performance.measure("b", ()).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["marks", "both", "measures"]);
    performance.measure("c", ()).unwrap();
    performance.mark("d");
    tick(&event_loop);
    assert_eq!(log.take(), ["measures", "both", "marks"]);
}

// spec: JS-1
fn microtasks_run_after_each_observer(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    for name in ["one", "two"] {
        let log = log.clone();
        performance.observe(EntryType::Mark, move |cx, _, _| {
            log.push(name);
            cx.queue_microtask(log.note("microtask"));
        });
    }
    performance.mark("a");
    tick(&event_loop);
    assert_eq!(log.take(), ["one", "microtask", "two", "microtask"]);
}

// spec: JS-1, FA-1
fn a_panic_of_one_observer_keeps_nothing_from_the_others(variant: Variant) {
    let panics = Log::new();
    let caught = panics.clone();
    let event_loop = variant
        .builder()
        .on_uncaught(move |_, panic| {
            caught.push((panic.phase(), panic.message().map(str::to_owned)));
        })
        .build()
        .unwrap();
    let performance = event_loop.cx().performance();
    let log = Log::new();
    performance.observe(EntryType::Mark, says(&log));
    let told = log.clone();
    performance.observe(EntryType::Mark, move |_, list, _| {
        told.push(owned_names(&list.get_entries()));
        panic!("oh");
    });
    performance.observe(EntryType::Mark, says(&log));
    for name in ["a", "b"] {
        performance.mark(name);
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.take(), [[name], [name], [name]]);
        assert_eq!(panics.take(), [(Phase::Check, Some("oh".to_owned()))]);
    }
}

// spec: JS-1, FA-3
fn a_panic_that_leaves_the_loop_loses_no_delivery(variant: Variant) {
    let event_loop = variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap();
    let performance = event_loop.cx().performance();
    let log = Log::new();
    performance.observe(EntryType::Mark, |_, _, _| panic!("oh"));
    performance.observe(EntryType::Mark, says(&log));
    for name in ["a", "b"] {
        performance.mark(name);
        assert_eq!(panic_of(|| event_loop.run_until_idle()), Some("oh".to_owned()));
        assert_eq!(log.len(), 0);
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.take(), [[name]]);
    }
}

// spec: JS-1
fn an_observer_stays_when_its_handle_is_dropped(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let tracker = Tracker::new();
    let log = Log::new();
    let callback = || {
        let (token, mut says) = (tracker.token(), says(&log));
        move |cx: &_, list: &_, me: &PerformanceObserver| {
            let _ = &token;
            says(cx, list, me);
            if log_is_full(list) {
                me.disconnect();
            }
        }
    };
    fn log_is_full(list: &PerformanceObserverEntryList) -> bool {
        !list.get_entries_by_name("last", None).is_empty()
    }
    drop(performance.observe(EntryType::Mark, callback()));
    for name in ["a", "last"] {
        performance.mark(name);
        assert_eq!(tracker.alive(), 1);
        tick(&event_loop);
        assert_eq!(log.take(), [[name]]);
    }
    assert_eq!(tracker.alive(), 0, "nobody can let it observe again");
    // One that observes nothing is gone at once; one that is disconnected, with its last handle.
    drop(PerformanceObserver::new(event_loop.cx(), callback()));
    assert_eq!(tracker.alive(), 0);
    let observer = performance.observe(EntryType::Mark, callback());
    observer.disconnect();
    assert_eq!(tracker.alive(), 1);
    drop(observer);
    assert_eq!(tracker.alive(), 0);
    for _ in 0..1_000 {
        performance.observe(EntryType::Mark, callback()).disconnect();
    }
    assert_eq!(tracker.alive(), 0);
}

// spec: JS-1
fn observers_keep_the_loop_alive_only_to_deliver(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let log = Log::new();
    let observer = performance.observe(EntryType::Mark, says(&log));
    event_loop.run_until_idle().unwrap();
    performance.mark("a");
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [["a"]]);
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), move |cx| drop(cx.performance().mark("inside")));
        event_loop.run_until_idle().unwrap();
        assert_eq!(log.take(), [["inside"]], "{kind:?}");
    }
    performance.mark("b");
    observer.disconnect();
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.len(), 0);
}

// spec: JS-1, SD-1, SD-4
fn a_shutdown_delivers_what_waits_and_a_close_drops_it(variant: Variant) {
    let log = Log::new();
    for is_closed in [false, true] {
        let event_loop = variant.build();
        let performance = event_loop.cx().performance();
        performance.observe(EntryType::Mark, says(&log));
        let marks = performance.clone();
        event_loop
            .cx()
            .submit(move |cx| {
                marks.mark("a");
                if is_closed { cx.close() } else { cx.shutdown() }
            })
            .unwrap();
        event_loop.run().unwrap();
        assert_eq!(log.take().len(), usize::from(!is_closed));
        assert_eq!(names(&performance.get_entries()), ["a"], "it can be read afterwards");
    }
}

// spec: JS-1, SD-6
fn nothing_that_holds_the_loop_outlives_it(variant: Variant) {
    #[derive(Clone, Copy, Debug)]
    enum End {
        Drop,
        Close,
        Run,
        Ran,
    }
    for end in [End::Drop, End::Close, End::Run, End::Ran] {
        let tracker = Tracker::new();
        let event_loop = variant.build();
        let cx = event_loop.cx();
        let performance = cx.performance();
        let callback = || {
            let (token, cx) = (tracker.token(), cx.clone());
            move |_: &_, _: &_, _: &PerformanceObserver| _ = (&token, &cx)
        };
        // One that observes; one of many that hold each other; and the others of those, which observe
        // nothing any more.
        performance.observe(EntryType::Mark, callback());
        let held = Rc::new(RefCell::new(Vec::new()));
        let holder = || {
            let (callback, held) = (callback(), Rc::clone(&held));
            move |cx: &_, list: &_, me: &PerformanceObserver| {
                callback(cx, list, me);
                let _ = &held;
            }
        };
        for _ in 0..20 {
            held.borrow_mut().push(performance.observe(EntryType::Mark, holder()));
        }
        held.borrow()[1..].iter().for_each(PerformanceObserver::disconnect);
        drop(held);
        let detail = || (tracker.token(), cx.clone());
        performance.mark_with("mark", MarkOptions::new().detail(detail())).unwrap();
        let options = MeasureOptions::new().start("mark").detail(detail());
        let kept = performance.measure("measure", options).unwrap();
        assert_eq!(tracker.alive(), 23);
        match end {
            End::Drop => {}
            End::Close => cx.close(),
            End::Run => event_loop.run_until_idle().unwrap(),
            End::Ran => {
                cx.submit(|cx| cx.shutdown()).unwrap();
                event_loop.run().unwrap();
            }
        }
        drop(performance);
        drop(event_loop);
        assert_eq!(tracker.alive(), 1, "{end:?}");
        assert!(
            kept.detail::<(common::Token, mainspring::Cx)>().is_some(),
            "as long as it is kept"
        );
        drop(kept);
        assert_eq!(tracker.alive(), 0, "{end:?}");
    }
}

// spec: JS-1
fn the_buffer_of_an_observer_is_released_after_the_delivery(variant: Variant) {
    let (_clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let tracker = Tracker::new();
    performance.observe(EntryType::Mark, |_, _, _| ());
    for _ in 0..10 {
        performance.mark_with("mark", MarkOptions::new().detail(tracker.token())).unwrap();
    }
    performance.clear_marks(None);
    assert_eq!(tracker.alive(), 10, "they wait to be delivered");
    tick(&event_loop);
    assert_eq!(tracker.alive(), 0);
}

// spec: JS-1, FA-1
fn destructors_that_panic_at_the_end_stop_nothing(variant: Variant) {
    let tracker = Tracker::new();
    let event_loop = variant.build();
    let performance = event_loop.cx().performance();
    let bomb = || {
        let token = tracker.token();
        OnDrop(move || {
            let _ = &token;
            panic!("a destructor");
        })
    };
    for _ in 0..3 {
        let bomb = bomb();
        performance.observe(EntryType::Mark, move |_, _, _| _ = &bomb);
    }
    for _ in 0..3 {
        performance.mark_with("mark", MarkOptions::new().detail(bomb())).unwrap();
    }
    // These are only held by the observers.
    performance.mark_with("cleared", MarkOptions::new().detail(bomb())).unwrap();
    performance.clear_marks("cleared");
    assert_eq!(tracker.alive(), 7);
    drop(event_loop);
    assert_eq!(tracker.alive(), 0);
    assert_eq!(performance.get_entries().len(), 3);
}

// spec: JS-1, ER-2
fn a_loop_that_has_ended_still_measures_but_tells_nobody(variant: Variant) {
    let tracker = Tracker::new();
    let (clock, event_loop) = manual(variant);
    let performance = event_loop.cx().performance();
    let before = performance.observe(EntryType::Mark, |_, _, _| unreachable!());
    performance.mark("before");
    drop(event_loop);
    assert!(before.take_records().is_empty());
    assert_eq!(format!("{before:?}"), "PerformanceObserver { types: [], waiting: 0, .. }");
    clock.advance(MS);
    let detail = (tracker.token(), performance.clone());
    let mark = performance.mark_with("after", MarkOptions::new().detail(detail)).unwrap();
    assert_eq!(mark.start_time(), 1.0);
    assert_eq!(performance.measure("measure", ("before", "after")).unwrap().duration(), 1.0);
    let token = tracker.token();
    let after = performance.observe(EntryType::Mark, move |_, _, _| _ = &token);
    assert_eq!(tracker.alive(), 1, "the callback is dropped at once");
    after.observe([EntryType::Mark]).unwrap();
    before.observe(ObserveOptions::buffered(EntryType::Mark)).unwrap();
    performance.mark("again");
    assert!(before.take_records().is_empty() && after.take_records().is_empty());
    before.disconnect();
    assert_eq!(names(&performance.get_entries()), ["before", "measure", "after", "again"]);
    drop(mark);
    assert_eq!(tracker.alive(), 0, "the timeline does not keep the loop");
}

/// Which types stay on their thread: to name this function is ambiguous for the others.
trait Stays<Marker> {
    fn stays() {}
}
impl<T: ?Sized> Stays<()> for T {}
impl<T: ?Sized + Send> Stays<u8> for T {}

// spec: JS-1
#[test]
fn nothing_of_it_leaves_the_thread() {
    <Performance as Stays<_>>::stays();
    <PerformanceEntry as Stays<_>>::stays();
    <PerformanceObserver as Stays<_>>::stays();
    <PerformanceObserverEntryList as Stays<_>>::stays();
}

// spec: JS-1, ER-1
#[test]
fn errors_say_what_to_do() {
    for error in [
        PerformanceError::UnknownMark { name: "x".into() },
        PerformanceError::InvalidTime { option: "end", value: f64::NAN },
        PerformanceError::Overdetermined,
        PerformanceError::Underdetermined,
        PerformanceError::MixedObservation,
    ] {
        let text = error.to_string();
        assert!(text.starts_with(char::is_lowercase) && !text.ends_with('.'), "{text}");
    }
}
