//! The synchronisation primitives of the crate, from the standard library or, in a model-checking
//! build (`--cfg loom`), from loom, or, in one with simulations, from there. What takes part in a protocol is named through this module, so the
//! code that runs is the code that is checked.

use std::time::Duration;

#[cfg(not(loom))]
pub(crate) use self::cell::UnsafeCell;
#[cfg(loom)]
pub(crate) use self::model::*;
#[cfg(not(any(loom, all(feature = "sim", target_os = "linux", not(mainspring_portable)))))]
pub(crate) use self::plain::*;
#[cfg(all(feature = "sim", target_os = "linux", not(any(loom, mainspring_portable))))]
pub(crate) use crate::sim::sync::*;

#[cfg(not(any(loom, all(feature = "sim", target_os = "linux", not(mainspring_portable)))))]
mod plain {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    };
    pub(crate) use std::sync::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    };
    pub(crate) use std::thread::{self, yield_now};
    pub(crate) use std::thread_local;
}

#[cfg(not(loom))]
mod cell {
    /// `std::cell::UnsafeCell` with loom's closure interface.
    #[derive(Debug, Default)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(loom)]
mod model {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    };
    pub(crate) use loom::sync::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    };
    pub(crate) use loom::thread::{self, yield_now};
    pub(crate) use loom::thread_local;
}

/// An Acquire fence, for whoever has given the last reference back, with Release as all others: what they did comes
/// before its end. ThreadSanitizer knows nothing of fences, so a build for it (`--cfg mainspring_tsan`) loads the
/// count once more instead, as that of `std::sync::Arc` does.
macro_rules! acquire {
    ($count:expr) => {{
        #[cfg(not(mainspring_tsan))]
        $crate::sync::fence($crate::sync::Ordering::Acquire);
        #[cfg(mainspring_tsan)]
        let _ = $count.load($crate::sync::Ordering::Acquire);
    }};
}
pub(crate) use acquire;

/// Locks a mutex whose data stays valid even if a holder panicked: every critical section in this
/// crate either completes or leaves the data as it was.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits for a condition, likewise.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits for a condition, but not longer than this, likewise.
pub(crate) fn wait_timeout<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    timeout: Duration,
) -> MutexGuard<'a, T> {
    condvar.wait_timeout(guard, timeout).unwrap_or_else(|poisoned| poisoned.into_inner()).0
}

/// Locks for reading, likewise.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Locks for writing, likewise.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}
