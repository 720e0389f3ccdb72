//! What a loop refuses to watch, and what a loop that has ended answers.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/watch.rs"]
mod watching;

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::rc::Rc;

use common::timers::tick;
use common::{Log, Tracker, Variant};
use mainspring::{Cx, Error, FastPathMode, Interest, Watch};
use watching::*;

suite! {
    a_regular_file_is_refused_without_a_trace,
    a_number_that_is_not_open_is_refused_without_a_trace,
    a_loop_that_has_begun_to_end_hands_a_watch_back,
    the_forced_fast_path_hands_a_watch_back,
    an_ended_loop_answers_everything_without_a_panic,
}

// spec: IO-1, ER-2
fn a_regular_file_is_refused_without_a_trace(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let file = Rc::new(File::open(std::env::current_exe().unwrap()).unwrap());
    let tracker = Tracker::new();
    let token = tracker.token();
    let watch = Watch::new().read(move |_, _| _ = &token);
    let refused = cx.watch(Rc::clone(&file), watch).unwrap_err();
    let Error::Io(error) = refused.error() else { panic!("{refused:?}") };
    assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    assert!(refused.to_string().contains(&error.to_string()), "{refused}");
    assert!(matches!(Error::from(refused), Error::Io(_)));
    assert_eq!((Rc::strong_count(&file), tracker.alive()), (1, 0));

    let refused = cx.watch_weak(&file, Watch::new()).unwrap_err();
    assert!(refused.into_parts().1.upgrade().is_some_and(|back| Rc::ptr_eq(&back, &file)));
    let refused = cx.register_fd(Rc::clone(&file), Interest::READ, |_, _, _| ()).unwrap_err();
    assert!(matches!(refused.error(), Error::Io(_)));
    assert!(!cx.unwatch(file.as_raw_fd()));
    // The number is as good as any other for what comes next.
    let (ours, _theirs) = pair();
    let log = Log::new();
    drop(cx.watch(ours, Watch::new().write(says(&log, "write"))).unwrap());
    tick(&event_loop);
    assert_eq!(log.take(), ["write"]);
}

/// Claims a descriptor that nobody opened.
struct NotOpen;

impl AsFd for NotOpen {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: nobody owns this number, so that nothing can be done to its owner.
        unsafe { BorrowedFd::borrow_raw(987_654) }
    }
}

// spec: IO-1, ER-2
fn a_number_that_is_not_open_is_refused_without_a_trace(variant: Variant) {
    let event_loop = build(variant);
    for _ in 0..2 {
        let refused = event_loop.cx().watch(NotOpen, Watch::new().read(|_, _| ())).unwrap_err();
        let Error::Io(error) = refused.error() else { panic!("{refused:?}") };
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }
    assert!(!event_loop.cx().unwatch(987_654));
    event_loop.run_until_idle().unwrap();
}

// spec: IO-1, ER-1
fn a_loop_that_has_begun_to_end_hands_a_watch_back(variant: Variant) {
    for end in [Cx::shutdown, Cx::close] {
        let event_loop = build(variant);
        let (ours, mut theirs) = pair();
        let log = Log::new();
        let back: Rc<RefCell<Option<_>>> = Rc::default();
        let (returned, watch) = (Rc::clone(&back), Watch::new().read(says(&log, "read")));
        event_loop
            .cx()
            .submit(move |cx| {
                end(cx);
                let refused = cx.watch(ours, watch).expect_err("refused");
                assert!(matches!(refused.error(), Error::Terminated));
                returned.replace(Some(refused));
            })
            .unwrap();
        event_loop.run().unwrap();
        // Both parts are intact, and serve another loop.
        let (error, ours, watch) = back.take().unwrap().into_parts();
        assert!(matches!(error, Error::Terminated));
        let refused = event_loop.cx().watch(ours, watch).expect_err("it has ended by now");
        let (_, ours, watch) = refused.into_parts();
        let other = build(variant);
        drop(other.cx().watch(ours, watch).unwrap());
        theirs.write_all(b"x").unwrap();
        tick(&other);
        assert_eq!(log.take(), ["read"]);
    }
}

// spec: WK-6
fn the_forced_fast_path_hands_a_watch_back(variant: Variant) {
    let event_loop = variant.builder().fast_path(FastPathMode::Forced).build().unwrap();
    let (ours, theirs) = pair();
    let fd = ours.as_raw_fd();
    let refused = event_loop.cx().watch(ours, Watch::new().read(|_, _| ())).unwrap_err();
    assert!(matches!(refused.error(), Error::FastPathIncompatible));
    assert!(!event_loop.cx().unwatch(fd));
    drop(refused);
    assert!(is_closed(&theirs));
    event_loop.run_until_idle().unwrap();
}

// spec: ER-2, M1-1.5
fn an_ended_loop_answers_everything_without_a_panic(variant: Variant) {
    let event_loop = build(variant);
    let (ours, _theirs) = pair();
    let fd = ours.as_raw_fd();
    let watcher = event_loop.cx().watch(ours, Watch::new().read(|_, _| ())).unwrap();
    let (cx, handle) = (event_loop.cx().clone(), event_loop.handle());
    handle.close();
    drop(event_loop);
    assert!(!watcher.is_active());
    assert!(!watcher.unwatch() && !cx.unwatch(fd));
    assert!(watcher.modify(Interest::READ).is_err());
    assert!(watcher.reference(true).is_err());
    assert!(matches!(cx.modify_fd(fd, Interest::READ), Err(Error::PollerClosed)));
    assert!(matches!(cx.unregister_fd(fd), Err(Error::PollerClosed)));
    assert!(matches!(handle.modify_fd(fd, Interest::READ), Err(Error::PollerClosed)));
    assert!(matches!(handle.unregister_fd(fd), Err(Error::PollerClosed)));
    assert!(cx.reference_fd(fd, false).is_err());
    assert_eq!(watcher.fd(), fd);
}
