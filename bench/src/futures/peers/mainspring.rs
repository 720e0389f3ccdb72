//! mainspring: futures that a loop runs.

use std::os::unix::net::UnixStream;
use std::time::Instant;

use mainspring::{AsyncFd, Cx, EventLoop};

use super::{Executor, Sleeps, Yields};

/// A loop that has no descriptors makes no system call to look at them. With one, which is never ready, it
/// does what a server's loop does.
pub struct Loop<const POLLS: bool> {
    _idle: Option<(AsyncFd<UnixStream>, UnixStream)>,
    event_loop: EventLoop,
}

pub type Mainspring = Loop<false>;
pub type MainspringPolling = Loop<true>;

impl<const POLLS: bool> Executor for Loop<POLLS> {
    type Spawner = Cx;

    fn new() -> Self {
        let event_loop = EventLoop::new().unwrap();
        let idle = POLLS.then(|| {
            let (one, other) = UnixStream::pair().unwrap();
            (AsyncFd::new(event_loop.cx(), one).unwrap(), other)
        });
        Self { _idle: idle, event_loop }
    }

    fn run<F>(self, work: impl FnOnce(Self::Spawner) -> F) -> F::Output
    where
        F: Future + 'static,
    {
        let cx = self.event_loop.cx();
        self.event_loop.block_on(Self::spawn(cx, work(cx.clone()))).unwrap()
    }

    fn spawn<F>(cx: &Cx, future: F) -> impl Future<Output = F::Output> + use<F, POLLS>
    where
        F: Future + 'static,
    {
        let task = cx.spawn_local(future);
        async { task.await.unwrap() }
    }
}

impl<const POLLS: bool> Yields for Loop<POLLS> {
    async fn yield_now(cx: &Cx) {
        cx.yield_now().await;
    }
}

impl<const POLLS: bool> Sleeps for Loop<POLLS> {
    fn sleep_until(cx: &Cx, deadline: Instant) -> impl Future<Output = ()> + 'static + use<POLLS> {
        cx.sleep_until(deadline)
    }
}
