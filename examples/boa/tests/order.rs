//! The part of the ordering suite that any engine can run, in virtual time: what a script prints is compared with
//! what Node printed. Node is needed to write the scripts.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::Command;

use mainspring::{EventLoop, VirtualClock};
use mainspring_boa::Script;
use mainspring_js::{Global, Options, Output};

fn suite(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../suites/order").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(suite(name)).expect("the suite is there")
}

/// Scripts by name, as the generator writes them.
fn scripts() -> Vec<(String, String)> {
    let written = Command::new("node")
        .arg(suite("generate.mjs"))
        .args(["0", "600"])
        .output()
        .expect("Node writes the scripts");
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let text = String::from_utf8(written.stdout).expect("scripts are text");
    let scripts = text.split("//// ").skip(1).map(|script| {
        let (name, source) = script.split_once('\n').expect("a name, and a script");
        (name.to_owned(), source.to_owned())
    });
    scripts.collect()
}

/// The exit code and what was printed, in one line.
fn run(name: &str, source: &str) -> String {
    let event_loop =
        EventLoop::builder().microtask_budget(None).clock(&VirtualClock::auto()).build().unwrap();
    let (out, err) = (Output::buffer(), Output::buffer());
    let options = Options::new()
        .without([Global::Modules])
        .virtual_time(true)
        .stdout(out.clone())
        .stderr(err.clone());
    let script = Script::new(&event_loop, options).expect("the globals are there");
    let code = script.run(&event_loop, source, name).expect("the loop runs");
    let words = std::iter::once(code.to_string())
        .chain(out.text().split_whitespace().map(str::to_owned))
        .collect::<Vec<_>>();
    words.join(" ")
}

#[test]
fn scripts_run_in_the_order_of_node() {
    let portable = read("portable.txt");
    let portable: HashSet<&str> = portable.lines().collect();
    let expected = read("expected.txt");
    let expected: HashMap<&str, &str> = expected
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let mut failures = Vec::new();
    let mut count = 0;
    for (name, source) in scripts() {
        let Some(expected) = expected.get(name.as_str()).filter(|_| portable.contains(&*name))
        else {
            continue;
        };
        count += 1;
        let found = run(&name, &source);
        if found != *expected {
            failures.push(format!("{name}\n   node: {expected}\n    boa: {found}"));
        }
    }
    assert!(count >= 100, "only {count} scripts are portable");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    println!("{count} of {count} scripts run in the order of Node");
}

#[test]
fn exceptions_rejections_and_exits_are_as_with_any_engine() {
    let event_loop = EventLoop::builder().microtask_budget(None).build().unwrap();
    let (out, err) = (Output::buffer(), Output::buffer());
    let options = Options::new().without([Global::Modules]).stdout(out.clone()).stderr(err.clone());
    let script = Script::new(&event_loop, options).unwrap();
    let code = script
        .run(
            &event_loop,
            "process.on('exit', (code) => console.log('exit', code));
             process.on('unhandledRejection', (reason) => console.log('rejected', reason));
             Promise.reject('reason');
             const late = Promise.reject('handled'); late.catch(() => console.log('handled'));
             setTimeout(() => { try { process.exit(3); } catch { console.log('caught'); } }, 1);
             setTimeout(() => console.log('never'), 50);",
            "test.js",
        )
        .unwrap();
    assert_eq!((code, out.text().as_str()), (3, "handled\nrejected reason\nexit 3\n"));
    assert_eq!(err.text(), "");
}
