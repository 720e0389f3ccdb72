//! The synchronisation primitives of the crate in a build with simulations: those of the standard library, which
//! let another simulated thread run where a thread of the system would block.
//!
//! Within a simulation one thread of the system runs everything, so a lock that is taken is one that a simulated
//! thread holds which is not running; and a condition is waited for by giving the processor away.

use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, Mutex as StdMutex, MutexGuard as StdGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::scheduler::{NEVER, Scheduler, Waiters, current};

pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering, fence,
};
pub(crate) use std::sync::{RwLockReadGuard, RwLockWriteGuard};

/// How long a thread that cannot go on waits before it looks again, in nanoseconds, if nobody else can run.
const AGAIN: i64 = 1_000;

fn later(scheduler: &Scheduler, nanoseconds: i64) -> i64 {
    scheduler.now().saturating_add(nanoseconds)
}

/// Tries until it succeeds.
fn insist<G>(mut attempt: impl FnMut() -> Result<G, TryLockError<G>>) -> LockResult<G> {
    loop {
        match attempt() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => yield_now(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(StdMutex<T>);

#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    guard: StdGuard<'a, T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(StdMutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let locked = match current() {
            None => self.0.lock(),
            Some(scheduler) => {
                scheduler.point();
                insist(|| self.0.try_lock())
            }
        };
        self.guard(locked)
    }

    fn guard<'a>(&'a self, locked: LockResult<StdGuard<'a, T>>) -> LockResult<MutexGuard<'a, T>> {
        match locked {
            Ok(guard) => Ok(MutexGuard { mutex: self, guard }),
            Err(error) => {
                Err(PoisonError::new(MutexGuard { mutex: self, guard: error.into_inner() }))
            }
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar {
    real: std::sync::Condvar,
    waiters: StdMutex<Waiters>,
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn waiters(&self) -> StdGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let MutexGuard { mutex, guard } = guard;
        match current() {
            None => mutex.guard(self.real.wait(guard)),
            Some(scheduler) => self.simulate(&scheduler, mutex, guard, NEVER),
        }
    }

    /// Who waits knows himself whether the time is over, so that is not said here.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        let MutexGuard { mutex, guard } = guard;
        let waited = match current() {
            None => {
                let waited = self.real.wait_timeout(guard, timeout);
                mutex.guard(Ok(waited.unwrap_or_else(PoisonError::into_inner).0))
            }
            Some(scheduler) => {
                let timeout = crate::clock::nanoseconds(timeout).unwrap_or(NEVER);
                self.simulate(&scheduler, mutex, guard, later(&scheduler, timeout))
            }
        };
        match waited {
            Ok(guard) => Ok((guard, ())),
            Err(error) => Err(PoisonError::new((error.into_inner(), ()))),
        }
    }

    fn simulate<'a, T>(
        &self,
        scheduler: &Scheduler,
        mutex: &'a Mutex<T>,
        guard: StdGuard<'a, T>,
        until: i64,
    ) -> LockResult<MutexGuard<'a, T>> {
        let id = scheduler.running();
        self.waiters().push(id);
        drop(guard);
        scheduler.block(until, "a condition");
        self.waiters().remove(id);
        mutex.lock()
    }

    pub(crate) fn notify_one(&self) {
        match current() {
            None => self.real.notify_one(),
            Some(scheduler) => {
                let chosen = self.waiters().any(&scheduler.rng);
                if let Some(id) = chosen {
                    scheduler.wake(id);
                }
            }
        }
    }

    pub(crate) fn notify_all(&self) {
        match current() {
            None => self.real.notify_all(),
            Some(scheduler) => {
                while let Some(id) = { self.waiters().any(&scheduler.rng) } {
                    scheduler.wake(id);
                }
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        match current() {
            None => self.0.read(),
            Some(scheduler) => {
                scheduler.point();
                insist(|| self.0.try_read())
            }
        }
    }

    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        match current() {
            None => self.0.write(),
            Some(scheduler) => {
                scheduler.point();
                insist(|| self.0.try_write())
            }
        }
    }
}

pub(crate) fn yield_now() {
    match current() {
        None => std::thread::yield_now(),
        Some(scheduler) => _ = scheduler.block(later(&scheduler, AGAIN), "another thread"),
    }
}

pub(crate) fn spin_loop() {
    match current() {
        None => std::hint::spin_loop(),
        Some(scheduler) => {
            scheduler.pass(AGAIN.unsigned_abs());
            scheduler.point();
        }
    }
}

/// Threads, of the system or of a simulation.
pub(crate) mod thread {
    use std::io;
    use std::time::Duration;

    use super::super::scheduler::{NEVER, ThreadId};
    use super::later;

    #[derive(Clone, Debug)]
    pub(crate) enum Thread {
        Real(std::thread::Thread),
        Simulated(ThreadId),
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            match self {
                Self::Real(thread) => thread.unpark(),
                // Outside of its simulation it has ended.
                Self::Simulated(id) => {
                    if let Some(scheduler) = super::current() {
                        scheduler.point();
                        scheduler.unpark(*id);
                    }
                }
            }
        }
    }

    pub(crate) fn current() -> Thread {
        match super::current() {
            None => Thread::Real(std::thread::current()),
            Some(scheduler) => Thread::Simulated(scheduler.running()),
        }
    }

    pub(crate) fn park() {
        match super::current() {
            None => std::thread::park(),
            Some(scheduler) => scheduler.park(NEVER),
        }
    }

    pub(crate) fn park_timeout(timeout: Duration) {
        match super::current() {
            None => std::thread::park_timeout(timeout),
            Some(scheduler) => {
                let timeout = crate::clock::nanoseconds(timeout).unwrap_or(NEVER);
                scheduler.park(later(&scheduler, timeout));
            }
        }
    }

    /// Nobody waits for the threads of the crate through such a handle.
    #[derive(Debug)]
    pub(crate) struct JoinHandle(());

    #[derive(Debug, Default)]
    pub(crate) struct Builder(Option<String>);

    impl Builder {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        pub(crate) fn name(mut self, name: String) -> Self {
            self.0 = Some(name);
            self
        }

        pub(crate) fn spawn(self, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle> {
            match super::current() {
                None => {
                    let mut builder = std::thread::Builder::new();
                    if let Some(name) = self.0 {
                        builder = builder.name(name);
                    }
                    builder.spawn(body)?;
                }
                Some(scheduler) => {
                    if scheduler.rng.chance(scheduler.faults.no_thread) {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    scheduler.spawn(self.0, Box::new(body))?;
                }
            }
            Ok(JoinHandle(()))
        }
    }
}

/// A variable of which each thread has its own, simulated threads as well.
pub(crate) struct LocalKey<T: 'static> {
    real: std::thread::LocalKey<T>,
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    pub(crate) const fn new(real: std::thread::LocalKey<T>, init: fn() -> T) -> Self {
        Self { real, init }
    }

    pub(crate) fn try_with<R>(
        &'static self,
        f: impl FnOnce(&T) -> R,
    ) -> Result<R, std::thread::AccessError> {
        match current() {
            None => self.real.try_with(f),
            Some(scheduler) => Ok(f(&scheduler.local(std::ptr::from_ref(self).addr(), self.init))),
        }
    }
}

macro_rules! simulated_thread_local {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = $init:expr);+ $(;)?) => {$(
        static $name: $crate::sim::sync::LocalKey<$type> = {
            std::thread_local!($(#[$attribute])* static REAL: $type = $init);
            $crate::sim::sync::LocalKey::new(REAL, || $init)
        };
    )+};
}
pub(crate) use simulated_thread_local as thread_local;
