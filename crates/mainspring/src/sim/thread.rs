//! Threads within a simulation, for programs.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::scheduler::{NEVER, Scheduler, ThreadId, current};

/// The simulation, which must be there.
fn inside() -> Rc<Scheduler> {
    match current() {
        Some(scheduler) => scheduler,
        None => panic!("this is for the inside of a simulation: call it within `Simulation::run`"),
    }
}

/// Starts a simulated thread.
///
/// A panic of it is the result of [`JoinHandle::join`]; of a thread that nobody joins, it fails the simulation.
///
/// # Panics
///
/// Outside of a simulation.
///
/// ```
/// use mainspring::sim::{self, Simulation};
///
/// Simulation::new(3).run(|| {
///     let thread = sim::spawn(|| 2 + 2);
///     assert_eq!(thread.join().unwrap(), 4);
/// })?;
/// # Ok::<(), mainspring::sim::Failure>(())
/// ```
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let scheduler = inside();
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    let body = move || {
        let ended = catch_unwind(AssertUnwindSafe(f));
        if let (Err(payload), Some(scheduler)) = (&ended, current()) {
            scheduler.note_panic(super::message(&**payload));
        }
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
    };
    match scheduler.spawn(None, Box::new(body)) {
        Ok(id) => JoinHandle { id, result },
        Err(error) => panic!("there is no memory for the stack of a simulated thread: {error}"),
    }
}

/// A simulated thread that can be waited for.
///
/// ```
/// use mainspring::sim::{self, Simulation};
///
/// Simulation::new(3).run(|| {
///     let thread = sim::spawn(|| panic!("oh"));
///     assert!(thread.join().is_err());
/// })?;
/// # Ok::<(), mainspring::sim::Failure>(())
/// ```
#[must_use = "a panic of the thread goes unnoticed if nobody joins it"]
pub struct JoinHandle<T> {
    id: ThreadId,
    result: Arc<Mutex<Option<thread::Result<T>>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread.
    ///
    /// # Errors
    ///
    /// What it has panicked with.
    ///
    /// # Panics
    ///
    /// Outside of the simulation.
    ///
    /// ```
    /// use mainspring::sim::{self, Simulation};
    ///
    /// Simulation::new(3).run(|| sim::spawn(|| ()).join().unwrap())?;
    /// # Ok::<(), mainspring::sim::Failure>(())
    /// ```
    pub fn join(self) -> thread::Result<T> {
        let scheduler = inside();
        scheduler.join(self.id);
        scheduler.forget_panic(self.id);
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.unwrap_or_else(|| Err(Box::new("the thread did not come to its end")))
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Lets the simulated time pass, for the thread that calls it.
///
/// # Panics
///
/// Outside of a simulation.
///
/// ```
/// use mainspring::sim::{self, Simulation};
/// use std::time::Duration;
///
/// Simulation::new(3).run(|| {
///     sim::sleep(Duration::from_secs(3600));
///     assert!(sim::elapsed() >= Duration::from_secs(3600));
/// })?;
/// # Ok::<(), mainspring::sim::Failure>(())
/// ```
pub fn sleep(duration: Duration) {
    let scheduler = inside();
    let duration = crate::clock::nanoseconds(duration).unwrap_or(NEVER);
    let until = scheduler.now().saturating_add(duration);
    while scheduler.now() < until {
        scheduler.block(until, "a time");
    }
}

/// A point at which another simulated thread may run first. There are many of them in the loop; a program that
/// has threads of its own may have more.
///
/// # Panics
///
/// Outside of a simulation.
///
/// ```
/// use mainspring::sim::{self, Simulation};
///
/// Simulation::new(3).run(sim::point)?;
/// # Ok::<(), mainspring::sim::Failure>(())
/// ```
pub fn point() {
    inside().point();
}

/// How much simulated time has passed.
///
/// # Panics
///
/// Outside of a simulation.
///
/// ```
/// use mainspring::sim::{self, Simulation};
/// use std::time::Duration;
///
/// Simulation::new(3).run(|| assert!(sim::elapsed() < Duration::from_millis(1)))?;
/// # Ok::<(), mainspring::sim::Failure>(())
/// ```
#[must_use]
pub fn elapsed() -> Duration {
    Duration::from_nanos(inside().elapsed().unsigned_abs())
}

/// A random number of the simulation: the same in every run with the same seed.
///
/// # Panics
///
/// Outside of a simulation.
///
/// ```
/// use mainspring::sim::{self, Simulation};
///
/// let of = |seed| Simulation::new(seed).run(sim::random).unwrap();
/// assert_eq!(of(3), of(3));
/// ```
#[must_use]
pub fn random() -> u64 {
    inside().rng.next()
}

/// A number for all that was left to chance so far: two runs that have the same did the same.
///
/// # Panics
///
/// Outside of a simulation.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::sim::{self, Simulation};
///
/// let of = |seed| {
///     let program = || EventLoop::new().unwrap().run_until_idle().map(|()| sim::fingerprint());
///     Simulation::new(seed).run(program).unwrap().unwrap()
/// };
/// assert_eq!(of(3), of(3));
/// assert_ne!(of(3), of(4));
/// ```
#[must_use]
pub fn fingerprint() -> u64 {
    inside().fingerprint()
}

/// How many ends of [streams](super::Stream), and [listeners](super::Listener), are open: what a program has left
/// behind at its end.
///
/// # Panics
///
/// Outside of a simulation.
///
/// ```
/// use mainspring::sim::{self, Simulation, Stream};
///
/// Simulation::new(3).run(|| {
///     let (near, far) = Stream::pair().unwrap();
///     drop(near);
///     assert_eq!(sim::open_descriptors(), 1);
///     drop(far);
///     assert_eq!(sim::open_descriptors(), 0);
/// })?;
/// # Ok::<(), mainspring::sim::Failure>(())
/// ```
#[must_use]
pub fn open_descriptors() -> usize {
    inside().kernel.borrow().count_open()
}
