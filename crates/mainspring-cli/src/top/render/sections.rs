//! The parts of a screen.

use std::collections::HashMap;

use mainspring_inspect::model::{Latency, Loop, Metrics, Sample, Stall, State};

use super::Look;
use super::row::{Row, Style};
use super::text::{NONE, bar, count, duration, number, percent, rate, span, sparkline};

/// From here on, two tables stand side by side.
const WIDE: usize = 124;
/// Where the right one begins.
const RIGHT: usize = 78;
/// The first column of tables.
const NAME: usize = 20;
const COLUMN: usize = 9;
/// The figure behind a bar.
const RATE: usize = 11;
/// The longest bar.
const BAR: usize = 40;
/// Stalls that are listed.
const STALLS: usize = 8;
/// Reasons that are listed.
const REASONS: usize = 16;

/// What it is, where it comes from, and which loops there are.
pub(super) fn head(state: &State, look: &Look) -> Vec<Row> {
    let program = format!("{} (pid {})", state.program, state.pid);
    let mut head = Row::new().put(Style::Title, program).put(Style::Faint, "  ");
    head = head.put(Style::Faint, &look.source);
    if look.chosen.is_some() {
        let hint =
            if state.loops.len() > 1 { "q quits, Tab or 1-9: other loops" } else { "q quits" };
        head = head.put(Style::Faint, "  ").put(Style::Faint, hint);
    }
    let mut rows = vec![head];
    if let Some(why) = &look.lost {
        rows.push(
            Row::new().put(Style::Bad, format!("The connection is lost, trying again: {why}")),
        );
    }
    if let Some(chosen) = look.chosen.filter(|_| state.loops.len() > 1) {
        let chosen = chosen.min(state.loops.len() - 1);
        let tab = |row: Row, (index, of): (usize, &Loop)| {
            let is_bad = of.busy.is_some();
            let style = match index == chosen {
                true => Style::Chosen,
                false if is_bad => Style::Bad,
                false => Style::Plain,
            };
            row.put(style, format!(" {} {} ", index + 1, of.name)).plain(" ")
        };
        rows.push(state.loops.iter().enumerate().fold(Row::new(), tab));
    }
    rows.push(Row::new());
    rows
}

/// Everything about a loop.
pub(super) fn of_loop(of: &Loop, columns: usize) -> Vec<Row> {
    let mut rows = vec![summary(of)];
    rows.extend(notice(of));
    if let Some(metrics) = &of.metrics {
        rows.extend(lines(metrics, &of.history, columns));
        let (latencies, phases) = (latencies(metrics, columns), phases(metrics, columns));
        let (queues, counts) = (queues(metrics), counts(metrics));
        if columns >= WIDE {
            rows.extend(side_by_side(latencies, phases));
            rows.extend(side_by_side(queues, counts));
        } else {
            for table in [latencies, phases, queues, counts] {
                rows.push(Row::new());
                rows.extend(table);
            }
        }
    }
    rows.extend(stalls(&of.stalls));
    rows.extend(alive(of));
    rows
}

fn side_by_side(left: Vec<Row>, right: Vec<Row>) -> Vec<Row> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let mut rows = vec![Row::new()];
    for _ in 0..count {
        let row = left.next().unwrap_or_default();
        rows.push(row.beside(right.next().unwrap_or_default(), RIGHT));
    }
    rows
}

fn summary(of: &Loop) -> Row {
    let style = if of.busy.is_some() { Style::Bad } else { Style::Plain };
    let row = Row::title(&of.name).plain("  ").put(style, &of.state);
    match &of.metrics {
        Some(metrics) => row.put(Style::Faint, format!("  up {}", span(metrics.uptime))),
        None => row,
    }
}

/// What one should know before anything else.
fn notice(of: &Loop) -> Option<Row> {
    let unanswered = of.why_alive.unanswered.filter(|time| *time > 1.0);
    let (style, text) = match (&of.busy, unanswered) {
        (Some(busy), _) => {
            let place = busy.place.as_ref().map(|place| format!(", scheduled at {place}"));
            let place = place.unwrap_or_default();
            let time = duration(busy.duration);
            let text = format!("A callback of phase {} has run for {time}{place}.", busy.phase);
            (Style::Bad, text)
        }
        _ if of.state == "terminated" => {
            (Style::Middling, "It has ended. These are its last figures.".to_owned())
        }
        (None, Some(time)) => {
            let time = duration(time);
            (Style::Middling, format!("It has not answered for {time}: it is busy, or not driven."))
        }
        _ if of.metrics.is_none() => {
            (Style::Faint, "It was built without metrics: there are no figures.".to_owned())
        }
        _ => return None,
    };
    Some(Row::new().put(style, text))
}

/// What there is a history of.
fn lines(metrics: &Metrics, history: &[Sample], columns: usize) -> Vec<Row> {
    let utilisation = history.last().map_or(metrics.utilisation, |last| last.utilisation);
    let width = columns.saturating_sub(NAME + 32).clamp(4, BAR);
    let (full, rest) = bar(utilisation, width);
    let style = match utilisation {
        share if share > 0.9 => Style::Bad,
        share if share > 0.6 => Style::Middling,
        _ => Style::Good,
    };
    let times = format!("  busy {}, idle {}", duration(metrics.busy), duration(metrics.idle));
    let of = |value: fn(&Sample) -> f64| sparkline(history.iter().map(value), width);
    let tick = history.last().and_then(|last| last.tick_mean);
    let tick = tick.map_or_else(|| NONE.into(), duration);
    let pad = |text: String| {
        let width = width.saturating_sub(text.chars().count());
        format!("{text}{}", " ".repeat(width))
    };
    let (callbacks, ticks) = (count(metrics.callbacks), count(metrics.ticks));
    vec![
        Row::new()
            .left(Style::Plain, "utilisation", NAME)
            .put(style, full)
            .put(Style::Faint, rest)
            .right(style, percent(utilisation), RATE)
            .put(Style::Faint, times),
        Row::new()
            .left(Style::Plain, "callbacks", NAME)
            .put(Style::Good, pad(of(|sample| sample.throughput)))
            .right(Style::Plain, rate(metrics.throughput), RATE)
            .put(Style::Faint, format!("  {callbacks} in all")),
        Row::new()
            .left(Style::Plain, "duration of a tick", NAME)
            .put(Style::Good, pad(of(|sample| sample.tick_mean.unwrap_or(0.0))))
            .right(Style::Plain, tick, RATE)
            .put(Style::Faint, format!("  {ticks} in all")),
    ]
}

type Quantile = (&'static str, fn(&Latency) -> f64);

fn latencies(metrics: &Metrics, columns: usize) -> Vec<Row> {
    let all: [Quantile; 5] = [
        ("p50", |latency| latency.p50),
        ("p90", |latency| latency.p90),
        ("p95", |latency| latency.p95),
        ("p99", |latency| latency.p99),
        ("max", |latency| latency.max),
    ];
    let quantiles =
        if columns < NAME + 5 * COLUMN { vec![all[0], all[3], all[4]] } else { all.into() };
    let has_counts = columns >= NAME + 6 * COLUMN;
    let mut title = Row::new().left(Style::Title, "latency", NAME);
    for (name, _) in &quantiles {
        title = title.right(Style::Faint, name, COLUMN);
    }
    if has_counts {
        title = title.right(Style::Faint, "measured", COLUMN + 2);
    }
    let waits = metrics.queues.iter().filter(|queue| queue.wait.count > 0);
    let waits = waits.map(|queue| (format!("wait in {}", queue.name), &queue.wait));
    let own =
        [("tick", &metrics.tick), ("callback", &metrics.run), ("lateness", &metrics.lateness)];
    let own = own.map(|(name, latency)| (name.to_owned(), latency));
    let row = |(name, latency): (String, &Latency)| {
        let row = Row::new().left(Style::Plain, name, NAME);
        let row = quantiles.iter().fold(row, |row, (_, of)| {
            let value = if latency.count > 0 { duration(of(latency)) } else { NONE.into() };
            row.right(Style::Plain, value, COLUMN)
        });
        if has_counts { row.right(Style::Faint, count(latency.count), COLUMN + 2) } else { row }
    };
    std::iter::once(title).chain(own.into_iter().chain(waits).map(row)).collect()
}

fn phases(metrics: &Metrics, columns: usize) -> Vec<Row> {
    let all: f64 = metrics.phases.iter().map(|phase| phase.time).sum();
    let room = if columns >= WIDE { columns - RIGHT } else { columns };
    let width = room.saturating_sub(12 + 8 + 11).clamp(4, BAR / 2);
    let title = Row::new().left(Style::Title, "phase", 12 + width);
    let title = title.right(Style::Faint, "share", 8).right(Style::Faint, "callbacks", 11);
    let ran = metrics.phases.iter().filter(|phase| phase.time > 0.0 || phase.callbacks > 0);
    let row = ran.map(|phase| {
        let share = if all > 0.0 { phase.time / all } else { 0.0 };
        let (full, rest) = bar(share, width);
        Row::new()
            .left(Style::Plain, &phase.name, 12)
            .plain(full)
            .put(Style::Faint, rest)
            .right(Style::Plain, percent(share), 8)
            .right(Style::Faint, count(phase.callbacks), 11)
    });
    std::iter::once(title).chain(row).collect()
}

fn queues(metrics: &Metrics) -> Vec<Row> {
    let title = ["now", "max", "average"]
        .iter()
        .fold(Row::new().left(Style::Title, "queue", NAME), |row, name| {
            row.right(Style::Faint, name, COLUMN)
        });
    let row = metrics.queues.iter().map(|queue| {
        let style = if queue.current > 0 { Style::Plain } else { Style::Faint };
        Row::new()
            .left(Style::Plain, &queue.name, NAME)
            .right(style, count(queue.current), COLUMN)
            .right(Style::Plain, count(queue.max), COLUMN)
            .right(Style::Plain, number(queue.average), COLUMN)
    });
    std::iter::once(title).chain(row).collect()
}

fn counts(metrics: &Metrics) -> Vec<Row> {
    let row = |list: &[(&str, u64)], is_bad: bool| {
        list.iter().fold(Row::new(), |row, &(name, number)| {
            let style = if is_bad && number > 0 { Style::Bad } else { Style::Plain };
            row.put(style, format!("{} {name}", count(number))).plain("   ")
        })
    };
    vec![
        Row::title("counts"),
        row(
            &[
                ("timers", metrics.timers),
                ("descriptors", metrics.fds),
                ("futures", metrics.futures),
                ("jobs", metrics.jobs),
            ],
            false,
        ),
        row(&[("wakes issued", metrics.wakes_issued), ("elided", metrics.wakes_elided)], false),
        row(&[("refusals", metrics.refusals), ("panics", metrics.panics)], true),
        row(
            &[
                ("budget breaches", metrics.budget_breaches),
                ("overloads", metrics.overloads),
                ("stalls", metrics.stalls),
            ],
            true,
        ),
    ]
}

fn stalls(stalls: &[Stall]) -> Vec<Row> {
    if stalls.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![Row::new(), Row::title("stalls")];
    for stall in stalls.iter().take(STALLS) {
        let (style, so_far) =
            if stall.is_over { (Style::Plain, "") } else { (Style::Bad, " so far") };
        let time = format!("{}{so_far}", duration(stall.duration));
        rows.push(
            Row::new()
                .left(Style::Faint, format!("  {} ago", span(stall.age)), NAME)
                .left(style, time, 17)
                .left(Style::Plain, &stall.phase, 12)
                .plain(stall.place.as_deref().unwrap_or(NONE)),
        );
    }
    rows.extend(more(stalls.len().saturating_sub(STALLS) as u64));
    rows
}

fn alive(of: &Loop) -> Vec<Row> {
    let why = &of.why_alive;
    let mut title = Row::title("what keeps it alive");
    match why.age {
        Some(age) if age > 2.0 => {
            title = title.put(Style::Faint, format!("  as of {} ago", duration(age)));
        }
        None if why.unanswered.is_some() => title = title.put(Style::Faint, "  not answered yet"),
        _ => {}
    }
    let mut rows = vec![Row::new(), title];
    // Those that read the same are counted.
    let mut times: HashMap<&str, u64> = HashMap::new();
    for reason in &why.reasons {
        *times.entry(&reason.text).or_default() += 1;
    }
    for reason in &why.reasons {
        if rows.len() == REASONS + 2 {
            break;
        }
        if let Some(times) = times.remove(reason.text.as_str()) {
            let times = if times > 1 { format!("{} × ", count(times)) } else { String::new() };
            rows.push(Row::new().plain("  ").put(Style::Faint, times).plain(&reason.text));
        }
    }
    rows.extend(more(why.more.saturating_add(times.values().sum())));
    if rows.len() == 2 && why.age.is_some() {
        rows.push(Row::new().put(Style::Faint, "  nothing: it is idle"));
    }
    rows
}

/// That some are not listed.
fn more(others: u64) -> Option<Row> {
    (others > 0).then(|| Row::new().put(Style::Faint, format!("  and {} more", count(others))))
}
