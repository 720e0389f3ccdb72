//! The harness: variants of the loop, a watchdog, and small helpers.

// Each test file compiles its own copy, and none uses everything.
#![allow(dead_code, unreachable_pub, unused_imports)]

pub mod census;
pub mod hangs;
pub mod streams;
pub mod timers;
pub mod wakers;

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use hangs::{Watchdog, watchdog};
use mainspring::{Builder, Cx, EventLoop, Handle, LoopState, Profile};

// spec: SF-10
/// The profile that the suite is run under: the default one, or what `MAINSPRING_TEST_PROFILE=safety` asks for.
pub fn profile() -> Profile {
    match std::env::var("MAINSPRING_TEST_PROFILE") {
        Ok(name) if name == "safety" => Profile::MaximumSafety,
        Ok(name) => panic!("MAINSPRING_TEST_PROFILE is `{name}`, and can only be `safety`"),
        Err(_) => Profile::Performance,
    }
}

/// The options of a loop under the profile that the suite is run under.
pub fn builder() -> Builder {
    hangs::watch_this_test();
    let profile = profile();
    if profile == Profile::MaximumSafety {
        census::expect_nothing_at_the_end();
    }
    EventLoop::builder().profile(profile)
}

/// A configuration of the loop under which the whole suite must hold.
#[derive(Clone, Copy)]
pub struct Variant {
    pub name: &'static str,
    configure: fn(Builder) -> Builder,
}

impl Variant {
    pub const fn new(name: &'static str, configure: fn(Builder) -> Builder) -> Self {
        Self { name, configure }
    }

    /// The options of this variant, for more to be set.
    pub fn builder(self) -> Builder {
        (self.configure)(builder())
    }

    /// A loop with the options of this variant.
    pub fn build(self) -> EventLoop {
        self.builder().build().unwrap()
    }

    /// A loop on a thread of its own, which `drive` drives.
    pub fn spawn<R: Send + 'static>(
        self,
        configure: impl FnOnce(Builder) -> Builder + Send + 'static,
        drive: impl FnOnce(EventLoop) -> R + Send + 'static,
    ) -> (Handle, JoinHandle<R>) {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            let event_loop = configure(self.builder()).build().unwrap();
            sender.send(event_loop.handle()).unwrap();
            drop(sender);
            drive(event_loop)
        });
        (receiver.recv().unwrap(), thread)
    }

    /// A loop with default options on a thread of its own that has begun to `run`.
    pub fn spawn_running(self) -> (Handle, JoinHandle<Result<(), mainspring::Error>>) {
        let (handle, thread) = self.spawn(|builder| builder, |event_loop| event_loop.run());
        wait_until_sleeping(&handle);
        (handle, thread)
    }
}

/// Makes each of the named functions one `#[test]` for every variant. A function that takes a
/// [`Variant`] and is missing in the list is dead code, which the compiler reports.
#[macro_export]
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        $crate::suite! { @table [$($test)*]
            // The variants. A further one is one more row.
            park: |builder| builder.fast_path(mainspring::FastPathMode::Auto);
            poll: |builder| builder.fast_path(mainspring::FastPathMode::Disabled);
        }
    };
    (@table $tests:tt $($variant:ident: $configure:expr;)*) => {
        $($crate::suite! { @module $tests $variant $configure })*
    };
    (@module [$($test:ident)*] $variant:ident $configure:expr) => {
        mod $variant {
            const VARIANT: $crate::common::Variant =
                $crate::common::Variant::new(stringify!($variant), $configure);
            $(
                #[test]
                fn $test() {
                    let _watchdog = $crate::common::watchdog(concat!(
                        stringify!($variant), "::", stringify!($test),
                    ));
                    super::$test(VARIANT);
                }
            )*
        }
    };
}

/// Runs `f` on a thread of its own, and fails the test instead of hanging with it.
#[track_caller]
pub fn must_return<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(f));
        let _ = sender.send(result);
    });
    match receiver.recv_timeout(Duration::from_secs(20)) {
        Ok(Ok(value)) => value,
        Ok(Err(payload)) => std::panic::resume_unwind(payload),
        Err(_) => {
            hangs::print_phases();
            panic!("this never returns");
        }
    }
}

/// Waits until the loop blocks.
pub fn wait_until_sleeping(handle: &Handle) {
    wait_until(|| handle.state() == LoopState::Sleeping);
}

/// Waits for a condition that another thread brings about.
pub fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// What happened, in order, on one thread.
#[derive(Default)]
pub struct Log<T: 'static>(Rc<RefCell<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: 'static> Log<T> {
    pub fn new() -> Self {
        Self(Rc::default())
    }

    pub fn push(&self, entry: T) {
        self.0.borrow_mut().push(entry);
    }

    /// A callback that does nothing but to be noted.
    pub fn note(&self, entry: T) -> impl FnOnce(&Cx) + 'static {
        let log = self.clone();
        move |_| log.push(entry)
    }

    /// What was noted since the last time.
    pub fn take(&self) -> Vec<T> {
        self.0.take()
    }

    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }
}

/// What happened, in order, as told by any thread.
pub struct SharedLog<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for SharedLog<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static> SharedLog<T> {
    pub fn new() -> Self {
        Self(Arc::default())
    }

    pub fn push(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    pub fn note(&self, entry: T) -> impl FnOnce(&Cx) + Send + 'static {
        let log = self.clone();
        move |_| log.push(entry)
    }

    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Knows how many captured values are alive, and how many callbacks ran.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    alive: Arc<AtomicUsize>,
    ran: Arc<AtomicUsize>,
}

impl Tracker {
    pub fn new() -> Self {
        Self::default()
    }

    /// A value to be captured.
    pub fn token(&self) -> Token {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Token(Arc::clone(&self.alive))
    }

    /// A callback that captures one, and is counted when it is run.
    pub fn callback(&self) -> impl FnOnce(&Cx) + Send + 'static {
        let token = self.token();
        let ran = Arc::clone(&self.ran);
        move |_| {
            let _token = token;
            ran.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    pub fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }
}

/// See [`Tracker`].
#[derive(Debug)]
pub struct Token(Arc<AtomicUsize>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Calls a function when it is dropped.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The text of a panic, if `f` panics.
pub fn panic_of<R>(f: impl FnOnce() -> R) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => None,
        Err(payload) => Some(text_of(&*payload)),
    }
}

pub fn text_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "not text".to_owned())
}

/// What `look` says at the moment at which the loop is about to block for the first time.
pub fn seen_before_blocking<T: 'static>(
    builder: Builder,
    queue: impl FnOnce(&Cx),
    look: impl Fn(&Cx) -> T + 'static,
) -> T {
    let seen = Rc::new(RefCell::new(None));
    let idle = Rc::clone(&seen);
    let event_loop = builder
        .on_idle(move |cx| {
            idle.replace(Some(look(cx)));
            cx.close();
        })
        .build()
        .unwrap();
    queue(event_loop.cx());
    event_loop.run().unwrap();
    seen.take().unwrap()
}

/// Turns the loop until nothing is ready. Fails if there is no end to it.
pub fn turn_until_quiet(event_loop: &EventLoop) {
    for _ in 0..1_000_000 {
        if !event_loop.turn(Duration::ZERO).unwrap().ready {
            return;
        }
    }
    panic!("the loop does not come to rest");
}

/// A kind of callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Internal,
    External,
    NextTick,
    Microtask,
    Immediate,
    Close,
}

impl Kind {
    pub const ALL: [Self; 6] = [
        Self::Internal,
        Self::External,
        Self::NextTick,
        Self::Microtask,
        Self::Immediate,
        Self::Close,
    ];

    /// Queues one. That it may be refused is for the caller to know.
    pub fn queue(self, cx: &Cx, callback: impl FnOnce(&Cx) + 'static) {
        match self {
            Self::Internal => drop(cx.submit_internal(callback)),
            Self::External => drop(cx.submit(callback)),
            Self::NextTick => cx.next_tick(callback),
            Self::Microtask => cx.queue_microtask(callback),
            Self::Immediate => _ = cx.set_immediate(callback),
            Self::Close => cx.queue_close(callback),
        }
    }

    /// Queues one that queues one, and so on, for as long as `goes_on` says so.
    pub fn chain(self, cx: &Cx, goes_on: impl Fn() -> bool + Clone + 'static) {
        self.queue(cx, move |cx| {
            if goes_on() {
                self.chain(cx, goes_on);
            }
        });
    }
}

/// A kind of hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Prepare,
    Check,
    Idle,
    BeforeExit,
    Overload,
    Diagnostic,
    Uncaught,
}

impl Hook {
    pub const ALL: [Self; 7] = [
        Self::Prepare,
        Self::Check,
        Self::Idle,
        Self::BeforeExit,
        Self::Overload,
        Self::Diagnostic,
        Self::Uncaught,
    ];

    /// Sets the hook, and such options that [`provoke`](Self::provoke) works.
    pub fn set(self, builder: Builder, mut f: impl FnMut(&Cx) + 'static) -> Builder {
        match self {
            Self::Prepare => builder.on_prepare(f),
            Self::Check => builder.on_check(f),
            Self::Idle => builder.on_idle(f),
            Self::BeforeExit => builder.on_before_exit(f),
            Self::Overload => builder.external_budget(1).on_overload(move |cx, _| f(cx)),
            Self::Diagnostic => builder.microtask_budget(1).on_diagnostic(move |cx, _| f(cx)),
            Self::Uncaught => builder.on_uncaught(move |cx, _| f(cx)),
        }
    }

    /// Queues what makes `run` call the hook (`run_until_idle` in the case of `BeforeExit`).
    pub fn provoke(self, cx: &Cx) {
        match self {
            Self::Prepare | Self::Idle | Self::BeforeExit => {}
            // The check phase comes after the poll, which must not block.
            Self::Check => _ = cx.set_immediate(|_| ()),
            Self::Overload => (0..2).for_each(|_| cx.submit(|_| ()).unwrap()),
            Self::Diagnostic => (0..2).for_each(|_| cx.queue_microtask(|_| ())),
            Self::Uncaught => cx.submit(|_| panic!("expected by the test")).unwrap(),
        }
    }
}
