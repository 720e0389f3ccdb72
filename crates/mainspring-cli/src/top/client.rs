//! Asks a program for its state.

use std::fmt;
use std::io;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use mainspring::Cx;
use mainspring::net::TcpStream;
use mainspring_inspect::model::{State, VERSION};
use serde_json::Value;

use super::address::Address;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long it may be, in bytes. A loop has some kilobytes of figures.
const SIZE: usize = 64 << 20;

/// Why there is no state.
#[derive(Debug)]
pub(super) enum Failure {
    Unreachable(io::Error),
    /// It took too long.
    Late,
    Http(hyper::Error),
    Refused(StatusCode),
    /// What came is no state of an inspector.
    Nonsense(String),
    /// It is one, but of another version.
    Version(u64),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => error.fmt(f),
            Self::Late => write!(f, "no answer within {PATIENCE:?}"),
            Self::Http(error) => error.fmt(f),
            Self::Refused(status) => write!(f, "the answer is {status}"),
            Self::Nonsense(why) => write!(f, "the answer is none of an inspector: {why}"),
            Self::Version(version) => write!(
                f,
                "the program is of another version: its figures are version {version}, this is for {VERSION}"
            ),
        }
    }
}

/// Reads an answer.
pub(super) fn parse(text: &[u8]) -> Result<State, Failure> {
    let nonsense = |error: serde_json::Error| Failure::Nonsense(error.to_string());
    let value: Value = serde_json::from_slice(text).map_err(nonsense)?;
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version != u64::from(VERSION) => Err(Failure::Version(version)),
        _ => serde_json::from_value(value).map_err(nonsense),
    }
}

/// Asks for the state, and gives it as it comes.
pub(super) async fn ask(cx: &Cx, address: &Address) -> Result<Bytes, Failure> {
    match cx.timeout(PATIENCE, exchange(cx, address)).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::Late),
    }
}

async fn exchange(cx: &Cx, address: &Address) -> Result<Bytes, Failure> {
    let stream = TcpStream::connect(cx, (address.host.as_str(), address.port))
        .await
        .map_err(Failure::Unreachable)?;
    let (mut sender, connection) = http1::handshake(stream).await.map_err(Failure::Http)?;
    // It moves the bytes. What goes wrong is told to whoever waits for them.
    let connection = cx.spawn_local(async { drop(connection.await) }).abort_on_drop();
    let request = Request::get(&address.path)
        .header(HOST, address.authority())
        .body(Empty::<Bytes>::new())
        .map_err(|error| Failure::Nonsense(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(Failure::Http)?;
    if response.status() != StatusCode::OK {
        return Err(Failure::Refused(response.status()));
    }
    let body = Limited::new(response.into_body(), SIZE).collect().await;
    drop(connection);
    Ok(body.map_err(|error| Failure::Nonsense(error.to_string()))?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_state_is_said_to_be_none() {
        for (text, word) in [
            ("", "none of an inspector"),
            ("<html>", "none of an inspector"),
            ("{}", "missing field"),
            (r#"{"version":1}"#, "missing field"),
            (r#"{"version":7}"#, "version 7"),
        ] {
            let failure = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(failure.contains(word), "{text}: {failure}");
        }
    }
}
