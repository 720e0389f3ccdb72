//! compio: a task for each connection, in a runtime for each thread, on io_uring. What it reads and writes goes
//! through a buffer of its own, because hyper does not lend its buffers.

use std::net::TcpListener;

use compio::io::compat::AsyncStream;
use compio::net::TcpStream;
use compio::runtime::Runtime;
use hyper::service::service_fn;
use smol_hyper::rt::FuturesIo;

use crate::http::answer::{hello, http1};

/// Whether the system has io_uring: nothing else was asked for.
pub fn is_available() -> bool {
    Runtime::new().is_ok()
}

pub fn run(listener: TcpListener) {
    Runtime::new().unwrap().block_on(async {
        let listener = compio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            compio::runtime::spawn(connection(stream)).detach();
        }
    });
}

async fn connection(stream: TcpStream) {
    let stream = FuturesIo::new(Box::pin(AsyncStream::new(stream)));
    // A client that is gone may have reset the connection. wrk sees other errors.
    let _ = http1().serve_connection(stream, service_fn(hello)).await;
}
