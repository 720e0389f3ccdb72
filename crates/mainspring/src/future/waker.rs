//! How a future is woken.
//!
//! On the loop's thread a wake puts the future into the ready queue: no lock, no atomic read-modify-write. On
//! another thread it is sent through the internal lane, unless that was done since the last poll; so there is one
//! entry for each poll at the most, however often and by how many threads the future is woken.
//!
//! # No wake is lost
//!
//! A thread that wakes sets `is_sent` after what it did for the future; the loop resets it before it polls.
//! Both are read-modify-writes of one flag. If the thread finds it set, the loop's reset comes after that, and
//! what the thread did is seen by the poll. If not, the thread sends an entry, which leads to a poll. That poll
//! finds the flag set, because the entry came through the lane; so a flag that is set is always reset.

use std::mem::ManuallyDrop;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::cell::{DONE, Header, Reference, TaskPtr};
use crate::place::Place;
use crate::sync::Ordering;
use crate::{Cx, Queue};

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop);

/// A waker for as long as somebody else holds a reference.
///
/// # Safety
///
/// A reference is held for as long as the waker is used.
#[inline]
pub(super) unsafe fn lend(task: TaskPtr) -> ManuallyDrop<Waker> {
    // SAFETY: the functions of the table keep the contract of `RawWaker`: they work from any thread, as a
    // header's parts for all threads do. The waker holds no reference and is not dropped.
    ManuallyDrop::new(unsafe { Waker::new(task.as_raw(), &VTABLE) })
}

/// # Safety
///
/// The pointer is that of a waker, which is alive.
unsafe fn clone(pointer: *const ()) -> RawWaker {
    // SAFETY: the waker holds a reference, or the one who lent it does.
    unsafe { TaskPtr::from_raw(pointer).retain() };
    RawWaker::new(pointer, &VTABLE)
}

/// # Safety
///
/// As for `clone`; the waker is used up.
unsafe fn wake(pointer: *const ()) {
    // SAFETY: says the caller.
    unsafe { wake_by_ref(pointer) };
    // SAFETY: the waker's reference.
    unsafe { drop(pointer) };
}

/// # Safety
///
/// As for `clone`.
unsafe fn wake_by_ref(pointer: *const ()) {
    // SAFETY: says the caller.
    let task = unsafe { TaskPtr::from_raw(pointer) };
    // SAFETY: the waker's reference.
    let header = unsafe { task.header() };
    // SAFETY: queueing runs no code of the user.
    match unsafe { header.shared.owner.local() } {
        Some(local) => local.wake_future(task),
        None => send(task, header),
    }
}

/// # Safety
///
/// As for `clone`; the waker is used up.
unsafe fn drop(pointer: *const ()) {
    // SAFETY: says the caller.
    unsafe { TaskPtr::from_raw(pointer).release() };
}

/// Wakes it from another thread, or after the end of the loop.
#[cold]
fn send(task: TaskPtr, header: &Header) {
    // See the module documentation.
    if header.is_sent.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the caller's reference.
    let sent = unsafe { Reference::new(task) };
    // Once the loop has terminated, nothing is to be woken.
    let task = move |cx: &Cx| {
        if !sent.header().has(DONE) {
            cx.0.wake_future(sent.task());
        }
    };
    let _ = header.shared.send(Queue::Internal, task, Place::UNKNOWN);
}
