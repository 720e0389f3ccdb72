//! The figures, as they are read.

use std::time::Duration;

use crate::{Phase, Queue};

/// How long something took: quantiles by the P² algorithm, which keeps no samples.
///
/// ```
/// use mainspring::EventLoop;
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().submit(|_| ())?;
/// event_loop.run_until_idle()?;
/// let tick = event_loop.cx().metrics().unwrap().tick;
/// assert!(tick.p50 <= tick.max);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Latency {
    /// How many were measured.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// The longest one.
    pub max: Duration,
    /// Half of them took no longer than this.
    pub p50: Duration,
    /// Nine of ten took no longer than this.
    pub p90: Duration,
    /// 95 of a hundred took no longer than this.
    pub p95: Duration,
    /// 99 of a hundred took no longer than this.
    pub p99: Duration,
}

/// What a phase has done so far.
///
/// ```
/// use mainspring::{EventLoop, Phase};
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().set_immediate(|_| ());
/// event_loop.run_until_idle()?;
/// let check = event_loop.cx().metrics().unwrap().phase(Phase::Check);
/// println!("{} callbacks in {:?}", check.callbacks, check.time);
/// # assert_eq!(check.callbacks, 1);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhaseMetrics {
    /// How long it has run, all ticks together.
    pub time: Duration,
    /// How many callbacks it has run. Hooks are not counted.
    pub callbacks: u64,
}

/// What waits in a queue, and for how long it does.
///
/// ```
/// use mainspring::{EventLoop, Queue};
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().submit(|_| ())?;
/// event_loop.run_until_idle()?;
/// let queue = event_loop.cx().metrics().unwrap().queue(Queue::External);
/// println!("{} waited at the most, half of them {:?} or less", queue.max, queue.wait.p50);
/// # assert_eq!(queue.max, 1);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QueueMetrics {
    /// How many waited when the figures were published.
    pub current: u64,
    /// The most that were ever found.
    pub max: u64,
    /// The exponential average of how many waited when a tick began, or, of microtasks and next ticks, when a checkpoint
    /// began: with the weight 0.1 for the latest time.
    pub average: f64,
    /// How long entries waited until they were run. Nothing for futures.
    pub wait: Latency,
}

/// What a loop has done so far, all of one moment.
///
/// Made by [`Handle::metrics`](crate::Handle::metrics) and [`Cx::metrics`](crate::Cx::metrics) for a loop that
/// was built with [`Builder::metrics`](crate::Builder::metrics).
///
/// ```
/// use mainspring::{EventLoop, Phase, Queue};
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().submit(|_| ())?;
/// event_loop.run_until_idle()?;
/// let metrics = event_loop.cx().metrics().unwrap();
/// assert_eq!(metrics.phase(Phase::External).callbacks, 1);
/// assert_eq!(metrics.queue(Queue::External).current, 0);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// How long ago the loop was built.
    pub uptime: Duration,
    /// Ticks.
    pub ticks: u64,
    /// Callbacks of all kinds, microtasks among them. Hooks are not.
    pub callbacks: u64,
    /// Callbacks per second in the last ten seconds, or since the loop was built.
    pub throughput: f64,
    /// How long the loop had something to do.
    pub busy: Duration,
    /// How long it waited for something to do, while it was driven.
    pub idle: Duration,
    /// How long ticks took, without the time that they waited.
    pub tick: Latency,
    /// How long callbacks ran. If they are many and short, not each is measured.
    pub run: Latency,
    /// By how much timers were late.
    pub lateness: Latency,
    /// Timers that are set.
    pub timers: u64,
    /// Descriptors that are registered.
    pub fds: u64,
    /// Futures that are not done.
    pub futures: u64,
    /// Functions that were given to workers, and have not come to their end.
    ///
    /// The jobs of a script engine, in the sense of [`JobQueue`](crate::JobQueue), are not among them.
    pub jobs: u64,
    /// How often another thread had to wake the loop.
    pub wakes_issued: u64,
    /// How often another thread handed something over and did not have to, because the loop was awake or
    /// somebody else was waking it.
    pub wakes_elided: u64,
    /// Checkpoints that spent their budget.
    pub budget_breaches: u64,
    /// Ticks that left external tasks behind because their budget was spent.
    pub overloads: u64,
    /// Tasks that were refused because too many waited.
    pub refusals: u64,
    /// Callbacks that panicked.
    pub panics: u64,
    /// Callbacks that ran for longer than the [threshold](crate::Builder::stall_threshold).
    pub stalls: u64,
    pub(crate) phases: [PhaseMetrics; Phase::ALL.len()],
    pub(crate) queues: [QueueMetrics; Queue::ALL.len()],
}

impl Metrics {
    /// Which part of its time the loop was busy, from 0 to 1.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
    /// event_loop.run_until_idle()?;
    /// assert!((0.0..=1.0).contains(&event_loop.cx().metrics().unwrap().utilisation()));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let (busy, idle) = (self.busy.as_secs_f64(), self.idle.as_secs_f64());
        if busy + idle == 0.0 { 0.0 } else { busy / (busy + idle) }
    }

    /// What a phase has done. What a checkpoint runs belongs to [`Phase::NextTicks`] and [`Phase::Microtasks`], wherever
    /// it is.
    ///
    /// ```
    /// use mainspring::{EventLoop, Phase};
    ///
    /// let event_loop = EventLoop::builder().metrics(true).build()?;
    /// event_loop.cx().submit(|cx| cx.queue_microtask(|_| ()))?;
    /// event_loop.run_until_idle()?;
    /// let metrics = event_loop.cx().metrics().unwrap();
    /// assert_eq!(metrics.phase(Phase::Microtasks).callbacks, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn phase(&self, phase: Phase) -> PhaseMetrics {
        self.phases[phase as usize]
    }

    /// What waits in a queue.
    ///
    /// ```
    /// use mainspring::{EventLoop, Queue};
    ///
    /// let event_loop = EventLoop::builder().metrics(true).build()?;
    /// for _ in 0..3 {
    ///     event_loop.cx().submit(|_| ())?;
    /// }
    /// event_loop.run_until_idle()?;
    /// let queue = event_loop.cx().metrics().unwrap().queue(Queue::External);
    /// assert_eq!((queue.current, queue.max), (0, 3));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn queue(&self, queue: Queue) -> QueueMetrics {
        self.queues[queue as usize]
    }
}
