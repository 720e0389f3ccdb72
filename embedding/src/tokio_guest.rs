//! A tokio runtime beside a loop, for crates that need one.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mainspring::{Cx, JoinHandle};
use pin_project_lite::pin_project;
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime};

/// A tokio runtime for futures that run on a Mainspring loop.
///
/// The runtime has one thread, which waits for descriptors and timers of tokio's and wakes the futures. The
/// futures themselves are polled by the loop, on its thread, between callbacks and timers: they need not be
/// `Send`, and share `Rc`s with the rest of the loop. While they are polled, and while they are dropped, the
/// runtime is tokio's current one, so `tokio::net`, `tokio::time`, `tokio::process` and crates that are built on
/// them work as they are.
///
/// 1. `tokio::spawn` inside of such a future runs a task on the runtime's thread. To stay on the loop, use
///    [`spawn_local`](Self::spawn_local). `tokio::task::spawn_local` does not work: it needs a `LocalSet`.
/// 2. Each event of tokio's goes from its thread to the loop's. What the loop's own sockets and timers can do is
///    faster there.
/// 3. While no future is to be woken, both threads sleep.
///
/// Clones are the same runtime. It ends, without waiting for anything, when the last clone and the last of its
/// futures are gone.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring_embedding::TokioGuest;
/// use std::time::Duration;
///
/// let tokio = TokioGuest::new()?;
/// let event_loop = EventLoop::new()?;
/// tokio.spawn_local(event_loop.cx(), async {
///     tokio::time::sleep(Duration::from_millis(5)).await;
///     println!("tokio's time is up");
/// });
/// event_loop.run_until_idle()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TokioGuest(Arc<Owned>);

/// Ends the runtime without waiting for it: that may be on the loop's thread, or on its own.
struct Owned(Option<Runtime>);

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl TokioGuest {
    /// Starts a runtime, with one thread.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread or a descriptor.
    ///
    /// ```
    /// let tokio = mainspring_embedding::TokioGuest::new()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("mainspring-tokio")
            .enable_all()
            .build()
            .map(Self::from_runtime)
    }

    /// Uses a runtime that is there. It must have threads of its own: that of `new_current_thread` is asleep
    /// unless somebody is inside its `block_on`.
    ///
    /// ```
    /// use mainspring_embedding::TokioGuest;
    ///
    /// let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    /// let tokio = TokioGuest::from_runtime(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn from_runtime(runtime: Runtime) -> Self {
        Self(Arc::new(Owned(Some(runtime))))
    }

    /// The runtime's own handle, for example to spawn what need not be on the loop.
    ///
    /// ```
    /// use mainspring_embedding::TokioGuest;
    ///
    /// let tokio = TokioGuest::new()?;
    /// tokio.handle().spawn(async { println!("on the thread of the runtime") });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> &Handle {
        self.runtime().handle()
    }

    /// Makes the runtime tokio's current one until the guard is dropped, for calls outside of a future.
    ///
    /// ```
    /// use mainspring_embedding::TokioGuest;
    ///
    /// let tokio = TokioGuest::new()?;
    /// let _entered = tokio.enter();
    /// assert!(tokio::runtime::Handle::try_current().is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime().enter()
    }

    /// Wraps a future, so that it finds the runtime wherever it is polled.
    ///
    /// ```
    /// use mainspring::EventLoop;
    /// use mainspring_embedding::TokioGuest;
    /// use std::time::Duration;
    ///
    /// let tokio = TokioGuest::new()?;
    /// let sleep = tokio.wrap(async { tokio::time::sleep(Duration::from_millis(1)).await });
    /// EventLoop::new()?.block_on(sleep)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wrap<F: Future>(&self, future: F) -> InTokio<F> {
        InTokio { future: Some(future), tokio: self.clone() }
    }

    /// Runs a future on the loop, inside the runtime. See [`Cx::spawn_local`].
    ///
    /// ```
    /// use mainspring::EventLoop;
    /// use mainspring_embedding::TokioGuest;
    ///
    /// let tokio = TokioGuest::new()?;
    /// let event_loop = EventLoop::new()?;
    /// let answer = tokio.spawn_local(event_loop.cx(), async {
    ///     tokio::task::spawn_blocking(|| 6 * 7).await.unwrap()
    /// });
    /// assert_eq!(event_loop.block_on(answer)?.unwrap(), 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_local<F>(&self, cx: &Cx, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        cx.spawn_local(self.wrap(future))
    }

    fn runtime(&self) -> &Runtime {
        self.0.0.as_ref().expect("it is taken by the destructor only")
    }
}

impl fmt::Debug for TokioGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokioGuest").finish_non_exhaustive()
    }
}

pin_project! {
    /// A future that finds a tokio runtime; made by [`TokioGuest::wrap`].
    ///
    /// ```
    /// use mainspring_embedding::{InTokio, TokioGuest};
    ///
    /// let tokio = TokioGuest::new()?;
    /// let future: InTokio<_> = tokio.wrap(async { tokio::spawn(async {}).await });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub struct InTokio<F> {
        // There until the end, when it is dropped inside the runtime.
        #[pin]
        future: Option<F>,
        tokio: TokioGuest,
    }

    impl<F> PinnedDrop for InTokio<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _entered = this.tokio.enter();
            this.future.set(None);
        }
    }
}

impl<F: Future> Future for InTokio<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = this.tokio.enter();
        this.future.as_pin_mut().expect("it is there until the end").poll(cx)
    }
}

impl<F> fmt::Debug for InTokio<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InTokio").finish_non_exhaustive()
    }
}
