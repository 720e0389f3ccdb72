//! What the tests of watchers share.

// Each test file compiles its own copy, and none uses everything.
#![allow(dead_code, unreachable_pub)]

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainspring::{Cx, EventLoop, PanicPolicy, Watch, Watcher};
use rustix::time::{ClockId, clock_gettime};

use crate::common::{Log, Variant};

/// A loop that lets a failed assertion in a callback leave the turn.
pub fn build(variant: Variant) -> EventLoop {
    variant.builder().panic_policy(PanicPolicy::Propagate).build().unwrap()
}

pub fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    (ours, theirs)
}

/// A pair of which the first is readable (and writable).
pub fn ready() -> (UnixStream, UnixStream) {
    let (ours, mut theirs) = pair();
    theirs.write_all(b"x").unwrap();
    (ours, theirs)
}

/// A pair whose first end has this number.
pub fn pair_at(number: RawFd) -> (UnixStream, UnixStream) {
    let (ours, theirs) = pair();
    (numbered(ours, number), theirs)
}

/// The same file under another number, which must be free.
pub fn numbered<S: Into<OwnedFd> + From<OwnedFd>>(source: S, number: RawFd) -> S {
    let old: OwnedFd = source.into();
    // SAFETY: no pointers.
    let is_free = unsafe { libc::fcntl(number, libc::F_GETFD) } == -1;
    assert!(is_free, "{number} is in use");
    // SAFETY: no pointers, and nobody owned the number.
    assert_eq!(unsafe { libc::dup3(old.as_raw_fd(), number, libc::O_CLOEXEC) }, number);
    // SAFETY: opened just now.
    unsafe { OwnedFd::from_raw_fd(number) }.into()
}

/// One descriptor that is readable.
pub fn signalled() -> OwnedFd {
    // SAFETY: no pointers.
    let fd = unsafe { libc::eventfd(1, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    assert!(fd >= 0, "too many descriptors");
    // SAFETY: opened just now.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Writes until no more fits.
pub fn fill(mut stream: &UnixStream) {
    while stream.write(&[0; 4096]).is_ok() {}
}

/// Reads what there is.
pub fn drain(mut stream: &UnixStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The error is that there is no more for now.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Whether the other end is closed, and everything it sent was read.
pub fn is_closed(mut peer: &UnixStream) -> bool {
    peer.read(&mut [0; 16]).is_ok_and(|count| count == 0)
}

/// A callback that does nothing but to be noted.
pub fn says<S>(log: &Log<&'static str>, entry: &'static str) -> impl FnMut(&Cx, &S) + 'static {
    let log = log.clone();
    move |_, _| log.push(entry)
}

pub fn sorted<T: Ord>(mut entries: Vec<T>) -> Vec<T> {
    entries.sort();
    entries
}

/// Drives the loop, which has nothing to do, for a while. It must sleep through it.
#[track_caller]
pub fn assert_at_rest(event_loop: &EventLoop) {
    let processor_time = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let over = Rc::new(Cell::new(false));
    let ended = Rc::clone(&over);
    // For how long it is observed does not matter for the result.
    event_loop.cx().set_timeout(Duration::from_millis(20), move |_| ended.set(true)).unwrap();
    let (mut ticks, before) = (0, processor_time());
    while !over.get() {
        event_loop.turn(None).unwrap();
        ticks += 1;
        assert!(ticks < 10, "it spins");
    }
    // Within one tick it must not spin either.
    assert!(processor_time() - before < Duration::from_millis(15), "it spins inside");
}

/// A watch with the callbacks that are named in `which`.
pub fn watch<S: 'static>(log: &Log<&'static str>, which: &str) -> Watch<S> {
    which.split_whitespace().fold(Watch::new(), |watch, name| match name {
        "read" => watch.read(says(log, "read")),
        "write" => watch.write(says(log, "write")),
        "error" => watch.error(says(log, "error")),
        other => unreachable!("{other}"),
    })
}

/// These tests are about numbers, and some of them fork: one at a time. A child that another test
/// is just about to start has copies of all descriptors for a moment.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub type Raw = BorrowedFd<'static>;

/// Watches a descriptor that may be closed later: that is what is tested.
pub fn watch_raw(cx: &Cx, fd: RawFd, watch: Watch<Raw>) -> Watcher<Raw> {
    // SAFETY: nothing is done with it by the callbacks, and the numbers belong to the test.
    unsafe { cx.watch_raw(fd, watch) }.unwrap()
}
