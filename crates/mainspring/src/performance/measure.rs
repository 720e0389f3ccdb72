//! How a measure is asked for, and what it spans.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use crate::performance::error::{PerformanceError, check_finite, check_time};

/// Where a measure starts or ends: at a mark, or at a time.
///
/// ```
/// use mainspring::MeasurePoint;
///
/// assert_eq!(MeasurePoint::from("start"), MeasurePoint::Mark("start".into()));
/// assert_eq!(MeasurePoint::from(12.5), MeasurePoint::Time(12.5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum MeasurePoint {
    /// At the mark of this name that was recorded last.
    Mark(String),
    /// So many milliseconds after the time origin.
    Time(f64),
}

impl MeasurePoint {
    fn time(&self) -> Option<f64> {
        match self {
            Self::Mark(_) => None,
            Self::Time(time) => Some(*time),
        }
    }
}

impl From<&str> for MeasurePoint {
    fn from(mark: &str) -> Self {
        Self::Mark(mark.into())
    }
}

impl From<String> for MeasurePoint {
    fn from(mark: String) -> Self {
        Self::Mark(mark)
    }
}

impl From<f64> for MeasurePoint {
    fn from(time: f64) -> Self {
        Self::Time(time)
    }
}

/// What a measure spans, for [`Performance::measure`](crate::Performance::measure).
///
/// | given | from | to |
/// |---|---|---|
/// | nothing | the time origin | now |
/// | start | start | now |
/// | end | the time origin | end |
/// | start and end | start | end |
/// | start and duration | start | start + duration |
/// | end and duration | end - duration | end |
///
/// Nothing else is allowed; in particular, as in JavaScript, no detail alone.
///
/// ```
/// use mainspring::{EventLoop, MeasureOptions};
///
/// let event_loop = EventLoop::new()?;
/// let performance = event_loop.cx().performance();
/// let options = MeasureOptions::new().start(2.0).duration(3.0).detail("bytes");
/// let measure = performance.measure("download", options)?;
/// assert_eq!((measure.start_time(), measure.duration()), (2.0, 3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct MeasureOptions {
    start: Option<MeasurePoint>,
    end: Option<MeasurePoint>,
    duration: Option<f64>,
    detail: Option<Rc<dyn Any>>,
}

impl MeasureOptions {
    /// From the time origin to now.
    ///
    /// ```
    /// let options = mainspring::MeasureOptions::new();
    /// # drop(options);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Where it starts.
    ///
    /// ```
    /// let from_a_mark = mainspring::MeasureOptions::new().start("a mark");
    /// let from_a_time = mainspring::MeasureOptions::new().start(12.5);
    /// # drop((from_a_mark, from_a_time));
    /// ```
    pub fn start(mut self, start: impl Into<MeasurePoint>) -> Self {
        self.start = Some(start.into());
        self
    }

    /// Where it ends.
    ///
    /// ```
    /// let options = mainspring::MeasureOptions::new().start("a mark").end(12.5);
    /// # drop(options);
    /// ```
    pub fn end(mut self, end: impl Into<MeasurePoint>) -> Self {
        self.end = Some(end.into());
        self
    }

    /// How many milliseconds it lasts.
    ///
    /// ```
    /// let options = mainspring::MeasureOptions::new().end("a mark").duration(1.5);
    /// # drop(options);
    /// ```
    pub fn duration(mut self, duration: f64) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Any value that is to be kept with it.
    ///
    /// ```
    /// let options = mainspring::MeasureOptions::new().start("a mark").detail(vec!["a", "b"]);
    /// # drop(options);
    /// ```
    pub fn detail<D: Any>(mut self, detail: D) -> Self {
        self.detail = Some(Rc::new(detail));
        self
    }

    pub(super) fn into_detail(self) -> Option<Rc<dyn Any>> {
        self.detail
    }

    /// Start and end, by the steps of User Timing Level 3, in their order.
    pub(super) fn span(
        &self,
        now: impl FnOnce() -> f64,
        find: impl Fn(&str) -> Option<f64>,
    ) -> Result<(f64, f64), PerformanceError> {
        let Self { start, end, duration, detail } = self;
        let time = |point: &Option<MeasurePoint>| point.as_ref().and_then(MeasurePoint::time);
        // JavaScript finds these when it reads the options, before it looks at them.
        for (option, time) in [("duration", *duration), ("end", time(end)), ("start", time(start))]
        {
            time.map(|time| check_finite(option, time)).transpose()?;
        }
        if start.is_none() && end.is_none() && (duration.is_some() || detail.is_some()) {
            return Err(PerformanceError::Underdetermined);
        }
        if start.is_some() && end.is_some() && duration.is_some() {
            return Err(PerformanceError::Overdetermined);
        }
        let convert = |option, point: &MeasurePoint| match point {
            MeasurePoint::Time(time) => check_time(option, *time),
            MeasurePoint::Mark(name) => {
                find(name).ok_or_else(|| PerformanceError::UnknownMark { name: name.clone() })
            }
        };
        let end_time = match (start, end, duration) {
            (_, Some(end), _) => convert("end", end)?,
            (Some(start), None, Some(duration)) => {
                convert("start", start)? + check_time("duration", *duration)?
            }
            _ => now(),
        };
        let start_time = match (start, duration) {
            (Some(start), _) => convert("start", start)?,
            (None, Some(duration)) => end_time - check_time("duration", *duration)?,
            (None, None) => 0.0,
        };
        Ok((start_time, end_time))
    }
}

impl From<()> for MeasureOptions {
    fn from((): ()) -> Self {
        Self::new()
    }
}

impl From<&str> for MeasureOptions {
    fn from(start: &str) -> Self {
        Self::new().start(start)
    }
}

impl From<String> for MeasureOptions {
    fn from(start: String) -> Self {
        Self::new().start(start)
    }
}

impl<S: Into<MeasurePoint>, E: Into<MeasurePoint>> From<(S, E)> for MeasureOptions {
    fn from((start, end): (S, E)) -> Self {
        Self::new().start(start).end(end)
    }
}

impl fmt::Debug for MeasureOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasureOptions")
            .field("start", &self.start)
            .field("end", &self.end)
            .field("duration", &self.duration)
            .field("has_detail", &self.detail.is_some())
            .finish()
    }
}
