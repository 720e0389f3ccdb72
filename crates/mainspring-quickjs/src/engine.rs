//! QuickJS as the layer sees it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use mainspring_js::{Engine, Entry, Host, JobRun, Layer, Origin, Thrown, Uncaught, Value};
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Object, Persistent, Runtime, qjs,
};

use crate::convert;
use crate::interrupt::Interrupt;
use crate::memory::MemoryLimit;
use crate::rejections::{Rejection, Rejections};

/// A value that the loop holds, and the context that has to outlive it.
pub(crate) struct Held {
    pub(crate) value: Persistent<rquickjs::Value<'static>>,
    _context: Context,
}

/// A function of the script that the loop keeps.
type Kept = Persistent<Function<'static>>;

/// The functions that `host.setEntries` was given.
#[derive(Default)]
pub(crate) struct Entries {
    /// In the order of [`Entry::ALL`].
    called: Vec<Option<Kept>>,
    uncaught: Option<Kept>,
    rejections: Option<Kept>,
}

impl Entries {
    pub(crate) fn read<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> rquickjs::Result<Self> {
        let get = |name: &str| -> rquickjs::Result<Option<Kept>> {
            let function: Option<Function<'js>> = object.get(name)?;
            Ok(function.map(|function| Persistent::save(ctx, function)))
        };
        Ok(Self {
            called: Entry::ALL.iter().map(|(_, name)| get(name)).collect::<Result<_, _>>()?,
            uncaught: get("uncaught")?,
            rejections: get("rejections")?,
        })
    }

    fn of(&self, entry: Entry) -> Option<Kept> {
        let index = Entry::ALL.iter().position(|(known, _)| *known == entry)?;
        self.called.get(index)?.clone()
    }
}

/// What the interrupt handler looks at.
struct Watched {
    /// Whether the script was stopped, and has not been left yet.
    is_stopped: Cell<bool>,
    host: Host,
}

/// QuickJS, as an [`Engine`].
///
/// What of the script is held comes first, so that it is let go of before the context.
pub(crate) struct QuickJs {
    pub(crate) entries: RefCell<Entries>,
    rejections: Rc<RefCell<Rejections>>,
    fence: Kept,
    /// Set by the job that is a fence.
    is_fence: Rc<Cell<bool>>,
    watched: Rc<Watched>,
    /// The stack that scripts may use, if it is known.
    stack: Option<usize>,
    interrupt: Interrupt,
    memory: Option<Rc<MemoryLimit>>,
    host: Host,
    context: Context,
    runtime: Runtime,
}

impl Drop for QuickJs {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            memory.begin_end();
        }
    }
}

impl QuickJs {
    /// Takes an engine over: rejections and, if the options limit it, the time are watched from now on.
    pub(crate) fn new(
        context: &Context,
        host: &Host,
        memory: Option<Rc<MemoryLimit>>,
        stack: Option<usize>,
    ) -> rquickjs::Result<Self> {
        let runtime = context.runtime().clone();
        let rejections = Rc::<RefCell<Rejections>>::default();
        let tracked = Rc::downgrade(&rejections);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                if let Some(rejections) = tracked.upgrade() {
                    rejections.borrow_mut().track(&ctx, promise, reason, is_handled);
                }
            },
        )));
        let is_fence = Rc::new(Cell::new(false));
        let hit = Rc::clone(&is_fence);
        let fence = context.with(|ctx| {
            let function = Function::new(ctx.clone(), move || hit.set(true))?;
            Ok::<_, rquickjs::Error>(Persistent::save(&ctx, function))
        })?;
        let engine = Self {
            entries: RefCell::default(),
            rejections,
            fence,
            is_fence,
            watched: Rc::new(Watched { is_stopped: Cell::new(false), host: host.clone() }),
            stack,
            interrupt: Interrupt::default(),
            memory,
            host: host.clone(),
            context: context.clone(),
            runtime,
        };
        if host.options().limits_callback_time() {
            engine.watch_interrupts();
        }
        Ok(engine)
    }

    /// Has scripts stopped that run for too long, or that somebody interrupts.
    fn watch_interrupts(&self) {
        let interrupt = self.interrupt.clone();
        // The engine may outlive the association, and then nothing stops its scripts.
        let watched = Rc::downgrade(&self.watched);
        let runtime = self.runtime_ptr();
        let has_stack = self.stack.is_some();
        self.runtime.set_interrupt_handler(Some(Box::new(move || {
            let Some(watched) = watched.upgrade() else { return false };
            let stops = watched.is_stopped.get() || interrupt.take() || watched.host.is_late();
            if stops && !watched.is_stopped.replace(true) && has_stack {
                // The engine makes a rejection of an exception in some places, such as the function that a new
                // promise is given, even of this one. So the script may not call anything until it is left.
                // SAFETY: the runtime calls this, so it is alive.
                unsafe { qjs::JS_SetMaxStackSize(runtime, 1) };
            }
            stops
        })));
    }

    fn runtime_ptr(&self) -> *mut qjs::JSRuntime {
        // SAFETY: the context is alive.
        unsafe { qjs::JS_GetRuntime(self.context.as_raw().as_ptr()) }
    }

    /// The script is to be left, whatever it catches.
    pub(crate) fn stop(&self) {
        self.watched.is_stopped.set(true);
        if self.stack.is_some() {
            // SAFETY: the runtime is alive.
            unsafe { qjs::JS_SetMaxStackSize(self.runtime_ptr(), 1) };
        }
    }

    /// The script was left: tells whether it was stopped, and lets the next one run.
    pub(crate) fn take_stop(&self) -> bool {
        let was_stopped = self.watched.is_stopped.replace(false);
        if was_stopped && let Some(stack) = self.stack {
            // SAFETY: the runtime is alive.
            unsafe { qjs::JS_SetMaxStackSize(self.runtime_ptr(), stack as qjs::size_t) };
        }
        was_stopped
    }

    /// What interrupts scripts, from any thread.
    pub(crate) fn interrupt(&self) -> Interrupt {
        self.watch_interrupts();
        self.interrupt.clone()
    }

    /// The context.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Bytes that the engine has allocated, if they are counted.
    pub(crate) fn allocated(&self) -> Option<usize> {
        self.memory.as_ref().map(|memory| memory.used())
    }

    /// Keeps a value for the loop.
    pub(crate) fn hold<'js>(&self, ctx: &Ctx<'js>, value: rquickjs::Value<'js>) -> Held {
        Held { value: Persistent::save(ctx, value), _context: self.context.clone() }
    }

    /// What an error of a call means.
    pub(crate) fn thrown<'js>(&self, ctx: &Ctx<'js>, error: rquickjs::Error) -> Thrown<Held> {
        let is_stopped = self.take_stop();
        let is_out_of_memory = self.memory.as_ref().is_some_and(|memory| memory.take_hit());
        let value = match CaughtError::from_error(ctx, error) {
            CaughtError::Exception(exception) => exception.into_value(),
            CaughtError::Value(value) => value,
            CaughtError::Error(error) => {
                let value = rquickjs::Exception::from_message(ctx.clone(), &error.to_string());
                match value {
                    Ok(exception) => exception.into_value(),
                    Err(_) => return Thrown::OutOfMemory,
                }
            }
        };
        if is_stopped {
            return Thrown::Interrupted;
        }
        // The engine cannot allocate an error for that, and throws null.
        if is_out_of_memory && (value.is_null() || is_memory_error(&value)) {
            return Thrown::OutOfMemory;
        }
        Thrown::Exception(self.hold(ctx, value))
    }

    /// Enters the engine, from a callback of the loop.
    pub(crate) fn with<R>(
        &self,
        call: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<R>,
    ) -> Result<R, Thrown<Held>> {
        self.context.with(|ctx| match call(&ctx) {
            // Something in the engine has swallowed the exception.
            Ok(_) if self.take_stop() => Err(Thrown::Interrupted),
            Ok(result) => Ok(result),
            Err(error) => Err(self.thrown(&ctx, error)),
        })
    }

    /// Calls a function of the script with values.
    pub(crate) fn call_function(
        &self,
        function: &Kept,
        arguments: Vec<Value>,
    ) -> Result<(), Thrown<Held>> {
        self.with(|ctx| {
            let function = function.clone().restore(ctx)?;
            let mut args = rquickjs::function::Args::new(ctx.clone(), arguments.len());
            for argument in arguments {
                args.push_arg(convert::to_js(ctx, argument)?)?;
            }
            args.apply(&function)
        })
    }
}

fn is_memory_error(value: &rquickjs::Value<'_>) -> bool {
    value
        .as_exception()
        .and_then(rquickjs::Exception::message)
        .is_some_and(|message| message.contains("out of memory"))
}

impl Engine for QuickJs {
    type Ref = Held;

    fn call(&self, entry: Entry, target: Option<&Held>) -> Result<(), Thrown<Held>> {
        let Some(function) = self.entries.borrow().of(entry) else { return Ok(()) };
        self.with(|ctx| {
            let function = function.restore(ctx)?;
            match target {
                Some(target) => function.call((target.value.clone(),)),
                None => function.call(()),
            }
        })
    }

    fn uncaught(&self, error: &Held, origin: Origin) -> Result<bool, Thrown<Held>> {
        let Some(function) = self.entries.borrow().uncaught.clone() else { return Ok(false) };
        self.with(|ctx| {
            let function = function.restore(ctx)?;
            function.call::<_, ()>((error.value.clone(), origin.name()))
        })?;
        Ok(true)
    }

    fn describe(&self, error: &Held) -> Uncaught {
        let text = self.context.with(|ctx| {
            let Ok(value) = error.value.clone().restore(&ctx) else { return String::new() };
            describe(&ctx, &value)
        });
        Uncaught { text, origin: Origin::Exception }
    }

    fn has_jobs(&self) -> bool {
        // SAFETY: the runtime is alive, and this only looks at a list, also while a script runs.
        unsafe { qjs::JS_IsJobPending(self.context.get_runtime_ptr()) }
    }

    fn run_job(&self) -> JobRun<Held> {
        match self.runtime.execute_pending_job() {
            Ok(false) => JobRun::None,
            Ok(true) if self.is_fence.replace(false) => JobRun::Fence,
            // A module that is stopped while it is evaluated leaves nothing but a rejected promise.
            Ok(true) if self.take_stop() => JobRun::Threw(Thrown::Interrupted),
            Ok(true) => JobRun::Ran,
            Err(exception) => {
                exception.0.with(|ctx| JobRun::Threw(self.thrown(&ctx, rquickjs::Error::Exception)))
            }
        }
    }

    fn fence(&self) -> bool {
        // SAFETY: the context is alive. It may be entered already, by the function of the host that queues a
        // microtask; then this is the same context of the same thread. A job is queued, and nothing run.
        let ctx = unsafe { Ctx::from_raw(self.context.as_raw()) };
        self.fence.clone().restore(&ctx).and_then(|fence| fence.defer(())).is_ok()
    }

    fn has_rejections(&self) -> bool {
        !self.rejections.borrow().is_empty()
    }

    fn report_rejections(&self) -> Result<(), Thrown<Held>> {
        let rejections = self.rejections.borrow_mut().take();
        let Some(function) = self.entries.borrow().rejections.clone() else {
            return self.first_rejection(rejections);
        };
        self.with(|ctx| {
            let list = rquickjs::Array::new(ctx.clone())?;
            for (index, Rejection { promise, reason, is_handled }) in rejections.enumerate() {
                let item = rquickjs::Array::new(ctx.clone())?;
                item.set(0, promise)?;
                item.set(1, reason)?;
                item.set(2, is_handled)?;
                list.set(index, item)?;
            }
            function.restore(ctx)?.call((list,))
        })
    }
}

impl QuickJs {
    /// Without anything in the script that knows better, the first rejection is an exception.
    fn first_rejection(
        &self,
        mut rejections: impl Iterator<Item = Rejection>,
    ) -> Result<(), Thrown<Held>> {
        match rejections.find(|rejection| !rejection.is_handled) {
            Some(Rejection { reason, .. }) => {
                Err(Thrown::Exception(Held { value: reason, _context: self.context.clone() }))
            }
            None => Ok(()),
        }
    }
}

/// An error with its stack, or what `String` makes of a value.
pub(crate) fn describe<'js>(ctx: &Ctx<'js>, value: &rquickjs::Value<'js>) -> String {
    if let Some(object) = value.as_object()
        && let Ok(Some(stack)) = object.get::<_, Option<String>>("stack")
    {
        return stack;
    }
    let text = value.get::<rquickjs::convert::Coerced<String>>().catch(ctx);
    text.map_or_else(|_| "something that cannot be shown".into(), |text| text.0)
}

/// The layer that a function of the host belongs to.
pub(crate) type WeakLayer = Weak<Layer<QuickJs>>;
