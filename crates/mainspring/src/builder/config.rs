//! The values behind the options.

use std::time::Duration;

#[cfg(all(feature = "metrics", not(loom)))]
use crate::Tracer;
use crate::VirtualClock;
use crate::fault::PanicPolicy;
use crate::safety::{Profile, SafetyHooks};

/// How the loop blocks when it has nothing to do.
///
/// ```
/// use mainspring::{EventLoop, FastPathMode};
///
/// let event_loop = EventLoop::builder().fast_path(FastPathMode::Disabled).build()?;
/// assert_eq!(event_loop.handle().fast_path(), FastPathMode::Disabled);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum FastPathMode {
    /// Park the thread while there is nothing to poll, wait in the poller otherwise.
    #[default]
    Auto = 0,
    /// Always park the thread. Descriptors cannot be registered then.
    Forced = 1,
    /// Always wait in the poller.
    Disabled = 2,
}

impl FastPathMode {
    pub(crate) fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Auto,
            1 => Self::Forced,
            _ => Self::Disabled,
        }
    }
}

/// The values behind the options.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) external_budget: usize,
    pub(crate) future_budget: usize,
    pub(crate) high_water_mark: usize,
    /// The greatest number for none.
    pub(crate) microtask_budget: u64,
    pub(crate) internal_flood_mark: usize,
    pub(crate) strict_microtasks: bool,
    pub(crate) max_spin: Duration,
    /// In nanoseconds.
    pub(crate) timer_slack: i64,
    /// Whether timers that become due during the timer phase are run by it.
    pub(crate) catches_up: bool,
    pub(crate) max_workers: usize,
    pub(crate) worker_keep_alive: Duration,
    pub(crate) fast_path: FastPathMode,
    pub(crate) panic_policy: PanicPolicy,
    pub(crate) clock: Option<VirtualClock>,
    pub(crate) profile: Profile,
    /// Who is told of what the profile sees.
    pub(crate) safety_hooks: SafetyHooks,
    /// Whether the loop is measured.
    #[cfg(feature = "metrics")]
    pub(crate) metrics: bool,
    #[cfg(feature = "metrics")]
    pub(crate) stall_threshold: Option<Duration>,
    #[cfg(all(feature = "metrics", not(loom)))]
    pub(crate) tracer: Option<Tracer>,
}

impl Config {
    /// Whether the loop is observed.
    pub(crate) fn is_observed(&self) -> bool {
        #[cfg(feature = "metrics")]
        return self.metrics || self.stall_threshold.is_some() || self.is_traced();
        #[cfg(not(feature = "metrics"))]
        false
    }
}

#[cfg(feature = "metrics")]
impl Config {
    /// Whether there is a trace of the loop.
    pub(crate) fn is_traced(&self) -> bool {
        #[cfg(not(loom))]
        return self.tracer.is_some();
        #[cfg(loom)]
        false
    }
}
