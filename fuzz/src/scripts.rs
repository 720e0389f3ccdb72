//! Scripts of a small grammar, run on virtual time and within limits: the loop ends idle or by a limit, nothing panics,
//! no callback finds microtasks of the one before, and a script that is run again writes the same.

mod grammar;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{EventLoop, PanicPolicy, VirtualClock};
use mainspring_quickjs::{Limits, Options, Output, Runtime};

use crate::source::Source;

use self::grammar::Script;

/// Enough for any script but those that ask for more and more.
const MEMORY: usize = 32 << 20;

/// What a callback may take that does not end by itself.
const BRIEF: Duration = Duration::from_millis(20);

/// See the [module documentation](self).
// spec: JS-3, JS-4, MT-1, TM-12
pub fn check(data: &[u8]) {
    let script = Script::new(&Source::new(data));
    let first = run(&script);
    assert!(!first.out.contains(grammar::ALARM), "in\n{}\n{}", script.text, first.out);
    if script.is_endless {
        let may_exit = script.text.contains("process.exit(");
        let is_stopped = first.evaluated.is_err() || !first.limits.is_empty();
        assert!(is_stopped || may_exit, "it is stopped: {first:?}\n{}", script.text);
        return;
    }
    let again = run(&script);
    assert_eq!(first, again, "it is the same every time:\n{}", script.text);
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
