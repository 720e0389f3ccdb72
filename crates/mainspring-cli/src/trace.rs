//! The file that `--trace` asks for.

use std::path::{Path, PathBuf};

use mainspring::Tracer;

/// A trace that is being written. Clones are the same.
#[derive(Clone)]
pub(crate) struct Trace {
    path: PathBuf,
    tracer: Tracer,
}

impl Trace {
    /// Creates the file.
    pub(crate) fn create(path: &Path) -> Result<Self, String> {
        let tracer = Tracer::create(path)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Self { path: path.into(), tracer })
    }

    pub(crate) fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Completes the file, from any thread.
    pub(crate) fn finish(&self) {
        let path = self.path.display();
        if let Err(error) = self.tracer.finish() {
            eprintln!("mainspring: cannot write {path}: {error}");
        }
        match self.tracer.dropped() {
            0 => {}
            count => {
                eprintln!("mainspring: {count} events are missing in {path}: there were too many")
            }
        }
    }
}
