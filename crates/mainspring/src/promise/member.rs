//! Promises that share an allocation.
//!
//! What waits for one part of a combination is a promise like others, as reactions are, but nobody else ever has it. All of
//! them are made at once, so one allocation is enough. It belongs to what they have in common, the *keeper*, of which each
//! has a reference until the very end: what gives that back is the function that frees the memory of other promises. So
//! while one part stays pending, the memory of all is there.

use std::mem::ManuallyDrop;
use std::ptr::{NonNull, drop_in_place};

use super::mode::Mode;
use super::node::{Acts, Base, Header, Node, React};

/// A promise in memory that a `K` keeps. The node comes first, so that a pointer to it is one to the whole.
#[repr(C)]
pub(super) struct Member<P, T, R, M: Mode, K> {
    node: Node<P, T, R, M>,
    keeper: ManuallyDrop<K>,
}

impl<P, T: 'static, R: React<P, T, M>, M: Mode, K> Member<P, T, R, M, K> {
    const ACTS: Acts<M> = Acts { free: Self::free, ..Node::<P, T, R, M>::ACTS };

    /// # Safety
    ///
    /// It is such a member, was emptied, and its last weak reference is gone.
    unsafe fn free(node: NonNull<Header<M>>) {
        let member = node.cast::<Self>().as_ptr();
        // SAFETY: it is a member, says the caller, and nobody else uses it. What is inside of the node is not dropped again.
        let keeper = unsafe {
            drop_in_place(&raw mut (*member).node);
            (&raw mut (*member).keeper).read()
        };
        // The memory may be gone after this.
        drop(ManuallyDrop::into_inner(keeper));
    }
}

impl<P, M: Mode> Base<P, M> {
    /// Derives a promise from this one, at that place. Nobody has it but the list of reactions.
    ///
    /// # Safety
    ///
    /// * `M` carries `T`, `R` and `K`.
    /// * A member can be written to the place, which is there as long as the keeper, or a clone of it, is.
    #[inline]
    pub(super) unsafe fn derive_at<T, R, K>(
        &self,
        place: NonNull<Member<P, T, R, M, K>>,
        reaction: R,
        keeper: K,
    ) where
        T: 'static,
        R: React<P, T, M>,
    {
        let home = self.home().clone();
        let acts = const { &Member::<P, T, R, M, K>::ACTS };
        let node = Node::new(home, Some(reaction), None, 1, acts);
        // SAFETY: says the caller.
        unsafe { place.write(Member { node, keeper: ManuallyDrop::new(keeper) }) };
        self.node().attach(place.cast());
    }
}
