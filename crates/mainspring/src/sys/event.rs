//! What a poller reports.

/// What is to be said about a descriptor. The numbers are those of epoll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    pub(crate) const NOTHING: Self = Self(0);
    pub(crate) const READABLE: Self = Self(1);
    pub(crate) const WRITABLE: Self = Self(1 << 2);
    pub(crate) const ERROR: Self = Self(1 << 3);
    pub(crate) const HANGUP: Self = Self(1 << 4);
    /// The other flags say more than is known for certain.
    pub(crate) const UNSURE: Self = Self(1 << 5);
    /// Only for those who ask: the other side writes no more, or something out of band has come. So a read
    /// that returned less than it could does not mean that there is no more.
    pub(crate) const READ_END: Self = Self(1 << 6);

    /// What epoll says.
    #[cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]
    pub(crate) const fn from_epoll(bits: u32) -> Self {
        let known = Self::READABLE.or(Self::WRITABLE).or(Self::ERROR).or(Self::HANGUP);
        let is_read_end = bits & (Self::EPOLL_PRI | Self::EPOLL_RDHUP) != 0;
        Self(bits as u8 & known.0 | if is_read_end { Self::READ_END.0 } else { 0 })
    }

    #[cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]
    const EPOLL_PRI: u32 = 1 << 1;
    #[cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]
    const EPOLL_RDHUP: u32 = 1 << 13;

    /// These flags, if the condition holds.
    #[cfg(any(loom, not(target_os = "linux"), mainspring_portable))]
    pub(crate) const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NOTHING }
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether one of these is set.
    pub(crate) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

/// An event of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) token: u64,
    pub(crate) flags: Flags,
}
