//! Who writes down what a loop does, if anybody does.

use std::panic::Location;
use std::time::Instant;

use crate::Phase;
use crate::builder::Config;
use crate::stamp::Stamp;
#[cfg(not(loom))]
use crate::tracer::{Recorder, Submitted};

/// A recorder, or none. There is none in a model.
pub(super) struct Trace {
    #[cfg(not(loom))]
    recorder: Option<Recorder>,
}

impl Trace {
    pub(super) fn new(config: &Config) -> Self {
        let _ = config;
        Self {
            #[cfg(not(loom))]
            recorder: config.tracer.as_ref().map(|tracer| Recorder::new(tracer, None)),
        }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        #[cfg(not(loom))]
        return self.recorder.is_some();
        #[cfg(loom)]
        false
    }

    #[cfg(not(loom))]
    fn tell(&self, f: impl FnOnce(&Recorder)) {
        if let Some(recorder) = &self.recorder {
            f(recorder);
        }
    }

    pub(super) fn tick(&self, number: u64, (from, to): (i64, i64)) {
        #[cfg(not(loom))]
        self.tell(|recorder| recorder.tick(number, from, to));
        let _ = (number, from, to);
    }

    pub(super) fn phase(&self, phase: Phase, (from, to): (i64, i64)) {
        #[cfg(not(loom))]
        self.tell(|recorder| recorder.phase(phase, from, to));
        let _ = (phase, from, to);
    }

    /// A callback begins.
    pub(super) fn begins(&self, from: i64) {
        #[cfg(not(loom))]
        self.tell(|recorder| recorder.begins(from));
        let _ = from;
    }

    pub(super) fn callback(
        &self,
        phase: Phase,
        place: Option<&'static Location<'static>>,
        (from, to): (i64, i64),
        stamp: Stamp,
    ) {
        #[cfg(not(loom))]
        self.tell(|recorder| recorder.callback(phase, place, from, to, submitted(stamp, from)));
        let _ = (phase, place, from, to, stamp);
    }

    pub(super) fn sleep(&self, (from, to): (i64, i64), woken: Stamp) {
        #[cfg(not(loom))]
        self.tell(|recorder| recorder.sleep(from, to, submitted(woken, to)));
        let _ = (from, to, woken);
    }

    /// What the callback that runs has done.
    pub(super) fn slice(&self, name: &'static str, began: Instant, ended: Instant) {
        #[cfg(not(loom))]
        self.tell(|recorder| recorder.part(name, began, ended));
        let _ = (name, began, ended);
    }

    pub(super) fn mark(&self, name: &'static str, at: i64) {
        #[cfg(not(loom))]
        self.tell(|recorder| recorder.mark(name, at));
        let _ = (name, at);
    }
}

/// What a stamp says, before that time.
#[cfg(not(loom))]
fn submitted(stamp: Stamp, before: i64) -> Option<Submitted> {
    let at = before.checked_sub_unsigned(stamp.before(before))?;
    stamp.is_set().then(|| Submitted { at, thread: stamp.thread() })
}
