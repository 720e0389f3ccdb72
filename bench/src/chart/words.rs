//! What things are called in pictures.

use crate::report::figure;
use crate::table::thousands;

/// Units that metrics have in their names, and how they are written behind a value.
const UNITS: [(&str, &str); 8] = [
    ("ns", " ns"),
    ("µs", " µs"),
    ("ms", " ms"),
    ("bytes", " B"),
    ("KiB", " KiB"),
    ("MB", " MB"),
    ("%", " %"),
    ("second", "/s"),
];

/// The unit of a metric, as it is written behind a value.
pub fn unit(metric: &str) -> &'static str {
    let mut words = metric.split([' ', ',']);
    let unit = words.find_map(|word| UNITS.iter().find(|unit| unit.0 == word));
    unit.map_or("", |unit| unit.1)
}

/// A value with its unit.
pub fn value(value: f64, unit: &str) -> String {
    format!("{}{unit}", number(value))
}

/// A value, with commas if it is large.
pub fn number(value: f64) -> String {
    if value >= 1000.0 { thousands(value.round() as usize) } else { figure(value) }
}

/// A tick of an axis: no more decimals than there have to be.
pub fn tick(value: f64) -> String {
    match value {
        large if large >= 1e6 => format!("{}M", large / 1e6),
        large if large >= 1e3 => format!("{}k", large / 1e3),
        // Sums of tenths are not what they seem.
        small => format!("{}", (small * 1e6).round() / 1e6),
    }
}

/// A metric without its unit, which may leave nothing.
fn without_unit(metric: &str) -> String {
    let is_unit = |part: &str| {
        part.split(' ').next().is_some_and(|word| UNITS.iter().any(|unit| unit.0 == word))
    };
    let parts: Vec<_> = metric.split(", ").filter(|part| !is_unit(part)).collect();
    parts.join(", ")
}

/// A workload without what is said of all of its kind: which clock it is, or how many requests.
fn brief(workload: &str) -> &str {
    if let Some(clock) = workload.find(", CPU time of") {
        return &workload[..clock];
    }
    match workload.split_once(": ") {
        Some((before, requests)) if requests.contains(" requests of ") => before,
        _ => workload,
    }
}

/// A workload and a metric in few words.
pub fn label(workload: &str, metric: &str) -> String {
    let (workload, metric) = (brief(workload), without_unit(metric));
    if metric.is_empty() { workload.to_owned() } else { format!("{workload}: {metric}") }
}

/// At most as long, with an ellipsis if something was cut off.
pub fn at_most(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    let cut: String = text.chars().take(length - 1).collect();
    format!("{}…", cut.trim_end())
}

/// Small letters and digits, with hyphens between words.
fn kebab(text: &str) -> String {
    let text = text.replace('µ', "u").replace('\'', "").to_lowercase();
    let mut name = String::new();
    let mut letters = text.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        let next_is_digit = letters.peek().is_some_and(char::is_ascii_digit);
        let in_number = letter == ',' && last.is_ascii_digit() && next_is_digit;
        if letter.is_ascii_alphanumeric() {
            name.push(letter);
        } else if !in_number && !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        last = letter;
    }
    name.trim_end_matches('-').to_owned()
}

/// The name of a picture. It begins with the suite's.
pub fn file_name(suite: &str, workload: &str, metric: &str) -> String {
    let name = kebab(&label(workload, metric));
    let suite = suite.split('-').next().unwrap_or(suite);
    if name.starts_with(suite) { name } else { format!("{}-{name}", kebab(suite)) }
}

/// About how wide a text of small letters is, in pixels.
pub fn width(text: &str) -> f64 {
    7.6 * text.chars().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_found_in_the_names_of_metrics() {
        assert_eq!(unit("insert, ns per timer"), " ns");
        assert_eq!(unit("requests per second"), "/s");
        assert_eq!(unit("resident, bytes per timer"), " B");
        assert_eq!(unit("allocations per link"), "");
    }

    #[test]
    fn names_are_short() {
        let timers = "1,000,000 timers: set and cancel, CPU time of the thread";
        assert_eq!(
            file_name("timers", timers, "insert, ns per timer"),
            "timers-1000000-timers-set-and-cancel-insert"
        );
        assert_eq!(
            file_name(
                "echo",
                "echo, 64 connections: 10 requests of 64 bytes",
                "requests per second"
            ),
            "echo-64-connections-requests-per-second"
        );
        assert_eq!(
            file_name("promises", "all of 4 promises", "ns per input"),
            "promises-all-of-4-promises"
        );
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!(at_most("abcdef", 6), "abcdef");
        assert_eq!(at_most("abc defg", 5), "abc…");
    }
}
