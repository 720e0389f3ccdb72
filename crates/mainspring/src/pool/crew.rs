//! The workers of a pool: who is awake, who sleeps, who watches.
//!
//! # What a worker does
//!
//! | a worker    | does                                                      | is awake | goes on to be           |
//! |-------------|-----------------------------------------------------------|----------|-------------------------|
//! | searching   | takes a job, or finds none; may look again for a while    | yes      | running, idle, gone     |
//! | running     | is in a job, for nobody knows how long                    | no       | searching               |
//! | idle        | sleeps until it is summoned, or the keep-alive is over    | no       | summoned, gone          |
//! | summoned    | was idle or did not exist, and is on its way              | yes      | searching, watching     |
//! | watching    | looks now and then whether jobs are taken in time         | yes      | searching, idle, gone   |
//!
//! `awake` counts those who will look at the queue before they do anything that may take long.
//!
//! # Rules
//!
//! 1. Who has pushed a job and sees nobody awake summons a worker: an idle one, or a new one if the bound
//!    allows it.
//! 2. Who is the last to be awake, and is about to run a job or to sleep, looks at the queue once more.
//!    If something is there, a worker that is about to run summons another one, and a worker that is about
//!    to sleep does not.
//! 3. So as long as a job is queued, somebody is awake, or is about to summon somebody, or all workers that
//!    there may be are running. In no case does the job depend on the end of a job that is running while
//!    there is somebody else to take it.
//! 4. At most one worker is on its way or watches, because only where nobody is awake is one summoned. A
//!    burst of jobs costs one wake, not one for each.
//! 5. A worker that was summoned takes a job at once if nobody else has taken any meanwhile. Otherwise
//!    those who run are quick, and one more of them would only be in their way: it watches. If within one
//!    [`WATCH`] nothing was taken although something was there, or something was there all the time, it
//!    takes a job itself, and (rule 2) summons another one. So short jobs are run by few threads without
//!    any wake, and long ones bring as many to life as they need.
//! 6. A worker that finds the queue empty and goes to sleep sends a watching one to sleep as well: with
//!    nothing to watch over it would only make others believe that somebody is awake.
//! 7. The last to sleep is the first to be summoned, so that those that are not needed can leave.
//!
//! # Why no job is overlooked
//!
//! | who pushes                    | who stops being awake          |
//! |-------------------------------|--------------------------------|
//! | 1. push                       | 1. count `awake` down, to zero |
//! | 2. full fence                 | 2. full fence                  |
//! | 3. look at `awake`            | 3. look at the queue           |
//!
//! Of the two fences one comes first, so at least one of the two sees the other. Whoever counts `awake`
//! down to something else leaves the third step to the one who will count it down to zero.
//!
//! # Locks
//!
//! In the order `roster`, front, back. No job is run or dropped under any of them.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::Work;
use super::queue::{Gate, Queue};
use super::worker::{self, Call};
use crate::clock;
use crate::fault::log_isolated;
use crate::sync::{
    AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence, lock, thread, wait,
};

/// How often a worker that watches looks. Jobs that are quick do not wait longer than this while others
/// are in front of them, and jobs behind one that blocks do not wait much longer.
const WATCH: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 100 });

/// Where a worker sleeps.
pub(super) type Bed = Arc<Condvar>;

/// Who is where. Workers that run or search are in none of the lists.
struct Roster {
    /// All workers, from the moment at which one is to be started until it is gone.
    threads: usize,
    /// The last to sleep at the end.
    idle: Vec<Bed>,
    watching: Option<Bed>,
    /// The call that a worker who was idle has to answer.
    call: Call,
    /// Jobs up to this count were late when somebody last looked.
    late: usize,
    closed: bool,
}

/// See the [module documentation](self).
pub(super) struct Crew<J> {
    pub(super) queue: Queue<J>,
    awake: CachePadded<AtomicUsize>,
    /// Somebody looks for work again and again; one is enough.
    pub(super) spinning: AtomicBool,
    roster: Mutex<Roster>,
    /// The last worker is gone.
    gone: Condvar,
    /// How many workers there may be; where there is none, one is started whatever this says.
    max: usize,
    keep_alive: Duration,
    pub(super) max_spin: Duration,
    /// No thread can be started.
    #[cfg(test)]
    pub(super) refuses_threads: std::sync::atomic::AtomicBool,
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Search,
    Answer(Call),
    Sleep,
    Leave,
}

/// Why a job was not queued.
pub(super) enum Obstacle {
    Closed,
    NoThread(io::Error),
}

impl<J: Work> Crew<J> {
    pub(super) fn new(max: usize, keep_alive: Duration, max_spin: Duration) -> Self {
        Self {
            queue: Queue::new(),
            awake: CachePadded::new(AtomicUsize::new(0)),
            spinning: AtomicBool::new(false),
            roster: Mutex::new(Roster {
                threads: 0,
                idle: Vec::new(),
                watching: None,
                call: Call { taken: 0 },
                late: 0,
                closed: false,
            }),
            gone: Condvar::new(),
            max,
            keep_alive,
            max_spin,
            #[cfg(test)]
            refuses_threads: std::sync::atomic::AtomicBool::new(false),
        }
    }

    /// Queues a job, and sees to it that somebody will look at it.
    pub(super) fn push(self: &Arc<Self>, job: J) -> Result<(), (Obstacle, J)> {
        match self.queue.push(job) {
            Ok(()) => {
                // Partner: the fence in `is_relieved`.
                fence(Ordering::SeqCst);
                if self.awake.load(Ordering::Relaxed) == 0 {
                    self.summon();
                }
                Ok(())
            }
            Err((Gate::Closed, job)) => Err((Obstacle::Closed, job)),
            Err((_, job)) => self.push_first(job),
        }
    }

    /// Queues a job when there is no worker.
    #[cold]
    fn push_first(self: &Arc<Self>, job: J) -> Result<(), (Obstacle, J)> {
        let mut roster = lock(&self.roster);
        if roster.closed {
            return Err((Obstacle::Closed, job));
        }
        if roster.threads == 0 {
            if let Err(error) = self.start(&mut roster) {
                return Err((Obstacle::NoThread(error), job));
            }
            self.queue.man();
        }
        // Somebody may have been faster, and its worker may be running already.
        let Ok(()) = self.queue.push(job) else {
            unreachable!("the gate is open as long as there is a worker, and closed under the lock")
        };
        drop(roster);
        fence(Ordering::SeqCst);
        if self.awake.load(Ordering::Relaxed) == 0 {
            self.summon();
        }
        Ok(())
    }

    /// Starts a worker, which counts as awake from now on.
    fn start(self: &Arc<Self>, roster: &mut Roster) -> io::Result<()> {
        #[cfg(test)]
        if self.refuses_threads.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let crew = Arc::clone(self);
        let call = self.call();
        // Before the thread exists, which may count itself down at once.
        self.awake.fetch_add(1, Ordering::Relaxed);
        let name = "mainspring-worker".to_owned();
        match thread::Builder::new().name(name).spawn(move || worker::work(&crew, call)) {
            Ok(_detached) => {
                roster.threads += 1;
                Ok(())
            }
            Err(error) => {
                self.awake.fetch_sub(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    fn call(&self) -> Call {
        Call { taken: self.queue.counts().taken }
    }

    /// Makes one worker awake, if nobody is. Nothing happens if all are busy and no more can be had.
    #[cold]
    fn summon(self: &Arc<Self>) {
        let mut roster = lock(&self.roster);
        // An empty queue needs nobody. Without this, one whose last worker has left would get another.
        if roster.closed || self.awake.load(Ordering::Relaxed) != 0 || self.queue.is_empty() {
            return;
        }
        if let Some(bed) = roster.idle.pop() {
            roster.call = self.call();
            self.awake.fetch_add(1, Ordering::Relaxed);
            drop(roster);
            bed.notify_one();
        } else if roster.threads < self.max
            && let Err(error) = self.start(&mut roster)
        {
            drop(roster);
            log_isolated(|| tracing::warn!(%error, "a worker could not be started; jobs wait"));
        }
    }

    /// Counts a worker out of those who are awake. False if it was the last one, and a job is queued.
    fn is_relieved(&self) -> bool {
        // Relaxed: the fence below orders it, and whoever is not the last leaves the look to the last.
        if self.awake.fetch_sub(1, Ordering::Relaxed) > 1 {
            return true;
        }
        // Partner: the fence in `push`.
        fence(Ordering::SeqCst);
        self.queue.is_empty()
    }

    /// A worker is about to run a job.
    pub(super) fn begin_job(self: &Arc<Self>) {
        if !self.is_relieved() {
            self.summon();
        }
    }

    /// The job is over, and the worker will look at the queue.
    pub(super) fn end_job(&self) {
        self.awake.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker found nothing to do.
    pub(super) fn lie_down(&self, bed: &Bed) -> Next {
        let mut roster = lock(&self.roster);
        if roster.closed {
            return self.leave_closed(&mut roster);
        }
        if let Some(other) = roster.watching.take() {
            roster.idle.push(other);
            // Not the last one: this worker is still awake.
            self.awake.fetch_sub(1, Ordering::Relaxed);
        }
        roster.idle.push(Arc::clone(bed));
        if self.is_relieved() {
            drop(roster);
            return Next::Sleep;
        }
        roster.idle.pop();
        self.awake.fetch_add(1, Ordering::Relaxed);
        Next::Search
    }

    /// Sleeps, as one of the idle ones or, by now, of those who are summoned.
    pub(super) fn sleep(&self, bed: &Bed) -> Next {
        let end = end_of(self.keep_alive);
        let mut roster = lock(&self.roster);
        loop {
            let Some(place) = roster.idle.iter().rposition(|other| Arc::ptr_eq(other, bed)) else {
                return Next::Answer(roster.call);
            };
            if is_over(end) {
                roster.idle.remove(place);
                if roster.threads == 1 && !self.queue.unman() {
                    self.awake.fetch_add(1, Ordering::Relaxed);
                    return Next::Search;
                }
                roster.threads -= 1;
                return Next::Leave;
            }
            roster = wait_until(&self.roster, bed, roster, end);
        }
    }

    /// A worker that was summoned has come: it searches, or watches first (rule 5).
    pub(super) fn answer(&self, bed: &Bed, call: Call) -> Next {
        let mut before = self.queue.counts();
        let mut roster = lock(&self.roster);
        let is_needed = before.taken == call.taken || before.is_behind(roster.late);
        if before.is_empty() || is_needed || roster.closed || roster.watching.is_some() {
            return Next::Search;
        }
        roster.watching = Some(Arc::clone(bed));
        loop {
            let end = end_of(WATCH);
            loop {
                roster = wait_until(&self.roster, bed, roster, end);
                if !roster.watching.as_ref().is_some_and(|other| Arc::ptr_eq(other, bed)) {
                    // Sent to sleep (rule 6).
                    return Next::Sleep;
                }
                if roster.closed || is_over(end) {
                    break;
                }
            }
            let now = self.queue.counts();
            let is_late = now.is_behind(before.pushed);
            let is_stuck = !now.is_empty() && now.taken == before.taken;
            let is_over = now.is_empty() && now.pushed == before.pushed;
            if is_late {
                roster.late = before.pushed;
            }
            if is_late || is_stuck || is_over || roster.closed {
                roster.watching = None;
                return Next::Search;
            }
            before = now;
        }
    }

    fn leave_closed(&self, roster: &mut Roster) -> Next {
        self.awake.fetch_sub(1, Ordering::Relaxed);
        roster.threads -= 1;
        if roster.threads == 0 {
            self.gone.notify_all();
        }
        Next::Leave
    }

    /// No more jobs; who sleeps is called to leave. Gives out what was queued.
    pub(super) fn close(&self) -> impl Iterator<Item = J> + use<J> {
        let mut roster = lock(&self.roster);
        roster.closed = true;
        let left = self.queue.close();
        let idle = std::mem::take(&mut roster.idle);
        self.awake.fetch_add(idle.len(), Ordering::Relaxed);
        for bed in idle.iter().chain(&roster.watching) {
            bed.notify_one();
        }
        left
    }

    /// Waits until all workers are gone, after the pool was closed. Returns how many jobs are running.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> usize {
        let mut roster = lock(&self.roster);
        while roster.threads > 0 && !is_over(deadline) {
            roster = wait_until(&self.roster, &self.gone, roster, deadline);
        }
        // Who is awake will find nothing, and leave.
        roster.threads - self.awake.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(super) fn threads(&self) -> usize {
        lock(&self.roster).threads
    }

    #[cfg(test)]
    pub(super) fn idle(&self) -> usize {
        lock(&self.roster).idle.len()
    }
}

/// None for never.
fn end_of(duration: Duration) -> Option<Instant> {
    clock::now().checked_add(duration)
}

fn is_over(end: Option<Instant>) -> bool {
    end.is_some_and(|end| clock::now() >= end)
}

#[cfg(not(loom))]
fn wait_until<'a, T>(
    _mutex: &'a Mutex<T>,
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    end: Option<Instant>,
) -> MutexGuard<'a, T> {
    let Some(end) = end else {
        return wait(condvar, guard);
    };
    let left = end.saturating_duration_since(clock::now());
    crate::sync::wait_timeout(condvar, guard, left)
}

/// Time does not pass under loom: what has an end has reached it.
#[cfg(loom)]
fn wait_until<'a, T>(
    mutex: &'a Mutex<T>,
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    end: Option<Instant>,
) -> MutexGuard<'a, T> {
    if end.is_none() {
        return wait(condvar, guard);
    }
    drop(guard);
    crate::sync::yield_now();
    lock(mutex)
}
