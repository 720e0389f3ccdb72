//! Making sockets that do not block, that child processes do not inherit, and that raise no signal.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketType};

/// Elsewhere the sockets are told when they are made.
#[cfg(not(target_vendor = "apple"))]
pub(super) const QUIET: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
pub(super) const QUIET: SendFlags = SendFlags::empty();

#[cfg(target_os = "linux")]
pub(super) fn new(family: AddressFamily) -> Result<OwnedFd, Errno> {
    use rustix::net::{SocketFlags, socket_with};

    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(family, SocketType::STREAM, flags, None)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn new(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    prepare(&socket)?;
    Ok(socket)
}

/// The next connection of a listener.
#[cfg(target_os = "linux")]
pub(super) fn accept(listener: &OwnedFd) -> Result<OwnedFd, Errno> {
    use rustix::net::{SocketFlags, accept_with};

    accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn accept(listener: &OwnedFd) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::accept(listener)?;
    prepare(&socket)?;
    Ok(socket)
}

#[cfg(not(target_os = "linux"))]
fn prepare(socket: &OwnedFd) -> Result<(), Errno> {
    use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};

    fcntl_setfd(socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(socket, true)?;
    #[cfg(target_vendor = "apple")]
    rustix::net::sockopt::set_socket_nosigpipe(socket, true)?;
    Ok(())
}

pub(super) fn family(address: &SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}
