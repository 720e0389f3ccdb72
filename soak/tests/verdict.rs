//! The verdict notices what is put in for it to notice.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

/// A short run of a small load.
fn soak(name: &str, arguments: &[&str]) -> (Output, String) {
    let out = std::env::temp_dir().join(format!("mainspring-soak-{name}-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_soak"))
        .args(["--seconds", "3", "--small", "--out"])
        .arg(&out)
        .args(arguments)
        .output()
        .unwrap();
    let json = std::fs::read_to_string(out.join("soak.json")).unwrap();
    let picture = std::fs::read_to_string(out.join("soak.svg")).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("<polyline"), "{picture}");
    assert_eq!(json.contains("\"passed\": true"), output.status.success(), "{json}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

/// What is found if something is put in.
#[track_caller]
fn fails_because_of(sabotage: &str, fault: &str) {
    let (output, text) = soak(sabotage, &["--sabotage", sabotage]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let (_, faults) = text.split_once("FAILED\n").expect("it says so");
    assert!(faults.lines().any(|line| line.trim_start().starts_with(fault)), "{text}");
}

// spec: F-33, SD-6
#[test]
fn a_load_passes() {
    let (output, text) = soak("nothing", &[]);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("PASSED"), "{text}");
}

#[test]
fn a_leak_is_noticed() {
    fails_because_of("leak", "heap:");
}

#[test]
fn a_lost_task_is_noticed() {
    fails_because_of("lose", "external tasks:");
}

#[test]
fn a_descriptor_that_is_not_closed_is_noticed() {
    fails_because_of("descriptor", "descriptors:");
}

#[test]
fn a_thread_that_does_not_end_is_noticed() {
    fails_because_of("thread", "threads:");
}
