//! calloop: its channel is a source of events; on its own thread it has callbacks for when it is idle.

use std::time::Duration;

use calloop::channel::{Event, Sender, channel};
use calloop::{EventLoop, LoopHandle};

use super::{Here, Loop, Message, boxed};

pub struct Calloop {
    event_loop: EventLoop<'static, ()>,
    sender: Sender<Message>,
}

impl Loop for Calloop {
    type Poster = Sender<Message>;

    fn new() -> Self {
        let event_loop = EventLoop::try_new().unwrap();
        let (sender, receiver) = channel::<Message>();
        let over = event_loop.get_signal();
        let callback = move |event: Event<Message>, _: &mut (), _: &mut ()| match event {
            Event::Msg(Some(task)) => task(),
            Event::Msg(None) | Event::Closed => over.stop(),
        };
        event_loop.handle().insert_source(receiver, callback).unwrap();
        Self { event_loop, sender }
    }

    fn poster(&self) -> Self::Poster {
        self.sender.clone()
    }

    fn post(sender: &Self::Poster, task: impl FnOnce() + Send + 'static) {
        assert!(sender.send(boxed(task)).is_ok());
    }

    fn stop(sender: &Self::Poster) {
        assert!(sender.send(None).is_ok());
    }

    fn run(&mut self) {
        self.event_loop.run(None, &mut (), |()| ()).unwrap();
    }
}

/// What callbacks are given.
pub struct CalloopHere {
    handle: LoopHandle<'static, Self>,
    is_over: std::cell::Cell<bool>,
}

impl Here for CalloopHere {
    fn run(first: impl FnOnce(&Self) + 'static) {
        let mut event_loop = EventLoop::try_new().unwrap();
        let mut here = Self { handle: event_loop.handle(), is_over: false.into() };
        here.post(first);
        while !here.is_over.get() {
            // It does not know that there are callbacks for when it is idle, and would wait.
            event_loop.dispatch(Duration::ZERO, &mut here).unwrap();
        }
    }

    fn post(&self, task: impl FnOnce(&Self) + 'static) {
        self.handle.insert_idle(|here| task(here));
    }

    fn end(&self) {
        self.is_over.set(true);
    }
}
