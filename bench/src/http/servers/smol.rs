//! smol: a task for each connection, in an executor for each thread. All wait with the one reactor of the
//! process.

use std::net::{TcpListener, TcpStream};

use hyper::service::service_fn;
use smol::{Async, LocalExecutor, block_on};
use smol_hyper::rt::FuturesIo;

use crate::http::answer::{hello, http1};

pub fn run(listener: TcpListener) {
    let executor = LocalExecutor::new();
    let listener = Async::new_nonblocking(listener).unwrap();
    block_on(executor.run(async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.get_ref().set_nodelay(true).unwrap();
            executor.spawn(connection(stream)).detach();
        }
    }));
}

async fn connection(stream: Async<TcpStream>) {
    // A client that is gone may have reset the connection. wrk sees other errors.
    let _ = http1().serve_connection(FuturesIo::new(stream), service_fn(hello)).await;
}
