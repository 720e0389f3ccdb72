//! The examples, and programs of others, as child processes.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// No child runs for longer.
const LIMIT: Duration = Duration::from_secs(60);

/// A child process. It does not outlive its test, nor does it hang it.
pub(crate) struct Process {
    name: String,
    child: Child,
    stdout: BufReader<ChildStdout>,
    watchdog: Watchdog,
}

impl Process {
    /// Starts a command. Its output can be read, its complaints are those of the test.
    pub(crate) fn start(command: &mut Command) -> Self {
        let name = name(command);
        let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let watchdog = Watchdog::new(pid(&child));
        Self { name, child, stdout, watchdog }
    }

    /// The next line of its output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "{} ended, its last words: {line:?}", self.name);
        line.trim_end().to_owned()
    }

    /// That many bytes of its output.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stdout.read_exact(&mut bytes).unwrap_or_else(|_| panic!("{} said less", self.name));
        bytes
    }

    /// Its input; it ends when this is dropped.
    pub(crate) fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid(&self.child), signal).unwrap();
    }

    /// Waits for its end, and gives the rest of its output.
    pub(crate) fn wait(mut self) -> (ExitStatus, Vec<u8>) {
        drop(self.child.stdin.take());
        let mut rest = Vec::new();
        self.stdout.read_to_end(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        self.watchdog.check(&self.name);
        (status, rest)
    }

    /// The same, and it has to be content.
    pub(crate) fn finish(self) -> Vec<u8> {
        let name = self.name.clone();
        let (status, rest) = self.wait();
        assert!(status.success(), "{name}: {status}, {}", String::from_utf8_lossy(&rest));
        rest
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that serves, and has said where.
pub(crate) struct Server {
    pub(crate) process: Process,
    /// Without a slash at its end.
    pub(crate) url: String,
}

impl Server {
    /// Starts one of the examples.
    pub(crate) fn example(name: &str, arguments: &[&str]) -> Self {
        Self::start(example(name).args(arguments))
    }

    /// Starts something that says `listening on URL`.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = Process::start(command);
        let line = process.line();
        let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}"));
        Self { url: url.to_owned(), process }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// The part of the address after `//`.
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("//").unwrap().1
    }

    /// Asks an example to end, which it does at once, and well.
    pub(crate) fn stop(self) {
        self.process.signal(Signal::TERM);
        let said = String::from_utf8(self.process.finish()).unwrap();
        assert!(said.ends_with("ended\n"), "{said}");
    }
}

/// An example that was built by the command that runs this test.
pub(crate) fn example(name: &str) -> Command {
    let test = env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "the example {name} is not built: cargo build -p mainspring-examples --examples"
    );
    Command::new(path)
}

/// A `curl` that says only what is asked of it. It has no limit of time of its own: with one it waits for its
/// input without looking at the connection.
pub(crate) fn curl(arguments: &[&str]) -> Command {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--no-progress-meter", "--noproxy", "*"]);
    command.args(arguments);
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Output {
    let name = name(command);
    let child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let watchdog = Watchdog::new(pid(&child));
    let output = child.wait_with_output().unwrap();
    watchdog.check(&name);
    output
}

/// Runs a command that has to be content, and gives what it wrote.
pub(crate) fn stdout(command: &mut Command) -> Vec<u8> {
    let output = run(command);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}, {complaint}", output.status);
    output.stdout
}

/// The same, as text.
pub(crate) fn text(command: &mut Command) -> String {
    String::from_utf8(stdout(command)).unwrap()
}

/// A directory that goes with its test.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.file(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Bytes without a pattern that a mistake could hide in.
pub(crate) fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(count).collect()
}

/// Compares without writing millions of bytes into the log.
#[track_caller]
pub(crate) fn assert_same(got: &[u8], expected: &[u8]) {
    if let Some(at) = got.iter().zip(expected).position(|(got, expected)| got != expected) {
        panic!("they differ at byte {at}");
    }
    assert_eq!(got.len(), expected.len(), "one is longer");
}

fn spawn(command: &mut Command) -> Child {
    match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let name = name(command);
            let package = if name == "node" { "nodejs" } else { &name };
            panic!("{name} is missing: please install the package {package}, and try again");
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

fn name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap().to_string_lossy().into_owned()
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Kills a process when the limit is reached, unless it is dropped before.
struct Watchdog {
    has_bitten: Arc<AtomicBool>,
    /// The thread hears of it when this is dropped.
    _end: Sender<()>,
}

impl Watchdog {
    fn new(pid: Pid) -> Self {
        let (end, ended) = channel::<()>();
        let has_bitten = Arc::new(AtomicBool::new(false));
        let bites = Arc::clone(&has_bitten);
        thread::spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                bites.store(true, Ordering::SeqCst);
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self { has_bitten, _end: end }
    }

    fn check(&self, name: &str) {
        assert!(!self.has_bitten.load(Ordering::SeqCst), "{name} did not end, and was killed");
    }
}
