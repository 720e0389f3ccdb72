//! Promises as ECMAScript defines them, and the tracking of rejections as HTML does: a literal transcription, with the names
//! of the library. It was compared with Node 20, by the programs of `promise_order.rs`. The fuzz targets use it, too.

// Each user compiles its own copy, and none uses everything.
#![allow(dead_code, unreachable_pub)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::{Rc, Weak};

use mainspring::{Error, PromiseState};

type Job = Box<dyn FnOnce(&Cx)>;

#[derive(Clone, Default)]
pub struct Cx(Rc<Realm>);

#[derive(Default)]
struct Realm {
    jobs: RefCell<VecDeque<Job>>,
    promises: RefCell<Vec<Weak<dyn End>>>,
    about_to_be_reported: RefCell<Vec<(usize, Reason)>>,
    reported: RefCell<Vec<(usize, Reason)>>,
    handled: RefCell<Vec<Reason>>,
}

impl Cx {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn queue_microtask(&self, job: impl FnOnce(&Cx) + 'static) {
        self.0.jobs.borrow_mut().push_back(Box::new(job));
    }

    pub fn checkpoint(&self, report: impl Fn(&Reason)) {
        loop {
            let job = self.0.jobs.borrow_mut().pop_front();
            match job {
                Some(job) => job(self),
                None => break,
            }
        }
        for (promise, reason) in self.0.about_to_be_reported.take() {
            report(&reason);
            self.0.reported.borrow_mut().push((promise, reason));
        }
    }

    /// Forgets all reactions: those of promises that wait for each other hold each other.
    pub fn end(&self) {
        for promise in self.0.promises.take() {
            if let Some(promise) = promise.upgrade() {
                promise.end();
            }
        }
    }

    pub fn handled(&self) -> Vec<Reason> {
        self.0.handled.borrow().clone()
    }

    /// HostPromiseRejectionTracker(promise, "handle").
    fn track_handled(&self, promise: usize) {
        self.0.about_to_be_reported.borrow_mut().retain(|(id, _)| *id != promise);
        let mut reported = self.0.reported.borrow_mut();
        if let Some(at) = reported.iter().position(|(id, _)| *id == promise) {
            self.0.handled.borrow_mut().push(reported.remove(at).1);
        }
    }
}

pub fn at(cx: &Cx) -> Cx {
    cx.clone()
}

#[derive(Clone)]
pub struct Reason(Rc<dyn std::error::Error>);

impl Reason {
    pub fn as_error(&self) -> &(dyn std::error::Error + 'static) {
        &*self.0
    }

    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl<E: std::error::Error + 'static> From<E> for Reason {
    fn from(error: E) -> Self {
        Self(Rc::new(error))
    }
}

pub struct AggregateError<R>(Vec<R>);

impl<R> AggregateError<R> {
    pub fn errors(&self) -> &[R] {
        &self.0
    }
}

impl<R> fmt::Debug for AggregateError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AggregateError")
    }
}

impl<R> fmt::Display for AggregateError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AggregateError")
    }
}

impl<R> std::error::Error for AggregateError<R> {}

type Reaction<T> = Box<dyn FnOnce(&Cx, Result<T, Reason>)>;

enum State<T> {
    Pending(Vec<Reaction<T>>),
    Settled(Result<T, Reason>),
}

struct Inner<T> {
    cx: Cx,
    id: usize,
    state: RefCell<State<T>>,
    is_handled: Cell<bool>,
}

/// A promise of any type, when nothing comes any more.
trait End {
    fn end(&self);
}

impl<T> End for Inner<T> {
    fn end(&self) {
        let reactions = match &mut *self.state.borrow_mut() {
            State::Pending(reactions) => std::mem::take(reactions),
            State::Settled(_) => vec![],
        };
        drop(reactions);
    }
}

pub struct P<T>(Rc<Inner<T>>);

pub struct R<T> {
    promise: P<T>,
    already_resolved: Cell<bool>,
}

impl<T> Clone for P<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Clone + 'static> R<T> {
    pub fn resolve(&self, value: T) -> bool {
        !self.already_resolved.replace(true) && {
            self.promise.settle(Ok(value));
            true
        }
    }

    pub fn reject(&self, reason: impl Into<Reason>) -> bool {
        !self.already_resolved.replace(true) && {
            self.promise.settle(Err(reason.into()));
            true
        }
    }

    /// A promise resolve function, called with a promise.
    pub fn adopt(&self, other: &P<T>) -> bool {
        if self.already_resolved.replace(true) {
            return false;
        }
        if self.promise.0.id == other.0.id {
            self.promise.settle(Err(Error::PromiseCycle.into()));
        } else {
            // NewPromiseResolveThenableJob
            let (promise, other) = (self.promise.clone(), other.clone());
            self.promise.0.cx.queue_microtask(move |_| {
                other.react(move |_, result| promise.settle(result));
            });
        }
        true
    }
}

impl<T: Clone + 'static> P<T> {
    pub fn with_resolvers(cx: &Cx) -> (Self, R<T>) {
        let id = cx.0.promises.borrow().len();
        let state = RefCell::new(State::Pending(vec![]));
        let promise =
            Self(Rc::new(Inner { cx: cx.clone(), id, state, is_handled: Cell::new(false) }));
        let weak: Weak<dyn End> = Rc::downgrade(&(Rc::clone(&promise.0) as Rc<dyn End>));
        cx.0.promises.borrow_mut().push(weak);
        (promise.clone(), R { promise, already_resolved: Cell::new(false) })
    }

    pub fn resolve(cx: &Cx, value: T) -> Self {
        let (promise, resolver) = Self::with_resolvers(cx);
        resolver.resolve(value);
        promise
    }

    pub fn reject(cx: &Cx, reason: impl Into<Reason>) -> Self {
        let (promise, resolver) = Self::with_resolvers(cx);
        resolver.reject(reason);
        promise
    }

    pub fn state(&self) -> PromiseState {
        match &*self.0.state.borrow() {
            State::Pending(_) => PromiseState::Pending,
            State::Settled(Ok(_)) => PromiseState::Fulfilled,
            State::Settled(Err(_)) => PromiseState::Rejected,
        }
    }

    /// FulfillPromise and RejectPromise.
    fn settle(&self, result: Result<T, Reason>) {
        let state = self.0.state.replace(State::Settled(result.clone()));
        let State::Pending(reactions) = state else { unreachable!() };
        if let (Err(reason), false) = (&result, self.0.is_handled.get())
            && !is_end(reason)
        {
            let entry = (self.0.id, reason.clone());
            self.0.cx.0.about_to_be_reported.borrow_mut().push(entry);
        }
        for reaction in reactions {
            let result = result.clone();
            self.0.cx.queue_microtask(move |cx| reaction(cx, result));
        }
    }

    /// PerformPromiseThen.
    fn react(&self, reaction: impl FnOnce(&Cx, Result<T, Reason>) + 'static) {
        match &mut *self.0.state.borrow_mut() {
            State::Pending(reactions) => reactions.push(Box::new(reaction)),
            State::Settled(result) => {
                if result.is_err() && !self.0.is_handled.get() {
                    self.0.cx.track_handled(self.0.id);
                }
                let result = result.clone();
                self.0.cx.queue_microtask(move |cx| reaction(cx, result));
            }
        }
        self.0.is_handled.set(true);
    }

    /// A reaction that resolves a new promise.
    fn derive<U: Clone + 'static>(
        &self,
        f: impl FnOnce(&Cx, Result<T, Reason>, &R<U>) + 'static,
    ) -> P<U> {
        let (promise, resolver) = P::with_resolvers(&self.0.cx);
        self.react(move |cx, result| f(cx, result, &resolver));
        promise
    }

    pub fn then<U: Clone + 'static>(&self, f: impl FnOnce(&Cx, T) -> U + 'static) -> P<U> {
        self.derive(move |cx, result, derived| match result {
            Ok(value) => _ = derived.resolve(f(cx, value)),
            Err(reason) => _ = derived.settle_with(Err(reason)),
        })
    }

    pub fn try_then<U: Clone + 'static, E: Into<Reason>>(
        &self,
        f: impl FnOnce(&Cx, T) -> Result<U, E> + 'static,
    ) -> P<U> {
        self.derive(move |cx, result, derived| match result {
            Ok(value) => _ = derived.settle_with(f(cx, value).map_err(Into::into)),
            Err(reason) => _ = derived.settle_with(Err(reason)),
        })
    }

    pub fn and_then<U: Clone + 'static>(&self, f: impl FnOnce(&Cx, T) -> P<U> + 'static) -> P<U> {
        self.derive(move |cx, result, derived| match result {
            Ok(value) => _ = derived.adopt(&f(cx, value)),
            Err(reason) => _ = derived.settle_with(Err(reason)),
        })
    }

    pub fn catch(&self, f: impl FnOnce(&Cx, Reason) -> T + 'static) -> P<T> {
        self.derive(move |cx, result, derived| match result {
            Ok(value) => _ = derived.resolve(value),
            Err(reason) => _ = derived.resolve(f(cx, reason)),
        })
    }

    pub fn try_catch<E: Into<Reason>>(
        &self,
        f: impl FnOnce(&Cx, Reason) -> Result<T, E> + 'static,
    ) -> P<T> {
        self.derive(move |cx, result, derived| match result {
            Ok(value) => _ = derived.resolve(value),
            Err(reason) => _ = derived.settle_with(f(cx, reason).map_err(Into::into)),
        })
    }

    pub fn or_else(&self, f: impl FnOnce(&Cx, Reason) -> P<T> + 'static) -> P<T> {
        self.derive(move |cx, result, derived| match result {
            Ok(value) => _ = derived.resolve(value),
            Err(reason) => _ = derived.adopt(&f(cx, reason)),
        })
    }

    pub fn handle<U: Clone + 'static, E: Into<Reason>>(
        &self,
        f: impl FnOnce(&Cx, Result<T, Reason>) -> Result<U, E> + 'static,
    ) -> P<U> {
        self.derive(move |cx, result, derived| {
            derived.settle_with(f(cx, result).map_err(Into::into));
        })
    }

    pub fn finally(&self, f: impl FnOnce(&Cx) + 'static) -> P<T> {
        self.try_finally(move |cx| {
            f(cx);
            Ok::<(), Error>(())
        })
    }

    pub fn try_finally<E: Into<Reason>>(
        &self,
        f: impl FnOnce(&Cx) -> Result<(), E> + 'static,
    ) -> P<T> {
        self.derive(move |cx, result, derived| {
            if let Err(error) = f(cx) {
                derived.settle_with(Err(error.into()));
                return;
            }
            // Return PromiseResolve(C, undefined).then(valueThunk or thrower).
            let returned = P::resolve(cx, ()).try_then(move |_, ()| result);
            derived.adopt(&returned);
        })
    }

    pub fn all(cx: &Cx, inputs: Vec<P<T>>) -> P<Vec<T>> {
        let elements = inputs.into_iter().map(|input| {
            move |fulfil: Box<dyn FnOnce(T)>, reject: Box<dyn FnOnce(Reason)>| {
                input.react(move |_, result| match result {
                    Ok(value) => fulfil(value),
                    Err(reason) => reject(reason),
                });
            }
        });
        collect(cx, elements.collect(), Ok)
    }

    pub fn all_settled(cx: &Cx, inputs: Vec<P<T>>) -> P<Vec<Result<T, Reason>>> {
        let elements = inputs.into_iter().map(|input| {
            move |fulfil: Box<dyn FnOnce(Result<T, Reason>)>, _| {
                input.react(move |_, result| fulfil(result));
            }
        });
        collect(cx, elements.collect(), Ok)
    }

    pub fn any(cx: &Cx, inputs: Vec<P<T>>) -> P<T> {
        // As `all`, with the outcomes exchanged.
        let (promise, resolver) = P::with_resolvers(cx);
        let resolver = Rc::new(resolver);
        let elements = inputs.into_iter().map(|input| {
            let resolver = Rc::clone(&resolver);
            move |collect: Box<dyn FnOnce(Reason)>, _| {
                input.react(move |_, result| match result {
                    Ok(value) => _ = resolver.resolve(value),
                    Err(reason) => collect(reason),
                });
            }
        });
        let failed = Rc::clone(&resolver);
        collect(cx, elements.collect(), move |errors: Vec<Reason>| {
            failed.reject(AggregateError(errors));
            Ok(vec![])
        });
        promise
    }

    pub fn race(cx: &Cx, inputs: Vec<P<T>>) -> P<T> {
        let (promise, resolver) = P::with_resolvers(cx);
        let resolver = Rc::new(resolver);
        for input in inputs {
            let resolver = Rc::clone(&resolver);
            input.react(move |_, result| _ = resolver.settle_with(result));
        }
        promise
    }
}

impl<T: Clone + 'static> R<T> {
    fn settle_with(&self, result: Result<T, Reason>) -> bool {
        match result {
            Ok(value) => self.resolve(value),
            Err(reason) => {
                !self.already_resolved.replace(true) && {
                    self.promise.settle(Err(reason));
                    true
                }
            }
        }
    }
}

/// Whether nobody is told of a promise with this reason: its end says nothing about a failure. ECMAScript, where a promise
/// that can be settled no more stays pending, has no such reasons.
fn is_end(reason: &Reason) -> bool {
    matches!(reason.downcast_ref(), Some(Error::Terminated | Error::PromiseAbandoned))
}

/// PerformPromiseAll.
fn collect<V: Clone + 'static>(
    cx: &Cx,
    elements: Vec<impl FnOnce(Box<dyn FnOnce(V)>, Box<dyn FnOnce(Reason)>)>,
    finish: impl FnOnce(Vec<V>) -> Result<Vec<V>, Reason> + 'static,
) -> P<Vec<V>> {
    let (promise, resolver) = P::with_resolvers(cx);
    let resolver = Rc::new(resolver);
    let values = Rc::new(RefCell::new(vec![None; elements.len()]));
    let remaining = Rc::new(Cell::new(1));
    let finish = Rc::new(RefCell::new(Some(finish)));
    let countdown = {
        let (values, resolver) = (Rc::clone(&values), Rc::clone(&resolver));
        let remaining = Rc::clone(&remaining);
        Rc::new(move || {
            remaining.set(remaining.get() - 1);
            if remaining.get() == 0 {
                let values = values.take().into_iter().map(Option::unwrap).collect();
                let finish = finish.borrow_mut().take().unwrap();
                resolver.settle_with(finish(values));
            }
        })
    };
    for (index, element) in elements.into_iter().enumerate() {
        remaining.set(remaining.get() + 1);
        let (values, countdown) = (Rc::clone(&values), Rc::clone(&countdown));
        let resolver = Rc::clone(&resolver);
        element(
            Box::new(move |value| {
                values.borrow_mut()[index] = Some(value);
                countdown();
            }),
            Box::new(move |reason| _ = resolver.settle_with(Err(reason))),
        );
    }
    countdown();
    promise
}
