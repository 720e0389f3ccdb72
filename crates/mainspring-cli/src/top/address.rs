//! Where a program shows its figures.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// The address of an inspector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    /// Where its state is.
    pub(super) path: String,
}

const HINT: &str =
    "write the address of an inspector: 9230, 127.0.0.1:9230, http://localhost:9230/";

impl FromStr for Address {
    type Err = String;

    /// A port, a host with one, or the address of the page.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(port) = text.parse() {
            return Ok(Self { host: "127.0.0.1".into(), port, path: "/state.json".into() });
        }
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = whole.parse().map_err(|_| HINT)?;
        if uri.scheme_str() != Some("http") {
            return Err("an inspector speaks http://, and nothing else".into());
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(HINT)?;
        let after = uri.authority().and_then(|authority| authority.as_str().strip_prefix(host));
        let port = match after.ok_or(HINT)?.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| HINT)?,
            None => 80,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = match uri.path() {
            path if path.ends_with(".json") => path.to_owned(),
            path => format!("{}/state.json", path.trim_end_matches('/')),
        };
        Ok(Self { host, port, path })
    }
}

impl Address {
    /// As a request has it.
    pub(super) fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl fmt::Display for Address {
    /// The address of the page.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let page = self.path.strip_suffix("state.json").unwrap_or(&self.path);
        write!(f, "http://{}{page}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, shown, path) in [
            ("9230", "http://127.0.0.1:9230/", "/state.json"),
            ("127.0.0.1:9230", "http://127.0.0.1:9230/", "/state.json"),
            ("localhost:9230/", "http://localhost:9230/", "/state.json"),
            ("http://localhost:9230/", "http://localhost:9230/", "/state.json"),
            ("http://[::1]:9230", "http://[::1]:9230/", "/state.json"),
            ("[::1]:9230", "http://[::1]:9230/", "/state.json"),
            ("http://example.org/loops/", "http://example.org:80/loops/", "/loops/state.json"),
            ("http://example.org/state.json", "http://example.org:80/", "/state.json"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.path.as_str()), (shown, path));
        }
        for nonsense in [
            "",
            "https://localhost:1/",
            "http://",
            "a b",
            "localhost:99999",
            ":1",
            "http://me@localhost:1/",
        ] {
            assert!(nonsense.parse::<Address>().is_err(), "{nonsense}");
        }
    }
}
