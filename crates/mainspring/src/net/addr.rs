//! Addresses, and the names that stand for them.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, ToSocketAddrs};

use crate::{AbortController, Cx, Error, Rejection};

/// What can be made into addresses: an address itself, several of them, or a host and a port.
///
/// | type | example |
/// |---|---|
/// | [`SocketAddr`] and its two kinds | `SocketAddr::from(([127, 0, 0, 1], 80))` |
/// | an [`IpAddr`] or one of its kinds, with a port | `(Ipv4Addr::LOCALHOST, 80)` |
/// | a host with a port | `("localhost", 80)`, `("::1", 80)` |
/// | a text of both | `"localhost:80"`, `"[::1]:80"` |
/// | several addresses, in the order in which to try them | `&[first, second][..]` |
///
/// A host that is a number is an address, and needs no [lookup](lookup_host). The trait cannot be implemented
/// by others.
///
/// ```
/// use mainspring::net::{ToAddrs, lookup_host};
/// use mainspring::Cx;
/// use std::net::SocketAddr;
///
/// async fn first(cx: &Cx, host: impl ToAddrs) -> std::io::Result<SocketAddr> {
///     Ok(lookup_host(cx, host).await?[0])
/// }
/// ```
pub trait ToAddrs: sealed::Sealed {}

impl<T: sealed::Sealed + ?Sized> ToAddrs for T {}

/// The addresses of a host, in the order in which they should be tried. There is at least one.
///
/// A name is looked up on a thread of the loop's [worker pool](Cx::promisify), since the system's way to do so
/// blocks. An address comes back at once, without one.
///
/// Dropping the future means that nobody wants the answer: a lookup that no worker has begun never will be. One that
/// was begun goes on, and a [shutdown](crate::Handle::shutdown) waits for it until its deadline.
///
/// # Errors
///
/// If there is no such host, or the text is not a host and a port; the kind is
/// [`InvalidInput`](io::ErrorKind::InvalidInput) then. If the loop has terminated.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::net::lookup_host;
///
/// let event_loop = EventLoop::new()?;
/// let cx = event_loop.cx();
/// let found = event_loop.block_on(async { lookup_host(cx, "127.0.0.1:80").await })?;
/// assert_eq!(found.unwrap(), ["127.0.0.1:80".parse().unwrap()]);
/// # Ok::<(), mainspring::Error>(())
/// ```
pub async fn lookup_host(cx: &Cx, host: impl ToAddrs) -> io::Result<Vec<SocketAddr>> {
    let found = match host.to_host()? {
        Host::Known(addresses) => addresses,
        Host::Named(name, port) => look_up(cx, name, port).await?,
    };
    if found.is_empty() {
        return Err(no_address());
    }
    Ok(found)
}

/// What comes of the first address with which `f` succeeds. If it does with none, the error is that of the last one.
pub(crate) fn first_that_works<T>(
    addresses: impl IntoIterator<Item = SocketAddr>,
    mut f: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut result = Err(no_address());
    for address in addresses {
        result = f(address);
        if result.is_ok() {
            break;
        }
    }
    result
}

fn no_address() -> io::Error {
    invalid("there is no address here; give at least one")
}

async fn look_up(cx: &Cx, name: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let unwanted = AbortLookup(AbortController::new());
    let ask = move |_: &_| (name.as_str(), port).to_socket_addrs().map(Vec::from_iter);
    let answer = cx.promisify(&unwanted.0.signal(), ask);
    answer.await.map_err(to_io_error)
}

/// Ends the lookup that was begun with its signal.
struct AbortLookup(AbortController);

impl Drop for AbortLookup {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A rejection as an error of the system: the one that it was, as far as that can be copied.
fn to_io_error(reason: Rejection) -> io::Error {
    match (reason.downcast_ref::<io::Error>(), reason.downcast_ref::<Error>()) {
        (Some(error), _) | (_, Some(Error::Io(error))) => match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), Reason(reason)),
        },
        _ => io::Error::other(Reason(reason)),
    }
}

/// A rejection, as an error.
struct Reason(Rejection);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.as_error(), f)
    }
}

impl std::error::Error for Reason {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_error())
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// What an argument is found to be.
#[derive(Debug)]
pub enum Host {
    Known(Vec<SocketAddr>),
    Named(String, u16),
}

impl Host {
    fn new(host: &str, port: u16) -> io::Result<Self> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(Self::from((address, port)));
        }
        if host.is_empty() {
            return Err(invalid("the name of the host is empty; give a name or an address"));
        }
        if host.contains('\0') {
            return Err(invalid("the name of the host contains a NUL; no host can have that name"));
        }
        Ok(Self::Named(host.to_owned(), port))
    }
}

impl<A: Into<SocketAddr>> From<A> for Host {
    fn from(address: A) -> Self {
        Self::Known(vec![address.into()])
    }
}

mod sealed {
    use super::*;

    pub trait Sealed {
        fn to_host(&self) -> io::Result<Host>;
    }

    macro_rules! addresses {
        ($($Address:ty),*) => {$(
            impl Sealed for $Address {
                fn to_host(&self) -> io::Result<Host> {
                    Ok(Host::from(*self))
                }
            }
        )*};
    }

    addresses!(SocketAddr, SocketAddrV4, SocketAddrV6);
    addresses!((IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

    impl Sealed for [SocketAddr] {
        fn to_host(&self) -> io::Result<Host> {
            Ok(Host::Known(self.to_vec()))
        }
    }

    impl<const N: usize> Sealed for [SocketAddr; N] {
        fn to_host(&self) -> io::Result<Host> {
            self[..].to_host()
        }
    }

    impl Sealed for Vec<SocketAddr> {
        fn to_host(&self) -> io::Result<Host> {
            self[..].to_host()
        }
    }

    impl Sealed for (&str, u16) {
        fn to_host(&self) -> io::Result<Host> {
            Host::new(self.0, self.1)
        }
    }

    impl Sealed for (String, u16) {
        fn to_host(&self) -> io::Result<Host> {
            Host::new(&self.0, self.1)
        }
    }

    impl Sealed for str {
        fn to_host(&self) -> io::Result<Host> {
            if let Ok(address) = self.parse::<SocketAddr>() {
                return Ok(Host::from(address));
            }
            let (host, port) = self.rsplit_once(':').ok_or_else(|| {
                invalid("there is no port here; write the host, a colon, and the port")
            })?;
            let port = port
                .parse()
                .map_err(|_| invalid("the port is not a number from 0 to 65535; correct it"))?;
            // One with a zone, such as `[fe80::1%eth0]`, is left to the system.
            match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(host) => Host::new(host, port),
                None if host.contains(':') => {
                    Err(invalid("an IPv6 address with a port needs brackets; write [address]:port"))
                }
                None => Host::new(host, port),
            }
        }
    }

    impl Sealed for String {
        fn to_host(&self) -> io::Result<Host> {
            self.as_str().to_host()
        }
    }

    impl<T: Sealed + ?Sized> Sealed for &T {
        fn to_host(&self) -> io::Result<Host> {
            (**self).to_host()
        }
    }
}
