//! Operations of the host that scripts call, whatever the engine.
//!
//! ```
//! # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
//! # use mainspring_js::Options;
//! # let event_loop = mainspring::EventLoop::new()?;
//! # let layer = closures::join(&event_loop, Options::new());
//! use mainspring_js::{Arg, Value, ops};
//!
//! let mut arguments = [Arg::Value(Value::from("größer"))];
//! let (_, encode) = ops::granted(layer.host()).find(|(name, _)| *name == "encodeUtf8").unwrap();
//! let bytes = encode(layer.host(), ops::Args::new(&mut arguments));
//! assert_eq!(bytes, Ok(Value::Bytes("größer".into())));
//! # Ok::<(), mainspring::Error>(())
//! ```

mod buffer;
mod crypto;
mod encoding;
pub(crate) mod errno;
mod fs;
mod module;
mod net;
mod os;
mod process;
mod system;
mod url;

use crate::{Arg, Callback, Global, Host, OpError, Value};

/// An operation: called by the JavaScript half as `host.<name>`.
///
/// ```
/// use mainspring_js::{Host, OpError, Value, ops::{Args, Op}};
///
/// fn add(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
///     Ok(Value::Number(args.number(0)? + args.number(1)?))
/// }
/// const ADD: Op = add;
/// ```
pub type Op = fn(&Host, Args<'_>) -> Result<Value, OpError>;

type Group = &'static [(&'static str, Op)];

/// All operations by name, and what a script must have been given to have them.
const OPS: &[(Option<Global>, Group)] = &[
    (None, buffer::OPS),
    (None, crypto::OPS),
    (None, encoding::OPS),
    (None, errno::OPS),
    (Some(Global::Fs), fs::OPS),
    (None, module::OPS),
    (Some(Global::Net), net::OPS),
    (None, os::OPS),
    (None, process::OPS),
    (None, system::OPS),
    (None, url::OPS),
];

/// The operations that a script may have, by name. Files and sockets are there only if it was given them, whatever
/// the JavaScript half does.
///
/// ```
/// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
/// # use mainspring_js::Options;
/// # let event_loop = mainspring::EventLoop::new()?;
/// # let layer = closures::join(&event_loop, Options::new().without([mainspring_js::Global::Fs]));
/// use mainspring_js::ops::granted;
///
/// let has = |name| granted(layer.host()).any(|(known, _)| known == name);
/// assert!(has("urlParse") && !has("fsClose"));
/// # Ok::<(), mainspring::Error>(())
/// ```
pub fn granted(host: &Host) -> impl Iterator<Item = (&'static str, Op)> {
    let groups = OPS.iter().filter(|(global, _)| global.is_none_or(|global| host.has(global)));
    groups.flat_map(|(_, ops)| ops.iter().copied())
}

/// The sockets that keep the loop alive, for a person.
pub(crate) fn sockets(host: &Host) -> Vec<String> {
    net::reasons(host)
}

/// What an operation is given. Arguments that are missing are `undefined`.
///
/// ```
/// use mainspring_js::{Arg, Value, ops::Args};
///
/// let mut values = [Arg::Value(Value::from("file.txt")), Arg::Value(Value::from(12.0))];
/// let mut args = Args::new(&mut values);
/// assert_eq!((args.string(0)?, args.number(1)?), ("file.txt".into(), 12.0));
/// assert_eq!(args.take(7), Value::Undefined);
/// # Ok::<(), mainspring_js::OpError>(())
/// ```
#[derive(Debug)]
pub struct Args<'a>(&'a mut [Arg]);

impl<'a> Args<'a> {
    /// Takes arguments from an engine.
    ///
    /// ```
    /// use mainspring_js::{Arg, Value, ops::Args};
    ///
    /// let mut values = [Arg::Value(Value::Null)];
    /// let mut args = Args::new(&mut values);
    /// assert_eq!(args.take(0), Value::Null);
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn new(values: &'a mut [Arg]) -> Self {
        Self(values)
    }

    /// How many there are.
    ///
    /// ```
    /// use mainspring_js::{Arg, Value, ops::Args};
    ///
    /// let mut values = [Arg::Value(Value::Null)];
    /// let args = Args::new(&mut values);
    /// assert_eq!(args.len(), 1);
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    ///
    /// ```
    /// assert!(mainspring_js::ops::Args::new(&mut []).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn arg(&mut self, index: usize) -> Arg {
        let undefined = Arg::Value(Value::Undefined);
        self.0.get_mut(index).map_or(undefined.clone(), |arg| std::mem::replace(arg, undefined))
    }

    /// A value; a function is `undefined`.
    ///
    /// ```
    /// use mainspring_js::{Arg, Value, ops::Args};
    ///
    /// let mut values = [Arg::Value(Value::from(true))];
    /// let mut args = Args::new(&mut values);
    /// assert_eq!(args.take(0), Value::Bool(true));
    /// assert_eq!(args.take(0), Value::Undefined); // it was taken
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn take(&mut self, index: usize) -> Value {
        match self.arg(index) {
            Arg::Value(value) => value,
            Arg::Function(_) => Value::Undefined,
        }
    }

    /// A string.
    ///
    /// # Errors
    ///
    /// If it is none.
    ///
    /// ```
    /// use mainspring_js::{Arg, Value, ops::Args};
    ///
    /// let mut values = [Arg::Value(Value::from("text"))];
    /// let mut args = Args::new(&mut values);
    /// assert_eq!(args.string(0)?, "text");
    /// assert!(args.string(1).is_err());
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn string(&mut self, index: usize) -> Result<String, OpError> {
        match self.take(index) {
            Value::String(text) => Ok(text),
            other => Err(unexpected(index, "a string", &other)),
        }
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// If it is none.
    ///
    /// ```
    /// use mainspring_js::{Arg, Value, ops::Args};
    ///
    /// let mut values = [Arg::Value(Value::from(1.5))];
    /// let mut args = Args::new(&mut values);
    /// assert_eq!(args.number(0)?, 1.5);
    /// assert!(args.number(1).is_err());
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn number(&mut self, index: usize) -> Result<f64, OpError> {
        match self.take(index) {
            Value::Number(number) => Ok(number),
            other => Err(unexpected(index, "a number", &other)),
        }
    }

    /// A boolean; `undefined` is false.
    ///
    /// # Errors
    ///
    /// If it is none.
    ///
    /// ```
    /// use mainspring_js::{Arg, Value, ops::Args};
    ///
    /// let mut values = [Arg::Value(Value::from(true))];
    /// let mut args = Args::new(&mut values);
    /// assert!(args.bool(0)?);
    /// assert!(!args.bool(1)?);
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn bool(&mut self, index: usize) -> Result<bool, OpError> {
        match self.take(index) {
            Value::Bool(value) => Ok(value),
            Value::Undefined => Ok(false),
            other => Err(unexpected(index, "a boolean", &other)),
        }
    }

    /// Bytes, or the UTF-8 of a string.
    ///
    /// # Errors
    ///
    /// If it is neither.
    ///
    /// ```
    /// use mainspring_js::{Arg, Value, ops::Args};
    ///
    /// let mut values = [Arg::Value(Value::from("é"))];
    /// let mut args = Args::new(&mut values);
    /// assert_eq!(args.bytes(0)?, [0xC3, 0xA9]);
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn bytes(&mut self, index: usize) -> Result<Vec<u8>, OpError> {
        match self.take(index) {
            Value::Bytes(bytes) => Ok(bytes),
            Value::String(text) => Ok(text.into_bytes()),
            other => Err(unexpected(index, "bytes", &other)),
        }
    }

    /// A function of the script.
    ///
    /// # Errors
    ///
    /// If it is none.
    ///
    /// ```
    /// use mainspring_js::{Arg, Callback, ops::Args};
    ///
    /// let mut values = [Arg::Function(Callback::new(|_, _| println!("called")))];
    /// let mut args = Args::new(&mut values);
    /// let callback = args.callback(0)?;
    /// # drop(callback);
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn callback(&mut self, index: usize) -> Result<Callback, OpError> {
        match self.arg(index) {
            Arg::Function(callback) => Ok(callback),
            Arg::Value(other) => Err(unexpected(index, "a function", &other)),
        }
    }
}

fn unexpected(index: usize, expected: &str, found: &Value) -> OpError {
    OpError::type_error(
        "ERR_INVALID_ARG_TYPE",
        format!("argument {index} of the operation must be {expected}, not {found:?}"),
    )
}

#[cfg(test)]
pub(crate) mod testing {
    use mainspring::EventLoop;

    use super::{Args, Op};
    use crate::{Arg, Host, OpError, Options, Value};

    /// Calls an operation.
    pub(crate) fn try_run<const N: usize>(
        op: Op,
        args: [impl Into<Value>; N],
    ) -> Result<Value, OpError> {
        let event_loop = EventLoop::new().unwrap();
        let host = Host::new(event_loop.cx().clone(), Options::new());
        let mut args = args.map(|value| Arg::Value(value.into()));
        op(&host, Args::new(&mut args))
    }

    /// Calls an operation that does not fail.
    pub(crate) fn run<const N: usize>(op: Op, args: [impl Into<Value>; N]) -> Value {
        try_run(op, args).unwrap()
    }
}
