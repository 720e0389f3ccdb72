//! Signals and children as ordinary sources.
//!
//! Signals are for a whole process, so that each test of them starts one of its own.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::time::Duration;

use common::timers::tick;
use common::{Variant, wait_until, wait_until_sleeping};
use fds::build;
use mainspring::{ChildExit, Cx, EventLoop, FastPathMode, Interest, Signals, Watch};
use rustix::process::{Pid, Signal, kill_process};

suite! {
    a_child_that_exits_is_reported_with_its_status,
    a_child_that_was_killed_is_reported_with_the_signal,
    a_child_that_had_exited_before_is_reported_at_once,
    a_child_that_runs_is_not_reported,
    many_children_are_reported_each_once,
    a_child_can_be_registered_from_another_thread,
    a_child_is_given_back,
    a_child_that_is_not_watched_any_more_goes_on,
    a_child_that_was_waited_for_before_is_not_waited_for_again,
}

fn sh(script: &str) -> Child {
    Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap()
}

/// A child that runs until its standard input is closed.
fn patient(status: u8) -> Child {
    sh(&format!("read -r line; exit {status}"))
}

type Seen = Rc<RefCell<Vec<ExitStatus>>>;

/// Notes the status of a child that has exited, once.
fn note(seen: &Seen) -> Watch<ChildExit> {
    let seen = Rc::clone(seen);
    Watch::new().one_shot().read(move |_: &Cx, child: &ChildExit| {
        let status = child.try_wait().unwrap().expect("it has exited");
        seen.borrow_mut().push(status);
    })
}

// spec: WA-1
fn a_child_that_exits_is_reported_with_its_status(variant: Variant) {
    for (program, success) in [("true", true), ("false", false)] {
        let event_loop = build(variant);
        let seen = Seen::default();
        let child = ChildExit::new(Command::new(program).spawn().unwrap()).unwrap();
        event_loop.cx().watch(child, note(&seen)).unwrap();
        // The child is what the loop waits for.
        event_loop.run_until_idle().unwrap();
        let [status] = seen.take()[..] else { panic!("one status") };
        assert_eq!(status.success(), success);
    }
    let event_loop = build(variant);
    let seen = Seen::default();
    event_loop.cx().watch(ChildExit::new(sh("exit 42")).unwrap(), note(&seen)).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(seen.borrow()[0].code(), Some(42));
}

// spec: WA-1
fn a_child_that_was_killed_is_reported_with_the_signal(variant: Variant) {
    let event_loop = build(variant);
    let seen = Seen::default();
    let child = patient(0);
    let id = Pid::from_child(&child);
    event_loop.cx().watch(ChildExit::new(child).unwrap(), note(&seen)).unwrap();
    let handle = event_loop.handle();
    let killer = std::thread::spawn(move || {
        // Nothing else ends the sleep.
        wait_until_sleeping(&handle);
        kill_process(id, Signal::KILL).unwrap();
    });
    event_loop.run_until_idle().unwrap();
    killer.join().unwrap();
    assert_eq!(seen.borrow()[0].signal(), Some(libc::SIGKILL));
}

/// Waits until the child is a zombie, without taking its status.
fn wait_until_exited(child: &Child) {
    let path = format!("/proc/{}/stat", child.id());
    wait_until(|| {
        let stat = std::fs::read_to_string(&path).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
    });
}

// spec: WA-1
fn a_child_that_had_exited_before_is_reported_at_once(variant: Variant) {
    let event_loop = build(variant);
    let seen = Seen::default();
    let child = sh("exit 7");
    wait_until_exited(&child);
    event_loop.cx().watch(ChildExit::new(child).unwrap(), note(&seen)).unwrap();
    tick(&event_loop);
    assert_eq!(seen.borrow()[0].code(), Some(7));
    // Between being made and being watched is no different.
    let child = patient(8);
    let child_id = child.id();
    let exit = ChildExit::new(child).unwrap();
    assert!(exit.try_wait().unwrap().is_none());
    let mut child = exit.into_inner();
    assert_eq!(child.id(), child_id);
    let input = child.stdin.take();
    let exit = ChildExit::new(child).unwrap();
    drop(input);
    wait_until(|| {
        let stat = std::fs::read_to_string(format!("/proc/{child_id}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
    });
    event_loop.cx().watch(exit, note(&seen)).unwrap();
    tick(&event_loop);
    assert_eq!(seen.borrow()[1].code(), Some(8));
}

// spec: WA-1
fn a_child_that_runs_is_not_reported(variant: Variant) {
    let event_loop = build(variant);
    let seen = Seen::default();
    let mut child = patient(3);
    let input = child.stdin.take();
    let watcher = event_loop.cx().watch(ChildExit::new(child).unwrap(), note(&seen)).unwrap();
    for _ in 0..10 {
        assert_eq!(event_loop.turn(Duration::from_millis(1)).unwrap().callbacks, 0);
        assert!(watcher.source().try_wait().unwrap().is_none());
    }
    drop(input);
    event_loop.run_until_idle().unwrap();
    assert_eq!(seen.borrow()[0].code(), Some(3));
    for _ in 0..2 {
        // The status can be asked for again.
        let status = watcher.source().try_wait().unwrap();
        assert_eq!(status.unwrap().code(), Some(3));
    }
}

// spec: WA-1
fn many_children_are_reported_each_once(variant: Variant) {
    let event_loop = build(variant);
    let seen = Seen::default();
    let mut inputs = Vec::new();
    for status in 0..20 {
        let mut child = patient(status);
        inputs.push(child.stdin.take());
        event_loop.cx().watch(ChildExit::new(child).unwrap(), note(&seen)).unwrap();
    }
    event_loop.cx().set_immediate(move |_| drop(inputs));
    event_loop.run_until_idle().unwrap();
    let mut codes: Vec<_> = seen.borrow().iter().map(|status| status.code().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, Vec::from_iter(0..20));
}

// spec: IO-1
fn a_child_can_be_registered_from_another_thread(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut child = patient(5);
    let input = child.stdin.take();
    let child = ChildExit::new(child).unwrap();
    let callback = move |cx: &Cx, child: &ChildExit, _: mainspring::Readiness| {
        sender.send(child.try_wait().unwrap().unwrap()).unwrap();
        cx.unregister_fd(std::os::fd::AsFd::as_fd(child).as_raw_fd()).unwrap();
    };
    handle.register_fd(child, Interest::READ, callback).unwrap();
    wait_until_sleeping(&handle);
    drop(input);
    assert_eq!(receiver.recv().unwrap().code(), Some(5));
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: WA-1
fn a_child_is_given_back(variant: Variant) {
    let event_loop = build(variant);
    let seen = Seen::default();
    let mut child = patient(9);
    let (id, input) = (child.id(), child.stdin.take());
    let watcher = event_loop.cx().watch(ChildExit::new(child).unwrap(), note(&seen)).unwrap();
    tick(&event_loop);
    let exit = watcher.into_inner().unwrap_or_else(|_| panic!("no callback of it is running"));
    event_loop.run_until_idle().unwrap();
    let mut child = exit.into_inner();
    assert_eq!(child.id(), id);
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert!(seen.borrow().is_empty());
    // After it was reported, too, with the status that it had.
    let watcher =
        event_loop.cx().watch(ChildExit::new(sh("exit 4")).unwrap(), note(&seen)).unwrap();
    event_loop.run_until_idle().unwrap();
    let exit = watcher.into_inner().unwrap_or_else(|_| panic!("no callback of it is running"));
    assert_eq!(exit.into_inner().wait().unwrap().code(), Some(4));
}

// spec: WA-1
fn a_child_that_is_not_watched_any_more_goes_on(variant: Variant) {
    let event_loop = build(variant);
    // It says when it has read its input, which it would not if the loop had ended it.
    let mut child = Command::new("sh")
        .args(["-c", "read -r line; echo said; exit 0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
    let watcher =
        event_loop.cx().watch(ChildExit::new(child).unwrap(), note(&Seen::default())).unwrap();
    assert!(watcher.unwatch());
    drop((watcher, event_loop, input));
    assert_eq!(BufReader::new(output).lines().next().unwrap().unwrap(), "said");
}

// spec: ER-2
fn a_child_that_was_waited_for_before_is_not_waited_for_again(variant: Variant) {
    let event_loop = build(variant);
    let mut child = sh("exit 6");
    child.wait().unwrap();
    // Its number may be another's by now, so it is either refused or known to have exited.
    match ChildExit::new(child) {
        Err((_, mut child)) => assert_eq!(child.wait().unwrap().code(), Some(6)),
        Ok(exit) => {
            assert_eq!(exit.try_wait().unwrap().unwrap().code(), Some(6));
            let seen = Seen::default();
            event_loop.cx().watch(exit, note(&seen)).unwrap();
            event_loop.run_until_idle().unwrap();
            assert_eq!(seen.borrow()[0].code(), Some(6));
        }
    }
}

const KEY: &str = "MAINSPRING_SOURCES";

/// A process that does what a scenario says, and the lines that it says.
struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(scenario: &str, mode: FastPathMode) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_process", "--nocapture", "--test-threads=1"])
            .env(KEY, format!("{scenario} {mode:?}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    #[track_caller]
    fn expect(&mut self, text: &str) {
        assert!(
            self.lines.by_ref().any(|line| line.unwrap().contains(text)),
            "the process ended without saying `{text}`"
        );
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[track_caller]
    fn succeed(mut self) {
        self.expect("scenario done");
        assert!(self.child.wait().unwrap().success());
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{text}").unwrap();
    out.flush().unwrap();
}

/// What the process does.
#[test]
fn the_process() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    let _watchdog = common::watchdog("the_process");
    let (scenario, mode) = scenario.split_once(' ').unwrap();
    let mode = if mode == "Auto" { FastPathMode::Auto } else { FastPathMode::Disabled };
    let event_loop = common::builder()
        .fast_path(mode)
        .panic_policy(mainspring::PanicPolicy::Propagate)
        .build()
        .unwrap();
    match scenario {
        "graceful" => graceful(&event_loop),
        "which" => which(&event_loop),
        "two" => two(&event_loop),
        "refused" => not_signals(),
        "unwatched" => unwatched(&event_loop),
        _ => unreachable!(),
    }
    say("scenario done");
}

/// A signal shuts the loop down, which loses nothing.
fn graceful(event_loop: &EventLoop) {
    let signals = Signals::new([libc::SIGINT, libc::SIGTERM]).unwrap();
    let handle = event_loop.handle();
    let ran = Rc::new(Cell::new(0));
    let counted = Rc::clone(&ran);
    let watch = Watch::new().read(move |cx: &Cx, signals: &Signals| {
        let pending = signals.pending();
        say(&format!("signals {pending:?}"));
        for _ in 0..10 {
            let counted = Rc::clone(&counted);
            cx.submit(move |_| counted.set(counted.get() + 1)).unwrap();
        }
        cx.shutdown();
    });
    event_loop.cx().watch(signals, watch).unwrap();
    let waiter = std::thread::spawn(move || {
        wait_until_sleeping(&handle);
        say("asleep");
    });
    event_loop.run().unwrap();
    waiter.join().unwrap();
    assert_eq!(ran.get(), 10);
}

/// Sends a signal to this thread, whose handler has run when this returns.
fn raise(signal: Signal) {
    // SAFETY: all that is done to this process is done by the handlers of the test.
    assert_eq!(unsafe { libc::raise(signal.as_raw()) }, 0);
}

/// All that came are told, each once, however often it came.
fn which(event_loop: &EventLoop) {
    let signals = Signals::new([libc::SIGUSR1, libc::SIGUSR2, libc::SIGHUP]).unwrap();
    assert_eq!(signals.pending(), [0; 0]);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&seen);
    let watch = Watch::new().read(move |_: &Cx, signals: &Signals| {
        noted.borrow_mut().extend(signals.pending());
        assert_eq!(signals.pending(), [0; 0], "they are told once");
    });
    event_loop.cx().watch(signals, watch).unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    for round in 0..30 {
        let raised: &[_] = match round % 3 {
            0 => &[Signal::USR1],
            1 => &[Signal::HUP, Signal::USR2],
            _ => &[Signal::HUP, Signal::USR1, Signal::USR2],
        };
        raised.iter().cycle().take(raised.len() * 3).for_each(|signal| raise(*signal));
        tick(event_loop);
        let mut told = seen.take();
        told.sort_unstable();
        assert_eq!(told, raised.iter().map(|signal| signal.as_raw()).collect::<Vec<_>>());
        // Nothing is left that makes the loop turn.
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    }
}

/// Two sources for one signal are told both, and one goes on when the other is gone.
fn two(event_loop: &EventLoop) {
    let counts: [Rc<Cell<usize>>; 2] = Default::default();
    let watchers = counts.each_ref().map(|count| {
        let count = Rc::clone(count);
        let signals = Signals::new([libc::SIGUSR1]).unwrap();
        let watch = Watch::new().read(move |_: &Cx, signals: &Signals| {
            count.set(count.get() + signals.pending().len());
        });
        event_loop.cx().watch(signals, watch).unwrap()
    });
    raise(Signal::USR1);
    tick(event_loop);
    assert_eq!(counts.each_ref().map(|count| count.get()), [1, 1]);
    assert!(watchers[0].unwatch());
    raise(Signal::USR1);
    tick(event_loop);
    assert_eq!(counts.each_ref().map(|count| count.get()), [1, 2]);
}

/// What cannot be caught, or is no signal, is an error and no panic.
fn not_signals() {
    for number in [libc::SIGKILL, libc::SIGSTOP, 0, -1, 65, 10_000, i32::MAX, i32::MIN] {
        assert!(Signals::new([number]).is_err(), "{number}");
        assert!(Signals::new([libc::SIGUSR1, number]).is_err(), "{number}");
    }
    Signals::new([]).unwrap();
}

/// One that is watched no more is given back, and can be asked without a loop.
fn unwatched(event_loop: &EventLoop) {
    let signals = Signals::new([libc::SIGUSR1]).unwrap();
    let watch = Watch::new().read(|_: &Cx, _: &Signals| unreachable!("it is not watched"));
    let watcher = event_loop.cx().watch(signals, watch).unwrap();
    tick(event_loop);
    let signals = watcher.into_inner().unwrap_or_else(|_| panic!("no callback of it is running"));
    raise(Signal::USR1);
    event_loop.run_until_idle().unwrap();
    assert_eq!(signals.pending(), [libc::SIGUSR1]);
    // By way of the strict form.
    let signals = Rc::new(signals);
    let ran = Rc::new(Cell::new(false));
    let called = Rc::clone(&ran);
    let callback = move |_: &Cx, signals: &Rc<Signals>, _: mainspring::Readiness| {
        called.set(signals.pending() == [libc::SIGUSR1]);
    };
    event_loop.cx().register_fd(Rc::clone(&signals), Interest::READ, callback).unwrap();
    raise(Signal::USR1);
    tick(event_loop);
    assert!(ran.get());
}

const MODES: [FastPathMode; 2] = [FastPathMode::Auto, FastPathMode::Disabled];

// spec: SD-7
#[test]
#[cfg_attr(mainspring_tsan, ignore = "ThreadSanitizer puts signals off in threads that wait")]
fn a_signal_can_shut_a_loop_down_gracefully() {
    for mode in MODES {
        for signal in [Signal::INT, Signal::TERM] {
            let mut process = Process::start("graceful", mode);
            process.expect("asleep");
            process.signal(signal);
            process.expect(&format!("signals [{}]", signal.as_raw()));
            process.succeed();
        }
    }
}

// spec: SD-7
#[test]
fn the_signals_that_came_are_told() {
    MODES.into_iter().for_each(|mode| Process::start("which", mode).succeed());
}

// spec: SD-7
#[test]
fn two_sources_of_one_signal_are_told_both() {
    MODES.into_iter().for_each(|mode| Process::start("two", mode).succeed());
}

// spec: ER-2
#[test]
fn what_is_no_signal_is_refused() {
    Process::start("refused", FastPathMode::Auto).succeed();
}

// spec: WA-1
#[test]
fn signals_that_are_not_watched_any_more_are_given_back() {
    MODES.into_iter().for_each(|mode| Process::start("unwatched", mode).succeed());
}
