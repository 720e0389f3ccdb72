//! What other threads see of a loop that is observed, and what they note for it.

use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::published::Published;
use super::report::Report;
use super::snapshot::Metrics;
use crate::Phase;
use crate::builder::Config;
use crate::stall::{Pulse, Watchdog};
use crate::stamp::Stamp;
use crate::sync::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use crate::sys;

/// What the loop is doing, as one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Activity {
    /// No call drives it.
    #[default]
    Away = 0,
    /// It waits for something to do.
    Idle = 1,
    Busy = 2,
}

impl Activity {
    pub(super) fn from_number(number: u64) -> Self {
        match number {
            1 => Self::Idle,
            2 => Self::Busy,
            _ => Self::Away,
        }
    }
}

/// What the loop does now. Written by its thread, at every callback.
#[derive(Debug)]
struct Present {
    /// Goes up with every callback that begins, to an odd number, and with every one that ends, to an even one. One that
    /// is over is not gone on with, so what the loop does in between has numbers of its own.
    beat: AtomicU64,
    /// Where the last callback was scheduled; null if it is not known.
    place: AtomicPtr<Location<'static>>,
    phase: AtomicU8,
    activity: AtomicU8,
}

/// The longest times that any reader was told, in nanoseconds.
#[derive(Debug, Default)]
struct Latest {
    uptime: AtomicU64,
    busy: AtomicU64,
    idle: AtomicU64,
}

impl Latest {
    /// A time, or a longer one that somebody was told before.
    fn next(latest: &AtomicU64, time: Duration) -> Duration {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // Both: the partner is the same of another reader, whose uptime is seen then.
        Duration::from_nanos(latest.fetch_max(time, Ordering::AcqRel).max(time))
    }
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Shown {
    /// In cache lines of its own, as producers look at the rest.
    present: CachePadded<Present>,
    /// Of the numbers of those about which something is noted, the bits that must be zero for that to be the time. Written
    /// by the loop, about once a millisecond, if everything is noted.
    pub(super) mask: AtomicU32,
    /// Written by whoever is refused.
    pub(crate) refusals: AtomicU64,
    /// Written by the watchdog.
    stalls: AtomicU64,
    /// Who wants to know when the loop becomes busy, if anybody does.
    pub(crate) watchdog: Option<Arc<Watchdog>>,
    /// Whether the threads are noted that queue something.
    is_traced: bool,
    /// Whether somebody wants to know which callback runs, and where it was scheduled.
    is_followed: bool,
    latest: Latest,
    /// When the loop was built.
    began: i64,
    pub(super) published: Published,
}

impl Shown {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            present: CachePadded::new(Present {
                beat: AtomicU64::new(0),
                place: AtomicPtr::new(ptr::null_mut()),
                phase: AtomicU8::new(Phase::External as u8),
                activity: AtomicU8::new(Activity::Away as u8),
            }),
            mask: AtomicU32::new(0),
            refusals: AtomicU64::new(0),
            stalls: AtomicU64::new(0),
            watchdog: config.stall_threshold.map(|_| Arc::default()),
            is_traced: config.is_traced(),
            is_followed: config.is_traced() || config.stall_threshold.is_some(),
            latest: Latest::default(),
            began: sys::now(),
            published: Report::place(),
        }
    }

    /// A callback begins.
    #[inline]
    pub(super) fn callback_begins(
        &self,
        phase: Phase,
        place: Option<&'static Location<'static>>,
        beat: u64,
    ) {
        self.present.phase.store(phase as u8, Ordering::Relaxed);
        self.set_place(place);
        self.present.beat.store(beat, Ordering::Relaxed);
    }

    /// No callback runs until the next one begins.
    #[inline]
    pub(super) fn end_callback(&self, beat: u64) {
        self.present.beat.store(beat, Ordering::Relaxed);
        // Partner: the one in `present`. Who sees what is noted about the next callback sees this number, or a later one.
        fence(Ordering::Release);
    }

    /// The place of the callback that has begun is known.
    #[inline]
    pub(super) fn set_place(&self, place: Option<&'static Location<'static>>) {
        let place = place.map_or(ptr::null(), ptr::from_ref);
        self.present.place.store(place.cast_mut(), Ordering::Relaxed);
    }

    pub(super) fn place(&self) -> Option<&'static Location<'static>> {
        // SAFETY: null, or made of a reference that lives for ever.
        unsafe { self.present.place.load(Ordering::Relaxed).as_ref() }
    }

    fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.present.phase.load(Ordering::Relaxed))]
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.present.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(super) fn activity(&self) -> Activity {
        Activity::from_number(self.present.activity.load(Ordering::Relaxed).into())
    }

    pub(super) fn set_activity(&self, activity: Activity) {
        self.present.activity.store(activity as u8, Ordering::Relaxed);
        if let Some(watchdog) = &self.watchdog
            && activity == Activity::Busy
        {
            watchdog.rouse();
        }
    }

    /// What the loop has published, continued until now.
    pub(crate) fn metrics(&self) -> Metrics {
        let (report, now) = Report::read(&self.published);
        self.complete(&report, now)
    }

    /// The metrics of a report, continued until now. Times never go back: the loop may have looked at the clock, and
    /// not published yet what it does since.
    pub(super) fn complete(&self, report: &Report, now: i64) -> Metrics {
        let mut metrics = report.metrics(now);
        let uptime = (now - self.began).unsigned_abs();
        // Before the others, so that whoever sees one of those sees a time that is as late.
        self.latest.uptime.fetch_max(uptime, Ordering::Relaxed);
        metrics.busy = Latest::next(&self.latest.busy, metrics.busy);
        metrics.idle = Latest::next(&self.latest.idle, metrics.idle);
        let uptime = Duration::from_nanos(self.latest.uptime.load(Ordering::Relaxed));
        metrics.uptime = uptime.max(metrics.busy + metrics.idle);
        metrics.refusals = self.refusals.load(Ordering::Relaxed);
        metrics.stalls = self.stalls.load(Ordering::Relaxed);
        metrics
    }

    /// The present time, and thread if there is a trace.
    pub(super) fn stamp(&self) -> Stamp {
        if self.is_traced { Stamp::here() } else { Stamp::new(0) }
    }

    /// Whether something is to be noted about an entry with that stamp.
    #[inline]
    pub(crate) fn is_noted(&self, stamp: Stamp) -> bool {
        self.is_followed || stamp.is_set()
    }

    /// Whether somebody wants to know which callback runs.
    pub(super) fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// The present time for an entry of another thread about which something is noted, or nothing. `number` is about
    /// that of those before it.
    pub(crate) fn stamp_of(&self, number: usize) -> Stamp {
        let is_stamped = number as u32 & self.mask.load(Ordering::Relaxed) == 0;
        if is_stamped { self.stamp() } else { Stamp::default() }
    }
}

impl Pulse for Shown {
    fn beat(&self) -> Option<u64> {
        let beat = self.present.beat.load(Ordering::Relaxed);
        (self.activity() == Activity::Busy).then_some(beat)
    }

    fn present(&self, beat: u64) -> Option<(Phase, Option<&'static Location<'static>>)> {
        let is_callback = beat % 2 == 1;
        let (phase, place) = (self.phase(), self.place().filter(|_| is_callback));
        // Partner: the one in `end_callback`.
        fence(Ordering::Acquire);
        (self.beat() == Some(beat)).then_some((phase, place))
    }

    fn count_stall(&self) {
        self.stalls.fetch_add(1, Ordering::Relaxed);
    }
}
