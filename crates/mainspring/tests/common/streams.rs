//! Two streams that are connected, on any system.

use std::io;

#[cfg(unix)]
pub use std::os::unix::net::UnixStream as Stream;

#[cfg(windows)]
pub use std::net::TcpStream as Stream;

#[cfg(unix)]
pub fn pair() -> io::Result<(Stream, Stream)> {
    Stream::pair()
}

#[cfg(windows)]
pub fn pair() -> io::Result<(Stream, Stream)> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let ours = Stream::connect(listener.local_addr()?)?;
    let (theirs, _) = listener.accept()?;
    for stream in [&ours, &theirs] {
        stream.set_nodelay(true)?;
    }
    Ok((ours, theirs))
}

/// By what number the system knows it.
#[cfg(unix)]
pub fn number(stream: &Stream) -> std::os::fd::RawFd {
    std::os::fd::AsRawFd::as_raw_fd(stream)
}

#[cfg(windows)]
pub fn number(stream: &Stream) -> std::os::windows::io::RawSocket {
    std::os::windows::io::AsRawSocket::as_raw_socket(stream)
}
