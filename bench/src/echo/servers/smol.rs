//! smol: a task for each connection, with a buffer of its own, in an executor of one thread.

use std::net::TcpStream;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::{Async, LocalExecutor, block_on};

use super::BUFFER;

pub fn run(streams: Vec<TcpStream>) {
    let executor = LocalExecutor::new();
    let tasks: Vec<_> = streams
        .into_iter()
        .map(|stream| Async::new_nonblocking(stream).unwrap())
        .map(|stream| executor.spawn(connection(stream)))
        .collect();
    block_on(executor.run(async {
        for task in tasks {
            task.await;
        }
    }));
}

async fn connection(mut stream: Async<TcpStream>) {
    let mut buffer = [0; BUFFER];
    loop {
        let count = stream.read(&mut buffer).await.unwrap();
        if count == 0 {
            return;
        }
        stream.write_all(&buffer[..count]).await.unwrap();
    }
}
