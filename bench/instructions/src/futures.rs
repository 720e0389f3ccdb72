//! Futures of the loop.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

use mainspring::{Cx, EventLoop};

use crate::counted::{COUNT, Step, counted, expect_steps};

/// Futures that wait until they are told to go on.
#[derive(Default)]
struct Gate {
    is_open: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

impl Gate {
    fn wait(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let gate = Rc::clone(self);
        poll_fn(move |task| {
            if gate.is_open.get() {
                return Poll::Ready(());
            }
            gate.wakers.borrow_mut().push(task.waker().clone());
            Poll::Pending
        })
    }

    fn open(&self) {
        self.is_open.set(true);
        self.wakers.take().into_iter().for_each(Waker::wake);
    }
}

/// Spawning futures in a callback, and polling each once, to its end.
pub fn spawn() {
    let event_loop = EventLoop::new().unwrap();
    let spawn = |cx: &Cx| {
        for number in 1..=COUNT {
            let step = Step::new(number);
            drop(cx.spawn_local(async move { step.run() }));
        }
    };
    assert!(event_loop.cx().submit(spawn).is_ok());
    counted(|| event_loop.run_until_idle()).unwrap();
    expect_steps(COUNT);
}

/// Waking futures that wait, in a callback, and polling each again, to its end.
pub fn wake() {
    let event_loop = EventLoop::new().unwrap();
    let gate = Rc::new(Gate::default());
    for number in 1..=COUNT {
        let step = Step::new(number);
        let open = gate.wait();
        let future = async move {
            open.await;
            step.run();
        };
        drop(event_loop.cx().spawn_local(future));
    }
    let waiting = Rc::clone(&gate);
    let is_waiting = move || waiting.wakers.borrow().len() as u64 == COUNT;
    while !is_waiting() {
        event_loop.turn(std::time::Duration::ZERO).unwrap();
    }
    assert!(event_loop.cx().submit(move |_| gate.open()).is_ok());
    counted(|| event_loop.run_until_idle()).unwrap();
    expect_steps(COUNT);
}

/// One future that yields again and again: a tick for each.
pub fn yields() {
    let event_loop = EventLoop::new().unwrap();
    let cx = event_loop.cx();
    let future = async {
        for number in 1..=COUNT {
            Step::new(number).run();
            cx.yield_now().await;
        }
    };
    counted(|| event_loop.block_on(future)).unwrap();
    expect_steps(COUNT);
}
