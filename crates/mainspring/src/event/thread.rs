//! The targets of a thread that have listeners with signals. What a signal does when it is aborted must be
//! `Send`, so it knows a target by its number, and finds it if this is the right thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64 as Counter, Ordering};

use super::target::{Inner, Known};
use crate::sync::thread_local;

thread_local! {
    // Loom's macro has no constant form.
    #[cfg_attr(not(loom), allow(clippy::missing_const_for_thread_local))]
    static TARGETS: RefCell<BTreeMap<u64, Known>> = RefCell::new(BTreeMap::new());
}

/// A number for each target, on whichever thread, never used again.
pub(super) fn next_number() -> u64 {
    static NEXT: Counter = Counter::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Makes a target known.
pub(super) fn enter(target: &Rc<Inner>) {
    let known = Rc::downgrade(target);
    let _ = TARGETS.try_with(|targets| targets.borrow_mut().insert(target.number, known));
}

/// Forgets a target.
pub(super) fn leave(number: u64) {
    let _ = TARGETS.try_with(|targets| targets.borrow_mut().remove(&number));
}

/// Removes the listeners of a target whose signals are aborted, if the target is on this thread.
pub(super) fn tidy(number: u64) {
    let find = |targets: &RefCell<BTreeMap<_, Known>>| targets.borrow().get(&number)?.upgrade();
    if let Ok(Some(target)) = TARGETS.try_with(find) {
        target.tidy_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::TARGETS;
    use crate::{AbortController, EventTarget, Listener, ListenerOptions};

    // spec: JS-1
    #[test]
    fn a_target_that_is_dropped_is_forgotten() {
        let controller = AbortController::new();
        let options = ListenerOptions::new().signal(&controller.signal());
        for _ in 0..10 {
            let target = EventTarget::new();
            target.add_event_listener("x", &Listener::new(|_, _| ()), options.clone());
            TARGETS.try_with(|targets| assert_eq!(targets.borrow().len(), 1)).unwrap();
        }
        TARGETS.try_with(|targets| assert!(targets.borrow().is_empty())).unwrap();
    }
}
