//! Fixed states, as they look.

use mainspring_inspect::model::{
    Latency, Loop, Metrics, Phase, Queue, Reason, Sample, Stall, State, VERSION, WhyAlive,
};
use unicode_width::UnicodeWidthStr;

use super::text::clean;
use super::*;

/// What a program makes of such an answer: nothing else makes one.
macro_rules! read {
    ($($json:tt)*) => {
        serde_json::from_value(serde_json::json!($($json)*)).unwrap()
    };
}

fn latency(scale: f64) -> Latency {
    read!({
        "count": 10,
        "mean": 2.0 * scale,
        "max": 9.0 * scale,
        "p50": scale,
        "p90": 3.0 * scale,
        "p95": 4.0 * scale,
        "p99": 5.0 * scale,
    })
}

fn rare(count: u64, scale: f64) -> Latency {
    let mut latency = latency(scale);
    latency.count = count;
    latency
}

fn queue(name: &str, current: u64, max: u64) -> Queue {
    let wait = rare(current, 1e-4);
    read!({"name": name, "current": current, "max": max, "average": 1.5, "wait": wait})
}

fn phase(name: &str, time: f64, callbacks: u64) -> Phase {
    read!({"name": name, "time": time, "callbacks": callbacks})
}

fn metrics() -> Metrics {
    read!({
        "uptime": 3700.0,
        "ticks": 1234,
        "callbacks": 5_000_000,
        "throughput": 12_345.6,
        "utilisation": 0.25,
        "busy": 2.0,
        "idle": 6.0,
        "tick": latency(1e-6),
        "run": latency(1e-3),
        "lateness": rare(0, 0.0),
        "timers": 3,
        "fds": 2,
        "futures": 1,
        "jobs": 4,
        "wakes_issued": 11,
        "wakes_elided": 22,
        "budget_breaches": 5,
        "overloads": 6,
        "refusals": 7,
        "panics": 8,
        "stalls": 9,
        "phases": [phase("timers", 1.5, 100), phase("check", 0.5, 50), phase("close", 0.0, 0)],
        "queues": [queue("external", 7, 70), queue("closes", 0, 0)],
    })
}

fn sample(at: f64, utilisation: f64) -> Sample {
    read!({
        "at": at,
        "utilisation": utilisation,
        "throughput": 100.0 * at,
        "tick_mean": 1e-5,
        "tick_p50": 1e-6,
        "tick_p99": 1e-5,
        "phases": [0.1, 0.2, 0.0],
        "queues": [7, 0],
    })
}

fn reason(text: &str) -> Reason {
    read!({"kind": "timer", "text": text, "place": null})
}

fn of(name: &str) -> Loop {
    read!({
        "name": name,
        "state": "sleeping",
        "metrics": metrics(),
        "busy": null,
        "stalls": [],
        "why_alive": {
            "reasons": [reason("a timer due in 1s"), reason("a guard"), reason("a guard")],
            "more": 3,
            "age": 0.1,
            "unanswered": null,
        },
        "history": [sample(1.0, 0.5), sample(2.0, 0.95)],
    })
}

fn state(loops: Vec<Loop>) -> State {
    let mut state: State = read!({
        "version": VERSION,
        "program": "server",
        "pid": 42,
        "time": 1e9,
        "phases": ["timers", "check", "close"],
        "queues": ["external", "closes"],
        "loops": [],
    });
    // Some have figures that JSON has no words for.
    state.loops = loops;
    state
}

fn stall(is_over: bool) -> Stall {
    read!({
        "phase": "check",
        "place": "src/slow.rs:1:2",
        "age": 75.0,
        "duration": 1.25,
        "is_over": is_over,
    })
}

fn look() -> Look {
    Look { source: "http://localhost:1/".into(), ..Look::default() }
}

/// Lines, as wide as they may be.
fn shown(state: &State, columns: usize, look: &Look) -> Vec<String> {
    let text = render(state, Size { columns, rows: None }, look);
    let lines: Vec<_> = text.split('\n').map(str::to_owned).collect();
    for line in &lines {
        assert!(clean(line).width() <= columns, "{line:?} in {columns}");
        assert_eq!(*line, clean(line), "no colours were asked for");
    }
    lines
}

#[track_caller]
fn has(lines: &[String], text: &str) {
    // However many blanks there are.
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_there = lines.iter().any(|line| words(line).contains(text));
    assert!(is_there, "{text:?} is missing in\n{}", lines.join("\n"));
}

// spec: MX-3
#[test]
fn everything_is_there() {
    for columns in [80, 100, 124, 200] {
        let mut slow = of("main");
        slow.stalls = vec![stall(true)];
        let lines = shown(&state(vec![slow]), columns, &look());
        for text in [
            "server (pid 42) http://localhost:1/",
            "main sleeping up 1 h 1 min",
            "95 % busy 2.00 s, idle",
            "12.3 k/s 5.00 M in all",
            "duration of a tick ██",
            "10.0 µs",
            "1234 in all",
            "latency p50 p90 p95 p99 max",
            "tick 1.00 µs 3.00 µs 4.00 µs 5.00 µs 9.00 µs",
            "callback 1.00 ms 3.00 ms 4.00 ms 5.00 ms 9.00 ms",
            "lateness – – – – –",
            "wait in external 100 µs",
            "phase share callbacks",
            "75 % 100",
            "25 % 50",
            "queue now max average",
            "external 7 70 1.5",
            "closes 0 0 1.5",
            "3 timers 2 descriptors 1 futures 4 jobs",
            "11 wakes issued 22 elided",
            "7 refusals 8 panics",
            "5 budget breaches 6 overloads 9 stalls",
            "1 min 15 s ago 1.25 s check src/slow.rs:1:2",
            "a timer due in 1s",
            "2 × a guard",
            "and 3 more",
        ] {
            has(&lines, text);
        }
        assert!(!lines.iter().any(|line| line.contains("wait in closes")));
        let is_beside = lines.iter().any(|line| line.contains("latency") && line.contains("phase"));
        assert_eq!(is_beside, columns >= 124, "tables stand side by side if there is room");
    }
}

#[test]
fn any_width_will_do() {
    let mut slow = of("main");
    (slow.busy, slow.stalls) = (Some(stall(false)), vec![stall(false), stall(true)]);
    let state = state(vec![slow, of("漢字")]);
    for columns in 0..140 {
        for chosen in [None, Some(0), Some(1), Some(99)] {
            shown(&state, columns, &Look { chosen, ..look() });
        }
    }
    let lines = shown(&state, 48, &look());
    has(&lines, "latency p50 p99 max");
    has(&lines, "tick 1.00 µs 5.00 µs 9.00 µs");
}

#[test]
fn as_many_rows_as_there_are() {
    let state = state(vec![of("main")]);
    let all = shown(&state, 80, &look());
    for rows in 0..all.len() + 3 {
        let size = Size { columns: 80, rows: Some(rows) };
        let text = render(&state, size, &look());
        assert!(text.split('\n').count() <= rows.max(1), "{rows}");
        assert_eq!(text.contains("more lines below"), (4..all.len()).contains(&rows), "{rows}");
    }
    // To the end, and no further.
    let size = Size { columns: 80, rows: Some(10) };
    let max = max_scroll(&state, size, &look());
    for scroll in [max, max + 50] {
        let text = render(&state, size, &Look { scroll, ..look() });
        assert!(text.starts_with("server") && text.ends_with("and 3 more"), "{text}");
    }
    assert!(!render(&state, size, &Look { scroll: max - 1, ..look() }).ends_with("and 3 more"));
}

#[test]
fn a_loop_without_metrics_says_so() {
    let mut bare = of("bare");
    (bare.metrics, bare.history) = (None, Vec::new());
    let lines = shown(&state(vec![bare]), 100, &look());
    has(&lines, "It was built without metrics: there are no figures.");
    has(&lines, "a timer due in 1s");
    assert!(!lines.iter().any(|line| line.contains("latency")));
    // One that was just built has figures, but no history.
    let mut young = of("young");
    young.history = Vec::new();
    has(&shown(&state(vec![young]), 100, &look()), "25 % busy 2.00 s");
    has(&shown(&state(Vec::new()), 100, &look()), "No loop is watched.");
}

// spec: MX-2
#[test]
fn a_loop_that_is_stalled_says_so() {
    let mut slow = of("main");
    (slow.busy, slow.stalls) = (Some(stall(false)), vec![stall(false)]);
    let lines = shown(&state(vec![slow.clone()]), 100, &look());
    has(&lines, "A callback of phase check has run for 1.25 s, scheduled at src/slow.rs:1:2.");
    has(&lines, "1.25 s so far");
    slow.busy = None;
    slow.why_alive = WhyAlive::default();
    slow.why_alive.unanswered = Some(12.0);
    let lines = shown(&state(vec![slow.clone()]), 100, &look());
    has(&lines, "It has not answered for 12.0 s: it is busy, or not driven.");
    has(&lines, "not answered yet");
    slow.state = "terminated".into();
    has(
        &shown(&state(vec![slow.clone()]), 100, &look()),
        "It has ended. These are its last figures.",
    );
    slow.stalls = vec![stall(true); 20];
    has(&shown(&state(vec![slow]), 100, &look()), "and 12 more");
}

#[test]
fn of_several_loops_one_is_chosen_or_all_are_shown() {
    let state = state(vec![of("first"), of("second")]);
    let lines = shown(&state, 100, &look());
    has(&lines, "first sleeping");
    has(&lines, "second sleeping");
    let lines = shown(&state, 100, &Look { chosen: Some(1), ..look() });
    has(&lines, "1 first 2 second");
    has(&lines, "second sleeping");
    has(&lines, "q quits, Tab or 1-9: other loops");
    assert!(!lines.iter().any(|line| line.contains("first  sleeping")));
    // The one that is chosen is marked.
    let look = Look { chosen: Some(1), is_coloured: true, ..look() };
    let text = render(&state, Size { columns: 100, rows: None }, &look);
    assert!(text.contains("\x1b[7m 2 second \x1b[0m"), "{text:?}");
}

#[test]
fn huge_numbers_fit() {
    let mut huge = rare(u64::MAX, 1.0);
    (huge.mean, huge.max, huge.p50) = (f64::MAX, f64::MAX, 1e-300);
    (huge.p90, huge.p95, huge.p99) = (1e12, f64::NAN, f64::INFINITY);
    let mut big = of("big");
    let metrics = big.metrics.as_mut().unwrap();
    (metrics.callbacks, metrics.ticks, metrics.timers) = (u64::MAX, u64::MAX, u64::MAX);
    (metrics.throughput, metrics.utilisation, metrics.busy) = (f64::MAX, 1e9, f64::MAX);
    (metrics.tick, metrics.uptime) = (huge, f64::MAX);
    metrics.queues[0] = queue("external", u64::MAX, u64::MAX);
    (metrics.queues[0].average, metrics.queues[0].wait) = (1e300, huge);
    metrics.phases[0].time = f64::INFINITY;
    let mut second = sample(1.0, 1.0);
    (second.throughput, second.utilisation) = (f64::INFINITY, f64::NAN);
    big.history = vec![second; 120];
    big.why_alive.more = u64::MAX;
    for columns in [20, 80, 200] {
        let lines = shown(&state(vec![big.clone()]), columns, &look());
        if columns == 200 {
            has(&lines, "18.4 E in all");
            has(&lines, "external 18.4 E 18.4 E 1.0e300");
            has(&lines, "214 T d");
        }
    }
}

#[test]
fn hostile_text_does_nothing_to_the_terminal() {
    let evil = "\x1b[2J\x1b]0;owned\x07na\u{202e}me\r\n\x1b[31m";
    let mut of = of(evil);
    (of.state, of.busy, of.stalls) = (evil.into(), Some(stall(false)), vec![stall(true)]);
    for stall in of.stalls.iter_mut().chain(of.busy.as_mut()) {
        (stall.phase, stall.place) = (evil.into(), Some(evil.into()));
    }
    of.why_alive.reasons[0].text = evil.into();
    let metrics = of.metrics.as_mut().unwrap();
    metrics.queues[0].name = evil.into();
    metrics.phases[0].name = evil.into();
    let mut state = state(vec![of.clone(), of]);
    state.program = evil.into();
    let look = Look { source: evil.into(), lost: Some(evil.into()), chosen: Some(0), ..look() };
    let lines = shown(&state, 100, &look);
    assert!(lines.iter().flat_map(|line| line.chars()).all(|c| !c.is_control() && c != '\u{202e}'));
    has(&lines, "name");
    // With colours, nothing is there but what chooses them.
    let look = Look { is_coloured: true, ..look };
    let text = render(&state, Size { columns: 100, rows: None }, &look);
    for sequence in text.split('\x1b').skip(1) {
        let (code, _) = sequence[1..].split_once('m').unwrap();
        assert!(code.chars().all(|c| c.is_ascii_digit() || c == ';'), "{sequence:?}");
    }
}

#[test]
fn a_connection_that_is_lost_is_mentioned_and_the_figures_stay() {
    let look = Look { lost: Some("Connection refused".into()), ..look() };
    let lines = shown(&state(vec![of("main")]), 100, &look);
    has(&lines, "The connection is lost, trying again: Connection refused");
    has(&lines, "main sleeping");
}
