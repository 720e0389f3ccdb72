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

/// A server that does not answer for so long never will.
const SILENCE: Duration = Duration::from_secs(5);

/// The same options for every server that uses hyper: its defaults, which have no timer.
pub fn http1() -> http1::Builder {
    http1::Builder::new()
}

/// The service of every server that uses hyper.
pub async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, world!")));
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
        let mut answers = vec![0; requests.len() / request.len() * ANSWER.len()];
        stream.read_exact(&mut answers).expect("the server answers");
        for answer in answers.chunks(ANSWER.len()) {
            let (answer, expected) = (answer.escape_ascii(), ANSWER.escape_ascii());
            let (answer, expected) = (answer.to_string(), expected.to_string());
            assert_eq!(without_date(&answer), without_date(&expected), "each answers the same");
        }
    }
}

/// The text before the date and after it.
fn without_date(answer: &str) -> Option<(&str, &str)> {
    let (before, rest) = answer.split_once("date: ")?;
    Some((before, rest.split_once(" GMT")?.1))
}
