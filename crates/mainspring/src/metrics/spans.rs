//! Spans of `tracing` for ticks and phases.

use std::cell::RefCell;

use tracing::span::EnteredSpan;
use tracing::trace_span;

use crate::Phase;
use crate::fault::log_isolated;

/// Those that are open: that of the tick, and that of a phase in it.
#[derive(Default)]
pub(super) struct Spans {
    tick: RefCell<Option<EnteredSpan>>,
    phase: RefCell<Option<EnteredSpan>>,
}

/// Opens and closes them. Whoever receives that is code of the user, and a panic of it does not get further than this.
impl Spans {
    pub(super) fn tick_begins(&self, number: u64) {
        self.tick_ends();
        log_isolated(|| {
            let span = trace_span!(target: "mainspring", "tick", number).entered();
            self.tick.replace(Some(span));
        });
    }

    pub(super) fn tick_ends(&self) {
        self.phase_ends();
        let span = self.tick.take();
        log_isolated(|| drop(span));
    }

    pub(super) fn is_in_phase(&self) -> bool {
        self.phase.borrow().is_some()
    }

    pub(super) fn phase_begins(&self, phase: Phase) {
        self.phase_ends();
        log_isolated(|| {
            let span = trace_span!(target: "mainspring", "phase", name = %phase).entered();
            self.phase.replace(Some(span));
        });
    }

    pub(super) fn phase_ends(&self) {
        let span = self.phase.take();
        log_isolated(|| drop(span));
    }
}
