//! The loops that are being driven on this thread.

use std::cell::RefCell;

use crate::sync::thread_local;
use crate::{Cx, Error};

thread_local! {
    /// Innermost last. More than one, if a callback of one loop drives another.
    // Loom's macro has no constant form.
    #[cfg_attr(not(loom), allow(clippy::missing_const_for_thread_local))]
    static DRIVEN: RefCell<Vec<Cx>> = RefCell::new(Vec::new());
}

/// The context of the loop whose callback is running on this thread.
///
/// For code that is called by foreign functions and was not given a context. In a callback that
/// drives another loop, it is that other loop's.
///
/// # Errors
///
/// [`Error::NotRunning`] if no loop is being driven on this thread.
///
/// ```
/// use mainspring::EventLoop;
///
/// extern "C" fn foreign() {
///     let cx = mainspring::current().expect("called from a callback");
///     cx.queue_microtask(|_| println!("later"));
/// }
///
/// let event_loop = EventLoop::new()?;
/// event_loop.cx().submit(|_| foreign())?;
/// event_loop.run_until_idle()?;
/// assert!(mainspring::current().is_err());
/// # Ok::<(), mainspring::Error>(())
/// ```
pub fn current() -> Result<Cx, Error> {
    DRIVEN
        .try_with(|driven| driven.borrow().last().cloned())
        .ok()
        .flatten()
        .ok_or(Error::NotRunning)
}

/// Makes a loop the current one for as long as it lives.
pub(crate) struct Entered(());

impl Entered {
    pub(crate) fn new(cx: &Cx) -> Self {
        let _ = DRIVEN.try_with(|driven| driven.borrow_mut().push(cx.clone()));
        Self(())
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // The context may be the last one of its loop: it is dropped outside of the borrow.
        let left = DRIVEN.try_with(|driven| driven.borrow_mut().pop());
        drop(left);
    }
}
