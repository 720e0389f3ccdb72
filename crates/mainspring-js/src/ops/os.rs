//! The machine.

use std::thread::available_parallelism;

use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] =
    &[("osHome", home), ("osMemory", memory), ("osNames", names), ("osParallelism", parallelism)];

/// `osNames()`: of the system, the host, the release, the version and the machine.
fn names(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let names = rustix::system::uname();
    let all =
        [names.sysname(), names.nodename(), names.release(), names.version(), names.machine()];
    let text = |name: &std::ffi::CStr| Value::from(name.to_string_lossy().into_owned());
    Ok(Value::Array(all.into_iter().map(text).collect()))
}

/// `osParallelism()`: how many threads can run at a time.
fn parallelism(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    Ok((available_parallelism().map_or(1, usize::from) as f64).into())
}

/// `osHome()`, if it is known.
fn home(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    Ok(std::env::home_dir().map(|home| home.to_string_lossy().into_owned()).into())
}

/// `osMemory()`: all, and what is available, in bytes.
#[cfg(target_os = "linux")]
fn memory(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let find = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        Value::Number(kilobytes.map_or(0.0, |number: f64| number * 1024.0))
    };
    Ok(Value::Array(vec![find("MemTotal:"), find("MemAvailable:")]))
}

/// Not known elsewhere.
#[cfg(not(target_os = "linux"))]
fn memory(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    Ok(Value::Array(vec![0.0.into(), 0.0.into()]))
}
