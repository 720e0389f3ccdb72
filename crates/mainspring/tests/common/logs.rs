//! Sees to it that what is logged reaches the subscriber of the thread that logs it.

// Each test file compiles its own copy.
#![allow(unreachable_pub)]

use std::sync::Once;

use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Metadata, Subscriber, span};

/// To be called before a thread gets a subscriber of its own.
///
/// While no subscriber is there for all threads, `tracing` may take a place that logs for one that nobody will ever
/// listen to: if one thread comes there for the first time just when another one gets its subscriber.
pub fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_global_default(Nobody).unwrap());
}

/// Listens to nothing, and may change its mind at any time.
struct Nobody;

impl Subscriber for Nobody {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
