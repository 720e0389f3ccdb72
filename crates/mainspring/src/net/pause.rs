//! Trying again after a while, where the system does not tell when it is worth it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::Cx;
use crate::time::Sleep;

const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(50);

/// Pauses, each twice as long as the one before, up to a bound.
pub(super) struct Pause<'a> {
    cx: &'a Cx,
    length: Duration,
    /// The one that is under way.
    sleep: Option<Sleep>,
}

impl<'a> Pause<'a> {
    pub(super) fn new(cx: &'a Cx) -> Self {
        Self { cx, length: SHORTEST, sleep: None }
    }

    /// Ready once for each pause. The first begins with the first call, and each other with the first call
    /// after the one before has ended.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| self.cx.sleep(self.length));
        ready!(Pin::new(sleep).poll(context));
        self.sleep = None;
        self.length = LONGEST.min(self.length * 2);
        Poll::Ready(())
    }
}
