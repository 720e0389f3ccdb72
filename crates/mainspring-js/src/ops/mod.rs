//! Operations of the host that scripts call, whatever the engine.

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
pub fn granted(host: &Host) -> impl Iterator<Item = (&'static str, Op)> {
    let groups = OPS.iter().filter(|(global, _)| global.is_none_or(|global| host.has(global)));
    groups.flat_map(|(_, ops)| ops.iter().copied())
}

/// The sockets that keep the loop alive, for a person.
pub(crate) fn sockets(host: &Host) -> Vec<String> {
    net::reasons(host)
}

/// What an operation is given. Arguments that are missing are `undefined`.
#[derive(Debug)]
pub struct Args<'a>(&'a mut [Arg]);

impl<'a> Args<'a> {
    /// Takes arguments from an engine.
    pub fn new(values: &'a mut [Arg]) -> Self {
        Self(values)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn arg(&mut self, index: usize) -> Arg {
        let undefined = Arg::Value(Value::Undefined);
        self.0.get_mut(index).map_or(undefined.clone(), |arg| std::mem::replace(arg, undefined))
    }

    /// A value; a function is `undefined`.
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
