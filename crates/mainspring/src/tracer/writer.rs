//! The tracer's thread.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::Shared;
use super::format::{Formatter, Track};
use super::record::Record;
use super::ring::Consumer;
use crate::sync::{Ordering, fence, lock};

/// How often the thread looks by itself, as long as it finds something.
const INTERVAL: Duration = Duration::from_millis(100);

/// How many records of a loop are written at once.
const BATCH: usize = 1 << 10;

/// A loop, as its events arrive.
pub(super) struct Source {
    records: Consumer<Record>,
    track: Track,
}

impl Source {
    pub(super) fn new(
        records: Consumer<Record>,
        number: u64,
        thread: u16,
        name: Option<Box<str>>,
    ) -> Self {
        Self { records, track: Track::new(number, thread, name) }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("track", &self.track).finish_non_exhaustive()
    }
}

/// Empties the rings of all loops, and writes.
pub(super) struct Writer {
    out: Box<dyn Write + Send>,
    shared: Arc<Shared>,
    sources: Vec<Source>,
    format: Formatter,
}

impl Writer {
    pub(super) fn new(out: Box<dyn Write + Send>, origin: i64, shared: Arc<Shared>) -> Self {
        let format = Formatter::new(std::process::id(), origin);
        Self { out, shared, sources: Vec::new(), format }
    }

    /// Writes the beginning.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.format.begin();
        self.write()
    }

    /// What the thread does.
    pub(super) fn run(mut self) -> io::Result<()> {
        loop {
            // Acquire: the partner is the Release in `finish`. What was recorded before it is seen.
            let is_last = self.shared.is_finishing.load(Ordering::Acquire);
            let is_something = self.round(is_last)?;
            if is_last {
                self.format.end();
                return self.write();
            }
            if is_something || !self.is_idle() {
                thread::park_timeout(INTERVAL);
            } else {
                thread::park();
            }
            self.shared.is_asleep.store(false, Ordering::Relaxed);
        }
    }

    /// Says that the thread sleeps from now on, and tells whether it may.
    fn is_idle(&self) -> bool {
        self.shared.is_asleep.store(true, Ordering::Relaxed);
        // Partner of the one in `wake_if_asleep`.
        fence(Ordering::SeqCst);
        self.sources.iter().all(|source| source.records.is_empty())
            && lock(&self.shared.sources).is_empty()
    }

    /// Writes what there is. Tells whether it was anything.
    fn round(&mut self, is_last: bool) -> io::Result<bool> {
        for mut source in std::mem::take(&mut *lock(&self.shared.sources)) {
            self.format.introduce(&mut source.track);
            self.sources.push(source);
        }
        let Self { out, sources, format, .. } = self;
        let mut is_something = false;
        let mut index = 0;
        while let Some(Source { records, track }) = sources.get_mut(index) {
            let is_ended = records.is_ended();
            let count = records.read(|record| {
                track.hold(record);
                if track.held() < BATCH {
                    return Ok(());
                }
                format.flush(track, false);
                if track.held() >= BATCH {
                    format.flush(track, true);
                }
                write(out, &mut format.text)
            })?;
            // A tick that goes on for long is not waited for.
            format.flush(track, is_last || is_ended || count == 0);
            is_something |= count > 0;
            if let Some((count, at)) = records.lost() {
                format.dropped(track, count, at);
            }
            if is_ended {
                sources.swap_remove(index);
            } else {
                index += 1;
            }
        }
        self.write()?;
        Ok(is_something)
    }

    fn write(&mut self) -> io::Result<()> {
        write(&mut self.out, &mut self.format.text)?;
        self.out.flush()
    }
}

impl Drop for Writer {
    /// Also after an error, and after a panic.
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
    }
}

fn write(out: &mut impl Write, text: &mut Vec<u8>) -> io::Result<()> {
    out.write_all(text)?;
    text.clear();
    Ok(())
}
