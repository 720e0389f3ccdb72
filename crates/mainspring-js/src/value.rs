//! Values that cross between a script and an operation in Rust.

use std::fmt;
use std::rc::Rc;

use mainspring::Cx;

/// A value on its way between a script and an operation of the host, whatever the engine.
///
/// ```
/// use mainspring_js::Value;
///
/// let value = Value::object([("name", Value::from("file.txt")), ("size", Value::from(12.0))]);
/// assert_eq!(value.get("size"), Some(&Value::Number(12.0)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `undefined`
    #[default]
    Undefined,
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A `BigInt` that fits.
    BigInt(i64),
    /// A string; lone surrogates were replaced.
    String(String),
    /// A `Uint8Array` for the script; any view or buffer from it.
    Bytes(Vec<u8>),
    /// An array.
    Array(Vec<Value>),
    /// A plain object, in order.
    Object(Vec<(String, Value)>),
    /// An error object, for the script.
    Error(OpError),
}

impl Value {
    /// An object with these properties.
    ///
    /// ```
    /// use mainspring_js::Value;
    ///
    /// assert!(Value::object([("a", Value::Null)]).get("a").is_some());
    /// ```
    pub fn object<K: Into<String>>(properties: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Object(properties.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A property of an object.
    ///
    /// ```
    /// assert_eq!(mainspring_js::Value::Null.get("a"), None);
    /// ```
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Object(properties) => {
                properties.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Undefined, Into::into)
    }
}

/// What an operation throws, or gives to a callback: it becomes an `Error` of the script.
///
/// ```
/// use mainspring_js::OpError;
///
/// let error = OpError::type_error("ERR_INVALID_URL", "Invalid URL").with("input", "nonsense");
/// assert_eq!(error.to_string(), "TypeError [ERR_INVALID_URL]: Invalid URL");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OpError {
    /// The class: `Error`, `TypeError`, `RangeError`, `SyntaxError`, or the name of a `DOMException` behind
    /// `DOMException:`.
    pub class: &'static str,
    /// The property `code`.
    pub code: Option<String>,
    /// The message.
    pub message: String,
    /// Further properties.
    pub properties: Vec<(String, Value)>,
}

impl OpError {
    /// An error of a class, without a code.
    ///
    /// ```
    /// let error = mainspring_js::OpError::new("RangeError", "too much");
    /// assert_eq!(error.to_string(), "RangeError: too much");
    /// ```
    pub fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, code: None, message: message.into(), properties: Vec::new() }
    }

    /// A `TypeError` with a code.
    ///
    /// ```
    /// let error = mainspring_js::OpError::type_error("ERR_INVALID_ARG_TYPE", "not a string");
    /// assert_eq!(error.code.as_deref(), Some("ERR_INVALID_ARG_TYPE"));
    /// ```
    pub fn type_error(code: &str, message: impl Into<String>) -> Self {
        Self { code: Some(code.into()), ..Self::new("TypeError", message) }
    }

    /// Adds a property.
    ///
    /// ```
    /// let error = mainspring_js::OpError::new("Error", "no such file").with("path", "a.txt");
    /// assert_eq!(error.properties.len(), 1);
    /// ```
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.properties.push((key.into(), value.into()));
        self
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(f, "{} [{code}]: {}", self.class, self.message),
            None => write!(f, "{}: {}", self.class, self.message),
        }
    }
}

impl std::error::Error for OpError {}

/// What a script gives to an operation.
///
/// ```
/// use mainspring_js::{Arg, Value};
///
/// let arguments = [Arg::Value(Value::from("file.txt")), Arg::Value(Value::Null)];
/// assert_ne!(arguments[0], arguments[1]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A value.
    Value(Value),
    /// A function, to be called later.
    Function(Callback),
}

/// A function of the script that an operation calls later.
///
/// Each call is a task of its own for the script: what it throws is an uncaught exception, and nothing comes
/// back.
///
/// ```
/// use mainspring_js::{Callback, Value};
///
/// let event_loop = mainspring::EventLoop::new()?;
/// let callback = Callback::new(|_, arguments| assert_eq!(arguments, [Value::Null]));
/// callback.call(event_loop.cx(), vec![Value::Null]);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct Callback(Rc<Call>);

type Call = dyn Fn(&Cx, Vec<Value>);

impl Callback {
    /// Wraps what calls the function. For engines.
    ///
    /// ```
    /// let callback = mainspring_js::Callback::new(|_, arguments| println!("{arguments:?}"));
    /// let event_loop = mainspring::EventLoop::new()?;
    /// callback.call(event_loop.cx(), vec![mainspring_js::Value::Null]);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn new(call: impl Fn(&Cx, Vec<Value>) + 'static) -> Self {
        Self(Rc::new(call))
    }

    /// Calls the function. From a callback of the loop only, where nothing of the script is running.
    ///
    /// ```
    /// # use mainspring_js::{Callback, Value};
    /// fn done(callback: &Callback, cx: &mainspring::Cx, text: String) {
    ///     callback.call(cx, vec![Value::Null, Value::from(text)]);
    /// }
    /// ```
    pub fn call(&self, cx: &Cx, arguments: Vec<Value>) {
        (self.0)(cx, arguments);
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl PartialEq for Callback {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}
