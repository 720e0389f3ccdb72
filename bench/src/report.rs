//! What was measured, as text and as JSON.

use std::ffi::CStr;
use std::thread;

use serde_json::{Value, json};

use crate::measure::Random;
use crate::table::{LIMIT, Table};

/// What was measured, and where.
pub fn header(repetitions: usize) -> Value {
    // SAFETY: libuv returns a constant.
    let libuv = unsafe { CStr::from_ptr(libuv_sys2::uv_version_string()) };
    json!({
        "versions": {
            "mainspring": locked("mainspring"),
            "tokio": locked("tokio"),
            "libuv": libuv.to_string_lossy(),
            "mio": locked("mio"),
            "calloop": locked("calloop"),
        },
        "processors": thread::available_parallelism().map_or(1, usize::from),
        "allocator": "the system's",
        "repetitions": repetitions,
        "seed": Random::SEED,
    })
}

/// The version of a dependency, from the lock file.
fn locked(name: &str) -> &'static str {
    let line = format!("name = \"{name}\"\nversion = \"");
    include_str!("../Cargo.lock")
        .split_once(&line)
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("?")
}

pub fn print(header: &Value, tables: &[Table]) {
    let versions = header["versions"].as_object().expect("is an object");
    let versions: Vec<_> = versions
        .iter()
        .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("?")))
        .collect();
    println!("{}", versions.join(", "));
    println!(
        "{} processors, {} repetitions, the system's allocator",
        header["processors"], header["repetitions"]
    );
    let mut missing = false;
    for table in tables {
        println!("\n{}", table.title);
        for metric in &table.metrics {
            println!(
                "\n  {:<36}{:>12}{:>26}  of {}",
                metric.name, "median", "min .. max", table.reference
            );
            let reference = median(&metric.of(table.reference));
            for &peer in &table.peers {
                let values = metric.of(peer);
                let Some(median) = median(&values) else {
                    missing = true;
                    println!("    {peer:<34}{:>12}", "–");
                    continue;
                };
                let spread =
                    format!("{} .. {}", figure(values[0]), figure(values[values.len() - 1]));
                let ratio = match reference {
                    Some(reference) if reference > 0.0 => format!("{:.2}", median / reference),
                    _ => "–".to_owned(),
                };
                println!("    {peer:<34}{:>12}{spread:>26}{ratio:>15}", figure(median));
            }
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

/// With as many decimals as its size deserves.
fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Of sorted values.
fn median(values: &[f64]) -> Option<f64> {
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

pub fn json(header: Value, tables: &[Table]) -> Value {
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for table in tables {
        for metric in &table.metrics {
            for &peer in &table.peers {
                let values = metric.of(peer);
                rows.push(json!({
                    "workload": table.title,
                    "metric": metric.name,
                    "peer": peer,
                    "median": median(&values),
                    "sorted": values,
                }));
            }
        }
        notes.extend(
            table.notes.iter().map(|note| json!({ "workload": table.title, "note": note })),
        );
    }
    json!({ "header": header, "results": rows, "notes": notes })
}
