//! The oracle: everything that a program has asked for, what became of it, and the rules that must hold.
//!
//! 1. What was accepted is run exactly once, or dropped; what was refused is neither.
//! 2. Tasks of one thread in one lane run in their order; so do microtasks and next ticks of the loop's thread.
//! 3. When a task, timer or immediate begins, no microtask or next tick is left from before.
//! 4. No timer fires early, before one that was due before it, after it was cleared, or twice.
//! 5. A watcher hears of its own stream alone, in order, when there is something to hear, and of nothing after it was
//!    unregistered.
//! 6. A loop that has become idle has run everything; one that was shut down, all tasks; nothing is left of one that
//!    is gone. Of one that has ended no promise is pending, and no stream is watched.
//!    One that is closed, or out of time, waits for no function on another thread, and for no work that never ends.
//! 7. A rejection that nobody handles is reported once, any other never.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainspring::sim::{self, Stream};
use mainspring::{AbortController, Promise, PromiseState, Resolver, TimerId};

use crate::program::{Lane, Wish};

/// Which thread: 0 is the loop's.
pub(crate) type Who = usize;

/// What kind of callback it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Task(Lane, Who),
    Microtask(Who),
    NextTick,
    Immediate,
    /// The number of the timer.
    Timer(usize),
    /// The number of the promise.
    Reaction(usize),
    /// Of a function on another thread.
    Result,
}

/// A callback that was offered to the loop.
#[derive(Debug)]
struct Item {
    kind: Kind,
    is_accepted: bool,
    is_refused: bool,
    runs: u32,
    is_dropped: bool,
    /// Whether an idle loop must have run it.
    is_owed: bool,
}

#[derive(Debug)]
pub(crate) struct Timer {
    item: usize,
    pub(crate) id: Option<TimerId>,
    by: Who,
    /// When it was set, or set anew: the how-manieth event of that kind.
    turn: usize,
    /// Between these two times it is due, in nanoseconds.
    due: (u64, u64),
    is_interval: bool,
    is_over: bool,
    is_cleared: bool,
    /// It was sent to the loop while another thread was doing the same: that one may be in front of it, and not
    /// be complete for a while.
    is_shadowed: bool,
    /// Somebody is about to clear it, or has tried.
    may_be_cleared: bool,
    /// A call of an interval may have begun just before another thread has cleared it.
    may_have_begun: bool,
}

#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) fd: i32,
    pub(crate) wish: Wish,
    pub(crate) far: Option<Arc<Stream>>,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) is_registered: bool,
    pub(crate) is_unregistered: bool,
    /// Somebody writes to it.
    pub(crate) is_busy: bool,
}

#[derive(Default)]
pub(crate) struct State {
    items: Vec<Item>,
    pub(crate) timers: Vec<Timer>,
    pub(crate) promises: Vec<(Promise<u32>, Arc<Resolver<u32>>)>,
    pub(crate) fulfilled: Vec<bool>,
    /// Each tells whether a promise is pending that was made of others.
    pub(crate) derived: Vec<Box<dyn Fn() -> bool + Send>>,
    /// How often each rejection has to be reported, and was.
    rejections: Vec<(u32, u32)>,
    pub(crate) aborts: Vec<Arc<AbortController>>,
    pub(crate) streams: Vec<Watched>,
    /// Callbacks that wait, by thread and lane, the next one first.
    tasks: BTreeMap<(Who, bool), VecDeque<usize>>,
    microtasks: VecDeque<usize>,
    next_ticks: VecDeque<usize>,
    turns: usize,
    /// How many other threads are about to send something about timers.
    pub(crate) senders: usize,
    /// Microtasks may be left to the next tick, because there are too many.
    pub(crate) is_flooded: bool,
    /// The loop ends whatever its callbacks do.
    pub(crate) is_forced: bool,
    /// From when on the loop has to end, in nanoseconds.
    pub(crate) over: Option<u64>,
    /// No more streams.
    pub(crate) is_closing: bool,
    violation: Option<String>,
}

/// See the [module documentation](self).
#[derive(Default)]
pub(crate) struct World(Mutex<State>);

/// What a callback has captured: tells the world when it is dropped.
pub(crate) struct Token {
    world: Arc<World>,
    item: usize,
    has_run: bool,
}

/// So long a loop may take to end that has to, in nanoseconds: much longer than all steps of a program, much shorter
/// than a function that is stuck.
const FAREWELL: u64 = 60_000_000_000;

/// How long a thread may need to go on that can.
const HAND_OVER: Duration = Duration::from_millis(50);

fn now() -> u64 {
    sim::elapsed().as_nanos() as u64
}

impl World {
    /// Never while another thread may run.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A callback is about to be offered.
    pub(crate) fn offer(self: &Arc<Self>, kind: Kind) -> Token {
        let mut state = self.lock();
        let item = state.items.len();
        state.items.push(Item {
            kind,
            is_accepted: false,
            is_refused: false,
            runs: 0,
            is_dropped: false,
            is_owed: true,
        });
        match kind {
            Kind::Task(lane, who) => {
                let queue = (who, lane == Lane::Internal);
                state.tasks.entry(queue).or_default().push_back(item);
            }
            Kind::Microtask(0) => state.microtasks.push_back(item),
            Kind::NextTick => state.next_ticks.push_back(item),
            _ => {}
        }
        Token { world: Arc::clone(self), item, has_run: false }
    }

    /// What the loop said to it.
    pub(crate) fn offered(&self, item: usize, is_accepted: bool) {
        let mut state = self.lock();
        let it = &mut state.items[item];
        it.is_accepted = is_accepted;
        it.is_refused = !is_accepted;
        let was_run = it.runs > 0;
        if !is_accepted {
            state.forget(item);
            if was_run {
                state.violate(format!("item {item} was refused, and run all the same"));
            }
        }
    }

    /// A timer is about to be set.
    pub(crate) fn new_timer(&self, item: usize, by: Who, micros: u32, is_interval: bool) -> usize {
        let mut state = self.lock();
        let number = state.timers.len();
        let due = now() + u64::from(micros) * 1_000;
        let turn = state.next_turn();
        state.timers.push(Timer {
            item,
            id: None,
            by,
            turn,
            due: (due, u64::MAX),
            is_interval,
            is_over: false,
            is_cleared: false,
            is_shadowed: false,
            may_be_cleared: false,
            may_have_begun: false,
        });
        state.items[item].kind = Kind::Timer(number);
        number
    }

    /// It was, or was refused.
    pub(crate) fn timer_set(&self, number: usize, micros: u32, id: Option<TimerId>) {
        let mut state = self.lock();
        let latest = now() + u64::from(micros) * 1_000;
        let is_shadowed = state.senders > 1;
        let timer = &mut state.timers[number];
        timer.id = id;
        timer.is_shadowed = is_shadowed;
        timer.due.1 = latest;
        timer.is_over |= id.is_none();
    }

    /// A timer is about to be cleared.
    pub(crate) fn timer_may_be_cleared(&self, number: usize) {
        self.lock().timers[number].may_be_cleared = true;
    }

    /// A timer was cleared, by somebody who was told so.
    pub(crate) fn timer_cleared(&self, number: usize, by: Who) {
        let mut state = self.lock();
        let timer = &mut state.timers[number];
        timer.may_have_begun = timer.is_interval && by != 0;
        let was_over = timer.is_over && !timer.is_interval;
        timer.is_cleared = true;
        timer.is_over = true;
        let item = timer.item;
        state.items[item].is_owed = false;
        if was_over {
            state.violate(format!("timer {number} was cleared, although it was over"));
        }
    }

    /// It is set anew, from `begin` on.
    pub(crate) fn timer_reset(&self, number: usize, begin: u64, micros: u32) {
        let latest = now();
        let later = |time: u64| time + u64::from(micros) * 1_000;
        let mut state = self.lock();
        let turn = state.next_turn();
        let timer = &mut state.timers[number];
        // Timers are reset by the loop's thread.
        (timer.due, timer.by, timer.turn) = ((later(begin), later(latest)), 0, turn);
    }

    /// A promise is about to be rejected, which has to be reported or not.
    pub(crate) fn new_rejection(&self, is_reported: bool) -> usize {
        let mut state = self.lock();
        state.rejections.push((u32::from(is_reported), 0));
        state.rejections.len() - 1
    }

    /// Rule 7.
    pub(crate) fn rejection_reported(&self, number: usize) {
        let mut state = self.lock();
        let (expected, reported) = &mut state.rejections[number];
        *reported += 1;
        let (expected, reported) = (*expected, *reported);
        if reported > expected {
            state.violate(format!(
                "rejection {number} was reported {reported} times instead of {expected}"
            ));
        }
    }

    pub(crate) fn is_not_owed(&self, item: usize) {
        self.lock().items[item].is_owed = false;
    }

    /// One function was aborted: which one's result is missing is not looked at.
    pub(crate) fn no_result_is_owed(&self) {
        let mut state = self.lock();
        let results = state.items.iter_mut().filter(|item| item.kind == Kind::Result);
        results.for_each(|item| item.is_owed = false);
    }

    pub(crate) fn timer_is_not_owed(&self, number: usize) {
        let mut state = self.lock();
        let item = state.timers[number].item;
        state.items[item].is_owed = false;
    }

    pub(crate) fn violate(&self, what: String) {
        self.lock().violate(what);
    }

    pub(crate) fn violation(&self) -> Option<String> {
        self.lock().violation.clone()
    }

    /// The loop is idle, and nobody else does anything.
    pub(crate) fn check_idle(&self, no_thread_fails: bool) {
        let mut state = self.lock();
        for index in 0..state.items.len() {
            let Item { kind, is_accepted, runs, is_owed, .. } = state.items[index];
            let is_owed = is_owed
                && is_accepted
                && match kind {
                    Kind::Reaction(promise) => state.fulfilled[promise],
                    Kind::Result => no_thread_fails,
                    _ => true,
                };
            if is_owed && runs == 0 {
                state
                    .violate(format!("item {index}, {kind:?}, was not run by a loop that is idle"));
            }
        }
        for index in 0..state.rejections.len() {
            let (expected, reported) = state.rejections[index];
            if reported < expected {
                state.violate(format!("rejection {index} was not reported by a loop that is idle"));
            }
        }
        for index in 0..state.streams.len() {
            let Watched { sent, received, is_registered, is_unregistered, .. } =
                state.streams[index];
            if is_registered && !is_unregistered {
                state.violate(format!("stream {index} is watched by a loop that is idle"));
            }
            if received > sent {
                state.violate(format!("stream {index}: {received} of {sent} bytes were received"));
            }
        }
    }

    /// From this time on the loop has to end, whatever it has to do.
    pub(crate) fn is_over_after(&self, micros: u32) {
        self.lock().over = Some(now() + u64::from(micros) * 1_000);
    }

    /// The loop has returned to whoever has driven it.
    pub(crate) fn check_returned(&self) {
        let mut state = self.lock();
        if let Some(late) = state.over.and_then(|over| now().checked_sub(over + FAREWELL)) {
            state.violate(format!("the loop has ended {late} ns later than it may"));
        }
    }

    /// The loop has ended, and nobody else does anything.
    pub(crate) fn check_ended(&self) {
        let mut state = self.lock();
        let promises = std::mem::take(&mut state.promises);
        let derived = std::mem::take(&mut state.derived);
        let streams = std::mem::take(&mut state.streams);
        drop(state);
        for (number, (promise, _)) in promises.iter().enumerate() {
            if promise.state() == PromiseState::Pending {
                self.violate(format!("promise {number} is pending, and the loop has ended"));
            }
        }
        if derived.iter().any(|is_pending| is_pending()) {
            // A worker that has just claimed a promise settles it as soon as it runs again.
            sim::sleep(HAND_OVER);
        }
        if derived.iter().any(|is_pending| is_pending()) {
            self.violate("a derived promise is pending, and the loop has ended".to_owned());
        }
        drop(streams);
        let left = sim::open_descriptors();
        if left != 0 {
            self.violate(format!("{left} streams are watched by a loop that has ended"));
        }
    }

    /// The loop was shut down in order.
    pub(crate) fn check_drained(&self) {
        let mut state = self.lock();
        for index in 0..state.items.len() {
            let Item { kind, is_accepted, runs, .. } = state.items[index];
            let is_task = matches!(kind, Kind::Task(..) | Kind::Microtask(_) | Kind::NextTick);
            if is_task && is_accepted && runs == 0 {
                state.violate(format!("item {index}, {kind:?}, was accepted, and is lost"));
            }
        }
    }

    /// Nothing is left of the loop.
    pub(crate) fn check_gone(&self) {
        let mut state = self.lock();
        for index in 0..state.items.len() {
            let Item { kind, is_accepted, runs, is_dropped, .. } = state.items[index];
            if is_accepted && runs == 0 && !is_dropped {
                state.violate(format!("item {index}, {kind:?}, was neither run nor dropped"));
            }
        }
    }
}

impl State {
    pub(crate) fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    fn next_turn(&mut self) -> usize {
        self.turns += 1;
        self.turns
    }

    fn forget(&mut self, item: usize) {
        self.tasks.values_mut().for_each(|queue| queue.retain(|other| *other != item));
        self.microtasks.retain(|other| *other != item);
        self.next_ticks.retain(|other| *other != item);
    }

    /// Rule 3.
    fn expect_checkpoint(&mut self, item: usize) {
        if self.is_flooded {
            return;
        }
        let kind = self.items[item].kind;
        if let Some(left) = self.microtasks.front().or(self.next_ticks.front()) {
            let left = *left;
            self.violate(format!("item {item}, {kind:?}, was run before microtask {left}"));
        }
    }

    /// Rule 2.
    fn expect_first(&mut self, item: usize, first: Option<usize>) {
        let kind = self.items[item].kind;
        if first != Some(item) {
            self.violate(format!("item {item}, {kind:?}, was run before item {first:?}"));
        }
    }

    fn begin(&mut self, item: usize) {
        let it = &mut self.items[item];
        it.runs += 1;
        let (kind, is_again, was_refused) = (it.kind, it.runs > 1, it.is_refused);
        let is_interval = matches!(kind, Kind::Timer(timer) if self.timers[timer].is_interval);
        if is_again && !is_interval {
            self.violate(format!("item {item}, {kind:?}, was run twice"));
        }
        if was_refused {
            self.violate(format!("item {item}, {kind:?}, was run although it was refused"));
        }
        match kind {
            Kind::Task(lane, who) => {
                self.expect_checkpoint(item);
                let queue = self.tasks.entry((who, lane == Lane::Internal)).or_default();
                let first = queue.pop_front();
                self.expect_first(item, first);
            }
            Kind::Microtask(0) => {
                let first = self.microtasks.pop_front();
                self.expect_first(item, first);
            }
            Kind::NextTick => {
                let first = self.next_ticks.pop_front();
                self.expect_first(item, first);
            }
            Kind::Immediate => self.expect_checkpoint(item),
            Kind::Timer(number) => {
                self.expect_checkpoint(item);
                self.fire(number, is_again);
            }
            Kind::Microtask(_) | Kind::Reaction(_) | Kind::Result => {}
        }
    }

    /// Rule 4.
    fn fire(&mut self, number: usize, is_again: bool) {
        let now = now();
        let Timer { due, by, turn, is_cleared, is_interval, .. } = self.timers[number];
        let may_have_begun = std::mem::take(&mut self.timers[number].may_have_begun);
        if is_cleared && !may_have_begun {
            self.violate(format!("timer {number} has fired after it was cleared"));
        }
        if now < due.0 && !is_again {
            self.violate(format!("timer {number} has fired {} ns early", due.0 - now));
        }
        if !is_interval {
            let waits = |other: &Timer| {
                let is_sure = other.id.is_some() && !other.may_be_cleared && !other.is_shadowed;
                is_sure && !other.is_over && !other.is_interval
            };
            // Due before it for sure, or set before it by the same thread, and due not later.
            let goes_first = |other: &Timer| {
                let is_before = other.by == by && other.turn < turn;
                other.due.1 < due.0 || (is_before && other.due.0 <= due.0 && other.due.1 <= due.1)
            };
            let mut others = self.timers.iter();
            let first = others.position(|other| waits(other) && goes_first(other));
            if let Some(first) = first.filter(|first| *first != number) {
                let other = self.timers[first].due;
                self.violate(format!(
                    "timer {number}, due {due:?}, has fired before timer {first}, due {other:?}"
                ));
            }
            self.timers[number].is_over = true;
        }
    }
}

impl Token {
    pub(crate) fn item(&self) -> usize {
        self.item
    }

    /// The callback begins.
    pub(crate) fn begin(&mut self) {
        self.has_run = true;
        self.world.lock().begin(self.item);
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let mut state = self.world.lock();
        if !self.has_run {
            state.items[self.item].is_dropped = true;
            state.forget(self.item);
        }
    }
}
