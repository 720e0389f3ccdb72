//! Which built-in modules a script may have.

use super::errors::unknown_builtin;
use super::{Resolver, Target};
use crate::{Global, OpError, Options};

impl Resolver {
    /// The built-in module that a specifier names.
    pub(super) fn builtin(&self, specifier: &str) -> Result<Option<Target>, OpError> {
        let name = specifier.strip_prefix("node:");
        if (self.is_builtin)(name.unwrap_or(specifier)) {
            return Ok(Some(Target::Builtin(name.unwrap_or(specifier).into())));
        }
        if name.is_some() { Err(unknown_builtin(specifier)) } else { Ok(None) }
    }

    /// The error for a module of Node that does not exist here, or not for this script.
    pub(super) fn missing(&self, specifier: &str) -> Option<OpError> {
        let root = specifier.split('/').next().unwrap_or(specifier);
        let is_withheld = crate::builtin(specifier).is_some_and(|builtin| builtin.is_public());
        let is_known = is_withheld || NODE_ONLY.contains(&root);
        is_known.then(|| unknown_builtin(&format!("node:{specifier}")))
    }
}

/// Whether a name is that of a built-in module that a script with these options may have.
pub(super) fn is_allowed(options: &Options, name: &str) -> bool {
    let is_public = crate::builtin(name).is_some_and(|builtin| builtin.is_public());
    let group = match name.split('/').next().unwrap_or(name) {
        "buffer" => Global::Encoding,
        "console" => Global::Console,
        "crypto" => Global::Crypto,
        "events" => Global::Events,
        "fs" => Global::Fs,
        "module" => Global::Modules,
        "net" => Global::Net,
        "os" | "process" => Global::Process,
        "perf_hooks" => Global::Performance,
        "timers" => Global::Timers,
        "url" => Global::Url,
        // What remains reaches nothing outside of the script.
        _ => return is_public,
    };
    is_public && options.has(group)
}

/// Modules of Node that scripts may ask for and that are not built in here.
const NODE_ONLY: &[&str] = &[
    "async_hooks",
    "child_process",
    "cluster",
    "constants",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "http",
    "http2",
    "https",
    "inspector",
    "punycode",
    "readline",
    "repl",
    "stream",
    "sys",
    "tls",
    "trace_events",
    "tty",
    "v8",
    "wasi",
    "worker_threads",
    "zlib",
];
