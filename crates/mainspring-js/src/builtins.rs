//! The modules that are built in, as their sources.

/// A module that is built in: the body of a function of `exports`, `require`, `module` and `host`.
///
/// ```
/// let timers = mainspring_js::builtin("timers").unwrap();
/// assert!(timers.source.contains("setTimeout"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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
        ///
        /// ```
        /// for builtin in mainspring_js::BUILTINS.iter().filter(|builtin| builtin.is_public()) {
        ///     println!("node:{}", builtin.name);
        /// }
        /// ```
        pub const BUILTINS: &[Builtin] = &[
            $(Builtin { name: $name, source: include_str!(concat!("js/", $name, ".js")) }),*
        ];
    };
}

builtins! {
    "assert"
    "assert/strict"
    "buffer"
    "console"
    "crypto"
    "events"
    "fs"
    "fs/promises"
    "internal/abort"
    "internal/assert_source"
    "internal/assert_throws"
    "internal/assertion_error"
    "internal/base64"
    "internal/blob"
    "internal/bootstrap"
    "internal/buffer_numbers"
    "internal/cjs"
    "internal/cjs_resolve"
    "internal/colors"
    "internal/console_methods"
    "internal/console_streams"
    "internal/console_table"
    "internal/crypto"
    "internal/deep_equal"
    "internal/dom_exception"
    "internal/encoding"
    "internal/env"
    "internal/error_stacks"
    "internal/errors"
    "internal/esm"
    "internal/esm_errors"
    "internal/event_target"
    "internal/event_waits"
    "internal/format"
    "internal/fs_core"
    "internal/fs_handle"
    "internal/fs_utils"
    "internal/hints"
    "internal/inspect"
    "internal/inspect_colors"
    "internal/inspect_columns"
    "internal/inspect_errors"
    "internal/inspect_functions"
    "internal/inspect_inherited"
    "internal/inspect_kinds"
    "internal/inspect_text"
    "internal/lazy_emitter"
    "internal/legacy_timers"
    "internal/loader"
    "internal/mainspring"
    "internal/net_duplex"
    "internal/net_errors"
    "internal/net_pipe"
    "internal/net_readable"
    "internal/net_select"
    "internal/net_server"
    "internal/net_socket"
    "internal/path_common"
    "internal/path_posix"
    "internal/path_win32"
    "internal/performance"
    "internal/performance_observer"
    "internal/process"
    "internal/process_methods"
    "internal/rejections"
    "internal/repl"
    "internal/run_code"
    "internal/run_main"
    "internal/rust_promise"
    "internal/signals"
    "internal/stdin"
    "internal/stdio"
    "internal/string_width"
    "internal/structured_clone"
    "internal/task_queues"
    "internal/timers"
    "internal/types"
    "internal/uncaught"
    "internal/url"
    "internal/url_legacy"
    "internal/virtual_date"
    "internal/warning"
    "internal/webidl"
    "module"
    "net"
    "os"
    "path"
    "path/posix"
    "path/win32"
    "perf_hooks"
    "process"
    "querystring"
    "string_decoder"
    "timers"
    "timers/promises"
    "url"
    "util"
    "util/types"
    "vm"
}

#[cfg(test)]
mod tests {
    use super::BUILTINS;

    #[test]
    fn modules_are_sorted_so_that_they_are_found() {
        assert!(BUILTINS.is_sorted_by(|a, b| a.name < b.name));
    }
}
