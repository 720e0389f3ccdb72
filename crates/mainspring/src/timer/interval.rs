//! What fires again and again: a one-shot timer that is armed anew after each call.

use std::any::type_name;
use std::time::Duration;

use crate::Cx;
use crate::clock::nanoseconds;
use crate::fault::drop_isolated;
use crate::place::{Origin, Place};
use crate::safety::Ticket;
use crate::shared::Shared;
use crate::task::{Callback, Task, TimerTask};
use crate::timer::id::TimerId;

/// From where to where the period is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// From the end of one call to the next one.
    FixedDelay,
    /// From one deadline to the next one.
    FixedRate,
}

/// An interval between two calls.
pub(crate) struct Interval<F> {
    id: TimerId,
    pace: Pace,
    period: i64,
    /// The deadline of the call that is next.
    deadline: i64,
    place: Place,
    /// Of a loop of the maximum-safety profile.
    ticket: Option<Ticket>,
    callback: F,
}

/// An interval that waits for its time. It is `Send` if `F` is.
pub(crate) struct Waiting<F>(Box<Interval<F>>);

impl<F: FnMut(&Cx) + 'static> Callback for Waiting<F> {
    fn call(self, cx: &Cx) {
        self.0.call(cx);
    }

    fn origin(&self) -> Origin {
        let task = self.0.ticket.as_ref().map_or(0, Ticket::id);
        Origin { task, ..Origin::new(self.0.place.get(), type_name::<F>()) }
    }
}

impl<F: FnMut(&Cx) + 'static> Interval<F> {
    /// The callback of the first timer. What cannot be represented does not matter: such a timer is refused.
    pub(crate) fn starter(
        id: TimerId,
        pace: Pace,
        period: Duration,
        deadline: Option<i64>,
        place: Place,
        shared: &Shared,
        callback: F,
    ) -> Waiting<F> {
        let (period, deadline) = (nanoseconds(period).unwrap_or(0), deadline.unwrap_or(0));
        let ticket = shared.safety.as_ref().map(|safety| safety.timer_ticket(place));
        Waiting(Box::new(Self { id, pace, period, deadline, place, ticket, callback }))
    }

    fn wait(self: Box<Self>) -> TimerTask {
        Task::new(Waiting(self))
    }

    fn call(self: Box<Self>, cx: &Cx) {
        /// Arms the timer again, whether the callback returns or panics.
        struct Again<'a, F: FnMut(&Cx) + 'static>(&'a Cx, Option<Box<Interval<F>>>);
        impl<F: FnMut(&Cx) + 'static> Drop for Again<'_, F> {
            fn drop(&mut self) {
                if let Some(interval) = self.1.take() {
                    interval.rearm(self.0);
                }
            }
        }
        cx.0.timers.current_interval.set(Some(self.id));
        let mut again = Again(cx, Some(self));
        if let Some(interval) = &mut again.1 {
            (interval.callback)(cx);
        }
    }

    fn rearm(mut self: Box<Self>, cx: &Cx) {
        let local = &*cx.0;
        local.timers.current_interval.set(None);
        self.deadline = match self.pace {
            Pace::FixedDelay => local.shared.clock.read().saturating_add(self.period),
            // As of when the callback began: what comes due while it runs is not lost.
            Pace::FixedRate => {
                next_on_grid(self.deadline, self.period, local.shared.clock.cached())
            }
        };
        if let Some(ticket) = &self.ticket {
            ticket.wait_again();
        }
        let (id, deadline) = (self.id, self.deadline);
        let cleared = local.timers.rearm(&local.shared.timers, id, deadline, self.wait());
        // Possibly on the way of a panic, so another one must not leave.
        drop_isolated(cleared);
    }
}

/// The first time after `now` that is a multiple of `period` away from `deadline`.
fn next_on_grid(deadline: i64, period: i64, now: i64) -> i64 {
    if period == 0 {
        return now;
    }
    let periods = now.saturating_sub(deadline).div_euclid(period).saturating_add(1);
    deadline.saturating_add(periods.saturating_mul(period))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: TM-10
    #[test]
    fn missed_ticks_are_left_out_and_the_grid_is_kept() {
        assert_eq!(next_on_grid(100, 10, 100), 110, "in time");
        assert_eq!(next_on_grid(100, 10, 103), 110);
        assert_eq!(next_on_grid(100, 10, 109), 110);
        assert_eq!(next_on_grid(100, 10, 110), 120, "one was missed");
        assert_eq!(next_on_grid(100, 10, 1_009), 1_010);
        assert_eq!(next_on_grid(100, 10, 91), 100, "called early, because it was reset");
        assert_eq!(next_on_grid(100, 10, 50), 60);
        assert_eq!(next_on_grid(100, 0, 150), 150);
        assert_eq!(next_on_grid(-5, i64::MAX, 7), i64::MAX - 5);
        assert_eq!(next_on_grid(5, i64::MAX, 7), i64::MAX, "the end of time");
    }
}
