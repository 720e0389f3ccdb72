//! Watching descriptors, on the loop's thread.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::{Rc, Weak};

use super::readiness::Step;
use super::register::{RegisterError, recover};
use super::registry::Existing;
use super::slot::{Call, Dispatch, Entry, Hears, Token, Word};
use super::watcher::Watcher;
use crate::place::Place;
use crate::sys::{AsFd, BorrowedFd, RawFd, number};
use crate::{Cx, Interest};

type Callback<S> = Box<dyn FnMut(&Cx, &S)>;

/// What to do when a descriptor is ready, for [`Cx::watch`].
///
/// The callbacks say what is asked for: one for reading, one for writing, or both. An error callback takes
/// the place of both when the descriptor is in error; without one they are run then, and find out.
///
/// ```
/// use mainspring::{EventLoop, Watch};
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// let (ours, mut theirs) = UnixStream::pair().unwrap();
/// theirs.write_all(b"hello").unwrap();
/// let event_loop = EventLoop::new()?;
/// let watch = Watch::new()
///     .read(|_, mut stream: &UnixStream| {
///         let mut bytes = [0; 16];
///         println!("{} bytes", stream.read(&mut bytes).unwrap());
///     })
///     .error(|cx, stream| {
///         println!("{:?}", stream.take_error());
///         cx.shutdown();
///     })
///     .one_shot();
/// event_loop.cx().watch(ours, watch)?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use = "nothing is watched before this is given to a loop"]
pub struct Watch<S> {
    // Each is borrowed while it runs. Nobody else gets at it, and a loop does not run callbacks within
    // callbacks.
    read: RefCell<Option<Callback<S>>>,
    write: RefCell<Option<Callback<S>>>,
    error: RefCell<Option<Callback<S>>>,
    interest: Option<Interest>,
    mode: Interest,
    is_referenced: bool,
}

impl<S> Default for Watch<S> {
    fn default() -> Self {
        Self {
            read: RefCell::new(None),
            write: RefCell::new(None),
            error: RefCell::new(None),
            interest: None,
            mode: Interest::NONE,
            is_referenced: true,
        }
    }
}

impl<S> Watch<S> {
    /// Without any callback so far.
    ///
    /// ```
    /// use mainspring::Watch;
    ///
    /// let watch = Watch::new().read(|_, _: &std::net::TcpListener| println!("accept"));
    /// # drop(watch);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Called when there is something to read, or the end, or the other side has hung up.
    ///
    /// ```
    /// use mainspring::Watch;
    ///
    /// let watch = Watch::new().read(|_, _: &std::net::TcpListener| println!("accept"));
    /// # drop(watch);
    /// ```
    pub fn read(mut self, callback: impl FnMut(&Cx, &S) + 'static) -> Self {
        self.read = RefCell::new(Some(Box::new(callback)));
        self
    }

    /// Called when there is room to write.
    ///
    /// Level-triggered, that is most of the time: ask for it with [`Watcher::modify`] only while something
    /// waits to be written, and begin [without](Self::interest).
    ///
    /// ```
    /// use mainspring::{Interest, Watch};
    ///
    /// let watch = Watch::new()
    ///     .read(|_, _: &std::net::TcpStream| println!("read"))
    ///     .write(|_, _| println!("write"))
    ///     .interest(Interest::READ);
    /// # drop(watch);
    /// ```
    pub fn write(mut self, callback: impl FnMut(&Cx, &S) + 'static) -> Self {
        self.write = RefCell::new(Some(Box::new(callback)));
        self
    }

    /// Called, instead of the others, when the descriptor is in error.
    ///
    /// ```
    /// use mainspring::Watch;
    ///
    /// let watch = Watch::new().error(|_, socket: &std::net::UdpSocket| {
    ///     println!("{:?}", socket.take_error());
    /// });
    /// # drop(watch);
    /// ```
    pub fn error(mut self, callback: impl FnMut(&Cx, &S) + 'static) -> Self {
        self.error = RefCell::new(Some(Box::new(callback)));
        self
    }

    /// See [`Interest::edge_triggered`].
    ///
    /// ```
    /// use mainspring::Watch;
    ///
    /// let watch = Watch::new()
    ///     .read(|_, _: &std::net::TcpStream| println!("read until it would block"))
    ///     .edge_triggered();
    /// # drop(watch);
    /// ```
    pub fn edge_triggered(mut self) -> Self {
        self.mode |= Interest::EDGE;
        self
    }

    /// See [`Interest::one_shot`]. Watch it again, or [modify](Watcher::modify) the watcher, to go on.
    ///
    /// ```
    /// use mainspring::Watch;
    ///
    /// let watch = Watch::new().write(|_, _: &std::net::TcpStream| println!("connected")).one_shot();
    /// # drop(watch);
    /// ```
    pub fn one_shot(mut self) -> Self {
        self.mode |= Interest::ONE_SHOT;
        self
    }

    /// What to begin with, instead of everything that there is a callback for.
    ///
    /// ```
    /// use mainspring::{Interest, Watch};
    ///
    /// let watch = Watch::new()
    ///     .read(|_, _: &std::net::TcpStream| println!("later"))
    ///     .interest(Interest::NONE);
    /// # drop(watch);
    /// ```
    pub fn interest(mut self, interest: Interest) -> Self {
        self.interest = Some(interest);
        self
    }

    /// The watcher does not keep [`run_until_idle`](crate::EventLoop::run_until_idle) from returning.
    ///
    /// ```
    /// use mainspring::Watch;
    ///
    /// let watch = Watch::new().read(|_, _: &std::net::UdpSocket| println!("read")).unreferenced();
    /// # drop(watch);
    /// ```
    pub fn unreferenced(mut self) -> Self {
        self.is_referenced = false;
        self
    }

    /// What the slot is to begin with.
    fn word(&mut self) -> Word {
        let has = |slot: &mut RefCell<Option<Callback<S>>>, interest| {
            if slot.get_mut().is_some() { interest } else { Interest::NONE }
        };
        let directions =
            has(&mut self.read, Interest::READ) | has(&mut self.write, Interest::WRITE);
        let interest = self.interest.unwrap_or(directions) | self.mode;
        let error = self.error.get_mut().is_some();
        Word::new(interest, Hears { directions, error, is_strict: false }, self.is_referenced)
    }

    fn run(&self, cx: &Cx, source: &S, step: Step) {
        let callback = match step {
            Step::Error => &self.error,
            Step::Read => &self.read,
            Step::Write => &self.write,
            Step::All => return,
        };
        if let Some(callback) = &mut *callback.borrow_mut() {
            callback(cx, source);
        }
    }
}

impl<S> fmt::Debug for Watch<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("interest", &self.interest)
            .field("mode", &self.mode)
            .field("is_referenced", &self.is_referenced)
            .finish_non_exhaustive()
    }
}

/// How the loop has hold of a source.
trait Hold: 'static {
    type Source;

    /// Gives the source to a function, if it is still there.
    fn with<R>(&self, f: impl FnOnce(&Self::Source) -> R) -> Option<R>;
}

/// It owns the source. The watcher has the other reference.
struct Owned<S>(Rc<S>);

impl<S: 'static> Hold for Owned<S> {
    type Source = S;

    fn with<R>(&self, f: impl FnOnce(&S) -> R) -> Option<R> {
        Some(f(&self.0))
    }
}

/// Somebody else does.
struct Lent<S>(Rc<Weak<S>>);

impl<S: 'static> Hold for Lent<S> {
    type Source = S;

    fn with<R>(&self, f: impl FnOnce(&S) -> R) -> Option<R> {
        self.0.upgrade().map(|source| f(&source))
    }
}

/// A source and its callbacks.
struct Watched<H: Hold> {
    hold: H,
    watch: Watch<H::Source>,
    place: Place,
}

impl<H: Hold> Dispatch for Watched<H>
where
    H::Source: AsFd,
{
    fn is_current(&self, fd: RawFd) -> bool {
        self.hold.with(number) == Some(fd)
    }

    fn call(&self, cx: &Cx, call: Call) {
        self.hold.with(|source| self.watch.run(cx, source, call.step));
    }

    fn place(&self) -> Option<&'static Location<'static>> {
        self.place.get()
    }

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

impl Cx {
    /// Watches a descriptor that the loop is to own, and calls callbacks when it is ready.
    ///
    /// If the descriptor is watched or registered already, this replaces it; no callback is run because of
    /// that. The watch goes on, whether the watcher is kept or dropped, until it is
    /// [unwatched](Self::unwatch), replaced, or the loop terminates. Then the source is dropped, but not as
    /// long as the watcher is kept, from which it can be [taken back](Watcher::into_inner).
    ///
    /// # Errors
    ///
    /// The source and the callbacks come back, and what was watched before still is: as for
    /// [`Handle::register_fd`](crate::Handle::register_fd), except that nothing is registered already.
    ///
    /// ```
    /// use mainspring::{EventLoop, Watch};
    /// use std::net::TcpListener;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// listener.set_nonblocking(true).unwrap();
    /// let watcher = event_loop.cx().watch(
    ///     listener,
    ///     Watch::new().read(|_, listener: &TcpListener| {
    ///         while let Ok((_stream, from)) = listener.accept() {
    ///             println!("{from} is here");
    ///         }
    ///     }),
    /// )?;
    /// let listener = watcher.into_inner().unwrap();
    /// # drop(listener);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn watch<S>(
        &self,
        source: S,
        watch: Watch<S>,
    ) -> Result<Watcher<S>, RegisterError<S, Watch<S>>>
    where
        S: AsFd + 'static,
    {
        let source = Rc::new(source);
        let fd = number(&*source);
        let watched = match self.insert(fd, Owned(Rc::clone(&source)), watch) {
            Ok(token) => Ok(Watcher::new(self, fd, token, source)),
            Err((error, Watched { hold, watch, .. })) => {
                drop(hold);
                let source = Rc::into_inner(source).expect("the loop has given its reference back");
                Err(RegisterError::new(error, source, watch))
            }
        };
        self.0.shared.report_failure("watch", watched)
    }

    /// Watches a descriptor that stays yours.
    ///
    /// When the last `Rc` is dropped, and by that the descriptor is closed, the watcher is removed without
    /// a callback. That is noticed at its next event, if there is one.
    ///
    /// # Errors
    ///
    /// As for [`watch`](Self::watch).
    ///
    /// ```
    /// use mainspring::{EventLoop, Watch};
    /// use std::os::unix::net::UnixStream;
    /// use std::rc::Rc;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let ours = Rc::new(UnixStream::pair().unwrap().0);
    /// event_loop.cx().watch_weak(&ours, Watch::new().read(|_, _| println!("hung up")))?;
    /// drop(ours); // which closes it
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[expect(clippy::type_complexity)]
    #[track_caller]
    pub fn watch_weak<S>(
        &self,
        source: &Rc<S>,
        watch: Watch<S>,
    ) -> Result<Watcher<Weak<S>>, RegisterError<Weak<S>, Watch<S>>>
    where
        S: AsFd + 'static,
    {
        let fd = number(&**source);
        let weak = Rc::new(Rc::downgrade(source));
        let watched = match self.insert(fd, Lent(Rc::clone(&weak)), watch) {
            Ok(token) => {
                self.0.watchers.note_weak(&self.0.shared, token);
                Ok(Watcher::new(self, fd, token, weak))
            }
            Err((error, Watched { watch, .. })) => {
                Err(RegisterError::new(error, Rc::downgrade(source), watch))
            }
        };
        self.0.shared.report_failure("watch_weak", watched)
    }

    /// Watches a descriptor of which only the number is known.
    ///
    /// # Errors
    ///
    /// As for [`watch`](Self::watch).
    ///
    /// # Safety
    ///
    /// The descriptor is open, and stays open until it is [unwatched](Self::unwatch) or the loop has
    /// terminated. (If it is closed all the same, callbacks may be run for a file that another descriptor
    /// keeps open, and are given a descriptor that belongs to somebody else.)
    ///
    /// ```
    /// use mainspring::{EventLoop, Watch};
    ///
    /// let event_loop = EventLoop::new()?;
    /// # use std::os::fd::AsRawFd;
    /// # let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    /// # let fd = ours.as_raw_fd();
    /// let watch = Watch::new().write(|_, fd| println!("{fd:?} is writable")).one_shot();
    /// // SAFETY: it is closed after the loop.
    /// unsafe { event_loop.cx().watch_raw(fd, watch) }?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub unsafe fn watch_raw(
        &self,
        fd: RawFd,
        watch: Watch<BorrowedFd<'static>>,
    ) -> Result<
        Watcher<BorrowedFd<'static>>,
        RegisterError<BorrowedFd<'static>, Watch<BorrowedFd<'static>>>,
    > {
        // SAFETY: the caller promises that it is open for as long as it is used.
        self.watch(unsafe { BorrowedFd::borrow_raw(fd) }, watch)
    }

    /// Stops watching a descriptor, or removes it however it was registered. Returns whether there was
    /// anything.
    ///
    /// It never fails, and takes effect at once: of an event that is being delivered, the rest is not. The
    /// callbacks are dropped, unless one of them is running; then after that. So is the source, unless there
    /// is a [`Watcher`] of it.
    ///
    /// ```
    /// use mainspring::{EventLoop, Watch};
    /// use std::os::fd::AsRawFd;
    /// use std::os::unix::net::UnixStream;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let ours = UnixStream::pair().unwrap().0;
    /// event_loop.cx().watch(
    ///     ours,
    ///     Watch::new().read(|cx, stream: &UnixStream| {
    ///         cx.unwatch(stream.as_raw_fd()); // the other side is gone
    ///     }),
    /// )?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn unwatch(&self, fd: RawFd) -> bool {
        let ended = self.0.shared.unregister(fd);
        ended.map(|ended| self.0.shared.dispose(ended)).is_ok()
    }

    #[track_caller]
    #[cfg_attr(
        feature = "metrics",
        expect(clippy::result_large_err, reason = "it is taken apart at once")
    )]
    fn insert<H: Hold>(
        &self,
        fd: RawFd,
        hold: H,
        mut watch: Watch<H::Source>,
    ) -> Result<Token, (crate::Error, Watched<H>)>
    where
        H::Source: AsFd,
    {
        let word = watch.word();
        let entry =
            Entry { fd, dispatch: Rc::new(Watched { hold, watch, place: Place::caller() }) };
        self.0
            .shared
            .register(word, Existing::Replace, entry)
            .map_err(|(error, entry)| (error, recover(entry)))
    }
}
