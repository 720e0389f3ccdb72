//! A watch that is under way.

use std::fmt;
use std::rc::Rc;

use super::slot::Token;
use crate::sys::RawFd;
use crate::{Cx, Error, Interest};

/// A watch that is under way, made by [`Cx::watch`] and its relatives.
///
/// Dropping it changes nothing: the watch goes on. One that was replaced does not touch its successor.
///
/// ```
/// use mainspring::{EventLoop, Watch};
/// use std::os::unix::net::UnixStream;
///
/// let event_loop = EventLoop::new()?;
/// let (ours, _theirs) = UnixStream::pair().unwrap();
/// let watcher = event_loop.cx().watch(ours, Watch::new().read(|_, _| ()))?;
/// assert!(watcher.is_active());
/// let stream = watcher.into_inner().unwrap();
/// # drop(stream);
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct Watcher<S> {
    cx: Cx,
    fd: RawFd,
    token: Token,
    source: Rc<S>,
}

impl<S> Watcher<S> {
    pub(super) fn new(cx: &Cx, fd: RawFd, token: Token, source: Rc<S>) -> Self {
        Self { cx: cx.clone(), fd, token, source }
    }

    /// The descriptor, as it was when it was watched.
    ///
    /// ```
    /// # fn f(watcher: mainspring::Watcher<std::net::TcpStream>) {
    /// println!("descriptor {}", watcher.fd());
    /// # }
    /// ```
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.fd
    }

    /// What is watched.
    ///
    /// ```
    /// # fn f(watcher: mainspring::Watcher<std::net::TcpStream>) {
    /// println!("{:?}", watcher.source().peer_addr());
    /// # }
    /// ```
    #[must_use]
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Whether it is still watched: not unwatched, not replaced, and the loop has not terminated. A one-shot
    /// that has fired is.
    ///
    /// ```
    /// # fn f(watcher: mainspring::Watcher<std::net::TcpStream>) {
    /// assert!(watcher.is_active());
    /// # }
    /// ```
    #[must_use]
    pub fn is_active(&self) -> bool {
        let table = self.cx.0.shared.io.lock();
        !table.is_closed && table.live(self.token).is_some()
    }

    /// Stops watching, if it is still this watcher's turn. Returns whether it was. See [`Cx::unwatch`].
    ///
    /// ```
    /// # fn f(watcher: mainspring::Watcher<std::net::TcpStream>) {
    /// assert!(watcher.unwatch());
    /// assert!(!watcher.unwatch());
    /// # }
    /// ```
    pub fn unwatch(&self) -> bool {
        let shared = &self.cx.0.shared;
        let ended = shared.unregister_token(self.fd, self.token);
        ended.map(|ended| shared.dispose(ended)).is_some()
    }

    /// Changes what is asked for, directions and triggering alike, and arms a one-shot again. A direction
    /// without a callback is of no effect.
    ///
    /// # Errors
    ///
    /// [`Error::FdNotRegistered`] if it is no longer active, [`Error::PollerClosed`] if the loop has
    /// terminated, [`Error::Io`] if the system refuses, and then nothing has changed.
    ///
    /// ```
    /// # use mainspring::{Error, Interest, Watcher};
    /// # fn f(watcher: Watcher<std::net::TcpStream>) -> Result<(), Error> {
    /// watcher.modify(Interest::BOTH)?; // something waits to be written
    /// # Ok(()) }
    /// ```
    pub fn modify(&self, interest: Interest) -> Result<(), Error> {
        let shared = &self.cx.0.shared;
        shared.report_failure("modify", shared.modify(self.fd, Some(self.token), interest))
    }

    /// Whether it keeps [`run_until_idle`](crate::EventLoop::run_until_idle) from returning.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    ///
    /// ```
    /// # use mainspring::{Error, Watcher};
    /// # fn f(watcher: Watcher<std::net::TcpStream>) -> Result<(), Error> {
    /// watcher.reference(false)?;
    /// # Ok(()) }
    /// ```
    pub fn reference(&self, referenced: bool) -> Result<(), Error> {
        let shared = &self.cx.0.shared;
        shared.report_failure("reference", shared.reference(self.fd, Some(self.token), referenced))
    }

    /// Stops watching, and gives the source back.
    ///
    /// # Errors
    ///
    /// The watcher comes back, and nothing has changed, if this is called by one of its own callbacks, which
    /// has the source on loan.
    ///
    /// ```
    /// # fn f(watcher: mainspring::Watcher<std::net::TcpStream>) {
    /// let stream = watcher.into_inner().expect("not called by its own callback");
    /// # drop(stream);
    /// # }
    /// ```
    pub fn into_inner(self) -> Result<S, Self> {
        let local = &*self.cx.0;
        if local.watchers.is_running(self.token) {
            return Err(self);
        }
        match local.shared.unregister_token(self.fd, self.token) {
            Some(ended) => local.shared.dispose(ended),
            // Another thread may have removed it, and left its reference for later.
            None => drop(local.shared.take_left()),
        }
        let Self { cx, fd, token, source } = self;
        Rc::try_unwrap(source).map_err(|source| Self { cx, fd, token, source })
    }
}

impl<S> fmt::Debug for Watcher<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("fd", &self.fd)
            .field("is_active", &self.is_active())
            .finish_non_exhaustive()
    }
}
