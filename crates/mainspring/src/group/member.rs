//! One loop of a group, as the group sees it.

use std::any::Any;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::builder::Configure;
use crate::fault::as_text;
use crate::{Builder, Deadline, Error, Handle, KeepAlive};

/// For how long a loop that was closed is waited for. It takes a callback to make that long.
const GRACE: Duration = Duration::from_millis(100);

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
            Ok(Err(error)) => Err(error),
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

    /// Waits for the end of the thread. False if it had to be hurried.
    pub(super) fn wait(&mut self, deadline: Deadline) -> Result<bool, Error> {
        let is_in_time = self.has_ended(deadline);
        if !is_in_time {
            self.handle.close();
            if !self.has_ended(GRACE.into()) {
                // A callback does not return. The thread ends when it does, and nobody waits for it.
                self.thread = None;
            }
        }
        self.join()?;
        Ok(is_in_time)
    }

    fn has_ended(&self, deadline: Deadline) -> bool {
        let ended = match deadline.0 {
            None => self.end.recv().map_err(RecvTimeoutError::from),
            Some(deadline) => {
                self.end.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            }
        };
        ended == Err(RecvTimeoutError::Disconnected)
    }

    /// Waits for a thread that was told to end, unless this is it.
    pub(super) fn join(&mut self) -> Result<(), Error> {
        match self.thread.take() {
            Some(thread) if thread.thread().id() != thread::current().id() => {
                thread.join().unwrap_or_else(|payload| Err(panicked(&*payload)))
            }
            _ => Ok(()),
        }
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
    let hold = handle.keep_alive();
    let _ = greet.send(Ok((handle, hold)));
    match event_loop.run_until_idle() {
        // It was ended before it could be driven.
        Err(Error::Terminated) => Ok(()),
        result => result,
    }
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = as_text(payload).unwrap_or("(a payload that is not text)");
    io::Error::other(format!("a panic has left a loop of the group: {text}")).into()
}
