//! Processes that nobody waits for any more, so that they do not stay zombies.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::process::Child;
use std::sync::{Mutex, PoisonError};

use crate::{ChildExit, Cx, Watch};

/// Those that have lost their loop as well. Whoever comes by looks whether they have ended.
static ABANDONED: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Has the loop wait for a process. That does not keep it alive.
pub(super) fn adopt(cx: &Cx, exit: ChildExit) {
    reap();
    if has_ended(&exit) {
        return;
    }
    let ask = |cx: &Cx, orphan: &Orphan| {
        if orphan.0.as_ref().is_none_or(has_ended) {
            cx.unwatch(orphan.as_fd().as_raw_fd());
        }
    };
    // Edge-triggered: one that is being traced says that it has ended before it can be waited for, and again then.
    // A loop that refuses drops the orphan.
    let _ = cx.watch(Orphan(Some(exit)), Watch::new().read(ask).edge_triggered().unreferenced());
}

/// Kills a process that could not be made a source, and waits for it, which does not take long.
pub(super) fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Looks whether any of those that have no loop has ended.
pub(super) fn reap() {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    abandoned.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
}

/// An error means that somebody else has asked, which is as good.
fn has_ended(exit: &ChildExit) -> bool {
    !matches!(exit.try_wait(), Ok(None))
}

/// A process that the loop waits for.
struct Orphan(Option<ChildExit>);

impl AsFd for Orphan {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().expect("it is there until it is dropped").as_fd()
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(exit) = self.0.take().filter(|exit| !has_ended(exit)) {
            let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
            abandoned.push(exit.into_inner());
        }
    }
}
