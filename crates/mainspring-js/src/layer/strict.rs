//! Timers in Node's order, driven by one timer of the loop.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use mainspring::{Cx, TimerId};

use super::Layer;
use super::lists::Lists;
use crate::engine::{Engine, Entry};

/// The timers of a script, and the one that drives them.
pub(super) struct Strict<T> {
    lists: RefCell<Lists<T>>,
    driver: Cell<Option<(TimerId, u64)>>,
    /// Whether timers are being run, between two of which there is a checkpoint.
    is_running: Cell<bool>,
}

impl<T> Strict<T> {
    pub(super) fn new() -> Self {
        Self { lists: RefCell::default(), driver: Cell::new(None), is_running: Cell::new(false) }
    }

    pub(super) fn referenced(&self) -> usize {
        self.lists.borrow().referenced()
    }

    /// Lets go of all timers.
    pub(super) fn end(&self, cx: &Cx) {
        let lists = self.lists.take();
        drop(lists);
        if let Some((id, _)) = self.driver.take() {
            cx.clear_timeout(id);
        }
    }
}

/// Milliseconds since the loop was made.
fn now(cx: &Cx) -> f64 {
    cx.performance().now()
}

/// The same, as Node counts them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "time passes slowly")]
fn whole(ms: f64) -> u64 {
    ms as u64
}

impl<E: Engine> Layer<E> {
    pub(super) fn start_strict(
        self: &Rc<Self>,
        strict: &Strict<E::Ref>,
        target: E::Ref,
        delay: Duration,
        is_ref: bool,
    ) -> Result<u64, mainspring::Error> {
        let start = whole(now(self.cx()));
        let id = strict.lists.borrow_mut().start(target, start, millis(delay), is_ref);
        self.drive(strict, Duration::ZERO)?;
        Ok(id)
    }

    pub(super) fn clear_strict(&self, strict: &Strict<E::Ref>, id: u64) -> bool {
        // Dropped when the lists are free again.
        let target = strict.lists.borrow_mut().clear(id);
        self.refer(strict);
        target.is_some()
    }

    pub(super) fn reset_strict(&self, strict: &Strict<E::Ref>, id: u64, delay: Duration) -> bool {
        let start = whole(now(self.cx()));
        let is_waiting = strict.lists.borrow_mut().reset(id, start, millis(delay));
        is_waiting
            && self.this.upgrade().is_some_and(|layer| layer.drive(strict, Duration::ZERO).is_ok())
    }

    pub(super) fn ref_strict(&self, strict: &Strict<E::Ref>, id: u64, is_ref: bool) {
        strict.lists.borrow_mut().reference(id, is_ref);
        self.refer(strict);
    }

    /// The driver keeps the loop alive as long as one of the timers does.
    fn refer(&self, strict: &Strict<E::Ref>) {
        if let Some((id, _)) = strict.driver.get() {
            // One that is gone keeps nothing alive.
            let _ = self.cx().reference_timer(id, strict.referenced() > 0);
        }
    }

    /// Has the driver come when something may be due, and not before so much time has passed.
    fn drive(
        self: &Rc<Self>,
        strict: &Strict<E::Ref>,
        least: Duration,
    ) -> Result<(), mainspring::Error> {
        if strict.is_running.get() {
            return Ok(());
        }
        let next = strict.lists.borrow().expiry();
        if let (Some((_, at)), Some(next)) = (strict.driver.get(), next)
            && at <= next
        {
            self.refer(strict);
            return Ok(());
        }
        if let Some((id, _)) = strict.driver.take() {
            self.cx().clear_timeout(id);
        }
        let Some(next) = next else { return Ok(()) };
        #[expect(clippy::cast_precision_loss, reason = "for times of a process")]
        let wait = (next as f64 - now(self.cx())).max(0.0);
        self.send_driver(strict, Duration::from_secs_f64(wait / 1e3).max(least), None, next)
    }

    /// The phase is that in which it goes on.
    fn send_driver(
        self: &Rc<Self>,
        strict: &Strict<E::Ref>,
        wait: Duration,
        phase: Option<u64>,
        at: u64,
    ) -> Result<(), mainspring::Error> {
        let layer = Rc::clone(self);
        let id = self.cx().set_timeout(wait, move |cx| {
            if let Some(strict) = &layer.strict {
                strict.driver.set(None);
                layer.run_strict(cx, strict, phase.unwrap_or_else(|| whole(now(cx))));
            }
        });
        strict.driver.set(Some((id.map_err(mainspring::Error::from)?, at)));
        self.refer(strict);
        Ok(())
    }

    /// Runs a timer that is due in a phase that began at this time. If there are more, the driver comes again, after a
    /// checkpoint.
    fn run_strict(self: &Rc<Self>, cx: &Cx, strict: &Strict<E::Ref>, phase: u64) {
        strict.is_running.set(true);
        loop {
            let due = strict.lists.borrow_mut().pop_due(phase);
            let Some(target) = due else { break };
            self.host.count(|stats| stats.timers += 1);
            let is_well =
                self.enter(cx, "timer", |engine| engine.call(Entry::Timer, Some(&target)));
            if self.has_ended() {
                return;
            }
            // As in Node, there is no checkpoint after one that threw.
            let has_more = strict.lists.borrow_mut().has_due(phase);
            if is_well && has_more {
                // At the end of the loop there is nothing to be told.
                let _ = self.send_driver(strict, Duration::ZERO, Some(phase), phase);
                return;
            }
        }
        strict.is_running.set(false);
        // What is due meanwhile waits for another phase.
        let _ = self.drive(strict, Duration::from_millis(1));
    }
}

fn millis(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}
