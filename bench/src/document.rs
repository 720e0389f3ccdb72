//! What was measured, as it is kept: written as JSON, read from it, and put together from several runs.

use serde_json::{Value, json};

use crate::header;
use crate::table::{Table, higher_is_better, median};

/// One or several runs.
pub struct Document {
    /// Of the last run.
    pub header: Value,
    pub workloads: Vec<Workload>,
}

/// A workload as it was measured the last time.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    pub suite: String,
    pub title: String,
    pub date: String,
    pub machine: String,
    pub repetitions: u64,
    /// The metrics that matter most.
    pub headlines: Vec<String>,
    /// Metrics of which one is had for the other: little CPU time for being late. Pairs.
    pub traded: Vec<[String; 2]>,
    /// What the figures are, if each metric is a size of a population.
    pub growth: Option<String>,
    pub metrics: Vec<Metric>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub name: String,
    /// In the order of the table; those without a figure, too.
    pub peers: Vec<Samples>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    pub peer: String,
    pub sorted: Vec<f64>,
    /// What the peer is meant not to exceed.
    pub aim: Option<f64>,
}

/// What a peer is in a comparison, which its label tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Ours,
    /// The least code that does the job, or raw system calls. It is a measure, and cannot be first.
    Floor,
    Other,
}

impl Samples {
    pub fn role(&self) -> Role {
        if self.peer.starts_with("mainspring") {
            Role::Ours
        } else if self.peer.starts_with("floor") || self.peer.starts_with("raw ") {
            Role::Floor
        } else {
            Role::Other
        }
    }

    pub fn median(&self) -> Option<f64> {
        median(&self.sorted)
    }

    /// The least and the greatest.
    pub fn spread(&self) -> Option<(f64, f64)> {
        Some((*self.sorted.first()?, *self.sorted.last()?))
    }
}

impl Metric {
    pub fn higher_is_better(&self) -> bool {
        higher_is_better(&self.name)
    }
}

impl Workload {
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The metrics that matter most, if they were measured.
    pub fn headlines(&self) -> impl Iterator<Item = &Metric> {
        self.headlines.iter().filter_map(|name| self.metric(name))
    }

    /// The metrics that a better figure of this one may have been had for.
    pub fn traded_for(&self, name: &str) -> impl Iterator<Item = &Metric> {
        let pairs = self.traded.iter();
        let others = pairs.filter_map(move |[one, other]| match name {
            _ if name == one => Some(other),
            _ if name == other => Some(one),
            _ => None,
        });
        others.filter_map(|other| self.metric(other))
    }

    /// When, where, and how often.
    pub fn circumstances(&self) -> String {
        let times = if self.repetitions == 1 { "repetition" } else { "repetitions" };
        format!("{} · {} · {} {times}", self.date, self.machine, self.repetitions)
    }

    fn is(&self, other: &Self) -> bool {
        self.title == other.title && self.suite == other.suite
    }
}

impl Document {
    pub fn new(header: Value) -> Self {
        Self { header, workloads: Vec::new() }
    }

    /// Adds what a suite has measured. Of a table without any of the headlines it is the first metric.
    pub fn add(&mut self, suite: &str, headlines: &[&str], traded: &[[&str; 2]], tables: &[Table]) {
        for table in tables {
            let metrics: Vec<_> = table
                .metrics
                .iter()
                .map(|metric| Metric {
                    name: metric.name.clone(),
                    peers: table
                        .peers
                        .iter()
                        .map(|&peer| Samples {
                            peer: peer.to_owned(),
                            sorted: metric.of(peer),
                            aim: table.aim(peer, &metric.name),
                        })
                        .collect(),
                })
                .collect();
            let names = metrics.iter().map(|metric| metric.name.clone());
            let mut chosen: Vec<_> =
                names.clone().filter(|name| headlines.contains(&name.as_str())).collect();
            if chosen.is_empty() {
                chosen.extend(names.take(1));
            }
            if table.growth.is_some() {
                chosen.clear();
            }
            self.put(Workload {
                suite: suite.to_owned(),
                title: table.title.clone(),
                date: self.header["date"].as_str().unwrap_or("?").to_owned(),
                machine: header::machine(&self.header),
                repetitions: self.header["repetitions"].as_u64().unwrap_or_default(),
                headlines: chosen,
                traded: traded.iter().map(|pair| pair.map(str::to_owned)).collect(),
                growth: table.growth.map(str::to_owned),
                metrics,
                notes: table.notes.clone(),
            });
        }
    }

    /// Takes the place of the same workload, measured before.
    fn put(&mut self, workload: Workload) {
        match self.workloads.iter_mut().find(|known| known.is(&workload)) {
            Some(known) => *known = workload,
            None => self.workloads.push(workload),
        }
    }

    /// Adds another run: what it has measured, too, is taken from it.
    pub fn merge(&mut self, later: Self) {
        self.header = later.header;
        later.workloads.into_iter().for_each(|workload| self.put(workload));
    }

    /// With what was concluded from it, which is not read again.
    pub fn to_json(&self, summary: Value, growth: Value) -> Value {
        let workloads: Vec<_> = self
            .workloads
            .iter()
            .map(|workload| {
                json!({
                    "suite": workload.suite,
                    "workload": workload.title,
                    "date": workload.date,
                    "machine": workload.machine,
                    "repetitions": workload.repetitions,
                    "headlines": workload.headlines,
                    "traded": workload.traded,
                    "growth": workload.growth,
                    "notes": workload.notes,
                })
            })
            .collect();
        let mut results = Vec::new();
        for workload in &self.workloads {
            for metric in &workload.metrics {
                results.extend(metric.peers.iter().map(|samples| {
                    json!({
                        "suite": workload.suite,
                        "workload": workload.title,
                        "metric": metric.name,
                        "higher_is_better": metric.higher_is_better(),
                        "peer": samples.peer,
                        "median": samples.median(),
                        "aim": samples.aim,
                        "sorted": samples.sorted,
                    })
                }));
            }
        }
        json!({
            "header": self.header,
            "summary": summary,
            "growth": growth,
            "workloads": workloads,
            "results": results,
        })
    }

    /// `None` if it is not what [`to_json`](Self::to_json) makes.
    pub fn from_json(json: &Value) -> Option<Self> {
        let mut document = Self::new(json.get("header")?.clone());
        for entry in json.get("workloads")?.as_array()? {
            document.workloads.push(Workload {
                suite: text(&entry["suite"])?,
                title: text(&entry["workload"])?,
                date: text(&entry["date"])?,
                machine: text(&entry["machine"])?,
                repetitions: entry["repetitions"].as_u64()?,
                headlines: texts(&entry["headlines"])?,
                // A file of an earlier version has none.
                traded: entry.get("traded").map_or(Some(Vec::new()), pairs)?,
                growth: text(&entry["growth"]),
                metrics: Vec::new(),
                notes: texts(&entry["notes"])?,
            });
        }
        for row in json.get("results")?.as_array()? {
            let (suite, title) = (row["suite"].as_str()?, row["workload"].as_str()?);
            let workload = document
                .workloads
                .iter_mut()
                .find(|workload| workload.suite == suite && workload.title == title)?;
            let name = row["metric"].as_str()?;
            if workload.metrics.last().is_none_or(|metric| metric.name != name) {
                workload.metrics.push(Metric { name: name.to_owned(), peers: Vec::new() });
            }
            workload.metrics.last_mut()?.peers.push(Samples {
                peer: text(&row["peer"])?,
                sorted: row["sorted"].as_array()?.iter().filter_map(Value::as_f64).collect(),
                aim: row["aim"].as_f64(),
            });
        }
        Some(document)
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

fn pairs(value: &Value) -> Option<Vec<[String; 2]>> {
    value.as_array()?.iter().map(|pair| texts(pair)?.try_into().ok()).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A workload with one metric, and a figure for each peer.
    pub fn workload(title: &str, metric: &str, peers: &[(&str, f64)]) -> Workload {
        let samples = |&(peer, value): &(&str, f64)| Samples {
            peer: peer.to_owned(),
            sorted: vec![value * 0.5, value, value * 1.5],
            aim: None,
        };
        Workload {
            suite: "a suite".to_owned(),
            title: title.to_owned(),
            date: "2026-01-01 00:00 UTC".to_owned(),
            machine: "a machine".to_owned(),
            repetitions: 3,
            headlines: vec![metric.to_owned()],
            traded: vec![["one".to_owned(), "another".to_owned()]],
            growth: None,
            metrics: vec![Metric {
                name: metric.to_owned(),
                peers: peers.iter().map(samples).collect(),
            }],
            notes: vec!["a note".to_owned()],
        }
    }

    pub fn document(workloads: Vec<Workload>) -> Document {
        Document { header: json!({ "date": "2026-01-01 00:00 UTC" }), workloads }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = document(vec![
            workload("one", "ns per turn", &[("mainspring", 1.5), ("floor", 1.0)]),
            workload("two", "requests per second", &[("raw epoll", 10.0), ("mainspring", 9.0)]),
        ]);
        let text = format!("{:#}", written.to_json(json!([]), json!([])));
        let read = Document::from_json(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(read.workloads, written.workloads);
        assert_eq!(read.header, written.header);
    }

    #[test]
    fn other_json_is_refused() {
        assert!(Document::from_json(&json!({ "header": {}, "results": [] })).is_none());
    }

    #[test]
    fn a_later_run_takes_the_place_of_an_earlier_one() {
        let mut all = document(vec![
            workload("one", "ns", &[("mainspring", 1.0)]),
            workload("two", "ns", &[("mainspring", 2.0)]),
        ]);
        let three = workload("three", "ns", &[("mainspring", 3.0)]);
        let later = workload("one", "ns", &[("mainspring", 4.0)]);
        all.merge(document(vec![three.clone(), later.clone()]));
        let titles: Vec<_> = all.workloads.iter().map(|workload| workload.title.as_str()).collect();
        assert_eq!(titles, ["one", "two", "three"]);
        assert_eq!(all.workloads[0], later);
        assert_eq!(all.workloads[2], three);
    }

    #[test]
    fn the_headline_is_the_first_metric_unless_one_is_named() {
        let mut table = Table::new("a table".to_owned(), vec!["mainspring"], "mainspring");
        table.add("mainspring", "first", 1.0);
        table.add("mainspring", "second", 2.0);
        let headlines = |named: &[&str]| {
            let mut document = document(Vec::new());
            document.add("a suite", named, &[], std::slice::from_ref(&table));
            document.workloads.remove(0).headlines
        };
        assert_eq!(headlines(&[]), ["first"]);
        assert_eq!(headlines(&["second", "third"]), ["second"]);
    }
}
