//! Errors: their messages, their types, and that nothing panics or leaks on the way to one.

mod common;

use std::error::Error as _;
use std::io;
use std::time::Duration;

use common::{Tracker, Variant};
use mainspring::{
    Builder, Cx, Deadline, Diagnostic, Error, EventLoop, Handle, ImmediateId, KeepAlive, LoopState,
    Overload, PanicPolicy, Phase, Refusal, Shutdown, SubmitError, Turn, UncaughtPanic,
};

suite![
    options_that_make_no_sense_are_errors_that_name_them,
    the_least_and_the_greatest_values_are_accepted,
    a_build_that_fails_releases_its_hooks,
    a_refused_submit_becomes_the_error_of_its_reason,
    what_is_printed_for_debugging_says_the_state,
];

fn all_errors() -> Vec<Error> {
    vec![
        Error::AlreadyRunning,
        Error::Terminated,
        Error::Overloaded,
        Error::ReentrantRun,
        Error::NotRunning,
        Error::TimerNotFound,
        Error::ImmediateNotFound,
        Error::TimerIdExhausted,
        Error::DeadlineOutOfRange,
        Error::FdAlreadyRegistered,
        Error::FdNotRegistered,
        Error::PollerClosed,
        Error::FastPathIncompatible,
        Error::InvalidOption { option: "max_spin", expected: "at least 1" },
        Error::DeadlineExceeded { left: 3 },
        Error::Io(io::Error::other("no luck")),
    ]
}

#[track_caller]
fn assert_is_one_lower_case_sentence(message: &str) {
    let first = message.chars().next().unwrap();
    assert!(first.is_lowercase(), "{message}");
    assert!(!message.ends_with(['.', '!', '\n', ' ']), "{message}");
    assert!(!message.contains(". ") && !message.contains('\n'), "{message}");
    assert!(!message.contains("  "), "{message}");
    assert!(message.split_whitespace().count() >= 3, "{message}");
}

// spec: ER-1
#[test]
fn messages_are_one_lower_case_sentence_without_a_period() {
    let mut messages: Vec<_> = all_errors().iter().map(Error::to_string).collect();
    messages.iter().for_each(|message| assert_is_one_lower_case_sentence(message));
    messages.sort_unstable();
    messages.dedup();
    assert_eq!(messages.len(), all_errors().len(), "each has one of its own");
}

// spec: ER-1
#[test]
fn messages_name_what_they_are_about() {
    let text =
        Error::InvalidOption { option: "high_water_mark", expected: "at least 1" }.to_string();
    assert!(text.contains("high_water_mark") && text.contains("at least 1"), "{text}");
    let text = Error::DeadlineExceeded { left: 4711 }.to_string();
    assert!(text.contains("4711"), "{text}");
    let text = Error::Io(io::Error::other("no luck")).to_string();
    assert!(text.contains("no luck"), "{text}");
}

// spec: ER-1
#[test]
fn an_error_of_the_system_is_the_source() {
    let error = Error::from(io::Error::from(io::ErrorKind::NotFound));
    assert!(matches!(&error, Error::Io(error) if error.kind() == io::ErrorKind::NotFound));
    let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    for error in all_errors().into_iter().filter(|error| !matches!(error, Error::Io(_))) {
        assert!(error.source().is_none(), "{error}");
    }
}

// spec: ER-1
#[test]
fn a_refusal_has_the_message_of_its_error() {
    for refusal in [Refusal::Overloaded, Refusal::Terminated] {
        assert_eq!(refusal.to_string(), Error::from(refusal).to_string());
    }
    assert!(matches!(Error::from(Refusal::Overloaded), Error::Overloaded));
    assert!(matches!(Error::from(Refusal::Terminated), Error::Terminated));
}

/// Tells at compile time whether a type is `Send` and whether it is `Sync`: an inherent constant is
/// preferred to one of a trait, and exists only if its bound holds.
macro_rules! is {
    ($bound:ident: $type:ty) => {{
        #[allow(dead_code)]
        trait Otherwise {
            const HOLDS: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $bound> Probe<T> {
            const HOLDS: bool = true;
        }
        <Probe<$type>>::HOLDS
    }};
}

// spec: SH-1, SH-2, SH-3, ST-2
#[test]
fn what_belongs_to_one_thread_stays_there_and_what_does_not_can_be_shared() {
    const { assert!(!is!(Send: EventLoop) && !is!(Sync: EventLoop)) };
    const { assert!(!is!(Send: Cx) && !is!(Sync: Cx)) };
    const { assert!(is!(Send: Handle) && is!(Sync: Handle) && is!(Clone: Handle)) };
    const { assert!(is!(Send: KeepAlive) && is!(Sync: KeepAlive)) };
    const { assert!(is!(Send: Error) && is!(Sync: Error)) };
    const { assert!(is!(Send: UncaughtPanic)) };
    const { assert!(is!(Send: LoopState) && is!(Sync: Shutdown) && is!(Send: Deadline)) };
    // The closure decides.
    const { assert!(is!(Send: SubmitError<u8>) && !is!(Send: SubmitError<*const u8>)) };
}

// spec: SH-3
#[test]
fn the_context_takes_what_is_not_send() {
    let event_loop = common::builder().build().unwrap();
    let value = std::rc::Rc::new(std::cell::Cell::new(0));
    let add = |n| {
        let value = std::rc::Rc::clone(&value);
        move |_: &Cx| value.set(value.get() + n)
    };
    event_loop.cx().submit(add(1)).unwrap();
    event_loop.cx().submit_internal(add(2)).unwrap();
    event_loop.cx().queue_microtask(add(4));
    event_loop.cx().next_tick(add(8));
    event_loop.cx().set_immediate(add(16));
    event_loop.cx().queue_close(add(32));
    event_loop.run_until_idle().unwrap();
    assert_eq!(value.get(), 63);
}

// spec: ER-2
fn options_that_make_no_sense_are_errors_that_name_them(variant: Variant) {
    type Set = fn(Builder) -> Builder;
    let options: [(&str, Set); 4] = [
        ("external_budget", |builder| builder.external_budget(0)),
        ("high_water_mark", |builder| builder.high_water_mark(0)),
        ("microtask_budget", |builder| builder.microtask_budget(0)),
        ("internal_flood_mark", |builder| builder.internal_flood_mark(0)),
    ];
    for (name, set) in options {
        let error = set(variant.builder()).build().unwrap_err();
        assert!(matches!(error, Error::InvalidOption { option, .. } if option == name), "{error}");
        assert!(error.to_string().contains(name));
        assert_is_one_lower_case_sentence(&error.to_string());
    }
}

// spec: ER-2
fn the_least_and_the_greatest_values_are_accepted(variant: Variant) {
    for value in [1, 2, usize::MAX / 2, usize::MAX - 1, usize::MAX] {
        let event_loop = variant
            .builder()
            .external_budget(value)
            .high_water_mark(value)
            .microtask_budget(value)
            .internal_flood_mark(value)
            .max_spin(Duration::ZERO)
            .build()
            .unwrap();
        let tracker = Tracker::new();
        event_loop.cx().submit(tracker.callback()).unwrap();
        event_loop.cx().submit_internal(tracker.callback()).unwrap();
        let (handle, sent) = (event_loop.handle(), tracker.clone());
        let remote = std::thread::spawn(move || handle.submit(sent.callback()).is_ok());
        assert_eq!(remote.join().unwrap(), value > 1);
        event_loop.cx().queue_microtask(tracker.callback());
        event_loop.run_until_idle().unwrap();
        assert_eq!(tracker.ran(), if value > 1 { 4 } else { 3 });
    }
}

// spec: ER-2, F-19
fn a_build_that_fails_releases_its_hooks(variant: Variant) {
    let tracker = Tracker::new();
    let (a, b, c) = (tracker.token(), tracker.token(), tracker.token());
    let builder = variant
        .builder()
        .on_check(move |_| {
            let _a = &a;
        })
        .on_uncaught(move |_, _| {
            let _b = &b;
        })
        .on_error(move |_, _| {
            let _c = &c;
        })
        .external_budget(0);
    assert_eq!(tracker.alive(), 3);
    assert!(builder.build().is_err());
    assert_eq!(tracker.alive(), 0);
}

// spec: ER-1, IN-2
fn a_refused_submit_becomes_the_error_of_its_reason(variant: Variant) {
    fn submit_twice(event_loop: &EventLoop) -> Result<(), Error> {
        event_loop.cx().submit(|_| ())?;
        event_loop.handle().submit(|_| ())?;
        Ok(())
    }
    let event_loop = variant.builder().high_water_mark(1).build().unwrap();
    assert!(matches!(submit_twice(&event_loop), Err(Error::Overloaded)));
    event_loop.cx().close();
    assert!(matches!(submit_twice(&event_loop), Err(Error::Terminated)));
    let error = event_loop.cx().submit(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), Error::Terminated.to_string());
    assert!(format!("{error:?}").contains("Terminated"));
    let error: &dyn std::error::Error = &error;
    assert!(error.source().is_none());
}

// spec: ER-2
fn what_is_printed_for_debugging_says_the_state(variant: Variant) {
    let event_loop = variant.build();
    for text in [
        format!("{event_loop:?}"),
        format!("{:?}", event_loop.cx()),
        format!("{:?}", event_loop.handle()),
        format!("{:?}", event_loop.handle().keep_alive()),
    ] {
        assert!(text.contains("Awake"), "{text}");
    }
    let _ = format!("{:?}", variant.builder());
    let (id, turn): (ImmediateId, Turn) =
        (event_loop.cx().set_immediate(|_| ()), event_loop.turn(Duration::ZERO).unwrap());
    let _ = format!("{id:?} {id} {turn:?} {:?}", Deadline::from(Duration::MAX));
    assert_eq!(Deadline::from(Duration::MAX), Deadline::NEVER);
    assert_eq!(
        (Phase::Hook.to_string(), Phase::Check.to_string()),
        ("hook".into(), "check".into())
    );
    assert_eq!(PanicPolicy::default(), PanicPolicy::Isolate);
    let _: (Option<Diagnostic>, Option<Overload>) = (None, None);
}

/// How many descriptors there are is limited by a shell.
#[cfg(unix)]
mod few_descriptors {
    use super::*;
    use mainspring::FastPathMode;
    use std::process::Command;

    suite![a_build_that_fails_leaves_no_descriptor_open];

    /// The role of the process that `a_build_that_fails_leaves_no_descriptor_open` starts: it has few
    /// descriptors, and no test beside it.
    const CHILD: &str = "MAINSPRING_TEST_CHILD";

    // spec: F-19, ER-2
    fn a_build_that_fails_leaves_no_descriptor_open(variant: Variant) {
        let test = format!(
            "few_descriptors::{}::a_build_that_fails_leaves_no_descriptor_open",
            variant.name
        );
        if std::env::var_os(CHILD).is_some() {
            exhaust_descriptors(variant);
            return;
        }
        let status = Command::new("sh")
            .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", &test, "--test-threads", "1", "--quiet"])
            .env(CHILD, "1")
            .status()
            .unwrap();
        assert!(status.success());
    }

    fn exhaust_descriptors(variant: Variant) {
        let open = || std::fs::File::open("/dev/null");
        let needs_some = variant.build().handle().fast_path() == FastPathMode::Disabled;
        let parked = common::builder().build().unwrap();
        let mut files = Vec::new();
        while let Ok(file) = open() {
            files.push(file);
        }
        for attempt in 0..99 {
            // None, one or two are left, so that it is the first, the second or the third that fails.
            match attempt % 3 {
                0 | 1 => drop(files.pop()),
                _ => files.extend([open().unwrap(), open().unwrap()]),
            }
            // Refused as a whole, and the mode is as before.
            let error = parked.handle().set_fast_path(FastPathMode::Disabled).unwrap_err();
            assert!(matches!(error, Error::Io(_)), "{error}");
            assert_eq!(parked.handle().fast_path(), FastPathMode::Auto);
            match variant.builder().build() {
                Ok(_) => assert!(!needs_some),
                Err(error) => assert!(needs_some && matches!(error, Error::Io(_)), "{error}"),
            }
        }
        // Had one been left open, then these could not be had.
        files.truncate(files.len() - 3);
        drop(variant.build());
        files.extend([open().unwrap(), open().unwrap(), open().unwrap()]);
        assert!(open().is_err());
        parked.cx().submit(|cx| cx.shutdown()).unwrap();
        parked.run().unwrap();
    }
}
