//! Whether a callback runs for too long, as looks at a number tell.

use std::time::Duration;

/// How often it is looked during the threshold.
const LOOKS: i64 = 4;

/// The shortest and the longest time between two looks, in nanoseconds.
const SHORTEST: i64 = 100_000;
const LONGEST: i64 = 1_000_000_000;

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Fine,
    /// The callback that was first seen then has run for too long.
    Stalled { since: i64 },
    /// And it still does.
    StillStalled { since: i64 },
    /// It has come to its end since the look before.
    Over { since: i64 },
}

/// The callback that was seen last.
#[derive(Clone, Copy, Debug)]
struct Seen {
    beat: u64,
    since: i64,
    is_reported: bool,
}

/// See the [module documentation](self). Times are in nanoseconds.
#[derive(Debug)]
pub(super) struct Watch {
    threshold: i64,
    seen: Option<Seen>,
}

impl Watch {
    pub(super) fn new(threshold: Duration) -> Self {
        let threshold = crate::clock::nanoseconds(threshold).unwrap_or(i64::MAX);
        Self { threshold, seen: None }
    }

    /// Looks at the number of the callback that runs. None if the loop is not busy.
    pub(super) fn look(&mut self, now: i64, beat: Option<u64>) -> Verdict {
        let before = self.seen;
        if let (Some(seen), Some(beat)) = (&mut self.seen, beat)
            && seen.beat == beat
        {
            let since = seen.since;
            return if seen.is_reported {
                Verdict::StillStalled { since }
            } else if now.saturating_sub(since) >= self.threshold {
                seen.is_reported = true;
                Verdict::Stalled { since }
            } else {
                Verdict::Fine
            };
        }
        self.seen = beat.map(|beat| Seen { beat, since: now, is_reported: false });
        match before {
            Some(Seen { since, is_reported: true, .. }) => Verdict::Over { since },
            _ => Verdict::Fine,
        }
    }

    /// When to look again. None if that is when the loop is busy again.
    pub(super) fn next_look(&self, now: i64) -> Option<i64> {
        let seen = self.seen?;
        let soon = now.saturating_add((self.threshold / LOOKS).clamp(SHORTEST, LONGEST));
        let due = seen.since.saturating_add(self.threshold);
        Some(if seen.is_reported || due <= now { soon } else { soon.min(due) })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn watch() -> Watch {
        Watch::new(Duration::from_millis(40))
    }

    // spec: MX-2
    #[test]
    fn a_callback_is_reported_once_it_has_run_for_the_threshold_and_when_it_is_over() {
        let mut watch = watch();
        assert_eq!(watch.look(0, Some(7)), Verdict::Fine);
        assert_eq!(watch.next_look(0), Some(10 * MS));
        assert_eq!(watch.look(35 * MS, Some(7)), Verdict::Fine);
        assert_eq!(watch.next_look(35 * MS), Some(40 * MS), "at the threshold, not after it");
        assert_eq!(watch.look(40 * MS, Some(7)), Verdict::Stalled { since: 0 });
        assert_eq!(watch.look(50 * MS, Some(7)), Verdict::StillStalled { since: 0 });
        assert_eq!(watch.next_look(50 * MS), Some(60 * MS));
        assert_eq!(watch.look(60 * MS, Some(8)), Verdict::Over { since: 0 });
        assert_eq!(watch.look(99 * MS, Some(8)), Verdict::Fine, "the next one has just begun");
        assert_eq!(watch.look(100 * MS, Some(8)), Verdict::Stalled { since: 60 * MS });
    }

    #[test]
    fn callbacks_that_come_and_go_are_fine_however_long_they_take_together() {
        let mut watch = watch();
        for look in 0..1_000 {
            assert_eq!(watch.look(look * 39 * MS, Some(look.unsigned_abs())), Verdict::Fine);
        }
    }

    #[test]
    fn a_loop_that_is_not_busy_does_not_stall_and_is_not_looked_at() {
        let mut watch = watch();
        assert_eq!(watch.look(0, Some(7)), Verdict::Fine);
        assert_eq!(watch.look(39 * MS, None), Verdict::Fine);
        assert_eq!(watch.next_look(39 * MS), None);
        assert_eq!(watch.look(500 * MS, Some(7)), Verdict::Fine, "it began to wait after that one");
        assert_eq!(watch.look(540 * MS, Some(7)), Verdict::Stalled { since: 500 * MS });
        assert_eq!(watch.look(550 * MS, None), Verdict::Over { since: 500 * MS });
        assert_eq!(watch.next_look(550 * MS), None);
    }

    #[test]
    fn the_time_between_two_looks_is_bounded() {
        let mut short = Watch::new(Duration::ZERO);
        short.look(0, Some(1));
        assert_eq!(short.look(0, Some(1)), Verdict::Stalled { since: 0 });
        assert_eq!(short.next_look(0), Some(SHORTEST));
        let mut long = Watch::new(Duration::MAX);
        long.look(0, Some(1));
        assert_eq!(long.next_look(0), Some(LONGEST));
    }
}
