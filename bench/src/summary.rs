//! mainspring beside the floor and the best of the others, for each metric that matters most.

use serde_json::{Value, json};

use crate::document::{Document, Metric, Role, Samples, Workload};
use crate::report::figure;

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
    pub best: Option<Beside<'a>>,
}

/// Another peer, and the ratio of mainspring's cost to its cost.
pub struct Beside<'a> {
    pub peer: &'a str,
    /// `None` if one of them is not positive: a timer that is early has no ratio.
    pub ratio: Option<f64>,
    /// Whether mainspring is at least as good.
    reached: bool,
}

impl Line<'_> {
    /// Whether no other peer is better, a floor left out. `None` if there is nobody else.
    pub fn first(&self) -> Option<bool> {
        self.best.as_ref().map(|best| best.reached)
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
        peers.filter_map(|peer| Some((peer.peer.as_str(), peer.median()?)))
    };
    let beside = |(peer, theirs)| {
        // Of a rate the cost is the reciprocal.
        let (cost, other) =
            if metric.higher_is_better() { (theirs, median) } else { (median, theirs) };
        let ratio = (cost > 0.0 && other > 0.0).then(|| cost / other);
        Beside { peer, ratio, reached: cost <= other }
    };
    let others = of(Role::Other);
    let best = if metric.higher_is_better() {
        others.max_by(|one, other| one.1.total_cmp(&other.1))
    } else {
        others.min_by(|one, other| one.1.total_cmp(&other.1))
    };
    let (floor, best) = (of(Role::Floor).next().map(beside), best.map(beside));
    Some(Line { workload, metric, ours, median, floor, best })
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
                "first": line.first(),
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
        "", "median", "of floor", "≤ 1.3", "first", "of best"
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
            answer(line.first()),
            ratio(&line.best),
            line.best.as_ref().map_or("–", |best| best.peer),
        );
    }
    let count = |answers: Vec<bool>| {
        format!("{} of {}", answers.iter().filter(|&&yes| yes).count(), answers.len())
    };
    let first = count(lines.iter().filter_map(Line::first).collect());
    let near = count(lines.iter().filter_map(Line::near).collect());
    println!("\n  first in {first}; within 1.3 of the floor in {near} that have one");
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
            assert_eq!((line.first(), line.near()), (Some(true), Some(true)));
        });
    }

    #[test]
    fn the_greatest_rate_is_the_first() {
        let peers = [("raw epoll", 30.0), ("mainspring", 20.0), ("tokio", 10.0), ("mio", 25.0)];
        check("requests per second", &peers, |line| {
            assert_eq!(line.floor.as_ref().unwrap().ratio, Some(1.5));
            assert_eq!(line.best.as_ref().unwrap().peer, "mio");
            assert_eq!(line.best.as_ref().unwrap().ratio, Some(1.25));
            assert_eq!((line.first(), line.near()), (Some(false), Some(false)));
        });
    }

    #[test]
    fn who_is_alone_is_not_first() {
        check("ns per call", &[("mainspring", 80.0)], |line| {
            assert_eq!((line.first(), line.near()), (None, None));
        });
    }

    #[test]
    fn what_is_early_has_a_place_but_no_ratio() {
        check("late, p50, µs", &[("mainspring", 50.0), ("libuv", -300.0)], |line| {
            assert_eq!(line.best.as_ref().unwrap().ratio, None);
            assert_eq!(line.first(), Some(false));
        });
    }
}
