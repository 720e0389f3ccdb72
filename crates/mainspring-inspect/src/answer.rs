//! What a request is answered with.

use std::net::IpAddr;

use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use mainspring::Cx;

use crate::watched::Loops;
use crate::{figures, page};

const TEXT: &str = "text/plain; charset=utf-8";

/// Without content there is nothing that it could allow.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// Whoever calls this machine by a name that only the machine itself has.
    Local,
    /// Everybody.
    Any,
}

pub(crate) async fn answer<B>(
    cx: &Cx,
    loops: &Loops,
    hosts: Hosts,
    request: &Request<B>,
) -> Response<String> {
    if hosts == Hosts::Local && !is_for_us(request) {
        return text(
            StatusCode::MISDIRECTED_REQUEST,
            "This is for programs of this machine: ask for it as localhost, 127.0.0.1 or [::1].\n",
        );
    }
    let path = request.uri().path();
    if !matches!(path, "/" | "/state.json" | "/metrics") {
        return text(StatusCode::NOT_FOUND, "There are /, /state.json and /metrics.\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response =
            text(StatusCode::METHOD_NOT_ALLOWED, "Everything here can be read, and no more.\n");
        response.headers_mut().insert(ALLOW, "GET, HEAD".parse().expect("it is valid"));
        return response;
    }
    // To HEAD, hyper sends the head alone.
    match path {
        "/" => {
            let (page, policy) = page::page();
            respond(StatusCode::OK, "text/html; charset=utf-8", &policy, page)
        }
        "/state.json" => {
            let state = loops.state(cx).await;
            let state = serde_json::to_string(&state).expect("all keys are strings");
            respond(StatusCode::OK, "application/json", NOTHING, state)
        }
        _ => {
            let metrics = loops.metrics();
            let metrics = metrics.iter().map(|(name, metrics)| (name.as_str(), *metrics));
            let text = figures::openmetrics(metrics);
            respond(StatusCode::OK, figures::CONTENT_TYPE, NOTHING, text)
        }
    }
}

/// Whether the host that the client believes to talk to is this machine. A page from elsewhere can have its own name
/// point here, and its scripts would then be allowed to read our answers; but the name is still its own.
fn is_for_us<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(authority) = host.to_str().unwrap_or_default().parse::<hyper::http::uri::Authority>()
    else {
        return false;
    };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

pub(crate) fn text(status: StatusCode, text: &str) -> Response<String> {
    respond(status, TEXT, NOTHING, text.to_owned())
}

fn respond(status: StatusCode, kind: &str, policy: &str, content: String) -> Response<String> {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, kind)
        .header(CONTENT_SECURITY_POLICY, policy)
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(CACHE_CONTROL, "no-store")
        .header(REFERRER_POLICY, "no-referrer")
        .header("cross-origin-resource-policy", "same-origin")
        .body(content)
        .expect("there is nothing invalid in it")
}
