//! Errors of resolution, in Node's words.

use super::Kind;
use super::package::Invalid;
use crate::OpError;

pub(super) fn error(code: &str, message: String) -> OpError {
    OpError { code: Some(code.into()), ..OpError::new("Error", message) }
}

pub(super) fn type_error(code: &str, message: String) -> OpError {
    OpError::type_error(code, message)
}

pub(super) fn not_found(specifier: &str) -> OpError {
    error("MODULE_NOT_FOUND", format!("Cannot find module '{specifier}'"))
}

pub(super) fn unknown_builtin(specifier: &str) -> OpError {
    error("ERR_UNKNOWN_BUILTIN_MODULE", format!("No such built-in module: {specifier}"))
}

pub(super) fn invalid_package(
    invalid: &Invalid,
    specifier: &str,
    from: &str,
    kind: Kind,
) -> OpError {
    match kind {
        Kind::Import => {
            invalid_json(invalid, &format!(" while importing \"{specifier}\" from {from}"))
        }
        Kind::Require => {
            let file = invalid.file.to_string_lossy().into_owned();
            OpError::new("SyntaxError", format!("Error parsing {file}: {}", invalid.reason))
                .with("path", file)
        }
    }
}

pub(super) fn invalid_json(invalid: &Invalid, place: &str) -> OpError {
    let file = invalid.file.display();
    error(
        "ERR_INVALID_PACKAGE_CONFIG",
        format!("Invalid package config {file}{place}. {}", invalid.reason),
    )
}
