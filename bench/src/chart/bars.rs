//! One metric: a bar for each peer, the best one first.

use super::canvas::{Anchor, Canvas};
use super::scale::Scale;
use super::words;
use crate::document::{Metric, Role, Samples, Workload};

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 24.0;
const TOP: f64 = 96.0;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
/// Room for a value, to the right of the longest bar.
const VALUE: f64 = 120.0;

/// From this ratio on, short bars could not be told apart.
const FAR_APART: f64 = 30.0;

/// `None` if there is nothing to show.
pub fn draw(workload: &Workload, metric: &Metric) -> Option<String> {
    let mut rows: Vec<_> =
        metric.peers.iter().filter_map(|peer| Some((peer, peer.median()?))).collect();
    if rows.is_empty() {
        return None;
    }
    rows.sort_by(|one, other| one.1.total_cmp(&other.1));
    if metric.higher_is_better() {
        rows.reverse();
    }
    let longest = rows.iter().map(|(peer, _)| words::width(&peer.peer)).fold(0.0, f64::max);
    let (left, right) = (MARGIN + longest + 14.0, WIDTH - MARGIN - VALUE);
    let bottom = TOP + rows.len() as f64 * ROW;
    let scale = scale(&rows, left, right);

    let mut canvas = Canvas::new();
    canvas.text(MARGIN, 34.0, Anchor::Start, "title", &words::at_most(&workload.title, 92));
    let better = if metric.higher_is_better() { "more is better" } else { "less is better" };
    let axis = if scale.is_logarithmic { ", logarithmic axis" } else { "" };
    let subtitle = format!("{} ({better}{axis})", metric.name);
    canvas.text(MARGIN, 56.0, Anchor::Start, "", &subtitle);
    canvas.text(
        MARGIN,
        76.0,
        Anchor::Start,
        "faint",
        &words::at_most(&workload.circumstances(), 130),
    );
    for tick in scale.ticks() {
        let x = scale.at(tick);
        canvas.line((x, TOP - 6.0), (x, bottom), "grid");
        canvas.text(x, bottom + 18.0, Anchor::Middle, "faint", &words::tick(tick));
    }
    canvas.line((left, TOP - 6.0), (left, bottom), "axis");
    for (index, &(peer, median)) in rows.iter().enumerate() {
        let middle = TOP + (index as f64 + 0.5) * ROW;
        row(&mut canvas, peer, median, middle, &scale, words::unit(&metric.name));
    }
    if rows.iter().any(|(peer, _)| peer.role() == Role::Floor) {
        let legend =
            "hatched: the floor, which is no library · bar: median · line: least to greatest";
        canvas.text(MARGIN, bottom + 42.0, Anchor::Start, "faint", legend);
    } else {
        let legend = "bar: median · line: least to greatest";
        canvas.text(MARGIN, bottom + 42.0, Anchor::Start, "faint", legend);
    }
    Some(canvas.finish(WIDTH, bottom + 58.0, &format!("{}: {}", workload.title, metric.name)))
}

/// Such that the greatest sample is on it.
fn scale(rows: &[(&Samples, f64)], left: f64, right: f64) -> Scale {
    let spreads: Vec<_> = rows.iter().filter_map(|(peer, _)| peer.spread()).collect();
    let most = spreads.iter().map(|spread| spread.1).fold(0.0, f64::max);
    let medians = rows.iter().map(|row| row.1);
    let (least, greatest) =
        medians.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    if least > 0.0 && greatest / least > FAR_APART {
        // A bar has a length, the shortest one too: the axis begins well before it.
        let low = spreads.iter().map(|spread| spread.0).fold(least, f64::min).max(least / 10.0);
        return Scale::logarithmic(10f64.powf((low / 1.5).log10().floor()), most, left, right);
    }
    Scale::linear(most, left, right)
}

fn row(canvas: &mut Canvas, peer: &Samples, median: f64, middle: f64, scale: &Scale, unit: &str) {
    let (bar, name) = match peer.role() {
        Role::Ours => ("fill-ours", "strong"),
        Role::Floor => ("fill-floor", ""),
        Role::Other => ("fill-other", ""),
    };
    let zero = if scale.is_logarithmic { scale.ticks()[0] } else { 0.0 };
    let begin = scale.at(zero);
    canvas.text(begin - 10.0, middle + 4.5, Anchor::End, name, &peer.peer);
    let end = scale.at(median);
    canvas.rectangle(begin, middle - BAR / 2.0, end - begin, BAR, bar);
    let (least, most) = peer.spread().unwrap_or((median, median));
    if least < most {
        canvas.whisker(scale.at(least), scale.at(most), middle);
    }
    let x = end.max(scale.at(most)) + 8.0;
    canvas.text(x, middle + 4.5, Anchor::Start, name, &words::value(median, unit));
}
