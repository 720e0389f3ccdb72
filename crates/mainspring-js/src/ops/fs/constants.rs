//! The numbers of the system that scripts see.

use super::Outcome;
use crate::ops::Args;
use crate::{Host, Value};

macro_rules! numbers {
    ($($name:ident)*) => {
        [$((stringify!($name), f64::from(libc::$name))),*]
    };
}

/// `fsConstants()`
pub(super) fn all(_: &Host, _: Args<'_>) -> Outcome {
    let own = [
        ("UV_DIRENT_UNKNOWN", 0.0),
        ("UV_DIRENT_FILE", 1.0),
        ("UV_DIRENT_DIR", 2.0),
        ("UV_DIRENT_LINK", 3.0),
        ("UV_DIRENT_FIFO", 4.0),
        ("UV_DIRENT_SOCKET", 5.0),
        ("UV_DIRENT_CHAR", 6.0),
        ("UV_DIRENT_BLOCK", 7.0),
        ("COPYFILE_EXCL", 1.0),
        ("COPYFILE_FICLONE", 2.0),
        ("COPYFILE_FICLONE_FORCE", 4.0),
    ];
    let system = numbers! {
        O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_DIRECTORY O_NOFOLLOW O_SYNC O_DSYNC
        O_NONBLOCK
        S_IFMT S_IFREG S_IFDIR S_IFCHR S_IFBLK S_IFIFO S_IFLNK S_IFSOCK
        S_IRWXU S_IRUSR S_IWUSR S_IXUSR S_IRWXG S_IRGRP S_IWGRP S_IXGRP S_IRWXO S_IROTH S_IWOTH S_IXOTH
        F_OK R_OK W_OK X_OK
    };
    let all = own.into_iter().chain(system);
    Ok(Value::object(all.map(|(name, number)| (name, Value::Number(number)))))
}
