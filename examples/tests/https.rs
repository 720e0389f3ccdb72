//! The HTTPS server with curl, the HTTPS client with OpenSSL and Node.

mod common;

use std::io::Write;
use std::process::Command;

use common::{Directory, Process, Server, assert_same, curl, example, noise, run, stdout, text};
use rustix::process::Signal;

const VERSIONS: [&str; 2] = ["--http1.1", "--http2"];
const MEGABYTE: usize = 1 << 20;

/// The server, and the file with its certificate.
fn server(directory: &Directory) -> (Server, String) {
    let file = directory.file("certificate.pem");
    (Server::example("https_server", &["127.0.0.1:0", &file]), file)
}

/// A certificate for this machine and its key, in files.
fn identity(directory: &Directory) -> (String, String) {
    let names = ["localhost".into(), "127.0.0.1".into()];
    let identity = rcgen::generate_simple_self_signed(names).unwrap();
    let certificate = directory.write("certificate.pem", identity.cert.pem());
    (certificate, directory.write("key.pem", identity.signing_key.serialize_pem()))
}

// spec: BX-1
#[test]
fn client_and_server_agree_on_a_version() {
    let directory = Directory::new("agree");
    let (server, certificate) = server(&directory);
    let url = server.url("/");
    for tls in ["1.2", "1.3"] {
        let hello =
            |version| text(&mut curl(&["--cacert", &certificate, "--tls-max", tls, version, &url]));
        assert_eq!(hello("--http1.1"), "hello over HTTP/1.1 and TLS\n");
        assert_eq!(hello("--http2"), "hello over HTTP/2.0 and TLS\n");
        // Nothing is said about it: HTTP/1.1.
        assert_eq!(hello("--no-alpn"), "hello over HTTP/1.1 and TLS\n");
    }
    server.stop();
}

// spec: BX-1
#[test]
fn one_connection_serves_many_requests() {
    let directory = Directory::new("tls_many");
    let (server, certificate) = server(&directory);
    let url = server.url("/?[1-50]");
    for version in VERSIONS {
        let arguments = ["--cacert", &certificate, version, "--write-out", "%{num_connects} "];
        let said = text(curl(&arguments).arg(&url));
        assert_eq!(said.matches("\n1 ").count(), 1, "{said}");
        assert_eq!(said.matches("\n0 ").count(), 49, "{said}");
    }
    server.stop();
}

// spec: BX-1
#[test]
fn ten_megabytes_come_back_as_they_were() {
    let directory = Directory::new("tls_ten_megabytes");
    let (server, certificate) = server(&directory);
    let content = noise(10 * MEGABYTE);
    let data = format!("@{}", directory.write("content", &content));
    let url = server.url("/echo");
    for version in VERSIONS {
        let arguments = ["--cacert", &certificate, version, "--data-binary", &data, &url];
        assert_same(&stdout(&mut curl(&arguments)), &content);
    }
    server.stop();
}

// spec: BX-1
#[test]
fn handshakes_that_fail_harm_nobody() {
    let directory = Directory::new("handshakes");
    let (server, certificate) = server(&directory);
    let url = server.url("/");
    const UNTRUSTED: i32 = 60;
    assert_eq!(run(&mut curl(&[&url])).status.code(), Some(UNTRUSTED));
    assert!(!run(&mut curl(&[&url.replace("https", "http")])).status.success());
    assert!(text(&mut curl(&["--cacert", &certificate, &url])).starts_with("hello"));
    server.stop();
}

// spec: BX-1
#[test]
fn what_is_under_way_at_the_end_is_finished() {
    let directory = Directory::new("tls_under_way");
    for version in VERSIONS {
        let (mut server, certificate) = server(&directory);
        let arguments = ["--cacert", &certificate, version, "--no-buffer", "--upload-file", "."];
        let mut client = Process::start(curl(&arguments).arg(server.url("/echo")));
        let mut upload = client.stdin();
        upload.write_all(b"the first bytes").unwrap();
        assert_eq!(client.bytes(15), b"the first bytes");

        server.process.signal(Signal::TERM);
        let line = server.process.line();
        assert!(line.starts_with("ending"), "{line}");
        upload.write_all(b", and the last").unwrap();
        drop(upload);
        assert_eq!(client.finish(), b", and the last");
        assert_eq!(server.process.finish(), b"ended\n");
    }
}

// spec: BX-1
#[test]
fn the_client_talks_to_openssl() {
    let directory = Directory::new("openssl");
    let (certificate, key) = identity(&directory);
    for tls in ["-tls1_2", "-tls1_3"] {
        let mut server = Process::start(Command::new("openssl").args([
            "s_server",
            "-accept",
            "127.0.0.1:0",
            "-www",
            tls,
            "-cert",
            &certificate,
            "-key",
            &key,
        ]));
        let address = loop {
            if let Some(address) = server.line().strip_prefix("ACCEPT ") {
                break address.to_owned();
            }
        };
        let url = format!("https://{address}/");
        let page = text(example("https_client").args([&certificate, &url]));
        let name = tls.replace("-tls", "TLSv").replace('_', ".");
        assert!(page.contains(&name) && page.trim_end().ends_with("</HTML>"), "{page}");
    }
}

// spec: BX-1
#[test]
fn the_client_talks_to_node() {
    let directory = Directory::new("node");
    let (certificate, key) = identity(&directory);
    let script = "
        const fs = require('fs'), [, certificate, key] = process.argv;
        const identity = { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) };
        const server = require('http2').createSecureServer(identity);
        server.on('stream', stream => stream.end('x'.repeat(5000000)));
        server.listen(0, '127.0.0.1', () =>
            console.log('listening on https://127.0.0.1:' + server.address().port));";
    let node = Server::start(Command::new("node").args(["-e", script, &certificate, &key]));
    let output = run(example("https_client").args([&certificate, &node.url]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "HTTP/2.0 200 OK\n");
    assert_same(&output.stdout, &[b'x'; 5_000_000]);
}

// spec: BX-1
#[test]
fn the_client_trusts_nobody_else() {
    let directory = Directory::new("trusts_nobody");
    let (server, _) = server(&directory);
    let elsewhere = Directory::new("trusts_nobody_else");
    let (other, _) = identity(&elsewhere);
    let output = run(example("https_client").args([&other, &server.url]));
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"");
    server.stop();
}
