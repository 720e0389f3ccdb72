//! What `hyper` needs of a runtime.
//!
//! | `hyper` asks for | here |
//! |---|---|
//! | `rt::Read`, `rt::Write` | [`TcpStream`](crate::net::TcpStream) and [`UnixStream`](crate::net::UnixStream) themselves; any other stream in a [`HyperIo`] |
//! | `rt::Executor` | [`HyperExecutor`] |
//! | `rt::Timer` | [`HyperTimer`] |
//!
//! Nothing needs to be `Send`. A connection that is served is a future as any other:
//!
//! ```
//! use mainspring::Cx;
//! use mainspring::hyper::HyperTimer;
//! use mainspring::net::TcpListener;
//! # async fn serve(_: impl hyper::rt::Read + hyper::rt::Write, _: impl hyper::rt::Timer) {}
//!
//! async fn run(cx: &Cx) -> std::io::Result<()> {
//!     let listener = TcpListener::bind(cx, "127.0.0.1:8080").await?;
//!     loop {
//!         let (stream, _) = listener.accept().await?;
//!         let timer = HyperTimer::new(&cx);
//!         // `http1::Builder::new().timer(timer).serve_connection(stream, service)`
//!         cx.spawn_local(serve(stream, timer));
//!     }
//! }
//! # let _ = run;
//! ```

use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::{Executor, Read, ReadBufCursor, Sleep, Timer, Write};

use crate::place::Place;
use crate::{Cx, Handle};

/// A stream with the traits of `futures-io`, as one with those of `hyper`: one that is encrypted, for example.
///
/// ```
/// use mainspring::hyper::HyperIo;
/// use mainspring::net::UnixStream;
///
/// let event_loop = mainspring::EventLoop::new()?;
/// let (ours, _theirs) = UnixStream::pair(event_loop.cx())?;
/// let io = HyperIo::new(ours);
/// let ours = io.into_inner();
/// # drop(ours);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
pub struct HyperIo<T>(T);

impl<T> HyperIo<T> {
    /// Wraps a stream.
    ///
    /// ```
    /// # fn f(stream: mainspring::net::UnixStream) {
    /// let io = mainspring::hyper::HyperIo::new(stream);
    /// # drop(io);
    /// # }
    /// ```
    pub fn new(stream: T) -> Self {
        Self(stream)
    }

    /// Gives the stream back.
    ///
    /// ```
    /// # use mainspring::{hyper::HyperIo, net::UnixStream};
    /// # fn f(io: HyperIo<UnixStream>) {
    /// let stream = io.into_inner();
    /// # drop(stream);
    /// # }
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: AsyncRead + Unpin> Read for HyperIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut bytes: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // The stream may look at what it is given, so that has to be initialized.
        let free = bytes.initialize_unfilled();
        let room = free.len();
        let n = ready!(Pin::new(&mut self.0).poll_read(context, free))?;
        assert!(n <= room, "a stream has read more than there is room for");
        // SAFETY: they are initialized, and there are that many.
        unsafe { bytes.advance(n) };
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> Write for HyperIo<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, pieces)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(context)
    }
}

/// Spawns the futures of `hyper` on the loop. They need not be `Send`, and nobody waits for them.
///
/// ```
/// use hyper::rt::Executor;
/// use mainspring::hyper::HyperExecutor;
///
/// let event_loop = mainspring::EventLoop::new()?;
/// let executor = HyperExecutor::new(event_loop.cx());
/// executor.execute(async { println!("on the loop") });
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HyperExecutor(Cx);

impl HyperExecutor {
    /// One that spawns on this loop.
    ///
    /// ```
    /// # fn f(cx: &mainspring::Cx) {
    /// let executor = mainspring::hyper::HyperExecutor::new(cx);
    /// # drop(executor);
    /// # }
    /// ```
    #[must_use]
    pub fn new(cx: &Cx) -> Self {
        Self(cx.clone())
    }
}

impl<F> Executor<F> for HyperExecutor
where
    F: Future + 'static,
    F::Output: 'static,
{
    fn execute(&self, future: F) {
        drop(self.0.spawn_at(future, Place::UNKNOWN));
    }
}

/// The loop's time for `hyper`: real, or [virtual](crate::VirtualClock).
///
/// ```
/// use hyper::rt::Timer;
/// use mainspring::hyper::HyperTimer;
/// use std::time::Duration;
///
/// let event_loop = mainspring::EventLoop::new()?;
/// let timer = HyperTimer::new(event_loop.cx());
/// event_loop.block_on(timer.sleep(Duration::from_millis(1)))?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct HyperTimer(Handle);

impl HyperTimer {
    /// One with this loop's time.
    ///
    /// ```
    /// # fn f(cx: &mainspring::Cx) {
    /// let timer = mainspring::hyper::HyperTimer::new(cx);
    /// # drop(timer);
    /// # }
    /// ```
    #[must_use]
    pub fn new(cx: &Cx) -> Self {
        Self(cx.handle())
    }
}

impl fmt::Debug for HyperTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HyperTimer").finish_non_exhaustive()
    }
}

impl Timer for HyperTimer {
    fn sleep(&self, delay: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.0.sleep(delay))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.0.sleep_until(deadline))
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<crate::time::Sleep>() {
            Some(sleep) => sleep.get_mut().reset(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

impl Sleep for crate::time::Sleep {}

/// The traits of a stream.
macro_rules! stream {
    ($Stream:ident) => {
        impl hyper::rt::Read for $Stream {
            #[inline]
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                mut bytes: hyper::rt::ReadBufCursor<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                // SAFETY: the system writes bytes there, and nothing makes them uninitialized.
                let free = unsafe { bytes.as_mut() };
                let n = std::task::ready!(self.do_poll_read(context, free))?;
                // SAFETY: the system has written that many.
                unsafe { bytes.advance(n) };
                std::task::Poll::Ready(Ok(()))
            }
        }

        impl hyper::rt::Write for $Stream {
            #[inline]
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.do_poll_write(context, bytes)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            #[inline]
            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                pieces: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.do_poll_write_vectored(context, pieces)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            fn poll_shutdown(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(self.do_shutdown(std::net::Shutdown::Write))
            }
        }
    };
}
pub(crate) use stream;
