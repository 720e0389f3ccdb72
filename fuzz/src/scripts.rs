//! Scripts of a small grammar, run on virtual time and within limits.
//!
//! * Nothing panics, and the loop ends: with nothing left, by an exit, by an exception or by a limit.
//! * Everything runs once, and in its order: timers by deadline and then as they were set, to the millisecond; immediates,
//!   ticks and microtasks as they were queued; ticks before the microtasks of the same callback, and both before the next.
//! * Nothing runs that was cleared, and nothing after the end. A script that ends by itself has run all the rest.
//! * A script that is run again writes the same.

mod grammar;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{EventLoop, PanicPolicy, VirtualClock};
use mainspring_quickjs::{Limits, Options, Output, Runtime};

use crate::source::Source;

use self::grammar::Script;

/// Enough for any script but those that ask for more and more.
const MEMORY: usize = 12 << 20;

/// What a callback may take that does not end by itself.
const BRIEF: Duration = Duration::from_millis(20);

/// One in this many scripts is run again.
const AGAIN: u32 = 8;

/// See the [module documentation](self).
// spec: JS-3, JS-4, MT-1, TM-12
pub fn check(data: &[u8]) {
    let script = Script::new(&Source::new(data));
    let first = run(&script);
    if script.is_endless {
        let may_exit = script.text.contains("process.exit(");
        let is_stopped = first.evaluated.is_err() || !first.limits.is_empty();
        assert!(is_stopped || may_exit, "it is stopped: {first:?}\n{}", script.text);
        return;
    }
    if !script.is_greedy {
        first.check(&script);
    }
    if data.iter().map(|byte| u32::from(*byte)).sum::<u32>().is_multiple_of(AGAIN) {
        let again = run(&script);
        assert_eq!(first, again, "it is the same every time:\n{}", script.text);
    }
}

/// What came of a script.
#[derive(Debug, PartialEq)]
struct Outcome {
    evaluated: Result<(), String>,
    code: i32,
    out: String,
    err: String,
    limits: Vec<String>,
}

impl Outcome {
    /// What holds for a script that is not stopped.
    fn check(&self, script: &Script) {
        let Self { code, out, .. } = self;
        let text = &script.text;
        assert!(!out.contains(grammar::ALARM), "in\n{text}\n{out}");
        let ends: Vec<_> = out.lines().filter(|line| line.starts_with(grammar::END)).collect();
        assert_eq!(ends, [format!("{} {code}", grammar::END)], "in\n{text}\n{self:?}");
        // With another code, or with one that was set, something may have ended it.
        let is_natural = *code == 0 && !text.contains("process.exit");
        let is_empty = out.contains(grammar::EMPTY);
        assert!(is_empty || !is_natural, "something is left of\n{text}\n{self:?}");
    }
}

fn run(script: &Script) -> Outcome {
    let clock = VirtualClock::auto();
    let event_loop = EventLoop::builder()
        .clock(&clock)
        .microtask_budget(None)
        .panic_policy(PanicPolicy::Propagate)
        .build()
        .expect("a loop");
    let (out, err) = (Output::buffer(), Output::buffer());
    let limits = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&limits);
    let options = Options::new()
        .stdout(out.clone())
        .stderr(err.clone())
        .env([("HOME", "/")])
        .virtual_time(true)
        .callback_time(script.is_endless.then_some(BRIEF))
        .on_limit(move |_, limit| told.borrow_mut().push(format!("{limit:?}")));
    let within = Limits { memory: Some(MEMORY), stack: None };
    let runtime = Runtime::with_limits(event_loop.cx(), options, within).expect("an engine");
    let evaluated = runtime.eval(&script.text, "script.js").map_err(|error| error.to_string());
    let code = runtime.run(&event_loop).expect("the loop ends");
    drop(runtime);
    drop(event_loop);
    let limits = limits.take();
    Outcome { evaluated, code, out: out.text(), err: err.text(), limits }
}
