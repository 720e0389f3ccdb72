//! Graphs of promises of both kinds against a transcription of ECMAScript: callbacks take what they do from the same
//! bytes, so that any deviation in their order makes another program. Whoever handles a rejection, and when, decides
//! what is reported, once.

#[path = "../../crates/mainspring/tests/common/ecmascript.rs"]
mod ecmascript;
#[macro_use]
mod program;

use std::fmt;

use mainspring::{Error, EventLoop, PanicPolicy};

use crate::source::Source;

/// See the [module documentation](self).
// spec: PR-1, PR-2, PR-3, PR-7, PR-8, F-29
pub fn check(data: &[u8]) {
    let expected = model::run(data);
    compare("a promise for all threads", &shared::run(data), &expected);
    compare("a promise of the loop's thread", &local::run(data), &expected);
}

/// Shows where two stories part: all of them is too much to read.
fn compare(kind: &str, story: &Story, expected: &Story) {
    let same = story.0.iter().zip(&expected.0).take_while(|(a, b)| a == b).count();
    let next = |lines: &[String]| lines.iter().skip(same).take(3).cloned().collect::<Vec<_>>();
    let last = &story.0[same.saturating_sub(3)..same];
    assert_eq!(next(&story.0), next(&expected.0), "{kind}, after line {same}, {last:?}");
    assert_eq!(story.1, expected.1, "{kind}: what was reported and handled later");
}

/// What happened: the lines of a program, and the reasons that were reported first and handled later.
type Story = (Vec<String>, Vec<String>);

/// More tasks and statements than these make no other orders.
const TASKS: usize = 6;
const STATEMENTS: usize = 160;

/// What a program has besides its promises.
struct State {
    source: Source,
    /// Statements that it may still execute.
    left: usize,
    log: Vec<String>,
    /// Unhandled rejections: the promise and the reason.
    reported: Vec<(String, String)>,
    handled: Vec<String>,
}

impl State {
    fn new(data: &[u8]) -> Self {
        let source = Source::new(data);
        Self { source, left: STATEMENTS, log: vec![], reported: vec![], handled: vec![] }
    }

    fn log(&mut self, line: String) {
        self.source.tell(|| line.clone());
        self.log.push(line);
    }
}

/// A reason.
#[derive(Debug)]
struct Oops(usize);

impl fmt::Display for Oops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oops {}", self.0)
    }
}

impl std::error::Error for Oops {}

/// A short name of a reason.
fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<Error>() {
        Some(Error::PromiseAbandoned) => "abandoned".to_owned(),
        Some(Error::PromiseCycle) => "cycle".to_owned(),
        Some(error) => error.to_string(),
        // What several come to has a text of its own in each library.
        None if error.is::<Oops>() => error.to_string(),
        None => "several".to_owned(),
    }
}

mod model {
    use super::ecmascript::{AggregateError, Cx, P, R, Reason, at};

    program!();

    fn abandon(resolver: R<i64>) {
        resolver.reject(mainspring::Error::PromiseAbandoned);
    }

    pub(super) fn run(data: &[u8]) -> super::Story {
        let world = World::new(data);
        let cx = Cx::new();
        for task in 0..super::TASKS {
            world.task(&cx, task);
            cx.checkpoint(|reason| {
                world.log(format!("unhandled {}", super::describe(reason.as_error())));
            });
        }
        world.log_states();
        cx.end();
        let handled = cx.handled();
        let handled = handled.iter().map(|reason| super::describe(reason.as_error())).collect();
        (world.end(), handled)
    }
}

/// The library's, on a loop.
macro_rules! looped {
    () => {
        program!();

        fn abandon(resolver: R<i64>) {
            drop(resolver);
        }

        pub(super) fn run(data: &[u8]) -> super::Story {
            let world = World::new(data);
            let (unhandled, handled) = (Arc::clone(&world.state), Arc::clone(&world.state));
            let event_loop = super::EventLoop::builder()
                .microtask_budget(None)
                .panic_policy(super::PanicPolicy::Propagate)
                .on_unhandled_rejection(move |_, rejection| {
                    let reason = super::describe(rejection.reason().as_error());
                    let mut state = unhandled.lock().unwrap();
                    state.reported.push((format!("{:?}", rejection.id()), reason.clone()));
                    state.log(format!("unhandled {reason}"));
                })
                .on_rejection_handled(move |_, id| {
                    let mut state = handled.lock().unwrap();
                    let id = format!("{id:?}");
                    // The last one: an id may have been that of a promise before.
                    let at = state.reported.iter().rposition(|(reported, _)| *reported == id);
                    let (_, reason) = state.reported.swap_remove(at.expect("it was reported"));
                    state.handled.push(reason);
                })
                .build()
                .expect("a loop");
            for task in 0..super::TASKS {
                let world = world.clone();
                event_loop.cx().submit(move |cx| world.task(cx, task)).expect("there is room");
            }
            event_loop.run_until_idle().expect("the loop becomes idle");
            world.log_states();
            drop(event_loop);
            let handled = world.state.lock().unwrap().handled.clone();
            (world.end(), handled)
        }
    };
}

mod shared {
    use mainspring::{
        AggregateError, Cx, Handle, Promise as P, Rejection as Reason, Resolver as R,
    };

    fn at(cx: &Cx) -> Handle {
        cx.handle()
    }

    looped!();
}

// What is written for both kinds is more than this one needs.
#[allow(clippy::arc_with_non_send_sync)]
mod local {
    use mainspring::{
        AggregateError, Cx, LocalPromise as P, LocalRejection as Reason, LocalResolver as R,
    };

    fn at(cx: &Cx) -> Cx {
        cx.clone()
    }

    looped!();
}
