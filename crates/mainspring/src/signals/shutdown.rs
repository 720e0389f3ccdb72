//! Signals that end a loop. Needs the feature `signals`.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;
use signal_hook::iterator::backend::Handle as Source;
use signal_hook::low_level::emulate_default_handler;

use crate::shutdown::{close, shutdown_without_waiting};
use crate::{Error, Handle, LoopState};

impl Handle {
    /// Binds SIGINT, SIGTERM and SIGQUIT to the end of the loop, until the guard is dropped.
    ///
    /// The first one begins a graceful shutdown that may take `grace`, the second one closes the loop at
    /// once. Once the loop has terminated, they have their default effect. Keep the guard for as long as
    /// the process is to react at all: when it is dropped, the handlers stay and do nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses the handlers or the thread that waits for signals.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let _guard = event_loop.handle().shutdown_on_signals(Duration::from_secs(10))?;
    /// event_loop.run()?; // until Ctrl-C
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn shutdown_on_signals(&self, grace: Duration) -> Result<SignalGuard, Error> {
        let mut signals = Signals::new(TERM_SIGNALS)?;
        let source = signals.handle();
        let shared = Arc::clone(&self.0);
        let thread = thread::Builder::new().name("mainspring signals".into()).spawn(move || {
            for signal in signals.forever() {
                match shared.state() {
                    LoopState::Terminated => drop(emulate_default_handler(signal)),
                    LoopState::Terminating => close(&shared),
                    _ => shutdown_without_waiting(&shared, grace.into()),
                }
            }
        })?;
        Ok(SignalGuard { source, thread: Some(thread) })
    }
}

/// Unbinds the signals when it is dropped; made by [`Handle::shutdown_on_signals`].
///
/// ```no_run
/// # use std::time::Duration;
/// let event_loop = mainspring::EventLoop::new()?;
/// let guard = event_loop.handle().shutdown_on_signals(Duration::from_secs(10))?;
/// event_loop.run_until_idle()?;
/// drop(guard); // from here on Ctrl-C does nothing
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the signals are unbound when this is dropped"]
pub struct SignalGuard {
    source: Source,
    thread: Option<JoinHandle<()>>,
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        self.source.close();
        if let Some(thread) = self.thread.take() {
            // It runs no code of the user, so it does not panic.
            let _ = thread.join();
        }
    }
}
