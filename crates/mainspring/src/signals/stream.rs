//! Signals, as futures. Needs the feature `signals`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};

use signal_hook::consts::TERM_SIGNALS;

use crate::io::AsyncFd;
use crate::{Cx, Error, Signals};

/// Signals that can be waited for. Needs the feature `signals`, on Unix.
///
/// A signal that comes several times before it is [received](Self::recv) may count as once, but at least as
/// once. There can be several of these for one signal; each is told. While one exists, the signals do not have
/// their default effect; when it is dropped, they do nothing. So keep it until the end of the process, and look for
/// a second signal: somebody may be impatient.
///
/// ```no_run
/// use mainspring::{AsyncSignals, EventLoop};
///
/// let event_loop = EventLoop::new()?;
/// let signals = AsyncSignals::termination(event_loop.cx())?;
/// let signal = event_loop.block_on(signals.recv())??;
/// println!("signal {signal}: ending");
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct AsyncSignals {
    source: AsyncFd<Signals>,
    /// Those that have been taken from the source, and not been asked for yet.
    pending: RefCell<VecDeque<i32>>,
}

impl AsyncSignals {
    /// Catches these signals, by their numbers.
    ///
    /// # Errors
    ///
    /// As for [`Signals::new`], and if the loop has terminated.
    ///
    /// ```
    /// use mainspring::{AsyncSignals, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// assert!(AsyncSignals::new(event_loop.cx(), [9]).is_err()); // SIGKILL
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn new(cx: &Cx, signals: impl IntoIterator<Item = i32>) -> io::Result<Self> {
        let source = AsyncFd::new(cx, Signals::new(signals)?).map_err(Error::from)?;
        Ok(Self { source, pending: RefCell::default() })
    }

    /// Catches those by which a process is asked to end: SIGINT, which is Ctrl-C, SIGTERM and SIGQUIT.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    ///
    /// ```
    /// use mainspring::{AsyncSignals, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let signals = AsyncSignals::termination(event_loop.cx())?;
    /// # drop(signals);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn termination(cx: &Cx) -> io::Result<Self> {
        Self::new(cx, TERM_SIGNALS.iter().copied())
    }

    /// Waits for the next signal, and says which one came. Those that came at the same time are in no
    /// particular order. Cancel safe: a signal is not lost if the future is dropped.
    ///
    /// Several tasks may wait at a time; each signal reaches one of them.
    ///
    /// # Errors
    ///
    /// If the loop has terminated.
    ///
    /// ```
    /// # async fn f(signals: mainspring::AsyncSignals) -> std::io::Result<()> {
    /// loop {
    ///     let signal = signals.recv().await?;
    ///     println!("signal {signal}: reading the configuration again");
    /// }
    /// # }
    /// ```
    pub async fn recv(&self) -> io::Result<i32> {
        self.source.read_with(|signals| self.receive(signals)).await
    }

    /// [`recv`](Self::recv), for futures that are written by hand.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # async fn f(signals: mainspring::AsyncSignals) -> std::io::Result<()> {
    /// let signal = std::future::poll_fn(|cx| signals.poll_recv(cx)).await?;
    /// # Ok(()) }
    /// ```
    pub fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<i32>> {
        self.source.poll_read_with(cx, |signals| self.receive(signals))
    }

    /// It would block only if nothing is pending. So as long as something is, the source is known to be ready,
    /// and whoever waits has been woken.
    fn receive(&self, signals: &Signals) -> io::Result<i32> {
        let mut pending = self.pending.borrow_mut();
        if pending.is_empty() {
            pending.extend(signals.pending());
        }
        pending.pop_front().ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl AsFd for AsyncSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

impl fmt::Debug for AsyncSignals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncSignals").finish_non_exhaustive()
    }
}
