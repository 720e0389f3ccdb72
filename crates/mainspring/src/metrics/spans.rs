//! Spans of `tracing` for ticks and phases.

use std::cell::RefCell;

use tracing::span::EnteredSpan;
use tracing::trace_span;

use crate::Phase;

/// Those that are open: that of the tick, and that of a phase in it.
#[derive(Default)]
pub(super) struct Spans {
    tick: RefCell<Option<EnteredSpan>>,
    phase: RefCell<Option<EnteredSpan>>,
}

impl Spans {
    pub(super) fn tick_begins(&self, number: u64) {
        self.tick_ends();
        self.tick.replace(Some(trace_span!(target: "mainspring", "tick", number).entered()));
    }

    pub(super) fn tick_ends(&self) {
        self.phase_ends();
        let span = self.tick.take();
        drop(span);
    }

    pub(super) fn phase_begins(&self, phase: Phase) {
        self.phase_ends();
        let span = trace_span!(target: "mainspring", "phase", name = %phase);
        self.phase.replace(Some(span.entered()));
    }

    pub(super) fn phase_ends(&self) {
        let span = self.phase.take();
        drop(span);
    }
}
