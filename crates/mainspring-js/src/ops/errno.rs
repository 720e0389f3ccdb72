//! Errors of the system, as scripts know them: the names, and the words that Node has for them.

use std::io;
use std::path::Path;

use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] = &[("systemError", system_error_op)];

macro_rules! errnos {
    ($($name:ident $message:literal)*) => {
        /// The name and the meaning of an error number.
        pub(crate) fn describe(errno: i32) -> (&'static str, &'static str) {
            match errno {
                $(libc::$name => (stringify!($name), $message),)*
                _ => ("UNKNOWN", "unknown error"),
            }
        }
    };
}

errnos! {
    E2BIG "argument list too long"
    EACCES "permission denied"
    EADDRINUSE "address already in use"
    EADDRNOTAVAIL "address not available"
    EAFNOSUPPORT "address family not supported"
    EAGAIN "resource temporarily unavailable"
    EALREADY "connection already in progress"
    EBADF "bad file descriptor"
    EBUSY "resource busy or locked"
    ECANCELED "operation canceled"
    ECONNABORTED "software caused connection abort"
    ECONNREFUSED "connection refused"
    ECONNRESET "connection reset by peer"
    EDESTADDRREQ "destination address required"
    EEXIST "file already exists"
    EFAULT "bad address in system call argument"
    EFBIG "file too large"
    EHOSTDOWN "host is down"
    EHOSTUNREACH "host is unreachable"
    EILSEQ "illegal byte sequence"
    EINTR "interrupted system call"
    EINVAL "invalid argument"
    EIO "i/o error"
    EISCONN "socket is already connected"
    EISDIR "illegal operation on a directory"
    ELOOP "too many symbolic links encountered"
    EMFILE "too many open files"
    EMLINK "too many links"
    EMSGSIZE "message too long"
    ENAMETOOLONG "name too long"
    ENETDOWN "network is down"
    ENETUNREACH "network is unreachable"
    ENFILE "file table overflow"
    ENOBUFS "no buffer space available"
    ENODATA "no data available"
    ENODEV "no such device"
    ENOENT "no such file or directory"
    ENOMEM "not enough memory"
    ENOPROTOOPT "protocol not available"
    ENOSPC "no space left on device"
    ENOSYS "function not implemented"
    ENOTCONN "socket is not connected"
    ENOTDIR "not a directory"
    ENOTEMPTY "directory not empty"
    ENOTSOCK "socket operation on non-socket"
    ENOTSUP "operation not supported on socket"
    ENOTTY "inappropriate ioctl for device"
    ENXIO "no such device or address"
    EOVERFLOW "value too large for defined data type"
    EPERM "operation not permitted"
    EPIPE "broken pipe"
    EPROTO "protocol error"
    EPROTONOSUPPORT "protocol not supported"
    EPROTOTYPE "protocol wrong type for socket"
    ERANGE "result too large"
    EROFS "read-only file system"
    ESHUTDOWN "cannot send after transport endpoint shutdown"
    ESPIPE "invalid seek"
    ESRCH "no such process"
    ETIMEDOUT "connection timed out"
    ETXTBSY "text file is busy"
    EXDEV "cross-device link not permitted"
}

/// The number of an error. One that is not the system's own counts as one of input and output.
pub(crate) fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// An error as Node words it: `ENOENT: no such file or directory, open 'a'`.
pub(crate) fn system_error(error: &io::Error, call: &str, paths: &[&Path]) -> OpError {
    let errno = number(error);
    let (name, meaning) = describe(errno);
    let mut message = format!("{name}: {meaning}, {call}");
    for (index, path) in paths.iter().enumerate() {
        let arrow = if index == 0 { "" } else { " ->" };
        message.push_str(&format!("{arrow} '{}'", path.display()));
    }
    let error = OpError::new("Error", message)
        .with("errno", f64::from(-errno))
        .with("code", name)
        .with("syscall", call);
    paths
        .iter()
        .zip(["path", "dest"])
        .fold(error, |error, (path, key)| error.with(key, path.to_string_lossy().into_owned()))
}

/// `systemError(errno)`: the name and the meaning.
fn system_error_op(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (name, meaning) = describe(-args.number(0)? as i32);
    Ok(Value::Array(vec![name.into(), meaning.into()]))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{number, system_error};
    use crate::Value;

    // spec: JS-3
    #[test]
    fn errors_are_worded_as_in_node() {
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        let error = system_error(&missing, "rename", &[Path::new("a"), Path::new("b")]);
        assert_eq!(error.message, "ENOENT: no such file or directory, rename 'a' -> 'b'");
        let names: Vec<_> = error.properties.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["errno", "code", "syscall", "path", "dest"]);
        assert_eq!(error.properties[0].1, Value::Number(f64::from(-libc::ENOENT)));
    }

    // spec: JS-3
    #[test]
    fn an_error_without_a_number_is_one_of_input_and_output() {
        assert_eq!(number(&io::ErrorKind::WriteZero.into()), libc::EIO);
    }
}
