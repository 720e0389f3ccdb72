//! How many descriptors the process may have.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as the system allows.
pub(crate) fn raise_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(())
}
