//! What has to be so, for a run to have passed.
//!
//! 1. Every account is exact: what was accepted has run, or a loop has said that it would not. See [`ledger`].
//! 2. There are as many descriptors and threads after the run as before. The system may need a moment to
//!    take a thread that has ended off its list.
//! 3. When everything has ended, the heap is what it was before, give or take [`REMAINDER`], for what the standard library
//!    and the samples keep.
//! 4. While it runs, memory is flat: the first quarter is for warming up; the median of the last quarter is not above the
//!    median of the second one by more than a bound. Medians do not mind a burst. For the heap, whose use is
//!    counted, the bound is tight; for what is resident it allows for what the system's allocator keeps.
//!    A run with fewer than [`ENOUGH`] samples is too short for that.

use crate::ledger;
use crate::sample::{Belongings, Sample};

/// Bytes of the heap that may be left.
const REMAINDER: i64 = 128 << 10;
/// Samples that are needed to speak of quarters.
const ENOUGH: usize = 40;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// By how much something may grow: an amount, or a share if that is more.
struct Bound {
    bytes: f64,
    share: f64,
}

const HEAP: Bound = Bound { bytes: 2.0 * MEBIBYTE, share: 0.02 };
const RESIDENT: Bound = Bound { bytes: 8.0 * MEBIBYTE, share: 0.05 };

/// What was found.
pub(crate) struct Verdict {
    /// What is wrong; if nothing is, the run has passed.
    pub(crate) faults: Vec<String>,
    /// What was looked at.
    pub(crate) findings: Vec<String>,
}

impl Verdict {
    pub(crate) fn passed(&self) -> bool {
        self.faults.is_empty()
    }
}

pub(crate) fn judge(
    mut faults: Vec<String>,
    before: Belongings,
    after: Belongings,
    samples: &[Sample],
) -> Verdict {
    let mut findings = Vec::new();
    faults.extend(ledger::ALL.iter().filter_map(|account| account.fault()));
    let counts = [
        ("descriptors", before.descriptors as u64, after.descriptors as u64),
        ("threads", before.threads, after.threads),
    ];
    for (what, before, after) in counts {
        findings.push(format!("{what}: {before} before, {after} after"));
        if before != after {
            faults.push(format!("{what}: {before} before the run, {after} after it"));
        }
    }
    let left = after.heap - before.heap;
    findings.push(format!("heap: {left} bytes more after than before, {REMAINDER} may be"));
    if left > REMAINDER {
        faults.push(format!("heap: {left} bytes are left, more than {REMAINDER}"));
    }
    let heap: Vec<_> = samples.iter().map(|sample| sample.belongings.heap as f64).collect();
    let resident: Vec<_> =
        samples.iter().map(|sample| sample.belongings.resident as f64 * 1024.0).collect();
    for (what, series, bound) in
        [("heap in use", heap, HEAP), ("resident memory", resident, RESIDENT)]
    {
        match growth(&series, &bound) {
            None => findings.push(format!("{what}: too few samples to speak of a trend")),
            Some((finding, is_flat)) => {
                let finding = format!("{what}: {finding}");
                if !is_flat {
                    faults.push(finding.clone());
                }
                findings.push(finding);
            }
        }
    }
    Verdict { faults, findings }
}

/// What the second and the last quarter say, and whether that is flat. None if there are too few samples.
fn growth(series: &[f64], bound: &Bound) -> Option<(String, bool)> {
    if series.len() < ENOUGH {
        return None;
    }
    let quarter = series.len() / 4;
    let early = median(&series[quarter..2 * quarter]);
    let late = median(&series[series.len() - quarter..]);
    let limit = bound.bytes.max(early * bound.share);
    let (early, grown, limit) = (early / MEBIBYTE, (late - early) / MEBIBYTE, limit / MEBIBYTE);
    let finding = format!(
        "{early:.1} MiB in the second quarter, {grown:+.1} MiB in the last; {limit:.1} may be"
    );
    Some((finding, grown <= limit))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_flat(series: impl Fn(usize) -> f64) -> bool {
        let series: Vec<_> = (0..400).map(|n| series(n) * MEBIBYTE).collect();
        growth(&series, &RESIDENT).unwrap().1
    }

    #[test]
    fn memory_that_stays_is_flat_whatever_it_does_meanwhile() {
        assert!(is_flat(|_| 100.0));
        assert!(is_flat(|n| 100.0 + (n % 7) as f64), "noise");
        assert!(is_flat(|n| if n.is_multiple_of(3) { 500.0 } else { 100.0 }), "bursts");
        assert!(is_flat(|n| 100.0 - 50.0 / (1 + n) as f64), "warming up");
        assert!(is_flat(|n| 200.0 - n as f64 / 10.0), "it may shrink");
    }

    #[test]
    fn memory_that_grows_is_not_flat() {
        assert!(!is_flat(|n| 100.0 + n as f64 / 10.0), "a leak");
        assert!(!is_flat(|n| if n < 200 { 100.0 } else { 120.0 }), "a step");
        assert!(!is_flat(|n| 20.0 + n as f64 / 20.0), "a small one");
    }

    #[test]
    fn a_short_run_says_nothing_about_a_trend() {
        assert!(growth(&[100.0; ENOUGH - 1], &HEAP).is_none());
        assert!(growth(&[100.0; ENOUGH], &HEAP).is_some());
    }

    #[test]
    fn what_is_left_is_a_fault() {
        let before = Belongings { resident: 1000, heap: 1000, descriptors: 4, threads: 2 };
        let faults = |after| judge(Vec::new(), before, after, &[]).faults;
        let count = |after, what: &str| {
            faults(after).iter().filter(|fault| fault.starts_with(what)).count()
        };
        for (what, after) in [
            ("descriptors", Belongings { descriptors: 5, ..before }),
            ("threads", Belongings { threads: 3, ..before }),
            ("heap", Belongings { heap: 1001 + REMAINDER, ..before }),
        ] {
            assert_eq!(count(before, what), 0);
            assert_eq!(count(after, what), 1, "{what}");
        }
    }
}
