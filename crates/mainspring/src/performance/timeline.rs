//! Where entries are kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::clock::Clock;
use crate::fault::drop_isolated;
use crate::local::Local;
use crate::performance::entry::{EntryType, PerformanceEntry, select};
use crate::performance::observer::Observers;
use crate::sys;

/// The capacity that is kept when the timeline becomes empty.
const KEEP: usize = 1024;

const NANOS_PER_MILLI: f64 = 1e6;

/// No borrow of what is inside is held while code of the user runs, and that includes destructors of details.
pub(crate) struct Timeline {
    /// The time origin, by the loop's clock.
    origin: i64,
    /// The time origin, in milliseconds since 1970.
    time_origin: f64,
    /// In the order in which they were recorded.
    entries: RefCell<Vec<PerformanceEntry>>,
    /// When the last mark of each name was.
    last_marks: RefCell<HashMap<Rc<str>, f64>>,
    pub(super) observers: Observers,
}

impl Timeline {
    /// Begins now, which is the time that the clock has cached.
    pub(crate) fn new(clock: &Clock) -> Self {
        let origin = clock.cached();
        Self {
            origin,
            time_origin: time_of_day(origin),
            entries: RefCell::new(Vec::new()),
            last_marks: RefCell::new(HashMap::new()),
            observers: Observers::new(),
        }
    }

    pub(super) fn now(&self, clock: &Clock) -> f64 {
        (clock.read() - self.origin) as f64 / NANOS_PER_MILLI
    }

    pub(super) fn time_origin(&self) -> f64 {
        self.time_origin
    }

    pub(super) fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// When the last mark of this name was.
    pub(super) fn last_mark(&self, name: &str) -> Option<f64> {
        self.last_marks.borrow().get(name).copied()
    }

    pub(super) fn select(
        &self,
        name: Option<&str>,
        entry_type: Option<EntryType>,
    ) -> Vec<PerformanceEntry> {
        select(&self.entries.borrow(), name, entry_type)
    }

    /// Those of this type, in the order in which they were recorded.
    pub(super) fn recorded(&self, entry_type: EntryType) -> Vec<PerformanceEntry> {
        let entries = self.entries.borrow();
        entries.iter().filter(|entry| entry.entry_type() == entry_type).cloned().collect()
    }

    pub(super) fn add(&self, local: &Local, entry: &PerformanceEntry) {
        self.observers.offer(local, entry);
        if entry.entry_type() == EntryType::Mark {
            self.last_marks.borrow_mut().insert(entry.shared_name(), entry.start_time());
        }
        // Nobody would let go of a detail that holds the loop.
        let kept = if local.finished.get() { entry.without_detail() } else { entry.clone() };
        self.entries.borrow_mut().push(kept);
    }

    pub(super) fn clear(&self, entry_type: EntryType, name: Option<&str>) {
        if entry_type == EntryType::Mark {
            let mut last_marks = self.last_marks.borrow_mut();
            match name {
                Some(name) => drop(last_marks.remove(name)),
                None => *last_marks = HashMap::new(),
            }
        }
        let mut entries = self.entries.borrow_mut();
        let is_meant = |entry: &mut PerformanceEntry| {
            entry.entry_type() == entry_type && name.is_none_or(|name| entry.name() == name)
        };
        let removed: Vec<_> = entries.extract_if(.., is_meant).collect();
        if entries.is_empty() {
            entries.shrink_to(KEEP);
        }
        drop(entries);
        drop(removed);
    }

    /// Lets go of everything that may hold the loop.
    pub(crate) fn end(&self) {
        self.observers.end();
        let mut entries = self.entries.borrow_mut();
        let with_detail = entries.iter_mut().filter(|entry| entry.has_detail());
        let old: Vec<_> = with_detail
            .map(|entry| {
                let stripped = entry.without_detail();
                std::mem::replace(entry, stripped)
            })
            .collect();
        drop(entries);
        old.into_iter().for_each(drop_isolated);
    }
}

/// The time of day, in milliseconds since 1970, at a time of the monotonic clock. A virtual clock has the same
/// scale, so that it stands for the time of day at which it was made and what has passed since.
///
/// Times of all loops of a process can be compared: what the time of day was is asked once.
fn time_of_day(time: i64) -> f64 {
    /// The time of day when the monotonic clock was at zero.
    static ZERO: LazyLock<i128> = LazyLock::new(|| {
        let now = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        };
        now - i128::from(sys::now())
    });
    (*ZERO + i128::from(time)) as f64 / NANOS_PER_MILLI
}
