//! Functions that block, on the threads of the loop's worker pool.
//!
//! Nothing here depends on how long something takes: a function blocks until the test lets it go on.

mod common;
#[path = "common/counting.rs"]
mod counting;
#[path = "common/promises.rs"]
mod promising;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;
use std::panic::panic_any;
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use common::{
    Log, OnDrop, SharedLog, Tracker, Variant, must_return, turn_until_quiet, wait_until,
    wait_until_sleeping,
};
use counting::bytes;
use mainspring::{
    AbortController, AbortError, AbortSignal, Cx, Deadline, Error, EventLoop, Handle, LoopState,
    Panicked, Promise, PromiseState, Rejection, Shutdown, TimeoutError, VirtualClock, WaitError,
};
use promising::shared::outcome;
use promising::{Bench, Counted, Oops, PATIENCE, describe};

suite![
    the_function_runs_on_a_worker_and_the_handler_on_the_loops_thread,
    it_can_be_called_from_everywhere,
    a_result_comes_before_external_tasks_and_is_not_refused_under_load,
    a_result_wakes_a_loop_that_sleeps,
    a_turn_that_waits_returns_when_the_result_is_there,
    a_loop_is_not_idle_before_the_result_was_handled,
    an_abort_from_the_loops_thread_rejects_though_the_function_blocks,
    an_abort_from_another_thread_rejects_though_the_function_blocks,
    an_abort_from_a_handler_rejects_though_the_function_blocks,
    an_abort_from_the_function_itself_rejects,
    a_function_that_was_not_started_is_not_called_after_an_abort,
    a_shutdown_waits_for_what_runs_and_what_is_queued,
    a_shutdown_does_not_wait_longer_than_its_deadline,
    a_shutdown_from_a_callback_does_not_wait_longer_than_its_deadline,
    a_close_does_not_wait_for_a_worker,
    a_close_ends_a_shutdown_that_waits_for_a_worker,
    a_close_by_the_worker_ends_a_shutdown_that_waits_for_it,
    a_second_shutdown_hurries_one_that_waits_for_a_worker,
    a_shutdown_by_a_worker_does_not_wait_for_itself,
    a_worker_that_is_stuck_can_set_the_deadline_of_a_shutdown_that_waits_for_it,
    a_worker_can_ask_the_loop_while_a_shutdown_waits_for_it,
    a_handler_can_call_another_function_during_a_shutdown,
];

/// Keeps functions from going on until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<Passage>, Condvar)>);

#[derive(Default)]
struct Passage {
    arrived: usize,
    is_open: bool,
}

impl Gate {
    fn new() -> Self {
        Self::default()
    }

    fn wait_while(&self, what: &str, condition: impl Fn(&Passage) -> bool) {
        let (passage, changed) = &*self.0;
        let guard = passage.lock().unwrap();
        let (guard, timeout) =
            changed.wait_timeout_while(guard, PATIENCE, |passage| condition(passage)).unwrap();
        drop(guard);
        assert!(!timeout.timed_out(), "{what}");
    }

    /// For the function.
    fn pass(&self) {
        self.0.0.lock().unwrap().arrived += 1;
        self.0.1.notify_all();
        self.wait_while("the gate is never opened", |passage| !passage.is_open);
    }

    /// Waits until so many functions are there.
    fn await_arrival(&self, of: usize) {
        self.wait_while("nobody comes to the gate", |passage| passage.arrived < of);
    }

    fn arrived(&self) -> usize {
        self.0.0.lock().unwrap().arrived
    }

    fn open(&self) {
        self.0.0.lock().unwrap().is_open = true;
        self.0.1.notify_all();
    }
}

/// What a function returns that does not fail.
fn fine<T>(value: T) -> Result<T, Rejection> {
    Ok(value)
}

fn never() -> AbortSignal {
    AbortSignal::never()
}

/// Calls a function that returns when the gate is open, and waits until it is there.
fn blocked(handle: &Handle, signal: &AbortSignal, gate: &Gate) -> Promise<i32> {
    let (inner, before) = (gate.clone(), gate.arrived());
    let promise = handle.promisify(signal, move |_| {
        inner.pass();
        fine(1)
    });
    gate.await_arrival(before + 1);
    promise
}

/// Waits for the outcome, from a thread that is not the loop's.
fn wait<T: Clone + Send + 'static>(promise: &Promise<T>) -> Result<T, String> {
    match promise.wait(PATIENCE) {
        Ok(value) => Ok(value),
        Err(WaitError::Rejected(reason)) => Err(describe(reason.as_error())),
        Err(other) => panic!("{other:?}"),
    }
}

/// The outcome of a promise of a loop that has ended.
fn after_the_end<T: Clone + Send + 'static>(promise: &Promise<T>) -> Result<T, String> {
    let promise = promise.clone();
    must_return(move || wait(&promise))
}

fn terminated<T>() -> Result<T, String> {
    Err("terminated".to_owned())
}

/// Runs the loop to its end, which another thread may have begun.
fn run(event_loop: &EventLoop) {
    match event_loop.run() {
        Ok(()) | Err(Error::Terminated) => {}
        Err(error) => panic!("{error}"),
    }
}

// spec: PF-1
fn the_function_runs_on_a_worker_and_the_handler_on_the_loops_thread(variant: Variant) {
    let event_loop = variant.build();
    let seen = Log::new();
    let log = seen.clone();
    event_loop
        .cx()
        .promisify(&never(), |_| fine(thread::current().id()))
        .to_local(event_loop.cx())
        .then(move |_, worker| log.push((worker, thread::current().id())));
    event_loop.run_until_idle().unwrap();
    let seen = seen.take();
    assert_eq!(seen.len(), 1);
    assert_ne!(seen[0].0, thread::current().id());
    assert_eq!(seen[0].1, thread::current().id());
}

// spec: PF-1
fn it_can_be_called_from_everywhere(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    // Another thread.
    let promise = handle.promisify(&never(), |_| fine(1));
    assert_eq!(wait(&promise), Ok(1));
    // A task and a handler.
    let (send, receive) = mpsc::channel();
    let task = move |cx: &Cx| {
        let promise = cx.promisify(&never(), |_| fine(2));
        promise
            .and_then(|cx, value| cx.promisify(&never(), move |_| fine(value + 1)))
            .then(move |_, value| send.send(value).unwrap());
    };
    handle.submit(task).unwrap();
    assert_eq!(receive.recv_timeout(PATIENCE).unwrap(), 3);
    // A worker, which waits for it.
    let inner = handle.clone();
    let promise = handle.promisify(&never(), move |_| {
        let promise = inner.promisify(&never(), |_| fine(thread::current().id()));
        let other =
            promise.wait(PATIENCE).map_err(|error| Rejection::from_value(error.to_string()));
        Ok::<_, Rejection>((thread::current().id(), other?))
    });
    let (outer, inner) = wait(&promise).unwrap();
    assert_ne!(outer, inner);
    // A worker that has a loop of its own.
    let promise = handle.promisify(&never(), |_| {
        let event_loop = common::builder().build()?;
        let sum = Rc::new(Cell::new(0));
        for i in 0..10 {
            let sum = Rc::clone(&sum);
            let cx = event_loop.cx();
            cx.promisify(&never(), move |_| fine(i))
                .to_local(cx)
                .then(move |_, value| sum.set(sum.get() + value));
        }
        event_loop.run_until_idle()?;
        Ok::<_, Error>(sum.get())
    });
    assert_eq!(wait(&promise), Ok(45));
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: PF-1, D05, IN-1
fn a_result_comes_before_external_tasks_and_is_not_refused_under_load(variant: Variant) {
    let event_loop = variant.builder().high_water_mark(3).build().unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    let handle = event_loop.handle();
    let log = Log::new();
    for _ in 0..3 {
        event_loop.cx().submit(log.note("task")).unwrap();
    }
    assert!(handle.submit(|_| ()).is_err(), "the lane is full");
    for i in 0..4 {
        let log = log.clone();
        let settled = move |text| move |_: &Cx, _| log.push(text);
        let promise = event_loop.cx().promisify(&never(), move |_| match i {
            0 => panic!("expected by the test"),
            1 => Err(Rejection::from(Oops(1))),
            _ => fine(i),
        });
        let promise = promise.to_local(event_loop.cx());
        promise.handle(move |cx, result| {
            settled(if result.is_ok() { "value" } else { "reason" })(cx, ());
            Ok::<_, Error>(())
        });
    }
    wait_until(|| handle.pending() == 7);
    assert!(handle.submit(|_| ()).is_err(), "the lane is still full");
    assert_eq!(log.len(), 0);
    turn_until_quiet(&event_loop);
    let mut seen = log.take();
    assert_eq!(seen.split_off(4), ["task"; 3]);
    seen.sort_unstable();
    assert_eq!(seen, ["reason", "reason", "value", "value"]);
}

// spec: PF-1, WK-1
fn a_result_wakes_a_loop_that_sleeps(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    for _ in 0..20 {
        let gate = Gate::new();
        let promise = blocked(&handle, &never(), &gate);
        let receiver = promise.to_channel();
        drop(promise);
        wait_until_sleeping(&handle);
        gate.open();
        assert_eq!(receiver.recv_timeout(PATIENCE).unwrap().unwrap(), 1);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: PF-1, SH-5
fn a_turn_that_waits_returns_when_the_result_is_there(variant: Variant) {
    let event_loop = variant.build();
    event_loop.turn(Duration::ZERO).unwrap();
    let handle = event_loop.handle();
    for is_aborted in [false, true] {
        let (gate, controller) = (Gate::new(), AbortController::new());
        let promise = blocked(&handle, &controller.signal(), &gate);
        let outcome = outcome(&promise);
        turn_until_quiet(&event_loop);
        let opener = thread::spawn({
            let (gate, handle) = (gate.clone(), handle.clone());
            move || {
                wait_until_sleeping(&handle);
                if is_aborted { controller.abort() } else { gate.open() }
            }
        });
        while outcome.get().is_empty() {
            // For ever, if nothing wakes it.
            event_loop.turn(None).unwrap();
        }
        opener.join().unwrap();
        gate.open();
        outcome.assert(if is_aborted { "err the operation was aborted" } else { "ok 1" });
    }
}

// spec: PF-1, F-24
fn a_loop_is_not_idle_before_the_result_was_handled(variant: Variant) {
    let event_loop = variant.build();
    let handle = event_loop.handle();
    for round in 0..50 {
        let gate = Gate::new();
        let outcome = outcome(&blocked(&handle, &never(), &gate).then(|_, value| value + 1));
        let opener = thread::spawn({
            let (gate, handle) = (gate.clone(), handle.clone());
            move || {
                if round % 2 == 0 {
                    wait_until_sleeping(&handle);
                }
                gate.open();
            }
        });
        event_loop.run_until_idle().unwrap();
        outcome.assert("ok 2");
        opener.join().unwrap();
    }
    // Also without a handler.
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let ran = Arc::clone(&ran);
        drop(event_loop.cx().promisify(&never(), move |_| {
            ran.fetch_add(1, Ordering::SeqCst);
            fine(())
        }));
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 100);
}

/// An error that cannot be made a reason.
struct Unspeakable;

impl From<Unspeakable> for Rejection {
    fn from(_: Unspeakable) -> Self {
        panic!("unspeakable")
    }
}

// spec: PF-2, F-8
#[test]
fn values_errors_and_panics_settle_the_promise() {
    let bench = Bench::new();
    let handle = bench.handle();
    let given = Rejection::from_value(5);
    let mut outcomes = vec![];
    let mut expect = |promise: Promise<i32>, text: &'static str| {
        outcomes.push((outcome(&promise), text));
    };
    expect(handle.promisify(&never(), |_| fine(5)), "ok 5");
    expect(handle.promisify(&never(), |_| Err(Oops(3))), "err oops 3");
    expect(handle.promisify(&never(), |_| Err(io::Error::other("broken"))), "err broken");
    expect(
        handle.promisify(&never(), |_| -> Result<_, Oops> { panic!("literal") }),
        "err panic literal",
    );
    let owned = |_: &AbortSignal| -> Result<_, Oops> { panic!("number {}", 1 + 1) };
    expect(handle.promisify(&never(), owned), "err panic number 2");
    expect(handle.promisify(&never(), |_| -> Result<_, Oops> { panic_any(5_u8) }), "err panic ?");
    expect(handle.promisify(&never(), |_| Err(Unspeakable)), "err panic unspeakable");
    // What was captured is dropped at the end of the function.
    let hostile = OnDrop(|| panic!("hostile"));
    let captures = move |_: &AbortSignal| {
        let _hostile = &hostile;
        fine(1)
    };
    expect(handle.promisify(&never(), captures), "err panic hostile");
    let reason = given.clone();
    let same = handle.promisify(&never(), move |_| -> Result<i32, Rejection> { Err(reason) });
    let seen = same.to_channel();
    bench.run_until_idle().unwrap();
    for (outcome, text) in outcomes {
        outcome.assert(text);
    }
    assert!(seen.recv().unwrap().unwrap_err().ptr_eq(&given));
    bench.assert_silent();
}

// spec: PF-2, F-8
#[test]
fn the_payload_of_a_panic_can_be_recovered() {
    let bench = Bench::new();
    let tracker = Tracker::new();
    let payload = Mutex::new(tracker.token());
    let promise = bench.handle().promisify(&never(), move |_| -> Result<(), Oops> {
        panic_any(payload);
    });
    let (first, second) = (promise.to_channel(), promise.to_channel());
    drop(promise);
    bench.run_until_idle().unwrap();
    let reasons = [first, second].map(|channel| channel.recv().unwrap().unwrap_err());
    assert!(reasons[0].ptr_eq(&reasons[1]));
    let panicked: &Panicked = reasons[0].downcast_ref().unwrap();
    assert_eq!(panicked.message(), None);
    let payload = panicked.take_payload().unwrap();
    assert!(payload.is::<Mutex<common::Token>>());
    assert!(panicked.take_payload().is_none(), "it is given away once");
    assert_eq!(tracker.alive(), 1);
    drop(payload);
    assert_eq!(tracker.alive(), 0);
}

// spec: PF-2, F-8, PR-7
#[test]
fn a_panic_nobody_handles_is_reported_once_as_a_rejection() {
    let bench = Bench::new();
    drop(bench.cx().promisify(&never(), |_| -> Result<(), Oops> { panic!("alone") }));
    bench.run_until_idle().unwrap();
    assert_eq!(bench.reports.take(), ["unhandled panic alone"]);
}

// spec: PF-2
#[test]
fn payloads_and_values_with_hostile_destructors_harm_nobody() {
    let bench = Bench::new();
    let hostile = || OnDrop(|| panic!("expected by the test"));
    let payload = bench.cx().promisify(&never(), move |_| -> Result<(), Oops> {
        panic_any(hostile());
    });
    payload.catch(|_, _| ());
    drop(payload);
    // A result that comes too late, in the worker.
    let (gate, controller) = (Gate::new(), AbortController::new());
    let inner = gate.clone();
    let late = bench.cx().promisify(&controller.signal(), move |_| {
        inner.pass();
        fine(Arc::new(Mutex::new(hostile())))
    });
    late.catch(|_, _| panic!("handled"));
    gate.await_arrival(1);
    controller.abort();
    gate.open();
    // A function that is dropped instead of being called.
    let captured = hostile();
    let never_called = bench.cx().promisify(&controller.signal(), move |_| {
        let _captured = &captured;
        fine(())
    });
    never_called.catch(|_, _| ());
    bench.run_until_idle().unwrap();
    let outcome = outcome(&bench.cx().promisify(&never(), |_| fine(7)));
    bench.run_until_idle().unwrap();
    outcome.assert("ok 7");
}

// spec: PF-2, PF-4, F-8
#[test]
fn a_worker_survives_what_its_functions_do() {
    let bench = Bench::with(|builder| builder.max_workers(1));
    let workers = Arc::new(Mutex::new(HashSet::new()));
    let mut outcomes = vec![];
    for i in 0..200 {
        let workers = Arc::clone(&workers);
        let promise = bench.cx().promisify(&never(), move |_| {
            workers.lock().unwrap().insert(thread::current().id());
            match i % 3 {
                0 => panic!("expected by the test"),
                1 => Err(Oops(i)),
                _ => Ok(i),
            }
        });
        outcomes.push(outcome(&promise));
    }
    bench.run_until_idle().unwrap();
    for (i, outcome) in outcomes.iter().enumerate() {
        outcome.assert(&match i % 3 {
            0 => "err panic expected by the test".to_owned(),
            1 => format!("err oops {i}"),
            _ => format!("ok {i}"),
        });
    }
    assert_eq!(workers.lock().unwrap().len(), 1);
}

/// A function that blocks, and then returns something that knows where it was dropped.
struct Late {
    gate: Gate,
    controller: Arc<AbortController>,
    reason: Rejection,
    dropped_on: SharedLog<ThreadId>,
    ran_on: SharedLog<ThreadId>,
    tracker: Tracker,
}

#[derive(Clone)]
struct Witness {
    dropped_on: SharedLog<ThreadId>,
    _token: Arc<common::Token>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.dropped_on.push(thread::current().id());
    }
}

impl Late {
    fn new() -> Self {
        Self {
            gate: Gate::new(),
            controller: Arc::new(AbortController::new()),
            reason: Rejection::from_value("enough"),
            dropped_on: SharedLog::new(),
            ran_on: SharedLog::new(),
            tracker: Tracker::new(),
        }
    }

    /// Begins it. `at_last` is run by the function, when it has passed the gate.
    fn call(
        &self,
        handle: &Handle,
        at_last: impl FnOnce(&AbortSignal) + Send + 'static,
    ) -> Promise<Witness> {
        let (gate, ran_on) = (self.gate.clone(), self.ran_on.clone());
        let witness =
            Witness { dropped_on: self.dropped_on.clone(), _token: Arc::new(self.tracker.token()) };
        let captured = self.tracker.token();
        let promise = handle.promisify(&self.controller.signal(), move |signal| {
            let _captured = captured;
            ran_on.push(thread::current().id());
            gate.pass();
            at_last(signal);
            fine(witness)
        });
        self.gate.await_arrival(1);
        promise
    }

    fn abort(&self) {
        self.controller.abort_with(self.reason.clone());
    }

    /// The promise was rejected by the abort, and the function goes on.
    fn check(self, reasons: &[Rejection]) {
        assert_eq!(reasons.len(), 1, "settled once");
        assert!(reasons[0].ptr_eq(&self.reason));
        assert_eq!(self.tracker.alive(), 2, "the function still has all");
        self.gate.open();
        wait_until(|| self.tracker.alive() == 0);
        assert_eq!(self.dropped_on.take(), self.ran_on.take(), "once, where it came from");
    }
}

/// Notes the reason in a place that any thread can see.
fn reasons(promise: &Promise<Witness>) -> SharedLog<Rejection> {
    let log = SharedLog::new();
    let note = log.clone();
    promise.handle(move |_, result: Result<Witness, Rejection>| {
        match result {
            Ok(_) => panic!("it was fulfilled"),
            Err(reason) => note.push(reason),
        }
        Ok::<_, Error>(())
    });
    log
}

// spec: PF-3
fn an_abort_from_the_loops_thread_rejects_though_the_function_blocks(variant: Variant) {
    let event_loop = variant.build();
    let late = Late::new();
    let promise = late.call(&event_loop.handle(), |signal| assert!(signal.aborted()));
    let reasons = reasons(&promise);
    late.abort();
    event_loop.run_until_idle().unwrap();
    assert_eq!(promise.state(), PromiseState::Rejected);
    late.check(&reasons.take());
    event_loop.run_until_idle().unwrap();
    assert!(reasons.take().is_empty());
}

// spec: PF-3, WK-1
fn an_abort_from_another_thread_rejects_though_the_function_blocks(variant: Variant) {
    let event_loop = variant.build();
    let late = Late::new();
    let promise = late.call(&event_loop.handle(), |signal| assert!(signal.aborted()));
    let reasons = reasons(&promise);
    let aborter = thread::spawn({
        let (handle, reason) = (event_loop.handle(), late.reason.clone());
        let controller = Arc::clone(&late.controller);
        move || {
            wait_until_sleeping(&handle);
            controller.abort_with(reason);
        }
    });
    event_loop.run_until_idle().unwrap();
    aborter.join().unwrap();
    late.check(&reasons.take());
    event_loop.run_until_idle().unwrap();
    assert!(reasons.take().is_empty());
}

// spec: PF-3
fn an_abort_from_a_handler_rejects_though_the_function_blocks(variant: Variant) {
    let event_loop = variant.build();
    let late = Late::new();
    let promise = late.call(&event_loop.handle(), |signal| assert!(signal.aborted()));
    let reasons = reasons(&promise);
    let (controller, reason) = (Arc::clone(&late.controller), late.reason.clone());
    let watched = promise.clone();
    event_loop.cx().promisify(&never(), |_| fine(())).then(move |_, ()| {
        controller.abort_with(reason);
        assert_eq!(watched.state(), PromiseState::Rejected, "at once");
    });
    event_loop.run_until_idle().unwrap();
    late.check(&reasons.take());
}

// spec: PF-3
fn an_abort_from_the_function_itself_rejects(variant: Variant) {
    let event_loop = variant.build();
    let late = Late::new();
    let (controller, reason) = (Arc::clone(&late.controller), late.reason.clone());
    let (second, handle) = (Gate::new(), event_loop.handle());
    let inner = second.clone();
    let promise = late.call(&handle, move |signal| {
        controller.abort_with(reason);
        assert!(signal.aborted());
        inner.pass();
    });
    let reasons = reasons(&promise);
    late.gate.open();
    event_loop.run_until_idle().unwrap();
    second.await_arrival(1);
    let rejected = reasons.take();
    assert_eq!(rejected.len(), 1);
    assert!(rejected[0].ptr_eq(&late.reason));
    assert_eq!(late.tracker.alive(), 2);
    second.open();
    wait_until(|| late.tracker.alive() == 0);
    assert_eq!(late.dropped_on.take(), late.ran_on.take());
    event_loop.run_until_idle().unwrap();
    assert!(reasons.take().is_empty());
}

// spec: PF-3
fn a_function_that_was_not_started_is_not_called_after_an_abort(variant: Variant) {
    let event_loop = variant.builder().max_workers(1).build().unwrap();
    let handle = event_loop.handle();
    let gate = Gate::new();
    let first = outcome(&blocked(&handle, &never(), &gate));
    let tracker = Tracker::new();
    let ran = Arc::new(AtomicUsize::new(0));
    let controllers: Vec<_> = (0..10).map(|_| AbortController::new()).collect();
    let outcomes: Vec<_> = controllers
        .iter()
        .map(|controller| {
            let (ran, token) = (Arc::clone(&ran), tracker.token());
            outcome(&handle.promisify(&controller.signal(), move |_| {
                let _token = token;
                fine(ran.fetch_add(1, Ordering::SeqCst))
            }))
        })
        .collect();
    for controller in controllers.iter().step_by(2) {
        controller.abort();
    }
    let aborter = thread::spawn(move || {
        // The rest stays alive.
        controllers[1].abort();
        controllers
    });
    let controllers = aborter.join().unwrap();
    turn_until_quiet(&event_loop);
    for i in [0, 1, 2, 4, 6, 8] {
        outcomes[i].assert("err the operation was aborted");
    }
    first.assert_none();
    gate.open();
    event_loop.run_until_idle().unwrap();
    first.assert("ok 1");
    for (i, value) in [(3, 0), (5, 1), (7, 2), (9, 3)] {
        outcomes[i].assert(&format!("ok {value}"));
    }
    assert_eq!(ran.load(Ordering::SeqCst), 4);
    wait_until(|| tracker.alive() == 0);
    drop(controllers);
}

// spec: PF-3
#[test]
fn a_signal_that_is_aborted_already_needs_no_worker() {
    alone("a_signal_that_is_aborted_already_needs_no_worker", || {
        let bench = Bench::new();
        let tracker = Tracker::new();
        let reason = Rejection::from_value("no");
        for handle in [bench.handle(), bench.cx().handle()] {
            let token = tracker.token();
            let signal = AbortSignal::aborted_with(reason.clone());
            let promise = handle.promisify(&signal, move |_| -> Result<(), Oops> {
                let _token = token;
                panic_any("it was aborted before")
            });
            assert_eq!(tracker.alive(), 0, "dropped at once");
            assert_eq!(promise.state(), PromiseState::Rejected);
            let seen = promise.to_channel();
            bench.run_until_idle().unwrap();
            assert!(seen.recv().unwrap().unwrap_err().ptr_eq(&reason));
        }
        assert_eq!(workers(), 0);
        // Nobody handles it.
        let signal = AbortSignal::abort();
        drop(bench.cx().promisify(&signal, |_| fine(())));
        bench.run_until_idle().unwrap();
        assert_eq!(bench.reports.take(), ["unhandled the operation was aborted"]);
    });
}

// spec: D12, PF-3
#[test]
fn the_function_is_given_the_signal() {
    let bench = Bench::new();
    let controller = AbortController::new();
    let signal = controller.signal();
    let given =
        outcome(&bench.cx().promisify(&signal.clone(), move |theirs| fine(*theirs == signal)));
    // One that looks, and gives up.
    let started = Gate::new();
    started.open();
    let gate = started.clone();
    let tracker = Tracker::new();
    let token = tracker.token();
    let polite = bench.cx().promisify(&controller.signal(), move |signal| {
        let _token = token;
        gate.pass();
        while !signal.aborted() {
            thread::yield_now();
        }
        signal.throw_if_aborted()
    });
    started.await_arrival(1);
    let polite = outcome(&polite);
    bench.settle();
    wait_until(|| {
        bench.settle();
        !given.get().is_empty()
    });
    given.assert("ok true");
    polite.assert_none();
    controller.abort();
    bench.run_until_idle().unwrap();
    polite.assert("err the operation was aborted");
    wait_until(|| tracker.alive() == 0);
}

// spec: PF-3
#[test]
fn an_abort_after_the_result_changes_nothing() {
    let bench = Bench::new();
    let handle = bench.handle();
    bench.settle();
    // After it was handled.
    let controller = AbortController::new();
    let promise = handle.promisify(&controller.signal(), |_| fine(1));
    let first = outcome(&promise);
    bench.run_until_idle().unwrap();
    first.assert("ok 1");
    controller.abort();
    bench.settle();
    first.assert("ok 1");
    assert_eq!(promise.state(), PromiseState::Fulfilled);
    let again = outcome(&promise);
    bench.settle();
    again.assert("ok 1");
    // When the result is on its way.
    for from_elsewhere in [false, true] {
        let controller = AbortController::new();
        let promise = handle.promisify(&controller.signal(), |_| fine(2));
        let second = outcome(&promise);
        wait_until(|| handle.pending() == 1);
        assert_eq!(promise.state(), PromiseState::Pending);
        if from_elsewhere {
            thread::spawn(move || controller.abort()).join().unwrap();
        } else {
            controller.abort();
        }
        bench.run_until_idle().unwrap();
        second.assert("ok 2");
    }
    // The other way round: the rejection is on its way.
    let (gate, controller) = (Gate::new(), AbortController::new());
    let tracker = Tracker::new();
    let (inner, token) = (gate.clone(), Arc::new(tracker.token()));
    let promise = handle.promisify(&controller.signal(), move |_| {
        inner.pass();
        fine(token)
    });
    let third = outcome(&promise.then(|_, _| 3));
    gate.await_arrival(1);
    thread::spawn(move || controller.abort()).join().unwrap();
    assert_eq!(handle.pending(), 1);
    gate.open();
    wait_until(|| tracker.alive() == 0);
    bench.run_until_idle().unwrap();
    third.assert("err the operation was aborted");
    bench.assert_silent();
}

// spec: PF-3
#[test]
fn a_signal_without_a_controller_lets_the_function_end() {
    let bench = Bench::new();
    let (gate, controller) = (Gate::new(), AbortController::new());
    let outcome = outcome(&blocked(&bench.handle(), &controller.signal(), &gate));
    drop(controller);
    bench.settle();
    outcome.assert_none();
    gate.open();
    bench.run_until_idle().unwrap();
    outcome.assert("ok 1");
}

// spec: PF-3
#[test]
fn a_timeout_and_a_signal_that_depends_on_others_abort_it() {
    let clock = VirtualClock::new();
    let bench = Bench::of(common::builder().clock(&clock).build().unwrap());
    let handle = bench.handle();
    bench.settle();
    let second = Duration::from_secs(1);
    let gate = Gate::new();
    let timeout = AbortSignal::timeout(bench.cx(), second).unwrap();
    let controllers = [AbortController::new(), AbortController::new()];
    let signals = [timeout.clone(), controllers[0].signal()];
    let by_timeout = blocked(&handle, &timeout, &gate);
    let by_any = blocked(&handle, &AbortSignal::any(&signals), &gate);
    let signals = [controllers[0].signal(), controllers[1].signal()];
    let by_other = blocked(&handle, &AbortSignal::any(&signals), &gate);
    let not_at_all = blocked(&handle, &controllers[0].signal(), &gate);
    let promises = [by_timeout, by_any, by_other, not_at_all];
    let channels = [0, 1, 2, 3].map(|i: usize| promises[i].to_channel());
    clock.advance(second - Duration::from_nanos(1));
    bench.settle();
    assert!(promises.iter().all(|promise| promise.state() == PromiseState::Pending));
    clock.advance(Duration::from_nanos(1));
    bench.settle();
    controllers[1].abort();
    bench.settle();
    let states = promises.map(|promise| promise.state());
    use PromiseState::{Pending, Rejected};
    assert_eq!(states, [Rejected, Rejected, Rejected, Pending]);
    let [a, b, c, d] = channels;
    assert!(a.recv().unwrap().unwrap_err().is::<TimeoutError>());
    assert!(b.recv().unwrap().unwrap_err().is::<TimeoutError>());
    assert!(c.recv().unwrap().unwrap_err().is::<AbortError>());
    gate.open();
    bench.run_until_idle().unwrap();
    assert_eq!(d.recv().unwrap().unwrap(), 1);
    // A function that is done does not wait for its time.
    let hour = AbortSignal::timeout(bench.cx(), second * 3600).unwrap();
    let quick = outcome(&bench.cx().promisify(&hour, |_| fine(2)));
    drop(hour);
    bench.run_until_idle().unwrap();
    quick.assert("ok 2");
    wait_until(|| {
        // The worker is the last to have the signal, and with it the timer.
        bench.settle();
        bench.next_deadline().is_none()
    });
}

// spec: PF-3
#[test]
fn one_abort_ends_all_that_have_the_signal() {
    let bench = Bench::with(|builder| builder.max_workers(4));
    let (gate, controller) = (Gate::new(), AbortController::new());
    let tracker = Tracker::new();
    let ran = Arc::new(AtomicUsize::new(0));
    let outcomes: Vec<_> = (0..1000)
        .map(|_| {
            let (gate, ran, token) = (gate.clone(), Arc::clone(&ran), tracker.token());
            outcome(&bench.cx().promisify(&controller.signal(), move |_| {
                let _token = token;
                ran.fetch_add(1, Ordering::SeqCst);
                gate.pass();
                fine(1)
            }))
        })
        .collect();
    gate.await_arrival(4);
    let aborter = thread::spawn(move || controller.abort());
    bench.run_until_idle().unwrap();
    aborter.join().unwrap();
    for outcome in outcomes {
        outcome.assert("err the operation was aborted");
    }
    gate.open();
    wait_until(|| tracker.alive() == 0);
    assert_eq!(ran.load(Ordering::SeqCst), 4);
}

// spec: PF-3
#[test]
fn an_abort_that_races_with_the_result_lets_one_of_them_win() {
    let bench = Bench::with(|builder| builder.max_workers(2));
    let tracker = Tracker::new();
    let mut seen = [0, 0];
    for round in 0..2000_usize {
        let controller = AbortController::new();
        let start = Arc::new(Barrier::new(2));
        let (theirs, token) = (Arc::clone(&start), Arc::new(tracker.token()));
        let promise = bench.handle().promisify(&controller.signal(), move |_| {
            theirs.wait();
            for _ in 0..round % 50 {
                std::hint::spin_loop();
            }
            fine(token)
        });
        let outcome = outcome(&promise.then(|_, _| 1));
        drop(promise);
        let aborter = bench.handle().promisify(&never(), move |_| {
            start.wait();
            for _ in 0..round / 50 {
                std::hint::spin_loop();
            }
            controller.abort();
            fine(())
        });
        bench.run_until_idle().unwrap();
        assert_eq!(aborter.state(), PromiseState::Fulfilled);
        match &*outcome.get() {
            [text] if text == "ok 1" => seen[0] += 1,
            [text] if text == "err the operation was aborted" => seen[1] += 1,
            other => panic!("{other:?}"),
        }
        wait_until(|| tracker.alive() == 0);
    }
    bench.assert_silent();
    println!("{seen:?}");
}

// spec: PF-4
#[test]
fn functions_are_started_in_the_order_of_the_calls() {
    let bench = Bench::with(|builder| builder.max_workers(1));
    let gate = Gate::new();
    let log = SharedLog::new();
    drop(blocked(&bench.handle(), &never(), &gate));
    for i in 0..1000 {
        let log = log.clone();
        let f = move |_: &AbortSignal| {
            log.push(i);
            fine(())
        };
        if i % 2 == 0 {
            drop(bench.cx().promisify(&never(), f));
        } else {
            let handle = bench.handle();
            thread::scope(|scope| {
                scope.spawn(|| drop(handle.promisify(&never(), f))).join().unwrap()
            });
        }
    }
    assert!(log.take().is_empty());
    gate.open();
    bench.run_until_idle().unwrap();
    assert_eq!(log.take(), (0..1000).collect::<Vec<_>>());
}

// spec: PF-4
#[test]
fn there_are_never_more_workers_than_allowed() {
    for max in [1, 3] {
        let bench = Bench::with(|builder| builder.max_workers(max));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let workers = Arc::new(Mutex::new(HashSet::new()));
        let gate = Gate::new();
        for _ in 0..300 {
            let (now, most, gate) = (Arc::clone(&now), Arc::clone(&most), gate.clone());
            let workers = Arc::clone(&workers);
            drop(bench.cx().promisify(&never(), move |_| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                workers.lock().unwrap().insert(thread::current().id());
                gate.pass();
                thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
                fine(())
            }));
        }
        gate.await_arrival(max);
        assert_eq!(gate.arrived(), max);
        gate.open();
        bench.run_until_idle().unwrap();
        assert_eq!(gate.arrived(), 300);
        assert_eq!(most.load(Ordering::SeqCst), max);
        assert_eq!(workers.lock().unwrap().len(), max, "they are reused");
    }
}

// spec: PF-4
#[test]
fn there_are_as_many_workers_as_functions_that_block() {
    const MANY: usize = 100;
    let bench = Bench::new();
    let together = Arc::new(Barrier::new(MANY));
    let outcomes: Vec<_> = (0..MANY)
        .map(|i| {
            let together = Arc::clone(&together);
            outcome(&bench.cx().promisify(&never(), move |_| {
                together.wait();
                fine(i)
            }))
        })
        .collect();
    bench.run_until_idle().unwrap();
    for (i, outcome) in outcomes.iter().enumerate() {
        outcome.assert(&format!("ok {i}"));
    }
}

// spec: PF-4
#[cfg(target_os = "linux")]
#[test]
fn workers_are_reused_and_leave_when_they_are_idle() {
    alone("workers_are_reused_and_leave_when_they_are_idle", || {
        let configure = |builder: mainspring::Builder| {
            builder.max_workers(20).worker_keep_alive(Duration::from_millis(1))
        };
        let bench = Bench::with(configure);
        assert_eq!(workers(), 0, "none before there is something to do");
        let begun = Instant::now();
        for _ in 0..5 {
            let together = Arc::new(Barrier::new(21));
            for _ in 0..20 {
                let together = Arc::clone(&together);
                drop(bench.cx().promisify(&never(), move |_| {
                    together.wait();
                    together.wait();
                    fine(())
                }));
            }
            together.wait();
            assert_eq!(workers(), 20);
            together.wait();
            bench.run_until_idle().unwrap();
            until("the workers leave", || workers() == 0);
        }
        // Left to themselves they would have stayed for 10 seconds, five times.
        assert!(begun.elapsed() < Duration::from_secs(45), "the option counts");
        // They stay for as long as they are told to.
        let bench = Bench::with(|builder| builder.max_workers(2));
        let ids = Arc::new(Mutex::new(HashSet::new()));
        for _ in 0..500 {
            let ids = Arc::clone(&ids);
            drop(bench.cx().promisify(&never(), move |_| {
                ids.lock().unwrap().insert(thread::current().id());
                fine(())
            }));
            bench.run_until_idle().unwrap();
        }
        // Who was started may have come too late for each of the functions: it stays all the same.
        let (all, used) = (workers(), ids.lock().unwrap().len());
        assert!((used..=2).contains(&all), "{used} of {all} were used");
        drop(bench);
        until("the workers leave with the loop", || workers() == 0);
    });
}

// spec: PF-4
#[test]
fn no_workers_at_all_is_an_invalid_option() {
    match common::builder().max_workers(0).build() {
        Err(Error::InvalidOption { option: "max_workers", .. }) => {}
        other => panic!("{:?}", other.map(drop)),
    }
}

/// Lets another thread shut the loop down once the loop is driven, and says what came of it.
fn shut_down_elsewhere(
    handle: &Handle,
    deadline: Deadline,
) -> thread::JoinHandle<Result<Shutdown, Error>> {
    let handle = handle.clone();
    thread::spawn(move || {
        wait_until(|| handle.state() != LoopState::Awake);
        handle.shutdown(deadline)
    })
}

/// Waits until the shutdown has begun.
fn await_termination(handle: &Handle) {
    wait_until(|| handle.state().is_ending());
}

// spec: PF-5, SD-1, F-33
fn a_shutdown_waits_for_what_runs_and_what_is_queued(variant: Variant) {
    let event_loop = variant.builder().max_workers(1).build().unwrap();
    let handle = event_loop.handle();
    let gate = Gate::new();
    let running = outcome(&blocked(&handle, &never(), &gate).then(|_, value| value + 1));
    let queued: Vec<_> = (0..5)
        .map(|i| {
            let promise = handle.promisify(&never(), move |_| fine(i));
            outcome(&promise.then(|_, value| value).finally(|_| ()).then(|_, value| value + 10))
        })
        .collect();
    let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
    let opener = thread::spawn({
        let (handle, gate) = (handle.clone(), gate.clone());
        move || {
            await_termination(&handle);
            assert_eq!(handle.state(), LoopState::Terminating, "it waits");
            gate.open();
        }
    });
    event_loop.run().unwrap();
    opener.join().unwrap();
    assert_eq!(shutdown.join().unwrap().unwrap(), Shutdown::Finished { dropped: 0 });
    running.assert("ok 2");
    for (i, outcome) in queued.iter().enumerate() {
        outcome.assert(&format!("ok {}", i + 10));
    }
}

/// A worker that is stuck, others that wait for it, and all who wait for the promises.
struct Stuck {
    gate: Gate,
    promises: Vec<Promise<i32>>,
    channels: Vec<mpsc::Receiver<Result<i32, Rejection>>>,
    waiters: Vec<thread::JoinHandle<Result<i32, String>>>,
    ran: Arc<AtomicUsize>,
    tracker: Tracker,
}

impl Stuck {
    /// For loops with one worker.
    fn new(handle: &Handle, signal: &AbortSignal) -> Self {
        let (gate, tracker) = (Gate::new(), Tracker::new());
        let ran = Arc::new(AtomicUsize::new(0));
        let mut promises = vec![];
        for i in 0..4 {
            let (inner, token, ran) = (gate.clone(), tracker.token(), Arc::clone(&ran));
            promises.push(handle.promisify(signal, move |_| {
                ran.fetch_add(1, Ordering::SeqCst);
                let _token = token;
                inner.pass();
                fine(i)
            }));
            gate.await_arrival(1);
        }
        let token = tracker.token();
        let derived = promises[0].then(move |_, value| {
            let _token = &token;
            value
        });
        promises.push(derived);
        promises.push(Promise::race(handle, [promises[1].clone()]));
        let channels = promises.iter().map(Promise::to_channel).collect();
        let waiters = promises
            .iter()
            .map(|promise| {
                let promise = promise.clone();
                thread::spawn(move || wait(&promise))
            })
            .collect();
        Self { gate, promises, channels, waiters, ran, tracker }
    }

    /// The loop has ended. What is left is the function that is stuck.
    fn check(self) {
        for promise in &self.promises {
            assert_eq!(promise.state(), PromiseState::Rejected);
            assert_eq!(after_the_end(promise), terminated());
        }
        for channel in self.channels {
            let reason = channel.recv_timeout(PATIENCE).unwrap().unwrap_err();
            assert_eq!(describe(reason.as_error()), "terminated");
        }
        for waiter in self.waiters {
            assert_eq!(waiter.join().unwrap(), terminated());
        }
        wait_until(|| self.tracker.alive() == 1);
        assert_eq!(self.ran.load(Ordering::SeqCst), 1);
        self.gate.open();
        wait_until(|| self.tracker.alive() == 0);
        assert_eq!(self.ran.load(Ordering::SeqCst), 1, "what was queued is not run");
        for promise in &self.promises {
            assert_eq!(after_the_end(promise), terminated(), "the result comes too late");
        }
    }
}

// spec: PF-5, SD-2, F-27, F-28
fn a_shutdown_does_not_wait_longer_than_its_deadline(variant: Variant) {
    let event_loop = variant.builder().max_workers(1).build().unwrap();
    let handle = event_loop.handle();
    let stuck = Stuck::new(&handle, &never());
    let shutdown = shut_down_elsewhere(&handle, Duration::from_millis(100).into());
    event_loop.run().unwrap();
    match shutdown.join().unwrap() {
        Err(Error::DeadlineExceeded { left }) => assert!(left >= 1),
        other => panic!("{other:?}"),
    }
    drop(event_loop);
    stuck.check();
}

// spec: PF-5, SD-5, F-26, F-27
fn a_shutdown_from_a_callback_does_not_wait_longer_than_its_deadline(variant: Variant) {
    let event_loop = variant.builder().max_workers(1).build().unwrap();
    let stuck = Stuck::new(&event_loop.handle(), &never());
    let task = |cx: &Cx| {
        let begun = cx.handle().shutdown(Duration::from_millis(50)).unwrap();
        assert_eq!(begun, Shutdown::Begun);
    };
    event_loop.cx().submit(task).unwrap();
    event_loop.run().unwrap();
    stuck.check();
}

// spec: PF-5, SD-4, F-27, F-28
fn a_close_does_not_wait_for_a_worker(variant: Variant) {
    for how in ["callback", "thread", "between", "drop", "drop when driven"] {
        let event_loop = variant.builder().max_workers(1).build().unwrap();
        let handle = event_loop.handle();
        let stuck = Stuck::new(&handle, &never());
        match how {
            "callback" => {
                event_loop.cx().submit(|cx| cx.close()).unwrap();
                event_loop.run().unwrap();
            }
            "thread" => {
                let closer = thread::spawn(move || handle.close());
                run(&event_loop);
                closer.join().unwrap();
            }
            "between" => {
                turn_until_quiet(&event_loop);
                handle.close();
            }
            "drop when driven" => turn_until_quiet(&event_loop),
            _ => {}
        }
        drop(event_loop);
        stuck.check();
    }
}

// spec: PF-5, SD-3, F-6, F-27
#[test]
fn a_loop_that_was_never_driven_ends_without_its_workers() {
    for end in ["shutdown", "shutdown elsewhere", "close", "close elsewhere"] {
        let event_loop = common::builder().max_workers(1).build().unwrap();
        let handle = event_loop.handle();
        let stuck = Stuck::new(&handle, &never());
        let inner = handle.clone();
        match end {
            "shutdown" => _ = handle.shutdown(Deadline::NEVER).unwrap(),
            "shutdown elsewhere" => {
                must_return(move || inner.shutdown(Deadline::NEVER).unwrap());
            }
            "close" => handle.close(),
            _ => must_return(move || inner.close()),
        }
        assert_eq!(handle.state(), LoopState::Terminated, "{end}");
        if end.ends_with("elsewhere") {
            stuck.check();
            drop(event_loop);
        } else {
            drop(event_loop);
            stuck.check();
        }
    }
}

// spec: PF-5, SD-4, F-27
fn a_close_ends_a_shutdown_that_waits_for_a_worker(variant: Variant) {
    let event_loop = variant.builder().max_workers(1).build().unwrap();
    let handle = event_loop.handle();
    let stuck = Stuck::new(&handle, &never());
    let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
    let closer = thread::spawn({
        let handle = handle.clone();
        move || {
            await_termination(&handle);
            handle.close();
        }
    });
    event_loop.run().unwrap();
    closer.join().unwrap();
    match shutdown.join().unwrap() {
        Ok(Shutdown::Finished { dropped }) => assert!(dropped >= 1),
        other => panic!("{other:?}"),
    }
    stuck.check();
}

// spec: PF-5, SD-4, F-26
fn a_close_by_the_worker_ends_a_shutdown_that_waits_for_it(variant: Variant) {
    let event_loop = variant.build();
    let handle = event_loop.handle();
    let inner = handle.clone();
    let promise = handle.promisify(&never(), move |_| {
        await_termination(&inner);
        inner.close();
        // Not before the loop has ended.
        wait_until(|| inner.state() == LoopState::Terminated);
        fine(1)
    });
    let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
    event_loop.run().unwrap();
    assert!(matches!(shutdown.join().unwrap(), Ok(Shutdown::Finished { .. })));
    drop(event_loop);
    assert_eq!(after_the_end(&promise), terminated());
}

// spec: PF-5, SD-2, F-27
fn a_second_shutdown_hurries_one_that_waits_for_a_worker(variant: Variant) {
    let event_loop = variant.builder().max_workers(1).build().unwrap();
    let handle = event_loop.handle();
    let stuck = Stuck::new(&handle, &never());
    let first = shut_down_elsewhere(&handle, Deadline::NEVER);
    let second = thread::spawn({
        let handle = handle.clone();
        move || {
            await_termination(&handle);
            handle.shutdown(Duration::from_millis(20))
        }
    });
    event_loop.run().unwrap();
    assert!(matches!(second.join().unwrap(), Err(Error::Terminated)));
    match first.join().unwrap() {
        Ok(Shutdown::Finished { dropped }) => assert!(dropped >= 1),
        other => panic!("{other:?}"),
    }
    stuck.check();
}

// spec: PF-5, SD-5, F-26
fn a_shutdown_by_a_worker_does_not_wait_for_itself(variant: Variant) {
    // The first to call it.
    let event_loop = variant.build();
    let handle = event_loop.handle();
    let inner = handle.clone();
    let begun = handle.promisify(&never(), move |_| {
        wait_until(|| inner.state() != LoopState::Awake);
        let first = inner.shutdown(Deadline::NEVER);
        let second = inner.shutdown(PATIENCE);
        fine(format!("{first:?} {second:?}"))
    });
    let channel = begun.to_channel();
    event_loop.run().unwrap();
    let text = channel.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!(text, "Ok(Begun) Err(Terminated)");
    // When somebody else has.
    let event_loop = variant.build();
    let handle = event_loop.handle();
    let inner = handle.clone();
    let begun = handle.promisify(&never(), move |_| {
        await_termination(&inner);
        fine(format!("{:?}", inner.shutdown(Deadline::NEVER)))
    });
    let channel = begun.to_channel();
    let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
    event_loop.run().unwrap();
    assert_eq!(channel.recv_timeout(PATIENCE).unwrap().unwrap(), "Err(Terminated)");
    assert_eq!(shutdown.join().unwrap().unwrap(), Shutdown::Finished { dropped: 0 });
    // With a deadline, and nobody else who would keep to it.
    let event_loop = variant.builder().max_workers(2).build().unwrap();
    let handle = event_loop.handle();
    let (gate, inner) = (Gate::new(), handle.clone());
    let stuck = blocked(&handle, &never(), &gate);
    drop(handle.promisify(&never(), move |_| {
        wait_until(|| inner.state() != LoopState::Awake);
        assert_eq!(inner.shutdown(Duration::from_millis(20)).unwrap(), Shutdown::Begun);
        fine(())
    }));
    event_loop.run().unwrap();
    drop(event_loop);
    assert_eq!(after_the_end(&stuck), terminated());
    gate.open();
}

// spec: PF-5, SD-2, F-26, F-27
fn a_worker_that_is_stuck_can_set_the_deadline_of_a_shutdown_that_waits_for_it(variant: Variant) {
    for _ in 0..20 {
        let event_loop = variant.build();
        let handle = event_loop.handle();
        let (gate, inner) = (Gate::new(), handle.clone());
        let theirs = gate.clone();
        let promise = handle.promisify(&never(), move |_| {
            await_termination(&inner);
            // Nobody but the loop itself can keep to it.
            let result = inner.shutdown(Duration::from_millis(2));
            assert!(matches!(result, Err(Error::Terminated)));
            theirs.pass();
            fine(1)
        });
        let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
        event_loop.run().unwrap();
        assert!(matches!(shutdown.join().unwrap(), Ok(Shutdown::Finished { dropped: 1 })));
        drop(event_loop);
        assert_eq!(after_the_end(&promise), terminated());
        gate.open();
    }
}

// spec: PF-5, SD-1, F-26
fn a_worker_can_ask_the_loop_while_a_shutdown_waits_for_it(variant: Variant) {
    type Question = fn(&Handle) -> i32;
    let questions: [Question; 5] = [
        |handle| {
            let (send, receive) = mpsc::channel();
            handle.submit_internal(move |_| send.send(0).unwrap()).unwrap();
            receive.recv_timeout(PATIENCE).unwrap()
        },
        |handle| {
            let (send, receive) = mpsc::channel();
            let task = move |cx: &Cx| cx.queue_microtask(move |_| send.send(1).unwrap());
            handle.queue_microtask(task).unwrap();
            receive.recv_timeout(PATIENCE).unwrap()
        },
        |handle| {
            let (promise, resolver) = Promise::with_resolvers(handle);
            let promise = promise.then(|_, value: i32| value + 1);
            resolver.resolve(1);
            wait(&promise).unwrap()
        },
        |handle| wait(&Promise::resolve(handle, 2).then(|_, value| value + 1)).unwrap(),
        // Another worker, which asks the loop itself.
        |handle| {
            let inner = handle.clone();
            let promise = handle
                .promisify(&never(), move |_| fine(wait(&Promise::resolve(&inner, 3)).unwrap()));
            wait(&promise.then(|_, value| value + 1)).unwrap()
        },
    ];
    for (i, question) in questions.into_iter().enumerate() {
        let event_loop = variant.build();
        let handle = event_loop.handle();
        let inner = handle.clone();
        let promise = handle.promisify(&never(), move |_| {
            await_termination(&inner);
            fine((0..100).map(|_| question(&inner)).sum::<i32>())
        });
        let outcome = outcome(&promise);
        let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
        event_loop.run().unwrap();
        assert_eq!(shutdown.join().unwrap().unwrap(), Shutdown::Finished { dropped: 0 });
        outcome.assert(&format!("ok {}", i * 100));
    }
}

// spec: PF-5, SD-1, F-33
fn a_handler_can_call_another_function_during_a_shutdown(variant: Variant) {
    let event_loop = variant.build();
    let handle = event_loop.handle();
    let inner = handle.clone();
    let promise = handle.promisify(&never(), move |_| {
        await_termination(&inner);
        fine(0)
    });
    fn more(cx: &Cx, value: i32) -> Promise<i32> {
        assert_eq!(cx.state(), LoopState::Terminating);
        if value == 50 {
            return Promise::resolve(&cx.handle(), value);
        }
        cx.promisify(&never(), move |_| fine(value + 1)).and_then(more)
    }
    let outcome = outcome(&promise.and_then(more));
    let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
    event_loop.run().unwrap();
    assert_eq!(shutdown.join().unwrap().unwrap(), Shutdown::Finished { dropped: 0 });
    outcome.assert("ok 50");
}

// spec: PF-5, PF-3
#[test]
fn a_shutdown_waits_for_a_function_that_was_aborted_and_an_abort_does_not_end_it() {
    let bench = Bench::with(|builder| builder.max_workers(1));
    let handle = bench.handle();
    let (gate, controller) = (Gate::new(), AbortController::new());
    let promise = blocked(&handle, &controller.signal(), &gate);
    let outcome = outcome(&promise);
    let shutdown = shut_down_elsewhere(&handle, Deadline::NEVER);
    let aborter = thread::spawn({
        let gate = gate.clone();
        move || {
            await_termination(&handle);
            controller.abort();
            // Its handlers run although the function is blocked.
            let result = wait(&promise);
            assert_eq!(handle.state(), LoopState::Terminating);
            gate.open();
            result
        }
    });
    bench.run().unwrap();
    assert_eq!(aborter.join().unwrap().unwrap_err(), "the operation was aborted");
    assert_eq!(shutdown.join().unwrap().unwrap(), Shutdown::Finished { dropped: 0 });
    outcome.assert("err the operation was aborted");
}

// spec: PF-5, F-28
#[test]
fn after_the_end_a_call_is_refused_and_the_function_dropped() {
    for has_pool in [false, true] {
        for how in ["shutdown", "close undriven", "drop"] {
            let event_loop = common::builder().build().unwrap();
            let (handle, cx) = (event_loop.handle(), event_loop.cx().clone());
            if has_pool {
                drop(event_loop.cx().promisify(&never(), |_| fine(())));
            }
            match how {
                "shutdown" => {
                    event_loop.cx().shutdown();
                    run(&event_loop);
                }
                "close undriven" => handle.close(),
                _ => {}
            }
            drop(event_loop);
            let tracker = Tracker::new();
            let ran = Arc::new(AtomicUsize::new(0));
            let late = |handle: &Handle, signal: &AbortSignal| {
                let (token, ran) = (tracker.token(), Arc::clone(&ran));
                handle.promisify(signal, move |_| {
                    let _token = token;
                    fine(ran.fetch_add(1, Ordering::SeqCst))
                })
            };
            let controller = AbortController::new();
            let promises = [
                late(&handle, &never()),
                late(&cx.handle(), &never()),
                late(&handle, &controller.signal()),
                thread::scope(|scope| scope.spawn(|| late(&handle, &never())).join().unwrap()),
            ];
            for promise in &promises {
                assert_eq!(promise.state(), PromiseState::Rejected, "{how}");
                assert_eq!(after_the_end(promise), terminated(), "{how}");
            }
            wait_until(|| tracker.alive() == 0);
            controller.abort();
            assert_eq!(after_the_end(&promises[2]), terminated(), "{how}");
            let aborted = late(&handle, &controller.signal());
            assert_eq!(after_the_end(&aborted).unwrap_err(), "the operation was aborted", "{how}");
            assert_eq!(ran.load(Ordering::SeqCst), 0, "{how}");
        }
    }
}

// spec: PF-5, PF-3
#[test]
fn an_abort_after_the_end_changes_nothing() {
    let event_loop = common::builder().max_workers(1).build().unwrap();
    let controller = AbortController::new();
    let stuck = Stuck::new(&event_loop.handle(), &controller.signal());
    event_loop.cx().submit(|cx| cx.close()).unwrap();
    event_loop.run().unwrap();
    controller.abort();
    drop(event_loop);
    stuck.check();
}

// spec: PF-5, SD-6
#[test]
fn an_abort_can_be_the_last_that_is_done_before_the_end() {
    // The rejection is on its way when the loop ends.
    for is_forced in [false, true] {
        let event_loop = common::builder().build().unwrap();
        event_loop.turn(Duration::ZERO).unwrap();
        let (gate, controller) = (Gate::new(), AbortController::new());
        let promise = blocked(&event_loop.handle(), &controller.signal(), &gate);
        let outcome = outcome(&promise);
        thread::spawn(move || controller.abort()).join().unwrap();
        if is_forced {
            event_loop.handle().close();
            run(&event_loop);
            assert_eq!(after_the_end(&promise), terminated());
            outcome.assert_none();
            gate.open();
        } else {
            event_loop.cx().shutdown();
            gate.open();
            event_loop.run().unwrap();
            outcome.assert("err the operation was aborted");
        }
    }
}

// spec: F-26, SD-6
#[test]
fn what_a_dropped_function_has_captured_can_use_the_loop_in_its_destructor() {
    for is_driven in [false, true] {
        let event_loop = common::builder().max_workers(1).build().unwrap();
        let handle = event_loop.handle();
        let gate = Gate::new();
        drop(blocked(&handle, &never(), &gate));
        let log = SharedLog::new();
        for _ in 0..3 {
            let (inner, log) = (handle.clone(), log.clone());
            let captured = OnDrop(move || {
                drop(inner.shutdown(Deadline::NEVER));
                inner.close();
                let late = inner.promisify(&never(), |_| fine(1));
                log.push(late.state());
                drop(inner.submit_internal(|_| ()));
            });
            drop(handle.promisify(&never(), move |_| {
                let _captured = &captured;
                fine(())
            }));
        }
        if is_driven {
            turn_until_quiet(&event_loop);
            handle.close();
            run(&event_loop);
        } else {
            must_return(move || handle.close());
        }
        assert_eq!(log.take(), [PromiseState::Rejected; 3]);
        gate.open();
    }
}

// spec: F-26
#[test]
fn a_worker_that_ends_another_loop_is_still_known_as_a_worker_of_its_own() {
    let bench = Bench::new();
    // One that was never driven would end at once.
    bench.turn(Duration::ZERO).unwrap();
    let handle = bench.handle();
    let promise = handle.clone().promisify(&never(), move |_| {
        let other = common::builder().max_workers(1).build().unwrap();
        let gate = Gate::new();
        drop(blocked(&other.handle(), &never(), &gate));
        drop(other.cx().promisify(&never(), |_| fine(())));
        // The function that is queued there is dropped here.
        drop(other);
        gate.open();
        fine(format!("{:?}", handle.shutdown(Deadline::NEVER)))
    });
    let channel = promise.to_channel();
    bench.run().unwrap();
    assert_eq!(channel.recv_timeout(PATIENCE).unwrap().unwrap(), "Ok(Begun)");
}

// spec: F-26, SD-2
#[test]
fn a_worker_of_one_loop_can_wait_for_the_end_of_another() {
    let bench = Bench::new();
    let (other, thread) = common::Variant::new("park", |builder| builder).spawn_running();
    let promise = bench.cx().promisify(&never(), move |_| {
        let result = other.shutdown(Deadline::NEVER);
        fine((format!("{result:?}"), other.state()))
    });
    let channel = promise.to_channel();
    bench.run_until_idle().unwrap();
    thread.join().unwrap().unwrap();
    let (text, state) = channel.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!((&*text, state), ("Ok(Finished { dropped: 0 })", LoopState::Terminated));
}

// spec: PF-1, PF-4
#[test]
fn all_of_ten_thousand_calls_from_four_threads_settle_once() {
    const EACH: usize = 2_500;
    let bench = Bench::new();
    let keep_alive = bench.handle().keep_alive();
    let (settled, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tracker = Tracker::new();
    let threads: Vec<_> = (0..4_usize)
        .map(|number| {
            let (handle, settled, ran) = (bench.handle(), Arc::clone(&settled), Arc::clone(&ran));
            let tracker = tracker.clone();
            thread::spawn(move || {
                for i in 0..EACH {
                    let (ran, token) = (Arc::clone(&ran), Arc::new(tracker.token()));
                    let promise = handle.promisify(&never(), move |_| {
                        ran.fetch_add(1, Ordering::SeqCst);
                        match i % 5 {
                            0 => Err(Oops(1)),
                            1 => panic_any(1),
                            _ => Ok((number, i, token)),
                        }
                    });
                    let settled = Arc::clone(&settled);
                    promise.handle(move |_, result| {
                        settled.fetch_add(1, Ordering::SeqCst);
                        match result {
                            Ok((whose, which, _)) => assert_eq!((whose, which), (number, i)),
                            Err(reason) if i % 5 == 0 => assert!(reason.is::<Oops>()),
                            Err(reason) => assert!(i % 5 == 1 && reason.is::<Panicked>()),
                        }
                        Ok::<_, Error>(())
                    });
                }
            })
        })
        .collect();
    let watcher = thread::spawn(move || {
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(keep_alive);
    });
    bench.run_until_idle().unwrap();
    watcher.join().unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 4 * EACH);
    assert_eq!(settled.load(Ordering::SeqCst), 4 * EACH);
    wait_until(|| tracker.alive() == 0);
    bench.assert_silent();
}

// spec: PF-5, F-28, F-33
#[test]
fn calls_that_race_with_the_end_of_the_loop_are_run_or_refused() {
    for round in 0..150_u64 {
        let event_loop = common::builder().max_workers(2).build().unwrap();
        let handle = event_loop.handle();
        let tracker = Tracker::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (handle, tracker) = (handle.clone(), tracker.clone());
                let calls = Arc::clone(&calls);
                thread::spawn(move || call_until_the_end(&handle, &tracker, &calls))
            })
            .collect();
        let ender = thread::spawn({
            let (handle, calls) = (handle.clone(), Arc::clone(&calls));
            move || {
                wait_until(|| calls.load(Ordering::SeqCst) as u64 > round);
                match round % 3 {
                    0 => handle.close(),
                    1 => drop(handle.shutdown(Deadline::NEVER)),
                    _ => drop(handle.submit_internal(|cx| cx.shutdown())),
                }
            }
        });
        run(&event_loop);
        ender.join().unwrap();
        if round % 2 == 0 {
            drop(event_loop);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        wait_until(|| tracker.alive() == 0);
    }
}

/// Calls functions until the loop has ended, and checks what came of each.
fn call_until_the_end(handle: &Handle, tracker: &Tracker, calls: &AtomicUsize) {
    let mut promises = vec![];
    loop {
        let has_ended = handle.state() == LoopState::Terminated;
        let ran = Arc::new(AtomicUsize::new(0));
        let handled = Arc::new(AtomicUsize::new(0));
        let (inner, token) = (Arc::clone(&ran), tracker.token());
        let number = promises.len();
        let promise = handle.promisify(&never(), move |_| {
            let _token = token;
            inner.fetch_add(1, Ordering::SeqCst);
            fine(number)
        });
        let (inner, token) = (Arc::clone(&handled), tracker.token());
        let derived = promise.then(move |_, value| {
            let _token = &token;
            inner.fetch_add(1, Ordering::SeqCst);
            value
        });
        calls.fetch_add(1, Ordering::SeqCst);
        promises.push((promise, derived, ran, handled));
        if has_ended {
            break;
        }
        if promises.len() % 16 == 0 {
            // So that the end is not drowned in work.
            drop(wait(&promises[number].0));
        }
    }
    for (number, (promise, derived, ran, handled)) in promises.into_iter().enumerate() {
        let outcome = wait(&promise);
        match &outcome {
            Ok(value) => assert_eq!((*value, ran.load(Ordering::SeqCst)), (number, 1)),
            Err(reason) => assert_eq!(reason, "terminated"),
        }
        match wait(&derived) {
            Ok(value) => {
                // Who asks for the first one while the loop ends may be told of that instead.
                assert_eq!((value, ran.load(Ordering::SeqCst)), (number, 1));
                assert_eq!(promise.state(), PromiseState::Fulfilled);
                assert_eq!(handled.load(Ordering::SeqCst), 1);
            }
            Err(reason) => assert_eq!(reason, "terminated"),
        }
        assert!(ran.load(Ordering::SeqCst) <= 1);
    }
}

// spec: PF-1
#[test]
fn a_value_that_one_handler_asks_for_is_not_cloned() {
    let bench = Bench::new();
    let mut clones = 0;
    for _ in 0..2000 {
        let (value, counts) = Counted::new();
        bench.cx().promisify(&never(), move |_| fine(value)).then(|_, value| drop(value));
        bench.run_until_idle().unwrap();
        clones += counts.clones();
        wait_until(|| counts.alive() == 0);
    }
    assert_eq!(clones, 0);
}

// spec: PF-5, SD-2
#[test]
fn the_number_of_what_is_left_is_that_of_the_functions() {
    let event_loop = common::builder().max_workers(1).build().unwrap();
    let handle = event_loop.handle();
    // Four functions; what waits for their promises is queued by the end itself.
    let stuck = Stuck::new(&handle, &never());
    let shutdown = shut_down_elsewhere(&handle, Duration::from_millis(20).into());
    event_loop.run().unwrap();
    match shutdown.join().unwrap() {
        Err(Error::DeadlineExceeded { left }) => assert_eq!(left, 4),
        other => panic!("{other:?}"),
    }
    stuck.check();
}

/// Runs a test in a process of its own, because it looks at what belongs to the whole process.
fn alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "MAINSPRING_TEST_ALONE";
    if std::env::var(ALONE).is_ok_and(|value| value == name) {
        counting::count_everybody();
        return test();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// How many threads of worker pools the process has. Only Linux tells: elsewhere none are seen.
fn workers() -> usize {
    if cfg!(not(target_os = "linux")) {
        return 0;
    }
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let is_worker = |task: &std::fs::DirEntry| {
        // One that has just gone has no name.
        std::fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.starts_with("mainspring-work"))
    };
    tasks.filter_map(Result::ok).filter(is_worker).count()
}

/// Waits for something that will come true by itself.
#[track_caller]
fn until(what: &str, is_true: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

// spec: PF-3, RG-2, RG-3
#[test]
fn a_signal_that_lives_long_does_not_remember_what_is_done() {
    alone("a_signal_that_lives_long_does_not_remember_what_is_done", || {
        const MANY: usize = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };
        const AT_ONCE: usize = 1_000;
        let event_loop = common::builder().max_workers(2).build().unwrap();
        let controller = AbortController::new();
        let signal = controller.signal();
        let depends = AbortSignal::any([&signal, &AbortController::new().signal()]);
        let tracker = Tracker::new();
        let handled = Rc::new(RefCell::new(0));
        let burst = || {
            for i in 0..AT_ONCE {
                let (token, handled) = (Arc::new(tracker.token()), Rc::clone(&handled));
                let signal = if i % 2 == 0 { &signal } else { &depends };
                let promise = event_loop.cx().promisify(signal, move |_| match i % 4 {
                    0 => Err(Oops(1)),
                    _ => Ok(token),
                });
                promise.to_local(event_loop.cx()).handle(move |_, _| {
                    *handled.borrow_mut() += 1;
                    Ok::<_, Error>(())
                });
            }
            event_loop.run_until_idle().unwrap();
            wait_until(|| tracker.alive() == 0);
        };
        (0..3).for_each(|_| burst());
        let before = bytes();
        (0..MANY / AT_ONCE).for_each(|_| burst());
        // The list of pending promises is looked through by and by. Queues keep the room that the longest burst
        // needed, which may have come late; of what is remembered for each there is not even a byte.
        until("the memory is given back", || {
            (0..100).for_each(|_| _ = event_loop.turn(Duration::ZERO).unwrap());
            bytes() - before < MANY as isize
        });
        assert_eq!(*handled.borrow(), MANY + 3 * AT_ONCE);
        controller.abort();
        event_loop.run_until_idle().unwrap();
        assert_eq!(*handled.borrow(), MANY + 3 * AT_ONCE);
    });
}

// spec: PF-5, SD-6
#[test]
fn two_hundred_loops_leave_neither_threads_nor_memory() {
    alone("two_hundred_loops_leave_neither_threads_nor_memory", || {
        let tracker = Tracker::new();
        let live = |life: usize| {
            let gate = Gate::new();
            let event_loop = common::builder().max_workers(3).build().unwrap();
            let controller = AbortController::new();
            let mut promises = vec![];
            for i in 0..10 {
                let (gate, token) = (gate.clone(), Arc::new(tracker.token()));
                let promise = event_loop.cx().promisify(&controller.signal(), move |_| {
                    if i > 4 {
                        gate.pass();
                    }
                    fine(token)
                });
                let token = tracker.token();
                promises.push(promise.then(move |_, value| {
                    let _token = &token;
                    value
                }));
            }
            gate.await_arrival(1);
            match life % 5 {
                0 => turn_until_quiet(&event_loop),
                1 => {
                    event_loop.cx().submit(|cx| cx.close()).unwrap();
                    event_loop.run().unwrap();
                }
                2 => {
                    let task = |cx: &Cx| drop(cx.handle().shutdown(Duration::from_millis(1)));
                    event_loop.cx().submit(task).unwrap();
                    event_loop.run().unwrap();
                }
                3 => {
                    controller.abort();
                    event_loop.run_until_idle().unwrap();
                }
                _ => {}
            }
            drop(event_loop);
            for promise in &promises {
                // A worker that decides at this moment has yet to do so.
                until("it settles", || promise.state() != PromiseState::Pending);
            }
            if life.is_multiple_of(2) {
                // The last reference to the loop may be the worker's.
                drop((promises, controller));
                gate.open();
            } else {
                gate.open();
                drop((promises, controller));
            }
        };
        let settle = || {
            until("the threads end", || workers() == 0);
            until("all is dropped", || tracker.alive() == 0);
        };
        (0..20).for_each(live);
        settle();
        let before = bytes();
        (0..200).for_each(live);
        settle();
        // A thread is gone a little later than its name.
        until("the memory is given back", || bytes() - before < 16 * 1024);
    });
}
