//! Where something comes from: the line of the program that has scheduled it.
//!
//! A loop that is not observed notes no places: then a callback is stored as it is. One that is observed wraps it
//! in one that has a place and, now and then, a time (`metrics/tracked.rs`).

use std::panic::Location;

/// A line of the program, or none, for what the loop does by itself. Nothing at all without the feature `metrics`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    #[cfg(feature = "metrics")]
    location: Option<&'static Location<'static>>,
}

impl Place {
    /// No line that the user knows.
    pub(crate) const UNKNOWN: Self = Self {
        #[cfg(feature = "metrics")]
        location: None,
    };

    /// The line that has called the function that calls this, if that is `#[track_caller]`.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn caller() -> Self {
        Self {
            #[cfg(feature = "metrics")]
            location: Some(Location::caller()),
        }
    }

    pub(crate) fn get(self) -> Option<&'static Location<'static>> {
        #[cfg(feature = "metrics")]
        return self.location;
        #[cfg(not(feature = "metrics"))]
        None
    }
}

/// What is known about where a callback comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) place: Option<&'static Location<'static>>,
    /// The name of its type.
    pub(crate) name: &'static str,
    /// Its number, if it is a task of a loop of the maximum-safety profile, or zero.
    pub(crate) task: u64,
}

impl Origin {
    pub(crate) fn new(place: Option<&'static Location<'static>>, name: &'static str) -> Self {
        Self { place, name, task: 0 }
    }
}
