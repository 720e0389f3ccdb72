//! What an engine has to be able to do.

/// A function of the JavaScript half that the loop calls. The script registers them by `host.setEntries`.
///
/// ```
/// use mainspring_js::Entry;
///
/// let name = Entry::ALL.iter().find(|(entry, _)| *entry == Entry::BeforeExit).unwrap().1;
/// assert_eq!(name, "beforeExit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Entry {
    /// `timer(target)`: a timer is due.
    Timer,
    /// `immediate(target)`: an immediate's turn has come.
    Immediate,
    /// `ticks()`: run what was given to `process.nextTick`.
    Ticks,
    /// `task(target)`: a task's turn has come.
    Task,
    /// `beforeExit()`: nothing is left to do.
    BeforeExit,
    /// `exit()`: the end. The exit code is told to the host by an operation.
    Exit,
}

impl Entry {
    /// All entries, with the names of the properties that `setEntries` takes.
    ///
    /// ```
    /// for (entry, name) in mainspring_js::Entry::ALL {
    ///     println!("setEntries({{ {name}() {{}} }}) is for {entry:?}");
    /// }
    /// ```
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::Timer, "timer"),
        (Self::Immediate, "immediate"),
        (Self::Ticks, "ticks"),
        (Self::Task, "task"),
        (Self::BeforeExit, "beforeExit"),
        (Self::Exit, "exit"),
    ];
}

/// How an exception came to be uncaught.
///
/// ```
/// assert_eq!(mainspring_js::Origin::Rejection.name(), "unhandledRejection");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was thrown.
    Exception,
    /// It is the reason of a promise that nobody handles.
    Rejection,
}

impl Origin {
    /// What scripts call it.
    ///
    /// ```
    /// assert_eq!(mainspring_js::Origin::Exception.name(), "uncaughtException");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exception => "uncaughtException",
            Self::Rejection => "unhandledRejection",
        }
    }

    /// The one that scripts call so.
    ///
    /// ```
    /// use mainspring_js::Origin;
    ///
    /// assert_eq!(Origin::from_name("unhandledRejection"), Some(Origin::Rejection));
    /// assert_eq!(Origin::from_name("something else"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Exception, Self::Rejection].into_iter().find(|origin| origin.name() == name)
    }
}

/// How a call of the engine ended, if not well.
///
/// ```
/// use mainspring_js::Thrown;
///
/// fn show(thrown: &Thrown<String>) -> &str {
///     match thrown {
///         Thrown::Exception(text) => text,
///         Thrown::Interrupted => "it was stopped",
///         Thrown::OutOfMemory => "it has no memory left",
///     }
/// }
/// assert_eq!(show(&Thrown::Exception("Error: boom".into())), "Error: boom");
/// ```
#[derive(Debug)]
pub enum Thrown<R> {
    /// The script threw this.
    Exception(R),
    /// The script was stopped and could not catch it: by a limit, or by `process.exit`.
    Interrupted,
    /// The engine has no memory left.
    OutOfMemory,
}

/// What [`Engine::run_job`] did.
///
/// ```
/// use mainspring_js::{JobRun, Thrown};
///
/// fn run(job: Option<fn() -> Result<(), String>>) -> JobRun<String> {
///     match job.map(|job| job()) {
///         None => JobRun::None,
///         Some(Ok(())) => JobRun::Ran,
///         Some(Err(error)) => JobRun::Threw(Thrown::Exception(error)),
///     }
/// }
/// assert!(matches!(run(Some(|| Ok(()))), JobRun::Ran));
/// ```
#[derive(Debug)]
pub enum JobRun<R> {
    /// There was no job.
    None,
    /// A job was run.
    Ran,
    /// A fence was taken out.
    Fence,
    /// A job was run, and ended like this.
    Threw(Thrown<R>),
}

/// A script engine, as the layer sees it.
///
/// Beside this trait, an engine hands the JavaScript half an object `host` with these functions of its own,
/// most of which call a method of [`Layer`](crate::Layer), and one for each of the
/// [operations](crate::ops::granted):
///
/// | function | does |
/// |---|---|
/// | `startTimer(target, ms, isRef)` | [`Layer::start_timer`](crate::Layer::start_timer) |
/// | `clearTimer(id)`, `resetTimer(id, ms)`, `refTimer(id, isRef)` | the methods of these names |
/// | `startImmediate(target, isRef)`, `clearImmediate(id)`, `refImmediate(id, isRef)` | likewise |
/// | `scheduleTicks()` | [`Layer::schedule_ticks`](crate::Layer::schedule_ticks) |
/// | `enqueueTask(f)` | [`Layer::start_task`](crate::Layer::start_task) |
/// | `enqueueMicrotask(f)` | puts a job that calls `f` into the engine's queue |
/// | `setEntries(object)` | remembers the functions `timer`, `immediate`, `ticks`, `task`, `beforeExit`, `exit`, `uncaught(error, origin)`, `rejections(list)` |
/// | `builtin(name)` | a function of `exports, require, module, host`, compiled from a [builtin](crate::builtin) |
/// | `compile(source, filename, names)` | a function with these parameters |
/// | `runScript(source, filename)` | evaluates a script in the global scope |
/// | `details(value)` | what kind of object it is, for `util.inspect` |
/// | `reportUncaught(error, origin)` | [`Layer::report_uncaught`](crate::Layer::report_uncaught) |
/// | `exit(code)` | [`Layer::exit`](crate::Layer::exit), and stops the script |
/// | `requireModule(path, parent)`, `defineModule(path, source)`, `parsesAsModule(source)` | for engines with ES modules |
/// | `gc()`, `memoryUsage()` | what they say |
///
/// The least that an engine can be, and what the layer makes of it:
///
/// ```
#[doc = include_str!("../docs/closures.rs")]
/// # fn main() -> Result<(), mainspring::Error> {
/// let event_loop = EventLoop::new()?;
/// let layer = join(&event_loop, Options::new());
/// layer.start_timer(Rc::new(|| println!("hello")), 10.0, true)?;
/// event_loop.run_until_idle()?;
/// # Ok(())
/// # }
/// ```
pub trait Engine: 'static {
    /// A value of the script that the loop holds.
    type Ref: 'static;

    /// Calls an entry, with the value that it is for. Does nothing if the script has registered none.
    ///
    /// # Errors
    ///
    /// What the script threw.
    fn call(&self, entry: Entry, target: Option<&Self::Ref>) -> Result<(), Thrown<Self::Ref>>;

    /// Gives an exception to the script's own handler. False if it has none.
    ///
    /// # Errors
    ///
    /// What the handler threw.
    fn uncaught(&self, error: &Self::Ref, origin: Origin) -> Result<bool, Thrown<Self::Ref>>;

    /// Describes an exception for a person.
    fn describe(&self, error: &Self::Ref) -> crate::Uncaught;

    /// Whether the engine has a job.
    fn has_jobs(&self) -> bool;

    /// Runs the job that was queued first.
    fn run_job(&self) -> JobRun<Self::Ref>;

    /// Puts a fence behind all jobs: [`run_job`](Self::run_job) takes it out and says [`JobRun::Fence`]. False if that
    /// is not possible: then the loop's own microtasks run before the engine's jobs, whichever were queued first.
    fn fence(&self) -> bool;

    /// Whether promises were rejected without a handler, or handled late, since the last call of
    /// [`report_rejections`](Self::report_rejections).
    fn has_rejections(&self) -> bool;

    /// Tells the script's entry `rejections` of them.
    ///
    /// # Errors
    ///
    /// What it threw.
    fn report_rejections(&self) -> Result<(), Thrown<Self::Ref>>;
}
