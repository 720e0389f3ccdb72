//! Files. Each operation takes a callback as its last argument and is then carried out on a worker; without
//! one it is carried out at once.

mod constants;
mod files;
mod tree;

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::retry_on_intr;

use self::files::Files;
use self::tree::Recursion;
use super::errno::system_error;
use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] = &[
    ("fsAccess", access),
    ("fsChmod", chmod),
    ("fsClose", files::close),
    ("fsConstants", constants::all),
    ("fsCopyFile", copy_file),
    ("fsFtruncate", files::truncate),
    ("fsFstat", files::stat),
    ("fsFsync", files::sync),
    ("fsLink", link),
    ("fsMkdir", mkdir),
    ("fsMkdtemp", mkdtemp),
    ("fsOpen", files::open),
    ("fsRead", files::read),
    ("fsReadDir", read_dir),
    ("fsReadFile", read_file),
    ("fsReadlink", readlink),
    ("fsRealpath", realpath),
    ("fsRename", rename),
    ("fsRm", rm),
    ("fsRmdir", rmdir),
    ("fsStat", stat),
    ("fsSymlink", symlink),
    ("fsTruncate", truncate),
    ("fsUnlink", unlink),
    ("fsUtimes", utimes),
    ("fsWrite", files::write),
    ("fsWriteFile", write_file),
];

type Outcome = Result<Value, OpError>;

/// Does some work: on a worker if the argument is a callback, and at once if there is none.
fn perform(
    host: &Host,
    args: &mut Args<'_>,
    callback: usize,
    work: impl FnOnce() -> Outcome + Send + 'static,
) -> Outcome {
    match args.callback(callback) {
        Ok(callback) => {
            host.offload(callback, work);
            Ok(Value::Undefined)
        }
        Err(_) => work(),
    }
}

/// A path, which need not be UTF-8.
fn path(args: &mut Args<'_>, index: usize) -> Result<PathBuf, OpError> {
    Ok(OsString::from_vec(args.bytes(index)?).into())
}

/// Gives an error of the system its name, the call and the paths.
trait Explain<T> {
    fn explain(self, call: &str, paths: &[&Path]) -> Result<T, OpError>;
}

impl<T, E: Into<io::Error>> Explain<T> for Result<T, E> {
    fn explain(self, call: &str, paths: &[&Path]) -> Result<T, OpError> {
        self.map_err(|error| system_error(&error.into(), call, paths))
    }
}

/// An operation of one path without a result.
fn plain(
    host: &Host,
    mut args: Args<'_>,
    call: &'static str,
    work: fn(&Path) -> io::Result<()>,
) -> Outcome {
    let path = path(&mut args, 0)?;
    perform(host, &mut args, 1, move || {
        work(&path).explain(call, &[&path]).map(|()| Value::Undefined)
    })
}

/// An operation of two paths without a result.
fn between(
    host: &Host,
    mut args: Args<'_>,
    call: &'static str,
    work: fn(&Path, &Path) -> io::Result<()>,
) -> Outcome {
    let (from, to) = (path(&mut args, 0)?, path(&mut args, 1)?);
    perform(host, &mut args, 2, move || {
        work(&from, &to).explain(call, &[&from, &to]).map(|()| Value::Undefined)
    })
}

fn rmdir(host: &Host, args: Args<'_>) -> Outcome {
    plain(host, args, "rmdir", |path| fs::remove_dir(path))
}

fn unlink(host: &Host, args: Args<'_>) -> Outcome {
    plain(host, args, "unlink", |path| fs::remove_file(path))
}

fn rename(host: &Host, args: Args<'_>) -> Outcome {
    between(host, args, "rename", |from, to| fs::rename(from, to))
}

fn link(host: &Host, args: Args<'_>) -> Outcome {
    between(host, args, "link", |from, to| fs::hard_link(from, to))
}

fn symlink(host: &Host, args: Args<'_>) -> Outcome {
    between(host, args, "symlink", |target, path| std::os::unix::fs::symlink(target, path))
}

/// `fsAccess(path, mode)`
fn access(host: &Host, mut args: Args<'_>) -> Outcome {
    let (path, mode) = (path(&mut args, 0)?, args.number(1)? as u32);
    perform(host, &mut args, 2, move || {
        rustix::fs::access(&path, Access::from_bits_retain(mode)).explain("access", &[&path])?;
        Ok(Value::Undefined)
    })
}

/// `fsChmod(path, mode)`
fn chmod(host: &Host, mut args: Args<'_>) -> Outcome {
    let (path, mode) = (path(&mut args, 0)?, args.number(1)? as u32);
    perform(host, &mut args, 2, move || {
        fs::set_permissions(&path, Permissions::from_mode(mode)).explain("chmod", &[&path])?;
        Ok(Value::Undefined)
    })
}

/// `fsUtimes(path, atime, mtime)`, in seconds.
fn utimes(host: &Host, mut args: Args<'_>) -> Outcome {
    let path = path(&mut args, 0)?;
    let times = Timestamps {
        last_access: timespec(args.number(1)?),
        last_modification: timespec(args.number(2)?),
    };
    perform(host, &mut args, 3, move || {
        rustix::fs::utimensat(CWD, &path, &times, AtFlags::empty()).explain("utime", &[&path])?;
        Ok(Value::Undefined)
    })
}

fn timespec(seconds: f64) -> Timespec {
    if !seconds.is_finite() {
        return Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    }
    // Microseconds, since a double has no more digits than that for a date of these days.
    let micros = (seconds * 1e6).round() as i64;
    Timespec { tv_sec: micros.div_euclid(1_000_000), tv_nsec: micros.rem_euclid(1_000_000) * 1000 }
}

/// Opens a file with the flags of the system.
fn open_file(path: &Path, flags: u32, mode: u32) -> Result<File, OpError> {
    let flags = OFlags::from_bits_retain(flags) | OFlags::CLOEXEC;
    let open = || rustix::fs::open(path, flags, Mode::from_bits_retain(mode));
    retry_on_intr(open).map(File::from).explain("open", &[path])
}

/// Everything that is in a file from where it stands, as text or bytes.
fn contents(mut file: &File, as_text: bool) -> Outcome {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).explain("read", &[])?;
    Ok(if as_text { text(bytes).into() } else { bytes.into() })
}

/// UTF-8, with what is wrong in it replaced.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// `fsReadFile(path or fd, flags, asText)`
fn read_file(host: &Host, mut args: Args<'_>) -> Outcome {
    let as_text = args.bool(2)?;
    let source = source(host, &mut args, 0)?;
    let flags = args.number(1)? as u32;
    perform(host, &mut args, 3, move || match source {
        Source::Path(path) => contents(&open_file(&path, flags, 0)?, as_text),
        Source::Fd(fd, files) => contents(&*files.get(fd, "fstat")?, as_text),
    })
}

/// `fsWriteFile(path or fd, bytes, flags, mode, flush)`
fn write_file(host: &Host, mut args: Args<'_>) -> Outcome {
    let source = source(host, &mut args, 0)?;
    let bytes = args.bytes(1)?;
    let (flags, mode) = (args.number(2)? as u32, args.number(3)? as u32);
    let flush = args.bool(4)?;
    perform(host, &mut args, 5, move || {
        let save = |mut file: &File| {
            file.write_all(&bytes).explain("write", &[])?;
            if flush {
                file.sync_all().explain("fsync", &[])?;
            }
            Ok(Value::Undefined)
        };
        match source {
            Source::Path(path) => save(&open_file(&path, flags, mode)?),
            Source::Fd(fd, files) => save(&*files.get(fd, "write")?),
        }
    })
}

/// `fsTruncate(path, length)`
fn truncate(host: &Host, mut args: Args<'_>) -> Outcome {
    let (path, length) = (path(&mut args, 0)?, args.number(1)? as u64);
    perform(host, &mut args, 2, move || {
        let file = open_file(&path, OFlags::RDWR.bits(), 0)?;
        file.set_len(length).explain("ftruncate", &[])?;
        Ok(Value::Undefined)
    })
}

/// What is read or written whole.
enum Source {
    Path(PathBuf),
    Fd(i32, Files),
}

fn source(host: &Host, args: &mut Args<'_>, index: usize) -> Result<Source, OpError> {
    Ok(match args.take(index) {
        Value::Number(fd) => Source::Fd(fd as i32, Files::of(host)),
        Value::String(path) => Source::Path(path.into()),
        Value::Bytes(path) => Source::Path(OsString::from_vec(path).into()),
        _ => return Err(OpError::type_error("ERR_INVALID_ARG_TYPE", "a path or a descriptor")),
    })
}

/// `fsStat(path, follow)`: the numbers of a `Stats`, in order.
fn stat(host: &Host, mut args: Args<'_>) -> Outcome {
    let (path, follow) = (path(&mut args, 0)?, args.bool(1)?);
    perform(host, &mut args, 2, move || {
        let metadata = if follow {
            fs::metadata(&path).explain("stat", &[&path])?
        } else {
            fs::symlink_metadata(&path).explain("lstat", &[&path])?
        };
        Ok(stats(&metadata))
    })
}

fn stats(metadata: &Metadata) -> Value {
    let ms = |seconds: i64, nanos: i64| seconds as f64 * 1e3 + nanos as f64 / 1e6;
    let changed = ms(metadata.ctime(), metadata.ctime_nsec());
    let whole = [
        metadata.dev(),
        metadata.mode().into(),
        metadata.nlink(),
        metadata.uid().into(),
        metadata.gid().into(),
        metadata.rdev(),
        metadata.blksize(),
        metadata.ino(),
        metadata.size(),
        metadata.blocks(),
    ];
    let times = [
        ms(metadata.atime(), metadata.atime_nsec()),
        ms(metadata.mtime(), metadata.mtime_nsec()),
        changed,
        metadata.created().map_or(changed, since_epoch),
    ];
    let numbers = whole.into_iter().map(|number| number as f64).chain(times);
    Value::Array(numbers.map(Value::Number).collect())
}

/// In milliseconds.
fn since_epoch(time: SystemTime) -> f64 {
    let after = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    after.as_secs() as f64 * 1e3 + f64::from(after.subsec_nanos()) / 1e6
}

/// `fsReadDir(path, asBytes, recursive, newestFirst, follow)`: the directory below the path, the name and the
/// type of each entry, one after the other.
fn read_dir(host: &Host, mut args: Args<'_>) -> Outcome {
    let (path, as_bytes) = (path(&mut args, 0)?, args.bool(1)?);
    let is_recursive = args.bool(2)?;
    let order = Recursion { newest_first: args.bool(3)?, follow: args.bool(4)? };
    let recursion = is_recursive.then_some(order);
    perform(host, &mut args, 5, move || {
        let entries = tree::entries(&path, recursion)?;
        let name = |name: OsString| {
            let bytes = name.into_vec();
            if as_bytes { Value::from(bytes) } else { text(bytes).into() }
        };
        let flat = entries.into_iter().flat_map(|entry| {
            [name(entry.parent.into()), name(entry.name), Value::from(entry.kind)]
        });
        Ok(Value::Array(flat.collect()))
    })
}

/// `fsMkdir(path, mode, recursive)`: the first directory that was made, if asked to make all.
fn mkdir(host: &Host, mut args: Args<'_>) -> Outcome {
    let path = path(&mut args, 0)?;
    let (mode, recursive) = (args.number(1)? as u32, args.bool(2)?);
    perform(host, &mut args, 3, move || {
        let made = if recursive {
            tree::make_all(&path, mode)
        } else {
            tree::make(&path, mode).map(|()| None)
        };
        let first = made.explain("mkdir", &[&path])?;
        Ok(first.map(|first| text(first.into_os_string().into_vec())).into())
    })
}

/// `fsRm(path, recursive, force, retries, delay)`: false if it is a directory that may not be removed.
fn rm(host: &Host, mut args: Args<'_>) -> Outcome {
    let path = path(&mut args, 0)?;
    let (recursive, force) = (args.bool(1)?, args.bool(2)?);
    let (retries, delay) = (args.number(3)? as u32, args.number(4)? as u64);
    perform(host, &mut args, 5, move || match fs::symlink_metadata(&path) {
        Err(error) if force && error.kind() == io::ErrorKind::NotFound => Ok(true.into()),
        Err(error) => Err(system_error(&error, "lstat", &[&path])),
        Ok(metadata) if metadata.is_dir() && !recursive => Ok(false.into()),
        Ok(metadata) => {
            tree::remove(&path, &metadata, retries, delay).explain("rm", &[&path])?;
            Ok(true.into())
        }
    })
}

/// `fsCopyFile(from, to, mode)`
fn copy_file(host: &Host, mut args: Args<'_>) -> Outcome {
    let (from, to) = (path(&mut args, 0)?, path(&mut args, 1)?);
    let is_exclusive = args.number(2)? as u32 & 1 != 0;
    perform(host, &mut args, 3, move || {
        copy(&from, &to, is_exclusive).explain("copyfile", &[&from, &to])?;
        Ok(Value::Undefined)
    })
}

/// Unlike the copy of the standard library, this leaves a file alone that is copied onto itself.
fn copy(from: &Path, to: &Path, is_exclusive: bool) -> io::Result<()> {
    let mut source = File::open(from)?;
    let metadata = source.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    let mut target = OpenOptions::new()
        .write(true)
        .create(true)
        .create_new(is_exclusive)
        .truncate(false)
        .mode(metadata.mode())
        .open(to)?;
    let existing = target.metadata()?;
    if (existing.dev(), existing.ino()) == (metadata.dev(), metadata.ino()) {
        return Ok(());
    }
    target.set_len(0)?;
    io::copy(&mut source, &mut target)?;
    target.set_permissions(metadata.permissions())
}

/// `fsMkdtemp(prefix)`: the path of a new directory, as bytes.
fn mkdtemp(host: &Host, mut args: Args<'_>) -> Outcome {
    let prefix = path(&mut args, 0)?;
    perform(host, &mut args, 1, move || {
        let with = |suffix: &str| {
            let mut path = prefix.clone().into_os_string();
            path.push(suffix);
            PathBuf::from(path)
        };
        loop {
            let path = with(&random_letters());
            match tree::make(&path, 0o700) {
                Ok(()) => return Ok(path.into_os_string().into_vec().into()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(system_error(&error, "mkdtemp", &[&with("XXXXXX")])),
            }
        }
    })
}

/// Six of 62 letters and digits.
fn random_letters() -> String {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    // The keys of a hash map are as random as the standard library gets.
    let mut number = RandomState::new().build_hasher().finish();
    let letter = |_| {
        let letter = LETTERS[(number % 62) as usize];
        number /= 62;
        char::from(letter)
    };
    (0..6).map(letter).collect()
}

/// `fsReadlink(path)`, as bytes.
fn readlink(host: &Host, mut args: Args<'_>) -> Outcome {
    let path = path(&mut args, 0)?;
    perform(host, &mut args, 1, move || {
        let target = fs::read_link(&path).explain("readlink", &[&path])?;
        Ok(target.into_os_string().into_vec().into())
    })
}

/// `fsRealpath(path, stepwise)`, as bytes. If stepwise, an error names the component that is to blame, as an
/// absolute path.
fn realpath(host: &Host, mut args: Args<'_>) -> Outcome {
    let (path, stepwise) = (path(&mut args, 0)?, args.bool(1)?);
    perform(host, &mut args, 2, move || match fs::canonicalize(&path) {
        Ok(real) => Ok(real.as_os_str().as_bytes().to_vec().into()),
        Err(error) if stepwise => Err(first_fault(&path, &error)),
        Err(error) => Err(system_error(&error, "realpath", &[&path])),
    })
}

/// Which component of a path it is that cannot be followed.
fn first_fault(path: &Path, error: &io::Error) -> OpError {
    let Ok(whole) = std::path::absolute(path) else {
        return system_error(error, "realpath", &[path]);
    };
    let mut part = PathBuf::new();
    for component in whole.components() {
        part.push(component);
        if let Err(error) = fs::symlink_metadata(&part) {
            return system_error(&error, "lstat", &[&part]);
        }
        if let Err(error) = fs::metadata(&part) {
            return system_error(&error, "stat", &[&part]);
        }
    }
    system_error(error, "realpath", &[path])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::ops::testing::{run, try_run};

    /// A directory that is removed in the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let prefix = std::env::temp_dir().join("mainspring-");
            let Value::Bytes(path) = run(mkdtemp, [prefix.to_str().unwrap()]) else { panic!() };
            Self(OsString::from_vec(path).into())
        }

        fn path(&self, name: &str) -> String {
            self.0.join(name).to_str().unwrap().into()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    // spec: JS-3
    #[test]
    fn what_is_written_is_read() {
        let scratch = Scratch::new();
        let path = scratch.path("a");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let args: [Value; 5] =
            [path.as_str().into(), "grün".into(), flags.bits().into(), 0o600.into(), true.into()];
        assert_eq!(run(write_file, args), Value::Undefined);
        let read = |as_text: bool| {
            run(read_file, [Value::from(path.as_str()), 0.0.into(), as_text.into()])
        };
        assert_eq!(read(true), Value::from("grün"));
        assert_eq!(read(false), Value::from("grün".as_bytes().to_vec()));
    }

    // spec: JS-3
    #[test]
    fn the_first_directory_that_was_made_is_told() {
        let scratch = Scratch::new();
        let make =
            |path: &str| run(mkdir, [scratch.path(path).into(), 0o777.into(), Value::from(true)]);
        assert_eq!(make("a/b/c"), scratch.path("a").into());
        assert_eq!(make("a/b/d/e"), scratch.path("a/b/d").into());
        assert_eq!(make("a/b"), Value::Undefined);
    }

    // spec: JS-3
    #[test]
    fn a_file_can_be_copied_onto_itself() {
        let scratch = Scratch::new();
        let path = scratch.path("a");
        fs::write(&path, "kept").unwrap();
        run(copy_file, [path.as_str().into(), path.as_str().into(), Value::from(0.0)]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
    }

    // spec: JS-3
    #[test]
    fn a_directory_is_removed_only_if_asked_to() {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.path("a/b")).unwrap();
        let remove = |recursive: bool| {
            let path = Value::from(scratch.path("a"));
            run(rm, [path, recursive.into(), false.into(), 0.0.into(), 0.0.into()])
        };
        assert_eq!(remove(false), Value::Bool(false));
        assert_eq!(remove(true), Value::Bool(true));
        assert!(!fs::exists(scratch.path("a")).unwrap());
    }

    // spec: JS-4
    #[test]
    fn a_script_cannot_use_descriptors_that_it_was_not_given() {
        use std::os::fd::AsRawFd;

        let ours = File::open("/dev/null").unwrap();
        let fd = f64::from(ours.as_raw_fd());
        let read: [Value; 3] = [fd.into(), 1.0.into(), Value::Undefined];
        assert!(try_run(files::read, read).unwrap_err().message.starts_with("EBADF"));
        assert!(try_run(files::close, [fd]).unwrap_err().message.starts_with("EBADF"));
        assert!(ours.metadata().is_ok());
    }
}
