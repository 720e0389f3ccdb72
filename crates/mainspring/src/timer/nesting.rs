//! How HTML clamps the delays of timers that are set by timers.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::Cx;

/// Deeper than this, delays are clamped.
const FREE_LEVELS: u32 = 5;

/// To at least this.
const CLAMPED: Duration = Duration::from_millis(4);

/// Knows how deep the present timer callback is nested, and clamps delays as the HTML standard says: when a
/// timer is set from more than five levels of timers that set timers, its delay is at least 4 ms.
///
/// It is for those who bring `setTimeout` to a script engine; timers of Rust code are not clamped. Clones
/// share the level.
///
/// ```
/// use mainspring::{Cx, EventLoop, TimerNesting};
/// use std::time::Duration;
///
/// fn set_timeout(cx: &Cx, nesting: &TimerNesting, delay: Duration, f: impl FnOnce(&Cx) + 'static) {
///     cx.set_timeout(nesting.clamp(delay), nesting.nest(f)).unwrap();
/// }
///
/// let event_loop = EventLoop::new()?;
/// let nesting = TimerNesting::new();
/// let inner = nesting.clone();
/// set_timeout(event_loop.cx(), &nesting, Duration::ZERO, move |cx| {
///     assert_eq!(inner.level(), 1);
///     set_timeout(cx, &inner.clone(), Duration::ZERO, move |_| assert_eq!(inner.level(), 2));
/// });
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TimerNesting(Rc<Cell<u32>>);

impl TimerNesting {
    /// Starts outside of any timer.
    ///
    /// ```
    /// assert_eq!(mainspring::TimerNesting::new().level(), 0);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How deep the callback that is running is nested; 0 outside of timers.
    ///
    /// ```
    /// assert_eq!(mainspring::TimerNesting::new().level(), 0);
    /// ```
    #[must_use]
    pub fn level(&self) -> u32 {
        self.0.get()
    }

    /// The delay that a timer set now gets.
    ///
    /// ```
    /// use mainspring::TimerNesting;
    /// use std::time::Duration;
    ///
    /// assert_eq!(TimerNesting::new().clamp(Duration::ZERO), Duration::ZERO);
    /// ```
    #[must_use]
    pub fn clamp(&self, delay: Duration) -> Duration {
        if self.level() > FREE_LEVELS { delay.max(CLAMPED) } else { delay }
    }

    /// The callback of a timer that is set now: while it runs, the level is one more than now. Afterwards
    /// it is what it was before, also if the callback panics.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let nesting = mainspring::TimerNesting::new();
    /// let seen = nesting.clone();
    /// let callback = nesting.nest(move |_| assert_eq!(seen.level(), 1));
    /// event_loop.cx().set_timeout(Duration::ZERO, callback)?;
    /// event_loop.run_until_idle()?;
    /// assert_eq!(nesting.level(), 0);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn nest<F>(&self, callback: F) -> impl FnOnce(&Cx) + use<F>
    where
        F: FnOnce(&Cx),
    {
        let level = self.level().saturating_add(1);
        let nesting = self.clone();
        move |cx| {
            let _outside = nesting.enter(level);
            callback(cx);
        }
    }

    /// The callback of an interval that is set now: each call is one level deeper than the one before.
    ///
    /// The period of an interval does not change, so this counts levels, and clamps nothing by itself. An
    /// engine that clamps intervals as HTML does sets a timer again and again instead.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let nesting = mainspring::TimerNesting::new();
    /// let seen = nesting.clone();
    /// let callback = nesting.nest_mut(move |cx| {
    ///     if seen.level() == 3 {
    ///         cx.shutdown();
    ///     }
    /// });
    /// event_loop.cx().set_interval(Duration::ZERO, callback)?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn nest_mut<F>(&self, mut callback: F) -> impl FnMut(&Cx) + use<F>
    where
        F: FnMut(&Cx),
    {
        let mut level = self.level();
        let nesting = self.clone();
        move |cx| {
            level = level.saturating_add(1);
            let _outside = nesting.enter(level);
            callback(cx);
        }
    }

    fn enter(&self, level: u32) -> Outside<'_> {
        Outside { nesting: self, level: self.0.replace(level) }
    }
}

/// Restores the level.
struct Outside<'a> {
    nesting: &'a TimerNesting,
    level: u32,
}

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.nesting.0.set(self.level);
    }
}
