//! Every system call of the poller fails once, in every way, at every place of a program that uses everything.

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;

use crate::sys::faults;
use crate::testing::alone;
use crate::{Error, EventLoop, FastPathMode, Interest, LoopState, Watch};

const ERRORS: [Errno; 5] = [Errno::INTR, Errno::AGAIN, Errno::MFILE, Errno::NOMEM, Errno::BADF];

/// How many calls the program makes at least. A turn whose time is up before it waits, on a machine that is busy, arms no
/// timer, and one that is woken by the timer of an earlier turn waits once more: so how many there are beyond these is
/// different each time.
const LEAST: usize = 20;

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// How the program went.
#[derive(Default)]
struct Report {
    /// Operations that said that they failed.
    refused: usize,
    /// What was read, by each of the registrations.
    read: RefCell<[usize; 2]>,
    /// Calls of the error hook.
    fatal: Cell<usize>,
}

/// Waits, registers, watches, replaces, reads, modifies, fires a one-shot, goes through a muted hang-up and a
/// phantom, removes, and ends. An operation that is refused is noted, and made again.
fn program(report: &Rc<RefCell<Report>>) {
    let noted = Rc::clone(report);
    let build = || {
        let noted = Rc::clone(&noted);
        EventLoop::builder()
            .fast_path(FastPathMode::Disabled)
            .max_spin(Duration::ZERO)
            .on_error(move |_, _| noted.borrow().fatal.set(noted.borrow().fatal.get() + 1))
            .build()
    };
    let refused = || report.borrow_mut().refused += 1;
    let event_loop = match build() {
        Ok(event_loop) => event_loop,
        Err(_) => {
            refused();
            build().unwrap()
        }
    };
    let cx = event_loop.cx();
    let reader = |index: usize| {
        let report = Rc::clone(report);
        move |mut stream: &UnixStream| {
            let n = stream.read(&mut [0; 64]).unwrap_or(0);
            report.borrow().read.borrow_mut()[index] += n;
        }
    };

    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let fd = ours.as_raw_fd();
    let read = reader(0);
    let first = cx.register_fd(ours, Interest::READ, move |_, stream, _| read(stream));
    if let Err(error) = first {
        refused();
        let (_, ours, callback) = error.into_parts();
        cx.register_fd(ours, Interest::READ, callback).unwrap();
    }

    let (watched, mut writer) = UnixStream::pair().unwrap();
    watched.set_nonblocking(true).unwrap();
    let watched = Rc::new(watched);
    let read = reader(1);
    let watch = Watch::new().read(move |_, stream: &Rc<UnixStream>| read(stream)).one_shot();
    let watcher = match cx.watch(Rc::clone(&watched), watch) {
        Ok(watcher) => watcher,
        Err(error) => {
            refused();
            let (_, source, watch) = error.into_parts();
            cx.watch(source, watch).unwrap()
        }
    };

    let turn = || match event_loop.turn(Duration::from_millis(1)) {
        Ok(_) => true,
        Err(Error::Terminated) => false,
        Err(error) => {
            assert!(matches!(error, Error::Io(_)), "{error}");
            refused();
            false
        }
    };
    let again = |f: &dyn Fn() -> Result<(), Error>| {
        if event_loop.state().is_ending() {
            return;
        }
        match f() {
            Ok(()) => {}
            // EBADF says that it is closed: then it is not registered any more.
            Err(Error::FdNotRegistered) => refused(),
            Err(error) => {
                assert!(matches!(error, Error::Io(_)), "{error}");
                refused();
                f().unwrap();
            }
        }
    };

    theirs.write_all(b"12").unwrap();
    writer.write_all(b"123").unwrap();
    turn();
    again(&|| watcher.modify(Interest::READ.one_shot()));
    writer.write_all(b"4").unwrap();
    turn();

    // A hang-up that nobody listens to.
    let (quiet, other) = UnixStream::pair().unwrap();
    if !event_loop.state().is_ending() {
        let watch = Watch::new().error(|_, _: &UnixStream| ());
        if let Err(error) = cx.watch(quiet, watch) {
            refused();
            let (_, quiet, watch) = error.into_parts();
            drop(cx.watch(quiet, watch).unwrap());
        }
    }
    drop(other);
    turn();
    turn();

    // A descriptor that is closed while another one of the same file is open.
    let (closed, mut far) = UnixStream::pair().unwrap();
    let kept = closed.try_clone().unwrap();
    if !event_loop.state().is_ending() {
        let lent = Rc::new(closed);
        let watch = || Watch::new().read(|_, _: &UnixStream| panic!("a phantom"));
        if cx.watch_weak(&lent, watch()).is_err() {
            refused();
            cx.watch_weak(&lent, watch()).unwrap();
        }
    }
    far.write_all(b"x").unwrap();
    for _ in 0..4 {
        turn();
    }
    drop(kept);

    again(&|| cx.unregister_fd(fd));
    watcher.unwatch();
    turn();
    if !event_loop.state().is_ending() {
        cx.shutdown();
        turn();
    }
    assert_eq!(event_loop.state(), LoopState::Terminated);
}

// spec: IO-5, F-19, SD-6
#[test]
fn a_system_call_that_fails_is_made_again_or_ends_in_a_clean_error_and_leaks_nothing() {
    let name = "io::faults::a_system_call_that_fails_is_made_again_or_ends_in_a_clean_error_and_leaks_nothing";
    if !alone(name) {
        return;
    }
    let before = open_descriptors();
    let made = faults::made();
    let report = Rc::default();
    program(&report);
    let calls = faults::made() - made;
    assert!(calls >= LEAST, "{calls}");
    assert_eq!(*report.borrow().read.borrow(), [2, 4]);
    assert_eq!((report.borrow().refused, report.borrow().fatal.get()), (0, 0));
    assert_eq!(open_descriptors(), before);

    for position in 0..calls {
        for error in ERRORS {
            faults::inject_at(position, error);
            let report = Rc::default();
            program(&report);
            let is_made = faults::clear() == 0;
            assert!(is_made || position >= LEAST, "call {position} was not made");
            assert_eq!(open_descriptors(), before, "{error:?} at call {position}");
            let report = report.borrow();
            let read = *report.read.borrow();
            if !is_made {
                assert_eq!((report.refused, report.fatal.get()), (0, 0), "nothing failed");
            }
            if error == Errno::INTR {
                assert_eq!(report.refused, 0, "interruptions are nobody's business: {position}");
            }
            if report.refused == 0 {
                // Nobody was told of anything, so nothing may be missing.
                assert_eq!(read, [2, 4], "{error:?} at call {position}");
            }
            assert!(report.fatal.get() <= 1);
        }
    }
}
