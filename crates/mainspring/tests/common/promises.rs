//! What the tests of promises share.

// Each test file compiles its own copy, and none uses everything.
#![allow(dead_code, unreachable_pub, unused_imports)]

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use mainspring::{Builder, Cx, Error, EventLoop, Panicked, PromiseId};

use crate::common::{SharedLog, Watchdog, turn_until_quiet, watchdog};

/// Long enough for any machine, short enough for nobody to wait for ever.
pub const PATIENCE: Duration = Duration::from_secs(50);

/// Gives the same tests to both kinds of promises. In them, `P` is the promise, `R` its resolver and `Reason`
/// its reason; `at` gives what one is made with.
#[macro_export]
macro_rules! flavours {
    ($($test:item)*) => {
        mod shared {
            #[allow(unused_imports)]
            use {super::*, $crate::promising::shared::*};
            $($test)*
        }
        // What is written for both kinds is more than this one needs.
        #[allow(clippy::arc_with_non_send_sync, clippy::useless_conversion)]
        mod local {
            #[allow(unused_imports)]
            use {super::*, $crate::promising::local::*};
            $($test)*
        }
    };
}

macro_rules! helpers {
    ($bound:path) => {
        use std::fmt::Debug;

        use mainspring::Cx;

        use super::{Outcome, describe};

        /// What a promise came to.
        pub fn show<T: Debug>(result: &Result<T, Reason>) -> String {
            match result {
                Ok(value) => format!("ok {value:?}"),
                Err(reason) => format!("err {}", describe(reason.as_error())),
            }
        }

        /// Notes what the promise comes to. Counts as handling.
        pub fn outcome<T: Clone + Debug + $bound + 'static>(promise: &P<T>) -> Outcome {
            let outcome = Outcome::default();
            let note = outcome.clone();
            promise.handle(move |_: &Cx, result: Result<T, Reason>| {
                note.push(show(&result));
                Ok::<(), mainspring::Error>(())
            });
            outcome
        }
    };
}

/// `Promise`.
pub mod shared {
    pub use mainspring::{Promise as P, Rejection as Reason, Resolver as R};

    helpers!(Send);

    pub fn at(cx: &Cx) -> mainspring::Handle {
        cx.handle()
    }
}

/// `LocalPromise`.
pub mod local {
    pub use mainspring::{LocalPromise as P, LocalRejection as Reason, LocalResolver as R};

    helpers!(Sized);

    pub fn at(cx: &Cx) -> Cx {
        cx.clone()
    }
}

/// A short name of a reason.
pub fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<Error>() {
        Some(Error::Terminated) => return "terminated".to_owned(),
        Some(Error::PromiseAbandoned) => return "abandoned".to_owned(),
        Some(Error::PromiseCycle) => return "cycle".to_owned(),
        _ => {}
    }
    match error.downcast_ref::<Panicked>() {
        Some(panic) => format!("panic {}", panic.message().unwrap_or("?")),
        None => error.to_string(),
    }
}

/// What a promise came to, each time that it was told.
#[derive(Clone, Default)]
pub struct Outcome(Arc<Mutex<Vec<String>>>);

impl Outcome {
    pub fn push(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    /// It was told nothing until now.
    #[track_caller]
    pub fn assert_none(&self) {
        assert_eq!(*self.0.lock().unwrap(), Vec::<String>::new());
    }

    /// It was told exactly once, and this.
    #[track_caller]
    pub fn assert(&self, text: &str) {
        assert_eq!(*self.0.lock().unwrap(), [text]);
    }

    pub fn get(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// An error of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oops(pub i32);

impl fmt::Display for Oops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oops {}", self.0)
    }
}

impl std::error::Error for Oops {}

/// A loop with a watchdog, and what its hooks were told.
pub struct Bench {
    event_loop: Option<EventLoop>,
    /// `unhandled <reason>`, `handled`, `uncaught <phase> <message>`.
    pub reports: SharedLog<String>,
    /// The promises of `unhandled`.
    pub unhandled: SharedLog<PromiseId>,
    /// The promises of `handled`.
    pub handled: SharedLog<PromiseId>,
    _watchdog: Watchdog,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub fn with(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let name = thread::current().name().unwrap_or("unnamed").to_owned();
        let watchdog = watchdog(&name);
        let (reports, unhandled, handled) =
            (SharedLog::new(), SharedLog::new(), SharedLog::<PromiseId>::new());
        let (log, ids) = (reports.clone(), unhandled.clone());
        let builder =
            configure(crate::common::builder()).on_unhandled_rejection(move |_, rejection| {
                ids.push(rejection.id());
                log.push(format!("unhandled {}", describe(rejection.reason().as_error())));
            });
        let (log, ids) = (reports.clone(), handled.clone());
        let builder = builder.on_rejection_handled(move |_, id| {
            ids.push(id);
            log.push("handled".to_owned());
        });
        let log = reports.clone();
        let builder = builder.on_uncaught(move |_, panic| {
            log.push(format!("uncaught {} {}", panic.phase(), panic.message().unwrap_or("?")));
        });
        let event_loop = Some(builder.build().unwrap());
        Self { event_loop, reports, unhandled, handled, _watchdog: watchdog }
    }

    /// With hooks of the test's own.
    pub fn of(event_loop: EventLoop) -> Self {
        let name = thread::current().name().unwrap_or("unnamed").to_owned();
        Self {
            event_loop: Some(event_loop),
            reports: SharedLog::new(),
            unhandled: SharedLog::new(),
            handled: SharedLog::new(),
            _watchdog: watchdog(&name),
        }
    }

    /// Runs everything that is ready.
    pub fn settle(&self) {
        turn_until_quiet(self);
    }

    /// Runs `f` in a task, and everything that follows from it.
    pub fn task(&self, f: impl FnOnce(&Cx) + 'static) {
        self.cx().submit(f).unwrap();
        self.settle();
    }

    /// Nothing was reported to the hooks since the last time.
    #[track_caller]
    pub fn assert_silent(&self) {
        assert_eq!(self.reports.take(), Vec::<String>::new());
    }

    pub fn drop_loop(&mut self) {
        self.event_loop = None;
    }
}

impl Deref for Bench {
    type Target = EventLoop;

    fn deref(&self) -> &EventLoop {
        self.event_loop.as_ref().unwrap()
    }
}

pub fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[derive(Default)]
struct Parker(Mutex<bool>, Condvar);

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// The simplest executor there is. With `fresh`, each poll brings a new waker, and only the last counts.
pub fn block_on<F: Future>(future: F, fresh: bool) -> F::Output {
    let mut future = Box::pin(future);
    let mut parker = Arc::<Parker>::default();
    loop {
        let waker = Waker::from(Arc::clone(&parker));
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        if fresh {
            // The waker of the poll before is not to be relied on.
            parker = Arc::default();
            let waker = Waker::from(Arc::clone(&parker));
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
        }
        let woken = parker.0.lock().unwrap();
        let (mut woken, timeout) =
            parker.1.wait_timeout_while(woken, PATIENCE, |woken| !*woken).unwrap();
        assert!(!timeout.timed_out(), "nobody wakes the task");
        *woken = false;
    }
}

/// A value that counts its clones, and those that are alive.
#[derive(Debug)]
pub struct Counted {
    clones: Arc<AtomicUsize>,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    pub fn new() -> (Self, Counts) {
        let (clones, alive) = (Arc::<AtomicUsize>::default(), Arc::new(AtomicUsize::new(1)));
        let counts = Counts { clones: Arc::clone(&clones), alive: Arc::clone(&alive) };
        (Self { clones, alive }, counts)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::SeqCst);
        self.alive.fetch_add(1, Ordering::SeqCst);
        Self { clones: Arc::clone(&self.clones), alive: Arc::clone(&self.alive) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// See [`Counted`].
pub struct Counts {
    clones: Arc<AtomicUsize>,
    alive: Arc<AtomicUsize>,
}

impl Counts {
    pub fn clones(&self) -> usize {
        self.clones.load(Ordering::SeqCst)
    }

    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }
}

/// Runs `f` on a thread whose stack is small.
pub fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    let name = thread::current().name().unwrap_or("unnamed").to_owned();
    let thread = thread::Builder::new().stack_size(256 * 1024).name(name).spawn(f).unwrap();
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}
