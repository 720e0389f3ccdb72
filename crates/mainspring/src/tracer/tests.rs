//! The tracer as a whole: what is in the file, and what becomes of it if writing is slow or fails.

mod slices;

use std::collections::HashMap;
use std::io::{self, Write};
use std::panic::Location;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::format::{Formatter, Track};
use super::record::Record;
use super::ring::CAPACITY;
use super::*;
use crate::Phase;

/// Much longer than anything takes.
const LONG: Duration = Duration::from_secs(60);

/// A file in memory.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn events(&self) -> Vec<Event> {
        let text = self.text();
        let lines = text.strip_prefix("[\n").unwrap().strip_suffix("\n]\n").unwrap();
        lines.split(",\n").map(Event::new).collect()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line of the file, as far as the tests want to know.
#[derive(Clone, Debug)]
struct Event(String);

impl Event {
    fn new(line: &str) -> Self {
        assert!(line.starts_with("{\"ph\":\"") && line.ends_with('}'), "{line}");
        Self(line.into())
    }

    fn get(&self, key: &str) -> Option<&str> {
        let (_, rest) = self.0.split_once(&format!("\"{key}\":"))?;
        let end = match rest.strip_prefix('"') {
            Some(string) => string.find('"')? + 2,
            None => rest.find([',', '}'])?,
        };
        Some(rest[..end].trim_matches('"'))
    }

    fn is(&self, kind: &str) -> bool {
        self.get("ph") == Some(kind)
    }

    fn nanos(&self, key: &str) -> i64 {
        self.get(key).unwrap().replace('.', "").parse().unwrap()
    }

    fn from(&self) -> i64 {
        self.nanos("ts")
    }

    fn to(&self) -> i64 {
        self.from() + self.nanos("dur")
    }
}

/// A tracer whose times are those of the records.
fn start(writer: impl Write + Send + 'static) -> io::Result<Tracer> {
    Tracer::start(Box::new(writer), 0)
}

fn of_kind<'a>(events: &'a [Event], kind: &'a str) -> impl Iterator<Item = &'a Event> {
    events.iter().filter(move |event| event.is(kind))
}

/// Checks what is said of all files: slices nest, and flows have two ends, in slices.
fn check(events: &[Event]) {
    let mut tracks = HashMap::<_, Vec<_>>::new();
    for slice in of_kind(events, "X") {
        tracks.entry(slice.get("tid").unwrap()).or_default().push((slice.from(), slice.to()));
    }
    for slices in tracks.values_mut() {
        slices.sort_by_key(|(from, to)| (*from, -to));
        let mut open = Vec::new();
        for (from, to) in &*slices {
            while open.last().is_some_and(|end| end <= from && end < to) {
                open.pop();
            }
            assert!(open.last().is_none_or(|end| to <= end), "{from} to {to} is in {open:?}");
            open.push(*to);
        }
    }
    let mut flows = HashMap::<_, Vec<_>>::new();
    for flow in events.iter().filter(|event| event.is("s") || event.is("f")) {
        flows.entry(flow.get("id").unwrap()).or_default().push(flow);
        let (track, at) = (flow.get("tid").unwrap(), flow.from());
        // The slice of its own, or the one that it is to end in.
        let is_start = flow.is("s");
        let is_inside = |(from, to): &(i64, i64)| match is_start {
            true => *from == at && at == *to,
            false => *from <= at && at <= *to,
        };
        assert!(tracks[track].iter().any(is_inside), "{flow:?}");
    }
    for ends in flows.values() {
        let kinds: Vec<_> = ends.iter().map(|end| end.get("ph").unwrap()).collect();
        assert_eq!(kinds, ["s", "f"]);
        assert!(ends[0].from() <= ends[1].from() && ends[0].get("name") == ends[1].get("name"));
    }
}

fn traced(record: impl FnOnce(&Tracer)) -> Vec<Event> {
    let page = Page::default();
    let tracer = start(page.clone()).unwrap();
    record(&tracer);
    tracer.finish().unwrap();
    assert_eq!(tracer.dropped(), 0);
    let events = page.events();
    check(&events);
    events
}

/// Another thread, which has this name.
fn other(name: &str) -> u16 {
    thread::Builder::new().name(name.into()).spawn(thread_number).unwrap().join().unwrap()
}

// spec: MX-4
#[test]
fn records_become_exactly_these_events() {
    let (own, other) = (thread_number(), other("a worker"));
    let place = Location::caller();
    let mut format = Formatter::new(7, 0);
    let mut track = Track::new(1, own, Some("my loop".into()));
    format.introduce(&mut track);
    for record in [
        Record::Callback {
            phase: Phase::External,
            thread: other,
            waited: 1_500,
            place: Some(place),
            from: 10_000,
            to: 12_345,
        },
        Record::Phase { phase: Phase::External, from: 9_000, to: 13_000 },
        // It was submitted in the callback above, by the loop's own thread.
        Record::Callback {
            phase: Phase::Io,
            thread: own,
            waited: 4_000,
            place: None,
            from: 14_000,
            to: 14_000,
        },
        Record::Sleep { thread: other, from: 15_000, to: 1_000_000, woken_at: 999_000 },
        Record::Mark { name: "panic", at: 1_000_001 },
        Record::Tick { number: 3, from: 9_000, to: 1_000_002 },
    ] {
        track.hold(&record);
    }
    format.flush(&mut track, true);
    format.dropped(&track, 5, 1_000_003);
    let (file, line, column) = (place.file(), place.line(), place.column());
    let expected = format!(
        r#",
{{"ph":"M","pid":7,"tid":OWN,"name":"thread_name","args":{{"name":"my loop"}}}},
{{"ph":"M","pid":7,"tid":OWN,"name":"thread_sort_index","args":{{"sort_index":1}}}},
{{"ph":"X","pid":7,"tid":OWN,"ts":9.000,"dur":991.002,"cat":"tick","name":"tick","args":{{"number":3}}}},
{{"ph":"X","pid":7,"tid":OWN,"ts":9.000,"dur":4.000,"cat":"phase","name":"external"}},
{{"ph":"X","pid":7,"tid":OWN,"ts":10.000,"dur":2.345,"cat":"callback","name":"tests.rs:{line}","args":{{"phase":"external","place":"{file}:{line}:{column}","waited_us":1.500}}}},
{{"ph":"M","pid":7,"tid":OTHER,"name":"thread_name","args":{{"name":"a worker"}}}},
{{"ph":"M","pid":7,"tid":OTHER,"name":"thread_sort_index","args":{{"sort_index":{sort}}}}},
{{"ph":"X","pid":7,"tid":OTHER,"ts":8.500,"dur":0.000,"cat":"submit","name":"submit"}},
{{"ph":"s","pid":7,"tid":OTHER,"ts":8.500,"cat":"flow","name":"submit","id":1}},
{{"ph":"f","pid":7,"tid":OWN,"ts":10.001,"cat":"flow","name":"submit","id":1,"bp":"e"}},
{{"ph":"X","pid":7,"tid":OWN,"ts":14.000,"dur":0.000,"cat":"callback","name":"callback","args":{{"phase":"i/o","waited_us":4.000}}}},
{{"ph":"X","pid":7,"tid":OWN,"ts":10.000,"dur":0.000,"cat":"submit","name":"submit"}},
{{"ph":"s","pid":7,"tid":OWN,"ts":10.000,"cat":"flow","name":"submit","id":2}},
{{"ph":"f","pid":7,"tid":OWN,"ts":14.000,"cat":"flow","name":"submit","id":2,"bp":"e"}},
{{"ph":"X","pid":7,"tid":OWN,"ts":15.000,"dur":985.000,"cat":"sleep","name":"sleep"}},
{{"ph":"X","pid":7,"tid":OWN,"ts":999.999,"dur":0.000,"cat":"wake","name":"woken"}},
{{"ph":"X","pid":7,"tid":OTHER,"ts":999.000,"dur":0.000,"cat":"wake","name":"wake"}},
{{"ph":"s","pid":7,"tid":OTHER,"ts":999.000,"cat":"flow","name":"wake","id":3}},
{{"ph":"f","pid":7,"tid":OWN,"ts":999.999,"cat":"flow","name":"wake","id":3,"bp":"e"}},
{{"ph":"i","pid":7,"tid":OWN,"s":"t","ts":1000.001,"cat":"mark","name":"panic"}},
{{"ph":"i","pid":7,"tid":OWN,"s":"t","ts":1000.003,"cat":"tracer","name":"dropped events","args":{{"count":5}}}}"#,
        sort = 1_000_000 + u64::from(other),
    );
    let expected = expected.replace("OWN", &own.to_string()).replace("OTHER", &other.to_string());
    assert_eq!(String::from_utf8(format.text).unwrap(), expected);
}

// spec: MX-4
#[test]
fn a_file_is_an_array_with_the_name_of_the_process() {
    let events = traced(|_| {});
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].get("name"), Some("process_name"));
    assert_eq!(events[0].get("pid"), Some(&*std::process::id().to_string()));
}

/// Dice that fall the same way each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as i64
    }
}

// spec: MX-4
#[test]
fn slices_nest_and_flows_bind_whatever_happens() {
    let others: Vec<_> = (0..3).map(|number| other(&format!("worker {number}"))).collect();
    let (mut ticks, mut callbacks, mut flows) = (0, 0, 0);
    let events = traced(|tracer| {
        let recorder = Recorder::new(tracer, None);
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        let mut now = 1_000_000;
        for number in 0..500 {
            let tick = now;
            for &phase in Phase::ALL {
                let phase_from = now;
                for _ in 0..dice.roll(4) {
                    let from = now + dice.roll(2);
                    now = from + dice.roll(3) * dice.roll(1_000);
                    let thread = match dice.roll(5) {
                        3 => thread_number(),
                        4 => 0,
                        index => others[index as usize],
                    };
                    let wait = [0, 1, 500, 100_000, 7_000_000_000][dice.roll(5) as usize];
                    let at = (from - wait).max(0);
                    let submitted = (thread != 0).then_some(Submitted { at, thread });
                    flows += i32::from(submitted.is_some());
                    callbacks += 1;
                    recorder.callback(phase, None, from, now, submitted);
                }
                recorder.phase(phase, phase_from, now);
            }
            let from = now;
            now += dice.roll(3) * dice.roll(100_000);
            let woken = Submitted { at: now - dice.roll(50), thread: others[0] };
            recorder.sleep(from, now, Some(woken));
            flows += 1;
            recorder.tick(number, tick, now);
            ticks += 1;
            now += dice.roll(2);
        }
    });
    let of_category =
        |category| of_kind(&events, "X").filter(|event| event.get("cat") == Some(category)).count();
    assert_eq!(of_category("tick"), ticks);
    assert_eq!(of_category("callback"), callbacks);
    assert_eq!(of_kind(&events, "f").count(), flows as usize);
}

// spec: MX-4
#[test]
fn what_is_outside_comes_first_also_if_the_times_are_the_same() {
    let events = traced(|tracer| {
        let recorder = Recorder::new(tracer, None);
        for number in 0..3_000 {
            let (from, to) = (10 * number as i64, 10 * number as i64 + 10);
            recorder.callback(Phase::Check, None, from, to, None);
            recorder.phase(Phase::Check, from, to);
            recorder.tick(number, from, to);
        }
    });
    let categories: Vec<_> = of_kind(&events, "X").map(|event| event.get("cat").unwrap()).collect();
    assert_eq!(categories.len(), 9_000);
    assert!(categories.chunks(3).all(|tick| tick == ["tick", "phase", "callback"]));
}

// spec: MX-4
#[test]
fn a_wait_of_any_length_is_exact() {
    let thread = other("an early one");
    let waits = [0, 1, i64::from(u32::MAX) - 1, i64::from(u32::MAX), 1 << 32, 90_000_000_000_000];
    let from = 100_000_000_000_000;
    let events = traced(|tracer| {
        let recorder = Recorder::new(tracer, None);
        for (wait, from) in waits.into_iter().zip(from..) {
            let submitted = Submitted { at: from - wait, thread };
            recorder.callback(Phase::External, None, from, from, Some(submitted));
        }
    });
    let found = of_kind(&events, "X").filter(|event| event.get("cat") == Some("callback"));
    assert_eq!(found.map(|event| event.nanos("waited_us")).collect::<Vec<_>>(), waits);
    let starts = of_kind(&events, "s").zip(from..).map(|(event, from)| from - event.from());
    assert_eq!(starts.collect::<Vec<_>>(), waits);
}

// spec: MX-4
#[test]
fn several_loops_have_tracks_of_their_own() {
    let events = traced(|tracer| {
        let spawn = |name: Option<&'static str>| {
            let tracer = tracer.clone();
            let run = move || {
                let recorder = Recorder::new(&tracer, name);
                for number in 0..10_000 {
                    recorder.tick(number, number as i64, number as i64 + 1);
                }
                thread_number()
            };
            thread::Builder::new().spawn(run).unwrap()
        };
        let threads = [spawn(Some("first")), spawn(Some("second"))];
        let numbers = threads.map(|thread| thread.join().unwrap());
        assert_ne!(numbers[0], numbers[1]);
        // Unnamed, on a thread without a name, and on one with a name.
        let tracer = tracer.clone();
        spawn(None).join().unwrap();
        let unnamed = move || drop(Recorder::new(&tracer, None));
        thread::Builder::new().name("a thread".into()).spawn(unnamed).unwrap().join().unwrap();
    });
    let mut counts = HashMap::<_, usize>::new();
    for tick in of_kind(&events, "X") {
        *counts.entry(tick.get("tid").unwrap()).or_default() += 1;
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [10_000; 3]);
    let names = events.iter().filter(|event| event.get("name") == Some("thread_name"));
    let mut names: Vec<_> = names.map(|event| event.0.rsplit('"').nth(1).unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a thread", "first", "loop 3", "second"]);
}

// spec: MX-4
#[test]
fn a_loop_without_a_thread_number_has_a_track_all_the_same() {
    let mut format = Formatter::new(1, 0);
    for number in [1, 2] {
        let mut track = Track::new(number, u16::MAX, None);
        format.introduce(&mut track);
        let submitted = [u16::MAX, 1].map(|thread| Record::Callback {
            phase: Phase::Check,
            thread,
            waited: 1,
            place: None,
            from: 10,
            to: 20,
        });
        track.hold(&submitted[0]);
        format.flush(&mut track, true);
    }
    let text = String::from_utf8(format.text).unwrap();
    for track in ["\"tid\":65536,", "\"tid\":65537,"] {
        assert_eq!(text.matches(&format!("{{\"ph\":\"f\",\"pid\":1,{track}")).count(), 1, "{text}");
    }
    assert!(!text.contains("\"tid\":65535,"));
}

// spec: MX-4
#[test]
fn odd_names_are_escaped() {
    let odd = "a \"loop\"\\\n\u{0}→\u{1F980}";
    let escaped = "a \\\"loop\\\"\\\\\\u000a\\u0000→\u{1F980}";
    let events = traced(|tracer| {
        let recorder = Recorder::new(tracer, Some(odd));
        recorder.mark("\"mark\"", 1);
        let woken = Submitted { at: 1, thread: other("\\thread\t") };
        recorder.sleep(1, 2, Some(woken));
        let long = "x".repeat(100_000);
        drop(Recorder::new(tracer, Some(&long)));
    });
    let has = |text: &str| events.iter().any(|event| event.0.contains(text));
    assert!(has(&format!("\"args\":{{\"name\":\"{escaped}\"}}")));
    assert!(has("\"name\":\"\\\"mark\\\"\""));
    assert!(has("{\"name\":\"\\\\thread\\u0009\"}"));
    assert!(has(&"x".repeat(100_000)));
}

/// A writer that waits for a message before it writes, but for the beginning, and can be asked what it wrote.
struct Gate {
    page: Page,
    open: Receiver<()>,
    has_begun: bool,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_begun {
            // An error says that the gate stays open.
            let _ = self.open.recv();
        }
        self.has_begun = true;
        self.page.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// spec: MX-4
#[test]
fn a_writer_that_blocks_does_not_block_the_loop_and_what_is_dropped_is_counted() {
    let page = Page::default();
    let (open, gate) = channel();
    let gate = Gate { page: page.clone(), open: gate, has_begun: false };
    let tracer = start(gate).unwrap();
    let recorder = Recorder::new(&tracer, None);
    // Nobody opens the gate before all of this is done.
    let count = 3 * CAPACITY as u64;
    for number in 0..count {
        recorder.tick(number, number as i64, number as i64);
    }
    let dropped = tracer.dropped();
    assert!(dropped >= CAPACITY as u64, "{dropped}");
    drop(open);
    tracer.finish().unwrap();
    let events = page.events();
    let numbers = of_kind(&events, "X").map(|event| event.get("number").unwrap().parse().unwrap());
    let numbers: Vec<u64> = numbers.collect();
    assert!(numbers.is_sorted());
    assert_eq!(numbers.len() as u64 + dropped, count);
    let told = of_kind(&events, "i").map(|event| {
        assert_eq!(event.get("name"), Some("dropped events"));
        event.get("count").unwrap().parse::<u64>().unwrap()
    });
    assert_eq!(told.sum::<u64>(), dropped);
    // What comes after the end is not counted.
    for number in 0..count {
        recorder.tick(number, 0, 0);
    }
    assert_eq!(tracer.dropped(), dropped);
}

// spec: MX-4
#[test]
fn a_loop_that_goes_on_after_the_writer_was_slow_is_in_the_trace_again() {
    let page = Page::default();
    let (open, gate) = channel();
    let gate = Gate { page: page.clone(), open: gate, has_begun: false };
    let tracer = start(gate).unwrap();
    let recorder = Recorder::new(&tracer, None);
    while tracer.dropped() == 0 {
        recorder.mark("early", 1);
    }
    drop(open);
    let mut dropped = 0;
    while dropped != tracer.dropped() {
        dropped = tracer.dropped();
        recorder.mark("late", 2);
    }
    tracer.finish().unwrap();
    assert_eq!(page.events().iter().filter(|event| event.get("name") == Some("late")).count(), 1);
}

/// A writer that fails after so many calls.
struct Failing(usize, fn() -> io::Result<usize>);

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(1) {
            Some(left) => {
                self.0 = left;
                Ok(bytes.len())
            }
            None => (self.1)(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// spec: MX-4
#[test]
fn the_first_error_of_the_writer_is_told_each_time() {
    let full = || Err(io::ErrorKind::StorageFull.into());
    assert_eq!(start(Failing(0, full)).unwrap_err().kind(), io::ErrorKind::StorageFull);
    let tracer = start(Failing(1, full)).unwrap();
    let recorder = Recorder::new(&tracer, None);
    for number in 0..2 * CAPACITY as u64 {
        recorder.tick(number, 0, 0);
    }
    for _ in 0..2 {
        assert_eq!(tracer.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
    // A loop may come later, too.
    Recorder::new(&tracer, None).tick(0, 0, 0);

    let code = || Err(io::Error::from_raw_os_error(28));
    let tracer = start(Failing(1, code)).unwrap();
    assert_eq!(tracer.finish().unwrap_err().raw_os_error(), Some(28));
    let own = || Err(io::Error::other("my error"));
    let tracer = start(Failing(1, own)).unwrap();
    assert_eq!(tracer.finish().unwrap_err().to_string(), "my error");
    let panics = || panic!("on purpose");
    let tracer = start(Failing(1, panics)).unwrap();
    assert!(tracer.finish().unwrap_err().to_string().contains("panicked"));
    assert!(tracer.finish().is_err());
}

// spec: MX-4
#[test]
fn finishing_takes_what_loops_have_not_handed_over_and_happens_once() {
    let page = Page::default();
    let tracer = start(page.clone()).unwrap();
    let (recorded, is_recorded) = channel();
    let (done, is_done) = channel::<()>();
    let clone = tracer.clone();
    let elsewhere = thread::spawn(move || {
        let recorder = Recorder::new(&clone, None);
        recorder.mark("elsewhere", 1);
        recorded.send(()).unwrap();
        let _ = is_done.recv_timeout(LONG);
        recorder.mark("too late", 3);
    });
    let recorder = Recorder::new(&tracer, None);
    recorder.mark("here", 2);
    is_recorded.recv_timeout(LONG).unwrap();
    tracer.finish().unwrap();
    let text = page.text();
    check(&page.events());
    assert!(text.contains("\"elsewhere\"") && text.contains("\"here\""));
    recorder.mark("too late", 3);
    done.send(()).unwrap();
    elsewhere.join().unwrap();
    tracer.finish().unwrap();
    tracer.clone().finish().unwrap();
    drop(recorder);
    drop(tracer);
    assert_eq!(page.text(), text);
}

// spec: MX-4
#[test]
fn the_drop_of_the_last_clone_completes_the_file() {
    let page = Page::default();
    let tracer = start(page.clone()).unwrap();
    let recorder = Recorder::new(&tracer, None);
    drop(tracer.clone());
    drop(tracer);
    recorder.mark("the last", 1);
    assert!(!page.text().ends_with("]\n"));
    drop(recorder);
    assert_eq!(page.events().last().unwrap().get("name"), Some("the last"));
}

/// A writer that tells what was written.
struct Told(std::sync::mpsc::Sender<Vec<u8>>);

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(bytes.into());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wait_for(pages: &Receiver<Vec<u8>>, text: &str) {
    while !String::from_utf8(pages.recv_timeout(LONG).unwrap()).unwrap().contains(text) {}
}

// spec: MX-4
#[test]
fn a_live_file_has_what_happened_a_moment_ago() {
    let (tell, pages) = channel();
    let tracer = start(Told(tell)).unwrap();
    let recorder = Recorder::new(&tracer, None);
    for number in 0..8 {
        recorder.tick(number, 0, 0);
        wait_for(&pages, &format!("\"number\":{number}}}"));
        recorder.sleep(1, 2, None);
        wait_for(&pages, "\"sleep\"");
        // Both while the thread looks by itself, and when it sleeps.
        if number % 5 == 0 {
            while !tracer.0.shared.is_asleep.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        }
    }
}

#[test]
fn a_file_is_written_where_it_was_asked_for() {
    let path = std::env::temp_dir().join(format!("mainspring-tracer-{}.json", std::process::id()));
    let tracer = Tracer::create(&path).unwrap();
    Recorder::new(&tracer, None).mark("in a file", 1);
    tracer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.contains("\"in a file\"") && text.ends_with("}\n]\n"));
}

// spec: MX-4
#[test]
fn times_count_from_when_the_tracer_was_made() {
    let page = Page::default();
    let before = crate::sys::now();
    let tracer = Tracer::to_writer(page.clone()).unwrap();
    let after = crate::sys::now();
    let recorder = Recorder::new(&tracer, None);
    recorder.mark("early", before - 1);
    recorder.mark("late", after + 1_000_000);
    tracer.finish().unwrap();
    let events = page.events();
    let times: Vec<_> = of_kind(&events, "i").map(Event::from).collect();
    assert_eq!(times[0], 0);
    assert!((1_000_000..=1_000_000 + after - before).contains(&times[1]), "{times:?}");
}

#[test]
fn a_tracer_is_for_all_threads() {
    fn check<T: Clone + Send + Sync + fmt::Debug>() {}
    check::<Tracer>();
    let tracer = start(io::sink()).unwrap();
    assert_eq!(format!("{tracer:?}"), "Tracer { dropped: 0, .. }");
}
