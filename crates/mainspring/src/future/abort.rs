//! Ending a future before its end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::cell::{ABORTED, DONE, RUNNING, Reference, TaskPtr};
use super::join::{JoinError, JoinHandle};
use crate::current::Entered;
use crate::place::Place;
use crate::sync::Ordering;
use crate::{Cx, Queue};

/// Drops a future, unless it is done. One that is being polled is dropped when it returns.
///
/// # Safety
///
/// By the loop's thread, whose context this is, with a reference.
pub(super) unsafe fn abort(cx: &Cx, task: TaskPtr) {
    // SAFETY: says the caller.
    let header = unsafe { task.header() };
    if header.has(RUNNING) {
        header.set(ABORTED);
    } else if !header.has(DONE) {
        let _entered = Entered::new(cx);
        // SAFETY: the loop's thread; the future is neither done nor being polled, so the loop has its reference.
        unsafe { task.end(JoinError::Aborted) };
    }
}

/// Aborts a future from any thread; made by [`JoinHandle::abort_handle`].
///
/// ```
/// use mainspring::{EventLoop, JoinError};
///
/// let event_loop = EventLoop::new()?;
/// let waiting = event_loop.cx().spawn_local(std::future::pending::<()>());
/// let abort = waiting.abort_handle();
/// std::thread::spawn(move || abort.abort());
/// assert!(matches!(event_loop.block_on(waiting)?, Err(JoinError::Aborted)));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct AbortHandle(Reference);

impl AbortHandle {
    /// # Safety
    ///
    /// A reference is held.
    pub(super) unsafe fn new(task: TaskPtr) -> Self {
        // SAFETY: says the caller.
        Self(unsafe { Reference::new(task) })
    }

    /// Drops the future, unless it is done: [`JoinError::Aborted`]. On the loop's thread this is done now, so the
    /// future's destructor runs inside this call; from others it is a task of the internal lane. After the end of
    /// the loop there is nothing to do.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let waiting = event_loop.cx().spawn_local(std::future::pending::<()>());
    /// waiting.abort_handle().abort();
    /// assert!(waiting.is_finished());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn abort(&self) {
        let shared = &self.0.header().shared;
        if let Some(cx) = shared.owner.cx() {
            // SAFETY: only the loop's thread gets its context, and this has a reference.
            unsafe { abort(&cx, self.0.task()) };
            return;
        }
        // Once is enough. The loop reads nothing that was written before, so no order is needed.
        if self.0.header().is_abort_sent.swap(true, Ordering::Relaxed) {
            return;
        }
        let reference = self.0.clone();
        // Once the loop has terminated, the future is gone.
        let task = move |cx: &Cx| {
            // SAFETY: this is the loop's thread, and the reference is there.
            unsafe { abort(cx, reference.task()) };
        };
        let _ = shared.send(Queue::Internal, task, Place::UNKNOWN);
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}

/// A join handle that aborts its future when it is dropped; made by [`JoinHandle::abort_on_drop`].
///
/// ```
/// let event_loop = mainspring::EventLoop::new()?;
/// let part = event_loop.cx().spawn_local(async { 5 }).abort_on_drop();
/// assert_eq!(event_loop.block_on(part)?.unwrap(), 5);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the future is aborted when this is dropped"]
pub struct AbortOnDrop<T>(pub(super) JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
