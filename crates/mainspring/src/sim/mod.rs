//! Deterministic simulation: a program with loops and threads runs on simulated time, with a simulated system that
//! misbehaves as real ones do, in an order that one number decides. Needs the feature `sim`, on Linux.
//!
//! Everything within [`Simulation::run`] is simulated: [threads](spawn), which take turns at points that the
//! seed chooses; the clock, which passes when everybody waits, so that hours take no time; the poller and the
//! connections of a program, [`Stream`] and [`Listener`]; and [faults](Faults), from interrupted system calls to
//! descriptors that have run out. The loop is the real one, all of it down to the system calls.
//!
//! A test tries many seeds. One that fails is a number, and with that number the program does exactly the same
//! again, under a debugger or with more to log:
//!
//! ```
//! use mainspring::EventLoop;
//! use mainspring::sim::{self, Faults, Simulation};
//! use std::time::Duration;
//!
//! for seed in 0..100 {
//!     Simulation::new(seed)
//!         .faults(Faults::usual())
//!         .run(|| {
//!             let event_loop = EventLoop::new()?;
//!             let handle = event_loop.handle();
//!             let producer = sim::spawn(move || {
//!                 sim::sleep(Duration::from_secs(60));
//!                 handle.submit(|cx| cx.close()).map_err(drop)
//!             });
//!             event_loop.run()?;
//!             assert!(sim::elapsed() >= Duration::from_secs(60));
//!             assert_eq!(producer.join().unwrap(), Ok(()));
//!             Ok::<(), mainspring::Error>(())
//!         })
//!         .unwrap_or_else(|failure| panic!("{failure}"))?;
//! }
//! # Ok::<(), mainspring::Error>(())
//! ```
//!
//! # What it finds
//!
//! * A program that waits for something that never comes: [`Failure::Stuck`] says which thread waits for what.
//! * One that goes on for ever: [`Failure::Endless`].
//! * Whatever the program itself asserts, in an order of events, with faults, that no test would think of.
//!
//! # Limits
//!
//! * One thread of the system runs a simulation, so what blocks it, such as a real lock or a real socket, blocks all.
//!   [`Handle::promisify`](crate::Handle::promisify) runs its functions on simulated threads. What starts real
//!   threads is not simulated: signals, the stall detector, tracers, [`LoopGroup`](crate::LoopGroup). Nor are
//!   sockets, pipes and processes of the system.
//! * Threads take turns where the loop's protocols can be interrupted, where a lock is taken, and where the program
//!   says so, not between any two instructions. The orders of single memory accesses are what the crate's models
//!   are for.
//! * What was made within a simulation is to be dropped within it.
//! * A simulated thread has a stack of 256 KiB.
//! * `Instant::now` tells the real time. The loop's is [`Cx::now`](crate::Cx::now).

mod faults;
pub(crate) mod kernel;
mod rng;
pub(crate) mod scheduler;
mod stream;
pub(crate) mod sync;
#[cfg(test)]
mod tests;
mod thread;

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

pub use self::faults::Faults;
pub use self::stream::{Listener, Stream};
pub use self::thread::{
    JoinHandle, elapsed, fingerprint, open_descriptors, point, random, sleep, spawn,
};

use self::scheduler::{Scheduler, Stop};

/// So many steps are more than a program needs that comes to its end.
const STEPS: u64 = 1_000_000;

/// A simulation that can be run. See the [module documentation](self).
///
/// ```
/// use mainspring::sim::Simulation;
///
/// assert_eq!(Simulation::new(42).run(|| 2 + 2).unwrap(), 4);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a simulation does nothing until it is run"]
pub struct Simulation {
    seed: u64,
    faults: Faults,
    max_steps: u64,
}

impl Simulation {
    /// A simulation in which nothing goes wrong. The seed decides everything that is left to chance.
    ///
    /// ```
    /// mainspring::sim::Simulation::new(42).run(|| ()).unwrap();
    /// ```
    pub fn new(seed: u64) -> Self {
        Self { seed, faults: Faults::none(), max_steps: STEPS }
    }

    /// What goes wrong.
    ///
    /// ```
    /// use mainspring::sim::{Faults, Simulation};
    ///
    /// Simulation::new(42).faults(Faults::all()).run(|| ()).unwrap();
    /// ```
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// After so many steps, a million by default, it is taken for endless.
    ///
    /// ```
    /// use mainspring::sim::{self, Failure, Simulation};
    ///
    /// let endless = Simulation::new(42).max_steps(1_000).run(|| loop { sim::point() });
    /// assert!(matches!(endless, Err::<(), _>(Failure::Endless { .. })));
    /// ```
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.max_steps = steps;
        self
    }

    /// Runs a program, which is the first simulated thread, and all threads that it starts, to their ends.
    ///
    /// # Errors
    ///
    /// If a thread has panicked, the program is stuck, or goes on for ever. What is stuck stays so: its memory is
    /// not given back.
    ///
    /// ```
    /// use mainspring::EventLoop;
    /// use mainspring::sim::{Failure, Simulation};
    ///
    /// // Nobody ever ends this loop.
    /// let stuck = Simulation::new(42).run(|| EventLoop::new()?.run());
    /// assert!(matches!(stuck, Err(Failure::Stuck { .. })));
    /// ```
    pub fn run<T: 'static>(self, program: impl FnOnce() -> T + 'static) -> Result<T, Failure> {
        let seed = self.seed;
        let scheduler = Scheduler::new(seed, self.faults, self.max_steps);
        let result = Rc::new(RefCell::new(None));
        let place = Rc::clone(&result);
        let body = move || {
            let ended = catch_unwind(AssertUnwindSafe(program));
            *place.borrow_mut() = Some(ended);
        };
        let failed = |message: String| Failure::Panicked { seed, message };
        if let Err(error) = scheduler.spawn(Some("the program".to_owned()), Box::new(body)) {
            return Err(failed(format!("no memory for a stack: {error}")));
        }
        let ended = scheduler.run();
        let result = result.take();
        // Before it is stuck because of that.
        if let Some(Err(payload)) = result {
            return Err(failed(message(&*payload)));
        }
        if let Some(message) = scheduler.panic() {
            return Err(failed(message));
        }
        match (ended, result) {
            (Err(Stop::Stuck(threads)), _) => Err(Failure::Stuck { seed, threads }),
            (Err(Stop::Endless), _) => Err(Failure::Endless { seed, steps: scheduler.steps() }),
            (Ok(()), Some(Ok(value))) => Ok(value),
            (Ok(()), _) => Err(failed("the program did not come to its end".to_owned())),
        }
    }
}

/// What a panic says.
fn message(payload: &(dyn Any + Send)) -> String {
    crate::fault::as_text(payload).unwrap_or("a panic without a message").to_owned()
}

/// Why a simulation failed.
///
/// ```
/// use mainspring::sim::Simulation;
///
/// let failure = Simulation::new(42).run(|| assert!(false, "oh")).unwrap_err();
/// assert_eq!(failure.to_string(), "seed 42: a thread panicked: oh");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A thread panicked, and nobody joined it.
    #[non_exhaustive]
    Panicked {
        /// With which it happens again.
        seed: u64,
        /// What it said.
        message: String,
    },
    /// No thread can go on, and none waits for a time.
    #[non_exhaustive]
    Stuck {
        /// With which it happens again.
        seed: u64,
        /// The threads that are left, and what each waits for.
        threads: Vec<(String, &'static str)>,
    },
    /// It did not come to its end.
    #[non_exhaustive]
    Endless {
        /// With which it happens again.
        seed: u64,
        /// After so many steps.
        steps: u64,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked { seed, message } => {
                write!(f, "seed {seed}: a thread panicked: {message}")
            }
            Self::Stuck { seed, threads } => {
                write!(f, "seed {seed}: stuck")?;
                for (index, (thread, waits_for)) in threads.iter().enumerate() {
                    let separator = if index == 0 { ':' } else { ',' };
                    write!(f, "{separator} {thread} waits for {waits_for}")?;
                }
                Ok(())
            }
            Self::Endless { seed, steps } => {
                write!(f, "seed {seed}: not at its end after {steps} steps")
            }
        }
    }
}

impl std::error::Error for Failure {}
