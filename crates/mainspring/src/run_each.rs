//! Callbacks that one call runs one after the other.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::Cx;
use crate::fault::discard;

/// Runs callbacks such that a panic of one does not keep the others from running: it is reported at once,
/// or, if the policy lets it go on, when all have run. Of several, the first one goes on.
#[derive(Default)]
#[must_use = "a panic may wait for `finish`"]
pub(crate) struct RunEach {
    first: Option<Box<dyn Any + Send>>,
}

impl RunEach {
    pub(crate) fn run(&mut self, cx: &Cx, callback: impl FnOnce()) {
        let Err(payload) = catch_unwind(AssertUnwindSafe(callback)) else { return };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| cx.uncaught(payload))) {
            match &self.first {
                None => self.first = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Lets a panic go on, if there was one that is to.
    pub(crate) fn finish(self) {
        if let Some(payload) = self.first {
            resume_unwind(payload);
        }
    }
}
