//! The thread that serves the pages.
//!
//! Each connection carries one request and has a few seconds for all of it, and their number is limited; those beyond
//! it wait in the backlog. So a client that does not end its request, or does not read the answer, holds up others
//! for those seconds at the worst.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::task::{Poll, Waker};
use std::time::Duration;
use std::{io, net};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use mainspring::net::{TcpListener, TcpStream};
use mainspring::{Cx, EventLoop, Handle};

use crate::Error;
use crate::answer::{Hosts, answer};
use crate::watched::Loops;

/// How many connections are served at once.
const CONNECTIONS: usize = 32;
/// How long a connection may last.
const PATIENCE: Duration = Duration::from_secs(10);
/// The bytes of a request's head.
const HEAD: usize = 16 * 1024;

const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Serves until the loop is closed, whose handle is sent as soon as there is one.
pub(crate) fn run(
    listener: net::TcpListener,
    hosts: Hosts,
    loops: Arc<Loops>,
    started: &SyncSender<Result<Handle, Error>>,
) {
    let event_loop = match start(listener, hosts, loops) {
        Ok(event_loop) => event_loop,
        Err(error) => return started.send(Err(error)).unwrap_or_default(),
    };
    started.send(Ok(event_loop.handle())).unwrap_or_default();
    // It fails if it was closed before it began.
    let _ = event_loop.run();
}

fn start(listener: net::TcpListener, hosts: Hosts, loops: Arc<Loops>) -> Result<EventLoop, Error> {
    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    let listener = TcpListener::from_std(cx, listener)?;
    loops.sample();
    let sampled = loops.clone();
    cx.set_interval(SAMPLE_EVERY, move |_| sampled.sample()).map_err(mainspring::Error::from)?;
    let server = Rc::new(Server { cx: cx.clone(), loops, hosts, connections: Room::default() });
    cx.spawn_local(async move {
        // It fails only when the loop ends.
        let _ = server.accept(listener).await;
    });
    Ok(event_loop)
}

struct Server {
    cx: Cx,
    loops: Arc<Loops>,
    hosts: Hosts,
    connections: Room,
}

impl Server {
    async fn accept(self: Rc<Self>, listener: TcpListener) -> io::Result<()> {
        loop {
            self.connections.wait().await;
            let (stream, _) = listener.accept().await?;
            self.connections.enter();
            let server = self.clone();
            self.cx.spawn_local(async move {
                // Who is too slow, goes away or talks nonsense is none of our business.
                let _ = server.cx.timeout(PATIENCE, server.serve(stream)).await;
                server.connections.leave();
            });
        }
    }

    async fn serve(&self, stream: TcpStream) -> hyper::Result<()> {
        let service = service_fn(async |request| {
            Ok::<_, Infallible>(answer(&self.cx, &self.loops, self.hosts, &request).await)
        });
        http1::Builder::new()
            .keep_alive(false)
            .max_buf_size(HEAD)
            .serve_connection(stream, service)
            .await
    }
}

/// Room for a number of connections.
#[derive(Default)]
struct Room {
    inside: Cell<usize>,
    waiting: RefCell<Option<Waker>>,
}

impl Room {
    async fn wait(&self) {
        poll_fn(|context| {
            if self.inside.get() < CONNECTIONS {
                return Poll::Ready(());
            }
            self.waiting.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    fn enter(&self) {
        self.inside.set(self.inside.get() + 1);
    }

    fn leave(&self) {
        self.inside.set(self.inside.get() - 1);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}
