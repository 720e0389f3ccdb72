//! A trace of what loops do, in the format of Perfetto and chrome://tracing.
//!
//! # Parts
//!
//! ```text
//! loop's thread                                 tracer's thread
//! Recorder ─ Record ─▶ ring ─────────────────▶ Writer ─▶ Formatter ─▶ text ─▶ file
//! ```
//!
//! Each loop has a [`Recorder`], which puts records of 32 bytes into a [ring] of its own. The tracer's
//! thread empties the rings, makes text of the records, and writes it. It looks every 100 ms, and when there are
//! many records. If it finds nothing, it sleeps, and the end of the next tick or sleep of a loop wakes it.
//!
//! # Guarantees
//!
//! 1. A loop never waits for the file. If its ring is full, records are dropped, and counted.
//! 2. What was recorded before [`finish`](Tracer::finish) was called is in the file after it, unless it was
//!    dropped or writing failed. That needs no help of the loop, so a callback may finish the trace.
//! 3. On each track, slices are disjoint or one is inside the other.
//! 4. Both ends of each flow are inside a slice, and both or none are in the file.
//!
//! # The file
//!
//! It is an array of events, one in a line. The format allows the end to be missing, so there is no moment at
//! which what was written would be of no use. Times count from when the tracer was made: readers keep them as
//! floating-point numbers, which have nanoseconds only for the first 100 days. What is older is at 0.
//!
//! | event              | what it is                                                                      |
//! |--------------------|---------------------------------------------------------------------------------|
//! | slice `tick`       | a tick, with its number                                                         |
//! | slice, a phase     | a phase, in its tick                                                            |
//! | slice, a place     | a callback, in its phase: where it was scheduled, and for how long it has waited |
//! | slice, another name | what the program has [told](crate::Cx::trace_slice), in a callback             |
//! | slice `sleep`      | the loop was blocked                                                            |
//! | slice `submit`     | no time at all: a callback was handed over, from where a flow goes to its slice |
//! | slice `wake`       | no time at all: a wake was sent, from where a flow goes to the end of the sleep |
//! | slice `woken`      | no time at all: the end of such a flow, in the last nanosecond of the sleep     |
//! | instant            | a panic, a stall, and the like                                                  |
//! | instant `dropped events` | how many are missing, at the time of the last one                         |

mod format;
mod record;
mod ring;
mod slice;
#[cfg(test)]
mod tests;
mod text;
mod threads;
mod writer;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use self::record::Record;
use self::ring::Consumer;
use self::writer::{Source, Writer};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, fence, lock};
use crate::sys;

pub(crate) use self::record::{Recorder, Submitted};
pub(crate) use self::threads::thread_number;

/// Writes a trace of what loops do: a file that [Perfetto](https://ui.perfetto.dev) and chrome://tracing open.
///
/// It has ticks, phases, callbacks and sleeps as slices, on one track for each thread, and arrows from where
/// something was submitted to where it was run, and from who sent a wake to the end of the sleep.
///
/// Clones write to the same file, and so can several loops. A thread of the tracer's own does the writing: loops
/// never wait for it. What it cannot keep up with is left out, [counted](Self::dropped), and marked in the trace.
///
/// The file is complete after [`finish`](Self::finish), or when the last clone was dropped, that of a loop
/// included. One that is not, because the process was killed, can be opened all the same: what is
/// recorded is in the file soon after, mostly within a tenth of a second.
///
/// ```
/// use mainspring::Tracer;
///
/// let path = std::env::temp_dir().join("mainspring-tracer.json");
/// let tracer = Tracer::create(&path)?;
/// tracer.finish()?;
/// assert!(std::fs::read_to_string(&path)?.starts_with('['));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Tracer(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    thread: thread::Thread,
    end: Mutex<End>,
}

/// How it ended, or how to wait for that.
enum End {
    Open(thread::JoinHandle<io::Result<()>>),
    Over(io::Result<()>),
}

/// What the tracer's thread knows of, too.
#[derive(Debug, Default)]
struct Shared {
    /// New loops.
    sources: Mutex<Vec<Source>>,
    /// How many loops there have been.
    loops: AtomicU64,
    /// Whether the thread sleeps until it is woken, or is about to.
    is_asleep: AtomicBool,
    /// Whether the thread is to come to its end.
    is_finishing: AtomicBool,
    /// Whether it has.
    is_closed: AtomicBool,
    dropped: AtomicU64,
}

impl Tracer {
    /// Creates a file, or empties one that is there, and writes to it.
    ///
    /// # Errors
    ///
    /// The file cannot be created or written, or the thread cannot be started.
    ///
    /// ```
    /// use mainspring::Tracer;
    ///
    /// assert!(Tracer::create("/no/such/directory/trace.json").is_err());
    /// ```
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::to_writer(File::create(path)?)
    }

    /// Writes to something else. It need not have a buffer, and is dropped at the end of the trace. If it
    /// blocks, nobody waits for it but [`finish`](Self::finish), and the last clone's drop.
    ///
    /// # Errors
    ///
    /// The beginning cannot be written, or the thread cannot be started.
    ///
    /// ```
    /// use mainspring::Tracer;
    ///
    /// let tracer = Tracer::to_writer(std::io::sink())?;
    /// tracer.finish()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn to_writer(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Self::start(Box::new(writer), sys::now())
    }

    /// Writes times as what has passed since `origin`.
    fn start(writer: Box<dyn Write + Send>, origin: i64) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut writer = Writer::new(writer, origin, Arc::clone(&shared));
        writer.begin()?;
        let thread =
            thread::Builder::new().name("mainspring-tracer".into()).spawn(move || writer.run())?;
        let (handle, end) = (thread.thread().clone(), Mutex::new(End::Open(thread)));
        Ok(Self(Arc::new(Inner { shared, thread: handle, end })))
    }

    /// Writes what was recorded so far, and completes the file. What loops do after that is not recorded. If it
    /// was done already, it tells again how that went.
    ///
    /// # Errors
    ///
    /// The first error of the writer. What came after it was not written.
    ///
    /// ```
    /// # let tracer = mainspring::Tracer::to_writer(std::io::sink())?;
    /// if let Err(error) = tracer.finish() {
    ///     eprintln!("the trace is not complete: {error}");
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn finish(&self) -> io::Result<()> {
        self.0.finish()
    }

    /// How many events are missing, because the writer could not keep up.
    ///
    /// ```
    /// # let tracer = mainspring::Tracer::to_writer(std::io::sink())?;
    /// assert_eq!(tracer.dropped(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.shared.dropped.load(Ordering::Relaxed)
    }

    /// Adds a loop of that thread.
    fn register(&self, consumer: Consumer<Record>, thread: u16, name: Option<Box<str>>) {
        let shared = &self.0.shared;
        let number = shared.loops.fetch_add(1, Ordering::Relaxed) + 1;
        if !shared.is_closed.load(Ordering::Relaxed) {
            lock(&shared.sources).push(Source::new(consumer, number, thread, name));
        }
    }

    /// There is something to write: wakes the thread if it sleeps until it is woken.
    #[inline]
    fn wake_if_asleep(&self) {
        // Partner of the one in `is_idle`: either that sees what there is, or this sees that the thread is asleep.
        fence(Ordering::SeqCst);
        if self.0.shared.is_asleep.load(Ordering::Relaxed) {
            self.0.shared.is_asleep.store(false, Ordering::Relaxed);
            self.wake();
        }
    }

    /// There is a lot to write.
    #[cold]
    fn wake(&self) {
        self.0.thread.unpark();
    }

    /// Counts an event that is missing; not if that is because the trace is finished.
    fn count_dropped(&self) -> bool {
        let is_open = !self.0.shared.is_closed.load(Ordering::Relaxed);
        if is_open {
            self.0.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
        is_open
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

impl Inner {
    fn finish(&self) -> io::Result<()> {
        let mut end = lock(&self.end);
        // Release: the partner is the Acquire of the thread, which sees all records of this one.
        self.shared.is_finishing.store(true, Ordering::Release);
        self.thread.unpark();
        if let End::Open(_) = *end {
            let End::Open(thread) = std::mem::replace(&mut *end, End::Over(Ok(()))) else {
                unreachable!()
            };
            let panicked = |_| Err(io::Error::other("the writer of the trace panicked"));
            *end = End::Over(thread.join().unwrap_or_else(panicked));
        }
        match &*end {
            End::Over(Err(error)) => Err(again(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// The same error once more, as far as that is possible.
fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
