//! What all clones of a signal share, and how it is aborted.
//!
//! # Who can abort a signal
//!
//! The origin of a signal says so: a controller, a timer, or, for one that depends on others, the signals
//! that these come down to. Those have a controller or a timer, and depend on nothing. A signal without an
//! origin is aborted already, or never will be. Controllers and timers are owned by somebody, and say so when
//! they are gone; then the signal, and what depends on nothing else, is without an origin, and lets go of
//! all that waited for it.
//!
//! # Who keeps whom alive
//!
//! 1. A controller keeps its signal. A timer does not.
//! 2. A signal keeps those that it depends on, and thereby their timers. They know it by a weak reference,
//!    which is removed when it is dropped.
//! 3. A signal that has an origin, and something that waits for it, keeps itself, whoever else does. It
//!    stops to do so when it is aborted, when its origin is gone, and when nothing waits any more. So no
//!    cycle outlives the controllers and timers that it is for.
//!
//! # Locks
//!
//! No thread holds the locks of two signals at a time. No code of the user is run under a lock, and that
//! includes destructors.

use std::collections::BTreeMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64 as Counter, Ordering as CounterOrdering};
use std::sync::{Arc, Weak};

use crate::fault::{discard, drop_isolated, log_isolated};
use crate::run_each::RunEach;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, lock};
use crate::{Handle, Rejection, TimerId};

/// Numbers for signals, algorithms and listeners, in the order in which they were made.
pub(super) fn next_number() -> u64 {
    static NEXT: Counter = Counter::new(0);
    NEXT.fetch_add(1, CounterOrdering::Relaxed)
}

/// Names an algorithm of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AlgorithmId(u64);

type Algorithm = Box<dyn FnOnce(&Rejection) + Send>;

/// Who can abort a signal.
pub(super) enum Origin {
    /// A controller.
    Controller,
    /// A timer.
    Timer(Handle, TimerId),
    /// Any of these. There is at least one.
    Sources(Vec<Arc<Core>>),
    /// Nobody, or nobody any more.
    None,
}

/// What waits for a signal.
#[derive(Default)]
struct Waiting {
    algorithms: BTreeMap<u64, Algorithm>,
    /// The listeners themselves are kept by their loops.
    listeners: BTreeMap<u64, Handle>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.algorithms.is_empty() && self.listeners.is_empty()
    }

    fn release(self) {
        for algorithm in self.algorithms.into_values() {
            drop_isolated(algorithm);
        }
        for (key, handle) in self.listeners {
            super::listener::release(&handle, key);
        }
    }
}

struct Body {
    origin: Origin,
    reason: Option<Rejection>,
    waiting: Waiting,
    /// Those that have this one among their sources.
    dependents: BTreeMap<u64, Weak<Core>>,
    /// The signal itself, while it has an origin and something waits.
    keep: Option<Arc<Core>>,
}

impl Body {
    fn has_origin(&self) -> bool {
        !matches!(self.origin, Origin::None)
    }

    /// What is left to be dropped when something has stopped to wait.
    fn let_go(&mut self) -> Option<Arc<Core>> {
        if self.waiting.is_empty() { self.keep.take() } else { None }
    }
}

/// What an abort takes out of a signal.
struct Taken {
    origin: Origin,
    dependents: BTreeMap<u64, Weak<Core>>,
    _keep: Option<Arc<Core>>,
}

pub(super) struct Core {
    number: u64,
    /// Set once, after the reason.
    aborted: AtomicBool,
    body: Mutex<Body>,
}

impl Core {
    pub(super) fn new(origin: Origin) -> Arc<Self> {
        let body = Body {
            origin,
            reason: None,
            waiting: Waiting::default(),
            dependents: BTreeMap::new(),
            keep: None,
        };
        Arc::new(Self {
            number: next_number(),
            aborted: AtomicBool::new(false),
            body: Mutex::new(body),
        })
    }

    /// One that depends on others.
    pub(super) fn any(signals: &[&Arc<Self>]) -> Arc<Self> {
        let mut sources = BTreeMap::new();
        for signal in signals {
            let body = lock(&signal.body);
            if let Some(reason) = &body.reason {
                let core = Self::new(Origin::None);
                core.mark(reason);
                return core;
            }
            match &body.origin {
                Origin::Controller | Origin::Timer(..) => {
                    sources.insert(signal.number, Arc::clone(signal));
                }
                Origin::Sources(theirs) => {
                    sources.extend(theirs.iter().map(|source| (source.number, Arc::clone(source))));
                }
                Origin::None => {}
            }
        }
        if sources.is_empty() {
            return Self::new(Origin::None);
        }
        let sources: Vec<_> = sources.into_values().collect();
        let core = Self::new(Origin::Sources(sources.clone()));
        for source in &sources {
            core.depend(source);
        }
        if core.is_aborted() {
            // Whoever did it may have looked for entries before they were made.
            core.unlink(&sources);
        }
        core
    }

    /// Makes itself known to a source, or takes over what became of it meanwhile.
    fn depend(self: &Arc<Self>, source: &Self) {
        let mut body = lock(&source.body);
        if body.has_origin() {
            body.dependents.insert(self.number, Arc::downgrade(self));
            return;
        }
        let reason = body.reason.clone();
        drop(body);
        match reason {
            Some(reason) => drop(self.mark(&reason)),
            None => self.lose(source),
        }
    }

    /// Is not known to these any more.
    fn unlink(&self, sources: &[Arc<Self>]) {
        for source in sources {
            lock(&source.body).dependents.remove(&self.number);
        }
    }

    #[inline]
    pub(super) fn is_aborted(&self) -> bool {
        // Acquire: the partner is the Release in `mark`. Whoever sees it aborted sees what happened before.
        self.aborted.load(Ordering::Acquire)
    }

    pub(super) fn reason(&self) -> Option<Rejection> {
        if self.is_aborted() { lock(&self.body).reason.clone() } else { None }
    }

    /// Aborts it and what depends on it, unless it is aborted. All are marked before the first one reacts.
    pub(super) fn abort(self: &Arc<Self>, reason: &Rejection) {
        let Some(taken) = self.mark(reason) else { return };
        let mut marked = vec![Arc::clone(self)];
        for dependent in taken.dependents.into_values().filter_map(|weak| weak.upgrade()) {
            let Some(taken) = dependent.mark(reason) else { continue };
            if let Origin::Sources(sources) = &taken.origin {
                dependent.unlink(sources);
            }
            marked.push(dependent);
        }
        let mut each = RunEach::default();
        for core in marked {
            core.react(reason, &mut each);
        }
        each.finish();
    }

    /// Sets the reason, unless there is one.
    fn mark(&self, reason: &Rejection) -> Option<Taken> {
        let mut body = lock(&self.body);
        if body.reason.is_some() {
            return None;
        }
        body.reason = Some(reason.clone());
        // Release: the partner is the Acquire in `is_aborted`.
        self.aborted.store(true, Ordering::Release);
        Some(Taken {
            origin: mem::replace(&mut body.origin, Origin::None),
            dependents: mem::take(&mut body.dependents),
            _keep: body.keep.take(),
        })
    }

    /// Runs what waited. Each is taken out when its turn comes, so that those before can remove it.
    fn react(&self, reason: &Rejection, each: &mut RunEach) {
        let next_algorithm = || lock(&self.body).waiting.algorithms.pop_first();
        while let Some((_, algorithm)) = next_algorithm() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| algorithm(reason))) {
                discard(payload);
                log_isolated(|| tracing::error!("an algorithm of an abort signal panicked"));
            }
        }
        let next_listener = || lock(&self.body).waiting.listeners.pop_first();
        while let Some((key, handle)) = next_listener() {
            super::listener::call(&handle, key, reason, each);
        }
    }

    /// The controller or the timer is gone, or the last source.
    pub(super) fn lose_origin(&self) {
        let mut body = lock(&self.body);
        if !body.has_origin() {
            return;
        }
        let origin = mem::replace(&mut body.origin, Origin::None);
        let waiting = mem::take(&mut body.waiting);
        let dependents = mem::take(&mut body.dependents);
        let keep = body.keep.take();
        drop(body);
        for dependent in dependents.into_values().filter_map(|weak| weak.upgrade()) {
            dependent.lose(self);
        }
        waiting.release();
        drop((origin, keep));
    }

    /// A source can not be aborted any more.
    fn lose(&self, source: &Self) {
        let mut body = lock(&self.body);
        let Origin::Sources(sources) = &mut body.origin else { return };
        let index = sources.iter().position(|other| other.number == source.number);
        let lost = index.map(|index| sources.swap_remove(index));
        let is_last = sources.is_empty();
        drop(body);
        if is_last {
            self.lose_origin();
        }
        drop(lost);
    }

    /// Says which timer aborts it.
    pub(super) fn set_timer(&self, handle: Handle, id: TimerId) {
        lock(&self.body).origin = Origin::Timer(handle, id);
    }

    pub(super) fn add_algorithm(self: &Arc<Self>, algorithm: Algorithm) -> Option<AlgorithmId> {
        let number = next_number();
        let mut body = lock(&self.body);
        if body.has_origin() {
            body.waiting.algorithms.insert(number, algorithm);
            self.keep(body);
            return Some(AlgorithmId(number));
        }
        let is_aborted = body.reason.is_some();
        drop(body);
        drop_isolated(algorithm);
        (!is_aborted).then_some(AlgorithmId(number))
    }

    pub(super) fn remove_algorithm(&self, id: AlgorithmId) -> bool {
        let mut body = lock(&self.body);
        let algorithm = body.waiting.algorithms.remove(&id.0);
        // One that is not there, though nothing was aborted, went when the origin did.
        let will_not_run = algorithm.is_some() || body.reason.is_none();
        let keep = body.let_go();
        drop(body);
        drop_isolated(algorithm);
        drop(keep);
        will_not_run
    }

    /// Says on which loop a listener is. False if it will never be called.
    pub(super) fn add_listener(self: &Arc<Self>, key: u64, handle: Handle) -> bool {
        let mut body = lock(&self.body);
        let is_added = body.has_origin();
        if is_added {
            body.waiting.listeners.insert(key, handle);
            self.keep(body);
        }
        is_added
    }

    pub(super) fn remove_listener(&self, key: u64) {
        let mut body = lock(&self.body);
        let listener = body.waiting.listeners.remove(&key);
        let keep = body.let_go();
        drop(body);
        drop((listener, keep));
    }

    /// How many others it would abort.
    #[cfg(test)]
    pub(super) fn dependents(&self) -> usize {
        lock(&self.body).dependents.len()
    }

    /// How many listeners it would call.
    #[cfg(test)]
    pub(super) fn listeners(&self) -> usize {
        lock(&self.body).waiting.listeners.len()
    }

    fn keep(self: &Arc<Self>, mut body: MutexGuard<'_, Body>) {
        if body.keep.is_none() {
            body.keep = Some(Arc::clone(self));
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let origin = mem::replace(&mut lock(&self.body).origin, Origin::None);
        match origin {
            Origin::Sources(sources) => self.unlink(&sources),
            Origin::Timer(handle, id) => _ = handle.clear_timeout(id),
            Origin::Controller | Origin::None => {}
        }
    }
}
