//! tokio: a task for each connection, on a pool of threads, or on this one.

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use super::THREADS;
use crate::http::answer::{hello, http1};

/// One runtime with its scheduler for many threads. What accepts is a task of them, too: elsewhere it would
/// be on a thread of its own.
pub fn run(listener: std::net::TcpListener) {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(accept(listener)).await.unwrap() });
}

/// One of several runtimes, each for one thread.
pub fn run_on_this_thread(listener: std::net::TcpListener) {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(accept(listener));
}

async fn accept(listener: std::net::TcpListener) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(connection(stream));
    }
}

async fn connection(stream: TcpStream) {
    // A client that is gone may have reset the connection. wrk sees other errors.
    let _ = http1().serve_connection(TokioIo::new(stream), service_fn(hello)).await;
}
