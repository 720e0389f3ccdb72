//! An HTTPS server with `hyper` and `rustls`: HTTP/1.1 and HTTP/2, as the client wishes.
//!
//! ```sh
//! cargo run -p mainspring-examples --example https_server -- 127.0.0.1:8443 certificate.pem
//! curl --cacert certificate.pem https://127.0.0.1:8443/
//! curl --cacert certificate.pem --http1.1 --data-binary @Cargo.lock https://127.0.0.1:8443/echo
//! ```
//!
//! It makes its certificate when it starts, and writes it to the file, for clients to trust. Ctrl-C ends it, a second one at
//! once.

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_rustls::TlsAcceptor;
use futures_rustls::pki_types::PrivateKeyDer;
use futures_rustls::rustls::ServerConfig;
use futures_rustls::server::TlsStream;
use futures_util::future::{Either, select};
use http_body_util::{Either as Body, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use mainspring::hyper::{HyperExecutor, HyperIo, HyperTimer};
use mainspring::net::{TcpListener, TcpStream};
use mainspring::{AsyncSignals, Cx, EventLoop};

const USAGE: &str = "usage: https_server ADDRESS CERTIFICATE_FILE_TO_WRITE";
/// For a handshake, and for the connections that are there at the end.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (address, file) = (arguments.next().ok_or(USAGE)?, arguments.next().ok_or(USAGE)?);
    let identity = rcgen::generate_simple_self_signed(["localhost".into(), "127.0.0.1".into()])?;
    fs::write(file, identity.cert.pem())?;
    let key = PrivateKeyDer::Pkcs8(identity.signing_key.serialize_der().into());
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.into()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

    let event_loop = EventLoop::new()?;
    let tls = TlsAcceptor::from(Arc::new(config));
    event_loop.block_on(serve(event_loop.cx(), &address, tls))??;
    event_loop.cx().shutdown();
    event_loop.run()?; // whatever is left
    println!("ended");
    Ok(())
}

async fn serve(cx: &Cx, address: &str, tls: TlsAcceptor) -> Result<(), Box<dyn Error>> {
    let signals = AsyncSignals::termination(cx)?;
    let listener = TcpListener::bind(cx, address).await?;
    println!("listening on https://{}", listener.local_addr()?);

    let mut server = auto::Builder::new(HyperExecutor::new(cx));
    server.http1().timer(HyperTimer::new(cx));
    server.http2().timer(HyperTimer::new(cx));
    let connections = GracefulShutdown::new();
    let mut signal = pin!(signals.recv());
    loop {
        let stream = match select(pin!(listener.accept()), &mut signal).await {
            Either::Left((accepted, _)) => accepted?.0,
            Either::Right(_) => break,
        };
        let (cx, tls, server) = (cx.clone(), tls.clone(), server.clone());
        let watcher = connections.watcher();
        cx.clone().spawn_local(async move {
            let stream = match shake_hands(&cx, &tls, stream).await {
                Ok(stream) => HyperIo::new(stream),
                Err(error) => return eprintln!("a handshake failed: {error}"),
            };
            let connection = server.serve_connection(stream, service_fn(answer));
            if let Err(error) = watcher.watch(connection).await {
                eprintln!("a connection failed: {error}");
            }
        });
    }

    drop(listener);
    println!("ending, {} connections to finish", connections.count());
    let finishing = cx.timeout(PATIENCE, connections.shutdown());
    match select(pin!(finishing), pin!(signals.recv())).await {
        Either::Left((Ok(()), _)) => {}
        _ => eprintln!("some did not finish"),
    }
    Ok(())
}

async fn shake_hands(
    cx: &Cx,
    tls: &TlsAcceptor,
    stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    stream.set_nodelay(true)?;
    cx.timeout(PATIENCE, tls.accept(stream)).await.map_err(io::Error::other)?
}

async fn answer(
    request: Request<Incoming>,
) -> Result<Response<Body<Full<Bytes>, Incoming>>, Infallible> {
    if request.uri().path() == "/echo" {
        return Ok(Response::new(Body::Right(request.into_body())));
    }
    let text = format!("hello over {:?} and TLS\n", request.version());
    let mut reply = Response::new(Body::Left(Full::default()));
    reply.headers_mut().insert(CONTENT_LENGTH, text.len().into());
    // With HTTP/2 it is for us to leave the content out.
    if request.method() != Method::HEAD {
        *reply.body_mut() = Body::Left(Full::from(text));
    }
    Ok(reply)
}
