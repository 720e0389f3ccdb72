//! What a script finds, and how far it may go.

use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use mainspring::Cx;

use crate::stdio::{Output, Stdio};
use crate::{Limit, Uncaught};

/// A group of globals and modules that a script may be given.
///
/// ```
/// use mainspring_js::{Global, Options};
///
/// let options = Options::new().without([Global::Fs, Global::Net]);
/// assert!(!options.has(Global::Net));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Global {
    /// `setTimeout`, `setInterval`, `setImmediate`, their `clear*`, `queueMicrotask`, and `node:timers`.
    Timers,
    /// `console`.
    Console,
    /// `process`, with the environment, arguments and working directory of the host.
    Process,
    /// `Event`, `CustomEvent`, `EventTarget`, `DOMException`, and `node:events`.
    Events,
    /// `AbortController` and `AbortSignal`.
    Abort,
    /// `performance` and `PerformanceObserver`.
    Performance,
    /// `structuredClone`.
    StructuredClone,
    /// `TextEncoder`, `TextDecoder`, `atob`, `btoa`, `Blob`, `File` and `Buffer`.
    Encoding,
    /// `URL` and `URLSearchParams`.
    Url,
    /// `crypto`.
    Crypto,
    /// `require`, and `import` of files.
    Modules,
    /// `node:fs` and `node:fs/promises`.
    Fs,
    /// `node:net`.
    Net,
    /// `mainspring`: what the loop does, and why it is alive.
    Mainspring,
}

impl Global {
    /// All of them.
    ///
    /// ```
    /// use mainspring_js::{Global, Options};
    ///
    /// let names = Global::ALL.iter().filter(|&&global| Options::new().has(global));
    /// assert_eq!(names.count(), Global::ALL.len());
    /// ```
    pub const ALL: &'static [Self] = &[
        Self::Timers,
        Self::Console,
        Self::Process,
        Self::Events,
        Self::Abort,
        Self::Performance,
        Self::StructuredClone,
        Self::Encoding,
        Self::Url,
        Self::Crypto,
        Self::Modules,
        Self::Fs,
        Self::Net,
        Self::Mainspring,
    ];

    /// What the JavaScript half calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Timers => "timers",
            Self::Console => "console",
            Self::Process => "process",
            Self::Events => "events",
            Self::Abort => "abort",
            Self::Performance => "performance",
            Self::StructuredClone => "structuredClone",
            Self::Encoding => "encoding",
            Self::Url => "url",
            Self::Crypto => "crypto",
            Self::Modules => "modules",
            Self::Fs => "fs",
            Self::Net => "net",
            Self::Mainspring => "mainspring",
        }
    }
}

pub(crate) type UncaughtHook = Rc<dyn Fn(&Cx, Uncaught)>;
pub(crate) type LimitHook = Rc<dyn Fn(&Cx, Limit)>;
pub(crate) type ExitHook = Rc<dyn Fn(&Cx, i32)>;

/// What a script finds, and how far it may go.
///
/// ```
/// use mainspring_js::{Global, Options};
/// use std::time::Duration;
///
/// // For a script that nobody vouches for.
/// let options = Options::new()
///     .only([Global::Timers, Global::Console, Global::Events, Global::Abort])
///     .callback_time(Duration::from_millis(100))
///     .on_limit(|_, limit| eprintln!("stopped: {limit}"))
///     .on_uncaught(|_, uncaught| eprintln!("{uncaught}"));
/// assert!(!options.has(Global::Process));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Options {
    pub(crate) globals: BTreeSet<Global>,
    pub(crate) args: Vec<String>,
    pub(crate) exec_args: Vec<String>,
    pub(crate) env: Option<Vec<(String, String)>>,
    pub(crate) stdio: Stdio,
    pub(crate) callback_time: Option<Duration>,
    pub(crate) html_timers: bool,
    pub(crate) strict_node: bool,
    pub(crate) virtual_time: bool,
    pub(crate) on_uncaught: Option<UncaughtHook>,
    pub(crate) on_limit: Option<LimitHook>,
    pub(crate) on_exit: Option<ExitHook>,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Everything, as `mainspring run` has it.
    ///
    /// ```
    /// use mainspring_js::{Global, Options};
    ///
    /// assert!(Options::new().has(Global::Fs));
    /// ```
    pub fn new() -> Self {
        Self {
            globals: Global::ALL.iter().copied().collect(),
            args: Vec::new(),
            exec_args: Vec::new(),
            env: None,
            stdio: Stdio::default(),
            callback_time: None,
            html_timers: false,
            strict_node: false,
            virtual_time: false,
            on_uncaught: None,
            on_limit: None,
            on_exit: None,
        }
    }

    /// Gives the script these, and nothing else.
    ///
    /// ```
    /// use mainspring_js::{Global, Options};
    ///
    /// assert!(!Options::new().only([Global::Timers]).has(Global::Console));
    /// ```
    pub fn only(mut self, globals: impl IntoIterator<Item = Global>) -> Self {
        self.globals = globals.into_iter().collect();
        self
    }

    /// Takes these from the script.
    ///
    /// ```
    /// use mainspring_js::{Global, Options};
    ///
    /// assert!(!Options::new().without([Global::Fs]).has(Global::Fs));
    /// ```
    pub fn without(mut self, globals: impl IntoIterator<Item = Global>) -> Self {
        for global in globals {
            self.globals.remove(&global);
        }
        self
    }

    /// Whether the script is given that.
    ///
    /// ```
    /// use mainspring_js::{Global, Options};
    ///
    /// assert!(Options::new().has(Global::Timers));
    /// ```
    #[must_use]
    pub fn has(&self, global: Global) -> bool {
        self.globals.contains(&global)
    }

    /// `process.argv`, from the script's path on. What stands before is the program.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().args(["app.js", "--verbose"]);
    /// ```
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// `process.execArgv`: what the program itself was told.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().exec_args(["--virtual-time"]);
    /// ```
    pub fn exec_args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.exec_args = args.into_iter().map(Into::into).collect();
        self
    }

    /// `process.env`, instead of the environment of the program.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().env([("HOME", "/nowhere")]);
    /// ```
    pub fn env<K: Into<String>, V: Into<String>>(
        mut self,
        env: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.env = Some(env.into_iter().map(|(key, value)| (key.into(), value.into())).collect());
        self
    }

    /// Where `console.log` and `process.stdout` go, instead of the standard output.
    ///
    /// ```
    /// use mainspring_js::{Options, Output};
    ///
    /// let output = Output::buffer();
    /// let options = Options::new().stdout(output.clone());
    /// assert_eq!(output.text(), "");
    /// ```
    pub fn stdout(mut self, output: Output) -> Self {
        self.stdio.out = output;
        self
    }

    /// Where `console.error` and `process.stderr` go, instead of the standard error.
    ///
    /// ```
    /// use mainspring_js::{Options, Output};
    ///
    /// let options = Options::new().stderr(Output::buffer());
    /// ```
    pub fn stderr(mut self, output: Output) -> Self {
        self.stdio.err = output;
        self
    }

    /// How long one callback may run, with the microtasks that it causes. Then it is stopped, which it cannot
    /// catch, and [`on_limit`](Self::on_limit) is told.
    ///
    /// Engines look at the clock between operations of a script. Within a single one that takes long, such as
    /// filling an array of 2^32 − 1 places, they do not; limit the memory as well. And a script that makes one
    /// promise after another by functions that never end is stopped in each of them, but QuickJS lets the promise
    /// have the exception, and the script goes on. Whoever must be sure ends the process by a watchdog, as
    /// the command does.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let options = mainspring_js::Options::new().callback_time(Duration::from_millis(50));
    /// ```
    pub fn callback_time(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.callback_time = limit.into();
        self
    }

    /// Whether it is limited how long one callback may run.
    ///
    /// ```
    /// use mainspring_js::Options;
    /// use std::time::Duration;
    ///
    /// assert!(!Options::new().limits_callback_time());
    /// assert!(Options::new().callback_time(Duration::from_millis(50)).limits_callback_time());
    /// ```
    #[must_use]
    pub fn limits_callback_time(&self) -> bool {
        self.callback_time.is_some()
    }

    /// Whether somebody is told of what the script does not handle.
    ///
    /// ```
    /// use mainspring_js::Options;
    ///
    /// assert!(!Options::new().reports_uncaught());
    /// assert!(Options::new().on_uncaught(|_, error| eprintln!("{error}")).reports_uncaught());
    /// ```
    #[must_use]
    pub fn reports_uncaught(&self) -> bool {
        self.on_uncaught.is_some()
    }

    /// Whether timers that are nested deeper than five wait at least 4 ms, as in browsers. Node has no such
    /// rule, and it is off unless asked for.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().html_timers(true);
    /// ```
    pub fn html_timers(mut self, on: bool) -> Self {
        self.html_timers = on;
        self
    }

    /// Whether timers run in Node's order, instead of that of their deadlines.
    ///
    /// Node cuts times to milliseconds, and has a list for each delay, which it runs as far as it is due. So timers
    /// that are late run in groups of equal delay. Build the loop with
    /// [`catch_up_timers`](mainspring::Builder::catch_up_timers), so that all that are due run in one phase.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().strict_node(true);
    /// ```
    pub fn strict_node(mut self, on: bool) -> Self {
        self.strict_node = on;
        self
    }

    /// Whether `Date` follows the clock of the loop, which is a virtual one then.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().virtual_time(true);
    /// ```
    pub fn virtual_time(mut self, on: bool) -> Self {
        self.virtual_time = on;
        self
    }

    /// Is told of exceptions and rejections that the script does not handle, instead of printing them and ending
    /// the script with the code 1.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().on_uncaught(|_, error| eprintln!("{error}"));
    /// ```
    pub fn on_uncaught(mut self, hook: impl Fn(&Cx, Uncaught) + 'static) -> Self {
        self.on_uncaught = Some(Rc::new(hook));
        self
    }

    /// Is told when a script was stopped by a limit, instead of printing that and ending the script. The loop
    /// goes on.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().on_limit(|_, limit| eprintln!("{limit}"));
    /// ```
    pub fn on_limit(mut self, hook: impl Fn(&Cx, Limit) + 'static) -> Self {
        self.on_limit = Some(Rc::new(hook));
        self
    }

    /// Is told when the script has ended, by `process.exit` or because nothing was left to do.
    ///
    /// ```
    /// let options = mainspring_js::Options::new().on_exit(|cx, _code| cx.shutdown());
    /// ```
    pub fn on_exit(mut self, hook: impl Fn(&Cx, i32) + 'static) -> Self {
        self.on_exit = Some(Rc::new(hook));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("globals", &self.globals)
            .field("args", &self.args)
            .field("callback_time", &self.callback_time)
            .field("html_timers", &self.html_timers)
            .field("strict_node", &self.strict_node)
            .field("virtual_time", &self.virtual_time)
            .finish_non_exhaustive()
    }
}
