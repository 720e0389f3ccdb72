//! The threads of a simulation: coroutines, of which one runs at a time.
//!
//! # Rules
//!
//! 1. A simulated thread runs until it comes to a *point*, at which another one may be chosen; blocks; or ends.
//!    Points are where the loop's protocols can be interrupted ([`probe`](crate::probe)), where a lock is
//!    taken, and where a program asks for one.
//! 2. Which thread is next is a random choice among those that can run. One that comes to a point may also stand
//!    still there for a while, whatever the others do meanwhile.
//! 3. Time passes a little at every point, and jumps to the earliest deadline when no thread can run.
//! 4. If no thread can run, none has a deadline, and not all have ended, the program is stuck.
//!
//! All choices come from one seed, and nothing else is asked: not the real clock, not the addresses of things. So
//! the same program with the same seed does exactly the same.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::faults::Faults;
use super::kernel::Kernel;
use super::rng::Rng;

/// The stack of a simulated thread.
const STACK: usize = 256 << 10;

/// A deadline that never comes.
pub(crate) const NEVER: i64 = i64::MAX;

/// The first moment. Always the same, because where the loop keeps a timer depends on the number of its deadline.
const BEGINNING: i64 = 1 << 40;

/// How far time passes at a point, at the most, in nanoseconds.
const PACE: u64 = 2_000;

type Fiber = Coroutine<(), (), ()>;

/// A simulated thread.
pub(crate) type ThreadId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Until it is woken, or this time has come.
    Blocked(i64),
    Done,
}

struct Thread {
    name: Rc<str>,
    /// Zero if it has none yet.
    number: Cell<u64>,
    state: Cell<State>,
    /// What it waits for, if it does.
    waits_for: Cell<&'static str>,
    /// Whether its last wait was ended by somebody.
    was_woken: Cell<bool>,
    /// Not while it runs.
    fiber: RefCell<Option<Fiber>>,
    /// Set while the fiber exists.
    yielder: Cell<*const Yielder<(), ()>>,
    /// Whether its next park returns at once.
    has_token: Cell<bool>,
    locals: RefCell<Vec<(usize, Rc<dyn Any>)>>,
    /// Who waits for its end.
    joiner: Cell<Option<ThreadId>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Scheduler>>> = const { RefCell::new(None) };
    /// Stacks are used again: to map one costs more than many simulations.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The simulation that the current thread is in, if any.
pub(crate) fn current() -> Option<Rc<Scheduler>> {
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
}

/// See the [module documentation](self).
pub(crate) struct Scheduler {
    pub(crate) rng: Rng,
    pub(crate) faults: Faults,
    pub(crate) kernel: RefCell<Kernel>,
    threads: RefCell<Vec<Rc<Thread>>>,
    running: Cell<ThreadId>,
    /// How often a point changes the thread, in thousandths.
    preemption: u16,
    now: Cell<i64>,
    steps: Cell<u64>,
    max_steps: u64,
    /// Of all choices.
    fingerprint: Cell<u64>,
    /// Of threads that nobody has joined.
    panics: RefCell<Vec<(ThreadId, String)>>,
}

/// Why a simulation did not come to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Threads, with what each waits for.
    Stuck(Vec<(String, &'static str)>),
    Endless,
}

impl Scheduler {
    pub(crate) fn new(seed: u64, faults: Faults, max_steps: u64) -> Rc<Self> {
        let rng = Rng::new(seed);
        // Some programs fail where threads change often, others where they hardly do.
        let preemption = [0, 20, 100, 300, 600][rng.below(5) as usize];
        Rc::new(Self {
            rng,
            faults,
            kernel: RefCell::default(),
            threads: RefCell::default(),
            running: Cell::new(0),
            preemption,
            now: Cell::new(BEGINNING),
            steps: Cell::new(0),
            max_steps,
            fingerprint: Cell::new(seed),
            panics: RefCell::default(),
        })
    }

    /// Runs all threads to their ends.
    pub(crate) fn run(self: &Rc<Self>) -> Result<(), Stop> {
        /// Also if a thread's panic comes through.
        struct Restore(Option<Rc<Scheduler>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| *current.borrow_mut() = self.0.take());
            }
        }
        let _restore =
            Restore(CURRENT.with(|current| current.borrow_mut().replace(Rc::clone(self))));
        let result = self.run_all();
        if result.is_err() {
            self.abandon();
        }
        result
    }

    fn run_all(self: &Rc<Self>) -> Result<(), Stop> {
        while let Some(next) = self.choose()? {
            if self.steps.get() > self.max_steps {
                return Err(Stop::Endless);
            }
            self.resume(next);
        }
        Ok(())
    }

    /// Leaves the stacks of what is stuck alone for ever: to unwind them would run code that blocks again.
    fn abandon(&self) {
        for thread in self.threads.borrow().iter() {
            std::mem::forget(thread.fiber.take());
            std::mem::forget(thread.locals.take());
        }
    }

    /// The thread that runs next. Time passes if none can.
    fn choose(&self) -> Result<Option<ThreadId>, Stop> {
        let threads = self.threads.borrow();
        loop {
            let now = self.now.get();
            let can_run = |thread: &Rc<Thread>| match thread.state.get() {
                State::Ready => true,
                State::Blocked(until) => until <= now,
                State::Done => false,
            };
            let count = threads.iter().filter(|thread| can_run(thread)).count();
            if count > 0 {
                let chosen = self.rng.below(count as u64) as usize;
                let next = (0..threads.len()).filter(|&id| can_run(&threads[id])).nth(chosen);
                return Ok(next);
            }
            let untils = threads.iter().filter_map(|thread| match thread.state.get() {
                State::Blocked(until) if until != NEVER => Some(until),
                _ => None,
            });
            if let Some(until) = untils.min() {
                self.now.set(until.saturating_add(self.lateness()));
            } else if threads.iter().all(|thread| thread.state.get() == State::Done) {
                return Ok(None);
            } else {
                let stuck = threads.iter().filter(|thread| thread.state.get() != State::Done);
                return Err(Stop::Stuck(
                    stuck.map(|it| (it.name.to_string(), it.waits_for.get())).collect(),
                ));
            }
        }
    }

    /// How much later than it could something happens.
    fn lateness(&self) -> i64 {
        if self.rng.chance(self.faults.lateness) {
            self.rng.below(self.faults.late.as_nanos() as u64) as i64
        } else {
            0
        }
    }

    fn resume(&self, id: ThreadId) {
        let thread = self.thread(id);
        thread.state.set(State::Ready);
        let previous = self.running.replace(id);
        self.mix(id as u64);
        let Some(mut fiber) = thread.fiber.take() else { return };
        match fiber.resume(()) {
            CoroutineResult::Yield(()) => *thread.fiber.borrow_mut() = Some(fiber),
            CoroutineResult::Return(()) => {
                thread.state.set(State::Done);
                let stack = fiber.into_stack();
                let _ = STACKS.try_with(|stacks| stacks.borrow_mut().push(stack));
                if let Some(joiner) = thread.joiner.take() {
                    self.wake(joiner);
                }
            }
        }
        self.running.set(previous);
    }

    fn thread(&self, id: ThreadId) -> Rc<Thread> {
        Rc::clone(&self.threads.borrow()[id])
    }

    fn mix(&self, choice: u64) {
        let mixed = (self.fingerprint.get() ^ choice).wrapping_mul(0x0000_0100_0000_01B3);
        self.fingerprint.set(mixed.rotate_left(7) ^ self.now.get() as u64);
    }

    /// A number for all that was chosen so far: the same if and only if the same was done, most likely.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint.get()
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Adds a thread.
    pub(crate) fn spawn(
        self: &Rc<Self>,
        name: Option<String>,
        body: Box<dyn FnOnce()>,
    ) -> std::io::Result<ThreadId> {
        let id = self.threads.borrow().len();
        let stack = STACKS.with(|stacks| stacks.borrow_mut().pop());
        let stack = stack.map_or_else(|| DefaultStack::new(STACK), Ok)?;
        let thread = Rc::new(Thread {
            name: name.unwrap_or_else(|| format!("thread {id}")).into(),
            number: Cell::new(0),
            state: Cell::new(State::Ready),
            waits_for: Cell::new(""),
            was_woken: Cell::new(false),
            fiber: RefCell::new(None),
            yielder: Cell::new(ptr::null()),
            has_token: Cell::new(false),
            locals: RefCell::default(),
            joiner: Cell::new(None),
        });
        let own = Rc::downgrade(&thread);
        let fiber = Fiber::with_stack(stack, move |yielder, ()| {
            if let Some(thread) = own.upgrade() {
                thread.yielder.set(yielder);
                drop(thread);
                // What its end makes of a panic is up to the body.
                let _ = catch_unwind(AssertUnwindSafe(body));
                if let Some(thread) = own.upgrade() {
                    drop(thread.locals.take());
                }
            }
        });
        *thread.fiber.borrow_mut() = Some(fiber);
        self.threads.borrow_mut().push(thread);
        Ok(id)
    }

    /// The running thread has panicked.
    pub(crate) fn note_panic(&self, message: String) {
        self.panics.borrow_mut().push((self.running.get(), message));
    }

    /// Somebody has heard of it.
    pub(crate) fn forget_panic(&self, id: ThreadId) {
        self.panics.borrow_mut().retain(|(thread, _)| *thread != id);
    }

    /// What a thread panicked with that nobody has joined.
    pub(crate) fn panic(&self) -> Option<String> {
        self.panics.borrow().first().map(|(_, message)| message.clone())
    }

    pub(crate) fn running(&self) -> ThreadId {
        self.running.get()
    }

    /// Gives the processor away.
    fn suspend(&self) {
        let thread = self.thread(self.running.get());
        let yielder = thread.yielder.get();
        drop(thread);
        // SAFETY: the running thread's fiber has set it, and lives as long as the fiber runs, which is this call.
        unsafe { (*yielder).suspend(()) };
    }

    /// A place where another thread may run first.
    pub(crate) fn point(&self) {
        self.pass(if self.faults.still { 0 } else { self.rng.below(PACE) });
        if self.rng.chance(self.faults.stalled) {
            self.stand_still();
        } else if self.rng.chance(self.preemption) {
            self.give_way();
        }
    }

    /// Lets all others run for a while, which can be all of what they have to do. Not in the middle of a panic.
    fn stand_still(&self) {
        if !std::thread::panicking() {
            let pause = self.rng.below(self.faults.late.as_nanos() as u64) as i64;
            let thread = self.thread(self.running.get());
            thread.waits_for.set("a processor");
            thread.state.set(State::Blocked(self.now.get().saturating_add(pause)));
            self.suspend();
        }
    }

    /// Lets another thread run, if there is one. Not in the middle of a panic, of which the system's threads know
    /// their own only.
    pub(crate) fn give_way(&self) {
        let others = self.threads.borrow();
        let now = self.now.get();
        let is_alone = others.iter().enumerate().all(|(id, thread)| {
            id == self.running.get()
                || match thread.state.get() {
                    State::Ready => false,
                    State::Blocked(until) => until > now,
                    State::Done => true,
                }
        });
        drop(others);
        if !is_alone && !std::thread::panicking() {
            self.suspend();
        }
    }

    /// Waits until somebody wakes the running thread, or the time has come. Tells whether it was woken.
    pub(crate) fn block(&self, until: i64, reason: &'static str) -> bool {
        self.pass(0);
        if self.rng.chance(self.faults.spurious) {
            self.give_way();
            return true;
        }
        let thread = self.thread(self.running.get());
        thread.was_woken.set(false);
        thread.waits_for.set(reason);
        thread.state.set(State::Blocked(until));
        self.suspend();
        thread.was_woken.get()
    }

    /// Ends the wait of a thread.
    pub(crate) fn wake(&self, id: ThreadId) {
        let thread = self.thread(id);
        if let State::Blocked(until) = thread.state.get() {
            thread.was_woken.set(true);
            let at = self.now.get().saturating_add(self.lateness());
            thread.state.set(State::Blocked(until.min(at)));
        }
    }

    /// Lets time pass, and counts a step.
    pub(crate) fn pass(&self, nanoseconds: u64) {
        self.steps.set(self.steps.get() + 1);
        self.now.set(self.now.get().saturating_add(nanoseconds as i64));
        if self.steps.get() > self.max_steps && !std::thread::panicking() {
            // The scheduler ends it.
            self.suspend();
        }
    }

    pub(crate) fn now(&self) -> i64 {
        self.now.get()
    }

    /// How much time has passed.
    pub(crate) fn elapsed(&self) -> i64 {
        self.now.get() - BEGINNING
    }

    pub(crate) fn is_done(&self, id: ThreadId) -> bool {
        self.thread(id).state.get() == State::Done
    }

    /// Waits for the end of a thread.
    pub(crate) fn join(&self, id: ThreadId) {
        while !self.is_done(id) {
            self.thread(id).joiner.set(Some(self.running.get()));
            self.block(NEVER, "the end of a thread");
        }
    }

    pub(crate) fn park(&self, until: i64) {
        let thread = self.thread(self.running.get());
        self.point();
        if !thread.has_token.replace(false) {
            self.block(until, "being unparked");
            thread.has_token.set(false);
        }
    }

    pub(crate) fn unpark(&self, id: ThreadId) {
        self.thread(id).has_token.set(true);
        self.wake(id);
    }

    /// The number by which the running thread is known to loops.
    pub(crate) fn thread_number(&self, new: fn() -> u64) -> u64 {
        let thread = self.thread(self.running.get());
        if thread.number.get() == 0 {
            thread.number.set(new());
        }
        thread.number.get()
    }

    /// The value of a thread-local variable.
    pub(crate) fn local<T: 'static>(&self, key: usize, init: fn() -> T) -> Rc<T> {
        let thread = self.thread(self.running.get());
        let find = || {
            let locals = thread.locals.borrow();
            locals.iter().find(|(other, _)| *other == key).map(|(_, value)| Rc::clone(value))
        };
        let value = find().unwrap_or_else(|| {
            let value: Rc<dyn Any> = Rc::new(init());
            thread.locals.borrow_mut().push((key, Rc::clone(&value)));
            value
        });
        match value.downcast() {
            Ok(value) => value,
            Err(_) => unreachable!("a key is for one type"),
        }
    }
}

/// Threads that wait for something, the first one first.
#[derive(Debug, Default)]
pub(crate) struct Waiters(VecDeque<ThreadId>);

impl Waiters {
    pub(crate) fn push(&mut self, id: ThreadId) {
        self.0.push_back(id);
    }

    pub(crate) fn remove(&mut self, id: ThreadId) {
        self.0.retain(|other| *other != id);
    }

    /// Takes one of them, whichever.
    pub(crate) fn any(&mut self, rng: &Rng) -> Option<ThreadId> {
        self.0.remove(rng.below(self.0.len() as u64) as usize)
    }
}
