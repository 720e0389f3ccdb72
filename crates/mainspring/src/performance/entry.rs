//! What is recorded.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

/// The type of an entry.
///
/// ```
/// use mainspring::EntryType;
///
/// assert_eq!(EntryType::Mark.to_string(), "mark");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryType {
    /// A moment.
    Mark,
    /// A span of time.
    Measure,
}

impl EntryType {
    pub(super) const ALL: [Self; 2] = [Self::Mark, Self::Measure];

    /// The name that JavaScript has for it.
    ///
    /// ```
    /// use mainspring::EntryType;
    ///
    /// assert_eq!(EntryType::Measure.as_str(), "measure");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Measure => "measure",
        }
    }
}

impl fmt::Display for EntryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A mark or a measure. It does not change any more; clones are the same entry.
///
/// ```
/// use mainspring::{EntryType, EventLoop};
///
/// let event_loop = EventLoop::new()?;
/// let entry = event_loop.cx().performance().measure("startup", ())?;
/// assert_eq!(entry.entry_type(), EntryType::Measure);
/// println!("{} took {} ms", entry.name(), entry.duration());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PerformanceEntry(Rc<Record>);

#[derive(Clone)]
struct Record {
    name: Rc<str>,
    entry_type: EntryType,
    start_time: f64,
    duration: f64,
    detail: Option<Rc<dyn Any>>,
}

impl PerformanceEntry {
    pub(super) fn new(
        name: &str,
        entry_type: EntryType,
        start_time: f64,
        duration: f64,
        detail: Option<Rc<dyn Any>>,
    ) -> Self {
        Self(Rc::new(Record { name: name.into(), entry_type, start_time, duration, detail }))
    }

    /// The name that it was given.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// assert_eq!(event_loop.cx().performance().mark("here").name(), "here");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn shared_name(&self) -> Rc<str> {
        Rc::clone(&self.0.name)
    }

    /// Whether it is a mark or a measure.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// assert_eq!(event_loop.cx().performance().mark("here").entry_type(), EntryType::Mark);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn entry_type(&self) -> EntryType {
        self.0.entry_type
    }

    /// When it was, or began: milliseconds since the time origin. Negative for a measure that was said to last
    /// for longer than there was time before its end.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// assert!(performance.mark("here").start_time() <= performance.now());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn start_time(&self) -> f64 {
        self.0.start_time
    }

    /// How many milliseconds it lasted: none for a mark, and a negative number for a measure that ends before
    /// it starts.
    ///
    /// ```
    /// use mainspring::{EventLoop, MeasureOptions};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let options = MeasureOptions::new().start(5.0).end(2.0);
    /// let measure = event_loop.cx().performance().measure("backwards", options)?;
    /// assert_eq!(measure.duration(), -3.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.0.duration
    }

    /// The detail that it was given, if it is of this type.
    ///
    /// ```
    /// use mainspring::{EventLoop, MarkOptions};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// let mark = performance.mark_with("request", MarkOptions::new().detail(404_u16))?;
    /// assert_eq!(mark.detail(), Some(&404_u16));
    /// assert_eq!(mark.detail::<String>(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn detail<D: Any>(&self) -> Option<&D> {
        self.0.detail.as_ref()?.downcast_ref()
    }

    /// Whether they are the very same entry, not just equal ones.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// let mark = performance.mark("here");
    /// assert!(performance.get_entries()[0].ptr_eq(&mark));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn has_detail(&self) -> bool {
        self.0.detail.is_some()
    }

    /// The same entry for the timeline of a loop that has ended.
    pub(super) fn without_detail(&self) -> Self {
        if self.has_detail() {
            Self(Rc::new(Record { detail: None, ..(*self.0).clone() }))
        } else {
            self.clone()
        }
    }
}

impl fmt::Debug for PerformanceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerformanceEntry")
            .field("name", &self.name())
            .field("entry_type", &self.entry_type())
            .field("start_time", &self.start_time())
            .field("duration", &self.duration())
            .field("has_detail", &self.has_detail())
            .finish()
    }
}

/// Those of a name and of a type, if they are given, in the order of their start times.
pub(super) fn select(
    entries: &[PerformanceEntry],
    name: Option<&str>,
    entry_type: Option<EntryType>,
) -> Vec<PerformanceEntry> {
    let matches = |entry: &&PerformanceEntry| {
        name.is_none_or(|name| entry.name() == name)
            && entry_type.is_none_or(|entry_type| entry.entry_type() == entry_type)
    };
    let mut selected: Vec<_> = entries.iter().filter(matches).cloned().collect();
    // No time is NaN. By this order, unlike the total one, zero equals its negative.
    selected.sort_by(|a, b| {
        a.start_time().partial_cmp(&b.start_time()).unwrap_or(std::cmp::Ordering::Equal)
    });
    selected
}
