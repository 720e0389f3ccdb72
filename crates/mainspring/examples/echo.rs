//! A TCP server that sends back what it is sent, and stops reading from those who do not read.
//!
//! `cargo run --example echo` serves itself for a moment and ends;
//! `cargo run --example echo -- 127.0.0.1:7000` serves others until it is killed: try `nc 127.0.0.1 7000`.

use std::cell::RefCell;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::thread;

use mainspring::{Cx, EventLoop, Interest, Watch};

/// A client, and what could not be sent to it yet.
struct Client {
    stream: TcpStream,
    unsent: RefCell<Vec<u8>>,
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Client {
    /// Something came, or the end.
    fn on_readable(&self, cx: &Cx) -> io::Result<()> {
        let mut bytes = [0; 4096];
        match (&self.stream).read(&mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => {
                self.unsent.borrow_mut().extend_from_slice(&bytes[..n]);
                self.on_writable(cx)
            }
        }
    }

    /// Sends what it can. As long as something is left, nothing more is read.
    fn on_writable(&self, cx: &Cx) -> io::Result<()> {
        let mut unsent = self.unsent.borrow_mut();
        while !unsent.is_empty() {
            match (&self.stream).write(&unsent) {
                Ok(n) => drop(unsent.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.expect(cx, Interest::WRITE);
                }
                Err(error) => return Err(error),
            }
        }
        if unsent.capacity() > 1 << 16 {
            unsent.shrink_to_fit();
        }
        self.expect(cx, Interest::READ)
    }

    fn expect(&self, cx: &Cx, interest: Interest) -> io::Result<()> {
        cx.modify_fd(self.stream.as_raw_fd(), interest).map_err(io::Error::other)
    }
}

/// Goes on, or hangs up.
fn settle(cx: &Cx, client: &Client, result: io::Result<()>) {
    match result {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        // The client is dropped, and by that the connection is closed.
        Err(_) => drop(cx.unwatch(client.stream.as_raw_fd())),
    }
}

fn accept(cx: &Cx, listener: &TcpListener) {
    while let Ok((stream, _)) = listener.accept() {
        if stream.set_nonblocking(true).is_err() {
            continue;
        }
        let client = Client { stream, unsent: RefCell::default() };
        let watch = Watch::new()
            .read(|cx, client: &Client| settle(cx, client, client.on_readable(cx)))
            .write(|cx, client| settle(cx, client, client.on_writable(cx)))
            .interest(Interest::READ);
        if let Err(error) = cx.watch(client, watch) {
            eprintln!("a client was turned away: {error}");
        }
    }
}

/// Sends a lot, reads it back, and says so.
fn talk(server: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(server)?;
    let mut sender = stream.try_clone()?;
    let text = b"So it goes. ".repeat(100_000);
    let sent = text.clone();
    let writer = thread::spawn(move || {
        sender.write_all(&sent)?;
        sender.shutdown(Shutdown::Write)
    });
    let mut received = vec![0; text.len()];
    stream.read_exact(&mut received)?;
    writer.join().expect("the thread does not panic")?;
    assert!(received == text, "everything comes back as it was");
    println!("{} bytes there and back", received.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0"))?;
    listener.set_nonblocking(true)?;
    let server = listener.local_addr()?;

    let event_loop = EventLoop::new()?;
    event_loop.cx().watch(listener, Watch::new().read(accept))?;
    if address.is_some() {
        println!("serving on {server}");
    } else {
        let handle = event_loop.handle();
        thread::spawn(move || {
            talk(server).expect("the server is here");
            handle.submit(|cx| cx.shutdown()).expect("the loop runs");
        });
    }
    event_loop.run()?;
    Ok(())
}
