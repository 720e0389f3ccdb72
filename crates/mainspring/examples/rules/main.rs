//! The rules that the loop goes by, one small program each. The book shows them with what they print: `docs/src/semantics.md`.
//!
//! ```sh
//! cargo run --example rules                  # all of them
//! cargo run --example rules -- tick          # one
//! ```
//!
//! `tools/book` copies the body of each function into the book, so each begins with what it imports.

mod checkpoints;
mod descriptors;
mod endings;
mod futures;
mod lanes;
mod promises;
mod tick;
mod timers;

/// A rule's program.
type Rule = fn() -> Result<(), Box<dyn std::error::Error>>;

/// By the names that the book has for them.
const RULES: &[(&str, Rule)] = &[
    ("tick", tick::tick),
    ("later", tick::later),
    ("time", tick::time),
    ("deadlines", timers::deadlines),
    ("late", timers::late),
    ("same-phase", timers::same_phase),
    ("cleared", timers::cleared),
    ("intervals", timers::intervals),
    ("checkpoints", checkpoints::checkpoints),
    ("next-tick", checkpoints::next_tick),
    ("microtask-budget", checkpoints::microtask_budget),
    ("lanes", lanes::lanes),
    ("external-budget", lanes::external_budget),
    ("refusal", lanes::refusal),
    ("threads", lanes::threads),
    ("futures", futures::futures),
    ("yield", futures::yield_now),
    ("one-event", descriptors::one_event),
    ("unwatched", descriptors::unwatched),
    ("new-watcher", descriptors::new_watcher),
    ("immediates", tick::immediates),
    ("closes", tick::closes),
    ("handlers", promises::handlers),
    ("adoption", promises::adoption),
    ("other-threads", promises::other_threads),
    ("unhandled", promises::unhandled),
    ("idle", endings::idle),
    ("shutdown", endings::shutdown),
    ("refused", endings::refused),
    ("close", endings::close),
    ("panics", endings::panics),
    ("propagate", endings::propagate),
    ("reentrant", endings::reentrant),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The panics of some rules are a part of them.
    std::panic::set_hook(Box::new(|_| ()));
    match std::env::args().nth(1) {
        Some(name) => {
            let rule = RULES.iter().find(|(known, _)| *known == name);
            rule.ok_or_else(|| format!("there is no rule {name}"))?.1()
        }
        None => RULES.iter().try_for_each(|(name, rule)| {
            println!("== {name}");
            rule()
        }),
    }
}
