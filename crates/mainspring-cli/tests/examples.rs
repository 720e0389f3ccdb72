//! The examples print what is written about them.

mod common;

use std::path::{Path, PathBuf};

use common::{command, finish};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The first block of code of that kind.
fn block<'a>(text: &'a str, kind: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// What the command prints, if all is well.
fn output(line: &str) -> String {
    let ran = finish(command(line.split(' ')).current_dir(root()));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}");
    ran.stdout
}

// spec: BX-5
#[test]
fn the_first_command_of_the_front_page_prints_what_is_shown_there() {
    let page = text("README.md");
    let (first, _) = block(&page, "sh").split_once(" #").unwrap();
    let (_, line) = first.trim().split_once(" -- ").unwrap();
    assert_eq!(output(line), block(&page, "text"));
    // The program that is shown is the begin of the one that runs.
    let script = text("examples/js/tour.js").replace(char::is_whitespace, "");
    let shown = block(&page, "js").rsplit_once("// and more").unwrap().0;
    assert!(script.contains(&shown.replace(char::is_whitespace, "")));
}

// spec: BX-5
#[test]
fn examples_print_what_is_written_about_them() {
    let readme = text("examples/js/README.md");
    let mut tried = Vec::new();
    for section in readme.split("\n## ").skip(1) {
        let (_, line) = block(section, "sh").trim().split_once(" -- ").unwrap();
        assert_eq!(output(line), block(section, "text"), "{line}");
        tried.push(line.rsplit_once('/').unwrap().1.to_owned());
    }
    let scripts = std::fs::read_dir(root().join("examples/js")).unwrap();
    let names = scripts.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut scripts: Vec<_> = names.filter(|name| name.ends_with(".js")).collect();
    scripts.sort();
    tried.sort();
    assert_eq!(tried, scripts);
}
