//! What the loop asks a simulation, if it is in one. In a build without simulations it is in none.

#[cfg(all(feature = "sim", target_os = "linux", not(any(loom, mainspring_portable))))]
pub(crate) use self::asked::*;
#[cfg(not(all(feature = "sim", target_os = "linux", not(any(loom, mainspring_portable)))))]
pub(crate) use self::never::*;

#[cfg(all(feature = "sim", target_os = "linux", not(any(loom, mainspring_portable))))]
mod asked {
    use crate::sim::scheduler::current;

    /// The simulated time.
    pub(crate) fn now() -> Option<i64> {
        current().map(|scheduler| scheduler.now())
    }

    /// The number of the running thread, which `new` makes if it has none yet.
    pub(crate) fn thread_number(new: fn() -> u64) -> Option<u64> {
        current().map(|scheduler| scheduler.thread_number(new))
    }

    /// Another simulated thread may run first.
    pub(crate) fn point() {
        if let Some(scheduler) = current() {
            scheduler.point();
        }
    }
}

#[cfg(not(all(feature = "sim", target_os = "linux", not(any(loom, mainspring_portable)))))]
mod never {
    #[inline(always)]
    pub(crate) fn now() -> Option<i64> {
        None
    }

    #[inline(always)]
    pub(crate) fn thread_number(_new: fn() -> u64) -> Option<u64> {
        None
    }

    #[inline(always)]
    pub(crate) fn point() {}
}
