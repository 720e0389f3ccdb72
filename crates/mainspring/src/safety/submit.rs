//! Putting tasks into the queues of a loop of this profile.

use std::sync::Arc;

use super::task::Notes;
use super::{Broken, Safety, submitting};
#[cfg(test)]
use crate::defect::{Defect, strikes};
use crate::inbox::{Inbox, Refused};
use crate::local::Local;
use crate::sync::Ordering;
use crate::task::{SendTask, Task};
use crate::{Cx, PromiseId, Queue};

impl Safety {
    /// Puts a task of the loop's own thread into a queue, by `push`.
    pub(crate) fn put<F, R>(
        self: &Arc<Self>,
        local: &Local,
        queue: Queue,
        callback: F,
        notes: Notes,
        push: impl FnOnce(Task) -> R,
    ) -> R
    where
        F: FnOnce(&Cx) + 'static,
    {
        let mut ledger = self.lock();
        let mut checked = ledger.check(local, queue, true);
        let id = ledger.admit(Some(queue), notes.place.get());
        let result = push(self.guard(id, callback, notes));
        #[cfg(test)]
        local.spoil(queue, &mut ledger);
        if checked.is_ok() {
            checked = ledger.check(local, queue, false);
        }
        drop(ledger);
        if let Err(cause) = checked
            && self.may_violate()
        {
            let phase = local.driven.get().then(|| local.phase.get());
            self.violate(Broken { operation: submitting(queue), phase, task: Some(id), cause });
        }
        result
    }

    /// Puts a task of another thread into a queue, while it holds the mutex. Gives it back if it is refused.
    pub(crate) fn send<F>(
        self: &Arc<Self>,
        inbox: &Inbox<SendTask>,
        queue: Queue,
        task: F,
        notes: Notes,
    ) -> Result<(), (Refused, F)>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let mut ledger = self.lock();
        let mut id = None;
        let mut checked = ledger.check_sent(inbox, queue, true);
        let sent = inbox.push_guarded(task, |task| {
            let number = *id.insert(ledger.admit(Some(queue), notes.place.get()));
            self.guard_sent(number, task, notes)
        });
        if checked.is_ok() {
            checked = ledger.check_sent(inbox, queue, false);
        }
        drop(ledger);
        if let Err(cause) = checked
            && self.may_violate()
        {
            self.violate(Broken { operation: submitting(queue), phase: None, task: id, cause });
        }
        sent
    }

    /// A signal was claimed, by a thread that has made work visible.
    pub(crate) fn signalled(&self, is_sent: bool) {
        if !is_sent && self.may_violate() {
            let task = self.lock().oldest(|queue| queue.is_some());
            let cause = "a signal was claimed, and not sent: the loop would sleep on".to_owned();
            self.violate(Broken { operation: "wake the loop", phase: None, task, cause });
        }
    }

    /// A promise is about to be listed.
    pub(crate) fn list(&self, is_listed: bool, id: PromiseId) {
        #[cfg(test)]
        let is_listed = is_listed || strikes(Defect::ListTwice);
        if is_listed && self.may_violate() {
            let (operation, phase) = ("list a promise", self.phase());
            let task = self.lock().executing();
            let cause = format!("promise {id} is listed already");
            self.violate(Broken { operation, phase, task, cause });
        }
    }

    /// More promises are listed than before, or fewer.
    pub(crate) fn count_promises(&self, more: isize) {
        self.promises.fetch_add(more, Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Local {
    /// Does to a queue what the defect of this test consists of.
    fn spoil(&self, queue: Queue, ledger: &mut super::Ledger) {
        if queue != Queue::External {
            return;
        }
        let (own, _) = self.external.chunks();
        if strikes(Defect::CorruptCursor) {
            own.corrupt();
        }
        if strikes(Defect::EnqueueTwice) {
            // SAFETY: the profile refuses to run the second one, and leaks it.
            unsafe { own.repeat_last() };
            self.shared.external.add_held(1);
            ledger.count_twice(queue);
        }
    }
}
