//! A type-erased callback that stores small closures inline.
//!
//! # Layout
//!
//! | part   | size      | holds                                                                  |
//! |--------|-----------|------------------------------------------------------------------------|
//! | `data` | N words   | the closure itself, or one word: the pointer of a `Box` that holds it   |
//! | `act`  | 1 word    | the function that runs what `data` holds, drops it, or asks it         |
//!
//! N is six in queues: seven words and the sequence word of a ring slot make one 64-byte cache line. A
//! timer's slot has other words of its own, and room for five.
//!
//! # Invariant
//!
//! `data` holds a live closure of the type that `act` was instantiated for, from [`Task::new`] until
//! either [`TakenTask::run`] or the destructor takes it out. A task is given to one of them, not to both.

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, align_of, size_of};
use std::panic::Location;
use std::ptr::NonNull;

use crate::Cx;
use crate::handover::Handover;
use crate::place::Origin;

/// Closures of up to this many words are queued without an allocation.
const WORDS: usize = 6;

/// Those of up to this many words are kept in a timer's slot.
const TIMER_WORDS: usize = 5;

type Data<const N: usize> = MaybeUninit<[usize; N]>;

/// What a task runs: a closure, or one with something about it.
pub(crate) trait Callback: 'static {
    fn call(self, cx: &Cx);

    /// Where it comes from.
    fn origin(&self) -> Origin;
}

impl<F: FnOnce(&Cx) + 'static> Callback for F {
    #[inline]
    fn call(self, cx: &Cx) {
        self(cx);
    }

    fn origin(&self) -> Origin {
        Origin::new(None, type_name::<F>())
    }
}

/// What to do with the closure behind the pointer.
enum Op<'a> {
    /// Take it out and run it.
    Run(&'a Cx),
    /// Take it out and drop it.
    Drop,
    /// Leave it, and tell where it comes from.
    Tell(&'a Cell<Origin>),
}

type Act<const N: usize> = unsafe fn(*mut Data<N>, Op<'_>);

/// A callback that runs at most once, on the loop's thread.
pub(crate) struct Task<const N: usize = WORDS> {
    data: Data<N>,
    act: Act<N>,
    /// The closure need not be `Send`.
    _local: PhantomData<*mut ()>,
}

impl<const N: usize> Task<N> {
    #[inline]
    pub(crate) fn new<F: Callback>(f: F) -> Self {
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
    pub(crate) unsafe fn write<F: Callback>(place: *mut Self, f: F) {
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

    /// Whether a callback is stored without an allocation.
    pub(crate) const fn has_room<F>() -> bool {
        fits_inline::<F, N>()
    }

    /// Where the callback comes from.
    pub(crate) fn origin(&mut self) -> Origin {
        let origin = Cell::new(Origin::default());
        // SAFETY: `data` holds the closure that `act` is for, and keeps it.
        unsafe { (self.act)(&raw mut self.data, Op::Tell(&origin)) };
        origin.get()
    }
}

impl Task {
    /// Leaves nothing in a place from which a task was moved.
    ///
    /// # Safety
    ///
    /// A task can be written there.
    unsafe fn wipe(place: NonNull<Self>) {
        // SAFETY: says the caller.
        unsafe { place.as_ptr().cast::<MaybeUninit<Self>>().write(MaybeUninit::zeroed()) };
    }

    /// Whether there is nothing in a place.
    ///
    /// # Safety
    ///
    /// A task was written there once.
    pub(crate) unsafe fn is_wiped(place: NonNull<Self>) -> bool {
        // SAFETY: the field is there, and was written; zero is no function.
        unsafe { (&raw const (*place.as_ptr()).act).cast::<usize>().read() == 0 }
    }
}

/// A callback whose turn has come.
pub(crate) trait Run {
    fn run(self, cx: &Cx);

    /// Where it was scheduled, if it can tell that before it is run.
    #[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "nobody is told"))]
    fn place(&self) -> Option<&'static Location<'static>> {
        None
    }
}

/// A task that its queue has given away, in the place where it was. It has to be run before the queue
/// is touched again.
#[must_use = "the task is leaked unless it is run"]
pub(crate) struct TakenTask<const N: usize = WORDS>(NonNull<Task<N>>);

impl<const N: usize> TakenTask<N> {
    /// # Safety
    ///
    /// The task at that place is given up to the caller, and stays there until it is run.
    #[inline]
    pub(crate) unsafe fn new(task: NonNull<Task<N>>) -> Self {
        Self(task)
    }
}

impl TakenTask {
    /// The number of the task, if it is one of a loop of the maximum-safety profile.
    pub(crate) fn number(&self) -> u64 {
        // SAFETY: the constructor's condition.
        unsafe { &mut *self.0.as_ptr() }.origin().task
    }

    /// Moves the task elsewhere, and leaves nothing in the place where it was.
    pub(crate) fn hand_over(self, handover: &Handover<Task>) -> Self {
        // SAFETY: the constructor's condition, so it may be moved.
        let task = unsafe { self.0.read() };
        #[cfg(test)]
        let is_cleaned = !crate::defect::strikes(crate::defect::Defect::SkipCleaning);
        #[cfg(not(test))]
        let is_cleaned = true;
        if is_cleaned {
            // SAFETY: a task was there.
            unsafe { Task::wipe(self.0) };
        }
        Self(handover.put(task))
    }
}

impl<const N: usize> Run for TakenTask<N> {
    #[inline]
    fn run(self, cx: &Cx) {
        let task = self.0.as_ptr();
        // SAFETY: the constructor's condition.
        let act = unsafe { (*task).act };
        // SAFETY: as above, so `data` holds the closure that `act` is for. `act` moves it out before
        // any of the closure's code runs, so that code may overwrite the place.
        unsafe { act(&raw mut (*task).data, Op::Run(cx)) }
    }
}

impl<const N: usize> Drop for Task<N> {
    fn drop(&mut self) {
        // SAFETY: a task that was given away is run through a pointer, and never dropped after that.
        unsafe { (self.act)(&raw mut self.data, Op::Drop) }
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
/// `data` holds an `F`, which is taken out unless it is only asked.
unsafe fn act_inline<F: Callback, const N: usize>(data: *mut Data<N>, op: Op<'_>) {
    let data = data.cast::<F>();
    match op {
        // SAFETY: the caller says that an `F` is there and gives it up.
        Op::Run(cx) => unsafe { data.read() }.call(cx),
        // SAFETY: likewise.
        Op::Drop => drop(unsafe { data.read() }),
        // SAFETY: the caller says that an `F` is there.
        Op::Tell(origin) => origin.set(unsafe { &*data }.origin()),
    }
}

/// # Safety
///
/// `data` holds a pointer made by `Box::<F>::into_raw`, which is taken out unless the closure is only asked.
unsafe fn act_boxed<F: Callback, const N: usize>(data: *mut Data<N>, op: Op<'_>) {
    // SAFETY: the caller says that the pointer is there.
    let pointer = unsafe { data.cast::<*mut F>().read() };
    match op {
        Op::Run(cx) => {
            // SAFETY: the pointer came from `Box::into_raw` and is taken out once.
            let f = unsafe { Box::from_raw(pointer) };
            F::call(*f, cx);
        }
        // SAFETY: likewise.
        Op::Drop => drop(unsafe { Box::from_raw(pointer) }),
        // SAFETY: it is not taken out, so the closure is there.
        Op::Tell(origin) => origin.set(unsafe { &*pointer }.origin()),
    }
}

/// A task whose closure is `Send`: it can be made on one thread and run or dropped on another.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct SendTask<const N: usize = WORDS>(Task<N>);

// SAFETY: each constructor demands a `Send` closure, and nothing else is inside.
unsafe impl<const N: usize> Send for SendTask<N> {}

impl<const N: usize> SendTask<N> {
    #[inline]
    pub(crate) fn new<F: Callback + Send>(f: F) -> Self {
        Self(Task::new(f))
    }

    /// # Safety
    ///
    /// The closure of the task is `Send`, and so is whatever is kept beside it.
    pub(crate) unsafe fn of(task: Task<N>) -> Self {
        Self(task)
    }

    #[inline]
    pub(crate) fn into_task(self) -> Task<N> {
        self.0
    }
}

/// The callback of a timer.
pub(crate) type TimerTask = Task<TIMER_WORDS>;

/// The callback of a timer that was set by another thread.
pub(crate) type SendTimerTask = SendTask<TIMER_WORDS>;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    fn cx() -> crate::EventLoop {
        crate::EventLoop::new().unwrap()
    }

    fn run_task<const N: usize>(task: Task<N>, cx: &Cx) {
        let handover = crate::handover::Handover::new();
        // SAFETY: the handover gives the task away.
        unsafe { TakenTask::new(handover.put(task)) }.run(cx);
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
        let task = Task::<WORDS>::new(move |_: &Cx| capture.set(ballast.iter().sum()));
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
        let task = Task::<6>::new(move |_: &Cx| {
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
