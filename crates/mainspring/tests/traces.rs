//! What loops write to a trace.
#![cfg(all(feature = "metrics", target_os = "linux", not(loom)))]

mod common;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{Kind, Variant, must_return, panic_of, wait_until, wait_until_sleeping};
use mainspring::{Cx, Deadline, EventLoop, Interest, PanicPolicy, Phase, Tracer};

suite![
    each_callback_is_a_slice_with_its_place_and_phase,
    slices_are_inside_each_other_or_apart,
    a_wait_is_as_long_as_the_slow_callback_before,
    a_flow_comes_from_the_thread_that_submitted,
    a_sleep_is_a_slice_and_a_wake_is_a_flow,
    panics_are_marked_under_both_policies,
    stalls_breaches_and_overloads_are_marked,
    several_loops_share_a_trace,
    loops_inside_each_other_have_slices_of_their_own,
    a_trace_is_complete_after_it_was_finished,
    a_callback_may_finish_the_trace,
    a_loop_outlives_a_trace_and_a_trace_a_loop,
    a_writer_that_fails_keeps_no_loop,
    a_writer_that_blocks_keeps_no_loop,
    every_way_to_drive_is_traced,
    ticks_are_numbered,
];

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
enum Json {
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
    Word(String),
}

impl Json {
    /// The value that a text is, strictly.
    fn parse(text: &str) -> Self {
        let mut rest = text.trim();
        let value = Self::value(&mut rest);
        assert!(rest.trim().is_empty(), "more than a value: {rest:.60}");
        value
    }

    fn take(rest: &mut &str, what: char) -> bool {
        *rest = rest.trim_start();
        let found = rest.strip_prefix(what);
        *rest = found.unwrap_or(rest);
        found.is_some()
    }

    fn value(rest: &mut &str) -> Self {
        *rest = rest.trim_start();
        if Self::take(rest, '[') {
            let mut all = Vec::new();
            if !Self::take(rest, ']') {
                loop {
                    all.push(Self::value(rest));
                    if Self::take(rest, ']') {
                        break;
                    }
                    assert!(Self::take(rest, ','), "a comma before {rest:.60}");
                }
            }
            return Self::Array(all);
        }
        if Self::take(rest, '{') {
            let mut all = BTreeMap::new();
            if !Self::take(rest, '}') {
                loop {
                    let Self::Text(key) = Self::value(rest) else { panic!("a key") };
                    assert!(Self::take(rest, ':'), "a colon before {rest:.60}");
                    assert!(all.insert(key, Self::value(rest)).is_none(), "a key twice");
                    if Self::take(rest, '}') {
                        break;
                    }
                    assert!(Self::take(rest, ','), "a comma before {rest:.60}");
                }
            }
            return Self::Object(all);
        }
        if Self::take(rest, '"') {
            let mut text = String::new();
            let mut letters = rest.char_indices();
            loop {
                let (index, letter) = letters.next().expect("the end of a text");
                match letter {
                    '"' => {
                        *rest = &rest[index + 1..];
                        return Self::Text(text);
                    }
                    '\\' => match letters.next().unwrap().1 {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        'u' => {
                            let code: String = (0..4).map(|_| letters.next().unwrap().1).collect();
                            let code = u32::from_str_radix(&code, 16).unwrap();
                            text.push(char::from_u32(code).unwrap_or('?'));
                        }
                        other => text.push(other),
                    },
                    other => {
                        assert!(other >= ' ', "a control character in a text");
                        text.push(other);
                    }
                }
            }
        }
        let end = rest.find([',', ']', '}', '\n']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        *rest = after;
        match word.parse() {
            Ok(number) => Self::Number(number),
            Err(_) => {
                assert!(["true", "false", "null"].contains(&word), "{word}");
                Self::Word(word.to_owned())
            }
        }
    }
}

/// An event of the file. Times are nanoseconds.
#[derive(Clone, Debug)]
struct Event {
    kind: String,
    track: u64,
    name: String,
    category: String,
    at: i64,
    length: i64,
    id: Option<u64>,
    args: BTreeMap<String, Json>,
}

impl Event {
    fn end(&self) -> i64 {
        self.at + self.length
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.args.get(key) {
            Some(Json::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.args.get(key) {
            Some(Json::Number(number)) => Some(*number),
            _ => None,
        }
    }
}

/// All events of a file, and that they have what readers need.
fn parse(text: &str) -> Vec<Event> {
    let Json::Array(all) = Json::parse(text) else { panic!("an array") };
    let event = |value| {
        let Json::Object(mut fields) = value else { panic!("an object") };
        let text = |fields: &mut BTreeMap<_, _>, key| match fields.remove(key) {
            Some(Json::Text(text)) => text,
            None => String::new(),
            other => panic!("{key}: {other:?}"),
        };
        let number = |fields: &mut BTreeMap<_, _>, key| match fields.remove(key) {
            Some(Json::Number(number)) => Some(number),
            None => None,
            other => panic!("{key}: {other:?}"),
        };
        let nanoseconds = |time: f64| {
            assert!(time >= 0.0, "{time}");
            (time * 1_000.0).round() as i64
        };
        let kind = text(&mut fields, "ph");
        assert!(number(&mut fields, "pid").is_some());
        let track = number(&mut fields, "tid").unwrap() as u64;
        let (at, length) = (number(&mut fields, "ts"), number(&mut fields, "dur"));
        assert!(at.is_some() || kind == "M", "no time: {fields:?}");
        assert_eq!(length.is_some(), kind == "X", "{fields:?}");
        let args = match fields.remove("args") {
            Some(Json::Object(args)) => args,
            None => BTreeMap::new(),
            other => panic!("{other:?}"),
        };
        let name = text(&mut fields, "name");
        assert!(!name.is_empty());
        Event {
            name,
            track,
            category: text(&mut fields, "cat"),
            at: at.map_or(0, nanoseconds),
            length: length.map_or(0, nanoseconds),
            id: number(&mut fields, "id").map(|id| id as u64),
            kind,
            args,
        }
    };
    let all: Vec<Event> = all.into_iter().map(event).collect();
    check(&all);
    all
}

/// What holds for any file.
fn check(all: &[Event]) {
    // Slices of a track are inside each other or apart.
    let mut tracks: BTreeMap<u64, Vec<&Event>> = BTreeMap::new();
    for event in all.iter().filter(|event| event.kind == "X") {
        tracks.entry(event.track).or_default().push(event);
    }
    // When slices began, and how far those that had begun reach.
    let mut covers: BTreeMap<u64, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
    for (track, slices) in &mut tracks {
        slices.sort_by_key(|slice| (slice.at, -slice.length));
        let (starts, latest) = covers.entry(*track).or_default();
        for slice in slices.iter() {
            starts.push(slice.at);
            latest.push(slice.end().max(latest.last().copied().unwrap_or(0)));
        }
        let mut open: Vec<&Event> = Vec::new();
        for slice in slices {
            open.retain(|outer| {
                outer.end() > slice.at || outer.length == 0 && outer.at == slice.at
            });
            for outer in &open {
                assert!(slice.end() <= outer.end(), "{slice:?} is not inside {outer:?}");
            }
            if slice.length > 0 {
                open.push(slice);
            }
        }
    }
    // Each flow has two ends, the second one not before the first.
    let mut flows: BTreeMap<u64, Vec<&Event>> = BTreeMap::new();
    for event in all.iter().filter(|event| ["s", "f", "t"].contains(&&*event.kind)) {
        flows.entry(event.id.expect("a flow has a number")).or_default().push(event);
    }
    for ends in flows.values() {
        assert_eq!(ends.len(), 2, "{ends:?}");
        let (start, finish) = (ends[0], ends[1]);
        assert_eq!((&*start.kind, &*finish.kind), ("s", "f"), "{ends:?}");
        assert!(start.at <= finish.at, "{ends:?}");
        for end in ends {
            let (starts, latest) = &covers[&end.track];
            let before = starts.partition_point(|start| *start <= end.at);
            assert!(before > 0 && latest[before - 1] >= end.at, "outside of slices: {end:?}");
        }
    }
}

/// A writer that shares what was written.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn tracer(&self) -> Tracer {
        Tracer::to_writer(self.clone()).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn events(&self) -> Vec<Event> {
        parse(&self.text())
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The callbacks among the events, without hooks, in the order in which they began.
fn callbacks(events: &[Event]) -> Vec<&Event> {
    let is_one =
        |event: &&Event| event.category == "callback" && event.text("phase") != Some("hook");
    let mut all: Vec<_> = events.iter().filter(is_one).collect();
    all.sort_by_key(|event| event.at);
    all
}

fn of<'a>(events: &'a [Event], category: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.category == category && event.kind == "X").collect()
}

/// The callback that was scheduled in that line of this file.
#[track_caller]
fn at_line(events: &[Event], line: u32) -> &Event {
    let place = format!("{}:{line}:", file!());
    let is_it = |event: &&Event| event.text("place").is_some_and(|text| text.starts_with(&place));
    let found: Vec<_> = callbacks(events).into_iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "line {line}: {found:?} among {:?}", callbacks(events));
    found[0]
}

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

const SLOW: Duration = Duration::from_millis(5);

/// Whether something of `length` has taken at least that long.
fn is_slow(length: i64) -> bool {
    u128::try_from(length).unwrap() >= SLOW.as_nanos()
}

// spec: MX-4
fn each_callback_is_a_slice_with_its_place_and_phase(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    let cx = event_loop.cx();
    let first = line!() + 1;
    cx.submit(|_| ()).unwrap();
    cx.submit_internal(|_| ()).unwrap();
    cx.queue_microtask(|_| ());
    cx.next_tick(|_| ());
    cx.set_immediate(|_| ());
    cx.queue_close(|_| ());
    cx.set_timeout(Duration::ZERO, |_| ()).unwrap();
    drop(cx.spawn_local(async {}));
    let (ours, _) = UnixStream::pair().unwrap();
    let fd = ours.as_raw_fd();
    let callback = move |cx: &Cx, _: &UnixStream, _| cx.unregister_fd(fd).unwrap();
    let registered = line!() + 1;
    cx.register_fd(ours, Interest::READ, callback).unwrap();
    let handle = event_loop.handle();
    let (sent, in_turn) = must_return(move || {
        let line = line!() + 1;
        handle.submit(|_| ()).unwrap();
        handle.submit_internal(|_| ()).unwrap();
        handle.queue_microtask(|_| ()).unwrap();
        handle.set_timeout(Duration::ZERO, |_| ()).unwrap();
        (line, line + 3)
    });
    event_loop.run_until_idle().unwrap();
    tracer.finish().unwrap();
    assert_eq!(tracer.dropped(), 0);
    let events = paper.events();
    assert_eq!(callbacks(&events).len(), 13, "{:?}", callbacks(&events));
    let phases = [
        (first, Phase::External),
        (first + 1, Phase::Internal),
        (first + 2, Phase::Microtasks),
        (first + 3, Phase::NextTicks),
        (first + 4, Phase::Check),
        (first + 5, Phase::Close),
        (first + 6, Phase::Timers),
        (first + 7, Phase::Futures),
        (registered, Phase::Io),
        (sent, Phase::External),
        (sent + 1, Phase::Internal),
        (sent + 2, Phase::Microtasks),
        (in_turn, Phase::Timers),
    ];
    for (line, phase) in phases {
        let callback = at_line(&events, line);
        assert_eq!(callback.text("phase"), Some(&*phase.to_string()), "{callback:?}");
        assert!(callback.name.contains(&format!("traces.rs:{line}")), "{callback:?}");
    }
    // Each phase that ran something is a slice in a tick.
    let ticks = of(&events, "tick");
    assert!(!ticks.is_empty());
    for phase in of(&events, "phase") {
        let is_around = |tick: &&&Event| tick.at <= phase.at && phase.end() <= tick.end();
        // What was queued before the first tick is run by a checkpoint of its own.
        let is_early = phase.end() <= ticks.iter().map(|tick| tick.at).min().unwrap();
        assert!(is_early || ticks.iter().filter(is_around).count() == 1, "{phase:?}");
    }
    for name in ["external", "internal", "check", "close", "timers", "futures", "i/o"] {
        assert!(of(&events, "phase").iter().any(|phase| phase.name == name), "{name}");
    }
}

// spec: MX-4
fn slices_are_inside_each_other_or_apart(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant
        .builder()
        .tracer(&tracer)
        .microtask_budget(7)
        .external_budget(5)
        .future_budget(2)
        .build()
        .unwrap();
    for round in 0..300_u32 {
        for kind in Kind::ALL {
            kind.queue(event_loop.cx(), move |cx| {
                cx.queue_microtask(move |cx| cx.next_tick(|cx| cx.queue_microtask(|_| ())));
                Kind::ALL[round as usize % 6].queue(cx, |_| ());
                if round % 10 == 0 {
                    resume_unwind(Box::new(()));
                }
            });
        }
        let cx = event_loop.cx().clone();
        drop(event_loop.cx().spawn_local(async move {
            cx.yield_now().await;
            cx.sleep(Duration::from_micros(100)).await;
        }));
        event_loop.turn(Duration::from_micros(50)).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    let ran = event_loop.cx().metrics().unwrap().callbacks;
    tracer.finish().unwrap();
    // Parsing checks it.
    let events = paper.events();
    assert_eq!(callbacks(&events).len() as u64 + tracer.dropped(), ran);
}

// spec: MX-4
fn a_wait_is_as_long_as_the_slow_callback_before(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    let mut lines = Vec::new();
    let begin = Instant::now();
    for kind in [Kind::External, Kind::Internal, Kind::Immediate, Kind::Close] {
        kind.queue(event_loop.cx(), |_| spin(SLOW));
    }
    event_loop.cx().submit(|_| ()).unwrap();
    lines.push(line!() - 1);
    event_loop.cx().submit_internal(|_| ()).unwrap();
    lines.push(line!() - 1);
    event_loop.cx().set_immediate(|_| ());
    lines.push(line!() - 1);
    event_loop.cx().queue_close(|_| ());
    lines.push(line!() - 1);
    event_loop.run_until_idle().unwrap();
    event_loop
        .cx()
        .submit(|cx| {
            cx.queue_microtask(|_| spin(SLOW));
            cx.queue_microtask(|_| ());
        })
        .unwrap();
    lines.push(line!() - 3);
    event_loop.run_until_idle().unwrap();
    let all = begin.elapsed();
    tracer.finish().unwrap();
    let events = paper.events();
    for line in lines {
        let callback = at_line(&events, line);
        let waited = callback.number("waited_us").unwrap_or_else(|| panic!("{callback:?}"));
        assert!(waited >= SLOW.as_micros() as f64, "{callback:?}");
        assert!(waited <= all.as_micros() as f64, "{callback:?}");
    }
    // On a machine with a load others may be, too.
    let slow = callbacks(&events).into_iter().filter(|event| is_slow(event.length)).count();
    assert!(slow >= 5, "{slow}");
}

// spec: MX-4
fn a_flow_comes_from_the_thread_that_submitted(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    let handle = event_loop.handle();
    let line = line!() + 3;
    thread::Builder::new()
        .name("a \"strange\" \\name\u{1}".to_owned())
        .spawn(move || handle.submit(|_| ()).unwrap())
        .unwrap()
        .join()
        .unwrap();
    event_loop.run_until_idle().unwrap();
    tracer.finish().unwrap();
    let events = paper.events();
    let callback = at_line(&events, line);
    let ends: Vec<_> = events.iter().filter(|event| event.category == "flow").collect();
    assert_eq!(ends.len(), 2, "{ends:?}");
    let (start, finish) = (ends[0], ends[1]);
    assert_eq!(finish.track, callback.track);
    assert!(callback.at <= finish.at && finish.at <= callback.end(), "{callback:?} {finish:?}");
    assert_ne!(start.track, finish.track);
    let names: Vec<_> = events
        .iter()
        .filter(|event| event.name == "thread_name" && event.track == start.track)
        .map(|event| event.text("name").unwrap())
        .collect();
    assert_eq!(names, ["a \"strange\" \\name\u{1}"]);
    let waited = callback.number("waited_us").unwrap() * 1_000.0;
    let between = (callback.at - start.at) as f64;
    assert!((waited - between).abs() < 1_000.0, "{waited} {between}");
}

// spec: MX-4
fn a_sleep_is_a_slice_and_a_wake_is_a_flow(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let sent = tracer.clone();
    let (handle, thread) = variant.spawn(
        move |builder| builder.tracer(&sent).max_spin(Duration::ZERO),
        |event_loop| event_loop.run().unwrap(),
    );
    for _ in 0..5 {
        wait_until_sleeping(&handle);
        handle.submit(|_| ()).unwrap();
        wait_until(|| handle.pending() == 0);
    }
    wait_until_sleeping(&handle);
    handle.shutdown(Deadline::NEVER).unwrap();
    thread.join().unwrap();
    tracer.finish().unwrap();
    let events = paper.events();
    let sleeps = of(&events, "sleep");
    assert_eq!(sleeps.len(), 6, "{sleeps:?}");
    let wakes: Vec<_> = events
        .iter()
        .filter(|event| event.category == "flow" && event.name == "wake" && event.kind == "f")
        .collect();
    assert!(wakes.len() >= 5, "{wakes:?}");
    for wake in wakes {
        let is_around = |sleep: &&&Event| {
            sleep.track == wake.track && sleep.at <= wake.at && wake.at <= sleep.end()
        };
        assert_eq!(sleeps.iter().filter(is_around).count(), 1, "{wake:?}");
    }
    // Nothing is run in a sleep.
    for callback in callbacks(&events) {
        let is_apart = |sleep: &&Event| callback.end() <= sleep.at || sleep.end() <= callback.at;
        assert!(sleeps.iter().all(is_apart), "{callback:?}");
    }
}

// spec: MX-4
fn panics_are_marked_under_both_policies(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        let paper = Paper::default();
        let tracer = paper.tracer();
        let event_loop = variant.builder().tracer(&tracer).panic_policy(policy).build().unwrap();
        let lines: Vec<u32> = Kind::ALL
            .iter()
            .map(|kind| {
                match kind {
                    Kind::External => {
                        event_loop.cx().submit(|_| resume_unwind(Box::new(()))).unwrap()
                    }
                    kind => kind.queue(event_loop.cx(), |_| resume_unwind(Box::new(()))),
                }
                line!()
            })
            .collect();
        let mut thrown = 0;
        while panic_of(|| event_loop.run_until_idle().unwrap()).is_some() {
            thrown += 1;
        }
        assert_eq!(thrown, if policy == PanicPolicy::Propagate { lines.len() } else { 0 });
        event_loop.cx().submit(|_| ()).unwrap();
        let after = line!() - 1;
        event_loop.run_until_idle().unwrap();
        tracer.finish().unwrap();
        let events = paper.events();
        let marks: Vec<_> = events.iter().filter(|event| event.kind == "i").collect();
        let panics = marks.iter().filter(|mark| mark.name.contains("panic")).count();
        assert_eq!(panics, lines.len(), "{policy:?}: {marks:?}");
        // Those that panicked are slices as well.
        let phases: Vec<_> = callbacks(&events).iter().map(|event| event.text("phase")).collect();
        assert_eq!(phases.len(), lines.len() + 1, "{policy:?}: {phases:?}");
        at_line(&events, after);
    }
}

// spec: MX-4
fn stalls_breaches_and_overloads_are_marked(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop =
        variant.builder().tracer(&tracer).external_budget(2).microtask_budget(2).build().unwrap();
    for _ in 0..3 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    event_loop.cx().submit(|cx| (0..3).for_each(|_| cx.queue_microtask(|_| ()))).unwrap();
    event_loop.run_until_idle().unwrap();
    tracer.finish().unwrap();
    let events = paper.events();
    let marks = |name: &str| {
        events.iter().filter(|event| event.kind == "i" && event.name.contains(name)).count()
    };
    assert_eq!((marks("overload"), marks("budget")), (1, 1));
}

// spec: MX-4
fn several_loops_share_a_trace(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let threads: Vec<_> = (0..4_u32)
        .map(|index| {
            let tracer = tracer.clone();
            thread::Builder::new()
                .name(format!("worker {index}"))
                .spawn(move || {
                    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
                    for _ in 0..=index {
                        event_loop.cx().submit(|_| ()).unwrap();
                    }
                    event_loop.run_until_idle().unwrap();
                })
                .unwrap()
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    tracer.finish().unwrap();
    let events = paper.events();
    for index in 0..4 {
        let is_it = |event: &&Event| {
            event.name == "thread_name" && event.text("name") == Some(&format!("worker {index}"))
        };
        let tracks: Vec<_> = events.iter().filter(is_it).map(|event| event.track).collect();
        assert_eq!(tracks.len(), 1, "worker {index}");
        let count = callbacks(&events).iter().filter(|event| event.track == tracks[0]).count();
        assert_eq!(count, index + 1);
    }
}

// spec: MX-4
fn loops_inside_each_other_have_slices_of_their_own(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let outer = variant.builder().tracer(&tracer).build().unwrap();
    let inner = variant.builder().tracer(&tracer).build().unwrap();
    inner.cx().submit(|_| spin(SLOW)).unwrap();
    let inside = line!() - 1;
    outer.cx().submit(move |_| inner.run_until_idle().unwrap()).unwrap();
    let outside = line!() - 1;
    outer.run_until_idle().unwrap();
    drop(outer);
    tracer.finish().unwrap();
    let events = paper.events();
    let (inside, outside) = (at_line(&events, inside), at_line(&events, outside));
    assert!(outside.at <= inside.at && inside.end() <= outside.end(), "{inside:?} {outside:?}");
    assert!(is_slow(inside.length) && is_slow(outside.length));
}

// spec: MX-4
fn a_trace_is_complete_after_it_was_finished(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    for _ in 0..1_000 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    tracer.finish().unwrap();
    let text = paper.text();
    assert_eq!(callbacks(&parse(&text)).len() as u64 + tracer.dropped(), 1_000);
    // What comes later is not recorded, and does no harm.
    event_loop.cx().submit(|_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    tracer.finish().unwrap();
    let other = variant.builder().tracer(&tracer).build().unwrap();
    other.cx().submit(|_| ()).unwrap();
    other.run_until_idle().unwrap();
    drop((event_loop, other, tracer));
    assert_eq!(paper.text(), text);
    // Without `finish`, the last clone completes it, be it that of a loop.
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    drop(tracer);
    event_loop.cx().submit(|_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    drop(event_loop);
    assert_eq!(callbacks(&paper.events()).len(), 1);
}

// spec: MX-4
fn a_callback_may_finish_the_trace(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    event_loop.cx().submit(|_| ()).unwrap();
    let line = line!() - 1;
    let inner = tracer.clone();
    event_loop.cx().submit(move |_| inner.finish().unwrap()).unwrap();
    event_loop.cx().submit(|_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    at_line(&paper.events(), line);
    drop(tracer);
}

// spec: MX-4
fn a_loop_outlives_a_trace_and_a_trace_a_loop(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    for count in 0..20 {
        let event_loop = variant.builder().tracer(&tracer).build().unwrap();
        (0..count).for_each(|_| event_loop.cx().submit(|_| ()).unwrap());
        event_loop.run_until_idle().unwrap();
    }
    tracer.finish().unwrap();
    assert_eq!(callbacks(&paper.events()).len(), (0..20).sum());
    // A loop that is never driven is none.
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    event_loop.cx().submit(|_| ()).unwrap();
    drop(event_loop);
    tracer.finish().unwrap();
    assert!(callbacks(&paper.events()).is_empty());
}

// spec: MX-4
fn a_writer_that_fails_keeps_no_loop(variant: Variant) {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                None => Err(std::io::ErrorKind::StorageFull.into()),
                Some(left) => {
                    self.0 = left;
                    Ok(bytes.len())
                }
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let tracer = Tracer::to_writer(Full(1_000)).unwrap();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    for _ in 0..20 {
        for _ in 0..1_000 {
            event_loop.cx().submit(|_| ()).unwrap();
        }
        event_loop.run_until_idle().unwrap();
    }
    assert_eq!(event_loop.cx().metrics().unwrap().callbacks, 20_000);
    for _ in 0..2 {
        assert_eq!(tracer.finish().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    }
    drop(event_loop);
}

// spec: MX-4
fn a_writer_that_blocks_keeps_no_loop(variant: Variant) {
    struct Slow(Paper, Option<mpsc::Receiver<()>>);
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if !self.0.0.lock().unwrap().is_empty()
                && let Some(wait) = self.1.take()
            {
                _ = wait.recv();
            }
            self.0.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let paper = Paper::default();
    let (go, wait) = mpsc::channel();
    let tracer = Tracer::to_writer(Slow(paper.clone(), Some(wait))).unwrap();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    for _ in 0..100 {
        for _ in 0..1_000 {
            event_loop.cx().submit(|_| ()).unwrap();
        }
        event_loop.run_until_idle().unwrap();
    }
    assert!(tracer.dropped() > 0, "nobody took them");
    go.send(()).unwrap();
    tracer.finish().unwrap();
    let events = paper.events();
    // Every event that is missing is counted.
    let said: f64 = events.iter().filter_map(|event| event.number("count")).sum();
    assert_eq!(said as u64, tracer.dropped());
    assert!(callbacks(&events).len() < 100_000);
}

// spec: MX-4
fn every_way_to_drive_is_traced(variant: Variant) {
    type Drive = fn(&EventLoop);
    let ways: [(&str, Drive); 6] = [
        ("run", |event_loop| {
            event_loop.cx().queue_close(|cx| cx.close());
            event_loop.run().unwrap();
        }),
        ("run_until_idle", |event_loop| event_loop.run_until_idle().unwrap()),
        ("turn", |event_loop| _ = event_loop.turn(Duration::ZERO).unwrap()),
        ("run_until_aborted", |event_loop| {
            let mut calls = 0;
            let stop = move || {
                calls += 1;
                calls > 1
            };
            event_loop.run_until_aborted(stop).unwrap();
        }),
        ("block_on", |event_loop| {
            event_loop.block_on(async {}).unwrap();
            event_loop.run_until_idle().unwrap();
        }),
        ("run_microtasks", |event_loop| {
            event_loop.run_microtasks().unwrap();
            event_loop.run_until_idle().unwrap();
        }),
    ];
    for (name, drive) in ways {
        let paper = Paper::default();
        let tracer = paper.tracer();
        let event_loop = variant.builder().tracer(&tracer).build().unwrap();
        for kind in Kind::ALL {
            kind.queue(event_loop.cx(), |_| ());
        }
        drive(&event_loop);
        let metrics = event_loop.cx().metrics().unwrap();
        tracer.finish().unwrap();
        let events = paper.events();
        assert_eq!(callbacks(&events).len() as u64, metrics.callbacks, "{name}");
        assert_eq!(of(&events, "tick").len() as u64, metrics.ticks, "{name}");
    }
    let paper = Paper::default();
    let tracer = paper.tracer();
    let guest = variant.builder().tracer(&tracer).build().unwrap().into_guest().unwrap();
    guest.cx().submit(|_| ()).unwrap();
    guest.turn().unwrap();
    tracer.finish().unwrap();
    assert_eq!(callbacks(&paper.events()).len(), 1);
}

// spec: MX-4
fn ticks_are_numbered(variant: Variant) {
    let paper = Paper::default();
    let tracer = paper.tracer();
    let event_loop =
        variant.builder().tracer(&tracer).panic_policy(PanicPolicy::Propagate).build().unwrap();
    for turn in 0..20 {
        if turn % 5 == 4 {
            event_loop.cx().submit(|_| resume_unwind(Box::new(()))).unwrap();
            assert!(panic_of(|| event_loop.turn(Duration::ZERO)).is_some());
        } else {
            event_loop.turn(Duration::ZERO).unwrap();
        }
    }
    tracer.finish().unwrap();
    let events = paper.events();
    let numbers: Vec<_> =
        of(&events, "tick").iter().map(|tick| tick.number("number").unwrap() as u64).collect();
    assert!(numbers.len() >= 16, "{numbers:?}");
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}
