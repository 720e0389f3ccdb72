//! As much of HTTP as a page that is only read needs.

use std::io;
use std::time::Duration;

use mainspring::{Cx, net::TcpStream};

/// The longest head of a request.
const HEAD: usize = 8 << 10;

/// How long a request and its answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Response {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Response {
    pub(super) fn html(body: &str) -> Self {
        Self { status: "200 OK", kind: "text/html; charset=utf-8", body: body.into() }
    }

    pub(super) fn json(body: String) -> Self {
        Self { status: "200 OK", kind: "application/json", body }
    }

    pub(super) fn text(status: &'static str, body: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }
}

/// Reads one request, and answers it. Nobody is told if that fails.
pub(super) async fn answer(
    cx: &Cx,
    stream: &TcpStream,
    answer: impl AsyncFnOnce(&str, Option<&str>) -> Response,
) {
    let exchange = async {
        let head = read_head(stream).await?;
        let (method, path, host) = parse(&head);
        let response = match method {
            "GET" | "HEAD" => answer(path, host).await,
            _ => Response::text("405 Method Not Allowed", "this page can only be read"),
        };
        write(stream, &response, method == "HEAD").await
    };
    // Whoever is too slow, or gone, gets nothing.
    let _ = cx.timeout(PATIENCE, exchange).await;
}

async fn read_head(stream: &TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut part).await?;
        if n == 0 || head.len() + n > HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&part[..n]);
    }
    String::from_utf8(head).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The method, the path, and the host that was asked for.
fn parse(head: &str) -> (&str, &str, Option<&str>) {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    let host = fields.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    (method, path, host.map(|(_, value)| value.trim()))
}

async fn write(stream: &TcpStream, response: &Response, is_head: bool) -> io::Result<()> {
    let Response { status, kind, body } = response;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; \
         style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
    );
    let text = if is_head { head } else { head + body };
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown(std::net::Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_request_is_understood() {
        let head = "GET /stats?x=1 HTTP/1.1\r\nAccept: */*\r\nhOsT:  localhost:1 \r\n\r\n";
        assert_eq!(parse(head), ("GET", "/stats", Some("localhost:1")));
        assert_eq!(parse("\r\n\r\n"), ("", "", None));
    }
}
