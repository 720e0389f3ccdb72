//! A callback with a ticket, by which the ledger knows it.

use std::sync::Arc;

use super::Safety;
use crate::Cx;
use crate::place::{Origin, Place};
#[cfg(feature = "metrics")]
use crate::stamp::Stamp;
use crate::task::{Callback, SendTask, SendTimerTask, Task, TimerTask};

/// The entry of a task in the ledger. Whether the task is run or dropped, the entry goes with it.
#[derive(Debug)]
pub(crate) struct Ticket {
    id: u64,
    safety: Arc<Safety>,
}

impl Ticket {
    pub(super) fn new(id: u64, safety: &Arc<Safety>) -> Self {
        Self { id, safety: Arc::clone(safety) }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The timer was run, and waits for its next time.
    pub(crate) fn wait_again(&self) {
        self.safety.lock().wait_again(self.id);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.safety.lock().leave(self.id);
    }
}

/// A callback of a loop of this profile.
struct Guarded<F> {
    callback: F,
    place: Place,
    #[cfg(feature = "metrics")]
    stamp: Stamp,
    /// Last, so that the task is in the ledger for as long as anything of it exists.
    ticket: Ticket,
}

impl<F: Callback> Callback for Guarded<F> {
    fn call(self, cx: &Cx) {
        let Self { callback, ticket, .. } = self;
        #[cfg(feature = "metrics")]
        if let Some(observer) = cx.0.observer() {
            observer.note_callback(&cx.0, self.place, self.stamp);
        }
        // Dropped after the callback, also if that panics.
        let _ticket = ticket;
        callback.call(cx);
    }

    fn origin(&self) -> Origin {
        Origin { place: self.place.get(), task: self.ticket.id, ..self.callback.origin() }
    }
}

/// What is noted about a callback beside its ticket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    pub(crate) place: Place,
    #[cfg(feature = "metrics")]
    pub(crate) stamp: Stamp,
}

impl Notes {
    /// Nothing but a place.
    pub(crate) fn at(place: Place) -> Self {
        Self {
            place,
            #[cfg(feature = "metrics")]
            stamp: Stamp::default(),
        }
    }
}

impl Safety {
    /// The task of a callback that the ledger knows by that number. The ticket is in the task itself also if the callback is
    /// too large for that.
    pub(crate) fn guard<F, const N: usize>(
        self: &Arc<Self>,
        id: u64,
        callback: F,
        notes: Notes,
    ) -> Task<N>
    where
        F: FnOnce(&Cx) + 'static,
    {
        let ticket = Ticket::new(id, self);
        if Task::<N>::has_room::<Guarded<F>>() {
            Task::new(guarded(ticket, callback, notes))
        } else {
            let callback = Box::new(callback);
            Task::new(guarded(ticket, move |cx: &Cx| callback(cx), notes))
        }
    }

    /// The same for a callback of another thread.
    pub(super) fn guard_sent<F>(self: &Arc<Self>, id: u64, callback: F, notes: Notes) -> SendTask
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        // SAFETY: the callback is `Send`; a ticket and notes are.
        unsafe { SendTask::of(self.guard(id, callback, notes)) }
    }

    /// The task of a timer.
    pub(crate) fn timer_task<F>(self: &Arc<Self>, callback: F, place: Place) -> TimerTask
    where
        F: FnOnce(&Cx) + 'static,
    {
        let id = self.lock().admit(None, place.get());
        self.guard(id, callback, Notes::at(place))
    }

    /// The task of a timer that another thread sets.
    pub(crate) fn sent_timer_task<F>(self: &Arc<Self>, callback: F, place: Place) -> SendTimerTask
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        // SAFETY: as above.
        unsafe { SendTask::of(self.timer_task(callback, place)) }
    }

    /// The ticket of a timer that is run again and again.
    pub(crate) fn timer_ticket(self: &Arc<Self>, place: Place) -> Ticket {
        Ticket::new(self.lock().admit(None, place.get()), self)
    }
}

fn guarded<F>(ticket: Ticket, callback: F, notes: Notes) -> Guarded<F> {
    Guarded {
        callback,
        place: notes.place,
        #[cfg(feature = "metrics")]
        stamp: notes.stamp,
        ticket,
    }
}
