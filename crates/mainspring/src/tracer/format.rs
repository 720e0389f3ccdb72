//! Records as text: the JSON array of the Trace Event Format.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt::Display;
use std::panic::Location;

use super::record::{LONG, Record, Submitted};
use super::text::{push_escaped, push_micros, push_number, push_string};
use super::threads::{OTHERS, name_of, thread_number};
use crate::Phase;

/// Threads that are not a loop's are listed after this many.
const LOOPS: u64 = 1_000_000;

/// What is known of a loop.
#[derive(Debug)]
pub(super) struct Track {
    /// Which one of the tracer's loops it is, from 1.
    number: u64,
    thread: u16,
    /// What the file calls the thread.
    id: u64,
    name: Option<Box<str>>,
    /// When the next callback was handed over.
    origin: Option<i64>,
    /// What is not in the file yet.
    held: Vec<Held>,
}

/// A record, and when it was handed over if it is a callback.
#[derive(Debug)]
struct Held {
    record: Record,
    submitted_at: i64,
}

impl Track {
    pub(super) fn new(number: u64, thread: u16, name: Option<Box<str>>) -> Self {
        // Loops need tracks of their own, also if their threads have none.
        let id = if thread == OTHERS { u64::from(OTHERS) + number } else { thread.into() };
        Self { number, thread, id, name, origin: None, held: Vec::new() }
    }

    /// Takes a record, in the order in which they were made.
    pub(super) fn hold(&mut self, record: &Record) {
        let mut record = *record;
        let mut submitted_at = 0;
        match &mut record {
            Record::Origin { at } => {
                self.origin = Some(*at);
                return;
            }
            Record::Callback { thread, waited, from, .. } => {
                let origin = self.origin.take();
                submitted_at = *from - i64::from(*waited);
                if *waited == LONG {
                    // It can be lost, if it was the last one before there was no room.
                    match origin {
                        Some(at) => submitted_at = at,
                        None => *thread = 0,
                    }
                }
            }
            _ => {}
        }
        self.held.push(Held { record, submitted_at });
    }

    /// How many records are not in the file yet.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

/// Makes text of records.
pub(super) struct Formatter {
    /// What is to be written.
    pub(super) text: Vec<u8>,
    process: u32,
    /// The time that is 0 in the file.
    origin: i64,
    /// The threads that have a name in the file.
    named: HashSet<u64>,
    /// The last number of a flow.
    flow: u64,
}

impl Formatter {
    pub(super) fn new(process: u32, origin: i64) -> Self {
        Self { text: Vec::new(), process, origin, named: HashSet::new(), flow: 0 }
    }

    /// The beginning of the file.
    pub(super) fn begin(&mut self) {
        let program = std::env::current_exe().ok();
        let name = program.as_ref().and_then(|path| path.file_stem());
        let name = name.map_or("mainspring".into(), |name| name.to_string_lossy());
        self.text.extend(b"[");
        self.process_name(&name);
    }

    fn process_name(&mut self, name: &str) {
        // The one line without a comma before it.
        self.text.extend(b"\n{\"ph\":\"M\",\"pid\":");
        push_number(&mut self.text, self.process.into());
        self.text.extend(b",\"tid\":");
        push_number(&mut self.text, thread_number().into());
        self.text.extend(b",\"name\":\"process_name\",\"args\":{\"name\":");
        push_string(&mut self.text, name);
        self.text.extend(b"}}");
    }

    /// The end of the file.
    pub(super) fn end(&mut self) {
        self.text.extend(b"\n]\n");
    }

    /// The name of a loop's track.
    pub(super) fn introduce(&mut self, track: &mut Track) {
        let name = track.name.take().unwrap_or_else(|| format!("loop {}", track.number).into());
        // A thread can be one that was seen before, as somebody else's, or as that of another loop.
        self.named.insert(track.id);
        self.thread_name(track.id, &name);
        self.sort_index(track.id, track.number);
    }

    /// The name of another thread's track, once.
    fn introduce_thread(&mut self, thread: u16) {
        let id = thread.into();
        if self.named.insert(id) {
            self.thread_name(id, &name_of(thread));
            self.sort_index(id, LOOPS + id);
        }
    }

    fn thread_name(&mut self, id: u64, name: &str) {
        self.open("M", id);
        self.text.extend(b",\"name\":\"thread_name\",\"args\":{\"name\":");
        push_string(&mut self.text, name);
        self.text.extend(b"}}");
    }

    fn sort_index(&mut self, id: u64, index: u64) {
        self.open("M", id);
        self.text.extend(b",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":");
        push_number(&mut self.text, index);
        self.text.extend(b"}}");
    }

    /// What has happened in a loop: all of it, or up to the end of the last tick.
    ///
    /// Records come in the order of their ends. The file has outer slices before inner ones, as readers take the
    /// first one for the outer if both have the same times.
    pub(super) fn flush(&mut self, track: &mut Track, is_all: bool) {
        let mut held = std::mem::take(&mut track.held);
        let is_tick = |held: &Held| matches!(held.record, Record::Tick { .. });
        let count = match held.iter().rposition(is_tick) {
            _ if is_all => held.len(),
            last => last.map_or(0, |index| index + 1),
        };
        let part = &mut held[..count];
        part.reverse();
        part.sort_by_key(|held| {
            let (from, to) = held.record.range();
            (from, Reverse(to))
        });
        for Held { record, submitted_at } in part {
            self.record(track, record, *submitted_at);
        }
        held.drain(..count);
        track.held = held;
    }

    fn record(&mut self, track: &Track, record: &Record, submitted_at: i64) {
        match *record {
            Record::Tick { number, from, to } => {
                self.slice(track.id, from, to, "tick", "tick");
                self.text.extend(b",\"args\":{\"number\":");
                push_number(&mut self.text, number);
                self.text.extend(b"}}");
            }
            Record::Phase { phase, from, to } => {
                self.slice(track.id, from, to, "phase", phase);
                self.text.extend(b"}");
            }
            Record::Callback { phase, thread, place, from, to, .. } => {
                let submitted = Submitted { at: submitted_at, thread };
                let submitted = (thread != 0).then_some(submitted);
                self.callback(track.id, phase, place, from, to, submitted);
                if let Some(submitted) = submitted {
                    // One nanosecond inside, so that it is clear which slice is meant.
                    let end = if to - from > 1 { from + 1 } else { from };
                    self.flow(track, "submit", submitted, end);
                }
            }
            // It is in the record that it belongs to.
            Record::Origin { .. } => {}
            Record::Sleep { thread, from, to, woken_at } => {
                self.slice(track.id, from, to, "sleep", "sleep");
                self.text.extend(b"}");
                if thread != 0 {
                    let end = if to > from { to - 1 } else { to };
                    // Perfetto turns a flow around whose last slice began first, as the sleep did.
                    self.slice(track.id, end, end, "wake", "woken");
                    self.text.extend(b"}");
                    self.flow(track, "wake", Submitted { at: woken_at, thread }, end);
                }
            }
            Record::Mark { name, at } => {
                self.instant(track.id, at, "mark", name);
                self.text.extend(b"}");
            }
            Record::Slice { name, .. } => {
                let (from, to) = record.range();
                self.slice(track.id, from, to, "slice", name);
                self.text.extend(b"}");
            }
        }
    }

    /// That events of a loop are missing.
    pub(super) fn dropped(&mut self, track: &Track, count: u64, at: i64) {
        self.instant(track.id, at, "tracer", "dropped events");
        self.text.extend(b",\"args\":{\"count\":");
        push_number(&mut self.text, count);
        self.text.extend(b"}}");
    }

    fn callback(
        &mut self,
        id: u64,
        phase: Phase,
        place: Option<&Location<'_>>,
        from: i64,
        to: i64,
        submitted: Option<Submitted>,
    ) {
        self.open("X", id);
        self.time(from);
        self.duration(from, to);
        self.text.extend(b",\"cat\":\"callback\",\"name\":\"");
        match place {
            Some(place) => {
                let file = place.file();
                // Names are what one sees at once: the last part of the path is enough for that.
                push_escaped(&mut self.text, file.rsplit(['/', '\\']).next().unwrap_or(file));
                self.text.push(b':');
                push_number(&mut self.text, place.line().into());
            }
            None => self.text.extend(b"callback"),
        }
        self.text.extend(b"\",\"args\":{\"phase\":\"");
        push_escaped(&mut self.text, phase);
        self.text.push(b'"');
        if let Some(place) = place {
            self.text.extend(b",\"place\":\"");
            push_escaped(&mut self.text, place.file());
            self.text.push(b':');
            push_number(&mut self.text, place.line().into());
            self.text.push(b':');
            push_number(&mut self.text, place.column().into());
            self.text.push(b'"');
        }
        if let Some(submitted) = submitted {
            self.text.extend(b",\"waited_us\":");
            push_micros(&mut self.text, from.saturating_sub(submitted.at));
        }
        self.text.extend(b"}}");
    }

    /// An arrow from another track, or from an earlier time of the same one, to the slice that is there at `end`.
    fn flow(&mut self, track: &Track, name: &str, from: Submitted, end: i64) {
        let id = if from.thread == track.thread { track.id } else { from.thread.into() };
        let at = from.at.min(end);
        if id != track.id {
            self.introduce_thread(from.thread);
        }
        // A flow begins in the slice that came last, be it over or not: this one, so that it is the right one.
        self.slice(id, at, at, name, name);
        self.text.extend(b"}");
        self.flow += 1;
        for (kind, id, at) in [("s", id, at), ("f", track.id, end)] {
            self.open(kind, id);
            self.time(at);
            self.text.extend(b",\"cat\":\"flow\",\"name\":\"");
            self.text.extend(name.as_bytes());
            self.text.extend(b"\",\"id\":");
            push_number(&mut self.text, self.flow);
            self.text.extend(if kind == "f" { &b",\"bp\":\"e\"}"[..] } else { &b"}"[..] });
        }
    }

    /// A slice, without its closing brace.
    fn slice(&mut self, id: u64, from: i64, to: i64, category: &str, name: impl Display) {
        self.open("X", id);
        self.time(from);
        self.duration(from, to);
        self.label(category, name);
    }

    /// Something without a duration, and without its closing brace.
    fn instant(&mut self, id: u64, at: i64, category: &str, name: impl Display) {
        self.open("i", id);
        self.text.extend(b",\"s\":\"t\"");
        self.time(at);
        self.label(category, name);
    }

    fn open(&mut self, kind: &str, id: u64) {
        self.text.extend(b",\n{\"ph\":\"");
        self.text.extend(kind.as_bytes());
        self.text.extend(b"\",\"pid\":");
        push_number(&mut self.text, self.process.into());
        self.text.extend(b",\"tid\":");
        push_number(&mut self.text, id);
    }

    fn time(&mut self, at: i64) {
        self.text.extend(b",\"ts\":");
        push_micros(&mut self.text, at.saturating_sub(self.origin));
    }

    fn duration(&mut self, from: i64, to: i64) {
        self.text.extend(b",\"dur\":");
        push_micros(&mut self.text, to.saturating_sub(from));
    }

    fn label(&mut self, category: &str, name: impl Display) {
        self.text.extend(b",\"cat\":\"");
        self.text.extend(category.as_bytes());
        self.text.extend(b"\",\"name\":");
        push_string(&mut self.text, name);
    }
}
