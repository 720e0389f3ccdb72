//! What goes wrong in a simulation.

use std::time::Duration;

/// How often the simulated system does what a real one does on a bad day.
///
/// All of it is within what the system's manual allows, so a program that is right survives it. Chances are in
/// thousandths.
///
/// ```
/// use mainspring::sim::{Faults, Simulation};
/// use std::time::Duration;
///
/// let faults = Faults { interrupted: 500, late: Duration::from_millis(3), ..Faults::none() };
/// Simulation::new(1).faults(faults).run(|| ()).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A system call is interrupted (`EINTR`).
    pub interrupted: u16,
    /// A wait ends although nothing has happened.
    pub spurious: u16,
    /// Reading or writing says `EAGAIN`, and right after that could be done.
    pub would_block: u16,
    /// A stream takes or gives fewer bytes than it could.
    pub short: u16,
    /// A descriptor cannot be opened, because there are too many (`EMFILE`).
    pub no_descriptor: u16,
    /// The system has no memory for another registration (`ENOMEM`).
    pub no_memory: u16,
    /// A thread cannot be started (`EAGAIN`).
    pub no_thread: u16,
    /// A thread that is woken, or whose time has come, runs so much later at the most.
    pub late: Duration,
    /// How often it does.
    pub lateness: u16,
    /// A thread that runs stands still for as long as that, wherever it is: the system has given its processor
    /// to somebody else. How often, at each point at which threads may change.
    pub stalled: u16,
    /// Time passes only while every thread waits, as on a machine that is infinitely fast.
    pub still: bool,
}

impl Faults {
    /// Nothing goes wrong.
    ///
    /// ```
    /// assert_eq!(mainspring::sim::Faults::none(), mainspring::sim::Faults::default());
    /// ```
    #[must_use]
    pub fn none() -> Self {
        Self {
            interrupted: 0,
            spurious: 0,
            would_block: 0,
            short: 0,
            no_descriptor: 0,
            no_memory: 0,
            no_thread: 0,
            late: Duration::ZERO,
            lateness: 0,
            stalled: 0,
            still: false,
        }
    }

    /// What happens to every program sooner or later, and must not be noticed: interruptions, wake-ups that are
    /// late or for nothing, threads that stand still, reads and writes that are short or to be made again.
    ///
    /// ```
    /// use mainspring::sim::{Faults, Simulation};
    ///
    /// Simulation::new(1).faults(Faults::usual()).run(|| ()).unwrap();
    /// ```
    #[must_use]
    pub fn usual() -> Self {
        Self {
            interrupted: 100,
            spurious: 50,
            would_block: 100,
            short: 300,
            late: Duration::from_millis(2),
            lateness: 100,
            stalled: 3,
            ..Self::none()
        }
    }

    /// Also what makes calls fail: no descriptors, no memory, no threads.
    ///
    /// ```
    /// use mainspring::sim::{Faults, Simulation};
    ///
    /// Simulation::new(1).faults(Faults::all()).run(|| ()).unwrap();
    /// ```
    #[must_use]
    pub fn all() -> Self {
        Self { no_descriptor: 50, no_memory: 50, no_thread: 50, ..Self::usual() }
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::none()
    }
}
