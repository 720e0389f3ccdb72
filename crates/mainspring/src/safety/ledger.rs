//! What is known of each task that is queued or runs, and of the queues.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::Location;
use std::time::Instant;

use super::queues::Noted;
use crate::{Queue, clock};

/// What has become of a task. One that is completed is not in the ledger any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    Queued,
    Executing,
}

/// What is known of a task.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// None for a timer.
    queue: Option<Queue>,
    place: Option<&'static Location<'static>>,
    at: Instant,
    state: TaskState,
}

/// Ids are counted, so they need no mixing but this.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(self.0 ^ u64::from(byte)));
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// A ledger of this size or less does not shrink.
const KEEP: usize = 256;

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Tasks that were ever made.
    made: u64,
    tasks: HashMap<u64, Record, BuildHasherDefault<IdHasher>>,
    /// How many are in each queue.
    queued: [usize; Queue::ALL.len()],
    /// How the queues looked after the last operation on them.
    pub(super) noted: [Noted; Queue::ALL.len()],
    /// The queues are being emptied for good, without being looked at.
    pub(super) is_over: bool,
    /// The task that runs, and the last one that has panicked.
    executing: Option<u64>,
    panicked: Option<u64>,
}

impl Ledger {
    /// A new task is about to be put into a queue. Returns its number.
    pub(super) fn admit(
        &mut self,
        queue: Option<Queue>,
        place: Option<&'static Location<'static>>,
    ) -> u64 {
        self.made += 1;
        if let Some(queue) = queue {
            self.queued[queue as usize] += 1;
        }
        let record = Record { queue, place, at: clock::now(), state: TaskState::Queued };
        self.tasks.insert(self.made, record);
        self.made
    }

    /// A task is about to be run, or it is said why it must not be.
    pub(super) fn begin(&mut self, id: u64) -> Result<(), String> {
        match self.tasks.get_mut(&id) {
            Some(record) if record.state == TaskState::Queued => {
                record.state = TaskState::Executing;
                if let Some(queue) = record.queue {
                    self.queued[queue as usize] -= 1;
                }
                self.executing = Some(id);
                Ok(())
            }
            Some(_) => Err(format!("task {id} would run twice: it is executing")),
            None if id != 0 && id <= self.made => {
                Err(format!("task {id} would run twice: it is completed"))
            }
            None => Err(format!("there is no task {id}")),
        }
    }

    /// A timer that was run waits for its next time.
    pub(super) fn wait_again(&mut self, id: u64) {
        if let Some(record) = self.tasks.get_mut(&id) {
            record.state = TaskState::Queued;
        }
        self.ends(id);
    }

    /// A task was run, or dropped.
    pub(super) fn leave(&mut self, id: u64) {
        if let Some(record) = self.tasks.remove(&id)
            && record.state == TaskState::Queued
            && let Some(queue) = record.queue
        {
            self.queued[queue as usize] -= 1;
        }
        if self.tasks.capacity() > KEEP && self.tasks.len() < self.tasks.capacity() / 8 {
            self.tasks.shrink_to(self.tasks.len() * 2);
        }
        self.ends(id);
    }

    fn ends(&mut self, id: u64) {
        if self.executing == Some(id) {
            self.executing = None;
            self.panicked = std::thread::panicking().then_some(id);
        }
    }

    /// Counts a task that is in a queue twice.
    #[cfg(test)]
    pub(super) fn count_twice(&mut self, queue: Queue) {
        self.queued[queue as usize] += 1;
    }

    /// How many tasks are in a queue.
    pub(super) fn queued(&self, queue: Queue) -> usize {
        self.queued[queue as usize]
    }

    /// Tasks and timers that are neither run nor dropped.
    pub(super) fn alive(&self) -> usize {
        self.tasks.len()
    }

    /// Tasks and timers that were ever made.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// The task that runs.
    pub(super) fn executing(&self) -> Option<u64> {
        self.executing
    }

    /// The task that has panicked.
    pub(super) fn take_panicked(&mut self) -> Option<u64> {
        self.panicked.take()
    }

    /// The oldest task that is in a queue for which `is_meant` holds.
    pub(super) fn oldest(&self, is_meant: impl Fn(Option<Queue>) -> bool) -> Option<u64> {
        let tasks = self.tasks.iter().filter(|(_, record)| is_meant(record.queue));
        tasks.map(|(id, _)| *id).min()
    }

    /// What is known of a task, for a report.
    pub(super) fn describe(&self, id: u64) -> Option<String> {
        let Record { queue, place, at, state } = self.tasks.get(&id)?;
        let what = match state {
            TaskState::Queued => "queued",
            TaskState::Executing => "executing",
        };
        let queue = queue.map_or("a timer".to_owned(), |queue| format!("of queue `{queue}`"));
        let place = place.map_or(String::new(), |place| format!(" at {place}"));
        Some(format!("{what}, {queue}, made {:?} ago{place}", clock::now() - *at))
    }
}
