//! Asking a loop what keeps it alive, from outside.
//!
//! Only the loop's thread knows. It is sent a task; whoever waits for the answer is woken by it. There is at most one
//! task under way: a loop that does not answer is not asked again until it has, or the task is dropped with it.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use mainspring::{Handle, WhyAlive};

use crate::model;

/// How often a loop is asked, at the most. A little less than the second after which the page asks again, so that a
/// question that is early by a hair gets a new answer.
const EVERY: Duration = Duration::from_millis(900);

#[derive(Debug, Default)]
pub(crate) struct Question(Arc<Mutex<Slot>>);

#[derive(Debug, Default)]
struct Slot {
    answer: Option<(Instant, model::WhyAlive)>,
    asked: Option<Instant>,
    /// Whether a task is on its way.
    is_open: bool,
    waiting: Vec<Waker>,
}

/// The end of a question, however it ends.
struct Task {
    slot: Arc<Mutex<Slot>>,
    has_ended: bool,
}

impl Task {
    fn answer(mut self, why: &WhyAlive) {
        let kept = why.reasons.iter().take(model::WhyAlive::KEPT);
        let left = why.reasons.len().saturating_sub(model::WhyAlive::KEPT) + why.more;
        let why = model::WhyAlive {
            reasons: kept.map(model::Reason::from).collect(),
            more: left as u64,
            age: None,
            unanswered: None,
        };
        self.end(Some(why));
    }

    /// Closes the question in the moment in which it is answered: nobody sees an answer to one that is open. Only once, as
    /// the next one may be open after that.
    fn end(&mut self, answer: Option<model::WhyAlive>) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let waiting = {
            let mut slot = lock(&self.slot);
            if let Some(why) = answer {
                slot.answer = Some((Instant::now(), why));
            }
            slot.is_open = false;
            std::mem::take(&mut slot.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl Question {
    /// Asks the loop, unless that was done just before.
    pub(crate) fn ask(&self, handle: &Handle) {
        {
            let mut slot = lock(&self.0);
            if slot.is_open || slot.asked.is_some_and(|asked| asked.elapsed() < EVERY) {
                return;
            }
            slot.is_open = true;
            slot.asked = Some(Instant::now());
        }
        let task = Task { slot: self.0.clone(), has_ended: false };
        // A loop that has terminated drops it, which closes the question.
        drop(
            handle
                .submit_internal(move |cx| task.answer(&cx.why_alive_up_to(model::WhyAlive::KEPT))),
        );
    }

    /// Waits until the question that is open, if there is one, was answered, but not for longer than `patience` since
    /// it was asked: that is, not at all for one that is old. Somebody else must see to the time.
    pub(crate) async fn answered(&self, patience: Duration) {
        poll_fn(|context| {
            let mut slot = lock(&self.0);
            if !slot.is_open || slot.asked.is_none_or(|asked| asked.elapsed() >= patience) {
                return Poll::Ready(());
            }
            if !slot.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                slot.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    pub(crate) fn answer(&self) -> model::WhyAlive {
        let slot = lock(&self.0);
        let unanswered = slot.asked.filter(|_| slot.is_open);
        let (age, why) = match &slot.answer {
            Some((at, why)) => (Some(at.elapsed().as_secs_f64()), why.clone()),
            None => (None, model::WhyAlive::default()),
        };
        let unanswered = unanswered.map(|asked| asked.elapsed().as_secs_f64());
        model::WhyAlive { age, unanswered, ..why }
    }
}

/// Nothing that is done under the lock can fail half-way.
fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
