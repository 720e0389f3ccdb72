//! Connections.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::time::Duration;

use mainspring::{Cx, Interest, Watch, Watcher};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, RecvFlags, Shutdown, SocketAddrUnix, recv, send, sockopt};

use super::socket::{self, QUIET};
use super::{
    Event, Handle, Net, Outcome, Owner, READ, address, id, number, number_or_error, refused, soon,
    status,
};
use crate::ops::Args;
use crate::{Host, OpError, Value};

/// A connection, or one that is being made.
pub(super) struct Stream {
    id: usize,
    net: Owner,
    socket: OwnedFd,
    /// None before there is something to wait for.
    watcher: RefCell<Option<Watcher<Weak<Stream>>>>,
    is_referenced: Cell<bool>,
    is_connecting: Cell<bool>,
    is_reading: Cell<bool>,
    /// Whether our side writes no more.
    is_shut: Cell<bool>,
    unsent: RefCell<Unsent>,
    /// How many bytes the script has written, sent or not.
    written: Cell<usize>,
}

/// What the system has not taken yet.
#[derive(Default)]
struct Unsent {
    bytes: Vec<u8>,
    start: usize,
}

impl Unsent {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.unwatch();
    }
}

impl Stream {
    pub(super) fn new(id: usize, net: Owner, socket: OwnedFd) -> Self {
        Self {
            id,
            net,
            socket,
            watcher: RefCell::default(),
            is_referenced: Cell::new(true),
            is_connecting: Cell::new(false),
            is_reading: Cell::new(false),
            is_shut: Cell::new(false),
            unsent: RefCell::default(),
            written: Cell::new(0),
        }
    }

    pub(super) fn written(&self) -> usize {
        self.written.get()
    }

    /// Whether the loop stays alive because of it.
    pub(super) fn keeps_alive(&self) -> bool {
        self.is_referenced.get() && self.watcher.borrow().is_some()
    }

    pub(super) fn reference(&self, is_referenced: bool) {
        self.is_referenced.set(is_referenced);
        if let Some(watcher) = &*self.watcher.borrow() {
            // It fails only if the loop is at its end.
            let _ = watcher.reference(is_referenced);
        }
    }

    pub(super) fn unwatch(&self) {
        self.is_reading.set(false);
        if let Some(watcher) = self.watcher.take() {
            watcher.unwatch();
        }
    }

    /// Has the system forget what was not sent, and tell the other side.
    pub(super) fn reset(&self) {
        let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }

    fn interest(&self) -> Interest {
        let mut interest = Interest::NONE;
        if self.is_reading.get() {
            interest |= Interest::READ;
        }
        if self.is_connecting.get() || !self.unsent.borrow().bytes.is_empty() {
            interest |= Interest::WRITE;
        }
        interest
    }

    /// Waits for what there is to wait for now.
    fn watch(self: &Rc<Self>, cx: &Cx) -> Result<(), Errno> {
        let interest = self.interest();
        let mut watcher = self.watcher.borrow_mut();
        if let Some(watcher) = &*watcher {
            return watcher.modify(interest).map_err(|error| refused(&error));
        }
        let watch = Watch::new()
            .read(|cx, stream: &Self| stream.receive(cx))
            .write(|cx, stream: &Self| stream.proceed(cx))
            .interest(interest);
        let watch = if self.is_referenced.get() { watch } else { watch.unreferenced() };
        match cx.watch_weak(self, watch) {
            Ok(watched) => {
                *watcher = Some(watched);
                Ok(())
            }
            Err(error) => Err(refused(error.error())),
        }
    }

    /// As `watch`, when it is watched already.
    fn watch_again(&self) {
        if let Some(watcher) = &*self.watcher.borrow() {
            let _ = watcher.modify(self.interest());
        }
    }

    /// There is something to read. One part at a time: each is a callback of its own to the script.
    fn receive(&self, cx: &Cx) {
        let Some(net) = self.net.upgrade() else { return };
        let bytes = match self.receive_part(&net) {
            Err(Errno::AGAIN | Errno::INTR) => return,
            Ok(bytes) if !bytes.is_empty() => bytes,
            end => return self.finish_reading(&net, cx, end.map(drop)),
        };
        let is_short = bytes.len() < READ;
        net.emit(cx, self.id, Event::Data, bytes.into());
        // When both sides have ended, the end is not worth a tick of its own.
        if self.is_shut.get() && is_short && self.is_reading.get() && self.is_at_end() {
            self.finish_reading(&net, cx, Ok(()));
        }
    }

    fn is_at_end(&self) -> bool {
        matches!(recv(&self.socket, &mut [0], RecvFlags::PEEK), Ok((0, _)))
    }

    fn receive_part(&self, net: &Net) -> Result<Vec<u8>, Errno> {
        let mut buffer = net.buffer.borrow_mut();
        buffer.resize(READ, 0);
        let (length, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
        Ok(buffer[..length].to_vec())
    }

    fn finish_reading(&self, net: &Net, cx: &Cx, result: Result<(), Errno>) {
        self.is_reading.set(false);
        self.watch_again();
        net.emit(cx, self.id, Event::End, status(result));
    }

    /// There is room to write, or a connection was made, or not.
    fn proceed(&self, cx: &Cx) {
        let Some(net) = self.net.upgrade() else { return };
        if self.is_connecting.replace(false) {
            self.watch_again();
            let result = sockopt::socket_error(&self.socket).and_then(|result| result);
            net.emit(cx, self.id, Event::Connected, status(result));
            return;
        }
        let result = match self.send_unsent() {
            Err(Errno::AGAIN) => return,
            result => result,
        };
        self.unsent.take();
        self.watch_again();
        net.emit(cx, self.id, Event::Written, status(result));
    }

    /// Sends what waits. It would block if not all of it could be sent.
    fn send_unsent(&self) -> Result<(), Errno> {
        let mut unsent = self.unsent.borrow_mut();
        while !unsent.rest().is_empty() {
            unsent.start += retry_on_intr(|| send(&self.socket, unsent.rest(), QUIET))?;
        }
        Ok(())
    }

    /// Sends bytes, or begins to. Says whether some have to wait.
    fn send(self: &Rc<Self>, cx: &Cx, bytes: Vec<u8>) -> Result<bool, Errno> {
        self.written.set(self.written.get() + bytes.len());
        self.unsent.replace(Unsent { bytes, start: 0 });
        match self.send_unsent() {
            Err(Errno::AGAIN) => self.watch(cx).map(|()| true),
            result => {
                self.unsent.take();
                result.map(|()| false)
            }
        }
    }
}

/// Makes a connection.
fn start(
    host: &Host,
    family: AddressFamily,
    connect: impl FnOnce(&OwnedFd) -> Result<Result<(), Errno>, Errno>,
) -> Result<usize, Errno> {
    let socket = socket::new(family)?;
    let begun = connect(&socket)?;
    let net = Net::of(host);
    let id = net.insert(|id| Handle::Stream(Rc::new(Stream::new(id, Rc::downgrade(&net), socket))));
    let stream = net.stream(id)?;
    stream.is_connecting.set(true);
    let waits = match begun {
        // The loop tells of one that is made already, too.
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => stream.watch(host.cx()),
        Err(error) => Err(error),
    };
    if let Err(error) = waits {
        // Told later, as of any other connection that cannot be made.
        let owner = Rc::downgrade(&net);
        soon(host.cx(), move |cx| {
            let Some(net) = owner.upgrade() else { return };
            if net.stream(id).is_ok_and(|stream| stream.is_connecting.replace(false)) {
                net.emit(cx, id, Event::Connected, status(Err(error)));
            }
        });
    }
    Ok(id)
}

/// `netConnect(address, port, localAddress, localPort)`: a number. Whether it succeeds is told later.
pub(super) fn connect(host: &Host, mut args: Args<'_>) -> Outcome {
    let (ip, port) = (args.string(0)?, args.number(1)? as u16);
    let (local, local_port) = (args.take(2), args.number(3)? as u16);
    let open = || {
        let address = address::parse(&ip, port)?;
        start(host, socket::family(&address), |socket| {
            if let Value::String(local) = &local {
                rustix::net::bind(socket, &address::parse(local, local_port)?)?;
            }
            match rustix::net::connect(socket, &address) {
                // Whether a refusal comes at once or later depends on the system only.
                result @ (Ok(()) | Err(Errno::INPROGRESS | Errno::INTR | Errno::CONNREFUSED)) => {
                    Ok(result)
                }
                Err(error) => Err(error),
            }
        })
    };
    Ok(number_or_error(open()))
}

/// `netConnectPath(path)`: a number.
pub(super) fn connect_path(host: &Host, mut args: Args<'_>) -> Outcome {
    let path = args.string(0)?;
    let open = || {
        let address = SocketAddrUnix::new(path.as_str())?;
        start(host, AddressFamily::UNIX, |socket| Ok(rustix::net::connect(socket, &address)))
    };
    Ok(number_or_error(open()))
}

/// Does something with the stream whose number is the first argument.
fn with_stream(
    host: &Host,
    args: &mut Args<'_>,
    f: impl FnOnce(&Rc<Stream>) -> Result<(), Errno>,
) -> Outcome {
    let stream = Net::of(host).stream(id(args)?);
    Ok(status(stream.and_then(|stream| f(&stream))))
}

/// `netRead(id, isReading)`
pub(super) fn read(host: &Host, mut args: Args<'_>) -> Outcome {
    let is_reading = args.bool(1)?;
    with_stream(host, &mut args, |stream| {
        if stream.is_reading.replace(is_reading) == is_reading {
            return Ok(());
        }
        stream.watch(host.cx())
    })
}

/// `netWrite(id, bytes or several)`: 0 if all is written, 1 if some has to wait, which `Written` ends.
pub(super) fn write(host: &Host, mut args: Args<'_>) -> Outcome {
    let bytes = match args.take(1) {
        Value::Bytes(bytes) => bytes,
        Value::String(text) => text.into_bytes(),
        Value::Array(pieces) => join(pieces)?,
        _ => return Err(not_bytes()),
    };
    let stream = Net::of(host).stream(id(&mut args)?);
    let waits = stream.and_then(|stream| stream.send(host.cx(), bytes));
    Ok(number_or_error(waits.map(usize::from)))
}

/// Several pieces as one: to copy them costs less than to have the system go through them.
fn join(pieces: Vec<Value>) -> Result<Vec<u8>, OpError> {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Value::Bytes(piece) => bytes.extend_from_slice(&piece),
            Value::String(piece) => bytes.extend_from_slice(piece.as_bytes()),
            _ => return Err(not_bytes()),
        }
    }
    Ok(bytes)
}

fn not_bytes() -> OpError {
    OpError::type_error("ERR_INVALID_ARG_TYPE", "only bytes and strings can be written")
}

/// `netWritten(id)`: how many bytes were written, sent or not.
pub(super) fn written(host: &Host, mut args: Args<'_>) -> Outcome {
    let stream = Net::of(host).stream(id(&mut args)?);
    Ok(number(stream.map_or(0, |stream| stream.written())))
}

/// `netShutdown(id)`: nothing is written any more. `Shut` follows.
pub(super) fn shutdown(host: &Host, mut args: Args<'_>) -> Outcome {
    let net = Rc::downgrade(&Net::of(host));
    let id = id(&mut args)?;
    soon(host.cx(), move |cx| {
        let Some(net) = net.upgrade() else { return };
        // It may have been closed meanwhile.
        let Ok(stream) = net.stream(id) else { return };
        let result = rustix::net::shutdown(&stream.socket, Shutdown::Write);
        stream.is_shut.set(true);
        net.emit(cx, id, Event::Shut, status(result));
    });
    Ok(Value::Undefined)
}

/// `netNoDelay(id, isOn)`
pub(super) fn no_delay(host: &Host, mut args: Args<'_>) -> Outcome {
    let is_on = args.bool(1)?;
    with_stream(host, &mut args, |stream| sockopt::set_tcp_nodelay(&stream.socket, is_on))
}

/// `netKeepAlive(id, isOn, delay)`: the delay is in seconds, and 0 leaves it to the system.
pub(super) fn keep_alive(host: &Host, mut args: Args<'_>) -> Outcome {
    let (is_on, delay) = (args.bool(1)?, args.number(2)? as u64);
    with_stream(host, &mut args, |stream| {
        sockopt::set_socket_keepalive(&stream.socket, is_on)?;
        #[cfg(not(target_vendor = "apple"))]
        if is_on && delay > 0 {
            sockopt::set_tcp_keepidle(&stream.socket, Duration::from_secs(delay))?;
        }
        Ok(())
    })
}
