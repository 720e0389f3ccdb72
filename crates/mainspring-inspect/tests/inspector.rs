//! The inspector, by plain sockets.
#![cfg(unix)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mainspring::{EventLoop, Handle, Phase};
use mainspring_inspect::model::{self, State};
use mainspring_inspect::{Error, Inspector};

const PATIENCE: Duration = Duration::from_secs(60);

struct Answer {
    status: u16,
    head: String,
    content: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(address: SocketAddr, request: &str) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, content) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), content: content.to_owned() }
}

fn get(inspector: &Inspector, path: &str) -> Answer {
    let address = inspector.local_addr();
    send(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"))
}

fn state(inspector: &Inspector) -> State {
    let answer = get(inspector, "/state.json");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    serde_json::from_str(&answer.content).unwrap()
}

/// Asks until the state is as wanted.
fn wait_for(inspector: &Inspector, is_wanted: impl Fn(&State) -> bool) -> State {
    let start = Instant::now();
    loop {
        let state = state(inspector);
        if is_wanted(&state) {
            return state;
        }
        assert!(start.elapsed() < PATIENCE, "it never is as wanted: {state:#?}");
        // Not a matter of being right: others may want the processor.
        thread::sleep(Duration::from_millis(5));
    }
}

fn inspector() -> Inspector {
    Inspector::serve("127.0.0.1:0").unwrap()
}

/// A loop on a thread of its own, which ends when this is dropped.
struct Running {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(threshold: Option<Duration>) -> Self {
        let (send, receive) = channel();
        let thread = thread::spawn(move || {
            let event_loop =
                EventLoop::builder().metrics(true).stall_threshold(threshold).build().unwrap();
            event_loop.cx().set_timeout(Duration::from_secs(3600), |_| ()).unwrap();
            let (driven, is_driven) = channel();
            event_loop.cx().submit(move |_| driven.send(()).unwrap()).unwrap();
            send.send((event_loop.handle(), is_driven)).unwrap();
            event_loop.run().unwrap();
        });
        let (handle, is_driven): (Handle, Receiver<()>) = receive.recv_timeout(PATIENCE).unwrap();
        is_driven.recv_timeout(PATIENCE).unwrap();
        Self { handle, thread: Some(thread) }
    }

    /// Occupies it until the sender is dropped. Returns when it is occupied.
    fn occupy(&self) -> Sender<()> {
        let (release, released) = channel::<()>();
        let (began, has_begun) = channel();
        self.handle
            .submit(move |_| {
                began.send(()).unwrap();
                let _ = released.recv();
            })
            .unwrap();
        has_begun.recv_timeout(PATIENCE).unwrap();
        release
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.close();
        let ended = self.thread.take().unwrap().join();
        if !thread::panicking() {
            ended.unwrap();
        }
    }
}

#[test]
fn the_page_is_one_file_that_may_only_ask_where_it_came_from() {
    let inspector = inspector();
    let page = get(&inspector, "/");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    let (_, nonce) = policy.split_once("script-src 'nonce-").unwrap();
    let (nonce, _) = nonce.split_once('\'').unwrap();
    assert!(page.content.contains(&format!("<script nonce=\"{nonce}\">")));
    assert!(!page.content.contains("{{"), "a place was not filled in");
    let without_namespaces = page.content.replace("http://www.w3.org/2000/svg", "");
    for elsewhere in ["http://", "https://", " src=", "@import", "url("] {
        assert!(!without_namespaces.contains(elsewhere), "there is {elsewhere:?}");
    }
    let again = get(&inspector, "/?from=bookmark");
    assert_eq!(again.status, 200);
    assert_ne!(again.header("content-security-policy"), Some(policy), "the nonce is for once");
}

// spec: MX-3, MX-5
#[test]
fn the_state_has_figures_and_what_keeps_the_loop_alive() {
    let inspector = inspector();
    let running = Running::start(None);
    inspector.watch("main", &running.handle).unwrap();
    let state = wait_for(&inspector, |state| state.loops[0].metrics.as_ref().unwrap().ticks > 0);
    assert_eq!(state.version, model::VERSION);
    assert_eq!(state.pid, std::process::id());
    let found = &state.loops[0];
    assert_eq!(found.name, "main");
    let metrics = found.metrics.as_ref().unwrap();
    assert_eq!(metrics.timers, 1);
    assert_eq!(metrics.phases.len(), state.phases.len());
    assert_eq!(metrics.queues.len(), state.queues.len());
    let kinds: Vec<_> = found.why_alive.reasons.iter().map(|reason| &reason.kind[..]).collect();
    assert_eq!(kinds, ["timer"]);
    let place = found.why_alive.reasons[0].place.as_deref().unwrap();
    assert!(place.contains("inspector.rs:"), "{place}");
    assert_eq!(found.why_alive.unanswered, None);
}

// spec: MX-2
#[test]
fn there_is_a_sample_for_each_second() {
    let inspector = inspector();
    let running = Running::start(None);
    inspector.watch("main", &running.handle).unwrap();
    let state = wait_for(&inspector, |state| state.loops[0].history.len() >= 2);
    let history = &state.loops[0].history;
    let step = history[1].at - history[0].at;
    assert!((0.5..30.0).contains(&step), "{step} s");
    assert_eq!(history[0].phases.len(), state.phases.len());
    assert_eq!(history[0].queues.len(), state.queues.len());
    assert!(history.iter().all(|sample| (0.0..=1.0).contains(&sample.utilisation)));
}

// spec: MX-3
#[test]
fn prometheus_gets_openmetrics() {
    let inspector = inspector();
    let running = Running::start(None);
    inspector.watch("main", &running.handle).unwrap();
    wait_for(&inspector, |state| state.loops[0].metrics.as_ref().unwrap().timers > 0);
    let answer = get(&inspector, "/metrics");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some(mainspring_inspect::CONTENT_TYPE));
    assert!(
        answer.content.contains("\nmainspring_timers{loop=\"main\"} 1\n"),
        "{}",
        answer.content
    );
    assert!(answer.content.ends_with("# EOF\n"));
}

#[test]
fn it_can_be_read_and_no_more() {
    let inspector = inspector();
    let address = inspector.local_addr();
    for path in ["/", "/state.json", "/metrics"] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"] {
            let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n");
            let answer = send(address, &format!("{head}Content-Length: 2\r\n\r\nhi"));
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"));
        }
        let answer = send(address, &format!("HEAD {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-length").unwrap().parse::<usize>().unwrap() > 0);
        assert_eq!(answer.content, "");
    }
    let answer = get(&inspector, "/etc/passwd");
    assert_eq!(answer.status, 404);
    assert!(answer.content.contains("/state.json"), "it says what there is");
}

#[test]
fn every_answer_has_the_headers_that_keep_others_out() {
    let inspector = inspector();
    for path in ["/", "/state.json", "/metrics", "/nothing"] {
        let answer = get(&inspector, path);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert!(answer.header("content-security-policy").is_some(), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}

#[test]
fn a_name_that_others_could_own_is_not_answered() {
    let inspector = inspector();
    let address = inspector.local_addr();
    let with = |hosts: &str| send(address, &format!("GET / HTTP/1.1\r\n{hosts}\r\n")).status;
    for host in ["localhost", "LocalHost:80", "127.0.0.1:9", "127.9.9.9", "[::1]", "[::1]:9123"] {
        assert_eq!(with(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:80",
        "192.168.0.1",
        "[::]",
        "0.0.0.0",
        "",
        "a b",
    ] {
        assert_eq!(with(&format!("Host: {host}\r\n")), 421, "{host}");
    }
    assert_eq!(with(""), 421, "no host");
    assert_eq!(with("Host: localhost\r\nHost: evil.example\r\n"), 421, "two hosts");
}

#[test]
fn other_machines_are_let_in_only_if_that_is_asked_for() {
    let error = Inspector::serve("0.0.0.0:0").unwrap_err();
    assert!(matches!(&error, Error::NotLoopback(address) if address.ip().is_unspecified()));
    assert!(error.to_string().contains("allow_remote(true)"), "{error}");

    let inspector = Inspector::builder().allow_remote(true).serve("0.0.0.0:0").unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], inspector.local_addr().port()));
    let answer = send(address, "GET /metrics HTTP/1.1\r\nHost: server.example\r\n\r\n");
    assert_eq!(answer.status, 200);
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Inspector::serve(taken.local_addr().unwrap()).unwrap_err();
    assert!(matches!(&error, Error::Io(error) if error.kind() == ErrorKind::AddrInUse), "{error}");
}

#[test]
fn loops_are_shown_in_the_order_in_which_they_came() {
    let inspector = inspector();
    let names = |inspector: &Inspector| -> Vec<String> {
        state(inspector).loops.into_iter().map(|one| one.name).collect()
    };
    assert_eq!(names(&inspector), [""; 0]);
    let [first, second] = [Running::start(None), Running::start(None)];
    inspector.watch("b", &first.handle).unwrap();
    inspector.watch("a", &second.handle).unwrap();
    assert_eq!(names(&inspector), ["b", "a"]);
    let error = inspector.watch("b", &second.handle).unwrap_err();
    assert!(matches!(error, Error::NameTaken(name) if name == "b"));
    assert!(inspector.forget("b"));
    assert!(!inspector.forget("b"));
    assert_eq!(names(&inspector), ["a"]);
    inspector.watch("b", &second.handle).unwrap();
    assert_eq!(names(&inspector), ["a", "b"]);
}

#[test]
fn a_loop_that_is_gone_is_shown_with_its_last_figures() {
    let inspector = inspector();
    let running = Running::start(None);
    inspector.watch("main", &running.handle).unwrap();
    wait_for(&inspector, |state| !state.loops[0].why_alive.reasons.is_empty());
    drop(running);
    let gone = &wait_for(&inspector, |state| state.loops[0].state == "terminated").loops[0];
    assert!(gone.metrics.as_ref().unwrap().ticks > 0);
    assert_eq!(gone.why_alive.unanswered, None, "nobody is waited for");

    let next = Running::start(None);
    inspector.watch("main", &next.handle).unwrap();
    assert_ne!(state(&inspector).loops[0].state, "terminated", "the name is free again");
}

#[test]
fn a_loop_without_metrics_is_shown_without_figures() {
    let inspector = inspector();
    let event_loop = EventLoop::new().unwrap();
    inspector.watch("main", &event_loop.handle()).unwrap();
    let found = &state(&inspector).loops[0];
    assert_eq!((found.metrics.as_ref(), &found.state[..]), (None, "awake"));
    assert!(found.why_alive.unanswered.is_some(), "nobody drives it");
    assert!(get(&inspector, "/metrics").content.ends_with("# EOF\n"));
    event_loop.run_until_idle().unwrap();
    let found = &state(&inspector).loops[0];
    assert!(found.why_alive.age.is_some(), "driven, it has answered");
}

// spec: MX-5
#[test]
fn a_loop_that_is_busy_is_shown_with_its_last_answer_and_where_it_is() {
    let inspector = inspector();
    let running = Running::start(Some(Duration::from_millis(20)));
    inspector.watch("main", &running.handle).unwrap();
    wait_for(&inspector, |state| state.loops[0].why_alive.age.is_some());
    let release = running.occupy();
    let stuck = wait_for(&inspector, |state| {
        state.loops[0].busy.is_some() && state.loops[0].why_alive.unanswered.is_some()
    });
    let found = &stuck.loops[0];
    let busy = found.busy.as_ref().unwrap();
    assert_eq!(busy.phase, Phase::External.to_string());
    assert!(busy.place.as_ref().unwrap().contains("inspector.rs:"), "{busy:?}");
    assert!(busy.duration >= 0.02 && !busy.is_over);
    assert_eq!(found.stalls.first(), Some(busy));
    assert_eq!(found.why_alive.reasons.len(), 1, "the last answer is kept");

    drop(release);
    let free = wait_for(&inspector, |state| {
        state.loops[0].busy.is_none() && state.loops[0].why_alive.unanswered.is_none()
    });
    assert!(free.loops[0].stalls[0].is_over);
    // On a machine with a load there may be others.
    assert!(free.loops[0].metrics.as_ref().unwrap().stalls >= 1);
}

// spec: MX-1
#[test]
fn a_loop_is_asked_by_one_task_however_many_look() {
    let inspector = inspector();
    let running = Running::start(None);
    inspector.watch("main", &running.handle).unwrap();
    let release = running.occupy();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(state(&inspector).loops[0].why_alive.unanswered.is_some()));
        }
    });
    wait_for(&inspector, |state| state.loops[0].why_alive.unanswered.unwrap() > 1.0);
    assert_eq!(running.handle.pending(), 1, "it was asked again before it had answered");
    drop(release);
    let answered = wait_for(&inspector, |state| state.loops[0].why_alive.age.is_some());
    assert_eq!(answered.loops[0].why_alive.unanswered, None);
    let asked = running.handle.metrics().unwrap().phase(Phase::Internal).callbacks;
    let most = 1 + start.elapsed().as_millis() as u64 / 900;
    assert!((1..=most).contains(&asked), "{asked} questions, {most} at the most");
}

#[test]
fn clients_that_do_not_finish_their_requests_hold_up_others_only_for_seconds() {
    let inspector = inspector();
    let address = inspector.local_addr();
    let mut halves: Vec<TcpStream> = (0..40).map(|_| connect(address)).collect();
    for half in &mut halves {
        half.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    }
    assert_eq!(get(&inspector, "/metrics").status, 200);
    // None of those that were served is still there.
    let mut rest = Vec::new();
    halves[0].read_to_end(&mut rest).unwrap();
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let inspector = inspector();
    let mut stream = connect(inspector.local_addr());
    let filler = "x".repeat(64 * 1024);
    let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {filler}\r\n\r\n");
    // Either that, or reading, fails if it was refused while more was on its way.
    let sent = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    assert!(sent.is_err() || read.is_err() || answer.starts_with(b"HTTP/1.1 431"), "{answer:?}");
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    assert_eq!(get(&inspector, "/").status, 200);
}

#[test]
fn nonsense_is_no_harm() {
    let inspector = inspector();
    for nonsense in ["\r\n\r\n\r\n", "\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
        let mut stream = connect(inspector.local_addr());
        stream.write_all(nonsense.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{nonsense:?}");
    }
    assert_eq!(get(&inspector, "/").status, 200);
}

#[test]
fn after_the_end_the_port_is_free() {
    let inspector = inspector();
    let running = Running::start(None);
    inspector.watch("main", &running.handle).unwrap();
    let address = inspector.local_addr();
    let waiting = connect(address);
    inspector.stop();
    let error = TcpStream::connect(address).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    drop(waiting);
    Inspector::serve(address).unwrap().stop();
}

#[test]
fn it_can_be_dropped_while_a_question_is_open() {
    let inspector = inspector();
    let running = Running::start(None);
    inspector.watch("main", &running.handle).unwrap();
    let release = running.occupy();
    assert!(state(&inspector).loops[0].why_alive.unanswered.is_some());
    drop(inspector);
    drop(release);
    let (done, is_done) = channel();
    running.handle.submit(move |_| done.send(()).unwrap()).unwrap();
    is_done.recv_timeout(PATIENCE).unwrap();
}
