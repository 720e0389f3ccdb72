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
    (ran, trace.as_array().unwrap().clone())
}

/// From when to when, in nanoseconds.
fn range(slice: &Value) -> (i64, i64) {
    let nanos = |key: &str| (slice[key].as_f64().unwrap() * 1000.0).round() as i64;
    (nanos("ts"), nanos("ts") + nanos("dur"))
}

/// What the script did: slices of its own, by their kind.
fn kinds<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["cat"] == "slice" && event["name"] == kind)
}

// spec: MX-4, BX-5
#[test]
fn a_trace_has_a_slice_for_each_callback_of_the_script_in_that_of_the_loop() {
    let (ran, events) = trace("", "trace");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let named = |name: &str| kinds(&events, name).count();
    assert_eq!((named("main"), named("timer"), named("job")), (1, 2, 1));
    assert!(named("immediate") >= 1 && named("ticks") >= 1);
    assert!(events.iter().any(|event| event["name"] == "thread_name"));
    assert!(events.iter().any(|event| event["cat"] == "tick"));
    for (kind, phase) in [
        ("timer", "timers"),
        ("immediate", "check"),
        ("ticks", "next ticks"),
        ("job", "microtasks"),
    ] {
        for slice in kinds(&events, kind) {
            let (from, to) = range(slice);
            let is_around = |event: &&Value| {
                let is_of_phase = event["cat"] == "callback" && event["args"]["phase"] == phase;
                is_of_phase && range(event).0 < from && to <= range(event).1
            };
            assert_eq!(events.iter().filter(is_around).count(), 1, "{slice}");
        }
    }
}

// spec: MX-4
#[test]
fn slices_of_a_trace_nest() {
    let (_, events) = trace(
        "let n = 0; (function next() { if (++n < 300) queueMicrotask(next); })(); \
         const t = setInterval(() => { Promise.resolve().then(() => {}); if (++n > 350) clearInterval(t) }, 0)",
        "trace-nesting",
    );
    let slices = events.iter().filter(|event| event["ph"] == "X");
    // One thread. Flows begin with slices that take no time, wherever that is.
    let mut slices: Vec<_> = slices.map(range).filter(|(from, to)| from < to).collect();
    slices.sort_by_key(|&(from, to)| (from, -to));
    assert!(slices.len() > 700, "{}", slices.len());
    let mut around: Vec<(i64, i64)> = Vec::new();
    for slice in slices {
        while around.last().is_some_and(|outer| outer.1 <= slice.0) {
            around.pop();
        }
        assert!(around.last().is_none_or(|outer| slice.1 <= outer.1), "{slice:?} in {around:?}");
        around.push(slice);
    }
}

// spec: MX-4
#[test]
fn a_trace_is_complete_however_the_script_ends() {
    let kill = |signal: &str| {
        format!(
            "setTimeout(() => process.kill(process.pid, '{signal}'), 20); setInterval(() => {{}}, 10000)"
        )
    };
    for (end, code) in [
        ("setTimeout(() => process.exit(3), 20)".to_owned(), 3),
        ("setTimeout(() => { throw new Error('x') }, 20)".to_owned(), 1),
        ("setTimeout(() => Promise.reject(1), 20)".to_owned(), 1),
        (kill("SIGINT"), -2),
        (kill("SIGTERM"), -15),
    ] {
        let (ran, events) = trace(&end, "trace-end");
        assert_eq!(ran.code, code, "{end}: {}", ran.stderr);
        assert_eq!(kinds(&events, "timer").count(), 3, "{end}");
    }
}

// spec: MX-4, JS-4
#[test]
fn a_trace_is_complete_if_a_limit_ends_the_script() {
    for (options, code) in [
        (["--max-callback-time", "50"], "for (;;) {}"),
        (["--max-memory", "8M"], "'x'.repeat(2 ** 29)"),
        // A function of the engine that does not look at the clock: the watchdog ends it.
        (["--max-callback-time", "50"], "Array(2 ** 32 - 1).join('')"),
    ] {
        let scratch = Scratch::new("trace-limit");
        let path = scratch.path().join("trace.json");
        let code = format!("setTimeout(() => {{}}, 1); setTimeout(() => {{ {code} }}, 20)");
        let ran = finish(command(options).arg("--trace").arg(&path).arg("eval").arg(&code));
        assert_eq!(ran.code, 1, "{code}: {}", ran.stderr);
        let is_of_watchdog = ran.stderr.contains("within a function of the engine");
        assert_eq!(is_of_watchdog, code.contains("join"), "{code}: {}", ran.stderr);
        let text = std::fs::read_to_string(path).unwrap();
        let events: Value = serde_json::from_str(&text).unwrap();
        assert!(kinds(events.as_array().unwrap(), "timer").count() >= 1, "{code}: {text}");
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

    /// What is known of the loop.
    fn state(&self) -> Value {
        let (head, body) =
            self.ask(&format!("GET /state.json HTTP/1.1\r\nHost: {}\r\n\r\n", self.address));
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        let state: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(state["loops"].as_array().unwrap().len(), 1);
        state["loops"][0].clone()
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
    let state = script.state();
    assert_eq!(state["name"], "[eval]");
    assert_eq!(state["metrics"]["timers"], 3);
    assert!(state["metrics"]["callbacks"].as_u64().unwrap() >= 1);
    let why = state["why_alive"]["reasons"].as_array().unwrap();
    let of_kind = |kind: &str| why.iter().filter(|reason| reason["kind"] == kind).count();
    assert_eq!((of_kind("timer"), of_kind("descriptor")), (2, 1), "{why:?}");

    let (head, page) = script.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(page.contains("state.json"), "{page}");
    let (_, metrics) = script.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(metrics.contains("\nmainspring_timers{loop=\"[eval]\"} 3\n"), "{metrics}");
    let (head, _) = script.ask("GET /state.json HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 421"), "{head}");
}

// spec: MX-2, MX-3
#[test]
fn a_loop_that_is_busy_is_said_to_be() {
    let mut script =
        Inspected::new("console.log('busy'); setTimeout(() => { console.log(1); for (;;) {} })");
    script.wait_for_line();
    script.wait_for_line();
    // The watchdog looks now and then.
    let busy = loop {
        let state = script.state();
        if state["busy"].is_object() {
            break state["busy"].clone();
        }
    };
    assert_eq!((&busy["phase"], &busy["is_over"]), (&"timers".into(), &false.into()));
    assert!(busy["duration"].as_f64().unwrap() >= 0.1, "{busy}");
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

// spec: MX-2, MX-3
#[test]
fn a_script_sees_the_figures_of_its_loop_if_it_is_observed() {
    let code = "
        const timer = setInterval(() => {}, 1e6);
        setTimeout(() => {
            const { loop, ...own } = mainspring.metrics();
            console.log(JSON.stringify({ loop, own }));
            clearInterval(timer);
        }, 20);
    ";
    let metrics = |options: &[&str]| -> Value {
        let ran = run(options.iter().copied().chain(["eval", code]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let found = metrics(&["--inspect", "0"]);
    let (of_loop, own) = (&found["loop"], &found["own"]);
    assert_eq!((&own["timers"], &of_loop["timers"]), (&1.into(), &1.into()), "{found}");
    // In milliseconds: it has waited for most of that time.
    let idle = of_loop["idle"].as_f64().unwrap();
    assert!(idle > 5.0 && idle < of_loop["uptime"].as_f64().unwrap(), "{found}");
    assert_eq!(of_loop["phases"]["timers"]["callbacks"], 1);
    assert!(
        of_loop["phases"]["nextTicks"]["time"].is_number() && of_loop["phases"]["io"].is_object()
    );
    assert!(of_loop["queues"]["nextTicks"]["wait"]["p99"].is_number());
    for name in ["throughput", "utilisation", "wakesElided", "budgetBreaches", "stalls"] {
        assert!(of_loop[name].is_number(), "{name} is missing in {of_loop}");
    }
    assert!(metrics(&[])["loop"].is_null());
}

// spec: MX-5
#[test]
fn a_script_sees_what_keeps_its_loop_alive_by_its_own_names() {
    let code = "
        const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
            const timer = setTimeout(() => {}, 1e6);
            require('node:fs').readFile('/dev/null', () => { server.close(); clearTimeout(timer); });
            console.log(mainspring.whyAlive().join('|'));
        });
    ";
    for options in
        [&[][..], &["--inspect", "0"], &["--strict-node"], &["--strict-node", "--inspect", "0"]]
    {
        let ran = run(options.iter().copied().chain(["eval", code]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let (before, server) = ran.stdout.trim().rsplit_once('|').unwrap();
        assert_eq!(before, "1 timer|1 operation on a worker", "{options:?}");
        assert!(server.starts_with("a server on 127.0.0.1:"), "{options:?}: {server}");
    }
}
