//! Paths, and the URLs of files.

use std::path::{Component, Path, PathBuf};

use url::Url;

use crate::OpError;
use crate::ops::errno::system_error;

/// The file that is the parent for resolution, given by its path, its URL, or as code without a file.
pub(super) fn parent_file(parent: &str) -> PathBuf {
    file_path(parent).unwrap_or_else(|| current_dir().join("[eval]"))
}

/// The path of a file that is given by its path or URL.
pub(crate) fn file_path(file: &str) -> Option<PathBuf> {
    if file.starts_with('/') {
        return Some(file.into());
    }
    let url = Url::parse(file).ok().filter(|url| url.scheme() == "file")?;
    Some(percent_decode(url.path()).into())
}

pub(super) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| "/".into())
}

/// The URL of a file.
pub(crate) fn file_url(path: &Path) -> String {
    Url::from_file_path(path).map_or_else(|()| format!("file://{}", path.display()), Into::into)
}

/// The text of a source file, without a byte order mark.
pub(crate) fn read(path: &Path) -> Result<String, OpError> {
    let bytes = std::fs::read(path).map_err(|error| system_error(&error, "open", &[path]))?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.into(),
        None => text,
    })
}

/// The real path of a file that exists.
pub(super) fn real_file(path: &Path) -> Option<PathBuf> {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
    is_file.then(|| std::fs::canonicalize(path).unwrap_or_else(|_| path.into()))
}

pub(super) fn is_relative(specifier: &str) -> bool {
    matches!(specifier, "." | "..") || specifier.starts_with("./") || specifier.starts_with("../")
}

pub(super) fn is_url(text: &str) -> bool {
    Url::parse(text).is_ok()
}

/// The specifier of a file in a directory's files.
pub(super) fn relative(dir: &Path, file: &Path) -> String {
    let common =
        dir.components().zip(file.components()).take_while(|(left, right)| left == right).count();
    let up = dir.components().count() - common;
    let down: PathBuf = file.components().skip(common).collect();
    let start = if up == 0 { "./".to_owned() } else { "../".repeat(up) };
    format!("{start}{}", down.display())
}

/// Takes `.` and `..` out of a path, without a look at the disk.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

pub(super) fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).and_then(|&byte| (byte as char).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%'
            && let (Some(high), Some(low)) = (hex(at + 1), hex(at + 2))
        {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
