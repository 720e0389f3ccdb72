//! Names of promises.

use std::fmt;
use std::num::NonZeroUsize;

/// Names a promise: the same for all clones of it, and unique among the promises that are alive.
///
/// ```
/// use mainspring::{EventLoop, LocalPromise};
///
/// let event_loop = EventLoop::new()?;
/// let promise = LocalPromise::resolve(event_loop.cx(), 1);
/// assert_eq!(promise.id(), promise.clone().id());
/// assert_ne!(promise.id(), promise.then(|_, n| n).id());
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PromiseId(NonZeroUsize);

impl PromiseId {
    pub(super) fn new(address: NonZeroUsize) -> Self {
        Self(address)
    }
}

impl fmt::Display for PromiseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}
