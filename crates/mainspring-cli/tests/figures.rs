//! What the command says about a script: --stats, --trace, --inspect.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use common::{Guard, Scratch, command, finish, run};
use serde_json::Value;

const SCRIPT: &str = "
    setTimeout(() => {}, 1);
    setTimeout(() => {}, 1);
    setImmediate(() => {});
    process.nextTick(() => {});
    queueMicrotask(() => {});
";

// spec: BX-5
#[test]
fn stats_are_a_table_on_the_standard_error() {
    for (end, code) in [
        ("", 0),
        ("setTimeout(() => process.exit(3), 20)", 3),
        ("setTimeout(() => { throw 1 }, 20)", 1),
    ] {
        let ran = run(["--stats", "eval", &format!("{SCRIPT};{end}")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
        let (_, table) = ran.stderr.split_once("mainspring:\n").unwrap();
        let row = |name: &str| {
            let line = table.lines().find_map(|line| line.trim().strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} in {table}")).trim().to_owned()
        };
        assert!(row("wall time").ends_with(" ms") && row("CPU time").ends_with(" ms"));
        assert!(row("peak memory").ends_with("iB") && row("engine heap").ends_with("iB"));
        let timers = if end.is_empty() { "2" } else { "3" };
        assert_eq!(row("timers"), timers);
        assert_eq!(row("microtasks"), "1");
        assert_eq!(row("I/O and other"), "0");
        assert!(row("immediates").parse::<u32>().unwrap() >= 1);
        assert!(row("nextTick passes").parse::<u32>().unwrap() >= 1);
    }
    assert_eq!(run(["eval", SCRIPT]).stderr, "");
}

fn trace(end: &str, name: &str) -> (common::Run, Vec<Value>) {
    let scratch = Scratch::new(name);
    let path = scratch.path().join("trace.json");
    let ran = finish(command(["--trace"]).arg(&path).arg("eval").arg(format!("{SCRIPT};{end}")));
    let text = std::fs::read_to_string(path).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    (ran, trace["traceEvents"].as_array().unwrap().clone())
}

// spec: MX-4, BX-5
#[test]
fn a_trace_has_a_slice_for_each_callback() {
    let (ran, events) = trace("", "trace");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!((named("main"), named("timer"), named("job")), (1, 2, 1));
    assert!(named("immediate") >= 1 && named("ticks") >= 1);
    let (about, slices): (Vec<_>, Vec<_>) = events.iter().partition(|event| event["ph"] == "M");
    assert!(about.iter().any(|event| event["name"] == "thread_name"));
    let mut end = 0.0;
    for slice in slices {
        assert_eq!(slice["ph"], "X");
        assert!(slice["pid"].is_u64() && slice["tid"].is_u64());
        let (ts, dur) = (slice["ts"].as_f64().unwrap(), slice["dur"].as_f64().unwrap());
        // One thread: none begins before the one before has ended. Times are rounded.
        assert!(ts >= end - 0.002 && dur >= 0.0, "{slice} {end}");
        end = ts + dur;
    }
}

// spec: MX-4
#[test]
fn a_trace_is_complete_however_the_script_ends() {
    for (end, code) in [
        ("setTimeout(() => process.exit(3), 20)", 3),
        ("setTimeout(() => { throw new Error('x') }, 20)", 1),
        (
            "setTimeout(() => process.kill(process.pid, 'SIGINT'), 20); setInterval(() => {}, 10000)",
            -2,
        ),
        (
            "setTimeout(() => process.kill(process.pid, 'SIGTERM'), 20); setInterval(() => {}, 10000)",
            -15,
        ),
    ] {
        let (ran, events) = trace(end, "trace-end");
        assert_eq!(ran.code, code, "{end}: {}", ran.stderr);
        let timers = events.iter().filter(|event| event["name"] == "timer").count();
        assert_eq!(timers, 3, "{end}");
    }
}

// spec: BX-5
#[test]
fn signals_are_the_scripts_if_it_listens() {
    let code = "process.once('SIGINT', () => { console.log('mine'); clearInterval(t) }); \
                const t = setInterval(() => {}, 10000); process.kill(process.pid, 'SIGINT')";
    let ran = run(["--stats", "eval", code]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "mine\n"), "{}", ran.stderr);
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let ran = run(["--trace", "/no/such/directory/x", "eval", "console.log(1)"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.starts_with("mainspring: cannot write /no/such/directory/x: "),
        "{}",
        ran.stderr
    );
}

/// A script that is inspected, and says so when it has come somewhere.
struct Inspected {
    child: Child,
    address: String,
    _guard: Guard,
}

impl Inspected {
    fn new(code: &str) -> Self {
        let mut command: Command = command(["--inspect", "0", "eval", code]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let guard = Guard::new(&child);
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("mainspring: the figures are at http://").unwrap();
        let address = address.strip_suffix('/').unwrap().to_owned();
        Self { child, address, _guard: guard }
    }

    fn wait_for_line(&mut self) {
        let stdout = self.child.stdout.as_mut().unwrap();
        let mut byte = [0];
        while byte[0] != b'\n' {
            stdout.read_exact(&mut byte).unwrap();
        }
    }

    /// The head and the body of an answer.
    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn stats(&self) -> Value {
        let (head, body) =
            self.ask(&format!("GET /stats HTTP/1.1\r\nHost: {}\r\n\r\n", self.address));
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json"), "{head}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Inspected {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// spec: MX-3, MX-5
#[test]
fn a_running_script_can_be_looked_at() {
    let mut script = Inspected::new(
        "require('node:net').createServer().listen(0, '127.0.0.1', () => console.log('listening')); \
         setTimeout(() => {}, 1e6); setTimeout(() => {}, 1e6); setTimeout(() => {}, 1e6).unref(); \
         queueMicrotask(() => {})",
    );
    script.wait_for_line();
    let stats = script.stats();
    assert_eq!(stats["callbacks"]["microtasks"], 1);
    assert_eq!(stats["callbacks"]["timers"], 0);
    assert!(stats["wallMs"].as_f64().unwrap() > 0.0 && stats["cpuMs"].as_f64().unwrap() > 0.0);
    assert!(stats["peakMemory"].as_u64().unwrap() > stats["engineHeap"].as_u64().unwrap());
    let why: Vec<_> =
        stats["whyAlive"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(why[0], "2 timers");
    assert!(why[1].starts_with("a server on 127.0.0.1:"), "{why:?}");

    let (head, page) = script.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 200 OK") && head.contains("Content-Security-Policy"),
        "{head}"
    );
    assert!(page.contains("<title>mainspring</title>") && page.contains("/stats"));
    for (request, status) in [
        ("GET /other HTTP/1.1\r\n\r\n", "404"),
        ("POST / HTTP/1.1\r\n\r\n", "405"),
        ("GET /stats HTTP/1.1\r\nHost: example.org\r\n\r\n", "403"),
        ("HEAD / HTTP/1.1\r\n\r\n", "200"),
    ] {
        let (head, body) = script.ask(request);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {head}");
        assert_eq!(request.starts_with("HEAD"), body.is_empty());
    }
}

// spec: MX-3
#[test]
fn a_loop_that_is_busy_is_said_to_be() {
    let mut script = Inspected::new("console.log('busy'); for (;;) {}");
    script.wait_for_line();
    let stats = script.stats();
    assert_eq!(stats["busy"], true);
    assert!(stats["note"].as_str().unwrap().contains("a callback is running"));
}

// spec: BX-5
#[test]
fn inspecting_is_for_this_machine_unless_it_is_said_otherwise() {
    let ran = run(["--inspect", "0.0.0.0:0", "eval", "console.log(1)"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("--inspect-any"), "{}", ran.stderr);
    let ran = run(["--inspect", "0.0.0.0:0", "--inspect-any", "eval", "console.log(1)"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n"));
}

// spec: BX-5
#[test]
fn inspecting_keeps_no_script_alive() {
    let ran = run(["--inspect", "0", "eval", "console.log('done')"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"));
}
