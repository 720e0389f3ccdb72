//! Signals, as futures.
//!
//! Signals are for a whole process, so that each test starts one of its own.
#![cfg(all(target_os = "linux", feature = "signals", not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;

use std::collections::HashSet;
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use awaiting::{both, give_up, poll_once, run};
use common::wait_until_sleeping;
use mainspring::{AsyncSignals, EventLoop, FastPathMode};
use rustix::process::{Pid, Signal, getpid, kill_process};

const KEY: &str = "MAINSPRING_SIGNAL_STREAM";

type Scenario = fn(&EventLoop);

/// Runs a scenario in a process of its own, once for each way in which a loop can wait.
fn in_a_process(name: &str) {
    for mode in ["auto", "disabled"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_process", "--nocapture", "--test-threads=1"])
            .env(KEY, format!("{name} {mode}"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("scenario done"), "{output:?}");
    }
}

macro_rules! scenarios {
    ($($(#[$attribute:meta])* $test:ident),* $(,)?) => {
        const SCENARIOS: &[(&str, Scenario)] = &[$((stringify!($test), scenario::$test)),*];
        $(
            $(#[$attribute])*
            #[test]
            fn $test() {
                in_a_process(stringify!($test));
            }
        )*
    };
}

scenarios! {
    // spec: BX-1
    a_signal_is_received,
    // spec: BX-1, WK-1
    #[cfg_attr(mainspring_tsan, ignore = "ThreadSanitizer puts signals off in threads that wait")]
    a_signal_wakes_a_loop_that_sleeps,
    // spec: BX-1
    #[cfg_attr(mainspring_tsan, ignore = "ThreadSanitizer puts signals off in threads that wait")]
    bursts_are_coalesced_and_never_lost,
    // spec: BX-1
    two_streams_of_one_signal_are_told_both,
    // spec: BX-1
    several_signals_at_once_are_told_each,
    // spec: BX-1
    several_tasks_share_one_stream,
    // spec: BX-1
    receiving_that_is_given_up_loses_nothing,
    // spec: BX-1, ER-2
    what_is_no_signal_is_refused,
    // spec: BX-1, ER-1
    the_end_of_the_loop_is_told,
    // spec: BX-1
    a_stream_that_nobody_awaits_does_not_keep_the_loop,
}

/// What the process does.
#[test]
fn the_process() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    let _watchdog = common::watchdog("the_process");
    let (name, mode) = scenario.split_once(' ').unwrap();
    let mode = if mode == "auto" { FastPathMode::Auto } else { FastPathMode::Disabled };
    let event_loop = common::builder().fast_path(mode).build().unwrap();
    let (_, run) = SCENARIOS.iter().find(|(known, _)| *known == name).unwrap();
    run(&event_loop);
    println!("scenario done");
}

/// Sends a signal to this thread, whose handler has run when this returns.
fn raise(signal: i32) {
    // SAFETY: all that is done to this process is done by the handlers of the test.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

mod scenario {
    use super::*;

    pub(super) fn a_signal_is_received(event_loop: &EventLoop) {
        let cx = event_loop.cx();
        let signals = AsyncSignals::new(cx, [libc::SIGUSR1, libc::SIGINT]).unwrap();
        run(event_loop, async {
            for signal in [libc::SIGUSR1, libc::SIGINT, libc::SIGINT, libc::SIGUSR1] {
                give_up(cx, signals.recv()).await;
                raise(signal);
                assert_eq!(signals.recv().await?, signal);
            }
            give_up(cx, signals.recv()).await;
            Ok(())
        });
    }

    pub(super) fn a_signal_wakes_a_loop_that_sleeps(event_loop: &EventLoop) {
        let signals = AsyncSignals::new(event_loop.cx(), [libc::SIGTERM]).unwrap();
        for _ in 0..20 {
            let handle = event_loop.handle();
            let sender = thread::spawn(move || {
                wait_until_sleeping(&handle);
                kill_process(getpid(), Signal::TERM).unwrap();
            });
            assert_eq!(run(event_loop, signals.recv()), libc::SIGTERM);
            sender.join().unwrap();
        }
    }

    /// Whoever sends a signal after changing something can rely on the change being seen.
    pub(super) fn bursts_are_coalesced_and_never_lost(event_loop: &EventLoop) {
        const ROUNDS: u32 = 20_000;
        static CHANGES: AtomicU32 = AtomicU32::new(0);
        let cx = event_loop.cx();
        let signals = AsyncSignals::new(cx, [libc::SIGUSR1]).unwrap();
        let me: Pid = getpid();
        let sender = thread::spawn(move || {
            for _ in 0..ROUNDS {
                CHANGES.fetch_add(1, Ordering::SeqCst);
                kill_process(me, Signal::USR1).unwrap();
            }
        });
        let received = run(event_loop, async {
            let mut received = 0;
            loop {
                assert_eq!(signals.recv().await?, libc::SIGUSR1);
                received += 1;
                if CHANGES.load(Ordering::SeqCst) == ROUNDS {
                    return Ok(received);
                }
            }
        });
        assert!((1..=ROUNDS).contains(&received));
        sender.join().unwrap();
        // Many at once count as one, after those that may have been on their way.
        run(event_loop, async {
            for _ in 0..100 {
                raise(libc::SIGUSR1);
            }
            assert_eq!(signals.recv().await?, libc::SIGUSR1);
            let mut more = 0;
            loop {
                let mut next = pin!(signals.recv());
                match poll_once(next.as_mut()).await {
                    Some(signal) => assert_eq!(signal?, libc::SIGUSR1),
                    None => break,
                }
                more += 1;
            }
            assert!(more <= 1, "{more}");
            Ok(())
        });
    }

    pub(super) fn two_streams_of_one_signal_are_told_both(event_loop: &EventLoop) {
        let cx = event_loop.cx();
        let first = AsyncSignals::new(cx, [libc::SIGUSR1]).unwrap();
        let second = AsyncSignals::new(cx, [libc::SIGUSR1, libc::SIGUSR2]).unwrap();
        run(event_loop, async {
            for _ in 0..3 {
                let (a, b) = both(both(first.recv(), second.recv()), async {
                    raise(libc::SIGUSR1);
                })
                .await
                .0;
                assert_eq!((a?, b?), (libc::SIGUSR1, libc::SIGUSR1));
            }
            raise(libc::SIGUSR2);
            assert_eq!(second.recv().await?, libc::SIGUSR2);
            give_up(cx, first.recv()).await;
            // One goes on when the other one is gone.
            drop(first);
            raise(libc::SIGUSR1);
            assert_eq!(second.recv().await?, libc::SIGUSR1);
            // Without any, the signal does nothing.
            drop(second);
            raise(libc::SIGUSR1);
            Ok(())
        });
    }

    pub(super) fn several_signals_at_once_are_told_each(event_loop: &EventLoop) {
        let all = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGHUP, libc::SIGWINCH];
        let signals = AsyncSignals::new(event_loop.cx(), all).unwrap();
        run(event_loop, async {
            for _ in 0..3 {
                all.iter().chain(&all).for_each(|signal| raise(*signal));
                let mut seen = HashSet::new();
                for _ in all {
                    assert!(seen.insert(signals.recv().await?), "each is told once");
                }
                assert_eq!(seen, HashSet::from(all));
                give_up(event_loop.cx(), signals.recv()).await;
            }
            Ok(())
        });
    }

    pub(super) fn several_tasks_share_one_stream(event_loop: &EventLoop) {
        let all = [libc::SIGUSR1, libc::SIGUSR2];
        let signals = AsyncSignals::new(event_loop.cx(), all).unwrap();
        run(event_loop, async {
            for _ in 0..10 {
                let (told, ()) = both(both(signals.recv(), signals.recv()), async {
                    all.iter().for_each(|signal| raise(*signal));
                })
                .await;
                let mut told = [told.0?, told.1?];
                told.sort_unstable();
                assert_eq!(told, all);
            }
            Ok(())
        });
    }

    pub(super) fn receiving_that_is_given_up_loses_nothing(event_loop: &EventLoop) {
        let cx = event_loop.cx();
        let all = [libc::SIGUSR1, libc::SIGUSR2];
        let signals = AsyncSignals::new(cx, all).unwrap();
        run(event_loop, async {
            for _ in 0..10 {
                let first = {
                    let mut given_up = pin!(signals.recv());
                    assert!(poll_once(given_up.as_mut()).await.is_none());
                    all.iter().for_each(|signal| raise(*signal));
                    cx.yield_now().await;
                    signals.recv().await?
                };
                // The other one has been taken from the source already.
                let mut told = [first, signals.recv().await?];
                told.sort_unstable();
                assert_eq!(told, all);
            }
            Ok(())
        });
    }

    pub(super) fn what_is_no_signal_is_refused(event_loop: &EventLoop) {
        for number in [libc::SIGKILL, libc::SIGSTOP, 0, -1, 65, i32::MAX, i32::MIN] {
            assert!(AsyncSignals::new(event_loop.cx(), [number]).is_err(), "{number}");
        }
        AsyncSignals::new(event_loop.cx(), []).unwrap();
    }

    pub(super) fn the_end_of_the_loop_is_told(event_loop: &EventLoop) {
        let other = common::builder().build().unwrap();
        let signals = AsyncSignals::new(event_loop.cx(), [libc::SIGUSR1]).unwrap();
        event_loop.cx().close();
        let _ = event_loop.run();
        let error = other.block_on(signals.recv()).unwrap().unwrap_err();
        assert!(error.get_ref().unwrap().is::<mainspring::Error>(), "{error:?}");
        assert!(AsyncSignals::new(event_loop.cx(), [libc::SIGUSR1]).is_err());
        // What came is told all the same.
        raise(libc::SIGUSR1);
        assert_eq!(other.block_on(signals.recv()).unwrap().unwrap(), libc::SIGUSR1);
    }

    pub(super) fn a_stream_that_nobody_awaits_does_not_keep_the_loop(event_loop: &EventLoop) {
        let _signals = AsyncSignals::new(event_loop.cx(), [libc::SIGUSR1]).unwrap();
        raise(libc::SIGUSR1);
        event_loop.run_until_idle().unwrap();
    }
}
