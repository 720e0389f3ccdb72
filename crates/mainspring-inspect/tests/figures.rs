//! The figures as OpenMetrics text. What others make of it is tested in `suites/inspector`.

use std::collections::HashSet;
use std::time::Duration;

use mainspring::{EventLoop, Metrics};
use mainspring_inspect::{Figures, openmetrics};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

fn example() -> Metrics {
    let mut metrics = Metrics::default();
    metrics.ticks = 12;
    metrics.busy = Duration::from_millis(250);
    metrics.idle = Duration::from_millis(750);
    metrics.tick.count = 12;
    metrics.tick.mean = Duration::from_millis(3);
    metrics.tick.p99 = Duration::from_millis(20);
    metrics
}

fn has(text: &str, line: &str) -> bool {
    text.lines().any(|found| found == line)
}

// spec: MX-3
#[test]
fn figures_have_units_in_their_names_and_loops_as_labels() {
    let text = openmetrics([("a", example()), ("b", Metrics::default())]);
    for line in [
        "# TYPE mainspring_ticks counter",
        "mainspring_ticks_total{loop=\"a\"} 12",
        "mainspring_ticks_total{loop=\"b\"} 0",
        "# UNIT mainspring_busy_seconds seconds",
        "mainspring_busy_seconds_total{loop=\"a\"} 0.25",
        "mainspring_utilisation_ratio{loop=\"a\"} 0.25",
        "mainspring_tick_duration_seconds{loop=\"a\",statistic=\"p99\"} 0.02",
        "mainspring_tick_duration_seconds{loop=\"a\",statistic=\"mean\"} 0.003",
        "mainspring_tick_duration_observations_total{loop=\"a\"} 12",
        "mainspring_queue_depth{loop=\"a\",queue=\"next_ticks\"} 0",
        "mainspring_phase_seconds_total{loop=\"a\",phase=\"io\"} 0.0",
    ] {
        assert!(has(&text, line), "no line {line:?} in\n{text}");
    }
}

// spec: MX-3
#[test]
fn samples_follow_the_type_of_their_family_and_none_is_there_twice() {
    let text = openmetrics([("a", example()), ("b", Metrics::default())]);
    let (mut family, mut kind) = ("", "");
    let (mut families, mut samples) = (HashSet::new(), HashSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            (family, kind) = rest.split_once(' ').unwrap();
            assert!(families.insert(family), "{family} is there twice");
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, _) = series.split_once('{').unwrap();
            let suffix = if kind == "counter" { "_total" } else { "" };
            assert_eq!(name, format!("{family}{suffix}"), "{line}");
            assert!(samples.insert(series), "{series} is there twice");
            assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
        }
    }
    assert!(families.len() > 30, "{families:?}");
    assert!(text.ends_with("\n# EOF\n"));
}

// spec: MX-3
#[test]
fn any_name_can_be_a_label() {
    let text = openmetrics([("a\"b\\c\nd", Metrics::default())]);
    assert!(has(&text, r#"mainspring_ticks_total{loop="a\"b\\c\nd"} 0"#), "{text}");
}

// spec: MX-3
#[test]
fn of_two_loops_with_one_name_the_last_counts() {
    let text = openmetrics([("a", Metrics::default()), ("a", example())]);
    assert!(has(&text, "mainspring_ticks_total{loop=\"a\"} 12"));
    assert!(!has(&text, "mainspring_ticks_total{loop=\"a\"} 0"));
}

// spec: MX-3
#[test]
fn a_registry_of_the_program_reads_the_loops_when_it_is_read() {
    let event_loop = EventLoop::builder().metrics(true).build().unwrap();
    let silent = EventLoop::new().unwrap();
    let figures =
        Figures::new().with("main", &event_loop.handle()).with("silent", &silent.handle());
    let mut registry = Registry::default();
    registry.register_collector(Box::new(figures));
    let ticks = || {
        let mut out = String::new();
        text::encode(&mut out, &registry).unwrap();
        assert!(!out.contains("silent"), "it has no figures");
        let line = out.lines().find(|line| line.starts_with("mainspring_ticks_total")).unwrap();
        line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()
    };
    let before = ticks();
    event_loop.cx().submit(|_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(ticks() > before);
}
