//! The loop, as a script uses it: timers, immediates, ticks, jobs, and what happens to exceptions.

mod jobs;
mod lists;
mod run;
mod strict;
mod timers;

use std::cell::Cell;
use std::fmt;
use std::rc::{Rc, Weak};
use std::time::Instant;

use mainspring::{Cx, ImmediateId, JobQueueId, TimerId};

use self::strict::Strict;
use self::timers::Waiters;
use crate::engine::{Engine, Entry, Origin, Thrown};
use crate::host::{Host, Limit, Waiting};
use crate::{Options, Uncaught};

/// The exit code of a script whose handler of uncaught exceptions throws, as Node's.
const HANDLER_THREW: i32 = 7;

/// The loop, as a script of one engine uses it.
///
/// It is the only thing that calls the engine, and lets go of it when the script has ended.
///
/// ```
/// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
/// # use mainspring_js::Options;
/// # let event_loop = mainspring::EventLoop::new()?;
/// # let layer = closures::join(&event_loop, Options::new());
/// use std::rc::Rc;
///
/// // With the engine of the example at `Engine`.
/// layer.start_timer(Rc::new(|| println!("a timer")), 1.0, true)?;
/// layer.start_immediate(Rc::new(|| println!("an immediate")), true);
/// event_loop.run_until_idle()?;
/// assert_eq!((layer.host().stats().timers, layer.host().stats().immediates), (1, 1));
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct Layer<E: Engine> {
    engine: E,
    host: Host,
    timers: Waiters,
    immediates: Waiters,
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use closures::Closures;
    /// use mainspring::EventLoop;
    /// use mainspring_js::{Layer, Options};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let layer = Layer::new(event_loop.cx(), Options::new(), |_host| {
    ///     Ok::<_, mainspring::Error>(Closures::default())
    /// })?;
    /// assert!(layer.host().exit_code().is_none());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
            timers: Waiters::default(),
            immediates: Waiters::default(),
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.engine().jobs.borrow_mut().push_back(Some(Rc::new(|| println!("a job"))));
    /// event_loop.run_until_idle()?;
    /// assert_eq!(layer.host().stats().jobs, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The host.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// layer.host().stdout().write(b"hello\n").unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn host(&self) -> &Host {
        &self.host
    }

    fn cx(&self) -> &Cx {
        self.host.cx()
    }

    /// What keeps the loop alive.
    fn waiting(&self) -> Waiting {
        Waiting {
            timers: match &self.strict {
                Some(strict) => strict.referenced(),
                None => self.timers.referenced(),
            },
            immediates: self.immediates.referenced(),
        }
    }

    /// Whether the script has ended.
    fn has_ended(&self) -> bool {
        self.host.exit_code().is_some()
    }

    /// Has the entry [`Ticks`](Entry::Ticks) called before the microtasks of the next checkpoint.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// layer.schedule_ticks();
    /// event_loop.run_until_idle()?;
    /// assert_eq!(layer.host().stats().tick_passes, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.start_task(Rc::new(|| println!("a task")))?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// let same = Rc::clone(&layer);
    /// event_loop.cx().submit(move |cx| {
    ///     let is_well = same.enter(cx, "greeting", |_engine| {
    ///         println!("whatever calls the engine");
    ///         Ok(())
    ///     });
    ///     assert!(is_well);
    /// })?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use mainspring_js::Engine;
    ///
    /// assert!(!layer.timed(|engine| engine.has_jobs()));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn timed<R>(&self, call: impl FnOnce(&E) -> R) -> R {
        self.host.set_deadline(None);
        self.start_clock();
        let result = call(&self.engine);
        // The loop may be driven much later; jobs have a time of their own then.
        self.host.set_deadline(None);
        result
    }

    /// Counts a call of a function that an operation was given.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// layer.count_callback();
    /// assert_eq!(layer.host().stats().callbacks, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use mainspring_js::Thrown;
    ///
    /// // What an exception becomes that neither the script nor the embedder handles.
    /// layer.deal_with(event_loop.cx(), Thrown::OutOfMemory);
    /// assert_eq!(layer.host().exit_code(), Some(1));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
        let limit = match thrown {
            Thrown::Interrupted => self.host.stopped_by(),
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use mainspring_js::{Origin, Uncaught};
    ///
    /// layer.report_uncaught(Uncaught { text: "Error: boom".into(), origin: Origin::Exception });
    /// assert_eq!(layer.host().exit_code(), Some(1));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.start_timer(Rc::new(|| unreachable!()), 60_000.0, true)?;
    /// layer.exit(3);
    /// event_loop.run_until_idle()?; // returns at once
    /// assert_eq!(layer.host().exit_code(), Some(3));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn exit(&self, code: i32) {
        if !self.has_ended() {
            self.give_up(code);
            if let Some(hook) = &self.host.options().on_exit {
                hook(self.cx(), code);
            }
        }
    }

    /// Ends the script, if it has not ended, and the association: the engine's jobs are its own again.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// layer.leave();
    /// assert_eq!(layer.host().exit_code(), Some(0));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
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
        for id in self.timers.take().filter_map(TimerId::from_u64) {
            self.cx().clear_timeout(id);
        }
        if let Some(strict) = &self.strict {
            strict.end(self.cx());
        }
        for id in self.immediates.take() {
            self.cx().clear_immediate(ImmediateId::from_u64(id));
        }
        self.host.forget_resources();
    }
}

impl<E: Engine> fmt::Debug for Layer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer").field("host", &self.host).finish_non_exhaustive()
    }
}

impl<E: Engine> Drop for Layer<E> {
    fn drop(&mut self) {
        // Operations may hold values of the engine, which is about to end.
        self.host.forget_resources();
    }
}
