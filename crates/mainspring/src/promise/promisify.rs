//! Promises for what blocks a thread.

use super::offload;
use super::{Promise, Rejection};
use crate::abort::AbortSignal;
use crate::{Cx, Handle};

impl Handle {
    /// Calls a function that blocks, on a thread of the loop's worker pool, and makes a promise of its result.
    ///
    /// The promise is settled on the loop's thread, through the internal lane. Until then the loop stays
    /// [alive](crate::EventLoop::run_until_idle).
    ///
    /// * Workers are started when they are needed, up to a [bound](crate::Builder::max_workers). What is above
    ///   it waits, and is started in the order of the calls.
    /// * When the signal is aborted, the promise is rejected at once with its reason. A function that was not
    ///   started will not be; one that was is given the signal, so that it can look, and what it returns is
    ///   dropped. [`AbortSignal::never`] is for those who need none.
    /// * A panic rejects the promise with [`Panicked`](crate::Panicked).
    /// * A [shutdown](Self::shutdown) waits for the function, until its deadline. After the end of the loop the
    ///   promise is rejected with [`Error::Terminated`](crate::Error::Terminated), and a function that was
    ///   not started is dropped.
    ///
    /// ```
    /// use mainspring::{AbortSignal, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// event_loop
    ///     .handle()
    ///     .promisify(&AbortSignal::never(), |_| std::fs::read_to_string("Cargo.toml"))
    ///     .then(|_, text| println!("{} bytes", text.len()))
    ///     .catch(|_, reason| eprintln!("{reason}"));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn promisify<T, E, F>(&self, signal: &AbortSignal, f: F) -> Promise<T>
    where
        T: Send + 'static,
        E: Into<Rejection>,
        F: FnOnce(&AbortSignal) -> Result<T, E> + Send + 'static,
    {
        offload::promisify(self, signal, f)
    }
}

impl Cx {
    /// Calls a function that blocks, on a thread of the loop's worker pool, and makes a promise of its result.
    /// See [`Handle::promisify`].
    ///
    /// ```
    /// use mainspring::{AbortSignal, Error, EventLoop};
    /// use std::net::ToSocketAddrs;
    ///
    /// let event_loop = EventLoop::new()?;
    /// event_loop
    ///     .cx()
    ///     .promisify(&AbortSignal::never(), |_| "localhost:80".to_socket_addrs().map(Vec::from_iter))
    ///     .then(|_, addresses| println!("{addresses:?}"))
    ///     .catch(|_, reason| eprintln!("{reason}"));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn promisify<T, E, F>(&self, signal: &AbortSignal, f: F) -> Promise<T>
    where
        T: Send + 'static,
        E: Into<Rejection>,
        F: FnOnce(&AbortSignal) -> Result<T, E> + Send + 'static,
    {
        offload::promisify(&self.handle(), signal, f)
    }
}
