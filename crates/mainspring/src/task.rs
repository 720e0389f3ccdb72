//! A type-erased callback that stores small closures inline.
//!
//! # Layout
//!
//! | part   | size      | holds                                                                  |
//! |--------|-----------|------------------------------------------------------------------------|
//! | `data` | N words   | the closure itself, or one word: the pointer of a `Box` that holds it   |
//! | `act`  | 1 word    | the function that runs or drops what `data` holds                      |
//!
//! N is six in queues: seven words and the sequence word of a ring slot make one 64-byte cache line. A
//! timer's slot has other words of its own, and room for five.
//!
//! # Invariant
//!
//! `data` holds a live closure of the type that `act` was instantiated for, from [`Task::new`] until
//! either [`Ready::run`] or the destructor takes it out. A task is given to one of them, not to both.

use std::fmt;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, align_of, size_of};
use std::ptr::NonNull;

use crate::Cx;

/// Closures of up to this many words are queued without an allocation.
const WORDS: usize = 6;

type Data<const N: usize> = MaybeUninit<[usize; N]>;

/// What to do with the closure behind the pointer: run it with a context, or drop it without one.
type Act<const N: usize> = unsafe fn(*mut Data<N>, Option<&Cx>);

/// A callback that runs at most once, on the loop's thread.
pub(crate) struct Task<const N: usize = WORDS> {
    data: Data<N>,
    act: Act<N>,
    /// The closure need not be `Send`.
    _local: PhantomData<*mut ()>,
}

impl<const N: usize> Task<N> {
    #[inline]
    pub(crate) fn new<F>(f: F) -> Self
    where
        F: FnOnce(&Cx) + 'static,
    {
        let mut task = MaybeUninit::uninit();
        // SAFETY: there is room for a task, and then there is one.
        unsafe {
            Self::write(task.as_mut_ptr(), f);
            task.assume_init()
        }
    }

    /// Makes a task where it stays: what the closure does not use of the space is not moved.
    ///
    /// # Safety
    ///
    /// A task can be written there.
    #[inline]
    pub(crate) unsafe fn write<F>(place: *mut Self, f: F)
    where
        F: FnOnce(&Cx) + 'static,
    {
        // SAFETY: says the caller.
        let (data, act) = unsafe { (&raw mut (*place).data, &raw mut (*place).act) };
        if fits_inline::<F, N>() {
            // SAFETY: `F` fits into `data` in size and alignment.
            unsafe { data.cast::<F>().write(f) };
            // SAFETY: the field is there.
            unsafe { act.write(act_inline::<F, N>) };
        } else {
            let boxed = Box::into_raw(Box::new(f));
            // SAFETY: a thin pointer fits into `data`.
            unsafe { data.cast::<*mut F>().write(boxed) };
            // SAFETY: the field is there.
            unsafe { act.write(act_boxed::<F, N>) };
        }
    }
}

/// A callback whose turn has come.
pub(crate) trait Run {
    fn run(self, cx: &Cx);
}

/// A task that its queue has given away, in the place where it was. It has to be run before the queue
/// is touched again.
#[must_use = "the task is leaked unless it is run"]
pub(crate) struct Ready<const N: usize = WORDS>(NonNull<Task<N>>);

impl<const N: usize> Ready<N> {
    /// # Safety
    ///
    /// The task at that place is given up to the caller, and stays there until it is run.
    #[inline]
    pub(crate) unsafe fn new(task: NonNull<Task<N>>) -> Self {
        Self(task)
    }
}

impl<const N: usize> Run for Ready<N> {
    #[inline]
    fn run(self, cx: &Cx) {
        let task = self.0.as_ptr();
        // SAFETY: the constructor's condition.
        let act = unsafe { (*task).act };
        // SAFETY: as above, so `data` holds the closure that `act` is for. `act` moves it out before
        // any of the closure's code runs, so that code may overwrite the place.
        unsafe { act(&raw mut (*task).data, Some(cx)) }
    }
}

impl<const N: usize> Drop for Task<N> {
    fn drop(&mut self) {
        // SAFETY: a task that was given away is run through a pointer, and never dropped after that.
        unsafe { (self.act)(&raw mut self.data, None) }
    }
}

impl<const N: usize> fmt::Debug for Task<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

const fn fits_inline<F, const N: usize>() -> bool {
    size_of::<F>() <= size_of::<Data<N>>() && align_of::<F>() <= align_of::<Data<N>>()
}

/// # Safety
///
/// `data` holds an `F`, which is taken out.
unsafe fn act_inline<F: FnOnce(&Cx), const N: usize>(data: *mut Data<N>, cx: Option<&Cx>) {
    // SAFETY: the caller says that an `F` is there and gives it up.
    let f = unsafe { data.cast::<F>().read() };
    if let Some(cx) = cx {
        f(cx);
    }
}

/// # Safety
///
/// `data` holds a pointer made by `Box::<F>::into_raw`, which is taken out.
unsafe fn act_boxed<F: FnOnce(&Cx), const N: usize>(data: *mut Data<N>, cx: Option<&Cx>) {
    // SAFETY: the caller says that the pointer is there and gives it up.
    let pointer = unsafe { data.cast::<*mut F>().read() };
    // SAFETY: the pointer came from `Box::into_raw` and is taken out once.
    let f = unsafe { Box::from_raw(pointer) };
    if let Some(cx) = cx {
        f(cx);
    }
}

/// A task whose closure is `Send`: it can be made on one thread and run or dropped on another.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct SendTask(Task);

// SAFETY: the only constructor demands a `Send` closure, and nothing else is inside.
unsafe impl Send for SendTask {}

impl SendTask {
    #[inline]
    pub(crate) fn new<F>(f: F) -> Self
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        Self(Task::new(f))
    }

    #[inline]
    pub(crate) fn into_task(self) -> Task {
        self.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    fn cx() -> crate::EventLoop {
        crate::EventLoop::new().unwrap()
    }

    fn run_task<const N: usize>(task: Task<N>, cx: &Cx) {
        let landing = crate::landing::Landing::new();
        // SAFETY: the landing gives the task away.
        unsafe { Ready::new(landing.put(task)) }.run(cx);
    }

    #[test]
    fn a_task_and_its_sequence_word_fill_one_cache_line() {
        assert_eq!(size_of::<Task>(), 7 * size_of::<usize>());
        assert_eq!(size_of::<Option<Task<5>>>(), 6 * size_of::<usize>());
    }

    #[test]
    fn six_words_are_inline_and_seven_are_boxed() {
        assert!(fits_inline::<[usize; 6], 6>());
        assert!(!fits_inline::<[usize; 7], 6>());
        #[repr(align(64))]
        struct Aligned(#[allow(dead_code)] u8);
        assert!(!fits_inline::<Aligned, 6>());
    }

    fn captures_are_released_once<const WORDS: usize, const N: usize>(run: bool) {
        let seen = Rc::new(Cell::new(0));
        let ballast = [7_usize; N];
        let capture = Rc::clone(&seen);
        let task = Task::<WORDS>::new(move |_| capture.set(ballast.iter().sum()));
        assert_eq!(Rc::strong_count(&seen), 2);
        if run {
            run_task(task, cx().cx());
        } else {
            drop(task);
        }
        assert_eq!(Rc::strong_count(&seen), 1);
        assert_eq!(seen.get(), if run { 7 * N } else { 0 });
    }

    #[test]
    fn captures_are_released_once_whether_run_or_dropped_inline_or_boxed() {
        for run in [true, false] {
            captures_are_released_once::<6, 2>(run);
            captures_are_released_once::<6, 40>(run);
            captures_are_released_once::<5, 4>(run);
            captures_are_released_once::<5, 5>(run);
        }
    }

    #[test]
    fn a_panicking_closure_releases_its_captures() {
        let seen = Rc::new(());
        let capture = Rc::clone(&seen);
        let task = Task::<6>::new(move |_| {
            let _held = &capture;
            panic!("expected by the test");
        });
        let event_loop = cx();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run_task(task, event_loop.cx());
        }));
        assert!(result.is_err());
        assert_eq!(Rc::strong_count(&seen), 1);
    }
}
