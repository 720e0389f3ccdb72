//! The loop, as a script uses it: timers, immediates, ticks, jobs, and what happens to exceptions.

mod lists;
mod strict;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use mainspring::{Cx, ImmediateId, Job, JobQueue, JobQueueId, TimerId};

use self::strict::Strict;
use crate::engine::{Engine, Entry, JobRun, Origin, Thrown};
use crate::host::{Host, Limit, Waiting};
use crate::{Options, Uncaught};

/// How many jobs are run between two looks at the clock.
const JOBS_A_LOOK: u32 = 64;

/// The exit code of a script whose handler of uncaught exceptions throws, as Node's.
const HANDLER_THREW: i32 = 7;

/// Ids are unique already.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("ids are numbers");
    }

    fn write_u64(&mut self, id: u64) {
        // The upper bits choose the group, the lower ones the place.
        self.0 = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type Ids = HashSet<u64, BuildHasherDefault<IdHasher>>;

/// The loop, as a script of one engine uses it.
///
/// It is the only thing that calls the engine, and lets go of it when the script has ended.
pub struct Layer<E: Engine> {
    engine: E,
    host: Host,
    /// Timers that wait, so that they can be cleared at the end of the script.
    timers: RefCell<Ids>,
    immediates: RefCell<Ids>,
    /// Those of them that keep nothing alive.
    idle_timers: RefCell<Ids>,
    idle_immediates: RefCell<Ids>,
    /// Timers in Node's order, instead of those above, if that is wanted.
    strict: Option<Strict<E::Ref>>,
    /// Whether jobs wait for the next tick, because they took too long.
    is_paused: Cell<bool>,
    /// Jobs since the last look at the clock.
    unlooked: Cell<u32>,
    attached: Cell<Option<JobQueueId>>,
    this: Weak<Self>,
}

impl<E: Engine> Layer<E> {
    /// Joins an engine and a loop: the engine's jobs are microtasks of the loop from now on.
    ///
    /// # Errors
    ///
    /// That of the function that makes the engine.
    pub fn new<R>(
        cx: &Cx,
        options: Options,
        engine: impl FnOnce(&Host) -> Result<E, R>,
    ) -> Result<Rc<Self>, R> {
        let is_strict = options.strict_node;
        let host = Host::new(cx.clone(), options);
        let engine = engine(&host)?;
        let layer = Rc::new_cyclic(|this| Self {
            engine,
            host,
            timers: RefCell::default(),
            immediates: RefCell::default(),
            idle_timers: RefCell::default(),
            idle_immediates: RefCell::default(),
            strict: is_strict.then(Strict::new),
            is_paused: Cell::new(false),
            unlooked: Cell::new(0),
            attached: Cell::new(None),
            this: this.clone(),
        });
        layer.attached.set(Some(cx.attach_jobs(layer.clone())));
        let this = Rc::downgrade(&layer);
        let waiting = move || this.upgrade().map(|layer| layer.waiting()).unwrap_or_default();
        layer.host.0.waiting.replace(Some(Box::new(waiting)));
        Ok(layer)
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    fn cx(&self) -> &Cx {
        self.host.cx()
    }

    /// What keeps the loop alive.
    fn waiting(&self) -> Waiting {
        let count = |all: &RefCell<Ids>, idle: &RefCell<Ids>| {
            all.borrow().len().saturating_sub(idle.borrow().len())
        };
        Waiting {
            timers: match &self.strict {
                Some(strict) => strict.referenced(),
                None => count(&self.timers, &self.idle_timers),
            },
            immediates: count(&self.immediates, &self.idle_immediates),
        }
    }

    /// Whether the script has ended.
    fn has_ended(&self) -> bool {
        self.host.exit_code().is_some()
    }

    /// A delay in whole milliseconds, up to 2^31 − 1; everything else is 1. The JavaScript half gives 0 for an
    /// interval whose callback took longer than that.
    #[must_use]
    pub fn delay(ms: f64) -> Duration {
        let is_usable = (0.0..=f64::from(i32::MAX)).contains(&ms);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        Duration::from_millis(if is_usable { ms as u64 } else { 1 })
    }

    /// Has the entry [`Timer`](Entry::Timer) called with `target` after so many milliseconds.
    ///
    /// # Errors
    ///
    /// If the loop is about to end.
    pub fn start_timer(
        self: &Rc<Self>,
        target: E::Ref,
        ms: f64,
        is_ref: bool,
    ) -> Result<u64, mainspring::Error> {
        if let Some(strict) = &self.strict {
            return self.start_strict(strict, target, Self::delay(ms), is_ref);
        }
        let layer = Rc::clone(self);
        // It learns its own name, so that it can be crossed off.
        let name = Rc::new(Cell::new(0));
        let own = Rc::clone(&name);
        let id = self.cx().set_timeout(Self::delay(ms), move |cx| {
            cross_off(own.get(), &layer.timers, &layer.idle_timers);
            layer.host.count(|stats| stats.timers += 1);
            layer.enter(cx, "timer", |engine| engine.call(Entry::Timer, Some(&target)));
        });
        let id = id.map_err(mainspring::Error::from)?;
        if !is_ref {
            self.cx().reference_timer(id, false)?;
            self.idle_timers.borrow_mut().insert(id.get());
        }
        name.set(id.get());
        self.timers.borrow_mut().insert(id.get());
        Ok(id.get())
    }

    /// Clears a timer. Tells whether it was waiting.
    pub fn clear_timer(&self, id: u64) -> bool {
        if let Some(strict) = &self.strict {
            return self.clear_strict(strict, id);
        }
        cross_off(id, &self.timers, &self.idle_timers);
        TimerId::from_u64(id).is_some_and(|id| self.cx().clear_timeout(id))
    }

    /// Lets a timer begin to wait anew. False if it is not waiting.
    pub fn reset_timer(&self, id: u64, ms: f64) -> bool {
        if let Some(strict) = &self.strict {
            return self.reset_strict(strict, id, Self::delay(ms));
        }
        TimerId::from_u64(id).is_some_and(|id| self.cx().reset_timeout(id, Self::delay(ms)).is_ok())
    }

    /// Says whether a timer keeps the loop alive.
    pub fn ref_timer(&self, id: u64, is_ref: bool) {
        if let Some(strict) = &self.strict {
            return self.ref_strict(strict, id, is_ref);
        }
        // One that is gone keeps nothing alive.
        if let Some(timer) = TimerId::from_u64(id)
            && self.cx().reference_timer(timer, is_ref).is_ok()
        {
            mark(id, !is_ref, &self.idle_timers);
        }
    }

    /// Has the entry [`Immediate`](Entry::Immediate) called with `target` in the check phase.
    pub fn start_immediate(self: &Rc<Self>, target: E::Ref, is_ref: bool) -> u64 {
        let layer = Rc::clone(self);
        let name = Rc::new(Cell::new(0));
        let own = Rc::clone(&name);
        let id = self.cx().set_immediate(move |cx| {
            cross_off(own.get(), &layer.immediates, &layer.idle_immediates);
            layer.host.count(|stats| stats.immediates += 1);
            layer.enter(cx, "immediate", |engine| engine.call(Entry::Immediate, Some(&target)));
        });
        if !is_ref {
            let _ = self.cx().reference_immediate(id, false);
            self.idle_immediates.borrow_mut().insert(id.get());
        }
        name.set(id.get());
        self.immediates.borrow_mut().insert(id.get());
        id.get()
    }

    /// Clears an immediate. Tells whether it was waiting.
    pub fn clear_immediate(&self, id: u64) -> bool {
        cross_off(id, &self.immediates, &self.idle_immediates);
        self.cx().clear_immediate(ImmediateId::from_u64(id))
    }

    /// Says whether an immediate keeps the loop alive.
    pub fn ref_immediate(&self, id: u64, is_ref: bool) {
        // One that is gone keeps nothing alive.
        if self.cx().reference_immediate(ImmediateId::from_u64(id), is_ref).is_ok() {
            mark(id, !is_ref, &self.idle_immediates);
        }
    }

    /// Has the entry [`Ticks`](Entry::Ticks) called before the microtasks of the next checkpoint.
    pub fn schedule_ticks(self: &Rc<Self>) {
        let layer = Rc::clone(self);
        self.cx().next_tick(move |cx| {
            layer.host.count(|stats| stats.tick_passes += 1);
            let is_well =
                layer.enter_checkpoint(cx, "ticks", |engine| engine.call(Entry::Ticks, None));
            if !is_well && !layer.has_ended() {
                // One that throws leaves the others for another call; as in Node, after the next callback.
                layer.schedule_ticks();
                cx.put_off_checkpoint();
            }
        });
    }

    /// Has the entry [`Task`](Entry::Task) called with `target` by a task of the loop: after timers, before
    /// immediates.
    ///
    /// # Errors
    ///
    /// If the loop has ended.
    pub fn start_task(self: &Rc<Self>, target: E::Ref) -> Result<(), mainspring::Error> {
        let layer = Rc::clone(self);
        let task = self.cx().submit_internal(move |cx| {
            layer.enter(cx, "task", |engine| engine.call(Entry::Task, Some(&target)));
        });
        task.map_err(mainspring::Error::from)
    }

    /// Calls the engine from a callback of the loop, and deals with what it throws. False if it did.
    ///
    /// From the moment of the call the time of the callback is counted.
    pub fn enter(
        &self,
        cx: &Cx,
        kind: &'static str,
        call: impl FnOnce(&E) -> Result<(), Thrown<E::Ref>>,
    ) -> bool {
        self.host.set_deadline(None);
        let is_well = self.enter_checkpoint(cx, kind, call);
        if !is_well {
            // As in Node: what a callback that threw has queued waits for the next callback.
            cx.put_off_checkpoint();
        }
        is_well
    }

    /// Likewise, within the time of the callback before.
    fn enter_checkpoint(
        &self,
        cx: &Cx,
        kind: &'static str,
        call: impl FnOnce(&E) -> Result<(), Thrown<E::Ref>>,
    ) -> bool {
        if self.has_ended() {
            return true;
        }
        self.start_clock();
        match self.observe(kind, call) {
            Ok(()) => true,
            Err(thrown) => {
                self.deal_with(cx, thrown);
                false
            }
        }
    }

    /// Calls the engine, and tells the observer.
    fn observe<R>(&self, kind: &'static str, call: impl FnOnce(&E) -> R) -> R {
        let inner = &self.host.0;
        if inner.observer.borrow().is_none() {
            return call(&self.engine);
        }
        let began = Instant::now();
        inner.observed.set(Some((kind, began)));
        let result = call(&self.engine);
        inner.observed.set(None);
        let observer = inner.observer.borrow().clone();
        if let Some(observer) = observer {
            observer(kind, began, Instant::now());
        }
        result
    }

    /// Calls the engine from outside the loop's callbacks, within the time of one, and gives what came of it.
    pub fn timed<R>(&self, call: impl FnOnce(&E) -> R) -> R {
        self.host.set_deadline(None);
        self.start_clock();
        let result = call(&self.engine);
        // The loop may be driven much later; jobs have a time of their own then.
        self.host.set_deadline(None);
        result
    }

    /// Counts a call of a function that an operation was given.
    pub fn count_callback(&self) {
        self.host.count(|stats| stats.callbacks += 1);
    }

    /// The callback has this much time, unless the clock runs already.
    fn start_clock(&self) {
        let inner = &self.host.0;
        if let Some(limit) = inner.options.callback_time
            && inner.deadline.get().is_none()
        {
            self.host.set_deadline(Instant::now().checked_add(limit));
        }
    }

    /// Deals with what was thrown: the script's handlers are asked, then the embedder's.
    pub fn deal_with(&self, cx: &Cx, thrown: Thrown<E::Ref>) {
        if self.has_ended() {
            return;
        }
        match thrown {
            Thrown::Exception(error) => match self.engine.uncaught(&error, Origin::Exception) {
                Ok(true) => {}
                Ok(false) => self.report_uncaught(self.engine.describe(&error)),
                // The handler of exceptions threw one itself.
                Err(Thrown::Exception(error)) => {
                    if !self.has_ended() {
                        let text = self.engine.describe(&error).text;
                        let _ = self.host.stderr().write(format!("{text}\n").as_bytes());
                        self.exit(HANDLER_THREW);
                    }
                }
                Err(stopped) => self.stopped(cx, &stopped),
            },
            stopped => self.stopped(cx, &stopped),
        }
    }

    /// The script was stopped.
    fn stopped(&self, cx: &Cx, thrown: &Thrown<E::Ref>) {
        if self.has_ended() {
            return;
        }
        let limit = match (thrown, self.host.options().callback_time) {
            (Thrown::Interrupted, Some(limit)) if self.host.is_late() => Limit::CallbackTime(limit),
            (Thrown::Interrupted, _) => Limit::Interrupted,
            _ => Limit::Memory,
        };
        self.limit(cx, limit);
    }

    fn limit(&self, cx: &Cx, limit: Limit) {
        // What deals with it has its own time.
        self.host.set_deadline(None);
        match &self.host.options().on_limit {
            Some(hook) => hook(cx, limit),
            None => {
                let _ = self.host.stderr().write(format!("mainspring: {limit}\n").as_bytes());
                self.exit(1);
            }
        }
    }

    /// Tells the embedder of an exception that the script does not handle. Without anyone to tell, it is
    /// printed and the script ends.
    pub fn report_uncaught(&self, uncaught: Uncaught) {
        match &self.host.options().on_uncaught {
            Some(hook) => hook(self.cx(), uncaught),
            None => {
                let _ = self.host.stderr().write(format!("Uncaught {uncaught}\n").as_bytes());
                self.exit(1);
            }
        }
    }

    /// Ends the script: nothing of it is called any more, what it waits for is given up, and the embedder told.
    pub fn exit(&self, code: i32) {
        if !self.has_ended() {
            self.give_up(code);
            if let Some(hook) = &self.host.options().on_exit {
                hook(self.cx(), code);
            }
        }
    }

    /// Ends the script, if it has not ended, and the association: the engine's jobs are its own again.
    pub fn leave(&self) {
        if !self.has_ended() {
            self.give_up(0);
        }
        if let Some(id) = self.attached.take() {
            self.cx().detach_jobs(id);
        }
    }

    fn give_up(&self, code: i32) {
        self.host.0.exit.set(Some(code));
        let timers = std::mem::take(&mut *self.timers.borrow_mut());
        for id in timers.into_iter().filter_map(TimerId::from_u64) {
            self.cx().clear_timeout(id);
        }
        if let Some(strict) = &self.strict {
            strict.end(self.cx());
        }
        let immediates = std::mem::take(&mut *self.immediates.borrow_mut());
        for id in immediates {
            self.cx().clear_immediate(ImmediateId::from_u64(id));
        }
        self.host.forget_resources();
    }

    /// Jobs have taken too long: the rest waits for the next tick, so that the loop goes on.
    fn pause(&self, cx: &Cx) {
        self.is_paused.set(true);
        let layer = Weak::clone(&self.this);
        cx.set_immediate(move |_| {
            if let Some(layer) = layer.upgrade() {
                layer.is_paused.set(false);
            }
        });
        if let Some(limit) = self.host.options().callback_time {
            self.limit(cx, Limit::CallbackTime(limit));
        }
    }
}

impl<E: Engine> Drop for Layer<E> {
    fn drop(&mut self) {
        // Operations may hold values of the engine, which is about to end.
        self.host.forget_resources();
    }
}

/// It waits no more.
fn cross_off(id: u64, all: &RefCell<Ids>, idle: &RefCell<Ids>) {
    all.borrow_mut().remove(&id);
    let mut idle = idle.borrow_mut();
    if !idle.is_empty() {
        idle.remove(&id);
    }
}

fn mark(id: u64, is_idle: bool, idle: &RefCell<Ids>) {
    if is_idle {
        idle.borrow_mut().insert(id);
    } else {
        idle.borrow_mut().remove(&id);
    }
}

impl<E: Engine> JobQueue for Layer<E> {
    fn has_jobs(&self) -> bool {
        !self.is_paused.get() && !self.has_ended() && self.engine.has_jobs()
    }

    fn run_job(&self, cx: &Cx) -> Job {
        if !self.has_jobs() {
            return Job::None;
        }
        self.start_clock();
        let run = self.observe("job", Engine::run_job);
        match run {
            JobRun::None => return Job::None,
            JobRun::Fence => return Job::Fence,
            JobRun::Ran => {}
            JobRun::Threw(thrown) => self.deal_with(cx, thrown),
        }
        self.host.count(|stats| stats.jobs += 1);
        let unlooked = self.unlooked.get() + 1;
        self.unlooked.set(unlooked % JOBS_A_LOOK);
        if unlooked == JOBS_A_LOOK && self.host.is_late() {
            // A flood: each job is short, and there is always another one.
            self.pause(cx);
        }
        Job::Ran
    }

    fn fence(&self) -> bool {
        self.engine.fence()
    }

    fn has_reports(&self) -> bool {
        !self.has_ended() && (self.engine.has_rejections() || self.host.0.deadline.get().is_some())
    }

    fn report(&self, cx: &Cx) {
        if self.engine.has_rejections() {
            self.enter_checkpoint(cx, "rejections", Engine::report_rejections);
        }
        let is_done = !self.engine.has_jobs() && !self.engine.has_rejections();
        if is_done || self.is_paused.get() {
            self.host.set_deadline(None);
        }
    }
}
