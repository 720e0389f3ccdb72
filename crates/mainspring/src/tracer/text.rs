//! Numbers and strings, as JSON has them.

use std::fmt::{self, Display, Write};

/// A number.
pub(super) fn push_number(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend(&digits[first..]);
}

/// Nanoseconds as microseconds. Below 0 there are none.
pub(super) fn push_micros(text: &mut Vec<u8>, nanos: i64) {
    let nanos = nanos.max(0).unsigned_abs();
    push_number(text, nanos / 1000);
    let rest = (nanos % 1000) as u16;
    text.extend([b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
}

fn digit(number: u16) -> u8 {
    b'0' + (number % 10) as u8
}

/// A string, with its quotation marks.
pub(super) fn push_string(text: &mut Vec<u8>, string: impl Display) {
    text.push(b'"');
    push_escaped(text, string);
    text.push(b'"');
}

/// A part of a string.
pub(super) fn push_escaped(text: &mut Vec<u8>, string: impl Display) {
    // Writing to memory does not fail; if the value does, what it wrote so far is kept.
    let _ = write!(Escaped(text), "{string}");
}

struct Escaped<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, string: &str) -> fmt::Result {
        let mut rest = string.as_bytes();
        let is_special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
        while let Some(index) = rest.iter().position(is_special) {
            self.0.extend(&rest[..index]);
            match rest[index] {
                control @ ..b' ' => {
                    let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
                    self.0.extend([b'\\', b'u', b'0', b'0', hex(control >> 4), hex(control & 15)]);
                }
                byte => self.0.extend([b'\\', byte]),
            }
            rest = &rest[index + 1..];
        }
        self.0.extend(rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        push(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 9, 10, 12_345, u64::MAX] {
            assert_eq!(text(|text| push_number(text, number)), number.to_string());
        }
    }

    #[test]
    fn microseconds_have_three_decimals() {
        for (nanos, expected) in [
            (0, "0.000"),
            (7, "0.007"),
            (1_050, "1.050"),
            (123_456_789, "123456.789"),
            (i64::MAX, "9223372036854775.807"),
            (-1, "0.000"),
        ] {
            assert_eq!(text(|text| push_micros(text, nanos)), expected);
        }
    }

    #[test]
    fn strings_are_escaped() {
        for (string, expected) in [
            ("", r#""""#),
            ("plain", r#""plain""#),
            ("\"\\/", r#""\"\\/""#),
            ("\0\n\u{1f}\u{7f}", "\"\\u0000\\u000a\\u001f\u{7f}\""),
            ("ß→\u{2028}😀", "\"ß→\u{2028}😀\""),
        ] {
            assert_eq!(text(|text| push_string(text, string)), expected);
        }
    }
}
