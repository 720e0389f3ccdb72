//! mainspring beside the floor and the best of the others, for each metric that matters most.

use serde_json::{Value, json};

use crate::document::{Document, Metric, Role, Samples, Workload};
use crate::report::figure;

/// Where mainspring is among the peers, floors left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    First,
    /// Another one has the better median, but runs differ by more than that.
    Level,
    Behind,
}

impl Place {
    pub fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Level => "level",
            Self::Behind => "behind",
        }
    }
}

/// A cost is near the floor if it is at most so many times the floor's.
const NEAR: f64 = 1.3;

pub struct Line<'a> {
    pub workload: &'a Workload,
    pub metric: &'a Metric,
    /// mainspring's first row.
    pub ours: &'a Samples,
    pub median: f64,
    /// The first one of the floors, if there are several.
    pub floor: Option<Beside<'a>>,
    /// Of those that are not better here for being worse elsewhere.
    pub best: Option<Beside<'a>>,
}

/// Another peer, and the ratio of mainspring's cost to its cost.
pub struct Beside<'a> {
    pub peer: &'a str,
    /// `None` if one of them is not positive: a timer that is early has no ratio.
    pub ratio: Option<f64>,
    /// Whether mainspring is at least as good.
    reached: bool,
    /// Whether each median is among the other's samples.
    overlaps: bool,
}

impl Line<'_> {
    /// `None` if there is nobody else.
    pub fn place(&self) -> Option<Place> {
        self.best.as_ref().map(|best| match best {
            Beside { reached: true, .. } => Place::First,
            Beside { overlaps: true, .. } => Place::Level,
            _ => Place::Behind,
        })
    }

    /// `None` if there is no floor.
    pub fn near(&self) -> Option<bool> {
        let floor = self.floor.as_ref()?;
        Some(floor.reached || floor.ratio? <= NEAR)
    }
}

pub fn lines(document: &Document) -> Vec<Line<'_>> {
    let workloads = document.workloads.iter();
    let headlines =
        workloads.flat_map(|workload| workload.headlines().map(move |metric| (workload, metric)));
    headlines.filter_map(|(workload, metric)| line(workload, metric)).collect()
}

fn line<'a>(workload: &'a Workload, metric: &'a Metric) -> Option<Line<'a>> {
    let ours = metric.peers.iter().find(|peer| peer.role() == Role::Ours)?;
    let median = ours.median()?;
    let of = |role| {
        let peers = metric.peers.iter().filter(move |peer| peer.role() == role);
        peers.filter_map(|peer| Some((peer, peer.median()?)))
    };
    let beside = |(peer, theirs): (&'a Samples, f64)| {
        // Of a rate the cost is the reciprocal.
        let (cost, other) =
            if metric.higher_is_better() { (theirs, median) } else { (median, theirs) };
        let ratio = (cost > 0.0 && other > 0.0).then(|| cost / other);
        let overlaps = overlap(ours, median, peer, theirs);
        Beside { peer: &peer.peer, ratio, reached: cost <= other, overlaps }
    };
    let others = of(Role::Other).filter(|&(peer, theirs)| {
        let is_better = is_worse(metric, median, theirs);
        !(is_better && pays(workload, metric, ours, peer))
    });
    let best = if metric.higher_is_better() {
        others.max_by(|one, other| one.1.total_cmp(&other.1))
    } else {
        others.min_by(|one, other| one.1.total_cmp(&other.1))
    };
    let (floor, best) = (of(Role::Floor).next().map(beside), best.map(beside));
    Some(Line { workload, metric, ours, median, floor, best })
}

/// Whether the first value is worse than the second.
fn is_worse(metric: &Metric, value: f64, other: f64) -> bool {
    if metric.higher_is_better() { value < other } else { value > other }
}

/// Whether each median is among the other's samples.
fn overlap(ours: &Samples, median: f64, peer: &Samples, theirs: f64) -> bool {
    has_within(ours, theirs) && has_within(peer, median)
}

/// Whether a value is between the least and the greatest sample.
fn has_within(samples: &Samples, value: f64) -> bool {
    samples.spread().is_some_and(|(low, high)| low <= value && value <= high)
}

/// Whether a peer is worse at what this metric may be had for, by more than runs differ.
fn pays(workload: &Workload, metric: &Metric, ours: &Samples, peer: &Samples) -> bool {
    workload.traded_for(&metric.name).any(|other| {
        let of = |name: &str| {
            let samples = other.peers.iter().find(|peer| peer.peer == name)?;
            Some((samples, samples.median()?))
        };
        of(&ours.peer).zip(of(&peer.peer)).is_some_and(|((ours, median), (peer, theirs))| {
            is_worse(other, theirs, median) && !overlap(ours, median, peer, theirs)
        })
    })
}

pub fn json(document: &Document) -> Value {
    let beside = |beside: &Option<Beside>| {
        beside.as_ref().map(|beside| json!({ "peer": beside.peer, "ratio": beside.ratio }))
    };
    lines(document)
        .iter()
        .map(|line| {
            json!({
                "suite": line.workload.suite,
                "workload": line.workload.title,
                "metric": line.metric.name,
                "peer": line.ours.peer,
                "median": line.median,
                "floor": beside(&line.floor),
                "best_other": beside(&line.best),
                "place": line.place().map(Place::word),
                "within_1_3_of_floor": line.near(),
            })
        })
        .collect()
}

pub fn print(document: &Document) {
    let lines = lines(document);
    if lines.is_empty() {
        return;
    }
    println!(
        "\nsummary: the ratio of mainspring's cost to the cost of others, of a rate the reciprocal;"
    );
    println!("below 1 mainspring is better\n");
    println!(
        "  {:<38}{:>10}{:>10}{:>8}{:>8}{:>11}  best other peer",
        "", "median", "of floor", "≤ 1.3", "place", "of best"
    );
    let mut title = None;
    for line in &lines {
        if title != Some(&line.workload.title) {
            println!("  {}: {}", line.workload.suite, line.workload.title);
        }
        title = Some(&line.workload.title);
        let ratio = |beside: &Option<Beside>| {
            let ratio = beside.as_ref().and_then(|beside| beside.ratio);
            ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
        };
        let name = if line.ours.peer == "mainspring" {
            line.metric.name.clone()
        } else {
            format!("{}, {}", line.metric.name, line.ours.peer)
        };
        println!(
            "    {name:<36}{:>10}{:>10}{:>8}{:>8}{:>11}  {}",
            figure(line.median),
            ratio(&line.floor),
            answer(line.near()),
            line.place().map_or("–", Place::word),
            ratio(&line.best),
            line.best.as_ref().map_or("–", |best| best.peer),
        );
    }
    let near = near(&lines).map_or(String::new(), |near| format!("; {near} that have one"));
    println!("\n  {}{near}", places(&lines));
}

/// How often mainspring is where.
pub fn places(lines: &[Line]) -> String {
    let places: Vec<_> = lines.iter().filter_map(Line::place).collect();
    let count = |place| places.iter().filter(|&&other| other == place).count();
    let (first, level) = (count(Place::First), count(Place::Level));
    format!("first in {first} and level in {level} of {}", places.len())
}

/// How often it is near the floor, if there is one.
pub fn near(lines: &[Line]) -> Option<String> {
    let answers: Vec<_> = lines.iter().filter_map(Line::near).collect();
    let near = answers.iter().filter(|&&is_near| is_near).count();
    (!answers.is_empty())
        .then(|| format!("at most {NEAR} of the floor in {near} of {}", answers.len()))
}

fn answer(answer: Option<bool>) -> &'static str {
    match answer {
        Some(true) => "yes",
        Some(false) => "no",
        None => "–",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::{document, workload};

    fn check(metric: &str, peers: &[(&str, f64)], test: impl FnOnce(&Line)) {
        let document = document(vec![workload("a workload", metric, peers)]);
        test(&lines(&document)[0]);
    }

    #[test]
    fn the_least_cost_is_the_first_and_a_floor_cannot_be() {
        let peers =
            [("floor", 1.0), ("mainspring", 1.25), ("mainspring, slower", 9.0), ("tokio", 2.5)];
        check("ns per task", &peers, |line| {
            assert_eq!((line.ours.peer.as_str(), line.median), ("mainspring", 1.25));
            assert_eq!(line.floor.as_ref().unwrap().ratio, Some(1.25));
            assert_eq!(line.best.as_ref().unwrap().peer, "tokio");
            assert_eq!(line.best.as_ref().unwrap().ratio, Some(0.5));
            assert_eq!((line.place(), line.near()), (Some(Place::First), Some(true)));
        });
    }

    #[test]
    fn the_greatest_rate_is_the_first() {
        let peers = [("raw epoll", 30.0), ("mainspring", 20.0), ("tokio", 10.0), ("mio", 25.0)];
        check("requests per second", &peers, |line| {
            assert_eq!(line.floor.as_ref().unwrap().ratio, Some(1.5));
            assert_eq!(line.best.as_ref().unwrap().peer, "mio");
            assert_eq!(line.best.as_ref().unwrap().ratio, Some(1.25));
            assert_eq!((line.place(), line.near()), (Some(Place::Level), Some(false)));
        });
    }

    #[test]
    fn medians_that_are_nearer_than_runs_are_level() {
        // Samples are from half of the median to one and a half times as much.
        for (theirs, place) in [(2.0, Place::First), (0.8, Place::Level), (0.6, Place::Behind)] {
            check("ns per task", &[("mainspring", 1.0), ("tokio", theirs)], |line| {
                assert_eq!(line.place(), Some(place), "beside {theirs}");
            });
        }
    }

    #[test]
    fn who_needs_less_for_being_later_is_not_the_best() {
        let cpu = "CPU time, µs per timer";
        let late = "late, p99, µs";
        let figures = [("mainspring", 2.0), ("tokio", 1.0), ("smol", 5.0), ("mio", 3.0)];
        let mut measured = workload("a workload", cpu, &figures);
        let figures = [("mainspring", 100.0), ("tokio", 900.0), ("smol", 10.0), ("mio", 200.0)];
        measured.metrics.extend(workload("", late, &figures).metrics);
        measured.headlines.push(late.to_owned());
        let best = |traded: &[[&str; 2]]| {
            let traded = traded.iter().map(|pair| pair.map(str::to_owned)).collect();
            let document = document(vec![Workload { traded, ..measured.clone() }]);
            let of = |line: Line| {
                line.best.as_ref().map(|best| (best.peer.to_owned(), line.place().unwrap()))
            };
            lines(&document).into_iter().map(of).collect::<Vec<_>>()
        };
        let is = |peer: &str, place| Some((peer.to_owned(), place));
        assert_eq!(best(&[]), [is("tokio", Place::Behind), is("smol", Place::Behind)]);
        // mio is worse at both, so that it has nothing for it; the others have.
        assert_eq!(best(&[[cpu, late]]), [is("mio", Place::First), is("mio", Place::First)]);
    }

    #[test]
    fn who_is_hardly_later_is_compared_with() {
        let (cpu, late) = ("CPU time, µs per timer", "late, p99, µs");
        let mut measured = workload("a workload", cpu, &[("mainspring", 2.0), ("tokio", 1.0)]);
        let figures = [("mainspring", 100.0), ("tokio", 110.0)];
        measured.metrics.extend(workload("", late, &figures).metrics);
        measured.traded.push([cpu, late].map(str::to_owned));
        let document = document(vec![measured]);
        assert_eq!(lines(&document)[0].place(), Some(Place::Behind));
    }

    #[test]
    fn who_is_alone_is_not_first() {
        check("ns per call", &[("mainspring", 80.0)], |line| {
            assert_eq!((line.place(), line.near()), (None, None));
        });
    }

    #[test]
    fn what_is_early_has_a_place_but_no_ratio() {
        check("late, p50, µs", &[("mainspring", 50.0), ("libuv", -300.0)], |line| {
            assert_eq!(line.best.as_ref().unwrap().ratio, None);
            assert_eq!(line.place(), Some(Place::Behind));
        });
    }
}
