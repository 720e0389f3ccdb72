//! The modules that are built in, as their sources.

/// A module that is built in: the body of a function of `exports`, `require`, `module` and `host`.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// What it is required by.
    pub name: &'static str,
    /// Its source.
    pub source: &'static str,
}

impl Builtin {
    /// Whether scripts may import it, with or without `node:`.
    ///
    /// ```
    /// assert!(mainspring_js::builtin("timers").is_some_and(|builtin| builtin.is_public()));
    /// ```
    #[must_use]
    pub fn is_public(&self) -> bool {
        !self.name.starts_with("internal/")
    }
}

/// The module of that name.
///
/// ```
/// assert!(mainspring_js::builtin("no/such").is_none());
/// ```
#[must_use]
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.binary_search_by(|builtin| builtin.name.cmp(name)).ok().map(|index| &BUILTINS[index])
}

macro_rules! builtins {
    ($($name:literal)*) => {
        /// All modules that are built in, sorted by name.
        pub const BUILTINS: &[Builtin] = &[
            $(Builtin { name: $name, source: include_str!(concat!("js/", $name, ".js")) }),*
        ];
    };
}

builtins! {
    "internal/bootstrap"
    "internal/env"
    "internal/errors"
    "internal/lazy_emitter"
    "internal/loader"
    "internal/legacy_timers"
    "internal/process"
    "internal/rejections"
    "internal/stdio"
    "internal/task_queues"
    "internal/timers"
    "internal/uncaught"
    "internal/warning"
    "process"
    "timers"
    "timers/promises"
}

#[cfg(test)]
mod tests {
    use super::BUILTINS;

    #[test]
    fn modules_are_sorted_so_that_they_are_found() {
        assert!(BUILTINS.is_sorted_by(|a, b| a.name < b.name));
    }
}
