//! A thread that waits on behalf of a host that cannot.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::Error;
use crate::sync::{Condvar, Mutex, lock, wait};

/// What the thread is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Wait for the descriptor.
    Listen,
    /// Wait for a turn: the host was called.
    Rest,
    /// Return.
    Stop,
}

/// How a guest and its thread talk.
#[derive(Debug)]
pub(super) struct Bell {
    order: Mutex<Order>,
    changed: Condvar,
    /// Ends the wait for the descriptor.
    stop: OwnedFd,
}

impl Bell {
    /// A turn was made.
    pub(super) fn listen(&self) {
        self.give(Order::Listen);
    }

    /// The function is not to be called any more.
    pub(super) fn stop(&self) {
        self.give(Order::Stop);
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }

    fn give(&self, new: Order) {
        let mut order = lock(&self.order);
        if *order != Order::Stop {
            *order = new;
            self.changed.notify_one();
        }
    }

    /// Waits until the descriptor is to be listened to. False if that is over.
    fn is_to_listen(&self) -> bool {
        let mut order = lock(&self.order);
        while *order == Order::Rest {
            order = wait(&self.changed, order);
        }
        *order == Order::Listen
    }

    fn run(&self, fd: &OwnedFd, mut f: impl FnMut()) {
        while self.is_to_listen() {
            let mut fds = [PollFd::new(fd, PollFlags::IN), PollFd::new(&self.stop, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "nobody waits for a guest any more");
                    return;
                }
            }
            if !fds[0].revents().is_empty() && lock(&self.order).eq(&Order::Listen) {
                // Before the call: the turn that it leads to may come at once.
                self.give(Order::Rest);
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut f)).is_err() {
                    tracing::error!("the function that calls a guest's host panicked");
                }
            }
        }
    }
}

/// The thread that calls the host of a [`Guest`](crate::Guest); made by
/// [`on_ready`](crate::Guest::on_ready). Dropping it ends the thread, and waits for the function if it is running.
///
/// ```
/// let guest = mainspring::EventLoop::new()?.into_guest()?;
/// let notifier = guest.on_ready(|| println!("give it a turn"))?;
/// drop(notifier);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use = "the host is called for as long as this lives"]
pub struct ReadyNotifier {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl ReadyNotifier {
    pub(super) fn start(
        fd: OwnedFd,
        f: impl FnMut() + Send + 'static,
    ) -> Result<(Self, Arc<Bell>), Error> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(io::Error::from)?;
        let bell =
            Arc::new(Bell { order: Mutex::new(Order::Listen), changed: Condvar::new(), stop });
        let theirs = Arc::clone(&bell);
        let thread = thread::Builder::new()
            .name("mainspring-guest".into())
            .spawn(move || theirs.run(&fd, f))?;
        Ok((Self { bell: Arc::clone(&bell), thread: Some(thread) }, bell))
    }
}

impl Drop for ReadyNotifier {
    fn drop(&mut self) {
        self.bell.stop();
        if let Some(thread) = self.thread.take()
            // The function itself may drop it.
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for ReadyNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyNotifier").finish_non_exhaustive()
    }
}
