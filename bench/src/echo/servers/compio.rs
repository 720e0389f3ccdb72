//! compio, by io_uring: a task for each connection, with a buffer that is lent to each operation.

use std::net::TcpStream;

use compio::buf::{IntoInner, IoBuf};
use compio::driver::{DriverType, ProactorBuilder};
use compio::io::{AsyncRead, AsyncWriteExt};
use compio::runtime::RuntimeBuilder;

use super::{BUFFER, EVENTS};

pub fn run(streams: Vec<TcpStream>) {
    let mut driver = ProactorBuilder::new();
    driver.capacity(EVENTS as u32).driver_type(DriverType::IoUring);
    driver.single_issuer(true).defer_taskrun(true);
    let runtime = RuntimeBuilder::new().with_proactor(driver).build().unwrap();
    for stream in &streams {
        // io_uring waits only for what would block.
        stream.set_nonblocking(false).unwrap();
    }
    runtime.block_on(async {
        let tasks: Vec<_> = streams
            .into_iter()
            .map(|stream| compio::net::TcpStream::from_std(stream).unwrap())
            .map(|stream| compio::runtime::spawn(connection(stream)))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

async fn connection(mut stream: compio::net::TcpStream) {
    let mut buffer = Vec::with_capacity(BUFFER);
    loop {
        let (count, read_into) = stream.read(buffer).await.unwrap();
        if count == 0 {
            return;
        }
        let ((), slice) = stream.write_all(read_into.slice(..count)).await.unwrap();
        buffer = slice.into_inner();
        buffer.clear();
    }
}
