//! monoio: a task for each connection, with a buffer that is lent to each operation; by epoll, which it calls
//! the legacy driver, or by io_uring.

use std::net::TcpStream;

use monoio::buf::IoBufMut;
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::{IoUringDriver, LegacyDriver, RuntimeBuilder};

use super::{BUFFER, EVENTS, uring};

pub fn run_epoll(streams: Vec<TcpStream>) {
    let mut runtime =
        RuntimeBuilder::<LegacyDriver>::new().with_entries(EVENTS as u32).build().unwrap();
    runtime.block_on(serve(streams));
}

pub fn run_uring(streams: Vec<TcpStream>) {
    let builder = RuntimeBuilder::<IoUringDriver>::new().with_entries(EVENTS as u32);
    let mut runtime = builder.uring_builder(uring::builder()).build().unwrap();
    for stream in &streams {
        // io_uring waits only for what would block.
        stream.set_nonblocking(false).unwrap();
    }
    runtime.block_on(serve(streams));
}

async fn serve(streams: Vec<TcpStream>) {
    let tasks: Vec<_> = streams
        .into_iter()
        .map(|stream| monoio::net::TcpStream::from_std(stream).unwrap())
        .map(|stream| monoio::spawn(connection(stream)))
        .collect();
    for task in tasks {
        task.await;
    }
}

async fn connection(mut stream: monoio::net::TcpStream) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let (read, read_into) = stream.read(buffer).await;
        let count = read.unwrap();
        if count == 0 {
            return;
        }
        let (written, slice) = stream.write_all(read_into.slice_mut(..count)).await;
        written.unwrap();
        buffer = slice.into_inner();
    }
}
