//! Files that a script has open, by number.
//!
//! The numbers are those of the descriptors, but a script can only use the ones that it was given: it cannot
//! read or close what belongs to the program around it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Explain, Outcome, open_file, path, perform, stats};
use crate::ops::Args;
use crate::ops::errno::system_error;
use crate::{Host, OpError, Value};

/// The files that are open.
#[derive(Clone, Default)]
pub(super) struct Files(Arc<Mutex<HashMap<i32, Arc<File>>>>);

impl Files {
    /// Those of a host.
    pub(super) fn of(host: &Host) -> Self {
        (*host.resource(Self::default)).clone()
    }

    fn with<R>(&self, f: impl FnOnce(&mut HashMap<i32, Arc<File>>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A file that is open, or one of the three standard ones.
    pub(super) fn get(&self, fd: i32, call: &str) -> Result<Arc<File>, OpError> {
        if let Some(file) = self.with(|files| files.get(&fd).cloned()) {
            return Ok(file);
        }
        let standard = match fd {
            0 => io::stdin().as_fd().try_clone_to_owned(),
            1 => io::stdout().as_fd().try_clone_to_owned(),
            2 => io::stderr().as_fd().try_clone_to_owned(),
            _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
        };
        standard.map(|fd| Arc::new(File::from(fd))).explain(call, &[])
    }
}

/// `fsOpen(path, flags, mode)`: a number.
pub(super) fn open(host: &Host, mut args: Args<'_>) -> Outcome {
    let path = path(&mut args, 0)?;
    let (flags, mode) = (args.number(1)? as u32, args.number(2)? as u32);
    let files = Files::of(host);
    perform(host, &mut args, 3, move || {
        let file = open_file(&path, flags, mode)?;
        let fd = file.as_raw_fd();
        files.with(|files| files.insert(fd, Arc::new(file)));
        Ok(f64::from(fd).into())
    })
}

/// `fsClose(fd)`. What is under way on a worker ends first.
pub(super) fn close(host: &Host, mut args: Args<'_>) -> Outcome {
    let fd = args.number(0)? as i32;
    let files = Files::of(host);
    perform(host, &mut args, 1, move || match files.with(|files| files.remove(&fd)) {
        Some(file) => {
            drop(file);
            Ok(Value::Undefined)
        }
        None => Err(system_error(&io::Error::from_raw_os_error(libc::EBADF), "close", &[])),
    })
}

/// `fsRead(fd, length, position)`: bytes, fewer at the end. Without a position, from where the file stands.
pub(super) fn read(host: &Host, mut args: Args<'_>) -> Outcome {
    with_file(host, &mut args, "read", 3, |args| {
        let (length, position) = (args.number(1)? as usize, position(args, 2));
        Ok(move |mut file: &File| {
            let mut bytes = vec![0; length];
            let read = match position {
                Some(position) => file.read_at(&mut bytes, position),
                None => file.read(&mut bytes),
            };
            bytes.truncate(read?);
            Ok(bytes.into())
        })
    })
}

/// `fsWrite(fd, bytes, position)`: how many were written.
pub(super) fn write(host: &Host, mut args: Args<'_>) -> Outcome {
    with_file(host, &mut args, "write", 3, |args| {
        let (bytes, position) = (args.bytes(1)?, position(args, 2));
        Ok(move |mut file: &File| {
            let written = match position {
                Some(position) => file.write_at(&bytes, position),
                None => file.write(&bytes),
            };
            Ok((written? as f64).into())
        })
    })
}

/// `fsFstat(fd)`
pub(super) fn stat(host: &Host, mut args: Args<'_>) -> Outcome {
    with_file(host, &mut args, "fstat", 1, |_| {
        Ok(|file: &File| file.metadata().map(|metadata| stats(&metadata)))
    })
}

/// `fsFtruncate(fd, length)`
pub(super) fn truncate(host: &Host, mut args: Args<'_>) -> Outcome {
    with_file(host, &mut args, "ftruncate", 2, |args| {
        let length = args.number(1)? as u64;
        Ok(move |file: &File| file.set_len(length).map(|()| Value::Undefined))
    })
}

/// `fsFsync(fd)`
pub(super) fn sync(host: &Host, mut args: Args<'_>) -> Outcome {
    with_file(host, &mut args, "fsync", 1, |_| {
        Ok(|file: &File| file.sync_all().map(|()| Value::Undefined))
    })
}

/// A position, if it is a number that can be one.
fn position(args: &mut Args<'_>, index: usize) -> Option<u64> {
    match args.take(index) {
        Value::Number(position) if position >= 0.0 => Some(position as u64),
        _ => None,
    }
}

/// Does something to a file whose number is the first argument.
fn with_file<W>(
    host: &Host,
    args: &mut Args<'_>,
    call: &'static str,
    callback: usize,
    prepare: impl FnOnce(&mut Args<'_>) -> Result<W, OpError>,
) -> Outcome
where
    W: FnOnce(&File) -> io::Result<Value> + Send + 'static,
{
    let fd = args.number(0)? as i32;
    let work = prepare(args)?;
    let files = Files::of(host);
    perform(host, args, callback, move || {
        let file = files.get(fd, call)?;
        work(&file).explain(call, &[])
    })
}
