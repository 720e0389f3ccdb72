//! Why a promise was rejected, or a signal aborted.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::fault::as_text;

type SharedError = dyn StdError + Send + Sync;

/// The reason of a rejection: any error, or any other value. Cloning it is cheap.
///
/// Every [`std::error::Error`] that can be sent between threads converts into one, so `?` works in a
/// handler. For the same reason this type is not an error itself; [`as_error`](Self::as_error) gives the
/// one inside.
///
/// ```
/// use mainspring::Rejection;
///
/// fn parse(text: &str) -> Result<i32, Rejection> {
///     Ok(text.parse()?)
/// }
/// let reason = parse("five").unwrap_err();
/// assert!(reason.is::<std::num::ParseIntError>());
/// assert_eq!(reason.to_string(), "invalid digit found in string");
/// ```
#[derive(Clone)]
pub struct Rejection(Arc<SharedError>);

/// The reason of a rejection of a [`LocalPromise`](crate::LocalPromise): any error, or any other value,
/// which need not be `Send`. Cloning it is cheap.
///
/// Every [`std::error::Error`], and every [`Rejection`], converts into one.
///
/// ```
/// use mainspring::LocalRejection;
/// use std::rc::Rc;
///
/// let value = Rc::new("a value of a script engine");
/// let reason = LocalRejection::from_value(Rc::clone(&value));
/// assert!(Rc::ptr_eq(reason.value().unwrap(), &value));
/// ```
#[derive(Clone)]
pub struct LocalRejection(Inner);

#[derive(Clone)]
enum Inner {
    Shared(Rejection),
    Local(Rc<dyn StdError>),
}

/// A reason that is not an error.
struct Value<V>(V);

impl<V: Any> fmt::Display for Value<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match as_text(&self.0) {
            Some(text) => f.write_str(text),
            None => write!(f, "a value of type {}", std::any::type_name::<V>()),
        }
    }
}

impl<V: Any> fmt::Debug for Value<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<V: Any> StdError for Value<V> {}

impl Rejection {
    /// The reason is an error.
    ///
    /// ```
    /// let reason = mainspring::Rejection::new(std::fmt::Error);
    /// assert!(reason.is::<std::fmt::Error>());
    /// ```
    #[must_use]
    pub fn new<E>(error: E) -> Self
    where
        E: StdError + Send + Sync + 'static,
    {
        Self(Arc::new(error))
    }

    /// The reason is an error whose type is not known.
    ///
    /// ```
    /// let error: Box<dyn std::error::Error + Send + Sync> = "out of cheese".into();
    /// assert_eq!(mainspring::Rejection::from_boxed(error).to_string(), "out of cheese");
    /// ```
    #[must_use]
    pub fn from_boxed(error: Box<SharedError>) -> Self {
        Self(Arc::from(error))
    }

    /// The reason is a value that is not an error: scripts can throw anything. A text is displayed as it is.
    ///
    /// ```
    /// let reason = mainspring::Rejection::from_value("not today");
    /// assert_eq!(reason.to_string(), "not today");
    /// assert_eq!(reason.value::<&str>(), Some(&"not today"));
    /// ```
    #[must_use]
    pub fn from_value<V>(value: V) -> Self
    where
        V: Any + Send + Sync,
    {
        Self(Arc::new(Value(value)))
    }

    /// Whether the reason is an error of this type.
    ///
    /// ```
    /// let reason = mainspring::Rejection::new(std::fmt::Error);
    /// assert!(!reason.is::<std::io::Error>());
    /// ```
    #[must_use]
    pub fn is<E: StdError + 'static>(&self) -> bool {
        self.0.is::<E>()
    }

    /// The error, if it is of this type.
    ///
    /// ```
    /// use mainspring::{Error, Rejection};
    ///
    /// let reason = Rejection::new(Error::Terminated);
    /// assert!(matches!(reason.downcast_ref(), Some(Error::Terminated)));
    /// ```
    #[must_use]
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// What [`from_value`](Self::from_value) was given, if it is of this type.
    ///
    /// ```
    /// let reason = mainspring::Rejection::from_value(42_u8);
    /// assert_eq!(reason.value::<u8>(), Some(&42));
    /// assert_eq!(reason.value::<u16>(), None);
    /// ```
    #[must_use]
    pub fn value<V: Any>(&self) -> Option<&V> {
        self.0.downcast_ref::<Value<V>>().map(|value| &value.0)
    }

    /// The error inside. For a value, one that displays it.
    ///
    /// ```
    /// let reason = mainspring::Rejection::new(std::fmt::Error);
    /// let error: &dyn std::error::Error = reason.as_error();
    /// assert!(error.source().is_none());
    /// ```
    #[must_use]
    pub fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0
    }

    /// Whether both are the very same reason, not just equal ones.
    ///
    /// ```
    /// use mainspring::Rejection;
    ///
    /// let reason = Rejection::from_value(1);
    /// assert!(Rejection::ptr_eq(&reason, &reason.clone()));
    /// assert!(!Rejection::ptr_eq(&reason, &Rejection::from_value(1)));
    /// ```
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }
}

impl LocalRejection {
    /// The reason is an error.
    ///
    /// ```
    /// let reason = mainspring::LocalRejection::new(std::fmt::Error);
    /// assert!(reason.is::<std::fmt::Error>());
    /// ```
    #[must_use]
    pub fn new<E: StdError + 'static>(error: E) -> Self {
        Self(Inner::Local(Rc::new(error)))
    }

    /// The reason is a value that is not an error: scripts can throw anything. A text is displayed as it is.
    ///
    /// ```
    /// let reason = mainspring::LocalRejection::from_value("not today");
    /// assert_eq!(reason.to_string(), "not today");
    /// ```
    #[must_use]
    pub fn from_value<V: Any>(value: V) -> Self {
        Self(Inner::Local(Rc::new(Value(value))))
    }

    /// Whether the reason is an error of this type.
    ///
    /// ```
    /// let reason = mainspring::LocalRejection::new(std::fmt::Error);
    /// assert!(!reason.is::<std::io::Error>());
    /// ```
    #[must_use]
    pub fn is<E: StdError + 'static>(&self) -> bool {
        self.as_error().is::<E>()
    }

    /// The error, if it is of this type.
    ///
    /// ```
    /// use mainspring::{Error, LocalRejection};
    ///
    /// let reason = LocalRejection::new(Error::Terminated);
    /// assert!(matches!(reason.downcast_ref(), Some(Error::Terminated)));
    /// ```
    #[must_use]
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.as_error().downcast_ref()
    }

    /// What `from_value` was given, here or in the [`Rejection`] that this was made of, if it is of this type.
    ///
    /// ```
    /// let reason = mainspring::LocalRejection::from_value(42_u8);
    /// assert_eq!(reason.value::<u8>(), Some(&42));
    /// ```
    #[must_use]
    pub fn value<V: Any>(&self) -> Option<&V> {
        self.as_error().downcast_ref::<Value<V>>().map(|value| &value.0)
    }

    /// The error inside. For a value, one that displays it.
    ///
    /// ```
    /// let reason = mainspring::LocalRejection::new(std::fmt::Error);
    /// assert!(reason.as_error().source().is_none());
    /// ```
    #[must_use]
    pub fn as_error(&self) -> &(dyn StdError + 'static) {
        match &self.0 {
            Inner::Shared(reason) => reason.as_error(),
            Inner::Local(error) => &**error,
        }
    }

    /// Whether both are the very same reason, not just equal ones.
    ///
    /// ```
    /// use mainspring::LocalRejection;
    ///
    /// let reason = LocalRejection::from_value(1);
    /// assert!(LocalRejection::ptr_eq(&reason, &reason.clone()));
    /// ```
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.as_error(), other.as_error())
    }

    /// The reason for other threads: the same one, or, if it cannot be sent to them, its text.
    ///
    /// ```
    /// use mainspring::{LocalRejection, Rejection};
    /// use std::rc::Rc;
    ///
    /// let reason = Rejection::from_value(42_u8);
    /// assert!(reason.ptr_eq(&LocalRejection::from(reason.clone()).to_shared()));
    ///
    /// let reason = LocalRejection::from_value("text");
    /// assert_eq!(reason.to_shared().to_string(), "text");
    /// ```
    #[must_use]
    pub fn to_shared(&self) -> Rejection {
        match &self.0 {
            Inner::Shared(reason) => reason.clone(),
            Inner::Local(error) => Rejection::from_value(error.to_string()),
        }
    }
}

impl<E> From<E> for Rejection
where
    E: StdError + Send + Sync + 'static,
{
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl<E: StdError + 'static> From<E> for LocalRejection {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl From<Rejection> for LocalRejection {
    fn from(reason: Rejection) -> Self {
        Self(Inner::Shared(reason))
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rejection").field(&self.0).finish()
    }
}

impl fmt::Display for LocalRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_error(), f)
    }
}

impl fmt::Debug for LocalRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalRejection").field(&self.as_error()).finish()
    }
}
