//! All suites, and running some of them.

use std::path::Path;
use std::thread;

use crate::document::Document;
use crate::table::{Table, progress};
use crate::{echo, futures, growth, http, js, promises, report, suite, tasks};

pub struct Suite {
    pub name: String,
    run: Box<dyn Fn(usize, bool) -> Vec<Table> + Send + Sync>,
    /// The program that it cannot do without.
    needs: Option<&'static str>,
    /// The metrics that matter most; of a table that has none of them, it is the first one.
    headlines: &'static [&'static str],
    /// Pairs of metrics of which one is had for the other.
    traded: &'static [[&'static str; 2]],
}

impl Suite {
    fn new(
        name: &str,
        run: impl Fn(usize, bool) -> Vec<Table> + Send + Sync + 'static,
        headlines: &'static [&'static str],
    ) -> Self {
        Self { name: name.to_owned(), run: Box::new(run), needs: None, headlines, traded: &[] }
    }

    fn needs(self, program: &'static str) -> Self {
        Self { needs: Some(program), ..self }
    }

    fn traded(self, traded: &'static [[&'static str; 2]]) -> Self {
        Self { traded, ..self }
    }

    pub fn echo(load: echo::Load) -> Self {
        Self::new(
            "echo",
            move |repetitions, quick| echo::echo(repetitions, quick, &load),
            &["requests per second", "server's CPU time, µs per request"],
        )
    }
}

/// In the order in which they run.
pub fn all() -> Vec<Suite> {
    vec![
        Suite::new(
            "timers",
            suite::timers,
            &[
                "insert, ns per timer",
                "cancel, ns per timer",
                "CPU time, µs per timer",
                "late, p99, µs",
                "resident, bytes per timer",
            ],
        )
        .traded(&[["CPU time, µs per timer", "late, p99, µs"]]),
        Suite::echo(echo::Load::default()),
        Suite::new("promises", promises::promises, &[]),
        Suite::new("futures", futures::futures, &[])
            .traded(&[["CPU time, ns per future", "late, 99th percentile, µs"]]),
        Suite::new("tasks", tasks::tasks, &[]),
        Suite::new(
            "http",
            http::http,
            &[
                "requests per second",
                "latency, 99th percentile, µs",
                "server's CPU time, µs per request",
            ],
        )
        .needs("wrk"),
        Suite::new(
            "js",
            js::js,
            &["until the first line, ms", "resident while it waits, MB", "requests per second"],
        )
        .needs("node"),
        Suite::new("growth", growth::growth, &[]),
    ]
}

/// Those with these names, or the name that there is not.
pub fn named(names: &[String]) -> Result<Vec<Suite>, String> {
    let mut all = all();
    if let Some(name) = names.iter().find(|name| !all.iter().any(|suite| suite.name == **name)) {
        let known: Vec<_> = all.iter().map(|suite| suite.name.as_str()).collect();
        return Err(format!("there is no suite {name}, but {}", known.join(", ")));
    }
    all.retain(|suite| names.is_empty() || names.contains(&suite.name));
    Ok(all)
}

/// Runs them one after the other, and shows what each has measured when it has ended, which is when
/// `keep` may write it down. Returns what went wrong: a suite that fails, or cannot run, does not keep the next
/// one from running.
pub fn run(
    suites: &[Suite],
    quick: bool,
    document: &mut Document,
    mut keep: impl FnMut(&Document) -> std::io::Result<()>,
) -> std::io::Result<Vec<String>> {
    let repetitions = document.header["repetitions"].as_u64().unwrap_or(1) as usize;
    let mut problems = Vec::new();
    let mut aims = Vec::new();
    for (index, suite) in suites.iter().enumerate() {
        progress(&format!("suite {} of {}: {}", index + 1, suites.len(), suite.name));
        if let Some(program) = suite.needs.filter(|program| !is_installed(program)) {
            progress("");
            problems.push(format!("{} was skipped: there is no `{program}`", suite.name));
            eprintln!("{}", problems[problems.len() - 1]);
            continue;
        }
        // A thread of its own, because suites pin the one that they run on.
        let ran = thread::scope(|scope| scope.spawn(|| (suite.run)(repetitions, quick)).join());
        progress("");
        let Ok(tables) = ran else {
            problems.push(format!("{} failed", suite.name));
            continue;
        };
        report::print(&tables);
        document.add(&suite.name, suite.headlines, suite.traded, &tables);
        growth::print(document, &suite.name);
        keep(document)?;
        aims.extend(tables.into_iter().filter(|table| !table.aims.is_empty()));
    }
    report::print_aims(&aims);
    Ok(problems)
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| Path::new(&directory).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Result<Vec<String>, String> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        named(&names).map(|suites| suites.into_iter().map(|suite| suite.name).collect())
    }

    #[test]
    fn suites_are_found_by_their_names() {
        assert_eq!(names(&["http", "echo"]).unwrap(), ["echo", "http"]);
        assert_eq!(names(&[]).unwrap().len(), all().len());
        assert!(names(&["timers", "nothing"]).unwrap_err().contains("no suite nothing"));
    }

    #[test]
    fn a_suite_that_fails_or_cannot_run_does_not_end_the_others() {
        let table = || vec![Table::new("a table".to_owned(), vec!["mainspring"], "mainspring")];
        let suites = [
            Suite::new("bad", |_, _| panic!("it is meant to"), &[]),
            Suite::new("lacking", move |_, _| table(), &[]).needs("no-such-program"),
            Suite::new("good", move |_, _| table(), &[]),
        ];
        let mut document = Document::new(crate::header::header(1));
        let problems = run(&suites, true, &mut document, |_| Ok(())).unwrap();
        assert_eq!(problems, ["bad failed", "lacking was skipped: there is no `no-such-program`"]);
        assert_eq!(document.workloads.len(), 1);
    }
}
