//! What a worker does for a promise.
//!
//! The function of the user is stored in the promise that it is for, where a derived promise has its
//! reaction, so that a job of the pool is a reference and a few words, and needs no allocation of its own.

use std::any::type_name;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::mode::Shareable;
use super::node::{Base, Node, React, Verdict};
use super::reference::Ref;
use super::settle::{Child, Parent};
use super::{Panicked, Promise, Rejection};
use crate::abort::{AbortSignal, AlgorithmId};
use crate::fault::drop_isolated;
use crate::place::{Origin, Place};
use crate::pool::{Reason, Refused, Work};
use crate::shared::Shared;
use crate::sync::{Ordering, thread_local};
use crate::{Cx, Error, Handle};

/// A function that blocks, and what can keep it from being called.
struct Blocking<F> {
    f: F,
    signal: AbortSignal,
    listed: Option<Listed>,
}

/// An entry on the list of errands of a loop that is observed. It is here, and not in the errand, so that a job of the
/// pool stays small.
struct Listed {
    handle: Handle,
    number: usize,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.handle.0.errands.remove(self.number);
    }
}

impl<T: 'static, F: 'static> React<(), T, Shareable> for Blocking<F> {
    fn react(self, _: &Cx, _: Parent<(), Shareable>) -> Verdict<T, Shareable> {
        unreachable!("it is not attached to another promise")
    }
}

/// A job of the pool: the function inside a promise. If it is dropped, the function is not called, and the
/// promise is rejected.
pub(crate) struct Errand {
    promise: Option<Ref<Shareable>>,
    /// What rejects the promise when the signal is aborted.
    algorithm: Option<AlgorithmId>,
    /// Calls the function, or drops it.
    act: unsafe fn(Ref<Shareable>, Option<AlgorithmId>, bool),
}

impl Errand {
    fn act(&mut self, run: bool) {
        let Some(promise) = self.promise.take() else { return };
        let handle = promise.home().clone();
        let working = Working::new(&handle.0);
        // SAFETY: the function is the one for the types of this promise.
        unsafe { (self.act)(promise, self.algorithm, run) };
        drop(working);
        handle.0.workers.ended(&handle.0);
    }
}

impl Work for Errand {
    fn run(mut self) {
        self.act(true);
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        self.act(false);
    }
}

/// # Safety
///
/// The promise is one for a `T`, made with a `Blocking<F>`, which has not been taken out.
unsafe fn act<T, E, F>(promise: Ref<Shareable>, algorithm: Option<AlgorithmId>, run: bool)
where
    T: Send + 'static,
    E: Into<Rejection>,
    F: FnOnce(&AbortSignal) -> Result<T, E> + Send + 'static,
{
    // SAFETY: passed on to the caller.
    let blocking = unsafe { Node::<(), T, Blocking<F>, Shareable>::take_reaction(&promise) };
    // SAFETY: passed on to the caller.
    let promise = unsafe { Base::<T, Shareable>::from_ref(promise) };
    let Some(Blocking { f, signal, listed: _listed }) = blocking else { return };
    let outcome = if run && promise.is_undecided() {
        let result = catch_unwind(AssertUnwindSafe(|| f(&signal).map_err(Into::into)));
        Some(result.unwrap_or_else(|payload| Err(Panicked::new(payload).into())))
    } else {
        drop_isolated(f);
        None
    };
    if let Some(algorithm) = algorithm {
        signal.remove_algorithm(algorithm);
    }
    // Nothing of the promise is left here when it is settled, so that its value need not be copied.
    let claimed = promise.claim();
    drop(promise);
    match (claimed, outcome) {
        (Some(child), Some(outcome)) => deliver(child, outcome),
        // Dropping it rejects the promise.
        (Some(child), None) => drop(Hold(child.home().clone())),
        (None, outcome) => drop_isolated(outcome),
    }
}

/// Settles a promise on the loop's thread: now, or through the internal lane.
fn deliver<T: Send + 'static>(child: Child<T, Shareable>, outcome: Result<T, Rejection>) {
    let handle = child.home().clone();
    let hold = Hold(handle.clone());
    let settle = move |_: &Cx| {
        child.settle(outcome);
        drop(hold);
    };
    match handle.0.owner.cx() {
        Some(cx) => settle(&cx),
        // If the loop has ended, the promise has; what was to be its outcome is dropped.
        None => drop_isolated(handle.send_internal(settle)),
    }
}

/// One of the reasons for the loop to stay alive. Whoever decides about the promise has it, and the count was
/// increased when the promise was made.
struct Hold(Handle);

impl Drop for Hold {
    fn drop(&mut self) {
        // Release: as for `KeepAlive`. The loop's own thread need not be woken.
        let left = self.0.0.holds.fetch_sub(1, Ordering::Release);
        if left == 1 && !self.0.0.owner.is_current() {
            self.0.wake();
        }
    }
}

thread_local! {
    /// The loops whose errands this thread is on, innermost last.
    #[cfg_attr(not(loom), allow(clippy::missing_const_for_thread_local))]
    static WORKING: RefCell<Vec<*const Shared>> = RefCell::new(Vec::new());
}

/// This thread is on an errand.
struct Working(());

impl Working {
    fn new(shared: &Shared) -> Self {
        let _ = WORKING.try_with(|working| working.borrow_mut().push(shared));
        Self(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = WORKING.try_with(|working| working.borrow_mut().pop());
    }
}

/// Whether this thread is on an errand for this loop, whose end would wait for it.
pub(crate) fn is_on_errand(shared: &Shared) -> bool {
    WORKING.try_with(|working| working.borrow().contains(&ptr::from_ref(shared))).unwrap_or(false)
}

/// See [`Handle::promisify`].
#[track_caller]
pub(super) fn promisify<T, E, F>(handle: &Handle, signal: &AbortSignal, f: F) -> Promise<T>
where
    T: Send + 'static,
    E: Into<Rejection>,
    F: FnOnce(&AbortSignal) -> Result<T, E> + Send + 'static,
{
    if let Some(reason) = signal.reason() {
        drop_isolated(f);
        return Promise::reject(handle, reason);
    }
    let place = Place::caller().get();
    let shared = &*handle.0;
    let listed = shared.is_observed().then(|| {
        let origin = Origin::new(place, type_name::<F>());
        Listed { handle: handle.clone(), number: shared.errands.add(origin) }
    });
    let blocking = Blocking { f, signal: signal.clone(), listed };
    let promise = Base::<T, Shareable>::listed_with(handle.clone(), blocking);
    shared.holds.fetch_add(1, Ordering::Relaxed);
    shared.workers.began();
    let aborted = promise.clone();
    let algorithm = signal.add_algorithm(move |reason| {
        if let Some(child) = aborted.claim() {
            deliver(child, Err(reason.clone()));
        }
    });
    let errand = Errand { promise: Some(promise.node().clone()), algorithm, act: act::<T, E, F> };
    let failure = match signal.reason() {
        // Aborted meanwhile: the function is never called.
        Some(reason) => Some((errand, reason)),
        // The loop has ended.
        None if !promise.is_undecided() => None,
        None => shared.workers.execute(shared, errand).err().map(|Refused { job, reason }| {
            let error = match reason {
                Reason::Closed => Error::Terminated,
                Reason::NoThread(error) => Error::Io(error),
            };
            (job, error.into())
        }),
    };
    if let Some((errand, reason)) = failure {
        if let Some(child) = promise.claim() {
            deliver(child, Err(reason));
        }
        drop(errand);
    }
    Promise::new(promise)
}
