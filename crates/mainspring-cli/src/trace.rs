//! A trace of all callbacks, as Perfetto and chrome://tracing read it.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A trace that is being written.
pub(crate) struct Trace {
    path: PathBuf,
    began: Instant,
    process: u32,
    /// None when it is complete, or cannot be written.
    file: RefCell<Option<BufWriter<File>>>,
}

impl Trace {
    /// Creates the file. Times in it are counted from `began`.
    pub(crate) fn create(path: &Path, began: Instant) -> Result<Self, String> {
        let process = std::process::id();
        let create = || {
            let mut file = BufWriter::new(File::create(path)?);
            write!(
                file,
                r#"{{"displayTimeUnit":"ms","traceEvents":[
{{"ph":"M","pid":{process},"tid":{process},"name":"process_name","args":{{"name":"mainspring"}}}},
{{"ph":"M","pid":{process},"tid":{process},"name":"thread_name","args":{{"name":"event loop"}}}}"#
            )?;
            Ok::<_, io::Error>(file)
        };
        let file = create().map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Self { path: path.into(), began, process, file: RefCell::new(Some(file)) })
    }

    /// Adds a callback.
    pub(crate) fn add(&self, kind: &str, began: Instant, ended: Instant) {
        let micros = |from, to: Instant| to.duration_since(from).as_nanos() as f64 / 1e3;
        let (ts, dur) = (micros(self.began, began), micros(began, ended));
        let process = self.process;
        self.write(|file| {
            write!(
                file,
                ",\n{{\"ph\":\"X\",\"cat\":\"callback\",\"name\":\"{kind}\",\"pid\":{process},\
                 \"tid\":{process},\"ts\":{ts:.3},\"dur\":{dur:.3}}}"
            )
        });
    }

    /// Completes the file.
    pub(crate) fn finish(&self) {
        self.write(|file| {
            file.write_all(b"\n]}\n")?;
            file.flush()
        });
        self.file.take();
    }

    /// Writes something. After an error, nothing more is tried.
    fn write(&self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        let mut file = self.file.borrow_mut();
        if let Some(Err(error)) = file.as_mut().map(write) {
            *file = None;
            eprintln!("mainspring: cannot write {}: {error}", self.path.display());
        }
    }
}
