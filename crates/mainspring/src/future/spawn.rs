//! Giving futures to the loop.

use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::cell::TaskPtr;
use super::join::{JoinError, JoinHandle};
use crate::current::Entered;
use crate::place::Place;
use crate::promise::{Panicked, Promise, Rejection, Resolver};
use crate::{Cx, Error, Handle};

impl Cx {
    /// Runs a future on this loop. It need not be `Send`.
    ///
    /// It is polled for the first time in the next phase for futures of the loop, never at once. Each poll is
    /// a task: the `next_tick` queue and the microtasks are run after it.
    ///
    /// The future keeps [`run_until_idle`](crate::EventLoop::run_until_idle) from returning until it is done,
    /// unless it is told [not to](JoinHandle::reference). A shutdown polls those that were woken, until none is;
    /// those that wait are dropped. If the loop has terminated, the future is dropped now.
    ///
    /// ```
    /// use mainspring::EventLoop;
    /// use std::time::Duration;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let cx = event_loop.cx().clone();
    /// event_loop.cx().spawn_local(async move {
    ///     cx.sleep(Duration::from_millis(1)).await;
    ///     println!("later");
    /// });
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
    {
        self.spawn_at(future, Place::caller())
    }

    /// Like [`spawn_local`](Self::spawn_local), for one that was spawned there.
    pub(crate) fn spawn_at<F>(&self, future: F, place: Place) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
    {
        // SAFETY: it borrows nothing.
        unsafe { self.spawn_unchecked(future, place) }
    }

    /// # Safety
    ///
    /// The future is done or aborted, and its output taken or its handle dropped, before anything that they
    /// borrow is gone.
    pub(super) unsafe fn spawn_unchecked<F: Future>(
        &self,
        future: F,
        place: Place,
    ) -> JoinHandle<F::Output> {
        let local = &*self.0;
        let task = TaskPtr::new(Arc::clone(&local.shared), future, place);
        // SAFETY: a new cell has a reference for the handle, and this is the loop's thread.
        let handle = unsafe { JoinHandle::new(self, task) };
        if local.accepts() {
            // SAFETY: the handle keeps it.
            local.futures.insert(task, unsafe { task.header() });
            local.wake_future(task);
        } else {
            let _entered = Entered::new(self);
            // SAFETY: this is the loop's thread; it is neither done nor being polled.
            unsafe { task.end(JoinError::Terminated) };
        }
        handle
    }
}

impl Handle {
    /// Runs a future on the loop, from any thread. A function makes it there, so it need not be `Send`.
    ///
    /// What [`Cx::spawn_local`] says holds for the future. The promise is rejected with [`Error::Terminated`] if
    /// the loop ends first, and with [`Panicked`] if the future or the function panics.
    ///
    /// ```
    /// use mainspring::{Deadline, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// let thread = std::thread::spawn(move || {
    ///     let promise = handle.spawn(|cx| {
    ///         let cx = cx.clone();
    ///         async move {
    ///             cx.yield_now().await;
    ///             5
    ///         }
    ///     });
    ///     assert_eq!(promise.wait(Deadline::NEVER).unwrap(), 5);
    ///     handle.shutdown(Deadline::NEVER).unwrap();
    /// });
    /// event_loop.run()?;
    /// thread.join().unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<T, F, Fut>(&self, f: F) -> Promise<T>
    where
        T: Clone + Send + 'static,
        F: FnOnce(&Cx) -> Fut + Send + 'static,
        Fut: Future<Output = T> + 'static,
    {
        self.try_spawn(|cx| {
            let future = f(cx);
            async { Ok::<_, Infallible>(future.await) }
        })
    }

    /// [`spawn`](Self::spawn) for a future that can fail: the promise is rejected with its error, as that of an
    /// `async` function in JavaScript.
    ///
    /// ```
    /// use mainspring::{EventLoop, net::lookup_host};
    ///
    /// let event_loop = EventLoop::new()?;
    /// event_loop
    ///     .handle()
    ///     .try_spawn(|cx| {
    ///         let cx = cx.clone();
    ///         async move { lookup_host(&cx, "localhost:80").await }
    ///     })
    ///     .then(|_, addresses| println!("{addresses:?}"))
    ///     .catch(|_, reason| eprintln!("{reason}"));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn try_spawn<T, E, F, Fut>(&self, f: F) -> Promise<T>
    where
        T: Clone + Send + 'static,
        E: Into<Rejection> + 'static,
        F: FnOnce(&Cx) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + 'static,
    {
        let (promise, resolver) = Promise::with_resolvers(self);
        let answer = Answer(Some(resolver));
        let place = Place::caller();
        let start = move |cx: &Cx| match catch_unwind(AssertUnwindSafe(|| f(cx))) {
            Ok(future) => cx.spawn_at(future, place).on_done(|output| {
                answer.give(match output {
                    Ok(result) => result.map_err(Into::into),
                    Err(error) => Err(error.into_reason()),
                });
            }),
            Err(payload) => answer.give(Err(Panicked::new(payload).into())),
        };
        // If the loop has terminated, it is dropped.
        drop(self.send_internal(start));
        promise
    }
}

/// Settles the promise of a future, also if that never came to be.
struct Answer<T: Send + 'static>(Option<Resolver<T>>);

impl<T: Send + 'static> Answer<T> {
    fn give(mut self, output: Result<T, Rejection>) {
        if let Some(resolver) = self.0.take() {
            match output {
                Ok(value) => resolver.resolve(value),
                Err(reason) => resolver.reject(reason),
            };
        }
    }
}

impl<T: Send + 'static> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Some(resolver) = self.0.take() {
            resolver.reject(Error::Terminated);
        }
    }
}
