//! tokio, on one thread: a task for each connection, with a buffer of its own.

use std::net::TcpStream;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;

use super::BUFFER;

pub fn run(streams: Vec<TcpStream>) {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = streams
            .into_iter()
            .map(|stream| tokio::net::TcpStream::from_std(stream).unwrap())
            .map(|stream| tokio::spawn(connection(stream)))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

async fn connection(mut stream: tokio::net::TcpStream) {
    let mut buffer = [0; BUFFER];
    loop {
        let count = stream.read(&mut buffer).await.unwrap();
        if count == 0 {
            return;
        }
        stream.write_all(&buffer[..count]).await.unwrap();
    }
}
