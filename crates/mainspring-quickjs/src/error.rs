//! What can go wrong between a script and its embedder.

use std::fmt;

use mainspring_js::{Limit, Thrown};
use rquickjs::Ctx;

use crate::Limits;
use crate::engine::QuickJs;

/// What a call into a script failed with.
///
/// ```
/// use mainspring_quickjs::{Error, Runtime};
///
/// let event_loop = mainspring::EventLoop::new()?;
/// let script = Runtime::new(event_loop.cx(), Default::default())?;
/// let Err(Error::Exception(text)) = script.eval("null.x", "app.js") else { unreachable!() };
/// assert!(text.starts_with("TypeError"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The script threw this; as a person would see it, with its stack.
    Exception(String),
    /// The script was stopped.
    Limit(Limit),
    /// The script has ended itself by `process.exit`, with this code.
    Exited(i32),
    /// The engine may not be given as little as that: see [`Limits::LEAST_MEMORY`](crate::Limits::LEAST_MEMORY).
    TooLittleMemory,
    /// The engine could not do it.
    Engine(String),
}

impl Error {
    pub(crate) fn of(ctx: &Ctx<'_>, engine: &QuickJs, error: rquickjs::Error) -> Self {
        if !error.is_exception() {
            return error.into();
        }
        match engine.thrown(ctx, error) {
            Thrown::Exception(value) => match value.value.clone().restore(ctx) {
                Ok(value) => Self::Exception(crate::engine::describe(ctx, &value)),
                Err(error) => error.into(),
            },
            Thrown::OutOfMemory => Self::Limit(Limit::Memory),
            Thrown::Interrupted => Self::stopped(engine),
        }
    }

    /// The script was stopped.
    pub(crate) fn stopped(engine: &QuickJs) -> Self {
        match engine.host().exit_code() {
            Some(code) => Self::Exited(code),
            None => Self::Limit(engine.host().stopped_by()),
        }
    }
}

impl From<rquickjs::Error> for Error {
    fn from(error: rquickjs::Error) -> Self {
        Self::Engine(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exception(text) => f.write_str(text),
            Self::Limit(limit) => limit.fmt(f),
            Self::Exited(code) => write!(f, "the script ended itself with the code {code}"),
            Self::TooLittleMemory => {
                let least = Limits::LEAST_MEMORY >> 20;
                write!(f, "the engine itself needs about half of {least}M: allow at least that")
            }
            Self::Engine(text) => write!(f, "the engine failed: {text}"),
        }
    }
}

impl std::error::Error for Error {}
