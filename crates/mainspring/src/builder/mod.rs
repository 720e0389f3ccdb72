//! Options of a loop.

mod config;
mod hooks;

use std::time::Duration;

pub(crate) use self::config::Config;
pub use self::config::FastPathMode;
#[cfg(all(feature = "metrics", not(loom)))]
use crate::Tracer;
use crate::clock::nanoseconds;
use crate::fault::PanicPolicy;
use crate::hooks::Hooks;
use crate::safety::{Profile, SafetyHooks};
use crate::{Error, EventLoop, VirtualClock};

/// Sets the options of a loop before it is built.
///
/// ```
/// use mainspring::{EventLoop, PanicPolicy};
/// use std::time::Duration;
///
/// let event_loop = EventLoop::builder()
///     .high_water_mark(10_000)
///     .external_budget(256)
///     .microtask_budget(None)
///     .panic_policy(PanicPolicy::Propagate)
///     .max_spin(Duration::ZERO)
///     .on_overload(|_, overload| eprintln!("{} tasks are waiting", overload.pending))
///     .build()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
///
/// Values are checked by [`build`](Self::build), which says what is wrong with them.
#[must_use]
pub struct Builder {
    config: Config,
    hooks: Hooks,
    #[cfg(feature = "metrics")]
    stall_hook: Option<crate::stall::Hook>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            config: Config {
                external_budget: 1024,
                future_budget: 256,
                high_water_mark: 100_000,
                microtask_budget: 1024,
                internal_flood_mark: 100_000,
                strict_microtasks: true,
                max_spin: Duration::from_micros(50),
                timer_slack: 100_000,
                catches_up: false,
                max_workers: 512,
                worker_keep_alive: Duration::from_secs(10),
                fast_path: FastPathMode::Auto,
                panic_policy: PanicPolicy::Isolate,
                clock: None,
                profile: Profile::Performance,
                safety_hooks: SafetyHooks::default(),
                #[cfg(feature = "metrics")]
                metrics: false,
                #[cfg(feature = "metrics")]
                stall_threshold: None,
                #[cfg(all(feature = "metrics", not(loom)))]
                tracer: None,
            },
            hooks: Hooks::default(),
            #[cfg(feature = "metrics")]
            stall_hook: None,
        }
    }
}

impl Builder {
    /// Starts with the default options.
    ///
    /// ```
    /// let event_loop = mainspring::Builder::new().build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// How many external tasks one tick runs at the most. 1024 by default; at least 1.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().external_budget(16).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn external_budget(mut self, tasks: usize) -> Self {
        self.config.external_budget = tasks;
        self
    }

    /// How many polls of [futures](crate::Cx::spawn_local) one tick makes at the most. 256 by default; at least 1.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().future_budget(16).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn future_budget(mut self, polls: usize) -> Self {
        self.config.future_budget = polls;
        self
    }

    /// How many external tasks may wait; one more is refused as overload. 100,000 by default; at
    /// least 1. Threads that submit at the very moment at which the loop takes tasks out may exceed it
    /// by one each.
    ///
    /// ```
    /// use mainspring::{EventLoop, Refusal};
    ///
    /// let event_loop = EventLoop::builder().high_water_mark(2).build()?;
    /// let handle = event_loop.handle();
    /// handle.submit(|_| ())?;
    /// handle.submit(|_| ())?;
    /// assert_eq!(handle.submit(|_| ()).unwrap_err().reason(), Refusal::Overloaded);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn high_water_mark(mut self, tasks: usize) -> Self {
        self.config.high_water_mark = tasks;
        self
    }

    /// How many microtasks one checkpoint runs at the most; the rest waits for the next tick. 1024 by
    /// default; at least 1, or `None` for run-to-empty as in JavaScript.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().microtask_budget(None).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn microtask_budget(mut self, microtasks: impl Into<Option<usize>>) -> Self {
        self.config.microtask_budget = microtasks.into().map_or(u64::MAX, |n| n as u64);
        self
    }

    /// After how many internal tasks in one tick a [`Diagnostic::InternalFlood`](crate::Diagnostic::InternalFlood) is reported. 100,000
    /// by default; at least 1.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().internal_flood_mark(1_000).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn internal_flood_mark(mut self, tasks: usize) -> Self {
        self.config.internal_flood_mark = tasks;
        self
    }

    /// Whether there is a checkpoint after every callback of a descriptor. True by default, as JavaScript wants
    /// it; otherwise there is one after 64 of them at the most, and always at the end of the phase.
    ///
    /// After every timer and every task there is one in any case.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().strict_microtasks(false).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn strict_microtasks(mut self, is_strict: bool) -> Self {
        self.config.strict_microtasks = is_strict;
        self
    }

    /// How long the loop looks for work before it blocks, at the most. 50 µs by default, about what
    /// it costs to wake an idle core; zero for never.
    ///
    /// Looking in vain becomes rare by itself, and an idle loop does not look at all. With one
    /// processor it is never done. The same holds for a worker of the loop's pool.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::builder().max_spin(Duration::ZERO).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn max_spin(mut self, time: Duration) -> Self {
        self.config.max_spin = time;
        self
    }

    /// How many threads the loop's worker pool has at the most, for [`promisify`](crate::Handle::promisify). 512 by
    /// default; at least 1.
    ///
    /// They are started when they are needed. What is above the bound waits.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().max_workers(4).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn max_workers(mut self, workers: usize) -> Self {
        self.config.max_workers = workers;
        self
    }

    /// How long a thread of the worker pool stays without anything to do. 10 seconds by default.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop =
    ///     mainspring::EventLoop::builder().worker_keep_alive(Duration::from_secs(1)).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn worker_keep_alive(mut self, time: Duration) -> Self {
        self.config.worker_keep_alive = time;
        self
    }

    /// Whether the timer phase also runs timers that become due while it runs, because callbacks take long. By default
    /// they wait for the next tick, so that descriptors and tasks have their turn.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().catch_up_timers(true).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn catch_up_timers(mut self, on: bool) -> Self {
        self.config.catches_up = on;
        self
    }

    /// How long the loop sleeps at least after a tick that ran timers, if nothing but the next timer is to be
    /// waited for. 100 µs by default, about twice what it costs to wake an idle core; zero for never.
    ///
    /// Where timers follow each other more closely than that, several are run each time the loop wakes up,
    /// and each is late by so much at the most. All others are waited for to the nanosecond.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::builder().timer_slack(Duration::ZERO).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn timer_slack(mut self, slack: Duration) -> Self {
        self.config.timer_slack = nanoseconds(slack).unwrap_or(i64::MAX);
        self
    }

    /// How the loop blocks. [`FastPathMode::Auto`] by default.
    ///
    /// ```
    /// use mainspring::{EventLoop, FastPathMode};
    ///
    /// let event_loop = EventLoop::builder().fast_path(FastPathMode::Forced).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn fast_path(mut self, mode: FastPathMode) -> Self {
        self.config.fast_path = mode;
        self
    }

    /// What to do with a panic of a callback. [`PanicPolicy::Isolate`] by default.
    ///
    /// ```
    /// use mainspring::{EventLoop, PanicPolicy};
    ///
    /// let event_loop = EventLoop::builder().panic_policy(PanicPolicy::Propagate).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn panic_policy(mut self, policy: PanicPolicy) -> Self {
        self.config.panic_policy = policy;
        self
    }

    /// Where the loop gets its time from: a clock for tests, instead of the system's.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::auto();
    /// let event_loop = EventLoop::builder().clock(&clock).build()?;
    /// event_loop.cx().set_timeout(Duration::from_secs(3600), |_| println!("an hour later"))?;
    /// event_loop.run_until_idle()?; // at once
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clock(mut self, clock: &VirtualClock) -> Self {
        self.config.clock = Some(clock.clone());
        self
    }

    /// Whether the loop counts and measures what it does, for [`Handle::metrics`](crate::Handle::metrics), and
    /// notes where timers, descriptors, futures and the like come from, for [`Cx::why_alive`](crate::Cx::why_alive). False by default, and
    /// then it costs nothing.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
    /// assert!(event_loop.cx().metrics().is_some());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    pub fn metrics(mut self, on: bool) -> Self {
        self.config.metrics = on;
        self
    }

    /// Reports every callback that runs for longer than this, while it still does, and turns
    /// [`metrics`](Self::metrics) on. Off by default; `None` for off.
    ///
    /// For that the loop notes where each callback was scheduled, which costs some nanoseconds each. One whose captures
    /// fill the space that there is without an allocation, five or six words, is reported without a place.
    ///
    /// A thread looks four times in that time while the loop is busy, and sleeps while the loop does; so one that is longer by
    /// less than a quarter may not be noticed. Time is real, also with
    /// a [virtual clock](Self::clock).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .stall_threshold(Duration::from_millis(100))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    pub fn stall_threshold(mut self, threshold: impl Into<Option<Duration>>) -> Self {
        self.config.stall_threshold = threshold.into();
        self
    }

    /// Has everything that the loop does written to a trace, and turns [`metrics`](Self::metrics) on. Then every
    /// callback is measured, which costs some tens of nanoseconds each.
    ///
    /// ```
    /// use mainspring::{EventLoop, Tracer};
    ///
    /// let path = std::env::temp_dir().join("mainspring-loop.json");
    /// let tracer = Tracer::create(&path)?;
    /// let event_loop = EventLoop::builder().tracer(&tracer).build()?;
    /// event_loop.cx().submit(|_| ())?;
    /// event_loop.run_until_idle()?;
    /// tracer.finish()?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(all(feature = "metrics", not(loom)))]
    pub fn tracer(mut self, tracer: &Tracer) -> Self {
        self.config.tracer = Some(tracer.clone());
        self
    }

    /// Which trade-offs the loop makes. [`Profile::Performance`] by default.
    ///
    /// ```
    /// use mainspring::{EventLoop, Profile};
    ///
    /// let event_loop = EventLoop::builder().profile(Profile::MaximumSafety).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn profile(mut self, profile: Profile) -> Self {
        self.config.profile = profile;
        self
    }

    /// Builds the loop, which belongs to the current thread.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for a value that makes no sense, [`Error::Io`] if the system refused
    /// a descriptor. Nothing is left open then.
    ///
    /// ```
    /// use mainspring::{Error, EventLoop};
    ///
    /// let error = EventLoop::builder().external_budget(0).build().unwrap_err();
    /// assert!(matches!(error, Error::InvalidOption { option: "external_budget", .. }));
    /// ```
    pub fn build(self) -> Result<EventLoop, Error> {
        let config = &self.config;
        for (option, value) in [
            ("external_budget", config.external_budget),
            ("future_budget", config.future_budget),
            ("high_water_mark", config.high_water_mark),
            ("microtask_budget", usize::try_from(config.microtask_budget).unwrap_or(usize::MAX)),
            ("internal_flood_mark", config.internal_flood_mark),
            ("max_workers", config.max_workers),
        ] {
            if value == 0 {
                return Err(Error::InvalidOption { option, expected: "at least 1" });
            }
        }
        if config.profile != Profile::MaximumSafety
            && let Some(option) = config.safety_hooks.needed_by()
        {
            return Err(Error::InvalidOption {
                option,
                expected: "Profile::MaximumSafety with it",
            });
        }
        let event_loop = EventLoop::assemble(self.config, self.hooks)?;
        #[cfg(all(feature = "metrics", not(loom)))]
        event_loop.start_watchdog(self.stall_hook)?;
        Ok(event_loop)
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("config", &self.config).finish_non_exhaustive()
    }
}
