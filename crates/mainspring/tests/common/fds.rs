//! What the tests of registrations share. Included by path where it is needed.

#![allow(dead_code, unreachable_pub)]

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, mpsc};
use std::thread::{self, ThreadId};

use mainspring::{Cx, Error, EventLoop, FastPathMode, Handle, PanicPolicy, Readiness};

use crate::common::{Log, OnDrop, Variant};

/// Two connected sockets that never block.
pub fn pair() -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    a.set_nonblocking(true).unwrap();
    b.set_nonblocking(true).unwrap();
    (a, b)
}

/// A socket that has something to read, and its peer.
pub fn readable() -> (UnixStream, UnixStream) {
    let (a, b) = pair();
    (&b).write_all(b"x").unwrap();
    (a, b)
}

pub fn drain(mut source: impl Read) {
    while matches!(source.read(&mut [0; 64]), Ok(1..)) {}
}

/// Whether the other end is closed.
pub fn is_orphaned(mut socket: &UnixStream) -> bool {
    match socket.read(&mut [0]) {
        Ok(0) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
        Ok(_) => panic!("nobody writes to this end"),
    }
}

/// A failed assertion in a callback leaves the turn.
pub fn build(variant: Variant) -> EventLoop {
    variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap()
}

/// `r`, `w`, `e` and `h` for what is reported.
pub fn flags(readiness: Readiness) -> String {
    [
        (readiness.is_readable(), 'r'),
        (readiness.is_writable(), 'w'),
        (readiness.is_error(), 'e'),
        (readiness.is_hangup(), 'h'),
    ]
    .into_iter()
    .filter_map(|(is_set, letter)| is_set.then_some(letter))
    .collect()
}

/// A callback that does nothing but to be noted, with its name and what was reported.
pub fn note<S: 'static>(
    log: &Log<String>,
    name: &'static str,
) -> impl FnMut(&Cx, &S, Readiness) + use<S> {
    let log = log.clone();
    move |_, _, readiness| log.push(format!("{name}{}", flags(readiness)))
}

/// Whether the loop has no descriptor in its table: the parking mode can be forced only then.
pub fn has_no_trace(event_loop: &EventLoop) -> bool {
    let handle = event_loop.handle();
    let mode = handle.fast_path();
    match handle.set_fast_path(FastPathMode::Forced) {
        Ok(()) => {
            handle.set_fast_path(mode).unwrap();
            true
        }
        Err(Error::FastPathIncompatible) => false,
        Err(error) => panic!("{error}"),
    }
}

/// A borrow that outlives its owner: what becomes of the number then is what the tests are about.
pub fn borrow(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the loop only ever asks the kernel about the number, and the callbacks of these tests do
    // not use it.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// A number that belongs to the test for as long as this lives, whatever is behind it.
///
/// To close a descriptor and to open another one of the same number is a race against the other tests of
/// the process. To put another one in its place is not, and is the same for the loop.
pub struct Number {
    owner: Mutex<OwnedFd>,
    fd: RawFd,
}

impl Number {
    pub fn new(descriptor: impl Into<OwnedFd>) -> Self {
        let descriptor = descriptor.into();
        Self { fd: descriptor.as_raw_fd(), owner: Mutex::new(descriptor) }
    }

    pub fn fd(&self) -> RawFd {
        self.fd
    }

    /// A source that leaves the descriptor to the test.
    pub fn source(&self) -> BorrowedFd<'static> {
        borrow(self.fd)
    }

    /// Closes what is behind the number, and puts something else there.
    pub fn replace(&self, descriptor: impl AsFd) {
        rustix::io::dup2(descriptor, &mut self.owner.lock().unwrap()).unwrap();
    }
}

/// Connected sockets in such number that they have every descriptor that was free before.
pub struct Strangers(Vec<UnixStream>);

impl Strangers {
    pub fn new() -> Self {
        Self((0..40).flat_map(|_| <[UnixStream; 2]>::from(pair())).collect())
    }

    #[track_caller]
    pub fn assert_untouched(&self) {
        for mut socket in &self.0 {
            let read = socket.read(&mut [0; 8]).map_err(|error| error.kind());
            assert_eq!(read, Err(ErrorKind::WouldBlock));
        }
    }
}

/// How many descriptors this process may have. Asks for as many as are allowed first.
pub fn descriptor_limit() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap())
}

/// A capture that tells on which thread it is dropped.
pub fn witness(dropped: &mpsc::Sender<ThreadId>) -> OnDrop<impl FnMut() + Send + use<>> {
    let dropped = dropped.clone();
    OnDrop(move || {
        // A test that has failed does not listen any more.
        let _ = dropped.send(thread::current().id());
    })
}

/// Waits until the loop has been through a tick.
pub fn flush(handle: &Handle) {
    let (sender, receiver) = mpsc::channel();
    handle.submit(move |_| sender.send(()).unwrap()).unwrap();
    receiver.recv().unwrap();
}
