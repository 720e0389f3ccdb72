//! What is printed and written: the table, and the same for programs.

use std::fmt::Write as _;

use crate::ledger::{self, Account, Figures};
use crate::sample::{Belongings, Sample};
use crate::verdict::Verdict;

/// One line about a moment.
pub(crate) fn line(sample: &Sample, whole: u64) -> String {
    let Belongings { resident, heap, descriptors, threads } = sample.belongings;
    let (time, loops) = (sample.time.as_secs(), sample.loops);
    format!(
        "{time:5} of {whole} s  {:>9} tasks/s  {:>4} MiB resident  {:>4} MiB heap  {descriptors:>5} descriptors  \
         {threads:>3} threads  {:>7} timers  {} refused",
        thousands(sample.rate as u64),
        resident >> 10,
        heap >> 20,
        thousands(loops.timers),
        thousands(loops.refusals),
    )
}

/// The accounts.
pub(crate) fn table() -> String {
    let mut text = format!(
        "{:<27}{:>16}{:>16}{:>14}{:>14}{:>14}\n",
        "", "given", "run", "not run", "as was said", "again later"
    );
    for account in ledger::ALL {
        let Figures { issued, executed, dropped, told, refused } = account.figures();
        let [issued, executed, dropped, told, refused] =
            [issued, executed, dropped, told, refused].map(thousands);
        let name = account.name;
        let _ = writeln!(
            text,
            "{name:<27}{issued:>16}{executed:>16}{dropped:>14}{told:>14}{refused:>14}"
        );
    }
    text
}

/// The verdict.
pub(crate) fn conclusion(verdict: &Verdict) -> String {
    let mut text = String::new();
    for finding in &verdict.findings {
        let _ = writeln!(text, "  {finding}");
    }
    if verdict.passed() {
        text += "PASSED: accepted equals executed, nothing is left behind\n";
    } else {
        text += "FAILED\n";
        for fault in &verdict.faults {
            let _ = writeln!(text, "  {fault}");
        }
    }
    text
}

/// Everything, as JSON.
pub(crate) fn json(
    samples: &[Sample],
    before: Belongings,
    after: Belongings,
    verdict: &Verdict,
) -> String {
    let list = |items: Vec<String>| format!("[\n    {}\n  ]", items.join(",\n    "));
    format!(
        "{{\n  \"passed\": {},\n  \"faults\": {},\n  \"findings\": {},\n  \"before\": {},\n  \"after\": {},\n  \
         \"accounts\": {},\n  \"samples\": {}\n}}\n",
        verdict.passed(),
        list(verdict.faults.iter().map(|text| quoted(text)).collect()),
        list(verdict.findings.iter().map(|text| quoted(text)).collect()),
        belongings(before),
        belongings(after),
        list(ledger::ALL.into_iter().map(account).collect()),
        list(samples.iter().map(sample).collect()),
    )
}

fn account(account: &Account) -> String {
    let Figures { issued, executed, dropped, told, refused } = account.figures();
    format!(
        "{{\"name\": {}, \"given\": {issued}, \"run\": {executed}, \"dropped\": {dropped}, \"told\": {told}, \
         \"refused\": {refused}}}",
        quoted(account.name)
    )
}

fn belongings(belongings: Belongings) -> String {
    let Belongings { resident, heap, descriptors, threads } = belongings;
    format!(
        "{{\"resident_kib\": {resident}, \"heap_bytes\": {heap}, \"descriptors\": {descriptors}, \"threads\": {threads}}}"
    )
}

fn sample(sample: &Sample) -> String {
    let loops = sample.loops;
    format!(
        "{{\"seconds\": {:.3}, \"process\": {}, \"executed\": {}, \"per_second\": {:.0}, \"ticks\": {}, \
         \"callbacks\": {}, \"timers\": {}, \"registered\": {}, \"futures\": {}, \"jobs\": {}, \"refusals\": {}, \
         \"wakes\": {}, \"wakes_elided\": {}}}",
        sample.time.as_secs_f64(),
        belongings(sample.belongings),
        sample.executed,
        sample.rate,
        loops.ticks,
        loops.callbacks,
        loops.timers,
        loops.registered,
        loops.futures,
        loops.jobs,
        loops.refusals,
        loops.wakes,
        loops.elided,
    )
}

/// Our texts have neither control characters nor anything else that is rare.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// With commas.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
