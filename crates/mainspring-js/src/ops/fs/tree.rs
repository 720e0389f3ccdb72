//! Directories and what is below them.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, FileType, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::Explain;
use crate::OpError;

/// In which order directories below a directory are read, and whether links to directories count.
#[derive(Clone, Copy)]
pub(super) struct Recursion {
    pub(super) newest_first: bool,
    pub(super) follow: bool,
}

/// An entry of a directory.
pub(super) struct Entry {
    /// The directory that it is in, seen from the one that was asked for.
    pub(super) parent: PathBuf,
    pub(super) name: OsString,
    /// As in `constants.UV_DIRENT_*`.
    pub(super) kind: u32,
}

const DIRECTORY: u32 = 2;
const LINK: u32 = 3;

fn kind(file: FileType) -> u32 {
    match () {
        () if file.is_file() => 1,
        () if file.is_dir() => DIRECTORY,
        () if file.is_symlink() => LINK,
        () if file.is_fifo() => 4,
        () if file.is_socket() => 5,
        () if file.is_char_device() => 6,
        () if file.is_block_device() => 7,
        () => 0,
    }
}

/// What is in a directory, sorted by name, and below it, if asked to.
pub(super) fn entries(root: &Path, recursion: Option<Recursion>) -> Result<Vec<Entry>, OpError> {
    let mut all = Vec::new();
    let mut open = std::collections::VecDeque::from([PathBuf::new()]);
    let newest_first = recursion.is_some_and(|recursion| recursion.newest_first);
    while let Some(parent) = if newest_first { open.pop_back() } else { open.pop_front() } {
        let directory =
            if parent.as_os_str().is_empty() { root.into() } else { root.join(&parent) };
        for (name, kind) in names(&directory).explain("scandir", &[&directory])? {
            let is_directory = |follow| {
                kind == DIRECTORY || kind == LINK && follow && directory.join(&name).is_dir()
            };
            if recursion.is_some_and(|recursion| is_directory(recursion.follow)) {
                open.push_back(parent.join(&name));
            }
            all.push(Entry { parent: parent.clone(), name, kind });
        }
    }
    Ok(all)
}

fn names(directory: &Path) -> io::Result<Vec<(OsString, u32)>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), kind(entry.file_type()?)))))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Makes a directory.
pub(super) fn make(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)
}

/// Makes a directory and those that it is in, and says which was the first.
pub(super) fn make_all(path: &Path, mode: u32) -> io::Result<Option<PathBuf>> {
    let mut first = None;
    let mut missing = vec![path.as_os_str().as_bytes().to_vec()];
    while let Some(next) = missing.pop() {
        let directory = PathBuf::from(OsString::from_vec(next));
        match make(&directory, mode) {
            Ok(()) => {
                first.get_or_insert(directory);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let bytes = directory.into_os_string().into_vec();
                match bytes.iter().rposition(|byte| *byte == b'/') {
                    Some(end) if end > 0 => {
                        let parent = bytes[..end].to_vec();
                        missing.extend([bytes, parent]);
                    }
                    _ => return Err(error),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !directory.is_dir() {
                    let is_parent = !missing.is_empty();
                    let not_directory = io::Error::from_raw_os_error(libc::ENOTDIR);
                    return Err(if is_parent { not_directory } else { error });
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(first)
}

/// Removes a file, or a directory with all that is in it. What is busy is tried again, after a delay in
/// milliseconds that grows.
pub(super) fn remove(path: &Path, metadata: &Metadata, retries: u32, delay: u64) -> io::Result<()> {
    for attempt in 1.. {
        let result =
            if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match result {
            Err(error) if attempt <= retries && is_passing(&error) => {
                thread::sleep(Duration::from_millis(delay * u64::from(attempt)));
            }
            result => return result,
        }
    }
    unreachable!("an attempt without retries left returns")
}

/// Whether something can be removed later that cannot be now.
fn is_passing(error: &io::Error) -> bool {
    const PASSING: [i32; 5] =
        [libc::EBUSY, libc::EMFILE, libc::ENFILE, libc::ENOTEMPTY, libc::EPERM];
    error.raw_os_error().is_some_and(|errno| PASSING.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: JS-3
    #[test]
    fn what_is_below_comes_after_what_is_beside() {
        let root = std::env::temp_dir().join(format!("mainspring-tree-{}", std::process::id()));
        make_all(&root.join("a/c"), 0o777).unwrap();
        make_all(&root.join("b/d"), 0o777).unwrap();
        let names = |newest_first| {
            let recursion = Recursion { newest_first, follow: false };
            let entries = entries(&root, Some(recursion)).unwrap();
            let paths = entries.into_iter().map(|entry| entry.parent.join(entry.name));
            paths.map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(false), "a b a/c b/d");
        assert_eq!(names(true), "a b b/d a/c");
        fs::remove_dir_all(root).unwrap();
    }
}
