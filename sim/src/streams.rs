//! Steps with streams: how the loop watches them, and what it must hear.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use mainspring::sim::{self, Stream};
use mainspring::{Cx, Interest, LoopState, Readiness};

use crate::execute::Place;
use crate::program::{Body, Wish};
use crate::world::Watched;

impl Place {
    pub(crate) fn watch(&self, cx: Option<&Cx>, wish: Wish, body: &Body) {
        if self.world.lock().is_closing {
            return;
        }
        let Ok((near, far)) = Stream::pair() else { return };
        near.set_nonblocking(true);
        far.set_nonblocking(true);
        let mut state = self.world.lock();
        let number = state.streams.len();
        state.streams.push(Watched {
            fd: near.as_raw_fd(),
            wish,
            far: Some(Arc::new(far)),
            sent: 0,
            received: 0,
            is_registered: false,
            is_unregistered: false,
            is_busy: false,
        });
        drop(state);
        let place = Place { who: 0, ..self.clone() };
        let mut body = Some(Arc::clone(body));
        let callback = move |cx: &Cx, near: &Stream, _: Readiness| {
            match wish {
                Wish::Read => place.hear(cx, number, near),
                Wish::Write => place.hear_room(cx, number, body.is_some()),
                Wish::Nothing => place.world.violate(format!("nobody listens to stream {number}")),
            }
            if let Some(body) = body.take() {
                place.run(Some(cx), &body);
            }
        };
        let interest = match wish {
            Wish::Read => Interest::READ,
            Wish::Write => Interest::WRITE,
            Wish::Nothing => Interest::NONE,
        };
        let is_registered = match cx {
            Some(cx) => cx.register_fd(near, interest, callback).is_ok(),
            None => self.handle.register_fd(near, interest, callback).is_ok(),
        };
        let mut state = self.world.lock();
        state.streams[number].is_registered |= is_registered;
        if state.is_closing {
            let far = state.streams[number].far.take();
            drop(state);
            drop(far);
            self.unregister_deaf();
        }
    }

    /// There is room to write: once, because that may be so for ever.
    fn hear_room(&self, cx: &Cx, number: usize, is_first: bool) {
        let mut state = self.world.lock();
        let stream = &mut state.streams[number];
        stream.is_registered = true;
        let fd = stream.fd;
        if !is_first {
            state.violate(format!("stream {number} is writable, and nobody asks for that"));
        }
        drop(state);
        // It may have been unregistered meanwhile.
        let _ = cx.modify_fd(fd, Interest::NONE);
    }

    /// Ends the watching of streams whose end nobody hears, after a while in which the loop must not spin.
    pub(crate) fn unregister_deaf(&self) {
        let is_deaf = |stream: &Watched| {
            stream.wish != Wish::Read && stream.is_registered && !stream.is_unregistered
        };
        if self.world.lock().streams.iter().any(is_deaf) {
            sim::sleep(Duration::from_secs(1));
        }
        loop {
            let mut state = self.world.lock();
            let Some(stream) = state.streams.iter_mut().find(|stream| is_deaf(stream)) else {
                return;
            };
            stream.is_unregistered = true;
            let fd = stream.fd;
            drop(state);
            // Refused by a loop that has ended.
            let _ = self.handle.unregister_fd(fd);
        }
    }

    pub(crate) fn unregister(&self, cx: &Cx, number: usize, fd: i32) {
        let result = cx.unregister_fd(fd);
        if result.is_err() && cx.state() == LoopState::Running {
            self.world.violate(format!("stream {number} could not be unregistered: {result:?}"));
        }
    }

    /// The callback of a watcher.
    fn hear(&self, cx: &Cx, number: usize, mut near: &Stream) {
        let mut state = self.world.lock();
        let stream = &mut state.streams[number];
        // The call that registers it may not have returned yet.
        stream.is_registered = true;
        let (is_unregistered, fd) = (stream.is_unregistered, stream.fd);
        if is_unregistered {
            state.violate(format!("stream {number} was heard after it was unregistered"));
        }
        let Watched { sent, received, is_busy, ref far, .. } = state.streams[number];
        // Only this callback reads, so what was ready still is.
        if sent == received && !is_busy && far.is_some() {
            state.violate(format!("stream {number} was heard, and there is nothing to hear"));
        }
        if fd != near.as_raw_fd() {
            state.violate(format!("a callback of stream {number} has another's descriptor"));
        }
        drop(state);
        let mut buffer = [0; 5];
        loop {
            match near.read(&mut buffer) {
                Ok(0) => {
                    self.world.lock().streams[number].is_unregistered = true;
                    return self.unregister(cx, number, fd);
                }
                Ok(count) => {
                    let mut state = self.world.lock();
                    for byte in &buffer[..count] {
                        let stream = &mut state.streams[number];
                        let expected = stream.received as u8;
                        stream.received += 1;
                        if *byte != expected {
                            state.violate(format!("stream {number}: {byte} instead of {expected}"));
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => return self.world.violate(format!("stream {number}: {error}")),
            }
        }
    }

    pub(crate) fn send(&self, which: usize, bytes: u8) {
        let mut state = self.world.lock();
        let Some(number) = which.checked_rem(state.streams.len()) else { return };
        let stream = &mut state.streams[number];
        // One sender at a time, so that the bytes are in order.
        if stream.is_busy {
            return;
        }
        let Some(far) = stream.far.clone() else { return };
        stream.is_busy = true;
        drop(state);
        for _ in 0..bytes {
            let byte = self.world.lock().streams[number].sent as u8;
            if !matches!((&*far).write(&[byte]), Ok(1)) {
                break;
            }
            self.world.lock().streams[number].sent += 1;
        }
        drop(far);
        self.world.lock().streams[number].is_busy = false;
    }

    /// Ends all streams, and lets no more be made.
    pub(crate) fn hang_up_all(&self) {
        let mut state = self.world.lock();
        state.is_closing = true;
        let ends: Vec<_> = state.streams.iter_mut().map(|stream| stream.far.take()).collect();
        drop(state);
        drop(ends);
    }
}
