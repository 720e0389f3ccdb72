//! An HTTP server with `hyper`: HTTP/1.1 and HTTP/2 on one port, in one thread.
//!
//! ```sh
//! cargo run -p mainspring-examples --example http_server -- 127.0.0.1:8080
//! curl http://127.0.0.1:8080/
//! curl --http2-prior-knowledge --data-binary @Cargo.lock http://127.0.0.1:8080/echo
//! ```
//!
//! Ctrl-C or SIGTERM ends it: it takes no more connections, and answers the requests that are under way, which have
//! some seconds for that. A second one ends it at once. Without an address the system chooses a port. A second
//! argument says how many milliseconds a client may take for the head of a request.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use mainspring::hyper::{HyperExecutor, HyperTimer};
use mainspring::net::TcpListener;
use mainspring::{AsyncSignals, Cx, EventLoop};

const GRACE: Duration = Duration::from_secs(10);

/// Either text of our own, or what the client is sending.
type Body = UnsyncBoxBody<Bytes, hyper::Error>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".into());
    let patience = match arguments.next() {
        Some(milliseconds) => Duration::from_millis(milliseconds.parse()?),
        None => Duration::from_secs(30),
    };
    let event_loop = EventLoop::new()?;
    event_loop.block_on(serve(event_loop.cx(), &address, patience))??;
    event_loop.cx().shutdown();
    event_loop.run()?; // whatever is left
    println!("ended");
    Ok(())
}

async fn serve(cx: &Cx, address: &str, patience: Duration) -> Result<(), Box<dyn Error>> {
    let signals = AsyncSignals::termination(cx)?;
    let listener = TcpListener::bind(cx, address).await?;
    println!("listening on http://{}", listener.local_addr()?);

    let mut server = auto::Builder::new(HyperExecutor::new(cx));
    server.http1().timer(HyperTimer::new(cx)).header_read_timeout(patience);
    server.http2().timer(HyperTimer::new(cx));
    let connections = GracefulShutdown::new();
    let mut signal = pin!(signals.recv());
    loop {
        let stream = match select(pin!(listener.accept()), &mut signal).await {
            Either::Left((accepted, _)) => accepted?.0,
            Either::Right(_) => break,
        };
        if stream.set_nodelay(true).is_err() {
            continue; // it is gone already
        }
        let connection = server.serve_connection(stream, service_fn(answer)).into_owned();
        let connection = connections.watch(connection);
        cx.spawn_local(async {
            if let Err(error) = connection.await {
                eprintln!("a connection failed: {error}");
            }
        });
    }

    drop(listener);
    println!("ending, {} connections to finish", connections.count());
    let finishing = cx.timeout(GRACE, connections.shutdown());
    match select(pin!(finishing), pin!(signals.recv())).await {
        Either::Left((Ok(()), _)) => {}
        _ => eprintln!("some did not finish"),
    }
    Ok(())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let is_head = request.method() == Method::HEAD;
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/") => {
            text(StatusCode::OK, is_head, format!("hello over {:?}\n", request.version()))
        }
        (&Method::POST | &Method::PUT, "/echo") => echo(request.into_body()).await?,
        (_, "/" | "/echo") => text(StatusCode::METHOD_NOT_ALLOWED, is_head, "not like this\n"),
        _ => text(StatusCode::NOT_FOUND, is_head, "not here\n"),
    })
}

/// Sends back what comes, as it comes: nothing is collected, and who does not read is not read from.
async fn echo(mut body: Incoming) -> Result<Response<Body>, hyper::Error> {
    // The answer begins when the content does: until we ask for that, a client may wait for our `100 Continue`.
    let first = body.frame().await.transpose()?;
    let frames = stream::iter(first).map(Ok).chain(BodyStream::new(body));
    Ok(Response::new(StreamBody::new(frames).boxed_unsync()))
}

fn text(status: StatusCode, is_head: bool, text: impl Into<String>) -> Response<Body> {
    let text = text.into();
    let reply = Response::builder().status(status).header(CONTENT_LENGTH, text.len());
    let text = if is_head { String::new() } else { text };
    let body = Full::from(text).map_err(|never| match never {}).boxed_unsync();
    reply.body(body).expect("there is nothing invalid in it")
}
