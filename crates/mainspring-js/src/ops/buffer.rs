//! Bytes as text and text as bytes, in the encodings of buffers.

use std::sync::LazyLock;

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL_NOPAD, Encoding, HEXLOWER};

use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] = &[
    ("bytesFrom", bytes_from),
    ("bytesToText", bytes_to_text),
    ("bytesCompare", bytes_compare),
    ("bytesAre", bytes_are),
    ("utf8Length", utf8_length),
    ("atob", atob),
    ("btoa", btoa),
];

/// Base64 without padding, whatever the bits are that are left over.
static LENIENT: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = BASE64_NOPAD.specification();
    specification.check_trailing_bits = false;
    specification.encoding().unwrap_or(BASE64_NOPAD)
});

/// `bytesFrom(text, encoding)`: what cannot be read is left out, as buffers have it.
fn bytes_from(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (text, encoding) = (args.string(0)?, args.string(1)?);
    Ok(Value::Bytes(match encoding.as_str() {
        "latin1" => text.encode_utf16().map(|unit| unit as u8).collect(),
        "utf16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "base64" => {
            base64(text.bytes().take_while(|byte| *byte != b'=').filter_map(|byte| match byte {
                b'-' => Some(b'+'),
                b'_' => Some(b'/'),
                b'+' | b'/' => Some(byte),
                _ => byte.is_ascii_alphanumeric().then_some(byte),
            }))
        }
        "hex" => {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let pairs = text.as_bytes().chunks_exact(2);
            pairs.map_while(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)).collect()
        }
        _ => text.into_bytes(),
    }))
}

/// The bytes of digits of base64; a digit too many is left out.
fn base64(digits: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut digits: Vec<u8> = digits.collect();
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    LENIENT.decode(&digits).unwrap_or_default()
}

/// `bytesToText(bytes, encoding)`: `undefined` for UTF-16 with lone surrogates, which cannot cross.
fn bytes_to_text(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (bytes, encoding) = (args.bytes(0)?, args.string(1)?);
    Ok(Value::String(match encoding.as_str() {
        "utf16le" => {
            let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            let text: Result<String, _> = char::decode_utf16(units).collect();
            return Ok(text.ok().into());
        }
        "latin1" => latin1(&bytes),
        "ascii" => bytes.iter().map(|byte| char::from(byte & 0x7f)).collect(),
        "base64" => BASE64.encode(&bytes),
        "base64url" => BASE64URL_NOPAD.encode(&bytes),
        "hex" => HEXLOWER.encode(&bytes),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }))
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// `bytesCompare(a, b)`: -1, 0 or 1.
fn bytes_compare(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    Ok(f64::from(args.bytes(0)?.cmp(&args.bytes(1)?) as i8).into())
}

/// `bytesAre(bytes, encoding)`: whether they are good UTF-8 or ASCII.
fn bytes_are(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (bytes, encoding) = (args.bytes(0)?, args.string(1)?);
    Ok(match encoding.as_str() {
        "ascii" => bytes.is_ascii(),
        _ => str::from_utf8(&bytes).is_ok(),
    }
    .into())
}

/// `utf8Length(text)`
fn utf8_length(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    Ok((args.string(0)?.len() as f64).into())
}

/// `atob(text)`: forgiving, as the Infra standard says. `undefined` if a character is wrong, `null` if
/// there are too few.
fn atob(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let mut text = args.string(0)?.into_bytes();
    text.retain(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r'));
    if text.len() % 4 == 0 {
        for _ in 0..2 {
            text.pop_if(|byte| *byte == b'=');
        }
    }
    if !text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')) {
        return Ok(Value::Undefined);
    }
    if text.len() % 4 == 1 {
        return Ok(Value::Null);
    }
    Ok(latin1(&base64(text.into_iter())).into())
}

/// `btoa(text)`: `undefined` if a character is not of Latin-1.
fn btoa(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let text = args.string(0)?;
    let bytes: Option<Vec<u8>> = text.chars().map(|unit| u8::try_from(unit).ok()).collect();
    Ok(bytes.map(|bytes| BASE64.encode(&bytes)).into())
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    fn bytes(text: &str, encoding: &str) -> Vec<u8> {
        match run(bytes_from, [text, encoding]) {
            Value::Bytes(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    }

    // spec: JS-2
    #[test]
    fn text_becomes_bytes_as_far_as_it_can() {
        assert_eq!(bytes("aé☃", "utf8"), "aé☃".as_bytes());
        assert_eq!(bytes("aé☃😀", "latin1"), [0x61, 0xe9, 0x03, 0x3d, 0x00]);
        assert_eq!(bytes("a😀", "utf16le"), [0x61, 0, 0x3d, 0xd8, 0x00, 0xde]);
        assert_eq!(bytes("0aFFx0", "hex"), [0x0a, 0xff]);
        assert_eq!(bytes("abc", "hex"), [0xab]);
        assert_eq!(bytes("Y W*-_", "base64"), [0x61, 0x6f, 0xbf]);
        assert_eq!(bytes("YR=YWJj", "base64"), [0x61]);
        assert_eq!(bytes("YWJjZ", "base64"), *b"abc");
    }

    // spec: JS-2
    #[test]
    fn bytes_become_text() {
        let text = |encoding: &str| {
            run(bytes_to_text, [Value::Bytes(vec![0x61, 0xff, 0xbf]), Value::from(encoding)])
        };
        assert_eq!(text("utf8"), Value::from("a\u{fffd}\u{fffd}"));
        assert_eq!(text("latin1"), Value::from("aÿ¿"));
        assert_eq!(text("ascii"), Value::from("a\u{7f}?"));
        assert_eq!(text("base64"), Value::from("Yf+/"));
        assert_eq!(text("base64url"), Value::from("Yf-_"));
        assert_eq!(text("hex"), Value::from("61ffbf"));
        assert_eq!(text("utf16le"), Value::from("\u{ff61}"));
        let lone = Value::Bytes(vec![0x3d, 0xd8]);
        assert_eq!(run(bytes_to_text, [lone, Value::from("utf16le")]), Value::Undefined);
    }

    // spec: JS-2
    #[test]
    fn bytes_are_compared_and_judged() {
        assert_eq!(run(bytes_compare, ["ab", "b"]), Value::from(-1.0));
        assert_eq!(run(bytes_compare, ["ab", "a"]), Value::from(1.0));
        assert_eq!(run(bytes_compare, ["ab", "ab"]), Value::from(0.0));
        assert_eq!(run(bytes_are, ["é", "ascii"]), Value::Bool(false));
        assert_eq!(run(bytes_are, ["é", "utf8"]), Value::Bool(true));
        assert_eq!(run(utf8_length, ["é☃"]), Value::from(5.0));
    }

    // spec: JS-2
    #[test]
    fn base64_of_the_web_is_strict() {
        assert_eq!(run(atob, [" Y Q = = "]), Value::from("a"));
        assert_eq!(run(atob, ["YR"]), Value::from("a"));
        assert_eq!(run(atob, ["/+8"]), Value::from("ÿï"));
        assert_eq!(run(btoa, ["ÿï"]), Value::from("/+8="));
        for wrong in ["YQ=", "YQ===", "Y-_", "=", "Y\u{b}Q"] {
            assert_eq!(run(atob, [wrong]), Value::Undefined, "{wrong}");
        }
        assert_eq!(run(atob, ["YWJjZ"]), Value::Null);
        assert_eq!(run(btoa, ["☃"]), Value::Undefined);
    }
}
