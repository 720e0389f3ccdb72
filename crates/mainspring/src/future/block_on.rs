//! Driving the loop until a future is done.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use super::join::JoinHandle;
use crate::place::Place;
use crate::poll::Wait;
use crate::shared::Shared;
use crate::{Error, EventLoop};

impl EventLoop {
    /// Drives the loop until a future is done, and gives its output. The future may borrow.
    ///
    /// All else that the loop has to do is done meanwhile, as by [`run`](Self::run). What is left when the
    /// future is done stays for the next call that drives the loop. A panic of the future leaves this call; with
    /// [`PanicPolicy::Propagate`](crate::PanicPolicy::Propagate), that of any callback does, and the future is dropped.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run); [`Error::Terminated`] also if the loop ends before the future does.
    ///
    /// ```
    /// use mainspring::EventLoop;
    /// use std::time::Duration;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let cx = event_loop.cx();
    /// let text = String::from("hello");
    /// let length = event_loop.block_on(async {
    ///     cx.sleep(Duration::from_millis(1)).await;
    ///     text.len()
    /// })?;
    /// assert_eq!(length, 5);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, Error> {
        let future = pin!(future);
        let root = Root { future, shared: Arc::clone(&self.cx().0.shared) };
        // SAFETY: the guard, which is dropped before the future is, aborts what is not done: nothing polls it
        // at that time, as the loop is not driven any more. The output is taken out, or dropped with the guard.
        let guard = Guard(unsafe { self.cx().spawn_unchecked(root, Place::caller()) });
        let driven = self.drive(Wait::Forever, || guard.0.is_finished());
        match guard.0.take() {
            Some(Ok(Ok(output))) => Ok(output),
            Some(Ok(Err(payload))) => resume_unwind(payload),
            Some(Err(_)) | None => Err(driven.err().unwrap_or(Error::Terminated)),
        }
    }
}

/// The future, borrowed, with its panics caught.
struct Root<'a, F> {
    future: Pin<&'a mut F>,
    shared: Arc<Shared>,
}

impl<F: Future> Future for Root<'_, F> {
    type Output = thread::Result<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.future.as_mut();
        let polled = catch_unwind(AssertUnwindSafe(|| future.poll(context)));
        let output = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => Err(payload),
        };
        // So that the present tick does not block.
        self.shared.wake();
        Poll::Ready(output)
    }
}

/// Ends the future if the call is left before it is done.
struct Guard<T>(JoinHandle<T>);

impl<T> Drop for Guard<T> {
    fn drop(&mut self) {
        self.0.abort();
        if !self.0.is_finished() {
            // What it borrows is about to go. It cannot come to this: nobody polls it now.
            std::process::abort();
        }
    }
}
