//! What TCP and Unix streams have in common.
//!
//! Everything is done through `&self`, by any number of tasks. The halves of a stream are for those who want
//! each direction to have one owner; see [`split`](super::split).

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::task::{Context, Poll};

use super::transfer::{self, as_uninit};
use crate::io::{AsyncFd, Direction};
use crate::sys::AsFd;

/// A stream of bytes in both directions: a [`TcpStream`](super::TcpStream) or a
/// [`UnixStream`](super::UnixStream).
///
/// The trait cannot be implemented by others.
///
/// ```
/// use mainspring::net::{OwnedReadHalf, Stream};
///
/// async fn first_byte<S: Stream>(half: &OwnedReadHalf<S>) -> std::io::Result<u8> {
///     let mut byte = [0];
///     half.read_exact(&mut byte).await?;
///     Ok(byte[0])
/// }
/// # let _ = first_byte::<mainspring::net::TcpStream>;
/// ```
pub trait Stream: sealed::Sealed {}

impl<S: sealed::Sealed> Stream for S {}

/// How much is read at a time of what is read to its end.
const PART: usize = 8 * 1024;

pub(super) mod sealed {
    use super::*;

    /// How streams and their halves do what they do.
    #[expect(async_fn_in_trait, reason = "nobody else implements or calls it")]
    pub trait Sealed: Sized + 'static {
        type Source: AsFd + 'static;

        /// Whether a read may stop before what there is, at something that is not bytes.
        const HAS_BOUNDARIES: bool;

        fn io(&self) -> &AsyncFd<Self::Source>;

        #[inline]
        fn read_now(&self, bytes: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
            transfer::read(self.io(), bytes, Self::HAS_BOUNDARIES)
        }

        #[inline]
        async fn do_read(&self, bytes: &mut [u8]) -> io::Result<usize> {
            if bytes.is_empty() {
                return Ok(0);
            }
            self.io().read_with(|_| self.read_now(as_uninit(bytes))).await
        }

        async fn do_read_exact(&self, mut bytes: &mut [u8]) -> io::Result<()> {
            while !bytes.is_empty() {
                match self.do_read(bytes).await? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    n => bytes = &mut bytes[n..],
                }
            }
            Ok(())
        }

        async fn do_read_to_end(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
            let before = bytes.len();
            let mut part = vec![0; PART];
            loop {
                match self.do_read(&mut part).await? {
                    0 => return Ok(bytes.len() - before),
                    n => bytes.extend_from_slice(&part[..n]),
                }
            }
        }

        async fn do_peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
            if bytes.is_empty() {
                return Ok(0);
            }
            self.io().read_with(|source| transfer::peek(source, bytes)).await
        }

        #[inline]
        async fn do_write(&self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.is_empty() {
                return Ok(0);
            }
            self.io().write_with(|_| transfer::write(self.io(), bytes)).await
        }

        async fn do_write_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
            if is_nothing(pieces) {
                return Ok(0);
            }
            self.io().write_with(|_| transfer::write_vectored(self.io(), pieces)).await
        }

        async fn do_write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
            while !bytes.is_empty() {
                match self.do_write(bytes).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    n => bytes = &bytes[n..],
                }
            }
            Ok(())
        }

        fn do_try_read(&self, bytes: &mut [u8]) -> io::Result<usize> {
            if bytes.is_empty() {
                return Ok(0);
            }
            self.io().try_with(Direction::Read, |_| self.read_now(as_uninit(bytes)))
        }

        fn do_try_write(&self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.is_empty() {
                return Ok(0);
            }
            self.io().try_with(Direction::Write, |_| transfer::write(self.io(), bytes))
        }

        #[inline]
        fn do_poll_read(
            &self,
            context: &mut Context<'_>,
            bytes: &mut [MaybeUninit<u8>],
        ) -> Poll<io::Result<usize>> {
            if bytes.is_empty() {
                return Poll::Ready(Ok(0));
            }
            self.io().poll_read_with(context, |_| self.read_now(bytes))
        }

        #[inline]
        fn do_poll_write(
            &self,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            if bytes.is_empty() {
                return Poll::Ready(Ok(0));
            }
            self.io().poll_write_with(context, |_| transfer::write(self.io(), bytes))
        }

        #[inline]
        fn do_poll_write_vectored(
            &self,
            context: &mut Context<'_>,
            pieces: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            if is_nothing(pieces) {
                return Poll::Ready(Ok(0));
            }
            self.io().poll_write_with(context, |_| transfer::write_vectored(self.io(), pieces))
        }

        /// A stream that is not connected any more needs no shutdown.
        fn do_shutdown(&self, how: Shutdown) -> io::Result<()> {
            let how = match how {
                Shutdown::Read => rustix::net::Shutdown::Read,
                Shutdown::Write => rustix::net::Shutdown::Write,
                Shutdown::Both => rustix::net::Shutdown::Both,
            };
            match rustix::net::shutdown(self.io().get_ref(), how) {
                Ok(()) | Err(rustix::io::Errno::NOTCONN) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Whether there is nothing to write, which needs neither the system nor a wait.
fn is_nothing(pieces: &[IoSlice<'_>]) -> bool {
    pieces.iter().all(|piece| piece.is_empty())
}

/// The methods of a stream. It needs to implement [`Sealed`](sealed::Sealed).
macro_rules! stream_methods {
    ($Stream:ident) => {
        impl $Stream {
            /// The loop that it belongs to.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: ", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let reading = async { stream.read(&mut [0; 64]).await };
            /// let n = stream.cx().timeout(std::time::Duration::from_secs(5), reading).await??;
            /// # drop(n);
            /// # Ok(()) }
            /// ```
            #[must_use]
            pub fn cx(&self) -> &$crate::Cx {
                self.io().cx()
            }

            /// Reads what there is, waits if there is nothing, and says how much it was. Nothing at all means that
            /// the other side writes no more; this side still may.
            ///
            /// Cancel safe: if it is dropped, nothing was read.
            ///
            /// # Errors
            ///
            /// Those of the system, [`ConnectionReset`](std::io::ErrorKind::ConnectionReset) for example; and if
            /// the loop terminates.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let mut bytes = [0; 1024];
            /// let n = stream.read(&mut bytes).await?;
            /// println!("{:?}", &bytes[..n]);
            /// # Ok(()) }
            /// ```
            pub async fn read(&self, bytes: &mut [u8]) -> std::io::Result<usize> {
                self.do_read(bytes).await
            }

            /// Reads until there is no room left. Not cancel safe: if it is dropped, it is not known how much was
            /// read.
            ///
            /// # Errors
            ///
            /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the other side writes no more; and as for
            /// [`read`](Self::read).
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let mut length = [0; 4];
            /// stream.read_exact(&mut length).await?;
            /// let length = u32::from_be_bytes(length);
            /// # let _ = length;
            /// # Ok(()) }
            /// ```
            pub async fn read_exact(&self, bytes: &mut [u8]) -> std::io::Result<()> {
                self.do_read_exact(bytes).await
            }

            /// Reads until the other side writes no more, and says how much that was. Cancel safe: what was read so
            /// far is in the vector.
            ///
            /// # Errors
            ///
            /// As for [`read`](Self::read).
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let mut bytes = Vec::new();
            /// stream.read_to_end(&mut bytes).await?;
            /// # Ok(()) }
            /// ```
            pub async fn read_to_end(&self, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
                self.do_read_to_end(bytes).await
            }

            /// Like [`read`](Self::read), but what was read will be read again. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let mut byte = [0];
            /// let is_over = stream.peek(&mut byte).await? == 0;
            /// # let _ = is_over;
            /// # Ok(()) }
            /// ```
            pub async fn peek(&self, bytes: &mut [u8]) -> std::io::Result<usize> {
                self.do_peek(bytes).await
            }

            /// Reads what there is now, without waiting.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing; and those of the system.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// stream.readable().await?;
            /// let mut bytes = [0; 1024]; // not needed while nothing is there
            /// let n = stream.try_read(&mut bytes)?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn try_read(&self, bytes: &mut [u8]) -> std::io::Result<usize> {
                self.do_try_read(bytes)
            }

            /// Writes what has room now, waits if nothing has, and says how much it was.
            ///
            /// Cancel safe: if it is dropped, nothing was written.
            ///
            /// # Errors
            ///
            /// Those of the system, [`BrokenPipe`](std::io::ErrorKind::BrokenPipe) for example, never as a signal;
            /// and if the loop terminates.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let n = stream.write(b"hello").await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub async fn write(&self, bytes: &[u8]) -> std::io::Result<usize> {
                self.do_write(bytes).await
            }

            /// [`write`](Self::write) of several pieces, by one system call. Cancel safe.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            /// # use std::io::IoSlice;
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let n = stream.write_vectored(&[IoSlice::new(b"head"), IoSlice::new(b"body")]).await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub async fn write_vectored(
                &self,
                pieces: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.do_write_vectored(pieces).await
            }

            /// Writes everything. Not cancel safe: if it is dropped, it is not known how much was written.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write).
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// stream.write_all(&[0; 1_000_000]).await?;
            /// # Ok(()) }
            /// ```
            pub async fn write_all(&self, bytes: &[u8]) -> std::io::Result<()> {
                self.do_write_all(bytes).await
            }

            /// Writes what has room now, without waiting.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if nothing has; and those of the system.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let n = stream.try_write(b"hello")?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
                self.do_try_write(bytes)
            }

            /// Waits until there is something to read, or the end, or an error. Cancel safe. It costs a system call
            /// of its own; [`read`](Self::read) does without.
            ///
            /// # Errors
            ///
            /// If the loop terminates.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// stream.readable().await?;
            /// # Ok(()) }
            /// ```
            pub async fn readable(&self) -> std::io::Result<()> {
                self.io.readable().await
            }

            /// Waits until there is room to write, or an error. Cancel safe. See [`readable`](Self::readable).
            ///
            /// # Errors
            ///
            /// If the loop terminates.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// stream.writable().await?;
            /// # Ok(()) }
            /// ```
            pub async fn writable(&self) -> std::io::Result<()> {
                self.io.writable().await
            }

            /// [`read`](Self::read), to be polled.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let mut bytes = [0; 1024];
            /// let n = std::future::poll_fn(|context| stream.poll_read(context, &mut bytes)).await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn poll_read(
                &self,
                context: &mut std::task::Context<'_>,
                bytes: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.do_poll_read(context, $crate::net::transfer::as_uninit(bytes))
            }

            /// [`write`](Self::write), to be polled.
            ///
            /// # Errors
            ///
            /// As there.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let n = std::future::poll_fn(|context| stream.poll_write(context, b"hello")).await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn poll_write(
                &self,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.do_poll_write(context, bytes)
            }

            /// Ends one direction, or both. The other side comes to the end after it has read what was written
            /// before. Who waits for a direction that is ended is woken.
            ///
            /// # Errors
            ///
            /// Those of the system. A stream that the other side has ended already is not an error.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// use std::net::Shutdown;
            ///
            /// stream.write_all(b"that is all").await?;
            /// stream.shutdown(Shutdown::Write)?;
            /// let n = stream.read(&mut [0; 1024]).await?; // still works
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            pub fn shutdown(&self, how: std::net::Shutdown) -> std::io::Result<()> {
                self.do_shutdown(how)
            }

            /// Both directions, each by itself, for as long as the stream is borrowed.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(stream: &mut ", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let (read, write) = stream.split();
            /// let mut bytes = [0; 1024];
            /// let n = read.read(&mut bytes).await?;
            /// write.write_all(&bytes[..n]).await?;
            /// # Ok(()) }
            /// ```
            pub fn split(
                &mut self,
            ) -> ($crate::net::ReadHalf<'_, Self>, $crate::net::WriteHalf<'_, Self>) {
                $crate::net::split::split(self)
            }

            /// Both directions, each to be owned by somebody else. When the half that writes is dropped, the other
            /// side comes to the end.
            ///
            /// ```
            #[doc = concat!("# use mainspring::net::", stringify!($Stream), ";")]
            #[doc = concat!("# async fn f(cx: &mainspring::Cx, stream: ", stringify!($Stream), ") -> std::io::Result<()> {")]
            /// let (read, write) = stream.into_split();
            /// cx.spawn_local(async move { write.write_all(b"hello").await });
            /// let n = read.read(&mut [0; 1024]).await?;
            /// # let _ = n;
            /// # Ok(()) }
            /// ```
            #[must_use]
            pub fn into_split(
                self,
            ) -> ($crate::net::OwnedReadHalf<Self>, $crate::net::OwnedWriteHalf<Self>) {
                $crate::net::split::into_split(self)
            }
        }

        $crate::sys::as_fd!(() $Stream, this => &this.io);

        impl std::fmt::Debug for $Stream {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.io.get_ref().fmt(f)
            }
        }

        #[cfg(feature = "futures-io")]
        $crate::net::traits::futures_io!($Stream);
        #[cfg(feature = "hyper")]
        $crate::hyper::stream!($Stream);
    };
}
pub(super) use stream_methods;
