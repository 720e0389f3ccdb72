//! What is refused.

use std::fmt;

/// Why a mark or a measure was not recorded, or an observer does not observe.
///
/// ```
/// use mainspring::{EventLoop, PerformanceError};
///
/// let event_loop = EventLoop::new()?;
/// let error = event_loop.cx().performance().measure("work", "start").unwrap_err();
/// assert_eq!(error, PerformanceError::UnknownMark { name: "start".into() });
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PerformanceError {
    /// There is no mark of this name, or it was cleared. A `SyntaxError` in JavaScript.
    UnknownMark {
        /// The name.
        name: String,
    },
    /// A time is negative or not finite. A `TypeError` in JavaScript.
    InvalidTime {
        /// The option that has it.
        option: &'static str,
        /// The time.
        value: f64,
    },
    /// A measure was given a start, an end and a duration. A `TypeError` in JavaScript.
    Overdetermined,
    /// A measure was given a duration or a detail, but neither a start nor an end. A `TypeError` in JavaScript.
    Underdetermined,
    /// An observer was given a single type and a list of types. An `InvalidModificationError` in JavaScript.
    MixedObservation,
}

impl fmt::Display for PerformanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::UnknownMark { name } => {
                return write!(f, "there is no mark named `{name}`; record it before it is used");
            }
            Self::InvalidTime { option, value } => {
                return write!(
                    f,
                    "the option `{option}` must be a finite number of milliseconds that is not negative, \
                     and is {value}"
                );
            }
            Self::Overdetermined => {
                "a measure cannot have a start, an end and a duration; leave one of them out"
            }
            Self::Underdetermined => {
                "a measure with a duration or a detail needs a start or an end; give it one"
            }
            Self::MixedObservation => {
                "an observer observes either single types or a list of types; disconnect it first, or make \
                 another one"
            }
        };
        f.write_str(text)
    }
}

impl std::error::Error for PerformanceError {}

/// Refuses what is no number of JavaScript's `DOMHighResTimeStamp`.
pub(super) fn check_finite(option: &'static str, value: f64) -> Result<f64, PerformanceError> {
    if value.is_finite() { Ok(value) } else { Err(PerformanceError::InvalidTime { option, value }) }
}

/// Refuses what is no time since the time origin either.
pub(super) fn check_time(option: &'static str, value: f64) -> Result<f64, PerformanceError> {
    if check_finite(option, value)? < 0.0 {
        Err(PerformanceError::InvalidTime { option, value })
    } else {
        Ok(value)
    }
}
