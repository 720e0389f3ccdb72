//! Whom a loop tells of what it does: decided once for each call that drives it.

#[cfg(not(feature = "metrics"))]
use crate::local::Local;

/// Does something with whoever observes the loop, or with `()`: `observed!(cx, |observe| …)`.
macro_rules! observed {
    ($cx:expr, |$observe:ident| $body:expr) => {
        match (&$cx.0.shared.safety, $cx.0.observer()) {
            (None, None) => {
                let $observe = ();
                $body
            }
            (None, Some($observe)) => $body,
            (Some(safety), other) => {
                let $observe = $crate::safety::Checked::new(safety, other);
                $body
            }
        }
    };
}
pub(crate) use observed;

#[cfg(not(feature = "metrics"))]
impl Local {
    /// Nobody can observe it.
    #[inline(always)]
    pub(crate) fn observer(&self) -> Option<()> {
        None
    }
}
