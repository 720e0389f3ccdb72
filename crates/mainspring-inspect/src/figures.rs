//! The figures as OpenMetrics.
//!
//! `prometheus-client` writes the text. It has no type for quantiles that are known already, so they are gauges with
//! a label, which is not `quantile`: Prometheus keeps that for summaries. There is no sum beside them: the mean is
//! rounded, and a counter that is made of it would now and then go backwards.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use mainspring::{Handle, Latency, Metrics, Phase, PhaseMetrics, Queue, QueueMetrics};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

/// The content type of what [`openmetrics`] writes.
///
/// ```
/// let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\n", mainspring_inspect::CONTENT_TYPE);
/// assert!(head.contains("openmetrics-text"));
/// ```
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The figures of loops as OpenMetrics text, for an HTTP server that a program has already.
///
/// Each loop has a name, which becomes the label `loop`. Of two with one name the last counts.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring_inspect::openmetrics;
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.run_until_idle()?;
/// let text = openmetrics([("main", event_loop.cx().metrics().unwrap())]);
/// assert!(text.contains("\nmainspring_ticks_total{loop=\"main\"} "));
/// assert!(text.ends_with("# EOF\n"));
/// # Ok::<(), mainspring::Error>(())
/// ```
pub fn openmetrics<'a>(loops: impl IntoIterator<Item = (&'a str, Metrics)>) -> String {
    let loops = loops.into_iter().map(|(name, metrics)| (name.to_owned(), metrics)).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot(loops)));
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("a string has room for everything");
    text
}

/// The figures of loops, for a registry of `prometheus-client` that a program has already.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring_inspect::Figures;
/// use prometheus_client::{encoding::text, registry::Registry};
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// let mut registry = Registry::default();
/// registry.register_collector(Box::new(Figures::new().with("main", &event_loop.handle())));
/// let mut out = String::new();
/// text::encode(&mut out, &registry).unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is read before it is registered"]
pub struct Figures(BTreeMap<String, Handle>);

impl Figures {
    /// Of no loop yet.
    ///
    /// ```
    /// let figures = mainspring_inspect::Figures::new();
    /// # drop(figures);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Of this loop, too. It is read whenever the registry is. A loop without
    /// [metrics](mainspring::Builder::metrics) has none here.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
    /// let figures = mainspring_inspect::Figures::new().with("main", &event_loop.handle());
    /// # drop(figures);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn with(mut self, name: impl Into<String>, handle: &Handle) -> Self {
        self.0.insert(name.into(), handle.clone());
        self
    }
}

impl Collector for Figures {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let loops =
            self.0.iter().filter_map(|(name, handle)| Some((name.clone(), handle.metrics()?)));
        Snapshot(loops.collect()).encode(encoder)
    }
}

#[derive(Debug)]
struct Snapshot(BTreeMap<String, Metrics>);

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let names = self.0.keys().map(|name| escaped(name));
        let loops = names.zip(self.0.values()).collect();
        let mut writer = Writer { encoder, loops };
        writer.totals()?;
        writer.latencies()?;
        writer.phases()?;
        writer.queues()
    }
}

/// What a label's value has to be written as, which `prometheus-client` leaves to us.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

type Label = (&'static str, String);

struct Writer<'a, 'e> {
    encoder: DescriptorEncoder<'e>,
    loops: Vec<(String, &'a Metrics)>,
}

impl Writer<'_, '_> {
    fn totals(&mut self) -> fmt::Result {
        let seconds = Some(Unit::Seconds);
        let ratio = Some(Unit::Other("ratio".to_owned()));
        self.gauge("uptime", "How long ago the loop was built", seconds.clone(), |m| {
            m.uptime.as_secs_f64()
        })?;
        self.counter("ticks", "Ticks", None, |m| m.ticks)?;
        self.counter("callbacks", "Callbacks of all kinds", None, |m| m.callbacks)?;
        self.gauge("throughput", "Callbacks per second in the last ten seconds", None, |m| {
            m.throughput
        })?;
        self.counter("busy", "How long there was something to do", seconds.clone(), |m| {
            m.busy.as_secs_f64()
        })?;
        self.counter("idle", "How long there was nothing to do", seconds, |m| {
            m.idle.as_secs_f64()
        })?;
        self.gauge("utilisation", "The part of its time that the loop was busy", ratio, |m| {
            m.utilisation()
        })?;
        self.gauge("timers", "Timers that are set", None, |m| m.timers)?;
        self.gauge("fds", "Descriptors that are registered", None, |m| m.fds)?;
        self.gauge("futures", "Futures that are not done", None, |m| m.futures)?;
        self.gauge("jobs", "Functions that workers have not come to the end of", None, |m| m.jobs)?;
        self.counter("wakes_issued", "Times that a thread had to wake the loop", None, |m| {
            m.wakes_issued
        })?;
        self.counter(
            "wakes_elided",
            "Times that a thread did not have to wake the loop",
            None,
            |m| m.wakes_elided,
        )?;
        self.counter("budget_breaches", "Checkpoints that spent their budget", None, |m| {
            m.budget_breaches
        })?;
        self.counter("overloads", "Ticks that left external tasks behind", None, |m| m.overloads)?;
        self.counter("refusals", "Tasks that were refused because too many waited", None, |m| {
            m.refusals
        })?;
        self.counter("panics", "Callbacks that panicked", None, |m| m.panics)?;
        self.counter("stalls", "Callbacks that ran for too long", None, |m| m.stalls)
    }

    fn latencies(&mut self) -> fmt::Result {
        self.latency("tick_duration", "How long ticks took without waiting", |m| {
            vec![(None, m.tick)]
        })?;
        self.latency("callback_duration", "How long callbacks ran", |m| vec![(None, m.run)])?;
        self.latency("timer_lateness", "How late timers were", |m| vec![(None, m.lateness)])
    }

    fn phases(&mut self) -> fmt::Result {
        fn each<V>(m: &Metrics, value: impl Fn(PhaseMetrics) -> V) -> Vec<(Vec<Label>, V)> {
            let line = |&phase| (vec![label("phase", phase)], value(m.phase(phase)));
            Phase::ALL.iter().map(line).collect()
        }
        let seconds = Some(Unit::Seconds);
        self.counters("phase", "How long a phase has run, all ticks together", seconds, |m| {
            each(m, |phase| phase.time.as_secs_f64())
        })?;
        self.counters("phase_callbacks", "Callbacks of a phase", None, |m| {
            each(m, |phase| phase.callbacks)
        })
    }

    fn queues(&mut self) -> fmt::Result {
        fn each<V>(m: &Metrics, value: impl Fn(QueueMetrics) -> V) -> Vec<(Vec<Label>, V)> {
            let line = |&queue| (vec![label("queue", queue)], value(m.queue(queue)));
            Queue::ALL.iter().map(line).collect()
        }
        self.gauges("queue_depth", "How many wait in a queue", None, |m| {
            each(m, |queue| queue.current)
        })?;
        self.gauges("queue_depth_max", "The most that have waited in a queue", None, |m| {
            each(m, |queue| queue.max)
        })?;
        self.gauges("queue_depth_average", "How many wait in a queue, smoothed", None, |m| {
            each(m, |queue| queue.average)
        })?;
        self.latency("queue_wait", "How long entries of a queue waited until they were run", |m| {
            let queues = Queue::ALL.iter().filter(|&&queue| queue != Queue::Futures);
            queues.map(|&queue| (Some(label("queue", queue)), m.queue(queue).wait)).collect()
        })
    }

    fn latency(
        &mut self,
        name: &str,
        help: &str,
        of: impl Fn(&Metrics) -> Vec<(Option<Label>, Latency)>,
    ) -> fmt::Result {
        let seconds = Some(Unit::Seconds);
        self.gauges(name, &format!("{help}, since the start"), seconds, |m| {
            let each = |(label, latency): (Option<Label>, Latency)| {
                statistics(&latency).map(|(statistic, value)| {
                    let statistic = ("statistic", statistic.to_owned());
                    (label.clone().into_iter().chain([statistic]).collect(), value.as_secs_f64())
                })
            };
            of(m).into_iter().flat_map(each).collect()
        })?;
        let (name, help) = (format!("{name}_observations"), format!("{help}: how often measured"));
        self.counters(&name, &help, None, |m| {
            of(m).into_iter().map(|(label, l)| (label.into_iter().collect(), l.count)).collect()
        })
    }

    fn gauge<V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        of: impl Fn(&Metrics) -> V,
    ) -> fmt::Result {
        self.gauges(name, help, unit, |m| vec![(Vec::new(), of(m))])
    }

    fn counter<V: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        of: impl Fn(&Metrics) -> V,
    ) -> fmt::Result {
        self.counters(name, help, unit, |m| vec![(Vec::new(), of(m))])
    }

    fn gauges<V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        of: impl Fn(&Metrics) -> Vec<(Vec<Label>, V)>,
    ) -> fmt::Result {
        self.family(name, help, unit, MetricType::Gauge, of, |mut line, value| {
            line.encode_gauge(value)
        })
    }

    fn counters<V: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        of: impl Fn(&Metrics) -> Vec<(Vec<Label>, V)>,
    ) -> fmt::Result {
        self.family(name, help, unit, MetricType::Counter, of, |mut line, value| {
            line.encode_counter::<NoLabelSet, _, u64>(value, None)
        })
    }

    /// The lines of all loops, each value by `encode`.
    fn family<V>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        kind: MetricType,
        of: impl Fn(&Metrics) -> Vec<(Vec<Label>, V)>,
        encode: impl Fn(MetricEncoder<'_>, &V) -> fmt::Result,
    ) -> fmt::Result {
        let name = format!("mainspring_{name}");
        let mut family = self.encoder.encode_descriptor(&name, help, unit.as_ref(), kind)?;
        for (name, metrics) in &self.loops {
            for (labels, value) in of(metrics) {
                let labels = ([("loop", name.as_str())], labels);
                encode(family.encode_family(&labels)?, &value)?;
            }
        }
        Ok(())
    }
}

/// A phase or a queue as a label: `next_ticks`, `io`.
fn label(key: &'static str, value: impl fmt::Display) -> Label {
    (key, value.to_string().replace(' ', "_").replace('/', ""))
}

fn statistics(latency: &Latency) -> [(&'static str, Duration); 6] {
    let Latency { mean, p50, p90, p95, p99, max, .. } = *latency;
    [("mean", mean), ("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99), ("max", max)]
}
