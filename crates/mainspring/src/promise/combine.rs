//! Promises for the outcomes of several others.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::member::Member;
use super::mode::{Carries, Common as _, Mode};
use super::node::{Base, Outcome, React, Verdict};
use super::settle::{Parent, Settler};
use crate::Cx;

/// All promises were rejected, or there was none. What [`Promise::any`](crate::Promise::any) and
/// [`LocalPromise::any`](crate::LocalPromise::any) are rejected with.
///
/// ```
/// use mainspring::{AggregateError, EventLoop, LocalPromise, LocalRejection};
///
/// let event_loop = EventLoop::new()?;
/// let cx = event_loop.cx();
/// let one = LocalPromise::<()>::reject(cx, LocalRejection::from_value("one"));
/// let two = LocalPromise::<()>::reject(cx, LocalRejection::from_value("two"));
/// LocalPromise::any(cx, [one, two]).catch(|_, reason| {
///     let all = reason.downcast_ref::<AggregateError<LocalRejection>>().unwrap();
///     assert_eq!(all.errors()[1].to_string(), "two");
/// });
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AggregateError<R = super::Rejection> {
    errors: Vec<R>,
}

impl<R> AggregateError<R> {
    /// Why each was rejected, in the order in which the promises were given.
    ///
    /// ```
    /// use mainspring::{AggregateError, EventLoop, Promise};
    ///
    /// let event_loop = EventLoop::new()?;
    /// Promise::<()>::any(&event_loop.handle(), []).catch(|_, reason| {
    ///     assert!(reason.downcast_ref::<AggregateError>().unwrap().errors().is_empty());
    /// });
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn errors(&self) -> &[R] {
        &self.errors
    }
}

impl<R> fmt::Display for AggregateError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.len() {
            0 => f.write_str("there was no promise that could have been fulfilled"),
            n => write!(f, "all promises were rejected ({n} of them)"),
        }
    }
}

impl<R: fmt::Debug> std::error::Error for AggregateError<R> {}

/// Parts that come in any order. Those that come in the order of their numbers, as they do more often than not, are put
/// where they stay.
struct Parts<V> {
    /// The first ones.
    first: Vec<V>,
    /// Those behind a gap, by their numbers. Nothing if there never was a gap.
    early: Vec<Option<V>>,
    count: usize,
}

impl<V> Parts<V> {
    fn new(count: usize) -> Self {
        Self { first: Vec::with_capacity(count), early: Vec::new(), count }
    }

    /// Keeps a part. When all are there, they come back.
    fn keep(&mut self, index: usize, part: V) -> Option<Vec<V>> {
        if index == self.first.len() {
            self.first.push(part);
            while let Some(part) = self.early.get_mut(self.first.len()).and_then(Option::take) {
                self.first.push(part);
            }
        } else {
            if self.early.is_empty() {
                self.early.resize_with(self.count, || None);
            }
            self.early[index] = Some(part);
        }
        (self.first.len() == self.count).then(|| std::mem::take(&mut self.first))
    }

    /// What is there, if it is not wanted any more.
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(0))
    }
}

/// What was gathered so far: a `V` of each `T`, to make a promise for a `U` settle.
struct Gather<T, V, U: 'static, M: Mode> {
    parts: Parts<V>,
    step: Step<T, V, U, M>,
    /// None when the decision was made. There are no parts then.
    settler: Option<Settler<U, M>>,
    /// Room for what waits for the promises. As far as this knows, nothing is in it.
    seats: Vec<Seat<T, V, U, M>>,
}

/// What the outcome of one promise decides, if it does. Runs no code of the user.
type Step<T, V, U, M> = fn(&mut Parts<V>, usize, Outcome<T, M>) -> Option<Outcome<U, M>>;

type Common<T, V, U, M> = <M as Mode>::Common<Gather<T, V, U, M>>;

/// What waits for one of the promises.
type Seat<T, V, U, M> = Member<T, (), Part<T, V, U, M>, M, Common<T, V, U, M>>;

/// The reaction to one of the promises.
struct Part<T, V, U: 'static, M: Mode> {
    /// Lent by the seat that this is in, which is there until the reaction is over.
    gather: ManuallyDrop<Common<T, V, U, M>>,
    index: usize,
}

impl<T, V, U, M> React<T, (), M> for Part<T, V, U, M>
where
    T: Clone + 'static,
    V: 'static,
    M: Mode,
{
    fn react(self, _: &Cx, parent: Parent<T, M>) -> Verdict<(), M> {
        parent.pass_on(|outcome| self.decide(outcome));
        Verdict::Forget
    }

    fn discard(self, _: Parent<T, M>) {
        let (settler, _parts) =
            self.gather.with(|gather| (gather.settler.take(), gather.parts.take()));
        if let Some(child) = settler.and_then(|settler| settler.claim()) {
            child.end();
        }
    }
}

impl<T, V, U: 'static, M: Mode> Part<T, V, U, M> {
    fn decide(self, outcome: Outcome<T, M>) {
        // Dropped at the end of this function, outside of the lock, if the decision was made before.
        let mut outcome = Some(outcome);
        let decided = self.gather.with(|gather| {
            gather.settler.as_ref()?;
            let decision = (gather.step)(&mut gather.parts, self.index, outcome.take()?)?;
            Some((gather.settler.take()?, decision, gather.parts.take()))
        });
        if let Some((settler, decision, _parts)) = decided
            && let Some(child) = settler.claim()
        {
            child.settle(decision);
        }
    }
}

/// A promise that settles when `step` says so.
fn combine<T, V, U, M>(
    home: &M::Home,
    promises: impl IntoIterator<Item = Base<T, M>>,
    empty: fn() -> Option<Outcome<U, M>>,
    step: Step<T, V, U, M>,
) -> Base<U, M>
where
    T: Clone + 'static,
    V: 'static,
    U: 'static,
    M: Carries<T> + Carries<V> + Carries<U>,
{
    // First of all: this is code of the user.
    let promises: Vec<_> = promises.into_iter().collect();
    let (result, settler) = Base::listed(home.clone());
    let count = promises.len();
    if count == 0 {
        let Some(outcome) = empty() else {
            settler.leave_pending();
            return result;
        };
        if let Some(child) = settler.claim() {
            child.settle(outcome);
        }
        return result;
    }
    let (parts, seats) = (Parts::new(count), Vec::with_capacity(count));
    let gather = Common::<T, V, U, M>::wrap(Gather { parts, step, settler: Some(settler), seats });
    let first = gather
        .with(|gather| NonNull::from(gather.seats.spare_capacity_mut()).cast::<Seat<T, V, U, M>>());
    for (index, promise) in promises.into_iter().enumerate() {
        // SAFETY: the seat has a reference that is counted.
        let part = Part { gather: unsafe { gather.lend() }, index };
        // SAFETY: `M` carries the parts and the result; references to promises of its kind it carries anyway. There is a seat
        // for each promise, which is the keeper's, moves with nothing, and is not touched by it.
        unsafe { promise.derive_at(first.add(index), part, gather.clone()) };
    }
    result
}

pub(super) fn all<T, M>(
    home: &M::Home,
    promises: impl IntoIterator<Item = Base<T, M>>,
) -> Base<Vec<T>, M>
where
    T: Clone + 'static,
    M: Carries<T> + Carries<Vec<T>>,
{
    combine(
        home,
        promises,
        || Some(Ok(Vec::new())),
        |parts, index, outcome| match outcome {
            Ok(value) => parts.keep(index, value).map(Ok),
            Err(reason) => Some(Err(reason)),
        },
    )
}

pub(super) fn all_settled<T, M>(
    home: &M::Home,
    promises: impl IntoIterator<Item = Base<T, M>>,
) -> Base<Vec<Outcome<T, M>>, M>
where
    T: Clone + 'static,
    M: Carries<T> + Carries<Outcome<T, M>> + Carries<Vec<Outcome<T, M>>>,
{
    combine(
        home,
        promises,
        || Some(Ok(Vec::new())),
        |parts, index, outcome| parts.keep(index, outcome).map(Ok),
    )
}

pub(super) fn any<T, M>(
    home: &M::Home,
    promises: impl IntoIterator<Item = Base<T, M>>,
) -> Base<T, M>
where
    T: Clone + 'static,
    M: Carries<T> + Carries<<M as Mode>::Rejection>,
    M::Rejection: From<AggregateError<M::Rejection>>,
{
    let none = || Some(Err(AggregateError { errors: Vec::new() }.into()));
    combine(home, promises, none, |parts, index, outcome| match outcome {
        Ok(value) => Some(Ok(value)),
        Err(reason) => {
            let errors = parts.keep(index, reason)?;
            Some(Err(AggregateError { errors }.into()))
        }
    })
}

pub(super) fn race<T, M>(
    home: &M::Home,
    promises: impl IntoIterator<Item = Base<T, M>>,
) -> Base<T, M>
where
    T: Clone + 'static,
    M: Carries<T> + Carries<()>,
{
    combine::<T, (), T, M>(home, promises, || None, |_, _, outcome| Some(outcome))
}
