//! A closure without an allocation: its captures, of up to three words, and the function that runs it. What was
//! not run is not dropped.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::rc::Rc;

type Words = [MaybeUninit<usize>; 3];

/// Gets a reference to `C` when it runs. Stays on its thread, because a capture may have to.
pub struct Inline<C> {
    words: Words,
    /// Takes the capture out of the words, once.
    call: unsafe fn(&Words, &C),
    _stays: PhantomData<Rc<C>>,
}

impl<C> Inline<C> {
    #[inline]
    pub fn new<F: FnOnce(&C)>(closure: F) -> Self {
        const {
            assert!(size_of::<F>() <= size_of::<Words>(), "the closure is small");
            assert!(align_of::<F>() <= align_of::<Words>());
        }
        let mut words = [MaybeUninit::uninit(); 3];
        // SAFETY: it fits, see above.
        unsafe { words.as_mut_ptr().cast::<F>().write(closure) };
        Self { words, call: call::<C, F>, _stays: PhantomData }
    }

    #[inline]
    pub fn run(self, context: &C) {
        // SAFETY: the words are those that `new` wrote for this function; they are gone after this.
        unsafe { (self.call)(&self.words, context) }
    }
}

/// # Safety
///
/// The words hold an `F`, which is not used again.
unsafe fn call<C, F: FnOnce(&C)>(words: &Words, context: &C) {
    // SAFETY: the caller's promise.
    let closure = unsafe { words.as_ptr().cast::<F>().read() };
    closure(context);
}

/// One that may go to another thread.
pub struct SendInline(Inline<()>);

// SAFETY: the closure is `Send`, which `new` asks for, and nothing else is in it.
unsafe impl Send for SendInline {}

impl SendInline {
    #[inline]
    pub fn new(closure: impl FnOnce() + Send) -> Self {
        Self(Inline::new(move |()| closure()))
    }

    #[inline]
    pub fn run(self) {
        self.0.run(&());
    }
}
