//! What the loop's thread writes down.

use std::panic::Location;
use std::thread;
use std::time::Instant;

use super::ring::{self, Producer};
use super::slice::Bounds;
use super::{Tracer, thread_number};
use crate::Phase;

/// After how many records the tracer's thread is woken.
const BATCH: usize = 1 << 12;

/// What a callback says of a wait that is too long for it, 4 s or more: it is in the record before.
pub(super) const LONG: u32 = u32::MAX;

/// When something was handed over, or a wake was sent, and by which thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submitted {
    pub(crate) at: i64,
    pub(crate) thread: u16,
}

/// One thing that has happened. Times are those of [`now`](crate::sys::now). A `thread` of 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Tick {
        number: u64,
        from: i64,
        to: i64,
    },
    Phase {
        phase: Phase,
        from: i64,
        to: i64,
    },
    Callback {
        phase: Phase,
        thread: u16,
        /// The nanoseconds between being handed over and being run, or [`LONG`].
        waited: u32,
        place: Option<&'static Location<'static>>,
        from: i64,
        to: i64,
    },
    /// When the next callback was handed over, if it has waited for [long](LONG).
    Origin {
        at: i64,
    },
    Sleep {
        thread: u16,
        from: i64,
        to: i64,
        woken_at: i64,
    },
    Mark {
        name: &'static str,
        at: i64,
    },
    /// Something that the program tells of, in a callback.
    Slice {
        took: Took,
        name: &'static str,
        to: i64,
    },
}

/// Nanoseconds, for as many bytes as there are left: two years at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Took([u8; 7]);

impl Took {
    const MAX: i64 = (1 << 56) - 1;

    pub(super) fn new(nanos: i64) -> Self {
        let [bytes @ .., _] = nanos.clamp(0, Self::MAX).to_le_bytes();
        Self(bytes)
    }

    fn get(self) -> i64 {
        let [a, b, c, d, e, f, g] = self.0;
        i64::from_le_bytes([a, b, c, d, e, f, g, 0])
    }
}

impl Record {
    /// When it began and ended.
    pub(super) fn range(&self) -> (i64, i64) {
        match *self {
            Self::Tick { from, to, .. }
            | Self::Phase { from, to, .. }
            | Self::Callback { from, to, .. }
            | Self::Sleep { from, to, .. } => (from, to),
            Self::Origin { at } | Self::Mark { at, .. } => (at, at),
            Self::Slice { took, to, .. } => (to - took.get(), to),
        }
    }
}

/// Two in a cache line.
const _: () = assert!(size_of::<Record>() <= 32);

/// Writes down what one loop does, on its thread.
pub(crate) struct Recorder {
    producer: Producer<Record>,
    tracer: Tracer,
    bounds: Bounds,
}

impl Recorder {
    /// A recorder for a loop of the current thread. The track is called by that name, or else by the thread's.
    pub(crate) fn new(tracer: &Tracer, name: Option<&str>) -> Self {
        let (producer, consumer) = ring::ring();
        let name = name.map(Box::from).or_else(|| thread::current().name().map(Box::from));
        tracer.register(consumer, thread_number(), name);
        Self { producer, tracer: tracer.clone(), bounds: Bounds::new() }
    }

    /// A tick is over.
    #[inline]
    pub(crate) fn tick(&self, number: u64, from: i64, to: i64) {
        self.bounds.pass(to);
        self.push(to, Record::Tick { number, from, to });
        self.tracer.wake_if_asleep();
    }

    /// A phase is over.
    #[inline]
    pub(crate) fn phase(&self, phase: Phase, from: i64, to: i64) {
        self.bounds.pass(to);
        self.push(to, Record::Phase { phase, from, to });
    }

    /// A callback begins: of a phase, or a microtask, which may be in such a one.
    #[inline]
    pub(crate) fn begins(&self, from: i64) {
        self.bounds.begin(from);
    }

    /// A callback has returned.
    #[inline]
    pub(crate) fn callback(
        &self,
        phase: Phase,
        place: Option<&'static Location<'static>>,
        from: i64,
        to: i64,
        submitted: Option<Submitted>,
    ) {
        self.bounds.end(from, to);
        let (mut thread, mut waited) = (0, 0);
        if let Some(submitted) = submitted {
            thread = submitted.thread;
            let time = from.saturating_sub(submitted.at).max(0);
            waited = u32::try_from(time).unwrap_or(LONG);
            if waited == LONG {
                self.origin(to, submitted.at);
            }
        }
        self.push(to, Record::Callback { phase, thread, waited, place, from, to });
    }

    #[cold]
    fn origin(&self, to: i64, at: i64) {
        self.push(to, Record::Origin { at });
    }

    /// The loop has slept.
    #[inline]
    pub(crate) fn sleep(&self, from: i64, to: i64, woken: Option<Submitted>) {
        self.bounds.pass(to);
        let (thread, woken_at) = woken.map_or((0, 0), |woken| (woken.thread, woken.at));
        self.push(to, Record::Sleep { thread, from, to, woken_at });
        self.tracer.wake_if_asleep();
    }

    /// Something has happened that takes no time.
    #[inline]
    pub(crate) fn mark(&self, name: &'static str, at: i64) {
        self.push(at, Record::Mark { name, at });
    }

    /// The program tells what it has done in the callback that runs.
    pub(crate) fn part(&self, name: &'static str, began: Instant, ended: Instant) {
        let (from, to) = self.bounds.fit(began, ended);
        self.push(to, Record::Slice { took: Took::new(to - from), name, to });
    }

    #[inline]
    fn push(&self, at: i64, record: Record) {
        match self.producer.push(record) {
            Some(position) if position % BATCH != BATCH - 1 => {}
            Some(_) => self.tracer.wake(),
            None => self.lose(at),
        }
    }

    #[cold]
    fn lose(&self, at: i64) {
        if self.tracer.count_dropped() {
            self.producer.lose(at);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.producer.end();
        self.tracer.wake();
    }
}
