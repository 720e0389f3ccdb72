//! monoio: a task for each connection, in a runtime for each thread, on io_uring. hyper wants to know when it may
//! read, and does not lend its buffers: for that monoio has an epoll, which its ring waits for.

use std::net::TcpListener;

use hyper::service::service_fn;
use monoio::io::IntoPollIo;
use monoio::net::TcpStream;
use monoio::{FusionDriver, RuntimeBuilder};
use monoio_compat::hyper::MonoioIo;

use crate::http::answer::{hello, http1};

pub fn run(listener: TcpListener) {
    // io_uring if the system has it, else epoll.
    let mut runtime = RuntimeBuilder::<FusionDriver>::new().build().unwrap();
    runtime.block_on(async {
        let listener = monoio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            monoio::spawn(connection(stream));
        }
    });
}

async fn connection(stream: TcpStream) {
    let stream = MonoioIo::new(stream.into_poll_io().unwrap());
    // A client that is gone may have reset the connection. wrk sees other errors.
    let _ = http1().serve_connection(stream, service_fn(hello)).await;
}
