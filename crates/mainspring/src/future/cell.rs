//! A future that the loop runs, in one allocation that its wakers share.
//!
//! # Who may touch what
//!
//! 1. `refs`, `is_sent`, `is_abort_sent` and `shared` are for every thread that has a reference.
//! 2. All else is for the loop's thread. The future is polled and dropped there, and its output is taken or
//!    dropped there, so neither need be `Send`.
//! 3. Whoever gives the last reference back, on whatever thread, finds neither a future nor an output nor
//!    somebody who waits, and frees the memory.
//!
//! # References
//!
//! | held by | from | until |
//! |---|---|---|
//! | the loop | the beginning | the future is dropped, and the cell is in no queue of the loop |
//! | the [`JoinHandle`](super::JoinHandle) | the beginning | that is dropped |
//! | each waker | | that is dropped |
//! | a wake from another thread | it is sent | it has arrived |
//!
//! # Life
//!
//! The bits say what was done: `QUEUED` while it is in the ready queue, `RUNNING` while it is polled,
//! `DONE` once the future is dropped. What is done is never polled again, and never queued again.

use std::any::type_name;
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use super::join::JoinError;
use super::waker;
use crate::fault::{as_text, drop_isolated, log_isolated};
use crate::place::{Origin, Place};
use crate::promise::Panicked;
use crate::shared::Shared;
use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell, acquire};

pub(super) const QUEUED: u8 = 1;
pub(super) const RUNNING: u8 = 1 << 1;
pub(super) const DONE: u8 = 1 << 2;
/// There is a join handle.
pub(super) const JOINED: u8 = 1 << 3;
/// It keeps `run_until_idle` from returning.
pub(super) const REFERENCED: u8 = 1 << 4;
/// It is to be dropped when the present poll returns.
pub(super) const ABORTED: u8 = 1 << 5;
/// The loop's reference was left to the ready queue: whoever takes it out of that gives it back.
pub(super) const LEFT: u8 = 1 << 6;

/// More references than this cannot be, unless they are leaked on purpose.
const MAX_REFS: usize = isize::MAX as usize;

/// What to do when the future is done.
pub(super) enum Joiner {
    Wake(Waker),
    /// Moves the output on. Runs no code of the user.
    Call(Box<dyn FnOnce()>),
}

/// The part of a cell that does not depend on the future's type.
pub(super) struct Header {
    refs: AtomicUsize,
    /// Whether a wake from another thread is under way, or none is wanted any more.
    pub(super) is_sent: AtomicBool,
    /// Whether another thread has sent an abort, or none is wanted any more.
    pub(super) is_abort_sent: AtomicBool,
    pub(super) shared: Arc<Shared>,
    acts: &'static Acts,
    bits: Cell<u8>,
    /// Where it was spawned.
    pub(super) place: Place,
    /// Where the loop's list of all futures has it.
    pub(super) key: Cell<usize>,
    /// The one behind it in the ready queue.
    pub(super) next: Cell<Option<TaskPtr>>,
    pub(super) joiner: Cell<Option<Joiner>>,
}

impl Header {
    pub(super) fn has(&self, any: u8) -> bool {
        self.bits.get() & any != 0
    }

    /// Where it comes from.
    pub(super) fn origin(&self) -> Origin {
        Origin::new(self.place.get(), (self.acts.name)())
    }

    pub(super) fn set(&self, bits: u8) {
        self.bits.set(self.bits.get() | bits);
    }

    pub(super) fn clear(&self, bits: u8) {
        self.bits.set(self.bits.get() & !bits);
    }
}

/// What can be done with a cell whose future's type is forgotten.
struct Acts {
    poll: unsafe fn(TaskPtr),
    /// Drops the future, for this reason.
    end: unsafe fn(TaskPtr, JoinError),
    /// The place of the output: an `Option<Result<T, JoinError>>`.
    output: unsafe fn(TaskPtr) -> *mut (),
    free: unsafe fn(TaskPtr),
    /// The name of the future's type.
    name: fn() -> &'static str,
}

/// The header comes first, so that a pointer to it is one to the whole.
#[repr(C)]
struct Whole<F: Future> {
    header: Header,
    /// `None` once it was dropped.
    future: UnsafeCell<Option<F>>,
    /// Between the end of the future and the join handle's look at it.
    output: UnsafeCell<Option<Result<F::Output, JoinError>>>,
}

/// A pointer to a cell. It is not a reference that is counted: those are made and given back by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskPtr(NonNull<Header>);

impl TaskPtr {
    /// A cell with two references, for the loop and the join handle.
    pub(super) fn new<F: Future>(shared: Arc<Shared>, future: F, place: Place) -> Self {
        let header = Header {
            refs: AtomicUsize::new(2),
            is_sent: AtomicBool::new(false),
            is_abort_sent: AtomicBool::new(false),
            shared,
            acts: const {
                &Acts {
                    poll: poll::<F>,
                    end: end::<F>,
                    output: output::<F>,
                    free: free::<F>,
                    name: type_name::<F>,
                }
            },
            bits: Cell::new(JOINED),
            place,
            key: Cell::new(usize::MAX),
            next: Cell::new(None),
            joiner: Cell::new(None),
        };
        let whole = Box::new(Whole {
            header,
            future: UnsafeCell::new(Some(future)),
            output: UnsafeCell::new(None),
        });
        let pointer = NonNull::from(Box::leak(whole));
        Self(pointer.cast())
    }

    pub(super) fn as_raw(self) -> *const () {
        self.0.as_ptr().cast_const().cast()
    }

    /// # Safety
    ///
    /// The pointer came from `as_raw`, and a reference is held.
    pub(super) unsafe fn from_raw(pointer: *const ()) -> Self {
        // SAFETY: it came from a `NonNull`.
        Self(unsafe { NonNull::new_unchecked(pointer.cast_mut().cast()) })
    }

    /// # Safety
    ///
    /// A reference is held for as long as the header is used.
    #[inline]
    pub(super) unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: the memory is there as long as there is a reference.
        unsafe { self.0.as_ref() }
    }

    /// Counts another reference.
    ///
    /// # Safety
    ///
    /// A reference is held.
    #[inline]
    pub(super) unsafe fn retain(self) {
        // SAFETY: says the caller.
        let refs = &unsafe { self.header() }.refs;
        // Relaxed: the caller's own reference keeps the cell.
        if refs.fetch_add(1, Ordering::Relaxed) > MAX_REFS {
            std::process::abort();
        }
    }

    /// Gives a reference back.
    ///
    /// # Safety
    ///
    /// It is the caller's, who does not use the pointer again.
    #[inline]
    pub(super) unsafe fn release(self) {
        // SAFETY: says the caller.
        let header = unsafe { self.header() };
        // Release, and Acquire for the last one: what the others did to the cell comes before its end.
        if header.refs.fetch_sub(1, Ordering::Release) == 1 {
            acquire!(header.refs);
            let free = header.acts.free;
            // SAFETY: it was the last reference (rule 3).
            unsafe { free(self) };
        }
    }

    /// Polls the future. If it is done by that, the loop's reference is gone.
    ///
    /// # Safety
    ///
    /// By the loop's thread, which has its reference; the future is neither done nor being polled.
    pub(super) unsafe fn poll(self) {
        // SAFETY: says the caller.
        unsafe { (self.header().acts.poll)(self) }
    }

    /// Drops the future, for this reason. The loop's reference is gone then.
    ///
    /// # Safety
    ///
    /// As for [`poll`](Self::poll).
    pub(super) unsafe fn end(self, reason: JoinError) {
        // SAFETY: says the caller.
        unsafe { (self.header().acts.end)(self, reason) }
    }

    /// The place of the output.
    ///
    /// # Safety
    ///
    /// By the loop's thread, with a reference; what the future gives is a `T`. The place is not used across
    /// anything that runs code of the user.
    pub(super) unsafe fn output<T>(self) -> *mut Option<Result<T, JoinError>> {
        // SAFETY: says the caller.
        unsafe { (self.header().acts.output)(self) }.cast()
    }
}

/// A counted reference, for any thread.
pub(super) struct Reference(TaskPtr);

// SAFETY: what is done with it elsewhere than on the loop's thread is to count, and to look at what is for every
// thread (rule 1).
unsafe impl Send for Reference {}
// SAFETY: as for `Send`.
unsafe impl Sync for Reference {}

impl Reference {
    /// # Safety
    ///
    /// A reference is held.
    pub(super) unsafe fn new(task: TaskPtr) -> Self {
        // SAFETY: says the caller.
        unsafe { task.retain() };
        Self(task)
    }

    pub(super) fn task(&self) -> TaskPtr {
        self.0
    }

    /// Of which only what is for every thread may be looked at elsewhere than on the loop's thread.
    pub(super) fn header(&self) -> &Header {
        // SAFETY: its own reference.
        unsafe { self.0.header() }
    }
}

impl Clone for Reference {
    fn clone(&self) -> Self {
        // SAFETY: its own reference.
        unsafe { Self::new(self.0) }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: its own reference.
        unsafe { self.0.release() };
    }
}

/// # Safety
///
/// As for [`TaskPtr::poll`], and `F` is the future's type.
unsafe fn poll<F: Future>(task: TaskPtr) {
    let whole = task.0.cast::<Whole<F>>().as_ptr();
    // SAFETY: the loop has a reference until `finish`, after which the header is not used.
    let header = unsafe { task.header() };
    // SAFETY: the field is there; a reference to it does not touch the header.
    let future = unsafe { &(*whole).future };
    header.set(RUNNING);
    // See `waker`. Nobody else resets it, so a look is enough to know that there is nothing to reset.
    if header.is_sent.load(Ordering::Relaxed) {
        header.is_sent.swap(false, Ordering::AcqRel);
    }
    // SAFETY: the loop's reference outlives this call of the future.
    let waker = unsafe { waker::lend(task) };
    let mut context = Context::from_waker(&waker);
    let polled = catch_unwind(AssertUnwindSafe(|| {
        future.with_mut(|future| {
            // SAFETY: only the loop's thread gets here, and not while the future is being polled.
            let future = unsafe { &mut *future };
            match future {
                // SAFETY: the future stays where it is until it is dropped.
                Some(future) => unsafe { Pin::new_unchecked(future) }.poll(&mut context),
                None => Poll::Pending,
            }
        })
    }));
    header.clear(RUNNING);
    let (output, panic) = match polled {
        Ok(Poll::Pending) if header.has(ABORTED) => (Err(JoinError::Aborted), None),
        Ok(Poll::Pending) => return,
        Ok(Poll::Ready(output)) => (Ok(output), None),
        Err(payload) if header.has(JOINED) => {
            (Err(JoinError::Panicked(Panicked::new(payload))), None)
        }
        Err(payload) => (Err(JoinError::Aborted), Some(payload)),
    };
    // SAFETY: the loop's thread, which has its reference, and the poll is over.
    let dropped = unsafe { finish::<F>(task, output) };
    if let Err(payload) = first_panic(panic.map_or(Ok(()), Err), dropped) {
        resume_unwind(payload);
    }
}

/// The first of two panics. The second one's payload is dropped, whatever comes of that.
fn first_panic(first: thread::Result<()>, second: thread::Result<()>) -> thread::Result<()> {
    match (first, second) {
        (Err(first), Err(second)) => {
            drop_isolated(second);
            Err(first)
        }
        (Err(payload), Ok(())) | (Ok(()), Err(payload)) => Err(payload),
        (Ok(()), Ok(())) => Ok(()),
    }
}

/// # Safety
///
/// As for [`TaskPtr::end`], and `F` is the future's type.
unsafe fn end<F: Future>(task: TaskPtr, reason: JoinError) {
    // SAFETY: says the caller.
    if let Err(payload) = unsafe { finish::<F>(task, Err(reason)) } {
        let text = as_text(&*payload).unwrap_or("(a payload that is not text)");
        log_isolated(|| tracing::error!("a panic at the end of a future: {text}"));
        drop_isolated(payload);
    }
}

/// Drops the future, and passes its output on. The error is the panic of its destructor, or of who is told.
///
/// # Safety
///
/// As for [`TaskPtr::end`], and `F` is the future's type.
unsafe fn finish<F: Future>(
    task: TaskPtr,
    output: Result<F::Output, JoinError>,
) -> thread::Result<()> {
    let whole = task.0.cast::<Whole<F>>().as_ptr();
    // SAFETY: the loop has a reference until the last line.
    let header = unsafe { task.header() };
    header.set(DONE);
    // What other threads send is of no use from now on.
    header.is_sent.store(true, Ordering::Relaxed);
    header.is_abort_sent.store(true, Ordering::Relaxed);
    // Before any code of the user is run, which may end the loop: it is not to be ended again.
    // SAFETY: nothing in here runs code of the user.
    if let Some(local) = unsafe { header.shared.owner.local() } {
        local.futures.forget(header);
    }
    // SAFETY: the field is there.
    let future = unsafe { &(*whole).future };
    // It is dropped in place, because it is pinned, and as code of the user: it may do anything but reach the
    // future itself.
    // SAFETY: only the loop's thread gets here, and nobody polls it any more.
    let mut result = catch_unwind(AssertUnwindSafe(|| future.with_mut(|f| unsafe { *f = None })));
    if header.has(JOINED) {
        // SAFETY: the field is there, and only the loop's thread gets here.
        unsafe { (*whole).output.with_mut(|place| *place = Some(output)) };
        let joiner = header.joiner.take();
        // A waker is code of somebody else.
        let joined = catch_unwind(AssertUnwindSafe(|| match joiner {
            Some(Joiner::Wake(waker)) => waker.wake(),
            Some(Joiner::Call(call)) => call(),
            None => {}
        }));
        result = first_panic(result, joined);
    } else {
        drop_isolated(output);
    }
    if header.has(QUEUED) {
        header.set(LEFT);
    } else {
        // SAFETY: the loop's reference, which is not used again. (If it is queued, whoever takes it out of
        // the queue gives the reference back.)
        unsafe { task.release() };
    }
    result
}

/// # Safety
///
/// As for [`TaskPtr::output`], and `F` is the future's type.
unsafe fn output<F: Future>(task: TaskPtr) -> *mut () {
    let whole = task.0.cast::<Whole<F>>().as_ptr();
    // SAFETY: the field is there.
    unsafe { (*whole).output.with_mut(|place| place.cast()) }
}

/// # Safety
///
/// There is no reference left, and `F` is the future's type.
unsafe fn free<F: Future>(task: TaskPtr) {
    // SAFETY: the cell came from a box of this type. What is dropped with it is neither a future nor an
    // output nor a joiner (rule 3), so it does not matter which thread this is.
    let whole = unsafe { Box::from_raw(task.0.cast::<Whole<F>>().as_ptr()) };
    // For the models: this comes after all else that was done to the cell.
    whole.future.with_mut(|_| ());
}
