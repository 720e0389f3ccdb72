//! Notes which compiler has built the peers: it is named beside the figures.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(compiler).arg("--version").output().expect("cargo has used it");
    let version = String::from_utf8(output.stdout).expect("is text");
    println!("cargo::rustc-env=BENCH_RUSTC={}", version.trim());
}
