//! What can go wrong.

use std::net::SocketAddr;
use std::{fmt, io};

/// Why an inspector could not be started, or a loop not be watched.
///
/// ```
/// use mainspring_inspect::{Error, Inspector};
///
/// let error = Inspector::serve("0.0.0.0:0").unwrap_err();
/// assert!(matches!(error, Error::NotLoopback(_)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Other machines could connect to the address.
    NotLoopback(SocketAddr),
    /// Another loop of that name is being watched.
    NameTaken(String),
    /// The loop that serves the pages could not be built.
    Loop(mainspring::Error),
    /// The operating system refused.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoopback(address) => write!(
                f,
                "{address} is open to other machines; use 127.0.0.1 or [::1], or \
                 `Inspector::builder().allow_remote(true)` if they may see everything"
            ),
            Self::NameTaken(name) => write!(
                f,
                "a loop named {name:?} is being watched already; choose another name, or `forget` that one"
            ),
            Self::Loop(error) => write!(f, "the inspector's own loop could not be built: {error}"),
            Self::Io(error) => write!(f, "the operating system refused: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Loop(error) => Some(error),
            Self::Io(error) => Some(error),
            Self::NotLoopback(_) | Self::NameTaken(_) => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<mainspring::Error> for Error {
    fn from(error: mainspring::Error) -> Self {
        Self::Loop(error)
    }
}
