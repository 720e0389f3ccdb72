//! The two kinds of promises, and what tells them apart: whether they are counted and settled with
//! atomic operations, and what they know of their loop. The rest of the code is the same for both.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;

use super::node::Header;
use super::reaction::{AnyReaction, DueReaction};
use super::readers::Reading;
use super::reference::{Ref, Weak};
use super::registry::Listed;
use super::rejection::{LocalRejection, Rejection};
use super::rejections::Tracked;
use crate::local::Local;
use crate::sync::{AtomicPtr, AtomicU32, Mutex, Ordering, lock};
use crate::{Cx, Handle};

/// A kind of promises.
pub(crate) trait Mode: Sized + 'static {
    /// Counts references.
    type Count: Count;
    /// Holds a pointer whose low bits are tags.
    type Link: Link<Self>;
    /// How a promise reaches its loop.
    type Home: Clone;
    /// Why a promise was rejected.
    type Rejection: Clone + From<Rejection> + Into<LocalRejection> + 'static;
    /// A value that several reactions have in common.
    type Common<T>: Common<T>;
    /// What keeps other threads from reading values at the same time, at the end of the loop or after it.
    type Alone<'a>;

    /// Whether the loop's thread is the present one.
    fn is_on_loop(home: &Self::Home) -> bool;

    /// Whether the loop has come to its end, so that nothing is run any more.
    fn has_ended(home: &Self::Home) -> bool;

    /// The right to read values, on the loop's thread, or after the loop's end on any.
    fn alone(home: &Self::Home) -> Option<Self::Alone<'_>>;

    /// Lists a promise that something outside the loop can settle. Tells whether the loop exists.
    fn register(node: &Ref<Self>) -> bool;

    /// The loop's own side, on its thread.
    ///
    /// # Safety
    ///
    /// It is not used after code of the user was run, nor after the promise that the home is of was dropped,
    /// unless the loop accepts what is queued.
    unsafe fn local<'a>(home: &Self::Home) -> Option<&'a Local>;

    /// Sends a promise that has settled to the loop's thread.
    fn send(node: Ref<Self>);

    /// Queues a microtask. It is dropped if the loop has ended.
    ///
    /// # Safety
    ///
    /// This kind carries the microtask.
    unsafe fn queue<F>(home: &Self::Home, microtask: F)
    where
        F: FnOnce(&Cx) + 'static;

    /// A handler came too late for a rejection that was reported as unhandled.
    fn handled_late(node: &Ref<Self>);

    /// Names the kind in the types that hold both.
    fn reaction(due: DueReaction<Self>) -> AnyReaction;
    fn list(weak: Weak<Self>) -> Listed;
    fn reference(node: Ref<Self>) -> Tracked;
}

/// A kind whose promises may hold a `T`.
pub(crate) trait Carries<T>: Mode {}

/// Promises that stay on the loop's thread.
pub(crate) struct LoopBound;

/// Promises that any thread may hold.
pub(crate) struct Shareable;

impl<T> Carries<T> for LoopBound {}
impl<T: Send> Carries<T> for Shareable {}

impl Mode for LoopBound {
    type Count = Cell<u32>;
    type Link = Cell<*mut Header<Self>>;
    type Home = Cx;
    type Rejection = LocalRejection;
    type Common<T> = Rc<RefCell<T>>;
    type Alone<'a> = ();

    #[inline]
    fn is_on_loop(_: &Cx) -> bool {
        true
    }

    fn has_ended(home: &Cx) -> bool {
        !home.0.accepts()
    }

    fn alone(_: &Cx) -> Option<()> {
        Some(())
    }

    fn register(node: &Ref<Self>) -> bool {
        let local = &*node.home().0;
        local.accepts() && local.registry.insert(node)
    }

    #[inline]
    unsafe fn local<'a>(home: &Cx) -> Option<&'a Local> {
        // SAFETY: the home keeps it alive; and if it accepts what is queued, so does the loop, which exists.
        Some(unsafe { &*Rc::as_ptr(&home.0) })
    }

    fn send(node: Ref<Self>) {
        unreachable!("{} never leaves the loop's thread", node.id());
    }

    unsafe fn queue<F>(home: &Cx, microtask: F)
    where
        F: FnOnce(&Cx) + 'static,
    {
        home.queue_microtask(microtask);
    }

    fn handled_late(node: &Ref<Self>) {
        node.home().0.rejections.handled(&node.home().0, node.id());
    }

    fn reaction(due: DueReaction<Self>) -> AnyReaction {
        AnyReaction::LoopBound(due)
    }

    fn list(weak: Weak<Self>) -> Listed {
        Listed::LoopBound(weak)
    }

    fn reference(node: Ref<Self>) -> Tracked {
        Tracked::LoopBound(node)
    }
}

impl Mode for Shareable {
    type Count = AtomicU32;
    type Link = AtomicPtr<Header<Self>>;
    type Home = Handle;
    type Rejection = Rejection;
    type Common<T> = Arc<Mutex<T>>;
    type Alone<'a> = Reading<'a>;

    #[inline]
    fn is_on_loop(home: &Handle) -> bool {
        home.0.owner.is_current()
    }

    fn has_ended(home: &Handle) -> bool {
        home.0.state() == crate::LoopState::Terminated
    }

    fn alone(home: &Handle) -> Option<Reading<'_>> {
        // The loop's thread may be the last one to run handlers. It is here only when that is over; others
        // cannot know that before the loop has completed its end.
        (home.0.owner.is_current() || home.0.end.has_completed()).then(|| home.0.readers.lock())
    }

    fn register(node: &Ref<Self>) -> bool {
        let shared = &*node.home().0;
        // SAFETY: no code of the user runs here.
        match unsafe { shared.owner.local() } {
            // Another thread may end a loop that was never driven; its list is for all threads.
            Some(local) if local.started.get() => local.accepts() && local.registry.insert(node),
            _ => shared.newcomers.push(node, shared),
        }
    }

    #[inline]
    unsafe fn local<'a>(home: &Handle) -> Option<&'a Local> {
        // SAFETY: passed on to the caller.
        let local = unsafe { home.0.owner.local() }?;
        // SAFETY: it does not depend on the home.
        Some(unsafe { &*std::ptr::from_ref(local) })
    }

    fn send(node: Ref<Self>) {
        let handle = node.home().clone();
        let drain = Drain(Some(node));
        // If it is refused, it is dropped, and with it the reactions.
        drop(handle.send_microtask(move |cx| drain.run(cx)));
    }

    unsafe fn queue<F>(home: &Handle, microtask: F)
    where
        F: FnOnce(&Cx) + 'static,
    {
        struct Sendable<F>(F);
        // SAFETY: this kind carries it, says the caller, and it carries only what is `Send`.
        unsafe impl<F> Send for Sendable<F> {}
        impl<F: FnOnce(&Cx)> Sendable<F> {
            fn run(self, cx: &Cx) {
                (self.0)(cx);
            }
        }
        let microtask = Sendable(microtask);
        drop(home.send_microtask(move |cx| microtask.run(cx)));
    }

    fn handled_late(node: &Ref<Self>) {
        let id = node.id();
        // SAFETY: no code of the user runs here.
        if let Some(local) = unsafe { Self::local(node.home()) } {
            return local.rejections.handled(local, id);
        }
        drop(node.home().send_internal(move |cx| cx.0.rejections.handled(&cx.0, id)));
    }

    fn reaction(due: DueReaction<Self>) -> AnyReaction {
        AnyReaction::Shareable(due)
    }

    fn list(weak: Weak<Self>) -> Listed {
        Listed::Shareable(weak)
    }

    fn reference(node: Ref<Self>) -> Tracked {
        Tracked::Shareable(node)
    }
}

/// The way of a settled promise from another thread to the loop's.
struct Drain(Option<Ref<Shareable>>);

impl Drain {
    fn run(mut self, _: &Cx) {
        if let Some(node) = self.0.take() {
            node.tell();
        }
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            node.discard_reactions();
        }
    }
}

/// A number that counts references.
pub(crate) trait Count {
    fn new(n: u32) -> Self;
    fn load(&self, order: Ordering) -> u32;
    /// Adds one, and returns what was there.
    fn add(&self) -> u32;
    /// Subtracts one, and returns what was there.
    fn sub(&self, order: Ordering) -> u32;
    /// Adds one unless it is zero. Tells whether it was not.
    fn add_unless_zero(&self) -> bool;
    /// Makes what others did before they subtracted visible.
    fn acquire(&self);
}

impl Count for Cell<u32> {
    fn new(n: u32) -> Self {
        Self::new(n)
    }
    #[inline]
    fn load(&self, _: Ordering) -> u32 {
        self.get()
    }
    #[inline]
    fn add(&self) -> u32 {
        self.replace(self.get() + 1)
    }
    #[inline]
    fn sub(&self, _: Ordering) -> u32 {
        self.replace(self.get() - 1)
    }
    fn add_unless_zero(&self) -> bool {
        self.get() != 0 && {
            self.add();
            true
        }
    }
    #[inline]
    fn acquire(&self) {}
}

impl Count for AtomicU32 {
    fn new(n: u32) -> Self {
        Self::new(n)
    }
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        self.load(order)
    }
    #[inline]
    fn add(&self) -> u32 {
        // Relaxed: whoever adds one has one already.
        self.fetch_add(1, Ordering::Relaxed)
    }
    #[inline]
    fn sub(&self, order: Ordering) -> u32 {
        self.fetch_sub(1, order)
    }
    fn add_unless_zero(&self) -> bool {
        let more = |n: u32| (n != 0).then_some(n + 1);
        self.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }
    #[inline]
    fn acquire(&self) {
        crate::sync::acquire!(self);
    }
}

/// A pointer that several threads change, or one.
pub(crate) trait Link<M: Mode> {
    fn new(pointer: *mut Header<M>) -> Self;
    fn load(&self) -> *mut Header<M>;
    /// Replaces `old` by `new`, or tells what is there instead.
    fn replace(&self, old: *mut Header<M>, new: *mut Header<M>) -> Result<(), *mut Header<M>>;
}

impl Link<LoopBound> for Cell<*mut Header<LoopBound>> {
    fn new(pointer: *mut Header<LoopBound>) -> Self {
        Self::new(pointer)
    }
    #[inline]
    fn load(&self) -> *mut Header<LoopBound> {
        self.get()
    }
    #[inline]
    fn replace(
        &self,
        _: *mut Header<LoopBound>,
        new: *mut Header<LoopBound>,
    ) -> Result<(), *mut Header<LoopBound>> {
        self.set(new);
        Ok(())
    }
}

impl Link<Shareable> for AtomicPtr<Header<Shareable>> {
    fn new(pointer: *mut Header<Shareable>) -> Self {
        Self::new(pointer)
    }
    #[inline]
    fn load(&self) -> *mut Header<Shareable> {
        // Acquire: whoever sees that a promise has settled sees its outcome.
        self.load(Ordering::Acquire)
    }
    #[inline]
    fn replace(
        &self,
        old: *mut Header<Shareable>,
        new: *mut Header<Shareable>,
    ) -> Result<(), *mut Header<Shareable>> {
        // Release: the outcome, or the reaction, goes with it. Acquire: those that came before are seen.
        self.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }
}

/// A value behind a counted reference, with a lock if it needs one.
pub(crate) trait Common<T>: Clone {
    fn wrap(value: T) -> Self;
    /// No code of the user may run in `f`.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
    /// Another reference, which is not counted.
    ///
    /// # Safety
    ///
    /// It is not used when the counted ones are gone.
    unsafe fn lend(&self) -> ManuallyDrop<Self> {
        // SAFETY: it is not dropped, so it counts for nothing; otherwise it is as good as this one for as long as the caller
        // says.
        ManuallyDrop::new(unsafe { std::ptr::read(self) })
    }
}

impl<T> Common<T> for Rc<RefCell<T>> {
    fn wrap(value: T) -> Self {
        Self::new(RefCell::new(value))
    }
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.borrow_mut())
    }
}

impl<T> Common<T> for Arc<Mutex<T>> {
    fn wrap(value: T) -> Self {
        Self::new(Mutex::new(value))
    }
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut lock(self))
    }
}
