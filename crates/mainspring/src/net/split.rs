//! The two directions of a stream, each by itself.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::stream::Stream;
use super::transfer::as_uninit;

/// The direction of a borrowed stream that is read from; made by [`TcpStream::split`](super::TcpStream::split)
/// and [`UnixStream::split`](super::UnixStream::split).
///
/// ```
/// # use mainspring::net::TcpStream;
/// # async fn f(stream: &mut TcpStream) -> std::io::Result<()> {
/// let (read, write) = stream.split();
/// let mut byte = [0];
/// read.read_exact(&mut byte).await?;
/// write.write_all(&byte).await?;
/// # Ok(()) }
/// ```
pub struct ReadHalf<'a, S>(&'a S);

/// The direction of a borrowed stream that is written to. Dropping it changes nothing; see
/// [`shutdown`](Self::shutdown).
///
/// ```
/// # use mainspring::net::TcpStream;
/// # async fn f(stream: &mut TcpStream) -> std::io::Result<()> {
/// let (_, write) = stream.split();
/// write.write_all(b"hello").await?;
/// write.shutdown()?;
/// # Ok(()) }
/// ```
pub struct WriteHalf<'a, S>(&'a S);

/// The direction of a stream that is read from, with an owner of its own; made by
/// [`TcpStream::into_split`](super::TcpStream::into_split) and
/// [`UnixStream::into_split`](super::UnixStream::into_split).
///
/// When both halves are dropped, the stream is closed.
///
/// ```
/// # use mainspring::net::TcpStream;
/// # async fn f(stream: TcpStream) -> std::io::Result<()> {
/// let (read, _write) = stream.into_split();
/// let mut bytes = [0; 1024];
/// while read.read(&mut bytes).await? != 0 {}
/// # Ok(()) }
/// ```
pub struct OwnedReadHalf<S: Stream>(Rc<S>);

/// The direction of a stream that is written to, with an owner of its own. When it is dropped, the other side
/// comes to the end of what it reads, as by [`shutdown`](Self::shutdown).
///
/// ```
/// # use mainspring::net::TcpStream;
/// # async fn f(stream: TcpStream) -> std::io::Result<()> {
/// let (read, write) = stream.into_split();
/// write.write_all(b"the question").await?;
/// drop(write); // there is no more of it
/// let n = read.read(&mut [0; 1024]).await?;
/// # let _ = n;
/// # Ok(()) }
/// ```
pub struct OwnedWriteHalf<S: Stream> {
    stream: Rc<S>,
    /// Whether dropping it ends the direction.
    ends: bool,
}

pub(super) fn split<S: Stream>(stream: &mut S) -> (ReadHalf<'_, S>, WriteHalf<'_, S>) {
    (ReadHalf(stream), WriteHalf(stream))
}

pub(super) fn into_split<S: Stream>(stream: S) -> (OwnedReadHalf<S>, OwnedWriteHalf<S>) {
    let stream = Rc::new(stream);
    (OwnedReadHalf(Rc::clone(&stream)), OwnedWriteHalf { stream, ends: true })
}

impl<S: Stream> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        if self.ends {
            // If that fails, the other side has seen the end of everything.
            let _ = self.stream.do_shutdown(Shutdown::Write);
        }
    }
}

impl<S: Stream> OwnedReadHalf<S> {
    /// Makes one stream of two halves again. Neither direction is ended by that.
    ///
    /// # Errors
    ///
    /// Both come back if they are not of the same stream.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) {
    /// let (read, write) = stream.into_split();
    /// let stream = read.reunite(write).unwrap();
    /// # drop(stream);
    /// # }
    /// ```
    pub fn reunite(self, mut write: OwnedWriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Rc::ptr_eq(&self.0, &write.stream) {
            return Err(ReuniteError(self, write));
        }
        write.ends = false;
        drop(write);
        Ok(Rc::into_inner(self.0).expect("nobody but the two halves has had it"))
    }
}

impl<S: Stream> OwnedWriteHalf<S> {
    /// See [`OwnedReadHalf::reunite`].
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) {
    /// let (read, write) = stream.into_split();
    /// let stream = write.reunite(read).unwrap();
    /// # drop(stream);
    /// # }
    /// ```
    pub fn reunite(self, read: OwnedReadHalf<S>) -> Result<S, ReuniteError<S>> {
        read.reunite(self)
    }
}

/// Two halves that are not of the same stream, both of which come back.
///
/// ```
/// # use mainspring::net::TcpStream;
/// # fn f(one: TcpStream, other: TcpStream) {
/// let (read, _write) = one.into_split();
/// let (_read, write) = other.into_split();
/// let error = read.reunite(write).unwrap_err();
/// let (read, write) = (error.0, error.1);
/// # let _ = (read, write);
/// # }
/// ```
pub struct ReuniteError<S: Stream>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

impl<S: Stream> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves are not of the same stream; use those that were split together")
    }
}

impl<S: Stream> std::error::Error for ReuniteError<S> {}

macro_rules! read_methods {
    ($Half:ty, $name:literal, $lt:literal, $($lifetime:lifetime)?) => {
        impl<$($lifetime,)? S: Stream> $Half {
            /// Like `read` of the stream. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let mut bytes = [0; 1024];
            /// let n = half.read(&mut bytes).await?;
            /// println!("{:?}", &bytes[..n]);
            /// # Ok(()) }
            /// ```
            pub async fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
                self.stream().do_read(bytes).await
            }

            /// Like `read_exact` of the stream. Not cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let mut length = [0; 4];
            /// half.read_exact(&mut length).await?;
            /// # Ok(()) }
            /// ```
            pub async fn read_exact(&self, bytes: &mut [u8]) -> io::Result<()> {
                self.stream().do_read_exact(bytes).await
            }

            /// Like `peek` of the stream. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let is_over = half.peek(&mut [0]).await? == 0;
            /// # let _ = is_over;
            /// # Ok(()) }
            /// ```
            pub async fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
                self.stream().do_peek(bytes).await
            }

            /// Like `try_read` of the stream.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let n = half.try_read(&mut [0; 1024])?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn try_read(&self, bytes: &mut [u8]) -> io::Result<usize> {
                self.stream().do_try_read(bytes)
            }

            /// Like `readable` of the stream. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// half.readable().await?;
            /// # Ok(()) }
            /// ```
            pub async fn readable(&self) -> io::Result<()> {
                self.stream().io().readable().await
            }

            /// Like `poll_read` of the stream.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let mut bytes = [0; 1024];
            /// let n = std::future::poll_fn(|context| half.poll_read(context, &mut bytes)).await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn poll_read(
                &self,
                context: &mut Context<'_>,
                bytes: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.stream().do_poll_read(context, as_uninit(bytes))
            }
        }

        half!($Half, $($lifetime)?);
        #[cfg(feature = "futures-io")]
        super::traits::futures_read!($Half, $($lifetime)?);
    };
}

macro_rules! write_methods {
    ($Half:ty, $name:literal, $lt:literal, $($lifetime:lifetime)?) => {
        impl<$($lifetime,)? S: Stream> $Half {
            /// Like `write` of the stream. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let n = half.write(b"hello").await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
                self.stream().do_write(bytes).await
            }

            /// Like `write_vectored` of the stream. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            /// # use std::io::IoSlice;
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let n = half.write_vectored(&[IoSlice::new(b"head"), IoSlice::new(b"body")]).await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub async fn write_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
                self.stream().do_write_vectored(pieces).await
            }

            /// Like `write_all` of the stream. Not cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// half.write_all(&[0; 1_000_000]).await?;
            /// # Ok(()) }
            /// ```
            pub async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
                self.stream().do_write_all(bytes).await
            }

            /// Like `try_write` of the stream.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let n = half.try_write(b"hello")?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
                self.stream().do_try_write(bytes)
            }

            /// Like `writable` of the stream. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// half.writable().await?;
            /// # Ok(()) }
            /// ```
            pub async fn writable(&self) -> io::Result<()> {
                self.stream().io().writable().await
            }

            /// Like `poll_write` of the stream.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# async fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// let n = std::future::poll_fn(|context| half.poll_write(context, b"hello")).await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn poll_write(
                &self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.stream().do_poll_write(context, bytes)
            }

            /// Ends this direction: the other side comes to the end after it has read what was written before.
            ///
            /// # Errors
            ///
            /// Those of the system. A stream that the other side has ended already is not an error.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::{Stream, ", $name, "};")]
            #[doc = concat!("# fn f<", $lt, "S: Stream>(half: ", stringify!($Half), ") -> std::io::Result<()> {")]
            /// half.shutdown()?;
            /// # Ok(()) }
            /// ```
            pub fn shutdown(&self) -> io::Result<()> {
                self.stream().do_shutdown(Shutdown::Write)
            }
        }

        half!($Half, $($lifetime)?);
        #[cfg(feature = "futures-io")]
        super::traits::futures_write!($Half, $($lifetime)?);
    };
}

macro_rules! half {
    ($Half:ty, $($lifetime:lifetime)?) => {
        /// The whole stream, for its addresses and options.
        impl<$($lifetime,)? S: Stream> AsRef<S> for $Half {
            fn as_ref(&self) -> &S {
                self.stream()
            }
        }

        impl<$($lifetime,)? S: Stream + fmt::Debug> fmt::Debug for $Half {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.stream().fmt(f)
            }
        }
    };
}

read_methods!(ReadHalf<'a, S>, "ReadHalf", "'a, ", 'a);
read_methods!(OwnedReadHalf<S>, "OwnedReadHalf", "",);
write_methods!(WriteHalf<'a, S>, "WriteHalf", "'a, ", 'a);
write_methods!(OwnedWriteHalf<S>, "OwnedWriteHalf", "",);

impl<S> ReadHalf<'_, S> {
    fn stream(&self) -> &S {
        self.0
    }
}

impl<S> WriteHalf<'_, S> {
    fn stream(&self) -> &S {
        self.0
    }
}

impl<S: Stream> OwnedReadHalf<S> {
    fn stream(&self) -> &S {
        &self.0
    }
}

impl<S: Stream> OwnedWriteHalf<S> {
    fn stream(&self) -> &S {
        &self.stream
    }
}

impl<S: Stream> fmt::Debug for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReuniteError").finish_non_exhaustive()
    }
}
