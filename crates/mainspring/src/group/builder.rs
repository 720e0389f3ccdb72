//! The options of a group.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use super::LoopGroup;
use super::member::Member;
use crate::{Builder, Error};

/// Sets the options of one loop, on its thread.
pub(super) type Configure = Arc<dyn Fn(usize, Builder) -> Builder + Send + Sync>;

/// Sets the options of a [`LoopGroup`] before its threads are started.
///
/// ```
/// use mainspring::LoopGroup;
///
/// let group = LoopGroup::builder()
///     .loops(2)
///     .thread_name("worker")
///     .configure(|_, builder| builder.external_budget(256))
///     .build()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use]
pub struct LoopGroupBuilder {
    loops: usize,
    name: String,
    configure: Configure,
}

impl LoopGroupBuilder {
    pub(super) fn new() -> Self {
        Self {
            loops: thread::available_parallelism().map_or(1, NonZeroUsize::get),
            name: "mainspring".into(),
            configure: Arc::new(|_, builder| builder),
        }
    }

    /// How many loops there are. As many as there are cores by default; at least 1.
    ///
    /// ```
    /// let group = mainspring::LoopGroup::builder().loops(3).build()?;
    /// assert_eq!(group.handles().len(), 3);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn loops(mut self, loops: usize) -> Self {
        self.loops = loops;
        self
    }

    /// What the names of the threads begin with; a number follows. `mainspring` by default.
    ///
    /// ```
    /// use mainspring::Deadline;
    ///
    /// let group = mainspring::LoopGroup::builder().thread_name("http").loops(1).build()?;
    /// let name = group.spawn(|_| async { std::thread::current().name().map(String::from) });
    /// assert_eq!(name.wait(Deadline::NEVER).unwrap().unwrap(), "http-0");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the options of each loop. The function is called on the loop's own thread, with the loop's number, so
    /// the hooks that it sets need not be `Send`.
    ///
    /// ```
    /// let group = mainspring::LoopGroup::builder()
    ///     .configure(|number, builder| {
    ///         builder.on_overload(move |_, _| eprintln!("loop {number} cannot keep up"))
    ///     })
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn configure(
        mut self,
        configure: impl Fn(usize, Builder) -> Builder + Send + Sync + 'static,
    ) -> Self {
        self.configure = Arc::new(configure);
        self
    }

    /// Starts the threads, and waits until their loops are there.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if there is to be no loop, or an option of a loop makes no sense; [`Error::Io`] if
    /// the system refuses a thread. No thread is left then.
    ///
    /// ```
    /// use mainspring::{Error, LoopGroup};
    ///
    /// let error = LoopGroup::builder().loops(0).build().unwrap_err();
    /// assert!(matches!(error, Error::InvalidOption { option: "loops", .. }));
    /// ```
    pub fn build(self) -> Result<LoopGroup, Error> {
        if self.loops == 0 {
            return Err(Error::InvalidOption { option: "loops", expected: "at least 1" });
        }
        // If one fails, the group of those before it is dropped.
        let mut group = LoopGroup::assemble(Vec::with_capacity(self.loops));
        for number in 0..self.loops {
            let name = format!("{}-{number}", self.name);
            group.members.push(Member::start(name, number, Arc::clone(&self.configure))?);
        }
        Ok(group)
    }
}

impl fmt::Debug for LoopGroupBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopGroupBuilder")
            .field("loops", &self.loops)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
