//! Time that passes when it is told to.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::Handle;
use crate::clock::{moment, nanoseconds};
use crate::shared::Shared;
use crate::sync::{AtomicBool, AtomicI64, Mutex, Ordering, lock};

/// A clock for tests: a loop that is [built](crate::Builder::clock) with it takes its time from here, and
/// nothing ever sleeps until a deadline.
///
/// Time stands still while callbacks run. It passes in one of these ways:
///
/// * [`advance`](Self::advance) makes it jump. Timers that are due then run in the next tick, in their order.
/// * [`advance_to_next`](Self::advance_to_next) makes it jump to the earliest deadline.
/// * With [`auto`](Self::auto) or [`set_auto_advance`](Self::set_auto_advance), a loop that would block until
///   a deadline jumps to it instead. While a [`KeepAlive`](crate::KeepAlive) guard exists, somebody else is
///   at work, and the loop waits for that without jumping.
///
/// Clones are the same clock. Several loops can share one; with auto-advance, each of them moves the time of
/// all.
///
/// An hour in an instant:
///
/// ```
/// use mainspring::{EventLoop, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::auto();
/// let event_loop = EventLoop::builder().clock(&clock).build()?;
/// for minute in (1..=60).rev() {
///     event_loop.cx().set_timeout(Duration::from_secs(60 * minute), move |_| println!("{minute}"))?;
/// }
/// event_loop.run_until_idle()?;
/// assert_eq!(clock.elapsed(), Duration::from_secs(3600));
/// # Ok::<(), mainspring::Error>(())
/// ```
///
/// Step by step:
///
/// ```
/// use mainspring::{EventLoop, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::new();
/// let event_loop = EventLoop::builder().clock(&clock).build()?;
/// event_loop.cx().set_timeout(Duration::from_secs(10), |_| ())?;
/// clock.advance(Duration::from_secs(9));
/// assert_eq!(event_loop.turn(Duration::ZERO)?.callbacks, 0);
/// clock.advance(Duration::from_secs(1));
/// assert_eq!(event_loop.turn(Duration::ZERO)?.callbacks, 1);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct VirtualClock(Arc<Inner>);

struct Inner {
    /// The beginning, on two scales.
    anchor: (Instant, i64),
    now: AtomicI64,
    auto: AtomicBool,
    loops: Mutex<Vec<Weak<Shared>>>,
}

impl VirtualClock {
    /// Makes a clock that moves only when it is told to.
    ///
    /// ```
    /// let clock = mainspring::VirtualClock::new();
    /// assert!(clock.elapsed().is_zero());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        let anchor = moment();
        Self(Arc::new(Inner {
            anchor,
            now: AtomicI64::new(anchor.1),
            auto: AtomicBool::new(false),
            loops: Mutex::new(Vec::new()),
        }))
    }

    /// Makes a clock that jumps to the next deadline when the loop has nothing else to do.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let event_loop = EventLoop::builder().clock(&VirtualClock::auto()).build()?;
    /// event_loop.cx().set_timeout(Duration::from_secs(86_400), |_| println!("tomorrow"))?;
    /// event_loop.run_until_idle()?; // returns at once
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn auto() -> Self {
        let clock = Self::new();
        clock.set_auto_advance(true);
        clock
    }

    /// The time.
    ///
    /// ```
    /// let clock = mainspring::VirtualClock::new();
    /// assert_eq!(clock.now(), clock.now());
    /// ```
    #[must_use]
    pub fn now(&self) -> Instant {
        self.0.anchor.0 + self.elapsed()
    }

    /// How much time has passed since the clock was made.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let clock = mainspring::VirtualClock::new();
    /// clock.advance(Duration::from_secs(5));
    /// assert_eq!(clock.elapsed(), Duration::from_secs(5));
    /// ```
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.read().abs_diff(self.0.anchor.1))
    }

    /// Lets time pass at once, as if the loop had been busy for so long. Wakes the loops that use this
    /// clock. The end of time, after 292 years, is not passed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let clock = mainspring::VirtualClock::new();
    /// clock.advance(Duration::from_millis(1));
    /// assert_eq!(clock.elapsed(), Duration::from_millis(1));
    /// ```
    pub fn advance(&self, duration: Duration) {
        let more = nanoseconds(duration).unwrap_or(i64::MAX);
        self.pass(|now| now.saturating_add(more), None);
    }

    /// Makes it `to` of what it is, and wakes the loops but the one that knows already.
    fn pass(&self, to: impl FnOnce(i64) -> i64, knows: Option<&Shared>) {
        let loops: Vec<_> = {
            // Under a lock, so that time that passes on two threads adds up.
            let loops = lock(&self.0.loops);
            // Release: the partner is the Acquire in `read`. Who sees the new time sees what came before.
            self.0.now.fetch_max(to(self.read()), Ordering::Release);
            let knows = knows.map_or(std::ptr::null(), std::ptr::from_ref);
            let others = loops.iter().filter(|other| other.as_ptr() != knows);
            others.filter_map(Weak::upgrade).collect()
        };
        loops.iter().for_each(|shared| shared.wake());
    }

    /// Lets time pass until the earliest deadline of the loops that use this clock, and returns the time
    /// then. If that deadline has passed, time stays as it is. None if there is no timer.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::new();
    /// let event_loop = EventLoop::builder().clock(&clock).build()?;
    /// assert_eq!(clock.advance_to_next(), None);
    /// event_loop.cx().set_timeout(Duration::from_secs(10), |_| ())?;
    /// assert_eq!(clock.advance_to_next(), Some(clock.now()));
    /// assert_eq!(clock.elapsed(), Duration::from_secs(10));
    /// assert_eq!(event_loop.turn(Duration::ZERO)?.callbacks, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn advance_to_next(&self) -> Option<Instant> {
        let loops: Vec<_> =
            lock(&self.0.loops).iter().filter_map(Weak::upgrade).map(Handle).collect();
        let next = loops.iter().filter_map(Handle::next_deadline).min()?;
        let passed = next.saturating_duration_since(self.0.anchor.0).as_nanos();
        let next = self.0.anchor.1.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        self.pass(|_| next, None);
        Some(self.now())
    }

    /// Says whether a loop that would block until a deadline jumps to it instead.
    ///
    /// ```
    /// let clock = mainspring::VirtualClock::new();
    /// clock.set_auto_advance(true);
    /// ```
    pub fn set_auto_advance(&self, auto: bool) {
        self.0.auto.store(auto, Ordering::Relaxed);
        self.advance(Duration::ZERO);
    }

    pub(crate) fn is_auto(&self) -> bool {
        self.0.auto.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn read(&self) -> i64 {
        self.0.now.load(Ordering::Acquire)
    }

    /// Makes it at least so late, on behalf of a loop.
    pub(crate) fn jump(&self, to: i64, shared: &Shared) {
        self.pass(|_| to, Some(shared));
    }

    /// Wakes this loop when time passes.
    pub(crate) fn attach(&self, shared: &Arc<Shared>) {
        let mut loops = lock(&self.0.loops);
        loops.retain(|other| other.strong_count() > 0);
        loops.push(Arc::downgrade(shared));
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualClock")
            .field("elapsed", &self.elapsed())
            .field("auto_advance", &self.is_auto())
            .finish()
    }
}
