//! What was measured, as text.

use crate::table::{LIMIT, Metric, Table};

/// Prints the tables, those left out that are about growth.
pub fn print(tables: &[Table]) {
    let mut missing = false;
    for table in tables.iter().filter(|table| table.growth.is_none()) {
        println!("\n{}", table.title);
        for metric in &table.metrics {
            missing |= print_metric(table, metric);
        }
        if !table.notes.is_empty() {
            println!();
        }
        for note in &table.notes {
            println!("  {note}");
        }
    }
    if missing {
        println!("\n– as a median: the peer was stopped after {LIMIT:?}");
    }
}

/// Prints a line for each peer. Returns whether one has no figure.
fn print_metric(table: &Table, metric: &Metric) -> bool {
    // The widths of a median, a spread, and the least one of a ratio.
    let (narrow, wide, least) =
        if table.references.len() > 1 { (10, 20, 10) } else { (12, 26, 15) };
    let ratios = |reference: &str| (reference.chars().count() + 5).max(least);
    print!("\n  {:<36}{:>narrow$}{:>wide$}", metric.name, "median", "min .. max");
    for reference in &table.references {
        print!("{:>1$}", format!("of {reference}"), ratios(reference));
    }
    let has_aim = table.aims.iter().any(|aim| aim.metric == metric.name);
    println!("{}", if has_aim { "       aim" } else { "" });
    let mut peers: Vec<_> = table.peers.iter().map(|&peer| (peer, metric.median(peer))).collect();
    if table.ranked {
        peers.retain(|(_, median)| median.is_some());
        peers.sort_by(|(_, one), (_, other)| one.partial_cmp(other).expect("is a number"));
    }
    for &(peer, median) in &peers {
        let Some(median) = median else {
            println!("    {peer:<34}{:>narrow$}", "–");
            continue;
        };
        let values = metric.of(peer);
        let spread = format!("{} .. {}", figure(values[0]), figure(values[values.len() - 1]));
        print!("    {peer:<34}{:>narrow$}{spread:>wide$}", figure(median));
        for reference in &table.references {
            print!("{:>1$}", ratio(median, metric.median(reference)), ratios(reference));
        }
        match table.aim(peer, &metric.name) {
            Some(aim) => println!("{:>10}", format!("≤ {aim}")),
            None => println!(),
        }
    }
    peers.iter().any(|(_, median)| median.is_none())
}

fn ratio(value: f64, reference: Option<f64>) -> String {
    match reference {
        Some(reference) if reference > 0.0 => format!("{:.2}", value / reference),
        _ => "–".to_owned(),
    }
}

/// All aims of all tables, what was reached, and who is first; a floor is not a peer that could be.
pub fn print_aims(tables: &[Table]) {
    if tables.iter().any(|table| !table.aims.is_empty()) {
        println!("\naims, and who is first");
    }
    for table in tables {
        for aim in &table.aims {
            let Some(metric) = table.metrics.iter().find(|metric| metric.name == aim.metric) else {
                continue;
            };
            let Some(median) = metric.median(aim.peer) else { continue };
            println!("\n  {}: {}", table.title, aim.metric);
            let most = format!("≤ {}", aim.most);
            // To the precision that is shown.
            let verdict = if median < aim.most + 0.005 { "met" } else { "missed" };
            print!("    {:<26}{:>8}  aim {most:<6}{verdict:<8}", aim.peer, figure(median));
            for reference in &table.references {
                print!("{:>8} of {reference}", ratio(median, metric.median(reference)));
            }
            let peers = table.peers.iter().filter(|&&peer| Some(&peer) != table.references.first());
            let figures = peers.filter_map(|&peer| Some((peer, metric.median(peer)?)));
            let least = figures.min_by(|one, other| one.1.total_cmp(&other.1));
            println!("   first: {}", least.expect("this peer has a figure").0);
        }
    }
}

/// With as many decimals as its size deserves.
pub fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}
