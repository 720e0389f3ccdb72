//! Stopping a script from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a script that runs, from any thread. Clones are the same.
///
/// ```
/// # let event_loop = mainspring::EventLoop::new()?;
/// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
/// let interrupt = script.interrupt();
/// interrupt.interrupt();
/// assert!(script.eval("for (;;) {}", "app.js").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Stops the script that runs; if none does, the next one that runs for a while.
    ///
    /// It cannot catch that. The embedder is told [`Limit::Interrupted`](crate::Limit::Interrupted).
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// use mainspring_quickjs::{Error, Limit};
    ///
    /// script.interrupt().interrupt();
    /// assert_eq!(script.eval("for (;;) {}", "app.js"), Err(Error::Limit(Limit::Interrupted)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interrupt(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes back what no script has been stopped by yet. Tells whether there was something.
    ///
    /// ```
    /// let interrupt = mainspring_quickjs::Interrupt::default();
    /// interrupt.interrupt();
    /// assert!(interrupt.take());
    /// assert!(!interrupt.take());
    /// ```
    pub fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }

    /// The word that is true while somebody wants to interrupt, for signal handlers.
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    ///
    /// let interrupt = mainspring_quickjs::Interrupt::default();
    /// interrupt.flag().store(true, Ordering::Relaxed);
    /// assert!(interrupt.take());
    /// ```
    #[must_use]
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}
