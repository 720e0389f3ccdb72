//! Signals as a source. Needs the feature `signals`.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::FORBIDDEN;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// No system has more.
const LAST: i32 = 127;

/// Signals that can be watched: it becomes readable when one of them came. Needs the feature `signals`, on
/// Unix.
///
/// It is an ordinary source. A signal that comes several times before it is asked for may count as once.
/// While it exists, the signals do not have their default effect; when it is dropped, they do nothing.
/// [`Handle::shutdown_on_signals`](crate::Handle::shutdown_on_signals) is what binds signals to the end of a
/// loop even if a callback never returns.
///
/// ```
/// use mainspring::{EventLoop, Signals, Watch};
///
/// const SIGHUP: i32 = 1;
///
/// let event_loop = EventLoop::new()?;
/// let watch = Watch::new().read(|_, signals: &Signals| {
///     for signal in signals.pending() {
///         println!("signal {signal}: reading the configuration again");
///     }
/// });
/// event_loop.cx().watch(Signals::new([SIGHUP])?, watch.unreferenced())?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct Signals(RefCell<SignalDelivery<UnixStream, SignalOnly>>, UnixStream);

impl Signals {
    /// Catches these signals, by their numbers.
    ///
    /// # Errors
    ///
    /// If one of them cannot be caught, or does not exist, or the system refuses the descriptors.
    ///
    /// ```
    /// assert!(mainspring::Signals::new([9]).is_err()); // SIGKILL
    /// ```
    pub fn new(signals: impl IntoIterator<Item = i32>) -> io::Result<Self> {
        let signals: Vec<i32> = signals.into_iter().collect();
        if signals.iter().any(|signal| FORBIDDEN.contains(signal)) {
            let error =
                "SIGKILL, SIGSTOP, SIGILL, SIGFPE and SIGSEGV cannot be watched; leave them out";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        if signals.iter().any(|signal| !(1..=LAST).contains(signal)) {
            let error = "there is no such signal; use the numbers of the system";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let (read, write) = UnixStream::pair()?;
        let polled = read.try_clone()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        Ok(Self(RefCell::new(delivery), polled))
    }

    /// The signals that came since the last time.
    ///
    /// ```
    /// let signals = mainspring::Signals::new([1])?;
    /// assert!(signals.pending().is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn pending(&self) -> Vec<i32> {
        self.0.borrow_mut().pending().collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.1.as_fd()
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signals").finish_non_exhaustive()
    }
}
