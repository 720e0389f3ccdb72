//! The examples print what their README says.

mod common;

use std::path::Path;

use common::{command, finish};

// spec: BX-5
#[test]
fn examples_print_what_is_written_about_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("examples/js/README.md")).unwrap();
    let mut tried = Vec::new();
    for section in readme.split("\n## ").skip(1) {
        let block = |kind: &str| {
            let (_, rest) = section.split_once(&format!("```{kind}\n")).unwrap();
            rest.split_once("```").unwrap().0
        };
        let (_, line) = block("sh").trim().split_once(" -- ").unwrap();
        let ran = finish(command(line.split(' ')).current_dir(&root));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}");
        assert_eq!(ran.stdout, block("text"), "{line}");
        tried.push(line.rsplit_once('/').unwrap().1.to_owned());
    }
    let scripts = std::fs::read_dir(root.join("examples/js")).unwrap();
    let names = scripts.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut scripts: Vec<_> = names.filter(|name| name.ends_with(".js")).collect();
    scripts.sort();
    tried.sort();
    assert_eq!(tried, scripts);
}
