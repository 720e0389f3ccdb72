//! What the tests of futures share.

// Each test file compiles its own copy, and none uses everything.
#![allow(dead_code, unreachable_pub)]

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mainspring::{EventLoop, JoinError, JoinHandle, PanicPolicy};

use crate::common::Variant;

/// A failed assertion in a callback, or in a future that nobody joins, leaves the turn.
pub fn build(variant: Variant) -> EventLoop {
    variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap()
}

/// A short name of what a future came to.
pub fn show<T: Debug>(result: &Result<T, JoinError>) -> String {
    match result {
        Ok(value) => format!("ok {value:?}"),
        Err(error) => why(error),
    }
}

/// A short name of an error.
pub fn why(error: &JoinError) -> String {
    match error {
        JoinError::Aborted => "aborted".to_owned(),
        JoinError::Panicked(panic) => format!("panicked {}", panic.message().unwrap_or("?")),
        JoinError::Terminated => "terminated".to_owned(),
        _ => panic!("{error:?}"),
    }
}

/// Polls something once, with a waker that does nothing.
pub fn peek<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// What a future has come to, which must be known by now.
#[track_caller]
pub fn result<T: Debug>(handle: &mut JoinHandle<T>) -> String {
    assert!(handle.is_finished());
    match peek(handle) {
        Poll::Ready(result) => show(&result),
        Poll::Pending => panic!("not known"),
    }
}

/// A switch that a future waits for, to be thrown by anybody on the same thread.
#[derive(Clone, Default)]
pub struct Gate(Rc<Inner>);

#[derive(Default)]
struct Inner {
    is_open: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
    polls: Cell<usize>,
}

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets all through, in the order in which they came.
    pub fn open(&self) {
        self.0.is_open.set(true);
        for waker in self.0.waiting.take() {
            waker.wake();
        }
    }

    /// How often those who wait were polled.
    pub fn polls(&self) -> usize {
        self.0.polls.get()
    }

    /// The wakers of those who wait.
    pub fn wakers(&self) -> Vec<Waker> {
        self.0.waiting.borrow().clone()
    }

    /// Lets go of the wakers of those who wait.
    pub fn forget(&self) {
        self.0.waiting.take();
    }

    pub fn pass(&self) -> Pass {
        Pass(self.clone())
    }
}

/// See [`Gate`].
pub struct Pass(Gate);

impl Future for Pass {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let inner = &self.0.0;
        inner.polls.set(inner.polls.get() + 1);
        if inner.is_open.get() {
            return Poll::Ready(());
        }
        inner.waiting.borrow_mut().push(cx.waker().clone());
        Poll::Pending
    }
}

/// A switch that a future waits for, to be thrown by any thread.
#[derive(Clone, Default)]
pub struct SharedGate(Arc<(Mutex<Gated>, AtomicUsize)>);

/// Whether it is open, and who waits.
type Gated = (bool, Vec<Waker>);

impl SharedGate {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn open(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.0 = true;
        let waiting = std::mem::take(&mut state.1);
        drop(state);
        for waker in waiting {
            waker.wake();
        }
    }

    pub fn polls(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }

    /// The wakers of those who wait.
    pub fn wakers(&self) -> Vec<Waker> {
        self.0.0.lock().unwrap().1.clone()
    }

    pub fn pass(&self) -> impl Future<Output = ()> + Send + use<> {
        let gate = self.clone();
        std::future::poll_fn(move |cx| {
            let mut state = gate.0.0.lock().unwrap();
            gate.0.1.fetch_add(1, Ordering::SeqCst);
            if state.0 {
                return Poll::Ready(());
            }
            if !state.1.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.1.push(cx.waker().clone());
            }
            Poll::Pending
        })
    }
}

/// Gives the waker of the task that waits for this.
pub async fn waker() -> Waker {
    std::future::poll_fn(|cx| Poll::Ready(cx.waker().clone())).await
}

/// Wakes itself so often before it is done.
pub async fn spin(times: usize) {
    let mut left = times;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A future made of two functions: one for its polls, one for its end.
pub struct Parts<P, D: FnMut()> {
    pub poll: P,
    pub drop: D,
}

impl<T, P, D> Future for Parts<P, D>
where
    P: FnMut(&mut Context<'_>) -> Poll<T> + Unpin,
    D: FnMut() + Unpin,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        (self.poll)(cx)
    }
}

impl<P, D: FnMut()> Drop for Parts<P, D> {
    fn drop(&mut self) {
        (self.drop)();
    }
}
