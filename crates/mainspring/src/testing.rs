//! What several unit tests need.

use std::process::Command;

/// Whether this is a process for that test alone, because it looks at all descriptors there are. If not,
/// starts one, and checks how it went.
pub(crate) fn alone(test: &str) -> bool {
    const KEY: &str = "MAINSPRING_TEST_ALONE";
    if std::env::var_os(KEY).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(KEY, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
    false
}
