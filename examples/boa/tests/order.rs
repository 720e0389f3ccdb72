//! The part of the ordering suite that any engine can run.

use std::path::Path;

// Filled in when the suite's files are in place.
fn _root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
