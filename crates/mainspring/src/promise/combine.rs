//! Promises for the outcomes of several others.

use std::fmt;

use super::mode::{Carries, Common, Mode};
use super::node::{Base, React, Verdict};
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

/// What was gathered so far: a `V` of each, to make a promise for a `U` settle.
pub(crate) struct Gather<V, U: 'static, M: Mode> {
    parts: Vec<Option<V>>,
    left: usize,
    /// None when the decision was made.
    settler: Option<Settler<U, M>>,
}

impl<V, U, M: Mode> Gather<V, U, M> {
    /// Keeps a part. When all are there, they come back.
    fn keep(&mut self, index: usize, part: V) -> Option<Vec<V>> {
        self.parts[index] = Some(part);
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        Some(std::mem::take(&mut self.parts).into_iter().flatten().collect())
    }
}

type Outcome<T, M> = Result<T, <M as Mode>::Rejection>;

/// What the outcome of one promise decides, if it does. Runs no code of the user.
type Step<T, V, U, M> = fn(&mut Gather<V, U, M>, usize, Outcome<T, M>) -> Option<Outcome<U, M>>;

/// The reaction to one of the promises.
struct Part<T, V, U: 'static, M: Mode> {
    gather: M::Common<Gather<V, U, M>>,
    index: usize,
    step: Step<T, V, U, M>,
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
        let settler = self.gather.with(|gather| gather.settler.take());
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
            let decision = (self.step)(gather, self.index, outcome.take()?)?;
            Some((gather.settler.take()?, decision, std::mem::take(&mut gather.parts)))
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
    M: Carries<T> + Carries<V> + Carries<U>,
{
    // First of all: this is code of the user.
    let promises: Vec<_> = promises.into_iter().collect();
    let (result, settler) = Base::listed(home.clone());
    let left = promises.len();
    if left == 0 {
        let Some(outcome) = empty() else {
            settler.leave_pending();
            return result;
        };
        if let Some(child) = settler.claim() {
            child.settle(outcome);
        }
        return result;
    }
    let parts = std::iter::repeat_with(|| None).take(left).collect();
    let gather = M::Common::wrap(Gather { parts, left, settler: Some(settler) });
    for (index, promise) in promises.into_iter().enumerate() {
        let part = Part { gather: gather.clone(), index, step };
        // SAFETY: `M` carries the parts and the result; references to promises of its kind it carries anyway.
        drop(unsafe { promise.react_unchecked(part) });
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
        |gather, index, outcome| match outcome {
            Ok(value) => gather.keep(index, value).map(Ok),
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
        |gather, index, outcome| gather.keep(index, outcome).map(Ok),
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
    combine(home, promises, none, |gather, index, outcome| match outcome {
        Ok(value) => Some(Ok(value)),
        Err(reason) => {
            let errors = gather.keep(index, reason)?;
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
