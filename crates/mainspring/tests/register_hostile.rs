//! Registrations on a system that has no descriptors left, that interrupts, or whose poller breaks.
//!
//! All of that is for a whole process, so that each test starts one of its own.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::timers::tick;
use common::{Tracker, wait_until, wait_until_sleeping};
use fds::{drain, has_no_trace, is_orphaned, pair, readable};
use mainspring::{Cx, Error, FastPathMode, Handle, Interest, LoopState, Readiness};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

const KEY: &str = "MAINSPRING_REGISTER_HOSTILE";

fn in_a_process_of_its_own(scenario: &str) {
    for mode in [FastPathMode::Auto, FastPathMode::Disabled] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_process", "--nocapture", "--test-threads=1"])
            .env(KEY, format!("{scenario} {mode:?}"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{mode:?}: {}: {text}{errors}", output.status);
        assert!(text.contains("scenario done"), "{mode:?}: {text}");
    }
}

#[test]
fn the_process() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    let _watchdog = common::watchdog("the_process");
    let (scenario, mode) = scenario.split_once(' ').unwrap();
    let mode = if mode == "Auto" { FastPathMode::Auto } else { FastPathMode::Disabled };
    match scenario {
        "exhausted" => exhausted(mode),
        "broken" => broken(mode),
        "broken-asleep" => broken_asleep(mode),
        "interrupted" => interrupted(mode),
        _ => unreachable!(),
    }
    println!("scenario done");
}

/// The descriptors that are open.
fn open_descriptors() -> Vec<(RawFd, String)> {
    let entries: Vec<_> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let number = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
            // That of the directory itself is gone when it is asked for.
            Some((number, std::fs::read_link(&path).ok()?.to_str().unwrap().to_owned()))
        })
        .collect();
    entries.into_iter().filter(|(_, target)| !target.ends_with("/fd")).collect()
}

/// Calls `f` while only so many descriptors can be opened.
fn with_descriptors_left<R>(left: usize, f: impl FnOnce() -> R) -> R {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(100), ..before }).unwrap();
    let mut all: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    all.truncate(all.len() - left);
    let result = f();
    drop(all);
    setrlimit(Resource::Nofile, before).unwrap();
    result
}

fn assert_exhausted(error: &Error) {
    let Error::Io(error) = error else { panic!("{error}") };
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
}

fn exhausted(mode: FastPathMode) {
    let mut refused = 0;
    for left in 0..10 {
        let (socket, peer) = readable();
        let tracker = Tracker::new();
        let token = tracker.token();
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
        let before = open_descriptors();
        if mode == FastPathMode::Disabled {
            // All that is needed is opened at the beginning.
            let build = || common::builder().fast_path(mode).build();
            match with_descriptors_left(left, build) {
                Err(error) => {
                    assert_exhausted(&error);
                    assert_eq!(open_descriptors(), before);
                    refused += 1;
                }
                Ok(event_loop) => {
                    let register =
                        || event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
                    with_descriptors_left(0, register);
                    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
                }
            }
            continue;
        }
        let event_loop = common::builder().fast_path(mode).build().unwrap();
        let handle = event_loop.handle();
        let register = || {
            let result = handle.set_fast_path(FastPathMode::Disabled);
            if let Err(error) = result {
                assert_exhausted(&error);
                assert_eq!(handle.fast_path(), mode);
            } else {
                handle.set_fast_path(mode).unwrap();
            }
            event_loop.cx().register_fd(socket, Interest::READ, callback)
        };
        if let Err(error) = with_descriptors_left(left, register) {
            refused += 1;
            let (error, socket, callback) = error.into_parts();
            assert_exhausted(&error);
            assert_eq!(open_descriptors(), before, "what was opened on the way is closed");
            assert_eq!(tracker.alive(), 1);
            assert!(has_no_trace(&event_loop));
            event_loop.run_until_idle().unwrap();
            // When there are some again, the same ones are accepted.
            event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
        }
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
        drop(event_loop);
        assert!(is_orphaned(&peer) && tracker.alive() == 0);
    }
    assert!((1..10).contains(&refused), "{refused}");
}

/// The descriptors that are pollers.
fn pollers() -> impl Iterator<Item = RawFd> {
    let is_poller = |(_, target): &(RawFd, String)| target == "anon_inode:[eventpoll]";
    open_descriptors().into_iter().filter(is_poller).map(|(number, _)| number)
}

/// Puts something else in the place of each poller of this process.
fn break_pollers() {
    let null = File::open("/dev/null").unwrap();
    let mut broken = 0;
    for number in pollers() {
        // SAFETY: it stays open and its owner's; only what is behind it changes, which is what the test is
        // about.
        let mut owner = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) });
        rustix::io::dup2(&null, &mut owner).unwrap();
        broken += 1;
    }
    assert_eq!(broken, 1);
}

/// Whether the system says of a thread that it is stopped within a call whose first argument is a poller.
fn is_blocked_in_its_poller(thread: Pid) -> bool {
    let path = format!("/proc/self/task/{thread}/syscall");
    let call = std::fs::read_to_string(path).unwrap();
    let first = call.split(' ').nth(1).and_then(|hex| RawFd::from_str_radix(&hex[2..], 16).ok());
    first.is_some_and(|fd| pollers().any(|poller| poller == fd))
}

fn broken(mode: FastPathMode) {
    let errors = Rc::new(RefCell::new(Vec::new()));
    let (noted, tracker) = (Rc::clone(&errors), Tracker::new());
    let from_hook = tracker.clone();
    let event_loop = common::builder()
        .fast_path(mode)
        .on_error(move |cx, error| {
            noted.borrow_mut().push(error.to_string());
            cx.submit_internal(from_hook.callback()).unwrap();
        })
        .build()
        .unwrap();
    let (socket, peer) = readable();
    let fd = socket.as_raw_fd();
    let token = tracker.token();
    let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    tick(&event_loop);
    break_pollers();
    // In the tick that fails, and those that are left when it has.
    for _ in 0..3_000 {
        event_loop.cx().submit(tracker.callback()).unwrap();
    }
    let last = tracker.callback();
    event_loop.cx().set_immediate(move |cx| cx.queue_microtask(last));
    let result = event_loop.run();
    let Err(Error::Io(error)) = result else { panic!("{result:?}") };
    assert!(errors.borrow().len() == 1 && errors.borrow()[0].contains(&error.to_string()));
    assert_eq!(event_loop.state(), LoopState::Terminated);
    assert_eq!((tracker.ran(), tracker.alive()), (3_002, 0), "nothing that was accepted is lost");
    assert!(is_orphaned(&peer));
    let result = event_loop.handle().modify_fd(fd, Interest::NONE);
    assert!(matches!(result, Err(Error::PollerClosed)), "{result:?}");
}

fn broken_asleep(mode: FastPathMode) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop = common::builder().fast_path(mode).build().unwrap();
        sender.send((event_loop.handle(), rustix::thread::gettid())).unwrap();
        event_loop.run()
    });
    let (handle, id): (Handle, Pid) = receiver.recv().unwrap();
    let [(kept, kept_peer), (removed, removed_peer)] = [pair(), pair()];
    let fd = removed.as_raw_fd();
    for socket in [kept, removed] {
        handle.register_fd(socket, Interest::READ, |_, _, _| ()).unwrap();
    }
    wait_until_sleeping(&handle);
    // What has said that it sleeps may still be on its way there, and would find the poller broken at once.
    wait_until(|| is_blocked_in_its_poller(id));
    break_pollers();
    // The poller does not take it any more, and nothing of it stays.
    let (other, other_peer) = pair();
    let error = handle.register_fd(other, Interest::READ, |_, _, _| ()).unwrap_err();
    assert!(matches!(error.error(), Error::Io(_)), "{error}");
    drop(error);
    assert!(is_orphaned(&other_peer));
    // What the system says does not matter for an end.
    handle.unregister_fd(fd).unwrap();
    match thread.join().unwrap() {
        Err(Error::Io(_)) => assert_eq!(handle.state(), LoopState::Terminated),
        result => panic!("{result:?}"),
    }
    assert!(is_orphaned(&kept_peer) && is_orphaned(&removed_peer));
}

extern "C" fn do_nothing(_: libc::c_int) {}

fn interrupted(mode: FastPathMode) {
    // SAFETY: a handler that does nothing, for a signal that nobody else uses; without `SA_RESTART`, so that
    // system calls are interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = do_nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    let errors = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&errors);
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop = common::builder()
            .fast_path(mode)
            .max_spin(Duration::ZERO)
            .on_error(move |_, _| _ = counted.fetch_add(1, Ordering::SeqCst))
            .build()
            .unwrap();
        // SAFETY: has no preconditions.
        sender.send((event_loop.handle(), unsafe { libc::pthread_self() })).unwrap();
        event_loop.run()
    });
    let (handle, id) = receiver.recv().unwrap();
    let interrupt = || {
        // SAFETY: the thread runs until the loop is closed below.
        assert_eq!(unsafe { libc::pthread_kill(id, libc::SIGUSR1) }, 0);
    };
    let (socket, mut peer) = pair();
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let callback = move |_: &Cx, source: &UnixStream, _: Readiness| {
        drain(source);
        counted.fetch_add(1, Ordering::SeqCst);
    };
    handle.register_fd(socket, Interest::READ, callback).unwrap();
    let (timer, tracker) = (Tracker::new(), Tracker::new());
    handle.set_timeout(Duration::from_millis(20), timer.callback()).unwrap();
    let mut rounds = 0;
    while rounds < 500 || timer.ran() == 0 {
        rounds += 1;
        wait_until_sleeping(&handle);
        (0..3).for_each(|_| interrupt());
        peer.write_all(b"x").unwrap();
        interrupt();
        wait_until(|| ran.load(Ordering::SeqCst) == rounds);
        interrupt();
        handle.submit(tracker.callback()).unwrap();
        wait_until(|| tracker.ran() == rounds);
    }
    assert_eq!(errors.load(Ordering::SeqCst), 0);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: IO-1, F-19
#[test]
fn a_registration_for_which_no_descriptor_is_left_leaves_no_trace() {
    in_a_process_of_its_own("exhausted");
}

// spec: IO-5, SD-1
#[test]
fn a_poller_that_fails_is_reported_and_ends_the_loop_in_order() {
    in_a_process_of_its_own("broken");
}

// spec: IO-1, IO-5
#[test]
fn a_poller_that_fails_while_the_loop_sleeps_refuses_and_ends_the_loop() {
    in_a_process_of_its_own("broken-asleep");
}

// spec: IO-5
#[test]
fn interruptions_are_no_errors() {
    in_a_process_of_its_own("interrupted");
}
