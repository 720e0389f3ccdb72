//! Where Unix sockets are: at a path, or, on Linux, under a name that is no file's.

use std::io;
use std::os::unix::net::SocketAddr;

use rustix::net::SocketAddrUnix;

/// Says what to do about an address that is in use: a path is left behind by everyone who used it.
pub(super) fn explain(error: io::Error, address: &SocketAddr) -> io::Error {
    match address.as_pathname() {
        Some(path) if error.kind() == io::ErrorKind::AddrInUse => {
            let path = path.display();
            let text = format!(
                "there is a file at {path} already; if no process uses it any more, remove it first"
            );
            io::Error::new(error.kind(), text)
        }
        _ => error,
    }
}

/// An address as the system calls want it.
pub(super) fn convert(address: &SocketAddr) -> io::Result<SocketAddrUnix> {
    if let Some(path) = address.as_pathname() {
        return Ok(SocketAddrUnix::new(path)?);
    }
    #[cfg(target_os = "linux")]
    if let Some(name) = std::os::linux::net::SocketAddrExt::as_abstract_name(address) {
        return Ok(SocketAddrUnix::new_abstract_name(name)?);
    }
    let error = "nobody can be reached at an address without a name; bind the other socket to one";
    Err(io::Error::new(io::ErrorKind::InvalidInput, error))
}
