//! All metrics that matter most in one picture: the ratio of mainspring's cost to the floor's, and to the best
//! other peer's.

use super::canvas::{Anchor, Canvas};
use super::scale::Scale;
use super::words;
use crate::document::Document;
use crate::summary::{self, Beside, Line};

const WIDTH: f64 = 1_040.0;
const MARGIN: f64 = 24.0;
const LEFT: f64 = 460.0;
const RIGHT: f64 = 850.0;
const TOP: f64 = 150.0;
const ROW: f64 = 20.0;
/// Between suites.
const GAP: f64 = 12.0;

/// How many letters of a label there is room for.
const LABEL: usize = 62;

/// `None` if nothing can be compared.
pub fn draw(document: &Document) -> Option<String> {
    let all = summary::lines(document);
    let has_ratio =
        |line: &&Line| ratio(line.floor.as_ref()).or(ratio(line.best.as_ref())).is_some();
    let lines: Vec<_> = all.iter().filter(has_ratio).collect();
    let ratios =
        lines.iter().flat_map(|line| [ratio(line.floor.as_ref()), ratio(line.best.as_ref())]);
    let (low, high) = ratios
        .flatten()
        .fold((0.5_f64, 2.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    if lines.is_empty() {
        return None;
    }
    let scale = Scale::logarithmic(low / 1.1, high * 1.1, LEFT, RIGHT);
    let suites = lines.chunk_by(|one, other| one.workload.suite == other.workload.suite).count();
    let bottom = TOP + lines.len() as f64 * ROW + suites as f64 * GAP;

    let mut canvas = Canvas::new();
    heading(&mut canvas, &all);
    let one = scale.at(1.0);
    canvas.rectangle(LEFT, TOP - 8.0, one - LEFT, bottom - TOP + 8.0, "tint");
    for tick in scale.ticks() {
        let x = scale.at(tick);
        canvas.line((x, TOP - 8.0), (x, bottom), "grid");
        canvas.text(x, TOP - 14.0, Anchor::Middle, "faint", &words::tick(tick));
        canvas.text(x, bottom + 16.0, Anchor::Middle, "faint", &words::tick(tick));
    }
    canvas.line((one, TOP - 8.0), (one, bottom), "whisker");
    canvas.text(one - 8.0, TOP - 32.0, Anchor::End, "faint", "← mainspring costs less");
    canvas.text(one + 8.0, TOP - 32.0, Anchor::Start, "faint", "mainspring costs more →");
    let mut y = TOP - GAP;
    let mut suite = "";
    for line in &lines {
        if suite != line.workload.suite {
            y += GAP;
            suite = &line.workload.suite;
        }
        row(&mut canvas, line, y + ROW / 2.0, &scale);
        y += ROW;
    }
    Some(canvas.finish(WIDTH, bottom + 30.0, "mainspring beside the floor and the best other peer"))
}

fn ratio(beside: Option<&Beside>) -> Option<f64> {
    beside.and_then(|beside| beside.ratio)
}

fn heading(canvas: &mut Canvas, lines: &[Line]) {
    let title = "mainspring beside the floor and the best other peer";
    canvas.text(MARGIN, 34.0, Anchor::Start, "title", title);
    let subtitle =
        "ratio of mainspring's cost to theirs, of a rate the reciprocal; logarithmic axis";
    canvas.text(MARGIN, 56.0, Anchor::Start, "", subtitle);
    // The last ones, where several runs were put together.
    let circumstances = lines.last().map(|last| last.workload.circumstances());
    let circumstances = circumstances.unwrap_or_default();
    canvas.text(MARGIN, 76.0, Anchor::Start, "faint", &words::at_most(&circumstances, 140));
    canvas.circle(MARGIN + 6.0, 100.0, 4.5, "fill-ours");
    let best = format!("to the best other peer: {}", summary::places(lines));
    canvas.text(MARGIN + 18.0, 104.5, Anchor::Start, "", &best);
    if let Some(near) = summary::near(lines) {
        canvas.circle(MARGIN + 6.0, 122.0, 6.0, "hollow");
        canvas.text(MARGIN + 18.0, 126.5, Anchor::Start, "", &format!("to the floor: {near}"));
    }
}

fn row(canvas: &mut Canvas, line: &Line, y: f64, scale: &Scale) {
    let label = words::label(&line.workload.title, &line.metric.name);
    canvas.text(LEFT - 12.0, y + 4.0, Anchor::End, "faint", &words::at_most(&label, LABEL));
    let (floor, best) = (ratio(line.floor.as_ref()), ratio(line.best.as_ref()));
    if let (Some(floor), Some(best)) = (floor, best) {
        canvas.line((scale.at(floor), y), (scale.at(best), y), "grid");
    }
    if let Some(floor) = floor {
        // Large enough to be seen around the other one.
        canvas.circle(scale.at(floor), y, 6.0, "hollow");
    }
    if let Some(best) = best {
        canvas.circle(scale.at(best), y, 4.5, "fill-ours");
    }
    if let Some(best) = &line.best {
        let ratio = best.ratio.map_or(String::new(), |ratio| format!("{ratio:.2} "));
        let beside = format!("{ratio}{}", best.peer);
        canvas.text(RIGHT + 12.0, y + 4.0, Anchor::Start, "faint", &words::at_most(&beside, 25));
    }
}
