//! Sizes and times, as people write them.

use std::fmt;
use std::time::Duration;

use mainspring_quickjs::{Error, Limits};

/// Bytes, as they are shown: `1.5 MiB`.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let (size, unit) = match self.0 {
            bytes if bytes < 1 << 10 => return write!(f, "{bytes} B"),
            bytes if bytes < 1 << 20 => (bytes as f64 / 1024.0, "KiB"),
            bytes if bytes < 1 << 30 => (bytes as f64 / 1_048_576.0, "MiB"),
            bytes => (bytes as f64 / 1_073_741_824.0, "GiB"),
        };
        write!(f, "{size:.1} {unit}")
    }
}

/// `64M`, `1.5G`, `512 KiB`, or bytes.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_lowercase();
    let scale = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1_048_576.0,
        "g" => 1_073_741_824.0,
        _ => return Err("write a size such as 64M, 1G or 512K".into()),
    };
    let size = number.parse::<f64>().map(|number| (number * scale).round());
    match size {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        Ok(size) if (1.0..9e15).contains(&size) => Ok(size as usize),
        _ => Err("write a size such as 64M, 1G or 512K".into()),
    }
}

/// A size that the engine can do with.
pub(crate) fn parse_memory(text: &str) -> Result<usize, String> {
    match parse_size(text)? {
        size if size < Limits::LEAST_MEMORY => Err(Error::TooLittleMemory.to_string()),
        size => Ok(size),
    }
}

/// `500` for milliseconds, `500ms`, `1.5s`, `2m`.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let scale = match unit {
        "" | "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        _ => return Err("write a time such as 500, 500ms or 2s".into()),
    };
    match number.parse::<f64>().map(|number| Duration::try_from_secs_f64(number * scale)) {
        Ok(Ok(time)) if !time.is_zero() => Ok(time),
        _ => Err("write a time such as 500, 500ms or 2s".into()),
    }
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    (text[..end].trim(), text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("64M"), Ok(64 << 20));
        assert_eq!(parse_size("1G"), Ok(1 << 30));
        assert_eq!(parse_size("1.5 KiB"), Ok(1536));
        assert_eq!(parse_size("512kb"), Ok(512 << 10));
        assert_eq!(parse_size("4096"), Ok(4096));
        for nonsense in ["", "M", "0", "-1M", "64X", "1e99", "NaN", "inf"] {
            assert!(parse_size(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn an_engine_needs_some_memory() {
        assert!(parse_memory("1000K").is_err());
        assert_eq!(parse_memory("1M"), Ok(1 << 20));
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(parse_time("500"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(parse_time("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        for nonsense in ["", "s", "0", "-1", "1h", "1e99s", "NaN"] {
            assert!(parse_time(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn sizes_are_shown_in_a_unit_that_fits() {
        let shown: Vec<_> =
            [17, 1536, 64 << 20, 3 << 29].map(|bytes| Bytes(bytes).to_string()).into();
        assert_eq!(shown, ["17 B", "1.5 KiB", "64.0 MiB", "1.5 GiB"]);
    }
}
