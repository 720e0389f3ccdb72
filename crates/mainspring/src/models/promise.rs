//! Promises: settling, attaching, adopting and dropping on several threads, the list of those that are pending,
//! and the end of the loop.
//!
//! Proved: a promise settles once, and of several who try the first succeeds; every handler runs exactly once, on a
//! loop that goes on, and those that are ordered in that order; it sees the whole value; a rejection is reported
//! as unhandled at most once, and then, if somebody handles it, exactly once as handled; whatever the loop's end
//! falls between, no promise stays pending; values are read by one thread at a time, the original by the last
//! reader only; values, captures and the memory of promises are freed once, and not used after that.
//!
//! Exhaustive for two threads beside a loop that is driven when they are done; otherwise up to four preemptions, fewer
//! where the loop is driven meanwhile or ended. Bounded: three other threads, two calls by each.

use loom::thread::{self, JoinHandle};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed as Count;
use std::sync::atomic::{AtomicBool, AtomicUsize as Counter};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Bound, Pace, explore, memory};
use crate::sync::UnsafeCell;
use crate::{
    Cx, Deadline, Error, EventLoop, Handle, Promise, PromiseId, PromiseState, Rejection, Resolver,
};

const NOW: Duration = Duration::ZERO;

/// What happened.
#[derive(Default)]
struct Fate {
    made: Counter,
    dropped: Counter,
    /// The handlers that ran, in order.
    ran: Mutex<Vec<usize>>,
    /// Accesses that are under way. A panic of one that must not be may be taken for that of a callback.
    touching: Counter,
    /// Originals that were given to somebody.
    originals: Counter,
    /// Whether values end where loom cannot see the order: in a place that is counted by the standard library.
    is_posted: AtomicBool,
}

/// A value, or what a handler captures. It is not `Sync`: nobody may copy it while another does, nor
/// drop it without having seen the end of that.
struct Token {
    fate: Arc<Fate>,
    is_copy: bool,
    content: UnsafeCell<u32>,
}

impl Token {
    fn touch(&self) {
        self.fate.touching.fetch_add(1, Count);
        // SAFETY: the thread is the only one that looks at it: that is what the models check.
        self.content.with_mut(|content| unsafe { *content += 1 });
        self.fate.touching.fetch_sub(1, Count);
    }
}

impl Clone for Token {
    fn clone(&self) -> Self {
        self.touch();
        self.fate.made.fetch_add(1, Count);
        Self { fate: Arc::clone(&self.fate), is_copy: true, content: UnsafeCell::new(0) }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.fate.dropped.fetch_add(1, Count);
        if !std::thread::panicking() && !self.fate.is_posted.load(Count) {
            self.touch();
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "copy: {}", self.is_copy)
    }
}

impl Fate {
    fn token(self: &Arc<Self>) -> Token {
        self.made.fetch_add(1, Count);
        Token { fate: Arc::clone(self), is_copy: false, content: UnsafeCell::new(0) }
    }

    /// A handler of this name, that passes the value on.
    fn handler(self: &Arc<Self>, name: usize) -> impl FnOnce(&Cx, Token) -> Token + Send + use<> {
        let capture = self.token();
        move |_, value| {
            capture.touch();
            value.touch();
            if !value.is_copy {
                capture.fate.originals.fetch_add(1, Count);
            }
            capture.fate.ran.lock().unwrap().push(name);
            value
        }
    }

    /// The same for a rejection. The reason has to be this one.
    fn catcher(
        self: &Arc<Self>,
        name: usize,
        is_right: fn(&Rejection) -> bool,
    ) -> impl FnOnce(&Cx, Rejection) -> Token + Send + use<> {
        let capture = self.token();
        move |_, reason| {
            assert!(is_right(&reason), "{reason}");
            capture.fate.ran.lock().unwrap().push(name);
            capture
        }
    }

    fn ran(&self) -> Vec<usize> {
        self.ran.lock().unwrap().clone()
    }

    fn check_dropped(&self) {
        assert_eq!(self.touching.load(Count), 0, "used by two threads at the same time");
        assert_eq!(self.dropped.load(Count), self.made.load(Count), "each is dropped once");
    }
}

fn is_abandoned(reason: &Rejection) -> bool {
    matches!(reason.downcast_ref(), Some(Error::PromiseAbandoned))
}

fn is_terminated(reason: &Rejection) -> bool {
    matches!(reason.downcast_ref(), Some(Error::Terminated))
}

fn is_reason(reason: &Rejection) -> bool {
    reason.is::<fmt::Error>()
}

/// A model whose main thread is the loop's. It never sleeps, so that it may join the others.
struct Stage {
    /// Nothing once it was dropped.
    event_loop: Option<EventLoop>,
    handle: Handle,
    fate: Arc<Fate>,
    threads: Vec<JoinHandle<()>>,
}

type Pair = (Promise<Token>, Resolver<Token>);

impl Stage {
    fn pair(&self) -> Pair {
        Promise::with_resolvers(&self.handle)
    }

    fn start(&mut self, other: impl FnOnce(&Handle, &Arc<Fate>) + Send + 'static) {
        let (handle, fate) = (self.handle.clone(), Arc::clone(&self.fate));
        self.threads.push(thread::spawn(move || other(&handle, &fate)));
    }

    fn join(&mut self) {
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }

    fn turn(&self) {
        self.event_loop().turn(NOW).unwrap();
    }

    fn event_loop(&self) -> &EventLoop {
        self.event_loop.as_ref().unwrap()
    }

    /// Takes newcomers over, and looks at those that are pending, as each tick does.
    fn scavenge(&self) {
        let local = &*self.event_loop().cx().0;
        local.registry.scavenge(&local.shared.newcomers);
    }

    /// Waits for the others, and drives the loop until nothing is left.
    fn complete(&mut self) {
        self.join();
        self.event_loop().run_until_idle().unwrap();
    }
}

/// Explores a model, and looks whether all that it made is gone at its end.
fn check_with(
    name: &str,
    bound: Bound,
    build: fn(Arc<Fate>) -> EventLoop,
    model: impl Fn(&mut Stage) + Send + Sync + 'static,
) {
    explore(name, bound, move || {
        memory::open();
        let fate = Arc::new(Fate::default());
        let event_loop = build(Arc::clone(&fate));
        let handle = event_loop.handle();
        let event_loop = Some(event_loop);
        let mut stage = Stage { event_loop, handle, fate: Arc::clone(&fate), threads: Vec::new() };
        model(&mut stage);
        stage.join();
        drop(stage);
        fate.check_dropped();
        memory::close();
    });
}

fn check(name: &str, bound: Bound, model: impl Fn(&mut Stage) + Send + Sync + 'static) {
    check_with(name, bound, |_| EventLoop::new().unwrap(), model);
}

/// Asks once.
fn poll(promise: &mut Promise<Token>) -> Poll<Result<Token, Rejection>> {
    Pin::new(promise).poll(&mut Context::from_waker(Waker::noop()))
}

/// How the loop is driven while others are at work.
type Drive = fn(&Stage);

const AFTERWARDS: Drive = |_| ();
const MEANWHILE: Drive = Stage::turn;

// spec: PR-1, PR-4, PR-8
#[test]
fn a_handler_runs_once_whoever_comes_first() {
    let models: [(&str, Bound, Drive); 2] = [
        ("promise: resolve, then", Bound::None, AFTERWARDS),
        ("promise: resolve, then, drive", Bound::Preemptions(2), MEANWHILE),
    ];
    for (name, bound, drive) in models {
        check(name, bound, move |stage| {
            let (promise, resolver) = stage.pair();
            stage.start(move |_, fate| assert!(resolver.resolve(fate.token())));
            stage.start(move |_, fate| drop(promise.then(fate.handler(0))));
            drive(stage);
            stage.complete();
            assert_eq!(stage.fate.ran(), [0]);
        });
    }
}

// spec: PR-1, PR-4
#[test]
fn what_the_loop_attaches_runs_once() {
    check("promise: resolve, then on the loop", Bound::Preemptions(3), |stage| {
        let (promise, resolver) = stage.pair();
        stage.start(move |_, fate| assert!(resolver.resolve(fate.token())));
        drop(promise.then(stage.fate.handler(0)));
        drop(promise);
        stage.turn();
        stage.complete();
        assert_eq!(stage.fate.ran(), [0]);
    });
}

// spec: PR-2, PR-4
#[test]
fn of_two_that_settle_the_first_wins() {
    check("promise: resolve, reject", Bound::None, |stage| {
        let (promise, resolver) = stage.pair();
        let seen = Arc::new(Mutex::new(None));
        let place = Arc::clone(&seen);
        drop(promise.handle(move |_, outcome| {
            assert!(place.lock().unwrap().replace(outcome.is_ok()).is_none(), "once");
            Ok::<_, Error>(())
        }));
        drop(promise);
        let resolver = Arc::new(resolver);
        let won: [_; 2] = Default::default();
        let won: Arc<[Mutex<bool>; 2]> = Arc::new(won);
        let (one, first) = (Arc::clone(&resolver), Arc::clone(&won));
        stage.start(move |_, fate| *first[0].lock().unwrap() = one.resolve(fate.token()));
        let (other, second) = (Arc::clone(&resolver), Arc::clone(&won));
        stage.start(move |_, _| *second[1].lock().unwrap() = other.reject(fmt::Error));
        stage.complete();
        drop(resolver);
        let [resolved, rejected] = [0, 1].map(|i| *won[i].lock().unwrap());
        assert!(resolved ^ rejected, "{resolved} {rejected}");
        assert_eq!(*seen.lock().unwrap(), Some(resolved));
    });
}

// spec: PR-1
#[test]
fn handlers_run_in_the_order_of_each_thread() {
    check("promise: then, then, settle", Bound::Preemptions(2), |stage| {
        let (promise, resolver) = stage.pair();
        let other = promise.clone();
        stage.start(move |_, fate| {
            drop(promise.then(fate.handler(0)));
            drop(promise.then(fate.handler(1)));
        });
        stage.start(move |_, fate| drop(other.then(fate.handler(2))));
        stage.start(move |_, fate| assert!(resolver.resolve(fate.token())));
        stage.complete();
        let mut ran = stage.fate.ran();
        let place = |name| ran.iter().position(|ran| *ran == name);
        assert!(place(0) < place(1), "{ran:?}");
        ran.sort_unstable();
        assert_eq!(ran, [0, 1, 2]);
    });
}

// spec: PR-1
#[test]
fn what_another_thread_attached_before_runs_before() {
    check("promise: then, then on the loop", Bound::Preemptions(2), |stage| {
        let (promise, resolver) = stage.pair();
        let other = promise.clone();
        let fate = Arc::clone(&stage.fate);
        let first = thread::spawn(move || drop(other.then(fate.handler(0))));
        stage.start(move |_, fate| assert!(resolver.resolve(fate.token())));
        first.join().unwrap();
        drop(promise.then(stage.fate.handler(1)));
        drop(promise);
        stage.turn();
        stage.complete();
        assert_eq!(stage.fate.ran(), [0, 1]);
    });
}

// spec: PR-1, PR-8
#[test]
fn the_handler_of_a_promise_whose_resolver_is_dropped_is_told() {
    let models: [(&str, Bound, Drive); 2] = [
        ("promise: abandon, catch", Bound::None, AFTERWARDS),
        ("promise: abandon, catch, drive", Bound::Preemptions(1), MEANWHILE),
    ];
    for (name, bound, drive) in models {
        check(name, bound, move |stage| {
            let (promise, resolver) = stage.pair();
            stage.start(move |_, _| drop(resolver));
            stage.start(move |_, fate| drop(promise.catch(fate.catcher(0, is_abandoned))));
            drive(stage);
            stage.complete();
            assert_eq!(stage.fate.ran(), [0]);
        });
    }
}

/// What a thread leaves behind, for the end of the model.
type Left<T> = Arc<Mutex<Option<T>>>;

fn leave<T>(left: &Left<T>, what: T) {
    *left.lock().unwrap() = Some(what);
}

fn take<T>(left: &Left<T>) -> T {
    left.lock().unwrap().take().unwrap()
}

/// How a loop comes to its end.
#[derive(Clone, Copy)]
enum End {
    /// It was driven, and ends itself, having run what is queued.
    Shutdown,
    /// It was driven, and ends itself at once.
    Close,
    /// It was never driven, and another thread ends it.
    Undriven,
}

impl End {
    /// Before the others begin.
    fn prepare(self, stage: &mut Stage) {
        match self {
            Self::Shutdown | Self::Close => stage.turn(),
            Self::Undriven => {}
        }
    }

    fn begin(self, stage: &mut Stage) {
        match self {
            Self::Shutdown => {
                drop(stage.handle.shutdown(Deadline::NEVER));
                stage.turn();
            }
            Self::Close => {
                stage.handle.close();
                stage.turn();
            }
            Self::Undriven => stage.start(|handle, _| handle.close()),
        }
    }
}

// spec: PR-1, PR-8, RG-4
#[test]
fn a_promise_and_what_is_derived_from_it_have_settled_when_the_loop_has_ended() {
    for (name, end) in [
        ("promise: resolve, then, shutdown", End::Shutdown),
        ("promise: resolve, then, close", End::Close),
        ("promise: resolve, then, undriven", End::Undriven),
    ] {
        check(name, Bound::Preemptions(2), move |stage| {
            end.prepare(stage);
            let (promise, resolver) = stage.pair();
            let kept = promise.clone();
            let derived = Left::default();
            let place = Arc::clone(&derived);
            stage.start(move |_, fate| _ = resolver.resolve(fate.token()));
            stage.start(move |_, fate| leave(&place, promise.then(fate.handler(0))));
            end.begin(stage);
            stage.join();
            let derived = take(&derived);
            assert_ne!(kept.state(), PromiseState::Pending);
            assert_ne!(derived.state(), PromiseState::Pending);
            let ran = stage.fate.ran().len();
            assert!(ran <= 1);
            assert_eq!(ran == 1, derived.state() == PromiseState::Fulfilled);
        });
    }
}

// spec: RG-1, RG-4
#[test]
fn a_promise_that_is_made_while_the_loop_ends_does_not_stay_pending() {
    for (name, end) in [
        ("promise: new, shutdown", End::Shutdown),
        ("promise: new, close", End::Close),
        ("promise: new, undriven", End::Undriven),
    ] {
        check(name, Bound::Preemptions(3), move |stage| {
            end.prepare(stage);
            let pair = Left::default();
            let place = Arc::clone(&pair);
            stage.start(move |handle, _| {
                leave(&place, Promise::<Token>::with_resolvers(handle));
            });
            let other = matches!(end, End::Undriven).then(|| stage.pair());
            end.begin(stage);
            stage.join();
            let (promise, resolver) = take(&pair);
            assert_eq!(promise.state(), PromiseState::Rejected);
            assert!(!resolver.resolve(stage.fate.token()));
            if let Some((promise, _resolver)) = other {
                assert_eq!(promise.state(), PromiseState::Rejected);
            }
        });
    }
}

// spec: PR-5, PR-8, RG-4
#[test]
fn who_waits_for_a_promise_hears_of_the_loops_end() {
    for (name, end) in [
        ("promise: abandon, wait, close", End::Close),
        ("promise: abandon, wait, undriven", End::Undriven),
    ] {
        check(name, Bound::Preemptions(1), move |stage| {
            end.prepare(stage);
            let (promise, resolver) = stage.pair();
            let place = Left::default();
            let waiting = Arc::clone(&place);
            stage.start(move |_, _| drop(resolver));
            stage.start(move |_, _| {
                let mut promise = promise;
                let _ = poll(&mut promise);
                leave(&waiting, promise);
            });
            end.begin(stage);
            stage.join();
            match poll(&mut take(&place)) {
                Poll::Ready(Err(reason)) => {
                    assert!(is_abandoned(&reason) || is_terminated(&reason), "{reason}");
                }
                other => unreachable!("{other:?}"),
            }
        });
    }
}

/// Notes what is reported: 1 for a rejection that nobody handles, 2 for one that somebody does after all.
fn build_with_hooks(fate: Arc<Fate>) -> EventLoop {
    let other = Arc::clone(&fate);
    EventLoop::builder()
        .on_unhandled_rejection(move |_: &Cx, rejection| {
            assert!(rejection.reason().is::<fmt::Error>());
            fate.ran.lock().unwrap().push(1);
        })
        .on_rejection_handled(move |_: &Cx, _: PromiseId| other.ran.lock().unwrap().push(2))
        .build()
        .unwrap()
}

fn check_reports(fate: &Fate, handlers: usize) {
    let ran = fate.ran();
    let reports: Vec<_> = ran.iter().copied().filter(|name| *name > 0).collect();
    assert!(reports.is_empty() || reports == [1, 2], "{ran:?}");
    assert_eq!(ran.len() - reports.len(), handlers, "{ran:?}");
}

// spec: PR-7
#[test]
fn a_rejection_is_handled_in_time_or_reported_and_then_taken_back() {
    check_with("promise: reject, catch, drive", Bound::Preemptions(1), build_with_hooks, |stage| {
        let (promise, resolver) = stage.pair();
        stage.start(move |_, _| assert!(resolver.reject(fmt::Error)));
        stage.start(move |_, fate| drop(promise.catch(fate.catcher(0, is_reason))));
        stage.turn();
        stage.complete();
        check_reports(&stage.fate, 1);
    });
}

// spec: PR-7
#[test]
fn of_two_late_handlers_one_is_reported() {
    check_with(
        "promise: rejected, catch twice, drive",
        Bound::Preemptions(2),
        build_with_hooks,
        |stage| {
            let promise = Promise::<Token>::reject(&stage.handle, fmt::Error);
            let other = promise.clone();
            stage.start(move |_, fate| drop(promise.catch(fate.catcher(0, is_reason))));
            stage.start(move |_, fate| drop(other.catch(fate.catcher(0, is_reason))));
            stage.turn();
            stage.complete();
            check_reports(&stage.fate, 2);
        },
    );
}

// spec: PR-1
#[test]
fn the_last_reader_is_given_the_original_and_no_other() {
    check("promise: 2 handlers, drop", Bound::Preemptions(3), |stage| {
        let (promise, resolver) = stage.pair();
        drop(promise.then(stage.fate.handler(0)));
        drop(promise.then(stage.fate.handler(1)));
        assert!(resolver.resolve(stage.fate.token()));
        stage.start(move |_, _| drop(promise));
        stage.start(move |_, _| drop(resolver));
        stage.turn();
        stage.complete();
        assert_eq!(stage.fate.ran(), [0, 1]);
        assert!(stage.fate.originals.load(Count) <= 1);
    });
}

/// A promise that was fulfilled, and is read by threads that do nothing else.
fn fulfilled(stage: &Stage) -> Promise<Token> {
    stage.fate.is_posted.store(true, Count);
    let (promise, resolver) = stage.pair();
    assert!(resolver.resolve(stage.fate.token()));
    promise
}

// One may be told by the other, a little later.
// spec: PR-1, PR-5
#[test]
fn after_the_end_values_are_read_by_one_thread_at_a_time() {
    check("promise: 2 readers after the end", Bound::Preemptions(3), |stage| {
        let promise = fulfilled(stage);
        stage.handle.close();
        let promises: [Left<Promise<Token>>; 2] = Default::default();
        let other = promise.clone();
        for (mut promise, place) in [promise, other].into_iter().zip(&promises) {
            let place = Arc::clone(place);
            stage.start(move |_, _| {
                if poll(&mut promise).is_pending() {
                    leave(&place, promise);
                }
            });
        }
        stage.join();
        for place in promises {
            if let Some(mut promise) = place.lock().unwrap().take() {
                assert!(matches!(poll(&mut promise), Poll::Ready(Ok(_))));
            }
        }
    });
}

// spec: PR-1, PR-5
#[test]
fn while_another_thread_ends_the_loop_values_are_read_by_one_thread_at_a_time() {
    check("promise: 2 readers, undriven", Bound::Preemptions(2), |stage| {
        let mut promise = fulfilled(stage);
        let mut other = promise.clone();
        let left = Left::default();
        let place = Arc::clone(&left);
        stage.start(move |handle, _| {
            handle.close();
            if poll(&mut other).is_pending() {
                leave(&place, other);
            }
        });
        // Who asks before the end is answered when the loop is dropped, and may be the last reader then.
        if let Poll::Ready(outcome) = poll(&mut promise) {
            assert!(outcome.is_ok());
        }
        drop(promise);
        stage.event_loop = None;
        stage.join();
        if let Some(mut promise) = left.lock().unwrap().take() {
            assert!(!matches!(poll(&mut promise), Poll::Ready(Err(_))));
        }
    });
}

// spec: PR-2, PR-4
#[test]
fn a_promise_settles_as_the_one_that_it_adopts() {
    let models: [(&str, Bound, Drive); 2] = [
        ("promise: adopt, resolve", Bound::None, AFTERWARDS),
        ("promise: adopt, resolve, drive", Bound::Preemptions(1), MEANWHILE),
    ];
    for (name, bound, drive) in models {
        check(name, bound, move |stage| {
            let (promise, resolver) = stage.pair();
            let (other, settler) = stage.pair();
            drop(promise.then(stage.fate.handler(0)));
            stage.start(move |_, _| assert!(resolver.adopt(&other)));
            stage.start(move |_, fate| assert!(settler.resolve(fate.token())));
            drive(stage);
            stage.complete();
            assert_eq!(promise.state(), PromiseState::Fulfilled);
            assert_eq!(stage.fate.ran(), [0]);
        });
    }
}

// spec: PR-2, PR-8, RG-4
#[test]
fn a_promise_that_adopts_another_has_settled_when_the_loop_has_ended() {
    for (name, bound, end) in [
        ("promise: adopt, resolve, shutdown", 2, End::Shutdown),
        ("promise: adopt, resolve, close", 2, End::Close),
        ("promise: adopt, resolve, undriven", 1, End::Undriven),
    ] {
        check(name, Bound::Preemptions(bound), move |stage| {
            end.prepare(stage);
            let (promise, resolver) = stage.pair();
            let (other, settler) = stage.pair();
            let kept = other.clone();
            stage.start(move |_, _| {
                resolver.adopt(&other);
            });
            stage.start(move |_, fate| _ = settler.resolve(fate.token()));
            end.begin(stage);
            stage.join();
            assert_ne!(promise.state(), PromiseState::Pending);
            assert_ne!(kept.state(), PromiseState::Pending);
        });
    }
}

// spec: PR-2, PR-8, RG-4
#[test]
fn a_derived_promise_that_follows_another_has_settled_when_the_loop_has_ended() {
    for (name, end) in [
        ("promise: follow, resolve, shutdown", End::Shutdown),
        ("promise: follow, resolve, close", End::Close),
    ] {
        check(name, Bound::Preemptions(2), move |stage| {
            let (other, resolver) = stage.pair();
            let derived = Promise::resolve(&stage.handle, 1).and_then(move |_, _| other);
            end.prepare(stage);
            stage.start(move |_, fate| _ = resolver.resolve(fate.token()));
            end.begin(stage);
            stage.join();
            assert_ne!(derived.state(), PromiseState::Pending);
        });
    }
}

// spec: RG-1, RG-2, PR-8
#[test]
fn a_newcomer_that_is_dropped_is_freed_once() {
    check("promise: new, dropped, scavenge", Bound::Preemptions(4), |stage| {
        let pace = Pace::new();
        let other = Arc::clone(&pace);
        stage.start(move |handle, _| {
            let pair = Promise::<Token>::with_resolvers(handle);
            other.step();
            drop(pair);
        });
        pace.step();
        stage.scavenge();
        stage.join();
        stage.scavenge();
    });
    check("promise: 2 new, dropped, scavenge", Bound::Preemptions(1), |stage| {
        let pace = Pace::new();
        for _ in 0..2 {
            let other = Arc::clone(&pace);
            stage.start(move |handle, _| {
                let pair = Promise::<Token>::with_resolvers(handle);
                other.step();
                drop(pair);
            });
        }
        pace.step();
        stage.scavenge();
        stage.join();
        stage.scavenge();
    });
}

// spec: RG-1, RG-2, PR-8
#[test]
fn a_promise_in_the_table_that_is_dropped_is_freed_once() {
    check("promise: listed, dropped, scavenge", Bound::Preemptions(4), |stage| {
        let (promise, resolver) = stage.pair();
        stage.scavenge();
        let pace = Pace::new();
        for owned in [Ok(promise), Err(resolver)] {
            let other = Arc::clone(&pace);
            stage.start(move |_, _| {
                other.step();
                drop(owned);
            });
        }
        pace.step();
        stage.scavenge();
        stage.join();
        stage.scavenge();
    });
}

// spec: RG-1, RG-2, RG-4, PR-8
#[test]
fn a_promise_that_is_dropped_while_the_loop_ends_is_freed_once() {
    for (name, bound, end) in [
        ("promise: listed, dropped, close", 3, End::Close),
        ("promise: listed, dropped, undriven", 2, End::Undriven),
    ] {
        check(name, Bound::Preemptions(bound), move |stage| {
            end.prepare(stage);
            let (promise, resolver) = stage.pair();
            let derived = promise.then(stage.fate.handler(0));
            stage.start(move |_, _| drop((promise, resolver)));
            end.begin(stage);
            stage.join();
            assert_eq!(derived.state(), PromiseState::Rejected);
        });
    }
}

// spec: RG-1, RG-2, PR-4
#[test]
fn a_newcomer_that_settles_meanwhile_is_not_lost() {
    check("promise: new, resolve, scavenge", Bound::Preemptions(2), |stage| {
        let place = Left::default();
        let pair = Arc::clone(&place);
        stage.start(move |handle, fate| {
            let (promise, resolver) = Promise::with_resolvers(handle);
            drop(promise.then(fate.handler(0)));
            assert!(resolver.resolve(fate.token()));
            leave(&pair, promise);
        });
        stage.turn();
        stage.turn();
        stage.complete();
        assert_eq!(take(&place).state(), PromiseState::Fulfilled);
        assert_eq!(stage.fate.ran(), [0]);
    });
}
