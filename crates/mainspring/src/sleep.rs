//! Sleep and wake: how the loop blocks without ever missing a task.
//!
//! # The protocol
//!
//! | the loop                                   | a producer                                       |
//! |--------------------------------------------|--------------------------------------------------|
//! | 1. publish Sleeping                        | 1. make the work visible (push, set a flag)      |
//! | 2. full fence                              | 2. full fence                                    |
//! | 3. look at every source of work again      | 3. look at the state                             |
//! | 4. block, unless something was there       | 4. if Sleeping: claim the signal, and send it    |
//! | 5. consume the signal, publish Running     |                                                  |
//!
//! Of the two fences one comes first. If it is the producer's, the loop's third step sees the work;
//! if it is the loop's, the producer's third step sees Sleeping. So never do both miss the other.
//!
//! A signal that comes late, for a sleep that ended for another reason, stays in the primitive and
//! ends the next sleep early. It is never lost and never needed.
//!
//! # Signals and descriptors
//!
//! A producer that claimed the signal of a sleep in the poller sends it while it holds a read lock on
//! the source; closing takes the write lock. So no signal goes to a descriptor that was closed, or
//! whose number now belongs to somebody else (WK-8). Whoever waits in the poller or changes what is
//! registered holds a reference to it, so that it cannot be closed meanwhile.

use std::io;
use std::sync::Arc;

use crate::error::Error;
use crate::fault::log_isolated;
use crate::probe::{Point, Probes};
use crate::safety::Safety;
#[cfg(feature = "metrics")]
use crate::stamp::LastSignal;
use crate::state::{Ending, StateWord, Via};
use crate::sync::{AtomicU64, Ordering, RwLock, fence, read, write};
use crate::sys::{Events, Parker, Poller};

/// The poller, and the way to end a sleep in it.
#[derive(Debug)]
enum Source {
    /// Not needed so far.
    Missing,
    Open(Arc<Poller>),
    /// The loop has terminated.
    Closed,
}

/// The state word and the primitives to block on. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Sleep {
    pub(crate) state: StateWord,
    parker: Parker,
    source: RwLock<Source>,
    /// Signals that were sent, and those of them that were for an entry of a queue.
    signals: AtomicU64,
    signals_for_entries: AtomicU64,
    /// When the last one was sent and by whom, if that is noted.
    #[cfg(feature = "metrics")]
    pub(crate) last_signal: LastSignal,
    pub(crate) probes: Probes,
}

impl Sleep {
    /// For a loop on the current thread.
    pub(crate) fn new(safety: Option<Arc<Safety>>) -> Self {
        Self {
            state: StateWord::new(safety),
            parker: Parker::new(),
            source: RwLock::new(Source::Missing),
            signals: AtomicU64::new(0),
            signals_for_entries: AtomicU64::new(0),
            #[cfg(feature = "metrics")]
            last_signal: LastSignal::default(),
            probes: Probes::new(),
        }
    }

    /// The poller, which is opened if it was not needed before.
    pub(crate) fn open_source(&self) -> Result<Arc<Poller>, Error> {
        let mut source = write(&self.source);
        match &*source {
            Source::Missing => {
                let poller = Arc::new(Poller::new()?);
                *source = Source::Open(Arc::clone(&poller));
                Ok(poller)
            }
            Source::Open(poller) => Ok(Arc::clone(poller)),
            Source::Closed => Err(Error::Terminated),
        }
    }

    /// Closes the poller until it is needed. For whoever has just opened it, in vain.
    pub(crate) fn unopen_source(&self) {
        let mut source = write(&self.source);
        if matches!(*source, Source::Open(_)) {
            *source = Source::Missing;
        }
    }

    /// The poller, if it is open.
    pub(crate) fn poller(&self) -> Option<Arc<Poller>> {
        match &*read(&self.source) {
            Source::Open(poller) => Some(Arc::clone(poller)),
            Source::Missing | Source::Closed => None,
        }
    }

    /// Puts another poller in the place of the open one. For the loop's thread, in state Running: a signal
    /// that went to the old one was for a sleep that is over.
    pub(crate) fn replace_source(&self, poller: Poller) {
        let mut source = write(&self.source);
        if let Source::Open(open) = &mut *source {
            *open = Arc::new(poller);
        }
    }

    /// Closes what `open_source` opened, after the signals that are on their way.
    pub(crate) fn close_source(&self) {
        *write(&self.source) = Source::Closed;
    }

    /// Publishes a sleep in which somebody else waits for the poller's descriptor. False if there is work, or
    /// termination came first: then the loop is not asleep.
    ///
    /// For the loop's thread only, in state Running. The sleep ends by [`StateWord::wake_up`].
    #[cfg(any(loom, target_os = "linux"))]
    pub(crate) fn doze(&self, has_work: impl FnOnce() -> bool) -> bool {
        if !self.publish(Via::Poll) {
            return false;
        }
        let is_asleep = !has_work();
        if is_asleep {
            self.probes.reach(Point::BeforeBlock);
        } else {
            self.state.wake_up();
        }
        is_asleep
    }

    /// Ends the present sleep, if there is one. To be called after the work was made visible.
    #[inline]
    pub(crate) fn notify(&self) {
        self.notify_and(|| ());
    }

    /// [`notify`](Self::notify) after an entry was put into a queue.
    #[inline]
    pub(crate) fn notify_of_entry(&self) {
        self.notify_and(|| _ = self.signals_for_entries.fetch_add(1, Ordering::Relaxed));
    }

    /// Also does something if there is a signal to be sent.
    #[inline]
    fn notify_and(&self, claimed: impl FnOnce()) {
        // Partner: the fence in `publish`.
        fence(Ordering::SeqCst);
        self.probes.reach(Point::ProducerFenced);
        if let Some(via) = self.state.notify() {
            claimed();
            self.signal(via);
        }
    }

    /// [`notify`](Self::notify) by the loop's own thread while its host waits. Runs no code of the user, not even
    /// that which logs.
    pub(crate) fn notify_host(&self) {
        if let Some(via) = self.state.notify() {
            let _ = self.try_signal(via);
        }
    }

    /// How many signals were sent.
    #[cfg(feature = "metrics")]
    pub(crate) fn signals(&self) -> u64 {
        self.signals.load(Ordering::Relaxed)
    }

    /// How many of them were for an entry of a queue.
    #[cfg(feature = "metrics")]
    pub(crate) fn signals_for_entries(&self) -> u64 {
        self.signals_for_entries.load(Ordering::Relaxed)
    }

    /// Begins the termination of the loop, and ends its sleep.
    pub(crate) fn terminate(&self, force: bool) -> Ending {
        let began = self.state.terminate(force);
        if let Some(via) = began.signal {
            self.signal(via);
        }
        began
    }

    #[cold]
    fn signal(&self, via: Via) {
        self.signals.fetch_add(1, Ordering::Relaxed);
        #[cfg(feature = "metrics")]
        self.last_signal.note();
        self.probes.reach(Point::SignalClaimed);
        let is_sent = match self.try_signal(via) {
            Ok(is_sent) => is_sent,
            Err(error) => {
                log_isolated(|| tracing::error!(%error, "a sleeping loop could not be woken"));
                true
            }
        };
        if let Some(safety) = self.state.safety() {
            safety.signalled(is_sent);
        }
        self.probes.reach(Point::SignalSent);
    }

    /// Sends a signal. Tells whether that was done: true also if nobody is left who could be woken.
    fn try_signal(&self, via: Via) -> io::Result<bool> {
        #[cfg(test)]
        if crate::defect::strikes(crate::defect::Defect::DropWake) {
            return Ok(false);
        }
        match via {
            Via::Park => {
                self.parker.unpark();
                Ok(true)
            }
            Via::Poll => {
                let sent = match &*read(&self.source) {
                    Source::Open(open) => open.wake().map(|()| true),
                    Source::Missing | Source::Closed => Ok(true),
                };
                if sent.is_err() {
                    // Others elided their signal in favour of this one. Let the next one try.
                    self.state.withdraw_signal();
                }
                sent
            }
        }
    }

    /// Parks the thread until a signal, the deadline, or for no reason at all less; not if `has_work` says
    /// that there is some, and not if termination came first.
    ///
    /// For the loop's thread only, in state Running.
    pub(crate) fn park(
        &self,
        deadline: Option<i64>,
        has_work: impl FnOnce() -> bool,
    ) -> Result<(), Error> {
        let park = || {
            self.parker.park(deadline);
            Ok(())
        };
        self.sleep(Via::Park, has_work, park).map(drop)
    }

    /// Waits in the poller, which is the open one, likewise. False if it did not even look into it.
    pub(crate) fn poll(
        &self,
        poller: &Poller,
        events: &mut Events,
        deadline: Option<i64>,
        has_work: impl FnOnce() -> bool,
    ) -> Result<bool, Error> {
        self.sleep(Via::Poll, has_work, || Ok(poller.wait(events, deadline)?))
    }

    /// Publishes that the loop sleeps, so that what is looked at after this is either found or ends the sleep.
    /// False if termination came first.
    fn publish(&self, via: Via) -> bool {
        self.probes.reach(Point::BeforeSleep);
        if !self.state.fall_asleep(via) {
            return false;
        }
        self.probes.reach(Point::SleepPublished);
        // Partner: the fence in `notify_and`.
        fence(Ordering::SeqCst);
        true
    }

    fn sleep(
        &self,
        via: Via,
        has_work: impl FnOnce() -> bool,
        block: impl FnOnce() -> Result<(), Error>,
    ) -> Result<bool, Error> {
        if !self.publish(via) {
            return Ok(false);
        }
        let blocked = if has_work() {
            Ok(false)
        } else {
            self.probes.reach(Point::BeforeBlock);
            block().map(|()| true)
        };
        self.probes.reach(Point::AfterBlock);
        self.state.wake_up();
        blocked
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: WK-2, MX-2
    #[test]
    #[cfg(feature = "metrics")]
    fn a_signal_is_sent_to_a_loop_that_sleeps_and_counted() {
        let sleep = Sleep::new(None);
        sleep.state.claim().unwrap();
        let ends_a_sleep = |notify: &dyn Fn()| {
            assert!(sleep.state.fall_asleep(Via::Park));
            notify();
            // It would wait for ever otherwise.
            sleep.parker.park(None);
            sleep.state.wake_up();
        };
        sleep.notify();
        sleep.notify_of_entry();
        assert_eq!((sleep.signals(), sleep.signals_for_entries()), (0, 0), "it was awake");
        ends_a_sleep(&|| sleep.notify());
        assert_eq!((sleep.signals(), sleep.signals_for_entries()), (1, 0));
        for count in [1, 2] {
            ends_a_sleep(&|| sleep.notify_of_entry());
            assert_eq!((sleep.signals(), sleep.signals_for_entries()), (1 + count, count));
        }
        ends_a_sleep(&|| sleep.notify_host());
    }

    #[test]
    fn the_poller_is_opened_replaced_and_given_up() {
        let sleep = Sleep::new(None);
        assert!(sleep.poller().is_none());
        sleep.replace_source(Poller::new().unwrap());
        assert!(sleep.poller().is_none(), "there was none to be replaced");
        let first = sleep.open_source().unwrap();
        let is_first = |poller: &Arc<Poller>| Arc::ptr_eq(poller, &first);
        assert!(is_first(&sleep.open_source().unwrap()), "it is open");
        sleep.replace_source(Poller::new().unwrap());
        assert!(!is_first(&sleep.poller().unwrap()));
        sleep.unopen_source();
        assert!(sleep.poller().is_none());
        assert!(!is_first(&sleep.open_source().unwrap()), "it is opened again");
        sleep.close_source();
        assert!(sleep.poller().is_none());
        sleep.unopen_source();
        assert!(matches!(sleep.open_source(), Err(Error::Terminated)), "for good");
    }
}
