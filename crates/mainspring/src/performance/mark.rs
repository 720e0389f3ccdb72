//! How a mark is asked for.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use crate::performance::error::{PerformanceError, check_time};

/// What a mark has beside its name, for [`Performance::mark_with`](crate::Performance::mark_with).
///
/// ```
/// use mainspring::{EventLoop, MarkOptions};
///
/// let event_loop = EventLoop::new()?;
/// let performance = event_loop.cx().performance();
/// let arrived = performance.now();
/// let options = MarkOptions::new().start_time(arrived).detail("GET /");
/// let mark = performance.mark_with("request", options)?;
/// assert_eq!(mark.start_time(), arrived);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct MarkOptions {
    start_time: Option<f64>,
    detail: Option<Rc<dyn Any>>,
}

impl MarkOptions {
    /// A mark for now, without a detail.
    ///
    /// ```
    /// let options = mainspring::MarkOptions::new();
    /// # drop(options);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// When it was, in milliseconds since the time origin. It may be in the future.
    ///
    /// ```
    /// let options = mainspring::MarkOptions::new().start_time(12.5);
    /// # drop(options);
    /// ```
    pub fn start_time(mut self, time: f64) -> Self {
        self.start_time = Some(time);
        self
    }

    /// Any value that is to be kept with it.
    ///
    /// ```
    /// let options = mainspring::MarkOptions::new().detail(vec!["a", "b"]);
    /// # drop(options);
    /// ```
    pub fn detail<D: Any>(mut self, detail: D) -> Self {
        self.detail = Some(Rc::new(detail));
        self
    }

    pub(super) fn time(&self, now: impl FnOnce() -> f64) -> Result<f64, PerformanceError> {
        match self.start_time {
            Some(time) => check_time("start_time", time),
            None => Ok(now()),
        }
    }

    pub(super) fn into_detail(self) -> Option<Rc<dyn Any>> {
        self.detail
    }
}

impl fmt::Debug for MarkOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarkOptions")
            .field("start_time", &self.start_time)
            .field("has_detail", &self.detail.is_some())
            .finish()
    }
}
