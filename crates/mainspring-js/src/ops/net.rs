//! Sockets: streams and listeners, by number.
//!
//! The script gives one function for all of them, which is called as `(id, event, value)` whenever something
//! happens. What an operation cannot do it says by a negative number, that of the system's error.

mod address;
mod listener;
mod socket;
mod stream;

use std::cell::{Cell, RefCell};
use std::mem::replace;
use std::os::fd::AsFd;
use std::rc::{Rc, Weak};

use mainspring::Cx;
use rustix::io::Errno;
use slab::Slab;

use self::listener::Listener;
use self::stream::Stream;
use super::{Args, Op};
use crate::{Callback, Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] = &[
    ("netAddress", address::of_handle),
    ("netClose", close),
    ("netConnect", stream::connect),
    ("netConnectPath", stream::connect_path),
    ("netDispatch", set_dispatch),
    ("netIsIP", address::is_ip),
    ("netKeepAlive", stream::keep_alive),
    ("netListen", listener::listen),
    ("netListenPath", listener::listen_path),
    ("netLookup", address::lookup),
    ("netNoDelay", stream::no_delay),
    ("netRead", stream::read),
    ("netRef", reference),
    ("netShutdown", stream::shutdown),
    ("netWrite", stream::write),
    ("netWritten", stream::written),
];

/// The sockets that keep the loop alive, for a person.
pub(super) fn reasons(host: &Host) -> Vec<String> {
    let net = Net::of(host);
    let handles = net.handles.borrow();
    let reason = |(_, handle): (usize, &Handle)| match handle {
        Handle::Listener(server) if server.keeps_alive() => {
            Some(format!("a server on {}", address::name(server.as_fd(), false)))
        }
        Handle::Stream(stream) if stream.keeps_alive() => {
            Some(format!("a connection to {}", address::name(stream.as_fd(), true)))
        }
        _ => None,
    };
    handles.iter().filter_map(reason).collect()
}

type Outcome = Result<Value, OpError>;

/// What the script is told of.
#[derive(Clone, Copy)]
enum Event {
    /// Bytes were read.
    Data = 0,
    /// The other side writes no more, or, with an error, nothing can be read.
    End = 1,
    /// A connection was made, or not.
    Connected = 2,
    /// What had to wait is written, or cannot be.
    Written = 3,
    /// Our side writes no more.
    Shut = 4,
    /// It is closed. Nothing comes after that.
    Closed = 5,
    /// A listener has accepted a connection, or, with an error, cannot.
    Connection = 6,
}

/// How much is read at a time.
const READ: usize = 64 * 1024;

/// The sockets of a script.
#[derive(Default)]
struct Net {
    dispatch: RefCell<Option<Callback>>,
    handles: RefCell<Slab<Handle>>,
    /// All streams read into this one.
    buffer: RefCell<Vec<u8>>,
    /// What was closed in this tick, and what is being told of: the last one first, which is the order of Node.
    closing: RefCell<Vec<usize>>,
    closed: RefCell<Vec<usize>>,
}

#[derive(Clone)]
enum Handle {
    Stream(Rc<Stream>),
    Listener(Rc<Listener>),
    /// Its number stays taken until the script knows, which could take another one's events for its own.
    Closed,
}

impl Net {
    fn of(host: &Host) -> Rc<Self> {
        host.resource(Self::default)
    }

    /// Calls the script.
    fn emit(&self, cx: &Cx, id: usize, event: Event, value: Value) {
        // Not borrowed during the call, which may do anything.
        let dispatch = self.dispatch.borrow().clone();
        if let Some(dispatch) = dispatch {
            let event = f64::from(event as u8);
            dispatch.call(cx, vec![number(id), event.into(), value]);
        }
    }

    /// Finds room for a handle, which is told its number.
    fn insert(&self, make: impl FnOnce(usize) -> Handle) -> usize {
        let mut handles = self.handles.borrow_mut();
        let entry = handles.vacant_entry();
        let id = entry.key();
        entry.insert(make(id));
        id
    }

    /// Tells of one that was closed. Called once for each of them, at the end of the tick.
    fn tell_closed(&self, cx: &Cx) {
        if self.closed.borrow().is_empty() {
            self.closed.swap(&self.closing);
        }
        let Some(id) = self.closed.borrow_mut().pop() else { return };
        self.emit(cx, id, Event::Closed, Value::Undefined);
        self.handles.borrow_mut().remove(id);
    }

    fn get(&self, id: usize) -> Result<Handle, Errno> {
        self.handles.borrow().get(id).cloned().ok_or(Errno::BADF)
    }

    fn stream(&self, id: usize) -> Result<Rc<Stream>, Errno> {
        match self.get(id)? {
            Handle::Stream(stream) => Ok(stream),
            Handle::Listener(_) | Handle::Closed => Err(Errno::BADF),
        }
    }
}

fn number(value: usize) -> Value {
    Value::Number(value as f64)
}

fn id(args: &mut Args<'_>) -> Result<usize, OpError> {
    Ok(args.number(0)? as usize)
}

/// A result as the script is told it: an error is a negative number, and success 0.
fn status(result: Result<(), Errno>) -> Value {
    Value::Number(result.err().map_or(0.0, |error| f64::from(-error.raw_os_error())))
}

/// Runs something as soon as the callback that runs now is done with: before the next poll, and before the
/// immediates if this is a poll. Whichever comes first does it.
fn soon(cx: &Cx, task: impl FnOnce(&Cx) + 'static) {
    fn run<F: FnOnce(&Cx)>(task: Rc<Cell<Option<F>>>) -> impl FnOnce(&Cx) {
        move |cx| {
            if let Some(task) = task.take() {
                task(cx);
            }
        }
    }
    let task = Rc::new(Cell::new(Some(task)));
    cx.set_immediate(run(Rc::clone(&task)));
    // If it is refused, the loop is at its end, and nobody is there to be told.
    drop(cx.submit_internal(run(task)));
}

/// A number, or that of an error, which is negative.
fn number_or_error(result: Result<usize, Errno>) -> Value {
    result.map_or_else(|error| status(Err(error)), number)
}

/// A refusal of the loop, as the system would put it.
fn refused(error: &mainspring::Error) -> Errno {
    match error {
        mainspring::Error::Io(error) => Errno::from_io_error(error).unwrap_or(Errno::IO),
        _ => Errno::CANCELED,
    }
}

/// The sockets, as what belongs to them sees them.
type Owner = Weak<Net>;

/// `netDispatch(function)`
fn set_dispatch(host: &Host, mut args: Args<'_>) -> Outcome {
    Net::of(host).dispatch.replace(Some(args.callback(0)?));
    Ok(Value::Undefined)
}

/// `netRef(id, isReferenced)`
fn reference(host: &Host, mut args: Args<'_>) -> Outcome {
    let handle = Net::of(host).get(id(&mut args)?);
    let is_referenced = args.bool(1)?;
    match handle {
        Ok(Handle::Stream(stream)) => stream.reference(is_referenced),
        Ok(Handle::Listener(listener)) => listener.reference(is_referenced),
        Ok(Handle::Closed) | Err(_) => {}
    }
    Ok(Value::Undefined)
}

/// `netClose(id, reset)`: closes it now, says so at the end of the tick, and returns how many bytes were
/// written. A reset tells the other side that something is wrong.
fn close(host: &Host, mut args: Args<'_>) -> Outcome {
    let net = Net::of(host);
    let id = id(&mut args)?;
    let handle = net.handles.borrow_mut().get_mut(id).map(|handle| replace(handle, Handle::Closed));
    let written = match handle {
        Some(Handle::Stream(stream)) => {
            stream.unwatch();
            if args.bool(1)? {
                stream.reset();
            }
            stream.written()
        }
        Some(Handle::Listener(listener)) => {
            listener.close();
            0
        }
        Some(Handle::Closed) | None => return Ok(Value::Undefined),
    };
    net.closing.borrow_mut().push(id);
    let owner = Rc::downgrade(&net);
    host.cx().queue_close(move |cx| {
        if let Some(net) = owner.upgrade() {
            net.tell_closed(cx);
        }
    });
    Ok(number(written))
}
