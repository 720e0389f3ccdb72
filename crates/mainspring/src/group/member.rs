//! One loop of a group, as the group sees it.

use std::any::Any;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::builder::Configure;
use crate::fault::as_text;
use crate::place::Place;
use crate::{Builder, Deadline, Error, Handle, KeepAlive};

/// A thread that drives a loop until it is idle, and nobody holds it any more.
pub(super) struct Member {
    handle: Handle,
    /// Until the group shuts down.
    hold: Option<KeepAlive>,
    /// Disconnected when the thread is at its end.
    end: Receiver<()>,
    /// Until it was waited for.
    thread: Option<JoinHandle<Result<(), Error>>>,
}

/// What a new thread says: its loop is there, or why not.
type Greeting = Result<(Handle, KeepAlive), Error>;

impl Member {
    /// Starts a thread, and waits until its loop is there.
    pub(super) fn start(name: String, number: usize, configure: Configure) -> Result<Self, Error> {
        let (greet, greeting) = sync_channel::<Greeting>(1);
        let (ended, end) = sync_channel::<()>(0);
        let thread = thread::Builder::new().name(name).spawn(move || {
            let _ended = ended;
            drive(number, &configure, &greet)
        })?;
        match greeting.recv() {
            Ok(Ok((handle, hold))) => {
                Ok(Self { handle, hold: Some(hold), end, thread: Some(thread) })
            }
            Ok(Err(error)) => {
                let _ = thread.join();
                Err(error)
            }
            // The function that sets the options panicked.
            Err(_) => {
                Err(thread.join().map_or_else(|payload| panicked(&*payload), |_| Error::Terminated))
            }
        }
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The loop may end when it has nothing left to do.
    pub(super) fn release(&mut self) {
        self.hold = None;
    }

    /// Whether this is the thread.
    pub(super) fn is_current(&self) -> bool {
        let is = |thread: &JoinHandle<_>| thread.thread().id() == thread::current().id();
        self.thread.as_ref().is_some_and(is)
    }

    /// Waits for the end of the thread. False if it did not come in time.
    pub(super) fn wait(&self, deadline: Deadline) -> bool {
        let ended = match deadline.0 {
            None => self.end.recv().map_err(RecvTimeoutError::from),
            Some(deadline) => {
                self.end.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            }
        };
        ended == Err(RecvTimeoutError::Disconnected)
    }

    /// Nobody waits for the thread any more. It ends when a callback of it returns.
    pub(super) fn detach(&mut self) {
        self.thread = None;
    }

    /// Waits for a thread that was told to end, unless this is it.
    pub(super) fn join(&mut self) -> Result<(), Error> {
        if self.is_current() {
            self.detach();
        }
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|payload| Err(panicked(&*payload)))
    }
}

/// What the thread does.
fn drive(number: usize, configure: &Configure, greet: &SyncSender<Greeting>) -> Result<(), Error> {
    let event_loop = match configure(number, Builder::new()).build() {
        Ok(event_loop) => event_loop,
        Err(error) => {
            let _ = greet.send(Err(error));
            return Ok(());
        }
    };
    let handle = event_loop.handle();
    let hold = handle.keep_alive_at(Place::UNKNOWN);
    let _ = greet.send(Ok((handle, hold)));
    // Then it is ended as any loop is: what was accepted meanwhile is run.
    let result = event_loop.run_until_idle().and_then(|()| {
        event_loop.cx().shutdown();
        event_loop.run()
    });
    match result {
        // It was ended by somebody else.
        Err(Error::Terminated) => Ok(()),
        result => result,
    }
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = as_text(payload).unwrap_or("(a payload that is not text)");
    io::Error::other(format!("a panic has left a loop of the group: {text}")).into()
}
