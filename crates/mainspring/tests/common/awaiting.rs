//! What the tests of futures for sockets, pipes and processes share. Included by path where it is needed.

#![allow(dead_code, unreachable_pub)]

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;

use mainspring::{Cx, EventLoop};

/// Drives the loop until the future is done, which it is without an error.
#[track_caller]
pub fn run<T>(event_loop: &EventLoop, future: impl Future<Output = io::Result<T>>) -> T {
    event_loop.block_on(future).unwrap().unwrap()
}

/// Polls a future once.
pub async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Polls a future until it waits for something that does not come, and drops it.
pub async fn give_up<F: Future>(cx: &Cx, future: F) {
    let mut future = pin!(future);
    for _ in 0..3 {
        assert!(poll_once(future.as_mut()).await.is_none(), "there is nothing to be had");
        cx.yield_now().await;
    }
}

/// Awaits two futures at the same time.
pub async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut x, mut y) = (None, None);
    poll_fn(|context| {
        if x.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            x = Some(output);
        }
        if y.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            y = Some(output);
        }
        if x.is_some() && y.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (x.unwrap(), y.unwrap())
}
