//! What an observer observes.

use crate::performance::entry::EntryType;

/// A set of entry types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn with(self, entry_type: EntryType) -> Self {
        Self(self.0 | 1 << entry_type as u8)
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn contains(self, entry_type: EntryType) -> bool {
        self.0 & 1 << entry_type as u8 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }
}

/// In which of JavaScript's two ways types are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By `type`: each call adds one.
    Single,
    /// By `entryTypes`: each call replaces them.
    Multiple,
}

/// What an observer is to observe, in one of JavaScript's two ways.
///
/// | JavaScript | here | short |
/// |---|---|---|
/// | `{ type: "mark" }` | [`ObserveOptions::single`] | `EntryType::Mark` |
/// | `{ type: "mark", buffered: true }` | [`ObserveOptions::buffered`] | |
/// | `{ entryTypes: ["mark", "measure"] }` | [`ObserveOptions::entry_types`] | `[EntryType::Mark, EntryType::Measure]` |
///
/// ```
/// use mainspring::{EntryType, EventLoop};
///
/// let event_loop = EventLoop::new()?;
/// let performance = event_loop.cx().performance();
/// performance.observe([EntryType::Mark, EntryType::Measure], |_, list, _| {
///     for entry in list.get_entries() {
///         println!("{entry:?}");
///     }
/// });
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ObserveOptions {
    pub(super) form: Form,
    pub(super) types: Types,
    /// The type of which those are delivered, too, that are in the timeline already.
    pub(super) buffered: Option<EntryType>,
}

impl ObserveOptions {
    /// Entries of one type, beside those of the types that the observer was given in this way before.
    ///
    /// ```
    /// use mainspring::{EntryType, ObserveOptions};
    ///
    /// let options = ObserveOptions::single(EntryType::Mark);
    /// # drop(options);
    /// ```
    pub fn single(entry_type: EntryType) -> Self {
        Self { form: Form::Single, types: Types::NONE.with(entry_type), buffered: None }
    }

    /// The same, and those that are in the timeline already are delivered first.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop, ObserveOptions};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// performance.mark("before");
    /// performance.observe(ObserveOptions::buffered(EntryType::Mark), |_, list, _| {
    ///     assert_eq!(list.get_entries()[0].name(), "before");
    /// });
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn buffered(entry_type: EntryType) -> Self {
        Self { buffered: Some(entry_type), ..Self::single(entry_type) }
    }

    /// Entries of these types, in place of those that the observer was given before. An empty list is
    /// ignored, as in JavaScript.
    ///
    /// ```
    /// use mainspring::{EntryType, ObserveOptions};
    ///
    /// let options = ObserveOptions::entry_types([EntryType::Mark, EntryType::Measure]);
    /// # drop(options);
    /// ```
    pub fn entry_types(entry_types: impl IntoIterator<Item = EntryType>) -> Self {
        let types = entry_types.into_iter().fold(Types::NONE, Types::with);
        Self { form: Form::Multiple, types, buffered: None }
    }
}

impl From<EntryType> for ObserveOptions {
    fn from(entry_type: EntryType) -> Self {
        Self::single(entry_type)
    }
}

impl<const N: usize> From<[EntryType; N]> for ObserveOptions {
    fn from(entry_types: [EntryType; N]) -> Self {
        Self::entry_types(entry_types)
    }
}
