//! Listening on all loops of a group.
//!
//! Each loop has a listener of its own for the same address (`SO_REUSEPORT`). The system gives each connection to
//! one of them, and it stays on that loop: accepting takes no lock, and no connection changes threads.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use super::LoopGroup;
use crate::net::{ListenOptions, TcpListener, TcpStream, first_that_works};
use crate::place::Place;
use crate::{AbortSignal, Cx, Error};

/// How many connections of a loop the system keeps that were not accepted yet.
const BACKLOG: u32 = 1024;

impl LoopGroup {
    /// Listens for TCP connections on all loops, and runs a future for each on the loop that accepted it.
    /// Returns the address, which tells the port if it was given as 0.
    ///
    /// The system shares the connections out between the loops. Listening ends when the group shuts down: what was
    /// connected until then is accepted, and the futures go on until the deadline. One that would go on for ever,
    /// because the other side keeps the connection open, should look at the [signal](Self::signal).
    ///
    /// Names are looked up by this call, which blocks for that.
    ///
    /// # Errors
    ///
    /// As for binding a listener. Nobody listens then.
    ///
    /// ```
    /// use mainspring::LoopGroup;
    /// use std::io::{Read, Write};
    /// use std::time::Duration;
    ///
    /// let group = LoopGroup::new()?;
    /// let address = group.listen("127.0.0.1:0", |_, stream| async move {
    ///     let _ = stream.write_all(b"hello").await;
    /// })?;
    /// let mut text = String::new();
    /// std::net::TcpStream::connect(address)?.read_to_string(&mut text)?;
    /// assert_eq!(text, "hello");
    /// group.shutdown(Duration::from_secs(5))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn listen<F, Fut>(&self, address: impl ToSocketAddrs, f: F) -> io::Result<SocketAddr>
    where
        F: Fn(&Cx, TcpStream) -> Fut + Clone + Send + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let options = ListenOptions::new().reuse_port(true).backlog(BACKLOG);
        let addresses = address.to_socket_addrs()?;
        let first = first_that_works(addresses, |address| options.listen(address))?;
        let address = first.local_addr()?;
        let mut listeners = vec![first];
        while listeners.len() < self.members.len() {
            listeners.push(options.listen(address)?);
        }
        for (member, listener) in self.members.iter().zip(listeners) {
            let (f, signal) = (f.clone(), self.signal());
            let place = Place::caller();
            let accepting =
                member.handle().spawn(move |cx| accept_all(cx.clone(), listener, signal, f, place));
            accepting.catch(|_, reason| {
                if !matches!(reason.downcast_ref(), Some(Error::Terminated)) {
                    tracing::error!(%reason, "a loop of the group accepts no more");
                }
            });
        }
        Ok(address)
    }
}

/// Accepts until the signal is aborted, and what is there then.
async fn accept_all<F, Fut>(
    cx: Cx,
    listener: std::net::TcpListener,
    signal: AbortSignal,
    f: F,
    place: Place,
) where
    F: Fn(&Cx, TcpStream) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let listener = match TcpListener::from_std(&cx, listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "a loop of the group does not listen");
            return;
        }
    };
    let f = Rc::new(f);
    // The function is called by the connection's own future: its panic is an ordinary one.
    let serve = |stream| {
        let (cx, f) = (cx.clone(), Rc::clone(&f));
        drop(cx.clone().spawn_at(async move { f(&cx, stream).await }, place));
    };
    let mut aborted = pin!(cx.aborted(&signal));
    loop {
        let next = poll_fn(|context| match listener.poll_accept(context) {
            Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
            Poll::Pending => aborted.as_mut().poll(context).map(|_| None),
        });
        match next.await {
            Some(Ok((stream, _))) => serve(stream),
            Some(Err(error)) => {
                tracing::error!(%error, "a loop of the group accepts no more");
                return;
            }
            None => break,
        }
    }
    // Closing the listener would reset what was connected and not accepted. The loop hears of that in the next
    // tick at the latest. There is not more of it than this, and what comes later is not waited for.
    let mut left = BACKLOG + 1;
    loop {
        cx.yield_now().await;
        let before = left;
        poll_fn(|context| {
            while left > 0
                && let Poll::Ready(Ok((stream, _))) = listener.poll_accept(context)
            {
                left -= 1;
                serve(stream);
            }
            Poll::Ready(())
        })
        .await;
        if left == before || left == 0 {
            return;
        }
    }
}
