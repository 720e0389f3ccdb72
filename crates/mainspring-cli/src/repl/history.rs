//! Where the lines of earlier days are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The file with the history, in a directory that exists then. None if there is no place for it.
pub(super) fn file() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    prepare(&state.join("mainspring"))
}

fn prepare(directory: &Path) -> Option<PathBuf> {
    fs::create_dir_all(directory).ok()?;
    Some(directory.join("history"))
}
