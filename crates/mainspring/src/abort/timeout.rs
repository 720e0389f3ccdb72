//! Signals that are aborted by a timer.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::core::{Core, Origin};
use crate::{Cx, Error, Rejection, TimeoutError};

/// What the timer has: it can abort the signal, and says when it is gone.
struct Trigger(Weak<Core>);

impl Trigger {
    fn fire(&self) {
        if let Some(signal) = self.0.upgrade() {
            signal.abort(&Rejection::new(TimeoutError));
        }
    }
}

impl Drop for Trigger {
    fn drop(&mut self) {
        if let Some(signal) = self.0.upgrade() {
            signal.lose_origin();
        }
    }
}

/// A signal that is aborted after a delay. It is kept from being aborted if nobody can see it any more.
#[track_caller]
pub(super) fn after(cx: &Cx, delay: Duration) -> Result<Arc<Core>, Error> {
    let signal = Core::new(Origin::None);
    let trigger = Trigger(Arc::downgrade(&signal));
    let id = cx.set_timeout(delay, move |_| trigger.fire())?;
    signal.set_timer(cx.handle(), id);
    cx.reference_timer(id, false)?;
    Ok(signal)
}
