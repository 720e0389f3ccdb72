//! `mainspring top`: what loops of another process do.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};

use common::terminal::Terminal;
use common::{Guard, Scratch, command, finish, run};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::Value;

/// A script that is inspected.
struct Script {
    child: Child,
    port: u16,
    _scratch: Scratch,
    _guard: Guard,
}

impl Script {
    fn new(name: &str, code: &str) -> Self {
        Self::at(name, code, "127.0.0.1:0").unwrap()
    }

    /// None if it cannot listen there.
    fn at(name: &str, code: &str, address: &str) -> Option<Self> {
        let scratch = Scratch::new(name);
        let file = scratch.file("script.js", code);
        let mut child = command(["--inspect", address])
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let guard = Guard::new(&child);
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("mainspring: the figures are at http://127.0.0.1:");
        let port = url.and_then(|url| url.strip_suffix('/')?.parse().ok());
        if port.is_none() {
            child.wait().unwrap();
        }
        let script = Self { child, port: port?, _scratch: scratch, _guard: guard };
        Some(script)
    }

    /// Waits until the script says something.
    fn wait_for_line(&mut self) {
        let mut byte = [0];
        while byte[0] != b'\n' {
            self.child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ALIVE: &str =
    "setInterval(() => {}, 5); setTimeout(() => {}, 1e6); setImmediate(() => console.log(1))";

// spec: MX-3, MX-5
#[test]
fn the_figures_of_a_script_are_printed_once() {
    let mut script = Script::new("top-once", ALIVE);
    script.wait_for_line();
    for address in [
        script.port.to_string(),
        format!("127.0.0.1:{}", script.port),
        format!("http://localhost:{}/", script.port),
    ] {
        let ran = run(["top", "--once", &address]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(!ran.stdout.contains('\x1b'), "{:?}", ran.stdout);
        for text in
            ["mainspring (pid ", "script.js", "utilisation", "p99", "2 timers", "a timer due in"]
        {
            assert!(ran.stdout.contains(text), "{text} is missing in\n{}", ran.stdout);
        }
    }
    let ran = run(["top", "--json", &script.port.to_string()]);
    let state: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &state["loops"][0]["name"]), (0, &"script.js".into()));
}

// spec: MX-3
#[test]
fn frames_follow_each_other_if_there_is_no_terminal() {
    let mut script = Script::new("top-frames", ALIVE);
    let port = script.port.to_string();
    let mut top = command(["top", "--interval", "100ms", &port])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _guard = Guard::new(&top);
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut expect = |text: &str| {
        let line = lines.find(|line| line.contains(text));
        line.unwrap_or_else(|| panic!("the end, instead of {text}"))
    };
    for _ in 0..3 {
        assert!(expect("mainspring (pid ").contains(&port));
        expect("utilisation");
    }
    // It is said that the program is gone. The last figures stay.
    script.child.kill().unwrap();
    expect("The connection is lost, trying again: ");
    expect("utilisation");
    expect("The connection is lost, trying again: ");
    // Nobody reads it any more.
    drop(lines);
    assert_eq!(top.wait().unwrap().code(), Some(0));
}

/// Answers each request with this, at the port that is returned.
fn answer(content: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|n| n > 2) {
                line.clear();
            }
            let length = content.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            let _ = stream.into_inner().write_all((head + content).as_bytes());
        }
    });
    port
}

// What it says may be meant for the terminal.
#[test]
fn a_server_that_is_no_inspector_is_an_error() {
    for content in ["<html>\x1b[2J</html>", "{}", "[1, 2]", ""] {
        let port = answer(content);
        for options in [&["top", &port][..], &["top", "--once", &port], &["top", "--json", &port]] {
            let ran = run(options);
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{options:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("none of an inspector"), "{}", ran.stderr);
            assert!(!ran.stderr.contains('\x1b'), "{:?}", ran.stderr);
        }
    }
    // Whoever wants JSON has to look at the version.
    let port = answer(r#"{"version":7}"#);
    let ran = run(["top", "--json", &port]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{\"version\":7}\n"), "{}", ran.stderr);
    assert_eq!(run(["top", "--once", &port]).code, 1);
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    // Nobody listens at a port whose socket does not.
    let taken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&taken, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address: SocketAddrV4 = getsockname(&taken).unwrap().try_into().unwrap();
    let port = address.port().to_string();
    for options in [&["top", &port][..], &["top", "--once", &port], &["top", "--json", &port]] {
        let ran = run(options);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("is a program with --inspect running there?"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn an_answer_of_something_else_is_an_error() {
    for (answer, word) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "none of an inspector"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"version\":9}", "version 9"),
        ("SSH-2.0-OpenSSH\r\n", "--inspect running there?"),
        ("", "--inspect running there?"),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let ran = run(["top", "--once", &port]);
        server.join().unwrap();
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{answer:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{answer:?}: {}", ran.stderr);
    }
}

// spec: BX-5
#[test]
fn top_has_its_own_options() {
    let help = run(["top", "--help"]);
    assert_eq!(help.code, 0);
    assert!(help.stdout.contains("--interval") && help.stdout.contains("Keys:"), "{}", help.stdout);
    assert!(!help.stdout.contains("--max-memory"), "{}", help.stdout);
    assert_eq!(run(["help", "top"]).stdout, help.stdout);
    for (line, word) in [
        (&["top"][..], "<ADDR>"),
        (&["top", "--stats", "1"], "unexpected argument '--stats'"),
        (&["--stats", "top", "1"], "`top` runs none"),
        (&["top", "https://localhost:1/"], "http://"),
        (&["top", "--interval", "1ms", "1"], "100ms"),
        (&["top", "--once", "--json", "1"], "cannot be used with"),
    ] {
        let ran = run(line);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{line:?}");
        assert!(ran.stderr.contains(word), "{line:?}: {}", ran.stderr);
    }
}

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

impl Terminal {
    /// With `mainspring top` in it.
    fn open(port: u16, options: &[&str], has_colours: bool) -> Self {
        // A sequence can be cut anywhere, but all of them are ASCII.
        let mut terminal = Self::start((200, 60), str::to_owned, |command| {
            let command = command.arg("top").args(options).arg(port.to_string());
            if has_colours { command.env_remove("NO_COLOR") } else { command.env("NO_COLOR", "1") }
        });
        terminal.expect(ENTER);
        terminal
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// A whole frame that begins after now, without what it ends its lines with.
    fn frame(&mut self) -> Vec<String> {
        self.expect("\x1b[H");
        let frame = self.expect("\x1b[J");
        frame.split("\x1b[K").map(|line| line.trim_start_matches("\r\n").to_owned()).collect()
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.master)
            .unwrap()
            .local_modes
            .contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the end, by which the terminal is what it was before.
    fn end(mut self) -> ExitStatus {
        self.expect(LEAVE);
        let status = self.child.wait().unwrap();
        assert!(!self.is_raw(), "the input is as it was");
        status
    }
}

// spec: MX-3, BX-5
#[test]
fn the_whole_terminal_is_used_and_given_back() {
    let script = Script::new("top-screen", ALIVE);
    let keys = [("q", None), ("\x03", None), ("", Some(Signal::TERM)), ("", Some(Signal::INT))];
    for (keys, signal) in keys {
        let mut terminal = Terminal::open(script.port, &["--interval", "100ms"], false);
        for _ in 0..2 {
            let frame = terminal.frame().join("\n");
            assert!(frame.contains("script.js") && frame.contains("q quits"), "{frame}");
            assert!(frame.contains("utilisation") && !frame.contains('\x1b'), "{frame:?}");
        }
        assert!(terminal.is_raw());
        terminal.press(keys);
        if let Some(signal) = signal {
            terminal.signal(signal);
        }
        let status = terminal.end();
        assert_eq!(status.signal(), signal.map(Signal::as_raw), "{keys:?}");
        assert_eq!(status.code(), signal.is_none().then_some(0), "{keys:?}");
    }
}

// spec: BX-5
#[test]
fn colours_are_for_terminals_and_can_be_switched_off() {
    let script = Script::new("top-colours", ALIVE);
    let mut terminal = Terminal::open(script.port, &[], true);
    assert!(terminal.frame().join("\n").contains("\x1b[1mscript.js\x1b[0m"));
    terminal.press("q");
    assert_eq!(terminal.end().code(), Some(0));
    let ran = finish(command(["top", "--once", &script.port.to_string()]).env_remove("NO_COLOR"));
    assert!(!ran.stdout.contains('\x1b'), "{:?}", ran.stdout);
}

// spec: BX-5
#[test]
fn another_size_is_noticed_and_what_does_not_fit_can_be_scrolled_to() {
    let script = Script::new("top-size", ALIVE);
    // Nothing but the size and the keys has it drawn again.
    let mut terminal = Terminal::open(script.port, &["--interval", "1000s"], false);
    let frame = terminal.frame();
    assert!(
        frame.iter().any(|line| line.contains("latency") && line.contains("phase")),
        "{frame:?}"
    );
    terminal.resize((60, 12));
    let frame = terminal.frame();
    assert!(frame.len() <= 13 && frame.iter().all(|line| line.chars().count() <= 60), "{frame:?}");
    assert!(frame.iter().any(|line| line.contains("more lines below")), "{frame:?}");
    assert!(frame.iter().any(|line| line.contains("utilisation")), "{frame:?}");
    terminal.press("\x1b[B\x1b[B");
    terminal.frame();
    let frame = terminal.frame();
    assert!(!frame.iter().any(|line| line.contains("utilisation")), "{frame:?}");
    terminal.press("k");
    assert!(terminal.frame().iter().any(|line| line.contains("utilisation")));
    terminal.press("q");
    assert_eq!(terminal.end().code(), Some(0));
}

// spec: MX-3
#[test]
fn a_connection_that_is_lost_comes_back() {
    let script = Script::new("top-lost", ALIVE);
    let port = script.port;
    let mut terminal = Terminal::open(port, &["--interval", "100ms"], false);
    terminal.frame();
    drop(script);
    terminal.expect("The connection is lost, trying again: ");
    // Another one at the same port, unless the system has given it to somebody else.
    if let Some(_script) = Script::at("top-again", ALIVE, &format!("127.0.0.1:{port}")) {
        while terminal.frame().iter().any(|line| line.contains("The connection is lost")) {}
    }
    terminal.press("q");
    assert_eq!(terminal.end().code(), Some(0));
}
