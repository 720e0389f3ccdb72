//! What `/state.json` says.
//!
//! Durations are in seconds, times in seconds since 1970. Whoever reads it should look at
//! [`version`](State::version) first: it grows when something is removed or gets another meaning, not when something
//! is added.
//!
//! ```
//! use mainspring_inspect::model::{State, VERSION};
//!
//! let text = r#"{
//!     "version": 1, "program": "server", "pid": 7, "time": 1.5, "phases": [], "queues": [],
//!     "loops": [{"name": "main", "state": "sleeping", "metrics": null, "busy": null, "stalls": [],
//!                "why_alive": {"reasons": [], "age": 0.1, "unanswered": null}, "history": []}]
//! }"#;
//! let state: State = serde_json::from_str(text)?;
//! assert_eq!(state.version, VERSION);
//! assert_eq!(state.loops[0].name, "main");
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::panic::Location;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The version of what is written.
///
/// ```
/// use mainspring_inspect::model::{State, VERSION};
///
/// fn is_known(state: &State) -> bool {
///     state.version == VERSION
/// }
/// ```
pub const VERSION: u32 = 1;

/// All of it.
///
/// ```
/// use mainspring_inspect::model::State;
///
/// let text = r#"{"version": 1, "program": "server", "pid": 7, "time": 1.5, "phases": [], "queues": [], "loops": []}"#;
/// let state: State = serde_json::from_str(text)?;
/// assert_eq!((state.program.as_str(), state.pid), ("server", 7));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct State {
    /// See [`VERSION`].
    pub version: u32,
    /// The file name of the program.
    pub program: String,
    /// The number of its process.
    pub pid: u32,
    /// When this was written.
    pub time: f64,
    /// The names of phases, in the order of [`Sample::phases`].
    pub phases: Vec<String>,
    /// The names of queues, in the order of [`Sample::queues`].
    pub queues: Vec<String>,
    /// The loops that are watched, in the order in which that began.
    pub loops: Vec<Loop>,
}

/// A loop that is watched.
///
/// ```
/// use mainspring_inspect::model::State;
///
/// let text = r#"{
///     "version": 1, "program": "server", "pid": 7, "time": 1.5, "phases": [], "queues": [],
///     "loops": [{"name": "main", "state": "sleeping", "metrics": null, "busy": null, "stalls": [],
///                "why_alive": {"reasons": [], "age": 0.1, "unanswered": null}, "history": []}]
/// }"#;
/// let state: State = serde_json::from_str(text)?;
/// for watched in state.loops {
///     println!("{} is {}", watched.name, watched.state);
/// }
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Loop {
    /// As it was given.
    pub name: String,
    /// As [`mainspring::LoopState`] is displayed.
    pub state: String,
    /// None if the loop was built without [them](mainspring::Builder::metrics).
    pub metrics: Option<Metrics>,
    /// The callback that has been running for too long, if there is one.
    pub busy: Option<Stall>,
    /// Callbacks that ran for too long, the latest one first, the one that still runs included.
    pub stalls: Vec<Stall>,
    /// What keeps it from becoming idle.
    pub why_alive: WhyAlive,
    /// One sample for each second, the latest one last, [`Sample::KEPT`] at the most.
    pub history: Vec<Sample>,
}

/// As [`mainspring::Metrics`].
///
/// ```
/// use mainspring_inspect::model::Metrics;
///
/// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().submit(|_| ())?;
/// event_loop.run_until_idle()?;
/// let metrics = Metrics::from(&event_loop.cx().metrics().unwrap());
/// assert_eq!(metrics.callbacks, 1);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of mainspring::Metrics")]
#[non_exhaustive]
pub struct Metrics {
    pub uptime: f64,
    pub ticks: u64,
    pub callbacks: u64,
    pub throughput: f64,
    pub utilisation: f64,
    pub busy: f64,
    pub idle: f64,
    pub tick: Latency,
    pub run: Latency,
    pub lateness: Latency,
    pub timers: u64,
    pub fds: u64,
    pub futures: u64,
    pub jobs: u64,
    pub wakes_issued: u64,
    pub wakes_elided: u64,
    pub budget_breaches: u64,
    pub overloads: u64,
    pub refusals: u64,
    pub panics: u64,
    pub stalls: u64,
    pub phases: Vec<Phase>,
    pub queues: Vec<Queue>,
}

/// As [`mainspring::Latency`].
///
/// ```
/// use mainspring_inspect::model::Metrics;
///
/// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().submit(|_| ())?;
/// event_loop.run_until_idle()?;
/// let metrics = Metrics::from(&event_loop.cx().metrics().unwrap());
/// assert!(metrics.tick.p50 <= metrics.tick.max);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of mainspring::Latency")]
#[non_exhaustive]
pub struct Latency {
    pub count: u64,
    pub mean: f64,
    pub max: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
}

/// As [`mainspring::PhaseMetrics`].
///
/// ```
/// use mainspring_inspect::model::Metrics;
///
/// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().submit(|_| ())?;
/// event_loop.run_until_idle()?;
/// let metrics = Metrics::from(&event_loop.cx().metrics().unwrap());
/// let names: Vec<_> = metrics.phases.iter().map(|phase| phase.name.as_str()).collect();
/// assert!(names.contains(&"timers"));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of mainspring::PhaseMetrics")]
#[non_exhaustive]
pub struct Phase {
    pub name: String,
    pub time: f64,
    pub callbacks: u64,
}

/// As [`mainspring::QueueMetrics`].
///
/// ```
/// use mainspring_inspect::model::Metrics;
///
/// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().submit(|_| ())?;
/// event_loop.run_until_idle()?;
/// let metrics = Metrics::from(&event_loop.cx().metrics().unwrap());
/// let external = metrics.queues.iter().find(|queue| queue.name == "external").unwrap();
/// assert_eq!(external.current, 0);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of mainspring::QueueMetrics")]
#[non_exhaustive]
pub struct Queue {
    pub name: String,
    pub current: u64,
    pub max: u64,
    pub average: f64,
    pub wait: Latency,
}

/// As [`mainspring::Stall`].
///
/// ```
/// use mainspring_inspect::model::Stall;
///
/// let text = r#"{"phase": "timers", "place": "src/main.rs:7:8", "age": 2.0, "duration": 0.5, "is_over": true}"#;
/// let stall: Stall = serde_json::from_str(text)?;
/// assert!(stall.is_over);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stall {
    /// Where in the tick.
    pub phase: String,
    /// Where the callback was scheduled: file, line and column.
    pub place: Option<String>,
    /// How long ago it began.
    pub age: f64,
    /// How long it has run, or did run.
    pub duration: f64,
    /// Whether it has returned.
    pub is_over: bool,
}

/// What keeps a loop from becoming idle, as it said itself.
///
/// ```
/// use mainspring_inspect::model::WhyAlive;
///
/// let text = r#"{"reasons": [], "more": 3, "age": 0.1, "unanswered": null}"#;
/// let why: WhyAlive = serde_json::from_str(text)?;
/// assert_eq!(why.more, 3);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WhyAlive {
    /// The first of them: [`KEPT`](Self::KEPT) at the most.
    pub reasons: Vec<Reason>,
    /// How many more there are.
    #[serde(default)]
    pub more: u64,
    /// How old the answer is. None if there is none yet.
    pub age: Option<f64>,
    /// For how long the loop has not answered a new question, if it was asked one: it is busy, or is not driven.
    pub unanswered: Option<f64>,
}

impl WhyAlive {
    /// How many reasons are kept: a loop may have a million timers.
    ///
    /// ```
    /// use mainspring_inspect::model::WhyAlive;
    ///
    /// assert!(WhyAlive::default().reasons.len() <= WhyAlive::KEPT);
    /// ```
    pub const KEPT: usize = 200;
}

/// As [`mainspring::Reason`].
///
/// ```
/// use mainspring_inspect::model::Reason;
///
/// let text = r#"{"kind": "timer", "text": "a timer due in 1 s", "place": null}"#;
/// let reason: Reason = serde_json::from_str(text)?;
/// println!("{}", reason.text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reason {
    /// `timer`, `descriptor`, `job`, `future`, `guard`, `queue`, `pending` or `other`.
    pub kind: String,
    /// For people.
    pub text: String,
    /// Where it was made: file, line and column.
    pub place: Option<String>,
}

/// What a loop did in a second.
///
/// ```
/// use mainspring_inspect::model::Sample;
///
/// let text = r#"{
///     "at": 1.5, "utilisation": 0.25, "throughput": 100.0, "tick_mean": null, "tick_p50": 1e-6,
///     "tick_p99": 1e-5, "phases": [0.2], "queues": [0]
/// }"#;
/// let sample: Sample = serde_json::from_str(text)?;
/// println!("{:.0} % busy", sample.utilisation * 100.0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sample {
    /// When it ended.
    pub at: f64,
    /// Which part of the second the loop was busy, from 0 to 1.
    pub utilisation: f64,
    /// Callbacks per second.
    pub throughput: f64,
    /// How long a tick of that second took on average. None if there was none.
    pub tick_mean: Option<f64>,
    /// As of then, of all ticks since the start.
    pub tick_p50: f64,
    /// Likewise.
    pub tick_p99: f64,
    /// Which part of the second each phase took, from 0 to 1.
    pub phases: Vec<f64>,
    /// How many waited in each queue at the end.
    pub queues: Vec<u64>,
}

impl Sample {
    /// How many are kept of each loop.
    ///
    /// ```
    /// use mainspring_inspect::model::{Loop, Sample};
    ///
    /// fn is_full(watched: &Loop) -> bool {
    ///     watched.history.len() == Sample::KEPT
    /// }
    /// ```
    pub const KEPT: usize = 120;
}

impl From<&mainspring::Metrics> for Metrics {
    fn from(metrics: &mainspring::Metrics) -> Self {
        let phases = mainspring::Phase::ALL.iter().map(|&phase| {
            let mainspring::PhaseMetrics { time, callbacks, .. } = metrics.phase(phase);
            Phase { name: phase.to_string(), time: time.as_secs_f64(), callbacks }
        });
        let queues = mainspring::Queue::ALL.iter().map(|&queue| {
            let mainspring::QueueMetrics { current, max, average, wait, .. } = metrics.queue(queue);
            Queue { name: queue.to_string(), current, max, average, wait: wait.into() }
        });
        Self {
            uptime: metrics.uptime.as_secs_f64(),
            ticks: metrics.ticks,
            callbacks: metrics.callbacks,
            throughput: metrics.throughput,
            utilisation: metrics.utilisation(),
            busy: metrics.busy.as_secs_f64(),
            idle: metrics.idle.as_secs_f64(),
            tick: metrics.tick.into(),
            run: metrics.run.into(),
            lateness: metrics.lateness.into(),
            timers: metrics.timers,
            fds: metrics.fds,
            futures: metrics.futures,
            jobs: metrics.jobs,
            wakes_issued: metrics.wakes_issued,
            wakes_elided: metrics.wakes_elided,
            budget_breaches: metrics.budget_breaches,
            overloads: metrics.overloads,
            refusals: metrics.refusals,
            panics: metrics.panics,
            stalls: metrics.stalls,
            phases: phases.collect(),
            queues: queues.collect(),
        }
    }
}

impl From<mainspring::Latency> for Latency {
    fn from(latency: mainspring::Latency) -> Self {
        let mainspring::Latency { count, mean, max, p50, p90, p95, p99, .. } = latency;
        let [mean, max, p50, p90, p95, p99] =
            [mean, max, p50, p90, p95, p99].map(|duration: Duration| duration.as_secs_f64());
        Self { count, mean, max, p50, p90, p95, p99 }
    }
}

impl From<&mainspring::Stall> for Stall {
    fn from(stall: &mainspring::Stall) -> Self {
        let age = stall.began.elapsed();
        Self {
            phase: stall.phase.to_string(),
            place: stall.place.map(Location::to_string),
            age: age.as_secs_f64(),
            // Of one that still runs, the duration is that of the last look.
            duration: if stall.is_over { stall.duration } else { age }.as_secs_f64(),
            is_over: stall.is_over,
        }
    }
}

impl From<&mainspring::Reason> for Reason {
    fn from(reason: &mainspring::Reason) -> Self {
        use mainspring::Cause;
        let kind = match reason.cause {
            Cause::Timer { .. } => "timer",
            Cause::Descriptor { .. } => "descriptor",
            Cause::Job => "job",
            Cause::Future => "future",
            Cause::KeepAlive => "guard",
            Cause::Queued { .. } => "queue",
            Cause::Pending { .. } => "pending",
            _ => "other",
        };
        Self {
            kind: kind.to_owned(),
            text: reason.to_string(),
            place: reason.place.map(Location::to_string),
        }
    }
}
