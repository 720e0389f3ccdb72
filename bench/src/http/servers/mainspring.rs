//! mainspring: a future for each connection, on the loop of a group that has accepted it.

use std::net::Ipv4Addr;
use std::thread;

use hyper::service::service_fn;
use mainspring::LoopGroup;
use mainspring::net::TcpStream;

use super::THREADS;
use crate::http::answer::{hello, http1};

/// The group makes a listener for each loop, as the other servers do for each thread.
pub fn run(say_port: impl FnOnce(u16)) {
    let group = LoopGroup::builder().loops(THREADS).build().unwrap();
    let address = group.listen((Ipv4Addr::LOCALHOST, 0), |_, stream| connection(stream)).unwrap();
    say_port(address.port());
    loop {
        thread::park();
    }
}

async fn connection(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    // A client that is gone may have reset the connection. wrk sees other errors.
    let _ = http1().serve_connection(stream, service_fn(hello)).await;
}
