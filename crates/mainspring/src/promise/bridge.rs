//! From promises of all threads to those of one thread.
//!
//! What settles a loop-bound promise cannot be sent. It stays in a table on the loop's thread, and what is
//! sent is the key.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;

use super::mode::Shareable;
use super::node::Base;
use super::react::Pass;
use super::{LocalPromise, LocalResolver, Rejection};
use crate::fault::drop_isolated;
use crate::{Cx, Handle};

/// The resolvers, by key.
#[derive(Default)]
pub(crate) struct Bridges {
    resolvers: RefCell<HashMap<u64, Box<dyn Any>>>,
    next: Cell<u64>,
}

impl Bridges {
    fn insert(&self, resolver: Box<dyn Any>) -> u64 {
        let key = self.next.replace(self.next.get() + 1);
        self.resolvers.borrow_mut().insert(key, resolver);
        key
    }

    fn take(&self, key: u64) -> Option<Box<dyn Any>> {
        let mut resolvers = self.resolvers.borrow_mut();
        let resolver = resolvers.remove(&key);
        if resolvers.is_empty() {
            // A burst does not cost memory for ever.
            *resolvers = HashMap::new();
        }
        resolver
    }

    /// Drops them all, which rejects their promises: the loop has ended.
    pub(crate) fn end(&self) {
        let resolvers = self.resolvers.take();
        resolvers.into_values().for_each(drop_isolated);
    }
}

/// Stands for a resolver in the table of a loop. If it is dropped, so is that.
struct Bridge<T> {
    handle: Handle,
    key: Option<u64>,
    _value: PhantomData<fn(T)>,
}

impl<T: Send + 'static> Bridge<T> {
    fn send(mut self, outcome: Result<T, Rejection>) {
        let Some(key) = self.key.take() else { return };
        // If the loop has ended, so has the promise.
        drop(self.handle.send_microtask(move |cx| {
            let resolver = cx.0.bridges.take(key).and_then(|any| any.downcast().ok());
            let Some(resolver): Option<Box<LocalResolver<T>>> = resolver else { return };
            match outcome {
                Ok(value) => resolver.resolve(value),
                Err(reason) => resolver.reject(reason),
            };
        }));
    }
}

impl<T> Drop for Bridge<T> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            drop(self.handle.send_microtask(move |cx| drop(cx.0.bridges.take(key))));
        }
    }
}

/// A promise of the loop's thread that settles as one of all threads.
pub(super) fn follow<T>(cx: &Cx, promise: &Base<T, Shareable>) -> LocalPromise<T>
where
    T: Clone + Send + 'static,
{
    let (local, resolver) = LocalPromise::with_resolvers(cx);
    if cx.0.accepts() {
        let key = Some(cx.0.bridges.insert(Box::new(resolver)));
        let bridge = Bridge { handle: cx.handle(), key, _value: PhantomData };
        drop(promise.derive::<(), _>(Pass(|outcome| bridge.send(outcome))));
    }
    local
}
