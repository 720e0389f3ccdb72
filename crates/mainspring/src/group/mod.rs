//! Several loops, each on a thread of its own.

mod builder;
#[cfg(unix)]
mod listen;
mod member;

use std::fmt;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

pub use self::builder::LoopGroupBuilder;
use self::member::Member;
use crate::{AbortController, AbortSignal, Cx, Deadline, Error, Handle, Promise};

/// For how long loops that were closed are waited for. It takes a callback to make that long.
const GRACE: Duration = Duration::from_millis(100);

/// Several loops, each on a thread of its own: one for each core, unless it is told otherwise.
///
/// Each loop is independent of the others. The group hands out work to them, by round robin or by a key, and ends
/// them together. What runs on one loop stays there.
///
/// ```
/// use mainspring::{Deadline, LoopGroup};
/// use std::time::Duration;
///
/// let group = LoopGroup::new()?;
/// let promise = group.spawn(|cx| {
///     let cx = cx.clone();
///     async move {
///         cx.sleep(Duration::from_millis(1)).await;
///         6 * 7
///     }
/// });
/// assert_eq!(promise.wait(Deadline::NEVER).unwrap(), 42);
/// group.shutdown(Duration::from_secs(1))?;
/// # Ok::<(), mainspring::Error>(())
/// ```
///
/// # The end
///
/// [`shutdown`](Self::shutdown) aborts the group's [signal](Self::signal), and waits until each loop has nothing
/// left to do. Dropping the group closes the loops at once, and waits for the callbacks that are running: what
/// is queued or waits is dropped.
#[must_use = "the loops end when it is dropped"]
pub struct LoopGroup {
    members: Vec<Member>,
    next: AtomicUsize,
    ending: AbortController,
}

impl LoopGroup {
    /// One loop for each core that the process may use, with the default options.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses a thread.
    ///
    /// ```
    /// let group = mainspring::LoopGroup::new()?;
    /// assert!(!group.handles().is_empty());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// For other options.
    ///
    /// ```
    /// let group = mainspring::LoopGroup::builder().loops(2).build()?;
    /// assert_eq!(group.handles().len(), 2);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn builder() -> LoopGroupBuilder {
        LoopGroupBuilder::new()
    }

    fn assemble(members: Vec<Member>) -> Self {
        Self { members, next: AtomicUsize::new(0), ending: AbortController::new() }
    }

    /// The handles of the loops, always in the same order.
    ///
    /// ```
    /// let group = mainspring::LoopGroup::new()?;
    /// for handle in group.handles() {
    ///     handle.submit(|_| println!("on each loop"))?;
    /// }
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.members.iter().map(|member| member.handle().clone()).collect()
    }

    /// The loop whose turn it is. One that has ended is passed over, unless all have.
    ///
    /// ```
    /// let group = mainspring::LoopGroup::new()?;
    /// group.next().submit(|_| println!("on one of the loops"))?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn next(&self) -> &Handle {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.members.len();
        let mut turn = (0..count).map(|step| self.at(start.wrapping_add(step)));
        turn.find(|handle| !handle.state().is_ending()).unwrap_or_else(|| self.at(start))
    }

    /// The loop for a key: for equal keys, always the same one.
    ///
    /// ```
    /// let group = mainspring::LoopGroup::new()?;
    /// group.by_key("session 7").submit(|_| println!("where the session lives"))?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn by_key<K: Hash + ?Sized>(&self, key: &K) -> &Handle {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.at(hasher.finish() as usize)
    }

    fn at(&self, number: usize) -> &Handle {
        self.members[number % self.members.len()].handle()
    }

    /// Runs a future on the loop whose turn it is. See [`Handle::spawn`].
    ///
    /// ```
    /// use mainspring::Deadline;
    ///
    /// let group = mainspring::LoopGroup::new()?;
    /// let promise = group.spawn(|_| async { "done" });
    /// assert_eq!(promise.wait(Deadline::NEVER).unwrap(), "done");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn spawn<T, F, Fut>(&self, f: F) -> Promise<T>
    where
        T: Clone + Send + 'static,
        F: FnOnce(&Cx) -> Fut + Send + 'static,
        Fut: Future<Output = T> + 'static,
    {
        self.next().spawn(f)
    }

    /// Runs a future on the loop for a key. See [`by_key`](Self::by_key) and [`Handle::spawn`].
    ///
    /// ```
    /// use mainspring::Deadline;
    ///
    /// let group = mainspring::LoopGroup::new()?;
    /// let promise = group.spawn_by_key("session 7", |_| async { "done" });
    /// assert_eq!(promise.wait(Deadline::NEVER).unwrap(), "done");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn spawn_by_key<K, T, F, Fut>(&self, key: &K, f: F) -> Promise<T>
    where
        K: Hash + ?Sized,
        T: Clone + Send + 'static,
        F: FnOnce(&Cx) -> Fut + Send + 'static,
        Fut: Future<Output = T> + 'static,
    {
        self.by_key(key).spawn(f)
    }

    /// The signal that is aborted when the group begins to shut down: what would go on for ever is to end then.
    ///
    /// ```
    /// use mainspring::Deadline;
    ///
    /// let group = mainspring::LoopGroup::new()?;
    /// let signal = group.signal();
    /// let promise = group.spawn(move |cx| {
    ///     let aborted = cx.aborted(&signal);
    ///     async move {
    ///         aborted.await;
    ///         "tidied up"
    ///     }
    /// });
    /// let result = promise.to_channel();
    /// group.shutdown(Deadline::NEVER)?;
    /// assert_eq!(result.recv().unwrap().unwrap(), "tidied up");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn signal(&self) -> AbortSignal {
        self.ending.signal()
    }

    /// Ends all loops: the [signal](Self::signal) is aborted, listeners accept no more, and each loop goes on until
    /// it has nothing left to do, as if it were driven by
    /// [`run_until_idle`](crate::EventLoop::run_until_idle). At the deadline what is left is dropped.
    ///
    /// A loop that has nothing left ends, also if others go on: what is spawned on it then is refused.
    ///
    /// On one of the group's own threads it begins that, and returns at once: a loop cannot wait for itself.
    ///
    /// # Errors
    ///
    /// [`Error::DeadlineExceeded`] if something was left at the deadline, with the number of loops that had
    /// something left; [`Error::Io`] if the poller of a loop had failed or a panic had left it. All loops are
    /// ended all the same; one whose callback does not return ends when it does.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let group = mainspring::LoopGroup::new()?;
    /// group.shutdown(Duration::from_secs(1))?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn shutdown(mut self, deadline: impl Into<Deadline>) -> Result<(), Error> {
        let deadline = deadline.into();
        self.ending.abort();
        let mut members = std::mem::take(&mut self.members);
        members.iter_mut().for_each(Member::release);
        if members.iter().any(Member::is_current) {
            thread::Builder::new()
                .name("mainspring-shutdown".into())
                .spawn(move || end(members, deadline))?;
            return Ok(());
        }
        end(members, deadline)
    }
}

/// Waits for all of them, and hurries those that are not in time.
fn end(mut members: Vec<Member>, deadline: Deadline) -> Result<(), Error> {
    let (mut ended, late): (Vec<_>, Vec<_>) =
        members.drain(..).partition(|member| member.wait(deadline));
    for member in &late {
        member.handle().close();
    }
    let left = late.len();
    let grace = Deadline::from(GRACE);
    for mut member in late {
        if member.wait(grace) {
            ended.push(member);
        } else {
            member.detach();
        }
    }
    let mut result = Ok(());
    for mut member in ended {
        result = result.and(member.join());
    }
    if left == 0 { result } else { Err(Error::DeadlineExceeded { left }) }
}

impl Drop for LoopGroup {
    fn drop(&mut self) {
        self.ending.abort();
        for member in &self.members {
            member.handle().close();
        }
        for member in &mut self.members {
            let _ = member.join();
        }
    }
}

impl fmt::Debug for LoopGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopGroup").field("loops", &self.members.len()).finish_non_exhaustive()
    }
}
