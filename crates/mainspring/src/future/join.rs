//! Waiting for a future that was spawned.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::abort::{AbortHandle, AbortOnDrop, abort};
use super::cell::{DONE, Header, JOINED, Joiner, TaskPtr};
use crate::fault::log_isolated;
use crate::promise::Panicked;
use crate::{AbortError, Cx, Error, LocalPromise, Rejection};

/// A spawned future did not come to its end.
///
/// ```
/// use mainspring::{EventLoop, JoinError};
///
/// let event_loop = EventLoop::new()?;
/// let waiting = event_loop.cx().spawn_local(std::future::pending::<()>());
/// waiting.abort();
/// assert!(matches!(event_loop.block_on(waiting)?, Err(JoinError::Aborted)));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It was [aborted](JoinHandle::abort).
    Aborted,
    /// It panicked.
    Panicked(Panicked),
    /// The loop has terminated.
    Terminated,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aborted => f.write_str("the future was aborted"),
            Self::Panicked(panicked) => write!(f, "the future did not end: {panicked}"),
            Self::Terminated => f.write_str("the loop has terminated before the future was done"),
        }
    }
}

impl std::error::Error for JoinError {}

impl JoinError {
    /// As the reason of a promise.
    pub(super) fn into_reason(self) -> Rejection {
        match self {
            Self::Aborted => AbortError.into(),
            Self::Panicked(panicked) => panicked.into(),
            Self::Terminated => Error::Terminated.into(),
        }
    }
}

/// The way to the output of a future that was [spawned](Cx::spawn_local).
///
/// It is a future itself. Dropping it changes nothing: the future goes on, and its output is dropped. To end
/// it, [`abort`](Self::abort) it.
///
/// A panic of the future is the handle's error. If the handle is gone, the panic is dealt with like that of any
/// callback; if the handle is dropped later, without having been asked, it is logged.
///
/// It gives the output once. Polled again after that, it is pending for ever.
///
/// ```
/// use mainspring::EventLoop;
///
/// let event_loop = EventLoop::new()?;
/// let sum = event_loop.cx().spawn_local(async { 2 + 3 });
/// assert_eq!(event_loop.block_on(sum)?.unwrap(), 5);
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct JoinHandle<T> {
    task: TaskPtr,
    cx: Cx,
    /// It owns a `T`, in a way.
    _output: PhantomData<T>,
}

impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    ///
    /// On the loop's thread; the reference is given to the handle, and the future's output is a `T`.
    pub(super) unsafe fn new(cx: &Cx, task: TaskPtr) -> Self {
        Self { task, cx: cx.clone(), _output: PhantomData }
    }

    fn header(&self) -> &Header {
        // SAFETY: the handle's reference.
        unsafe { self.task.header() }
    }

    /// Takes the output.
    pub(super) fn take(&self) -> Option<Result<T, JoinError>> {
        // SAFETY: the handle is on the loop's thread, has a reference, and `T` is the output's type; taking
        // it out runs no code of the user.
        unsafe { (*self.task.output::<T>()).take() }
    }

    /// Drops the future now, unless it is done: [`JoinError::Aborted`]. One that aborts itself is dropped when
    /// it returns.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let waiting = event_loop.cx().spawn_local(std::future::pending::<()>());
    /// waiting.abort();
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn abort(&self) {
        // SAFETY: the handle is on the thread of this loop, and has a reference.
        unsafe { abort(&self.cx, self.task) };
    }

    /// For other threads, and for those who only end it.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let waiting = event_loop.cx().spawn_local(std::future::pending::<()>());
    /// let abort = waiting.abort_handle();
    /// std::thread::spawn(move || abort.abort());
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        // SAFETY: the handle has a reference.
        unsafe { AbortHandle::new(self.task) }
    }

    /// Has the future aborted when the handle is dropped, so that a part does not outlive the whole.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let cx = event_loop.cx().clone();
    /// let whole = event_loop.cx().spawn_local(async move {
    ///     let part = cx.spawn_local(std::future::pending::<()>()).abort_on_drop();
    ///     part.await
    /// });
    /// event_loop.turn(std::time::Duration::ZERO)?;
    /// whole.abort(); // and the part with it
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn abort_on_drop(self) -> AbortOnDrop<T> {
        AbortOnDrop(self)
    }

    /// Whether the future is done, aborted, or gone with its loop.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let done = event_loop.cx().spawn_local(async {});
    /// assert!(!done.is_finished(), "it was not polled yet");
    /// event_loop.run_until_idle()?;
    /// assert!(done.is_finished());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.header().has(DONE)
    }

    /// Whether the future keeps [`run_until_idle`](crate::EventLoop::run_until_idle) from returning. It does
    /// by default. Either way it is polled when it is woken, and what is woken is run before the loop is idle; so
    /// one that wakes itself again and again is never left alone.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let background = event_loop.cx().spawn_local(std::future::pending::<()>());
    /// background.reference(false);
    /// event_loop.run_until_idle()?; // does not wait for it
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reference(&self, referenced: bool) {
        let header = self.header();
        if !header.has(DONE) {
            self.cx.0.futures.reference(header, referenced);
        }
    }

    /// Has the output passed on when the future is done, which may be now.
    pub(super) fn on_done(self, f: impl FnOnce(Result<T, JoinError>) + 'static)
    where
        T: 'static,
    {
        if let Some(output) = self.take() {
            f(output);
            return;
        }
        if self.is_finished() {
            // Somebody has taken the output before.
            return;
        }
        let task = self.task;
        // The cell keeps the handle, and by that itself, until the future is done. At the end of the loop it is.
        let call = Joiner::Call(Box::new(move || {
            if let Some(output) = self.take() {
                f(output);
            }
        }));
        // SAFETY: the handle inside keeps the reference.
        unsafe { task.header() }.joiner.set(Some(call));
    }

    /// A promise of the output, for those who want to attach handlers or hand it to a script.
    ///
    /// It is rejected with an [`AbortError`] if the future is aborted, with [`Panicked`] if it
    /// panics, and with [`Error::Terminated`] at the end of the loop.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop
    ///     .cx()
    ///     .spawn_local(async { 5 })
    ///     .into_promise()
    ///     .then(|_, number| assert_eq!(number, 5));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use = "the future goes on without it"]
    pub fn into_promise(self) -> LocalPromise<T>
    where
        T: Clone + 'static,
    {
        let (promise, resolver) = LocalPromise::with_resolvers(&self.cx);
        self.on_done(move |output| {
            match output {
                Ok(value) => resolver.resolve(value),
                Err(error) => resolver.reject(error.into_reason()),
            };
        });
        promise
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let header = self.header();
        let before = header.joiner.take();
        let waker = match before {
            Some(Joiner::Wake(waker)) if waker.will_wake(context.waker()) => waker,
            // After this, which is code of somebody else, nothing is as it was.
            _ if !header.has(DONE) => context.waker().clone(),
            _ => return self.take().map_or(Poll::Pending, Poll::Ready),
        };
        if let Some(output) = self.take() {
            return Poll::Ready(output);
        }
        header.joiner.set(Some(Joiner::Wake(waker)));
        Poll::Pending
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let header = self.header();
        header.clear(JOINED);
        let joiner = header.joiner.take();
        let output = self.take();
        if let Some(Err(JoinError::Panicked(panicked))) = &output {
            log_isolated(|| tracing::error!("nobody asked for the end of a future: {panicked}"));
        }
        let task = self.task;
        /// Gives the reference back, also if what is dropped panics.
        struct Release(TaskPtr);
        impl Drop for Release {
            fn drop(&mut self) {
                // SAFETY: the handle's reference.
                unsafe { self.0.release() };
            }
        }
        let _release = Release(task);
        drop(joiner);
        drop(output);
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
