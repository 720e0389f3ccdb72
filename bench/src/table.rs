//! What was measured, before it is shown.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A peer that takes longer for one workload is stopped.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A workload, and what was measured.
pub struct Table {
    pub title: String,
    /// Their labels, in the order in which they are shown.
    pub peers: Vec<&'static str>,
    /// The peers that the others are compared with.
    pub references: Vec<&'static str>,
    /// Whether the peers are shown in the order of what was measured, the least first. Then a peer that
    /// has no figure is left out, and a note says why.
    pub ranked: bool,
    /// What the figures are, if each metric is a size of a population, and its name a number.
    pub growth: Option<&'static str>,
    pub metrics: Vec<Metric>,
    pub aims: Vec<Aim>,
    /// What is to be said below the figures.
    pub notes: Vec<String>,
}

impl Table {
    pub fn new(title: String, peers: Vec<&'static str>, reference: &'static str) -> Self {
        let references = vec![reference];
        let (metrics, aims, notes) = (Vec::new(), Vec::new(), Vec::new());
        Self { title, peers, references, ranked: false, growth: None, metrics, aims, notes }
    }

    pub fn add(&mut self, peer: &'static str, metric: &str, value: f64) {
        let index = self.metrics.iter().position(|known| known.name == metric);
        let index = index.unwrap_or_else(|| {
            self.metrics.push(Metric { name: metric.to_owned(), samples: Vec::new() });
            self.metrics.len() - 1
        });
        self.metrics[index].samples.push((peer, value));
    }

    /// Adds what a process wrote: lines of a metric, a tab, and its value.
    pub fn add_lines(&mut self, peer: &'static str, lines: &str) {
        for line in lines.lines() {
            let (metric, value) = line.split_once('\t').expect("a metric and its value");
            self.add(peer, metric, value.parse().expect("a number"));
        }
    }

    /// What the peer is meant not to exceed.
    pub fn aim(&self, peer: &str, metric: &str) -> Option<f64> {
        let aim = self.aims.iter().find(|aim| aim.peer == peer && aim.metric == metric);
        aim.map(|aim| aim.most)
    }
}

/// A figure that a peer is meant not to exceed.
pub struct Aim {
    pub peer: &'static str,
    pub metric: &'static str,
    pub most: f64,
}

pub struct Metric {
    pub name: String,
    /// In the order in which they were measured.
    samples: Vec<(&'static str, f64)>,
}

impl Metric {
    /// The values of a peer, sorted.
    pub fn of(&self, peer: &str) -> Vec<f64> {
        let mut values: Vec<_> =
            self.samples.iter().filter(|sample| sample.0 == peer).map(|sample| sample.1).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    pub fn median(&self, peer: &str) -> Option<f64> {
        median(&self.of(peer))
    }
}

/// Of sorted values.
pub fn median(values: &[f64]) -> Option<f64> {
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

pub fn thousands(count: usize) -> String {
    if count < 1000 {
        return count.to_string();
    }
    format!("{},{:03}", thousands(count / 1000), count % 1000)
}

/// Whether more of a metric is better. All others are costs.
pub fn higher_is_better(metric: &str) -> bool {
    metric.contains("per second")
}

/// Shows what is going on, and for how long already: on a terminal in one line, elsewhere in one line each.
pub fn progress(text: &str) {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    let seconds = BEGIN.get_or_init(Instant::now).elapsed().as_secs();
    let elapsed = format!("[{}:{:02}]", seconds / 60, seconds % 60);
    let mut stderr = std::io::stderr().lock();
    let result = match (stderr.is_terminal(), text) {
        (true, "") => write!(stderr, "\r\x1b[K").and_then(|()| stderr.flush()),
        (true, _) => write!(stderr, "\r\x1b[K{elapsed} {text}").and_then(|()| stderr.flush()),
        (false, "") => Ok(()),
        (false, _) => writeln!(stderr, "{elapsed} {text}"),
    };
    // A progress that nobody can see is none.
    let _ = result;
}
