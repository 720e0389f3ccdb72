//! A guest of a tokio runtime.

use std::io;
use std::rc::Rc;

use mainspring::{Error, Guest, LoopState};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Gives a guest its turns until it has terminated. This is a task for a
/// [`LocalSet`](tokio::task::LocalSet), beside which others run: nothing has to be `Send`.
///
/// After each turn the other tasks of the runtime have theirs, so neither of the two can starve the other.
/// Dropping the future only stops the driving.
///
/// # Errors
///
/// Those of [`Guest::turn`]. [`Error::Io`] also if tokio refuses the descriptor.
///
/// ```
/// use mainspring::EventLoop;
/// use std::rc::Rc;
/// use std::time::Duration;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// let guest = Rc::new(EventLoop::new()?.into_guest()?);
/// guest.cx().set_timeout(Duration::from_millis(5), |cx| cx.shutdown())?;
/// tokio::task::LocalSet::new().block_on(&runtime, mainspring_embedding::drive(guest))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn drive(guest: Rc<Guest>) -> Result<(), Error> {
    // SAFETY: a guest has one descriptor, which is open for as long as it lives.
    let fd = unsafe { AsyncFd::register_with_interest(Rc::clone(&guest), Interest::READABLE) }
        .map_err(io::Error::from)?;
    while guest.state() != LoopState::Terminated {
        // What comes after this is a change that tokio is told of.
        fd.readable().await?.clear_ready();
        guest.turn()?;
    }
    Ok(())
}
