//! Whether a curve bends upward.

use serde_json::{Value, json};

use crate::document::{Document, Role, Samples, Workload};
use crate::table::thousands;

/// Where curves are compared with their ends.
const FEW: usize = 1_000;

/// Populations grow by the square root of ten in a step; a cost that grew with the square root of the
/// population would grow by so much.
const STEEP: f64 = 1.78;

/// A peer, and its cost at each population.
pub struct Curve<'a> {
    pub samples: Vec<(usize, &'a Samples)>,
    pub role: Role,
    pub peer: &'a str,
}

impl Curve<'_> {
    /// Where there is a figure: the population, and its median.
    pub fn points(&self) -> Vec<(usize, f64)> {
        self.samples.iter().filter_map(|&(size, samples)| Some((size, samples.median()?))).collect()
    }
}

/// Of a workload about growth, whose metrics are populations.
pub fn curves(workload: &Workload) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve> = Vec::new();
    for metric in &workload.metrics {
        let Ok(size) = metric.name.parse() else { continue };
        for samples in &metric.peers {
            match curves.iter_mut().find(|curve| curve.peer == samples.peer) {
                Some(curve) => curve.samples.push((size, samples)),
                None => curves.push(Curve {
                    samples: vec![(size, samples)],
                    role: samples.role(),
                    peer: &samples.peer,
                }),
            }
        }
    }
    curves.iter_mut().for_each(|curve| curve.samples.sort_by_key(|point| point.0));
    curves.retain(|curve| curve.samples.iter().any(|point| point.1.median().is_some()));
    curves
}

/// How a curve goes.
#[derive(Debug, PartialEq)]
pub struct Bend {
    /// The population that the last one is compared with, and the last one.
    pub from: usize,
    pub to: usize,
    /// The ratio of their costs.
    pub overall: f64,
    /// The greatest ratio of the costs of two neighbours, and which they are.
    pub step: f64,
    pub step_from: usize,
    pub step_to: usize,
}

impl Bend {
    pub fn is_upward(&self) -> bool {
        self.step > STEEP
    }
}

/// `None` if there are fewer than two points. Smaller populations than a thousand are not looked at, unless there
/// are only such.
pub fn bends(points: &[(usize, f64)]) -> Option<Bend> {
    let large: Vec<_> = points.iter().copied().filter(|point| point.0 >= FEW).collect();
    let points = if large.len() < 2 { points } else { &large };
    let (&(from, first), &(to, last)) = (points.first()?, points.last()?);
    let steps = points.windows(2).map(|pair| (pair[1].1 / pair[0].1, pair[0].0, pair[1].0));
    let (step, step_from, step_to) = steps.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(Bend { from, to, overall: last / first, step, step_from, step_to })
}

/// A line for each curve.
pub fn print(document: &Document) {
    let growth: Vec<_> =
        document.workloads.iter().filter(|workload| workload.growth.is_some()).collect();
    if growth.is_empty() {
        return;
    }
    println!(
        "\ngrowth: the ratio of the cost at the largest population to the cost at the smallest from 1,000 on,"
    );
    println!("and the greatest step between two neighbours\n");
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for workload in growth {
        println!("  {}, {}", workload.title, workload.growth.as_deref().unwrap_or_default());
        for curve in curves(workload) {
            let Some(bend) = bends(&curve.points()) else { continue };
            println!(
                "    {:<14}{:>8.2}   {:<24}{:>8.2}   {}",
                curve.peer,
                bend.overall,
                format!("{} → {}", thousands(bend.from), thousands(bend.to)),
                bend.step,
                format_args!("{} → {}", thousands(bend.step_from), thousands(bend.step_to)),
            );
            match curve.role {
                Role::Ours if bend.is_upward() => ours.push(workload.title.as_str()),
                Role::Floor if bend.is_upward() => floors.push(workload.title.as_str()),
                _ => {}
            }
        }
    }
    print!("\n  a cost that grows with the square root of the population has steps of {STEEP}: ");
    if ours.is_empty() {
        println!("no curve of mainspring bends upward");
    }
    for title in ours {
        let floor = if floors.contains(&title) { ", as the floor does" } else { "" };
        print!("\n  mainspring bends upward{floor}: {title}");
    }
    println!();
}

/// How each curve goes.
pub fn json(document: &Document) -> Value {
    let growth = document.workloads.iter().filter(|workload| workload.growth.is_some());
    let all = growth.flat_map(|workload| {
        curves(workload)
            .into_iter()
            .filter_map(|curve| {
                let bend = bends(&curve.points())?;
                Some(json!({
                    "workload": workload.title,
                    "peer": curve.peer,
                    "from": bend.from,
                    "to": bend.to,
                    "ratio": bend.overall,
                    "largest_step": bend.step,
                    "largest_step_from": bend.step_from,
                    "largest_step_to": bend.step_to,
                    "bends_upward": bend.is_upward(),
                }))
            })
            .collect::<Vec<_>>()
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_step_tells_whether_a_curve_bends() {
        let flat = [(100, 90.0), (1_000, 10.0), (3_162, 11.0), (10_000, 12.0)];
        let bend = bends(&flat).unwrap();
        assert_eq!((bend.from, bend.to, bend.overall), (1_000, 10_000, 1.2));
        assert_eq!((bend.step, bend.step_from, bend.step_to), (1.1, 1_000, 3_162));
        assert!(!bend.is_upward());
        let steep = [(1_000, 10.0), (3_162, 11.0), (10_000, 33.0)];
        assert!(bends(&steep).unwrap().is_upward());
        assert_eq!(bends(&flat[..1]), None);
    }
}
