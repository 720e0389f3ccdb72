//! The page: one file with everything in it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

const HTML: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("page/format.js"),
    include_str!("page/chart.js"),
    include_str!("page/view.js"),
    include_str!("page/poll.js"),
];

/// The page, and what it may do: run its own script, show its own style, and ask where it came from.
pub(crate) fn page() -> (String, String) {
    let nonce = nonce();
    let page = HTML
        .replace("{{style}}", STYLE)
        .replace("{{script}}", &SCRIPTS.concat())
        .replace("{{nonce}}", &nonce);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    (page, policy)
}

/// A number that nobody can foresee: the keys of a hash table's hasher are random.
fn nonce() -> String {
    format!("{:016x}{:016x}", RandomState::new().hash_one(1), RandomState::new().hash_one(2))
}
