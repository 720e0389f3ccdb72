//! The synchronisation primitives of the crate, from the standard library or, in a model-checking
//! build (`--cfg loom`), from loom, or, in one with simulations, from there. What takes part in a protocol is named through this module, so the
//! code that runs is the code that is checked.

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
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, RwLock};
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
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, RwLock};
    pub(crate) use loom::thread::{self, yield_now};
    pub(crate) use loom::thread_local;
}

/// Locks a mutex whose data stays valid even if a holder panicked: every critical section in this
/// crate either completes or leaves the data as it was.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
