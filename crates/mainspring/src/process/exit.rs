//! The end of a child process as a source, on Linux.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A child process that can be watched: it becomes readable when the process has ended. Linux only.
///
/// It is an ordinary source, by a pidfd: no signal handler, and no thread.
///
/// ```
/// use mainspring::{ChildExit, EventLoop, Watch};
/// use std::os::fd::{AsFd, AsRawFd};
/// use std::process::Command;
///
/// let event_loop = EventLoop::new()?;
/// let child = ChildExit::new(Command::new("true").spawn().unwrap()).map_err(|(error, _)| error)?;
/// event_loop.cx().watch(
///     child,
///     Watch::new().read(|cx, child: &ChildExit| {
///         if let Some(status) = child.try_wait().unwrap() {
///             println!("{status}");
///             cx.unwatch(child.as_fd().as_raw_fd());
///         }
///     }),
/// )?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
pub struct ChildExit {
    fd: OwnedFd,
    child: RefCell<Child>,
}

impl ChildExit {
    /// Makes a child process a source. It must not have been waited for: its number may be that of another
    /// process then.
    ///
    /// # Errors
    ///
    /// The child comes back if the system has no descriptor for it.
    ///
    /// ```
    /// use mainspring::ChildExit;
    ///
    /// let child = std::process::Command::new("true").spawn().unwrap();
    /// match ChildExit::new(child) {
    ///     Ok(source) => println!("{source:?}"),
    ///     Err((error, mut child)) => {
    ///         eprintln!("{error}");
    ///         child.wait().unwrap();
    ///     }
    /// }
    /// ```
    pub fn new(child: Child) -> Result<Self, (io::Error, Child)> {
        // A child that was not waited for keeps its number, so this cannot be another process.
        let opened = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        match opened {
            Ok(fd) => Ok(Self { fd, child: RefCell::new(child) }),
            Err(error) => Err((error.into(), child)),
        }
    }

    /// How the process ended, if it did.
    ///
    /// # Errors
    ///
    /// As for [`Child::try_wait`].
    ///
    /// ```
    /// # let child = std::process::Command::new("true").spawn().unwrap();
    /// # let source = mainspring::ChildExit::new(child).unwrap();
    /// match source.try_wait().unwrap() {
    ///     Some(status) => println!("{status}"),
    ///     None => println!("still running"),
    /// }
    /// ```
    pub fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        self.child.borrow_mut().try_wait()
    }

    /// The number of the process.
    ///
    /// ```
    /// # let child = std::process::Command::new("true").spawn().unwrap();
    /// # let source = mainspring::ChildExit::new(child).unwrap();
    /// println!("process {}", source.id());
    /// ```
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.borrow().id()
    }

    /// Gives the child back.
    ///
    /// ```
    /// # let child = std::process::Command::new("true").spawn().unwrap();
    /// # let source = mainspring::ChildExit::new(child).unwrap();
    /// source.into_inner().wait().unwrap();
    /// ```
    #[must_use]
    pub fn into_inner(self) -> Child {
        self.child.into_inner()
    }
}

impl AsFd for ChildExit {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
