//! Pauses between attempts, where the system does not tell when another one may succeed.

use std::ops::Range;
use std::time::Duration;

use crate::{Cx, Sleep};

/// The first pause, and the longest one.
const PAUSES: Range<Duration> = Duration::from_millis(1)..Duration::from_millis(50);

/// The next pause: twice the one before, unless that is the longest.
pub(super) struct Backoff(Duration);

impl Backoff {
    pub(super) const fn new() -> Self {
        Self(PAUSES.start)
    }

    /// To be waited for before the next attempt.
    pub(super) fn pause(&mut self, cx: &Cx) -> Sleep {
        let pause = self.0;
        self.0 = PAUSES.end.min(pause * 2);
        cx.sleep(pause)
    }
}
