//! Growth as text: a line for each population, a column for each peer.

use super::curves;
use crate::document::{Document, Workload};
use crate::report::figure;
use crate::table::thousands;

/// Prints what a suite has measured about growth, if that is what it did.
pub fn print(document: &Document, suite: &str) {
    let workloads = document.workloads.iter();
    workloads
        .filter(|workload| workload.suite == suite && workload.growth.is_some())
        .for_each(print_workload);
}

fn print_workload(workload: &Workload) {
    let unit = workload.growth.as_deref().unwrap_or_default();
    println!("\n{}, {unit}: median, min .. max\n", workload.title);
    let curves = curves(workload);
    print!("  {:>12}", "population");
    curves.iter().for_each(|curve| print!("{:>34}", curve.peer));
    println!();
    let mut sizes: Vec<_> =
        curves.iter().flat_map(|curve| curve.samples.iter().map(|point| point.0)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        print!("  {:>12}", thousands(size));
        for curve in &curves {
            let samples = curve.samples.iter().find(|point| point.0 == size);
            let text = samples.and_then(|(_, samples)| {
                let (least, most) = samples.spread()?;
                Some(format!(
                    "{}{:>22}",
                    figure(samples.median()?),
                    format!("{} .. {}", figure(least), figure(most))
                ))
            });
            print!("{:>34}", text.unwrap_or_else(|| "–".to_owned()));
        }
        println!();
    }
    workload.notes.iter().for_each(|note| println!("\n  {note}"));
}
