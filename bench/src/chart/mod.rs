//! Pictures of what was measured, as SVG: a bar chart for each metric that matters most, an overview of all,
//! and curves where the population grows; and a page that shows them.

mod bars;
mod canvas;
mod curves;
mod overview;
mod page;
mod scale;
mod words;

use std::collections::HashMap;
use std::io;
use std::path::Path;

use crate::document::Document;

/// Writes all charts into a directory, which is made if it is not there.
pub fn write_all(document: &Document, directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut names = Vec::new();
    for (name, picture) in draw_all(document) {
        std::fs::write(directory.join(format!("{name}.svg")), picture)?;
        names.push(name);
    }
    std::fs::write(directory.join("README.md"), page::page(document, &names))
}

/// The names of files, without what they end with, and what is in them.
fn draw_all(document: &Document) -> Vec<(String, String)> {
    let overview = overview::draw(document).map(|picture| ("overview".to_owned(), picture));
    let growth = curves::draw(document).map(|picture| ("growth".to_owned(), picture));
    let mut pictures: Vec<_> = overview.into_iter().chain(growth).collect();
    let mut names: HashMap<String, usize> = HashMap::new();
    for workload in &document.workloads {
        for metric in workload.headlines() {
            let Some(picture) = bars::draw(workload, metric) else { continue };
            let name = words::file_name(&workload.suite, &workload.title, &metric.name);
            // Two that are the same but for what a name leaves out.
            let count = names.entry(name.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { name } else { format!("{name}-{count}") };
            pictures.push((name, picture));
        }
    }
    pictures
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::document::tests::{document, workload};
    use crate::document::{Metric, Workload};

    /// A population from `peers` on, each with its cost.
    fn growing(peers: &[(&str, f64)]) -> Workload {
        let mut growing = workload("timers: <insert>", "1000", peers);
        growing.growth = Some("ns per timer".to_owned());
        growing.headlines.clear();
        let more: Vec<_> = peers.iter().map(|&(peer, cost)| (peer, cost * 1.5)).collect();
        let metric = workload("", "3162", &more).metrics.remove(0);
        growing.metrics.push(Metric { ..metric });
        growing
    }

    fn pictures() -> Vec<(String, String)> {
        let peers = [("floor", 20.0), ("mainspring", 30.0), ("tokio & co", 40.0), ("libuv", -1.0)];
        draw_all(&document(vec![
            workload("1,000 timers: \"set\" < cancel", "insert, ns per timer", &peers),
            workload("1,000 timers: \"set\" > cancel", "insert, ns per timer", &peers[..3]),
            workload("far apart", "requests per second", &[("mainspring", 1e6), ("Node", 1.0)]),
            growing(&peers[..3]),
        ]))
    }

    #[test]
    fn each_picture_has_a_name_of_its_own() {
        let names: Vec<_> = pictures().into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "overview",
                "growth",
                "a-suite-1000-timers-set-cancel-insert",
                "a-suite-1000-timers-set-cancel-insert-2",
                "a-suite-far-apart-requests-per-second",
            ]
        );
    }

    #[test]
    fn pictures_are_well_formed() {
        for (name, picture) in pictures() {
            well_formed(&picture).unwrap_or_else(|why| panic!("{name}: {why}\n{picture}"));
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{name}\n{picture}");
        }
    }

    /// What a parser says, where there is one.
    #[test]
    fn an_xml_parser_reads_the_pictures() {
        for (name, picture) in pictures() {
            let script = "import sys, xml.dom.minidom as d; d.parseString(sys.argv[1])";
            let Ok(status) = Command::new("python3")
                .args(["-c", script, &picture])
                .stderr(Stdio::null())
                .status()
            else {
                return;
            };
            assert!(status.success(), "{name}\n{picture}");
        }
    }

    #[test]
    fn a_logarithmic_axis_is_only_for_what_is_far_apart() {
        let pictures = pictures();
        let is_logarithmic = |index: usize| pictures[index].1.contains("logarithmic");
        assert!(!is_logarithmic(3));
        assert!(is_logarithmic(4));
    }

    /// Every element that is opened is closed, and there are no stray signs in texts.
    fn well_formed(picture: &str) -> Result<(), String> {
        let mut open = Vec::new();
        let mut rest = picture;
        while let Some((text, tag)) = rest.split_once('<') {
            if text.contains('>')
                || text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").contains('&')
            {
                return Err(format!("a stray sign in {text}"));
            }
            let (tag, after) = tag.split_once('>').ok_or("an element that does not end")?;
            rest = after;
            if tag.matches('"').count() % 2 == 1 {
                return Err(format!("a quote in {tag}"));
            }
            if let Some(name) = tag.strip_prefix('/') {
                if open.pop() != Some(name) {
                    return Err(format!("{name} is not what was opened"));
                }
            } else if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().unwrap_or(""));
            }
        }
        if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are open")) }
    }
}
