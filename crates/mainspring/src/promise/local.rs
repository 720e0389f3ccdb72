//! Promises for the loop's own thread.

use std::cell::OnceCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::combine;
use super::mode::{Common, LoopBound};
use super::node::{Base, Verdict};
use super::react::{On, Pass};
use super::settle::{Child, Settler};
use super::vocabulary::vocabulary;
use super::waiters::{self, Asker, Waiters, WaitersOf, Waiting};
use super::{LocalRejection, Panicked, Promise, PromiseId, PromiseState, Rejection};
use crate::Cx;

/// A value that is there later, on the loop's own thread. Neither the value nor the handlers need be `Send`,
/// and it costs less than a [`Promise`], which is its counterpart for all threads; what is said there holds
/// here.
///
/// ```
/// use mainspring::{EventLoop, LocalPromise};
/// use std::rc::Rc;
///
/// let event_loop = EventLoop::new()?;
/// let (promise, resolver) = LocalPromise::with_resolvers(event_loop.cx());
/// promise.then(|_, text: Rc<str>| println!("{text}"));
/// event_loop.cx().set_immediate(move |_| {
///     resolver.resolve("not `Send`".into());
/// });
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct LocalPromise<T> {
    base: Base<T, LoopBound>,
    waiting: OnceCell<Waiting<T, LoopBound>>,
}

/// Settles a [`LocalPromise`]. The first call wins.
///
/// ```
/// use mainspring::{EventLoop, LocalPromise};
///
/// let event_loop = EventLoop::new()?;
/// let (promise, resolver) = LocalPromise::with_resolvers(event_loop.cx());
/// promise.then(|_, n| assert_eq!(n, 5));
/// resolver.resolve(5);
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use = "the promise is rejected when this is dropped"]
pub struct LocalResolver<T: 'static>(Settler<T, LoopBound>);

vocabulary! {
    promise: LocalPromise "LocalPromise",
    resolver: LocalResolver,
    reason: LocalRejection,
    mode: LoopBound,
    home: Cx "event_loop.cx()",
    cell: OnceCell,
    bounds: [],
}

impl<T: Clone + Send + 'static> LocalPromise<T> {
    /// The same promise for other threads. A reason that is not `Send` is replaced by its text.
    ///
    /// ```
    /// use mainspring::{EventLoop, LocalPromise};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let promise = LocalPromise::resolve(event_loop.cx(), 5).to_shared();
    /// let receiver = promise.to_channel();
    /// event_loop.run_until_idle()?;
    /// assert_eq!(receiver.recv().unwrap().unwrap(), 5);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn to_shared(&self) -> Promise<T> {
        let (promise, resolver) = Promise::with_resolvers(&self.base.home().handle());
        let pass = move |outcome: Result<T, LocalRejection>| {
            match outcome {
                Ok(value) => resolver.resolve(value),
                Err(reason) => resolver.reject(reason.to_shared()),
            };
        };
        drop(self.base.derive::<(), _>(Pass(pass)));
        promise
    }
}
