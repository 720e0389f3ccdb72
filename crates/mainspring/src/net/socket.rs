//! Making sockets that do not block, that child processes do not inherit, and that raise no signal.

use std::io;
use std::net::SocketAddr;

use rustix::net::{AddressFamily, SocketType};

use crate::sys::OwnedFd;

/// The family of sockets that are to have such an address, or to be connected to it.
pub(super) fn family(address: SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}

#[cfg(target_os = "linux")]
pub(super) fn new(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    use rustix::net::{SocketFlags, socket_with};

    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, kind, flags, None)?)
}

#[cfg(windows)]
pub(super) fn new(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    use std::sync::LazyLock;

    // Ended with the process.
    static STARTED: LazyLock<rustix::io::Result<()>> =
        LazyLock::new(|| rustix::net::wsa_startup().map(drop));
    (*STARTED)?;
    // Child processes inherit no handle unless they are told to.
    let socket = rustix::net::socket(family, kind, None)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn new(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};

    let socket = rustix::net::socket(family, kind, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    #[cfg(target_vendor = "apple")]
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}
