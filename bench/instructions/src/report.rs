//! The table, and what follows from it.

use std::fmt;

use crate::expected::Expected;

/// By how much a count may differ from the one that was recorded. Two runs of the same program differ by a few
/// instructions in a thousand operations; the rest is for changes elsewhere, after which the compiler allots registers,
/// or inlines, in another way.
const TOLERANCE: f64 = 0.02;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    AsExpected,
    More,
    Fewer,
    NotRecorded,
}

struct Row<'a> {
    name: &'a str,
    count: f64,
    expected: Option<f64>,
}

impl Row<'_> {
    fn difference(&self) -> Option<f64> {
        Some(self.count / self.expected? - 1.0)
    }

    fn verdict(&self) -> Verdict {
        match self.difference() {
            None => Verdict::NotRecorded,
            Some(difference) if difference > TOLERANCE => Verdict::More,
            Some(difference) if difference < -TOLERANCE => Verdict::Fewer,
            Some(_) => Verdict::AsExpected,
        }
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<30} {:>10.1}", self.name, self.count)?;
        if let (Some(expected), Some(difference)) = (self.expected, self.difference()) {
            write!(f, " {expected:>10.1} {:>+8.2} %", difference * 100.0)?;
        }
        f.write_str(match self.verdict() {
            Verdict::AsExpected => "",
            Verdict::More => "  TOO MANY",
            Verdict::Fewer => "  fewer",
            Verdict::NotRecorded => "  not recorded",
        })
    }
}

/// Counts beside those that were recorded.
pub struct Report<'a> {
    rows: Vec<Row<'a>>,
    recorded_with: &'a str,
    counted_with: &'a str,
}

impl<'a> Report<'a> {
    pub fn new(expected: &'a Expected, counted_with: &'a str, counts: &[(&'a str, f64)]) -> Self {
        let row = |&(name, count)| Row { name, count, expected: expected.get(name) };
        let rows = counts.iter().map(row).collect();
        Self { rows, recorded_with: &expected.environment, counted_with }
    }

    fn is_comparable(&self) -> bool {
        self.recorded_with == self.counted_with
    }

    fn has(&self, verdict: Verdict) -> bool {
        self.rows.iter().any(|row| row.verdict() == verdict)
    }

    /// Whether no count is too high, as far as that can be told.
    pub fn is_good(&self) -> bool {
        !self.is_comparable() || !(self.has(Verdict::More) || self.has(Verdict::NotRecorded))
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<30} {:>10} {:>10} {:>10}",
            "instructions", "now", "recorded", "difference"
        )?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))?;
        if !self.is_comparable() {
            writeln!(f, "recorded with {}", self.recorded_with)?;
            writeln!(f, "counted with  {}", self.counted_with)?;
            writeln!(f, "so the differences say nothing about the code")?;
        } else if !self.is_good() {
            writeln!(
                f,
                "more than {:.0} % above what was recorded: find out why,",
                TOLERANCE * 100.0
            )?;
            writeln!(f, "or record anew if it is worth it: bench/instructions/run --record")?;
        } else if self.has(Verdict::Fewer) {
            writeln!(
                f,
                "well below what was recorded: bench/instructions/run --record keeps it so"
            )?;
        }
        Ok(())
    }
}
