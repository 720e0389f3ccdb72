//! Sockets that accept connections.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::time::Duration;

use mainspring::{Cx, Interest, TimerId, Watch, Watcher};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, shutdown, sockopt};

use super::stream::Stream;
use super::{
    Event, Handle, Net, Outcome, Owner, address, number, number_or_error, refused, socket, status,
};
use crate::Host;
use crate::ops::Args;

/// How long to wait if no connection can be accepted, such as for want of a descriptor. It waits in the backlog meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// So many attempts in a row that come to nothing are not the connections' fault: one may be ended by somebody who shares it.
const MOST_FAILED: u32 = 16;

/// A socket that listens.
pub(super) struct Listener {
    id: usize,
    net: Owner,
    socket: OwnedFd,
    /// Removed when it is closed.
    path: Option<PathBuf>,
    watcher: RefCell<Option<Watcher<Weak<Listener>>>>,
    is_referenced: Cell<bool>,
    /// What ends the pause, and keeps the loop alive meanwhile in place of the watcher.
    pause: RefCell<Option<(Cx, TimerId)>>,
    /// How many attempts in a row came to nothing.
    failed: Cell<u32>,
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

impl Listener {
    /// Begins to accept.
    fn start(host: &Host, socket: OwnedFd, path: Option<PathBuf>) -> Result<usize, Errno> {
        let net = Net::of(host);
        let id = net.insert(|id| {
            Handle::Listener(Rc::new(Self {
                id,
                net: Rc::downgrade(&net),
                socket,
                path,
                watcher: RefCell::default(),
                is_referenced: Cell::new(true),
                pause: RefCell::default(),
                failed: Cell::new(0),
            }))
        });
        let Handle::Listener(listener) = net.get(id)? else { return Err(Errno::BADF) };
        let watch = Watch::new().read(|cx, listener: &Self| listener.accept(cx));
        match host.cx().watch_weak(&listener, watch) {
            Ok(watcher) => {
                listener.watcher.replace(Some(watcher));
                Ok(id)
            }
            Err(error) => {
                net.handles.borrow_mut().remove(id);
                Err(refused(error.error()))
            }
        }
    }

    /// One at a time: each is a callback of its own to the script, with a checkpoint behind it.
    fn accept(&self, cx: &Cx) {
        let Some(net) = self.net.upgrade() else { return };
        match socket::accept(&self.socket) {
            Ok(socket) => {
                self.failed.set(0);
                let new = net.insert(|id| {
                    Handle::Stream(Rc::new(Stream::new(id, Rc::downgrade(&net), socket)))
                });
                net.emit(cx, self.id, Event::Connection, number(new));
            }
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => self.pause(cx),
            // Nobody is there any more.
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => {
                self.failed.set(self.failed.get() + 1);
                if self.failed.get() == MOST_FAILED {
                    self.failed.set(0);
                    self.pause(cx);
                }
            }
            // It may last, and the script may not care.
            Err(error) => {
                self.pause(cx);
                net.emit(cx, self.id, Event::Connection, status(Err(error)));
            }
        }
    }

    /// Lets the loop not spin while nothing can be accepted.
    fn pause(&self, cx: &Cx) {
        let Some(net) = self.net.upgrade() else { return };
        let Ok(Handle::Listener(listener)) = net.get(self.id) else { return };
        self.listen_for(Interest::NONE);
        let paused = Rc::downgrade(&listener);
        let timer = cx.set_timeout(PAUSE, move |_| {
            if let Some(listener) = paused.upgrade() {
                listener.pause.take();
                listener.listen_for(Interest::READ);
            }
        });
        // It fails only if the loop is at its end.
        self.pause.replace(timer.ok().map(|timer| (cx.clone(), timer)));
        self.reference(self.is_referenced.get());
    }

    fn listen_for(&self, interest: Interest) {
        if let Some(watcher) = &*self.watcher.borrow() {
            // It fails only if the loop is at its end.
            let _ = watcher.modify(interest);
        }
    }

    /// Whether the loop stays alive because of it.
    pub(super) fn keeps_alive(&self) -> bool {
        self.is_referenced.get() && self.watcher.borrow().is_some()
    }

    pub(super) fn reference(&self, is_referenced: bool) {
        self.is_referenced.set(is_referenced);
        if let Some((cx, timer)) = &*self.pause.borrow() {
            let _ = cx.reference_timer(*timer, is_referenced);
        }
        if let Some(watcher) = &*self.watcher.borrow() {
            let _ = watcher.reference(is_referenced);
        }
    }

    pub(super) fn close(&self) {
        if let Some((cx, timer)) = self.pause.take() {
            cx.clear_timeout(timer);
        }
        if let Some(watcher) = self.watcher.take() {
            watcher.unwatch();
            // The address is free at once, even if this is called by the listener's own callback.
            let _ = shutdown(&self.socket, Shutdown::Both);
            if let Some(path) = &self.path {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// `netListen(address, port, backlog, ipv6Only)`: a number.
pub(super) fn listen(host: &Host, mut args: Args<'_>) -> Outcome {
    let (ip, port) = (args.string(0)?, args.number(1)? as u16);
    let (backlog, ipv6_only) = (args.number(2)? as i32, args.bool(3)?);
    let open = || {
        let address = address::parse(&ip, port)?;
        let socket = socket::new(socket::family(&address))?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if address.is_ipv6() {
            sockopt::set_ipv6_v6only(&socket, ipv6_only)?;
        }
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, backlog)?;
        Listener::start(host, socket, None)
    };
    Ok(number_or_error(open()))
}

/// `netListenPath(path, backlog)`: a number.
pub(super) fn listen_path(host: &Host, mut args: Args<'_>) -> Outcome {
    let (path, backlog) = (args.string(0)?, args.number(1)? as i32);
    let open = || {
        let address = SocketAddrUnix::new(path.as_str())?;
        let socket = socket::new(AddressFamily::UNIX)?;
        // What scripts are told everywhere if the directory does not exist.
        rustix::net::bind(&socket, &address).map_err(|error| match error {
            Errno::NOENT => Errno::ACCESS,
            error => error,
        })?;
        rustix::net::listen(&socket, backlog)?;
        Listener::start(host, socket, Some(PathBuf::from(&path)))
    };
    Ok(number_or_error(open()))
}
