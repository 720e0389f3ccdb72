//! A picture as it is drawn: elements of SVG, one after the other.

use std::fmt::Write as _;

/// For light and for dark surroundings; a picture brings its own background, as it does not know where it is shown.
const STYLE: &str = "
svg { --back: #ffffff; --ink: #1f2328; --faint: #656d76; --line: #d8dee4; --ours: #0969da;
  --tint: #ddf4ff; --other: #b3bfcc; --floor: #8c959f; --a: #bf5b00; --b: #1a7f37; --c: #8250df; --d: #a40e4c; }
@media (prefers-color-scheme: dark) {
  svg { --back: #0d1117; --ink: #e6edf3; --faint: #9198a1; --line: #2a313a; --ours: #4493f8;
    --tint: #121d2f; --other: #4d5965; --floor: #7d8590; --a: #e09b52; --b: #3fb950; --c: #ab7df8; --d: #f778ba; }
}
text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: var(--ink); font-size: 13px; }
.title { font-size: 17px; font-weight: 600; }
.faint { fill: var(--faint); font-size: 12px; }
.strong { font-weight: 600; }
.back { fill: var(--back); }
.tint { fill: var(--tint); }
.grid { stroke: var(--line); fill: none; }
.axis { stroke: var(--faint); fill: none; }
.whisker { stroke: var(--ink); fill: none; stroke-width: 1.2; }
.fill-ours { fill: var(--ours); }
.fill-other { fill: var(--other); }
.hatch { stroke: var(--floor); stroke-width: 2.5; }
.fill-floor { fill: url(#hatch); stroke: var(--floor); }
.curve { fill: none; stroke-width: 1.6; stroke: currentColor; }
.mark { fill: currentColor; }
.named { fill: currentColor; font-size: 12px; }
.ours { color: var(--ours); } .floor { color: var(--floor); }
.a { color: var(--a); } .b { color: var(--b); } .c { color: var(--c); } .d { color: var(--d); }
.hollow { fill: var(--back); stroke: var(--floor); stroke-width: 2; }
";

const HATCH: &str = "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
                     patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M0 0V6\"/></pattern></defs>\n";

/// Where a text is in relation to its position.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

pub struct Canvas {
    elements: String,
}

impl Canvas {
    pub fn new() -> Self {
        Self { elements: String::new() }
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let (anchor, text) = (anchor.name(), escape(text));
        self.element(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>"
        ));
    }

    pub fn rectangle(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        self.element(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"{class}\"/>"
        ));
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.element(format_args!(
            "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" class=\"{class}\"/>"
        ));
    }

    /// Lines from point to point; `style` is for what a class does not say.
    pub fn curve(&mut self, points: &[(f64, f64)], class: &str, style: &str) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.element(format_args!(
            "<polyline points=\"{points}\" class=\"{class}\" style=\"{style}\"/>"
        ));
    }

    pub fn circle(&mut self, x: f64, y: f64, radius: f64, class: &str) {
        self.element(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" class=\"{class}\"/>"
        ));
    }

    /// From the least to the greatest value, with a stroke at each end.
    pub fn whisker(&mut self, from: f64, to: f64, y: f64) {
        self.line((from, y), (to, y), "whisker");
        for x in [from, to] {
            self.line((x, y - 3.5), (x, y + 3.5), "whisker");
        }
    }

    fn element(&mut self, element: std::fmt::Arguments) {
        writeln!(self.elements, "{element}").expect("a string takes it");
    }

    /// The whole picture.
    pub fn finish(self, width: f64, height: f64, title: &str) -> String {
        let (title, elements) = (escape(title), self.elements);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n{HATCH}\
             <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\" class=\"back\"/>\n\
             {elements}</svg>\n"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
