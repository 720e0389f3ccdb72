//! The HTTP client, with the servers of Python and Node.

mod common;

use std::process::Command;

use common::{Directory, Process, Server, assert_same, example, noise, run, stdout};

const MEGABYTE: usize = 1 << 20;

/// Python's server of files. It says where it is in its own way.
fn python(directory: &Directory, version: &str) -> (Process, String) {
    let arguments = ["-u", "-m", "http.server", "--bind", "127.0.0.1", "--protocol", version];
    let mut python = Command::new("python3");
    python.args(arguments).args(["--directory", &directory.file(""), "0"]);
    let mut server = Process::start(&mut python);
    let line = server.line();
    let url =
        line.split_once("(http").and_then(|(_, rest)| rest.split_once('/')?.1.split_once('/'));
    let url = url.and_then(|(_, rest)| rest.split_once('/')).unwrap_or_else(|| panic!("{line}")).0;
    (server, format!("http://{url}"))
}

/// A server in Node. `server` is what the script calls it.
fn node(script: &str) -> Server {
    let listen = "
        server.listen(0, '127.0.0.1', () =>
            console.log('listening on http://127.0.0.1:' + server.address().port));";
    Server::start(Command::new("node").args(["-e", &format!("{script}{listen}")]))
}

// spec: BX-1
#[test]
fn files_come_one_after_the_other_in_one_connection() {
    let directory = Directory::new("files_come");
    let content = noise(10 * MEGABYTE);
    directory.write("large", &content);
    directory.write("small", "small\n");
    directory.write("empty", "");
    let (_server, url) = python(&directory, "HTTP/1.1");
    let paths = ["small", "large", "empty", "small"].map(|name| format!("{url}/{name}"));
    let got = stdout(example("http_client").args(paths));
    assert_same(&got, &[b"small\n", &*content, b"small\n"].concat());
}

// spec: BX-1
#[test]
fn a_body_that_ends_with_its_connection_is_complete() {
    let directory = Directory::new("ends_with");
    let content = noise(MEGABYTE);
    directory.write("file", &content);
    let (_server, url) = python(&directory, "HTTP/1.0");
    assert_same(&stdout(example("http_client").arg(format!("{url}/file"))), &content);
}

// spec: BX-1
#[test]
fn an_answer_that_is_an_error_is_an_answer() {
    let directory = Directory::new("an_error");
    let (_server, url) = python(&directory, "HTTP/1.1");
    let output = run(example("http_client").arg(format!("{url}/nothing")));
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "HTTP/1.1 404 Not Found\n");
    assert!(String::from_utf8_lossy(&output.stdout).contains("404"));
}

// spec: BX-1
#[test]
fn a_body_that_is_cut_off_is_an_error() {
    let server = node(
        "const server = require('http').createServer((request, response) => {
            response.writeHead(200, { 'Content-Length': 1000 });
            response.write('not a thousand', () => response.destroy());
        });",
    );
    let output = run(example("http_client").arg(&server.url));
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"");
}

// spec: BX-1
#[test]
fn a_server_that_is_not_there_is_an_error() {
    let server = node("const server = require('http').createServer();");
    let url = server.url.clone();
    drop(server);
    let output = run(example("http_client").arg(url));
    assert!(!output.status.success());
    let complaint = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(complaint.contains("refused"), "{complaint}");
}

// spec: BX-1
#[test]
fn requests_are_under_way_at_the_same_time() {
    // It answers the first one when it has got the last one.
    let server = node(
        "const streams = [];
        const server = require('http2').createServer();
        server.on('session', session => session.setLocalWindowSize(1 << 20));
        server.on('stream', (stream, headers) => {
            streams.push([stream, headers[':path']]);
            if (streams.length == 100)
                for (const [stream, path] of streams.reverse()) stream.end(path + '\\n');
        });",
    );
    let urls = (1..=100).map(|number| server.url(&format!("/{number}")));
    let got = stdout(example("http_client").arg("--http2").args(urls));
    let expected: String = (1..=100).map(|number| format!("/{number}\n")).collect();
    assert_eq!(String::from_utf8(got).unwrap(), expected);
}

// spec: BX-1
#[test]
fn what_is_posted_comes_back() {
    let directory = Directory::new("what_is_posted");
    let content = noise(10 * MEGABYTE);
    let file = directory.write("content", &content);
    let http2 = node(
        "const server = require('http2').createServer();
        server.on('stream', stream => { stream.respond(); stream.pipe(stream); });",
    );
    let url = &http2.url;
    let got = stdout(example("http_client").args(["--http2", "--post", &file, url, url]));
    assert_same(&got, &[&*content, &*content].concat());

    let http1 = node(
        "const server = require('http').createServer((request, response) =>
            request.pipe(response));",
    );
    let url = &http1.url;
    let got = stdout(example("http_client").args(["--post", &file, url, url]));
    assert_same(&got, &[&*content, &*content].concat());
}
