//! Where a callback panicked: known only while it unwinds, so a hook of the process notes it.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::sync::Once;
use std::thread;

use super::{FaultKind, Safety};
use crate::Phase;
use crate::fault::{Details, as_text};

std::thread_local! {
    /// Whether a loop of this profile is driven by this thread.
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Backtrace>> = const { RefCell::new(None) };
}

/// Has backtraces kept of panics on threads that drive loops of this profile. The hook that was there before is called
/// as well.
pub(super) fn keep_backtraces() {
    static ONCE: Once = Once::new();
    if thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if IS_WATCHED.try_with(Cell::get).unwrap_or(false) {
                let backtrace = Backtrace::force_capture();
                let _ = LAST.try_with(|last| last.replace(Some(backtrace)));
            }
            before(info);
        }));
    });
}

/// Notes whether this thread drives a loop of this profile.
pub(crate) fn watch(is_watched: bool) {
    let _ = IS_WATCHED.try_with(|watched| watched.set(is_watched));
}

impl Safety {
    /// A callback has panicked.
    #[cold]
    pub(crate) fn panicked(&self, phase: Phase, payload: &dyn Any) -> Details {
        let backtrace = LAST.try_with(RefCell::take).unwrap_or_default();
        let task = self.lock().take_panicked();
        let cause = as_text(payload).unwrap_or("(a payload that is not text)").to_owned();
        let operation = "run a callback";
        let backtrace =
            self.report(FaultKind::Panic, operation, Some(phase), task, cause, backtrace);
        Details { task, backtrace }
    }
}
