//! An HTTP client with `hyper`: HTTP/1.1 or HTTP/2, all requests in one connection.
//!
//! ```sh
//! cargo run -p mainspring-examples --example http_client -- http://127.0.0.1:8080/
//! cargo run -p mainspring-examples --example http_client -- --http2 http://127.0.0.1:8080/ http://127.0.0.1:8080/
//! cargo run -p mainspring-examples --example http_client -- --post Cargo.lock http://127.0.0.1:8080/echo
//! ```
//!
//! With HTTP/1.1 one follows the other, with HTTP/2 all are asked for at once. The bodies are written in the
//! order of the addresses.

use std::error::Error;
use std::fs;
use std::io::{Write, stdout};

use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{Method, Request, Response, Uri};
use mainspring::hyper::HyperExecutor;
use mainspring::net::TcpStream;
use mainspring::{Cx, EventLoop};

const USAGE: &str = "usage: http_client [--http2] [--post FILE] http://HOST[:PORT]/PATH...";

/// What the command line asks for.
#[derive(Default)]
struct Task {
    is_http2: bool,
    /// Sent with each request.
    body: Option<Bytes>,
    /// All of one server.
    uris: Vec<Uri>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut task = Task::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--http2" => task.is_http2 = true,
            "--post" => task.body = Some(fs::read(arguments.next().ok_or(USAGE)?)?.into()),
            uri => task.uris.push(uri.parse()?),
        }
    }
    let event_loop = EventLoop::new()?;
    let bodies = event_loop.block_on(fetch(event_loop.cx(), &task))??;
    for body in bodies {
        stdout().write_all(&body)?;
    }
    event_loop.run_until_idle()?; // the connection ends too
    Ok(())
}

async fn fetch(cx: &Cx, task: &Task) -> Result<Vec<Bytes>, Box<dyn Error>> {
    let first = task.uris.first().ok_or(USAGE)?;
    let host = first.host().ok_or(USAGE)?.trim_matches(['[', ']']);
    let stream = TcpStream::connect(cx, (host, first.port_u16().unwrap_or(80))).await?;
    let requests = task.uris.iter().map(|uri| request(task, uri));

    if task.is_http2 {
        let executor = HyperExecutor::new(cx);
        let (sender, connection) = http2::handshake(executor, stream).await?;
        cx.spawn_local(report(connection));
        try_join_all(requests.map(|request| {
            let mut sender = sender.clone();
            async move { read(sender.send_request(request?).await?).await }
        }))
        .await
    } else {
        let (mut sender, connection) = http1::handshake(stream).await?;
        cx.spawn_local(report(connection));
        let mut bodies = Vec::new();
        for request in requests {
            sender.ready().await?;
            bodies.push(read(sender.send_request(request?).await?).await?);
        }
        Ok(bodies)
    }
}

/// HTTP/2 wants the whole address in its request, HTTP/1.1 the path, and the host as a header.
fn request(task: &Task, uri: &Uri) -> Result<Request<Full<Bytes>>, Box<dyn Error>> {
    let mut request = Request::builder();
    if task.body.is_some() {
        request = request.method(Method::POST);
    }
    if task.is_http2 {
        request = request.uri(uri);
    } else {
        let host = uri.authority().ok_or(USAGE)?.as_str();
        request = request.header(HOST, host).uri(uri.path_and_query().ok_or(USAGE)?.as_str());
    }
    Ok(request.body(Full::new(task.body.clone().unwrap_or_default()))?)
}

async fn read(response: Response<Incoming>) -> Result<Bytes, Box<dyn Error>> {
    eprintln!("{:?} {}", response.version(), response.status());
    Ok(response.into_body().collect().await?.to_bytes())
}

/// The connection is a future of its own: it moves the bytes.
async fn report(connection: impl Future<Output = hyper::Result<()>>) {
    if let Err(error) = connection.await {
        eprintln!("the connection failed: {error}");
    }
}
