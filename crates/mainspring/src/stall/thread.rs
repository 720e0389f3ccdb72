//! The watchdog's thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::watch::{Verdict, Watch};
use super::watchdog::Watchdog;
use super::{Hook, Pulse, Stall};
use crate::fault::{drop_isolated, log_isolated};
use crate::{Error, sys};

/// Starts the thread.
pub(crate) fn start(
    watchdog: Arc<Watchdog>,
    pulse: Arc<impl Pulse>,
    threshold: Duration,
    hook: Option<Hook>,
) -> Result<(), Error> {
    let work = move || Guard { watchdog, pulse, hook }.run(threshold);
    std::thread::Builder::new().name("mainspring-watchdog".into()).spawn(work)?;
    Ok(())
}

/// What the thread has.
struct Guard<P> {
    watchdog: Arc<Watchdog>,
    pulse: Arc<P>,
    hook: Option<Hook>,
}

impl<P: Pulse> Guard<P> {
    fn run(mut self, threshold: Duration) {
        let mut watch = Watch::new(threshold);
        let mut stall = None;
        loop {
            let now = sys::now();
            let beat = self.pulse.beat();
            match watch.look(now, beat) {
                Verdict::Fine => {}
                Verdict::Stalled { since } => {
                    if let Some((phase, place)) = beat.and_then(|beat| self.pulse.present(beat)) {
                        let duration = Duration::from_nanos((now - since).unsigned_abs());
                        let began = Instant::now() - duration;
                        let found = Stall { phase, place, began, duration, is_over: false };
                        self.pulse.count_stall();
                        stall = Some(found);
                        self.report(found);
                    }
                }
                Verdict::StillStalled { since } => self.update(&mut stall, now - since),
                Verdict::Over { since } => self.end(&mut stall, now - since),
            }
            let goes_on = match watch.next_look(now) {
                Some(at) => self.watchdog.wait(Duration::from_nanos((at - now).unsigned_abs())),
                None => self.watchdog.sleep(|| self.pulse.beat().is_some()),
            };
            if !goes_on {
                break;
            }
        }
        let now = sys::now();
        if let Verdict::Over { since } = watch.look(now, None) {
            self.end(&mut stall, now - since);
        }
        drop_isolated(self.hook.take());
    }

    fn end(&mut self, stall: &mut Option<Stall>, nanoseconds: i64) {
        self.update(stall, nanoseconds);
        if let Some(stall) = stall.take() {
            self.report(Stall { is_over: true, ..stall });
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
