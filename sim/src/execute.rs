//! Runs a program in a simulation.

use std::sync::Arc;
use std::time::Duration;

use mainspring::sim::{self, Failure, Faults, Simulation};
use mainspring::{
    AbortController, AbortSignal, Cx, Deadline, Error, EventLoop, FastPathMode, Handle, LoopState,
    Profile, Promise, PromiseState, Rejection,
};

use crate::program::{Body, Ending, Heard, Lane, Op, Options, Program};
use crate::watchdog;
use crate::world::{Kind, Token, Who, World};

/// More than any program needs.
const STEPS: u64 = 200_000;

/// Why a program has failed.
pub(crate) type Violation = String;

/// Runs it, with what the seed leaves to chance. Returns the fingerprint.
pub(crate) fn run(program: &Program, seed: u64) -> Result<u64, Violation> {
    watchdog::begin(seed);
    let options = program.options;
    let faults = match options.faults {
        0 => Faults::none(),
        1 => Faults::usual(),
        _ => Faults::all(),
    };
    let faults = Faults { still: options.still, ..faults };
    let program = program.clone();
    let simulation = Simulation::new(seed).faults(faults).max_steps(STEPS);
    let world = Arc::new(World::default());
    let own = Arc::clone(&world);
    match simulation.run(move || play(&program, &own)) {
        Ok(fingerprint) => {
            // Functions on other threads have ended as well by now.
            world.check_gone();
            world.violation().map_or(Ok(fingerprint), Err)
        }
        Err(Failure::Panicked { message, .. }) => Err(format!("a panic: {message}")),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The reason of a rejection that is counted.
#[derive(Clone, Copy, Debug)]
struct Counted(usize);

fn build(options: Options, world: &Arc<World>) -> Option<EventLoop> {
    let world = Arc::clone(world);
    let mode = if options.polls { FastPathMode::Disabled } else { FastPathMode::Auto };
    let profile = if options.safe { Profile::MaximumSafety } else { Profile::Performance };
    let spin = Duration::from_micros(if options.spins { 20 } else { 0 });
    EventLoop::builder()
        .fast_path(mode)
        .profile(profile)
        .strict_microtasks(options.strict)
        .catch_up_timers(options.catches_up)
        .external_budget(options.budget)
        .high_water_mark(options.high_water_mark)
        .max_workers(options.workers)
        .max_spin(spin)
        .on_uncaught(|_, _| ())
        .on_unhandled_rejection(move |_, rejection| {
            if let Some(Counted(number)) = rejection.reason().value() {
                world.rejection_reported(*number);
            }
        })
        .build()
        // No descriptors are left.
        .ok()
}

/// The first simulated thread, which is the loop's.
fn play(program: &Program, world: &Arc<World>) -> u64 {
    let Some(event_loop) = build(program.options, world) else { return sim::fingerprint() };
    let place = |who| Place { world: Arc::clone(world), handle: event_loop.handle(), who };
    let others: Vec<_> = program.others.iter().cloned().enumerate().collect();
    let others: Vec<_> = others
        .into_iter()
        .map(|(index, ops)| {
            let place = place(index + 1);
            sim::spawn(move || place.run(None, &ops))
        })
        .collect();
    world.lock().is_forced = program.ending.is_forced();
    place(0).run(Some(event_loop.cx()), &program.first);
    let result = match program.ending {
        Ending::Idle { turns } => {
            let closer = place(usize::MAX);
            let closer = sim::spawn(move || {
                let all_ended = others.into_iter().all(|thread| thread.join().is_ok());
                closer.hang_up_all();
                closer.unregister_deaf();
                all_ended
            });
            let result = idle(&event_loop, turns);
            let mut result = result.and_then(|()| {
                assert!(closer.join().unwrap_or(false), "no thread panics");
                // What came after it was idle.
                idle(&event_loop, turns)
            });
            if result.is_ok() {
                world.check_idle(program.options.faults < 2);
            } else if event_loop.state() == LoopState::Terminated {
                result = Ok(());
            }
            result
        }
        ending => {
            let mut closers = Vec::new();
            let after = match ending {
                Ending::Shutdown { after, twice } => {
                    for _ in 0..=usize::from(twice) {
                        let closer = place(usize::MAX);
                        closers.push(sim::spawn(move || {
                            sim::sleep(Duration::from_micros(after.into()));
                            let ended = closer.handle.shutdown(Deadline::NEVER);
                            // One of two is told that somebody else has begun.
                            drop(ended);
                            assert_eq!(closer.handle.state(), LoopState::Terminated);
                        }));
                    }
                    None
                }
                Ending::Hurried { after, patience } => {
                    let closer = place(usize::MAX);
                    closers.push(sim::spawn(move || {
                        sim::sleep(Duration::from_micros(after.into()));
                        closer.world.is_over_after(patience);
                        // Whether it was in time is of no importance.
                        drop(closer.handle.shutdown(Duration::from_micros(patience.into())));
                    }));
                    None
                }
                Ending::FromWithin { after } => Some((after, false)),
                Ending::Close { after } => Some((after, true)),
                Ending::Idle { .. } => None,
            };
            if let Some((after, closes)) = after {
                let closer = place(usize::MAX);
                closers.push(sim::spawn(move || {
                    sim::sleep(Duration::from_micros(after.into()));
                    if closes {
                        closer.world.is_over_after(0);
                    }
                    if closes || closer.handle.submit_internal(Cx::shutdown).is_err() {
                        closer.handle.close();
                    }
                }));
            }
            let result = event_loop.run();
            world.check_returned();
            for thread in closers.into_iter().chain(others) {
                assert!(thread.join().is_ok(), "no thread panics");
            }
            let is_drained = match ending {
                Ending::Shutdown { .. } => true,
                Ending::FromWithin { .. } => program.options.high_water_mark > 2,
                _ => false,
            };
            match result {
                // It has ended before it was driven: what it had is dropped.
                Err(Error::Terminated) => Ok(()),
                Ok(()) if is_drained => {
                    world.check_drained();
                    Ok(())
                }
                result => result,
            }
        }
    };
    if let Err(error) = result {
        world.violate(format!("the loop has failed: {error}"));
    }
    let is_over = !matches!(program.ending, Ending::Idle { .. });
    if is_over && event_loop.state() == LoopState::Terminated {
        world.check_ended();
    }
    drop(event_loop);
    let mut state = world.lock();
    let own = (
        std::mem::take(&mut state.promises),
        std::mem::take(&mut state.derived),
        std::mem::take(&mut state.streams),
        std::mem::take(&mut state.aborts),
    );
    drop(state);
    drop(own);
    if sim::open_descriptors() != 0 {
        world.violate(format!("{} descriptors are left", sim::open_descriptors()));
    }
    sim::fingerprint()
}

fn idle(event_loop: &EventLoop, turns: bool) -> Result<(), Error> {
    if !turns {
        return event_loop.run_until_idle();
    }
    for number in 0.. {
        // Some, so that functions that take an hour do not take too many.
        let millis = if number < 64 { 1 } else { 60_000 };
        let turn = event_loop.turn(Duration::from_millis(millis))?;
        if turn.callbacks == 0 && !turn.ready && !event_loop.cx().is_alive() {
            break;
        }
    }
    Ok(())
}

/// Where steps are made.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) world: Arc<World>,
    pub(crate) handle: Handle,
    pub(crate) who: Who,
}

impl Place {
    /// Makes steps: on the loop's thread, which has its context, or on another one.
    pub(crate) fn run(&self, cx: Option<&Cx>, ops: &[Op]) {
        for op in ops {
            sim::point();
            self.step(cx, op);
        }
    }

    /// A callback.
    fn callback(&self, mut token: Token, body: &Body) -> impl FnOnce(&Cx) + Send + 'static {
        let (place, body) = (Place { who: 0, ..self.clone() }, Arc::clone(body));
        move |cx| {
            token.begin();
            place.run(Some(cx), &body);
        }
    }

    fn step(&self, cx: Option<&Cx>, op: &Op) {
        let world = &self.world;
        match op {
            Op::Submit(lane, body) => {
                let token = world.offer(Kind::Task(*lane, self.who));
                let (item, task) = (token.item(), self.callback(token, body));
                let result = match (cx, lane) {
                    (Some(cx), Lane::External) => cx.submit(task).map_err(drop),
                    (Some(cx), Lane::Internal) => cx.submit_internal(task).map_err(drop),
                    (None, Lane::External) => self.handle.submit(task).map_err(drop),
                    (None, Lane::Internal) => self.handle.submit_internal(task).map_err(drop),
                };
                world.offered(item, result.is_ok());
            }
            Op::Microtask(body) => {
                let token = world.offer(Kind::Microtask(self.who));
                let (item, task) = (token.item(), self.callback(token, body));
                let result = match cx {
                    Some(cx) => cx.try_queue_microtask(task).map_err(drop),
                    None => self.handle.queue_microtask(task).map_err(drop),
                };
                world.offered(item, result.is_ok());
            }
            Op::NextTick(body) => {
                let Some(cx) = cx else { return };
                let token = world.offer(Kind::NextTick);
                let item = token.item();
                world.offered(item, true);
                // At the end of the loop it is dropped.
                world.is_not_owed(item);
                cx.next_tick(self.callback(token, body));
            }
            Op::Immediate(body) => {
                let Some(cx) = cx else { return };
                let token = world.offer(Kind::Immediate);
                world.offered(token.item(), true);
                cx.set_immediate(self.callback(token, body));
            }
            Op::Timeout(..)
            | Op::Interval(..)
            | Op::Clear(_)
            | Op::Reset(..)
            | Op::Unreference(_) => {
                let is_sender = usize::from(cx.is_none());
                world.lock().senders += is_sender;
                self.timer(cx, op);
                world.lock().senders -= is_sender;
            }
            Op::Promise(body) => {
                let (promise, resolver) = Promise::with_resolvers(&self.handle);
                let mut state = world.lock();
                let number = state.promises.len();
                state.promises.push((promise.clone(), Arc::new(resolver)));
                state.fulfilled.push(false);
                drop(state);
                self.react(&promise, number, body);
            }
            Op::Then(which, body) => {
                let state = world.lock();
                let Some(number) = usize::from(*which).checked_rem(state.promises.len()) else {
                    return;
                };
                let promise = state.promises[number].0.clone();
                drop(state);
                self.react(&promise, number, body);
            }
            Op::Settle(which, fulfils) => {
                let state = world.lock();
                let Some(number) = usize::from(*which).checked_rem(state.promises.len()) else {
                    return;
                };
                let resolver = Arc::clone(&state.promises[number].1);
                drop(state);
                if *fulfils {
                    if resolver.resolve(7) {
                        world.lock().fulfilled[number] = true;
                    }
                } else {
                    resolver.reject(Rejection::from_value("no"));
                }
            }
            Op::Offload(micros, panics, body) => {
                let (micros, panics) = (*micros, *panics);
                self.offload(panics, body, move |_| {
                    sim::sleep(Duration::from_micros(micros.into()));
                    assert!(!panics, "a function that panics");
                });
            }
            Op::Stuck(heeds, body) => {
                let heeds = *heeds;
                self.offload(false, body, move |signal| {
                    let mut left = 36;
                    while left > 0 && !(heeds && signal.aborted()) {
                        sim::sleep(Duration::from_secs(100));
                        left -= 1;
                    }
                });
            }
            Op::Chain(is_micro, micros) => {
                if let Some(cx) = cx {
                    self.chain(cx, *is_micro, *micros);
                }
            }
            Op::Abort(which) => {
                let state = world.lock();
                let Some(number) = usize::from(*which).checked_rem(state.aborts.len()) else {
                    return;
                };
                let controller = Arc::clone(&state.aborts[number]);
                drop(state);
                world.no_result_is_owed();
                controller.abort();
            }
            Op::Combine(which, other, follows) => self.combine(*which, *other, *follows),
            Op::Reject(heard) => {
                let number = world.new_rejection(*heard != Heard::Caught);
                let reason = Rejection::from_value(Counted(number));
                let promise = Promise::<u32>::reject(&self.handle, reason);
                match heard {
                    Heard::Nobody => {}
                    Heard::Half => drop(promise.then(|_, _| ())),
                    Heard::Caught => drop(promise.catch(|_, _| 0)),
                }
            }
            Op::Watch(wish, body) => self.watch(cx, *wish, body),
            Op::Send(which, bytes) => self.send(usize::from(*which), *bytes),
            Op::HangUp(which) => {
                let mut state = world.lock();
                if let Some(number) = usize::from(*which).checked_rem(state.streams.len()) {
                    let far = state.streams[number].far.take();
                    drop(state);
                    drop(far);
                }
            }
            Op::Unwatch(which) => {
                let Some(cx) = cx else { return };
                let mut state = world.lock();
                let Some(number) = usize::from(*which).checked_rem(state.streams.len()) else {
                    return;
                };
                let stream = &mut state.streams[number];
                if !stream.is_registered || stream.is_unregistered {
                    return;
                }
                stream.is_unregistered = true;
                let fd = stream.fd;
                drop(state);
                self.unregister(cx, number, fd);
            }
            Op::Switch(polls) => {
                let mode = if *polls { FastPathMode::Disabled } else { FastPathMode::Auto };
                // Refused where there are no descriptors, or no loop.
                let _ = self.handle.set_fast_path(mode);
            }
            Op::Wake => self.handle.wake(),
            Op::Sleep(micros) => sim::sleep(Duration::from_micros((*micros).into())),
            Op::Panic => panic!("a callback that panics"),
        }
    }

    /// A function on another thread, and what is done with its result.
    fn offload(
        &self,
        panics: bool,
        body: &Body,
        function: impl FnOnce(&AbortSignal) + Send + 'static,
    ) {
        let world = &self.world;
        let token = world.offer(Kind::Result);
        let item = token.item();
        if panics {
            world.is_not_owed(item);
        }
        let controller = AbortController::new();
        let signal = controller.signal();
        // Whoever aborts one says so for all.
        world.lock().aborts.push(Arc::new(controller));
        let promise = self.handle.promisify(&signal, move |signal| {
            function(signal);
            Ok::<_, Rejection>(1)
        });
        let callback = self.callback(token, body);
        world.offered(item, true);
        let derived = promise.then(move |cx, _: u32| callback(cx));
        derived.catch(|_, _| ());
        self.keep(derived);
    }

    fn react(&self, promise: &Promise<u32>, number: usize, body: &Body) {
        let token = self.world.offer(Kind::Reaction(number));
        self.world.offered(token.item(), true);
        let callback = self.callback(token, body);
        let derived = promise.then(move |cx, _| callback(cx));
        derived.catch(|_, _| ());
        self.keep(derived);
    }

    /// Keeps a promise that was made of others, to look at it at the end.
    fn keep<T: Clone + Send + 'static>(&self, promise: Promise<T>) {
        let is_pending = move || promise.state() == PromiseState::Pending;
        self.world.lock().derived.push(Box::new(is_pending));
    }

    fn combine(&self, which: u8, other: u8, follows: bool) {
        let state = self.world.lock();
        let count = state.promises.len();
        let Some(one) = usize::from(which).checked_rem(count) else { return };
        let (promise, resolver) = state.promises[one].clone();
        let other = state.promises[usize::from(other) % count].0.clone();
        drop(state);
        if follows {
            resolver.adopt(&other);
            return;
        }
        let both = Promise::all(&self.handle, [promise, other]);
        both.catch(|_, _| Vec::new());
        self.keep(both);
    }

    fn timer(&self, cx: Option<&Cx>, op: &Op) {
        let world = &self.world;
        let find = |which: u8| {
            let state = world.lock();
            let number = usize::from(which).checked_rem(state.timers.len())?;
            Some((number, state.timers[number].id?))
        };
        match op {
            Op::Timeout(micros, body) => {
                let token = world.offer(Kind::Immediate);
                let item = token.item();
                let number = world.new_timer(item, self.who, *micros, false);
                let callback = self.callback(token, body);
                let delay = Duration::from_micros((*micros).into());
                let result = match cx {
                    Some(cx) => cx.set_timeout(delay, callback).map_err(drop),
                    None => self.handle.set_timeout(delay, callback).map_err(drop),
                };
                world.timer_set(number, *micros, result.ok());
                world.offered(item, result.is_ok());
            }
            Op::Interval(micros, times) => {
                let mut token = world.offer(Kind::Immediate);
                let item = token.item();
                let number = world.new_timer(item, self.who, *micros, true);
                let mut left = *times;
                let own = Arc::clone(world);
                let callback = move |cx: &Cx| {
                    token.begin();
                    left -= 1;
                    if left == 0
                        && let Some(id) = cx.current_interval()
                        && cx.clear_interval(id)
                    {
                        own.timer_cleared(number, 0);
                    }
                };
                let period = Duration::from_micros((*micros).into());
                let result = match cx {
                    Some(cx) => cx.set_interval(period, callback).map_err(drop),
                    None => self.handle.set_interval(period, callback).map_err(drop),
                };
                world.timer_set(number, *micros, result.ok());
                world.offered(item, result.is_ok());
            }
            Op::Clear(which) => {
                let Some((number, id)) = find(*which) else { return };
                world.timer_may_be_cleared(number);
                let is_cleared = match cx {
                    Some(cx) => cx.clear_timeout(id),
                    None => self.handle.clear_timeout(id),
                };
                if is_cleared {
                    world.timer_cleared(number, self.who);
                }
            }
            Op::Reset(which, micros) => {
                let (Some(cx), Some((number, id))) = (cx, find(*which)) else { return };
                let begin = sim::elapsed().as_nanos() as u64;
                if cx.reset_timeout(id, Duration::from_micros((*micros).into())).is_ok() {
                    world.timer_reset(number, begin, *micros);
                }
            }
            Op::Unreference(which) => {
                let Some((number, id)) = find(*which) else { return };
                world.timer_is_not_owed(number);
                let _ = match cx {
                    Some(cx) => cx.reference_timer(id, false),
                    None => self.handle.reference_timer(id, false),
                };
            }
            _ => unreachable!("a step of timers"),
        }
    }
}
