//! Strict registration, from any thread.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use super::readiness::Readiness;
use super::registry::Existing;
use super::slot::{Call, Dispatch, Entry, Hears, Word};
use crate::place::Place;
use crate::shared::Shared;
use crate::sys::{AsFd, RawFd, number};
use crate::{Cx, Error, Handle, Interest};

/// A descriptor that was not registered, with the reason and everything that was given.
///
/// ```
/// use mainspring::{EventLoop, Interest};
///
/// let event_loop = EventLoop::new()?;
/// let file = std::fs::File::open("/proc/self/stat").unwrap(); // always ready, so not to be waited for
/// let refused = event_loop.cx().register_fd(file, Interest::READ, |_, _, _| ()).unwrap_err();
/// let (error, file, callback) = refused.into_parts();
/// # let _ = (error, file, callback);
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct RegisterError<S, F>(Box<(Error, S, F)>);

impl<S, F> RegisterError<S, F> {
    pub(super) fn new(error: Error, source: S, callback: F) -> Self {
        Self(Box::new((error, source, callback)))
    }

    /// Why it was refused.
    ///
    /// ```
    /// # fn f(refused: mainspring::RegisterError<std::net::TcpStream, ()>) {
    /// eprintln!("{}", refused.error());
    /// # }
    /// ```
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.0.0
    }

    /// The reason, the source, and the callback or callbacks.
    ///
    /// ```
    /// # fn f(refused: mainspring::RegisterError<std::net::TcpStream, ()>) {
    /// let (error, stream, _callback) = refused.into_parts();
    /// # let _ = (error, stream);
    /// # }
    /// ```
    #[must_use]
    pub fn into_parts(self) -> (Error, S, F) {
        *self.0
    }
}

impl<S, F> fmt::Debug for RegisterError<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisterError").field("error", self.error()).finish_non_exhaustive()
    }
}

impl<S, F> fmt::Display for RegisterError<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl<S, F> std::error::Error for RegisterError<S, F> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(self.error())
    }
}

impl<S, F> From<RegisterError<S, F>> for Error {
    fn from(refused: RegisterError<S, F>) -> Self {
        refused.0.0
    }
}

/// A source and its only callback.
struct Registered<S, F> {
    source: S,
    /// Borrowed while it runs. Nobody else gets at it, and a loop does not run callbacks within callbacks.
    callback: RefCell<F>,
    place: Place,
}

impl<S, F> Dispatch for Registered<S, F>
where
    S: AsFd + 'static,
    F: FnMut(&Cx, &S, Readiness) + 'static,
{
    fn is_current(&self, fd: RawFd) -> bool {
        number(&self.source) == fd
    }

    fn call(&self, cx: &Cx, call: Call) {
        if let Some(readiness) = call.readiness {
            (self.callback.borrow_mut())(cx, &self.source, readiness);
        }
    }

    fn place(&self) -> Option<&'static Location<'static>> {
        self.place.get()
    }

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

/// The entry that was given to be registered, as what it was made from.
pub(super) fn recover<T: 'static>(entry: Entry) -> T {
    let typed = entry.dispatch.into_any().downcast::<T>().ok();
    typed.and_then(Rc::into_inner).expect("the same entry comes back, and nobody else has had it")
}

impl Shared {
    fn register_strictly<S, F>(
        &self,
        source: S,
        interest: Interest,
        callback: F,
        place: Place,
    ) -> Result<(), RegisterError<S, F>>
    where
        S: AsFd + 'static,
        F: FnMut(&Cx, &S, Readiness) + 'static,
    {
        let hears = Hears { directions: Interest::BOTH, error: false, is_strict: true };
        let dispatch = Rc::new(Registered { source, callback: RefCell::new(callback), place });
        let entry = Entry { fd: number(&dispatch.source), dispatch };
        let word = Word::new(interest, hears, true);
        let registered = self.register(word, Existing::Refuse, entry).map(drop);
        let registered = registered.map_err(|(error, entry)| {
            let Registered { source, callback, .. } = recover::<Registered<S, F>>(entry);
            RegisterError::new(error, source, callback.into_inner())
        });
        self.report_failure("register_fd", registered)
    }

    fn modify_fd(&self, fd: RawFd, interest: Interest) -> Result<(), Error> {
        self.report_failure("modify_fd", self.modify(fd, None, interest))
    }

    fn unregister_fd(&self, fd: RawFd) -> Result<(), Error> {
        let ended = self.report_failure("unregister_fd", self.unregister(fd))?;
        self.dispose(ended);
        Ok(())
    }

    fn reference_fd(&self, fd: RawFd, referenced: bool) -> Result<(), Error> {
        self.report_failure("reference_fd", self.reference(fd, None, referenced))
    }
}

impl Handle {
    /// Has a callback called whenever a descriptor is ready.
    ///
    /// It takes effect at once, also if the loop is blocked, and does not wait for that. The loop owns the
    /// source until it is [unregistered](Self::unregister_fd) or the loop terminates, and gives it to the
    /// callback. To keep it, register an `Arc` of it; for a bare number, a
    /// [`BorrowedFd`](std::os::fd::BorrowedFd) made by `borrow_raw`, with what that asks of you.
    ///
    /// # Errors
    ///
    /// The source and the callback come back, and nothing has changed:
    ///
    /// * [`Error::FdAlreadyRegistered`]; [`Cx::watch`] would replace it.
    /// * [`Error::Terminated`] if the loop has terminated, or has begun to.
    /// * [`Error::FastPathIncompatible`] if the [mode](crate::FastPathMode) is Forced.
    /// * [`Error::Io`] if the system refuses, for a regular file for example.
    ///
    /// ```
    /// use mainspring::{EventLoop, Interest};
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let (ours, mut theirs) = UnixStream::pair().unwrap();
    /// let event_loop = EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// std::thread::spawn(move || {
    ///     handle.register_fd(ours, Interest::READ, |cx, mut stream, _| {
    ///         let mut bytes = [0; 16];
    ///         let n = stream.read(&mut bytes).unwrap();
    ///         println!("{n} bytes");
    ///         cx.shutdown();
    ///     })
    ///     .unwrap();
    ///     theirs.write_all(b"hello").unwrap();
    /// });
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn register_fd<S, F>(
        &self,
        source: S,
        interest: Interest,
        callback: F,
    ) -> Result<(), RegisterError<S, F>>
    where
        S: AsFd + Send + 'static,
        F: FnMut(&Cx, &S, Readiness) + Send + 'static,
    {
        self.0.register_strictly(source, interest, callback, Place::caller())
    }

    /// Changes what is asked for, directions and triggering alike, and arms a one-shot again.
    ///
    /// It takes effect at once, also if the loop is blocked. A level-triggered interest that is asked for
    /// already costs no system call.
    ///
    /// # Errors
    ///
    /// [`Error::FdNotRegistered`], also if the system says that it was closed; [`Error::PollerClosed`] if the loop has
    /// terminated; [`Error::Io`] if the system refuses, and then nothing has changed.
    ///
    /// ```
    /// use mainspring::{EventLoop, Interest};
    /// use std::os::fd::AsRawFd;
    /// use std::os::unix::net::UnixStream;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let (ours, _theirs) = UnixStream::pair().unwrap();
    /// let fd = ours.as_raw_fd();
    /// event_loop.handle().register_fd(ours, Interest::NONE, |_, _, _| println!("ready"))?;
    /// event_loop.handle().modify_fd(fd, Interest::WRITE.one_shot())?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn modify_fd(&self, fd: RawFd, interest: Interest) -> Result<(), Error> {
        self.0.modify_fd(fd, interest)
    }

    /// Removes a descriptor. An event that comes after this returns reaches nobody; a callback for one that
    /// the loop has got hold of already may still be run, since this does not wait for the loop.
    ///
    /// The callback and the source are dropped by the loop's thread, which is woken for that: until then no
    /// other descriptor can have this number, if the source is what keeps it open.
    ///
    /// # Errors
    ///
    /// [`Error::FdNotRegistered`]; [`Error::PollerClosed`] if the loop has terminated.
    ///
    /// ```
    /// use mainspring::{Error, EventLoop, Interest};
    /// use std::os::fd::AsRawFd;
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let ours = Arc::new(UnixStream::pair().unwrap().0);
    /// let handle = event_loop.handle();
    /// handle.register_fd(Arc::clone(&ours), Interest::READ, |_, _, _| ())?;
    /// handle.unregister_fd(ours.as_raw_fd())?;
    /// assert!(matches!(handle.unregister_fd(ours.as_raw_fd()), Err(Error::FdNotRegistered)));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn unregister_fd(&self, fd: RawFd) -> Result<(), Error> {
        self.0.unregister_fd(fd)
    }

    /// Whether a descriptor keeps [`run_until_idle`](crate::EventLoop::run_until_idle) from returning, which
    /// it does unless told otherwise. One that cannot cause a callback never does: a one-shot that has
    /// fired, or an interest of nothing.
    ///
    /// # Errors
    ///
    /// [`Error::FdNotRegistered`]; [`Error::PollerClosed`] if the loop has terminated.
    ///
    /// ```
    /// use mainspring::{EventLoop, Interest};
    /// use std::os::fd::AsRawFd;
    /// use std::os::unix::net::UnixStream;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let (ours, _theirs) = UnixStream::pair().unwrap();
    /// let fd = ours.as_raw_fd();
    /// event_loop.handle().register_fd(ours, Interest::READ, |_, _, _| ())?;
    /// event_loop.handle().reference_fd(fd, false)?;
    /// event_loop.run_until_idle()?; // returns
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reference_fd(&self, fd: RawFd, referenced: bool) -> Result<(), Error> {
        self.0.reference_fd(fd, referenced)
    }
}

impl Cx {
    /// Like [`Handle::register_fd`], for what need not be `Send`.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// use mainspring::{EventLoop, Interest};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let (ours, _theirs) = UnixStream::pair().unwrap();
    /// let interest = Interest::WRITE.one_shot();
    /// event_loop.cx().register_fd(ours, interest, |_, _, readiness| {
    ///     assert!(readiness.is_writable());
    /// })?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn register_fd<S, F>(
        &self,
        source: S,
        interest: Interest,
        callback: F,
    ) -> Result<(), RegisterError<S, F>>
    where
        S: AsFd + 'static,
        F: FnMut(&Cx, &S, Readiness) + 'static,
    {
        self.0.shared.register_strictly(source, interest, callback, Place::caller())
    }

    /// See [`Handle::modify_fd`].
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::{Cx, Error, Interest};
    /// # fn f(cx: &Cx, fd: i32) -> Result<(), Error> {
    /// cx.modify_fd(fd, Interest::BOTH)?;
    /// # Ok(()) }
    /// ```
    pub fn modify_fd(&self, fd: RawFd, interest: Interest) -> Result<(), Error> {
        self.0.shared.modify_fd(fd, interest)
    }

    /// See [`Handle::unregister_fd`]. The callback and the source are dropped at once, unless the callback
    /// is running; then after that.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::{Cx, Error, Interest};
    /// # fn f(cx: &Cx, fd: i32) -> Result<(), Error> {
    /// cx.unregister_fd(fd)?;
    /// # Ok(()) }
    /// ```
    pub fn unregister_fd(&self, fd: RawFd) -> Result<(), Error> {
        self.0.shared.unregister_fd(fd)
    }

    /// See [`Handle::reference_fd`].
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::{Cx, Error, Interest};
    /// # fn f(cx: &Cx, fd: i32) -> Result<(), Error> {
    /// cx.reference_fd(fd, false)?;
    /// # Ok(()) }
    /// ```
    pub fn reference_fd(&self, fd: RawFd, referenced: bool) -> Result<(), Error> {
        self.0.shared.reference_fd(fd, referenced)
    }
}
