//! A page with the figures of a running script, on a thread and a loop of its own.

mod http;

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use mainspring::{EventLoop, Handle, Promise, net};

use self::http::Response;
use crate::ending::Ending;
use crate::figures::Figures;

const PAGE: &str = include_str!("page.html");

/// How long the loop of the script may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// A port, or an address and a port. Without an address, it is one that only this machine reaches.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| "write a port, or an address and a port: 9230, 127.0.0.1:9230".into())
}

thread_local! {
    /// What knows the figures, on the thread of the script.
    static SCRIPT: RefCell<Option<Rc<Ending>>> = const { RefCell::new(None) };
}

/// Begins to serve, and says where.
pub(crate) fn start(
    address: SocketAddr,
    is_any_allowed: bool,
    script: Handle,
    ending: &Rc<Ending>,
) -> Result<(), String> {
    if !address.ip().is_loopback() && !is_any_allowed {
        return Err(format!(
            "--inspect {address}: other machines could read it there; use 127.0.0.1:{}, or add --inspect-any",
            address.port()
        ));
    }
    let refused = |error: std::io::Error| format!("--inspect cannot listen on {address}: {error}");
    let listener = TcpListener::bind(address).map_err(refused)?;
    let local = listener.local_addr().map_err(refused)?;
    SCRIPT.replace(Some(Rc::clone(ending)));
    let server = thread::Builder::new().name("inspect".into());
    server
        .spawn(move || {
            if let Err(error) = serve(listener, script, is_any_allowed) {
                eprintln!("mainspring: --inspect has ended: {error}");
            }
        })
        .map_err(refused)?;
    eprintln!("mainspring: the figures are at http://{local}/");
    Ok(())
}

fn serve(
    listener: TcpListener,
    script: Handle,
    is_any_allowed: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx().clone();
    event_loop.block_on(async move {
        let listener = net::TcpListener::from_std(&cx, listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let (script, own) = (script.clone(), cx.clone());
            // Detached: whoever asks is answered, or goes away.
            drop(cx.spawn_local(async move {
                let answer = async |path: &str, host: Option<&str>| match path {
                    _ if !is_any_allowed && !is_name_of_this_machine(host) => {
                        Response::text("403 Forbidden", "ask for it by the address, not by a name")
                    }
                    "/" => Response::html(PAGE),
                    "/stats" => Response::json(stats(&own, &script).await),
                    _ => Response::text("404 Not Found", "there are / and /stats"),
                };
                http::answer(&own, &stream, answer).await;
            }));
        }
    })?
}

/// Whether that is what people on this machine call it. Other names may belong to a page that wants to read
/// this one.
fn is_name_of_this_machine(host: Option<&str>) -> bool {
    let Some(host) = host else { return true };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

/// Asks the loop of the script. It answers between two callbacks.
async fn stats(cx: &mainspring::Cx, script: &Handle) -> String {
    let (figures, asked) = Promise::<Option<Figures>>::with_resolvers(&cx.handle());
    let submitted = script.submit(move |_| {
        let known =
            SCRIPT.with_borrow(|ending| ending.as_ref().and_then(|ending| ending.figures()));
        asked.resolve(known);
    });
    if submitted.is_err() {
        return r#"{"ended":true}"#.into();
    }
    match cx.timeout(PATIENCE, figures).await {
        Ok(Ok(Some(figures))) => figures.json(),
        Ok(_) => r#"{"ended":true}"#.into(),
        Err(_) => format!(
            r#"{{"busy":true,"note":"the loop did not answer within {} ms: a callback is running"}}"#,
            PATIENCE.as_millis()
        ),
    }
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

    #[test]
    fn names_of_others_are_refused() {
        for own in [None, Some("127.0.0.1:80"), Some("localhost"), Some("[::1]:9230")] {
            assert!(is_name_of_this_machine(own), "{own:?}");
        }
        for other in ["example.org", "example.org:80", "localhost.example.org", ""] {
            assert!(!is_name_of_this_machine(Some(other)), "{other}");
        }
    }
}
