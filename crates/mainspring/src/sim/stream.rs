//! Connections within a simulation.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use super::kernel;
use super::scheduler::current;

/// A descriptor of a simulation, which is told when it is closed.
struct Descriptor {
    fd: OwnedFd,
    blocks: AtomicBool,
}

impl Descriptor {
    fn new(fd: OwnedFd) -> Self {
        Self { fd, blocks: AtomicBool::new(true) }
    }

    fn blocks(&self) -> bool {
        self.blocks.load(Ordering::Relaxed)
    }

    fn set_nonblocking(&self, is_nonblocking: bool) {
        self.blocks.store(!is_nonblocking, Ordering::Relaxed);
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if let Some(scheduler) = current() {
            kernel::close(&scheduler, self.fd.as_raw_fd());
        }
    }
}

/// One end of a connection between simulated threads: a stream of bytes, like that of a socket.
///
/// It blocks until [`set_nonblocking`](Self::set_nonblocking), as the standard library's do. A loop can
/// [watch](crate::Cx::register_fd) it and an [`AsyncFd`](crate::AsyncFd) can have it.
///
/// ```
/// use mainspring::sim::{self, Simulation, Stream};
/// use std::io::{Read, Write};
///
/// Simulation::new(7).run(|| {
///     let (mut near, mut far) = Stream::pair()?;
///     let peer = sim::spawn(move || far.write_all(b"hello"));
///     let mut text = String::new();
///     near.read_to_string(&mut text)?;
///     assert_eq!(text, "hello");
///     peer.join().unwrap()
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stream(Descriptor);

impl Stream {
    /// Both ends of a connection.
    ///
    /// # Errors
    ///
    /// If the simulation has no descriptors left, or there is none.
    ///
    /// ```
    /// use mainspring::sim::{Simulation, Stream};
    ///
    /// Simulation::new(1).run(|| Stream::pair().map(drop))??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = kernel::complete(true, "a connection", kernel::pair)?;
        Ok((Self(Descriptor::new(one)), Self(Descriptor::new(other))))
    }

    /// Connects to a [`Listener`].
    ///
    /// # Errors
    ///
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if nobody listens there; as for
    /// [`pair`](Self::pair).
    ///
    /// ```
    /// use mainspring::sim::{Simulation, Stream};
    /// use std::io::ErrorKind;
    ///
    /// Simulation::new(1).run(|| {
    ///     assert_eq!(Stream::connect("nobody").unwrap_err().kind(), ErrorKind::ConnectionRefused);
    /// })?;
    /// # Ok::<(), mainspring::sim::Failure>(())
    /// ```
    pub fn connect(name: &str) -> io::Result<Self> {
        let call = |scheduler: &_| kernel::connect(scheduler, name);
        kernel::complete(true, "a connection", call).map(|fd| Self(Descriptor::new(fd)))
    }

    /// Whether reading and writing say [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting.
    ///
    /// ```
    /// use mainspring::sim::{Simulation, Stream};
    /// use std::io::{ErrorKind, Read};
    ///
    /// Simulation::new(1).run(|| {
    ///     let (mut near, _far) = Stream::pair()?;
    ///     near.set_nonblocking(true);
    ///     assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    ///     std::io::Result::Ok(())
    /// })??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_nonblocking(&self, is_nonblocking: bool) {
        self.0.set_nonblocking(is_nonblocking);
    }

    /// Says that nothing more will be written: the other end reads what is left, and then the end.
    ///
    /// # Errors
    ///
    /// Outside of the simulation.
    ///
    /// ```
    /// use mainspring::sim::{Simulation, Stream};
    /// use std::io::Read;
    ///
    /// Simulation::new(1).run(|| {
    ///     let (near, mut far) = Stream::pair()?;
    ///     near.finish()?;
    ///     assert_eq!(far.read(&mut [0])?, 0);
    ///     std::io::Result::Ok(())
    /// })??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(&self) -> io::Result<()> {
        let fd = self.0.fd.as_raw_fd();
        kernel::complete(true, "an end", |scheduler| kernel::finish(scheduler, fd))
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (fd, blocks) = (self.0.fd.as_raw_fd(), self.0.blocks());
        kernel::complete(blocks, "something to read", |scheduler| {
            kernel::receive(scheduler, fd, buffer, blocks)
        })
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (fd, blocks) = (self.0.fd.as_raw_fd(), self.0.blocks());
        kernel::complete(blocks, "room to write", |scheduler| {
            kernel::send(scheduler, fd, bytes, blocks)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> i32 {
        self.0.fd.as_raw_fd()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

/// Takes connections to a name within a simulation.
///
/// ```
/// use mainspring::sim::{self, Listener, Simulation, Stream};
/// use std::io::{Read, Write};
///
/// Simulation::new(7).run(|| {
///     let listener = Listener::bind("greeter")?;
///     let client = sim::spawn(|| {
///         let mut text = String::new();
///         Stream::connect("greeter")?.read_to_string(&mut text).map(|_| text)
///     });
///     listener.accept()?.write_all(b"hello")?;
///     assert_eq!(client.join().unwrap()?, "hello");
///     std::io::Result::Ok(())
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Listener(Descriptor);

impl Listener {
    /// Listens there.
    ///
    /// # Errors
    ///
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if somebody does already; as for [`Stream::pair`].
    ///
    /// ```
    /// use mainspring::sim::{Listener, Simulation};
    ///
    /// Simulation::new(1).run(|| Listener::bind("here").map(drop))??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bind(name: &str) -> io::Result<Self> {
        let call = |scheduler: &_| kernel::listen(scheduler, name);
        kernel::complete(true, "a listener", call).map(|fd| Self(Descriptor::new(fd)))
    }

    /// Takes the next connection. It blocks, whatever the listener does.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none, and the listener does not block; as for
    /// [`Stream::pair`].
    ///
    /// ```
    /// use mainspring::sim::{Listener, Simulation, Stream};
    ///
    /// Simulation::new(1).run(|| {
    ///     let listener = Listener::bind("here")?;
    ///     let _client = Stream::connect("here")?;
    ///     listener.accept().map(drop)
    /// })??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accept(&self) -> io::Result<Stream> {
        let (fd, blocks) = (self.0.fd.as_raw_fd(), self.0.blocks());
        let call = |scheduler: &_| kernel::accept(scheduler, fd, blocks);
        kernel::complete(blocks, "a client", call).map(|fd| Stream(Descriptor::new(fd)))
    }

    /// Whether accepting says [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting.
    ///
    /// ```
    /// use mainspring::sim::{Listener, Simulation};
    /// use std::io::ErrorKind;
    ///
    /// Simulation::new(1).run(|| {
    ///     let listener = Listener::bind("here")?;
    ///     listener.set_nonblocking(true);
    ///     assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    ///     std::io::Result::Ok(())
    /// })??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_nonblocking(&self, is_nonblocking: bool) {
        self.0.set_nonblocking(is_nonblocking);
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
