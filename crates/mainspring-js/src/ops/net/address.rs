//! Addresses and names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{getpeername, getsockname};

use super::{Handle, Net, Outcome, id};
use crate::ops::Args;
use crate::{Host, OpError, Value};

/// An address of numbers. One with a zone, such as `fe80::1%eth0`, is left to the system, which need not ask
/// anybody for that.
pub(super) fn parse(host: &str, port: u16) -> Result<SocketAddr, Errno> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok((ip, port).into());
    }
    if version(host) == 0 {
        return Err(Errno::INVAL);
    }
    let mut found = (host, port).to_socket_addrs().map_err(|_| Errno::INVAL)?;
    found.next().ok_or(Errno::INVAL)
}

/// 4, 6, or 0 if it is no address.
fn version(text: &str) -> u8 {
    if text.parse::<Ipv4Addr>().is_ok() {
        return 4;
    }
    let is_zone = |zone: &str| {
        !zone.is_empty()
            && zone.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte))
    };
    let (address, zone) = text.split_once('%').unwrap_or((text, "-"));
    if address.parse::<Ipv6Addr>().is_ok() && is_zone(zone) { 6 } else { 0 }
}

/// `netIsIP(text)`
pub(super) fn is_ip(_: &Host, mut args: Args<'_>) -> Outcome {
    Ok(f64::from(version(&args.string(0)?)).into())
}

/// `netAddress(id, isRemote)`: the address, the port and the family, or nothing if it has none.
pub(super) fn of_handle(host: &Host, mut args: Args<'_>) -> Outcome {
    let handle = Net::of(host).get(id(&mut args)?);
    let is_remote = args.bool(1)?;
    let found = handle.and_then(|handle| match &handle {
        Handle::Stream(stream) => find(stream.as_fd(), is_remote),
        Handle::Listener(listener) => find(listener.as_fd(), is_remote),
        Handle::Closed => Err(Errno::BADF),
    });
    Ok(match found {
        Ok(address) => describe(&address),
        Err(_) => Value::Undefined,
    })
}

/// An address for a person.
pub(super) fn name(socket: impl AsFd, is_remote: bool) -> String {
    find(socket, is_remote).map_or_else(|_| "a path".into(), |address| address.to_string())
}

fn find(socket: impl AsFd, is_remote: bool) -> Result<SocketAddr, Errno> {
    let address =
        if is_remote { getpeername(socket)?.ok_or(Errno::NOTCONN)? } else { getsockname(socket)? };
    address.try_into()
}

fn describe(address: &SocketAddr) -> Value {
    let mut text = address.ip().to_string();
    if let SocketAddr::V6(address) = address
        && address.scope_id() != 0
    {
        text = format!("{text}%{}", address.scope_id());
    }
    Value::Array(vec![text.into(), f64::from(address.port()).into(), family(address)])
}

fn family(address: &SocketAddr) -> Value {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }.into()
}

/// `netLookup(host, family, callback)`: the addresses and their versions, one after the other, in the order of
/// the system.
pub(super) fn lookup(host: &Host, mut args: Args<'_>) -> Outcome {
    let (name, wanted) = (args.string(0)?, args.number(1)?);
    host.offload(args.callback(2)?, move || {
        let found = (name.as_str(), 0).to_socket_addrs().map_err(|error| {
            // The standard library keeps only the text of these errors.
            let is_passing = error.to_string().contains("emporary failure");
            let (code, errno) = if is_passing { ("EAI_AGAIN", -3001.0) } else { NOT_FOUND };
            unknown(&name, code, errno)
        })?;
        let pairs = found
            .map(|address| (address.ip(), if address.is_ipv4() { 4.0 } else { 6.0 }))
            .filter(|(_, version)| wanted == 0.0 || *version == wanted)
            .flat_map(|(ip, version)| [ip.to_string().into(), Value::Number(version)])
            .collect::<Vec<_>>();
        if pairs.is_empty() {
            return Err(unknown(&name, NOT_FOUND.0, NOT_FOUND.1));
        }
        Ok(Value::Array(pairs))
    });
    Ok(Value::Undefined)
}

const NOT_FOUND: (&str, f64) = ("ENOTFOUND", -3008.0);

fn unknown(name: &str, code: &str, errno: f64) -> OpError {
    OpError::new("Error", format!("getaddrinfo {code} {name}"))
        .with("errno", errno)
        .with("code", code)
        .with("syscall", "getaddrinfo")
        .with("hostname", name)
}

#[cfg(test)]
mod tests {
    use super::{parse, version};

    // spec: JS-3
    #[test]
    fn only_numbers_are_addresses() {
        for (text, expected) in [
            ("127.0.0.1", 4),
            ("01.2.3.4", 0),
            ("::1", 6),
            ("fe80::1%eth0", 6),
            ("fe80::1%", 0),
            ("1.2.3.4%eth0", 0),
            ("localhost", 0),
            ("", 0),
        ] {
            assert_eq!(version(text), expected, "{text}");
        }
        assert!(parse("localhost", 1).is_err());
        assert_eq!(parse("::1", 80).unwrap().to_string(), "[::1]:80");
    }
}
