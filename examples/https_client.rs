//! An HTTPS client with `hyper` and `rustls`: HTTP/2 if the server can, otherwise HTTP/1.1.
//!
//! ```sh
//! cargo run -p mainspring-examples --example https_client -- certificate.pem https://127.0.0.1:8443/
//! ```
//!
//! It trusts the certificates in the file, and no others.

use std::error::Error;
use std::io::{Write, stdout};
use std::sync::Arc;

use futures_rustls::TlsConnector;
use futures_rustls::pki_types::pem::PemObject;
use futures_rustls::pki_types::{CertificateDer, ServerName};
use futures_rustls::rustls::{ClientConfig, RootCertStore};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{Request, Uri};
use mainspring::hyper::{HyperExecutor, HyperIo};
use mainspring::net::TcpStream;
use mainspring::{Cx, EventLoop};

const USAGE: &str = "usage: https_client CERTIFICATES_FILE https://HOST[:PORT]/PATH";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut trusted = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(arguments.next().ok_or(USAGE)?)? {
        trusted.add(certificate?)?;
    }
    let uri: Uri = arguments.next().ok_or(USAGE)?.parse()?;
    let mut config = ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

    let event_loop = EventLoop::new()?;
    let tls = TlsConnector::from(Arc::new(config));
    let body = event_loop.block_on(fetch(event_loop.cx(), &tls, &uri))??;
    stdout().write_all(&body)?;
    event_loop.run_until_idle()?; // the connection ends too
    Ok(())
}

async fn fetch(cx: &Cx, tls: &TlsConnector, uri: &Uri) -> Result<Bytes, Box<dyn Error>> {
    let host = uri.host().ok_or(USAGE)?.trim_matches(['[', ']']).to_owned();
    let stream = TcpStream::connect(cx, (host.as_str(), uri.port_u16().unwrap_or(443))).await?;
    let stream = tls.connect(ServerName::try_from(host)?, stream).await?;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = HyperIo::new(stream);

    let request = Request::builder();
    let response = if is_http2 {
        let executor = HyperExecutor::new(cx);
        let (mut sender, connection) = http2::handshake(executor, stream).await?;
        cx.spawn_local(report(connection));
        sender.send_request(request.uri(uri).body(Empty::<Bytes>::new())?).await?
    } else {
        let (mut sender, connection) = http1::handshake(stream).await?;
        cx.spawn_local(report(connection));
        let host = uri.authority().ok_or(USAGE)?.as_str();
        let path = uri.path_and_query().ok_or(USAGE)?.as_str();
        let request = request.header(HOST, host).uri(path);
        sender.send_request(request.body(Empty::<Bytes>::new())?).await?
    };
    eprintln!("{:?} {}", response.version(), response.status());
    Ok(response.into_body().collect().await?.to_bytes())
}

/// The connection is a future of its own: it moves the bytes.
async fn report(connection: impl Future<Output = hyper::Result<()>>) {
    if let Err(error) = connection.await {
        eprintln!("the connection failed: {error}");
    }
}
