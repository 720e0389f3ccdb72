//! The names of timers.

use std::fmt;
use std::num::NonZeroU64;

/// Bits of an id that say which slot the timer is in.
pub(crate) const INDEX_BITS: u32 = 25;

/// One past the last generation of a slot. With all of them, the greatest id would be 2^53.
pub(crate) const GENERATIONS: u32 = (1 << (53 - INDEX_BITS)) - 1;

/// Names a timer or an interval of one loop.
///
/// Ids are never reused by a loop, never 0, and at most 2^53 − 1, so that a script engine can keep one in
/// a number. That of a one-shot timer is dead from the moment at which its callback begins; that of an
/// interval lives until it is cleared.
///
/// ```
/// use mainspring::{EventLoop, TimerId};
/// use std::time::Duration;
///
/// let event_loop = EventLoop::new()?;
/// let id = event_loop.cx().set_timeout(Duration::from_secs(1), |_| ())?;
/// let number = id.get() as f64; // what a script sees
/// assert_eq!(TimerId::from_u64(number as u64), Some(id));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(NonZeroU64);

impl TimerId {
    pub(crate) const MAX: u64 = (1 << 53) - 1;

    /// The id as a number.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.cx().set_timeout(Duration::ZERO, |_| ())?;
    /// assert!((1..1 << 53).contains(&id.get()));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The id with this number; none for 0 and for what is greater than 2^53 − 1.
    ///
    /// Whether there is such a timer is not asked here: clearing one that does not exist does nothing.
    ///
    /// ```
    /// use mainspring::TimerId;
    ///
    /// assert!(TimerId::from_u64(1).is_some());
    /// assert!(TimerId::from_u64(0).is_none());
    /// assert!(TimerId::from_u64(1 << 53).is_none());
    /// ```
    #[must_use]
    pub const fn from_u64(number: u64) -> Option<Self> {
        if number > Self::MAX {
            return None;
        }
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The timer that is in the slot `index` for the `generation`th time.
    #[inline]
    pub(crate) fn new(index: u32, generation: u32) -> Self {
        debug_assert!(index < 1 << INDEX_BITS && generation < GENERATIONS);
        // One more, so that the first is 1.
        Self(NonZeroU64::MIN.saturating_add(u64::from(generation) << INDEX_BITS | u64::from(index)))
    }

    /// The slot.
    #[inline]
    pub(crate) fn index(self) -> u32 {
        (self.get() - 1) as u32 & ((1 << INDEX_BITS) - 1)
    }

    /// How often the slot had been used before.
    #[inline]
    pub(crate) fn generation(self) -> u32 {
        ((self.get() - 1) >> INDEX_BITS) as u32
    }
}

impl fmt::Display for TimerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: TM-8
    #[test]
    fn an_id_is_made_of_slot_and_generation_and_stays_in_its_range() {
        let last = (1 << INDEX_BITS) - 1;
        for (index, generation) in
            [(0, 0), (last, 0), (0, GENERATIONS - 1), (last, GENERATIONS - 1)]
        {
            let id = TimerId::new(index, generation);
            assert_eq!((id.index(), id.generation()), (index, generation));
            assert_eq!(TimerId::from_u64(id.get()), Some(id), "in the range");
        }
        assert_eq!(TimerId::new(0, 0).get(), 1);
    }
}
