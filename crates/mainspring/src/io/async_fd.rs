//! A descriptor, as futures.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ready::{Direction, Ready, Registered, Ticket};
use super::register::RegisterError;
use super::registry::Existing;
use super::slot::{Entry, Hears, Token, Word};
use crate::sys::{AsFd, HAS_EDGES, RawFd, as_fd, number};
use crate::{Cx, Error, Interest};

/// A descriptor that can be waited for by futures: a socket, a pipe, a terminal, a device.
///
/// It is registered once, edge-triggered, and for writing when that is first waited for. What it is ready for is
/// remembered, so an operation that can go on at once is one system call and no more: it is tried, and only if
/// it would block is the loop waited for.
///
/// Any number of tasks may wait for the same direction. All of them are woken, and those that find nothing
/// wait again.
///
/// # Cancellation
///
/// All futures of this type can be dropped at any time, and nothing is lost: the operation has been carried out
/// exactly if the future has said so.
///
/// # The end of the loop
///
/// The descriptor does not keep [`run_until_idle`](crate::EventLoop::run_until_idle) from returning; the future
/// that uses it does. When the loop terminates, who waits gets an error that holds [`Error::Terminated`]. What can be
/// done without waiting still can.
///
/// # Fairness
///
/// A task that finds its descriptors ready again and again lets others run after a number of operations.
///
/// ```
/// use mainspring::{AsyncFd, EventLoop};
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// let event_loop = EventLoop::new()?;
/// let (ours, mut theirs) = UnixStream::pair().unwrap();
/// let ours = AsyncFd::new(event_loop.cx(), ours)?;
/// let writer = std::thread::spawn(move || theirs.write_all(b"hello").unwrap());
/// let mut bytes = [0; 16];
/// let n = event_loop.block_on(ours.read_with(|mut stream| stream.read(&mut bytes)))?.unwrap();
/// assert!(n > 0);
/// # writer.join().unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct AsyncFd<S: AsFd + 'static> {
    // Dropped first: the descriptor is not closed before it is removed.
    registration: Registration,
    source: S,
}

/// An `AsyncFd` without its source.
struct Registration {
    cx: Cx,
    fd: RawFd,
    token: Token,
    /// Whether the system was asked for writability. Most descriptors are never waited for to be written to,
    /// and would report over and over that they can be.
    is_armed: Cell<bool>,
    ready: Rc<Ready>,
}

impl Registration {
    fn new(cx: &Cx, fd: RawFd) -> Result<Self, Error> {
        let ready = Rc::new(Ready::new());
        let hears = Hears { directions: Interest::BOTH, error: false, is_strict: true };
        let interest = if HAS_EDGES { Interest::READ.edge_triggered() } else { Interest::NONE };
        let word = Word::new(interest, hears, false).with_read_end();
        let entry = Entry { fd, dispatch: Rc::new(Registered(Rc::clone(&ready))) };
        match cx.0.shared.register(word, Existing::Refuse, entry) {
            Ok(token) => Ok(Self { cx: cx.clone(), fd, token, is_armed: Cell::new(false), ready }),
            Err((error, _)) => Err(error),
        }
    }

    /// Why there are no events any more.
    #[cold]
    fn loss(&self) -> io::Error {
        let is_over = self.cx.0.shared.state().is_ending();
        (if is_over { Error::Terminated } else { Error::FdNotRegistered }).into()
    }

    /// Asks the system for what is waited for, if it was not asked before.
    #[inline]
    fn arm(&self, direction: Direction) -> io::Result<()> {
        if !HAS_EDGES {
            // What pauses is ready all the time, and woken by the timer.
            let rests = |direction| direction == Direction::Read && self.ready.is_paused.get();
            let asked = |direction, interest| {
                let is_asked = !rests(direction) && !self.ready.is_ready(direction);
                if is_asked { interest } else { Interest::NONE }
            };
            let read = asked(Direction::Read, Interest::READ);
            return self.ask((read | asked(Direction::Write, Interest::WRITE)).one_shot());
        }
        if direction == Direction::Read || self.is_armed.get() { Ok(()) } else { self.arm_write() }
    }

    #[cold]
    fn arm_write(&self) -> io::Result<()> {
        self.ask(Interest::BOTH.edge_triggered())?;
        self.is_armed.set(true);
        Ok(())
    }

    /// Asks the system for that.
    fn ask(&self, interest: Interest) -> io::Result<()> {
        match self.cx.0.shared.modify(self.fd, Some(self.token), interest) {
            Ok(()) => Ok(()),
            Err(Error::Io(error)) => Err(error),
            Err(_) => Err(self.loss()),
        }
    }

    /// Tries an operation until it does not block.
    #[inline]
    fn poll<R>(
        &self,
        direction: Direction,
        ticket: &mut Ticket,
        context: &mut Context<'_>,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let local = &*self.cx.0;
        loop {
            if !self.ready.is_ready(direction) {
                self.ready.wait(direction, ticket, context.waker());
                return match self.arm(direction) {
                    Ok(()) => Poll::Pending,
                    Err(error) => Poll::Ready(Err(error)),
                };
            }
            if local.is_spent(|coop| &coop.operations, context) {
                return Poll::Pending;
            }
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.ready.is_lost() {
                        return Poll::Ready(Err(self.loss()));
                    }
                    self.ready.clear(direction);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    local.spend(|coop| &coop.operations);
                    return Poll::Ready(result);
                }
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let shared = &self.cx.0.shared;
        if let Some(ended) = shared.unregister_token(self.fd, self.token) {
            shared.dispose(ended);
        }
    }
}

impl<S: AsFd + 'static> AsyncFd<S> {
    /// Makes a source one that can be waited for. It is set to be non-blocking, and stays so when it is
    /// [taken back](Self::into_inner).
    ///
    /// # Errors
    ///
    /// The source comes back, for the reasons of [`Handle::register_fd`](crate::Handle::register_fd).
    ///
    /// ```
    /// use mainspring::{AsyncFd, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// let socket = AsyncFd::new(event_loop.cx(), socket)?;
    /// # drop(socket);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn new(cx: &Cx, source: S) -> Result<Self, RegisterError<S, ()>> {
        let fd = Self::new_nonblocking(cx, source)?;
        match rustix::io::ioctl_fionbio(&fd.source, true) {
            Ok(()) => Ok(fd),
            Err(error) => {
                let error = Error::Io(error.into());
                Err(RegisterError::new(error, fd.into_inner(), ()))
            }
        }
    }

    /// Like [`new`](Self::new), for a source that is non-blocking already.
    pub(crate) fn new_nonblocking(cx: &Cx, source: S) -> Result<Self, RegisterError<S, ()>> {
        match Registration::new(cx, number(&source)) {
            Ok(registration) => Ok(Self { registration, source }),
            Err(error) => Err(RegisterError::new(error, source, ())),
        }
    }

    /// The source.
    ///
    /// Whoever reads or writes through this need not tell: at worst an operation is tried in vain later.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # fn f(stream: &AsyncFd<std::net::TcpStream>) {
    /// println!("{:?}", stream.get_ref().peer_addr());
    /// # }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.source
    }

    /// Gives the source back, which the loop has forgotten then.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # fn f(stream: AsyncFd<std::net::TcpStream>) {
    /// let stream = stream.into_inner();
    /// stream.set_nonblocking(false).unwrap();
    /// # }
    /// ```
    pub fn into_inner(self) -> S {
        let Self { registration, source } = self;
        drop(registration);
        source
    }

    /// Waits until the source is readable, at its end, or in error.
    ///
    /// This looks at the source itself, and costs a system call. [`read_with`](Self::read_with) does without.
    ///
    /// # Errors
    ///
    /// If the loop terminates.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # async fn f(stream: &AsyncFd<std::net::TcpStream>) -> std::io::Result<()> {
    /// stream.readable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.operate(Direction::Read, |source| look(source, Direction::Read)).await
    }

    /// Waits until the source is writable, or in error. See [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// If the loop terminates.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # async fn f(stream: &AsyncFd<std::net::TcpStream>) -> std::io::Result<()> {
    /// stream.writable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.operate(Direction::Write, |source| look(source, Direction::Write)).await
    }

    /// [`readable`](Self::readable), to be polled.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # use std::future::poll_fn;
    /// # async fn f(stream: &AsyncFd<std::net::TcpStream>) -> std::io::Result<()> {
    /// poll_fn(|context| stream.poll_readable(context)).await?;
    /// # Ok(()) }
    /// ```
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_read_with(context, |source| look(source, Direction::Read))
    }

    /// [`writable`](Self::writable), to be polled.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # use std::future::poll_fn;
    /// # async fn f(stream: &AsyncFd<std::net::TcpStream>) -> std::io::Result<()> {
    /// poll_fn(|context| stream.poll_writable(context)).await?;
    /// # Ok(()) }
    /// ```
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_with(context, |source| look(source, Direction::Write))
    }

    /// Does something that reads. When it says [`WouldBlock`](io::ErrorKind::WouldBlock), the loop is waited
    /// for, and it is done again; likewise at once when it was interrupted.
    ///
    /// # Errors
    ///
    /// Those of the operation, and if the loop terminates.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # async fn f(socket: &AsyncFd<std::net::UdpSocket>) -> std::io::Result<()> {
    /// let mut bytes = [0; 1500];
    /// let (n, from) = socket.read_with(|socket| socket.recv_from(&mut bytes)).await?;
    /// # let _ = (n, from);
    /// # Ok(()) }
    /// ```
    pub async fn read_with<R>(&self, read: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.operate(Direction::Read, read).await
    }

    /// Does something that writes. See [`read_with`](Self::read_with).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # use std::io::Write;
    /// # async fn f(stream: &AsyncFd<std::net::TcpStream>) -> std::io::Result<()> {
    /// let n = stream.write_with(|mut stream| stream.write(b"hello")).await?;
    /// # let _ = n;
    /// # Ok(()) }
    /// ```
    pub async fn write_with<R>(&self, write: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.operate(Direction::Write, write).await
    }

    /// [`read_with`](Self::read_with), to be polled.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # use std::task::{Context, Poll};
    /// fn poll_recv(
    ///     socket: &AsyncFd<std::net::UdpSocket>,
    ///     context: &mut Context<'_>,
    ///     bytes: &mut [u8],
    /// ) -> Poll<std::io::Result<usize>> {
    ///     socket.poll_read_with(context, |socket| socket.recv(bytes))
    /// }
    /// ```
    #[inline]
    pub fn poll_read_with<R>(
        &self,
        context: &mut Context<'_>,
        mut read: impl FnMut(&S) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let source = &self.source;
        self.registration.poll(Direction::Read, &mut { Ticket::SHARED }, context, || read(source))
    }

    /// [`write_with`](Self::write_with), to be polled.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::AsyncFd;
    /// # use std::task::{Context, Poll};
    /// fn poll_send(
    ///     socket: &AsyncFd<std::net::UdpSocket>,
    ///     context: &mut Context<'_>,
    ///     bytes: &[u8],
    /// ) -> Poll<std::io::Result<usize>> {
    ///     socket.poll_write_with(context, |socket| socket.send(bytes))
    /// }
    /// ```
    #[inline]
    pub fn poll_write_with<R>(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&S) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let source = &self.source;
        self.registration.poll(Direction::Write, &mut { Ticket::SHARED }, context, || write(source))
    }

    /// Does something once, whether the source is known to be ready or not.
    pub(crate) fn try_with<R>(
        &self,
        direction: Direction,
        operation: impl FnOnce(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        let result = operation(&self.source);
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            self.registration.ready.clear(direction);
        }
        result
    }

    /// Notes how much of what was asked for a stream took or gave, so that an operation that would block is not
    /// tried. Only for streams: with others, such as datagrams, or where the system stops at a boundary, a
    /// short answer does not mean that there is no more.
    #[inline]
    pub(crate) fn note_stream(&self, direction: Direction, done: usize, asked: usize) {
        // Nothing at all is the end, and stays so.
        if 0 < done && done < asked {
            self.registration.ready.clear_short(direction);
        }
    }

    /// Waits for a new edge, or a while, before anything is read again: for an operation that failed although the
    /// source is ready.
    pub(crate) fn pause_reading(&self, length: Duration) {
        let Registration { cx, ready, .. } = &self.registration;
        ready.clear(Direction::Read);
        if ready.is_paused.replace(true) {
            return;
        }
        let paused = Rc::downgrade(ready);
        let timer = cx.set_timeout(length, move |_| {
            if let Some(ready) = paused.upgrade() {
                ready.is_paused.set(false);
                ready.nudge(Direction::Read);
            }
        });
        // If there is no timer, the loop is at its end, which wakes, too.
        if let Ok(timer) = timer {
            let _ = cx.reference_timer(timer, false);
        }
    }

    /// The loop.
    pub(crate) fn cx(&self) -> &Cx {
        &self.registration.cx
    }

    /// An operation with its own place among those who wait, which it leaves when it is dropped.
    async fn operate<R>(
        &self,
        direction: Direction,
        mut operation: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut place =
            Place { ready: &self.registration.ready, direction, ticket: Ticket::UNUSED };
        poll_fn(|context| {
            let operation = || operation(&self.source);
            self.registration.poll(direction, &mut place.ticket, context, operation)
        })
        .await
    }
}

/// The place of one future among those who wait.
struct Place<'a> {
    ready: &'a Ready,
    direction: Direction,
    ticket: Ticket,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.ticket.is_unused() {
            self.ready.forget(self.direction, self.ticket);
        }
    }
}

/// Says `WouldBlock` unless an operation would not block.
fn look(source: &impl AsFd, direction: Direction) -> io::Result<()> {
    let asked = match direction {
        Direction::Read => PollFlags::IN,
        Direction::Write => PollFlags::OUT,
    };
    let mut fds = [PollFd::new(source, asked)];
    match poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

as_fd!((<S: AsFd + 'static>) AsyncFd<S>, this => &this.source);

impl<S: AsFd + fmt::Debug + 'static> fmt::Debug for AsyncFd<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd").field("source", &self.source).finish_non_exhaustive()
    }
}
