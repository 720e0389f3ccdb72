//! The system calls that move bytes through a stream socket. None of them raises SIGPIPE.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;

use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::io::{AsyncFd, Direction};
use crate::sys::AsFd;

/// The system takes no more pieces than this at a time.
const MAX_PIECES: usize = 1024;

/// Pieces that are not more than this all together are put together first: to copy them costs less than to have
/// the system go through them.
const SMALL: usize = 1024;

/// On Apple's systems the sockets are told when they are made, and Windows has no signals.
#[cfg(not(any(target_vendor = "apple", windows)))]
const QUIET: SendFlags = SendFlags::NOSIGNAL;
#[cfg(any(target_vendor = "apple", windows))]
const QUIET: SendFlags = SendFlags::empty();

/// Reads into memory that need not be initialized, and says how much of it is then. If the system
/// `has_boundaries`, it may stop at one of them.
#[inline]
pub(super) fn read<S: AsFd>(
    io: &AsyncFd<S>,
    bytes: &mut [MaybeUninit<u8>],
    has_boundaries: bool,
) -> io::Result<usize> {
    let asked = bytes.len();
    let (done, is_whole) = if has_boundaries {
        receive(io.get_ref(), bytes)?
    } else {
        (recv(io.get_ref(), bytes, RecvFlags::empty())?.1, true)
    };
    if is_whole {
        io.note_stream(Direction::Read, done, asked);
    }
    Ok(done)
}

/// Memory that is initialized, as memory that need not be.
pub(super) fn as_uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    let (start, len) = (bytes.as_mut_ptr().cast(), bytes.len());
    // SAFETY: the same memory, with a type of the same layout. Only this module is given the result, and the
    // system writes nothing but bytes there.
    unsafe { std::slice::from_raw_parts_mut(start, len) }
}

/// Reads without taking away.
pub(super) fn peek(fd: &impl AsFd, bytes: &mut [u8]) -> io::Result<usize> {
    Ok(recv(fd, bytes, RecvFlags::PEEK)?.1)
}

#[inline]
pub(super) fn write<S: AsFd>(io: &AsyncFd<S>, bytes: &[u8]) -> io::Result<usize> {
    let done = send(io.get_ref(), bytes, QUIET)?;
    io.note_stream(Direction::Write, done, bytes.len());
    Ok(done)
}

/// Writes several pieces, as if they were one.
#[inline]
pub(super) fn write_vectored<S: AsFd>(
    io: &AsyncFd<S>,
    pieces: &[IoSlice<'_>],
) -> io::Result<usize> {
    // Those at the front that are empty do not count.
    let first = pieces.iter().position(|piece| !piece.is_empty()).unwrap_or_default();
    let pieces = &pieces[first..pieces.len().min(first + MAX_PIECES)];
    if let [one] = pieces {
        return write(io, one);
    }
    let asked = pieces.iter().map(|piece| piece.len()).sum();
    if asked <= SMALL {
        let mut whole = [0; SMALL];
        let mut end = 0;
        for piece in pieces {
            whole[end..end + piece.len()].copy_from_slice(piece);
            end += piece.len();
        }
        return write(io, &whole[..end]);
    }
    let done = gather(io.get_ref(), pieces)?;
    io.note_stream(Direction::Write, done, asked);
    Ok(done)
}

#[cfg(unix)]
fn gather(fd: &impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    use rustix::net::{SendAncillaryBuffer, sendmsg};

    Ok(sendmsg(fd, pieces, &mut SendAncillaryBuffer::default(), QUIET)?)
}

/// One after the other, until one is not taken as a whole.
#[cfg(windows)]
fn gather(fd: &impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    let mut all = 0;
    for piece in pieces {
        match send(fd, piece, QUIET) {
            Ok(done) if done == piece.len() => all += done,
            Ok(done) => return Ok(all + done),
            Err(_) if all > 0 => return Ok(all),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

/// Reads from a socket that can carry more than bytes, descriptors for example, at which the system stops.
/// Returns how much, and whether it did not stop: what is not bytes is thrown away, and the system says so.
#[cfg(target_os = "linux")]
fn receive(fd: &impl AsFd, bytes: &mut [MaybeUninit<u8>]) -> io::Result<(usize, bool)> {
    use crate::sys::number;

    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: it is made of numbers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    // SAFETY: the descriptor is open, and the message points to one piece of memory that is borrowed for
    // writing. The system writes there, and reads nothing.
    let done = unsafe { libc::recvmsg(number(fd), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let done = usize::try_from(done).map_err(|_| io::Error::last_os_error())?;
    Ok((done, message.msg_flags & libc::MSG_CTRUNC == 0))
}

/// Whether the system stopped is of no use here: no other backend tells of the end.
#[cfg(not(target_os = "linux"))]
fn receive(fd: &impl AsFd, bytes: &mut [MaybeUninit<u8>]) -> io::Result<(usize, bool)> {
    Ok((recv(fd, bytes, RecvFlags::empty())?.1, false))
}
