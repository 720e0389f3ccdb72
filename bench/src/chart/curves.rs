//! Cost against population: a panel for each operation, a curve for each peer, both axes logarithmic.

use super::canvas::{Anchor, Canvas};
use super::scale::Scale;
use super::words;
use crate::document::{Document, Role, Workload};
use crate::growth::{Curve, curves};

const MARGIN: f64 = 24.0;
const COLUMNS: usize = 3;
const PANEL: (f64, f64) = (330.0, 260.0);
/// What a panel has around its axes: left, right, top, bottom.
const AROUND: (f64, f64, f64, f64) = (46.0, 82.0, 54.0, 36.0);
const TOP: f64 = 92.0;
/// The least distance between the names of curves.
const APART: f64 = 14.0;
/// The colours of peers.
const COLOURS: [&str; 4] = ["a", "b", "c", "d"];

/// `None` if nothing of the kind was measured.
pub fn draw(document: &Document) -> Option<String> {
    let growth: Vec<_> =
        document.workloads.iter().filter(|workload| workload.growth.is_some()).collect();
    let last = growth.last()?;
    let columns = growth.len().min(COLUMNS);
    let rows = growth.len().div_ceil(COLUMNS);
    let mut canvas = Canvas::new();
    canvas.text(
        MARGIN,
        34.0,
        Anchor::Start,
        "title",
        "Cost of one operation against the population",
    );
    let subtitle = "both axes are logarithmic; a flat curve does not care how many there are";
    canvas.text(MARGIN, 56.0, Anchor::Start, "", subtitle);
    let most = if columns == 1 { 50 } else { 110 };
    let circumstances = words::at_most(&last.circumstances(), most);
    canvas.text(MARGIN, 76.0, Anchor::Start, "faint", &circumstances);
    let mut peers: Vec<String> = Vec::new();
    for (index, workload) in growth.iter().enumerate() {
        let x = MARGIN + (index % COLUMNS) as f64 * PANEL.0;
        let y = TOP + (index / COLUMNS) as f64 * PANEL.1;
        panel(&mut canvas, workload, (x, y), &mut peers);
    }
    let width = 2.0 * MARGIN + columns as f64 * PANEL.0;
    let height = TOP + rows as f64 * PANEL.1 + 12.0;
    Some(canvas.finish(width.max(500.0), height, "Cost of one operation against the population"))
}

/// A peer has the same colour in all panels.
fn class(curve: &Curve, peers: &mut Vec<String>) -> &'static str {
    match curve.role {
        Role::Ours => "ours",
        Role::Floor => "floor",
        Role::Other => {
            let index = peers.iter().position(|peer| peer == curve.peer).unwrap_or_else(|| {
                peers.push(curve.peer.to_owned());
                peers.len() - 1
            });
            COLOURS[index % COLOURS.len()]
        }
    }
}

fn panel(canvas: &mut Canvas, workload: &Workload, (x, y): (f64, f64), peers: &mut Vec<String>) {
    let curves = curves(workload);
    let (left, right) = (x + AROUND.0, x + PANEL.0 - AROUND.1);
    let (top, bottom) = (y + AROUND.2, y + PANEL.1 - AROUND.3);
    canvas.text(x, y + 18.0, Anchor::Start, "strong", &workload.title);
    canvas.text(x, y + 35.0, Anchor::Start, "faint", workload.growth.as_deref().unwrap_or(""));
    let points = curves.iter().flat_map(Curve::points).filter(|point| point.1 > 0.0);
    let range = points.fold(None, |range, (size, cost)| {
        let size = size as f64;
        let (from, to, low, high) = range.unwrap_or((size, size, cost, cost));
        Some((size.min(from), size.max(to), cost.min(low), cost.max(high)))
    });
    let Some((from, to, low, high)) = range else { return };
    let horizontal = Scale::logarithmic(from, to.max(from * 1.01), left, right);
    // Never less than a decade: a small step must not look like a large one.
    let middle = (low * high).sqrt();
    let low = (low / 1.4).min(middle / 10f64.sqrt());
    let high = (high * 1.4).max(middle * 10f64.sqrt());
    let vertical = Scale::logarithmic(low, high, bottom, top);
    for tick in vertical.ticks() {
        canvas.line((left, vertical.at(tick)), (right, vertical.at(tick)), "grid");
        let y = vertical.at(tick) + 4.0;
        canvas.text(left - 6.0, y, Anchor::End, "faint", &words::tick(tick));
    }
    for tick in [1e2, 1e3, 1e4, 1e5, 1e6] {
        if tick >= from * 0.999 && tick <= to * 1.001 {
            canvas.line((horizontal.at(tick), bottom), (horizontal.at(tick), bottom + 4.0), "axis");
            let text = words::tick(tick);
            canvas.text(horizontal.at(tick), bottom + 18.0, Anchor::Middle, "faint", &text);
        }
    }
    canvas.line((left, bottom), (right, bottom), "axis");
    let mut names = Vec::new();
    for curve in &curves {
        let class = class(curve, peers);
        let points: Vec<_> = curve
            .points()
            .iter()
            .map(|&(size, cost)| (horizontal.at(size as f64), vertical.at(cost)))
            .collect();
        let style = match curve.role {
            Role::Ours => "stroke-width: 2.6",
            Role::Floor => "stroke-dasharray: 5 4",
            Role::Other => "",
        };
        canvas.curve(&points, &format!("curve {class}"), style);
        for &(x, y) in &points {
            canvas.circle(x, y, 2.6, &format!("mark {class}"));
        }
        if let Some(&(_, y)) = points.last() {
            names.push((y, curve.peer, class));
        }
    }
    for (y, peer, class) in spread_out(names, bottom) {
        canvas.text(right + 8.0, y + 4.0, Anchor::Start, &format!("named {class}"), peer);
    }
}

/// Moves names downward until none is on another, and all upward again if the last one is too low.
fn spread_out<'a>(
    mut names: Vec<(f64, &'a str, &'static str)>,
    bottom: f64,
) -> Vec<(f64, &'a str, &'static str)> {
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut least = f64::MIN;
    for name in &mut names {
        name.0 = name.0.max(least);
        least = name.0 + APART;
    }
    let mut most = bottom;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(most);
        most = name.0 - APART;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_cover_each_other() {
        let names = vec![(98.0, "one", ""), (20.0, "two", ""), (99.0, "three", "")];
        let places: Vec<_> = spread_out(names, 100.0).iter().map(|name| (name.1, name.0)).collect();
        assert_eq!(places, [("two", 20.0), ("one", 86.0), ("three", 100.0)]);
    }
}
