//! The host of a script: what the operations work on.

use std::any::{Any, TypeId};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mainspring::{AbortSignal, Cause, Cx, Queue, Reason};

use crate::{Callback, Global, OpError, Options, Output, Value};

/// What a script was stopped by.
///
/// ```
/// assert_eq!(mainspring_js::Limit::Memory.to_string(), "the script is out of memory");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A callback ran longer than [`Options::callback_time`] allows.
    CallbackTime(Duration),
    /// The engine may not allocate more.
    Memory,
    /// Somebody asked for it, from outside.
    Interrupted,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallbackTime(limit) => {
                write!(f, "a callback of the script ran for longer than {limit:?}")
            }
            Self::Memory => f.write_str("the script is out of memory"),
            Self::Interrupted => f.write_str("the script was interrupted"),
        }
    }
}

impl std::error::Error for Limit {}

/// An exception that the script did not catch, or a rejection that it did not handle.
///
/// ```
/// let uncaught = mainspring_js::Uncaught {
///     text: "Error: boom\n    at app.js:1:7".into(),
///     origin: mainspring_js::Origin::Exception,
/// };
/// assert!(uncaught.to_string().starts_with("Error: boom"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncaught {
    /// The error as a person would see it, with its stack.
    pub text: String,
    /// How it came here.
    pub origin: crate::Origin,
}

impl fmt::Display for Uncaught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Uncaught {}

/// What is counted for a script.
///
/// ```
/// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
/// # use mainspring_js::Options;
/// # let event_loop = mainspring::EventLoop::new()?;
/// # let layer = closures::join(&event_loop, Options::new());
/// use std::rc::Rc;
///
/// layer.start_timer(Rc::new(|| ()), 1.0, true)?;
/// event_loop.run_until_idle()?;
/// assert_eq!(layer.host().stats().timers, 1);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls of timers.
    pub timers: u64,
    /// Calls of immediates.
    pub immediates: u64,
    /// Passes through the queue of `process.nextTick`.
    pub tick_passes: u64,
    /// Jobs of the engine: reactions of promises, and microtasks.
    pub jobs: u64,
    /// Calls of callbacks that were given to operations.
    pub callbacks: u64,
}

/// What of a script waits, and keeps the loop alive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) timers: usize,
    pub(crate) immediates: usize,
}

/// What of a script keeps the loop alive.
struct Owned {
    has_sockets: bool,
    has_jobs: bool,
}

impl Owned {
    /// Whether it is something of the script's, which has a better name for it.
    fn has(&self, reason: &Reason) -> bool {
        // The directory of this file: also if it is one of a registry.
        let here = file!().strip_suffix("host.rs").unwrap_or(file!());
        match (reason.cause, reason.place, reason.name) {
            // All others are the script's, or those of a moment.
            (Cause::Queued { queue, .. }, ..) => queue != Queue::External,
            (_, Some(place), _) => place.file().starts_with(here),
            (_, None, Some(name)) => name.contains("mainspring_js::"),
            (Cause::Descriptor { .. }, None, None) => self.has_sockets,
            // A result that is on its way back from a worker has a guard.
            (Cause::Job | Cause::KeepAlive, None, None) => self.has_jobs,
            _ => false,
        }
    }
}

/// When the present callback of a script has to be done, for another thread; see [`Host::deadline`].
///
/// An engine may not notice that in the middle of a function of its own, which a watchdog can.
///
/// ```
/// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
/// # use mainspring_js::Options;
/// # let event_loop = mainspring::EventLoop::new()?;
/// # let layer = closures::join(&event_loop, Options::new());
/// let deadline = layer.host().deadline();
/// let watchdog = std::thread::spawn(move || {
///     if let Some(late) = deadline.lateness() {
///         eprintln!("a callback should have ended {late:?} ago");
///     }
/// });
/// # watchdog.join().unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Deadline {
    origin: Instant,
    /// In nanoseconds after the origin; 0 if no callback runs.
    at: Arc<AtomicU64>,
}

impl Deadline {
    /// By how much the callback that runs is late. None if it is not, or if none runs.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// assert_eq!(layer.host().deadline().lateness(), None); // no callback runs
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn lateness(&self) -> Option<Duration> {
        let at = self.at.load(Ordering::Relaxed);
        let late = self.origin.elapsed().checked_sub(Duration::from_nanos(at))?;
        (at != 0).then_some(late)
    }

    fn set(&self, deadline: Option<Instant>) {
        let nanos = deadline.map(|at| at.duration_since(self.origin).as_nanos().max(1));
        let nanos = nanos.map_or(0, |nanos| u64::try_from(nanos).unwrap_or(u64::MAX));
        self.at.store(nanos, Ordering::Relaxed);
    }
}

/// Called with what begins and what ends; see [`Host::set_observer`].
pub(crate) type Observer = Rc<dyn Fn(&'static str, Instant, Instant)>;

/// The host of a script. Clones are the same.
///
/// ```
/// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
/// # use mainspring_js::Options;
/// # let event_loop = mainspring::EventLoop::new()?;
/// # let layer = closures::join(&event_loop, Options::new());
/// use mainspring_js::Global;
///
/// let host = layer.host().clone();
/// assert!(host.has(Global::Timers));
/// assert_eq!(host.exit_code(), None);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct Host(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) cx: Cx,
    pub(crate) options: Options,
    pub(crate) exit: Cell<Option<i32>>,
    /// The code that the script wants if it ends because nothing is left to do.
    pub(crate) code: Cell<i32>,
    /// When the present callback has to be done.
    pub(crate) deadline: Cell<Option<Instant>>,
    pub(crate) stats: Cell<Stats>,
    pub(crate) observer: RefCell<Option<Observer>>,
    /// The callback that runs, and when it began, if somebody observes.
    pub(crate) observed: Cell<Option<(&'static str, Instant)>>,
    /// The same for another thread.
    shown_deadline: OnceCell<Deadline>,
    /// Asks the layer.
    pub(crate) waiting: RefCell<Option<Box<dyn Fn() -> Waiting>>>,
    /// How many operations are under way on workers.
    offloaded: Cell<usize>,
    resources: RefCell<HashMap<TypeId, Rc<dyn Any>>>,
}

impl Host {
    pub(crate) fn new(cx: Cx, options: Options) -> Self {
        Self(Rc::new(Inner {
            cx,
            options,
            exit: Cell::new(None),
            code: Cell::new(0),
            deadline: Cell::new(None),
            stats: Cell::new(Stats::default()),
            observer: RefCell::new(None),
            observed: Cell::new(None),
            shown_deadline: OnceCell::new(),
            waiting: RefCell::new(None),
            offloaded: Cell::new(0),
            resources: RefCell::default(),
        }))
    }

    /// The loop.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// let id = layer.host().cx().handle().id();
    /// assert_eq!(id, event_loop.handle().id());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn cx(&self) -> &Cx {
        &self.0.cx
    }

    /// The options that the script was given.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// assert!(!layer.host().options().limits_callback_time());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Whether the script was given that.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new().without([mainspring_js::Global::Fs]));
    /// use mainspring_js::Global;
    ///
    /// assert!(!layer.host().has(Global::Fs));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn has(&self, global: Global) -> bool {
        self.0.options.has(global)
    }

    /// The code by which the script has ended itself, if it has.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// assert_eq!(layer.host().exit_code(), None);
    /// layer.exit(3);
    /// assert_eq!(layer.host().exit_code(), Some(3));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        self.0.exit.get()
    }

    /// Where the standard output goes.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// layer.host().stdout().write(b"hello\n").unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn stdout(&self) -> &Output {
        &self.0.options.stdio.out
    }

    /// Where the standard error goes.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// layer.host().stderr().write(b"hello\n").unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn stderr(&self) -> &Output {
        &self.0.options.stdio.err
    }

    /// What was counted so far.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// assert_eq!(layer.host().stats(), Default::default());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats.get()
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Stats)) {
        let mut stats = self.0.stats.get();
        change(&mut stats);
        self.0.stats.set(stats);
    }

    /// Has a function called after each callback of the script with its kind, and when it began and ended.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.host().set_observer(|kind, from, to| println!("{kind}: {:?}", to - from));
    /// layer.start_immediate(Rc::new(|| ()), true);
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn set_observer(&self, observer: impl Fn(&'static str, Instant, Instant) + 'static) {
        self.0.observer.replace(Some(Rc::new(observer)));
    }

    /// The kind of the callback that runs, and when it began, if there is an
    /// [observer](Self::set_observer): for the end of a script in the middle of a callback.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.host().set_observer(|_, _, _| ());
    /// let host = layer.host().clone();
    /// layer.start_immediate(Rc::new(move || assert!(host.observed().is_some())), true);
    /// event_loop.run_until_idle()?;
    /// assert!(layer.host().observed().is_none());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn observed(&self) -> Option<(&'static str, Instant)> {
        self.0.observed.get()
    }

    /// What keeps the loop alive, for a person to read: `2 timers`, `a server on 127.0.0.1:80`. What is none of the
    /// script's is listed as [the loop says it](Cx::why_alive).
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.start_timer(Rc::new(|| ()), 60_000.0, true)?;
    /// assert_eq!(layer.host().why_alive(), ["1 timer"]);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn why_alive(&self) -> Vec<String> {
        let waiting = self.0.waiting.borrow().as_ref().map(|waiting| waiting()).unwrap_or_default();
        let offloaded = self.0.offloaded.get();
        let counts = [
            (waiting.timers, "timer", "timers"),
            (waiting.immediates, "immediate", "immediates"),
            (offloaded, "operation on a worker", "operations on workers"),
        ];
        let counted = counts.into_iter().filter(|(count, ..)| *count > 0);
        let counted = counted
            .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
        let sockets = crate::ops::sockets(self);
        let owned = Owned { has_sockets: !sockets.is_empty(), has_jobs: offloaded > 0 };
        let why = self.cx().why_alive();
        let others = why.reasons.iter().filter(|reason| !owned.has(reason)).map(Reason::to_string);
        counted.chain(sockets).chain(others).collect()
    }

    /// Whether the present callback has run for too long. For the interrupt handler of the engine.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// assert!(!layer.host().is_late()); // no callback runs
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.0.deadline.get().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// What a script was stopped by that is [interrupted](crate::Thrown::Interrupted), and has not ended itself.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use mainspring_js::Limit;
    ///
    /// assert_eq!(layer.host().stopped_by(), Limit::Interrupted); // no callback is late
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn stopped_by(&self) -> Limit {
        match self.0.options.callback_time {
            Some(limit) if self.is_late() => Limit::CallbackTime(limit),
            _ => Limit::Interrupted,
        }
    }

    pub(crate) fn set_deadline(&self, deadline: Option<Instant>) {
        self.0.deadline.set(deadline);
        if let Some(shown) = self.0.shown_deadline.get() {
            shown.set(deadline);
        }
    }

    /// When the present callback has to be done, for another thread.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// let deadline = layer.host().deadline();
    /// std::thread::spawn(move || assert!(deadline.lateness().is_none())).join().unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        let make = || Deadline { origin: Instant::now(), at: Arc::default() };
        self.0.shown_deadline.get_or_init(make).clone()
    }

    /// State of an operation, one for each type, made when it is first asked for.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::cell::Cell;
    ///
    /// #[derive(Default)]
    /// struct Calls(Cell<u32>);
    ///
    /// let host = layer.host();
    /// host.resource(Calls::default).0.set(1);
    /// assert_eq!(host.resource(Calls::default).0.get(), 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn resource<T: Any>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let known = self.0.resources.borrow().get(&TypeId::of::<T>()).cloned();
        let any = known.unwrap_or_else(|| {
            let made: Rc<dyn Any> = Rc::new(make());
            self.0.resources.borrow_mut().insert(TypeId::of::<T>(), Rc::clone(&made));
            made
        });
        any.downcast().unwrap_or_else(|_| unreachable!("it is listed by its type"))
    }

    /// Lets go of what operations keep, because the script has ended.
    pub(crate) fn forget_resources(&self) {
        let resources = std::mem::take(&mut *self.0.resources.borrow_mut());
        drop(resources);
    }

    /// Runs something that blocks on a worker, and gives its result to a callback `(error, value)`, as a task
    /// of the loop. The loop stays alive meanwhile.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use mainspring_js::{Callback, Value};
    ///
    /// let callback = Callback::new(|_, arguments| {
    ///     assert_eq!(arguments, [Value::Null, Value::from("read")]);
    /// });
    /// layer.host().offload(callback, || Ok(Value::from("read")));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn offload(
        &self,
        callback: Callback,
        work: impl FnOnce() -> Result<Value, OpError> + Send + 'static,
    ) {
        let cx = self.cx().clone();
        let done = self
            .cx()
            .promisify(&AbortSignal::never(), move |_| Ok::<_, mainspring::Rejection>(work()));
        let host = self.clone();
        host.0.offloaded.set(host.0.offloaded.get() + 1);
        let task = async move {
            let outcome = done.await;
            host.0.offloaded.set(host.0.offloaded.get() - 1);
            let arguments = match outcome {
                Ok(Ok(value)) => vec![Value::Null, value],
                Ok(Err(error)) => vec![Value::Error(error)],
                Err(reason) => vec![Value::Error(OpError::new("Error", reason.to_string()))],
            };
            callback.call(&cx, arguments);
        };
        // Detached: the callback is told.
        drop(self.cx().spawn_local(task));
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("exit", &self.0.exit.get()).finish_non_exhaustive()
    }
}
