//! A page for people who look at the pictures: the summary as a table, then all of them.

use std::fmt::Write;

use crate::document::Document;
use crate::header;
use crate::report::figure;
use crate::summary::{self, Beside, Line, Place, lines};

/// In Markdown. `names` are those of the pictures, without what the files end with.
pub fn page(document: &Document, names: &[String]) -> String {
    let mut page = "# Side by side\n\nWritten by `bench/run --svg`, as the pictures are; \
                    [bench/](../../bench/README.md) says what is measured, and by which rules.\n"
        .to_owned();
    for (run, suites) in runs(document) {
        let _ = write!(page, "\n* {}: {run}", suites.join(", "));
    }
    let _ = write!(
        page,
        "\n\nCompared were, in the last of these runs: {}.",
        header::peers(&document.header)
    );
    page += "\n\nRatios are of costs, of a rate of its reciprocal: below 1 mainspring is better. The floor is the least code \
             that does the job, and not a peer.\n\n";
    page += "| workload | metric | mainspring | of the floor | of the best peer | which is | place |\n\
             |---|---|---:|---:|---:|---|---|\n";
    let lines = lines(document);
    for line in &lines {
        let ratio = |beside: &Option<Beside>| {
            beside.as_ref().and_then(|beside| beside.ratio).map(|ratio| format!("{ratio:.2}"))
        };
        let bold = |text: String, is_good: Option<bool>| match is_good {
            Some(true) if !text.is_empty() => format!("**{text}**"),
            _ => text,
        };
        let Line { workload, metric, median, .. } = line;
        let is_ahead = line.place().map(|place| place != Place::Behind);
        let _ = writeln!(
            page,
            "| {}: {} | {} | {} | {} | {} | {} | {} |",
            workload.suite,
            workload.title,
            metric.name,
            figure(*median),
            bold(ratio(&line.floor).unwrap_or_default(), line.floor.as_ref().and(line.near())),
            bold(ratio(&line.best).unwrap_or_default(), line.best.as_ref().and(is_ahead)),
            line.best.as_ref().map_or("", |best| best.peer),
            line.place().map_or("", Place::word),
        );
    }
    let near =
        summary::near(&lines).map_or(String::new(), |near| format!("; {near} that have one"));
    let _ = write!(page, "\n{}{near}. Both are bold.", summary::places(&lines));
    page += " *Level*: another peer has the better median, and each median is among the other's samples. \
             A peer that needs less CPU time because it is later, or is less late for more CPU time, is not the best one there.\n";
    for name in names {
        let _ = write!(page, "\n![{}]({name}.svg)\n", name.replace('-', " "));
    }
    page
}

/// When, where and how often something was measured, with the suites that it is true of.
fn runs(document: &Document) -> Vec<(String, Vec<&str>)> {
    let mut runs: Vec<(String, Vec<&str>)> = Vec::new();
    for workload in &document.workloads {
        let (run, suite) = (workload.circumstances(), workload.suite.as_str());
        let at = runs.iter().position(|(known, _)| *known == run).unwrap_or_else(|| {
            runs.push((run, Vec::new()));
            runs.len() - 1
        });
        if !runs[at].1.contains(&suite) {
            runs[at].1.push(suite);
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::runs;
    use crate::document::tests::{document, workload};

    #[test]
    fn each_run_is_listed_once_with_its_suites() {
        let mut workloads: Vec<_> =
            ["one", "two", "three", "four"].map(|title| workload(title, "ns", &[])).into();
        workloads[1].suite = "another".to_owned();
        workloads[2].date = "2026-01-02 00:00 UTC".to_owned();
        let document = document(workloads);
        let runs: Vec<_> = runs(&document).into_iter().map(|(_, suites)| suites).collect();
        assert_eq!(runs, [vec!["a suite", "another"], vec!["a suite"]]);
    }
}
