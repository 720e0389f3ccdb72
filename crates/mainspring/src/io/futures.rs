//! The traits of `futures-io`, for any source that the standard library can read or write.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

use super::async_fd::AsyncFd;
use super::ready::Direction;
use crate::sys::AsFd;

impl<S: AsFd + 'static> AsyncRead for &AsyncFd<S>
where
    for<'a> &'a S: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_read_with(context, |mut source| source.read(bytes))
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_read_with(context, |mut source| source.read_vectored(pieces))
    }
}

/// Closing only flushes: what it means to end a direction, the source knows.
impl<S: AsFd + 'static> AsyncWrite for &AsyncFd<S>
where
    for<'a> &'a S: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |mut source| source.write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |mut source| source.write_vectored(pieces))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // At once, also if there is no room: most sources have nothing to flush.
        match self.try_with(Direction::Write, |mut source| source.flush()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.poll_write_with(context, |mut source| source.flush())
            }
            result => Poll::Ready(result),
        }
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

impl<S: AsFd + 'static> AsyncRead for AsyncFd<S>
where
    for<'a> &'a S: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read(context, bytes)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read_vectored(context, pieces)
    }
}

/// As of a reference to it.
impl<S: AsFd + 'static> AsyncWrite for AsyncFd<S>
where
    for<'a> &'a S: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write_vectored(context, pieces)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
