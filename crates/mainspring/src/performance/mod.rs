//! The loop's stopwatch: marks, measures, and those who are told of them.
//!
//! | file | what |
//! |---|---|
//! | `entry` | what is recorded |
//! | `mark`, `measure` | how it is asked for |
//! | `error` | what is refused |
//! | `timeline` | where it is kept |
//! | `observe_options`, `observer` | who is told of it |

mod entry;
mod error;
mod mark;
mod measure;
mod observe_options;
mod observer;
mod timeline;

use std::fmt;

use crate::Cx;

pub use self::entry::{EntryType, PerformanceEntry};
pub use self::error::PerformanceError;
pub use self::mark::MarkOptions;
pub use self::measure::{MeasureOptions, MeasurePoint};
pub use self::observe_options::ObserveOptions;
pub use self::observer::{PerformanceObserver, PerformanceObserverEntryList};
pub(crate) use self::timeline::Timeline;

/// The `performance` object of a loop, as JavaScript has it: High Resolution Time, User Timing Level 3 and
/// Performance Timeline Level 2. [`Cx::performance`] gives it.
///
/// ```
/// use mainspring::{EventLoop, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::new();
/// let event_loop = EventLoop::builder().clock(&clock).build()?;
/// let performance = event_loop.cx().performance();
/// performance.mark("start");
/// clock.advance(Duration::from_micros(1500)); // something takes its time
/// performance.mark("end");
/// let measure = performance.measure("work", ("start", "end"))?;
/// assert_eq!(measure.duration(), 1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Time
///
/// Times are milliseconds since the *time origin*, the moment at which the loop was built. They come from the
/// loop's own clock, a [`VirtualClock`](crate::VirtualClock) if it has one, and never go back.
///
/// # What is kept
///
/// The timeline has no bound, as in browsers and in Node: an entry stays until
/// [`clear_marks`](Self::clear_marks) or [`clear_measures`](Self::clear_measures) removes it. Entries stay
/// readable after the loop's end, but it lets go of their [details](PerformanceEntry::detail) then, which may
/// hold the loop itself. An entry that you keep has its detail for as long as you keep it.
///
/// Clones are the same object.
#[derive(Clone)]
pub struct Performance {
    cx: Cx,
}

impl Cx {
    /// The loop's clock, marks and measures for whoever wants to know where the time goes.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// let before = performance.now();
    /// assert!(performance.now() >= before);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn performance(&self) -> Performance {
        Performance { cx: self.clone() }
    }
}

impl Performance {
    fn timeline(&self) -> &Timeline {
        &self.cx.0.performance
    }

    /// Milliseconds since the time origin, to the nanosecond, by a look at the clock: unlike [`Cx::now`], it
    /// passes while a callback runs.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::new();
    /// let event_loop = EventLoop::builder().clock(&clock).build()?;
    /// clock.advance(Duration::from_nanos(2_000_001));
    /// assert_eq!(event_loop.cx().performance().now(), 2.000001);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> f64 {
        self.timeline().now(&self.cx.0.shared.clock)
    }

    /// The time origin, in milliseconds since the beginning of 1970: when the loop was built. The system's clock is looked
    /// at once, when the first loop of the process is; `time_origin() + now()` is the time of day, unless somebody set that
    /// clock since.
    ///
    /// A virtual clock starts at the time of day at which it was made. If it had been advanced by an hour
    /// before the loop was built, then the loop's origin is an hour after that: loops that share a clock agree
    /// about `time_origin() + now()`, as exactly as the system's clock is known.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// assert_eq!(performance.time_origin(), performance.time_origin());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn time_origin(&self) -> f64 {
        self.timeline().time_origin()
    }

    /// Records that it is now.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let mark = event_loop.cx().performance().mark("here");
    /// assert_eq!((mark.name(), mark.duration()), ("here", 0.0));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn mark(&self, name: &str) -> PerformanceEntry {
        self.add(PerformanceEntry::new(name, EntryType::Mark, self.now(), 0.0, None))
    }

    /// Records a mark for another time, or with a detail.
    ///
    /// # Errors
    ///
    /// [`PerformanceError::InvalidTime`] if the time is negative or not finite. Nothing is recorded then.
    ///
    /// ```
    /// use mainspring::{EventLoop, MarkOptions};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// let mark = performance.mark_with("here", MarkOptions::new().start_time(5.0).detail("why"))?;
    /// assert_eq!(mark.start_time(), 5.0);
    /// assert_eq!(mark.detail::<&str>(), Some(&"why"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_with(
        &self,
        name: &str,
        options: MarkOptions,
    ) -> Result<PerformanceEntry, PerformanceError> {
        let start_time = options.time(|| self.now())?;
        let entry =
            PerformanceEntry::new(name, EntryType::Mark, start_time, 0.0, options.into_detail());
        Ok(self.add(entry))
    }

    /// Records how long something took. What it took it from and to is said in one of these forms:
    ///
    /// | options | from | to |
    /// |---|---|---|
    /// | `()` | the time origin | now |
    /// | `"a"` | the mark `a` | now |
    /// | `("a", "b")` | the mark `a` | the mark `b` |
    /// | [`MeasureOptions`] | as it says | as it says |
    ///
    /// If there are several marks of a name, the one that was recorded last counts. An end before the start is
    /// allowed, and the duration is negative then.
    ///
    /// # Errors
    ///
    /// Nothing is recorded then.
    ///
    /// * [`PerformanceError::UnknownMark`] if there is no mark of that name.
    /// * [`PerformanceError::InvalidTime`] if a time or the duration is negative or not finite.
    /// * [`PerformanceError::Overdetermined`] if start, end and duration are all given.
    /// * [`PerformanceError::Underdetermined`] if a duration or a detail is given, but no start and no end.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// performance.mark("start");
    /// let measure = performance.measure("so far", "start")?;
    /// assert!(measure.duration() >= 0.0);
    /// assert!(performance.measure("so far", "stort").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure(
        &self,
        name: &str,
        options: impl Into<MeasureOptions>,
    ) -> Result<PerformanceEntry, PerformanceError> {
        let options = options.into();
        let (start, end) = options.span(|| self.now(), |mark| self.timeline().last_mark(mark))?;
        let detail = options.into_detail();
        Ok(self.add(PerformanceEntry::new(name, EntryType::Measure, start, end - start, detail)))
    }

    fn add(&self, entry: PerformanceEntry) -> PerformanceEntry {
        self.timeline().add(&self.cx.0, &entry);
        entry
    }

    /// All entries, in the order of their start times; equal ones, in the order in which they were recorded.
    ///
    /// ```
    /// use mainspring::{EventLoop, MarkOptions};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// performance.mark_with("second", MarkOptions::new().start_time(2.0))?;
    /// performance.mark_with("first", MarkOptions::new().start_time(1.0))?;
    /// let entries = performance.get_entries();
    /// let names: Vec<_> = entries.iter().map(|entry| entry.name()).collect();
    /// assert_eq!(names, ["first", "second"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get_entries(&self) -> Vec<PerformanceEntry> {
        self.timeline().select(None, None)
    }

    /// The entries of one type, in the same order.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// performance.mark("here");
    /// assert_eq!(performance.get_entries_by_type(EntryType::Mark).len(), 1);
    /// assert_eq!(performance.get_entries_by_type(EntryType::Measure).len(), 0);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn get_entries_by_type(&self, entry_type: EntryType) -> Vec<PerformanceEntry> {
        self.timeline().select(None, Some(entry_type))
    }

    /// The entries of one name, of all types or of one, in the same order.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// performance.mark("work");
    /// performance.measure("work", "work")?;
    /// assert_eq!(performance.get_entries_by_name("work", None).len(), 2);
    /// assert_eq!(performance.get_entries_by_name("work", EntryType::Mark).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get_entries_by_name(
        &self,
        name: &str,
        entry_type: impl Into<Option<EntryType>>,
    ) -> Vec<PerformanceEntry> {
        self.timeline().select(Some(name), entry_type.into())
    }

    /// Removes the marks of a name, or all. What was measured by them stays, and so does what waits to be
    /// delivered to an observer.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// for name in ["a", "b", "c"] {
    ///     performance.mark(name);
    /// }
    /// performance.clear_marks("b");
    /// assert_eq!(performance.get_entries().len(), 2);
    /// performance.clear_marks(None);
    /// assert_eq!(performance.get_entries().len(), 0);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_marks<'a>(&self, name: impl Into<Option<&'a str>>) {
        self.timeline().clear(EntryType::Mark, name.into());
    }

    /// Removes the measures of a name, or all.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// performance.measure("since the beginning", ())?;
    /// performance.clear_measures(None);
    /// assert!(performance.get_entries().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear_measures<'a>(&self, name: impl Into<Option<&'a str>>) {
        self.timeline().clear(EntryType::Measure, name.into());
    }

    /// Makes an observer and lets it observe: see [`PerformanceObserver`].
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// performance.observe(EntryType::Mark, |_, list, observer| {
    ///     assert_eq!(list.get_entries().len(), 2);
    ///     observer.disconnect();
    /// });
    /// performance.mark("a");
    /// performance.mark("b");
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn observe<F>(&self, options: impl Into<ObserveOptions>, callback: F) -> PerformanceObserver
    where
        F: FnMut(&Cx, &PerformanceObserverEntryList, &PerformanceObserver) + 'static,
    {
        let observer = PerformanceObserver::new(&self.cx, callback);
        observer.register(options.into());
        observer
    }
}

impl fmt::Debug for Performance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Performance")
            .field("time_origin", &self.time_origin())
            .field("entries", &self.timeline().len())
            .finish_non_exhaustive()
    }
}
