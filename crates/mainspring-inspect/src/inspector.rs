//! The inspector, as a program has it.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use mainspring::Handle;

use crate::Error;
use crate::answer::Hosts;
use crate::server;
use crate::watched::Loops;

/// Serves a page that shows what loops do, until it is dropped.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring_inspect::Inspector;
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// let inspector = Inspector::serve("127.0.0.1:0")?;
/// inspector.watch("main", &event_loop.handle())?;
/// println!("look at {}", inspector.url());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the page is served until this is dropped"]
pub struct Inspector {
    address: SocketAddr,
    loops: Arc<Loops>,
    server: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Inspector {
    /// Listens at an address of this machine, and serves from a thread of its own. With port 0 the system chooses one.
    ///
    /// # Errors
    ///
    /// [`Error::NotLoopback`] if other machines could connect, [`Error::Io`] if the address is in use or does not exist.
    ///
    /// ```
    /// let inspector = mainspring_inspect::Inspector::serve("127.0.0.1:0")?;
    /// assert!(inspector.local_addr().ip().is_loopback());
    /// # Ok::<(), mainspring_inspect::Error>(())
    /// ```
    pub fn serve(address: impl ToSocketAddrs) -> Result<Self, Error> {
        Self::builder().serve(address)
    }

    /// For an inspector with options.
    ///
    /// ```
    /// let builder = mainspring_inspect::Inspector::builder();
    /// let inspector = builder.allow_remote(false).serve("127.0.0.1:0")?;
    /// # Ok::<(), mainspring_inspect::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder { allow_remote: false }
    }

    /// Shows a loop, too, under this name.
    ///
    /// A loop without [metrics](mainspring::Builder::metrics) is shown without figures. A loop that ends stays on the
    /// page until it is forgotten, or until another one gets its name.
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`] if a loop of that name is watched, and has not terminated.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
    /// # let inspector = mainspring_inspect::Inspector::serve("127.0.0.1:0")?;
    /// inspector.watch("main", &event_loop.handle())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch(&self, name: &str, handle: &Handle) -> Result<(), Error> {
        self.loops.watch(name, handle)
    }

    /// Shows a loop no more. False if there is none of that name.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
    /// # let inspector = mainspring_inspect::Inspector::serve("127.0.0.1:0")?;
    /// inspector.watch("main", &event_loop.handle())?;
    /// assert!(inspector.forget("main"));
    /// assert!(!inspector.forget("main"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget(&self, name: &str) -> bool {
        self.loops.forget(name)
    }

    /// Where it listens.
    ///
    /// ```
    /// let inspector = mainspring_inspect::Inspector::serve("127.0.0.1:0")?;
    /// assert_ne!(inspector.local_addr().port(), 0);
    /// # Ok::<(), mainspring_inspect::Error>(())
    /// ```
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page.
    ///
    /// ```
    /// let inspector = mainspring_inspect::Inspector::serve("127.0.0.1:0")?;
    /// assert!(inspector.url().starts_with("http://127.0.0.1:"));
    /// # Ok::<(), mainspring_inspect::Error>(())
    /// ```
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves no more: the port is free and the thread is gone when this returns. Dropping it does the same.
    ///
    /// ```
    /// let inspector = mainspring_inspect::Inspector::serve("127.0.0.1:0")?;
    /// inspector.stop();
    /// # Ok::<(), mainspring_inspect::Error>(())
    /// ```
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.server.close();
        if let Some(thread) = self.thread.take() {
            // If it has panicked, that was said by then.
            let _ = thread.join();
        }
    }
}

/// Options of an [`Inspector`].
///
/// ```
/// let inspector = mainspring_inspect::Inspector::builder().allow_remote(true).serve("0.0.0.0:0")?;
/// # Ok::<(), mainspring_inspect::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "serve makes an inspector of it"]
pub struct Builder {
    allow_remote: bool,
}

impl Builder {
    /// Whether it may listen at an address that other machines can connect to. Everybody who can then sees
    /// everything, unless something in between asks for a password. False by default.
    ///
    /// ```
    /// let builder = mainspring_inspect::Inspector::builder().allow_remote(true);
    /// # drop(builder);
    /// ```
    pub fn allow_remote(mut self, allow: bool) -> Self {
        self.allow_remote = allow;
        self
    }

    /// As [`Inspector::serve`], with these options.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// let inspector = mainspring_inspect::Inspector::builder().serve("[::1]:0");
    /// # drop(inspector);
    /// ```
    pub fn serve(self, address: impl ToSocketAddrs) -> Result<Inspector, Error> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        let remote = addresses.iter().find(|address| !address.ip().is_loopback());
        if let (Some(&remote), false) = (remote, self.allow_remote) {
            return Err(Error::NotLoopback(remote));
        }
        let listener = TcpListener::bind(&addresses[..])?;
        let address = listener.local_addr()?;
        let hosts = if address.ip().is_loopback() { Hosts::Local } else { Hosts::Any };
        let loops = Arc::new(Loops::default());
        let (started, start) = sync_channel(1);
        let thread = thread::Builder::new().name("mainspring-inspector".to_owned()).spawn({
            let loops = loops.clone();
            move || server::run(listener, hosts, loops, &started)
        })?;
        match start.recv() {
            Ok(Ok(server)) => Ok(Inspector { address, loops, server, thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(std::io::Error::other("the inspector's thread has panicked").into()),
        }
    }
}
