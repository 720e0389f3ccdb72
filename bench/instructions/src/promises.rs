//! Chains of promises: building one that waits, and settling it. And `all` of a few.

use std::cell::RefCell;
use std::rc::Rc;

use mainspring::{Cx, EventLoop, LocalPromise, Promise};

use crate::counted::{COUNT, Step, counted, expect_steps};

/// Which half of a chain's life is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Build,
    Settle,
}

/// A chain is built in a callback by `build`, which returns what settles it, and is settled then.
fn chain<S: FnOnce() + 'static>(half: Half, build: impl FnOnce(&Cx) -> S + 'static) {
    let event_loop = EventLoop::new().unwrap();
    let built = Rc::new(RefCell::new(None));
    let place = Rc::clone(&built);
    let build = move |cx: &Cx| {
        let settle = if half == Half::Build { counted(|| build(cx)) } else { build(cx) };
        place.replace(Some(settle));
    };
    assert!(event_loop.cx().submit(build).is_ok());
    event_loop.run_until_idle().unwrap();
    expect_steps(0);
    let settle = built.take().expect("it was built");
    let settle = || {
        settle();
        event_loop.run_microtasks().unwrap();
    };
    if half == Half::Settle {
        counted(settle)
    } else {
        settle()
    }
    expect_steps(COUNT);
}

fn local(half: Half) {
    chain(half, |cx| {
        let (mut last, resolver) = LocalPromise::with_resolvers(cx);
        for number in 1..=COUNT {
            let step = Step::new(number);
            last = last.then(move |_, value| {
                step.run();
                value
            });
        }
        move || assert!(resolver.resolve(1_u64))
    });
}

fn shared(half: Half) {
    chain(half, |cx| {
        let (mut last, resolver) = Promise::with_resolvers(&cx.handle());
        for number in 1..=COUNT {
            let step = Step::new(number);
            last = last.then(move |_, value| {
                step.run();
                value
            });
        }
        move || assert!(resolver.resolve(1_u64))
    });
}

pub fn build_local() {
    local(Half::Build);
}

pub fn settle_local() {
    local(Half::Settle);
}

pub fn build_shared() {
    shared(Half::Build);
}

pub fn settle_shared() {
    shared(Half::Settle);
}

/// How many promises are waited for together.
const INPUTS: u64 = 4;

/// Groups of promises are made in a callback, each with a handler for all of the group, and resolved. `$context` is what
/// promises of this kind are made with.
macro_rules! all {
    ($promise:ident, $context:expr) => {{
        let event_loop = EventLoop::new().unwrap();
        let groups = |cx: &Cx| {
            let context = &$context(cx);
            for group in 0..COUNT / INPUTS {
                let (promises, resolvers): (Vec<_>, Vec<_>) =
                    (0..INPUTS).map(|_| $promise::with_resolvers(context)).unzip();
                $promise::all(context, promises).then(|_, numbers: Vec<u64>| {
                    numbers.into_iter().for_each(|number| Step::new(number).run());
                });
                for (number, resolver) in (1..).zip(&resolvers) {
                    assert!(resolver.resolve(group * INPUTS + number));
                }
            }
        };
        assert!(event_loop.cx().submit(groups).is_ok());
        counted(|| event_loop.run_until_idle()).unwrap();
        expect_steps(COUNT);
    }};
}

pub fn all_local() {
    all!(LocalPromise, Cx::clone);
}

pub fn all_shared() {
    all!(Promise, Cx::handle);
}
