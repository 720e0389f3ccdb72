//! A thread that looks whether the loop gets on.
//!
//! While the loop is busy, it looks a few times in each threshold, at the number of callbacks that have begun. If it
//! finds the same number for as long as the threshold, that callback is reported. So the loop has nothing to do
//! for it but to count.
//!
//! While the loop is not busy, the thread sleeps until it is. Falling asleep and becoming busy is a protocol like
//! that of `sleep.rs`: each side says so, has a fence, and looks at what the other has said.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Stall;
use super::watch::{Verdict, Watch};
use crate::Error;
use crate::fault::{drop_isolated, log_isolated};
use crate::metrics::{Activity, Shown};
use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence, lock};
use crate::sys;

/// What is called with each stall, by the watchdog's thread.
pub(crate) type Hook = Box<dyn FnMut(&Stall) + Send>;

/// How many stalls are kept.
const RECENT: usize = 32;

/// The part that the loop, its handles and the thread share.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    /// Whether the thread sleeps until the loop is busy, or is about to.
    is_asleep: AtomicBool,
    is_over: Mutex<bool>,
    changed: Condvar,
    recent: Mutex<VecDeque<Stall>>,
}

impl Watchdog {
    /// The loop is busy now. That was made visible before.
    #[inline]
    pub(crate) fn rouse(&self) {
        // Partner: the fence in `sleep`.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // Under the lock, so that the thread does not fall asleep in between.
        let _guard = lock(&self.is_over);
        self.is_asleep.store(false, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Waits until the loop is busy. False if it is over.
    pub(crate) fn sleep(&self, is_busy: impl Fn() -> bool) -> bool {
        let mut is_over = lock(&self.is_over);
        self.is_asleep.store(true, Ordering::Relaxed);
        // Partner: the fence in `rouse`.
        fence(Ordering::SeqCst);
        if is_busy() {
            self.is_asleep.store(false, Ordering::Relaxed);
        }
        while !*is_over && self.is_asleep.load(Ordering::Relaxed) {
            is_over = self.changed.wait(is_over).unwrap_or_else(|e| e.into_inner());
        }
        !*is_over
    }

    /// Waits for a while. False if it is over.
    #[cfg(not(loom))]
    fn wait(&self, time: Duration) -> bool {
        let is_over = lock(&self.is_over);
        let waited = self.changed.wait_timeout_while(is_over, time, |is_over| !*is_over);
        !*waited.unwrap_or_else(|e| e.into_inner()).0
    }

    /// The loop has come to its end.
    pub(crate) fn end(&self) {
        *lock(&self.is_over) = true;
        self.changed.notify_all();
    }

    pub(crate) fn recent(&self) -> Vec<Stall> {
        lock(&self.recent).iter().copied().collect()
    }

    fn keep(&self, stall: Stall) {
        let mut recent = lock(&self.recent);
        match recent.back_mut() {
            Some(last) if last.began == stall.began => *last = stall,
            _ => {
                if recent.len() == RECENT {
                    recent.pop_front();
                }
                recent.push_back(stall);
            }
        }
    }
}

/// Starts the thread.
#[cfg(not(loom))]
pub(crate) fn start(
    watchdog: Arc<Watchdog>,
    shown: Arc<Shown>,
    threshold: Duration,
    hook: Option<Hook>,
) -> Result<(), Error> {
    let work = move || Guard { watchdog, shown, hook }.run(threshold);
    std::thread::Builder::new().name("mainspring-watchdog".into()).spawn(work)?;
    Ok(())
}

/// What the thread has.
struct Guard {
    watchdog: Arc<Watchdog>,
    shown: Arc<Shown>,
    hook: Option<Hook>,
}

#[cfg(not(loom))]
impl Guard {
    fn run(mut self, threshold: Duration) {
        let mut watch = Watch::new(threshold);
        let mut stall = None;
        loop {
            let now = sys::now();
            let beat = self.shown.beat();
            match watch.look(now, beat) {
                Verdict::Fine => {}
                Verdict::Stalled { since } => {
                    let (phase, place) = (self.shown.phase(), self.shown.place());
                    // They are those of this callback, unless another one has begun meanwhile.
                    if self.shown.beat() == beat {
                        let duration = Duration::from_nanos((now - since).unsigned_abs());
                        let began = Instant::now() - duration;
                        let found = Stall { phase, place, began, duration, is_over: false };
                        self.shown.stalls.fetch_add(1, Ordering::Relaxed);
                        stall = Some(found);
                        self.report(found);
                    }
                }
                Verdict::StillStalled { since } => self.update(&mut stall, now - since),
                Verdict::Over { since } => {
                    self.update(&mut stall, now - since);
                    if let Some(stall) = stall.take() {
                        self.report(Stall { is_over: true, ..stall });
                    }
                }
            }
            let goes_on = match watch.next_look(now) {
                Some(at) => self.watchdog.wait(Duration::from_nanos((at - now).unsigned_abs())),
                None => self.watchdog.sleep(|| self.shown.activity() == Activity::Busy),
            };
            if !goes_on {
                drop_isolated(self.hook.take());
                return;
            }
        }
    }

    fn update(&self, stall: &mut Option<Stall>, nanoseconds: i64) {
        if let Some(stall) = stall {
            stall.duration = Duration::from_nanos(nanoseconds.unsigned_abs());
            self.watchdog.keep(*stall);
        }
    }

    fn report(&mut self, stall: Stall) {
        self.watchdog.keep(stall);
        let Some(hook) = &mut self.hook else {
            return log_isolated(|| tracing::warn!("{stall}"));
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(&stall))) {
            drop_isolated(payload);
            log_isolated(|| tracing::error!("the hook for stalls panicked"));
        }
    }
}
