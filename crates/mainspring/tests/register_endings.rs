//! Registrations while the loop ends, and what is left of them then.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::Cell;
use std::collections::HashSet;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use common::timers::elsewhere;
use common::{Tracker, Variant, wait_until};
use fds::{Number, Strangers, flush, is_orphaned, pair, readable, witness};
use mainspring::{
    Cx, Deadline, Error, FastPathMode, Handle, Interest, LoopState, Readiness, Shutdown,
};

suite! {
    captures_of_a_loop_that_was_never_driven_are_dropped_on_its_thread,
    a_registration_that_races_the_end_is_refused_or_cleaned_up,
    every_operation_can_race_the_end,
    a_callback_can_end_the_loop,
    a_callback_that_shuts_the_loop_down_loses_no_task,
    after_a_close_no_other_callback_of_the_batch_is_called,
    a_loop_whose_descriptors_are_always_ready_hears_of_its_end,
    registrations_that_race_the_end_write_to_no_other_descriptor,
}

// spec: SD-4, SH-3
fn captures_of_a_loop_that_was_never_driven_are_dropped_on_its_thread(variant: Variant) {
    let endings: [fn(&Handle); 2] =
        [|handle| handle.close(), |handle| _ = handle.shutdown(Deadline::NEVER).unwrap()];
    for ending in endings {
        let event_loop = variant.build();
        let handle = event_loop.handle();
        let (dropped, drops) = mpsc::channel();
        for local in [false, true] {
            let (socket, _peer) = pair();
            let capture = witness(&dropped);
            let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &capture;
            if local {
                event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
            } else {
                handle.register_fd(socket, Interest::READ, callback).unwrap();
            }
        }
        elsewhere(|| ending(&handle));
        assert!(matches!(event_loop.run(), Err(Error::Terminated)));
        drop(event_loop);
        for _ in 0..2 {
            assert_eq!(drops.try_recv(), Ok(thread::current().id()));
        }
    }
}

// spec: IO-1, SD-1, F-25
fn a_registration_that_races_the_end_is_refused_or_cleaned_up(variant: Variant) {
    let endings: [fn(&Handle); 2] =
        [|handle| handle.close(), |handle| _ = handle.shutdown(Deadline::NEVER)];
    for round in 0..200 {
        let (handle, thread) = variant.spawn_running();
        let tracker = Tracker::new();
        let own = thread.thread().id();
        let (dropped, drops) = mpsc::channel();
        let go = Arc::new(Barrier::new(2));
        let racer = {
            let (handle, tracker, go) = (handle.clone(), tracker.clone(), Arc::clone(&go));
            thread::spawn(move || {
                let mut peers = Vec::new();
                go.wait();
                loop {
                    if peers.len() > 100 {
                        // The other thread does not get to end the loop, and descriptors are finite.
                        wait_until(|| handle.state().is_ending());
                    }
                    let (socket, peer) = readable();
                    peers.push(peer);
                    let capture = (tracker.token(), witness(&dropped));
                    let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &capture;
                    if let Err(error) = handle.register_fd(socket, Interest::NONE, callback) {
                        assert!(matches!(error.error(), Error::Terminated), "{error}");
                        break;
                    }
                }
                peers
            })
        };
        go.wait();
        // Then it is about to register one more.
        let accepted = round / 2 % 5;
        wait_until(|| tracker.alive() > accepted);
        (0..round * 20).for_each(|_| std::hint::spin_loop());
        endings[round % 2](&handle);
        let peers = racer.join().unwrap();
        thread.join().unwrap().unwrap();
        // The handle is still there: nothing is owed to its end.
        assert_eq!(tracker.alive(), 0);
        assert!(peers.iter().all(is_orphaned), "every source was closed");
        let strange = drops.try_iter().filter(|thread| *thread != own).count();
        assert_eq!(strange, 1, "the one that was refused was dropped by its sender");
        assert!(peers.len() > accepted, "the end came after some were accepted");
        drop(handle);
    }
}

// spec: ER-2, SD-1, F-25
fn every_operation_can_race_the_end(variant: Variant) {
    for _ in 0..50 {
        let (handle, thread) = variant.spawn_running();
        let tracker = Tracker::new();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                let (handle, tracker, ended) = (&handle, &tracker, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let (socket, _peer) = readable();
                        let fd = socket.as_raw_fd();
                        let token = tracker.token();
                        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
                        if handle.register_fd(socket, Interest::READ, callback).is_err() {
                            continue;
                        }
                        for result in [
                            handle.modify_fd(fd, Interest::NONE),
                            handle.reference_fd(fd, false),
                            handle.modify_fd(fd, Interest::READ),
                            handle.unregister_fd(fd),
                        ] {
                            // The end takes the entry away, or the poller; nothing else may.
                            let is_known = match &result {
                                Ok(()) => true,
                                Err(Error::Terminated | Error::PollerClosed) => true,
                                Err(Error::FdNotRegistered) => handle.state().is_ending(),
                                Err(_) => false,
                            };
                            assert!(is_known, "{result:?}");
                        }
                    }
                });
            }
            flush(&handle);
            handle.close();
            thread.join().unwrap().unwrap();
            assert_eq!(handle.state(), LoopState::Terminated);
            ended.store(true, Ordering::Relaxed);
        });
        assert_eq!(tracker.alive(), 0);
    }
}

// spec: SD-5, F-26
fn a_callback_can_end_the_loop(variant: Variant) {
    let endings: [fn(&Cx); 4] = [
        |cx| cx.shutdown(),
        |cx| cx.close(),
        |cx| assert!(matches!(cx.handle().shutdown(Deadline::NEVER), Ok(Shutdown::Begun))),
        |cx| cx.handle().close(),
    ];
    for ending in endings {
        let event_loop = variant.build();
        let tracker = Tracker::new();
        let mut peers = Vec::new();
        for _ in 0..3 {
            let (socket, peer) = readable();
            let (token, mut ended) = (tracker.token(), false);
            let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
                let _ = &token;
                if !std::mem::replace(&mut ended, true) && !cx.state().is_ending() {
                    ending(cx);
                }
            };
            event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
            peers.push(peer);
        }
        event_loop.run().unwrap();
        assert_eq!(tracker.alive(), 0);
        assert!(peers.iter().all(is_orphaned));
        assert!(matches!(event_loop.run(), Err(Error::Terminated)));
    }
}

// spec: SD-1, SD-5
fn a_callback_that_shuts_the_loop_down_loses_no_task(variant: Variant) {
    let event_loop = variant.build();
    let tracker = Tracker::new();
    let (socket, _peer) = readable();
    let queued = tracker.clone();
    let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
        cx.submit(queued.callback()).unwrap();
        cx.shutdown();
        let last = queued.callback();
        cx.submit_internal(move |cx| cx.queue_microtask(last)).unwrap();
        cx.queue_microtask(queued.callback());
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    event_loop.run().unwrap();
    assert_eq!((tracker.ran(), tracker.alive()), (3, 0));
}

// spec: SD-4
fn after_a_close_no_other_callback_of_the_batch_is_called(variant: Variant) {
    let event_loop = variant.build();
    let ran = Rc::new(Cell::new(0));
    let mut peers = Vec::new();
    for _ in 0..10 {
        let (socket, peer) = readable();
        let counted = Rc::clone(&ran);
        let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
            counted.set(counted.get() + 1);
            cx.close();
        };
        event_loop.cx().register_fd(socket, Interest::BOTH, callback).unwrap();
        peers.push(peer);
    }
    event_loop.run().unwrap();
    assert_eq!(ran.get(), 1);
    assert!(peers.iter().all(is_orphaned));
}

// spec: TK-7, F-32
fn a_loop_whose_descriptors_are_always_ready_hears_of_its_end(variant: Variant) {
    let endings: [fn(&Handle, &AtomicBool); 3] = [
        |handle, _| _ = handle.shutdown(Deadline::NEVER).unwrap(),
        |handle, _| handle.close(),
        // Nobody wakes the loop: it is awake.
        |_, is_aborted| is_aborted.store(true, Ordering::SeqCst),
    ];
    for ending in endings {
        let is_aborted = Arc::new(AtomicBool::new(false));
        let aborted = Arc::clone(&is_aborted);
        let (handle, thread) = variant.spawn(
            |builder| builder,
            |event_loop| {
                let mut peers = Vec::new();
                for _ in 0..50 {
                    let (socket, peer) = readable();
                    let callback = |_: &Cx, _: &UnixStream, _: Readiness| ();
                    event_loop.cx().register_fd(socket, Interest::BOTH, callback).unwrap();
                    peers.push(peer);
                }
                event_loop.run_until_aborted(move || aborted.load(Ordering::SeqCst)).unwrap();
                assert!(peers.iter().all(is_orphaned));
            },
        );
        flush(&handle);
        ending(&handle, &is_aborted);
        thread.join().unwrap();
    }
}

// spec: WK-8, F-20
fn registrations_that_race_the_end_write_to_no_other_descriptor(variant: Variant) {
    for _ in 0..30 {
        let (handle, thread) = variant.spawn_running();
        let stop = AtomicBool::new(false);
        let (kept, _kept_peer) = pair();
        let number = Number::new(kept);
        thread::scope(|scope| {
            for i in 0..2 {
                let (handle, stop, number) = (&handle, &stop, &number);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        // No descriptor is opened here: the strangers get all that are free.
                        let source = number.source();
                        let _ = handle.register_fd(source, Interest::READ, |_, _, _| ());
                        if i == 0 {
                            let _ = handle.modify_fd(number.fd(), Interest::NONE);
                        }
                        let _ = handle.unregister_fd(number.fd());
                        handle.wake();
                    }
                });
            }
            flush(&handle);
            handle.close();
            thread.join().unwrap().unwrap();
            let strangers = Strangers::new();
            handle.wake();
            strangers.assert_untouched();
            stop.store(true, Ordering::Relaxed);
            strangers
        })
        .assert_untouched();
    }
}

const KEY: &str = "MAINSPRING_REGISTER_THREADS";

/// A part of a test that needs a process of its own.
fn alone(scenario: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process", "--nocapture", "--test-threads=1"])
        .env(KEY, scenario)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {text}", output.status);
    assert!(text.contains("scenario done"), "{text}");
}

/// One loop, with registrations that race its end, and of peers that are gone.
fn life(mode: FastPathMode, round: usize) -> Handle {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let event_loop = common::builder().fast_path(mode).build().unwrap();
        sender.send(event_loop.handle()).unwrap();
        event_loop.run()
    });
    let handle: Handle = receiver.recv().unwrap();
    let (kept, kept_peer) = pair();
    let racer = handle.clone();
    let racer = thread::spawn(move || {
        let kept = Arc::new(kept);
        while racer.register_fd(Arc::clone(&kept), Interest::READ, |_, _, _| ()).is_ok() {
            if racer.unregister_fd(kept.as_raw_fd()).is_err() {
                break;
            }
        }
    });
    let (orphan, gone) = readable();
    drop(gone);
    let _ = handle.register_fd(orphan, Interest::BOTH, |_, _, _| ());
    drop(kept_peer);
    wait_until(|| handle.state() != LoopState::Awake);
    if round.is_multiple_of(2) {
        handle.close();
    } else {
        handle.shutdown(Deadline::NEVER).unwrap();
    }
    racer.join().unwrap();
    thread.join().unwrap().unwrap();
    handle
}

#[test]
fn the_process() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    let _watchdog = common::watchdog("the_process");
    let modes = [FastPathMode::Auto, FastPathMode::Disabled];
    let lives = |rounds: usize| -> Vec<Handle> {
        (0..2 * rounds).map(|round| life(modes[round % 2], round / 2)).collect()
    };
    match scenario.as_str() {
        "descriptors" => {
            let descriptors = || -> HashSet<_> {
                let entries = std::fs::read_dir("/proc/self/fd").unwrap();
                entries.map(|entry| entry.unwrap().file_name()).collect()
            };
            drop(lives(3));
            let before = descriptors();
            // It is the end of the loop that closes them, and not that of the last handle.
            let handles = lives(100);
            assert_eq!(descriptors(), before);
            drop(handles);
        }
        "broken pipe" => {
            // The runtime ignores the signal. Here it ends the process, as it does in most others.
            // SAFETY: no handler of this process is replaced.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            drop(lives(20));
        }
        _ => unreachable!(),
    }
    println!("scenario done");
}

// spec: SD-6, F-25
#[test]
fn loops_whose_registrations_raced_their_end_leave_no_descriptor() {
    alone("descriptors");
}

// spec: WK-8
#[test]
fn no_signal_is_raised_by_the_end_of_a_loop_with_broken_connections() {
    alone("broken pipe");
}
