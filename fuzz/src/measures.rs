//! `performance.measure` with any options, in Rust and in a script: it records what the steps of User Timing say, or it
//! refuses as they say, and then records nothing.

use std::cell::{OnceCell, RefCell};
use std::fmt::Write as _;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{
    EntryType, EventLoop, MarkOptions, MeasureOptions, MeasurePoint, PerformanceError, VirtualClock,
};
use mainspring_quickjs::{Options, Output, Runtime};

use crate::source::Source;

/// Names of marks; the last one is never set.
const NAMES: [&str; 4] = ["a", "b", "", "never"];

/// See the [module documentation](self).
// spec: JS-1, JS-3, ER-2
pub fn check(data: &[u8]) {
    let source = Source::new(data);
    if source.below(2) == 0 { in_rust(&source) } else { in_a_script(&source) }
}

fn number(source: &Source) -> f64 {
    match source.below(4) {
        0 => source.below(8) as f64,
        1 => f64::from_bits(source.number()),
        _ => *source.pick(&[
            0.0,
            -0.0,
            1.5,
            -1.0,
            -f64::MIN_POSITIVE,
            f64::MIN_POSITIVE,
            1e300,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]),
    }
}

/// What is equal for a script: numbers that are not comparable, too.
fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// What was asked for, and what is known.
struct Asked {
    start: Option<MeasurePoint>,
    end: Option<MeasurePoint>,
    duration: Option<f64>,
    has_detail: bool,
}

/// The marks that are set, with their times.
type Marks = Vec<(&'static str, f64)>;

fn point(source: &Source) -> MeasurePoint {
    match source.below(2) {
        0 => MeasurePoint::Time(number(source)),
        _ => MeasurePoint::Mark((*source.pick(&NAMES)).to_owned()),
    }
}

impl Asked {
    fn new(source: &Source) -> Self {
        Self {
            start: source.one_in(2).then(|| point(source)),
            end: source.one_in(2).then(|| point(source)),
            duration: source.one_in(2).then(|| number(source)),
            has_detail: source.one_in(4),
        }
    }

    /// Web IDL's conversion to a `double`, in the order of the members' names.
    fn first_not_finite(&self) -> Option<(&'static str, f64)> {
        let time = |point: &Option<MeasurePoint>| match point {
            Some(MeasurePoint::Time(time)) => Some(*time),
            _ => None,
        };
        let members =
            [("duration", self.duration), ("end", time(&self.end)), ("start", time(&self.start))];
        members
            .into_iter()
            .find_map(|(name, time)| Some((name, time?)).filter(|m| !m.1.is_finite()))
    }

    /// The steps of `measure()` and of "convert a mark to a timestamp", one after the other.
    fn expected(&self, marks: &Marks, now: f64) -> Result<(f64, f64), PerformanceError> {
        if let Some((option, value)) = self.first_not_finite() {
            return Err(PerformanceError::InvalidTime { option, value });
        }
        let is_given = self.start.is_some()
            || self.end.is_some()
            || self.duration.is_some()
            || self.has_detail;
        if is_given {
            if self.start.is_none() && self.end.is_none() {
                return Err(PerformanceError::Underdetermined);
            }
            if self.start.is_some() && self.end.is_some() && self.duration.is_some() {
                return Err(PerformanceError::Overdetermined);
            }
        }
        let end = if let Some(end) = &self.end {
            convert(marks, "end", end)?
        } else if let (Some(start), Some(duration)) = (&self.start, self.duration) {
            let start = convert(marks, "start", start)?;
            start + convert(marks, "duration", &MeasurePoint::Time(duration))?
        } else {
            now
        };
        let start = if let Some(start) = &self.start {
            convert(marks, "start", start)?
        } else if let (Some(duration), Some(_)) = (self.duration, &self.end) {
            end - convert(marks, "duration", &MeasurePoint::Time(duration))?
        } else {
            0.0
        };
        Ok((start, end - start))
    }
}

fn convert(
    marks: &Marks,
    option: &'static str,
    point: &MeasurePoint,
) -> Result<f64, PerformanceError> {
    match point {
        MeasurePoint::Mark(name) => {
            let last = marks.iter().rev().find(|(mark, _)| mark == name);
            last.map(|(_, time)| *time)
                .ok_or_else(|| PerformanceError::UnknownMark { name: name.clone() })
        }
        MeasurePoint::Time(value) if *value < 0.0 => {
            Err(PerformanceError::InvalidTime { option, value: *value })
        }
        MeasurePoint::Time(time) => Ok(*time),
    }
}

fn in_rust(source: &Source) {
    let clock = VirtualClock::new();
    let event_loop = EventLoop::builder().clock(&clock).build().expect("a loop");
    let performance = event_loop.cx().performance();
    let mut marks = Marks::new();
    // Start, duration and name of what is recorded, in that order.
    let mut recorded: Vec<(f64, f64, String)> = vec![];
    while !source.is_over() && recorded.len() < 200 {
        match source.below(6) {
            0 => {
                let name = *source.pick(&NAMES[..3]);
                let time = source.one_in(2).then(|| number(source));
                let options = MarkOptions::new();
                let options = match time {
                    Some(time) => options.start_time(time),
                    None => options,
                };
                let mark = performance.mark_with(name, options);
                match time {
                    Some(time) if !(time.is_finite() && time >= 0.0) => {
                        let expected =
                            PerformanceError::InvalidTime { option: "start_time", value: time };
                        // Not by `assert_eq`: a number that is not one is not equal to itself.
                        let error = mark.unwrap_err();
                        assert_eq!(format!("{error:?}"), format!("{expected:?}"));
                    }
                    time => {
                        let time = time.unwrap_or_else(|| performance.now());
                        assert!(same(mark.unwrap().start_time(), time));
                        marks.push((name, time));
                        recorded.push((time, 0.0, name.to_owned()));
                    }
                }
            }
            1 => clock.advance(Duration::from_nanos(source.number() >> source.below(64))),
            2 if source.one_in(4) => {
                let name = *source.pick(&NAMES);
                performance.clear_marks(name);
                marks.retain(|(mark, _)| *mark != name);
                recorded.retain(|entry| entry.2 != name);
            }
            _ => {
                let asked = Asked::new(source);
                let mut options = MeasureOptions::new();
                if let Some(start) = &asked.start {
                    options = options.start(start.clone());
                }
                if let Some(end) = &asked.end {
                    options = options.end(end.clone());
                }
                if let Some(duration) = asked.duration {
                    options = options.duration(duration);
                }
                if asked.has_detail {
                    options = options.detail("detail");
                }
                let expected = asked.expected(&marks, performance.now());
                match (performance.measure("measure", options), expected) {
                    (Ok(entry), Ok((start, duration))) => {
                        assert!(same(entry.start_time(), start), "{entry:?}, not {start}");
                        assert!(same(entry.duration(), duration), "{entry:?}, not {duration}");
                        assert_eq!(entry.detail::<&str>().is_some(), asked.has_detail);
                        recorded.push((start, duration, "measure".to_owned()));
                    }
                    (Err(error), Err(expected)) => {
                        assert_eq!(format!("{error:?}"), format!("{expected:?}"));
                        assert!(!error.to_string().is_empty());
                    }
                    (result, expected) => panic!("{result:?}, not {expected:?}"),
                }
            }
        }
    }
    // By start time; what starts together, as it was recorded.
    recorded.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("start times are numbers"));
    let entries = performance.get_entries();
    assert_eq!(entries.len(), recorded.len(), "what is refused is not recorded");
    for (entry, (start, duration, name)) in entries.iter().zip(&recorded) {
        assert_eq!(entry.name(), name);
        assert!(same(entry.start_time(), *start) && same(entry.duration(), *duration));
    }
    let measures = recorded.iter().filter(|entry| entry.2 == "measure").count();
    assert_eq!(performance.get_entries_by_type(EntryType::Measure).len(), measures);
}

/// What a script wrote since it was last taken.
#[derive(Clone, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl Written {
    fn take(&self) -> String {
        String::from_utf8(self.0.take()).expect("text")
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An engine, which is made once: making one takes longer than using it.
struct Engine {
    runtime: Runtime,
    out: Written,
    clock: VirtualClock,
    _event_loop: EventLoop,
}

impl Engine {
    fn new() -> Self {
        let clock = VirtualClock::new();
        let event_loop = EventLoop::builder().clock(&clock).build().expect("a loop");
        let out = Written::default();
        let options = Options::new().stdout(Output::new(out.clone())).virtual_time(true);
        let runtime = Runtime::new(event_loop.cx(), options).expect("an engine");
        Self { runtime, out, clock, _event_loop: event_loop }
    }
}

thread_local! {
    static ENGINE: OnceCell<Engine> = const { OnceCell::new() };
}

fn literal(number: f64) -> String {
    match number {
        number if number.is_nan() => "NaN".to_owned(),
        number if number.is_infinite() => {
            format!("{}Infinity", if number < 0.0 { "-" } else { "" })
        }
        number => format!("{number:e}"),
    }
}

fn point_literal(point: &MeasurePoint) -> String {
    match point {
        MeasurePoint::Mark(name) => format!("{name:?}"),
        MeasurePoint::Time(time) => literal(*time),
    }
}

/// What a script is told: in the main the same, but as Node does it a duration or a detail alone is measured from the
/// beginning, each time is looked at when it is used, only one below zero is refused, and a time alone says nothing.
fn expected_in_a_script(
    asked: &Asked,
    end_mark: Option<&MeasurePoint>,
    is_dictionary: bool,
    marks: &Marks,
    now: f64,
) -> Result<(f64, f64), &'static str> {
    const TYPE: &str = "TypeError";
    let time = |time: f64| if time < 0.0 { Err(TYPE) } else { Ok(time) };
    let convert = |point: &MeasurePoint| match point {
        MeasurePoint::Time(number) => time(*number),
        MeasurePoint::Mark(name) => {
            let last = marks.iter().rev().find(|(mark, _)| mark == name);
            last.map(|(_, time)| *time).ok_or("SyntaxError")
        }
    };
    let Asked { start, end, duration, .. } = asked;
    let is_given = start.is_some() || end.is_some();
    let is_over = end_mark.is_some() || start.is_some() && end.is_some() && duration.is_some();
    if is_dictionary && is_given && is_over {
        return Err(TYPE);
    }
    let start =
        start.as_ref().filter(|start| is_dictionary || matches!(start, MeasurePoint::Mark(_)));
    let end_time = match (end_mark, end, start, duration) {
        (Some(end), ..) | (None, Some(end), ..) => convert(end)?,
        (None, None, Some(start), Some(duration)) => convert(start)? + time(*duration)?,
        _ => now,
    };
    let start_time = match (start, end, duration) {
        (Some(start), ..) => convert(start)?,
        (None, Some(_), Some(duration)) => end_time - time(*duration)?,
        _ => 0.0,
    };
    Ok((start_time, end_time - start_time))
}

fn in_a_script(source: &Source) {
    ENGINE.with(|engine| {
        let engine = engine.get_or_init(Engine::new);
        let mut marks = Marks::new();
        let mut script = String::from("performance.clearMarks(); performance.clearMeasures();\n");
        let mut expected = vec![];
        let now = engine.clock.elapsed().as_nanos() as f64 / 1e6;
        for _ in 0..20 {
            if source.is_over() {
                break;
            }
            if source.one_in(3) {
                let (name, time) = (*source.pick(&NAMES[..3]), source.below(8) as f64);
                marks.push((name, time));
                writeln!(script, "performance.mark({name:?}, {{ startTime: {time} }});").unwrap();
                continue;
            }
            let mut asked = Asked::new(source);
            let end_mark = source.one_in(4).then(|| point(source));
            let is_dictionary = !source.one_in(3);
            let first = if is_dictionary {
                let mut members = vec![];
                members.extend(asked.start.iter().map(|p| format!("start: {}", point_literal(p))));
                members.extend(asked.end.iter().map(|p| format!("end: {}", point_literal(p))));
                members.extend(asked.duration.map(|time| format!("duration: {}", literal(time))));
                members.extend(asked.has_detail.then(|| "detail: [1]".to_owned()));
                format!("{{ {} }}", members.join(", "))
            } else {
                // A mark, a time, which is passed over, or nothing.
                asked = Asked { end: None, duration: None, has_detail: false, ..asked };
                asked.start.as_ref().map_or_else(|| "undefined".to_owned(), point_literal)
            };
            let second = end_mark.as_ref().map_or_else(|| "undefined".to_owned(), point_literal);
            writeln!(
                script,
                "try {{ const m = performance.measure('m', {first}, {second}); \
                 console.log(String(m.startTime), String(m.duration)); }} \
                 catch (error) {{ console.log(error.name); }}"
            )
            .unwrap();
            source.tell(|| format!("{first}, {second}"));
            let end_mark = end_mark.as_ref();
            expected.push(expected_in_a_script(&asked, end_mark, is_dictionary, &marks, now));
        }
        let measures = expected.iter().filter(|result| result.is_ok()).count();
        let all = measures + marks.len();
        writeln!(script, "console.log(performance.getEntries().length)").unwrap();
        engine.runtime.eval(&script, "measures.js").expect("every error is caught");
        let text = engine.out.take();
        let mut lines = text.lines();
        for (which, expected) in expected.iter().enumerate() {
            let line = lines.next().expect("a line for each");
            let is_right = match expected {
                Err(name) => line == *name,
                Ok((start, duration)) => {
                    let numbers: Vec<f64> = line.split(' ').filter_map(parse).collect();
                    matches!(numbers[..], [s, d] if same(s, *start) && same(d, *duration))
                }
            };
            assert!(is_right, "measure {which} gives {line}, and not {expected:?}, in\n{script}");
        }
        assert_eq!(lines.next(), Some(&*all.to_string()), "what is refused is not recorded");
    });
}

fn parse(number: &str) -> Option<f64> {
    match number {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        number => number.parse().ok(),
    }
}
