//! What the tests of this crate share.
#![allow(dead_code, unreachable_pub, reason = "not every test uses all of it")]

use std::cell::RefCell;
use std::rc::Rc;

use mainspring::EventLoop;
use mainspring_quickjs::{Limit, Limits, Options, Output, Runtime};

/// A loop as scripts expect it.
pub fn event_loop() -> EventLoop {
    EventLoop::builder().microtask_budget(None).build().unwrap()
}

/// A script, and what came of it.
pub struct Script {
    pub runtime: Runtime,
    pub event_loop: EventLoop,
    pub out: Output,
    pub err: Output,
    pub limits: Rc<RefCell<Vec<Limit>>>,
}

impl Script {
    pub fn new() -> Self {
        Self::with(|options| options, Limits::default())
    }

    /// With other options.
    pub fn with(change: impl FnOnce(Options) -> Options, limits: Limits) -> Self {
        let event_loop = event_loop();
        let (out, err) = (Output::buffer(), Output::buffer());
        let hit = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&hit);
        let options = Options::new()
            .stdout(out.clone())
            .stderr(err.clone())
            .on_limit(move |_, limit| seen.borrow_mut().push(limit));
        let runtime = Runtime::with_limits(event_loop.cx(), change(options), limits).unwrap();
        Self { runtime, event_loop, out, err, limits: hit }
    }

    /// Evaluates a script, and runs the loop until it has ended.
    pub fn run(&self, source: &str) -> i32 {
        self.runtime.eval(source, "test.js").unwrap();
        self.runtime.run(&self.event_loop).unwrap()
    }

    /// Evaluates more of the script, and runs the loop until nothing is left to do.
    pub fn more(&self, source: &str) {
        self.runtime.eval(source, "test.js").unwrap();
        self.event_loop.run_until_idle().unwrap();
    }

    /// What was written, a word for each line.
    pub fn said(&self) -> String {
        self.out.text().lines().collect::<Vec<_>>().join(" ")
    }
}
