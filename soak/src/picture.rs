//! A picture of a run: memory, descriptors, threads and tasks against time.

use std::fmt::Write as _;

use crate::sample::Sample;

/// For light and for dark surroundings.
const STYLE: &str = "
svg { --back: #ffffff; --ink: #1f2328; --faint: #656d76; --line: #d8dee4; --a: #0969da; --b: #bf5b00; }
@media (prefers-color-scheme: dark) {
  svg { --back: #0d1117; --ink: #e6edf3; --faint: #9198a1; --line: #2a313a; --a: #4493f8; --b: #e09b52; }
}
text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: var(--ink); font-size: 13px; }
.title { font-size: 17px; font-weight: 600; }
.faint { fill: var(--faint); font-size: 12px; }
.back { fill: var(--back); }
.grid { stroke: var(--line); fill: none; }
.a { stroke: var(--a); fill: none; stroke-width: 1.6; } .name-a { fill: var(--a); }
.b { stroke: var(--b); fill: none; stroke-width: 1.6; } .name-b { fill: var(--b); }
";

const WIDTH: f64 = 900.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 84.0;
const PANEL: f64 = 150.0;
const PLOT: f64 = 104.0;

type Value = fn(&Sample) -> f64;

/// A panel: its title, and its curves with their names.
type Panel = (&'static str, &'static [(&'static str, Value)]);

const PANELS: [Panel; 4] = [
    (
        "memory, MiB",
        &[
            ("resident", |sample| sample.belongings.resident as f64 / 1024.0),
            ("heap in use", |sample| sample.belongings.heap as f64 / 1024.0 / 1024.0),
        ],
    ),
    ("descriptors", &[("", |sample| sample.belongings.descriptors as f64)]),
    ("threads", &[("", |sample| sample.belongings.threads as f64)]),
    ("pieces of work per second", &[("", |sample| sample.rate)]),
];

/// The whole picture.
pub(crate) fn draw(samples: &[Sample], title: &str, verdict: &str) -> String {
    let height = TOP + PANELS.len() as f64 * PANEL + 30.0;
    let mut elements = String::new();
    text(&mut elements, 24.0, 34.0, "start", "title", title);
    text(&mut elements, 24.0, 58.0, "start", "faint", verdict);
    let end = samples.last().map_or(1.0, |last| last.time.as_secs_f64());
    for (index, panel) in PANELS.iter().enumerate() {
        plot(&mut elements, panel, samples, TOP + index as f64 * PANEL, end);
    }
    let (unit, scale) = if end > 300.0 { ("min", 60.0) } else { ("s", 1.0) };
    for tick in ticks(end / scale) {
        let x = LEFT + tick * scale / end * (RIGHT - LEFT);
        text(&mut elements, x, height - 22.0, "middle", "faint", &format!("{tick} {unit}"));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH:.0}\" height=\"{height:.0}\" rx=\"8\" class=\"back\"/>\n{elements}</svg>\n"
    )
}

fn plot(elements: &mut String, (title, curves): &Panel, samples: &[Sample], top: f64, end: f64) {
    let bottom = top + 20.0 + PLOT;
    text(elements, 24.0, top + 8.0, "start", "", title);
    let values = curves.iter().flat_map(|(_, value)| samples.iter().map(value));
    let high = values.fold(1.0, f64::max) * 1.05;
    let at = |value: f64| bottom - value / high * PLOT;
    for tick in ticks(high) {
        let y = at(tick);
        let _ = writeln!(elements, "<path d=\"M{LEFT:.1} {y:.1}H{RIGHT:.1}\" class=\"grid\"/>");
        text(elements, LEFT - 8.0, y + 4.0, "end", "faint", &short(tick));
    }
    for (index, (name, value)) in curves.iter().enumerate() {
        let class = ["a", "b"][index % 2];
        let mut points = String::new();
        for sample in samples {
            let x = LEFT + sample.time.as_secs_f64() / end * (RIGHT - LEFT);
            let _ = write!(points, "{x:.1},{:.1} ", at(value(sample)));
        }
        let _ =
            writeln!(elements, "<polyline points=\"{}\" class=\"{class}\"/>", points.trim_end());
        let x = RIGHT - 120.0 * (curves.len() - 1 - index) as f64;
        text(elements, x, top + 8.0, "end", &format!("name-{class}"), name);
    }
}

/// Some round numbers from 0 on.
fn ticks(high: f64) -> Vec<f64> {
    let rough = high / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|&step| step >= rough).unwrap_or(rough);
    (0..=(high / step) as usize).map(|index| index as f64 * step).collect()
}

fn short(value: f64) -> String {
    match value {
        large if large >= 1e6 => format!("{}M", large / 1e6),
        large if large >= 1e4 => format!("{}k", large / 1e3),
        small => format!("{}", (small * 1e3).round() / 1e3),
    }
}

fn text(elements: &mut String, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
    let _ = writeln!(
        elements,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_handful_of_round_numbers() {
        assert_eq!(ticks(100.0), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(30.0), [0.0, 10.0, 20.0, 30.0]);
        assert_eq!(short(250_000.0), "250k");
    }
}
