//! A server on a thread of its own, which sends back what it is sent, and counts its clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mainspring::net::{TcpListener, TcpStream};
use mainspring::{Cx, Deadline, EventLoop, Handle, Shutdown};

/// How many connections there were, and how many have ended.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) accepted: AtomicU64,
    pub(super) ended: AtomicU64,
    /// Bytes that were read.
    pub(super) read: AtomicU64,
    /// Times that something was sent back.
    pub(super) answered: AtomicU64,
}

/// Accepts connections and serves each by a future, until the loop ends.
pub(super) fn serve(cx: &Cx, listener: TcpListener, traffic: &Arc<Traffic>) {
    let (context, traffic) = (cx.clone(), Arc::clone(traffic));
    let listening = cx.spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            traffic.accepted.fetch_add(1, SeqCst);
            let traffic = Arc::clone(&traffic);
            context.spawn_local(async move {
                // How it ended is the client's affair.
                drop(echo(&stream, &traffic).await);
                drop(stream);
                traffic.ended.fetch_add(1, SeqCst);
            });
        }
    });
    listening.reference(false);
}

/// Reads no more before what was read is written: a client that does not read is not read from.
async fn echo(stream: &TcpStream, traffic: &Traffic) -> io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        let count = stream.read(&mut bytes).await?;
        if count == 0 {
            return Ok(());
        }
        traffic.read.fetch_add(count as u64, SeqCst);
        stream.write_all(&bytes[..count]).await?;
        traffic.answered.fetch_add(1, SeqCst);
    }
}

/// A loop with a server, on a thread of its own.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) traffic: Arc<Traffic>,
    handle: Handle,
    thread: JoinHandle<()>,
}

impl Server {
    /// The function puts a server for a listener on the loop.
    pub(super) fn start(
        furnish: impl FnOnce(&Cx, std::net::TcpListener, &Arc<Traffic>) -> io::Result<()>
        + Send
        + 'static,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let traffic = Arc::new(Traffic::default());
        let theirs = Arc::clone(&traffic);
        let (sender, receiver) = channel();
        let thread = thread::Builder::new().name("server".into()).spawn(move || {
            let event_loop = EventLoop::new().expect("there are descriptors left");
            furnish(event_loop.cx(), listener, &theirs).expect("it is the loop's first one");
            sender.send(event_loop.handle()).expect("somebody waits for it");
            event_loop.run().expect("it is driven once");
        })?;
        let handle = receiver.recv().expect("the loop can be made");
        Ok(Self { address, traffic, handle, thread })
    }

    /// Waits until all connections that were accepted have ended.
    pub(super) fn wait_for_silence(&self) {
        while self.traffic.ended.load(SeqCst) < self.traffic.accepted.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the loop. Tells whether that dropped nothing.
    pub(super) fn end(self) -> bool {
        let outcome = self.handle.shutdown(Deadline::NEVER);
        drop(self.handle);
        self.thread.join().is_ok() && matches!(outcome, Ok(Shutdown::Finished { dropped: 0 }))
    }
}
