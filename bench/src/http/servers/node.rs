//! Node: a script, in a process of its own, or in one that accepts and as many workers as there are threads
//! elsewhere.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// How many workers there are, or none.
pub fn run(workers: usize, say_port: impl FnOnce(u16)) {
    let mut command = Command::new("node");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/servers/node.js"));
    if workers > 0 {
        command.arg(workers.to_string());
    }
    // It ends when its standard input does, which is when this process does.
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).unwrap();
    say_port(line.trim().parse().expect("the script says its port"));
    let stdin = child.stdin.take();
    child.wait().unwrap();
    drop(stdin);
}
