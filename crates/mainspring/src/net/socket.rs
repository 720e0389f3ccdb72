//! Making sockets that do not block, that child processes do not inherit, and that raise no signal.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType};

#[cfg(target_os = "linux")]
pub(super) fn new(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    use rustix::net::{SocketFlags, socket_with};

    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, kind, flags, None)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn new(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};

    let socket = rustix::net::socket(family, kind, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    #[cfg(target_vendor = "apple")]
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}
