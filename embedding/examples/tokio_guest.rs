//! A crate that works with tokio only, in futures of a Mainspring loop: a WebSocket that echoes, and its client.
//!
//! `cargo run -p mainspring-embedding --example tokio_guest`

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use mainspring::EventLoop;
use mainspring_embedding::TokioGuest;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{accept_async, connect_async};

async fn echo(stream: TcpStream) -> Result<(), tungstenite::Error> {
    let mut socket = accept_async(stream).await?;
    while let Some(message) = socket.next().await {
        match message? {
            Message::Close(_) => break,
            message => socket.send(message).await?,
        }
    }
    Ok(())
}

async fn client(url: String, ticks: Rc<Cell<u32>>) -> Result<(), tungstenite::Error> {
    let (mut socket, _) = connect_async(url).await?;
    for i in 0..5 {
        socket.send(Message::text(format!("message {i}"))).await?;
        if let Some(answer) = socket.next().await {
            // The `Rc` is shared with a callback of the loop: all of this is one thread.
            println!("{} after {} ticks", answer?, ticks.get());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    socket.close(None).await
}

fn main() -> Result<(), Box<dyn Error>> {
    let tokio = TokioGuest::new()?;
    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx().clone();
    let ticks = Rc::new(Cell::new(0));
    let counted = Rc::clone(&ticks);
    cx.set_interval(Duration::from_millis(1), move |_| counted.set(counted.get() + 1))?;

    let inside = tokio.clone();
    let session = tokio.wrap(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("ws://{}/", listener.local_addr()?);
        let client = inside.spawn_local(&cx, client(url, ticks));
        let (stream, _) = listener.accept().await?;
        echo(stream).await?;
        client.await??;
        Ok::<(), Box<dyn Error>>(())
    });
    event_loop.block_on(session)?
}
