//! Modules that are in their URL.

use super::Format;
use super::errors::type_error;
use super::paths::percent_decode;
use crate::OpError;

/// The format that the media type of a `data:` URL says.
pub(super) fn data_format(url: &str) -> Result<Format, OpError> {
    let body = url.get(5..).unwrap_or_default();
    let end = body.find([';', ',']).unwrap_or(body.len());
    match &body[..end] {
        "text/javascript" | "application/javascript" => Ok(Format::Module),
        "application/json" => Ok(Format::Json),
        media => {
            let message = format!("Unknown module format: {media} for URL {url}");
            Err(OpError {
                code: Some("ERR_UNKNOWN_MODULE_FORMAT".into()),
                ..OpError::new("RangeError", message)
            })
        }
    }
}

/// The text of a `data:` URL.
pub(super) fn data_text(url: &str) -> Result<String, OpError> {
    let invalid = || type_error("ERR_INVALID_URL", "Invalid URL".to_owned()).with("input", url);
    let (head, body) = url.split_once(',').ok_or_else(invalid)?;
    let body = body.split('#').next().unwrap_or_default();
    if !head.ends_with(";base64") {
        return Ok(percent_decode(body));
    }
    let mut digits = percent_decode(body);
    digits.retain(|digit| !matches!(digit, '=' | ' ' | '\n'));
    let bytes = data_encoding::BASE64_NOPAD.decode(digits.as_bytes()).map_err(|_| invalid())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
