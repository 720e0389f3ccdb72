//! Echo through watchers: both ends of each connection are on one loop, and bytes are read and written by callbacks.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;

use mainspring::{Cx, Watch};
use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::run::Run;
use crate::ledger::{CONNECTIONS, Ticket, WATCHED};
use crate::random::Random;

/// What all of them share.
struct Echo {
    run: Arc<Run>,
    random: RefCell<Random>,
    /// For connections over TCP.
    listener: TcpListener,
}

/// Keeps so many connections open until the run is over.
pub(crate) fn start(cx: &Cx, run: &Arc<Run>, connections: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let random = RefCell::new(Random::new(21));
    let echo = Rc::new(Echo { run: Arc::clone(run), random, listener });
    (0..connections).try_for_each(|number| connect(cx, &echo, number))
}

/// Makes a connection, and lets it talk. When it ends, another one takes its place.
fn connect(cx: &Cx, echo: &Rc<Echo>, number: usize) -> io::Result<()> {
    let (ours, theirs) = echo.pair(number)?;
    let is_edge_triggered = number.is_multiple_of(3);
    let answer = Watch::new().read(answer);
    let answer = if is_edge_triggered { answer.edge_triggered() } else { answer };
    cx.watch(theirs, answer).map_err(mainspring::Error::from)?;
    let client = Rc::new(Client {
        socket: ours,
        echo: Rc::clone(echo),
        number,
        message: RefCell::default(),
        received: Cell::new(0),
        waits: RefCell::new(None),
        left: Cell::new(echo.random.borrow_mut().within(1..100)),
        open: RefCell::new(Some(CONNECTIONS.issue())),
    });
    let listen = Watch::new().read(|cx, client: &Rc<Client>| client.on_readable(cx));
    cx.watch(Rc::clone(&client), listen).map_err(mainspring::Error::from)?;
    client.send(cx);
    Ok(())
}

impl Echo {
    /// Two sockets that are connected, and do not block.
    fn pair(&self, number: usize) -> io::Result<(OwnedFd, OwnedFd)> {
        let (one, other): (OwnedFd, OwnedFd) = if number.is_multiple_of(2) {
            let (one, other) = UnixStream::pair()?;
            (one.into(), other.into())
        } else {
            let one = TcpStream::connect(self.listener.local_addr()?)?;
            one.set_nodelay(true)?;
            let (other, _) = self.listener.accept()?;
            (one.into(), other.into())
        };
        ioctl_fionbio(&one, true)?;
        ioctl_fionbio(&other, true)?;
        Ok((one, other))
    }
}

/// The end that sends everything back. Messages are short and few, so there is always room.
fn answer(cx: &Cx, socket: &OwnedFd) {
    let mut bytes = [0; 4096];
    loop {
        match read(socket, &mut bytes) {
            Ok(count) if count > 0 && write(socket, &bytes[..count]) == Ok(count) => {}
            Err(Errno::AGAIN) => return,
            Err(Errno::INTR) => {}
            // The end, in good order or not.
            _ => {
                cx.unwatch(socket.as_raw_fd());
                return;
            }
        }
    }
}

/// The end that sends something, waits until it has come back, and does so again after a while.
struct Client {
    socket: OwnedFd,
    echo: Rc<Echo>,
    number: usize,
    message: RefCell<Vec<u8>>,
    received: Cell<usize>,
    /// There while an answer is waited for.
    waits: RefCell<Option<Ticket>>,
    /// Messages before the end.
    left: Cell<u64>,
    open: RefCell<Option<Ticket>>,
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Client {
    fn send(&self, cx: &Cx) {
        let mut message = self.message.borrow_mut();
        let first = self.echo.random.borrow_mut().next();
        message.clear();
        message.extend((0..1 + first % 1000).map(|byte| (first ^ byte) as u8));
        self.received.set(0);
        let is_last = self.left.get() == 0 || self.echo.run.is_over();
        // Now and then, nobody waits for the last answer: the connection is cut.
        if is_last && !first.is_multiple_of(4) {
            return self.close(cx);
        }
        assert_eq!(write(&self.socket, &message), Ok(message.len()), "there is room");
        if is_last {
            return self.close(cx);
        }
        self.left.set(self.left.get() - 1);
        *self.waits.borrow_mut() = Some(WATCHED.issue());
    }

    fn on_readable(self: &Rc<Self>, cx: &Cx) {
        let mut bytes = [0; 2048];
        let count = match read(&self.socket, &mut bytes) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(error) => panic!("an answer failed: {error}"),
        };
        let from = self.received.get();
        let expected = self.message.borrow();
        assert_eq!(expected.get(from..from + count), Some(&bytes[..count]), "what was sent");
        assert!(count > 0, "the other end does not close first");
        self.received.set(from + count);
        if self.received.get() < expected.len() {
            return;
        }
        if let Some(ticket) = self.waits.take() {
            ticket.run();
        }
        let pause = self.echo.random.borrow_mut().milliseconds(1..200);
        let client = Rc::clone(self);
        let set = cx.set_timeout(pause, move |cx| client.send(cx));
        assert!(set.is_ok(), "the loop has not ended");
    }

    /// Closes the connection, as nobody else has it, and makes another one.
    fn close(&self, cx: &Cx) {
        cx.unwatch(self.socket.as_raw_fd());
        if let Some(ticket) = self.open.take() {
            ticket.run();
        }
        if !self.echo.run.is_over() {
            connect(cx, &self.echo, self.number).expect("there are descriptors left");
        }
    }
}
