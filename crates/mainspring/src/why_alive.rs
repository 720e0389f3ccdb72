//! What keeps a loop from becoming idle.

use std::fmt;
use std::iter;
use std::panic::Location;
use std::time::Duration;

use crate::place::Origin;
use crate::sync::Ordering;
use crate::sys::RawFd;
use crate::timer::Referenced;
use crate::{Cx, Interest, Queue, TimerId};

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
    /// How many more there are, if not all were [asked for](crate::Cx::why_alive_up_to).
    pub more: usize,
}

/// One thing that keeps a loop from becoming idle.
///
/// ```
/// use mainspring::EventLoop;
/// use std::time::Duration;
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().set_interval(Duration::from_secs(60), |_| ())?;
/// for reason in event_loop.cx().why_alive().reasons {
///     assert_eq!(reason.place.unwrap().file(), file!());
///     println!("{reason}");
/// }
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Reason {
    /// What it is.
    pub cause: Cause,
    /// Where it was made, if the loop was told to note that, by `Builder::metrics`.
    pub place: Option<&'static Location<'static>>,
    /// The type of its callback or future, if it is known, which has the name of the function around it.
    pub name: Option<&'static str>,
}

/// What keeps a loop from becoming idle.
///
/// ```
/// use mainspring::{Cause, EventLoop};
/// use std::time::Duration;
///
/// let event_loop = EventLoop::new()?;
/// let set = event_loop.cx().set_timeout(Duration::from_secs(60), |_| ())?;
/// match event_loop.cx().why_alive().reasons[0].cause {
///     Cause::Timer { id, repeats, .. } => assert_eq!((id, repeats), (set, false)),
///     other => panic!("only a timer was set, and not {other:?}"),
/// }
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A timer that is referenced.
    #[non_exhaustive]
    Timer {
        /// Which.
        id: TimerId,
        /// How long it is until it is due.
        due_in: Duration,
        /// Whether it is an interval.
        repeats: bool,
    },
    /// A descriptor that is registered and referenced.
    #[non_exhaustive]
    Descriptor {
        /// Its number.
        fd: RawFd,
        /// What it is watched for.
        interest: Interest,
    },
    /// A function on a worker, or one that waits for a worker.
    ///
    /// Not a job of a script engine, in the sense of [`JobQueue`](crate::JobQueue): that is [`Pending`](Self::Pending).
    Job,
    /// A future that is not done.
    Future,
    /// A [guard](crate::Handle::keep_alive).
    KeepAlive,
    /// Something that the loop will do in its next tick.
    #[non_exhaustive]
    Pending {
        /// What.
        what: &'static str,
    },
    /// Callbacks that are queued.
    #[non_exhaustive]
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
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
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
            Cause::Pending { .. } | Cause::Queued { .. } => "queued",
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
            Self::Pending { what } => f.write_str(what),
            Self::Queued { queue, count: 1 } => write!(f, "one entry in the queue `{queue}`"),
            Self::Queued { queue, count } => write!(f, "{count} entries in the queue `{queue}`"),
        }
    }
}

impl Cx {
    /// What keeps [`run_until_idle`](crate::EventLoop::run_until_idle) from returning, each with the place where it
    /// was made if the loop was told to note that, by `Builder::metrics`.
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
        self.why_alive_up_to(usize::MAX)
    }

    /// Like [`why_alive`](Self::why_alive), with so many timers, so many descriptors, and so on, at the most, whichever are
    /// found first. The others are counted. A loop with a million timers takes a while to list them all.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// for _ in 0..1_000 {
    ///     event_loop.cx().set_timeout(Duration::from_secs(60), |_| ())?;
    /// }
    /// let why = event_loop.cx().why_alive_up_to(10);
    /// assert_eq!((why.reasons.len(), why.more), (10, 990));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn why_alive_up_to(&self, limit: usize) -> WhyAlive {
        let mut found = Found { limit, why: WhyAlive::default() };
        self.find_timers(&mut found);
        self.find_descriptors(&mut found);
        self.find_jobs(&mut found);
        self.find_futures(&mut found);
        self.find_guards(&mut found);
        self.find_queued(&mut found);
        found.why
    }

    fn find_timers(&self, found: &mut Found) {
        let local = &*self.0;
        let remote = &local.shared.timers;
        local.timers.accept(remote);
        let now = local.shared.clock.read();
        let all = local.timers.count_referenced(remote);
        // Not more are looked for than there are.
        let mut timers = local.timers.list_referenced(found.limit.min(all));
        timers.sort_by_key(|timer| (timer.deadline, timer.id.get()));
        let reasons = timers.into_iter().map(|Referenced { id, deadline, repeats, origin }| {
            let left = u64::try_from(deadline.saturating_sub(now)).unwrap_or(0);
            (Cause::Timer { id, due_in: Duration::from_nanos(left), repeats }, origin)
        });
        found.add(all, reasons);
    }

    fn find_descriptors(&self, found: &mut Found) {
        let (descriptors, all) = self.0.shared.list_referenced(found.limit);
        let reasons = descriptors.into_iter().map(|(fd, interest, place)| {
            (Cause::Descriptor { fd, interest }, Origin::new(place, ""))
        });
        found.add(all, reasons);
    }

    fn find_jobs(&self, found: &mut Found) {
        let shared = &*self.0.shared;
        // Of those that are under way, the worker of one may need a moment to see that it was delivered.
        let holds = shared.holds.load(Ordering::Acquire);
        let all = match shared.is_observed() {
            true => holds.saturating_sub(shared.guards.len()),
            false => shared.workers.busy().min(holds),
        };
        let errands = shared.errands.all();
        // Of a loop that is not observed only their number is known.
        let unknown = iter::repeat(Origin::default());
        let jobs = errands.into_iter().chain(unknown).take(all);
        found.add(all, jobs.map(|origin| (Cause::Job, origin)));
    }

    fn find_futures(&self, found: &mut Found) {
        let futures = self.0.futures.list_referenced(found.limit);
        let all = self.0.futures.count_referenced();
        found.add(all, futures.into_iter().map(|origin| (Cause::Future, origin)));
    }

    fn find_guards(&self, found: &mut Found) {
        let shared = &*self.0.shared;
        let guards = shared.guards.all();
        let unknown = match shared.is_observed() {
            true => 0,
            false => {
                let holds = shared.holds.load(Ordering::Acquire);
                holds.saturating_sub(shared.workers.busy())
            }
        };
        let all = guards.len() + unknown;
        let guards = guards.into_iter().chain(iter::repeat_n(Origin::default(), unknown));
        found.add(all, guards.map(|origin| (Cause::KeepAlive, origin)));
    }

    fn find_queued(&self, found: &mut Found) {
        let local = &*self.0;
        let shared = &*local.shared;
        let queued = Queue::ALL.iter().copied().filter_map(|queue| {
            let count = match queue {
                // The others do not keep the loop alive.
                Queue::Immediates => local.immediates.referenced(),
                _ => local.depth(queue),
            };
            (count > 0).then_some(Cause::Queued { queue, count })
        });
        let pending = [
            (shared.is_woken(), "a tick that was asked for"),
            (!local.rejections.is_empty(), "rejections that nobody has handled, to be reported"),
            (local.jobs.is_pending(), "jobs of a script engine"),
            (local.watchers.has_events(), "events of descriptors"),
            (shared.io.has_left(), "descriptors that were removed, to be let go of"),
        ];
        let pending = pending.into_iter().filter(|(is_so, _)| *is_so);
        let pending = pending.map(|(_, what)| Cause::Pending { what });
        for cause in queued.chain(pending) {
            found.add(1, iter::once((cause, Origin::default())));
        }
    }
}

/// What was found so far.
struct Found {
    /// Reasons of a kind, at the most.
    limit: usize,
    why: WhyAlive,
}

impl Found {
    /// Adds reasons of one kind, of which there are so many.
    fn add(&mut self, all: usize, reasons: impl Iterator<Item = (Cause, Origin)>) {
        let before = self.why.reasons.len();
        let reasons = reasons.take(self.limit).map(|(cause, Origin { place, name, .. })| {
            let name = Some(name).filter(|name| !name.is_empty());
            Reason { cause, place, name }
        });
        self.why.reasons.extend(reasons);
        self.why.more += all.saturating_sub(self.why.reasons.len() - before);
    }
}
