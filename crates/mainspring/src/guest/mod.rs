//! A loop inside another one.
//!
//! Between two turns of a guest the host waits. So that nobody's wake is missed then, the loop has published
//! that it sleeps in its poller: other threads wake it by making the poller's descriptor readable, which is what
//! the host waits for. What the host's own thread queues meanwhile does the same.
//!
//! | what is to be done | what becomes readable |
//! |---|---|
//! | something was submitted by another thread, or between two turns | the poller, by its wake |
//! | a registered descriptor is ready | the poller |
//! | a timer is due | a timerfd of the guest |
//! | a turn left something | the poller, by its wake |
//!
//! The host is given one descriptor for all of that, an epoll instance in which the poller and the timerfd are.
//! Nobody ever waits in it but the host, so it is level-triggered all the way down. It stays the same when the
//! loop builds its poller anew.

mod notifier;
#[cfg(test)]
mod races;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

use self::notifier::Bell;
pub use self::notifier::ReadyNotifier;
use crate::local::Local;
use crate::observe::{Decision, Observe};
use crate::observed::observed;
use crate::sys::Poller;
use crate::{Cx, Error, EventLoop, Handle, LoopState, Turn};

/// The descriptors in a guest's epoll instance. The numbers are for nobody.
const POLLER: epoll::EventData = epoll::EventData::new_u64(0);
const TIMER: epoll::EventData = epoll::EventData::new_u64(1);

impl EventLoop {
    /// Makes the loop a guest of another one, which waits for its [descriptor](Guest) and then gives it a
    /// [turn](Guest::turn).
    ///
    /// With a [`VirtualClock`](crate::VirtualClock) time passes when somebody advances it, and not by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses a descriptor, [`Error::FastPathIncompatible`] if the loop is never
    /// to poll, [`Error::Terminated`]. The loop is dropped then.
    ///
    /// ```
    /// let guest = mainspring::EventLoop::new()?.into_guest()?;
    /// guest.turn()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn into_guest(self) -> Result<Guest, Error> {
        Guest::new(self)
    }
}

/// A loop that another loop drives: that of a toolkit, of tokio, of a compositor.
///
/// It is a descriptor that is readable while [`turn`](Self::turn) has something to do: a task of any thread,
/// a timer, a descriptor, a future that was woken, or what the host itself queued. The host polls it,
/// level-triggered, beside its own descriptors, and needs to know nothing else: no deadline, no idle callback.
/// While nothing is to be done, nothing is readable, and no thread wakes up. Now and then there is a turn that finds
/// nothing: when a timer was cleared, for example. A host that listens to edges works as well.
///
/// The descriptor is an epoll instance with others inside. The kernel allows five levels of these, so a guest can
/// be inside a guest inside a host, and not deeper.
///
/// ```
/// use mainspring::{EventLoop, LoopState};
/// use rustix::event::{PollFd, PollFlags, poll};
/// use std::time::Duration;
///
/// let guest = EventLoop::new()?.into_guest()?;
/// guest.cx().set_timeout(Duration::from_millis(2), |cx| cx.shutdown())?;
/// while guest.state() != LoopState::Terminated {
///     // This is the host. It would wait for other things, too.
///     poll(&mut [PollFd::new(&guest, PollFlags::IN)], None).unwrap();
///     guest.turn()?;
/// }
/// # Ok::<(), mainspring::Error>(())
/// ```
///
/// A host that cannot wait for a descriptor is [called](Self::on_ready) instead.
#[must_use = "the loop ends when it is dropped"]
pub struct Guest {
    // First, so that the loop ends before what it wakes is closed.
    event_loop: EventLoop,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// What the timer is armed for.
    armed: Cell<Option<i64>>,
    /// The poller that is in `epoll`.
    poller: RefCell<Arc<Poller>>,
    bell: RefCell<Option<Arc<Bell>>>,
}

/// Publishes that the loop sleeps. False if there is something to do.
fn doze(local: &Local, observe: impl Observe) -> bool {
    let state = &local.shared.sleep.state;
    let decision = observe.decides();
    local.shared.sleep.doze(|| decision.made(state, || local.has_work()))
}

impl Guest {
    fn new(event_loop: EventLoop) -> Result<Self, Error> {
        let shared = &event_loop.cx().0.shared;
        if event_loop.state().is_ending() {
            return Err(Error::Terminated);
        }
        if shared.fast_path() == crate::FastPathMode::Forced {
            return Err(Error::FastPathIncompatible);
        }
        let poller = shared.sleep.open_source()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )
        .map_err(io::Error::from)?;
        for (fd, data) in [(poller.as_fd(), POLLER), (timer.as_fd(), TIMER)] {
            epoll::add(&epoll, fd, data, epoll::EventFlags::IN).map_err(io::Error::from)?;
        }
        event_loop.cx().0.hosted.set(true);
        let guest = Self {
            event_loop,
            epoll,
            timer,
            armed: Cell::new(None),
            poller: RefCell::new(poller),
            bell: RefCell::new(None),
        };
        // What was queued before is to be noticed, and the first turn publishes the sleep.
        guest.poller.borrow().wake()?;
        Ok(guest)
    }

    /// Drives the loop through one tick, without waiting for anything, and gets the descriptor ready for the
    /// host's next wait. If something is left to do, it is readable at once.
    ///
    /// A turn that finds nothing to do does no harm. One that carries out a shutdown may wait, for functions that
    /// were given to [`promisify`](Handle::promisify): give that a deadline. The idle hook is never called, because
    /// the loop itself never waits.
    ///
    /// # Errors
    ///
    /// As for [`EventLoop::run`]. [`Error::Terminated`] if the loop has ended before: remove the descriptor
    /// from the host.
    ///
    /// ```
    /// let guest = mainspring::EventLoop::new()?.into_guest()?;
    /// guest.cx().submit(|_| println!("one tick"))?;
    /// assert_eq!(guest.turn()?.callbacks, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn turn(&self) -> Result<Turn, Error> {
        let unwinding = Unwinding(self);
        let turn = self.event_loop.turn(Duration::ZERO);
        std::mem::forget(unwinding);
        if matches!(turn, Err(Error::ReentrantRun)) {
            return turn;
        }
        let dozing = self.doze();
        if dozing.is_err() {
            // Nobody would be told of anything. So the host comes back, in order to try again.
            let _ = self.poller.borrow().wake();
            let _ = self.arm(Some(0));
        }
        self.ring();
        dozing?;
        turn
    }

    /// Has the thread wait that waits for the host, if there is one.
    fn ring(&self) {
        if let Some(bell) = &*self.bell.borrow() {
            bell.listen();
        }
    }

    /// The loop's context, for what is to be queued between two turns.
    ///
    /// ```
    /// let guest = mainspring::EventLoop::new()?.into_guest()?;
    /// guest.cx().queue_microtask(|_| println!("in the next turn"));
    /// guest.turn()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn cx(&self) -> &Cx {
        self.event_loop.cx()
    }

    /// A handle for other threads.
    ///
    /// ```
    /// let guest = mainspring::EventLoop::new()?.into_guest()?;
    /// let handle = guest.handle();
    /// std::thread::spawn(move || handle.submit(|_| ()).unwrap()).join().unwrap();
    /// assert_eq!(guest.turn()?.callbacks, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.event_loop.handle()
    }

    /// What the loop is doing. Between two turns it sleeps.
    ///
    /// ```
    /// use mainspring::{EventLoop, LoopState};
    ///
    /// let guest = EventLoop::new()?.into_guest()?;
    /// guest.turn()?;
    /// assert_eq!(guest.state(), LoopState::Sleeping);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> LoopState {
        self.event_loop.state()
    }

    /// When the next timer is due. The descriptor is readable then, so only a host that does not wait for it
    /// needs to know.
    ///
    /// ```
    /// let guest = mainspring::EventLoop::new()?.into_guest()?;
    /// assert_eq!(guest.next_deadline(), None);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.event_loop.next_deadline()
    }

    /// Publishes that the loop sleeps, or has the host come back at once.
    fn doze(&self) -> Result<(), Error> {
        let local = &*self.event_loop.cx().0;
        let shared = &*local.shared;
        if local.finished.get() {
            // Never readable again.
            let _ = epoll::delete(&self.epoll, self.poller.borrow().as_fd());
            let _ = epoll::delete(&self.epoll, &self.timer);
            return Ok(());
        }
        self.follow_poller()?;
        // A descriptor that is still ready is no news to a host that listens to edges. A wake is.
        let is_left = local.watchers.had_events() && self.is_poller_readable();
        let Some(idle) = local.look_idle().filter(|_| !is_left) else {
            return Ok(self.poller.borrow().wake()?);
        };
        // Virtual deadlines come when somebody says so, and then the loop is woken.
        self.arm(idle.next.filter(|_| shared.clock.virtual_clock.is_none()))?;
        if observed!(self.event_loop.cx(), |observe| doze(local, observe)) {
            local.dozing.set(true);
            Ok(())
        } else {
            Ok(self.poller.borrow().wake()?)
        }
    }

    /// Notices that the loop has built its poller anew.
    fn follow_poller(&self) -> io::Result<()> {
        let Some(now) = self.event_loop.cx().0.shared.sleep.poller() else { return Ok(()) };
        let mut poller = self.poller.borrow_mut();
        if !Arc::ptr_eq(&poller, &now) {
            epoll::add(&self.epoll, now.as_fd(), POLLER, epoll::EventFlags::IN)?;
            // The old one is not asked any more, even if something keeps it open.
            let _ = epoll::delete(&self.epoll, poller.as_fd());
            *poller = now;
        }
        Ok(())
    }

    /// Whether a descriptor is still ready after the turn.
    fn is_poller_readable(&self) -> bool {
        let poller = self.poller.borrow();
        let mut fds = [PollFd::from_borrowed_fd(poller.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready != 0)
    }

    /// Makes the timerfd readable at a time, and not before.
    fn arm(&self, deadline: Option<i64>) -> io::Result<()> {
        if self.armed.get() == deadline {
            return Ok(());
        }
        // Zero disarms it; a negative time is an error.
        let at = deadline.map_or(0, |deadline| deadline.max(1));
        let new = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 },
        };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &new)?;
        self.armed.set(deadline);
        Ok(())
    }

    /// For a host that cannot wait for a descriptor: a thread does, and calls a function when a
    /// [`turn`](Self::turn) is due. It calls it once, and not again before that turn was made.
    ///
    /// The function is the one that sends something to the host's own queue, from any thread. A new function
    /// replaces the one before.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses a descriptor or a thread.
    ///
    /// ```
    /// use mainspring::{EventLoop, LoopState};
    /// use std::sync::mpsc;
    ///
    /// let guest = EventLoop::new()?.into_guest()?;
    /// guest.cx().submit(|cx| cx.shutdown())?;
    /// let (proxy, events) = mpsc::channel(); // the host's own queue
    /// let notifier = guest.on_ready(move || _ = proxy.send(()))?;
    /// while guest.state() != LoopState::Terminated {
    ///     events.recv().unwrap();
    ///     guest.turn()?;
    /// }
    /// # drop(notifier);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_ready(&self, f: impl FnMut() + Send + 'static) -> Result<ReadyNotifier, Error> {
        let (notifier, bell) = ReadyNotifier::start(self.epoll.try_clone()?, f)?;
        if let Some(old) = self.bell.replace(Some(bell)) {
            old.stop();
        }
        Ok(notifier)
    }
}

/// Exists while a turn is made that a panic may leave: the host is to come back then.
struct Unwinding<'a>(&'a Guest);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        let _ = self.0.poller.borrow().wake();
        self.0.ring();
    }
}

impl AsFd for Guest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl AsRawFd for Guest {
    fn as_raw_fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest")
            .field("fd", &self.epoll.as_raw_fd())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
