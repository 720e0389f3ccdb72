//! A page with the figures of the loop that runs a script.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use mainspring::Handle;
use mainspring_inspect::Inspector;

/// Callbacks that run for longer are listed on the page.
pub(crate) const STALL: Duration = Duration::from_millis(100);

/// A port, or an address and a port. Without an address, it is one that only this machine reaches.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| "write a port, or an address and a port: 9230, 127.0.0.1:9230".into())
}

/// Begins to serve, and says where. The page is there until the inspector is dropped.
pub(crate) fn start(
    address: SocketAddr,
    is_any_allowed: bool,
    name: &str,
    script: &Handle,
) -> Result<Inspector, String> {
    let served = Inspector::builder().allow_remote(is_any_allowed).serve(address);
    let inspector = served.map_err(|error| match error {
        mainspring_inspect::Error::NotLoopback(_) => format!(
            "--inspect {address}: other machines could read it there; use 127.0.0.1:{}, or add --inspect-any",
            address.port()
        ),
        mainspring_inspect::Error::Io(error) => {
            format!("--inspect cannot listen on {address}: {error}")
        }
        error => format!("--inspect: {error}"),
    })?;
    inspector.watch(name, script).map_err(|error| format!("--inspect: {error}"))?;
    eprintln!("mainspring: the figures are at {}", inspector.url());
    Ok(inspector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_of_this_machine() {
        assert_eq!(parse_address("9230"), Ok("127.0.0.1:9230".parse().unwrap()));
        assert_eq!(parse_address("localhost:1"), Ok("127.0.0.1:1".parse().unwrap()));
        assert_eq!(parse_address("[::1]:1"), Ok("[::1]:1".parse().unwrap()));
        assert_eq!(parse_address("0.0.0.0:1"), Ok("0.0.0.0:1".parse().unwrap()));
        for nonsense in ["", "70000", "example.org:80", "127.0.0.1"] {
            assert!(parse_address(nonsense).is_err(), "{nonsense}");
        }
    }
}
