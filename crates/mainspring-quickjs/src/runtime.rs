//! An engine with everything that a script needs.

use std::fmt;
use std::path::Path;
use std::rc::Rc;

use mainspring::{Cx, EventLoop};
use mainspring_js::{Host, Layer, Options};
use rquickjs::{Context, Ctx, Function, Object, Persistent};

use crate::engine::QuickJs;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::memory::{self, Counted, MemoryLimit};
use crate::natives;

/// A script engine that is joined to a loop. See [`install`] and [`Runtime::new`].
///
/// Dropping it ends the script: its timers and callbacks are given up, and the engine's jobs are its own again.
///
/// Functions of the embedder that a running script calls, and the hooks of [`Options`] among them, may not enter the engine
/// again by [`with`](Self::with) or [`eval`](Self::eval); they queue a task for that.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring_quickjs::{Options, Runtime};
///
/// let event_loop = EventLoop::builder().microtask_budget(None).build()?;
/// let script = Runtime::new(event_loop.cx(), Options::new())?;
/// script.eval("process.exitCode = 3", "app.js")?;
/// assert_eq!(script.run(&event_loop)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the script ends when it is dropped"]
pub struct Runtime {
    /// The `require` of the modules that are built in. First, so that it is let go of before the context.
    require: Persistent<Function<'static>>,
    layer: Rc<Layer<QuickJs>>,
}

/// How far an engine may go that [`Runtime::with_limits`] makes.
///
/// ```
/// let limits = mainspring_quickjs::Limits { memory: Some(64 << 20), ..Default::default() };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes the engine may allocate; not below [`LEAST_MEMORY`](Self::LEAST_MEMORY).
    pub memory: Option<usize>,
    /// How many bytes of the stack scripts may use; a megabyte, unless something else is said.
    pub stack: Option<usize>,
}

impl Limits {
    /// The least memory that an engine can be given: what it needs before any script runs, and some more, as it does
    /// not survive a refusal then.
    ///
    /// ```
    /// use mainspring_quickjs::{Error, Limits, Runtime};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let limits = Limits { memory: Some(Limits::LEAST_MEMORY - 1), ..Limits::default() };
    /// let refused = Runtime::with_limits(event_loop.cx(), Default::default(), limits);
    /// assert_eq!(refused.unwrap_err(), Error::TooLittleMemory);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub const LEAST_MEMORY: usize = 1 << 20;
}

/// The stack of scripts, unless something else is said: what is safe on a thread of 2 MiB.
const STACK: usize = 1 << 20;

/// Gives an engine of yours the globals of [`Options`], and joins its job queue to the loop.
///
/// Job queue, rejection tracker, interrupt handler and module loader belong to the `rquickjs::Runtime`, so install one
/// context of each. Globals that the engine has by itself stay, whatever the options say: `performance`, `atob`,
/// `btoa`, `queueMicrotask`, `DOMException`.
///
/// Do not drop an engine of yours while a module of it awaits something, if you do not trust what it runs: QuickJS-ng 0.16 writes into freed
/// memory then. Those that [`Runtime::new`] makes are safe from that, for the context that they make, as their allocator waits.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring_quickjs::{Global, Options, Output};
///
/// let engine = rquickjs::Runtime::new()?;
/// let context = rquickjs::Context::full(&engine)?;
/// let event_loop = EventLoop::new()?;
/// let output = Output::buffer();
/// let options = Options::new().only([Global::Timers, Global::Console]).stdout(output.clone());
/// let _script = mainspring_quickjs::install(&context, event_loop.cx(), options)?;
///
/// context.with(|ctx| ctx.eval::<(), _>("setTimeout(() => console.log('later'), 1)"))?;
/// event_loop.run_until_idle()?;
/// assert_eq!(output.text(), "later\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// What the engine says.
pub fn install(context: &Context, cx: &Cx, options: Options) -> Result<Runtime, Error> {
    Runtime::join(context, cx, options, None, None)
}

impl Runtime {
    /// Makes an engine, and joins it to the loop.
    ///
    /// ```
    /// use mainspring::EventLoop;
    /// use mainspring_quickjs::{Options, Output, Runtime};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let output = Output::buffer();
    /// let script = Runtime::new(event_loop.cx(), Options::new().stdout(output.clone()))?;
    /// script.eval("setTimeout(() => console.log('hello'), 10)", "hello.js")?;
    /// assert_eq!(script.run(&event_loop)?, 0);
    /// assert_eq!(output.text(), "hello\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub fn new(cx: &Cx, options: Options) -> Result<Self, Error> {
        Self::with_limits(cx, options, Limits::default())
    }

    /// Makes an engine that may not use more than this, and joins it to the loop.
    ///
    /// ```
    /// use mainspring::EventLoop;
    /// use mainspring_quickjs::{Limits, Options, Runtime};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let limits = Limits { memory: Some(16 << 20), ..Limits::default() };
    /// let script = Runtime::with_limits(event_loop.cx(), Options::new(), limits)?;
    /// assert!(script.eval("const all = []; for (;;) all.push('x'.repeat(1000))", "x.js").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooLittleMemory`] if the limit is below what the engine itself needs; and what the engine says.
    pub fn with_limits(cx: &Cx, options: Options, limits: Limits) -> Result<Self, Error> {
        if limits.memory.is_some_and(|memory| memory < Limits::LEAST_MEMORY) {
            return Err(Error::TooLittleMemory);
        }
        memory::prepare();
        let memory = MemoryLimit::new(limits.memory);
        let runtime = rquickjs::Runtime::new_with_alloc(Counted::new(Rc::clone(&memory)))?;
        let stack = limits.stack.unwrap_or(STACK);
        runtime.set_max_stack_size(stack);
        let context = Context::full(&runtime)?;
        Self::join(&context, cx, options, Some(memory), Some(stack))
    }

    fn join(
        context: &Context,
        cx: &Cx,
        options: Options,
        memory: Option<Rc<MemoryLimit>>,
        stack: Option<usize>,
    ) -> Result<Self, Error> {
        let layer = Layer::new(cx, options, |host| QuickJs::new(context, host, memory, stack))?;
        let require = context.with(|ctx| {
            boot(&ctx, &layer).map_err(|error| Error::of(&ctx, layer.engine(), error))
        })?;
        Ok(Self { require, layer })
    }

    /// What the operations of the script work on.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// assert_eq!(script.host().exit_code(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn host(&self) -> &Host {
        self.layer.host()
    }

    /// The context of the engine. A clone of it keeps the engine, whose memory only grows once this `Runtime` was dropped:
    /// drop clones first.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// let version: String = script.context().with(|ctx| ctx.eval("process.version"))?;
    /// assert!(version.starts_with('v'));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn context(&self) -> &Context {
        self.layer.engine().context()
    }

    /// Enters the engine, for the time before and between callbacks of the loop.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// let sum: i32 = script.with(|ctx| ctx.eval("1 + 2"))?;
    /// assert_eq!(sum, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the script threw, or what stopped it.
    pub fn with<R>(&self, call: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<R>) -> Result<R, Error> {
        self.layer.timed(|engine| {
            engine.context().with(|ctx| match call(&ctx) {
                // Something in the engine has swallowed the exception.
                Ok(_) if engine.take_stop() => Err(Error::stopped(engine)),
                Ok(result) => Ok(result),
                Err(error) => Err(Error::of(&ctx, engine, error)),
            })
        })
    }

    /// Evaluates a script, in the global scope. Its jobs are run by the loop.
    ///
    /// # Errors
    ///
    /// What the script threw, or what stopped it.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// script.eval("globalThis.answer = 42", "app.js")?;
    /// assert!(script.eval("throw new Error('boom')", "app.js").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eval(&self, source: &str, filename: &str) -> Result<(), Error> {
        self.with(|ctx| crate::compile::script(ctx, source, filename).map(drop))
    }

    /// Begins to run a file: a module or a CommonJS script, as Node decides it. What it throws is an uncaught
    /// exception of the script.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// # let path = std::env::temp_dir().join(format!("mainspring-{}.mjs", std::process::id()));
    /// std::fs::write(&path, "process.exitCode = await Promise.resolve(3)")?;
    /// script.start_file(&path);
    /// assert_eq!(script.run(&event_loop)?, 3);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_file(&self, path: &Path) {
        let path = path.to_string_lossy().into_owned();
        self.enter("main", |_, require| {
            let main: Object = require.call(("internal/run_main",))?;
            main.get::<_, Function>("runMain")?.call((path,))
        });
    }

    /// Bytes that the engine has allocated. None if it is one that was [brought along](install).
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// assert!(script.allocated().unwrap() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn allocated(&self) -> Option<usize> {
        self.layer.engine().allocated()
    }

    /// What stops the script that runs, from any thread. From now on an interrupt handler of yours is replaced.
    ///
    /// ```
    /// use mainspring_quickjs::{Error, Limit, Runtime};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let script = Runtime::new(event_loop.cx(), Default::default())?;
    /// let interrupt = script.interrupt();
    /// let thread = std::thread::spawn(move || interrupt.interrupt());
    /// assert_eq!(script.eval("for (;;) {}", "app.js"), Err(Error::Limit(Limit::Interrupted)));
    /// # thread.join().unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        self.layer.engine().interrupt()
    }

    /// Enters the engine as a callback of the loop does: what is thrown is an uncaught exception of the script. The
    /// kind is what [observers](Host::set_observer) are told; the function is the `require` of the modules that are built
    /// in.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// use mainspring_quickjs::rquickjs::{Function, Object};
    ///
    /// script.enter("greeting", |_, require| {
    ///     let process: Object = require.call(("process",))?;
    ///     process.set("title", "my program")
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enter(
        &self,
        kind: &'static str,
        call: impl for<'js> FnOnce(&Ctx<'js>, &Function<'js>) -> rquickjs::Result<()>,
    ) {
        let cx = self.host().cx().clone();
        self.layer.enter(&cx, kind, |engine| {
            engine.with(|ctx| {
                let require = self.require.clone().restore(ctx)?;
                call(ctx, &require)
            })
        });
    }

    /// Drives the loop until the script has ended: because nothing is left to do, or by `process.exit`. Gives the
    /// exit code.
    ///
    /// # Errors
    ///
    /// As for [`EventLoop::run_until_idle`].
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let script = mainspring_quickjs::Runtime::new(event_loop.cx(), Default::default())?;
    /// script.eval("setTimeout(() => process.exit(5), 10)", "app.js")?;
    /// assert_eq!(script.run(&event_loop)?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&self, event_loop: &EventLoop) -> Result<i32, mainspring::Error> {
        self.layer.run(event_loop)
    }
}

/// Evaluates the JavaScript half.
fn boot<'js>(
    ctx: &Ctx<'js>,
    layer: &Rc<Layer<QuickJs>>,
) -> rquickjs::Result<Persistent<Function<'static>>> {
    let host = natives::host(ctx, layer)?;
    let module = Object::new(ctx.clone())?;
    let nothing = rquickjs::Undefined;
    natives::builtin(ctx, "internal/loader")?.call::<_, ()>((
        nothing,
        nothing,
        module.clone(),
        host,
    ))?;
    let require: Function = module.get("exports")?;
    require.call::<_, ()>(("internal/bootstrap",))?;
    crate::modules::install(ctx, layer, &require)?;
    Ok(Persistent::save(ctx, require))
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.layer.leave();
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("host", self.host()).finish_non_exhaustive()
    }
}
