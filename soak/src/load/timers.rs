//! A population of timers that stays the same in number: what fires or is cleared is set again, some are put off.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mainspring::{Cx, TimerId};

use super::run::Run;
use crate::ledger::{INTERVALS, TIMEOUTS};
use crate::random::Random;

/// How often some of them are cleared and put off, and how many.
const EVERY: Duration = Duration::from_millis(10);
const SOME: u64 = 100;

/// All timers of the load.
pub(crate) struct Population {
    run: Arc<Run>,
    random: RefCell<Random>,
    timeouts: RefCell<Vec<Option<TimerId>>>,
    intervals: RefCell<Vec<Option<TimerId>>>,
    is_over: Cell<bool>,
}

impl Population {
    pub(crate) fn start(cx: &Cx, run: &Arc<Run>) -> Rc<Self> {
        let population = Rc::new(Self {
            run: Arc::clone(run),
            random: RefCell::new(Random::new(77)),
            timeouts: RefCell::new(vec![None; run.scale.timers]),
            intervals: RefCell::new(vec![None; run.scale.intervals]),
            is_over: Cell::new(false),
        });
        (0..run.scale.timers).for_each(|slot| population.set_timeout(cx, slot));
        (0..run.scale.intervals).for_each(|slot| population.set_interval(cx, slot));
        let theirs = Rc::clone(&population);
        let stir = move |cx: &Cx| theirs.stir(cx);
        super::every(cx, run, EVERY, stir);
        population
    }

    /// Clears everything that is left.
    pub(crate) fn end(&self, cx: &Cx) {
        self.is_over.set(true);
        for id in self.timeouts.take().into_iter().flatten() {
            if cx.clear_timeout(id) {
                TIMEOUTS.note_told();
            }
        }
        for id in self.intervals.take().into_iter().flatten() {
            if cx.clear_interval(id) {
                INTERVALS.note_told();
            }
        }
    }

    fn set_timeout(self: &Rc<Self>, cx: &Cx, slot: usize) {
        if self.is_over.get() || self.run.is_over() {
            return;
        }
        let delay = self.random.borrow_mut().milliseconds(1..20_000);
        let (ticket, population) = (TIMEOUTS.issue(), Rc::clone(self));
        let set = cx.set_timeout(delay, move |cx| {
            ticket.run();
            population.forget(slot);
            population.set_timeout(cx, slot);
        });
        match set {
            Ok(id) => self.timeouts.borrow_mut()[slot] = Some(id),
            Err(_) => TIMEOUTS.note_told(),
        }
    }

    /// The timer in a slot has fired.
    fn forget(&self, slot: usize) {
        if let Some(slot) = self.timeouts.borrow_mut().get_mut(slot) {
            *slot = None;
        }
    }

    /// Calls some times, then clears itself and makes another one.
    fn set_interval(self: &Rc<Self>, cx: &Cx, slot: usize) {
        if self.is_over.get() || self.run.is_over() {
            return;
        }
        let (period, is_fixed_rate, mut left) = {
            let mut random = self.random.borrow_mut();
            (random.milliseconds(20..1_000), random.is_one_in(2), random.within(1..20))
        };
        let (mut ticket, population) = (Some(INTERVALS.issue()), Rc::clone(self));
        let callback = move |cx: &Cx| {
            left -= 1;
            if left == 0
                && let Some(ticket) = ticket.take()
                && let Some(id) = cx.current_interval()
            {
                ticket.run();
                cx.clear_interval(id);
                population.set_interval(cx, slot);
            }
        };
        let set = if is_fixed_rate {
            cx.set_interval_fixed_rate(period, callback).ok()
        } else {
            cx.set_interval(period, callback).ok()
        };
        match (set, self.intervals.borrow_mut().get_mut(slot)) {
            (Some(id), Some(slot)) => *slot = Some(id),
            _ => INTERVALS.note_told(),
        }
    }

    /// Clears some, and puts some off.
    fn stir(self: &Rc<Self>, cx: &Cx) {
        for _ in 0..SOME {
            let slot = self.random.borrow_mut().within(0..self.run.scale.timers as u64) as usize;
            let Some(id) = self.timeouts.borrow().get(slot).copied().flatten() else { continue };
            if self.random.borrow_mut().is_one_in(2) {
                let delay = self.random.borrow_mut().milliseconds(1..20_000);
                let is_there = cx.reset_timeout(id, delay).is_ok();
                assert!(is_there, "a timer that has not fired is alive");
            } else {
                assert!(cx.clear_timeout(id), "a timer that has not fired can be cleared");
                TIMEOUTS.note_told();
                self.set_timeout(cx, slot);
            }
        }
    }
}
