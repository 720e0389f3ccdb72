//! Promises for all threads.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use super::bridge;
use super::combine;
use super::mode::{Common, Shareable};
use super::node::{Base, Verdict};
use super::react::{On, Pass};
use super::settle::{Child, Settler};
use super::vocabulary::vocabulary;
use super::waiters::{self, Asker, Waiters, WaitersOf, Waiting};
use super::{LocalPromise, Panicked, PromiseId, PromiseState, Rejection};
use crate::{Cx, Handle};

/// A value that is there later, for all threads.
///
/// It works as in JavaScript: it is pending, and then, once, *fulfilled* with a value or *rejected* with a
/// reason. [`then`](Self::then), [`catch`](Self::catch) and [`finally`](Self::finally) attach handlers, which
/// any thread may do. Handlers are always run later, as microtasks on the loop's thread, in the order in which
/// they were attached. Each derives a promise for its own result, so they can be chained.
///
/// Each handler is given a clone of the value; the last one the value itself, if nobody else can ask for it.
/// For a value that cannot be cloned, or not cheaply, use an `Arc`. For values that cannot be sent there is
/// [`LocalPromise`].
///
/// ```
/// use mainspring::{EventLoop, Promise};
///
/// let event_loop = EventLoop::new()?;
/// let (promise, resolver) = Promise::with_resolvers(&event_loop.handle());
/// promise
///     .then(|_, n: i32| n * 2)
///     .then(|cx, n| {
///         assert_eq!(n, 42);
///         cx.shutdown();
///     });
/// std::thread::spawn(move || resolver.resolve(21));
/// event_loop.run()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
///
/// # Errors and panics
///
/// A handler that can fail is given to [`try_then`](Self::try_then); its error rejects the derived promise. So
/// does a panic, with [`Panicked`]; it is reported when it happens, like the panic of any callback.
///
/// A promise that was rejected, and has no handler when the microtasks are done, is
/// [reported](crate::Builder::on_unhandled_rejection).
///
/// # The end
///
/// If the [`Resolver`] is dropped, the promise is rejected with
/// [`Error::PromiseAbandoned`](crate::Error::PromiseAbandoned). At the end of the loop, whatever is pending is
/// rejected with [`Error::Terminated`](crate::Error::Terminated). Handlers are not run any more then, but
/// whoever [waits](Self::wait) is told. Neither is reported as unhandled.
pub struct Promise<T> {
    base: Base<T, Shareable>,
    waiting: OnceLock<Waiting<T, Shareable>>,
}

/// Settles a [`Promise`], from any thread. The first call wins.
///
/// ```
/// use mainspring::{EventLoop, Promise};
///
/// let event_loop = EventLoop::new()?;
/// let (promise, resolver) = Promise::with_resolvers(&event_loop.handle());
/// promise.then(|cx, text| {
///     assert_eq!(text, "done");
///     cx.shutdown();
/// });
/// std::thread::spawn(move || resolver.resolve("done"));
/// event_loop.run()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use = "the promise is rejected when this is dropped"]
pub struct Resolver<T: 'static>(Settler<T, Shareable>);

vocabulary! {
    promise: Promise "Promise",
    resolver: Resolver,
    reason: Rejection,
    mode: Shareable,
    home: Handle "&event_loop.handle()",
    cell: OnceLock,
    bounds: [Send +],
}

mod blocking {
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::task::{Poll, Wake, Waker};

    use super::{Asker, Pass, Promise, Rejection, Shareable, waiters};
    use crate::promise::WaitError;
    // Loom's threads cannot park for a time.
    #[cfg(not(loom))]
    use crate::sync::thread::{self, Thread};
    use crate::{Deadline, clock};
    #[cfg(loom)]
    use std::thread::{self, Thread};

    impl<T: Clone + Send + 'static> Promise<T> {
        /// A channel that will have the outcome. Each call gives a new one.
        ///
        /// The loop never waits for the receiver, and does not mind if it is dropped.
        ///
        /// ```
        /// use mainspring::{EventLoop, Promise};
        ///
        /// let event_loop = EventLoop::new()?;
        /// let receiver = Promise::resolve(&event_loop.handle(), 5).to_channel();
        /// event_loop.run_until_idle()?;
        /// assert_eq!(receiver.recv().unwrap().unwrap(), 5);
        /// # Ok::<(), mainspring::Error>(())
        /// ```
        #[must_use]
        pub fn to_channel(&self) -> Receiver<Result<T, Rejection>> {
            let (sender, receiver) = sync_channel(1);
            let send = Pass(move |outcome| drop(sender.try_send(outcome)));
            drop(self.base.derive::<(), _>(send));
            receiver
        }

        /// Blocks the thread until the promise has settled, for so long at the most. The loop has to be driven
        /// meanwhile, by its own thread.
        ///
        /// The time is a [`Duration`](std::time::Duration) from now, an [`Instant`](std::time::Instant), or
        /// [`Deadline::NEVER`].
        ///
        /// # Errors
        ///
        /// [`WaitError::Rejected`] with the reason, [`WaitError::TimedOut`], and on the loop's own thread, which
        /// would wait for ever, [`WaitError::OnLoopThread`].
        ///
        /// ```
        /// use mainspring::{EventLoop, Promise};
        /// use std::time::Duration;
        ///
        /// let event_loop = EventLoop::new()?;
        /// let handle = event_loop.handle();
        /// let (promise, resolver) = Promise::with_resolvers(&handle);
        /// let thread = std::thread::spawn(move || {
        ///     let value = promise.wait(Duration::from_secs(60));
        ///     handle.close();
        ///     value
        /// });
        /// resolver.resolve(5);
        /// event_loop.run()?;
        /// assert_eq!(thread.join().unwrap().unwrap(), 5);
        /// # Ok::<(), mainspring::Error>(())
        /// ```
        pub fn wait(&self, timeout: impl Into<Deadline>) -> Result<T, WaitError> {
            if let Some(outcome) = self.base.final_outcome() {
                return outcome.map_err(WaitError::Rejected);
            }
            if self.base.home().0.owner.is_current() {
                return Err(WaitError::OnLoopThread);
            }
            let deadline = timeout.into().0;
            let waiters = self.waiters();
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            let result = loop {
                waiters::forget::<T, Shareable>(waiters, &waker);
                if let Poll::Ready(outcome) =
                    waiters::ask::<T, Shareable>(waiters, Asker::Thread(&waker))
                {
                    break outcome.map_err(WaitError::Rejected);
                }
                let Some(deadline) = deadline else {
                    thread::park();
                    continue;
                };
                let left = deadline.saturating_duration_since(clock::now());
                if left.is_zero() {
                    break Err(WaitError::TimedOut);
                }
                thread::park_timeout(left);
            };
            waiters::forget::<T, Shareable>(waiters, &waker);
            result
        }
    }

    /// Wakes a thread.
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
}

impl<T: Clone + Send + 'static> Promise<T> {
    /// The same promise for the loop's own thread, where handlers need not be `Send`. `cx` may be that of
    /// another loop.
    ///
    /// ```
    /// use mainspring::{EventLoop, Promise};
    /// use std::rc::Rc;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let name = Rc::new("not `Send`");
    /// Promise::resolve(&event_loop.handle(), 5)
    ///     .to_local(event_loop.cx())
    ///     .then(move |_, n| println!("{name}: {n}"));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn to_local(&self, cx: &Cx) -> LocalPromise<T> {
        bridge::follow(cx, &self.base)
    }
}
