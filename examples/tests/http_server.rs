//! The HTTP server, with curl and wrk as its clients.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, Command};
use std::thread;

use common::{Directory, Process, Server, assert_same, curl, noise, run, stdout, text};
use rustix::process::Signal;

const VERSIONS: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];
const MEGABYTE: usize = 1 << 20;

fn server() -> Server {
    Server::example("http_server", &[])
}

// spec: BX-1
#[test]
fn one_port_speaks_all_versions() {
    let server = server();
    let hello = |version| text(&mut curl(&[version, &server.url("/")]));
    assert_eq!(hello("--http1.0"), "hello over HTTP/1.0\n");
    assert_eq!(hello("--http1.1"), "hello over HTTP/1.1\n");
    assert_eq!(hello("--http2-prior-knowledge"), "hello over HTTP/2.0\n");
    server.stop();
}

// spec: BX-1
#[test]
fn one_connection_serves_many_requests() {
    let server = server();
    let url = server.url("/?[1-50]");
    let said = text(&mut curl(&["--http1.1", "--write-out", "%{num_connects} ", &url]));
    assert_eq!(said.matches("hello over").count(), 50, "{said}");
    assert_eq!(said.matches("\n1 ").count(), 1, "{said}");
    assert_eq!(said.matches("\n0 ").count(), 49, "{said}");
    server.stop();
}

// spec: BX-1
#[test]
fn one_connection_serves_many_requests_at_the_same_time() {
    let server = server();
    let said = text(&mut node(
        &server,
        "
        const content = require('crypto').randomBytes(1 << 20);
        for (const round of [1, 2, 3]) {
            const requests = Array.from({ length: 50 }, () => ask('POST', '/echo', content));
            for (const { status, body } of await Promise.all(requests))
                if (status != 200 || !body.equals(content)) throw 'something else came back';
        }
        console.log('content');",
    ));
    assert_eq!(said, "content\n");
    server.stop();
}

// spec: BX-1
#[test]
fn ten_megabytes_come_back_as_they_were() {
    let server = server();
    let directory = Directory::new("ten_megabytes");
    let content = noise(10 * MEGABYTE);
    let data = format!("@{}", directory.write("content", &content));
    for version in VERSIONS {
        let arguments = [version, "--data-binary", &data, &server.url("/echo")];
        assert_same(&stdout(&mut curl(&arguments)), &content);
    }
    server.stop();
}

// spec: BX-1
#[test]
fn a_body_in_chunks_comes_back_in_chunks() {
    let server = server();
    let directory = Directory::new("chunks");
    let content = noise(3 * MEGABYTE + 1);
    let data = format!("@{}", directory.write("content", &content));
    let output = run(&mut curl(&[
        "--http1.1",
        "--verbose",
        "--header",
        "Transfer-Encoding: chunked",
        "--data-binary",
        &data,
        &server.url("/echo"),
    ]));
    let log = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(log.contains("< transfer-encoding: chunked"), "{log}");
    assert_same(&output.stdout, &content);
    server.stop();
}

// spec: BX-1
#[test]
fn a_client_that_asks_first_is_told_to_continue() {
    let server = server();
    let arguments =
        ["--http1.1", "--verbose", "--header", "Expect: 100-continue", "--expect100-timeout", "60"];
    let mut curl = curl(&arguments);
    let output = run(curl.args(["--data", "content", &server.url("/echo")]));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("< HTTP/1.1 100 Continue"), "{log}");
    assert_eq!(output.stdout, b"content");
    server.stop();
}

// spec: BX-1
#[test]
fn the_answer_to_head_has_no_body() {
    let server = server();
    // Two of them: what follows a body that should not be there would be taken for the next head.
    let url = server.url("/");
    let said = text(&mut curl(&["--http1.1", "--head", &url, &url])).to_lowercase();
    assert_eq!(said.matches("http/1.1 200 ok").count(), 2, "{said}");
    assert_eq!(said.matches("content-length: 20").count(), 2, "{said}");
    assert!(!said.contains("hello"), "{said}");

    let said = text(&mut node(
        &server,
        "
        for (const round of [1, 2]) {
            const { status, length, body } = await ask('HEAD', '/');
            console.log(status, length, body.length);
        }",
    ));
    assert_eq!(said, "200 20 0\n200 20 0\n");
    server.stop();
}

// spec: BX-1
#[test]
fn wrong_requests_are_refused() {
    let server = server();
    for version in VERSIONS {
        let status = |arguments: &[&str]| {
            let mut curl = curl(&[version, "--output", "-", "--write-out", "%{http_code}"]);
            text(curl.args(arguments))
        };
        assert_eq!(status(&[&server.url("/elsewhere")]), "not here\n404");
        assert_eq!(status(&["--request", "DELETE", &server.url("/")]), "not like this\n405");
    }
    let mut garbage = TcpStream::connect(server.address()).unwrap();
    garbage.write_all(b"\x16\x03\x01 is not HTTP\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    garbage.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&answer));
    server.stop();
}

// spec: BX-1
#[test]
fn clients_that_leave_half_way_harm_nobody() {
    let server = server();
    for version in VERSIONS {
        for _ in 0..3 {
            let (mut client, mut upload) = under_way(&server, version);
            // It does not all fit in between, so that there is something to be sent both ways.
            let uploading = thread::spawn(move || upload.write_all(&noise(10 * MEGABYTE)));
            client.bytes(1000);
            client.signal(Signal::KILL);
            assert!(!client.wait().0.success());
            assert!(uploading.join().unwrap().is_err(), "all was sent");
        }
        assert!(text(&mut curl(&[version, &server.url("/")])).starts_with("hello"));
    }
    server.stop();
}

// spec: BX-1
#[test]
fn what_is_under_way_at_the_end_is_finished() {
    for (signal, version) in [Signal::TERM, Signal::INT].into_iter().zip(VERSIONS) {
        let mut server = server();
        let _silent = TcpStream::connect(server.address()).unwrap();
        let (client, mut upload) = under_way(&server, version);
        server.process.signal(signal);
        let line = server.process.line();
        assert!(line.starts_with("ending"), "{line}");
        assert!(!run(&mut curl(&[&server.url("/")])).status.success(), "it still accepts");

        upload.write_all(b", and the last").unwrap();
        drop(upload);
        assert_eq!(client.finish(), b", and the last");
        assert_eq!(server.process.finish(), b"ended\n");
    }
}

// spec: BX-1
#[test]
fn a_second_signal_ends_it_at_once() {
    let mut server = server();
    let (client, upload) = under_way(&server, "--http1.1");
    server.process.signal(Signal::TERM);
    let line = server.process.line();
    assert_eq!(line, "ending, 1 connections to finish");
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.finish(), b"ended\n");
    drop(upload);
    assert!(!client.wait().0.success(), "the answer was cut off, and it does not mind");
}

// spec: BX-1
#[test]
fn who_takes_too_long_to_ask_is_sent_away() {
    let server = Server::example("http_server", &["127.0.0.1:0", "50"]);
    let mut slow = TcpStream::connect(server.address()).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    server.stop();
}

// spec: BX-1
#[test]
fn a_crowd_is_served_without_an_error() {
    let server = server();
    let mut wrk = Command::new("wrk");
    let said = text(wrk.args(["-t1", "-c200", "-d2s", "--latency", &server.url("/")]));
    println!("{said}");
    assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
    let requests = said.lines().find_map(|line| line.trim().split_once(" requests in")).unwrap().0;
    assert!(requests.parse::<u64>().unwrap() > 200, "{said}");
    server.stop();
}

/// The body of an asynchronous function in Node that can `ask` the server, all in one connection by HTTP/2. (Some
/// versions of curl cannot use one again that they did not negotiate: curl's issue 10634.)
fn node(server: &Server, body: &str) -> Command {
    let script = format!(
        "
        const session = require('http2').connect(process.argv[1], {{ maxSessionMemory: 1000 }});
        const ask = (method, path, content) => new Promise((resolve, reject) => {{
            const request = session.request({{ ':method': method, ':path': path }});
            const answer = {{}}, chunks = [];
            request.on('response', headers => {{
                answer.status = headers[':status'];
                answer.length = headers['content-length'];
            }});
            request.on('data', chunk => chunks.push(chunk));
            request.on('end', () => resolve({{ ...answer, body: Buffer.concat(chunks) }}));
            request.on('error', reject);
            request.end(content);
        }});
        (async () => {{ {body}; session.close(); }})();"
    );
    let mut node = Command::new("node");
    node.args(["-e", &script, &server.url]);
    node
}

/// A client whose upload has begun, and begun to come back.
fn under_way(server: &Server, version: &str) -> (Process, ChildStdin) {
    let mut client = Process::start(&mut curl(&[
        version,
        "--no-buffer",
        "--upload-file",
        ".",
        &server.url("/echo"),
    ]));
    let mut upload = client.stdin();
    upload.write_all(b"the first bytes").unwrap();
    assert_eq!(client.bytes(15), b"the first bytes");
    (client, upload)
}
