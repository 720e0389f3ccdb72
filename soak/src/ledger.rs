//! What the loops were given, and what became of it.
//!
//! Each piece of work holds a [`Ticket`] of its kind's [`Account`]. A ticket ends in one of two ways: the work runs, or
//! it is dropped. What is neither is lost. A ticket that is dropped must be one of which a loop has said so: a timer whose
//! clearing was answered with true, a task that was handed back. Where the end of a loop is forced, it need not say.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What has to be so when all is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// All of it ran, but for what the loop said would not.
    Exact,
    /// All of it ran or was dropped.
    Forced,
}

/// All work of a kind.
pub(crate) struct Account {
    pub(crate) name: &'static str,
    rule: Rule,
    issued: AtomicU64,
    executed: AtomicU64,
    dropped: AtomicU64,
    told: AtomicU64,
    refused: AtomicU64,
}

/// The figures of an account at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Given to a loop.
    pub(crate) issued: u64,
    /// Run.
    pub(crate) executed: u64,
    /// Dropped without being run.
    pub(crate) dropped: u64,
    /// Of which a loop has said that it would not run.
    pub(crate) told: u64,
    /// Handed back because of load, and given once more.
    pub(crate) refused: u64,
}

impl Account {
    const fn new(name: &'static str, rule: Rule) -> Self {
        Self {
            name,
            rule,
            issued: AtomicU64::new(0),
            executed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            told: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// A ticket for one more piece of work.
    pub(crate) fn issue(&'static self) -> Ticket {
        self.note_issued();
        Ticket(self)
    }

    /// For work that cannot hold a ticket.
    pub(crate) fn note_issued(&self) {
        self.issued.fetch_add(1, Relaxed);
    }

    /// For work that cannot hold a ticket.
    pub(crate) fn note_executed(&self) {
        self.executed.fetch_add(1, Relaxed);
    }

    /// A loop said that one of them will not run.
    pub(crate) fn note_told(&self) {
        self.told.fetch_add(1, Relaxed);
    }

    /// One was handed back because of load.
    pub(crate) fn note_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub(crate) fn figures(&self) -> Figures {
        Figures {
            issued: self.issued.load(Relaxed),
            executed: self.executed.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            told: self.told.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }

    /// What is wrong with it, when all is over.
    pub(crate) fn fault(&self) -> Option<String> {
        fault(self.rule, self.figures()).map(|fault| format!("{}: {fault}", self.name))
    }
}

fn fault(rule: Rule, figures: Figures) -> Option<String> {
    let Figures { issued, executed, dropped, told, .. } = figures;
    if issued == 0 {
        return Some("there were none, which proves nothing".into());
    }
    if executed + dropped < issued {
        let lost = issued - executed - dropped;
        return Some(format!("{lost} of {issued} were lost: neither run nor dropped"));
    }
    if executed + dropped > issued {
        return Some(format!("{issued} were given, and {} came of them", executed + dropped));
    }
    let is_honest = match rule {
        Rule::Exact => dropped == told,
        Rule::Forced => dropped >= told,
    };
    let lie = || format!("{dropped} were dropped, and the loop spoke of {told}");
    (!is_honest).then(lie)
}

/// Of one piece of work. Dropped, it counts as dropped.
#[must_use]
pub(crate) struct Ticket(&'static Account);

impl Ticket {
    /// The work runs.
    pub(crate) fn run(self) {
        self.0.note_executed();
        std::mem::forget(self);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Relaxed);
    }
}

pub(crate) static EXTERNAL: Account = Account::new("external tasks", Rule::Exact);
pub(crate) static INTERNAL: Account = Account::new("internal tasks", Rule::Exact);
pub(crate) static MICROTASKS: Account = Account::new("microtasks, next ticks", Rule::Exact);
pub(crate) static IMMEDIATES: Account = Account::new("immediates", Rule::Exact);
pub(crate) static TIMEOUTS: Account = Account::new("timers", Rule::Exact);
pub(crate) static REMOTE_TIMEOUTS: Account = Account::new("timers of other threads", Rule::Exact);
pub(crate) static INTERVALS: Account = Account::new("intervals", Rule::Exact);
pub(crate) static PROMISES: Account = Account::new("promise handlers", Rule::Exact);
pub(crate) static COMBINATORS: Account = Account::new("combinators", Rule::Exact);
pub(crate) static REJECTIONS: Account = Account::new("unhandled rejections", Rule::Exact);
pub(crate) static PANICS: Account = Account::new("panics", Rule::Exact);
pub(crate) static ABORTS: Account = Account::new("abort listeners", Rule::Exact);
pub(crate) static FUTURES: Account = Account::new("futures", Rule::Exact);
pub(crate) static OUTCOMES: Account = Account::new("outcomes of blocking work", Rule::Exact);
pub(crate) static BLOCKING: Account = Account::new("blocking functions", Rule::Forced);
pub(crate) static WATCHED: Account = Account::new("echoes by watchers", Rule::Exact);
pub(crate) static AWAITED: Account = Account::new("echoes by futures", Rule::Exact);
pub(crate) static CONNECTIONS: Account = Account::new("connections", Rule::Exact);
pub(crate) static LOOPS: Account = Account::new("loops", Rule::Exact);
pub(crate) static GRACEFUL: Account = Account::new("tasks, graceful ends", Rule::Exact);
pub(crate) static FORCED: Account = Account::new("tasks, forced ends", Rule::Forced);
pub(crate) static LEFTOVERS: Account = Account::new("timers, jobs at ends", Rule::Forced);

pub(crate) static ALL: [&Account; 22] = [
    &EXTERNAL,
    &INTERNAL,
    &MICROTASKS,
    &IMMEDIATES,
    &TIMEOUTS,
    &REMOTE_TIMEOUTS,
    &INTERVALS,
    &PROMISES,
    &COMBINATORS,
    &REJECTIONS,
    &PANICS,
    &ABORTS,
    &FUTURES,
    &OUTCOMES,
    &BLOCKING,
    &WATCHED,
    &AWAITED,
    &CONNECTIONS,
    &LOOPS,
    &GRACEFUL,
    &FORCED,
    &LEFTOVERS,
];

/// What was run so far, all kinds together.
pub(crate) fn executed() -> u64 {
    ALL.iter().map(|account| account.figures().executed).sum()
}

/// What has neither run nor been dropped so far.
pub(crate) fn outstanding() -> u64 {
    let open = |account: &&Account| {
        let Figures { issued, executed, dropped, .. } = account.figures();
        issued.saturating_sub(executed + dropped)
    };
    ALL.iter().map(open).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(issued: u64, executed: u64, dropped: u64, told: u64) -> Figures {
        Figures { issued, executed, dropped, told, refused: 0 }
    }

    // spec: F-33
    #[test]
    fn what_was_accepted_has_run_or_the_loop_has_said_that_it_would_not() {
        assert_eq!(fault(Rule::Exact, figures(10, 10, 0, 0)), None);
        assert_eq!(fault(Rule::Exact, figures(10, 7, 3, 3)), None);
        assert_eq!(fault(Rule::Forced, figures(10, 7, 3, 1)), None);
        let lost = fault(Rule::Forced, figures(10, 9, 0, 0)).unwrap();
        assert!(lost.starts_with("1 of 10 were lost"), "{lost}");
        assert!(fault(Rule::Exact, figures(10, 9, 1, 0)).is_some(), "dropped in silence");
        assert!(fault(Rule::Exact, figures(10, 10, 0, 1)).is_some(), "it ran all the same");
        assert!(fault(Rule::Exact, figures(10, 11, 0, 0)).is_some(), "one ran twice");
        assert!(fault(Rule::Exact, figures(0, 0, 0, 0)).is_some(), "nothing happened");
    }

    #[test]
    fn a_ticket_ends_in_one_way() {
        static ACCOUNT: Account = Account::new("tickets", Rule::Exact);
        ACCOUNT.issue().run();
        drop(ACCOUNT.issue());
        std::mem::forget(ACCOUNT.issue());
        assert_eq!(ACCOUNT.figures(), figures(3, 1, 1, 0));
    }
}
