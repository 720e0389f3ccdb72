//! What keeps a loop from becoming idle.

use std::fmt;
use std::iter;
use std::panic::Location;
use std::time::Duration;

use crate::place::Origin;
use crate::{Cx, Interest, TimerId};

/// A queue of a loop.
///
/// ```
/// use mainspring::Queue;
///
/// assert_eq!(Queue::NextTicks.to_string(), "next ticks");
/// assert_eq!(Queue::ALL.len(), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Queue {
    /// Tasks that were submitted.
    External,
    /// Tasks of the internal lane.
    Internal,
    /// Microtasks.
    Microtasks,
    /// What `next_tick` has queued.
    NextTicks,
    /// Immediates.
    Immediates,
    /// Close callbacks.
    Closes,
    /// Futures that were woken, and were not polled since.
    Futures,
}

impl Queue {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::External,
        Self::Internal,
        Self::Microtasks,
        Self::NextTicks,
        Self::Immediates,
        Self::Closes,
        Self::Futures,
    ];
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::External => "external",
            Self::Internal => "internal",
            Self::Microtasks => "microtasks",
            Self::NextTicks => "next ticks",
            Self::Immediates => "immediates",
            Self::Closes => "closes",
            Self::Futures => "futures",
        })
    }
}

/// Why [`run_until_idle`](crate::EventLoop::run_until_idle) does not return: the answer of
/// [`Cx::why_alive`](crate::Cx::why_alive).
///
/// ```
/// use mainspring::EventLoop;
/// use std::time::Duration;
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().set_timeout(Duration::from_secs(60), |_| ())?;
/// let why = event_loop.cx().why_alive();
/// assert_eq!(why.reasons.len(), 1);
/// println!("{why}"); // a timer due in 60 s, set at src/main.rs:5:17
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WhyAlive {
    /// Each by itself. Without any, the loop is idle.
    pub reasons: Vec<Reason>,
}

/// One thing that keeps a loop from becoming idle.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Reason {
    /// What it is.
    pub cause: Cause,
    /// Where it was made, if the loop was told to [note that](crate::Builder::metrics).
    pub place: Option<&'static Location<'static>>,
    /// The type of its callback or future, if it is known, which has the name of the function around it.
    pub name: Option<&'static str>,
}

/// What keeps a loop from becoming idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A timer that is referenced.
    Timer {
        /// Which.
        id: TimerId,
        /// How long it is until it is due.
        due_in: Duration,
        /// Whether it is an interval.
        repeats: bool,
    },
    /// A descriptor that is registered and referenced.
    Descriptor {
        /// Its number.
        fd: i32,
        /// What it is watched for.
        interest: Interest,
    },
    /// A function on a worker, or one that waits for a worker.
    Job,
    /// A future that is not done.
    Future,
    /// A [guard](crate::Handle::keep_alive).
    KeepAlive,
    /// Callbacks that are queued.
    Queued {
        /// Where.
        queue: Queue,
        /// How many.
        count: usize,
    },
}

/// How many reasons of a kind the text has, one by one.
const SHOWN: usize = 16;

impl fmt::Display for WhyAlive {
    /// One line for each reason. If there are very many of a kind, the rest of them is counted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reasons.is_empty() {
            return f.write_str("nothing keeps the loop alive");
        }
        let mut rest: &[Reason] = &self.reasons;
        while let Some(first) = rest.first() {
            let same = |reason: &&Reason| reason.cause.kind() == first.cause.kind();
            let of_kind = rest.iter().take_while(same).count();
            let is_first_line = rest.len() == self.reasons.len();
            let (kind, others) = rest.split_at(of_kind);
            rest = others;
            for (index, reason) in kind.iter().take(SHOWN).enumerate() {
                if index > 0 || !is_first_line {
                    f.write_str("\n")?;
                }
                reason.fmt(f)?;
            }
            if of_kind > SHOWN {
                write!(f, "\nand {} more of this kind", of_kind - SHOWN)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        let verb = match self.cause {
            Cause::Timer { .. } => "set",
            Cause::Descriptor { .. } => "registered",
            Cause::Job => "given",
            Cause::Future => "spawned",
            Cause::KeepAlive => "taken",
            Cause::Queued { .. } => "queued",
        };
        match (self.place, self.name) {
            (Some(place), _) => write!(f, ", {verb} at {place}"),
            (None, Some(name)) => write!(f, ", {verb} in {}", function(name)),
            (None, None) => Ok(()),
        }
    }
}

/// The function in which a closure or a future was written, by the name of its type.
fn function(name: &str) -> &str {
    let mut name = name;
    while let Some(outer) = name.strip_suffix("::{{closure}}") {
        name = outer;
    }
    name
}

impl Cause {
    /// Reasons of one kind are listed together.
    fn kind(&self) -> std::mem::Discriminant<Self> {
        std::mem::discriminant(self)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Timer { due_in, repeats, .. } => {
                let what = if repeats { "an interval" } else { "a timer" };
                if due_in.is_zero() {
                    write!(f, "{what} that is due")
                } else {
                    write!(f, "{what} due in {due_in:.1?}")
                }
            }
            Self::Descriptor { fd, interest } => {
                let what = match (interest.is_read(), interest.is_write()) {
                    (true, true) => "reading and writing",
                    (true, false) => "reading",
                    (false, true) => "writing",
                    (false, false) => "errors",
                };
                write!(f, "descriptor {fd}, watched for {what}")
            }
            Self::Job => f.write_str("a function on a worker"),
            Self::Future => f.write_str("a future that is not done"),
            Self::KeepAlive => f.write_str("a guard"),
            Self::Queued { queue, count: 1 } => write!(f, "one entry in the queue `{queue}`"),
            Self::Queued { queue, count } => write!(f, "{count} entries in the queue `{queue}`"),
        }
    }
}

impl Cx {
    /// What keeps [`run_until_idle`](crate::EventLoop::run_until_idle) from returning, each with the place where it
    /// was made if the loop was [told to note that](crate::Builder::metrics).
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// assert!(event_loop.cx().why_alive().reasons.is_empty());
    /// let guard = event_loop.handle().keep_alive();
    /// println!("{}", event_loop.cx().why_alive());
    /// # drop(guard);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn why_alive(&self) -> WhyAlive {
        let local = &*self.0;
        let shared = &*local.shared;
        let mut reasons = Vec::new();
        let mut add = |cause, Origin { place, name }: Origin| {
            let name = Some(name).filter(|name| !name.is_empty());
            reasons.push(Reason { cause, place, name });
        };
        let now = shared.clock.read();
        let mut timers = Vec::new();
        local.timers.accept(&shared.timers);
        local.timers.each_referenced(|id, deadline, repeats, origin| {
            timers.push((deadline, id, repeats, origin));
        });
        timers.sort_by_key(|(deadline, id, ..)| (*deadline, id.get()));
        for (deadline, id, repeats, origin) in timers {
            let left = u64::try_from(deadline.saturating_sub(now)).unwrap_or(0);
            add(Cause::Timer { id, due_in: Duration::from_nanos(left), repeats }, origin);
        }
        for (fd, interest, place) in shared.referenced_descriptors() {
            add(Cause::Descriptor { fd, interest }, Origin { place, name: "" });
        }
        let errands = shared.errands.all();
        let unknown = shared.workers.busy().saturating_sub(errands.len());
        for origin in errands.into_iter().chain(iter::repeat_n(Origin::default(), unknown)) {
            add(Cause::Job, origin);
        }
        for origin in local.futures.referenced() {
            add(Cause::Future, origin);
        }
        for origin in shared.guards.all() {
            add(Cause::KeepAlive, origin);
        }
        for queue in Queue::ALL {
            let count = local.depth(queue);
            if count > 0 {
                add(Cause::Queued { queue, count }, Origin::default());
            }
        }
        WhyAlive { reasons }
    }
}
