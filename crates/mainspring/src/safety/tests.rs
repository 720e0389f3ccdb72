//! The profile with defects put in: each is reported, with all that is known.

use std::cell::Cell;
use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Fault, FaultKind, Safety};
use crate::defect::{Defect, put_in};
use crate::place::Place;
use crate::state::StateWord;
use crate::{
    Builder, Cx, Error, EventLoop, FastPathMode, Handle, Interest, LocalPromise, LoopState,
    Profile, Queue,
};

/// What was reported.
type Reports = Arc<Mutex<Vec<(FaultKind, String)>>>;

/// A loop of the profile, and what it reports.
fn watched() -> (EventLoop, Reports) {
    let reports = Reports::default();
    let seen = Arc::clone(&reports);
    let event_loop = EventLoop::builder()
        .profile(Profile::MaximumSafety)
        .on_fault(move |fault| {
            assert!(fault.backtrace().is_some() || fault.kind() == FaultKind::Error);
            seen.lock().unwrap().push((fault.kind(), fault.to_string()));
        })
        .build()
        .unwrap();
    (event_loop, reports)
}

/// The message with which `f` panics.
fn message_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("this panics");
    payload.downcast_ref::<String>().expect("with a text").clone()
}

/// Puts a defect in, has `f` run into it, and looks at what is reported.
fn is_caught(defect: Defect, f: impl FnOnce(&EventLoop), expected: &[&str]) {
    let (event_loop, reports) = watched();
    let loop_id = event_loop.handle().id();
    put_in(Some(defect));
    let message = message_of(|| f(&event_loop));
    put_in(None);
    let reports = reports.lock().unwrap();
    let [(FaultKind::Violation, report)] = &**reports else { panic!("{reports:?}") };
    assert_eq!(report, &message, "who is told learns what the panic says");
    let known = format!("loop: {loop_id})");
    for part in expected.iter().copied().chain(["operation: ", "phase: ", "task: ", &known]) {
        assert!(report.contains(part), "`{part}` is missing in: {report}");
    }
}

// spec: SF-4, R14
#[test]
fn a_chunk_that_is_not_cleaned_is_reported_when_it_is_returned() {
    is_caught(
        Defect::SkipCleaning,
        |event_loop| {
            for _ in 0..300 {
                event_loop.cx().submit(|_| ()).unwrap();
            }
            event_loop.run_until_idle().unwrap();
        },
        &["a chunk of queue `external` is returned and holds something", "take a task", "external"],
    );
    is_caught(
        Defect::SkipCleaning,
        |event_loop| {
            event_loop.cx().next_tick(|_| ());
            event_loop.run_until_idle().unwrap();
        },
        &["a chunk of queue `next ticks` is returned and holds something", "task: 1"],
    );
}

// spec: SF-5
#[test]
fn a_task_that_would_run_twice_is_reported() {
    let runs = Rc::new(Cell::new(0));
    let counted = Rc::clone(&runs);
    is_caught(
        Defect::EnqueueTwice,
        |event_loop| {
            let owned = Box::new(counted);
            event_loop.cx().submit(move |_| owned.set(owned.get() + 1)).unwrap();
            event_loop.run_until_idle().unwrap();
        },
        &["task 1 would run twice: it is completed", "task: 1", "phase: external"],
    );
    assert_eq!(runs.get(), 1);
    assert_eq!(Rc::strong_count(&runs), 1, "what it captured is dropped once");
}

/// A loop that sleeps on a thread of its own.
fn asleep(
    profile: Profile,
    mode: FastPathMode,
    configure: impl FnOnce(Builder) -> Builder + Send + 'static,
) -> (Handle, JoinHandle<Result<(), Error>>) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let builder = EventLoop::builder().profile(profile).fast_path(mode);
        let event_loop = configure(builder).build().unwrap();
        sender.send(event_loop.handle()).unwrap();
        event_loop.run()
    });
    let handle = receiver.recv().unwrap();
    while handle.state() != LoopState::Sleeping {
        thread::yield_now();
    }
    (handle, thread)
}

/// Has a signal sent that was claimed and not sent, and ends the loop.
fn make_up(handle: &Handle, thread: JoinHandle<Result<(), Error>>) {
    handle.0.sleep.state.withdraw_signal();
    handle.close();
    thread.join().unwrap().unwrap();
}

const MODES: [FastPathMode; 2] = [FastPathMode::Forced, FastPathMode::Disabled];

// spec: SF-3
#[test]
fn a_signal_that_is_not_sent_is_reported_by_who_claimed_it() {
    for mode in MODES {
        let reports = Reports::default();
        let seen = Arc::clone(&reports);
        let note = move |fault: &Fault| {
            seen.lock().unwrap().push((fault.kind(), fault.to_string()));
        };
        let (handle, thread) =
            asleep(Profile::MaximumSafety, mode, |builder| builder.on_fault(note));
        put_in(Some(Defect::DropWake));
        let message = message_of(|| handle.submit(|_| ()).unwrap());
        put_in(None);
        for part in ["a signal was claimed, and not sent", "wake the loop", "task: 1, queued"] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(&**reports.lock().unwrap(), [(FaultKind::Violation, message)]);
        make_up(&handle, thread);
    }
}

// spec: F-3
#[test]
fn the_default_profile_sleeps_through_a_signal_that_is_not_sent() {
    for mode in MODES {
        let (handle, thread) = asleep(Profile::Performance, mode, |builder| builder);
        put_in(Some(Defect::DropWake));
        handle.submit(|_| ()).unwrap();
        put_in(None);
        handle.submit(|_| ()).unwrap();
        assert_eq!((handle.state(), handle.pending()), (LoopState::Sleeping, 2));
        make_up(&handle, thread);
    }
}

// spec: SF-6
#[test]
fn a_stage_out_of_order_is_reported() {
    is_caught(
        Defect::StageOutOfOrder,
        |event_loop| {
            event_loop.run_until_idle().unwrap();
            event_loop.handle().close();
            let _ = event_loop.run();
        },
        &["begins out of order", "operation: shut down"],
    );
}

// spec: SF-8
#[test]
fn a_promise_that_is_listed_twice_is_reported() {
    is_caught(
        Defect::ListTwice,
        |event_loop| {
            event_loop.cx().submit(|cx| drop(LocalPromise::<()>::with_resolvers(cx))).unwrap();
            event_loop.run_until_idle().unwrap();
        },
        &["is listed already", "operation: list a promise", "phase: external", "task: 1"],
    );
}

// spec: SF-4
#[test]
fn a_cursor_that_is_elsewhere_is_reported() {
    is_caught(
        Defect::CorruptCursor,
        |event_loop| {
            put_in(None);
            event_loop.cx().submit(|_| ()).unwrap();
            put_in(Some(Defect::CorruptCursor));
            event_loop.cx().submit(|_| ()).unwrap();
        },
        &["queue `external` holds 1 entries, and 2 tasks were put into it", "task: 2"],
    );
}

/// What a loop that something is wrong with panics with.
fn is_found(f: impl FnOnce(&EventLoop), expected: &str) {
    let (event_loop, reports) = watched();
    let message = message_of(|| f(&event_loop));
    assert!(message.contains(expected), "{message}");
    assert_eq!(&**reports.lock().unwrap(), [(FaultKind::Violation, message)]);
}

// spec: R13
#[test]
fn a_table_of_descriptors_that_is_wrong_is_found_around_a_callback() {
    is_found(
        |event_loop| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let miscount = |cx: &Cx, _: &UdpSocket, _| cx.0.shared.io.miscount();
            event_loop.cx().register_fd(socket, Interest::WRITE, miscount).unwrap();
            event_loop.turn(None).unwrap();
        },
        "2 descriptors are counted, and 1 registered (operation: run a callback of a descriptor",
    );
}

// spec: SF-3, F-2
#[test]
fn a_loop_that_would_sleep_while_a_task_waits_is_found() {
    is_found(
        |event_loop| {
            let safety = event_loop.cx().0.shared.safety.as_ref().unwrap();
            safety.lock().admit(Some(Queue::Internal), None);
            event_loop.turn(Duration::from_millis(1)).unwrap();
        },
        "the loop is about to sleep, and task 1 waits (operation: sleep",
    );
}

// spec: SF-5, F-33
#[test]
fn a_task_that_is_neither_run_nor_dropped_is_found_at_the_end() {
    is_found(
        |event_loop| {
            let safety = event_loop.cx().0.shared.safety.as_ref().unwrap();
            std::mem::forget(safety.timer_ticket(Place::UNKNOWN));
            event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
            event_loop.run().unwrap();
        },
        "task 1 was neither run nor dropped (operation: shut down",
    );
}

const STATES: [LoopState; 5] = [
    LoopState::Awake,
    LoopState::Running,
    LoopState::Sleeping,
    LoopState::Terminating,
    LoopState::Terminated,
];

/// The table, written once more.
fn follow(from: LoopState) -> &'static [LoopState] {
    use LoopState::{Awake, Running, Sleeping, Terminated, Terminating};
    match from {
        Awake => &[Running, Terminating],
        Running => &[Sleeping, Terminating],
        Sleeping => &[Running, Terminating],
        Terminating => &[Terminated],
        Terminated => &[],
    }
}

fn word_at(state: LoopState) -> StateWord {
    let word = StateWord::new(Some(Safety::new(0, super::SafetyHooks::default())));
    word.set(state);
    word
}

// spec: SF-1, ST-1
#[test]
fn each_invalid_transition_panics_with_both_states_and_each_valid_one_passes() {
    for from in STATES {
        for to in STATES {
            let word = word_at(from);
            if from == to || follow(from).contains(&to) {
                word.force(from, to);
                assert_eq!(word.load(), to);
            } else {
                let message = message_of(|| word.force(from, to));
                let expected = format!("the state goes from {from} to {to}");
                assert!(message.contains(&expected), "{message}");
                assert_eq!(word.load(), from, "nothing has changed");
            }
        }
    }
}

// spec: SF-1
#[test]
fn random_walks_through_the_states_go_exactly_as_far_as_the_table_lets_them() {
    for seed in 1..=2_000_u64 {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let word = word_at(LoopState::Awake);
        loop {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (from, to) = (word.load(), STATES[random as usize % STATES.len()]);
            if follow(from).contains(&to) || from == to {
                word.force(from, to);
                assert_eq!(word.load(), to, "seed {seed}");
                if to == LoopState::Terminated {
                    break;
                }
            } else {
                let message = message_of(|| word.force(from, to));
                assert!(message.contains(&format!("{from} to {to}")), "seed {seed}: {message}");
                break;
            }
        }
    }
}

// spec: SF-7
#[test]
fn after_a_violation_the_loop_can_be_dropped_and_the_thread_goes_on() {
    let (event_loop, _) = watched();
    put_in(Some(Defect::SkipCleaning));
    event_loop.cx().next_tick(|_| ());
    let message = message_of(|| event_loop.run_until_idle().unwrap());
    assert!(message.contains("holds something"), "{message}");
    event_loop.cx().submit(|_| ()).unwrap();
    drop(event_loop);
    EventLoop::new().unwrap().run_until_idle().unwrap();
}
