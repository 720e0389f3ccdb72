//! What to be told about a descriptor.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// What a registration asks for, and how often to be told.
///
/// | | a callback is run |
/// |---|---|
/// | level-triggered, the default | in every tick in which the descriptor is ready |
/// | [`edge_triggered`](Self::edge_triggered) | once whenever something new arrives: read or write until `WouldBlock` |
/// | [`one_shot`](Self::one_shot) | once, and not again before it is modified or watched anew |
///
/// Errors and hang-ups need not be asked for. They count as readable and, errors only, as writable, for
/// those who asked for that.
///
/// ```
/// use mainspring::Interest;
///
/// let interest = Interest::READ | Interest::WRITE;
/// assert_eq!(interest, Interest::BOTH);
/// assert!(interest.one_shot().is_one_shot());
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Interest(u8);

impl Interest {
    /// Nothing for now: the descriptor stays registered.
    ///
    /// ```
    /// use mainspring::Interest;
    ///
    /// assert_eq!(Interest::NONE | Interest::READ, Interest::READ);
    /// ```
    pub const NONE: Self = Self(0);

    /// Readable, at its end, hung up, or in error.
    ///
    /// ```
    /// assert!(mainspring::Interest::READ.is_read());
    /// ```
    pub const READ: Self = Self(1);

    /// Writable, or in error.
    ///
    /// ```
    /// assert!(mainspring::Interest::WRITE.is_write());
    /// ```
    pub const WRITE: Self = Self(1 << 1);

    /// Both of them.
    ///
    /// ```
    /// assert!(mainspring::Interest::BOTH.is_read());
    /// ```
    pub const BOTH: Self = Self(Self::READ.0 | Self::WRITE.0);

    pub(crate) const EDGE: Self = Self(1 << 2);
    pub(crate) const ONE_SHOT: Self = Self(1 << 3);
    /// To be told of the end of what can be read, before it is met. Only in what the system is asked for.
    pub(crate) const READ_END: Self = Self(1 << 4);

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits & 0b1111)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// The directions, without how often.
    pub(crate) const fn directions(self) -> Self {
        Self(self.0 & Self::BOTH.0)
    }

    /// How often, without the directions.
    pub(crate) const fn mode(self) -> Self {
        Self(self.0 & !Self::BOTH.0)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// This, if the condition holds.
    pub(crate) const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }

    /// Neither edge-triggered nor one-shot.
    pub(crate) const fn is_level(self) -> bool {
        self.mode().0 == 0
    }

    #[cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]
    pub(crate) const fn is_read_end(self) -> bool {
        self.has(Self::READ_END)
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// To be told once for each edge.
    ///
    /// ```
    /// use mainspring::Interest;
    ///
    /// assert!(Interest::READ.edge_triggered().is_edge_triggered());
    /// ```
    #[must_use]
    pub const fn edge_triggered(self) -> Self {
        Self(self.0 | Self::EDGE.0)
    }

    /// To be told once.
    ///
    /// ```
    /// use mainspring::Interest;
    ///
    /// assert!(Interest::READ.one_shot().is_one_shot());
    /// ```
    #[must_use]
    pub const fn one_shot(self) -> Self {
        Self(self.0 | Self::ONE_SHOT.0)
    }

    /// Whether it asks for readability.
    ///
    /// ```
    /// assert!(!mainspring::Interest::WRITE.is_read());
    /// ```
    #[must_use]
    pub const fn is_read(self) -> bool {
        self.has(Self::READ)
    }

    /// Whether it asks for writability.
    ///
    /// ```
    /// assert!(!mainspring::Interest::READ.is_write());
    /// ```
    #[must_use]
    pub const fn is_write(self) -> bool {
        self.has(Self::WRITE)
    }

    /// Whether it asks for nothing.
    ///
    /// ```
    /// assert!(mainspring::Interest::NONE.is_none());
    /// ```
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 & Self::BOTH.0 == 0
    }

    /// Whether it is edge-triggered.
    ///
    /// ```
    /// assert!(!mainspring::Interest::READ.is_edge_triggered());
    /// ```
    #[must_use]
    pub const fn is_edge_triggered(self) -> bool {
        self.has(Self::EDGE)
    }

    /// Whether it is one-shot.
    ///
    /// ```
    /// assert!(!mainspring::Interest::READ.is_one_shot());
    /// ```
    #[must_use]
    pub const fn is_one_shot(self) -> bool {
        self.has(Self::ONE_SHOT)
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_read(), self.is_write()) {
            (false, false) => "NONE",
            (true, false) => "READ",
            (false, true) => "WRITE",
            (true, true) => "BOTH",
        })?;
        if self.is_edge_triggered() {
            f.write_str(" | EDGE")?;
        }
        if self.is_one_shot() {
            f.write_str(" | ONE_SHOT")?;
        }
        Ok(())
    }
}
