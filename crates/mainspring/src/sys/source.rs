//! What a poller can wait for: descriptors on Unix, sockets on Windows.
//!
//! Windows has the same notions under other names: `AsSocket`, `BorrowedSocket`, `RawSocket`. They go by the names of
//! Unix here, so that the [table](crate::io) is written once.

#[cfg(all(unix, not(loom)))]
pub(crate) use std::os::fd::OwnedFd;
#[cfg(unix)]
pub(crate) use std::os::fd::{AsFd, BorrowedFd, RawFd};
#[cfg(windows)]
pub(crate) use std::os::windows::io::{
    AsSocket as AsFd, BorrowedSocket as BorrowedFd, OwnedSocket as OwnedFd, RawSocket as RawFd,
};

/// Gives a type the trait by which its descriptor or socket is borrowed: that of a part of it.
#[cfg(not(loom))]
macro_rules! as_fd {
    (($($generics:tt)*) $Type:ty, $this:ident => $inner:expr) => {
        #[cfg(unix)]
        impl $($generics)* std::os::fd::AsFd for $Type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                let $this = self;
                std::os::fd::AsFd::as_fd($inner)
            }
        }

        #[cfg(windows)]
        impl $($generics)* std::os::windows::io::AsSocket for $Type {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                let $this = self;
                std::os::windows::io::AsSocket::as_socket($inner)
            }
        }
    };
}
#[cfg(not(loom))]
pub(crate) use as_fd;

/// The number by which the system knows a source.
pub(crate) fn number(source: &impl AsFd) -> RawFd {
    #[cfg(unix)]
    {
        std::os::fd::AsRawFd::as_raw_fd(&source.as_fd())
    }
    #[cfg(windows)]
    {
        std::os::windows::io::AsRawSocket::as_raw_socket(&source.as_socket())
    }
}
