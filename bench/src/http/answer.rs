//! What every server answers, and whether it does.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::{Request, Response};

/// What is sent by who does not use hyper: as long as what hyper sends, which has the date of the day.
pub const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\n\
    content-type: text/plain\r\n\
    content-length: 13\r\n\
    date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
    \r\n\
    Hello, world!";

/// What an answer ends with.
const BODY: &[u8] = b"Hello, world!";

/// A server that does not answer for so long never will.
const SILENCE: Duration = Duration::from_secs(5);

/// The same options for every server that uses hyper: its defaults, which have no timer.
pub fn http1() -> http1::Builder {
    http1::Builder::new()
}

/// The service of every server that uses hyper.
pub async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(BODY)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// Sees that the server answers, two requests that come at once as well, as all others do.
pub fn check(port: u16) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server listens");
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    for requests in [&request[..], &[&request[..], &request[..]].concat()] {
        stream.write_all(requests).unwrap();
        for _ in 0..requests.len() / request.len() {
            let answer = read(&mut stream);
            assert_eq!(without_date(&answer), without_date(ANSWER), "each answers the same");
        }
    }
}

/// Reads until the end of an answer.
fn read(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    while !answer.ends_with(BODY) {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the server answers");
        answer.extend(byte);
    }
    answer
}

/// The lines of an answer but the date. Names in capitals are the same, and that a connection is kept need not
/// be said: Node does both.
fn without_date(answer: &[u8]) -> Vec<String> {
    let answer = answer.escape_ascii().to_string().to_ascii_lowercase();
    let lines = answer.split("\\r\\n").map(str::to_owned);
    lines.filter(|line| !line.starts_with("date: ") && line != "connection: keep-alive").collect()
}
