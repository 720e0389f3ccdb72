//! References to promises, and lists of them; see [`node`](super::node).

use std::ptr::{NonNull, null_mut};

use super::id::PromiseId;
use super::mode::{Count, Link, Mode, Shareable};
use super::node::Header;
use super::reaction::DueReaction;
use super::rejection::LocalRejection;
use super::word::{CLAIMED, HANDLED, PENDING, REJECTED, State};
use crate::local::Local;
use crate::sync::Ordering;
use crate::{Cx, Error};

/// A strong reference to a promise with whatever value.
pub(crate) struct Ref<M: Mode>(pub(super) NonNull<Header<M>>);

// SAFETY: all that is inside a shareable promise can be sent (invariant 5), and is used by one thread at a
// time (invariants 2 to 4); the rest is atomic.
unsafe impl Send for Ref<Shareable> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Ref<Shareable> {}

impl<M: Mode> Ref<M> {
    #[inline]
    pub(super) fn header(&self) -> &Header<M> {
        // SAFETY: it is alive (invariant 1).
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(super) fn home(&self) -> &M::Home {
        &self.header().home
    }

    pub(super) fn id(&self) -> PromiseId {
        PromiseId::new(self.0.addr())
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    #[inline]
    pub(super) fn state(&self) -> State<M> {
        State(self.header().state.load())
    }

    /// Changes the state to what `f` makes of it, unless that is nothing. Returns what it was.
    #[inline]
    pub(super) fn update(
        &self,
        f: impl Fn(State<M>) -> Option<State<M>>,
    ) -> Result<State<M>, State<M>> {
        let mut old = self.state();
        loop {
            let Some(new) = f(old) else { return Err(old) };
            match self.header().state.replace(old.0, new.0) {
                Ok(()) => return Ok(old),
                Err(other) => old = State(other),
            }
        }
    }

    /// Obtains the right to settle it, for the first who asks.
    #[inline]
    pub(super) fn claim(&self) -> bool {
        let free = |state: State<M>| state.phase() == PENDING && !state.is_marked();
        self.update(|state| free(state).then(|| state.with_phase(CLAIMED))).is_ok()
    }

    /// Puts a node into the list of reactions, and tells the loop if it has settled already.
    #[inline]
    pub(super) fn attach(&self, child: NonNull<Header<M>>) {
        let attached = self.update(|state| {
            // SAFETY: the child is in no list yet, and alive (invariant 3).
            unsafe { child.as_ref().next.with_mut(|next| *next = state.list()) };
            Some(State(child.as_ptr().map_addr(|address| address | state.tags() | HANDLED)))
        });
        let (Ok(before) | Err(before)) = attached;
        if before.is_settled() {
            if !before.is_handled() && before.is_marked() {
                M::handled_late(self);
            }
            self.clone().tell();
        }
    }

    /// It has settled, or a reaction was attached after it had. Queues what has to be run, or drops it if the loop
    /// has ended.
    pub(super) fn tell(self) {
        // SAFETY: no code of the user is run before the last use.
        let Some(local) = (unsafe { M::local(self.home()) }) else { return M::send(self) };
        local.registry.remove(&self);
        if !local.accepts() {
            return self.discard_reactions();
        }
        let state = self.take_reactions();
        self.spread(state, local);
    }

    /// Queues what has to be run, of a state whose list was taken.
    #[inline]
    pub(super) fn spread(self, state: State<M>, local: &Local) {
        if state.is_unhandled() {
            local.rejections.track(local, M::reference(self.clone()));
        }
        // What is left may be the last reference. The loop is not used after that.
        drop(self.queue_reactions(state, local));
    }

    /// Empties the list. Returns the state with the list as it was.
    #[inline]
    pub(super) fn take_reactions(&self) -> State<M> {
        let state = self.state();
        if state.list().is_null() {
            return state;
        }
        let (Ok(state) | Err(state)) = self.update(|state| Some(state.without_list()));
        state
    }

    /// Queues a microtask for each reaction of a list that was taken, in the order of attachment. Gives the
    /// reference back if there was none.
    #[inline]
    pub(super) fn queue_reactions(self, state: State<M>, local: &Local) -> Option<Self> {
        let Some(last) = NonNull::new(state.list()) else { return Some(self) };
        // SAFETY: the list was taken, and its nodes are alive (invariant 3).
        let before = unsafe { &(*last.as_ptr()).next }.with(|next| unsafe { *next });
        if !before.is_null() {
            self.queue_many(state, local);
            return None;
        }
        // The list's reference becomes that of the reaction.
        let due = DueReaction::new(self, Self(last));
        local.push_microtask(move |cx| due.run(cx));
        None
    }

    #[inline(never)]
    fn queue_many(self, state: State<M>, local: &Local) {
        for child in Reactions::new(state) {
            let due = DueReaction::new(self.clone(), child);
            local.push_microtask(move |cx| due.run(cx));
        }
    }

    /// Drops the reactions: the loop has ended.
    #[cold]
    pub(super) fn discard_reactions(self) {
        let state = self.take_reactions();
        for child in Reactions::new(state) {
            drop(DueReaction::new(self.clone(), child));
        }
    }

    /// Notes that the rejection was reported as unhandled. Tells whether that is so.
    pub(super) fn report(&self) -> bool {
        self.update(|state| (!state.is_handled()).then(|| state.marked())).is_ok()
    }

    /// Why it was rejected. For the loop's thread, and promises that were.
    pub(super) fn reason(&self) -> LocalRejection {
        debug_assert!(self.state().phase() == REJECTED && M::is_on_loop(self.home()));
        // SAFETY: the functions are those of its type.
        unsafe { (self.header().acts.reason)(self) }
    }

    /// Rejects it, if it is pending, also if it follows another one: the loop has ended.
    pub(super) fn end(&self) {
        // SAFETY: the functions are those of its type.
        unsafe { (self.header().acts.reject)(self, Error::Terminated) }
    }

    /// Where the registry has it. For the loop's thread.
    pub(super) fn slot(&self) -> u32 {
        // SAFETY: the loop's thread alone uses it.
        self.header().slot.with(|slot| unsafe { *slot })
    }

    /// For the loop's thread.
    pub(super) fn set_slot(&self, slot: u32) {
        // SAFETY: the loop's thread alone uses it.
        self.header().slot.with_mut(|cell| unsafe { *cell = slot });
    }

    /// Whether the registry may have it.
    #[inline]
    pub(super) fn is_listed(&self) -> bool {
        // Relaxed: if the answer is old, the registry finds out by itself.
        self.header().is_listed.load(Ordering::Relaxed)
    }

    pub(super) fn set_listed(&self) {
        self.header().is_listed.store(true, Ordering::Relaxed);
    }

    pub(super) fn downgrade(&self) -> Weak<M> {
        self.header().weak.add();
        Weak(self.0)
    }

    /// Runs the reaction of this promise, or drops it.
    ///
    /// # Safety
    ///
    /// The child was taken from a list of its parent.
    #[inline]
    pub(super) unsafe fn react(due: DueReaction<M>, cx: Option<&Cx>) {
        let react = due.child().header().acts.react;
        // SAFETY: the functions are those of its type. A reaction is only attached to a promise of the
        // type that it is for.
        unsafe { react(due, cx) }
    }
}

impl<M: Mode> Clone for Ref<M> {
    #[inline]
    fn clone(&self) -> Self {
        if self.header().strong.add() > i32::MAX as u32 {
            // Somebody leaks references, and goes on until the count is wrong.
            std::process::abort();
        }
        Self(self.0)
    }
}

impl<M: Mode> Drop for Ref<M> {
    #[inline]
    fn drop(&mut self) {
        // Release, and the fence below: what all others did with it comes before its end.
        if self.header().strong.sub(Ordering::Release) == 1 {
            self.header().strong.acquire();
            self.destroy();
        }
    }
}

impl<M: Mode> Ref<M> {
    /// The last reference is gone.
    #[inline]
    fn destroy(&mut self) {
        let acts = self.header().acts;
        if !self.state().list().is_null() {
            // Others wait for it, and nobody can settle it any more.
            self.header().strong.add();
            let last = Self(self.0);
            // SAFETY: the functions are those of its type.
            unsafe { (acts.reject)(&last, Error::PromiseAbandoned) };
            return last.discard_reactions();
        }
        let memory = Weak(self.0);
        // SAFETY: the functions are those of its type, and this was the last reference.
        unsafe { (acts.empty)(self.0) };
        drop(memory);
    }
}

/// A reference that keeps the memory of a promise, not what is inside: that may be dropped by another thread at
/// the same time, so there is no reference to the whole header here.
pub(crate) struct Weak<M: Mode>(NonNull<Header<M>>);

// SAFETY: as for `Ref`.
unsafe impl Send for Weak<Shareable> {}

impl<M: Mode> Weak<M> {
    /// A strong reference, if there is one.
    pub(super) fn upgrade(&self) -> Option<Ref<M>> {
        // SAFETY: the memory is alive (invariant 1).
        let strong = unsafe { &(*self.0.as_ptr()).strong };
        strong.add_unless_zero().then(|| Ref(self.0))
    }

    /// Whether it is of no use to know of it: it has settled, or nobody has it any more.
    pub(super) fn is_done(&self) -> bool {
        // SAFETY: the memory is alive (invariant 1), and these words have no destructor.
        let (strong, state) = unsafe { (&(*self.0.as_ptr()).strong, &(*self.0.as_ptr()).state) };
        strong.load(Ordering::Relaxed) == 0 || State(state.load()).is_settled()
    }

    /// Where the registry has it. For the loop's thread.
    pub(super) fn set_slot(&self, slot: u32) {
        // SAFETY: the memory is alive.
        let place = unsafe { &(*self.0.as_ptr()).slot };
        // SAFETY: the loop's thread alone uses it.
        place.with_mut(|cell| unsafe { *cell = slot });
    }

    /// The link of the list of newcomers, for whoever puts it there or has taken it from there.
    pub(super) fn next(&self) -> *mut Header<M> {
        // SAFETY: the memory is alive.
        let place = unsafe { &(*self.0.as_ptr()).next };
        // SAFETY: who may use it is as the comment says (invariant 3: it is in no list of reactions then).
        place.with(|next| unsafe { *next })
    }

    /// As for `next`.
    pub(super) fn set_next(&self, to: *mut Header<M>) {
        // SAFETY: the memory is alive.
        let place = unsafe { &(*self.0.as_ptr()).next };
        // SAFETY: as for `next`.
        place.with_mut(|next| unsafe { *next = to });
    }

    pub(super) fn as_ptr(&self) -> *mut Header<M> {
        self.0.as_ptr()
    }

    /// # Safety
    ///
    /// The pointer came from a reference that was forgotten, and takes its place.
    pub(super) unsafe fn from_raw(pointer: NonNull<Header<M>>) -> Self {
        Self(pointer)
    }
}

impl<M: Mode> Drop for Weak<M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the memory is alive (invariant 1).
        let (weak, acts) = unsafe { (&(*self.0.as_ptr()).weak, (*self.0.as_ptr()).acts) };
        // Acquire and Release as for strong references. Who sees that it is the last one need not count.
        if weak.load(Ordering::Acquire) != 1 {
            if weak.sub(Ordering::Release) != 1 {
                return;
            }
            weak.acquire();
        }
        // SAFETY: the functions are those of its type; no reference is left, so it was emptied.
        unsafe { (acts.free)(self.0) };
    }
}

/// A list that was taken, in the order of attachment.
struct Reactions<M: Mode>(*mut Header<M>);

impl<M: Mode> Reactions<M> {
    #[inline]
    fn new(state: State<M>) -> Self {
        // The last one comes first in the list.
        let mut list = state.list();
        let mut reversed = null_mut();
        while let Some(node) = NonNull::new(list) {
            // SAFETY: the list was taken, and its nodes are alive (invariant 3).
            list = unsafe { node.as_ref() }.next.with_mut(|next| unsafe { next.replace(reversed) });
            reversed = node.as_ptr();
        }
        Self(reversed)
    }
}

impl<M: Mode> Iterator for Reactions<M> {
    type Item = Ref<M>;

    #[inline]
    fn next(&mut self) -> Option<Ref<M>> {
        let node = NonNull::new(self.0)?;
        // SAFETY: the list was taken, and its nodes are alive (invariant 3).
        self.0 = unsafe { node.as_ref() }.next.with(|next| unsafe { *next });
        // The list's reference becomes the caller's.
        Some(Ref(node))
    }
}

impl<M: Mode> Drop for Reactions<M> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
