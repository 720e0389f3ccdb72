//! A page for people who look at the pictures: the summary as a table, then all of them.

use std::fmt::Write;

use crate::document::Document;
use crate::report::figure;
use crate::summary::{Beside, Line, lines};

/// In Markdown. `names` are those of the pictures, without what the files end with.
pub fn page(document: &Document, names: &[String]) -> String {
    let mut page = "# Side by side\n\nWritten by `bench/run --svg`, as the pictures are; \
                    [bench/](../../bench/README.md) says what is measured, and by which rules.\n"
        .to_owned();
    let mut runs: Vec<_> = document.workloads.iter().map(|run| run.circumstances()).collect();
    runs.dedup();
    for run in runs {
        let _ = write!(page, "\n* {run}");
    }
    page += "\n\nRatios are of costs, of a rate of its reciprocal: below 1 mainspring is better. The floor is the least code \
             that does the job, and not a peer.\n\n";
    page += "| workload | metric | mainspring | of the floor | of the best peer | which is |\n\
             |---|---|---:|---:|---:|---|\n";
    for line in lines(document) {
        let ratio = |beside: &Option<Beside>| {
            beside.as_ref().and_then(|beside| beside.ratio).map(|ratio| format!("{ratio:.2}"))
        };
        let bold = |text: String, is_good: Option<bool>| match is_good {
            Some(true) if !text.is_empty() => format!("**{text}**"),
            _ => text,
        };
        let Line { workload, metric, median, .. } = &line;
        let _ = writeln!(
            page,
            "| {}: {} | {} | {} | {} | {} | {} |",
            workload.suite,
            workload.title,
            metric.name,
            figure(*median),
            bold(ratio(&line.floor).unwrap_or_default(), line.floor.as_ref().and(line.near())),
            bold(ratio(&line.best).unwrap_or_default(), line.best.as_ref().and(line.first())),
            line.best.as_ref().map_or("", |best| best.peer),
        );
    }
    page += "\nBold: at most 1.3 times the floor; first among the peers.\n";
    for name in names {
        let _ = write!(page, "\n![{}]({name}.svg)\n", name.replace('-', " "));
    }
    page
}
